//! Timelines: what one endpoint does, written down segment by segment.
//!
//! A timeline is a text file under `scripts/tcp/<topic>/<case>.tl`. It plays one endpoint against a
//! scripted peer in virtual time and fails at the first line where something else happens. In the spirit
//! of packetdrill; the notation is tcpdump's (see [`notation`]).
//!
//! ```text
//! # RFC 6298 §5.5: the timer doubles each time it runs out.
//! set rto.min = "200 ms"              what differs from scripts/tcp/defaults.toml (or: profile NAME)
//! 0     open rtt 0.1 <mss 1000>       a handshake that is not shown; the next line follows when it is done
//! +0    write 1000                    the user calls
//! +0    > P. 1:1001(1000) ack 1       a segment is sent, just then, and no other before it
//! +0.3  > P. 1:1001(1000) ack 1 [timeout]
//!       ? cwnd 1, rto 0.6             claims (see `assertion`)
//! +0.1  < . 1:1(0) ack 1001 win 500   a segment arrives
//! ```
//!
//! A line begins with its time in seconds: from the start, or with `+` from the line before; without a time it is at
//! the time of the line before. Timers that expire at that very time expire first. A segment sent must be expected to
//! half a millisecond. Where a `>` line gives no window, none is compared; without `ect`, `ce` or `not-ect` no ECN
//! field is; without a list of options a segment may carry no SACK blocks, and a SYN any options. Every payload, sent
//! or read, must be the right part of the pattern. An unexpected segment fails the timeline, also at its end.

mod assertion;
pub mod notation;
mod number;
mod play;
mod script;

use std::path::{Path, PathBuf};

use serde_json::Value;

pub use play::Fault;
use play::Player;
use script::Script;

use crate::profile::{config, named, overridden, read, repository};

/// A timeline that did not go as written.
#[derive(Debug, thiserror::Error)]
#[error("{file}:{line}: {what}")]
pub struct Failure {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The expected and the actual result.
    pub what: String,
}

/// Plays the timeline in `file`.
///
/// # Errors
/// The first line where something else happens, or that cannot be read.
pub fn run_file(file: &Path) -> Result<(), Failure> {
    let name = file.strip_prefix(repository()).unwrap_or(file).display().to_string();
    let text = std::fs::read_to_string(file).map_err(|wrong| Failure {
        file: name.clone(),
        line: 0,
        what: wrong.to_string(),
    })?;
    run_text(&name, &text)
}

/// Plays the timeline in `text`; failures name it `name`.
///
/// # Errors
/// The first line where something else happens, or that cannot be read.
pub fn run_text(name: &str, text: &str) -> Result<(), Failure> {
    let failure = |line: usize, what: String| Failure { file: name.to_owned(), line, what };
    let script = Script::parse(text).map_err(|(line, what)| failure(line, what))?;
    let base = base_profile(&script).map_err(|what| failure(0, what))?;
    let config =
        config(&overridden(&base, &script.overrides)).map_err(|wrong| failure(0, wrong.to_string()))?;
    Player::new(config).play(&script.lines).map_err(|Fault { line, what }| failure(line, what))
}

/// All timelines, sorted by path.
///
/// # Panics
/// If the folder cannot be read.
#[must_use]
pub fn all() -> Vec<PathBuf> {
    let list = |folder: PathBuf| {
        std::fs::read_dir(&folder)
            .unwrap_or_else(|wrong| panic!("{}: {wrong}", folder.display()))
            .map(|entry| entry.expect("a folder that was opened can be read").path())
    };
    let topics = list(scripts()).filter(|path| path.is_dir());
    let mut files: Vec<PathBuf> =
        topics.flat_map(list).filter(|path| path.extension().is_some_and(|ext| ext == "tl")).collect();
    files.sort();
    files
}

/// The folder of the timelines.
#[must_use]
pub fn scripts() -> PathBuf {
    repository().join("scripts/tcp")
}

/// The shared defaults, or the profile that the script names.
fn base_profile(script: &Script) -> Result<Value, String> {
    script.profile.as_deref().map_or_else(|| read(&scripts().join("defaults.toml")), named)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPENED: &str = "# RFC 9293\n0 open rtt 0.1\nwrite 1000\n";

    fn failure(rest: &str) -> String {
        run_text("case", &format!("{OPENED}{rest}")).expect_err("it should fail").to_string()
    }

    #[test]
    fn a_timeline_that_goes_as_written_passes() {
        run_text("case", &format!("{OPENED}> P. 1:1001(1000) ack 1\n? flight 1\n")).unwrap();
    }

    #[test]
    fn another_segment_fails_with_line_and_both_segments() {
        let text = failure("> P. 1:501(500) ack 1\n");
        assert_eq!(text, "case:4: length should be 500 and is 1000; sent: P. 1:1001(1000) ack 1 win 65535");
    }

    #[test]
    fn a_segment_that_nobody_expects_fails_even_at_the_end() {
        assert!(
            failure("").starts_with("case:3: an unexpected segment was sent at 0.100000 s: P. 1:1001(1000)")
        );
        assert!(failure("+1 < . 1:1(0) ack 1001\n").starts_with("case:4: an unexpected segment"));
    }

    #[test]
    fn a_segment_that_does_not_come_or_not_in_time_fails() {
        let text = failure("> P. 1:1001(1000) ack 1\n+0.5 > P. 1:1001(1000) ack 1\n");
        assert_eq!(text, "case:5: expected a segment, and nothing is sent (next timer: 1.100000 s)");
        let text = failure("+0.5 > P. 1:1001(1000) ack 1\n");
        assert!(
            text.starts_with("case:4: expected it at 0.600000 s, and it was sent at 0.100000 s"),
            "{text}"
        );
    }

    #[test]
    fn another_purpose_and_another_claim_fail() {
        let text = failure("> P. 1:1001(1000) ack 1 [timeout]\n");
        assert!(text.starts_with("case:4: expected [timeout], and it is [data]"), "{text}");
        let text = failure("> P. 1:1001(1000) ack 1\n? state CLOSED, cwnd 2\n");
        assert_eq!(text, "case:5: expected CLOSED, and it is ESTABLISHED");
    }
}

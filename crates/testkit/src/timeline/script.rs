//! A timeline as written in its file: a comment, the overrides of the defaults, and the actions with their times.

use serde_json::Value;
use units::Duration;
use wire::FastOpenCookie;

use super::assertion::Assertion;
use super::notation::{Notation, OptionList, cookie};
use super::number::{seconds, whole};
use crate::profile::overridden;

/// A timeline that was read.
#[derive(Clone, Debug)]
pub struct Script {
    /// The profile file that it starts from, if it names one.
    pub profile: Option<String>,
    /// The overrides.
    pub overrides: Value,
    /// The actions, in order.
    pub lines: Vec<Line>,
}

/// One line.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its number in the file, from 1.
    pub number: usize,
    /// When.
    pub when: When,
    /// The action.
    pub action: Action,
}

/// Time at which a line happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Time since the start.
    At(Duration),
    /// Time since the line before.
    After(Duration),
}

/// An action of a timeline.
#[derive(Clone, Debug)]
pub enum Action {
    /// `<`: these segments arrive.
    Arrives(Vec<Notation>),
    /// `>`: these segments are sent, and none before them.
    Sent(Vec<Notation>),
    /// `?`: all of this holds.
    Holds(Vec<Assertion>),
    /// The user does something.
    Call(Call),
}

/// Calls of the user.
#[derive(Clone, Debug)]
pub enum Call {
    /// `connect`.
    Connect,
    /// `connect cookie 0102030405060708`: with a Fast Open cookie of a server whose MSS is 1000; the SYN waits for the
    /// next call.
    ConnectWithCookie(FastOpenCookie),
    /// `listen`.
    Listen,
    /// `listen cookie 0102030405060708`: for a peer that must show this Fast Open cookie.
    ListenForCookie(FastOpenCookie),
    /// `open rtt 0.1 <…>`: an active open with its handshake, whose three segments are not shown; the
    /// options are those of the peer's SYN-ACK. The script continues when it is done.
    Open(Handshake),
    /// `accept rtt 0.1 <…>`: the same for a passive open; the options are those of the peer's SYN.
    Accept(Handshake),
    /// `write 1000` or `write 5x100`: a number of calls, with a number of bytes each.
    Write { times: u32, bytes: u32 },
    /// `read 1000`: a number of bytes; `read all`: all available bytes.
    Read(Option<u64>),
    /// `read always`: from here on whatever comes is read at once.
    ReadAlways,
    /// `close`.
    Close,
    /// `abort`.
    Abort,
}

/// A handshake that is not shown.
#[derive(Clone, Debug)]
pub struct Handshake {
    /// The round trip that it takes.
    pub rtt: Duration,
    /// The peer's window, as on every later segment that does not say one.
    pub window: u16,
    /// The peer's options.
    pub options: OptionList,
}

impl Script {
    /// Reads a timeline.
    ///
    /// # Errors
    /// The number of the line, and the error.
    pub fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut script =
            Self { profile: None, overrides: Value::Object(serde_json::Map::new()), lines: vec![] };
        if !text.lines().take_while(|line| line.starts_with('#')).any(cites) {
            return Err((1, "a timeline begins with a comment that says which rule it shows".to_owned()));
        }
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                script.take_line(index + 1, line).map_err(|wrong| (index + 1, wrong))?;
            }
        }
        Ok(script)
    }

    fn take_line(&mut self, number: usize, line: &str) -> Result<(), String> {
        let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match first {
            "profile" => self.profile = Some(rest.trim().to_owned()),
            "set" => {
                let keys: Value = toml::from_str(rest).map_err(|wrong| wrong.message().to_owned())?;
                self.overrides = overridden(&self.overrides, &keys);
            }
            _ => self.lines.push(Line::parse(number, line)?),
        }
        Ok(())
    }
}

impl Line {
    fn parse(number: usize, line: &str) -> Result<Self, String> {
        let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let (when, text) = match parse_when(first)? {
            Some(when) => (when, rest.trim()),
            None => (When::After(Duration::ZERO), line),
        };
        Ok(Self { number, when, action: Action::parse(text)? })
    }
}

impl Action {
    fn parse(text: &str) -> Result<Self, String> {
        let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match first {
            "<" => Notation::parse(rest).map(Self::Arrives),
            ">" => Notation::parse(rest).map(Self::Sent),
            "?" => rest.split(',').map(Assertion::parse).collect::<Result<_, _>>().map(Self::Holds),
            _ => Call::parse(first, rest.trim()).map(Self::Call),
        }
    }
}

impl Call {
    fn parse(verb: &str, rest: &str) -> Result<Self, String> {
        Ok(match (verb, rest) {
            ("connect", "") => Self::Connect,
            ("listen", "") => Self::Listen,
            ("connect", _) => Self::ConnectWithCookie(known_cookie(rest)?),
            ("listen", _) => Self::ListenForCookie(known_cookie(rest)?),
            ("open", _) => Self::Open(Handshake::parse(rest)?),
            ("accept", _) => Self::Accept(Handshake::parse(rest)?),
            ("write", _) => {
                let (times, bytes) = rest.split_once('x').unwrap_or(("1", rest));
                Self::Write { times: whole(times)?, bytes: whole(bytes)? }
            }
            ("read", "all") => Self::Read(None),
            ("read", "always") => Self::ReadAlways,
            ("read", _) => Self::Read(Some(whole(rest)?)),
            ("close", "") => Self::Close,
            ("abort", "") => Self::Abort,
            _ => return Err(format!("\"{verb} {rest}\" is neither <, >, ? nor a call of the user")),
        })
    }
}

fn known_cookie(text: &str) -> Result<FastOpenCookie, String> {
    let digits =
        text.strip_prefix("cookie ").ok_or_else(|| format!("\"{text}\" should be cookie and its digits"))?;
    cookie(digits.trim())
}

impl Handshake {
    fn parse(text: &str) -> Result<Self, String> {
        let (words, options) = text.split_once('<').unwrap_or((text, USUAL_OPTIONS));
        let options = options.strip_suffix('>').ok_or("the list of options ends with >")?;
        let mut handshake =
            Self { rtt: Duration::from_millis(100), window: u16::MAX, options: OptionList::parse(options)? };
        let mut words = words.split_whitespace();
        while let (Some(word), Some(value)) = (words.next(), words.next()) {
            match word {
                "rtt" => handshake.rtt = seconds(value)?,
                "win" => handshake.window = whole(value)?,
                _ => return Err(format!("\"{word}\" should be rtt or win")),
            }
        }
        Ok(handshake)
    }
}

/// `0.5`: after the start; `+0.5`: after the line before; anything else is no time.
fn parse_when(word: &str) -> Result<Option<When>, String> {
    if let Some(after) = word.strip_prefix('+') {
        return seconds(after).map(|after| Some(When::After(after)));
    }
    if word.starts_with(|first: char| first.is_ascii_digit()) {
        return seconds(word).map(|at| Some(When::At(at)));
    }
    Ok(None)
}

/// The peer's options where a handshake names none; `<>` is none at all.
const USUAL_OPTIONS: &str = "mss 1000>";

/// Whether a line names a source: an RFC, or a paper by its authors and year.
fn cites(line: &str) -> bool {
    let is_year = |word: &str| {
        let digits = word.len() == 4 && word.chars().all(|letter| letter.is_ascii_digit());
        digits && (word.starts_with("19") || word.starts_with("20"))
    };
    let mut words = line.split(|letter: char| !letter.is_alphanumeric());
    line.contains("RFC ") || words.any(|word| is_year(word) || AUTHORS.contains(&word))
}

/// Authors that are cited without a year.
const AUTHORS: [&str; 3] = ["Fall", "Jacobson", "Nagle"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_at_fault_is_named() {
        let (line, wrong) = Script::parse("# RFC 1\n\n0 connect\n0 frobnicate\n").unwrap_err();
        assert_eq!(line, 4);
        assert!(wrong.contains("frobnicate"), "{wrong}");
    }

    #[test]
    fn a_timeline_without_a_rule_is_refused() {
        assert_eq!(Script::parse("0 connect\n").unwrap_err().0, 1);
    }

    #[test]
    fn keys_are_set_one_by_one() {
        let text =
            "# RFC 1\nset recovery.reno.after_timeout = \"hold\"\nset recovery.reno.bugfix = \"careful\"\n";
        let script = Script::parse(text).unwrap();
        assert_eq!(script.overrides["recovery"]["reno"]["after_timeout"], "hold");
        assert_eq!(script.overrides["recovery"]["reno"]["bugfix"], "careful");
    }
}

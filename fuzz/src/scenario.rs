//! Any text as a scenario file. An accepted scenario runs.

use std::sync::LazyLock;

use ::scenario::{Resolved, Search};
use stacks::Run;
use testkit::profile::repository;

/// Where profiles and presets are found.
static SEARCH: LazyLock<Search> = LazyLock::new(|| Search::new([repository()]));

/// Resolves the text as a scenario. The canonical JSON of an accepted scenario resolves to the same, and it runs for
/// some thousand instants.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    upgrade(text);
    let nothing: [&str; 0] = [];
    let file = repository().join("scenarios").join("fuzz.toml");
    let Ok(resolved) = ::scenario::parse(text, file, &nothing, None, &SEARCH) else { return };
    let again = Resolved::from_json(&resolved.json()).expect("our own JSON");
    assert_eq!(again.hash(), resolved.hash(), "a resolved scenario changes on its way through JSON");
    let spec = resolved.to_spec().expect("a resolved scenario is a specification");
    if let Ok(mut run) = Run::new(spec, &resolved.stacks()) {
        advance(&mut run);
    }
}

/// Converts the text to the form of this version; what is converted needs no second conversion.
fn upgrade(text: &str) {
    if let Ok(Some(new)) = ::scenario::upgrade("fuzz.toml", text) {
        assert_eq!(::scenario::upgrade("fuzz.toml", &new), Ok(None));
    }
}

/// Takes the run through its first instants.
fn advance(run: &mut Run) {
    for _ in 0..INSTANTS {
        let Some(next) = run.next_event() else { return };
        assert!(next >= run.now(), "an event lies in the past");
        run.run_until(next).expect("the stream that arrives is the one that was sent");
    }
}

/// Enough for slow start, losses and timeouts.
const INSTANTS: usize = 3_000;

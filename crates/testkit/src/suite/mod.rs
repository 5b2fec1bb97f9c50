//! The checks that every registered algorithm must pass. The cases follow from the registry's lists, so a new algorithm
//! is tested as soon as it is listed.

mod ack;
mod congestion;
mod dupthresh;
mod events;
mod limited;
mod recovery;
mod refusals;
mod rto;
mod spurious;
mod transfer;
mod window;

use serde_json::{Value, json};

pub use congestion::curves;

/// One test of one algorithm.
pub struct Case {
    /// `axis/algorithm/property`.
    pub name: String,
    /// Runs the test.
    pub run: Box<dyn FnOnce() -> CheckResult + Send>,
}

/// The result of a check; the error gives the expected and the actual result.
pub type CheckResult = Result<(), String>;

/// A check of one entry of the axis whose trait is `T`.
type Check<T> = fn(&'static tcp::registry::Entry<T>) -> CheckResult;

/// All cases of all axes.
#[must_use]
pub fn all() -> Vec<Case> {
    [
        congestion::cases(),
        recovery::cases(),
        events::cases(),
        limited::cases(),
        dupthresh::cases(),
        spurious::cases(),
        rto::cases(),
        ack::cases(),
        window::cases(),
        transfer::cases(),
        refusals::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The cases of one axis: each check for each entry.
fn each<T: ?Sized + 'static>(
    axis: &str,
    entries: &'static [tcp::registry::Entry<T>],
    checks: &[(&str, Check<T>)],
) -> Vec<Case> {
    let of_entry = |entry: &'static tcp::registry::Entry<T>| {
        checks.iter().map(move |(what, check)| {
            let check = *check;
            Case { name: format!("{axis}/{}/{what}", entry.id), run: Box::new(move || check(entry)) }
        })
    };
    entries.iter().flat_map(of_entry).collect()
}

/// Makes an instance with default parameters.
fn build<T: ?Sized>(entry: &tcp::registry::Entry<T>) -> Box<T> {
    (entry.parse)(no_parameters()).expect("every algorithm has defaults")()
}

fn no_parameters() -> Value {
    json!({})
}

/// Returns the error `expected` unless the condition holds.
fn ensure(holds: bool, expected: impl FnOnce() -> String) -> CheckResult {
    if holds { Ok(()) } else { Err(expected()) }
}

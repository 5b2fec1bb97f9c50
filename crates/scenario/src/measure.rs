//! The spans that a scenario measures: the warm-up cut off, windows checked.

use units::Duration;
use units::text::write_duration;

use crate::error::InputError;
use crate::file::{Scenario, WarmUp};
use crate::resolved::{Measure, Window};
use crate::tree::{KeyPath, Tree};

/// The window after the warm-up.
const STEADY: &str = "steady";

/// The windows of a scenario, that after the warm-up first.
pub(crate) fn resolve(tree: &Tree, file: &Scenario) -> Result<Measure, InputError> {
    let at = KeyPath::of(["measure"]);
    let steady = file.measure.warm_up.map(|cut| steady(tree, file, cut, &at.below("warm_up"))).transpose()?;
    let mut windows: Vec<Window> = steady.into_iter().collect();
    for (name, [from, to]) in &file.measure.windows {
        let path = at.below("windows").below(name);
        if windows.iter().any(|window| window.name == *name) {
            let help = "give the window another name; that one follows the warm-up";
            return Err(tree.error(&path, format!("the name \"{name}\" is taken"), help));
        }
        if from >= to {
            let message = format!("the window opens at {} and closes no later", write_duration(*from));
            return Err(tree.error(&path, message, "write the earlier time first"));
        }
        windows.push(Window { name: name.clone(), from: *from, to: Some(*to) });
    }
    if file.measure.sample.is_some_and(Duration::is_zero) {
        let path = at.below("sample");
        return Err(tree.error(&path, "samples without time between them", "write a time like \"100 ms\""));
    }
    // The interval of samples alone asks for nothing: it is that of a table.
    let without_samples = crate::file::Measure { sample: None, ..file.measure.clone() };
    let asked = without_samples != crate::file::Measure::default() || !file.record.tables.is_empty();
    Ok(Measure { links: file.measure.links.unwrap_or(asked), windows, sample: file.measure.sample })
}

fn steady(tree: &Tree, file: &Scenario, cut: WarmUp, path: &KeyPath) -> Result<Window, InputError> {
    let end = file.stop.or_else(|| file.flows.iter().filter_map(|flow| flow.until).max());
    let from = match (cut, end) {
        (WarmUp::Time(time), _) => time,
        (WarmUp::Share(share), Some(end)) => end.mul_f64(share),
        (WarmUp::Share(_), None) => {
            let message = "a share of a run whose length is not known";
            return Err(tree.error(path, message, "give the run a `stop`, or write a time like \"10 s\""));
        }
    };
    let to = flows_end(file);
    if to.or(end).is_some_and(|end| from >= end) {
        return Err(tree.error(path, "the warm-up is as long as the run", "leave something to measure"));
    }
    Ok(Window { name: STEADY.to_owned(), from, to })
}

/// Time at which the last flow ends, if each flow has an end and the run continues after it: afterwards there are only
/// retransmissions and ACKs.
fn flows_end(file: &Scenario) -> Option<Duration> {
    let ends: Option<Vec<Duration>> = file.flows.iter().map(|flow| flow.until).collect();
    ends?.into_iter().max().filter(|end| file.stop.is_none_or(|stop| *end < stop))
}

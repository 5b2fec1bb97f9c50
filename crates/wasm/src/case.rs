//! A case of a sweep, read before any case runs.

use scenario::Resolved;
use scenario::effect::{Clock, Layers};
use serde::{Deserialize, Serialize};
use stacks::Run;

use crate::fault::Fault;
use crate::run::{SCENARIO, library, resolved};

/// The case to read.
#[derive(Debug, Default, Deserialize)]
pub struct CaseOrder {
    /// The scenario.
    pub text: String,
    /// The seed, in place of that of the scenario.
    pub seed: Option<u64>,
    /// The keys of the case, with their values.
    pub overrides: Vec<String>,
    /// Whether the keys that no run reads are asked for: to find them, the scenario is resolved several times.
    pub effect: bool,
}

/// A case as it was read.
#[derive(Debug, Default, Serialize)]
pub struct Case {
    /// The resolved scenario; none if something is wrong with it.
    pub scenario: Option<serde_json::Value>,
    /// What is set in addition to the text and read by no run, each with the remedy; empty unless it is asked for.
    pub unread: Vec<Fault>,
    /// What is wrong.
    pub error: Option<Fault>,
}

/// Reads and resolves a case, which is to run in virtual time.
#[must_use]
pub fn case(order: &CaseOrder) -> Case {
    read(order).unwrap_or_else(|error| Case { error: Some(error), ..Case::default() })
}

fn read(order: &CaseOrder) -> Result<Case, Fault> {
    let resolved = resolved(&order.text, &order.overrides, order.seed)?;
    Run::new(resolved.to_spec()?, &resolved.stacks()).map_err(|error| Fault::of(&error))?;
    let unread = if order.effect { unread(order)? } else { Vec::new() };
    Ok(Case { scenario: Some(Resolved::to_value(&resolved)), unread, error: None })
}

fn unread(order: &CaseOrder) -> Result<Vec<Fault>, Fault> {
    let search = library();
    let layers = Layers::read(SCENARIO, Some(&order.text), &order.overrides, &search)?;
    Ok(layers.unread_overrides(Clock::Virtual)?.into_iter().map(Fault::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = include_str!("../../../scenarios/quickstart.toml");

    fn case_with(set: &str) -> Case {
        case(&CaseOrder { text: TEXT.into(), overrides: vec![set.into()], seed: None, effect: true })
    }

    #[test]
    fn a_case_has_the_scenario_with_its_values() {
        let found = case_with("links.lasthop.down.queue.limit=7 packets");
        assert_eq!((found.error, found.unread), (None, Vec::new()));
        assert_eq!(found.scenario.unwrap()["links"][0]["down"]["queue"]["limit"], "7 packets");
    }

    #[test]
    fn a_value_that_is_none_is_an_error_with_its_key() {
        let error = case_with("links.lasthop.down.rate=fast").error.unwrap();
        assert_eq!(error.key.as_deref(), Some("links.lasthop.down.rate"));
        assert!(error.help.is_some());
    }

    #[test]
    fn a_key_that_no_run_reads_is_named() {
        let found = case_with("live.congestion=cubic");
        let [fault] = found.unread.as_slice() else { panic!("{:?}", found.unread) };
        assert!(fault.message.contains("no run in virtual time reads this key"), "{}", fault.message);
    }
}

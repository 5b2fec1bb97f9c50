//! Metrics: what each is read from is looked up in the scenarios that it is read of, before anything is run.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use sim::{FlowSpan, FlowSummary, LinkSpan, LinkSummary, MilestoneSummary};

use super::pattern::fits;
use super::{Case, Metric, Reading, Row};
use crate::error::InputError;
use crate::file::{self, TransferMeasure};
use crate::resolved::{Flow, Resolved};
use crate::suggest;
use crate::tree::KeyPath;

impl Reading<'_> {
    /// Each metric comes from exactly one place, and is divided by something.
    pub(super) fn check_metrics(&self) -> Result<(), InputError> {
        for (name, metric) in &self.file.metrics {
            let at = KeyPath::of(["metrics", name]);
            let named = [&metric.flow, &metric.link, &metric.check].iter().filter(|p| p.is_some()).count();
            let places = named + usize::from(metric.transfers.is_some());
            if places != 1 {
                let message = format!("{places} of flow, link, transfers and check are given");
                return Err(self.tree.error(&at, message, "give exactly one"));
            }
            if metric.divided_by == Some(0.0) {
                let help = "write another number, or leave it out";
                return Err(self.tree.error(&at.below("divided_by"), "nothing can be divided by 0", help));
            }
        }
        Ok(())
    }

    /// A metric in the form of the reading side.
    pub(super) fn metric(&self, name: &str, file: &file::Metric) -> Metric {
        Metric {
            says: file.says.clone(),
            flow: file.flow.clone(),
            fold: file.fold.unwrap_or_default(),
            less_s: file.less.unwrap_or_default().as_secs_f64(),
            divided_by: file.divided_by.unwrap_or(1.0),
            link: file.link.clone(),
            window: file.window.clone(),
            flows: file.flows.clone(),
            check: file.transfers.map(|measure| check_of(measure, file)).or_else(|| file.check.clone()),
            line: self.place(&KeyPath::of(["metrics", name, "check"])).line(),
            tables: file.recorded().collect(),
        }
    }

    /// The source of a row must exist in its case.
    pub(super) fn check_sources(&self, rows: &[Row]) -> Result<(), InputError> {
        let cases: BTreeMap<&String, &Case> = self.cases.iter().map(|case| (&case.id, case)).collect();
        // Derived rows name the metric of one of these.
        let sources: BTreeMap<_, _> =
            rows.iter().map(|row| ((&row.measure, &row.case, &row.scope), cases[&row.case])).collect();
        // A case that was not requested has no scenario to check.
        let planned = sources.into_iter().filter(|(_, case)| !case.variants.is_empty());
        for ((name, _, scope), case) in planned {
            let source = Source {
                reading: self,
                metric: &self.file.metrics[name],
                at: KeyPath::of(["metrics", name]),
                scope: scope.as_ref().and_then(|scope| self.file.scopes[scope].bytes).map(|bytes| bytes.0),
                case,
            };
            source.check()?;
        }
        Ok(())
    }
}

/// A measure of transfers as the name of a check: with its parameters in it, it goes to the workers of a cluster, and
/// another measure is another run's key.
fn check_of(measure: TransferMeasure, file: &file::Metric) -> String {
    let bytes_per_second = |rate: units::Rate| rate.bits_per_sec() as f64 / 8.0;
    let (statistic, value) = match measure {
        TransferMeasure::Quantile(share) => ("quantile", share.get()),
        TransferMeasure::Below(rate) => ("below", bytes_per_second(rate)),
        TransferMeasure::AtLeast(rate) => ("at_least", bytes_per_second(rate)),
    };
    let parameters = serde_json::json!({
        "flows": file.flows, "window": file.window, "statistic": statistic, "value": value,
    });
    format!("transfers {parameters}")
}

/// The source of a metric in one case.
struct Source<'a> {
    reading: &'a Reading<'a>,
    metric: &'a file::Metric,
    at: KeyPath,
    /// The first bytes of each flow.
    scope: Option<u64>,
    case: &'a Case,
}

impl Source<'_> {
    fn check(&self) -> Result<(), InputError> {
        if let Some(window) = &self.metric.window {
            let windows = names(&self.scenario().measure.windows, |window| &window.name);
            self.among(window, &windows, "window")?;
        }
        match (&self.metric.flow, &self.metric.link) {
            (Some(key), _) => self.check_flow(key),
            (_, Some(place)) => self.check_link(place),
            _ if self.metric.transfers.is_some() => self.meant_flows().map(|_| ()),
            _ => Ok(()),
        }
    }

    /// The flows that the metric is about, at least one.
    fn meant_flows(&self) -> Result<Vec<&Flow>, InputError> {
        let is_meant = |flow: &&Flow| self.metric.flows.as_ref().is_none_or(|form| fits(form, &flow.name));
        let meant: Vec<&Flow> = self.scenario().flows.iter().filter(is_meant).collect();
        if let (Some(form), []) = (&self.metric.flows, &meant[..]) {
            self.among(form, &names(&self.scenario().flows, |flow| &flow.name), "flow")?;
        }
        Ok(meant)
    }

    fn check_flow(&self, key: &str) -> Result<(), InputError> {
        let meant = self.meant_flows()?;
        let (what, numbers) = match (self.scope, &self.metric.window) {
            (Some(_), Some(_)) => {
                let help = "leave it out, or name the metric in a table without such scopes";
                let message = "a window is not about the first bytes of a flow, as a scope of its table is";
                return Err(self.error("window", message, help));
            }
            (Some(bytes), None) => {
                self.check_scope(&meant, bytes)?;
                ("the first bytes of a flow have", of_first_bytes())
            }
            (None, Some(_)) => ("a flow in a window has", numbers_of(&FlowSpan::default())),
            (None, None) => ("a flow has", numbers_of(&FlowSummary::default())),
        };
        self.number("flow", key, &numbers, what)
    }

    fn check_scope(&self, flows: &[&Flow], bytes: u64) -> Result<(), InputError> {
        match flows.iter().find(|flow| !flow.milestones.iter().any(|milestone| milestone.0 == bytes)) {
            Some(flow) => {
                let message = format!("\"{}\" sends less than the {bytes} bytes of a scope", flow.name);
                Err(self.error("flow", &message, "leave that scope out, or let the flow send more"))
            }
            None => Ok(()),
        }
    }

    fn check_link(&self, place: &str) -> Result<(), InputError> {
        let mut parts = place.rsplitn(3, '.');
        let (Some(counter), Some("down" | "up"), Some(link)) = (parts.next(), parts.next(), parts.next())
        else {
            let message = format!("\"{place}\" is no counter of a link");
            return Err(self.error("link", &message, "write it as lasthop.down.queue_drops"));
        };
        self.among(link, &names(&self.scenario().links, |link| &link.name), "link")?;
        let (what, numbers) = match &self.metric.window {
            Some(_) => ("a link in a window has", numbers_of(&LinkSpan::default())),
            None => ("a link has", numbers_of(&LinkSummary::default())),
        };
        self.number("link", counter, &numbers, what)
    }

    fn scenario(&self) -> &Resolved {
        &self.case.variants[0].scenario
    }

    /// One of the names that the case has for windows, flows or links.
    fn among(&self, name: &str, names: &[&String], what: &str) -> Result<(), InputError> {
        if names.iter().any(|known| *known == name) {
            return Ok(());
        }
        let key = if what == "flow" { "flows" } else { what };
        let message = format!("the case {} has no {what} \"{name}\"", self.case.id);
        Err(self.error(key, &message, suggest::among(name, names, &format!("{what}s"))))
    }

    fn number(&self, key: &str, name: &str, numbers: &[String], what: &str) -> Result<(), InputError> {
        if numbers.iter().any(|known| known == name) {
            return Ok(());
        }
        Err(self.error(key, &format!("{what} no \"{name}\""), suggest::among(name, numbers, "numbers")))
    }

    fn error(&self, key: &str, message: &str, help: impl Into<String>) -> InputError {
        self.reading.tree.error(&self.at.below(key), message, help)
    }
}

fn names<'a, T>(items: &'a [T], name: impl Fn(&'a T) -> &'a String) -> Vec<&'a String> {
    items.iter().map(name).collect()
}

/// The names of a part of the summary that are numbers, or null where there is none.
fn numbers_of(part: &impl Serialize) -> Vec<String> {
    let value = serde_json::to_value(part).expect("a summary is JSON");
    let keys = value.as_object().into_iter().flatten();
    keys.filter(|(_, value)| matches!(value, Value::Number(_) | Value::Null))
        .map(|(key, _)| key.clone())
        .collect()
}

/// The numbers of a milestone, and those derived from them.
fn of_first_bytes() -> Vec<String> {
    let milestone = MilestoneSummary { bytes: 0, elapsed_s: None, retransmissions: 0 };
    let mut numbers = numbers_of(&milestone);
    numbers.push("throughput_Bps".to_owned());
    numbers
}

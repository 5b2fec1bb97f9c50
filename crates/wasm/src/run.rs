//! A run from a text, with its files in memory.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use network::Files;
use scenario::{Resolved, Search};
use serde::{Deserialize, Serialize};
use sim::{Outcome, Records};
use stacks::Run;
use units::Duration;
use view::{Packer, Reports, Subject, Table, Tables};

use crate::fault::Fault;

/// The time of the run between two collections of its records: that of the command, so that the files are the same.
const SLICE: Duration = Duration::from_millis(100);

/// What is to be run.
#[derive(Debug, Default, Deserialize)]
pub struct Order {
    /// The scenario.
    pub text: String,
    /// The seed, in place of that of the scenario.
    pub seed: Option<u64>,
    /// Keys of the scenario with other values, such as "links.lasthop.down.rate=1 Mbit/s".
    #[serde(default)]
    pub overrides: Vec<String>,
    /// Whether the answer has the data of the viewer.
    #[serde(default)]
    pub view: bool,
    /// Whether nothing is recorded but the summary, whatever the scenario says.
    #[serde(default)]
    pub summary_only: bool,
}

/// The result of a run, or why there is none.
#[derive(Debug, Default, Serialize)]
pub struct Answer {
    /// The error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
    /// The resolved scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<serde_json::Value>,
    /// The object that `lasthop run --json` prints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<serde_json::Value>,
    /// What the viewer shows of the run, if that was ordered; the last file has its columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<serde_json::Value>,
    /// The tables and captures.
    pub files: Vec<File>,
}

/// A file of the result.
#[derive(Debug, Serialize)]
pub struct File {
    /// Its name in the result's folder.
    pub name: String,
    /// The number of its bytes.
    pub bytes: usize,
    /// Its contents, which are not in the JSON.
    #[serde(skip)]
    pub contents: Vec<u8>,
}

impl From<network::File> for File {
    fn from(network::File { name, contents }: network::File) -> Self {
        Self { name, bytes: contents.len(), contents }
    }
}

impl Answer {
    /// The JSON, after the number of its bytes, and before the contents of the files.
    #[must_use]
    pub fn framed(&self) -> Vec<u8> {
        let mut bytes = crate::framed(self);
        bytes.extend(self.files.iter().flat_map(|file| &file.contents));
        bytes
    }
}

impl From<Fault> for Answer {
    fn from(fault: Fault) -> Self {
        Self { error: Some(fault), ..Self::default() }
    }
}

/// Runs a scenario in virtual time, and reports that time to `progress`, in seconds.
#[must_use]
pub fn run(order: &Order, progress: impl FnMut(f64)) -> Answer {
    result(order, progress).unwrap_or_else(Answer::from)
}

/// The name of the scenario's file in messages.
pub(crate) const SCENARIO: &str = "scenario.toml";

/// The library of the program.
pub(crate) fn library() -> Search {
    Search::in_memory(library::FILES.iter().copied())
}

/// The scenario of a text, resolved.
pub(crate) fn resolved(text: &str, overrides: &[String], seed: Option<u64>) -> Result<Resolved, Fault> {
    Ok(scenario::parse(text, SCENARIO, overrides, seed, &library())?)
}

fn result(order: &Order, mut progress: impl FnMut(f64)) -> Result<Answer, Fault> {
    let resolved = resolved(&order.text, &order.overrides, order.seed)?;
    let spec = if order.summary_only { without_records(&resolved)?.to_spec() } else { resolved.to_spec() }?;
    let mut world = Run::new(spec, &resolved.stacks()).map_err(|error| Fault::of(&error))?;
    let mut files = Files::default();
    let mut viewed = order.view.then(Viewed::default);
    while let Some(next) = world.next_event() {
        world.run_until(next + SLICE).map_err(|error| Fault::of(&error))?;
        progress(world.now().as_secs_f64());
        if let Some(records) = world.take_records() {
            files.append(&records);
            viewed.iter_mut().for_each(|viewed| viewed.append(&records));
        }
    }
    world.run().map_err(|error| Fault::of(&error))?;
    let Outcome { summary, tables, captures } = world.finish();
    let last = Records { tables, captures };
    files.append(&last);
    viewed.iter_mut().for_each(|viewed| viewed.append(&last));
    let mut answer = Answer {
        scenario: Some(Resolved::to_value(&resolved)),
        summary: serde_json::to_value(&summary).ok(),
        // Some tables are part of every run.
        files: if order.summary_only {
            Vec::new()
        } else {
            files.finish().into_iter().map(File::from).collect()
        },
        ..Answer::default()
    };
    if let Some(viewed) = viewed {
        let (view, columns) = viewed.finish(answer.scenario.as_ref())?;
        answer.view = Some(view);
        answer.files.push(File { name: COLUMNS.into(), bytes: columns.len(), contents: columns });
    }
    Ok(answer)
}

/// The scenario without tables and captures. What the summary needs is still measured.
fn without_records(resolved: &Resolved) -> Result<Resolved, Fault> {
    let mut value = resolved.to_value();
    value["record"] = serde_json::json!({"tables": [], "captures": []});
    Ok(Resolved::from_json(&value.to_string())?)
}

/// The name of the packed columns of the viewer among the files.
const COLUMNS: &str = "columns";

/// The tables that the viewer reads.
#[derive(Default)]
struct Viewed(BTreeMap<&'static str, Vec<RecordBatch>>);

impl Viewed {
    fn append(&mut self, records: &Records) {
        for (name, batch) in records.tables.iter().filter(|(name, _)| !view::columns(name).is_empty()) {
            self.0.entry(name).or_default().push(batch.clone());
        }
    }

    /// The view, and its packed columns.
    fn finish(self, scenario: Option<&serde_json::Value>) -> Result<(serde_json::Value, Vec<u8>), Fault> {
        let table = |(name, batches): (&'static str, Vec<RecordBatch>)| {
            Ok((name.to_owned(), Table::new(name, &batches, &view::columns(name))?))
        };
        let tables: Result<Tables, view::TableError> = self.0.into_iter().map(table).collect();
        let tables = tables.map_err(|error| Fault::of(&error))?;
        let subject = Subject {
            specification: scenario.unwrap_or(&serde_json::Value::Null),
            flows: None,
            captured: false,
            reports: &Reports::new(),
        };
        let mut packer = Packer::default();
        let view = view::run_view(&tables, subject, &mut packer).map_err(|error| Fault::of(&error))?;
        Ok((view, packer.finish()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = include_str!("../../../scenarios/quickstart.toml");

    fn order(text: &str) -> Order {
        Order { text: text.into(), ..Order::default() }
    }

    #[test]
    fn a_run_has_its_summary_and_the_files_that_it_records() {
        let answer = run(&order(TEXT), |_| ());
        assert_eq!(answer.error, None);
        assert_eq!(answer.summary.unwrap()["flows"][0]["bytes"], 1_000_000);
        let names: Vec<_> = answer.files.iter().map(|file| file.name.as_str()).collect();
        assert!(names.contains(&"segments.parquet") && names.contains(&"capture-mobile.pcapng"), "{names:?}");
        assert!(!names.contains(&COLUMNS));
    }

    #[test]
    fn an_order_may_ask_for_the_view_and_for_other_values() {
        let overrides = vec!["flows.download.bytes=100 kB".into()];
        let answer = run(&Order { overrides, view: true, ..order(TEXT) }, |_| ());
        assert_eq!(answer.summary.unwrap()["flows"][0]["bytes"], 100_000);
        let view = answer.view.unwrap();
        assert_eq!(view["flows"][0]["name"], "download");
        assert!(!view["flows"][0]["stories"][0]["events"].as_array().unwrap().is_empty());
        assert_eq!(answer.files.last().unwrap().name, COLUMNS);
    }

    #[test]
    fn a_run_without_records_has_the_same_summary() {
        let bare = run(&Order { summary_only: true, ..order(TEXT) }, |_| ());
        assert_eq!(bare.summary, run(&order(TEXT), |_| ()).summary);
        assert!(bare.files.is_empty());
    }

    #[test]
    fn a_run_reports_its_virtual_time() {
        let mut times = Vec::new();
        let _ = run(&order(TEXT), |time| times.push(time));
        assert!(times.is_sorted() && times.last().is_some_and(|last| *last > 4.0), "{times:?}");
    }

    #[test]
    fn an_error_has_its_line_and_its_remedy() {
        let error = run(&order(&TEXT.replace("sack-6675", "sack-6676")), |_| ()).error.unwrap();
        assert_eq!((error.line, error.key.as_deref()), (Some(6), Some("hosts.mobile.profile")));
        assert!(error.help.unwrap().contains("sack-6675"));
    }
}

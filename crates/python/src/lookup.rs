//! Lists, as JSON: algorithms, schemas, and the capabilities of this machine.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The axes of TCP with the algorithms of each.
#[pyfunction]
pub(crate) fn algorithms() -> String {
    let axes = tcp::axes().into_iter().map(|axis| {
        let entries: Vec<_> = axis.entries.iter().map(entry).collect();
        serde_json::json!({ "name": axis.name, "summary": axis.summary, "entries": entries })
    });
    serde_json::Value::from_iter(axes).to_string()
}

fn entry(entry: &tcp::registry::EntryInfo) -> serde_json::Value {
    serde_json::json!({ "id": entry.id, "summary": entry.summary, "source": entry.source })
}

/// The registries of links, workloads and topologies, that is, everything that a scenario names besides TCPs.
#[pyfunction]
pub(crate) fn registries() -> String {
    let of_links = link::registries().map(|registry| {
        let entries =
            registry.entries.iter().map(|entry| [entry.id, entry.summary, entry.example, entry.source]);
        listed(registry.name, registry.summary, entries)
    });
    let workloads = workload::entries().map(|entry| [entry.id, entry.summary, entry.example, entry.source]);
    let topologies = scenario::topology::ENTRIES
        .iter()
        .map(|entry| [entry.id, entry.summary, entry.example, entry.source]);
    let schedulers =
        cell::scheduler::ENTRIES.iter().map(|entry| [entry.id, entry.summary, entry.example, entry.source]);
    let stacks = stacks::ENTRIES.iter().map(|entry| [entry.id, entry.summary, entry.example, entry.source]);
    let others = [
        listed("schedulers", "in what order a shared channel serves its users", schedulers),
        listed("workloads", "what the programs of a flow send", workloads),
        listed("topologies", "hosts and links that a few lines stand for", topologies),
        listed("stacks", "what a host's network stack can be", stacks),
    ];
    serde_json::Value::from_iter(of_links.into_iter().chain(others)).to_string()
}

fn listed(name: &str, summary: &str, entries: impl Iterator<Item = [&'static str; 4]>) -> serde_json::Value {
    let entry = |[name, summary, written, source]: [&str; 4]| {
        serde_json::json!({
            "name": name, "summary": summary, "written": written, "source": source,
        })
    };
    let entries: Vec<_> = entries.map(entry).collect();
    serde_json::json!({ "name": name, "summary": summary, "entries": entries })
}

/// The JSON schema of a kind of file: scenario, study, profile or link.
#[pyfunction]
pub(crate) fn schema(kind: &str) -> PyResult<String> {
    let known =
        || PyValueError::new_err(format!("no schema {kind:?}: the kinds are {}", scenario::KINDS.join(", ")));
    scenario::schema_text(kind).ok_or_else(known)
}

/// The requirements of real-time runs on this machine, each with a remedy if it is missing.
#[pyfunction]
pub(crate) fn doctor() -> String {
    serde_json::to_string(&live::doctor()).expect("checks are texts and booleans")
}

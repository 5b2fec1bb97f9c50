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

/// A member of a registry as lists show it: its name, how a file has it, what it does, and where it is defined.
fn entry<M>(entry: &registry::Entry<M>) -> serde_json::Value {
    serde_json::json!({
        "id": entry.id, "name": entry.id, "written": entry.example(), "summary": entry.summary, "source": entry.source,
    })
}

/// The registries of links, workloads and topologies, that is, everything that a scenario names besides TCPs.
#[pyfunction]
pub(crate) fn registries() -> String {
    let of_links = link::registries().map(|of| listed(of.name, of.summary, of.entries));
    let workloads: Vec<_> = sim::workload::entries().copied().collect();
    let others = [
        listed("schedulers", "in what order a shared channel serves its users", cell::scheduler::ENTRIES),
        listed("workloads", "what the programs of a flow send", &workloads),
        listed("topologies", "hosts and links that a few lines stand for", scenario::topology::ENTRIES),
        listed("stacks", "what a host's network stack can be", stacks::ENTRIES),
    ];
    serde_json::Value::from_iter(of_links.into_iter().chain(others)).to_string()
}

fn listed<M>(name: &str, summary: &str, entries: &[registry::Entry<M>]) -> serde_json::Value {
    let entries: Vec<_> = entries.iter().map(entry).collect();
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

//! Lists, as JSON: algorithms, registries and schemas.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The axes of TCP with the algorithms of each.
#[pyfunction]
pub(crate) fn algorithms() -> String {
    let axes = tcp::axes().into_iter().map(|axis| listed(axis.name, axis.name, axis.summary, &axis.entries));
    serde_json::Value::from_iter(axes).to_string()
}

/// The registries of everything that a scenario names besides TCPs: of links, workloads and topologies.
#[pyfunction]
pub(crate) fn registries() -> String {
    let of_links = link::registries().map(|of| listed(of.name, of.key, of.summary, of.entries));
    let workloads: Vec<_> = workload::entries().copied().collect();
    let schedulers = cell::scheduler::ENTRIES;
    let others = [
        listed("schedulers", "scheduler", "in what order a shared channel serves its users", schedulers),
        listed("proxies", "proxy", "what a node at the end of a link does to connections", proxy::ENTRIES),
        listed("workloads", "workload", "what the programs of a flow send", &workloads),
        listed(
            "topologies",
            "topology",
            "hosts and links that a few lines stand for",
            scenario::topology::ENTRIES,
        ),
        listed("stacks", "stack", "what a host's network stack can be", stacks::ENTRIES),
    ];
    serde_json::Value::from_iter(of_links.into_iter().chain(others)).to_string()
}

/// A registry as lists show it; `key` is its name in schemas.
fn listed<M>(name: &str, key: &str, summary: &str, entries: &[registry::Entry<M>]) -> serde_json::Value {
    let entries: Vec<_> = entries.iter().map(|entry| described(key, entry)).collect();
    serde_json::json!({ "name": name, "summary": summary, "entries": entries })
}

/// A member of a registry: its name, its form in a file, its summary, its source, and its name in schemas.
fn described<M>(key: &str, entry: &registry::Entry<M>) -> serde_json::Value {
    serde_json::json!({
        "id": entry.id,
        "name": entry.id,
        "written": entry.example(),
        "summary": entry.summary,
        "source": entry.source,
        "definition": format!("{key}.{}", entry.id),
    })
}

/// The parameters of a member of a registry by its name in schemas, as a list; empty if it has none.
#[pyfunction]
pub(crate) fn parameters(definition: &str) -> String {
    let parameters = scenario::parameters(definition).unwrap_or_default();
    serde_json::json!(parameters).to_string()
}

/// The JSON schema of a kind of file: scenario, study, profile or link.
#[pyfunction]
pub(crate) fn schema(kind: &str) -> PyResult<String> {
    let known =
        || PyValueError::new_err(format!("no schema {kind:?}: the kinds are {}", scenario::KINDS.join(", ")));
    scenario::schema_text(kind).ok_or_else(known)
}

//! Laying one tree over another: a scenario over a preset, a profile over the profile that it extends.

use serde_json::{Map, Value};

use super::{KeyPath, Origin, Tree};
use crate::schema;

/// Distinction of tables that are sets of keys, which merge, from tables that are choices: a choice merges with a
/// choice of the same name and replaces any other (`{ uniform = […] }` over `{ normal = {…} }`). The JSON schema of the
/// types says which is which.
pub(crate) struct Merge<'a> {
    schema: &'a Value,
}

impl<'a> Merge<'a> {
    /// The rule of a schema with its `$defs`.
    pub(crate) const fn by(schema: &'a Value) -> Self {
        Self { schema }
    }

    /// Fills, below `at` in `over`, what `under` has and `over` has not.
    pub(crate) fn lay_under(&self, over: &mut Tree, at: &KeyPath, under: &Tree) {
        let Value::Object(_) = under.value else { return };
        self.fill(over, at, under, &KeyPath::root(), self.schema);
    }

    fn fill(&self, over: &mut Tree, at: &KeyPath, under: &Tree, from: &KeyPath, schema: &Value) {
        for step in under.steps_below(from) {
            let (to, from) = (at.below(&step), from.below(&step));
            match (over.get(&to), under.get(&from)) {
                (None, Some(value)) => copy(over, &to, under, &from, value.clone()),
                (Some(Value::String(ours)), Some(theirs @ Value::Object(table)))
                    if table.len() == 1 && table.contains_key(ours) =>
                {
                    copy(over, &to, under, &from, theirs.clone());
                }
                (Some(Value::Object(ours)), Some(Value::Object(theirs))) => {
                    let inner = schema::property(self.schema, schema, &step).unwrap_or(&Value::Null);
                    if merges(inner, ours, theirs) {
                        self.fill(over, &to, under, &from, inner);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Whether two tables that this schema describes merge.
fn merges(schema: &Value, over: &Map<String, Value>, under: &Map<String, Value>) -> bool {
    if schema.get("oneOf").is_some() || schema.get("anyOf").is_some() {
        return over.len() == 1 && over.keys().eq(under.keys());
    }
    schema.get("properties").is_some() || schema.get("additionalProperties").is_some()
}

/// Copies a value and the places of all that is in it.
pub(super) fn copy(over: &mut Tree, to: &KeyPath, under: &Tree, from: &KeyPath, value: Value) {
    let Some(slot) = super::slot(&mut over.value, &to.0) else { return };
    *slot = value;
    let moved = under.origins.range(from.clone()..).take_while(|(path, _)| path.starts_with(from));
    let moved = moved.map(|(path, origin)| {
        let rest = KeyPath(path.0[from.0.len()..].to_vec());
        (to.join(&rest), Origin::clone(origin))
    });
    over.origins.extend(moved);
    if let Some(origin) = under.origin(from) {
        over.origins.insert(to.clone(), origin);
    }
}

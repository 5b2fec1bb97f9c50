//! Choices in JSON schemas: a definition for each member's parameters, to which every place refers.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use crate::Entry;

/// A reference to the parameters `P` of the member `id` of the registry `key`, whose definition is called `key.id`.
pub fn definition<P: JsonSchema>(key: &str, id: &str, generator: &mut SchemaGenerator) -> Schema {
    let name = format!("{key}.{id}");
    if !generator.definitions().contains_key(&name) {
        // A rule's parameters may choose from the list in which it stands itself.
        generator.definitions_mut().insert(name.clone(), Value::Bool(true));
        let schema = P::json_schema(generator);
        generator.definitions_mut().insert(name.clone(), schema.into());
    }
    Schema::new_ref(format!("#{}/{name}", generator.settings().definitions_path))
}

/// The schema of a choice of one `noun`: a name, or one of `tables`, each of one key.
#[must_use]
pub fn choice_schema(noun: &str, ids: &[&str], tables: Vec<Schema>) -> Schema {
    let mut choices = vec![json_schema!({ "type": "string", "enum": ids })];
    choices.extend(tables);
    json_schema!({ "description": format!("the {noun}"), "anyOf": choices })
}

/// The schema of a table whose only key is the member's name.
pub fn one_key<M>(entry: &Entry<M>, parameters: &Schema) -> Schema {
    let id = entry.id;
    json_schema!({
        "type": "object",
        "description": format!("{} ({})", entry.summary, entry.source),
        "properties": { id: parameters },
        "required": [id],
        "additionalProperties": false,
    })
}

//! Choices in JSON schemas: a definition for each member's parameters, to which every place refers.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

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

/// The schema of a choice of one `noun`: the name of a member, or a table with that name as its only key.
#[must_use]
pub fn choice_schema(noun: &str, members: Vec<Member>) -> Schema {
    let ids: Vec<&str> = members.iter().map(|(id, _)| *id).collect();
    let name = json_schema!({ "type": "string", "enum": ids });
    json_schema!({ "description": format!("the {noun}"), "anyOf": [name, one_key(members)] })
}

/// A member's name and the schema of its parameters.
pub type Member = (&'static str, Schema);

/// The member of an entry, described.
pub fn member<M>(entry: &Entry<M>, mut parameters: Schema) -> Member {
    parameters.insert("description".to_owned(), format!("{} ({})", entry.summary, entry.source).into());
    (entry.id, parameters)
}

/// The schema of a table whose only key is the name of one of `members`.
#[must_use]
pub fn one_key(members: Vec<Member>) -> Schema {
    let ids: Vec<&str> = members.iter().map(|(id, _)| *id).collect();
    let properties: Map<String, Value> =
        members.into_iter().map(|(id, parameters)| (id.to_owned(), parameters.into())).collect();
    json_schema!({
        "type": "object",
        "properties": properties,
        // Their order, which a JSON object does not have.
        "propertyNames": { "enum": ids },
        "minProperties": 1,
        "maxProperties": 1,
    })
}

//! A part of a whole, as a number or as the fraction that a paper states: `0.5`, `"2/7"`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use registry::refusal;

/// A number between 0 and 1, neither of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub(super) struct Proportion(pub f64);

impl Proportion {
    fn read(written: &Value) -> Option<f64> {
        let text = || {
            let (part, whole) = written.as_str()?.split_once('/')?;
            Some(part.trim().parse::<f64>().ok()? / whole.trim().parse::<f64>().ok()?)
        };
        written.as_f64().or_else(text).filter(|proportion| *proportion > 0.0 && *proportion < 1.0)
    }
}

impl<'de> Deserialize<'de> for Proportion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Value::deserialize(deserializer)?;
        Self::read(&written).map(Self).ok_or_else(|| {
            refusal(format!("{written} is no part of a window"), "between 0 and 1, like 0.5 or \"2/7\"")
        })
    }
}

impl JsonSchema for Proportion {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Proportion".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A part: a number between 0 and 1, or a fraction like \"2/7\".",
            "type": ["number", "string"],
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_proportion_is_a_number_or_a_fraction_and_less_than_the_whole() {
        let read = |written: Value| {
            serde_json::from_value::<Proportion>(written).ok().map(|proportion| proportion.0)
        };
        assert_eq!(read(json!(0.5)), Some(0.5));
        assert_eq!(read(json!("2/7")), Some(2.0 / 7.0));
        for wrong in
            [json!(0), json!(1), json!(-0.5), json!("7/2"), json!("1/0"), json!("half"), json!("2 / x")]
        {
            assert_eq!(read(wrong.clone()), None, "{wrong}");
        }
    }
}

//! Quantities of radio as people write them: "1000 m", "20 W" or "43 dBm", "14 dB", "2 GHz", "3 km/h", "70°".
//!
//! Every value in a file carries its unit; a bare number is refused, as everywhere in lasthop. Sizes, rates and times
//! are those of [`units::text`].

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use units::text::REMEDY;

/// A unit and its size in canonical units, or a level in dBm.
type Unit = (&'static str, Scale);

#[derive(Clone, Copy)]
enum Scale {
    Times(f64),
    /// Decibels above a milliwatt, read as watts.
    DecibelMilliwatt,
}

/// Reads `text` as a number and one of `units`.
fn parse(text: &str, what: &str, example: &str, units: &[Unit]) -> Result<f64, String> {
    let text = text.trim();
    let split =
        text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))).unwrap_or(text.len());
    let (number, unit) = (text[..split].trim(), text[split..].trim());
    let number: f64 =
        number.parse().map_err(|_| format!("\"{text}\" is not a {what}{REMEDY}write one like {example}"))?;
    let scale = units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| scale);
    match scale {
        Some(Scale::Times(factor)) => Ok(number * factor),
        Some(Scale::DecibelMilliwatt) => Ok(crate::decibel::ratio(number) / 1_000.0),
        None if unit.is_empty() => Err(format!("{text} has no unit{REMEDY}write a {what} like {example}")),
        None => {
            let known: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
            Err(format!("\"{unit}\" is not a unit of {what}{REMEDY}write one of {}", known.join(", ")))
        }
    }
}

macro_rules! quantity {
    (
        $(#[$doc:meta])* $name:ident, $what:literal like $example:literal,
        canonical $canonical:literal: $($unit:literal = $scale:expr),*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
        pub struct $name(pub f64);

        impl $name {
            /// Reads a number and a unit.
            ///
            /// # Errors
            /// The error in the text, and the remedy.
            pub fn parse(text: &str) -> Result<Self, String> {
                parse(text, $what, $example, &[$(($unit, $scale)),*]).map(Self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&format_args!("{} {}", self.0, $canonical))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::parse(&text).map_err(D::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "description": concat!("a ", $what, " like ", $example) })
            }
        }
    };
}

quantity! {
    /// A length in metres.
    Metres, "length" like "1000 m", canonical "m": "m" = Scale::Times(1.0), "km" = Scale::Times(1_000.0)
}
quantity! {
    /// A power in watts.
    Watts, "power" like "20 W", canonical "W":
    "W" = Scale::Times(1.0), "mW" = Scale::Times(1e-3), "dBm" = Scale::DecibelMilliwatt
}
quantity! {
    /// A ratio of powers in decibels.
    Decibels, "level" like "8.9 dB", canonical "dB": "dB" = Scale::Times(1.0), "dBi" = Scale::Times(1.0)
}
quantity! {
    /// A frequency in hertz.
    Hertz, "frequency" like "2 GHz", canonical "Hz":
    "Hz" = Scale::Times(1.0), "kHz" = Scale::Times(1e3), "MHz" = Scale::Times(1e6), "GHz" = Scale::Times(1e9)
}
quantity! {
    /// A speed in metres per second.
    Speed, "speed" like "3 km/h", canonical "m/s": "m/s" = Scale::Times(1.0), "km/h" = Scale::Times(1.0 / 3.6)
}
quantity! {
    /// An angle in degrees.
    Degrees, "angle" like "70 deg", canonical "deg": "deg" = Scale::Times(1.0), "°" = Scale::Times(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_scale_and_levels_become_watts() {
        assert_eq!(Metres::parse("1.5 km"), Ok(Metres(1_500.0)));
        assert_eq!(Degrees::parse("70°"), Ok(Degrees(70.0)));
        assert!((Watts::parse("43 dBm").map_or(0.0, |power| power.0) - 19.95).abs() < 0.01);
        assert!((Speed::parse("3.6 km/h").map_or(0.0, |speed| speed.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_bare_number_and_a_foreign_unit_are_refused_with_what_would_be_right() {
        assert_eq!(Metres::parse("100"), Err("100 has no unit; write a length like 1000 m".into()));
        assert_eq!(
            Hertz::parse("2 m"),
            Err("\"m\" is not a unit of frequency; write one of Hz, kHz, MHz, GHz".into())
        );
        assert_eq!(Watts::parse("much"), Err("\"much\" is not a power; write one like 20 W".into()));
    }
}

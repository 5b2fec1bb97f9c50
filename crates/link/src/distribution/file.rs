//! User file: measured values, one to a line, replayed in turn or picked at random.
//!
//! A link reads no file. The loader of a configuration reads the text and hands it to [`Parameters::load`]; the values
//! are then part of the configuration, so that a run is a pure function of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Stream;

use super::family::ReadFile;
use super::sequence::Sequence;
use super::{Entry, Family, Quantity, Sampler};
use crate::error::ConfigError;
use crate::random::unit;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "file",
    "the values of a file, one per line with its unit, in turn or at random",
    "replay, or the empirical distribution",
)
.written("{ file = \"delays.txt\" }");

/// Path of the file, its values once it was read, and the order of their use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Written<Q>")]
#[schemars(with = "Written<Q>")]
pub struct Parameters<Q> {
    /// Path of the file, relative to the file that names it.
    pub path: String,
    /// Order in which its values are used.
    pub pick: Pick,
    /// Its values; none before it was read.
    pub values: Vec<Q>,
}

/// Order in which the values of a file are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pick {
    /// In turn, and from the start again: a measured course is replayed.
    #[default]
    InTurn,
    /// Each at random, all equally likely.
    Random,
}

/// A file as it is written: its path alone, or a table.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Written<Q> {
    Path(String),
    Table(Table<Q>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DistributionFile")]
struct Table<Q> {
    /// Path of the file, relative to the file that names it.
    path: String,
    /// Order in which its values are used.
    #[serde(default)]
    pick: Pick,
    /// Its contents after reading: not a key for users.
    #[schemars(skip)]
    values: Option<Vec<Q>>,
}

impl<Q> From<Written<Q>> for Parameters<Q> {
    fn from(written: Written<Q>) -> Self {
        match written {
            Written::Path(path) => Self { path, pick: Pick::default(), values: Vec::new() },
            Written::Table(Table { path, pick, values }) => {
                Self { path, pick, values: values.unwrap_or_default() }
            }
        }
    }
}

impl<Q: Quantity> Parameters<Q> {
    /// Takes the values from the file's text: one to a line; empty lines and what follows a `#`
    /// do not count.
    ///
    /// # Errors
    /// A line that is not a quantity, with its number; a file without values.
    pub fn load(&mut self, text: &str) -> Result<(), ConfigError> {
        let mut values = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let written = line.split('#').next().unwrap_or_default().trim();
            if !written.is_empty() {
                values.push(Q::parse(written).map_err(|error| {
                    let (wrong, right) = error.halves();
                    ConfigError::new("", format!("{}, line {}: {wrong}", self.path, number + 1), right)
                })?);
            }
        }
        self.values = values;
        self.check()
    }
}

impl<Q: Quantity> Family for Parameters<Q> {
    fn check(&self) -> Result<(), ConfigError> {
        if self.values.is_empty() {
            let message = format!("{} gave no values", self.path);
            return Err(ConfigError::new(
                "",
                message,
                "write one value with its unit to a line, like 200 ms",
            ));
        }
        Ok(())
    }

    fn load_files(&mut self, read: &mut ReadFile) -> Result<(), ConfigError> {
        if self.values.is_empty() {
            let text = read(&self.path)?;
            self.load(&text)?;
        }
        Ok(())
    }

    fn sampler(&self) -> Box<dyn Sampler> {
        match self.pick {
            Pick::InTurn => Box::new(Sequence::new(&self.values)),
            Pick::Random => Box::new(Empirical(self.values.iter().map(|value| value.number()).collect())),
        }
    }
}

#[derive(Debug)]
struct Empirical(Vec<f64>);

impl Sampler for Empirical {
    fn sample(&mut self, stream: &mut Stream) -> f64 {
        self.0[(unit(stream) * self.0.len() as f64) as usize]
    }
}

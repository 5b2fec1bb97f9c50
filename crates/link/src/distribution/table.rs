//! Table: netem's distribution tables, the `.dist` files of iproute2.
//!
//! Such a file holds whole numbers from −32768 to 32767, separated by blanks or ends of line; what
//! follows a `#` does not count. They are the inverse of a distribution function in steps, in units of
//! 1/8192 standard deviation from the mean. One is picked, all equally likely, and scaled.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Stream;

use super::family::{ReadFile, check_finite};
use super::{Entry, Family, Quantity, Sampler};
use crate::error::ConfigError;
use crate::random::unit;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "table",
    "a distribution table of netem, scaled to a mean and a deviation",
    "netem (Hemminger 2005); tc-netem(8), \"distribution\"",
)
.written("{ table = { path = \"paretonormal.dist\", mean = \"100 ms\", deviation = \"20 ms\" } }");

/// Path of the table, and its scaling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "Q: Quantity")]
#[schemars(bound = "Q: Quantity")]
pub struct Parameters<Q> {
    /// Path of the file, relative to the file that names it.
    pub path: String,
    /// Position of the table's 0.
    pub mean: Q,
    /// Deviation: the size of 8192 of the table's units.
    pub deviation: Q,
    /// The table's numbers; none before the file was read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub steps: Vec<i16>,
}

impl<Q: Quantity> Parameters<Q> {
    /// Takes the numbers from the file's text.
    ///
    /// # Errors
    /// A word that is not such a number, with its line; none at all, or more than netem takes.
    pub fn load(&mut self, text: &str) -> Result<(), ConfigError> {
        let mut steps = Vec::new();
        for (number, line) in text.lines().enumerate() {
            for word in line.split('#').next().unwrap_or_default().split_whitespace() {
                steps.push(word.parse().map_err(|_| self.wrong(number + 1, word))?);
            }
        }
        if steps.len() > MOST_STEPS {
            let message = format!("{} has {} numbers", self.path, steps.len());
            return Err(ConfigError::new("path", message, format!("netem takes {MOST_STEPS} at most")));
        }
        self.steps = steps;
        self.check_steps()
    }

    fn wrong(&self, line: usize, word: &str) -> ConfigError {
        let message = format!("{}, line {line}: {word} is not a whole number of 16 bits", self.path);
        ConfigError::new("path", message, "write numbers from -32768 to 32767, as tables of netem have")
    }

    fn check_steps(&self) -> Result<(), ConfigError> {
        if self.steps.is_empty() {
            let message = format!("{} gave no numbers", self.path);
            return Err(ConfigError::new("path", message, "name a distribution table of netem"));
        }
        Ok(())
    }
}

impl<Q: Quantity> Family for Parameters<Q> {
    fn check(&self) -> Result<(), ConfigError> {
        check_finite("deviation", self.deviation.number())?;
        self.check_steps()
    }

    fn sampler(&self) -> Box<dyn Sampler> {
        let (mean, deviation) = (self.mean.number(), self.deviation.number());
        Box::new(Table { mean, unit: deviation / SCALE, steps: self.steps.clone() })
    }

    fn load_files(&mut self, read: &mut ReadFile) -> Result<(), ConfigError> {
        if self.steps.is_empty() {
            let text = read(&self.path)?;
            self.load(&text)?;
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Table {
    mean: f64,
    unit: f64,
    steps: Vec<i16>,
}

impl Sampler for Table {
    fn sample(&mut self, stream: &mut Stream) -> f64 {
        let step = self.steps[(unit(stream) * self.steps.len() as f64) as usize];
        self.mean + self.unit * f64::from(step)
    }
}

/// NETEM_DIST_SCALE and NETEM_DIST_MAX of the kernel's interface (linux/pkt_sched.h).
const SCALE: f64 = 8192.0;
const MOST_STEPS: usize = 16_384;

//! A study: a base scenario, the cases of a document's tables, its published values, figures and claims.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use units::text::Probability;
use units::{Bytes, Rate};

use super::Table;

/// A study file: the experiments of one document.
///
/// A case is one value for each variable. A variable's value sets keys of the base scenario; a table lists its
/// cases as grids; each case is run with the same seeds (common random numbers), as often as its values ask.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// The study's name; without it, its folder's.
    pub name: Option<String>,
    /// One line that describes the study.
    pub title: String,
    /// The document.
    pub source: String,
    /// The base scenario: a path seen from the study's folder, or a name.
    pub scenario: String,
    /// The seed of each case's first replication; the next ones count up. Without it, 1.
    pub first_seed: Option<u64>,
    /// The document's own values.
    pub published: Option<Published>,
    /// The columns that identify rows: variables, `table` (or `figure`, which is the same), `scope`, `metric`, and the
    /// columns that tables give their `numbers`. Where two variables set the same key, the later column counts.
    pub columns: Vec<String>,
    /// The variables, by name: the forms of their values, tried in order.
    pub variables: BTreeMap<String, Vec<Form>>,
    /// The values that variables have where a table, figure or claim gives none.
    #[serde(default)]
    pub defaults: BTreeMap<String, Value>,
    /// Part of a transfer that a number covers, by name.
    #[serde(default)]
    pub scopes: BTreeMap<String, Scope>,
    /// Metric of a run, by name.
    pub metrics: BTreeMap<String, Metric>,
    /// The document's tables.
    pub tables: Vec<StudyTable>,
    /// The document's figures.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Curves through the rows of its tables.
    #[serde(default)]
    pub charts: Vec<Chart>,
    /// Labels in charts for a column, a metric, or a panel (its column and text, as in "rate 5"). Default: the name.
    #[serde(default)]
    pub words: BTreeMap<String, String>,
    /// The claims of the document.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// Condition under which a measured value agrees with the published value; a row belongs to the first kind that
    /// fits it.
    #[serde(default)]
    pub agreement: Vec<Agreement>,
    /// Experiments of the same document with another scenario: studies in separate folders, which run with this one.
    #[serde(default)]
    pub parts: Vec<Part>,
}

/// A study that is a part of another.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its file, seen from the study's folder.
    pub study: String,
    /// Its tables, so that one of them can be selected without reading the cases of the others.
    pub tables: Vec<String>,
}

/// A kind of rows, and when one of them agrees with its published value.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agreement {
    /// Name of the kind: "without delays".
    pub kind: String,
    /// The values of its rows in the study's columns; `*` matches any letters.
    #[serde(default)]
    pub only: BTreeMap<String, Vec<String>>,
    /// The share of the measured value by which the published one may differ; a row with a span is widened by it.
    #[serde(default)]
    pub within: f64,
    /// Or the absolute difference that is allowed, where that is more.
    #[serde(default)]
    pub or: f64,
    /// Or the number of published standard deviations (the statistic `deviation`) that is allowed, where that is more.
    #[serde(default)]
    pub deviations: f64,
    /// The number of runs that the document's median is of: it may lie where 95 % of the differences between such a
    /// median and ours would.
    pub runs: Option<u32>,
}

/// The reference: a file of published values, with one row for each number and the study's columns among its own; or an
/// oracle.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The CSV file, seen from the study's folder.
    pub file: Option<String>,
    /// Or a program that computes the same numbers.
    pub oracle: Option<Oracle>,
    /// The column of the number; without it, `value`.
    pub value: Option<String>,
    /// The column with median, q25, q75 or deviation. Default: `stat`.
    pub statistic: Option<String>,
    /// The column that is 0 where the reading is sure; without it, `uncertain`.
    pub uncertain: Option<String>,
}

/// Another program that runs each case whenever the study runs, so that its numbers are never older than ours.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Oracle {
    /// The named function of the reading side that asks it: it is given a case and returns a number for each metric.
    pub ask: String,
    /// The program. Without it on the machine, the study ends with a message.
    pub program: String,
    /// Instruction to install it, for that message.
    pub install: String,
}

/// One form of a variable's values: a text with `{placeholders}`, and the keys that it sets.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Form {
    /// The text: "none", "{packets}", "{packet}@{seconds}s". A placeholder takes letters, digits, `.`, `-` and `_`.
    pub form: String,
    /// Keys of the scenario by path, and their values; `{placeholder}` in a text is replaced, and a text that is
    /// nothing but a placeholder becomes the number if it is one.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// Minimum number of runs of a case with this value. Default: 1.
    pub replications: Option<u32>,
    /// The case is run over a span: with each of these added to the whole numbers under some keys.
    pub span: Option<Span>,
}

/// A range over which a case runs, if its result depends on a detail that the document does not give.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// The keys, by path; `*` matches every item of a list.
    pub over: String,
    /// The numbers to add, in turn.
    pub add: Vec<i64>,
}

/// The part of a transfer that a number covers: all of it, or the time until an amount is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// The first bytes of each flow. Default: the whole flow.
    pub bytes: Option<Bytes>,
}

/// Metric of a run: from its flows, from a link, or by a named check.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Meaning of the number.
    pub says: String,
    /// A key of the summary's flows.
    pub flow: Option<String>,
    /// Aggregation of the flows' numbers. Default: their sum.
    pub fold: Option<Fold>,
    /// Taken off each flow's time before a throughput is made of it, where a document leaves the opening out.
    pub less: Option<units::Duration>,
    /// A link's counter: link.direction.key.
    pub link: Option<String>,
    /// Divisor of the number: 1000 for a throughput in kB/s. Default: 1.
    pub divided_by: Option<f64>,
    /// The window of the scenario that the number is about; without it, the whole run.
    pub window: Option<String>,
    /// The flows that it is about, by name, `*` standing for any letters; without it, all.
    pub flows: Option<String>,
    /// A named function of the reading side, which is given the run.
    pub check: Option<String>,
    /// A number of the goodputs of the transfers that end in the window, each of which counts once.
    pub transfers: Option<TransferMeasure>,
    /// The tables that the check needs recorded.
    #[serde(default)]
    pub tables: Vec<Table>,
}

impl Metric {
    /// The tables that must be recorded to read it.
    pub fn recorded(&self) -> impl Iterator<Item = Table> + '_ {
        self.tables.iter().copied().chain(self.transfers.map(|_| Table::Transfers))
    }
}

/// A number of a distribution of goodputs of transfers, from the table `transfers`. A flow that ends none in the window
/// counts as one transfer with the goodput of the flow there.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransferMeasure {
    /// The goodput in bytes per second that this share of the transfers do not exceed; 0.5 is the median.
    Quantile(Probability),
    /// The percentage of transfers whose goodput is below this rate.
    Below(Rate),
    /// The percentage of transfers whose goodput is this rate or more.
    AtLeast(Rate),
}

/// Aggregation of the numbers of several flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fold {
    /// All together.
    #[default]
    Sum,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The mean.
    Mean,
    /// Jain's fairness index times 100.
    Jain,
    /// The smallest over the mean, times 100: max-min fairness at one bottleneck (RFC 5166 §2.3).
    MaxMin,
    /// The geometric mean over the mean, times 100: the product measure (RFC 5166 §2.3).
    Product,
}

/// One table of the document.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyTable {
    /// Its number.
    pub id: String,
    /// Its caption, in our words.
    pub title: String,
    /// Its cases: grids of values, each the product of its lists.
    pub cases: Vec<Grid>,
    /// Whether it runs only if it is named (`--only`), because its runs take long.
    #[serde(default)]
    pub on_request: bool,
    /// Values of variables that all its cases have.
    #[serde(default)]
    pub fixed: BTreeMap<String, Value>,
    /// The scopes of its numbers. Default: no scopes.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// Its numbers.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Or its numbers one by one, where they differ in more than their metric: those of each case.
    #[serde(default)]
    pub numbers: Vec<Number>,
    /// Numbers that are ratios of others in the table.
    #[serde(default)]
    pub ratios: Vec<Ratio>,
    /// Numbers that say how little of something is enough.
    #[serde(default)]
    pub smallest: Vec<Smallest>,
    /// Numbers that this table takes otherwise: its name for one, and the metric that it is.
    #[serde(default)]
    pub definitions: BTreeMap<String, String>,
}

/// One number of a table's cases, identified by its own columns.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct Number {
    /// Its name.
    pub metric: String,
    /// The metric that it is; without it, the one of that name.
    pub is: Option<String>,
    /// The cases that it is of, by values of variables; without it, all of the table's.
    #[serde(default)]
    pub only: Grid,
    /// Columns and their texts, instead of the case's.
    #[serde(flatten)]
    pub columns: BTreeMap<String, String>,
}

/// A number that is the quotient of two others which differ in one column.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    /// Its name.
    pub metric: String,
    /// The metric that is divided.
    pub of: String,
    /// The column in which the two differ.
    pub column: String,
    /// Text of that column in the dividend.
    pub over: String,
    /// The columns and texts of the divisor.
    pub under: String,
    /// And in the quotient.
    pub called: String,
}

/// The smallest number in one column from which on a metric reaches a level, among the numbers of the table: the buffer
/// that a utilisation needs. All larger numbers must reach the level too. It is determined for each seed, and null if a
/// seed has none.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Smallest {
    /// Its name.
    pub metric: String,
    /// The column with the numbers.
    pub column: String,
    /// The metric that is to reach the level.
    pub of: String,
    /// The level: the metric must not be below it.
    pub reaches: f64,
    /// Text of that column in the row of the smallest number.
    pub called: String,
}

/// A grid of cases: for each variable one value, or a list of them.
pub type Grid = BTreeMap<String, Value>;

/// One figure of the document.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its number.
    pub id: String,
    /// Kind of the picture.
    pub kind: FigureKind,
    /// Its caption, in our words.
    pub title: String,
    /// The case: one value for each variable.
    pub case: Grid,
    /// The flow; without it, all of them.
    pub flow: Option<String>,
    /// The number added to the span's keys, one of the form's. Default: 0.
    pub span: Option<i64>,
    /// The seed; without it, the study's first.
    pub seed: Option<u64>,
    /// Begin of the picture. Default: the start of the run.
    pub from: Option<units::Duration>,
    /// End of the picture. Default: the end of the run.
    pub to: Option<units::Duration>,
}

/// A kind of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// Segments, retransmissions, ACKs, drops and the advertised window over time.
    TimeSequence,
    /// The congestion window with ssthresh over time.
    Cwnd,
    /// The queue's length over time.
    Queue,
}

/// Curves through the rows of a table: means over one column, with their 95 % intervals, one curve for each text of
/// another.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// Its number.
    pub id: String,
    /// Its caption, in our words.
    pub title: String,
    /// The table with its rows.
    pub table: String,
    /// The metrics: a panel each.
    pub metrics: Vec<String>,
    /// The column along the bottom, whose texts are numbers. A metric of the table means its value instead.
    pub over: String,
    /// The column that identifies curves. Default: one curve.
    pub by: Option<String>,
    /// The column that makes panels, a row of them for each metric; without it, one panel.
    pub panels: Option<String>,
    /// The rows that it shows, by columns and the texts that they may have; without it, all of the table's.
    #[serde(default)]
    pub only: Grid,
    /// Whether the bottom is logarithmic.
    #[serde(default)]
    pub log: bool,
    /// Whether each panel has its own scale. Default: adjacent panels share one.
    #[serde(default)]
    pub own_scales: bool,
    /// Labels that differ from the study's `words`.
    #[serde(default)]
    pub words: BTreeMap<String, String>,
}

/// A claim of the document, judged by measured values or by a named check.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its number.
    pub id: String,
    /// The claim, in our words.
    pub says: String,
    /// Its place in the document.
    pub place: String,
    /// Whether it only restates the set-up: such claims are checked, and counted separately.
    #[serde(default)]
    pub setup: bool,
    /// Names for values that the expression uses.
    #[serde(default)]
    pub values: BTreeMap<String, Selection>,
    /// The expression that is true when the claim holds: numbers, names, + - * /, comparisons, and, or, not,
    /// abs, min, max, round.
    pub holds: Option<String>,
    /// Or the named function of the reading side that judges it.
    pub check: Option<String>,
    /// The cases that the check looks at, each one value for each variable.
    #[serde(default)]
    pub cases: Vec<Grid>,
    /// The tables of the study whose rows the check uses, as far as they run.
    #[serde(default)]
    pub about: Vec<String>,
    /// The tables that the check needs recorded.
    #[serde(default)]
    pub tables: Vec<Table>,
}

/// One row's value: values for the study's columns that select a single row.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct Selection {
    /// Number of the row. Default: the measured median.
    #[serde(default)]
    pub stat: Stat,
    /// The columns and their values.
    #[serde(flatten)]
    pub columns: BTreeMap<String, Value>,
}

/// Choice among a row's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stat {
    /// The measured median.
    #[default]
    Measured,
    /// The first quartile.
    Q25,
    /// The third quartile.
    Q75,
    /// The lowest over the span.
    Low,
    /// The highest over the span.
    High,
    /// The measured mean.
    Mean,
    /// The lower end of the mean's 95 % interval.
    #[serde(rename = "mean_low")]
    MeanLow,
    /// The upper end of the mean's 95 % interval.
    #[serde(rename = "mean_high")]
    MeanHigh,
    /// The document's own value.
    Published,
}

//! Studies: the cases of a document's tables as resolved scenarios, and the evaluation of their results.
//!
//! [`load`] reads a study's file ([`crate::file::Study`]), sweeps its grids into cases (`sweep`), resolves each, and
//! ties rows, figures and claims to them. The reading side (Python) gets the whole as JSON and looks nothing up.

mod agreement;
mod charts;
mod claims;
mod form;
mod metrics;
mod pattern;
mod rows;
mod sweep;
mod uses;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::error::InputError;
use crate::file::{self, FigureKind, Fold, Oracle, Stat};
use crate::library::{LibraryKind, Search};
use crate::overrides::Override;
use crate::resolved::Resolved;
use crate::tree::{KeyPath, Tree};

/// A study whose every case can be run.
#[derive(Clone, Debug, Serialize)]
pub struct Study {
    /// Its name.
    pub name: String,
    /// One line that describes the study.
    pub title: String,
    /// The document.
    pub source: String,
    /// The study's folder.
    pub folder: PathBuf,
    /// The study's file.
    pub file: PathBuf,
    /// The columns that identify rows.
    pub columns: Vec<String>,
    /// The reference.
    pub published: Option<Published>,
    /// The part of a transfer that a number covers: the first bytes, or (none) the whole.
    pub scopes: BTreeMap<String, Option<u64>>,
    /// Metric of a run.
    pub metrics: BTreeMap<String, Metric>,
    /// The document's tables.
    pub tables: Vec<Table>,
    /// The cases to run.
    pub cases: Vec<Case>,
    /// The reported rows.
    pub rows: Vec<Row>,
    /// Pictures of single runs.
    pub figures: Vec<Figure>,
    /// Pictures of rows.
    pub charts: Vec<Chart>,
    /// The claims.
    pub claims: Vec<Claim>,
    /// Conditions under which rows agree with published values, by kind.
    pub agreement: Vec<file::Agreement>,
}

/// A study's file, or that of one of its parts, and the tables in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartOutline {
    /// The file.
    pub file: PathBuf,
    /// Its tables, by id.
    pub tables: Vec<String>,
}

/// The reference.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Published {
    /// A document's values.
    File(PublishedFile),
    /// A program that is asked when the study is run.
    Oracle(Oracle),
}

/// A file of published values, found.
#[derive(Clone, Debug, Serialize)]
pub struct PublishedFile {
    /// The CSV file.
    pub file: PathBuf,
    /// The column of the number.
    pub value: String,
    /// The column with median, q25, q75 or deviation.
    pub statistic: String,
    /// The column that is 0 where the reading is sure.
    pub uncertain: String,
}

/// Metric of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Metric {
    /// Meaning of the number.
    pub says: String,
    /// A key of the summary's flows.
    pub flow: Option<String>,
    /// Aggregation of the flows' numbers.
    pub fold: Fold,
    /// Taken off each flow's time before a throughput is made of it, seconds.
    pub less_s: f64,
    /// Divisor of the number.
    pub divided_by: f64,
    /// Or a link's counter: link.direction.key.
    pub link: Option<String>,
    /// The window that the number is about.
    pub window: Option<String>,
    /// The flows that it is about, `*` standing for any letters.
    pub flows: Option<String>,
    /// Or a named function that is given the run.
    pub check: Option<String>,
    /// The line of that name in the study's file.
    pub line: Option<usize>,
    /// The tables that the function needs recorded.
    pub tables: Vec<file::Table>,
}

/// One table of the document.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// Its number.
    pub id: String,
    /// Its caption.
    pub title: String,
    /// The scopes of its numbers.
    pub scopes: Vec<String>,
    /// Its numbers.
    pub metrics: Vec<String>,
    /// Its cases, by id.
    pub cases: Vec<String>,
    /// Whether it runs only if it is named.
    pub on_request: bool,
}

/// One value for each variable; it runs once for each seed and variant.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// The values of the columns' variables, joined by commas, then those of other variables that differ from the
    /// default.
    pub id: String,
    /// The values, by variable.
    pub values: BTreeMap<String, Value>,
    /// The tables it is in; none if only a figure or a claim wants it.
    pub tables: Vec<String>,
    /// The recorded tables that its metrics need of every run.
    pub record: Vec<file::Table>,
    /// The seeds: the same first ones for every case (common random numbers).
    pub seeds: Vec<u64>,
    /// One, or one for each step of a span; none if the case is in no requested table.
    pub variants: Vec<Variant>,
}

/// A case's scenario at one step of its span.
#[derive(Clone, Debug, Serialize)]
pub struct Variant {
    /// The added number; 0 without a span.
    pub span: i64,
    /// The hash of the scenario under the case's first seed.
    pub hash: String,
    /// The scenario under the case's first seed. In JSON it is a text: with hundreds of cases and hosts, the reader
    /// keeps texts, and parses one at a time.
    #[serde(serialize_with = "as_text")]
    pub scenario: Resolved,
}

fn as_text<S: serde::Serializer>(scenario: &Resolved, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&scenario.json())
}

/// One number that is reported.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The table it is in.
    pub table: String,
    /// The case, by id.
    pub case: String,
    /// The part of the transfer, if there are scopes.
    pub scope: Option<String>,
    /// Its name in the table.
    pub metric: String,
    /// The metric that it is.
    pub measure: String,
    /// The texts of the columns that identify it.
    pub columns: BTreeMap<String, String>,
    /// The positions of the rows that it is the quotient of.
    pub quotient: Option<[usize; 2]>,
    /// The rows that it is the smallest of.
    pub smallest: Option<Smallest>,
}

/// Rows among which the smallest number that reaches a level is determined.
#[derive(Clone, Debug, Serialize)]
pub struct Smallest {
    /// The numbers, and the positions of their rows.
    pub tried: Vec<(f64, usize)>,
    /// The level.
    pub reaches: f64,
}

/// One figure.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// Its number.
    pub id: String,
    /// Kind of the picture.
    pub kind: FigureKind,
    /// Its caption.
    pub title: String,
    /// The case, by id.
    pub case: String,
    /// The seed of the run.
    pub seed: u64,
    /// The step of the span.
    pub span: i64,
    /// The flow; none for all.
    pub flow: Option<String>,
    /// Begin, in seconds.
    pub from_s: Option<f64>,
    /// End, in seconds.
    pub to_s: Option<f64>,
}

/// Curves through a table's rows.
#[derive(Clone, Debug, Serialize)]
pub struct Chart {
    /// Its number.
    pub id: String,
    /// Its caption.
    pub title: String,
    /// The table.
    pub table: String,
    /// The metrics, a panel each.
    pub metrics: Vec<String>,
    /// The column, or the metric, along the bottom.
    pub over: String,
    /// The column that identifies curves.
    pub by: Option<String>,
    /// The column that makes panels.
    pub panels: Option<String>,
    /// The texts that columns may have.
    pub only: BTreeMap<String, Vec<String>>,
    /// Whether the bottom is logarithmic.
    pub log: bool,
    /// Whether each panel has its own scale.
    pub own_scales: bool,
    /// Labels of columns, metrics and panels.
    pub words: BTreeMap<String, String>,
}

/// One claim.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// Its number.
    pub id: String,
    /// The claim, in our words.
    pub says: String,
    /// Its place in the document.
    pub place: String,
    /// Whether it only restates the set-up.
    pub setup: bool,
    /// Values by the name that the expression uses.
    pub values: BTreeMap<String, Cell>,
    /// The expression that is true when it holds.
    pub holds: Option<String>,
    /// Or the named function that judges it.
    pub check: Option<String>,
    /// The line of either in the study's file.
    pub line: Option<usize>,
    /// The cases that the function looks at, by id.
    pub cases: Vec<String>,
    /// The tables whose rows the function uses, by id.
    pub about: Vec<String>,
    /// The recorded tables that the function needs of those cases' first runs.
    pub tables: Vec<file::Table>,
}

/// One number of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// The row's position.
    pub row: usize,
    /// Choice among its numbers.
    pub stat: Stat,
}

impl Study {
    /// The whole as JSON.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "every key is a string and every number finite")]
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("a study is JSON")
    }

    /// The case with this id.
    #[must_use]
    pub fn case(&self, id: &str) -> Option<&Case> {
        self.cases.iter().find(|case| case.id == id)
    }
}

/// Loads a study: a path to its folder or file, or a name that the search finds.
///
/// # Errors
/// The first mistake in the study's file, its base scenario, or a case's settings.
pub fn load(path: impl AsRef<Path>, search: &Search) -> Result<Study, InputError> {
    load_tables(path, search, &[])
}

/// Loads a study of which only some tables are wanted, by id: the scenarios of other cases are not resolved. An empty
/// list means all.
///
/// # Errors
/// As [`load`].
pub fn load_tables(path: impl AsRef<Path>, search: &Search, wanted: &[String]) -> Result<Study, InputError> {
    let file = search.given(LibraryKind::Study, path.as_ref())?;
    Reading::begin(&file, search, wanted)?.finish()
}

/// The file of a study and those of its parts, with their tables: no scenario is looked at.
///
/// # Errors
/// The study's file cannot be read, or names a part that is not there.
pub fn parts(path: impl AsRef<Path>, search: &Search) -> Result<Vec<PartOutline>, InputError> {
    let file = search.given(LibraryKind::Study, path.as_ref())?;
    let tree = Tree::load(&file)?;
    let study: file::Study = tree.read()?;
    let folder = file.parent().unwrap_or_else(|| Path::new(""));
    let own = study.tables.iter().map(|table| table.id.clone()).collect();
    let mut parts = vec![PartOutline { file: file.clone(), tables: own }];
    for (i, part) in study.parts.into_iter().enumerate() {
        let file = folder.join(&part.study);
        if !file.is_file() {
            let message = format!("there is no file \"{}\"", file.display());
            let key = KeyPath::of(["parts"]).below(i).below("study");
            return Err(tree.error(
                &key,
                message,
                "write the path of a study's file, seen from this one's folder",
            ));
        }
        parts.push(PartOutline { file, tables: part.tables });
    }
    Ok(parts)
}

/// A study's file while it is read.
struct Reading<'a> {
    path: PathBuf,
    tree: Tree,
    file: file::Study,
    folder: PathBuf,
    base: Tree,
    stem: String,
    search: &'a Search,
    /// The tables whose cases are to run, by id; empty for all.
    wanted: &'a [String],
    /// Whether the cases that are being read are to be run.
    running: bool,
    cases: Vec<Case>,
    /// The paths of the forms of which a case has a value.
    forms: BTreeSet<KeyPath>,
}

impl<'a> Reading<'a> {
    fn begin(path: &Path, search: &'a Search, wanted: &'a [String]) -> Result<Self, InputError> {
        let tree = Tree::load(path)?;
        let file: file::Study = tree.read()?;
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let key = KeyPath::of(["scenario"]);
        let base = search.find(LibraryKind::Scenario, &file.scenario, &folder).filter(|base| base.is_file());
        let base = base.ok_or_else(|| {
            let message = format!("there is no scenario \"{}\"", file.scenario);
            tree.error(&key, message, search.advice(LibraryKind::Scenario, &file.scenario))
        })?;
        let (stem, base) = (crate::stem(&base), Tree::load(&base)?);
        let path = path.to_path_buf();
        let (cases, forms) = (Vec::new(), BTreeSet::new());
        Ok(Self { path, tree, file, folder, base, stem, search, wanted, running: true, cases, forms })
    }

    fn finish(mut self) -> Result<Study, InputError> {
        self.check_ids()?;
        self.check_metrics()?;
        self.check_columns()?;
        let (tables, rows) = self.tables()?;
        self.check_sources(&rows)?;
        let figures = self.figures()?;
        let charts = self.charts(&rows)?;
        let claims = self.claims(&rows)?;
        self.check_agreement()?;
        self.check_uses(&rows, &charts)?;
        let metrics =
            self.file.metrics.iter().map(|(name, file)| (name.clone(), self.metric(name, file))).collect();
        Ok(Study {
            name: self.file.name.clone().unwrap_or_else(|| self.folder_name()),
            title: self.file.title.clone(),
            source: self.file.source.clone(),
            published: self.published()?,
            scopes: self.file.scopes.iter().map(|(k, scope)| (k.clone(), scope.bytes.map(|b| b.0))).collect(),
            folder: self.folder,
            file: self.path,
            columns: self.file.columns,
            metrics,
            tables,
            cases: self.cases,
            rows,
            figures,
            charts,
            claims,
            agreement: self.file.agreement,
        })
    }

    /// Whether all tables are to run, or this one is among them.
    fn is_wanted(&self, table: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|wanted| wanted == table)
    }

    fn first_seed(&self) -> u64 {
        self.file.first_seed.unwrap_or(1)
    }

    fn folder_name(&self) -> String {
        let whole = std::path::absolute(&self.folder).unwrap_or_else(|_| self.folder.clone());
        whole.file_name().map_or_else(|| "study".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    fn published(&self) -> Result<Option<Published>, InputError> {
        let Some(published) = &self.file.published else { return Ok(None) };
        match (&published.file, &published.oracle) {
            (Some(file), None) => Ok(Some(Published::File(self.published_file(published, file)?))),
            (None, Some(oracle)) => Ok(Some(Published::Oracle(oracle.clone()))),
            _ => {
                let message = "values come either from a `file` or from an `oracle`";
                Err(self.tree.error(&KeyPath::of(["published"]), message, "give exactly one of the two"))
            }
        }
    }

    fn published_file(&self, published: &file::Published, name: &str) -> Result<PublishedFile, InputError> {
        let or = |name: &Option<String>, default: &str| name.clone().unwrap_or_else(|| default.to_owned());
        let found = PublishedFile {
            file: self.folder.join(name),
            value: or(&published.value, "value"),
            statistic: or(&published.statistic, "stat"),
            uncertain: or(&published.uncertain, "uncertain"),
        };
        self.check_head(&found)?;
        Ok(found)
    }

    /// The file is there, and its head has the study's columns.
    fn check_head(&self, published: &PublishedFile) -> Result<(), InputError> {
        let text = crate::tree::read_text(&published.file)?;
        let head: Vec<&str> = text.lines().next().unwrap_or_default().trim().split(',').collect();
        let more = [&published.value, &published.statistic, &published.uncertain];
        match self.file.columns.iter().chain(more).find(|column| !head.contains(&column.as_str())) {
            Some(column) => {
                let key = KeyPath::of(["published", "file"]);
                let message = format!("\"{}\" has no column \"{column}\"", published.file.display());
                Err(self.tree.error(&key, message, format!("its columns are {}", head.join(", "))))
            }
            None => Ok(()),
        }
    }

    /// Resolves the base scenario with some settings, under the study's first seed.
    fn resolve(
        &self,
        settings: &[Override],
        change: &dyn Fn(&mut Tree) -> Result<(), InputError>,
    ) -> Resolve {
        let mut tree = crate::compose::compose(&self.base, settings, self.search)?;
        change(&mut tree)?;
        let mut resolved = crate::resolve::resolve(&tree, &self.stem, Some(self.first_seed()))?;
        let scopes: Vec<_> = self.file.scopes.values().filter_map(|scope| scope.bytes).collect();
        for flow in &mut resolved.flows {
            let within = scopes.iter().filter(|bytes| flow.bytes.is_none_or(|amount| **bytes <= amount));
            flow.milestones.extend(within);
            flow.milestones.sort_unstable();
            flow.milestones.dedup();
        }
        Ok(resolved)
    }
}

type Resolve = Result<Resolved, InputError>;

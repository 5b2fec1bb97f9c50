//! What a study's file says that no table, figure, chart or claim of it reads.
//!
//! A metric that no table has, or a form that no case has a value of, is more often a mistake in the name than a note
//! for later: the study would run, and measure something else than its author thinks. Everything that is named
//! elsewhere in the file is therefore looked for once more, from its own side.

use std::collections::BTreeSet;

use super::charts::texts_of;
use super::sweep::text_of;
use super::{Chart, Reading, Row, claims, pattern, rows};
use crate::error::InputError;
use crate::file;
use crate::tree::KeyPath;

impl Reading<'_> {
    /// Everything in the file is read by something else in it.
    pub(super) fn check_uses(&self, rows: &[Row], charts: &[Chart]) -> Result<(), InputError> {
        self.check_uses_of_variables()?;
        self.check_uses_of_metrics(rows)?;
        self.check_uses_in_tables()?;
        self.check_uses_in_claims()?;
        self.check_uses_of_words(rows, charts)?;
        self.check_uses_of_agreement(rows)?;
        self.check_uses_of_published()
    }

    fn check_uses_of_variables(&self) -> Result<(), InputError> {
        for (name, forms) in &self.file.variables {
            for i in 0..forms.len() {
                let at = KeyPath::of(["variables", name]).below(i);
                let message = format!("no case has a value of this form of \"{name}\"");
                let help = "give a table, figure or claim such a value, or leave the form out";
                self.used(self.forms.contains(&at), &at, message, help)?;
            }
        }
        for (name, value) in &self.file.defaults {
            let texts = texts_of(value);
            let is_used = self.cases.iter().any(|case| texts.contains(&text_of(&case.values[name])));
            let message = format!("no case has this value of \"{name}\"");
            let help = "leave it out: every table, figure and claim gives the variable another value";
            self.used(is_used, &KeyPath::of(["defaults", name]), message, help)?;
        }
        Ok(())
    }

    fn check_uses_of_metrics(&self, rows: &[Row]) -> Result<(), InputError> {
        let measured: BTreeSet<&String> = rows.iter().map(|row| &row.measure).collect();
        for (name, metric) in &self.file.metrics {
            let at = KeyPath::of(["metrics", name]);
            let help = "name it in a table's `metrics` or `numbers`, or leave it out";
            self.used(measured.contains(name), &at, format!("no table has the metric \"{name}\""), help)?;
            for (key, readers) in unread_keys(metric) {
                let message = format!("only a metric with {readers} reads this key");
                self.used(false, &at.below(key), message, "leave it out")?;
            }
        }
        for name in self.file.scopes.keys() {
            let is_used = self.file.tables.iter().any(|table| table.scopes.contains(name));
            let help = "name it in a table's `scopes`, or leave it out";
            let message = format!("no table has the scope \"{name}\"");
            self.used(is_used, &KeyPath::of(["scopes", name]), message, help)?;
        }
        Ok(())
    }

    fn check_uses_in_tables(&self) -> Result<(), InputError> {
        for (i, table) in (0..).zip(&self.file.tables) {
            let at = KeyPath::of(["tables"]).below(i);
            for name in table.fixed.keys() {
                let is_used = table.cases.iter().any(|grid| !grid.contains_key(name));
                let message = format!("every grid of the table gives \"{name}\" a value of its own");
                self.used(is_used, &at.below("fixed").below(name), message, "leave one of the two out")?;
            }
            for name in table.definitions.keys() {
                let message = format!("the table has no metric \"{name}\"");
                let help = "name it in the table's `metrics`, or leave the definition out";
                self.used(table.metrics.contains(name), &at.below("definitions").below(name), message, help)?;
            }
            for (j, number) in (0..).zip(&table.numbers) {
                let mut cases = self.cases.iter().filter(|case| case.tables.contains(&table.id));
                let is_used = cases.any(|case| rows::is_of(number, case));
                let help = "write values that a case of the table has";
                let path = at.below("numbers").below(j);
                self.used(is_used, &path, "no case of the table has the values of `only`", help)?;
            }
        }
        Ok(())
    }

    fn check_uses_in_claims(&self) -> Result<(), InputError> {
        for (i, claim) in (0..).zip(&self.file.claims) {
            let at = KeyPath::of(["claims"]).below(i);
            let expression = claim.holds.as_deref().unwrap_or_default();
            for name in claim.values.keys() {
                let is_used = claims::names_in(expression).any(|word| word == name);
                let message = format!("the claim does not use the value \"{name}\"");
                let help = "use it in `holds`, or leave it out";
                self.used(is_used, &at.below("values").below(name), message, help)?;
            }
            let read_by_checks = [
                ("cases", claim.cases.is_empty()),
                ("about", claim.about.is_empty()),
                ("tables", claim.tables.is_empty()),
            ];
            for (key, is_empty) in read_by_checks {
                let is_used = is_empty || claim.check.is_some();
                self.used(
                    is_used,
                    &at.below(key),
                    "only a claim with `check` reads this key",
                    "leave it out",
                )?;
            }
        }
        Ok(())
    }

    fn check_uses_of_words(&self, rows: &[Row], charts: &[Chart]) -> Result<(), InputError> {
        let mut everywhere = BTreeSet::new();
        for (i, (chart, file)) in (0..).zip(charts.iter().zip(&self.file.charts)) {
            let named = chart.names(rows);
            let at = KeyPath::of(["charts"]).below(i).below("words");
            self.check_words(file.words.keys(), &named, &at, "the chart")?;
            everywhere.extend(named);
        }
        self.check_words(self.file.words.keys(), &everywhere, &KeyPath::of(["words"]), "any chart")
    }

    fn check_words<'n>(
        &self,
        words: impl Iterator<Item = &'n String>,
        named: &BTreeSet<String>,
        at: &KeyPath,
        place: &str,
    ) -> Result<(), InputError> {
        for name in words {
            let message = format!("no column, metric, curve or panel of {place} is called \"{name}\"");
            let help = "write the name of a column or a metric, or a column and one of its texts";
            self.used(named.contains(name), &at.below(name), message, help)?;
        }
        Ok(())
    }

    /// Each kind has rows: a row belongs to the first kind that fits it.
    fn check_uses_of_agreement(&self, rows: &[Row]) -> Result<(), InputError> {
        let is_of = |kind: &file::Agreement, row: &Row| {
            kind.only
                .iter()
                .all(|(name, texts)| texts.iter().any(|text| pattern::fits(text, &row.columns[name])))
        };
        let first = |row: &Row| self.file.agreement.iter().position(|kind| is_of(kind, row));
        let with_rows: BTreeSet<usize> = rows.iter().filter_map(first).collect();
        for (i, kind) in self.file.agreement.iter().enumerate() {
            let at = KeyPath::of(["agreement"]).below(i);
            let message = format!("no row is of the kind \"{}\"", kind.kind);
            let help =
                "write texts that its rows have, put it before the kind that takes them, or leave it out";
            self.used(with_rows.contains(&i), &at, message, help)?;
        }
        let is_used = self.file.agreement.is_empty() || self.file.published.is_some();
        let help = "add `published`, or leave the kinds out";
        self.used(is_used, &KeyPath::of(["agreement"]), "there are no published values to agree with", help)
    }

    fn check_uses_of_published(&self) -> Result<(), InputError> {
        let Some(published) = self.file.published.as_ref().filter(|published| published.oracle.is_some())
        else {
            return Ok(());
        };
        let columns = [
            ("value", &published.value),
            ("statistic", &published.statistic),
            ("uncertain", &published.uncertain),
        ];
        for (key, column) in columns {
            let at = KeyPath::of(["published", key]);
            self.used(column.is_none(), &at, "an oracle has no columns", "leave it out")?;
        }
        Ok(())
    }

    /// An error about the value at `at` unless it is used.
    fn used(
        &self,
        is_used: bool,
        at: &KeyPath,
        message: impl Into<String>,
        help: &str,
    ) -> Result<(), InputError> {
        if is_used { Ok(()) } else { Err(self.tree.error(at, message, help)) }
    }
}

impl Chart {
    /// The names for which it has labels: those of its columns and metrics, and of its curves and panels, which are a
    /// column and a text ("rate 5").
    fn names(&self, rows: &[Row]) -> BTreeSet<String> {
        let columns: Vec<&String> = self.by.iter().chain(&self.panels).collect();
        let shown = rows.iter().filter(|row| self.shows(row));
        let texts = |row: &Row| columns.iter().map(|name| format!("{name} {}", row.columns[*name])).collect();
        let mut names: BTreeSet<String> = shown.flat_map::<Vec<String>, _>(texts).collect();
        names.extend(self.metrics.iter().chain([&self.over]).chain(columns).cloned());
        names
    }

    /// Whether a curve goes through the row.
    fn shows(&self, row: &Row) -> bool {
        let is_in = |(column, texts): (&String, &Vec<String>)| texts.contains(&row.columns[column]);
        row.table == self.table && self.metrics.contains(&row.metric) && self.only.iter().all(is_in)
    }
}

/// The keys of a metric that it does not read, each with the kind of metric that does.
fn unread_keys(metric: &file::Metric) -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_of_flows = metric.flow.is_some();
    let is_of_transfers = metric.transfers.is_some();
    let is_checked = metric.check.is_some();
    let is_throughput = metric.flow.as_deref() == Some("throughput_Bps");
    let keys = [
        ("fold", metric.fold.is_some(), is_of_flows, "`flow`"),
        ("less", metric.less.is_some(), is_throughput, "`flow = \"throughput_Bps\"`"),
        ("flows", metric.flows.is_some(), is_of_flows || is_of_transfers, "`flow` or `transfers`"),
        ("window", metric.window.is_some(), !is_checked, "`flow`, `link` or `transfers`"),
        ("tables", !metric.tables.is_empty(), is_checked, "`check`"),
    ];
    let unread = keys.into_iter().filter(|(_, is_given, is_read, _)| *is_given && !is_read);
    unread.map(|(key, _, _, readers)| (key, readers))
}

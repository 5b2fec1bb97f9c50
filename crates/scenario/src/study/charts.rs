//! Charts: the rows that curves go through are looked up before anything is run.

use std::collections::BTreeMap;

use serde_json::Value;

use super::sweep::text_of;
use super::{Chart, Reading, Row};
use crate::error::InputError;
use crate::suggest;
use crate::tree::KeyPath;

impl Reading<'_> {
    pub(super) fn charts(&self, rows: &[Row]) -> Result<Vec<Chart>, InputError> {
        let charts = (0..).zip(&self.file.charts);
        charts.map(|(i, chart)| self.chart(chart, rows, &KeyPath::of(["charts"]).below(i))).collect()
    }

    fn chart(&self, file: &crate::file::Chart, rows: &[Row], at: &KeyPath) -> Result<Chart, InputError> {
        let tables: Vec<&String> = self.file.tables.iter().map(|table| &table.id).collect();
        self.listed(&file.table, &tables, "table", &at.below("table"))?;
        let only: BTreeMap<String, Vec<String>> =
            file.only.iter().map(|(column, texts)| (column.clone(), texts_of(texts))).collect();
        for column in file.by.iter().chain(&file.panels).chain(only.keys()) {
            self.listed(column, &self.file.columns.iter().collect::<Vec<_>>(), "column", at)?;
        }
        let shown = |row: &&Row| {
            row.table == file.table && only.iter().all(|(column, texts)| texts.contains(&row.columns[column]))
        };
        let shown: Vec<&Row> = rows.iter().filter(shown).collect();
        let metrics: Vec<&String> = shown.iter().map(|row| &row.metric).collect();
        for (i, metric) in file.metrics.iter().enumerate() {
            self.listed(metric, &metrics, "metric", &at.below("metrics").below(i))?;
        }
        self.check_bottom(file, &shown, &at.below("over"))?;
        Ok(Chart {
            id: file.id.clone(),
            title: file.title.clone(),
            table: file.table.clone(),
            metrics: file.metrics.clone(),
            over: file.over.clone(),
            by: file.by.clone(),
            panels: file.panels.clone(),
            only,
            log: file.log,
            own_scales: file.own_scales,
            words: self
                .file
                .words
                .iter()
                .chain(&file.words)
                .map(|(name, words)| (name.clone(), words.clone()))
                .collect(),
        })
    }

    /// A metric, or a column that holds numbers in the rows shown.
    fn check_bottom(
        &self,
        file: &crate::file::Chart,
        shown: &[&Row],
        at: &KeyPath,
    ) -> Result<(), InputError> {
        if shown.iter().any(|row| row.metric == file.over) {
            return Ok(());
        }
        self.listed(&file.over, &self.file.columns.iter().collect::<Vec<_>>(), "column", at)?;
        let mut texts =
            shown.iter().filter(|row| file.metrics.contains(&row.metric)).map(|row| &row.columns[&file.over]);
        match texts.find(|text| number_of(text).is_none()) {
            Some(text) => {
                let message = format!("\"{text}\" of the column \"{}\" is no number", file.over);
                Err(self.tree.error(at, message, suggest::among(&file.over, &self.file.columns, "columns")))
            }
            None => Ok(()),
        }
    }
}

/// A value, or a list of them, as texts of a column.
pub(super) fn texts_of(value: &Value) -> Vec<String> {
    value.as_array().map_or_else(|| vec![text_of(value)], |items| items.iter().map(text_of).collect())
}

/// The number that a column's text is: 12 of "12", and of "12-late" none.
pub(super) fn number_of(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

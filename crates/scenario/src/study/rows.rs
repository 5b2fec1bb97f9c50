//! The rows of the document's tables: which case, scope and metric each number is.

use std::collections::BTreeMap;

use super::charts::number_of;
use super::sweep::text_of;
use super::{Case, Figure, Reading, Row, Smallest, Table};
use crate::error::InputError;
use crate::file::{self, Number, Ratio, StudyTable};
use crate::suggest;
use crate::tree::KeyPath;

impl Reading<'_> {
    /// Each column is a variable, a predefined column, or a column given by tables.
    pub(super) fn check_columns(&self) -> Result<(), InputError> {
        let mut known = self.variables();
        known.extend(["table", "figure", "scope", "metric"].map(ToOwned::to_owned));
        let given = self.file.tables.iter().flat_map(|table| &table.numbers);
        known.extend(given.flat_map(|number| number.columns.keys().cloned()));
        let unknown = self.file.columns.iter().position(|column| !known.contains(column));
        let Some(at) = unknown else { return self.check_defaults() };
        let column = &self.file.columns[at];
        let message = format!("no variable gives the column \"{column}\"");
        let path = KeyPath::of(["columns"]).below(at);
        Err(self.tree.error(&path, message, suggest::among(column, &known, "columns")))
    }

    fn check_defaults(&self) -> Result<(), InputError> {
        self.check_values(&self.file.defaults, &KeyPath::of(["defaults"]))
    }

    pub(super) fn tables(&mut self) -> Result<(Vec<Table>, Vec<Row>), InputError> {
        let (mut tables, mut rows) = (Vec::new(), Vec::new());
        for (i, table) in self.file.tables.clone().iter().enumerate() {
            let at = KeyPath::of(["tables"]).below(i);
            self.check_table(table, &at)?;
            self.distinct(&table.metrics, "metrics", |j| at.below("metrics").below(j))?;
            self.running = self.is_wanted(&table.id);
            let cases = self.cases_of(table, &at)?;
            let first = rows.len();
            rows.extend(self.rows_of(table, &cases));
            for (j, ratio) in table.ratios.iter().enumerate() {
                let quotients = self.quotients(ratio, &rows[first..], first, &at.below("ratios").below(j))?;
                rows.extend(quotients);
            }
            for (j, sought) in table.smallest.iter().enumerate() {
                let found = self.smallest(sought, &rows[first..], first, &at.below("smallest").below(j))?;
                rows.extend(found);
            }
            tables.push(Table {
                id: table.id.clone(),
                title: table.title.clone(),
                scopes: table.scopes.clone(),
                metrics: table.metrics.clone(),
                cases,
                on_request: table.on_request,
            });
        }
        Ok((tables, rows))
    }

    fn check_table(&self, table: &StudyTable, at: &KeyPath) -> Result<(), InputError> {
        let scopes: Vec<&String> = self.file.scopes.keys().collect();
        for (i, scope) in table.scopes.iter().enumerate() {
            self.listed(scope, &scopes, "scope", &at.below("scopes").below(i))?;
        }
        let metrics: Vec<&String> = self.file.metrics.keys().collect();
        for (i, number) in table.numbers.iter().enumerate() {
            let path = at.below("numbers").below(i);
            self.listed(measured(number), &metrics, "metric", &path)?;
            let columns: Vec<&String> = self.file.columns.iter().collect();
            number
                .columns
                .keys()
                .try_for_each(|name| self.listed(name, &columns, "column", &path.below(name)))?;
            self.check_values(&number.only, &path.below("only"))?;
        }
        for (i, metric) in table.metrics.iter().enumerate() {
            if !table.definitions.contains_key(metric) {
                self.listed(metric, &metrics, "metric", &at.below("metrics").below(i))?;
            }
        }
        for (name, metric) in &table.definitions {
            self.listed(metric, &metrics, "metric", &at.below("definitions").below(name))?;
        }
        self.check_values(&table.fixed, &at.below("fixed"))
    }

    /// No table, figure, chart or claim is called as another of its kind.
    pub(super) fn check_ids(&self) -> Result<(), InputError> {
        let file = &self.file;
        let at = |list: &'static str| move |i| KeyPath::of([list]).below(i).below("id");
        self.distinct(file.tables.iter().map(|table| &table.id), "tables", at("tables"))?;
        self.distinct(file.figures.iter().map(|figure| &figure.id), "figures", at("figures"))?;
        self.distinct(file.charts.iter().map(|chart| &chart.id), "charts", at("charts"))?;
        self.distinct(file.claims.iter().map(|claim| &claim.id), "claims", at("claims"))
    }

    /// No two of these are called the same.
    fn distinct<'n>(
        &self,
        names: impl IntoIterator<Item = &'n String>,
        what: &str,
        path: impl Fn(usize) -> KeyPath,
    ) -> Result<(), InputError> {
        let mut first = BTreeMap::new();
        for (i, name) in names.into_iter().enumerate() {
            if let Some(earlier) = first.insert(name, i) {
                let line = self.place(&path(earlier)).line();
                let where_else =
                    line.map_or_else(String::new, |line| format!(": the first is in line {line}"));
                let message = format!("two {what} are called \"{name}\"");
                return Err(self.tree.error(&path(i), message, format!("rename one{where_else}")));
            }
        }
        Ok(())
    }

    pub(super) fn listed(
        &self,
        name: &str,
        names: &[&String],
        what: &str,
        path: &KeyPath,
    ) -> Result<(), InputError> {
        if names.iter().any(|known| *known == name) {
            return Ok(());
        }
        let message = format!("there is no {what} \"{name}\"");
        Err(self.tree.error(path, message, suggest::among(name, names, &format!("{what}s"))))
    }

    fn cases_of(&mut self, table: &StudyTable, at: &KeyPath) -> Result<Vec<String>, InputError> {
        let defaults = self.file.defaults.clone();
        let mut ids = Vec::new();
        for (i, grid) in table.cases.iter().enumerate() {
            ids.extend(self.grid(grid, &[&table.fixed, &defaults], &at.below("cases").below(i))?);
        }
        let measures = table.metrics.iter().map(|metric| table.definitions.get(metric).unwrap_or(metric));
        let measures = measures.chain(table.numbers.iter().map(measured));
        let needed: Vec<_> = measures.flat_map(|metric| self.file.metrics[metric].recorded()).collect();
        for case in self.cases.iter_mut().filter(|case| ids.contains(&case.id)) {
            case.tables.push(table.id.clone());
            case.record.extend(&needed);
            case.record.sort_unstable();
            case.record.dedup();
        }
        Ok(ids)
    }

    fn rows_of(&self, table: &StudyTable, cases: &[String]) -> Vec<Row> {
        let whole = [None];
        let scopes: Vec<Option<&String>> = table.scopes.iter().map(Some).collect();
        let scopes = if scopes.is_empty() { &whole[..] } else { &scopes };
        let cases = self.cases_named(cases);
        let numbers = numbers_of(table);
        let each = cases.iter().flat_map(|case| {
            let numbers = numbers.iter().filter(|number| is_of(number, case));
            scopes.iter().flat_map(move |scope| numbers.clone().map(|number| (*case, *scope, number)))
        });
        each.map(|(case, scope, number)| self.row(table, case, scope, number)).collect()
    }

    /// The quotients of those of a table's rows that differ only in the ratio's column.
    fn quotients(
        &self,
        ratio: &Ratio,
        rows: &[Row],
        first: usize,
        at: &KeyPath,
    ) -> Result<Vec<Row>, InputError> {
        let columns: Vec<&String> = self.file.columns.iter().collect();
        self.listed(&ratio.column, &columns, "column", &at.below("column"))?;
        let named = |row: &Row, text: &str| called(row, &ratio.column, text);
        let of = |row: &&(usize, &Row)| row.1.metric == ratio.of && row.1.quotient.is_none();
        let numbered: Vec<(usize, &Row)> = (first..).zip(rows).collect();
        let pairs = numbered.iter().filter(of).filter_map(|(place, row)| {
            let under = numbered.iter().filter(of).find(|(_, other)| {
                row.columns[&ratio.column] == ratio.over && other.columns == named(row, &ratio.under)
            })?;
            Some((*row, [*place, under.0]))
        });
        let quotients = pairs.map(|(row, places)| {
            let columns = self.derived(row, &ratio.column, &ratio.called, &ratio.metric);
            Row { metric: ratio.metric.clone(), columns, quotient: Some(places), ..row.clone() }
        });
        let quotients: Vec<Row> = quotients.collect();
        if quotients.is_empty() {
            let message = format!("no two rows are \"{}\" and \"{}\"", ratio.over, ratio.under);
            return Err(self.tree.error(at, message, "name texts that the column has in this table"));
        }
        Ok(quotients)
    }

    /// For each set of rows that differ only in the tried column, the one in which the smallest is sought.
    fn smallest(
        &self,
        sought: &file::Smallest,
        rows: &[Row],
        first: usize,
        at: &KeyPath,
    ) -> Result<Vec<Row>, InputError> {
        let columns: Vec<&String> = self.file.columns.iter().collect();
        self.listed(&sought.column, &columns, "column", &at.below("column"))?;
        let mut found: Vec<Row> = Vec::new();
        for (place, row) in (first..).zip(rows).filter(|(_, row)| row.metric == sought.of) {
            // Rows of the table whose column holds no number are skipped.
            let Some(number) = number_of(&row.columns[&sought.column]) else { continue };
            let columns = self.derived(row, &sought.column, &sought.called, &sought.metric);
            let set = found.iter_mut().find(|set| set.columns == columns && set.scope == row.scope);
            match set.and_then(|set| set.smallest.as_mut()) {
                Some(smallest) => smallest.tried.push((number, place)),
                None => {
                    let smallest = Smallest { tried: vec![(number, place)], reaches: sought.reaches };
                    let metric = sought.metric.clone();
                    found.push(Row { metric, columns, smallest: Some(smallest), ..row.clone() });
                }
            }
        }
        if found.is_empty() {
            let message = format!("no row of \"{}\" has a number in \"{}\"", sought.of, sought.column);
            return Err(self.tree.error(at, message, "name a metric of the table and a column with numbers"));
        }
        for smallest in found.iter_mut().filter_map(|row| row.smallest.as_mut()) {
            smallest.tried.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        Ok(found)
    }

    /// The columns of a derived row.
    fn derived(&self, row: &Row, column: &str, text: &str, metric: &str) -> BTreeMap<String, String> {
        let mut columns = called(row, column, text);
        if self.file.columns.iter().any(|name| name == METRIC) {
            columns.insert(METRIC.to_owned(), metric.to_owned());
        }
        columns
    }

    fn cases_named(&self, ids: &[String]) -> Vec<&Case> {
        ids.iter().filter_map(|id| self.cases.iter().find(|case| case.id == *id)).collect()
    }

    fn row(&self, table: &StudyTable, case: &Case, scope: Option<&String>, number: &Number) -> Row {
        let column = |name: &String| match (number.columns.get(name), name.as_str()) {
            (Some(text), _) => text.clone(),
            (None, "table" | "figure") => table.id.clone(),
            (None, "scope") => scope.cloned().unwrap_or_default(),
            (None, METRIC) => number.metric.clone(),
            (None, variable) => case.values.get(variable).map(text_of).unwrap_or_default(),
        };
        let columns: BTreeMap<String, String> =
            self.file.columns.iter().map(|name| (name.clone(), column(name))).collect();
        Row {
            table: table.id.clone(),
            case: case.id.clone(),
            scope: scope.cloned(),
            metric: number.metric.clone(),
            measure: measured(number).clone(),
            columns,
            quotient: None,
            smallest: None,
        }
    }

    pub(super) fn figures(&mut self) -> Result<Vec<Figure>, InputError> {
        self.running = self.wanted.is_empty();
        let figures = self.file.figures.clone();
        (0..)
            .zip(&figures)
            .map(|(i, figure)| self.figure(figure, &KeyPath::of(["figures"]).below(i)))
            .collect()
    }

    fn figure(&mut self, figure: &crate::file::Figure, at: &KeyPath) -> Result<Figure, InputError> {
        let defaults = self.file.defaults.clone();
        let ids = self.grid(&figure.case, &[&defaults], &at.below("case"))?;
        let [id] = &ids[..] else {
            let message = format!("{} cases are meant", ids.len());
            return Err(self.tree.error(&at.below("case"), message, "give each variable one value"));
        };
        let case = self.cases_named(&ids)[0];
        let span = figure.span.unwrap_or(0);
        if !case.variants.is_empty() && !case.variants.iter().any(|variant| variant.span == span) {
            let spans: Vec<String> = case.variants.iter().map(|variant| variant.span.to_string()).collect();
            let help = format!("write one of {}", spans.join(", "));
            return Err(self.tree.error(&at.below("span"), format!("the span has no step {span}"), help));
        }
        Ok(Figure {
            id: figure.id.clone(),
            kind: figure.kind,
            title: figure.title.clone(),
            case: id.clone(),
            seed: figure.seed.unwrap_or_else(|| self.first_seed()),
            span,
            flow: figure.flow.clone(),
            from_s: figure.from.map(units::Duration::as_secs_f64),
            to_s: figure.to.map(units::Duration::as_secs_f64),
        })
    }
}

/// A row's columns with another text in one of them.
fn called(row: &Row, column: &str, text: &str) -> BTreeMap<String, String> {
    let columns = row.columns.clone().into_iter();
    columns.chain([(column.to_owned(), text.to_owned())]).collect()
}

/// The column with the name of a number.
const METRIC: &str = "metric";

/// A table's numbers, including those identified by their metric alone.
fn numbers_of(table: &StudyTable) -> Vec<Number> {
    let plain = table.metrics.iter().map(|metric| Number {
        metric: metric.clone(),
        is: table.definitions.get(metric).cloned(),
        only: BTreeMap::new(),
        columns: BTreeMap::new(),
    });
    plain.chain(table.numbers.iter().cloned()).collect()
}

/// Whether a case has the number.
pub(super) fn is_of(number: &Number, case: &Case) -> bool {
    number.only.iter().all(|(name, value)| text_of(&case.values[name]) == text_of(value))
}

/// The metric that a number is.
fn measured(number: &Number) -> &String {
    number.is.as_ref().unwrap_or(&number.metric)
}

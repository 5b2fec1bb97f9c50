//! Grids into cases: each a value for every variable, the settings it makes, its seeds and its span.

use std::collections::BTreeMap;

use serde_json::Value;

use super::form::{filled, matched};
use super::{Case, Reading, Variant};
use crate::error::{InputError, Place};
use crate::file::{Form, Grid, Span};
use crate::overrides::Override;
use crate::suggest;
use crate::tree::{KeyPath, Tree};

/// Values by variable.
pub(super) type Values = BTreeMap<String, Value>;

/// The settings that follow from a case's values.
struct Settings {
    overrides: Vec<Override>,
    replications: u32,
    /// The paths of the forms that the values are of.
    forms: Vec<KeyPath>,
    span: Option<(Span, KeyPath)>,
}

impl Reading<'_> {
    /// The cases of the grid at `path`, with defaults for the values that the grid does not give.
    pub(super) fn grid(
        &mut self,
        grid: &Grid,
        fixed: &[&Values],
        path: &KeyPath,
    ) -> Result<Vec<String>, InputError> {
        self.check_values(grid, path)?;
        let mut cases = Vec::new();
        for values in self.products(grid, fixed, path)? {
            cases.push(self.case(values, path)?);
        }
        Ok(cases)
    }

    /// Each name is that of a variable, and each has a value.
    pub(super) fn check_values(&self, values: &Values, path: &KeyPath) -> Result<(), InputError> {
        values.iter().try_for_each(|(name, value)| self.check_value(name, value, &path.below(name)))
    }

    fn check_value(&self, name: &str, value: &Value, path: &KeyPath) -> Result<(), InputError> {
        let Some(forms) = self.file.variables.get(name) else {
            let names: Vec<&String> = self.file.variables.keys().collect();
            let message = format!("there is no variable \"{name}\"");
            return Err(self.tree.error(path, message, suggest::among(name, &names, "variables")));
        };
        if value.as_array().is_some_and(Vec::is_empty) {
            let message = format!("the variable \"{name}\" has no value in the list");
            return Err(self.tree.error(path, message, forms_of(forms)));
        }
        Ok(())
    }

    /// Every combination of the grid's values, the last variable of the columns' order running fastest.
    fn products(&self, grid: &Grid, fixed: &[&Values], path: &KeyPath) -> Result<Vec<Values>, InputError> {
        let mut products = vec![Values::new()];
        for name in self.variables() {
            let given = grid.get(&name).or_else(|| fixed.iter().find_map(|values| values.get(&name)));
            let choices = match given {
                Some(Value::Array(items)) => items.clone(),
                Some(value) => vec![value.clone()],
                None => {
                    let message = format!("the variable \"{name}\" has no value");
                    let help = "give it one here, in `fixed` or in `defaults`";
                    return Err(self.tree.error(path, message, help));
                }
            };
            let with = |values: &Values, choice: &Value| {
                let mut values = values.clone();
                values.insert(name.clone(), choice.clone());
                values
            };
            products = products.iter().flat_map(|v| choices.iter().map(move |c| with(v, c))).collect();
        }
        Ok(products)
    }

    /// The variables: first those among the columns, in their order.
    pub(super) fn variables(&self) -> Vec<String> {
        let known = |name: &&String| self.file.variables.contains_key(*name);
        let mut names: Vec<String> = self.file.columns.iter().filter(known).cloned().collect();
        names.extend(self.file.variables.keys().filter(|name| !self.file.columns.contains(name)).cloned());
        names
    }

    /// The id of the case with these values, which is made if it is new.
    fn case(&mut self, values: Values, path: &KeyPath) -> Result<String, InputError> {
        let id = self.id(&values);
        let known = self.cases.iter().position(|case| case.id == id);
        if known.is_some_and(|known| !self.running || !self.cases[known].variants.is_empty()) {
            return Ok(id);
        }
        let settings = self.settings(&values, path)?;
        self.forms.extend(settings.forms.iter().cloned());
        let first = self.first_seed();
        let seeds = (first..first + u64::from(settings.replications)).collect();
        let variants = if self.running { self.variants(&settings)? } else { Vec::new() };
        if let Some(known) = known {
            self.cases[known].variants = variants;
            return Ok(id);
        }
        self.cases.push(Case {
            id: id.clone(),
            values,
            tables: Vec::new(),
            record: Vec::new(),
            seeds,
            variants,
        });
        Ok(id)
    }

    fn id(&self, values: &Values) -> String {
        let part = |name: &String| {
            let text = text_of(&values[name]);
            match self.file.columns.contains(name) {
                true => Some(text),
                false if self.file.defaults.get(name).is_some_and(|default| text_of(default) == text) => None,
                false => Some(format!("{name}={text}")),
            }
        };
        self.variables().iter().filter_map(part).collect::<Vec<_>>().join(",")
    }

    fn settings(&self, values: &Values, path: &KeyPath) -> Result<Settings, InputError> {
        let mut settings = Settings { overrides: Vec::new(), replications: 1, forms: Vec::new(), span: None };
        for name in self.variables() {
            let text = text_of(&values[&name]);
            let forms = &self.file.variables[&name];
            let found = (0..).zip(forms).find_map(|(i, form)| Some((i, form, matched(&form.form, &text)?)));
            let Some((i, form, held)) = found else {
                let message = format!("\"{text}\" is of no form of the variable \"{name}\"");
                return Err(self.tree.error(&path.below(&name), message, forms_of(forms)));
            };
            let at = KeyPath::of(["variables", &name]).below(i);
            settings.overrides.extend(self.overrides(form, &held, &at)?);
            if form.replications == Some(0) {
                let help = "write 1 or more, or leave it out";
                return Err(self.tree.error(&at.below("replications"), "the case would not run", help));
            }
            settings.replications = settings.replications.max(form.replications.unwrap_or(1));
            let span = form.span.clone().map(|span| (span, at.below("span")));
            settings.span = settings.span.or(span);
            settings.forms.push(at);
        }
        Ok(settings)
    }

    fn overrides(
        &self,
        form: &Form,
        held: &BTreeMap<String, String>,
        at: &KeyPath,
    ) -> Result<Vec<Override>, InputError> {
        let set = form.set.iter().map(|(path, template)| {
            let at = at.below("set").below(path);
            let value = filled(template, held).map_err(|name| {
                let message = format!("the form \"{}\" has no placeholder {{{name}}}", form.form);
                self.tree.error(&at, message, "name one that the form has")
            })?;
            let no_path = || self.tree.error(&at, "this is no path of keys", "write links.lasthop.down.rate");
            let path = KeyPath::parse(path).ok_or_else(no_path)?;
            Ok(Override { path, value, place: self.place(&at) })
        });
        set.collect()
    }

    /// Position of a key in the study's file.
    pub(super) fn place(&self, path: &KeyPath) -> Place {
        let unknown = || Place::Override(path.to_string().into());
        self.tree.origin(path).map_or_else(unknown, |origin| origin.place)
    }

    fn variants(&self, settings: &Settings) -> Result<Vec<Variant>, InputError> {
        let steps = settings.span.as_ref().map_or(vec![0], |(span, _)| span.add.clone());
        let variant = |step: i64| {
            let change = |tree: &mut Tree| match &settings.span {
                Some((span, at)) => self.shift(tree, span, at, step),
                None => Ok(()),
            };
            let scenario = self.resolve(&settings.overrides, &change)?;
            Ok(Variant { span: step, hash: scenario.hash(), scenario })
        };
        steps.into_iter().map(variant).collect()
    }

    /// Adds `step` to the whole numbers under the span's keys.
    fn shift(&self, tree: &mut Tree, span: &Span, at: &KeyPath, step: i64) -> Result<(), InputError> {
        let nothing =
            || self.tree.error(&at.below("over"), "no key of the scenario is meant", "check the path");
        let path = KeyPath::parse(&span.over).ok_or_else(nothing)?;
        let paths = expanded(tree, &path);
        if paths.is_empty() {
            return Err(nothing());
        }
        for path in paths {
            let number = tree.get(&path).and_then(Value::as_i64).ok_or_else(|| {
                let help = "write one, or let the span's `over` lead to keys that have one";
                tree.error(&path, "the span needs a whole number here", help)
            })?;
            let sum = number.checked_add(step).ok_or_else(|| {
                let message = format!("{number} and {step} make a number that is too large");
                self.tree.error(&at.below("add"), message, "write a smaller one")
            })?;
            let place = self.place(at);
            tree.set(&path, Value::from(sum), &place);
        }
        Ok(())
    }
}

fn forms_of(forms: &[Form]) -> String {
    let texts: Vec<&str> = forms.iter().map(|form| form.form.as_str()).collect();
    format!("its forms are {}", texts.join(", "))
}

/// The paths that exist in a tree, with names of list items and `*` turned into positions.
fn expanded(tree: &Tree, path: &KeyPath) -> Vec<KeyPath> {
    let mut paths = vec![KeyPath::root()];
    for step in &path.0 {
        let below = |at: &KeyPath| match (tree.get(at), step.as_str()) {
            (Some(Value::Array(items)), "*") => (0..items.len()).map(|i| at.below(i)).collect(),
            (Some(Value::Array(items)), name) => {
                let named = |item: &Value| item.get("name").and_then(Value::as_str) == Some(name);
                items.iter().position(named).map_or_else(|| vec![at.below(name)], |i| vec![at.below(i)])
            }
            _ => vec![at.below(step)],
        };
        paths = paths.iter().flat_map(below).filter(|path| tree.get(path).is_some()).collect();
    }
    paths
}

/// The text of a value, as in a column of published values.
pub(super) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

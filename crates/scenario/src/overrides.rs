//! Overrides of the command line: `--set links.lasthop.down.rate="1 Mbit/s"`.

use std::sync::Arc;

use registry::{OLD_KEY, name_of};
use serde_json::{Value, json};

use crate::error::{InputError, Place};
use crate::tree::{KeyPath, Tree, parse_value};
use crate::{schema, suggest};

/// One override: a path by name or position, and the value for it.
#[derive(Clone, Debug)]
pub(crate) struct Override {
    pub(crate) path: KeyPath,
    pub(crate) value: Value,
    pub(crate) place: Place,
}

impl Override {
    /// Reads `path=value`. The value is TOML (a number, true, a list, a table, a text in quotes);
    /// what is not TOML is a text, so that quotes eaten by a shell are no harm, unless it begins as a list or a table.
    pub(crate) fn parse(text: &str) -> Result<Self, InputError> {
        let place = Place::Override(Arc::from(text));
        let wrong = |message: String, help: &str| InputError {
            place: Some(place.clone()),
            key: String::new(),
            message,
            help: help.to_owned(),
        };
        let refuse = |message: &str| {
            wrong(message.to_owned(), "write path=value, like links.lasthop.down.rate=\"1 Mbit/s\"")
        };
        let (path, value) = text.split_once('=').ok_or_else(|| refuse("there is no = in it"))?;
        let path = KeyPath::parse(path).ok_or_else(|| refuse("the text before = is no path of keys"))?;
        let value = parse_value(value.trim())
            .map_err(|why| wrong(format!("the value is not TOML: {why}"), "see https://toml.io"))?;
        Ok(Self { path, value, place })
    }

    /// Writes the value into a tree.
    pub(crate) fn apply(&self, tree: &mut Tree) -> Result<(), InputError> {
        let path = self.positions(tree)?;
        self.names_a_host(&path, tree)?;
        self.names_members(&path, tree)?;
        self.choose(&path, tree);
        if tree.set(&path, self.value.clone(), &self.place) {
            return Ok(());
        }
        Err(self.refuse(&path, "this path leads through a value", "only tables have keys"))
    }

    /// An override changes hosts, and makes none: a misspelt name would otherwise be a host that nothing uses.
    fn names_a_host(&self, path: &KeyPath, tree: &Tree) -> Result<(), InputError> {
        let [list, name, ..] = path.0.as_slice() else { return Ok(()) };
        let hosts = tree.steps_below(&KeyPath::of(["hosts"]));
        if list != "hosts" || hosts.is_empty() || hosts.contains(name) {
            return Ok(());
        }
        let message = format!("there is no host \"{name}\"");
        Err(self.refuse(path, &message, &suggest::among(name, &hosts, "hosts")))
    }

    /// The step after a choice is the name of a member. In files of earlier versions a parameter stood there.
    fn names_members(&self, path: &KeyPath, tree: &Tree) -> Result<(), InputError> {
        for (end, step) in path.0.iter().enumerate().skip(1) {
            let (at, root) = (KeyPath(path.0[..end].to_vec()), schema::scenario());
            let choice = schema::at(root, &at.0).filter(|_| !matches!(tree.get(&at), Some(Value::Array(_))));
            let names = choice.and_then(|choice| schema::member_names(root, choice)).unwrap_or_default();
            if !names.is_empty() && !names.contains(&step.as_str()) {
                return Err(self.no_member(end, tree.get(&at).and_then(name_of), &names));
            }
        }
        Ok(())
    }

    /// The error for the step at `end`, which is no name of a member, where `chosen` is chosen and `names` could be.
    fn no_member(&self, end: usize, chosen: Option<&str>, names: &[&str]) -> InputError {
        let (before, after) = (KeyPath(self.path.0[..end].to_vec()), &self.path.0[end..]);
        let at = before.below(&after[0]);
        if after == [OLD_KEY] {
            let help = format!("write {before}={}", self.written());
            return self.refuse(&at, "a choice is its name", &help);
        }
        let chosen = chosen.filter(|name| names.contains(name));
        let help = chosen.map(|name| {
            let right = after.iter().fold(before.below(name), |path, step| path.below(step));
            format!("write {right}={}", self.written())
        });
        let message = format!("\"{}\" is no name to choose", after[0]);
        self.refuse(&at, &message, &help.unwrap_or_else(|| format!("one of {}", names.join(", "))))
    }

    /// The value as it is written.
    fn written(&self) -> &str {
        match &self.place {
            Place::Override(text) => text.split_once('=').map_or("", |(_, value)| value),
            _ => "",
        }
    }

    /// Makes the choices along `path` that it names: `tcp.congestion.cubic.beta` chooses CUBIC, and keeps the
    /// parameters of a CUBIC that was chosen before.
    fn choose(&self, path: &KeyPath, tree: &mut Tree) {
        for end in 1..path.0.len() {
            let (at, name) = (KeyPath(path.0[..end].to_vec()), &path.0[end]);
            let is_choice =
                schema::at(schema::scenario(), &at.0).is_some_and(|schema| schema::chooses(schema, name));
            let stands = matches!(tree.get(&at), Some(Value::Object(table)) if table.contains_key(name));
            if is_choice && !stands {
                tree.set(&at, json!({ name: {} }), &self.place);
            }
        }
    }

    /// Whether the override reaches below a link's direction or a host's TCP, into what a preset or a profile
    /// fills in: such a one is applied after them, the others before.
    pub(crate) fn reaches_into_a_layer(&self) -> bool {
        match self.path.0[0].as_str() {
            "links" | "hosts" | "flows" => self.path.0.len() > 3,
            // A proxy has a profile for each of its sides.
            "proxies" => self.path.0.len() > 4,
            _ => false,
        }
    }

    /// Whether the override changes the topology, which is written out before anything else.
    pub(crate) fn is_of_the_topology(&self) -> bool {
        self.path.0[0] == "topology"
    }

    /// The path with names of list items turned into positions, links.lasthop → links.0, and with `*` turned into the
    /// name of the choice in its place, ack.*.timeout → ack.delayed.timeout.
    fn positions(&self, tree: &Tree) -> Result<KeyPath, InputError> {
        let mut path = KeyPath::root();
        for step in &self.path.0 {
            path = match tree.get(&path) {
                Some(Value::Array(items)) => path.below(self.position(items, step, &path)?),
                standing if step == CHOSEN && is_choice(&path) => path.below(self.chosen(standing, &path)?),
                _ => path.below(step),
            };
        }
        Ok(path)
    }

    /// The name of the choice that stands at `path`.
    fn chosen<'a>(&self, standing: Option<&'a Value>, path: &KeyPath) -> Result<&'a str, InputError> {
        standing.and_then(name_of).ok_or_else(|| {
            let message = "nothing is chosen here, of which * could be the name";
            self.refuse(&path.below(CHOSEN), message, "write the name instead of *")
        })
    }

    fn position(&self, items: &[Value], step: &str, path: &KeyPath) -> Result<usize, InputError> {
        let name_of = |item: &Value| item.get("name").and_then(Value::as_str).map(ToOwned::to_owned);
        if let Some(position) = items.iter().position(|item| name_of(item).as_deref() == Some(step)) {
            return Ok(position);
        }
        if let Some(position) = step.parse().ok().filter(|position| *position <= items.len()) {
            return Ok(position);
        }
        let names: Vec<String> = items.iter().filter_map(name_of).collect();
        let help = match items.len() {
            0 => "the list is empty: write 0 to begin it".to_owned(),
            count if names.is_empty() => format!("write a position from 0 to {}", count - 1),
            _ => suggest::among(step, &names, "names"),
        };
        Err(self.refuse(&path.below(step), &format!("there is no \"{step}\" in the list"), &help))
    }

    fn refuse(&self, path: &KeyPath, message: &str, help: &str) -> InputError {
        InputError {
            place: Some(self.place.clone()),
            key: path.to_string(),
            message: message.to_owned(),
            help: help.to_owned(),
        }
    }
}

/// Whether a choice stands at `path` of a scenario.
fn is_choice(path: &KeyPath) -> bool {
    schema::at(schema::scenario(), &path.0).is_some_and(|schema| schema.get("anyOf").is_some())
}

/// The step of a path that stands for the name of a choice.
const CHOSEN: &str = "*";

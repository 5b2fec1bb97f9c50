//! A scenario's topology written out as hosts, routers and links.

use serde_json::Value;

use super::{Join, Keys, Topology};
use crate::error::InputError;
use crate::schema;
use crate::tree::{KeyPath, Merge, Origin, Tree};

/// Adds the hosts, routers and links of the tree's `topology` after those of the tree.
///
/// # Errors
/// A template that makes no sense, at the place of the key.
pub(crate) fn expand(tree: &mut Tree) -> Result<(), InputError> {
    let at = KeyPath::of(["topology"]);
    if tree.get(&at).is_none() {
        return Ok(());
    }
    let topology: Topology = tree.read_at(&at)?;
    let at = at.below(topology.id());
    topology
        .parameters()
        .check()
        .map_err(|error| tree.error(&at.join(&KeyPath::of_config(&error.path)), error.message, error.help))?;
    let parts = topology.parameters().parts();
    let template = tree.part(&at);
    let origin = tree.origin(&at);
    tree.remove(&KeyPath::of(["topology"]));
    let mut room = Room { tree, template, origin };
    room.add_hosts(&parts.hosts);
    room.append("routers", parts.routers.into_iter().map(Value::String));
    room.add_links(&parts.links)
}

struct Room<'a> {
    tree: &'a mut Tree,
    /// The template's parameters, with their places.
    template: Tree,
    /// Place of the template.
    origin: Option<Origin>,
}

impl Room<'_> {
    /// The file's keys of a named host take precedence over the template's.
    fn add_hosts(&mut self, names: &[String]) {
        let mut host = self.template.clone();
        host.keep(&["profile", "tcp"]);
        for name in names {
            let at = KeyPath::of(["hosts", name]);
            self.put(&at, None);
            Merge::by(schema::host()).lay_under(self.tree, &at, &host);
        }
    }

    fn add_links(&mut self, joins: &[Join]) -> Result<(), InputError> {
        self.append("links", std::iter::empty());
        let first = self.tree.steps_below(&KeyPath::of(["links"])).len();
        for (position, join) in (first..).zip(joins) {
            let at = KeyPath::of(["links"]).below(position);
            self.put(&at.below("name"), Some(Value::String(join.name.clone())));
            self.put(&at.below("between"), Some(serde_json::json!(join.between)));
            let link = self.link(join)?;
            Merge::by(schema::link()).lay_under(self.tree, &at, &link);
        }
        Ok(())
    }

    /// The keys of one link.
    fn link(&self, join: &Join) -> Result<Tree, InputError> {
        let at = KeyPath::of([join.key]);
        let mut link = match self.template.get(&at) {
            Some(Value::Array(list)) => self.template.part(&at.below(join.turn % list.len())),
            _ => self.template.part(&at),
        };
        let [down, up] = ["down", "up"].map(|key| KeyPath::of([key]));
        for given in ["name", "between"].map(|key| KeyPath::of([key])) {
            if link.get(&given).is_some() {
                let message = "the topology says what its links are called and join";
                return Err(link.error(&given, message, "take it out"));
            }
        }
        let has = |key: &KeyPath| link.get(key).is_some();
        let (has_preset, has_down, has_up) = (has(&KeyPath::of(["preset"])), has(&down), has(&up));
        if !has_down {
            link.put(&down, Value::Object(Keys::new()), self.origin.clone());
        }
        if !has_up && has_preset {
            link.put(&up, Value::Object(Keys::new()), self.origin.clone());
        } else if !has_up {
            let like_down = link.part(&down);
            link.graft(&up, &like_down);
        }
        Ok(link)
    }

    fn append(&mut self, key: &str, more: impl Iterator<Item = Value>) {
        let at = KeyPath::of([key]);
        let mut list = match self.tree.get(&at) {
            Some(Value::Array(list)) => list.clone(),
            Some(_) => return,
            None => Vec::new(),
        };
        list.extend(more);
        self.put(&at, Some(Value::Array(list)));
    }

    /// Puts a value, or an empty table where there is none, in the place of the template.
    fn put(&mut self, at: &KeyPath, value: Option<Value>) {
        match value {
            Some(value) => self.tree.put(at, value, self.origin.clone()),
            None if self.tree.get(at).is_none() => {
                self.tree.put(at, Value::Object(Keys::new()), self.origin.clone());
            }
            None => {}
        }
    }
}

//! What a scenario says that no run reads.
//!
//! Whether a key has an effect depends on the others: a traffic class needs a queue that goes by classes, the interval
//! of samples a table of samples. There is no list of such keys. Each key is checked by perturbation instead: it gets
//! other valid values (`alternatives`), the scenario is resolved again, and what a run reads of it (`reading`) is
//! compared with what it read before. A key whose every other value leaves the reading as it was is unread.

mod alternatives;
mod reading;

use std::path::Path;

use serde_json::Value;

pub use reading::{Clock, of as reading};

use crate::error::InputError;
use crate::library::{LibraryKind, Search};
use crate::overrides::Override;
use crate::resolved::Resolved;
use crate::tree::{KeyPath, Tree};
use crate::{compose, resolve, stem};

/// Hosts of a scenario whose file is examined key by key: with more of them, that takes longer than most runs.
const MOST_HOSTS: usize = 64;

/// A scenario, and other values of its keys.
#[derive(Clone, Debug)]
pub struct Perturbations {
    tree: Tree,
    stem: String,
    changes: Vec<(KeyPath, Value)>,
}

/// A scenario with its keys to change: those of its file, and of the profiles and presets that it names, those included
/// that are not written and have a default.
///
/// # Errors
/// As [`crate::load`].
pub fn perturbations(name: impl AsRef<Path>, search: &Search) -> Result<Perturbations, InputError> {
    let scenario = Layers::read(name.as_ref(), None, &[] as &[&str], search)?;
    let tree = compose::compose(&scenario.tree, &[], search)?;
    let changes = alternatives::everywhere(&tree, search);
    Ok(Perturbations { tree, stem: scenario.stem, changes })
}

impl Perturbations {
    /// The dotted keys, each with another value.
    pub fn changes(&self) -> impl Iterator<Item = (String, &Value)> {
        self.changes.iter().map(|(key, value)| (key.to_string(), value))
    }

    /// The scenario with the change at this position alone.
    ///
    /// # Errors
    /// If the value is refused.
    pub fn resolve(&self, at: usize) -> Result<Resolved, InputError> {
        let (key, value) = &self.changes[at];
        resolve::resolve(&with(&self.tree, key, value.clone()), &self.stem, None)
    }
}

/// A scenario before its layers are merged.
pub struct Layers<'a> {
    pub(crate) tree: Tree,
    stem: String,
    pub(crate) overrides: Vec<Override>,
    pub(crate) search: &'a Search,
}

impl<'a> Layers<'a> {
    /// Reads the scenario of a file or, with a `text`, of this text.
    ///
    /// # Errors
    /// A file or an override that cannot be read.
    pub fn read(
        path: impl AsRef<Path>,
        text: Option<&str>,
        overrides: &[impl AsRef<str>],
        search: &'a Search,
    ) -> Result<Self, InputError> {
        let (tree, file) = match text {
            Some(text) => (Tree::parse(path.as_ref(), text)?, path.as_ref().to_path_buf()),
            None => {
                let file = search.given(LibraryKind::Scenario, path.as_ref())?;
                (Tree::load(&file)?, file)
            }
        };
        let overrides = overrides.iter().map(|text| Override::parse(text.as_ref()));
        Ok(Self { tree, stem: stem(&file), overrides: overrides.collect::<Result<_, _>>()?, search })
    }

    /// An error for each override that no run under `clock` reads.
    ///
    /// # Errors
    /// As [`crate::load`].
    pub fn unread_overrides(&self, clock: Clock) -> Result<Vec<InputError>, InputError> {
        let before = self.reading(clock)?;
        let is_unread = |at: &usize| {
            let is_of_real_time = clock == Clock::Virtual && is_of_machines(&self.overrides[*at].path);
            is_of_real_time || all_read_as(&before, clock, self.with_other_override(*at))
        };
        Ok((0..self.overrides.len()).filter(is_unread).map(|at| self.unread_override(at, clock)).collect())
    }

    /// An error for each key of the file that no run under `clock` reads. Keys of real-time runs are left out, because
    /// one file serves both clocks. Scenarios of many hosts are not examined, because each key resolves them anew.
    ///
    /// # Errors
    /// As [`crate::load`].
    pub fn unread_keys(&self, clock: Clock) -> Result<Vec<InputError>, InputError> {
        let resolved = self.resolve(&self.tree, &self.overrides)?;
        if resolved.hosts.len() > MOST_HOSTS {
            return Ok(Vec::new());
        }
        let before = reading(&resolved, clock);
        let is_unread = |key: &KeyPath| all_read_as(&before, clock, self.with_key_changed(key));
        let keys = self.keys().into_iter().filter(is_unread);
        Ok(keys.map(|key| self.unread_key(&key, clock)).collect())
    }

    fn reading(&self, clock: Clock) -> Result<Value, InputError> {
        Ok(reading(&self.resolve(&self.tree, &self.overrides)?, clock))
    }

    fn resolve(&self, tree: &Tree, overrides: &[Override]) -> Result<Resolved, InputError> {
        resolve::resolve(&compose::compose(tree, overrides, self.search)?, &self.stem, None)
    }

    /// The scenario with other values of an override.
    fn with_other_override(&self, at: usize) -> impl Iterator<Item = Result<Resolved, InputError>> {
        let setting = &self.overrides[at];
        let others = alternatives::of(&setting.path, Some(&setting.value), self.search);
        others.into_iter().map(move |value| {
            let mut overrides = self.overrides.clone();
            overrides[at] = Override { value, ..setting.clone() };
            self.resolve(&self.tree, &overrides)
        })
    }

    /// The scenario with other values of a key of its file.
    fn with_key_changed(&self, key: &KeyPath) -> impl Iterator<Item = Result<Resolved, InputError>> {
        let others = alternatives::of(key, self.tree.get(key), self.search);
        others.into_iter().map(move |value| self.resolve(&with(&self.tree, key, value), &self.overrides))
    }

    /// The keys of the file that are for runs under any clock, and that no override replaces.
    fn keys(&self) -> Vec<KeyPath> {
        let replaced = |key: &KeyPath| {
            let key = self.tree.named(key);
            self.overrides.iter().any(|Override { path, .. }| key.starts_with(&self.tree.named(path)))
        };
        let keys = alternatives::leaves(&self.tree).into_iter();
        keys.filter(|key| !is_of_machines(key) && !replaced(key)).collect()
    }

    fn unread_override(&self, at: usize, clock: Clock) -> InputError {
        let Override { path, place, .. } = &self.overrides[at];
        let help = match (clock, is_of_machines(path)) {
            (Clock::Virtual, true) => "use lasthop live, or leave it out".to_owned(),
            _ => "leave it out, or set the key that makes use of it as well".to_owned(),
        };
        let (place, key) = (Some(place.clone()), path.to_string());
        InputError { place, key, message: format!("no run in {} time reads this key", clock.noun()), help }
    }

    fn unread_key(&self, key: &KeyPath, clock: Clock) -> InputError {
        let message = format!("no run in {} time reads this key", clock.noun());
        self.tree.error(key, message, "leave it out, or add the key that makes use of it")
    }
}

/// Whether only runs in real time have the key: settings of kernels, and the machines of hosts and links.
fn is_of_machines(key: &KeyPath) -> bool {
    match key.0.as_slice() {
        [table, ..] if table == "live" => true,
        [list, _, last] => ["hosts", "links"].contains(&list.as_str()) && last == "at",
        _ => false,
    }
}

/// The tree with another value in the place of one, or in that of its table.
fn with(tree: &Tree, key: &KeyPath, value: Value) -> Tree {
    let mut changed = tree.clone();
    if let Some(origin) = tree.origin(key) {
        changed.set(key, value, &origin.place);
    }
    changed
}

/// Whether there are other scenarios that are right, and a run under `clock` reads the same of all of them.
fn all_read_as(
    before: &Value,
    clock: Clock,
    others: impl Iterator<Item = Result<Resolved, InputError>>,
) -> bool {
    let mut same = others.filter_map(Result::ok).map(|other| reading(&other, clock) == *before);
    same.next().is_some_and(|first| first && same.all(|same| same))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{GOOD, search};

    fn overrides(text: &str, overrides: &[&str], clock: Clock) -> Vec<String> {
        let search = search();
        let layers = Layers::read("good.toml", Some(text), overrides, &search).expect("it can be read");
        let unread = layers.unread_overrides(clock).expect("it is right");
        unread.iter().map(ToString::to_string).collect()
    }

    fn keys(text: &str) -> Vec<String> {
        keys_beside(text, &[])
    }

    fn keys_beside(text: &str, overrides: &[&str]) -> Vec<String> {
        let search = search();
        let layers = Layers::read("good.toml", Some(text), overrides, &search).expect("it can be read");
        layers
            .unread_keys(Clock::Virtual)
            .expect("it is right")
            .iter()
            .map(|error| error.key.clone())
            .collect()
    }

    #[test]
    fn an_override_that_is_read_is_right_even_if_it_changes_nothing() {
        for text in [
            "hosts.server.profile=plain",
            "flows.download.bytes=\"100 KiB\"",
            "links.lasthop.down.queue.limit=\"3 packets\"",
            "seed=7",
            "flows.download.to=mobile",
            "record.tables=[]",
            "links.lasthop.between=[\"server\", \"mobile\"]",
        ] {
            assert_eq!(overrides(GOOD, &[text], Clock::Virtual), [""; 0], "{text}");
        }
    }

    #[test]
    fn an_override_that_no_run_reads_is_found_with_its_place() {
        for text in ["measure.sample=\"1 s\"", "record.payload=true", "flows.download.class=3"] {
            let found = overrides(GOOD, &[text], Clock::Virtual);
            assert_eq!(found.len(), 1, "{text}");
            assert!(found[0].starts_with(&format!("--set {text}: ")), "{}", found[0]);
            assert!(found[0].contains("no run in virtual time reads this key"), "{}", found[0]);
        }
    }

    #[test]
    fn a_key_is_read_where_another_override_makes_use_of_it() {
        let both = ["measure.sample=\"1 s\"", "record.tables=[\"progress\"]"];
        assert_eq!(overrides(GOOD, &both, Clock::Virtual), [""; 0]);
    }

    #[test]
    fn a_key_that_an_override_replaces_is_not_said_to_be_unread() {
        for replacing in ["flows.download.bytes=\"1 MB\"", "flows.0.bytes=\"1 MB\""] {
            assert_eq!(keys_beside(GOOD, &[replacing]), [""; 0], "{replacing}");
        }
    }

    #[test]
    fn times_between_their_neighbours_are_read() {
        let steps = "steps = [{ at = \"0.000 s\", rate = \"1 Mbit/s\" }, { at = \"1.400 s\", rate = \"2 Mbit/s\" }, \
                     { at = \"1.500 s\", rate = \"3 Mbit/s\" }, { at = \"1.600 s\", rate = \"4 Mbit/s\" }]";
        let schedule = format!("[links.down]\ncapacity = {{ schedule = {{ {steps} }} }}\n");
        let preset = "preset = \"slow\"\n[links.down]\n";
        assert_eq!(keys(&GOOD.replace(preset, &format!("preset = \"slow\"\n{schedule}"))), [""; 0]);
    }

    #[test]
    fn settings_of_real_time_are_read_there_only() {
        for text in
            ["live.congestion=cubic", "live.sysctl={ \"net.ipv4.tcp_sack\" = 0 }", "hosts.server.at=ssh://b"]
        {
            assert_eq!(overrides(GOOD, &[text], Clock::Real), [""; 0], "{text}");
            let found = overrides(GOOD, &[text], Clock::Virtual);
            assert!(found[0].ends_with("use lasthop live, or leave it out"), "{found:?}");
        }
    }

    #[test]
    fn unread_keys_of_a_file_are_found_and_those_of_real_time_left_alone() {
        let text = GOOD.replacen("profile = \"plain\"", "profile = \"plain\"\nstack = \"smoltcp\"", 1);
        let live = "[live]\ncongestion = \"cubic\"\n[measure]\nsample = \"1 s\"\n";
        assert_eq!(keys(&format!("{text}{live}")), ["hosts.server.profile", "measure.sample"]);
        assert_eq!(keys(GOOD), [""; 0]);
    }
}

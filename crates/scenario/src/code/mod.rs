//! Programs that a scenario brings: their text becomes part of the scenario, and so of its hash.
//!
//! `congestion = { python = "mine.py:Mine" }` becomes a table with the class and the text of the file,
//! `congestion = { linux = "tcp_mine.c" }` one with the texts of the module. The user consents to it: a program named
//! in an override is the user's own, and one named in a file needs [`Search::allowing_code`].

mod linux;
mod python;

use serde_json::Value;

use crate::error::{InputError, Place};
use crate::library::Search;
use crate::tree::{KeyPath, Tree};

pub(crate) use linux::module;

/// Reads the programs of every host and flow.
pub(crate) fn read(tree: &mut Tree, search: &Search) -> Result<(), InputError> {
    for list in ["hosts", "flows"].map(|list| KeyPath::of([list])) {
        for step in tree.steps_below(&list) {
            let congestion = list.below(step).join(&KeyPath::of(["tcp", "congestion"]));
            python::read(tree, &congestion.below(PYTHON), search)?;
            linux::read(tree, &congestion, search)?;
        }
    }
    Ok(())
}

/// Refuses a profile whose congestion control is a program, for runs that execute none.
pub(crate) fn refuse(profile: &Tree) -> Result<(), InputError> {
    let congestion = KeyPath::of(["congestion"]);
    for language in [PYTHON, LINUX] {
        let program = congestion.below(language);
        let at = match profile.get(&congestion) {
            Some(Value::String(name)) if name == language => &congestion,
            Some(_) if profile.get(&program).is_some() => &program,
            _ => continue,
        };
        let message = "a congestion control that is a program runs in lasthop run only";
        return Err(profile.error(at, message, "name a congestion control of lasthop list congestion"));
    }
    Ok(())
}

/// Fails unless the user has consented to the program at a place.
fn consent(tree: &Tree, place: &KeyPath, program: &str, search: &Search) -> Result<(), InputError> {
    let is_override = matches!(tree.origin(place).map(|origin| origin.place), Some(Place::Override(_)));
    if search.allows_code() || is_override {
        return Ok(());
    }
    let message = format!("the file brings a program, {program}, which would run with your rights");
    Err(tree.error(place, message, "read the program; then add --allow-code to lasthop run"))
}

const PYTHON: &str = "python";
const LINUX: &str = "linux";

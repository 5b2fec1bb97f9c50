//! The files users write, and the way from them to a run.
//!
//! A scenario flows one way: its layers (file, presets, profiles, overrides) are merged as trees that record where each
//! value was written (`tree`, `compose`), **parsed** into types that are the one definition of the files ([`mod@file`]:
//! shape and units only), **swept** over the cases of a study ([`study`]), **resolved** (`resolve`: names looked up,
//! defaults written out, cross-checks made) into a [`Resolved`], and turned into a `sim::Spec`. Every mistake is an
//! [`InputError`]: file, line, key, error, remedy.
//!
//! Read first: [`file::Scenario`], then [`load`]. This crate runs nothing and does not examine the machine.

mod code;
mod compose;
pub mod effect;
mod error;
pub mod file;
mod json_text;
mod kernel;
mod library;
mod measure;
mod overrides;
mod rate;
mod reference;
mod resolve;
pub mod resolved;
mod schema;
mod spec;
pub mod study;
mod suggest;
pub mod topology;
mod tree;
mod upgrade;

use std::path::Path;

pub use error::{InputError, Place};
pub use kernel::{KernelKeys, KernelSetting};
pub use library::{LibraryKind, Search};
pub use reference::{Parameter, parameters, reference_text};
pub use resolved::Resolved;
pub use schema::{KINDS, schema, schema_text};
pub use upgrade::upgrade;

use overrides::Override;
use tree::Tree;

/// Loads a scenario: a path to a file, or a name that the search finds.
///
/// `overrides` are texts `path=value`; `seed` replaces the file's.
///
/// # Errors
/// The first mistake in the file, in a profile or preset that it names, or in an override.
pub fn load(
    path: impl AsRef<Path>,
    overrides: &[impl AsRef<str>],
    seed: Option<u64>,
    search: &Search,
) -> Result<Resolved, InputError> {
    let file = search.given(LibraryKind::Scenario, path.as_ref())?;
    resolve_tree(&Tree::load(&file)?, &file, overrides, seed, search)
}

/// Loads a scenario out of a text; `file` is where messages say it is, and where paths in it begin.
///
/// # Errors
/// As [`load`].
pub fn parse(
    text: &str,
    file: impl AsRef<Path>,
    overrides: &[impl AsRef<str>],
    seed: Option<u64>,
    search: &Search,
) -> Result<Resolved, InputError> {
    let file = file.as_ref();
    resolve_tree(&Tree::parse(file, text)?, file, overrides, seed, search)
}

/// Checks that a scenario can run in virtual time, which has no kernels. The scenario is that of a file or, with a
/// `text`, of this text.
///
/// # Errors
/// As [`load`]; and where a host has the kernel's stack, with the place where that is written.
pub fn check_virtual_time(
    path: impl AsRef<Path>,
    text: Option<&str>,
    overrides: &[impl AsRef<str>],
    search: &Search,
) -> Result<(), InputError> {
    resolve::refuse_kernels(&composed(path.as_ref(), text, overrides, search)?)
}

/// Checks that a scenario can run in real time, where packets of DCCP cross no kernel. The scenario is that of a file
/// or, with a `text`, of this text.
///
/// # Errors
/// As [`load`]; and where a host has the stack DCCP, with the place where that is written.
pub fn check_real_time(
    path: impl AsRef<Path>,
    text: Option<&str>,
    overrides: &[impl AsRef<str>],
    search: &Search,
) -> Result<(), InputError> {
    resolve::refuse_dccp(&composed(path.as_ref(), text, overrides, search)?)
}

fn composed(
    path: &Path,
    text: Option<&str>,
    overrides: &[impl AsRef<str>],
    search: &Search,
) -> Result<Tree, InputError> {
    let tree = match text {
        Some(text) => Tree::parse(path, text)?,
        None => Tree::load(&search.given(LibraryKind::Scenario, path)?)?,
    };
    let overrides: Result<Vec<_>, _> = overrides.iter().map(|text| Override::parse(text.as_ref())).collect();
    compose::compose(&tree, &overrides?, search)
}

fn resolve_tree(
    tree: &Tree,
    file: &Path,
    overrides: &[impl AsRef<str>],
    seed: Option<u64>,
    search: &Search,
) -> Result<Resolved, InputError> {
    let overrides: Result<Vec<_>, _> = overrides.iter().map(|text| Override::parse(text.as_ref())).collect();
    let tree = compose::compose(tree, &overrides?, search)?;
    resolve::resolve(&tree, &stem(file), seed)
}

/// The resolved keys of a profile, given by name or path, merged with the profile that it extends.
///
/// # Errors
/// The first mistake in the profile; a congestion control that is a program.
pub fn profile(name: impl AsRef<Path>, search: &Search) -> Result<serde_json::Value, InputError> {
    let file = search.given(LibraryKind::Profile, name.as_ref())?;
    let tree = compose::profile(&file, search, &mut Vec::new())?;
    code::refuse(&tree)?;
    let checked = tcp::Config::from_profile(&tree.value);
    checked.map_err(|error| resolve::tcp_error(&tree, &tree::KeyPath::root(), &error))?;
    Ok(schema::with_defaults(tree.value))
}

/// The congestion-control module of Linux in a file in C, or in a plug-in, with what it includes from its folder.
///
/// # Errors
/// A file that cannot be read.
pub fn module(file: impl AsRef<Path>) -> Result<tcp::congestion::Module, InputError> {
    code::module(file.as_ref())
}

/// A preset: its name or a path to it.
///
/// # Errors
/// The first mistake in the preset.
pub fn preset(name: impl AsRef<Path>, search: &Search) -> Result<file::Preset, InputError> {
    let tree = Tree::load(&search.given(LibraryKind::Preset, name.as_ref())?)?;
    let mut preset: file::Preset = tree.read()?;
    preset.down = resolve::direction(&tree, &tree::KeyPath::of(["down"]), preset.down)?;
    preset.up = resolve::direction(&tree, &tree::KeyPath::of(["up"]), preset.up)?;
    resolve::check_cell_preset(&tree, &preset)?;
    Ok(preset)
}

fn stem(file: &Path) -> String {
    file.file_stem().map_or_else(|| "scenario".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

#[cfg(test)]
mod cell_tests;
#[cfg(test)]
mod file_tests;
#[cfg(test)]
mod tests;

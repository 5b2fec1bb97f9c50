//! The layers of a scenario laid over one another: overrides, the file, its presets and profiles.

use std::path::{Path, PathBuf};

use crate::code;
use crate::error::InputError;
use crate::file::{Preset, Profile};
use crate::library::{LibraryKind, Search};
use crate::overrides::Override;
use crate::rate::PresetRates;
use crate::schema;
use crate::topology;
use crate::tree::{KeyPath, Merge, Tree};

/// Lays overrides over a scenario file, writes its topology out, lays presets and profiles under it, and writes out
/// what there are several of.
pub(crate) fn compose(file: &Tree, overrides: &[Override], search: &Search) -> Result<Tree, InputError> {
    let mut tree = file.clone();
    let (shape, rest): (Vec<_>, Vec<_>) = overrides.iter().partition(|set| set.is_of_the_topology());
    let (deep, shallow): (Vec<_>, Vec<_>) = rest.into_iter().partition(|set| set.reaches_into_a_layer());
    apply(&mut tree, &shape)?;
    topology::expand(&mut tree)?;
    apply(&mut tree, &shallow)?;
    let rates = lay_presets_under(&mut tree, search)?;
    lay_profiles_under(&mut tree, search)?;
    apply(&mut tree, &deep)?;
    code::read(&mut tree, search)?;
    rates.settle(&mut tree);
    topology::expand_copies(&mut tree)?;
    Ok(tree)
}

fn apply(tree: &mut Tree, overrides: &[&Override]) -> Result<(), InputError> {
    overrides.iter().try_for_each(|set| set.apply(tree))
}

fn lay_presets_under(tree: &mut Tree, search: &Search) -> Result<PresetRates, InputError> {
    let mut rates = PresetRates::default();
    let links = KeyPath::of(["links"]);
    for position in tree.steps_below(&links) {
        let link = links.below(position);
        let Some(file) = named_file(tree, &link.below("preset"), LibraryKind::Preset, search)? else {
            continue;
        };
        let mut preset = link_file(&file, search)?;
        drop_keys(&mut preset, &["summary", "sources"]);
        rates.observe(tree, &link, |tree| Merge::by(schema::link()).lay_under(tree, &link, &preset));
    }
    Ok(rates)
}

/// The link of a preset's file, or of a scenario with one link, such as `lasthop fit` writes.
fn link_file(file: &Path, search: &Search) -> Result<Tree, InputError> {
    let mut tree = search.tree(file)?;
    let links = KeyPath::of(["links"]);
    match tree.steps_below(&links)[..] {
        [] => {
            tree.read::<Preset>()?;
            Ok(tree)
        }
        [ref only] => {
            let only = links.below(only);
            lay_presets_under(&mut tree, search)?.settle(&mut tree);
            let mut link = tree.part(&only);
            drop_keys(&mut link, &["name", "between", "preset", "channel", "user", "at"]);
            Ok(link)
        }
        _ => {
            let message = "the scenario has several links, and a link is made of one";
            Err(tree.error(&links, message, "name a preset, or a scenario with one link"))
        }
    }
}

/// Hosts and flows have profiles, and so have the sides of proxies.
fn lay_profiles_under(tree: &mut Tree, search: &Search) -> Result<(), InputError> {
    for list in ["hosts", "flows"].map(|list| KeyPath::of([list])) {
        for step in tree.steps_below(&list) {
            lay_profile_under(tree, &list.below(step), search)?;
        }
    }
    let proxies = KeyPath::of(["proxies"]);
    for proxy in tree.steps_below(&proxies) {
        for side in ["wireless", "wired"] {
            lay_profile_under(tree, &proxies.below(&proxy).below(side), search)?;
        }
    }
    Ok(())
}

fn lay_profile_under(tree: &mut Tree, at: &KeyPath, search: &Search) -> Result<(), InputError> {
    let Some(file) = named_file(tree, &at.below("profile"), LibraryKind::Profile, search)? else {
        return Ok(());
    };
    let profile = profile(&file, search, &mut Vec::new())?;
    let mut top = Tree::empty(&file);
    top.graft(&KeyPath::of(["tcp"]), &profile);
    // The key `tcp` of a flow or a proxy has the schema of a host's.
    Merge::by(schema::host()).lay_under(tree, at, &top);
    Ok(())
}

/// A profile merged over the profile that it extends, without the keys that are not the endpoint's.
pub(crate) fn profile(file: &Path, search: &Search, seen: &mut Vec<PathBuf>) -> Result<Tree, InputError> {
    let mut tree = search.tree(file)?;
    tree.read::<Profile>()?;
    let extends = KeyPath::of(["extends"]);
    let base = named_file(&tree, &extends, LibraryKind::Profile, search)?;
    if seen.iter().any(|known| known == file) {
        return Err(tree.error(&extends, "the profile extends itself", "break the circle"));
    }
    seen.push(file.to_path_buf());
    drop_keys(&mut tree, &["summary", "sources", "extends"]);
    if let Some(base) = base {
        let base = profile(&base, search, seen)?;
        Merge::by(schema::profile_keys()).lay_under(&mut tree, &KeyPath::root(), &base);
    }
    Ok(tree)
}

fn drop_keys(tree: &mut Tree, keys: &[&str]) {
    for key in keys {
        tree.remove(&KeyPath::of([key]));
    }
}

/// The file that the text at `path` names; none if no text is there (reading the types says so).
fn named_file(
    tree: &Tree,
    path: &KeyPath,
    kind: LibraryKind,
    search: &Search,
) -> Result<Option<PathBuf>, InputError> {
    let Some(name) = tree.text(path) else { return Ok(None) };
    let found = search.find(kind, name, &tree.folder(path)).filter(|file| search.is_file(file));
    found.map(Some).ok_or_else(|| {
        let message = format!("there is no {} \"{name}\"", kind.noun());
        tree.error(path, message, search.advice(kind, name))
    })
}

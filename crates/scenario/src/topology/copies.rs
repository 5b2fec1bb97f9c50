//! Hosts of which there are several alike, and the links that each of them has.
//!
//! A host with a `count` expands to `NAME-1`, `NAME-2` and so on; a link whose `between` has a `*` expands to one link
//! for each matching host, as a flow's `from` and `to` do. The expansion comes last, so that presets, profiles,
//! overrides and studies apply to all copies.

use serde_json::Value;

use super::check_count;
use crate::error::InputError;
use crate::suggest;
use crate::tree::{KeyPath, Tree};

/// Expands copies.
///
/// # Errors
/// An impossible number of hosts, a name that is taken, or a star without a match, with its position.
pub(crate) fn expand_copies(tree: &mut Tree) -> Result<(), InputError> {
    copy_hosts(tree)?;
    copy_links(tree)
}

fn copy_hosts(tree: &mut Tree) -> Result<(), InputError> {
    let hosts = KeyPath::of(["hosts"]);
    for name in tree.steps_below(&hosts) {
        let host = hosts.below(&name);
        let at = host.below("count");
        let Some(count) = tree.get(&at) else { continue };
        let Some(count) = count.as_u64() else {
            return Err(tree.error(&at, format!("{count} is no number of hosts"), "write 1 or more"));
        };
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        check_count("count", count).map_err(|error| tree.error(&at, error.message, error.help))?;
        let address = host.below("address");
        if tree.get(&address).is_some() {
            let message = "several hosts cannot have one address";
            return Err(tree.error(&address, message, "take it out; each gets one by its name"));
        }
        tree.remove(&at);
        let alike = tree.part(&host);
        tree.remove(&host);
        for number in 1..=count {
            let copy = hosts.below(numbered(&name, &number.to_string()));
            if tree.get(&copy).is_some() {
                let message = format!("there is a host \"{}\" already", copy.last());
                return Err(tree.error(
                    &copy,
                    message,
                    format!("\"{name}\" with a count stands for it; call it otherwise"),
                ));
            }
            tree.graft(&copy, &alike);
            number_migration(tree, &copy.below("migrate").below("to"), number);
        }
    }
    Ok(())
}

/// Puts the number of a copy into the name of the link to which it migrates.
fn number_migration(tree: &mut Tree, at: &KeyPath, number: u32) {
    if let Some(link) = tree.text(at) {
        let (link, origin) = (link.replacen('*', &number.to_string(), 1), tree.origin(at));
        tree.put(at, Value::String(link), origin);
    }
}

fn copy_links(tree: &mut Tree) -> Result<(), InputError> {
    let links = KeyPath::of(["links"]);
    let given: Vec<Tree> =
        tree.steps_below(&links).iter().map(|step| tree.part(&links.below(step))).collect();
    let stars: Vec<Option<Vec<String>>> = (0..given.len())
        .map(|i| star_of(tree, &links.below(i).below("between")))
        .collect::<Result<_, _>>()?;
    if stars.iter().all(Option::is_none) {
        return Ok(());
    }
    let origin = tree.origin(&links);
    tree.put(&links, Value::Array(Vec::new()), origin);
    let each = given.iter().zip(stars).flat_map(|(link, stars)| match stars {
        None => vec![link.clone()],
        Some(stars) => stars.iter().map(|star| filled(link, star)).collect(),
    });
    for (position, link) in each.enumerate() {
        tree.graft(&links.below(position), &link);
    }
    Ok(())
}

/// The texts that the `*` among the nodes of a link matches, if there is one.
fn star_of(tree: &Tree, between: &KeyPath) -> Result<Option<Vec<String>>, InputError> {
    let Some(Value::Array(nodes)) = tree.get(between) else { return Ok(None) };
    let Some(side) = nodes.iter().position(|node| node.as_str().is_some_and(|name| name.contains('*')))
    else {
        return Ok(None);
    };
    stars(tree, &between.below(side), nodes[side].as_str().unwrap_or_default()).map(Some)
}

/// The texts that the `*` of the pattern at a place matches among the hosts' names: shorter ones first, 9 before 10.
///
/// # Errors
/// No host has such a name.
pub(crate) fn stars(tree: &Tree, at: &KeyPath, pattern: &str) -> Result<Vec<String>, InputError> {
    let (head, tail) = pattern.split_once('*').unwrap_or((pattern, ""));
    let hosts = tree.steps_below(&KeyPath::of(["hosts"]));
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let middle = |host: &&str| Some(host.strip_prefix(head)?.strip_suffix(tail)?.to_owned());
    let mut stars: Vec<String> = hosts.iter().filter_map(middle).filter(|star| !star.is_empty()).collect();
    if stars.is_empty() {
        let message = format!("no host is called like \"{pattern}\"");
        return Err(tree.error(at, message, suggest::among(pattern, &hosts, "hosts")));
    }
    stars.sort_by_key(|star| (star.len(), star.clone()));
    Ok(stars)
}

/// One of the links, with its own name.
fn filled(link: &Tree, star: &str) -> Tree {
    let mut copy = link.clone();
    for side in 0..2 {
        let at = KeyPath::of(["between"]).below(side);
        if let Some(name) = link.text(&at) {
            let (name, origin) = (name.replacen('*', star, 1), link.origin(&at));
            copy.put(&at, Value::String(name), origin);
        }
    }
    let at = KeyPath::of(["name"]);
    let channel = KeyPath::of(["channel"]);
    if let Some(name) = link.text(&at)
        && link.get(&KeyPath::of(["cell"])).is_some()
        && link.get(&channel).is_none()
    {
        // All copies share the channel of the original.
        copy.put(&channel, Value::String(name.to_owned()), link.origin(&at));
    }
    if let Some(name) = link.text(&at) {
        copy.put(&at, Value::String(numbered(name, star)), link.origin(&at));
    }
    copy
}

fn numbered(name: &str, number: &str) -> String {
    format!("{name}-{number}")
}

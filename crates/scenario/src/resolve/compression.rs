//! Headers are compressed once: on a link that does it, or in the size that a workload gives its packets, and not in
//! both.

use std::collections::{BTreeMap, BTreeSet};

use workload::Application;

use super::{Check, place_of};
use crate::error::InputError;
use crate::resolved::Link;

/// A direction of a link that compresses headers: the link's name, and the nodes at its head and its tail.
#[derive(Debug)]
pub(super) struct Compressing<'a> {
    link: &'a str,
    from: &'a str,
    to: &'a str,
}

impl Check<'_> {
    /// The directions of links that compress headers: a direction down by itself, or by the shared channel in its
    /// place.
    pub(super) fn compressing<'a>(&self, links: &'a [Link]) -> Vec<Compressing<'a>> {
        let files = &self.file.links;
        let on_a_channel: Vec<usize> = (0..files.len()).filter(|at| self.is_on_a_channel(*at)).collect();
        let compresses =
            |at: &&usize| files[**at].cell.as_ref().is_some_and(|cell| cell.compression.is_some());
        let channels: BTreeSet<&str> =
            on_a_channel.iter().filter(compresses).map(|at| self.channel(*at)).collect();
        let name = |at: &usize| files[*at].name.as_str();
        let by_channel: BTreeMap<&str, bool> =
            on_a_channel.iter().map(|at| (name(at), channels.contains(self.channel(*at)))).collect();
        let mut found = Vec::new();
        for link in links {
            let [first, second] = link.between.each_ref().map(String::as_str);
            let name = link.name.as_str();
            let down = by_channel.get(name).copied().unwrap_or(link.down.compression.is_some());
            found.extend(down.then_some(Compressing { link: name, from: first, to: second }));
            let up = link.up.compression.is_some();
            found.extend(up.then_some(Compressing { link: name, from: second, to: first }));
        }
        found
    }

    /// The packets of flow `i` from one host to another do not have the size of compressed headers where a link on
    /// their way compresses headers. On a link between routers either direction may carry them.
    pub(super) fn compresses_once(
        &self,
        i: usize,
        [from, to]: [&str; 2],
        workload: Option<&Application>,
        compressing: &[Compressing<'_>],
    ) -> Result<(), InputError> {
        let Some(workload) = workload.filter(|workload| workload.service().compressed) else { return Ok(()) };
        let is_router = |node: &str| self.file.routers.iter().any(|router| router == node);
        let carries = |one: &&Compressing<'_>| {
            (one.from == from || is_router(one.from)) && (one.to == to || is_router(one.to))
        };
        let Some(found) = compressing.iter().find(carries) else {
            return Ok(());
        };
        let path = place_of("flows", i, "workload").below(workload.id()).below("headers");
        let message = format!(
            "the size of the packets is that of compressed headers, and the link \"{}\" compresses them as well",
            found.link
        );
        Err(self.tree.error(&path, message, "write headers = \"full\", or leave the link's compression out"))
    }
}

//! Headers are compressed once: on a link that does it, or in the size that a workload gives its packets, and not in
//! both.

use workload::Application;

use super::{Check, place_of};
use crate::error::InputError;
use crate::resolved::Link;

impl Check<'_> {
    /// The packets of flow `i` from one host to another do not have the size of compressed headers where a link on
    /// their way compresses headers.
    pub(super) fn compresses_once(
        &self,
        i: usize,
        [from, to]: [&str; 2],
        workload: Option<&Application>,
        links: &[Link],
    ) -> Result<(), InputError> {
        let Some(workload) = workload.filter(|workload| workload.service().compressed) else { return Ok(()) };
        let compressing = links.iter().find(|link| self.compresses(link, [from, to]));
        let Some(link) = compressing else { return Ok(()) };
        let path = place_of("flows", i, "workload").below(workload.id()).below("headers");
        let message = format!(
            "the size of the packets is that of compressed headers, and the link \"{}\" compresses them as well",
            link.name
        );
        Err(self.tree.error(&path, message, "write headers = \"full\", or leave the link's compression out"))
    }

    /// Whether a link compresses headers of packets from one host to another. On a link between routers either
    /// direction may carry them.
    fn compresses(&self, link: &Link, [from, to]: [&str; 2]) -> bool {
        let [first, second] = [0, 1].map(|end: usize| link.between[end].as_str());
        let carries = |head: &str, tail: &str| {
            let is_router = |node: &str| self.file.routers.iter().any(|router| router == node);
            (is_router(head) || head == from) && (is_router(tail) || tail == to)
        };
        let down = self.down_compresses(link) && carries(first, second);
        down || (link.up.compression.is_some() && carries(second, first))
    }

    /// Whether the direction down, or the shared channel in its place, compresses headers.
    fn down_compresses(&self, link: &Link) -> bool {
        let at = self.file.links.iter().position(|other| other.name == link.name);
        let channel = at.filter(|at| self.is_on_a_channel(*at)).map(|at| self.channel(at));
        let Some(channel) = channel else { return link.down.compression.is_some() };
        let is_there = |at: &usize| self.is_on_a_channel(*at) && self.channel(*at) == channel;
        let cells =
            (0..self.file.links.len()).filter(is_there).filter_map(|at| self.file.links[at].cell.as_ref());
        cells.into_iter().any(|cell| cell.compression.is_some())
    }
}

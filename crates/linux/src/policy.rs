//! Routing rules: packets that come in by an interface and are forwarded take a table whose one route leads to a
//! device.
//!
//! The kernel removes the route with the device. A rule that a killed router leaves then finds no route and changes
//! nothing; [`remove_left`] removes it.

use std::fs;

use crate::Error;
use crate::route::{Interface, RouteSocket};

/// A rule and its route, until this is dropped.
#[derive(Debug)]
pub struct PolicyRoute {
    interface: String,
    table: u32,
}

impl PolicyRoute {
    /// Leads packets that come in by `interface` to `device`.
    ///
    /// # Errors
    /// If the interface does not exist, or the kernel refuses the route or the rule.
    pub fn begin(interface: &str, device: Interface) -> Result<Self, Error> {
        let socket = RouteSocket::open()?;
        let table = table_of(Interface::named(interface)?.index());
        socket.add_default_route_to(table, device)?;
        // A router that was killed has left the same rule.
        let _ = socket.remove_rule(interface, table, PRIORITY);
        socket.add_rule(interface, table, PRIORITY)?;
        Ok(Self { interface: interface.to_owned(), table })
    }
}

impl Drop for PolicyRoute {
    fn drop(&mut self) {
        // A rule whose table is empty changes nothing.
        let _ =
            RouteSocket::open().and_then(|socket| socket.remove_rule(&self.interface, self.table, PRIORITY));
    }
}

/// Removes the rules of routers that were killed, if no router runs in this namespace. Returns their interfaces.
pub fn remove_left() -> Vec<String> {
    let sockets = fs::read_to_string("/proc/thread-self/net/unix").unwrap_or_default();
    let Ok(socket) = RouteSocket::open() else { return Vec::new() };
    if sockets.contains(&format!("@{ROUTER_SOCKET_PREFIX}")) {
        return Vec::new();
    }
    let interfaces = nix::net::if_::if_nameindex();
    let named = interfaces.iter().flatten().map(|one| (one.name().to_owned(), one.index()));
    let named = named.filter_map(|(name, index)| Some((name.into_string().ok()?, index)));
    let had_rule =
        |(name, index): &(String, u32)| socket.remove_rule(name, table_of(*index), PRIORITY).is_ok();
    named.filter(had_rule).map(|(name, _)| name).collect()
}

/// The table of an interface, by its index: the letters "lh", then the index.
fn table_of(index: u32) -> u32 {
    0x6c68_0000 | index
}

/// The abstract socket (unix(7)) of every running router has a name that begins with this.
pub const ROUTER_SOCKET_PREFIX: &str = "lasthop/router/";
/// After the table of local addresses (0) and before the main table (ip-rule(8)).
const PRIORITY: u32 = 10_818;
const _: () = assert!(PRIORITY < 32_766, "the priority of the main table");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::in_new_network;

    /// The loopback of a new namespace, up: a stand-in for both the interface and the device.
    fn loopback() -> Interface {
        crate::namespace::set_up_loopback().unwrap();
        Interface::loopback().unwrap()
    }

    #[test]
    fn a_rule_ends_with_its_owner() {
        in_new_network(|| {
            let rule = PolicyRoute::begin("lo", loopback()).unwrap();
            drop(rule);
            assert!(remove_left().is_empty());
        });
    }

    #[test]
    fn a_rule_that_a_killed_router_left_is_removed() {
        in_new_network(|| {
            let device = loopback();
            std::mem::forget(PolicyRoute::begin("lo", device).unwrap());
            assert_eq!(remove_left(), ["lo"]);
            assert!(remove_left().is_empty());
        });
    }
}

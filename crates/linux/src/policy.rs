//! A routing rule: what comes in by an interface, and is forwarded, takes a table whose one route leads to our device.
//!
//! The route is gone with the device. A rule that a killed router leaves then leads nowhere and changes nothing; the next
//! router takes it back, or `lasthop doctor`: [`remove_left`].

use std::fs;
use std::io;

use nix::libc;

use crate::control::SOCKET_PREFIX;
use crate::netlink::{Interface, Netlink};

/// The rule, until this is dropped.
#[derive(Debug)]
pub(crate) struct PolicyRoute {
    interface: String,
    table: u32,
}

impl PolicyRoute {
    /// Leads what comes in by `interface` to `device`.
    pub(crate) fn begin(interface: &str, device: Interface) -> io::Result<Self> {
        let netlink = Netlink::open()?;
        let table = TABLES | Interface::named(interface)?.index();
        netlink.add_default_route_of(table, device)?;
        // The rule of a router that was killed is the same.
        let _ = netlink.remove_rule(interface, table, PRIORITY);
        netlink.add_rule(interface, table, PRIORITY)?;
        Ok(Self { interface: interface.to_owned(), table })
    }
}

impl Drop for PolicyRoute {
    fn drop(&mut self) {
        // A rule without a table to go by changes nothing.
        let _ =
            Netlink::open().and_then(|netlink| netlink.remove_rule(&self.interface, self.table, PRIORITY));
    }
}

/// Removes the rules of routers that were killed, where no router runs in this namespace. Returns the interfaces.
pub(crate) fn remove_left() -> Vec<String> {
    let sockets = fs::read_to_string("/proc/thread-self/net/unix").unwrap_or_default();
    let Ok(netlink) = Netlink::open() else { return Vec::new() };
    if sockets.contains(&format!("@{SOCKET_PREFIX}")) {
        return Vec::new();
    }
    let interfaces = nix::net::if_::if_nameindex();
    let names =
        interfaces.iter().flat_map(|list| list.iter()).map(|one| (one.name().to_owned(), one.index()));
    let names = names.filter_map(|(name, index)| Some((name.into_string().ok()?, index)));
    let left = |(name, index): &(String, u32)| netlink.remove_rule(name, TABLES | index, PRIORITY).is_ok();
    names.filter(left).map(|(name, _)| name).collect()
}

/// The numbers of our tables: "lh", then the interface's.
const TABLES: u32 = 0x6c68_0000;
/// Behind local addresses (0) and before the main table (32766; ip-rule(8)).
const PRIORITY: u32 = 10_818;
const _: () = assert!(PRIORITY < 32_766 && libc::AF_INET == 2);

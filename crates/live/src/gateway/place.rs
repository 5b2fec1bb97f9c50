//! Where an end of a router is: a network namespace that somebody has made, or an interface of the caller's.

use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::thread;

use nix::sched::{CloneFlags, setns};

use crate::LiveError;
use crate::device;
use crate::lease::{self, Forwarding};
use crate::netlink::{Interface, Netlink};
use crate::policy::PolicyRoute;
use crate::tun::Tun;

/// One of the two places that a router stands between.
#[derive(Debug)]
pub(crate) enum Place {
    /// A network namespace, by its file.
    Namespace { name: String, file: File },
    /// An interface of this thread's namespace: what comes in there crosses the links.
    Interface(String),
}

/// A router's device at one place, with what was changed there.
pub(crate) struct RouterEnd {
    pub(crate) tun: Tun,
    pub(crate) way: Option<Diverted>,
}

/// The traffic of an interface, led through the links until this is closed.
pub(crate) struct Diverted {
    interface: String,
    _route: PolicyRoute,
    forwarding: Option<Forwarding>,
}

impl Place {
    /// Finds an interface, a namespace of `ip netns`, or a file.
    pub(crate) fn find(name: &str) -> Result<Self, LiveError> {
        if Interface::named(name).is_ok() {
            return Ok(Self::Interface(name.to_owned()));
        }
        let file = match name.contains('/') {
            true => PathBuf::from(name),
            false => Path::new(NAMESPACES).join(name),
        };
        match File::open(&file) {
            Ok(file) => Ok(Self::Namespace { name: name.to_owned(), file }),
            Err(source) => Err(LiveError::Place { name: name.to_owned(), source }),
        }
    }
}

impl RouterEnd {
    /// Makes the device at a place. `own` and `peer` are the addresses of the scenario's hosts there and at the other end.
    pub(crate) fn set_up(
        place: &Place,
        own: Ipv4Addr,
        peer: Ipv4Addr,
        mtu: u32,
        announce: &mut dyn FnMut(&str),
    ) -> Result<Self, LiveError> {
        match place {
            Place::Namespace { name, file } => {
                let enter_and_make = || -> io::Result<(Tun, String, bool)> {
                    setns(file, CloneFlags::CLONE_NEWNET)?;
                    in_namespace(own, peer, mtu)
                };
                let made = thread::scope(|scope| scope.spawn(enter_and_make).join());
                let died = |_| Err(io::Error::other("its thread died"));
                let (tun, device, is_default) = made.unwrap_or_else(died).map_err(failed(name))?;
                let route =
                    if is_default { ", and every packet without another route leaves by it" } else { "" };
                announce(&format!("{name}: {device} has {own}{route}; {peer} is at the other end"));
                Ok(Self { tun, way: None })
            }
            Place::Interface(name) => {
                let (tun, diverted) = divert(name, mtu).map_err(failed(name))?;
                announce(&format!("packets that come in by {name} and are forwarded cross the links"));
                if let Some(forwarding) = &diverted.forwarding {
                    announce(&format!("{} = 1 until the end", forwarding.name()));
                }
                Ok(Self { tun, way: Some(diverted) })
            }
        }
    }
}

impl Diverted {
    /// Takes everything back.
    pub(crate) fn close(self, announce: &mut dyn FnMut(&str)) {
        announce(&format!("packets that come in by {} go their own way again", self.interface));
        if let Some(forwarding) = &self.forwarding {
            announce(&format!("{} = 0 again", forwarding.name()));
        }
    }
}

/// Makes a device in this thread's namespace. It takes the default route where there is none.
fn in_namespace(own: Ipv4Addr, peer: Ipv4Addr, mtu: u32) -> io::Result<(Tun, String, bool)> {
    let name = device::free_name()?;
    let tun = device::make(&name, mtu)?;
    let netlink = Netlink::open()?;
    let interface = Interface::named(&name)?;
    netlink.add_peer_address(interface, own, peer)?;
    netlink.up(Interface::named("lo")?)?;
    netlink.up(interface)?;
    let is_default = device::uplinks(&name).is_empty();
    if is_default {
        netlink.add_default_route(interface)?;
    }
    Ok((tun, name, is_default))
}

/// Leads what comes in by an interface through a device.
fn divert(interface: &str, mtu: u32) -> io::Result<(Tun, Diverted)> {
    let name = device::free_name()?;
    let tun = device::make(&name, mtu)?;
    let netlink = Netlink::open()?;
    netlink.up(Interface::named(&name)?)?;
    lease::set(&name, lease::ON)?;
    // What comes out of the device has come a long way: its source is not behind it.
    std::fs::write(format!("/proc/sys/net/ipv4/conf/{name}/rp_filter"), LOOSE)?;
    let forwarding = Forwarding::take(interface)?;
    let route = PolicyRoute::begin(interface, Interface::named(&name)?)?;
    Ok((tun, Diverted { interface: interface.to_owned(), _route: route, forwarding }))
}

fn failed(name: &str) -> impl FnOnce(io::Error) -> LiveError {
    move |source| LiveError::Host { host: name.to_owned(), step: "set up the router's device", source }
}

/// Where `ip netns` keeps namespaces (ip-netns(8)).
const NAMESPACES: &str = "/run/netns";
/// Loose reverse-path filtering (RFC 3704 §2.4): a source that is reachable by any interface is accepted.
const LOOSE: &str = "2";

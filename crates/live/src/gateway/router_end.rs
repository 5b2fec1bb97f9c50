//! An end of a router: its location is an existing network namespace, or an interface of the caller's namespace.

use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::thread;

use linux::device;
use linux::forwarding::{self, Forwarding};
use linux::namespace;
use linux::policy::PolicyRoute;
use linux::route::{Interface, RouteSocket};
use linux::tun::Tun;

use crate::LiveError;
use crate::error::failed;

/// One of the two locations that a router joins.
#[derive(Debug)]
pub(crate) enum Location {
    /// A network namespace, by its file.
    Namespace { name: String, file: File },
    /// An interface of this thread's namespace: packets that arrive there and are forwarded cross the links.
    Interface(String),
}

/// A router's device at one location, and the changes made there.
pub(crate) struct RouterEnd {
    pub(crate) tun: Tun,
    pub(crate) diversion: Option<Diversion>,
}

/// The diversion of an interface's traffic through the links, until it is closed.
pub(crate) struct Diversion {
    interface: String,
    _route: PolicyRoute,
    forwarding: Option<Forwarding>,
}

impl Location {
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
    /// Makes the device at a location. `own` and `peer` are the addresses of the scenario's hosts there and at the
    /// other end.
    pub(crate) fn set_up(
        location: &Location,
        own: Ipv4Addr,
        peer: Ipv4Addr,
        mtu: u32,
        announce: &mut dyn FnMut(&str),
    ) -> Result<Self, LiveError> {
        match location {
            Location::Namespace { name, file } => {
                let enter_and_make = || -> Result<_, linux::Error> {
                    namespace::enter_network(file)?;
                    device::make_of_router(own, peer, mtu)
                };
                let made = thread::scope(|scope| scope.spawn(enter_and_make).join());
                let died = |_| Err(io::Error::other("its thread died").into());
                let (tun, device, is_default) = made.unwrap_or_else(died).map_err(failed(name, SET_UP))?;
                let route =
                    if is_default { ", and every packet without another route leaves by it" } else { "" };
                announce(&format!("{name}: {device} has {own}{route}; {peer} is at the other end"));
                Ok(Self { tun, diversion: None })
            }
            Location::Interface(name) => {
                let (tun, diverted) = divert(name, mtu).map_err(failed(name, SET_UP))?;
                announce(&format!("packets that come in by {name} and are forwarded cross the links"));
                if let Some(forwarding) = &diverted.forwarding {
                    announce(&format!("{} = 1 until the end", forwarding.name()));
                }
                Ok(Self { tun, diversion: Some(diverted) })
            }
        }
    }
}

impl Diversion {
    /// Takes everything back.
    pub(crate) fn close(self, announce: &mut dyn FnMut(&str)) {
        announce(&format!("packets that come in by {} go their own way again", self.interface));
        if let Some(forwarding) = &self.forwarding {
            announce(&format!("{} = 0 again", forwarding.name()));
        }
    }
}

/// Routes packets that arrive on an interface to a device.
fn divert(interface: &str, mtu: u32) -> Result<(Tun, Diversion), linux::Error> {
    let name = device::free_name()?;
    let tun = device::make(&name, mtu)?;
    let device = Interface::named(&name)?;
    RouteSocket::open()?.up(device)?;
    forwarding::switch_on(&name)?;
    // The source of a packet from the device is reached by another interface.
    device::accept_any_source(&name)?;
    let forwarding = Forwarding::take(interface)?;
    let route = PolicyRoute::begin(interface, device)?;
    Ok((tun, Diversion { interface: interface.to_owned(), _route: route, forwarding }))
}

/// The step that an error names.
const SET_UP: &str = "set up the router's device";
/// Folder in which `ip netns` keeps namespaces (ip-netns(8)).
const NAMESPACES: &str = "/run/netns";

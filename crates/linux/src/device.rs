//! The two devices of a shell: addresses that nothing else has, and routes to them.

use std::fs;
use std::io;
use std::net::Ipv4Addr;

use sim::Spec;

use crate::netlink::{Interface, Netlink};
use crate::tun::Tun;

/// The addresses of both ends and the name of the outer device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    /// The address of the far end.
    pub(crate) outside: Ipv4Addr,
    /// The address of the program.
    pub(crate) inside: Ipv4Addr,
    /// The device of the far end.
    pub(crate) device: String,
}

impl Ends {
    /// Returns the first pair that this namespace does not have, above all that it has: those of outer shells stay
    /// reachable.
    pub(crate) fn free() -> io::Result<Self> {
        let present = nix::ifaddrs::getifaddrs()?.filter_map(|entry| {
            let [a, b, number, _] = entry.address?.as_sockaddr_in()?.ip().octets();
            ([a, b] == NETWORK).then_some(number)
        });
        let first = present.max().unwrap_or(0) + 1;
        let is_free = |number: &u8| Interface::named(&device_name(*number)).is_err();
        let number = (first..=u8::MAX).find(is_free).ok_or(io::ErrorKind::AddrNotAvailable)?;
        let address = |host| Ipv4Addr::new(NETWORK[0], NETWORK[1], number, host);
        Ok(Self { outside: address(1), inside: address(2), device: device_name(number) })
    }
}

fn device_name(number: u8) -> String {
    format!("lasthop{number}")
}

/// Returns a device name that nothing in this namespace has.
pub(crate) fn free_name() -> io::Result<String> {
    let mut names = (0..=u8::MAX).map(device_name);
    let is_free = |name: &String| Interface::named(name).is_err();
    names.find(is_free).ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}

/// Makes a device in this thread's namespace, down and without an address.
pub(crate) fn make(name: &str, mtu: u32) -> io::Result<Tun> {
    let tun = Tun::create(name)?;
    Netlink::open()?.shape(Interface::named(name)?, mtu, DEVICE_QUEUE)?;
    Ok(tun)
}

/// Makes the device of the far end in this thread's namespace, with a route to the program.
pub(crate) fn far_end(ends: &Ends, mtu: u32) -> io::Result<Tun> {
    let tun = make(&ends.device, mtu)?;
    let netlink = Netlink::open()?;
    let interface = Interface::named(&ends.device)?;
    netlink.add_peer_address(interface, ends.outside, ends.inside)?;
    netlink.up(interface)?;
    Ok(tun)
}

/// Makes the device of the program in this thread's namespace; every packet leaves by it.
pub(crate) fn near_end(ends: &Ends, mtu: u32) -> io::Result<Tun> {
    let tun = make(NEAR, mtu)?;
    let netlink = Netlink::open()?;
    netlink.up(Interface::named("lo")?)?;
    let interface = Interface::named(NEAR)?;
    netlink.add_peer_address(interface, ends.inside, ends.outside)?;
    netlink.up(interface)?;
    netlink.add_default_route(interface)?;
    Ok(tun)
}

/// Returns the interfaces of this namespace's default routes, without `except`.
pub(crate) fn uplinks(except: &str) -> Vec<String> {
    let table = fs::read_to_string("/proc/thread-self/net/route").unwrap_or_default();
    let default = |line: &str| {
        let mut fields = line.split_whitespace();
        let (name, destination, mask) = (fields.next()?, fields.next()?, fields.nth(5)?);
        (destination == "00000000" && mask == "00000000" && name != except).then(|| name.to_owned())
    };
    let mut names: Vec<String> = table.lines().skip(1).filter_map(default).collect();
    names.sort();
    names.dedup();
    names
}

/// Returns the largest packet that every link takes.
pub(crate) fn mtu(spec: &Spec) -> u32 {
    let smallest = spec.links.iter().map(|link| link.mtu.0).min().unwrap_or(LARGEST_MTU).min(LARGEST_MTU);
    u32::try_from(smallest).expect("no larger than 65535")
}

/// Addresses for tests of network devices (RFC 2544 appendix C.2.2; RFC 6890): neither a network that people have nor
/// one that a provider's or a VPN's translation uses.
const NETWORK: [u8; 2] = [198, 18];
/// The device of the program, as in live runs.
const NEAR: &str = "hop0";
/// Length of the devices' queues, in packets: queueing belongs to the links.
const DEVICE_QUEUE: u32 = 10_000;
const LARGEST_MTU: u64 = 65_535;

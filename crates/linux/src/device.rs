//! TUN devices with their addresses and routes: that of a host in a live run, and the pair of a shell.

use std::fs;
use std::net::Ipv4Addr;

use crate::Error;
use crate::namespace::set_up_loopback;
use crate::route::{Interface, RouteSocket};
use crate::tun::Tun;

/// The addresses of a pair of devices, and the name of the outer one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The address of the far end.
    pub outside: Ipv4Addr,
    /// The address of the program.
    pub inside: Ipv4Addr,
    /// The device of the far end.
    pub device: String,
}

impl Ends {
    /// Returns the first pair that this namespace does not have, above all pairs that it has: the far ends of outer
    /// shells remain reachable.
    ///
    /// # Errors
    /// If every pair is in use, or the kernel does not list its addresses.
    pub fn free() -> Result<Self, Error> {
        let used = nix::ifaddrs::getifaddrs()?.filter_map(|entry| {
            let [a, b, number, _] = entry.address?.as_sockaddr_in()?.ip().octets();
            ([a, b] == NETWORK).then_some(number)
        });
        let first = used.max().unwrap_or(0).checked_add(1).ok_or(Error::NoFreeAddress)?;
        let is_free = |number: &u8| Interface::named(&device_name(*number)).is_err();
        let number = (first..=u8::MAX).find(is_free).ok_or(Error::NoFreeAddress)?;
        let address = |host| Ipv4Addr::new(NETWORK[0], NETWORK[1], number, host);
        Ok(Self { outside: address(1), inside: address(2), device: device_name(number) })
    }
}

/// Returns a device name that no interface in this namespace has.
///
/// # Errors
/// If all are in use.
pub fn free_name() -> Result<String, Error> {
    let is_free = |name: &String| Interface::named(name).is_err();
    (0..=u8::MAX).map(device_name).find(is_free).ok_or(Error::NoFreeName)
}

/// Makes a device in this thread's namespace, down and without an address.
///
/// # Errors
/// If the kernel refuses it; so for all functions below.
pub fn make(name: &str, mtu: u32) -> Result<Tun, Error> {
    let tun = Tun::create(name)?;
    RouteSocket::open()?.shape(Interface::named(name)?, mtu, DEVICE_QUEUE)?;
    Ok(tun)
}

/// Makes the device of a host in this thread's namespace, with its address; every packet leaves by it.
pub fn make_of_host(address: Ipv4Addr, mtu: u32) -> Result<Tun, Error> {
    let (tun, socket, interface) = make_inner(mtu)?;
    socket.add_address(interface, address)?;
    socket.up(interface)?;
    socket.add_default_route(interface)?;
    Ok(tun)
}

/// Makes the device of the far end in this thread's namespace, with a route to the program.
pub fn make_far_end(ends: &Ends, mtu: u32) -> Result<Tun, Error> {
    let tun = make(&ends.device, mtu)?;
    let socket = RouteSocket::open()?;
    let interface = Interface::named(&ends.device)?;
    socket.add_peer_address(interface, ends.outside, ends.inside)?;
    socket.up(interface)?;
    Ok(tun)
}

/// Makes the device of the program in this thread's namespace; every packet leaves by it.
pub fn make_near_end(ends: &Ends, mtu: u32) -> Result<Tun, Error> {
    let (tun, socket, interface) = make_inner(mtu)?;
    socket.add_peer_address(interface, ends.inside, ends.outside)?;
    socket.up(interface)?;
    socket.add_default_route(interface)?;
    Ok(tun)
}

/// Makes a device of a router between two addresses in this thread's namespace. It takes the default route where there
/// is none. Returns it with its name, and whether it took the route.
pub fn make_of_router(own: Ipv4Addr, peer: Ipv4Addr, mtu: u32) -> Result<(Tun, String, bool), Error> {
    let name = free_name()?;
    let tun = make(&name, mtu)?;
    let socket = RouteSocket::open()?;
    let interface = Interface::named(&name)?;
    socket.add_peer_address(interface, own, peer)?;
    set_up_loopback()?;
    socket.up(interface)?;
    let takes_default = uplinks(&name).is_empty();
    if takes_default {
        socket.add_default_route(interface)?;
    }
    Ok((tun, name, takes_default))
}

/// Lets packets in by an interface whose sources are reached by another (loose reverse-path filtering, RFC 3704 §2.4).
pub fn accept_any_source(interface: &str) -> Result<(), Error> {
    const LOOSE: &str = "2";
    Ok(fs::write(format!("/proc/sys/net/ipv4/conf/{interface}/rp_filter"), LOOSE)?)
}

/// Returns the interfaces of this namespace's default routes, without `except`, in alphabetical order.
#[must_use]
pub fn uplinks(except: &str) -> Vec<String> {
    let table = fs::read_to_string("/proc/thread-self/net/route").unwrap_or_default();
    let mut names = default_routes(&table);
    names.retain(|name| name != except);
    names
}

/// Returns the interfaces of this namespace that have an address, in alphabetical order.
///
/// # Errors
/// If the kernel does not list them.
pub fn interfaces_with(address: Ipv4Addr) -> Result<Vec<String>, Error> {
    let has_it = |entry: &nix::ifaddrs::InterfaceAddress| {
        entry
            .address
            .as_ref()
            .and_then(|known| known.as_sockaddr_in())
            .is_some_and(|known| known.ip() == address)
    };
    let having = nix::ifaddrs::getifaddrs()?.filter(has_it).map(|entry| entry.interface_name);
    let mut names: Vec<String> = having.collect();
    names.sort();
    names.dedup();
    Ok(names)
}

/// Makes the device of this namespace's own host or program, with the loopback up.
fn make_inner(mtu: u32) -> Result<(Tun, RouteSocket, Interface), Error> {
    let tun = make(INNER_DEVICE, mtu)?;
    set_up_loopback()?;
    Ok((tun, RouteSocket::open()?, Interface::named(INNER_DEVICE)?))
}

fn default_routes(table: &str) -> Vec<String> {
    let interface = |line: &str| {
        let mut fields = line.split_whitespace();
        let (name, destination, mask) = (fields.next()?, fields.next()?, fields.nth(5)?);
        (destination == "00000000" && mask == "00000000").then(|| name.to_owned())
    };
    let mut names: Vec<String> = table.lines().skip(1).filter_map(interface).collect();
    names.sort();
    names.dedup();
    names
}

fn device_name(number: u8) -> String {
    format!("lasthop{number}")
}

/// Addresses for tests of network devices (RFC 2544 appendix C.2.2; RFC 6890): neither a network that people have nor
/// one that a provider's or a VPN's translation uses.
const NETWORK: [u8; 2] = [198, 18];
/// The name of the device in a namespace of our own: of a host in a live run, of a shell's program.
pub const INNER_DEVICE: &str = "hop0";
/// Length of a device's queue, in packets. Queueing belongs to the emulated link, so this is more than the largest
/// window that a Linux sender has by default.
const DEVICE_QUEUE: u32 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::in_new_network;

    #[test]
    fn default_routes_are_found_in_the_kernels_table() {
        let table = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n\
                     wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\n\
                     eth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\n\
                     eth0\t0001A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\n";
        assert_eq!(default_routes(table), ["eth0", "wlan0"]);
        assert_eq!(default_routes(""), [""; 0]);
    }

    #[test]
    fn pairs_are_above_those_in_use_and_reach_each_others_network() {
        in_new_network(|| {
            let first = Ends::free().unwrap();
            assert_eq!((first.device.as_str(), first.inside), ("lasthop1", Ipv4Addr::new(198, 18, 1, 2)));
            match make_far_end(&first, 1_400) {
                Ok(_device) => assert_eq!(Ends::free().unwrap().outside, Ipv4Addr::new(198, 18, 2, 1)),
                Err(error) => crate::testing::say_not_tested(&error),
            }
        });
    }

    #[test]
    fn the_device_of_a_host_takes_the_default_route() {
        in_new_network(|| match make_of_host(Ipv4Addr::new(10, 77, 0, 1), 1_500) {
            Ok(_device) => {
                assert_eq!(uplinks("none"), [INNER_DEVICE]);
                assert!(uplinks(INNER_DEVICE).is_empty());
            }
            Err(error) => crate::testing::say_not_tested(&error),
        });
    }
}

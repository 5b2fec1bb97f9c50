//! The network of a scenario for programs in C: `liblasthop`.
//!
//! Each function is a call of [`network::Network`]. Read `include/lasthop.h`, which is made from this file, and the
//! example `examples/c/echo.c`.
//!
//! This crate decides nothing: it turns pointers into slices, and errors into texts.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ptr;
use std::time::Duration;

use network::{HostId, NetworkError};

/// A network between hosts of the caller.
pub struct Network {
    network: network::Network,
    hosts: Vec<(HostId, CString, Ipv4Addr)>,
    /// What the last arrival points to.
    arrived: Option<(network::Arrival, Option<network::Datagram>)>,
}

/// An IPv4 address and a port.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Address {
    /// The four bytes of the address, in the order in which they are written.
    pub ip: [u8; 4],
    /// The port, in the byte order of the machine.
    pub port: u16,
}

/// A UDP datagram.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Datagram {
    /// Its sender.
    pub from: Address,
    /// Its receiver.
    pub to: Address,
    /// ECN field: 0 (not ECN-capable), 1 (ECT(1)), 2 (ECT(0)) or 3 (CE).
    pub ecn: u8,
    /// Its payload.
    pub payload: *const u8,
    /// Number of bytes of the payload, at most 65507.
    pub payload_len: usize,
}

/// A packet that has reached a host of the caller. Its pointers are valid until the next call with the network.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The host, as lasthop_host() numbers it.
    pub host: usize,
    /// Time at which the packet was sent.
    pub sent_ns: u64,
    /// Time at which it arrived.
    pub at_ns: u64,
    /// The IPv4 packet.
    pub packet: *const u8,
    /// Its number of bytes.
    pub packet_len: usize,
    /// Whether the packet carries a whole UDP datagram.
    pub is_datagram: bool,
    /// That datagram; zeros without one.
    pub datagram: Datagram,
}

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

/// Returns the reason of the last call in this thread that failed. Valid until the next call.
#[unsafe(no_mangle)]
pub extern "C" fn lasthop_error() -> *const c_char {
    ERROR.with_borrow(|error| error.as_ptr())
}

/// Makes the network of a scenario file. The hosts that no flow of it names are the caller's; the other flows are cross
/// traffic. `overrides` are texts "path=value"; NULL, or its last item is NULL. A `seed` of 0 is that of the file.
///
/// Returns NULL if the file has a mistake. lasthop_free() or lasthop_finish() frees the network.
///
/// # Safety
/// `path` and the overrides are texts that end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lasthop_open(
    path: *const c_char,
    overrides: *const *const c_char,
    seed: u64,
) -> *mut Network {
    // SAFETY: by the contract above.
    unsafe {
        make(path, overrides, seed, |path, overrides, seed| network::Network::open(path, overrides, seed))
    }
}

/// Makes the network of the text of a scenario, as lasthop_open() does of a file.
///
/// # Safety
/// As lasthop_open().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lasthop_parse(
    text: *const c_char,
    overrides: *const *const c_char,
    seed: u64,
) -> *mut Network {
    // SAFETY: by the contract above.
    unsafe { make(text, overrides, seed, network::Network::parse) }
}

/// Frees a network without results.
///
/// # Safety
/// `network` is NULL, or from lasthop_open() or lasthop_parse() and not yet freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lasthop_free(network: *mut Network) {
    if !network.is_null() {
        // SAFETY: a box of this type, by the contract above.
        drop(unsafe { Box::from_raw(network) });
    }
}

/// Returns the number of hosts of the caller.
#[unsafe(no_mangle)]
pub extern "C" fn lasthop_hosts(network: &Network) -> usize {
    network.hosts.len()
}

/// Finds a host of the caller by its name, and writes its number and its address. Returns whether there is one.
///
/// # Safety
/// `name` ends with a zero; `host` and `ip` (four bytes) can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lasthop_host(
    network: &Network,
    name: *const c_char,
    host: &mut usize,
    ip: *mut u8,
) -> bool {
    // SAFETY: by the contract above.
    let name = unsafe { CStr::from_ptr(name) };
    let Some(place) = network.hosts.iter().position(|(_, known, _)| known.as_c_str() == name) else {
        return fail(&format!("no host of yours is called {}", name.to_string_lossy()), false);
    };
    *host = place;
    // SAFETY: four bytes, by the contract above.
    unsafe { ptr::copy_nonoverlapping(network.hosts[place].2.octets().as_ptr(), ip, 4) };
    true
}

/// A host sends an IPv4 packet. Returns whether it could; a packet to an address that no host has is dropped.
///
/// # Safety
/// `packet` has `packet_len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lasthop_send(
    network: &mut Network,
    at_ns: u64,
    host: usize,
    packet: *const u8,
    packet_len: usize,
) -> bool {
    let Some((id, ..)) = network.hosts.get(host) else {
        return fail(&format!("you have no host {host}"), false);
    };
    // SAFETY: by the contract above.
    let packet = unsafe { bytes(packet, packet_len) }.to_vec();
    succeeded(network.network.send(Duration::from_nanos(at_ns), *id, packet))
}

/// The host with the address `datagram->from` sends a UDP datagram. Returns whether it could.
///
/// # Safety
/// The payload has `payload_len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lasthop_send_datagram(
    network: &mut Network,
    at_ns: u64,
    datagram: &Datagram,
) -> bool {
    // SAFETY: by the contract above.
    let payload = unsafe { bytes(datagram.payload, datagram.payload_len) }.to_vec();
    let datagram =
        network::Datagram { from: datagram.from.into(), to: datagram.to.into(), ecn: datagram.ecn, payload };
    succeeded(network.network.send_datagram(Duration::from_nanos(at_ns), &datagram))
}

/// Writes the time at which something next happens in the network. Returns whether anything will.
#[unsafe(no_mangle)]
pub extern "C" fn lasthop_next_event(network: &Network, at_ns: &mut u64) -> bool {
    let Some(next) = network.network.next_event() else { return false };
    *at_ns = nanoseconds(next);
    true
}

/// Lets happen what is due up to and with `at_ns`. Returns false after an error.
#[unsafe(no_mangle)]
pub extern "C" fn lasthop_run_until(network: &mut Network, at_ns: u64) -> bool {
    succeeded(network.network.run_until(Duration::from_nanos(at_ns)))
}

/// Writes the next packet that has arrived. Returns whether there is one.
#[unsafe(no_mangle)]
pub extern "C" fn lasthop_poll(network: &mut Network, arrival: &mut Arrival) -> bool {
    let Some(arrived) = network.network.poll() else { return false };
    let datagram = arrived.datagram();
    let (found, datagram) = network.arrived.insert((arrived, datagram));
    *arrival = Arrival {
        host: network.hosts.iter().position(|(id, ..)| *id == found.host).unwrap_or(usize::MAX),
        sent_ns: nanoseconds(found.sent),
        at_ns: nanoseconds(found.at),
        packet: found.packet.as_ptr(),
        packet_len: found.packet.len(),
        is_datagram: datagram.is_some(),
        datagram: datagram.as_ref().map_or(NO_DATAGRAM, view),
    };
    true
}

/// Ends the run at the time of the last call, frees the network, and writes the result into `folder` for `lasthop
/// report`, `plot` and `explain`, unless it is NULL. Returns the summary as JSON, to be freed by lasthop_free_text(),
/// or NULL if the result cannot be written.
///
/// # Safety
/// As lasthop_free(); `folder` is NULL, or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lasthop_finish(network: *mut Network, folder: *const c_char) -> *mut c_char {
    // SAFETY: a box of this type, by the contract above.
    let results = unsafe { Box::from_raw(network) }.network.finish();
    if !folder.is_null() {
        // SAFETY: by the contract above.
        let folder = unsafe { text(folder) };
        if !succeeded(folder.and_then(|folder| results.write(folder).map_err(|error| error.to_string()))) {
            return ptr::null_mut();
        }
    }
    CString::new(results.summary.to_string()).map_or(ptr::null_mut(), CString::into_raw)
}

/// Frees a text of lasthop_finish().
///
/// # Safety
/// `text` is NULL, or from lasthop_finish() and not yet freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lasthop_free_text(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: by the contract above.
        drop(unsafe { CString::from_raw(text) });
    }
}

const NO_DATAGRAM: Datagram =
    Datagram { from: NO_ADDRESS, to: NO_ADDRESS, ecn: 0, payload: ptr::null(), payload_len: 0 };
const NO_ADDRESS: Address = Address { ip: [0; 4], port: 0 };

impl From<Address> for SocketAddrV4 {
    fn from(address: Address) -> Self {
        Self::new(Ipv4Addr::from(address.ip), address.port)
    }
}

impl From<SocketAddrV4> for Address {
    fn from(address: SocketAddrV4) -> Self {
        Self { ip: address.ip().octets(), port: address.port() }
    }
}

fn view(datagram: &network::Datagram) -> Datagram {
    Datagram {
        from: datagram.from.into(),
        to: datagram.to.into(),
        ecn: datagram.ecn,
        payload: datagram.payload.as_ptr(),
        payload_len: datagram.payload.len(),
    }
}

/// Makes a network of a file or a text.
///
/// # Safety
/// As [`lasthop_open`].
unsafe fn make(
    source: *const c_char,
    overrides: *const *const c_char,
    seed: u64,
    read: impl FnOnce(&str, &[&str], Option<u64>) -> Result<network::Network, NetworkError>,
) -> *mut Network {
    // SAFETY: by the contract above.
    let arguments = unsafe { text(source).and_then(|source| Ok((source, texts(overrides)?))) };
    let seed = Some(seed).filter(|seed| *seed != 0);
    let network = arguments
        .and_then(|(source, overrides)| read(source, &overrides, seed).map_err(|error| error.to_string()));
    match network {
        Ok(network) => {
            let hosts = network.hosts();
            let hosts =
                hosts.map(|(id, name, ip)| (id, CString::new(name).unwrap_or_default(), ip)).collect();
            Box::into_raw(Box::new(Network { network, hosts, arrived: None }))
        }
        Err(error) => fail(&error, ptr::null_mut()),
    }
}

/// The bytes; none without any, whatever the pointer.
///
/// # Safety
/// `start` has `len` bytes that stay as they are for as long as the slice is used.
unsafe fn bytes<'a>(start: *const u8, len: usize) -> &'a [u8] {
    // SAFETY: by the contract above; an empty slice needs no memory.
    if len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(start, len) } }
}

/// The text.
///
/// # Safety
/// It ends with a zero, and stays as it is for as long as it is used.
unsafe fn text<'a>(text: *const c_char) -> Result<&'a str, String> {
    // SAFETY: by the contract above.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|error| format!("a text is not UTF-8: {error}"))
}

/// The texts up to NULL.
///
/// # Safety
/// `first` is NULL or the first of some pointers, of which the last is NULL and the others are as of [`text`].
unsafe fn texts<'a>(mut first: *const *const c_char) -> Result<Vec<&'a str>, String> {
    let mut found = Vec::new();
    // SAFETY: by the contract above.
    while !first.is_null() && unsafe { !(*first).is_null() } {
        // SAFETY: likewise.
        found.push(unsafe { text(*first)? });
        // SAFETY: NULL, the last one, was not reached.
        first = unsafe { first.add(1) };
    }
    Ok(found)
}

fn succeeded<T, E: ToString>(result: Result<T, E>) -> bool {
    result.map_or_else(|error| fail(&error.to_string(), false), |_| true)
}

/// Keeps the reason of a failure, and returns the value that means one.
fn fail<T>(reason: &str, value: T) -> T {
    let reason = CString::new(reason.replace('\0', " ")).unwrap_or_default();
    ERROR.with_borrow_mut(|error| *error = reason);
    value
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

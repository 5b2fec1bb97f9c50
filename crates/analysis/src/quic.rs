//! The visible part of QUIC: its connections by address and connection ID, datagrams in each direction, and the spin
//! bit.
//!
//! Everything else is encrypted (RFC 9312 §2), and opened with secrets (`quic_contents.rs`). A connection is recognised
//! by a long header of a known version. A short header belongs to it if it travels between its addresses or, after a
//! migration, carries a connection ID that the connection announced.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use ::quic::{KeyLog, Origin};
use serde::Serialize;
use units::{Duration, Instant};

use crate::quic_contents::{QuicContents, QuicStep, TrackedContents};

/// A QUIC connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuicConnection {
    /// The point where it was seen.
    pub point: String,
    /// The client's address and port at first, then the server's.
    pub ends: [String; 2],
    /// The version of the first long header: 1 or 2; others, including drafts, by their number.
    pub version: u32,
    /// The connection IDs that each side chose, as hexadecimal digits, in the order of their appearance.
    pub connection_ids: [Vec<String>; 2],
    /// Time at which its first datagram was seen, in seconds from the first packet of the capture.
    pub start_s: f64,
    /// From its first datagram to its last, in seconds.
    pub length_s: f64,
    /// Datagrams that the client sent, and the server.
    pub datagrams: [u64; 2],
    /// Their bytes of UDP payload.
    pub bytes: [u64; 2],
    /// Datagrams that begin with a long header: the handshake.
    pub long_headers: [u64; 2],
    /// Number of changes of the spin bit in each direction: two consecutive ones are a round trip apart (RFC 9000
    /// §17.4). With none or one it is not used.
    pub spin_changes: [u64; 2],
    /// The shortest time between two changes of the client's bit, in seconds.
    pub spin_rtt_min_s: Option<f64>,
    /// The mean time between two such changes, in seconds.
    pub spin_rtt_mean_s: Option<f64>,
    /// Its name in tables: the client's address and the server's, after the name of the point if there are several.
    pub flow: String,
    /// The changes of the client's address.
    pub migrations: Vec<Migration>,
    /// What its packets contain, as far as there are keys.
    pub contents: QuicContents,
}

/// A change of the client's address: a migration, or another binding of a NAT (RFC 9000 §9).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Migration {
    /// Time of its first datagram with the new address, in seconds from the first packet of the capture.
    pub time_s: f64,
    /// The frame of that datagram.
    pub frame: u64,
    /// The new address.
    pub client: String,
}

/// The QUIC connections at one point.
#[derive(Debug, Default)]
pub(crate) struct Quic {
    connections: Vec<TrackedConnection>,
    by_ends: BTreeMap<[SocketAddr; 2], usize>,
    by_id: BTreeMap<Vec<u8>, usize>,
}

#[derive(Debug)]
struct TrackedConnection {
    ends: [SocketAddr; 2],
    /// The client's present address, if it has migrated.
    client: SocketAddr,
    /// Its changes of address.
    migrations: Vec<(Origin, SocketAddr)>,
    version: u32,
    ids: [Vec<Vec<u8>>; 2],
    first: Instant,
    last: Instant,
    sides: [SideCounts; 2],
    contents: TrackedContents,
}

#[derive(Clone, Debug, Default)]
struct SideCounts {
    datagrams: u64,
    bytes: u64,
    long_headers: u64,
    spin: Option<bool>,
    changed_at: Option<Instant>,
    changes: u64,
    round_trips: u64,
    shortest: Duration,
    sum: Duration,
}

/// The invariant part of a long header (RFC 8999 §5.1).
struct LongHeader {
    version: u32,
    destination: Vec<u8>,
    source: Vec<u8>,
}

impl Quic {
    /// A datagram passed, of which the end is missing if it is cut. `each` takes its packets.
    pub(crate) fn handle_datagram(
        &mut self,
        origin: Origin,
        [source, destination]: [SocketAddr; 2],
        datagram: &[u8],
        (is_cut, log): (bool, &KeyLog),
        each: &mut dyn FnMut(&QuicStep<'_>),
    ) {
        let at = origin.at;
        let head = &datagram[..datagram.len().min(LONGEST_HEAD)];
        let Some(&first) = head.first() else { return };
        let long = (first & 0x80 != 0).then(|| LongHeader::read(head)).flatten();
        let Some(index) = self.connection_of(origin, source, destination, first, head, long.as_ref()) else {
            return;
        };
        let seen = &mut self.connections[index];
        let side = usize::from(source != seen.client);
        seen.last = at;
        seen.sides[side].add(at, datagram.len() as u32, first, long.is_some());
        let of_header = long.map(|header| header.source).filter(|id| !id.is_empty());
        let of_frames = seen.contents.handle_datagram(origin, side, datagram, is_cut, log, &mut |step| {
            each(&QuicStep { connection: index, ..*step })
        });
        for id in of_header.into_iter().chain(of_frames) {
            if !seen.ids[side].contains(&id) && seen.ids[side].len() < MOST_IDS {
                seen.ids[side].push(id.clone());
                self.by_id.insert(id, index);
            }
        }
    }

    /// Number of connections.
    pub(crate) const fn len(&self) -> usize {
        self.connections.len()
    }

    /// The report, with times from `began`. Flows have the name of the point if there are several.
    pub(crate) fn report(&self, point: &str, several: bool, began: Instant) -> Vec<QuicConnection> {
        let names = self.names(several.then_some(point));
        self.connections.iter().zip(names).map(|(seen, flow)| seen.report(point, flow, began)).collect()
    }

    /// The names of the connections in tables. Connections between the same addresses are counted.
    pub(crate) fn names(&self, point: Option<&str>) -> Vec<String> {
        let mut times: BTreeMap<[SocketAddr; 2], u32> = BTreeMap::new();
        let name = |seen: &TrackedConnection| {
            let count = times.entry(seen.ends).or_default();
            *count += 1;
            let [client, server] = seen.ends;
            let which = if *count > 1 { format!(", connection {count}") } else { String::new() };
            let point = point.map_or_else(String::new, |point| format!("{point}: "));
            format!("{point}QUIC {client}-{server}{which}")
        };
        self.connections.iter().map(name).collect()
    }

    fn connection_of(
        &mut self,
        origin: Origin,
        source: SocketAddr,
        destination: SocketAddr,
        first: u8,
        head: &[u8],
        long: Option<&LongHeader>,
    ) -> Option<usize> {
        let key = if source <= destination { [source, destination] } else { [destination, source] };
        if let Some(&index) = self.by_ends.get(&key)
            && !long.is_some_and(|header| self.begins_another(index, source, header))
        {
            return Some(index);
        }
        match long {
            Some(header) if is_known(header.version) => {
                let index = self.connections.len();
                self.connections.push(TrackedConnection::new(origin.at, source, destination, header.version));
                self.by_ends.insert(key, index);
                Some(index)
            }
            // A short header has the fixed bit (RFC 9000 §17.3.1), then the connection ID that its receiver chose.
            None if first & 0xc0 == 0x40 => {
                let index = self.by_destination_id(head)?;
                self.by_ends.insert(key, index);
                let seen = &mut self.connections[index];
                if destination == seen.ends[1] {
                    // Only clients migrate (RFC 9000 §9).
                    seen.client = source;
                    if seen.migrations.len() < MOST_MIGRATIONS {
                        seen.migrations.push((origin, source));
                    }
                }
                Some(index)
            }
            _ => None,
        }
    }

    /// Whether a client's long header with two IDs that the connection does not know opens the next one.
    fn begins_another(&self, index: usize, source: SocketAddr, header: &LongHeader) -> bool {
        let seen = &self.connections[index];
        let known = |id: &Vec<u8>| seen.ids.iter().any(|ids| ids.contains(id));
        source == seen.client
            && is_known(header.version)
            && !header.source.is_empty()
            && !seen.ids[0].is_empty()
            && !known(&header.source)
            && !known(&header.destination)
    }

    fn by_destination_id(&self, head: &[u8]) -> Option<usize> {
        // RFC 9000 §17.2: IDs have up to 20 bytes. One shorter than 4 is no evidence.
        (4..=20.min(head.len().saturating_sub(1)))
            .rev()
            .find_map(|len| self.by_id.get(&head[1..=len]).copied())
    }
}

impl TrackedConnection {
    fn new(at: Instant, client: SocketAddr, server: SocketAddr, version: u32) -> Self {
        Self {
            ends: [client, server],
            client,
            migrations: Vec::new(),
            version,
            ids: Default::default(),
            first: at,
            last: at,
            sides: Default::default(),
            contents: TrackedContents::default(),
        }
    }

    fn report(&self, point: &str, flow: String, began: Instant) -> QuicConnection {
        let hexadecimal = |id: &Vec<u8>| id.iter().map(|byte| format!("{byte:02x}")).collect();
        let migration = |(origin, client): &(Origin, SocketAddr)| Migration {
            time_s: origin.at.saturating_since(began).as_secs_f64(),
            frame: origin.frame,
            client: client.to_string(),
        };
        let client = &self.sides[0];
        let any = client.round_trips > 0;
        QuicConnection {
            point: point.to_owned(),
            ends: self.ends.map(|end| end.to_string()),
            version: if self.version == VERSION_2 { 2 } else { self.version },
            connection_ids: self.ids.each_ref().map(|ids| ids.iter().map(hexadecimal).collect()),
            start_s: self.first.saturating_since(began).as_secs_f64(),
            length_s: self.last.saturating_since(self.first).as_secs_f64(),
            datagrams: self.sides.each_ref().map(|side| side.datagrams),
            bytes: self.sides.each_ref().map(|side| side.bytes),
            long_headers: self.sides.each_ref().map(|side| side.long_headers),
            spin_changes: self.sides.each_ref().map(|side| side.changes),
            spin_rtt_min_s: any.then(|| client.shortest.as_secs_f64()),
            spin_rtt_mean_s: any.then(|| client.sum.as_secs_f64() / client.round_trips as f64),
            flow,
            migrations: self.migrations.iter().map(migration).collect(),
            contents: self.contents.report(),
        }
    }
}

impl SideCounts {
    fn add(&mut self, at: Instant, bytes: u32, first: u8, long: bool) {
        self.datagrams += 1;
        self.bytes += u64::from(bytes);
        self.long_headers += u64::from(long);
        if long {
            return;
        }
        let spin = first & 0x20 != 0;
        if self.spin.replace(spin).is_some_and(|before| before != spin) {
            self.changes += 1;
            if let Some(since) = self.changed_at.replace(at) {
                self.measure(at.saturating_since(since));
            }
        }
    }

    fn measure(&mut self, sample: Duration) {
        self.shortest = if self.round_trips == 0 { sample } else { self.shortest.min(sample) };
        self.sum += sample;
        self.round_trips += 1;
    }
}

impl LongHeader {
    fn read(head: &[u8]) -> Option<Self> {
        let version = u32::from_be_bytes(head.get(1..5)?.try_into().ok()?);
        let (destination, rest) = id(head.get(5..)?)?;
        let (source, _) = id(rest)?;
        Some(Self { version, destination, source })
    }
}

/// A connection ID after its length.
fn id(bytes: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (&len, rest) = bytes.split_first()?;
    let len = usize::from(len);
    (len <= 20 && rest.len() >= len).then(|| (rest[..len].to_vec(), &rest[len..]))
}

/// RFC 9000 §15 and RFC 9369 §3.1; drafts 29 to 34 have the same headers.
const fn is_known(version: u32) -> bool {
    matches!(version, 1 | VERSION_2 | 0xff00_001d..=0xff00_0022)
}

/// RFC 9369 §3.1.
const VERSION_2: u32 = 0x6b33_43cf;

/// The first byte, the version, and two IDs of 20 bytes after their lengths.
const LONGEST_HEAD: usize = 47;

/// Number of changes of address kept for each connection.
const MOST_MIGRATIONS: usize = 100;

/// Number of IDs kept for each side.
const MOST_IDS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn end(port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 1], port))
    }

    fn pass(quic: &mut Quic, milliseconds: u64, ports: [u16; 2], bytes: &[u8]) {
        let at = Instant::START + Duration::from_millis(milliseconds);
        let (origin, log) = (Origin { at, frame: 1 }, KeyLog::default());
        quic.handle_datagram(origin, ports.map(end), bytes, (false, &log), &mut |_| {});
    }

    const CLIENT_S_INITIAL: [u8; 16] = [0xc0, 0, 0, 0, 1, 4, 9, 9, 9, 9, 4, 1, 2, 3, 4, 0];
    const SERVER_S_INITIAL: [u8; 16] = [0xc0, 0, 0, 0, 1, 4, 1, 2, 3, 4, 4, 5, 6, 7, 8, 0];

    fn handshake() -> Quic {
        let mut quic = Quic::default();
        pass(&mut quic, 0, [7, 443], &CLIENT_S_INITIAL);
        pass(&mut quic, 10, [443, 7], &SERVER_S_INITIAL);
        quic
    }

    #[test]
    fn a_connection_is_known_by_its_long_headers_and_ids() {
        let found = handshake().report("", false, Instant::START);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].connection_ids, [vec!["01020304"], vec!["05060708"]]);
        assert_eq!((found[0].version, found[0].datagrams, found[0].long_headers), (1, [1, 1], [1, 1]));
    }

    #[test]
    fn the_spin_bit_measures_round_trips() {
        let mut quic = handshake();
        for (at, first) in [(20, 0x40), (40, 0x60), (41, 0x60), (65, 0x40), (85, 0x60)] {
            pass(&mut quic, at, [7, 443], &[first, 5, 6, 7, 8, 0]);
        }
        let found = &quic.report("", false, Instant::START)[0];
        assert_eq!(found.spin_changes, [3, 0]);
        assert_eq!((found.spin_rtt_min_s, found.spin_rtt_mean_s), (Some(0.02), Some(0.0225)));
    }

    #[test]
    fn a_client_that_moved_is_known_by_the_server_s_id() {
        let mut quic = handshake();
        pass(&mut quic, 20, [8, 443], &[0x40, 5, 6, 7, 8, 0]);
        pass(&mut quic, 30, [443, 8], &[0x40, 1, 2, 3, 4, 0]);
        let found = &quic.report("", false, Instant::START)[0];
        assert_eq!(found.datagrams, [2, 2]);
        assert_eq!(
            found.migrations.iter().map(|one| one.client.as_str()).collect::<Vec<_>>(),
            ["10.0.0.1:8"]
        );
    }

    #[test]
    fn what_is_no_quic_is_left_alone() {
        let mut quic = Quic::default();
        for bytes in
            [&[][..], &[0x40, 1, 2], &[0xc0, 0, 0], &[0xc0, 0, 0, 0, 7, 4, 1, 1, 1, 1, 0], &[0xff; 60]]
        {
            pass(&mut quic, 0, [53, 9], bytes);
        }
        assert!(quic.report("", false, Instant::START).is_empty());
    }
}

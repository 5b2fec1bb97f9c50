//! The contents of QUIC's packets, as far as there are keys: of Initial packets always, of the others with a key log.

use std::collections::BTreeMap;

use ::quic::sender::{Event, Passed, SenderReport};
use ::quic::{Connection, Frame, KeyLog, Origin, Packet, Senders, Suite, Unopened};
use serde::Serialize;

/// The contents of a connection's packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QuicContents {
    /// The server's name in the client's hello.
    pub server_name: Option<String>,
    /// The cipher suite that TLS chose.
    pub cipher: Option<Suite>,
    /// Whether the server sent a Retry.
    pub retry: bool,
    /// Packets of the client, and of the server, that were opened.
    pub opened: [u64; 2],
    /// Packets that were not opened, by the reason.
    pub unopened: BTreeMap<&'static str, u64>,
    /// Packets with a frame of unknown type, which ends the reading of the packet.
    pub unknown_frames: u64,
    /// Key updates in packets of the client, and of the server.
    pub key_updates: [u64; 2],
    /// The first CONNECTION_CLOSE in words.
    pub closed: Option<String>,
    /// The client's and the server's packets, losses and round trips.
    pub senders: [SenderReport; 2],
}

/// A packet when it passes, or when its keys are known.
#[derive(Debug)]
pub(crate) struct QuicStep<'a> {
    /// Index of its connection at the point.
    pub(crate) connection: usize,
    pub(crate) packet: &'a Packet<'a>,
    /// What its sender's history says of it, if it was opened.
    pub(crate) passed: Option<Passed>,
    /// The fates of earlier packets that it shows.
    pub(crate) events: &'a [Event],
    /// Bytes of streams that each side may send by the peer's transport parameters.
    pub(crate) limits: [u64; 2],
}

/// The packets of a connection so far.
#[derive(Debug, Default)]
pub(crate) struct TrackedContents {
    connection: Connection,
    senders: Senders,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    opened: [u64; 2],
    unopened: BTreeMap<Unopened, u64>,
    unknown_frames: u64,
    closed: Option<String>,
}

impl TrackedContents {
    /// A datagram passed. Returns the connection IDs that its sender announces in it.
    pub(crate) fn handle_datagram(
        &mut self,
        origin: Origin,
        side: usize,
        datagram: &[u8],
        is_cut: bool,
        log: &KeyLog,
        each: &mut dyn FnMut(&QuicStep<'_>),
    ) -> Vec<Vec<u8>> {
        let Self { connection, senders, counts } = self;
        let delays = [0, 1].map(|side| connection.ack_delays(side));
        let limits = [1, 0].map(|peer| connection.initial_max_data(peer));
        let mut ids = Vec::new();
        connection.handle_datagram(origin, side, datagram, is_cut, log, &mut |packet| {
            counts.add(packet);
            let mut events = Vec::new();
            let passed = senders.handle_packet(packet, delays, &mut |event| events.push(event));
            each(&QuicStep { connection: 0, packet, passed, events: &events, limits });
            ids.extend(announced(packet));
        });
        ids
    }

    pub(crate) fn report(&self) -> QuicContents {
        let Self { connection, senders, counts } = self;
        let mut unopened: BTreeMap<_, _> =
            counts.unopened.iter().map(|(why, count)| (why.words(), *count)).collect();
        if connection.waiting() > 0 {
            *unopened.entry(Unopened::NoHello.words()).or_default() += connection.waiting() as u64;
        }
        QuicContents {
            server_name: connection.server_name().map(str::to_owned),
            cipher: connection.suite(),
            retry: connection.has_retry(),
            opened: counts.opened,
            unopened,
            unknown_frames: counts.unknown_frames,
            key_updates: [0, 1].map(|side| connection.key_updates(side)),
            closed: counts.closed.clone(),
            senders: [0, 1].map(|side| senders.report(side)),
        }
    }
}

impl Counts {
    fn add(&mut self, packet: &Packet<'_>) {
        let contents = match &packet.contents {
            Ok(contents) => contents,
            Err(Unopened::Unprotected) => return,
            Err(why) => {
                *self.unopened.entry(*why).or_default() += 1;
                return;
            }
        };
        self.opened[packet.side] += 1;
        self.unknown_frames += u64::from(contents.unknown_frame.is_some());
        let closed = || contents.frames.iter().find_map(|frame| closing(packet.side, frame));
        self.closed = self.closed.take().or_else(closed);
    }
}

fn closing(side: usize, frame: &Frame<'_>) -> Option<String> {
    let Frame::ConnectionClose { by_application, code, reason } = frame else { return None };
    let end = ["client", "server"][side];
    let layer = if *by_application { "application" } else { "transport" };
    let reason = String::from_utf8_lossy(reason);
    let because = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
    Some(format!("{end}: {layer} code {code:#x}{because}"))
}

fn announced(packet: &Packet<'_>) -> Vec<Vec<u8>> {
    let frames = packet.contents.as_ref().map_or(&[][..], |contents| &contents.frames);
    let id = |frame: &Frame<'_>| match frame {
        Frame::NewConnectionId { id, .. } => Some(id.to_vec()),
        _ => None,
    };
    frames.iter().filter_map(id).collect()
}

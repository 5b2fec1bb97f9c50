//! The first reading of a capture: its connections, and the verdicts on their packets.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::SocketAddr;

use trace::capture::Capture;
use trace::flow::{Flow, Judgement, Side};
use units::{Instant, PacketId};
use wire::capture::{Frame, Interface, ReadError, Reader};
use wire::{Parsed, Transport, framing};

use crate::quic::{Quic, QuicConnection};
use crate::report::{Activity, PointReport, Report, TcpConnection};

/// The result of the first reading.
#[derive(Debug, Default)]
pub struct Survey {
    points: Vec<PointSurvey>,
    began: Option<Instant>,
    ended: Option<Instant>,
    error: Option<ReadError>,
}

/// The traffic at one point of observation.
#[derive(Debug)]
struct PointSurvey {
    interface: Interface,
    capture: Capture,
    activities: Vec<[Activity; 2]>,
    quic: Quic,
    frames: u64,
    not_ip: u64,
}

/// The results on a connection that the second reading needs.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) name: String,
    pub(crate) bulk_sender: Side,
    pub(crate) hosts: [String; 2],
    pub(crate) judgements: BTreeMap<PacketId, Judgement>,
}

impl Survey {
    /// Reads a capture to its end, or to the damage if it is truncated or damaged.
    pub fn read<R: Read>(mut reader: Reader<R>) -> Self {
        let mut survey = Self::default();
        let mut place = 0;
        while let Some(next) = reader.next() {
            match next {
                Ok(frame) => {
                    survey.add_points(reader.interfaces());
                    survey.add(&frame, PacketId(place));
                    place += 1;
                }
                Err(error) => survey.error = Some(error),
            }
        }
        survey.add_points(reader.interfaces());
        survey
    }

    /// The report.
    #[must_use]
    pub fn report(&self) -> Report {
        let points = self.points.iter().map(|seen| PointReport {
            name: seen.interface.name.clone(),
            frames: seen.frames,
            not_ip: seen.not_ip,
            not_tcp: seen.capture.other_packets(),
            unreadable: seen.capture.unreadable_packets(),
        });
        let began = self.began.unwrap_or(Instant::START);
        Report {
            points: points.collect(),
            began_s: began.saturating_since(Instant::START).as_secs_f64(),
            length_s: self.ended.unwrap_or(began).saturating_since(began).as_secs_f64(),
            connections: self.connections(began),
            quic: self.quic(began),
            error: self.error.as_ref().map(ToString::to_string),
        }
    }

    /// When the first packet was seen.
    pub(crate) fn began(&self) -> Instant {
        self.began.unwrap_or(Instant::START)
    }

    /// The results on the connections of each point, in the order of their first packets.
    pub(crate) fn known(&self) -> Vec<Vec<Known>> {
        let several = self.points.len() > 1;
        let of_point = |seen: &PointSurvey| {
            let known = seen.capture.flows().iter().map(|flow| Known {
                name: name_of(flow, several.then_some(seen.interface.name.as_str())),
                bulk_sender: flow.bulk_sender(),
                hosts: flow.ends().map(|end| end.to_string()),
                judgements: [Side::Opener, Side::Answerer]
                    .into_iter()
                    .flat_map(|side| flow.half(side).judgements())
                    .map(|judgement| (judgement.packet, judgement))
                    .collect(),
            });
            known.collect()
        };
        self.points.iter().map(of_point).collect()
    }

    fn quic(&self, began: Instant) -> Vec<QuicConnection> {
        self.points.iter().flat_map(|seen| seen.quic.report(&seen.interface.name, began)).collect()
    }

    fn connections(&self, began: Instant) -> Vec<TcpConnection> {
        let several = self.points.len() > 1;
        let all = self.points.iter().flat_map(|seen| {
            let point = several.then_some(seen.interface.name.as_str());
            let flows = seen.capture.flows().iter().zip(&seen.activities);
            flows.map(move |(flow, activities)| {
                TcpConnection::of(flow, name_of(flow, point), activities, began)
            })
        });
        all.collect()
    }

    fn add(&mut self, frame: &Frame, packet: PacketId) {
        self.began = Some(self.began.map_or(frame.at, |began| began.min(frame.at)));
        self.ended = self.ended.max(Some(frame.at));
        let Some(seen) = self.points.get_mut(frame.interface as usize) else { return };
        seen.frames += 1;
        let Some(bytes) = framing::ip_packet(seen.interface.link_type, &frame.data) else {
            seen.not_ip += 1;
            return;
        };
        let Ok(parsed) = wire::parse(bytes) else {
            // The capture counts packets that it cannot read.
            drop(seen.capture.handle_packet(frame.at, packet, bytes));
            return;
        };
        if let Transport::Udp(datagram) = &parsed.transport {
            let [source, destination] = ends(&parsed, [datagram.source_port, datagram.destination_port]);
            seen.quic.handle_datagram(frame.at, source, destination, datagram);
        }
        if let Some((index, observed)) = seen.capture.handle_parsed(frame.at, packet, &parsed) {
            seen.activities.resize_with(seen.activities.len().max(index + 1), Default::default);
            let flow = &seen.capture.flows()[index];
            if let Some(segment) = parsed.segment() {
                let own = &mut seen.activities[index][observed.sender as usize];
                own.on_sent(frame.at, segment, &observed, flow.half(observed.sender).flight());
            }
        }
    }

    fn add_points(&mut self, interfaces: &[Interface]) {
        let new = interfaces.iter().skip(self.points.len());
        self.points.extend(new.map(|interface| PointSurvey {
            interface: interface.clone(),
            capture: Capture::new(),
            activities: Vec::new(),
            quic: Quic::default(),
            frames: 0,
            not_ip: 0,
        }));
    }
}

fn ends(parsed: &Parsed, ports: [u16; 2]) -> [SocketAddr; 2] {
    let [source, destination] = ports;
    [
        SocketAddr::new(parsed.header.source(), source),
        SocketAddr::new(parsed.header.destination(), destination),
    ]
}

/// A connection's name: opener and peer, after the name of the point if there are several.
fn name_of(flow: &Flow, point: Option<&str>) -> String {
    let [opener, answerer] = flow.ends();
    let ends = format!("{opener}-{answerer}");
    point.map_or_else(|| ends.clone(), |point| format!("{point}: {ends}"))
}

//! The first reading of a capture: its connections, and the verdicts on their packets.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::SocketAddr;

use ::quic::{KeyLog, Origin};
use trace::capture::Capture;
use trace::flow::{Flow, Judgement, ObservedSegment, SegmentKind, Side};
use units::{Duration, Instant, PacketId};
use wire::capture::{Frame, Interface};
use wire::framing::{NotIp, Unpacked};

use crate::frames::Frames;
use crate::incidents::Incidents;

use crate::quic::{Quic, QuicConnection};
use crate::quic_packets::datagram_of;
use crate::report::{Activity, PointReport, Report, TcpConnection};
use crate::segment_kind::kind_id;

/// The result of the first reading.
#[derive(Debug, Default)]
pub struct Survey {
    points: Vec<PointSurvey>,
    began: Option<Instant>,
    ended: Option<Instant>,
    error: Option<String>,
}

/// A TCP packet, as the first reading passes it.
#[derive(Debug)]
pub struct Seen<'a> {
    /// Time from the first frame of the capture.
    pub at: Duration,
    /// Its number as Wireshark counts, from 1.
    pub number: PacketId,
    /// Its connection.
    pub flow: &'a Flow,
    /// The packet in its context.
    pub observed: ObservedSegment,
}

/// The traffic at one point of observation.
#[derive(Debug)]
struct PointSurvey {
    interface: Interface,
    capture: Capture,
    activities: Vec<[Activity; 2]>,
    incidents: Vec<Incidents>,
    quic: Quic,
    frames: u64,
    not_ip: BTreeMap<NotIp, u64>,
}

/// The results on a connection that the second reading needs.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) name: String,
    pub(crate) bulk_sender: Side,
    pub(crate) hosts: [String; 2],
    pub(crate) judgements: BTreeMap<PacketId, Judgement>,
}

impl Seen<'_> {
    /// Its kind and cause by the names in tables, if it is notable: a retransmission, a packet out of order, a probe or
    /// a reset.
    #[must_use]
    pub const fn notable(&self) -> Option<(&'static str, Option<&'static str>)> {
        let kind = self.observed.kind;
        match kind {
            SegmentKind::Retransmission(cause) => Some((kind_id(kind), Some(cause.id()))),
            SegmentKind::OutOfOrder | SegmentKind::Probe | SegmentKind::Reset => Some((kind_id(kind), None)),
            _ => None,
        }
    }

    /// The ends of its connection, the sender first.
    #[must_use]
    pub fn ends(&self) -> [SocketAddr; 2] {
        let sender = self.observed.sender;
        [sender, sender.peer()].map(|side| self.flow.ends()[side as usize])
    }
}

impl Survey {
    /// Reads frames to their end.
    pub fn read<R: Read>(frames: Frames<R>) -> Self {
        Self::watch(frames, |_| Ok::<(), std::convert::Infallible>(())).unwrap_or_else(|never| match never {})
    }

    /// Reads frames to their end, and gives each TCP packet to `each` as it comes.
    ///
    /// # Errors
    /// Errors of `each`, which end the reading.
    pub fn watch<R: Read, E>(
        mut frames: Frames<R>,
        mut each: impl FnMut(&Seen<'_>) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut survey = Self::default();
        while let Some(frame) = frames.next() {
            survey.began = frames.began();
            survey.add_points(frames.points());
            if let Some(seen) = survey.add(&frame, &mut frames) {
                each(&seen)?;
            }
        }
        survey.add_points(frames.points());
        survey.error = frames.error();
        Ok(survey)
    }

    /// The report.
    #[must_use]
    pub fn report(&self) -> Report {
        let points = self.points.iter().map(|seen| PointReport {
            name: seen.interface.name.clone(),
            frames: seen.frames,
            not_ip: seen.not_ip.iter().map(|(what, count)| (what.to_string(), *count)).collect(),
            not_tcp: seen.capture.other_packets(),
            unreadable: seen.capture.unreadable_packets(),
        });
        let began = self.began();
        Report {
            points: points.collect(),
            began_s: began.saturating_since(Instant::START).as_secs_f64(),
            length_s: self.ended.unwrap_or(began).saturating_since(began).as_secs_f64(),
            connections: self.connections(began),
            quic: self.quic(began),
            error: self.error.clone(),
        }
    }

    /// Time at which the first packet was seen.
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

    /// The connections of QUIC of each point.
    pub(crate) fn quic(&self, began: Instant) -> Vec<QuicConnection> {
        let several = self.points.len() > 1;
        self.points.iter().flat_map(|seen| seen.quic.report(&seen.interface.name, several, began)).collect()
    }

    fn connections(&self, began: Instant) -> Vec<TcpConnection> {
        let several = self.points.len() > 1;
        let all = self.points.iter().flat_map(|seen| {
            let point = several.then_some(seen.interface.name.as_str());
            let found = seen.activities.iter().zip(&seen.incidents);
            let flows = seen.capture.flows().iter().zip(found);
            flows.map(move |(flow, found)| TcpConnection::of(flow, name_of(flow, point), found, began))
        });
        all.collect()
    }

    fn add<R: Read>(&mut self, frame: &Frame, frames: &mut Frames<R>) -> Option<Seen<'_>> {
        self.ended = self.ended.max(Some(frame.at));
        let began = self.began();
        let seen = self.points.get_mut(frame.interface as usize)?;
        seen.frames += 1;
        let packet = match frames.unpack(frame) {
            Ok(packet) => packet,
            Err(what) => {
                *seen.not_ip.entry(what).or_default() += 1;
                return None;
            }
        };
        seen.add(frame, &packet, began, frames.key_log())
    }

    fn add_points(&mut self, interfaces: &[Interface]) {
        let new = interfaces.iter().skip(self.points.len());
        self.points.extend(new.map(|interface| PointSurvey {
            interface: interface.clone(),
            capture: Capture::new(),
            activities: Vec::new(),
            incidents: Vec::new(),
            quic: Quic::default(),
            frames: 0,
            not_ip: BTreeMap::new(),
        }));
    }
}

impl PointSurvey {
    fn add(
        &mut self,
        frame: &Frame,
        packet: &Unpacked<'_>,
        began: Instant,
        log: &KeyLog,
    ) -> Option<Seen<'_>> {
        let number = frame.packet?;
        let Ok(parsed) = packet.parse_headers() else {
            self.capture.handle_unreadable();
            return None;
        };
        if let Some((ends, datagram)) = datagram_of(&parsed, packet) {
            let origin = Origin { at: frame.at, frame: number.0 };
            self.quic.handle_datagram(origin, ends, datagram, (parsed.missing > 0, log), &mut |_| {});
        }
        let (index, observed) = self.capture.handle_parsed(frame.at, number, &parsed)?;
        let segment = parsed.segment()?;
        let flows = self.activities.len().max(index + 1);
        self.activities.resize_with(flows, Default::default);
        self.incidents.resize_with(flows, Default::default);
        let flow = &self.capture.flows()[index];
        let activities = &mut self.activities[index];
        let sender = observed.sender;
        activities[sender as usize].on_sent(frame.at, segment, &observed, flow.half(sender).flight());
        for side in [sender, sender.peer()] {
            activities[side as usize].on_packet(frame.at, flow, side, &observed);
        }
        self.incidents[index].on_packet(frame.at, number, flow, segment, &observed);
        Some(Seen { at: frame.at.saturating_since(began), number, flow, observed })
    }
}

/// A connection's name: opener and peer, after the name of the point if there are several.
fn name_of(flow: &Flow, point: Option<&str>) -> String {
    let [opener, answerer] = flow.ends();
    let ends = format!("{opener}-{answerer}");
    point.map_or_else(|| ends.clone(), |point| format!("{point}: {ends}"))
}

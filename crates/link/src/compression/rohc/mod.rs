//! Robust header compression (RFC 5795): TCP/IP (RFC 6846), RTP/UDP/IP and UDP/IP (RFC 3095 profiles 1 and 2).
//!
//! A header is sent as the least significant bits of its numbers (W-LSB, RFC 3095 §4.5.2): as few as distinguish the
//! number from every value that the decompressor may have. With a window of n values, n − 1 packets in a row may be
//! lost, and the next is restored all the same. A checksum over the header shows the decompressor that it restored a
//! wrong one. Then, and until all fields are sent again, packets are lost.
//!
//! - `fields.rs` reads the fields that change, and how long those are that are sent as they are.
//! - `formats.rs` has the formats of packets and their lengths.
//! - `context.rs` is a compressor's or decompressor's state of one connection.
//!
//! Departures, in docs/spec/link.md: the lengths are those of the formats, the bits are not written; a checksum
//! finds every error; feedback arrives after a fixed time, always, and takes no room on the link back; ACK numbers are
//! not scaled (`ack_stride` of RFC 6846 §8.2.4.2); lists of options are sent whole when their structure changes.

mod context;
mod fields;
mod formats;

use std::collections::VecDeque;

use registry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};

use super::{Codec, CompressionParameters, Encoded, Form, HeaderKind};
use crate::error::ConfigError;
use context::{Coding, Context};
use fields::Fields;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "rohc",
    "robust header compression of TCP, UDP and RTP: tolerates some losses in a row, then asks for a refresh",
    "RFC 5795, RFC 6846, RFC 3095",
)
.written("{ rohc = { mode = \"optimistic\" } }");

/// Parameters of both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// What the decompressor sends back.
    pub mode: Mode,
    /// Losses in a row after which the next packet is still restored: the window of W-LSB has one value more, and so
    /// often are full headers and changed fields sent. RFC 3095 §5.3.2.1.1 leaves it open. Default: 3.
    #[schemars(range(min = 0, max = 15))]
    pub robustness: u32,
    /// Packets from one full header to the next in unidirectional mode, which nothing else repairs. Default: 256
    /// (F_MAX_PERIOD of RFC 2507 §14; RFC 3095 §5.3.1.1.2 leaves it open).
    #[schemars(range(min = 2))]
    pub refresh: u32,
    /// Connections that both ends remember, 1 to 16; all but the first have a byte more in every packet, their number
    /// (small CIDs, RFC 5795 §5.1.3). Default: 16.
    #[schemars(range(min = 1, max = 16))]
    pub contexts: u32,
    /// Time from the decompressor to the compressor. Default: the mean propagation of this direction of the link; on
    /// a shared channel 50 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback_delay: Option<Duration>,
}

/// The mode of operation (RFC 3095 §4.4). RFC 6846 knows the first two by their feedback alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// U: nothing. Full headers are sent from time to time.
    Unidirectional,
    /// O: a NACK when it is out of step, and an ACK of full headers.
    #[default]
    Optimistic,
    /// R: also an ACK of each packet; the window has every value that is not acknowledged, so that no loss puts the
    /// decompressor out of step.
    Reliable,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { mode: Mode::default(), robustness: 3, refresh: 256, contexts: 16, feedback_delay: None }
    }
}

impl CompressionParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        let refuse = |key: &str, message: String, help: &str| Err(ConfigError::new(key, message, help));
        if self.robustness > 15 {
            let message =
                format!("four bits of a sequence number do not cover {} losses in a row", self.robustness);
            return refuse("robustness", message, "write 0 to 15");
        }
        if self.refresh < 2 {
            return refuse("refresh", "every packet would have full headers".to_owned(), "write 2 or more");
        }
        if self.mode != Mode::Unidirectional && self.refresh != Self::default().refresh {
            let message = "feedback asks for full headers in this mode".to_owned();
            return refuse("refresh", message, "leave it out, or write mode = \"unidirectional\"");
        }
        if !(1..=16).contains(&self.contexts) {
            let message = format!("{} connections do not have small CIDs", self.contexts);
            return refuse("contexts", message, "write 1 to 16");
        }
        if self.mode == Mode::Unidirectional && self.feedback_delay.is_some() {
            let message = "there is no feedback in this mode".to_owned();
            return refuse("feedback_delay", message, "leave it out, or write mode = \"optimistic\"");
        }
        Ok(())
    }

    fn codec(&self, back: Duration) -> Box<dyn Codec> {
        Box::new(Rohc {
            parameters: *self,
            back: self.feedback_delay.unwrap_or(back),
            senders: Vec::new(),
            receivers: vec![Receiver::default(); self.contexts as usize],
            feedback: VecDeque::new(),
            packets: 0,
            sent_back: Bytes::ZERO,
        })
    }
}

/// Headers between the ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sent {
    /// The number of the connection (CID).
    cid: usize,
    fields: Fields,
    coding: Coding,
}

#[derive(Debug)]
struct Rohc {
    parameters: Parameters,
    back: Duration,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    /// Feedback under way to the compressor, in order of time.
    feedback: VecDeque<(Instant, Feedback)>,
    packets: u64,
    sent_back: Bytes,
}

/// The compressor's state of a connection.
#[derive(Debug)]
struct Sender {
    context: Context,
    /// Headers with all fields, and with all that change, that are to be sent before compressed ones.
    full_left: u32,
    dynamic_left: u32,
    since_full: u32,
    /// The last of its packets.
    used: u64,
}

/// The decompressor's state of a connection.
#[derive(Clone, Debug, Default)]
struct Receiver {
    /// The last header that it restored.
    fields: Option<Fields>,
    /// Before this time it sends no second NACK: the first has not had an effect yet.
    quiet_until: Instant,
}

/// A message of the decompressor (RFC 3095 §5.2.1).
#[derive(Clone, Copy, Debug)]
enum Feedback {
    /// The header with this sequence number was restored.
    Ack { cid: usize, number: u32, was_full: bool },
    /// A header was not; the static part is known.
    Nack { cid: usize },
    /// Nothing is known of the connection.
    StaticNack { cid: usize },
}

impl Codec for Rohc {
    fn compress(&mut self, now: Instant, headers: &[u8]) -> Encoded {
        self.take_feedback(now);
        let Some(fields) = Fields::read(headers) else { return Encoded::plain(headers) };
        self.packets += 1;
        let cid = self.sender_of(&fields);
        let (packets, copies) = (self.packets, self.copies());
        let is_periodic = self.parameters.mode == Mode::Unidirectional;
        let refresh = self.parameters.refresh;
        let keeps = self.window();
        let sender = &mut self.senders[cid];
        sender.used = packets;
        sender.since_full += 1;
        if is_periodic && sender.since_full >= refresh {
            sender.full_left = sender.full_left.max(1);
        }
        let fields = sender.context.number(fields);
        let coding = sender.choose(&fields, copies);
        sender.context.push(fields.clone(), keeps);
        let length = coding.length(&fields) + u32::from(cid > 0);
        Encoded { kind: coding.kind(), length, form: Form::Rohc(Box::new(Sent { cid, fields, coding })) }
    }

    fn decompress(&mut self, now: Instant, encoded: &Encoded, _headers: &[u8]) -> bool {
        let Form::Rohc(sent) = &encoded.form else { return true };
        let receiver = &mut self.receivers[sent.cid];
        let known = receiver.fields.as_ref();
        let is_known = known.is_some_and(|known| known.is_same_connection(&sent.fields));
        let is_right = match &sent.coding {
            Coding::Full => true,
            Coding::Dynamic => is_known,
            Coding::Compressed(codes) => {
                is_known && known.is_some_and(|known| codes.restore(known, &sent.fields))
            }
        };
        if is_right {
            receiver.fields = Some(sent.fields.clone());
            self.acknowledge(now, sent);
        } else {
            self.complain(now, sent.cid, is_known);
        }
        is_right
    }

    fn feedback(&self) -> Bytes {
        self.sent_back
    }
}

impl Rohc {
    /// How often a header without compression, or a changed field, is sent (the optimistic approach).
    const fn copies(&self) -> u32 {
        self.parameters.robustness + 1
    }

    /// Values in the window of W-LSB.
    const fn window(&self) -> usize {
        match self.parameters.mode {
            Mode::Reliable => MOST_UNACKNOWLEDGED,
            Mode::Unidirectional | Mode::Optimistic => self.copies() as usize,
        }
    }

    /// The CID of a connection; of a new one, the CID of the connection used least recently.
    fn sender_of(&mut self, fields: &Fields) -> usize {
        let known = self.senders.iter().position(|sender| sender.context.is_of(fields));
        if let Some(known) = known {
            return known;
        }
        let copies = self.copies();
        let new = Sender {
            context: Context::new(fields),
            full_left: copies,
            dynamic_left: 0,
            since_full: 0,
            used: 0,
        };
        if self.senders.len() < self.parameters.contexts as usize {
            self.senders.push(new);
            return self.senders.len() - 1;
        }
        let oldest = self.senders.iter().enumerate().min_by_key(|(_, sender)| sender.used);
        let place = oldest.map_or(0, |(place, _)| place);
        self.senders[place] = new;
        place
    }

    fn take_feedback(&mut self, now: Instant) {
        let copies = self.copies();
        while self.feedback.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, feedback)) = self.feedback.pop_front() else { break };
            match feedback {
                Feedback::Ack { cid, number, was_full } => {
                    let Some(sender) = self.senders.get_mut(cid) else { continue };
                    if was_full {
                        sender.full_left = 0;
                    }
                    sender.context.acknowledge(number);
                }
                Feedback::Nack { cid } => {
                    self.senders.get_mut(cid).into_iter().for_each(|sender| sender.dynamic_left = copies);
                }
                Feedback::StaticNack { cid } => {
                    self.senders.get_mut(cid).into_iter().for_each(|sender| sender.full_left = copies);
                }
            }
        }
    }

    fn acknowledge(&mut self, now: Instant, sent: &Sent) {
        let was_full = sent.coding.kind() != HeaderKind::Compressed;
        let is_due = match self.parameters.mode {
            Mode::Unidirectional => false,
            Mode::Optimistic => was_full,
            Mode::Reliable => true,
        };
        if is_due {
            let (cid, number) = (sent.cid, sent.fields.number());
            self.send_back(now, Feedback::Ack { cid, number, was_full });
        }
    }

    fn complain(&mut self, now: Instant, cid: usize, is_known: bool) {
        if self.parameters.mode == Mode::Unidirectional || now < self.receivers[cid].quiet_until {
            return;
        }
        // Until the feedback is there, and an answer to it back.
        self.receivers[cid].quiet_until = now + self.back * 2;
        let feedback = if is_known { Feedback::Nack { cid } } else { Feedback::StaticNack { cid } };
        self.send_back(now, feedback);
    }

    fn send_back(&mut self, now: Instant, feedback: Feedback) {
        self.sent_back += match feedback {
            Feedback::Ack { .. } => FEEDBACK_1,
            Feedback::Nack { .. } | Feedback::StaticNack { .. } => FEEDBACK_2,
        };
        self.feedback.push_back((now + self.back, feedback));
    }
}

impl Sender {
    /// The form of the next header.
    fn choose(&mut self, fields: &Fields, copies: u32) -> Coding {
        if self.full_left > 0 {
            self.full_left -= 1;
            self.since_full = 0;
            return Coding::Full;
        }
        if self.dynamic_left > 0 {
            self.dynamic_left -= 1;
            return Coding::Dynamic;
        }
        let codes = self.context.compressed(fields);
        if codes.is_none() {
            // The others of the copies: the next headers may find a format, but the decompressor may have missed this.
            self.dynamic_left = copies - 1;
        }
        codes.map_or(Coding::Dynamic, Coding::Compressed)
    }
}

/// Values that reliable mode keeps until they are acknowledged; older ones are given up.
const MOST_UNACKNOWLEDGED: usize = 256;

/// FEEDBACK-1 and FEEDBACK-2 with their type octet (RFC 5795 §5.2.4.1).
const FEEDBACK_1: Bytes = Bytes(2);
const FEEDBACK_2: Bytes = Bytes(4);

//! Path MTU discovery by probing (RFC 4821), as Linux does it (`tcp_mtu_probe`, `tcp_mtu_probing`): a segment that is
//! larger than the others shows by its ACK that the path carries it. A path that drops large packets without a word, a
//! black hole, is found by timeouts.
//!
//! A size is the payload of a segment here. Linux searches among sizes of packets, which are longer by a constant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Seq, SeqRange};

/// When a sender probes for the path's MTU, and how; the defaults are Linux'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MtuProbing {
    /// When the search begins (`net.ipv4.tcp_mtu_probing`): after a black hole (1), or always (2).
    pub when: When,
    /// Payload of a segment with which a search begins, as every path carries it: 1024 bytes (`net.ipv4.tcp_base_mss`).
    pub base_mss: Bytes,
    /// The least to which timeouts lower the payload: 48 bytes (`net.ipv4.tcp_mtu_probe_floor`).
    pub floor: Bytes,
    /// A search ends when its bounds are closer than this: 8 bytes (`net.ipv4.tcp_probe_threshold`).
    pub threshold: Bytes,
    /// Time after which a search that has ended begins again: 600 s (`net.ipv4.tcp_probe_interval`).
    pub interval: Duration,
    /// Retransmissions without an answer that are a black hole: 3 (`net.ipv4.tcp_retries1`). Linux counts them by the
    /// time that they take with the shortest timer: 3 s since the first.
    #[schemars(range(max = 9))]
    pub retries: u32,
}

/// When the search for the path's MTU begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// After timeouts that suggest a black hole; until then segments have the size of the MTU that the host knows.
    #[default]
    BlackHole,
    /// With the connection: an end that opens it begins with `base_mss`.
    Always,
}

impl Default for MtuProbing {
    fn default() -> Self {
        Self {
            when: When::BlackHole,
            base_mss: Bytes(1024),
            floor: Bytes(48),
            threshold: Bytes(8),
            interval: Duration::from_secs(600),
            retries: 3,
        }
    }
}

impl MtuProbing {
    /// A key whose value makes no sense, and the values that do.
    pub(crate) const fn mistake(&self) -> Option<(&'static str, &'static str)> {
        match self {
            Self { floor: Bytes(0), .. } => Some(("floor", "1 byte or more")),
            Self { base_mss, floor, .. } if base_mss.0 < floor.0 => Some(("base_mss", "the floor or more")),
            Self { threshold: Bytes(0), .. } => Some(("threshold", "1 byte or more")),
            Self { retries: 10.., .. } => Some(("retries", "from 0 to 9")),
            _ => None,
        }
    }

    /// Time since the first timeout after which the path counts as a black hole (`tcp_model_timeout`).
    const fn patience(&self) -> Duration {
        Duration::from_millis(SHORTEST_TIMER_MS * ((2 << self.retries) - 1))
    }
}

/// State of the sender on which a probe depends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub now: Instant,
    /// Nothing is missing, and no loss is being repaired.
    pub undisturbed: bool,
    pub smss: Bytes,
    pub cwnd: Bytes,
    /// Data in the network.
    pub pipe: Bytes,
    /// Unsent data up to the end of their record.
    pub unsent: Bytes,
    /// The peer's window, and the part of it that is free.
    pub window: Bytes,
    pub room: Bytes,
    /// Segments after it that have to arrive to show its loss.
    pub dupthresh: u32,
}

/// Whether a probe leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// No: segments of the usual size do.
    No,
    /// As soon as windows permit; until then nothing leaves.
    Waits,
    /// Now, with this much data.
    Probes(Bytes),
}

/// The search of one connection. Names in brackets are those of Linux' `icsk_mtup`.
#[derive(Debug, Default)]
pub(super) struct MtuSearch {
    rule: Option<MtuProbing>,
    /// The search has begun (`enabled`).
    on: bool,
    /// We have opened the connection.
    opens: bool,
    /// The largest size that is known to arrive, or taken for that (`search_low`).
    low: Bytes,
    /// The largest size that may arrive (`search_high`).
    high: Bytes,
    /// The largest size that the peer takes in.
    peer: Bytes,
    /// The largest size that the host believes the path to carry.
    path: Bytes,
    /// The probe in flight (`probe_size`).
    probe: Option<SeqRange>,
    /// Time at which the search began (`probe_timestamp`).
    began: Instant,
    /// Time of the first of the present timeouts.
    timed_out: Option<Instant>,
}

impl MtuSearch {
    pub fn new(rule: Option<MtuProbing>) -> Self {
        Self { rule, ..Self::default() }
    }

    /// The peer's SYN has arrived: it takes in segments of `peer` bytes, and we send `agreed` at most.
    pub fn on_syn(&mut self, peer: Bytes, agreed: Bytes) {
        (self.peer, self.path) = (peer.max(agreed), agreed);
    }

    /// Options take `len` of each segment.
    pub fn make_room(&mut self, len: Bytes) {
        (self.peer, self.path) = (self.peer.saturating_sub(len), self.path.saturating_sub(len));
    }

    /// The handshake answers our own SYN.
    pub const fn on_opened(&mut self) {
        self.opens = true;
    }

    /// The connection begins; returns the size of its segments.
    pub fn begin(&mut self, now: Instant) -> Bytes {
        let Some(rule) = self.rule else { return self.path };
        self.on = rule.when == When::Always;
        (self.low, self.high, self.began) = (rule.base_mss, self.peer.min(self.path), now);
        // Linux fits the segments of an end that is opened to the search only once a probe has arrived.
        if self.opens { self.segment() } else { self.path }
    }

    /// Whether the search has begun.
    #[inline]
    pub const fn is_on(&self) -> bool {
        self.on
    }

    /// The size of segments now (`tcp_sync_mss`).
    pub fn segment(&self) -> Bytes {
        if self.on { self.path.min(self.low) } else { self.path }
    }

    /// Whether a probe leaves now (`tcp_mtu_probe`).
    pub fn judge(&mut self, moment: &Moment) -> Verdict {
        let Some(rule) = self.rule else { return Verdict::No };
        let enough = moment.cwnd >= moment.smss * LEAST_WINDOW;
        if !self.on || self.probe.is_some() || !moment.undisturbed || !enough {
            return Verdict::No;
        }
        let len = (self.low + self.high) / 2;
        if len > self.high || self.high.saturating_sub(self.low) < rule.threshold {
            self.begin_again(moment, rule);
            return Verdict::No;
        }
        let needed = len + moment.smss * (u64::from(moment.dupthresh) + 1);
        if moment.unsent < needed || moment.window < needed {
            Verdict::No
        } else if moment.room < needed {
            Verdict::Waits
        } else if moment.pipe + moment.smss * 2 > moment.cwnd {
            if moment.pipe.is_zero() { Verdict::No } else { Verdict::Waits }
        } else {
            Verdict::Probes(len)
        }
    }

    /// The path may have changed since the search ended (`tcp_mtu_check_reprobe`).
    fn begin_again(&mut self, moment: &Moment, rule: MtuProbing) {
        if moment.now.saturating_since(self.began) >= rule.interval {
            (self.low, self.high, self.began) = (moment.smss, self.peer.min(self.path), moment.now);
        }
    }

    /// A probe leaves.
    pub const fn on_sent(&mut self, probe: SeqRange) {
        self.probe = Some(probe);
    }

    /// Everything before `una` is acknowledged; returns whether the probe has arrived (`tcp_mtup_probe_success`).
    #[inline]
    pub fn on_acked(&mut self, una: Seq) -> bool {
        self.timed_out = None;
        let Some(probe) = self.probe.filter(|probe| probe.end.at_or_before(una)) else { return false };
        self.low = length(probe);
        self.probe = None;
        true
    }

    /// The probe, if it is the oldest segment in flight.
    pub fn oldest_probe(&self, una: Seq) -> Option<Bytes> {
        self.probe.filter(|probe| probe.start == una).map(length)
    }

    /// The probe alone is lost: the path does not carry it (`tcp_mtup_probe_failed`).
    pub fn on_lost(&mut self) {
        if let Some(probe) = self.probe.take() {
            self.high = length(probe) - Bytes(1);
        }
    }

    /// Something is sent again, and the probe proves nothing any more.
    pub const fn abandon(&mut self) {
        self.probe = None;
    }

    /// The timer has expired at the oldest segment; `again`: without an answer since the last time. Returns whether
    /// this is a black hole: the search begins, or its lower bound falls (`tcp_mtu_probing`).
    pub fn on_timeout(&mut self, now: Instant, again: bool) -> bool {
        let Some(rule) = self.rule else { return false };
        let Some(first) = self.timed_out.filter(|_| again) else {
            self.timed_out = Some(now);
            return false;
        };
        if now.saturating_since(first) < rule.patience() {
            return false;
        }
        if self.on {
            self.low = (self.low / 2).min(rule.base_mss).max(rule.floor);
        } else {
            (self.on, self.began) = (true, now);
        }
        true
    }

    /// The host learns that the path carries `size` and no more.
    pub fn on_path(&mut self, size: Bytes) {
        self.path = size.min(self.peer);
        self.high = self.path;
    }
}

fn length(range: SeqRange) -> Bytes {
    Bytes(u64::from(range.len()))
}

/// The least window, in segments, in which a probe takes part (`tcp_mtu_probe`).
const LEAST_WINDOW: u64 = 11;
/// `TCP_RTO_MIN`.
const SHORTEST_TIMER_MS: u64 = 200;

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: Moment = Moment {
        now: Instant::START,
        undisturbed: true,
        smss: Bytes(1024),
        cwnd: Bytes(1024 * 20),
        pipe: Bytes(0),
        unsent: Bytes(1 << 20),
        window: Bytes(1 << 20),
        room: Bytes(1 << 20),
        dupthresh: 3,
    };

    fn search(when: When) -> MtuSearch {
        let mut search = MtuSearch::new(Some(MtuProbing { when, ..MtuProbing::default() }));
        search.on_syn(Bytes(1448), Bytes(1448));
        search.on_opened();
        search.begin(Instant::START);
        search
    }

    /// Sends probes through a path that carries `most`; returns their sizes.
    fn probes(search: &mut MtuSearch, most: u64) -> Vec<u64> {
        let mut sizes = Vec::new();
        while let Verdict::Probes(len) = search.judge(&Moment { smss: search.segment(), ..MOMENT }) {
            let range = SeqRange::new(Seq(7), len.0 as u32);
            search.on_sent(range);
            assert_eq!(search.judge(&MOMENT), Verdict::No, "one at a time");
            if len.0 <= most {
                assert!(search.on_acked(range.end))
            } else {
                search.on_lost()
            }
            sizes.push(len.0);
        }
        sizes
    }

    #[test]
    fn the_search_ends_at_the_largest_size_that_arrives() {
        let mut search = search(When::Always);
        assert_eq!(search.segment(), Bytes(1024));
        assert_eq!(probes(&mut search, 1228), [1236, 1129, 1182, 1208, 1221, 1228]);
        assert_eq!(search.segment(), Bytes(1228));
        let later = Moment { now: Instant::START + Duration::from_secs(600), smss: Bytes(1228), ..MOMENT };
        assert_eq!(search.judge(&later), Verdict::No, "it begins again with this judgement");
        assert_eq!(probes(&mut search, 1448), [1338, 1393, 1420, 1434, 1441]);
    }

    #[test]
    fn a_probe_needs_windows_and_segments_that_show_its_loss() {
        let judged = |moment: Moment| search(When::Always).judge(&moment);
        assert_eq!(judged(MOMENT), Verdict::Probes(Bytes(1236)));
        assert_eq!(judged(Moment { undisturbed: false, ..MOMENT }), Verdict::No);
        assert_eq!(judged(Moment { cwnd: Bytes(1024 * 11 - 1), ..MOMENT }), Verdict::No);
        assert_eq!(judged(Moment { unsent: Bytes(1236 + 4 * 1024 - 1), ..MOMENT }), Verdict::No);
        assert_eq!(judged(Moment { room: Bytes(5000), ..MOMENT }), Verdict::Waits);
        assert_eq!(judged(Moment { pipe: Bytes(1024 * 19), ..MOMENT }), Verdict::Waits);
        assert_eq!(judged(Moment { window: Bytes(5000), ..MOMENT }), Verdict::No);
        assert_eq!(search(When::BlackHole).judge(&MOMENT), Verdict::No);
    }

    #[test]
    fn timeouts_find_a_black_hole_and_lower_the_size_down_to_the_floor() {
        let mut search = search(When::BlackHole);
        assert_eq!(search.segment(), Bytes(1448));
        let at = |ms: u64| Instant::START + Duration::from_millis(ms);
        assert!(!search.on_timeout(at(300), false) && !search.on_timeout(at(2900), true));
        assert_eq!(search.segment(), Bytes(1448));
        let sizes = (0..7).map(|number| {
            assert!(search.on_timeout(at(3300 + number), true));
            search.segment().0
        });
        assert_eq!(sizes.collect::<Vec<_>>(), [1024, 512, 256, 128, 64, 48, 48]);
        search.on_acked(Seq(1));
        assert!(!search.on_timeout(at(9000), false), "an answer begins a new count");
    }

    #[test]
    fn an_end_that_is_opened_begins_with_what_its_host_knows() {
        let mut search = MtuSearch::new(Some(MtuProbing { when: When::Always, ..MtuProbing::default() }));
        search.on_syn(Bytes(1460), Bytes(600));
        assert_eq!(search.begin(Instant::START), Bytes(600));
        search.on_path(Bytes(9000));
        assert_eq!(search.segment(), Bytes(1024), "the peer takes in 1460 bytes");
    }
}

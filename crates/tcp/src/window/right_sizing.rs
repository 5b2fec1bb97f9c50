//! The receive buffer that current Linux sizes automatically (dynamic right-sizing; Fisk and Feng 2001): the window is
//! twice the amount that the user has read in a round trip, so that it does not limit a sender in slow start.
//!
//! Two rules work together. The buffer grows with what is read (`tcp_rcv_space_adjust`, `tcp_rcvbuf_grow`); the window
//! that is offered opens towards the buffer by two segments for each that arrives (`tcp_grow_window`). What is offered
//! of a buffer is the share that data have in the memory of a packet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};

use super::{Arrived, Held, PacketBuffer, PacketMemory, Steps, Traits, Window};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters; the defaults are Linux'.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The buffer of a new connection: 128 KiB (`tcp_rmem[1]`). Half of it is offered until a packet has come.
    pub initial: Bytes,
    /// The most that it grows to: 6 MiB (`tcp_rmem[2]`; 32 MiB from Linux 6.16 on).
    pub greatest: Bytes,
    /// Memory that each packet takes (`truesize`), where the network's driver has blocks of one size. Default: as much
    /// as its size wants, as virtual devices allocate it; a full packet of Ethernet takes 2304 bytes.
    pub packet_memory: Option<Bytes>,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { initial: Bytes(128 << 10), greatest: Bytes(6 << 20), packet_memory: None }
    }
}

#[derive(Debug)]
struct RightSizing {
    parameters: Parameters,
    /// The memory of packets.
    packets: PacketMemory,
    /// The buffer (`sk_rcvbuf`), and of how many parts in 256 of it the window is (`scaling_ratio`).
    buffer: Bytes,
    ratio: u64,
    /// The segment size that this end announces (`advmss`), and the largest that has come (`rcv_mss`).
    mss: Bytes,
    largest: Bytes,
    /// The offered window (`rcv_ssthresh`), and its limit (`window_clamp`).
    offered: Bytes,
    clamp: Bytes,
    /// The round trip as the receiver knows it (`rcv_rtt_est`).
    rtt: Option<Duration>,
    /// The clock that was echoed last.
    echoed: Option<Instant>,
    /// Since when a window of data is awaited, and to where.
    awaited: Option<(Instant, Bytes)>,
    /// Maximum amount read in a round trip so far (`rcvq_space.space`).
    space: Bytes,
    /// When the present round trip began, and what was read then.
    round: (Instant, Bytes),
}

/// The most that a new connection offers, of however large a buffer: what the window field of a SYN can say, rounded up
/// to the scale of later ones (`tcp_select_initial_window`).
const GREATEST_FIRST_WINDOW: Bytes = Bytes(1 << 16);

impl RightSizing {
    fn new(parameters: Parameters) -> Self {
        let clamp = parameters.initial / 2;
        Self {
            packets: parameters.packet_memory.map_or(PacketMemory::BySize, PacketMemory::Constant),
            buffer: parameters.initial,
            ratio: 128,
            mss: Bytes::ZERO,
            largest: Bytes::ZERO,
            offered: clamp.min(GREATEST_FIRST_WINDOW),
            clamp,
            rtt: None,
            echoed: None,
            awaited: None,
            space: Bytes::ZERO,
            round: (Instant::START, Bytes::ZERO),
            parameters,
        }
    }

    const fn packet_buffer(&self) -> PacketBuffer {
        PacketBuffer { size: self.buffer, data_share: self.ratio }
    }

    /// `tcp_win_from_space` and its inverse.
    const fn window_of(&self, space: Bytes) -> Bytes {
        self.packet_buffer().window_of(space)
    }

    const fn space_for(&self, window: Bytes) -> Bytes {
        Bytes(window.0 * 256 / self.ratio)
    }

    /// The free part of the buffer, as a window (`tcp_space`).
    fn free(&self, memory: Bytes) -> Bytes {
        self.packet_buffer().free(memory)
    }

    /// The first segment, and each that is larger than those before, tells the share of data (`tcp_measure_rcv_mss`);
    /// until there is one of at least the size that any host takes, half of the buffer.
    fn measure_segment(&mut self, arrived: &Arrived) {
        if arrived.segment <= self.largest {
            return;
        }
        if self.largest.is_zero() {
            self.space = (arrived.segment * INITIAL_SEGMENTS).min(self.offered);
            self.round = (arrived.now, Bytes::ZERO);
        }
        self.largest = arrived.segment;
        if arrived.segment >= DEFAULT_SEGMENT {
            self.ratio = (arrived.len.0 * 256 / self.packets.of(arrived.len).0).clamp(1, 255);
            self.clamp = self.window_of(self.buffer);
            self.space = self.space.min(self.clamp);
            self.offered = self.offered.min(self.clamp);
        }
    }

    /// `tcp_rcv_rtt_measure_ts` and `tcp_rcv_rtt_measure`: an echoed clock counts once; without clocks a round trip is
    /// no longer than a window of data takes.
    fn measure_round_trip(&mut self, arrived: &Arrived) {
        if let Some(echoed) = arrived.echoed.filter(|echoed| self.echoed != Some(*echoed)) {
            self.echoed = Some(echoed);
            if arrived.len >= self.largest {
                self.enter((arrived.now - echoed).max(CLOCK_TICK), false);
            }
        }
        if self.awaited.is_some_and(|(_, to)| arrived.received < to) {
            return;
        }
        if let Some((since, _)) = self.awaited {
            self.enter((arrived.now - since).max(LEAST_SAMPLE), true);
        }
        self.awaited = Some((arrived.now, arrived.received + arrived.offered));
    }

    /// `tcp_rcv_rtt_update`.
    fn enter(&mut self, sample: Duration, by_window: bool) {
        self.rtt = Some(match self.rtt {
            Some(rtt) if sample >= rtt && by_window => rtt,
            Some(rtt) if sample >= rtt => (rtt * 7 + sample) / 8,
            _ => sample,
        });
    }

    /// `tcp_grow_window`; whether it has opened.
    fn open(&mut self, arrived: &Arrived) -> bool {
        let room = self.clamp.min(self.free(arrived.memory)).saturating_sub(self.offered);
        if room.is_zero() || arrived.len < WORTHWHILE || !self.deserves_more(arrived.len) {
            return false;
        }
        self.offered += room.min(self.largest.max(arrived.len) * 2);
        true
    }

    /// Whether the buffer would carry the window if all packets were like one of `len` bytes: where these waste memory,
    /// the window opens only to a part of the buffer (`__tcp_grow_window`).
    fn deserves_more(&self, len: Bytes) -> bool {
        let mut share = self.window_of(self.packets.of(len));
        let mut window = self.window_of(self.parameters.greatest);
        while share > len {
            (share, window) = (share / 2, window / 2);
            if self.offered > window {
                return false;
            }
        }
        true
    }

    /// The user has read (`tcp_rcv_space_adjust`).
    fn adjust(&mut self, arrived: &Arrived) {
        let (began, read) = self.round;
        if self.rtt.is_none_or(|rtt| arrived.now - began < rtt) {
            return;
        }
        let copied = arrived.received.saturating_sub(arrived.unread * 2).saturating_sub(read);
        if copied > self.space {
            let before = std::mem::replace(&mut self.space, copied);
            self.grow_buffer(before, arrived.behind_gap);
        }
        self.round = (arrived.now, arrived.received.saturating_sub(arrived.unread));
    }

    /// `tcp_rcvbuf_grow`: for twice what was read, for the growth of a slow start that is a round trip ahead of what
    /// the user has seen, and for what waits beyond a gap.
    fn grow_buffer(&mut self, before: Bytes, behind_gap: Bytes) {
        let twice = self.space * 2;
        let growth = self.space.saturating_sub(before);
        let ahead = Bytes(twice.0 * growth.0 / before.0.max(1) * 2);
        let buffer = self.space_for(twice + ahead + behind_gap).min(self.parameters.greatest);
        if buffer > self.buffer {
            self.buffer = buffer;
            self.clamp = self.window_of(buffer);
        }
    }
}

impl Window for RightSizing {
    /// `__tcp_select_window`: less than a sixteenth of the buffer or than a segment is not worth a window.
    fn room(&mut self, held: &Held) -> Bytes {
        let (free, whole) = (self.free(held.memory), self.window_of(self.buffer));
        if free < whole / 2 && (free < whole / 16 || free < self.largest) {
            return Bytes::ZERO;
        }
        self.offered.min(free)
    }

    fn greatest(&self) -> Bytes {
        self.parameters.greatest
    }

    /// `tcp_select_initial_window`: whole segments.
    fn on_syn(&mut self, mss: Bytes) -> Bytes {
        self.mss = mss;
        if self.clamp > mss {
            self.offered = (mss * self.clamp.whole(mss)).min(GREATEST_FIRST_WINDOW);
        }
        self.offered
    }

    fn buffer(&self) -> Option<PacketBuffer> {
        Some(self.packet_buffer())
    }

    fn resize(&mut self, size: Bytes) {
        (self.buffer, self.parameters.greatest) = (size, size);
    }

    /// `tcp_clamp_window`.
    fn on_overrun(&mut self, held: &Held) {
        self.buffer = self.buffer.max(held.memory.min(self.parameters.greatest));
        if held.memory > self.buffer {
            self.offered = self.offered.min(self.mss * 2);
        }
    }

    fn traits(&self) -> Traits {
        Traits { observes_data: true, packets: Some(self.packets), steps: Steps::Linux, ..Traits::default() }
    }

    fn on_data(&mut self, arrived: &Arrived) -> bool {
        self.measure_segment(arrived);
        self.measure_round_trip(arrived);
        if !arrived.behind_gap.is_zero() {
            self.grow_buffer(self.space, arrived.behind_gap);
        }
        // `tcp_data_queue_ofo`: without SACK it stays as it is, so that the ACK is a duplicate.
        let opened = !arrived.asks_for_duplicate && self.open(arrived);
        self.adjust(arrived);
        opened
    }
}

/// `TCP_INIT_CWND`: what a round trip brings at first.
const INITIAL_SEGMENTS: u64 = 10;
/// `TCP_MSS_DEFAULT`.
const DEFAULT_SEGMENT: Bytes = Bytes(536);
/// Smaller segments do not open the window (`tcp_event_data_recv`).
const WORTHWHILE: Bytes = Bytes(128);
/// A clock that is echoed within its tick shows no shorter round trip.
const CLOCK_TICK: Duration = Duration::from_millis(1);
/// Round trips considered zero (`tcp_rcv_rtt_measure`).
const LEAST_SAMPLE: Duration = Duration::from_micros(1);

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        let Parameters { initial, greatest, packet_memory } = *self;
        if initial < LEAST_BUFFER || initial > greatest {
            let wrong = format!("initial is {} bytes and greatest {}", initial.0, greatest.0);
            return Err(refusal(wrong, "initial at least \"4 KiB\", and greatest no smaller"));
        }
        if packet_memory.is_some_and(|memory| memory < LEAST_MEMORY) {
            return Err(refusal(
                "packet_memory is below 512 bytes",
                "\"2304 bytes\": a packet with its record",
            ));
        }
        Ok(())
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn Window> = Algorithm::checked(
    "right-sizing",
    "a receive buffer that follows what is read in a round trip, as today's Linux sizes it",
    "Fisk and Feng 2001; Linux net/ipv4/tcp_input.c (tcp_rcv_space_adjust, tcp_rcvbuf_grow, tcp_grow_window)",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(RightSizing::new(parameters.clone()))),
);

/// A record and the least block for it.
const LEAST_MEMORY: Bytes = Bytes(512);
/// `tcp_rmem[0]`.
const LEAST_BUFFER: Bytes = Bytes(4096);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// `segments` full segments that are read at once, in the `round`th round trip; the window after them.
    fn round(window: &mut RightSizing, round: u64, received: &mut Bytes, segments: u64) -> Bytes {
        for segment in 0..segments {
            *received += Bytes(1448);
            let now = Instant::START + RTT * (round + 1) + Duration::from_micros(segment);
            window.on_data(&Arrived {
                now,
                len: Bytes(1448),
                segment: Bytes(1448),
                received: *received,
                unread: Bytes::ZERO,
                memory: Bytes::ZERO,
                behind_gap: Bytes::ZERO,
                asks_for_duplicate: false,
                offered: window.offered,
                echoed: Some(now - RTT),
            });
        }
        window.room(&Held::default())
    }

    #[test]
    fn half_of_the_buffer_is_offered_until_a_segment_gives_the_share_of_data() {
        let mut window = RightSizing::new(Parameters::default());
        assert_eq!(window.offered, Bytes(64 << 10));
        // 1448 of 2304 bytes are 160 parts in 256, and 80 KiB of 128; two segments more are offered for each that came.
        assert_eq!(round(&mut window, 0, &mut Bytes(0), 1), Bytes((64 << 10) + 2896));
        assert_eq!(window.clamp, Bytes(80 << 10));
    }

    #[test]
    fn a_slow_start_finds_more_than_twice_what_it_brought() {
        let (mut window, mut received) = (RightSizing::new(Parameters::default()), Bytes(0));
        for (number, segments) in [10, 20, 40, 80, 160].into_iter().enumerate() {
            let offered = round(&mut window, number as u64, &mut received, segments);
            assert!(offered >= Bytes(1448) * segments, "round {number}: {offered:?}");
        }
        assert!(window.buffer > Bytes(128 << 10));
    }

    #[test]
    fn a_steady_rate_leaves_the_buffer_as_it_is() {
        let (mut window, mut received) = (RightSizing::new(Parameters::default()), Bytes(0));
        for number in 0..50 {
            round(&mut window, number, &mut received, 10);
        }
        assert_eq!(window.buffer, Bytes(128 << 10));
    }

    #[test]
    fn it_grows_to_the_greatest_and_no_further() {
        let (mut window, mut received) = (RightSizing::new(Parameters::default()), Bytes(0));
        for number in 0..20 {
            let full = window.offered.whole(Bytes(1448));
            round(&mut window, number, &mut received, full.min(10 << number));
        }
        assert_eq!(window.buffer, Bytes(6 << 20));
    }

    #[test]
    fn an_initial_buffer_above_the_greatest_is_refused() {
        assert!(ENTRY.choice(json!({ "initial": "8 MiB" })).is_err());
        assert!(ENTRY.choice(json!({ "packet_memory": "0 bytes" })).is_err());
    }
}

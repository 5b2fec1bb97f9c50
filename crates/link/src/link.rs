//! A link as its users see it: the calls, whichever way packets take inside.

use units::{Bytes, Instant, Streams};

use crate::config::Config;
use crate::counters::Counters;
use crate::event::{Observer, StopReason};
use crate::fast_path::FastPath;
use crate::packet::Packet;
use crate::pipeline::Pipeline;

/// One direction of a link.
///
/// Order of calls: [`handle_packet`](Self::handle_packet) when a packet arrives,
/// [`handle_timeout`](Self::handle_timeout) at the time of [`poll_timeout`](Self::poll_timeout), and after each of the
/// two [`poll_delivery`](Self::poll_delivery) until it returns none, then `poll_timeout` again. Time never runs back.
///
/// The link asks to be woken only when a packet may leave it, or, under flow control, when its queue may have room
/// again. It computes the events since then at the next call, with their own times, so that getters return the state as
/// of the last call.
#[derive(Debug)]
pub struct Link<P> {
    path: Path<P>,
}

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "most links take the fast path, and a box would cost each packet a look-up"
)]
enum Path<P> {
    Fast(FastPath<P>),
    Staged(Box<Pipeline<P>>),
    Exchanged(Box<Exchanged<P>>),
}

/// Calls the same method of whichever path there is.
macro_rules! on_path {
    ($link:expr, $path:ident => $call:expr) => {
        match $link {
            Path::Fast($path) => $call,
            Path::Staged($path) => $call,
            Path::Exchanged($path) => $call,
        }
    };
}

impl<P: Packet> Link<P> {
    /// A link of a configuration that [`Config::validate`] accepts. Its random processes draw from
    /// the streams `queue`, `available_rate`, `rate_change_interval`, `allocation`, `propagation`,
    /// `error`, `error_delay`, `arq`, `arq_round_trip`, `reordering`, `reordering_delay`, `duplicates`,
    /// `dropper`, `frames`, `frames_round_trip`, `spike_*`, `preemption_*`, `handover_*`, `cell.*` and
    /// `reset` below `streams`.
    ///
    /// # Panics
    /// May panic, now or later, on a configuration that `validate` refuses.
    #[must_use]
    pub fn new(config: &Config, streams: &Streams) -> Self {
        let staged = || Path::Staged(Box::new(Pipeline::new(config, streams)));
        Self { path: FastPath::of(config, streams).map_or_else(staged, Path::Fast) }
    }

    /// A packet arrives at the input queue.
    #[inline]
    pub fn handle_packet(&mut self, now: Instant, packet: P, observer: &mut impl Observer<P>) {
        on_path!(&mut self.path, path => path.handle_packet(now, packet, observer));
    }

    /// Time has reached `now`: at or after the time of [`poll_timeout`](Self::poll_timeout), though a call too early or
    /// too late does no harm.
    #[inline]
    pub fn handle_timeout(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        on_path!(&mut self.path, path => path.handle_timeout(now, observer));
    }

    /// A packet that has left the link.
    #[inline(always)]
    pub fn poll_delivery(&mut self) -> Option<P> {
        on_path!(&mut self.path, path => path.poll_delivery())
    }

    /// Whether [`poll_delivery`](Self::poll_delivery) has another packet to give.
    #[inline]
    #[must_use]
    pub fn has_delivery(&self) -> bool {
        on_path!(&self.path, path => path.has_delivery())
    }

    /// The packet that leaves the link `places` after the next one, if that is known, that is, on the fast path.
    #[inline(always)]
    #[must_use]
    pub fn upcoming(&self, places: usize) -> Option<&P> {
        match &self.path {
            Path::Fast(path) => path.upcoming(places),
            Path::Staged(_) | Path::Exchanged(_) => None,
        }
    }

    /// Time at which the link wants to be called next, if it holds anything.
    #[inline]
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let next = self.next_wake_up();
        (next < Instant::NEVER).then_some(next)
    }

    /// The same as a plain time: [`Instant::NEVER`] where the link holds nothing.
    #[inline]
    #[must_use]
    pub fn next_wake_up(&self) -> Instant {
        on_path!(&self.path, path => path.next_wake_up())
    }

    /// Whether the upstream neighbour may hand over a packet: false under flow control while the
    /// queue is at its limit. A packet handed over nevertheless is dropped as an overflow.
    #[inline]
    #[must_use]
    pub fn can_accept(&self) -> bool {
        on_path!(&self.path, path => path.can_accept())
    }

    /// Takes out the packets that wait in the input queue, in the order in which they would be transmitted. They count
    /// as arrived and not as dropped: a caller that replaces a link by another one hands them to that.
    pub fn take_waiting(&mut self, now: Instant, observer: &mut impl Observer<P>) -> Vec<P> {
        on_path!(&mut self.path, path => path.take_waiting(now, observer))
    }

    /// Replaces the link's parameters during the run. Packets that wait in the queue pass to the new queue in their
    /// order, and are dropped where it is shorter; packets in transmission or propagation arrive as before, and
    /// may be overtaken. The random processes of the new link begin with the first draws of `streams`.
    pub fn exchange(
        &mut self,
        now: Instant,
        (config, streams): (&Config, &Streams),
        observer: &mut impl Observer<P>,
    ) {
        let next = Self::new(config, streams);
        if let Path::Exchanged(path) = &mut self.path {
            return path.exchange(now, next, observer);
        }
        let present = std::mem::replace(self, Self::new(config, streams));
        let mut exchanged = Exchanged::new(present);
        exchanged.exchange(now, next, observer);
        self.path = Path::Exchanged(Box::new(exchanged));
    }

    /// Why the run must stop, if the queue overflowed where that is to stop it.
    #[inline]
    #[must_use]
    pub const fn stopped(&self) -> Option<&StopReason> {
        on_path!(&self.path, path => path.stopped())
    }

    /// Totals since the start.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        on_path!(&self.path, path => path.counters())
    }

    /// Length of the input queue: packets, and their bytes with framing.
    #[must_use]
    pub fn queue_len(&self) -> (usize, Bytes) {
        on_path!(&self.path, path => path.queue_len())
    }

    /// Number of packets inside the link, including packets that have left and are not yet polled.
    #[must_use]
    pub fn packets_inside(&self) -> usize {
        on_path!(&self.path, path => path.packets_inside())
    }
}

/// A link whose parameters were changed during the run: the present link, and former ones with their last packets.
#[derive(Debug)]
struct Exchanged<P> {
    present: Link<P>,
    /// Former links in which packets are being transmitted or propagate.
    former: Vec<Link<P>>,
    /// The counters of former links that are empty. Packets that passed from one link to the next are counted once.
    retired: Counters,
    /// The counters of all.
    counters: Counters,
}

impl<P: Packet> Exchanged<P> {
    fn new(present: Link<P>) -> Self {
        let counters = *present.counters();
        Self { present, former: Vec::new(), retired: Counters::default(), counters }
    }

    /// Replaces the present link by `next`, to which the packets in the queue pass in their order.
    fn exchange(&mut self, now: Instant, next: Link<P>, observer: &mut impl Observer<P>) {
        let waiting = self.present.take_waiting(now, observer);
        let former = std::mem::replace(&mut self.present, next);
        self.former.push(former);
        self.present.handle_timeout(now, observer);
        self.retired.packets_in = self.retired.packets_in.wrapping_sub(waiting.len() as u64);
        for packet in waiting {
            self.retired.bytes_in.0 = self.retired.bytes_in.0.wrapping_sub(packet.size().0);
            self.present.handle_packet(now, packet, observer);
        }
        self.count();
    }

    fn handle_packet(&mut self, now: Instant, packet: P, observer: &mut impl Observer<P>) {
        self.handle_former(now, observer);
        self.present.handle_packet(now, packet, observer);
        self.count();
    }

    fn handle_timeout(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        self.handle_former(now, observer);
        self.present.handle_timeout(now, observer);
        self.count();
    }

    fn handle_former(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        self.former.iter_mut().for_each(|link| link.handle_timeout(now, observer));
    }

    /// Returns the next packet that has left: of the former links first.
    fn poll_delivery(&mut self) -> Option<P> {
        let links = self.former.iter_mut().chain([&mut self.present]);
        let packet = links.filter_map(Link::poll_delivery).next();
        let (empty, busy) = std::mem::take(&mut self.former).into_iter().partition(Self::is_empty);
        self.former = busy;
        let empty: Vec<Link<P>> = empty;
        empty.iter().for_each(|link| self.retired.add(link.counters()));
        packet
    }

    fn is_empty(link: &Link<P>) -> bool {
        link.packets_inside() == 0
    }

    fn has_delivery(&self) -> bool {
        self.links().any(Link::has_delivery)
    }

    fn next_wake_up(&self) -> Instant {
        self.links().map(Link::next_wake_up).min().unwrap_or(Instant::NEVER)
    }

    fn can_accept(&self) -> bool {
        self.present.can_accept()
    }

    fn take_waiting(&mut self, now: Instant, observer: &mut impl Observer<P>) -> Vec<P> {
        self.handle_former(now, observer);
        self.present.take_waiting(now, observer)
    }

    const fn stopped(&self) -> Option<&StopReason> {
        self.present.stopped()
    }

    const fn counters(&self) -> &Counters {
        &self.counters
    }

    fn queue_len(&self) -> (usize, Bytes) {
        self.present.queue_len()
    }

    fn packets_inside(&self) -> usize {
        self.links().map(Link::packets_inside).sum()
    }

    fn links(&self) -> impl Iterator<Item = &Link<P>> {
        self.former.iter().chain([&self.present])
    }

    fn count(&mut self) {
        let mut total = self.retired;
        self.links().for_each(|link| total.add(link.counters()));
        self.counters = total;
    }
}

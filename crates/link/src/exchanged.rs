//! A link whose parameters were changed during the run: the present link, and former ones with their last packets.

use units::{Bytes, Instant};

use crate::counters::Counters;
use crate::event::{Observer, StopReason};
use crate::link::Link;
use crate::packet::Packet;

/// The present link, with the former ones.
#[derive(Debug)]
pub(crate) struct Exchanged<P> {
    present: Link<P>,
    /// Former links in which packets are being transmitted or propagate.
    former: Vec<Link<P>>,
    /// The counters of former links that are empty. Packets that passed from one link to the next are counted once.
    retired: Counters,
    /// The counters of all.
    counters: Counters,
}

impl<P: Packet> Exchanged<P> {
    pub(crate) fn new(present: Link<P>) -> Self {
        let counters = *present.counters();
        Self { present, former: Vec::new(), retired: Counters::default(), counters }
    }

    /// Replaces the present link by `next`, to which the packets in the queue pass in their order.
    pub(crate) fn exchange(&mut self, now: Instant, next: Link<P>, observer: &mut impl Observer<P>) {
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

    pub(crate) fn handle_packet(&mut self, now: Instant, packet: P, observer: &mut impl Observer<P>) {
        self.handle_former(now, observer);
        self.present.handle_packet(now, packet, observer);
        self.count();
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        self.handle_former(now, observer);
        self.present.handle_timeout(now, observer);
        self.count();
    }

    fn handle_former(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        self.former.iter_mut().for_each(|link| link.handle_timeout(now, observer));
    }

    /// Returns the next packet that has left: of the former links first.
    pub(crate) fn poll_delivery(&mut self) -> Option<P> {
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

    pub(crate) fn has_delivery(&self) -> bool {
        self.links().any(Link::has_delivery)
    }

    pub(crate) fn next_wake_up(&self) -> Instant {
        self.links().map(Link::next_wake_up).min().unwrap_or(Instant::NEVER)
    }

    pub(crate) fn can_accept(&self) -> bool {
        self.present.can_accept()
    }

    pub(crate) fn take_waiting(&mut self, now: Instant, observer: &mut impl Observer<P>) -> Vec<P> {
        self.handle_former(now, observer);
        self.present.take_waiting(now, observer)
    }

    pub(crate) const fn stopped(&self) -> Option<&StopReason> {
        self.present.stopped()
    }

    pub(crate) const fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn queue_len(&self) -> (usize, Bytes) {
        self.present.queue_len()
    }

    pub(crate) fn packets_inside(&self) -> usize {
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

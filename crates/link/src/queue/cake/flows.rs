//! The flows of a tin: their sub-queues, and their turns (DRR++: MacGregor and Shi 2000; Høiland-Jørgensen, Täht
//! and Morton 2018 §III.C).
//!
//! A hash with sets of eight: a flow whose place is taken gets a free one of its set, and shares one only if all eight
//! are busy.

use std::collections::VecDeque;

use units::Bytes;

use super::hosts::{HostLoads, Isolation, Pair};
use crate::queue::Keys;
use crate::queue::fq_codel::mixed;

/// Places of a set (Linux `CAKE_SET_WAYS`).
const WAYS: usize = 8;

/// Position of a flow in the round robin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Rotation {
    /// It has no packets.
    #[default]
    Idle,
    /// New or sparse flows, which are served first.
    Sparse,
    /// In the rotation for its deficit's sake, but empty: still a sparse one.
    SparseWait,
    /// In the rotation.
    Bulk,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// The key of the packets in it.
    tag: Option<u64>,
    rotation: Rotation,
    /// Bytes that it may still send in this round.
    deficit: i64,
    hosts: Pair,
}

#[derive(Debug)]
pub(super) struct Flows {
    isolation: Isolation,
    perturbation: u64,
    quantum: u64,
    flows: Vec<Flow>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    loads: HostLoads,
}

impl Flows {
    pub fn new(isolation: Isolation, number: u32, quantum: u64, perturbation: u64) -> Self {
        Self {
            isolation,
            perturbation,
            quantum,
            flows: vec![Flow::default(); number as usize],
            new: VecDeque::new(),
            old: VecDeque::new(),
            loads: HostLoads::new(isolation),
        }
    }

    pub fn is_active(&self) -> bool {
        !self.new.is_empty() || !self.old.is_empty()
    }

    /// The place of a packet's flow.
    pub fn classify(&mut self, keys: &Keys) -> usize {
        let key = self.isolation.key(keys);
        let wanted = (mixed(key ^ self.perturbation) % self.flows.len() as u64) as usize;
        let set = wanted - wanted % WAYS;
        let ways = (0..WAYS).map(|way| set + (wanted + way) % WAYS);
        let own = ways.clone().find(|place| self.flows[*place].tag == Some(key));
        let free = || ways.clone().find(|place| self.flows[*place].rotation == Rotation::Idle);
        let place = own.or_else(free).unwrap_or(wanted);
        self.flows[place].tag = Some(key);
        if self.flows[place].rotation == Rotation::Idle {
            self.flows[place].hosts = Pair { source: keys.source, destination: keys.destination };
        }
        place
    }

    fn turn(&self, flow: usize) -> i64 {
        let load = u64::from(self.loads.load(self.flows[flow].hosts));
        (self.quantum / load).max(1) as i64
    }

    /// A packet waits in this flow.
    pub fn on_queued(&mut self, flow: usize) {
        match self.flows[flow].rotation {
            Rotation::Idle => {
                self.flows[flow].rotation = Rotation::Sparse;
                self.flows[flow].deficit = self.turn(flow);
                self.new.push_back(flow);
            }
            Rotation::SparseWait => self.become_bulk(flow),
            Rotation::Sparse | Rotation::Bulk => {}
        }
    }

    fn become_bulk(&mut self, flow: usize) {
        self.flows[flow].rotation = Rotation::Bulk;
        self.loads.add(self.flows[flow].hosts);
    }

    /// The flow whose head leaves next; none if all are empty.
    pub fn next(&mut self, is_empty: impl Fn(usize) -> bool) -> Option<usize> {
        loop {
            let list = if self.new.is_empty() { &mut self.old } else { &mut self.new };
            let flow = *list.front()?;
            if self.flows[flow].deficit <= 0 {
                list.pop_front();
                self.old.push_back(flow);
                self.end_turn(flow, is_empty(flow));
            } else if is_empty(flow) {
                list.pop_front();
                self.leave(flow);
            } else {
                return Some(flow);
            }
        }
    }

    /// A flow has used its turn up: it is no sparse one, unless it is empty, and waits for the next.
    fn end_turn(&mut self, flow: usize, is_empty: bool) {
        if self.flows[flow].rotation == Rotation::Sparse {
            if is_empty {
                self.flows[flow].rotation = Rotation::SparseWait;
            } else {
                self.become_bulk(flow);
            }
        }
        self.flows[flow].deficit += self.turn(flow);
    }

    fn leave(&mut self, flow: usize) {
        if self.flows[flow].rotation == Rotation::Bulk {
            self.loads.remove(self.flows[flow].hosts);
        }
        self.flows[flow].rotation = Rotation::Idle;
    }

    /// A packet of this size has left this flow.
    pub fn on_served(&mut self, flow: usize, size: Bytes) {
        self.flows[flow].deficit -= size.0 as i64;
    }
}

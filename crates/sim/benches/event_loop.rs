//! The least that a simulation of TCP costs: one event queue, a link that is a sum, and a TCP of a few lines.
//!
//! Each packet is one entry of a binary heap, so a segment and its ACK are two events. The TCP has slow start,
//! congestion avoidance and a smoothed round-trip time, and halves its window when the queue overflows; it repairs
//! nothing and checks nothing. `make bench` compares whole simulations with it (`sim_event_loop_share`).
//!
//! `cargo bench -p lasthop-sim --bench event_loop -- one|fifty [SECONDS]` runs once and prints how many segments were
//! delivered; without arguments it prints the medians as figures.

mod figures;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use figures::{RUNS, cpu_seconds, median, print};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let seconds = arguments.get(1).map_or(200, |text| text.parse().expect("seconds"));
    match arguments.first().map(String::as_str) {
        Some("fifty") => println!("{}", Simulation::new(50).run(seconds)),
        Some(_) => println!("{}", Simulation::new(1).run(seconds)),
        None => [("one", 1), ("fifty", 50)].into_iter().for_each(|(name, flows)| {
            let speed = median((0..RUNS).map(|_| segments_per_cpu_second(flows)));
            print(&format!("event_loop_{name}_segments_per_cpu_s"), speed, "segments/CPU s");
        }),
    }
}

fn segments_per_cpu_second(flows: usize) -> f64 {
    let before = cpu_seconds();
    let delivered = Simulation::new(flows).run(200);
    delivered as f64 / (cpu_seconds() - before)
}

/// Transmission of a packet of 1040 bytes at 100 Mbit/s, in nanoseconds.
const TRANSMISSION: u64 = 83_200;
/// One-way delay, in nanoseconds.
const PROPAGATION: u64 = 25_000_000;
/// Waiting time of a packet that finds the queue full.
const LONGEST_WAIT: u64 = 601 * TRANSMISSION;

/// A packet: a segment or an ACK.
#[derive(Clone, Copy)]
struct Packet {
    flow: u32,
    /// Number of the segment, or the next number that the receiver expects.
    number: u64,
    is_ack: bool,
}

/// A flow's sender and receiver. Windows and numbers count segments.
struct Flow {
    una: u64,
    next: u64,
    cwnd: f64,
    ssthresh: f64,
    expected: u64,
    srtt: f64,
    sent_at: VecDeque<u64>,
}

struct Simulation {
    /// Arrivals: time, counter, and place in `packets`.
    events: BinaryHeap<Reverse<(u64, u64, u32)>>,
    packets: Vec<Packet>,
    free: Vec<u32>,
    counter: u64,
    flows: Vec<Flow>,
    /// Time at which the link has sent all that waits for it.
    busy_until: u64,
}

impl Simulation {
    fn new(flows: usize) -> Self {
        Self {
            events: BinaryHeap::new(),
            packets: Vec::new(),
            free: Vec::new(),
            counter: 0,
            flows: (0..flows).map(|_| Flow::new()).collect(),
            busy_until: 0,
        }
    }

    /// Runs for a number of seconds of simulated time; returns the number of segments delivered.
    fn run(mut self, seconds: u64) -> u64 {
        (0..self.flows.len()).for_each(|flow| self.send(0, flow));
        while let Some(Reverse((now, _, place))) = self.events.pop() {
            if now > seconds * 1_000_000_000 {
                break;
            }
            let packet = self.packets[place as usize];
            self.free.push(place);
            self.arrive(now, packet);
        }
        self.flows.iter().map(|flow| flow.expected).sum()
    }

    fn arrive(&mut self, now: u64, packet: Packet) {
        let flow = &mut self.flows[packet.flow as usize];
        if packet.is_ack {
            flow.handle_ack(now, packet.number);
            return self.send(now, packet.flow as usize);
        }
        flow.expected += u64::from(packet.number == flow.expected);
        let ack = Packet { number: flow.expected, is_ack: true, ..packet };
        self.schedule(now + PROPAGATION, ack);
    }

    /// Sends what the window allows.
    fn send(&mut self, now: u64, index: usize) {
        let flow = &mut self.flows[index];
        let end = flow.una + flow.cwnd as u64;
        while self.flows[index].next < end {
            let start = self.busy_until.max(now);
            if start - now > LONGEST_WAIT {
                return self.flows[index].halve();
            }
            let number = self.flows[index].send(now);
            self.busy_until = start + TRANSMISSION;
            self.schedule(
                self.busy_until + PROPAGATION,
                Packet { flow: index as u32, number, is_ack: false },
            );
        }
    }

    fn schedule(&mut self, at: u64, packet: Packet) {
        self.counter += 1;
        let place = match self.free.pop() {
            Some(place) => {
                self.packets[place as usize] = packet;
                place
            }
            None => {
                self.packets.push(packet);
                self.packets.len() as u32 - 1
            }
        };
        self.events.push(Reverse((at, self.counter, place)));
    }
}

impl Flow {
    const fn new() -> Self {
        Self {
            una: 0,
            next: 0,
            cwnd: 2.0,
            ssthresh: f64::MAX,
            expected: 0,
            srtt: 0.0,
            sent_at: VecDeque::new(),
        }
    }

    fn send(&mut self, now: u64) -> u64 {
        self.sent_at.push_back(now);
        self.next += 1;
        self.next - 1
    }

    fn handle_ack(&mut self, now: u64, number: u64) {
        let acked = number.saturating_sub(self.una);
        if acked == 0 {
            return;
        }
        self.una = number;
        let sent_at =
            self.sent_at.drain(..acked as usize).next_back().expect("what is acknowledged was sent");
        self.srtt += ((now - sent_at) as f64 - self.srtt) / 8.0;
        self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
    }

    fn halve(&mut self) {
        self.cwnd = (self.cwnd / 2.0).max(2.0);
        self.ssthresh = self.cwnd;
    }
}

//! Live runs over a plain wire, where the machine allows them.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};

use units::{Bytes, Rate};

use super::*;
use crate::bulk::{Amount, End, Receiver, Sender};
use crate::command::CommandLine;
use crate::doctor::obstacles;
use crate::socket::SocketOptions;

/// A rate and a delay each way, without limits.
struct Wire {
    rate: Rate,
    delay: Duration,
    ways: [VecDeque<(Instant, Vec<u8>)>; 2],
    free: [Instant; 2],
    now: Instant,
}

impl Wire {
    fn new(mbits: u64, delay: Duration) -> Self {
        let rate = Rate::from_bits_per_sec(mbits * 1_000_000);
        Self { rate, delay, ways: Default::default(), free: [Instant::START; 2], now: Instant::START }
    }
}

impl Network for Wire {
    fn handle_packet(&mut self, now: Instant, host: usize, packet: &[u8]) {
        self.free[host] = self.free[host].max(now) + self.rate.time_for(Bytes(packet.len() as u64));
        self.ways[host].push_back((self.free[host] + self.delay, packet.to_vec()));
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
    }

    fn poll_delivery(&mut self) -> Option<(usize, Vec<u8>)> {
        let way = self.ways.iter().position(|way| way.front().is_some_and(|(at, _)| *at <= self.now))?;
        self.ways[way].pop_front().map(|(_, packet)| (1 - way, packet))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.ways.iter().filter_map(|way| way.front()).map(|(at, _)| *at).min()
    }
}

/// Counts packets and remembers when the last one passed.
#[derive(Default)]
struct Count {
    sent: [u64; 2],
    received: [u64; 2],
}

impl Tap for Count {
    fn sent(&mut self, _: Instant, host: usize, _: &[u8]) {
        self.sent[host] += 1;
    }

    fn received(&mut self, _: Instant, host: usize, _: &[u8]) {
        self.received[host] += 1;
    }
}

const LEFT: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
const RIGHT: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
const PORT: u16 = 5001;

fn plan(name: &str, address: Ipv4Addr) -> Plan {
    let sysctls = Sysctls::new();
    Plan { name: name.into(), address, mtu: 1500, sysctls, senders: vec![], receivers: vec![], command: None }
}

fn reno() -> SocketOptions {
    SocketOptions { congestion: Some("reno".into()), ..SocketOptions::default() }
}

fn bulk(amount: Amount) -> Vec<Plan> {
    let (mut left, mut right) = (plan("left", LEFT), plan("right", RIGHT));
    left.senders.push(Sender {
        flow: "f".into(),
        local: SocketAddrV4::new(LEFT, 5000),
        remote: SocketAddrV4::new(RIGHT, PORT),
        start: Instant::START,
        amount,
        options: reno(),
    });
    right.receivers.push(Receiver {
        flow: "f".into(),
        local: SocketAddrV4::new(RIGHT, PORT),
        options: reno(),
    });
    vec![left, right]
}

fn possible_here() -> bool {
    let missing = obstacles(&["reno"], &Sysctls::new());
    missing.iter().for_each(|check| eprintln!("NOT TESTED: live runs are not possible here: {check}"));
    missing.is_empty()
}

#[test]
fn a_bulk_transfer_crosses_between_two_kernels_unharmed() {
    if !possible_here() {
        return;
    }
    let wire = Wire::new(10, Duration::from_millis(25));
    let session = run(bulk(Amount::Bytes(1_000_000)), wire, Count::default(), Instant::NEVER).unwrap();
    let [mut sent, mut received] = [0, 0];
    for report in &session.reports {
        match report {
            Report::Sent(one) => {
                assert_eq!(one.end, End::Closed);
                sent = one.bytes;
            }
            Report::Received(one) => received = one.bytes,
            Report::Ended(_) => unreachable!("no program was run"),
        }
    }
    assert_eq!((sent, received), (1_000_000, 1_000_000));
    assert_eq!(session.tap.sent[0], session.tap.received[1]);
    assert!(session.tap.sent[0] >= 1_000_000 / 1448 && session.lateness.releases > 700);
    eprintln!("{:?} {:?} ended {}", session.lateness, session.scheduling, session.ended);
}

#[test]
fn a_program_finds_the_other_host() {
    if !possible_here() {
        return;
    }
    let mut plans = vec![plan("left", LEFT), plan("right", RIGHT)];
    let script = "test $(cat /proc/thread-self/net/dev | grep -c hop0) = 1 && exit 3";
    plans[0].command = Some(CommandLine {
        program: "sh".into(),
        arguments: vec!["-c".into(), script.into()],
        environment: vec![],
    });
    let session = run(plans, Wire::new(10, Duration::ZERO), Count::default(), Instant::NEVER).unwrap();
    let [Report::Ended(ended)] = session.reports.as_slice() else { panic!("{:?}", session.reports) };
    assert_eq!(ended.status.code(), Some(3));
}

#[test]
fn the_end_of_the_run_stops_a_transfer_that_is_under_way() {
    if !possible_here() {
        return;
    }
    let wire = Wire::new(1, Duration::from_millis(5));
    let end = Instant::from_nanos(300_000_000);
    let session = run(bulk(Amount::Bytes(1 << 40)), wire, Count::default(), end).unwrap();
    let ends: Vec<_> = session
        .reports
        .iter()
        .filter_map(|report| match report {
            Report::Sent(sent) => Some(sent.end.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [End::Stopped]);
}

#[test]
fn a_setting_that_the_kernel_refuses_is_said_with_its_name() {
    if !possible_here() {
        return;
    }
    let mut plans = vec![plan("left", LEFT), plan("right", RIGHT)];
    plans[1].sysctls.insert("net.ipv4.tcp_sack".into(), "purple".into());
    let error =
        run(plans, Wire::new(1, Duration::ZERO), Count::default(), Instant::NEVER).map(drop).unwrap_err();
    assert!(error.to_string().contains("host right: the kernel refused net.ipv4.tcp_sack"), "{error}");
}

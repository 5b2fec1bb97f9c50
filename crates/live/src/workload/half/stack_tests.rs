//! Both halves of programs over stacks in this process, in virtual time, over a link of 8 Mbit/s and 5 ms. Messages
//! between the halves take less, or more.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use serde_json::json;
use sim::{NodeKind, NodeSpec, RecordSpec, Spec};
use stacks::{Host, StackId};
use units::Duration;

use super::*;
use crate::workload::half_ran::join;
use crate::workload::half_tests::workloads;
use crate::workload::message_bus::MessageBus;
use crate::workload::tests::spec;

/// One side: a host, its half, and the way of its messages.
struct UserspaceHost {
    host: Host,
    halves: StackHalves,
    bus: Arc<MessageBus>,
    messages: Receiver<Envelope>,
    /// When its last packet has left.
    sent: Instant,
}

/// What is on its way to a side, and when it comes.
enum OnItsWay {
    Packet(Vec<u8>),
    Message(Envelope),
}

fn stations(stack: StackId, workload: serde_json::Value) -> (HalfSpec, Vec<UserspaceHost>) {
    let addresses = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
    let node = |(name, address): (&str, Ipv4Addr)| NodeSpec {
        name: name.to_owned(),
        kind: NodeKind::Host { address },
    };
    let mut workload = spec(workload, Duration::from_millis(500));
    let flows = [workload.flow.clone()];
    let world = Spec {
        name: "two".to_owned(),
        seed: workload.seed,
        stop: None,
        nodes: ["here", "there"].into_iter().zip(addresses).map(node).collect(),
        links: Vec::new(),
        cells: Vec::new(),
        flows: flows.to_vec(),
        record: RecordSpec::default(),
    };
    workload.ends = stacks::ends(&world, &flows[0], 0);
    let hosts = stacks::hosts(&world, &flows, &BTreeMap::from([(0, stack), (1, stack)]));
    let half = HalfSpec { workload, index: 0, flows: 1, side: Side::From };
    let station = |((_, mut host), side): ((usize, Host), Side)| {
        let specs = vec![HalfSpec { side, ..half.clone() }];
        let bus = Arc::new(MessageBus::new(specs.iter()).expect("descriptors are left"));
        let (write, messages) = channel();
        bus.set_remote(move |message| drop(write.send(message)));
        let halves = StackHalves::new(specs, &mut host, &bus).expect("it has an inbox");
        UserspaceHost { host, halves, bus, messages, sent: Instant::START }
    };
    let stations = hosts.into_iter().zip([Side::From, Side::To]).map(station).collect();
    (half, stations)
}

/// Runs both halves to their end. Returns them as they ended: `from`'s, then `to`'s.
fn ran(stations: &mut Vec<UserspaceHost>, late: Duration) -> Vec<HalfRan> {
    let mut under_way: BTreeMap<(Instant, u64), (usize, OnItsWay)> = BTreeMap::new();
    let (mut now, mut ended, mut number) = (Instant::START, Instant::START, 0);
    while !stations.iter().all(|one| one.halves.is_done()) {
        let halves = || stations.iter().map(|one| &one.halves).collect::<Vec<_>>();
        assert!(now < Instant::START + Duration::from_secs(30), "they do not end: {:?}", halves());
        ended = now;
        while let Some(((_, _), (to, what))) =
            under_way.first_entry().filter(|entry| entry.key().0 <= now).map(|entry| entry.remove_entry())
        {
            match what {
                OnItsWay::Packet(packet) => stations[to].host.handle_packet(now, &packet),
                OnItsWay::Message(message) => stations[to].bus.deliver(message),
            }
        }
        for (place, one) in stations.iter_mut().enumerate() {
            if one.host.poll_timeout(now).is_some_and(|due| due <= now) {
                one.host.handle_timeout(now);
            }
            let mut send = |at, what| {
                number += 1;
                under_way.insert((at, number), (1 - place, what));
            };
            loop {
                let did = one.halves.advance(now, &mut one.host);
                let packets = std::iter::from_fn(|| one.host.poll_transmit(now));
                for packet in packets {
                    let sent = one.sent.max(now) + BYTE * packet.len() as u64;
                    one.sent = sent;
                    send(sent + LINK, OnItsWay::Packet(packet));
                }
                one.messages.try_iter().for_each(|message| send(now + late, OnItsWay::Message(message)));
                if !did {
                    break;
                }
            }
        }
        let due = |one: &mut UserspaceHost| {
            one.host.poll_timeout(now).into_iter().chain(one.halves.poll_timeout()).min()
        };
        let due = stations.iter_mut().filter_map(due).chain(under_way.keys().next().map(|key| key.0)).min();
        now = due.unwrap_or(Instant::NEVER).max(now + Duration::from_nanos(1));
    }
    assert!(stations.iter().all(|one| one.host.failure().is_none()), "a byte is wrong");
    stations.drain(..).flat_map(|mut one| one.halves.finish(ended, &mut one.host)).collect()
}

#[test]
fn halves_over_stacks_do_the_same_however_late_they_hear_of_each_other() {
    for stack in [StackId::LASTHOP, StackId::named("smoltcp").unwrap(), StackId::named("quinn").unwrap()] {
        for (id, parameters) in workloads() {
            for late in [1, 40] {
                let (half, mut stations) = stations(stack, json!({ id: parameters }));
                let [mut from, mut to] = ran(&mut stations, Duration::from_millis(late)).try_into().unwrap();
                let what = format!("{id} over {stack:?}, {late} ms late");
                [&mut from, &mut to].into_iter().for_each(|half| half.transfers.sort_unstable());
                assert!(from.is_done && to.is_done && from.broken.is_none(), "{what}: {from:?}");
                assert_eq!(from.opened, to.opened, "{what}");
                if id != "tfrc" {
                    assert_eq!(from.transfers, to.transfers, "{what}: the copies differ");
                }
                let slowest = from.transfers.iter().map(|(start, end, _)| end - start).max().unwrap_or(0);
                assert!(slowest < SLOW.as_nanos(), "{what}: nothing waits for a timeout: {slowest} ns");
                let count = from.transfers.len() + from.sent.len();
                assert!(count > 2, "{what}: {from:?}");
                let workload = &half.workload;
                let joined = join(&workload.flow, workload.seed, workload.ends, from, to);
                assert!(joined.is_done && joined.all_closed, "{what}: {joined:?}");
            }
        }
    }
}

/// What a packet takes, and each of its bytes before.
const LINK: Duration = Duration::from_millis(5);
const BYTE: Duration = Duration::from_micros(1);
/// Less than the first timeout of a connection (RFC 6298 §2.1, RFC 9002 §6.2.2), and more than a transfer here takes.
const SLOW: Duration = Duration::from_millis(600);

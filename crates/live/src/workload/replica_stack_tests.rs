//! Both copies of programs over stacks in this process, in virtual time, over a link of 8 Mbit/s and 5 ms. The delay of
//! messages between the copies is less than the link's, or more.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use serde_json::json;
use sim::{NodeKind, NodeSpec, RecordSpec, Spec};
use stacks::{Host, StackId};
use units::Instant;

use super::replica_tests::{check_workloads, copies, least, opened, transfers, workloads};
use super::tests::spec;
use super::*;

/// One side: a host, its copy of the program, and the path of its messages.
struct Station {
    host: Host,
    replicas: StackReplicas,
    bus: Arc<MessageBus>,
    messages: Receiver<Envelope>,
    /// Time at which its last packet has left.
    sent: Instant,
}

/// Something on its way to a side.
enum OnItsWay {
    Packet(Vec<u8>),
    Message(Envelope),
}

fn stations(stack: StackId, workload: serde_json::Value) -> Vec<Station> {
    let addresses = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
    let node = |(name, address): (&str, Ipv4Addr)| NodeSpec {
        name: name.to_owned(),
        kind: NodeKind::Host { address },
    };
    let mut program = spec(workload, Duration::from_millis(500));
    let flows = [program.flow.clone()];
    let world = Spec {
        name: "two".to_owned(),
        seed: program.seed,
        stop: None,
        nodes: ["here", "there"].into_iter().zip(addresses).map(node).collect(),
        links: Vec::new(),
        cells: Vec::new(),
        proxies: Vec::new(),
        flows: flows.to_vec(),
        record: RecordSpec::default(),
    };
    program.setup.ends = stacks::ends(&world, &flows[0], program.setup.flow);
    let nodes = program.setup.nodes.into_array();
    let hosts = stacks::hosts(&world, &flows, &nodes.map(|node| (node, stack)).into());
    let station = |((_, mut host), copy): ((NodeId, Host), ProgramSpec)| {
        let bus = Arc::new(MessageBus::new(std::iter::once(&copy)).expect("descriptors are left"));
        let (write, messages) = channel();
        bus.set_remote(move |message| drop(write.send(message)));
        let replicas = StackReplicas::new(&[copy], &mut host, &bus).expect("it has an inbox");
        Station { host, replicas, bus, messages, sent: Instant::START }
    };
    hosts.into_iter().zip(copies(&program, 1).into_array()).map(station).collect()
}

/// Runs both copies to their end. Returns their outcomes: that of `from`, then that of `to`.
fn ran(stations: &mut Vec<Station>, late: Duration) -> Vec<ProgramOutcome> {
    let mut under_way: BTreeMap<(Instant, u64), (usize, OnItsWay)> = BTreeMap::new();
    let (mut now, mut ended, mut number) = (Instant::START, Instant::START, 0);
    while !stations.iter().all(|one| one.replicas.is_done()) {
        let replicas = || stations.iter().map(|one| &one.replicas).collect::<Vec<_>>();
        assert!(now < Instant::START + Duration::from_secs(30), "they do not end: {:?}", replicas());
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
                let did = one.replicas.advance(now, &mut one.host);
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
        let due = |one: &mut Station| {
            one.host.poll_timeout(now).into_iter().chain(one.replicas.poll_timeout()).min()
        };
        let due = stations.iter_mut().filter_map(due).chain(under_way.keys().next().map(|key| key.0)).min();
        now = due.unwrap_or(Instant::NEVER).max(now + Duration::from_nanos(1));
    }
    assert!(stations.iter().all(|one| one.host.failure().is_none()), "a byte is wrong");
    let reports = stations.drain(..).flat_map(|mut one| one.replicas.finish(ended, &mut one.host));
    reports.filter_map(|report| report.outcome).collect()
}

#[test]
fn copies_over_stacks_do_the_same_however_late_their_messages_are() {
    check_workloads(&workloads());
    for stack in [StackId::LASTHOP, StackId::named("smoltcp").unwrap(), StackId::named("quinn").unwrap()] {
        for (id, parameters) in workloads() {
            for late in [1, 40] {
                let mut stations = stations(stack, json!({ id: parameters }));
                let [from, to] = ran(&mut stations, Duration::from_millis(late)).try_into().unwrap();
                let what = format!("{id} over {stack:?}, {late} ms late");
                assert!(from.is_done && to.is_done && from.broken.is_none(), "{what}: {from:?}");
                assert_eq!(opened(&from), opened(&to), "{what}");
                let transferred = transfers(&from);
                if id != "tfrc" {
                    assert_eq!(transferred, transfers(&to), "{what}: the copies differ");
                }
                let times = transferred.iter().map(|transfer| transfer.end - transfer.start);
                let slowest = times.max().unwrap_or(Duration::ZERO);
                assert!(slowest < SLOW, "{what}: nothing waits for a timeout: {slowest}");
                let count = transferred.len() + from.log.sent().len();
                assert!(count as u64 >= least(id), "{what}: {from:?}");
                let joined = ProgramOutcome::join(from, to);
                assert!(joined.is_done && joined.all_closed, "{what}: {joined:?}");
            }
        }
    }
}

/// The delay of the link, and the time that it takes to send a byte.
const LINK: Duration = Duration::from_millis(5);
const BYTE: Duration = Duration::from_micros(1);
/// Less than the first timeout of a connection (RFC 6298 §2.1, RFC 9002 §6.2.2), and more than a transfer here takes.
const SLOW: Duration = Duration::from_millis(600);

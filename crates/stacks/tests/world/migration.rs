//! Hosts that change their address: connections of QUIC that continue over another path.

use std::net::Ipv4Addr;

use lasthop_stacks::{Assignment, Migration, QuinnSettings, Refusal, Run, StackId};
use serde_json::json;
use sim::{Outcome, Spec};
use units::{Duration, Instant, LinkId, NodeId};

use crate::quic_user::{link, numbers, quinn, spec, texts};
use crate::support::outcome;

/// A download over a first link, which fails after 2 s for the rest of the run, and a second link.
fn two_links() -> Spec {
    let parallel = json!({ "count": 1, "size": "3 MB", "over": "http3" });
    let gone = json!({ "outages": { "every": "1000 s", "length": "999 s", "phase": "2 s" } });
    let mut spec = spec(json!({ "parallel": parallel }), &gone);
    spec.links[0].up = spec.links[0].down.clone();
    spec.links.push(link("other", &json!({ "propagation": "60 ms" })));
    spec
}

/// quinn for both hosts; the phone migrates after 2.5 s.
fn moving(link: Option<usize>) -> Assignment {
    let at = Instant::START + Duration::from_millis(2_500);
    let migration = Migration { at, address: MOVED, link: link.map(LinkId::new) };
    let mut stacks = quinn(QuinnSettings::DEFAULT);
    stacks.set(PHONE, StackId::named("quinn").unwrap().with_migration(Some(migration)));
    stacks
}

const PHONE: NodeId = NodeId::new(1);
const MOVED: Ipv4Addr = Ipv4Addr::new(10, 88, 7, 7);

/// The times of rows of an event in the table `tcp`, in ms, with the congestion windows.
fn decisions(outcome: &Outcome, event: &str) -> Vec<(u64, u64)> {
    let (times, windows) = (numbers(outcome, "tcp", "time_ns"), numbers(outcome, "tcp", "cwnd"));
    let rows = texts(outcome, "tcp", "event").into_iter().zip(times.into_iter().zip(windows));
    rows.filter(|(name, _)| *name == event).map(|(_, (time, cwnd))| (time / 1_000_000, cwnd)).collect()
}

/// Packets that a link has delivered on the way down.
fn delivered(outcome: &Outcome, link: &str) -> u64 {
    let is_it = |one: &&sim::LinkSummary| (one.link.as_str(), one.direction.as_str()) == (link, "down");
    outcome.summary.links.iter().find(is_it).unwrap().packets_out
}

#[test]
fn a_download_survives_the_loss_of_its_path_over_another_link() {
    let outcome = outcome(&two_links(), &moving(Some(1)));
    let flow = &outcome.summary.flows[0];
    assert_eq!((flow.connections, flow.received, flow.completed), (1, 3_000_000, true), "{flow:?}");
    assert!(delivered(&outcome, "lasthop") > 300 && delivered(&outcome, "other") > 1_000);
    let migrations = decisions(&outcome, "migrate");
    let [(moved, _), (heard, window)] = migrations[..] else { panic!("{migrations:?}") };
    assert_eq!((moved, heard), (2_500, 2_530), "the server hears of it from the phone's first packet");
    assert_eq!(window, 12_000, "the new path begins with a window of its own");
}

#[test]
fn without_a_migration_the_download_ends_with_its_path() {
    let flow = outcome(&two_links(), &quinn(QuinnSettings::DEFAULT)).summary.flows[0].clone();
    assert!(!flow.completed && flow.received < 3_000_000, "{flow:?}");
}

#[test]
fn a_new_address_on_the_same_link_has_its_packets_counted_as_the_flows() {
    let mut spec = two_links();
    spec.links.truncate(1);
    spec.links[0] = link("lasthop", &json!({}));
    let outcome = outcome(&spec, &moving(None));
    let flow = &outcome.summary.flows[0];
    assert_eq!((flow.received, flow.completed), (3_000_000, true), "{flow:?}");
    assert_eq!(decisions(&outcome, "migrate").len(), 2);
    assert!(texts(&outcome, "packets", "flow").into_iter().all(|flow| flow == "page"), "packets of no flow");
}

#[test]
fn a_handshake_is_done_before_the_host_migrates() {
    let mut spec = two_links();
    spec.flows[0].start = Duration::from_millis(2_450);
    spec.links[0] = link("lasthop", &json!({}));
    let outcome = outcome(&spec, &moving(Some(1)));
    let flow = &outcome.summary.flows[0];
    assert_eq!((flow.received, flow.completed), (3_000_000, true), "{flow:?}");
    let migrated = decisions(&outcome, "migrate")[0].0;
    assert!((2_501..2_600).contains(&migrated), "{migrated} ms");
}

#[test]
fn a_host_that_opens_nothing_and_a_link_that_is_no_other_are_refused() {
    let mut of_server = moving(None);
    let migration = of_server_migration();
    of_server.set(NodeId::new(0), StackId::named("quinn").unwrap().with_migration(Some(migration)));
    of_server.set(PHONE, StackId::named("quinn").unwrap());
    let refused = |stacks: &Assignment| Run::new(two_links(), stacks).err().unwrap().to_string();
    let words = |refusal: Result<(), Refusal>| refusal.unwrap_err().to_string();
    assert!(refused(&of_server).contains("host server opens no connection"));
    assert!(words(moving(Some(0)).check_all(&two_links())).contains("cross from the beginning"));
    assert!(words(moving(Some(1)).check_no_migration(&two_links())).contains("virtual time only"));
}

fn of_server_migration() -> Migration {
    Migration { at: Instant::START, address: MOVED, link: None }
}

//! A shared channel: packets pass it as they pass a link, and their fates are reported in the same places.

use cell::mobility::{MobilityConfig, Motion};
use cell::quantity::{Metres, Speed};
use cell::scheduler::{SchedulerChoice, proportional_fair};
use cell::{Config, UserConfig};
use lasthop_sim::{CellSpec, CellUserSpec, Outcome, Spec, Workload, World};
use link::config::HeldPackets;
use serde_json::json;
use units::{Duration, LinkId, NodeId, Rate};
use workload::Application;

use crate::support::*;

/// A server, a base station, and users on one site: half of them hear a call, half have a download.
fn plan(users: u8) -> Spec {
    let access = config(json!({ "rate": "384 kbit/s", "propagation": "20 ms" }));
    let mut spec = Spec {
        nodes: vec![host(1), router("node-b")],
        links: vec![link("core", [0, 1], config(json!({ "rate": "100 Mbit/s", "propagation": "10 ms" })))],
        stop: Some(SECOND * 10),
        ..empty("plan")
    };
    let mut channel = CellSpec { name: "radio".to_owned(), config: one_site(), users: Vec::new() };
    for number in 0..users {
        let node = spec.nodes.len();
        spec.nodes.push(host(10 + number));
        channel.users.push(CellUserSpec {
            link: LinkId::new(spec.links.len()),
            config: UserConfig {
                budget: is_call(number).then_some(BUDGET),
                min_rate: Rate::from_bits_per_sec(64_000),
                queue_limit: None,
                speed: None,
                heading: None,
            },
            place: None,
        });
        spec.links.push(link(&format!("radio-{number}"), [1, node], access.clone()));
        let mut download = flow(&format!("to-{number}"), 0, node, 100_000);
        if is_call(number) {
            download.workload = Workload::Application { application: voip(), until: None };
        }
        spec.flows.push(download);
    }
    spec.cells.push(channel);
    spec
}

fn one_site() -> Config {
    let mut config = Config {
        scheduler: SchedulerChoice::ProportionalFair(proportional_fair::Parameters::default()),
        ..Config::default()
    };
    config.layout.sites = 1;
    config
}

const fn is_call(number: u8) -> bool {
    number.is_multiple_of(2)
}

fn voip() -> Application {
    serde_json::from_value(
        json!({ "voip": { "rate": "13.6 kbit/s", "headers": "compressed", "budget": "80 ms" } }),
    )
    .expect("a workload that the test means to be right")
}

const BUDGET: Duration = Duration::from_millis(80);

fn recorded(users: u8) -> Spec {
    let mut spec = plan(users);
    spec.record = lasthop_sim::RecordSpec { cell: true, ..everything(&spec) };
    spec
}

fn places(outcome: &Outcome) -> Vec<(u32, f64, f64)> {
    outcome.summary.cells[0].users.iter().map(|user| (user.sector, user.x_m, user.y_m)).collect()
}

#[test]
fn downloads_arrive_over_the_channel_and_every_packet_is_accounted_for() {
    let outcome = run(plan(6));
    let downloads = outcome.summary.flows.iter().filter(|flow| flow.flow.ends_with(['1', '3', '5']));
    assert!(
        downloads.clone().count() == 3 && downloads.clone().all(|flow| flow.bytes == 100_000),
        "{downloads:?}"
    );
    let down = outcome.summary.links.iter().filter(|link| link.direction == "down" && link.link != "core");
    for link in down {
        assert!(link.packets_in > 0);
        assert_eq!(link.packets_in, link.packets_out + link.queue_drops + link.packets_inside, "{link:?}");
    }
}

#[test]
fn frames_beyond_their_budget_are_dropped_and_lost_to_the_call() {
    // Errors and pauses of 12 ms each: some frames need more than 80 ms.
    let mut spec = plan(8);
    spec.cells[0].config.adaptation.errors = cell::adaptation::Errors::Fixed {
        usual: units::text::Probability::new(0.8).expect("a probability"),
        below_smallest: units::text::Probability::new(0.8).expect("a probability"),
    };
    let outcome = run(spec);
    let expired: u64 = outcome.summary.cells[0].whole.user_spans.iter().map(|user| user.expired).sum();
    let lost: u64 = outcome.summary.flows.iter().map(|flow| flow.measures.packets_lost).sum();
    assert!(expired > 0);
    assert_eq!(expired, lost);
}

#[test]
fn captures_name_the_blocks_attempts_and_delay_of_a_packet() {
    let outcome = run(recorded(4));
    let (_, capture) =
        outcome.captures.iter().find(|(name, _)| name == "radio-1").expect("a capture of the link");
    let text = String::from_utf8_lossy(capture);
    let comments = text.split("radio-1.down: ").map(|rest| rest.split(" s").next().unwrap_or_default());
    let whole = comments.filter(|comment| {
        comment.contains(" block") && comment.contains(" attempt") && comment.contains("delivered after")
    });
    assert!(whole.count() > 20, "a download of 100 kB has some 70 packets");
}

#[test]
fn the_table_of_blocks_agrees_with_what_the_users_had() {
    let outcome = run(recorded(4));
    let (_, blocks) =
        outcome.tables.iter().find(|(name, _)| *name == "cell").expect("the table was asked for");
    let counted: u64 = outcome.summary.cells[0].whole.user_spans.iter().map(|user| user.blocks).sum();
    let sent: u64 = outcome.summary.cells[0].whole.sectors.iter().flat_map(|sector| &sector.blocks).sum();
    assert_eq!((blocks.num_rows() as u64, counted), (counted, sent));
}

#[test]
fn recording_changes_no_packet_of_a_channel() {
    assert_eq!(run(plan(6)).summary, run(recorded(6)).summary);
}

#[test]
fn one_more_user_moves_nobody_and_a_stranger_changes_nothing() {
    let (few, more) = (run(plan(6)), run(plan(7)));
    assert_eq!(places(&few)[..], places(&more)[..6]);
    let mut beside = plan(6);
    beside.nodes.extend([host(100), host(101)]);
    beside.links.push(link("elsewhere", [8, 9], slow()));
    beside.flows.push(flow("stranger", 8, 9, 500_000));
    let beside = run(beside);
    assert_eq!(few.summary.cells, beside.summary.cells);
    assert_eq!(few.summary.flows[..], beside.summary.flows[..6]);
}

#[test]
fn a_channel_without_packets_wants_no_wake_up() {
    let mut spec = plan(1);
    spec.flows.clear();
    let world = World::new(spec).expect("a world that the test means to be right");
    assert_eq!(world.next_event(), None);
}

#[test]
fn a_channel_may_be_the_first_hop_of_a_flow() {
    let mut spec = plan(1);
    // The base station is the server itself.
    spec.links[1].ends = [0, 2].map(NodeId::new);
    spec.flows = vec![flow("download", 0, 2, 100_000)];
    let outcome = run(spec);
    assert_eq!(outcome.summary.flows[0].bytes, 100_000);
    assert!(outcome.summary.links[2].packets_in > 60, "{:?}", outcome.summary.links[2]);
}

/// Users of 7 sites, 200 m apart, who drive about, with downloads of 5 MB.
fn driving(held: HeldPackets, speed: f64) -> Spec {
    let mut spec = plan(4);
    let mobility = MobilityConfig { motion: Motion::RandomWaypoint, held, ..MobilityConfig::default() };
    let config = &mut spec.cells[0].config;
    (config.layout.sites, config.layout.site_distance) = (7, Metres(200.0));
    (config.radio.speed, config.mobility) = (Speed(speed), Some(mobility));
    spec.cells[0].users.iter_mut().for_each(|user| user.config.budget = None);
    spec.stop = Some(SECOND * 240);
    for (number, flow) in spec.flows.iter_mut().enumerate() {
        let node = flow.to.index();
        *flow = self::flow(&format!("to-{number}"), 0, node, 5_000_000);
    }
    spec
}

#[test]
fn downloads_of_users_who_drive_about_survive_handovers() {
    for held in [HeldPackets::Delivered, HeldPackets::Lost] {
        let outcome = run(driving(held, 25.0));
        assert!(outcome.summary.flows.iter().all(|flow| flow.bytes == 5_000_000), "{held:?}");
        let users = &outcome.summary.cells[0].whole.user_spans;
        assert!(users.iter().all(|user| user.handovers > 0), "{held:?}: {users:?}");
        let dropped: u64 = users.iter().map(|user| user.handover_drops).sum();
        assert_eq!(dropped > 0, held == HeldPackets::Lost);
        let down =
            outcome.summary.links.iter().filter(|link| link.direction == "down" && link.link != "core");
        assert_eq!(down.clone().map(|link| link.queue_drops).sum::<u64>(), dropped);
        down.for_each(|link| {
            assert_eq!(
                link.packets_in,
                link.packets_out + link.queue_drops + link.packets_inside,
                "{link:?}"
            );
        });
        assert_eq!(outcome.summary, run(driving(held, 25.0)).summary);
    }
}

#[test]
fn users_who_move_at_no_speed_are_users_who_stand_still() {
    let moving = driving(HeldPackets::Delivered, 0.0);
    let mut still = moving.clone();
    still.cells[0].config.mobility = None;
    assert_eq!(run(moving).summary, run(still).summary);
}

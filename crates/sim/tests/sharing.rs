//! Flows of one kind share a link fairly and fill it, whatever queue discipline the link has.
//!
//! The cases follow from the registry of queue disciplines and from the folder of profiles: each discipline, with the
//! parameters of its registry's example, with each modern profile.

use std::net::Ipv4Addr;
use std::sync::Arc;

use lasthop_sim::{
    Amount, FlowSpec, LinkSpec, MeasureSpec, NodeKind, NodeSpec, RecordSpec, Spec, WindowSpec, Workload,
    World,
};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::{Value, json};
use testkit::profile::{config, named, names};
use units::{Bytes, Duration};

fn main() {
    let profiles = modern();
    let trials = link::queue::ENTRIES.iter().flat_map(|entry| {
        let queue = discipline(entry);
        profiles.iter().map(move |profile| trial(entry.id, &queue, profile))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn trial(id: &str, queue: &Value, profile: &str) -> Trial {
    let (queue, name) = (queue.clone(), profile.to_owned());
    Trial::test(format!("{id}/{profile}/flows_share_the_link_and_fill_it"), move || share(&queue, &name))
}

/// The profiles that today's links may meet: they repair several losses in a round trip (SACK, NewReno), scale windows,
/// send without asking for ACKs, and acknowledge what has arrived and nothing else. One that spreads its whole window over
/// a whole round trip, with nothing over to make up for what it lost, is left out: it is known to use less of a link
/// (Aggarwal, Savage and Anderson 2000, §4).
fn modern() -> Vec<String> {
    let is_modern = |name: &String| {
        let config = config(&named(name).expect("a profile can be read")).expect("a profile is valid");
        let repairs = config.plain.sack || config.recovery.id == "new-reno";
        let makes_up = config.plain.pacing.is_none_or(|gain| gain > 1.0);
        repairs
            && makes_up
            && config.plain.window_scale
            && config.poll.id == "none"
            && !config.ack.build().misbehaves()
    };
    names().into_iter().filter(is_modern).collect()
}

/// The discipline as its registry's example writes it, with lengths for this link: those of the examples are of links
/// of some hundred kbit/s.
fn discipline(entry: &link::queue::Entry) -> Value {
    let example = format!("discipline = {}", entry.example);
    let table: toml::Table = toml::from_str(&example).expect("an example is TOML");
    let mut value = serde_json::to_value(&table["discipline"]).expect("TOML is JSON");
    lengthen(&mut value);
    value
}

fn lengthen(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(packets) = text.strip_suffix(" packets").and_then(|count| count.parse::<u32>().ok()) {
                *text = format!("{} packets", packets * LONGER);
            }
        }
        Value::Object(table) => table.values_mut().for_each(lengthen),
        _ => {}
    }
}

/// Jain's index of the flows' rates is above 0.9, and their sum, copies included, above 90 % of the link's capacity.
fn share(queue: &Value, profile: &str) -> Result<(), Failed> {
    let mut world = World::new(spec(queue, profile))?;
    world.run()?;
    let flows = world.finish().summary.flows;
    let rates: Vec<f64> = flows.iter().filter_map(|flow| flow.windows.first()?.sent_bps).collect();
    let (sum, squares) =
        rates.iter().fold((0.0, 0.0), |(sum, squares), rate| (sum + rate, squares + rate * rate));
    let index = sum * sum / (squares * FLOWS as f64);
    let used = sum / CAPACITY;
    if index > 0.9 && used > 0.9 {
        return Ok(());
    }
    Err(format!("Jain's index {index:.3}, {:.1} % of the capacity: {rates:.0?} B/s", used * 100.0).into())
}

/// Four downloads over 10 Mbit/s with a round trip of 40 ms (33 packets) and a queue of up to 50 packets, measured after
/// slow start.
fn spec(queue: &Value, profile: &str) -> Spec {
    let tcp = config(&named(profile).expect("a profile can be read")).expect("a profile is valid");
    let direction = |queue: &Value| -> link::Config {
        let limits = json!({ "discipline": queue, "limit": "50 packets" });
        let direction = json!({ "rate": "10 Mbit/s", "propagation": "20 ms", "queue": limits });
        serde_json::from_value(direction).expect("a link with a discipline's example")
    };
    let flow = |number: usize| FlowSpec {
        name: format!("flow-{number}"),
        from: 0,
        to: 1,
        start: Duration::ZERO,
        start_jitter: Some(Duration::from_secs(1)),
        class: 0,
        workload: Workload::Bulk(Amount::Until(END)),
        sender: Arc::clone(&tcp),
        receiver: Arc::clone(&tcp),
        milestones: Vec::new(),
    };
    let window = WindowSpec { name: "steady".to_owned(), from: BEGIN, to: Some(END) };
    Spec {
        name: "sharing".to_owned(),
        seed: 1,
        stop: Some(END),
        nodes: vec![host(1), host(2)],
        links: vec![LinkSpec {
            name: "bottleneck".to_owned(),
            ends: [0, 1],
            down: direction(queue),
            up: direction(&json!("tail-drop")),
            mtu: Bytes(1500),
        }],
        flows: (0..FLOWS).map(flow).collect(),
        record: RecordSpec {
            measure: MeasureSpec { windows: vec![window], ..MeasureSpec::default() },
            ..RecordSpec::default()
        },
    }
}

fn host(number: u8) -> NodeSpec {
    let address = Ipv4Addr::new(10, 0, 0, number);
    NodeSpec { name: format!("host-{number}"), kind: NodeKind::Host { address } }
}

const FLOWS: usize = 4;
const BEGIN: Duration = Duration::from_secs(10);
const END: Duration = Duration::from_secs(40);
/// Payload that 10 Mbit/s carry in packets of 1500 bytes with timestamps, in bytes per second.
const CAPACITY: f64 = 10e6 / 8.0 * 1448.0 / 1500.0;
/// How much longer queues are here than in the registry's examples.
const LONGER: u32 = 5;

//! What loading a scenario gives, and what it says about each mistake.

use std::path::Path;

use serde_json::json;

use super::*;

/// A right scenario; tests break it.
pub(crate) const GOOD: &str = r#"name = "good"
[hosts.server]
profile = "plain"
[hosts.mobile]
profile = "plain"
tcp = { ack.delayed.timeout = "100 ms" }
[[links]]
name = "lasthop"
between = ["server", "mobile"]
preset = "slow"
[links.down]
queue = { limit = "3 packets" }
[[flows]]
name = "download"
from = "server"
to = "mobile"
bytes = "100 KiB"
milestones = ["10 KiB"]
"#;

pub(crate) fn search() -> Search {
    Search::new([Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")])
}

pub(crate) fn read(text: &str, overrides: &[&str]) -> Result<Resolved, InputError> {
    parse(text, "good.toml", overrides, None, &search())
}

/// A further link.
fn wire(a: &str, b: &str) -> String {
    format!("[[links]]\nname = \"wire\"\nbetween = [\"{a}\", \"{b}\"]\ndown = {{}}\nup = {{}}\n")
}

fn good() -> Resolved {
    read(GOOD, &[]).expect("it is right")
}

/// What is said about the good scenario with `from` replaced by `to`.
fn said(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from} is not in the scenario");
    let text = GOOD.replacen(from, to, 1);
    let said = read(&text, &[]).expect_err("it is wrong").to_string();
    said.replace(env!("CARGO_MANIFEST_DIR"), ".")
}

#[test]
fn what_a_hosts_own_key_breaks_in_a_right_profile_is_said_of_the_host() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let with_profiles = Search::new([Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"), root]);
    let own = "profile = \"eifel\"\ntcp = { timestamps = false }";
    let text = GOOD.replace("profile = \"plain\"\ntcp = { ack.delayed.timeout = \"100 ms\" }", own);
    let error =
        parse(&text, "good.toml", &[] as &[&str], None, &with_profiles).expect_err("Eifel needs timestamps");
    assert_eq!((error.line(), error.key.as_str()), (Some(6), "hosts.mobile.tcp"));
    assert!(error.message.contains("(spurious, ") && error.message.contains("eifel.toml:"), "{error}");
}

fn said_of_override(text: &str) -> String {
    read(GOOD, &[text]).expect_err("it is wrong").to_string()
}

#[test]
fn a_preset_fills_what_the_file_leaves_out() {
    let link = good().links.remove(0);
    let down = serde_json::to_value(&link.down).unwrap();
    assert_eq!(down["rate"], "9600 bit/s");
    assert_eq!(down["queue"]["limit"], "3 packets");
    assert_eq!(link.mtu, units::Bytes(296));
}

#[test]
fn a_scenario_with_one_link_is_a_preset_of_that_link() {
    let folder = std::env::temp_dir().join(format!("lasthop-link-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let preset = |text: &str| {
        let file = folder.join("fitted.toml");
        std::fs::write(&file, text).unwrap();
        read(&GOOD.replace("preset = \"slow\"", &format!("preset = {:?}", file.display().to_string())), &[])
    };
    let link = preset(GOOD).unwrap().links.remove(0);
    assert_eq!(serde_json::to_value(&link).unwrap(), serde_json::to_value(&good().links[0]).unwrap());
    let second = "[[links]]\nname = \"more\"\nbetween = [\"server\", \"mobile\"]\npreset = \"slow\"\n";
    let two = preset(&format!("{GOOD}{second}")).unwrap_err();
    assert!(two.to_string().contains("fitted.toml") && two.help.contains("one link"), "{two}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_host_overrides_keys_of_its_profile_and_keeps_the_rest() {
    let mobile = good().hosts.into_iter().find(|host| host.name == "mobile").unwrap();
    assert_eq!(mobile.tcp["ack"]["delayed"]["timeout"], "100 ms");
    assert_eq!(mobile.tcp["ack"]["delayed"]["quick"], "2 segments");
    assert_eq!(mobile.tcp["mss"], "536 bytes");
}

#[test]
fn defaults_are_written_out() {
    let server = good().hosts.remove(0);
    assert_eq!(server.tcp["rto"]["rfc6298"]["max"], "60 s");
    assert_eq!(server.tcp["rto"]["rfc6298"]["min"], "1 s");
    assert_eq!(server.tcp["sack"], json!(true));
    assert_eq!(good().seed, 1);
}

#[test]
fn the_algorithm_below_a_rule_has_its_defaults_written_out_too() {
    let rule = "hosts.server.tcp.congestion={ idle-restart = { over = \"byte-counting\" } }";
    let server = read(GOOD, &[rule]).expect("it is right").hosts.remove(0);
    let below = &server.tcp["congestion"]["idle-restart"]["over"]["byte-counting"];
    assert_eq!(below["limit"], "2 segments");
    assert_eq!(
        (&below["over"]["reno"]["increase"], &below["over"]["reno"]["reduction_of"]),
        (&json!("per-window"), &json!("smaller"))
    );
}

#[test]
fn a_profile_extends_another() {
    let keys = profile("derived", &search()).expect("it is right");
    assert_eq!(keys["mss"], "536 bytes");
    assert_eq!(keys["initial_window"], "2 segments");
    assert_eq!(
        (&keys["ack"]["delayed"]["timeout"], &keys["ack"]["delayed"]["quick"]),
        (&json!("100 ms"), &json!("2 segments"))
    );
    let circle = profile("circle", &search()).expect_err("it goes round").to_string();
    assert!(
        circle.contains("circle.toml:3: extends: the profile extends itself; break the circle"),
        "{circle}"
    );
}

#[test]
fn overrides_reach_by_name_and_by_position_and_make_new_keys() {
    for path in ["links.lasthop.down.rate", "links.0.down.rate"] {
        let resolved = read(GOOD, &[&format!("{path}=1 Mbit/s")]).expect("it is right");
        assert_eq!(serde_json::to_value(&resolved.links[0].down).unwrap()["rate"], "1 Mbit/s");
    }
    let resolved = read(GOOD, &["flows.download.count=3", "links.0.down.framing=\"7 bytes\"", "stop=60 s"]);
    let resolved = resolved.expect("it is right");
    let names: Vec<&str> = resolved.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["download-1", "download-2", "download-3"]);
    assert_eq!(serde_json::to_value(&resolved.links[0].down).unwrap()["queue"]["limit"], "3 packets");
    assert_eq!(resolved.stop, Some(units::Duration::from_secs(60)));
}

#[test]
fn a_queues_limit_in_time_is_resolved_to_bytes_at_the_rate_that_holds_in_the_end() {
    let limit = |overrides: &[&str]| {
        let resolved = read(&GOOD.replace("3 packets", "500 ms"), overrides).expect("it is right");
        serde_json::to_value(&resolved.links[0].down).unwrap()["queue"]["limit"].clone()
    };
    assert_eq!(limit(&[]), "600 bytes");
    assert_eq!(limit(&["links.0.down.rate=2 Mbit/s"]), "125 kB");
    assert_eq!(limit(&["links.0.down.rate=2 Mbit/s", "links.0.down.queue.limit=1 s"]), "250 kB");
}

#[test]
fn an_override_of_a_preset_or_profile_comes_before_their_keys() {
    let resolved =
        read(GOOD, &["hosts.server.profile=derived", "hosts.server.tcp.ack.delayed.quick=3 segments"]);
    let server = resolved.expect("it is right").hosts.remove(0);
    assert_eq!(server.tcp["initial_window"], "2 segments");
    assert_eq!(
        (&server.tcp["ack"]["delayed"]["quick"], &server.tcp["ack"]["delayed"]["timeout"]),
        (&json!("3 segments"), &json!("100 ms"))
    );
}

#[test]
fn the_seed_of_the_caller_wins() {
    let text = format!("seed = 7\n{GOOD}");
    assert_eq!(parse(&text, "x.toml", &[""; 0], None, &search()).unwrap().seed, 7);
    assert_eq!(parse(&text, "x.toml", &[""; 0], Some(9), &search()).unwrap().seed, 9);
}

#[test]
fn a_resolved_scenario_is_its_json() {
    let resolved = good();
    let again = Resolved::from_json(&resolved.json()).expect("it is its own JSON");
    assert_eq!((again.json(), again.hash()), (resolved.json(), resolved.hash()));
    assert!(resolved.json().starts_with("{\"flows\":[{\"bytes\":\"100 KiB\",\"from\":\"server\""));
}

#[test]
fn the_hash_hangs_on_meaning_and_on_nothing_else() {
    let reordered = GOOD.replace(
        "[hosts.server]\nprofile = \"plain\"\n[hosts.mobile]\nprofile = \"plain\"\ntcp = { ack.delayed.timeout = \"100 ms\" }",
        "# a comment\n[hosts.mobile]\ntcp = { ack = { delayed = { timeout = \"0.1 s\" } } }\nprofile = \"plain\"\n[hosts.server]\nprofile = \"plain\"",
    );
    assert_ne!(reordered, GOOD);
    assert_eq!(read(&reordered, &[]).unwrap().hash(), good().hash());
    assert_ne!(good().with_seed(2).hash(), good().hash());
    assert_ne!(read(GOOD, &["links.0.down.rate=9601 bit/s"]).unwrap().hash(), good().hash());
}

#[test]
fn a_host_that_no_flow_names_changes_nobody_else() {
    let text = GOOD.replace("[hosts.server]", "[hosts.aaa]\nprofile = \"plain\"\n[hosts.server]");
    let text = text + &wire("aaa", "mobile");
    let (with, without) = (read(&text, &[]).unwrap(), good());
    for host in &without.hosts {
        assert_eq!(with.hosts.iter().find(|h| h.name == host.name).unwrap().address, host.address);
    }
    assert_eq!(with.hosts.iter().map(|h| h.name.as_str()).collect::<Vec<_>>(), ["server", "mobile", "aaa"]);
}

#[test]
fn a_flow_may_cross_routers() {
    let text = GOOD
        .replace("name = \"good\"", "routers = [\"station\"]")
        .replace("between = [\"server\", \"mobile\"]", "between = [\"station\", \"mobile\"]")
        + "[[links]]\nname = \"lan\"\nbetween = [\"server\", \"station\"]\ndown = { rate = \"10 Mbit/s\" }\nup = {}\n";
    let resolved = read(&text, &[]).expect("it is right");
    assert_eq!(resolved.name, "good");
    assert_eq!((resolved.hosts.len(), resolved.routers.len()), (2, 1));
}

/// What is written in place of what, and how the message begins.
const MISTAKES: &[(&str, &str, &str)] = &[
    // Text that is no TOML.
    ("[hosts.server]", "[hosts.server", "good.toml:2: this is not TOML: "),
    // Unknown keys.
    (
        "bytes =",
        "bites =",
        "good.toml:17: flows.download.bites: there is no key \"bites\" here; did you mean \"bytes\"? The keys are name, from",
    ),
    (
        "queue = {",
        "quue = {",
        "good.toml:12: links.lasthop.down.quue: there is no key \"quue\" here; did you mean \"queue\"? The keys are rate",
    ),
    (
        "name = \"good\"",
        "colour = 1",
        "good.toml:1: colour: there is no key \"colour\" here; the keys are name",
    ),
    (
        "ack.delayed.timeout",
        "ack.delayed.timeoot",
        "good.toml:6: hosts.mobile.tcp.ack.delayed.timeoot: there is no key \"timeoot\" here; did you mean \"timeout\"?",
    ),
    // Units: missing, wrong, not allowed.
    (
        "\"3 packets\"",
        "3",
        "good.toml:12: links.lasthop.down.queue.limit: 3 has no unit; write a number of packets like \"3 packets\"",
    ),
    (
        "[links.down]",
        "[links.down]\nrate = \"9600\"",
        "good.toml:12: links.lasthop.down.rate: 9600 has no unit; write a rate like \"9600 bit/s\"",
    ),
    (
        "100 KiB",
        "100 KB",
        "good.toml:17: flows.download.bytes: \"KB\" is not a unit of size; write kB for 1000 bytes, or KiB for 1024",
    ),
    (
        "[links.down]",
        "[links.down]\nrate = \"5 Mbps\"",
        "good.toml:12: links.lasthop.down.rate: \"Mbps\" is not a unit of rate; write Mbit/s",
    ),
    (
        "\"100 ms\"",
        "100",
        "good.toml:6: hosts.mobile.tcp.ack.delayed.timeout: 100 has no unit; write a duration like \"100 ms\"",
    ),
    // Impossible values.
    (
        "[links.down]",
        "[links.down]\nrate = \"-5 bit/s\"",
        "good.toml:12: links.lasthop.down.rate: \"-5 bit/s\" is negative; a rate is zero or more",
    ),
    (
        "[links.down]",
        "[links.down]\nrate = \"0 bit/s\"",
        "good.toml:12: links.lasthop.down.rate: a rate of zero transmits nothing; write a rate like",
    ),
    (
        "\"3 packets\"",
        "\"3 us\"",
        "good.toml:12: links.lasthop.down.queue.limit: the link transmits no byte in this time; write packets or bytes",
    ),
    (
        "\"3 packets\"",
        "\"0 packets\"",
        "good.toml:12: links.lasthop.down.queue.limit: a queue of 0 lets nothing wait; write a limit like",
    ),
    (
        "[links.down]",
        "[links.down]\nevents = [{ packet = 3, delay = \"1 s\" }, { packet = 0, delay = \"1 s\" }]",
        "good.toml:12: links.lasthop.down.events.1.packet: packets are counted from 1; write 1 for the first",
    ),
    (
        "[links.down]",
        "[links.down]\ndropper = { probability = 1.5 }",
        "good.toml:12: links.lasthop.down.dropper.probability: 1.5 is not a probability; write a number from 0 to 1",
    ),
    (
        "\"100 KiB\"",
        "\"0 bytes\"",
        "good.toml:17: flows.download.bytes: the flow sends nothing; write 1 byte or more",
    ),
    (
        "\"10 KiB\"",
        "\"1 MB\"",
        "good.toml:18: flows.download.milestones.0: the flow never has 1 MB acknowledged; milestones lie between 1 byte and 100 KiB",
    ),
    (
        "preset = \"slow\"",
        "preset = \"slow\"\nmtu = \"20 bytes\"",
        "good.toml:11: links.lasthop.mtu: an mtu of 20 bytes",
    ),
    (
        "from = \"server\"",
        "count = 0\nfrom = \"server\"",
        "good.toml:15: flows.download.count: no flow at all; write 1 or more",
    ),
    // Names of what is not there.
    (
        "between = [\"server\"",
        "between = [\"sever\"",
        "good.toml:9: links.lasthop.between.0: there is no host or router \"sever\"; did you mean \"server\"? The hosts and routers are mobile, server",
    ),
    (
        "to = \"mobile\"",
        "to = \"phone\"",
        "good.toml:16: flows.download.to: there is no host \"phone\"; the hosts are mobile, server",
    ),
    (
        "profile = \"plain\"",
        "profile = \"plian\"",
        "good.toml:3: hosts.server.profile: there is no profile \"plian\"; did you mean \"plain\"? The profiles are circle, derived, mistaken, plain; a path to a file works too",
    ),
    (
        "\"slow\"",
        "\"gsm\"",
        "good.toml:10: links.lasthop.preset: there is no preset \"gsm\"; the presets are mistaken, slow; a path to a file works too",
    ),
    ("\"slow\"", "\"./none.toml\"", "good.toml:10: links.lasthop.preset: there is no preset \"./none.toml\""),
    (
        "tcp = { ack.delayed.timeout = \"100 ms\" }",
        "tcp = { recovery = \"rino\" }",
        "good.toml:6: hosts.mobile.tcp.recovery: there is no loss recovery \"rino\"; one of timeout-only, tahoe, reno, ",
    ),
    (
        "milestones = [\"10 KiB\"]",
        "[record]\ncaptures = [\"lashop\"]",
        "good.toml:19: record.captures.0: there is no host, router or link \"lashop\"; did you mean \"lasthop\"?",
    ),
    (
        "milestones = [\"10 KiB\"]",
        "[record]\ntables = [\"packet\"]",
        "good.toml:19: record.tables.0: \"packet\" is not a choice here; did you mean \"packets\"? The choices are packets, tcp, queue, segments",
    ),
    // Mistakes in files that the scenario names.
    (
        "profile = \"plain\"",
        "profile = \"mistaken\"",
        "./fixtures/profiles/mistaken.toml:5: ack.delayed.timeout: 200 has no unit; write a duration like \"200 ms\"",
    ),
    (
        "\"slow\"",
        "\"mistaken\"",
        "./fixtures/presets/mistaken.toml:4: down.rate: 9600 has no unit; write a rate like \"9600 bit/s\"",
    ),
    // Things missing, doubled, or at odds.
    ("to = \"mobile\"\n", "", "good.toml:13: flows.download: the key \"to\" is missing; add to = …"),
    (
        "bytes = \"100 KiB\"\n",
        "",
        "good.toml:13: flows.download: how much the flow sends is missing; add bytes = \"1 MB\" or until",
    ),
    (
        "bytes =",
        "until = \"3 s\"\nbytes =",
        "good.toml:17: flows.download.until: bytes is given as well; keep one of the two",
    ),
    (
        "to = \"mobile\"",
        "to = \"server\"",
        "good.toml:16: flows.download.to: the flow leads to its own host; name another host",
    ),
    (
        "[\"server\", \"mobile\"]",
        "[\"server\", \"server\"]",
        "good.toml:9: links.lasthop.between: the link leads back to its own end",
    ),
    (
        "\"lasthop\"",
        "\"mobile\"",
        "good.toml:8: links.mobile.name: the name \"mobile\" is taken; give every host",
    ),
    (
        "\"lasthop\"",
        "\"last hop\"",
        "good.toml:8: links.0.name: \"last hop\" cannot be a name; names are letters",
    ),
    (
        "to = \"mobile\"",
        "to = \"mobile\"\nstart = { uniform = [\"2 s\", \"1 s\"] }",
        "good.toml:17: flows.download.start: the latest start is before the earliest; write the earlier time first",
    ),
    (
        "[\"server\", \"mobile\"]",
        "[\"server\"]",
        "good.toml:9: links.lasthop.between: a link joins two nodes, not 1; write [\"server\", \"mobile\"]",
    ),
    (
        "to = \"mobile\"",
        "to = \"mobile\"\nstart = { uniform = [\"2 s\"] }",
        "good.toml:17: flows.download.start.uniform: a list of 1 does not belong here; write a list of 2",
    ),
    (
        "bytes = \"100 KiB\"\nmilestones = [\"10 KiB\"]",
        "start = \"5 s\"\nuntil = \"2 s\"",
        "good.toml:18: flows.download.until: the flow starts at 5 s and ends no later; until is a time of the run",
    ),
    // What makes no sense.
    (
        "name = \"good\"",
        "stop = \"0 s\"",
        "good.toml:1: stop: the run ends before it begins; write a time like",
    ),
    (
        "preset = \"slow\"",
        "preset = \"slow\"\nmtu = \"1 MB\"",
        "good.toml:11: links.lasthop.mtu: an mtu of 1000000 bytes cannot carry IP; write 68 to 65535 bytes",
    ),
    (
        "bytes = \"100 KiB\"",
        "count = 20000\nbytes = \"100 KiB\"",
        "good.toml:17: flows.download.count: 20000 connections of two hosts, which have 16384 ports for them",
    ),
    (
        "bytes = \"100 KiB\"\nmilestones = [\"10 KiB\"]",
        "until = \"9 s\"\nworkload = { web = { size = \"0 bytes\" } }",
        "good.toml:18: flows.download.workload.web.size: a page without a byte; write 1 byte or more",
    ),
    (
        "bytes = \"100 KiB\"\nmilestones = [\"10 KiB\"]",
        "until = \"9 s\"\nworkload = { arrivals = { gap = \"1 s\", size = \"0 bytes\" } }",
        "good.toml:18: flows.download.workload.arrivals.size: connections that send nothing; write 1 byte",
    ),
    (
        "bytes = \"100 KiB\"\nmilestones = [\"10 KiB\"]",
        "until = \"9 s\"\nworkload = { constant-rate = { rate = \"9999 Gbit/s\" } }",
        "good.toml:18: flows.download.workload.constant-rate.rate: packets closer together than links of today",
    ),
    (
        "tcp = { ack.delayed.timeout = \"100 ms\" }",
        "address = \"10.0.0\"",
        "good.toml:6: hosts.mobile.address: this is no IPv4 address; write four numbers like",
    ),
    (
        "ack.delayed.timeout = \"100 ms\"",
        "ack.delayed.every = \"0 segments\"",
        "good.toml:6: hosts.mobile.tcp.ack.delayed.every: every is 0 segments, and no ACK comes before its segment; \"1 seg",
    ),
    (
        "ack.delayed.timeout = \"100 ms\"",
        "ack = { ack-division = { parts = 0 } }",
        "good.toml:6: hosts.mobile.tcp.ack.ack-division.parts: integer 0 does not belong here; write a whole number, 1 or more",
    ),
    (
        "ack.delayed.timeout = \"100 ms\"",
        "ack = { optimistic = { ahead = \"0 segments\" } }",
        "good.toml:6: hosts.mobile.tcp.ack.optimistic.ahead: ahead is 0 segments, and such a receiver is honest; \"1 seg",
    ),
    (
        "ack.delayed.timeout = \"100 ms\"",
        "ack = { linux-2000 = { min = \"1 s\" } }",
        "good.toml:6: hosts.mobile.tcp.ack.linux-2000.min: min is 1 s, above max, 200 ms; write the lesser as min",
    ),
    (
        "ack.delayed.timeout = \"100 ms\"",
        "congestion = { byte-counting = { limit = \"0 segments\" } }",
        "good.toml:6: hosts.mobile.tcp.congestion.byte-counting.limit: limit is 0, and slow start would never open the window",
    ),
    (
        "ack.delayed.timeout = \"100 ms\"",
        "rto = { rfc6298 = { min = \"0 s\", max = \"0 s\" } }",
        "good.toml:6: hosts.mobile.tcp.rto.rfc6298.max: max is 0 s, and every timer runs out at once; RFC 6298 has \"60 s\"",
    ),
    (
        "ack.delayed.timeout = \"100 ms\"",
        "keep_alive = true, keep_alive_interval = \"0 s\"",
        "good.toml:6: hosts.mobile.tcp.keep_alive_interval: keep_alive_interval is 0 s, and probes would have no time between them; a time like \"75 s\"",
    ),
    (
        "ack.delayed.timeout = \"100 ms\"",
        "initial_ssthresh = \"1 segment\"",
        "good.toml:6: hosts.mobile.tcp.initial_ssthresh: a first slow-start threshold of 536 bytes is below two segments; at",
    ),
    // Values of the wrong kind.
    (
        "name = \"good\"",
        "name = 5",
        "good.toml:1: name: integer 5 does not belong here; write a text in quotes",
    ),
    (
        "name = \"good\"",
        "seed = -1",
        "good.toml:1: seed: integer -1 does not belong here; write a whole number, zero or more",
    ),
    ("name = \"good\"", "seed = 2001-01-01", "good.toml:1: seed: a date stands here; no key takes a date"),
];

#[test]
fn every_mistake_says_where_what_and_what_would_be_right() {
    let wrong = MISTAKES.iter().filter_map(|(from, to, expected)| {
        let said = said(from, to);
        (!said.starts_with(expected)).then(|| format!("for {to}\nsaid:     {said}\nexpected: {expected}\n"))
    });
    assert_eq!(wrong.collect::<String>(), "");
}

#[test]
fn the_values_of_a_file_stand_in_the_resolved_scenario() {
    let with = |file: &str| {
        let text =
            GOOD.replacen("[links.down]", &format!("[links.down]\npropagation = {{ file = \"{file}\" }}"), 1);
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/good.toml");
        parse(&text, beside, &[""; 0], None, &search())
    };
    let resolved = with("delays.txt").expect("it is right");
    assert!(resolved.json().contains("\"values\":[\"200 ms\",\"1500 ms\"]"), "{}", resolved.json());
    assert_eq!(Resolved::from_json(&resolved.json()).expect("it is its own JSON").hash(), resolved.hash());
    let said = with("bad-delays.txt").expect_err("7 has no unit").to_string();
    assert!(
        said.contains(
            "good.toml:12: links.lasthop.down.propagation.file: bad-delays.txt, line 2: 7 has no unit"
        ),
        "{said}"
    );
    let said = with("none.txt").expect_err("it is not there").to_string();
    assert!(
        said.contains("good.toml:12: links.lasthop.down.propagation.file: none.txt: there is no such file"),
        "{said}"
    );
}

#[test]
fn two_hosts_without_links_between_them_cannot_talk() {
    let text = GOOD.replace("to = \"mobile\"", "to = \"far\"")
        + "[hosts.far]\nprofile = \"plain\"\n"
        + &wire("far", "mobile");
    let said = read(&text, &[]).expect_err("it is wrong").to_string();
    assert!(
        said.starts_with(
            "good.toml:16: flows.download.to: no links lead from \"server\" to \"far\"; join them"
        ),
        "{said}"
    );
}

#[test]
fn a_mistaken_override_is_named_in_place_of_a_line() {
    let cases = [
        ("links.0.down.rate", "--set links.0.down.rate: there is no = in it; write path=value"),
        ("links..rate=5", "--set links..rate=5: what stands before = is no path of keys"),
        (
            "links.0.down.rate=5",
            "--set links.0.down.rate=5: links.lasthop.down.rate: 5 has no unit; write a rate like \"5 bit/s\"",
        ),
        (
            "links.hop.down.rate=5 bit/s",
            "--set links.hop.down.rate=5 bit/s: links.hop: there is no \"hop\" in the list; the names are lasthop",
        ),
        (
            "links.lasthop.down.rato=5 bit/s",
            "--set links.lasthop.down.rato=5 bit/s: links.lasthop.down.rato: there is no key \"rato\" here; did you mean \"rate\"?",
        ),
        (
            "hosts.server.profile=plane",
            "--set hosts.server.profile=plane: hosts.server.profile: there is no profile \"plane\"",
        ),
        (
            "name.first=x",
            "--set name.first=x: name.first: this path leads through a value; keys stand in tables only",
        ),
    ];
    for (text, expected) in cases {
        let said = said_of_override(text);
        assert!(said.starts_with(expected), "said:     {said}\nexpected: {expected}");
    }
}

#[test]
fn a_missing_file_is_told_with_what_there_is() {
    let no_overrides: [&str; 0] = [];
    let said = load("nowhere/x.toml", &no_overrides, None, &search()).expect_err("it is not there");
    assert_eq!(said.to_string(), "nowhere/x.toml: there is no such file; check the path");
    assert_eq!((said.line(), said.file()), (None, Some("nowhere/x.toml".into())));
    let said = load("quickstart", &no_overrides, None, &search()).expect_err("it is not there").to_string();
    assert_eq!(
        said,
        "quickstart: there is no scenario of this name; there are no scenarios here, a path to a file works too"
    );
}

#[test]
fn a_broken_json_is_refused_with_its_key() {
    let json = good().json().replace("\"seed\":1", "\"seed\":\"x\"");
    let said = Resolved::from_json(&json).expect_err("it is broken").to_string();
    assert!(said.starts_with("seed: this is no resolved scenario: invalid type"), "{said}");
}

#[test]
fn a_host_that_is_added_changes_nobodys_address() {
    let addresses = |text: &str| {
        let resolved = read(text, &[]).unwrap();
        resolved.hosts.iter().map(|host| (host.name.clone(), host.address)).collect::<Vec<_>>()
    };
    let stranger = GOOD.replacen("[hosts.server]", "[hosts.aaa]\nprofile = \"plain\"\n[hosts.server]", 1);
    let stranger = stranger + &wire("aaa", "mobile");
    let (before, after) = (addresses(GOOD), addresses(&stranger));
    assert!(before.iter().all(|host| after.contains(host)), "{before:?} {after:?}");
}

#[test]
fn a_warm_up_by_time_or_share_is_the_window_steady() {
    let steady = |measure: &str| {
        let text = format!("stop = \"50 s\"\n{GOOD}[measure]\n{measure}\n");
        read(&text, &[]).map(|good| good.measure.windows[0].clone())
    };
    let cut = steady("warm_up = 0.4").unwrap();
    assert_eq!((&*cut.name, cut.from, cut.to), ("steady", units::Duration::from_secs(20), None));
    assert_eq!(steady("warm_up = \"20 s\"").unwrap(), cut);
    let said = |measure: &str| steady(measure).unwrap_err().to_string();
    assert!(said("warm_up = 1.5").contains("write a number from 0 up to 1, or a time"));
    assert!(said("warm_up = \"50 s\"").contains("the warm-up is as long as the run"));
    assert!(said("windows = { late = [\"9 s\", \"3 s\"] }").contains("closes no later"));
    assert!(said("warm_up = 0.4\nwindows = { steady = [\"1 s\", \"3 s\"] }").contains("is taken"));
}

#[test]
fn what_flows_leave_to_send_again_after_their_end_is_not_measured() {
    let steady = |text: &str| {
        read(&format!("{text}[measure]\nwarm_up = \"1 s\"\n"), &[]).map(|good| good.measure.windows[0].to)
    };
    let secs = |secs| Some(units::Duration::from_secs(secs));
    let until = |time: &str| GOOD.replacen("bytes = \"100 KiB\"", &format!("until = \"{time}\""), 1);
    assert_ne!(until("9 s"), GOOD);
    assert_eq!(steady(&until("9 s")).unwrap(), secs(9));
    assert_eq!(steady(&format!("stop = \"20 s\"\n{}", until("9 s"))).unwrap(), secs(9));
    assert_eq!(steady(&format!("stop = \"9 s\"\n{}", until("20 s"))).unwrap(), None);
    assert_eq!(steady(GOOD).unwrap(), None, "an amount takes as long as it takes");
    assert!(steady(&until("1 s")).unwrap_err().to_string().contains("leave something to measure"));
}

#[test]
fn the_syntax_of_earlier_versions_is_answered_with_the_line_to_write() {
    for (old, key, new) in [
        (
            "congestion = { algorithm = \"cubic\", beta = 0.5 }",
            "congestion.algorithm",
            "write congestion = { cubic = { beta = 0.5 } }",
        ),
        ("recovery.algorithm = \"reno\"", "recovery.algorithm", "write recovery = \"reno\""),
        (
            "congestion = { algorithm = \"hystart\", over = { algorithm = \"cubic\" } }",
            "congestion.algorithm",
            "write congestion = { hystart = { over = \"cubic\" } }",
        ),
    ] {
        let said = said("ack.delayed.timeout = \"100 ms\"", old);
        let expected = format!(
            "good.toml:6: hosts.mobile.tcp.{key}: a choice is written as its name, or as a table of one key, its name; {new}"
        );
        assert!(said.contains(&expected), "{said}");
    }
}

#[test]
fn an_override_below_a_choice_chooses_it() {
    let tcp = |overrides: &[&str]| read(GOOD, overrides).expect("it is right").hosts.remove(1).tcp;
    let same = tcp(&["hosts.mobile.tcp.ack.delayed.every=3 segments"]);
    assert_eq!(same["ack"]["delayed"]["every"], "3 segments");
    assert_eq!(same["ack"]["delayed"]["timeout"], "100 ms", "what the file says stays");
    let whichever = tcp(&["hosts.mobile.tcp.ack.*.every=3 segments"]);
    assert_eq!(whichever, same);
    let none = read(GOOD, &["hosts.mobile.tcp.rto.*.min=2 s"]).unwrap_err();
    assert!(none.to_string().contains("nothing is chosen here"), "{none}");
    let other = tcp(&["hosts.mobile.tcp.ack.polled.timeout=50 ms"]);
    assert_eq!(registry::name_of(&other["ack"]), Some("polled"));
    assert_eq!(other["ack"]["polled"]["timeout"], "50 ms");
    let named =
        tcp(&["hosts.mobile.tcp.recovery=reno", "hosts.mobile.tcp.recovery.reno.limited_transmit=true"]);
    assert_eq!(named["recovery"]["reno"]["limited_transmit"], json!(true));
}

//! What is said about each mistake of a file.

use super::*;

/// What is said about the good scenario with `from` replaced by `to`.
fn said(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from} is not in the scenario");
    let text = GOOD.replacen(from, to, 1);
    let said = read(&text, &[]).expect_err("it is wrong").to_string();
    said.replace(env!("CARGO_MANIFEST_DIR"), ".")
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
        "good.toml:12: links.lasthop.down.quue: there is no key \"quue\" here; did you mean \"queue\"?",
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
        "good.toml:13: flows.download: the amount that the flow sends is missing; add bytes = \"1 MB\" or until",
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
        "good.toml:6: hosts.mobile.tcp.rto.rfc6298.max: max is 0 s, and every timer would expire at once; RFC 6298 has \"60 s\"",
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
    ("name = \"good\"", "seed = 2001-01-01", "good.toml:1: seed: this is a date; no key takes a date"),
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
fn a_missing_file_is_reported_with_what_there_is() {
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

use serde_json::json;

use crate::Resolved;
use crate::tests::read;

fn good(text: &str) -> Resolved {
    read(text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn said(text: &str) -> String {
    read(text, &[]).expect_err("it is wrong").to_string().replace(env!("CARGO_MANIFEST_DIR"), ".")
}

fn joins(resolved: &Resolved) -> Vec<String> {
    let links = resolved.links.iter();
    links.map(|link| format!("{}: {}-{}", link.name, link.between[0], link.between[1])).collect()
}

const DUMBBELL: &str = r#"topology = { dumbbell = { profile = "plain", pairs = 2, bottleneck = { down = { rate = "1 Mbit/s" } } } }
flows = [{ name = "f", from = "left-*", to = "right-*", bytes = "1 kB" }]
"#;

#[test]
fn a_dumbbell_is_pairs_of_hosts_around_one_link() {
    let resolved = good(DUMBBELL);
    assert_eq!(resolved.routers, ["router-left", "router-right"]);
    assert_eq!(
        joins(&resolved),
        [
            "bottleneck: router-left-router-right",
            "access-left-1: left-1-router-left",
            "access-right-1: router-right-right-1",
            "access-left-2: left-2-router-left",
            "access-right-2: router-right-right-2",
        ]
    );
    let link = serde_json::to_value(&resolved.links[0]).unwrap();
    assert_eq!((&link["down"]["rate"], &link["up"]["rate"]), (&json!("1 Mbit/s"), &json!("1 Mbit/s")));
    let flows: Vec<_> = resolved.flows.iter().map(|flow| (&*flow.name, &*flow.from, &*flow.to)).collect();
    assert_eq!(flows, [("f-1", "left-1", "right-1"), ("f-2", "left-2", "right-2")]);
    assert!(sim::World::new(resolved.to_spec().unwrap()).is_ok());
}

#[test]
fn a_chain_has_its_links_in_turn() {
    let resolved = good(
        r#"topology = { chain = { profile = "plain", hops = 3, links = [
            { down = { rate = "1 Mbit/s" }, up = { rate = "2 Mbit/s" } }, { preset = "slow" }] } }
        flows = [{ name = "f", from = "left", to = "right", bytes = "1 kB" }]"#,
    );
    assert_eq!(
        joins(&resolved),
        ["hop-1: left-router-1", "hop-2: router-1-router-2", "hop-3: router-2-right"]
    );
    let rates: Vec<_> =
        resolved.links.iter().map(|link| link.up.rate.map(|rate| rate.bits_per_sec())).collect();
    assert_eq!(rates, [Some(2_000_000), Some(9_600), Some(2_000_000)]);
}

#[test]
fn a_parking_lot_has_hosts_around_each_of_its_bottlenecks() {
    let resolved = good(
        r#"topology = { parking-lot = { profile = "plain", hops = 2, bottlenecks = { down = { rate = "1 Mbit/s" } } } }
        flows = [
            { name = "long", from = "left", to = "right", bytes = "1 kB" },
            { name = "cross", from = "enter-*", to = "leave-*", bytes = "1 kB" },
        ]"#,
    );
    assert_eq!(
        joins(&resolved),
        [
            "hop-1: router-1-router-2",
            "hop-2: router-2-router-3",
            "access-left: left-router-1",
            "access-right: router-3-right",
            "access-enter-1: enter-1-router-1",
            "access-leave-1: router-2-leave-1",
            "access-enter-2: enter-2-router-2",
            "access-leave-2: router-3-leave-2",
        ]
    );
    let names: Vec<_> = resolved.flows.iter().map(|flow| &*flow.name).collect();
    assert_eq!(names, ["long", "cross-1", "cross-2"]);
}

#[test]
fn a_file_says_more_of_a_topologys_hosts_and_has_others_beside_them() {
    let text = format!(
        "{DUMBBELL}{}",
        r#"[hosts.left-2]
        tcp = { ack.delayed.timeout = "100 ms" }
        [hosts.server]
        profile = "derived"
        [[links]]
        name = "lan"
        between = ["server", "router-left"]
        down = {}
        up = {}
        "#
    );
    let resolved = good(&text);
    let host = |name: &str| resolved.hosts.iter().find(|host| host.name == name).unwrap();
    assert_eq!(host("left-2").tcp["ack"]["delayed"]["timeout"], "100 ms");
    assert_eq!((&*host("left-2").profile, &*host("server").profile), ("plain", "derived"));
    assert_eq!((&*resolved.links[0].name, resolved.links.len()), ("lan", 6));
}

#[test]
fn an_override_reaches_the_template_and_what_it_stands_for() {
    let sets = [
        "topology.dumbbell.pairs=3",
        "links.access-left-3.down.propagation=5 ms",
        "links.bottleneck.up.rate=9600 bit/s",
        "hosts.right-3.profile=derived",
    ];
    let resolved = read(DUMBBELL, &sets).unwrap_or_else(|error| panic!("{error}"));
    let link = |name: &str| {
        serde_json::to_value(resolved.links.iter().find(|link| link.name == name).unwrap()).unwrap()
    };
    assert_eq!((resolved.flows.len(), resolved.links.len()), (3, 7));
    assert_eq!(link("access-left-3")["down"]["propagation"], "5 ms");
    assert_eq!(
        (&link("bottleneck")["up"]["rate"], &link("bottleneck")["down"]["rate"]),
        (&json!("9600 bit/s"), &json!("1 Mbit/s"))
    );
    assert_eq!(resolved.hosts.iter().find(|host| host.name == "right-3").unwrap().profile, "derived");
}

#[test]
fn a_star_in_one_name_means_every_other_host_and_counts_in_order() {
    let text = DUMBBELL.replace("pairs = 2", "pairs = 11").replace("\"right-*\"", "\"right-1\"");
    let names: Vec<_> = good(&text).flows.iter().map(|flow| format!("{}>{}", flow.from, flow.to)).collect();
    assert_eq!((names.len(), &*names[8], &*names[10]), (11, "left-9>right-1", "left-11>right-1"));
    let all = DUMBBELL.replace("\"left-*\"", "\"*\"").replace("\"right-*\"", "\"right-1\", count = 2");
    let names: Vec<_> = good(&all).flows.into_iter().map(|flow| flow.name).collect();
    assert_eq!(names, ["f-left-1-1", "f-left-1-2", "f-left-2-1", "f-left-2-2", "f-right-2-1", "f-right-2-2"]);
}

#[test]
fn what_is_wrong_with_a_template_is_said_with_line_and_key() {
    let cases = [
        ("pairs = 2", "pairs = 0", "good.toml:1: topology.dumbbell.pairs: none at all; write 1 to 10000"),
        (
            "pairs = 2",
            "pair = 2",
            "good.toml:1: topology.dumbbell.pair: there is no key \"pair\" here; did you mean \"pairs\"?",
        ),
        (
            "dumbbell",
            "dumbell",
            "good.toml:1: topology.dumbell: \"dumbell\" is not a topology; write one of chain, dumbbell, parking-lot",
        ),
        ("\"plain\"", "\"plian\"", "good.toml:1: topology.dumbbell.profile: there is no profile \"plian\""),
        (
            "rate = \"1 Mbit/s\"",
            "rate = 5",
            "good.toml:1: topology.dumbbell.bottleneck.down.rate: 5 has no unit",
        ),
        (
            "rate = \"1 Mbit/s\"",
            "rat = 5",
            "good.toml:1: topology.dumbbell.bottleneck.down.rat: there is no key \"rat\"",
        ),
        (
            "bottleneck = {",
            "bottleneck = { name = \"x\", ",
            "good.toml:1: topology.dumbbell.bottleneck.name: the topology says",
        ),
        (
            "{ down = { rate = \"1 Mbit/s\" } }",
            "[{}, {}]",
            "good.toml:1: topology.dumbbell.bottleneck: there is one bottleneck only",
        ),
        (
            "{ down = { rate = \"1 Mbit/s\" } }",
            "5",
            "good.toml:1: topology.dumbbell.bottleneck: integer 5 does not belong here; write a table",
        ),
        ("\"left-*\"", "\"lift-*\"", "good.toml:2: flows.f.from: no host is called like \"lift-*\"; "),
        ("\"right-*\"", "\"rigth-*\"", "good.toml:2: flows.f.to: there is no host \"rigth-1\"; "),
        (
            "\"right-*\"",
            "\"right-1\", class = 8",
            "good.toml:2: flows.f.class: there is no traffic class 8; write 0",
        ),
    ];
    for (from, to, expected) in cases {
        assert!(DUMBBELL.contains(from), "{from}");
        let said = said(&DUMBBELL.replacen(from, to, 1));
        assert!(said.starts_with(expected), "for {to}\nsaid:     {said}\nexpected: {expected}");
    }
}

#[test]
fn hosts_of_two_parts_that_no_link_joins_are_named() {
    let text = format!(
        "{DUMBBELL}{}",
        r#"[[flows]]
        name = "x"
        from = "left-1"
        to = "lone"
        bytes = "1 kB"
        "#
    );
    let text = text.replace("flows = [{ name = \"f\", from = \"left-*\", to = \"right-*\", bytes = \"1 kB\" }]\n", "routers = [\"far\"]\n[hosts.lone]\nprofile = \"plain\"\n[[links]]\nname = \"island\"\nbetween = [\"lone\", \"far\"]\ndown = {}\nup = {}\n");
    let said = said(&text);
    assert!(said.contains("flows.x.to: no links lead from \"left-1\" to \"lone\"; join them"), "{said}");
}

#[test]
fn background_takes_what_its_link_carries_and_says_what_it_does_not_find() {
    let flow = |of: &str| {
        format!(
            "{}flows = [{{ name = \"others\", from = \"left-1\", to = \"right-1\", until = \"9 s\", workload = {{ background = {{ share = 0.2, of = \"{of}\" }} }} }}]\n",
            DUMBBELL.lines().next().unwrap().to_owned() + "\n"
        )
    };
    let workload = serde_json::to_value(&good(&flow("bottleneck.down")).flows[0].workload).unwrap();
    assert_eq!(
        workload["background"]["lines"][0],
        json!({ "rate": "1 Mbit/s", "mtu": "1500 bytes", "framing": "0 bytes" })
    );
    let cases = [
        ("bottleneck", "\"bottleneck\" is no direction of a link; write a link's name and its direction"),
        ("bottlenek.down", "there is no link \"bottlenek\"; did you mean \"bottleneck\"?"),
        ("access-left-1.down", "the link \"access-left-1\" has a direction without a rate"),
    ];
    for (of, expected) in cases {
        let said = said(&flow(of));
        let place = "good.toml:2: flows.others.workload.background.of: ";
        assert!(said.starts_with(&format!("{place}{expected}")), "{said}");
    }
    let trickle = "down = { capacity = { schedule = { steps = [{ at = \"0 s\", rate = \"0 bit/s\" }, { at = \"9 h\", rate = \"1 bit/s\" }], repeat = \"10 h\" } }";
    let said_of_trickle = said(&flow("bottleneck.down").replace("down = { rate = \"1 Mbit/s\"", trickle));
    assert!(
        said_of_trickle.contains("\"bottleneck\" has a direction of less than 1 bit/s in the mean"),
        "{said_of_trickle}"
    );
    assert!(said(&flow("bottleneck.down").replace("0.2", "-1")).contains("background.share: -1 is no share"));
}

#[test]
fn an_empty_list_of_links_is_refused_wherever_it_stands() {
    for (template, at) in [
        ("dumbbell = { profile = \"plain\", pairs = 1, bottleneck = [] }", "dumbbell.bottleneck"),
        ("dumbbell = { profile = \"plain\", pairs = 1, bottleneck = {}, left = [] }", "dumbbell.left"),
        ("dumbbell = { profile = \"plain\", pairs = 1, bottleneck = {}, right = [] }", "dumbbell.right"),
        ("chain = { profile = \"plain\", links = [] }", "chain.links"),
        ("chain = { profile = \"plain\", hops = 2, links = [] }", "chain.links"),
        ("parking-lot = { profile = \"plain\", hops = 2, bottlenecks = [] }", "parking-lot.bottlenecks"),
        ("parking-lot = { profile = \"plain\", bottlenecks = {}, access = [] }", "parking-lot.access"),
    ] {
        let said = said(&format!("topology = {{ {template} }}"));
        let expected =
            format!("good.toml:1: topology.{at}: there is no link in the list; write a table like");
        assert!(said.starts_with(&expected), "said:     {said}\nexpected: {expected}");
    }
}

const ALIKE: &str = r#"routers = ["r"]
[hosts]
user = { profile = "plain", count = 3 }
server = { profile = "plain" }
[[links]]
name = "access"
between = ["user-*", "r"]
down = { rate = "2 Mbit/s", propagation = { once = { uniform = ["1 ms", "9 ms"] } } }
up = { rate = "1 Mbit/s" }
[[links]]
name = "core"
between = ["r", "server"]
down = { rate = "10 Mbit/s" }
up = { rate = "10 Mbit/s" }
[[flows]]
name = "f"
from = "server"
to = "user-*"
bytes = "1 kB"
"#;

#[test]
fn a_host_with_a_count_is_several_alike_each_with_a_link() {
    let sets = ["hosts.user.tcp.initial_window=2 segments", "links.access.up.rate=3 Mbit/s"];
    let resolved = read(ALIKE, &sets).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        joins(&resolved),
        ["access-1: user-1-r", "access-2: user-2-r", "access-3: user-3-r", "core: r-server"]
    );
    let flows: Vec<_> = resolved.flows.iter().map(|flow| (&*flow.name, &*flow.to)).collect();
    assert_eq!(flows, [("f-1", "user-1"), ("f-2", "user-2"), ("f-3", "user-3")]);
    let rates: Vec<_> = resolved.links.iter().map(|link| link.up.rate.unwrap().bits_per_sec()).collect();
    assert_eq!(rates, [3_000_000, 3_000_000, 3_000_000, 10_000_000]);
    let hosts: Vec<&str> = resolved.hosts.iter().map(|host| &*host.name).collect();
    assert_eq!(hosts, ["server", "user-1", "user-2", "user-3"]);
    let last = serde_json::to_value(&resolved.hosts[3]).unwrap();
    assert_eq!(last["tcp"]["initial_window"], "2 segments");
    assert!(sim::World::new(resolved.to_spec().unwrap()).is_ok());
}

#[test]
fn several_hosts_that_cannot_be_are_refused_at_their_place() {
    for (from, to, expected) in [
        ("count = 3", "count = 0", "good.toml:3: hosts.user.count: none at all; write 1 to 10000"),
        ("count = 3", "count = 20000", "good.toml:3: hosts.user.count: 20000 are too many; write 1 to 10000"),
        (
            "count = 3",
            "count = \"many\"",
            "good.toml:3: hosts.user.count: \"many\" is no number of hosts; write 1 or more",
        ),
        (
            "count = 3",
            "count = 3, address = \"10.0.0.1\"",
            "good.toml:3: hosts.user.address: several hosts cannot have one address",
        ),
        (
            "server = { profile = \"plain\" }",
            "server = { profile = \"plain\" }\nuser-2 = { profile = \"plain\" }",
            "good.toml:5: hosts.user-2: there is a host \"user-2\" already",
        ),
        (
            "[\"user-*\"",
            "[\"usr-*\"",
            "good.toml:7: links.access.between.0: no host is called like \"usr-*\"",
        ),
        ("to = \"user-*\"", "to = \"user\"", "good.toml:18: flows.f.to: there is no host \"user\""),
    ] {
        assert!(ALIKE.contains(from), "{from}");
        let said = said(&ALIKE.replace(from, to));
        assert!(said.contains(expected), "said:     {said}\nexpected: {expected}");
    }
}

//! What `--set` changes, and what is said about its mistakes.

use serde_json::json;

use super::{GOOD, read};

fn said_of_override(text: &str) -> String {
    read(GOOD, &[text]).expect_err("it is wrong").to_string()
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
fn a_mistaken_override_is_named_in_place_of_a_line() {
    let cases = [
        ("links.0.down.rate", "--set links.0.down.rate: there is no = in it; write path=value"),
        ("links..rate=5", "--set links..rate=5: the text before = is no path of keys"),
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
            "--set name.first=x: name.first: this path leads through a value; only tables have keys",
        ),
    ];
    for (text, expected) in cases {
        let said = said_of_override(text);
        assert!(said.starts_with(expected), "said:     {said}\nexpected: {expected}");
    }
}

#[test]
fn an_override_of_a_parameter_beside_the_name_is_answered_with_the_path_to_write() {
    for (text, expected) in [
        (
            "hosts.mobile.tcp.ack.every=3 segments",
            "hosts.mobile.tcp.ack.every: \"every\" is no name to choose; write hosts.mobile.tcp.ack.delayed.every=3 segments",
        ),
        (
            "hosts.mobile.tcp.congestion.algorithm=cubic",
            "hosts.mobile.tcp.congestion.algorithm: a choice is its name; write hosts.mobile.tcp.congestion=cubic",
        ),
        (
            "links.lasthop.down.propagation.mean=1 s",
            "links.lasthop.down.propagation.mean: \"mean\" is no name to choose; one of static, sequence, uniform",
        ),
    ] {
        let (said, expected) = (said_of_override(text), format!("--set {text}: {expected}"));
        assert!(said.starts_with(&expected), "said:     {said}\nexpected: {expected}");
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

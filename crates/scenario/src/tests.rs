//! What loading a scenario gives.

mod mistakes;
mod overrides;

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

//! Shared channels in scenarios, and the message for each mistake.

use crate::tests::read;
use crate::{InputError, Resolved};

const GOOD: &str = r#"name = "cell"
routers = ["node-b"]
[hosts]
server = { profile = "plain" }
caller = { profile = "plain", count = 2 }
[[links]]
name = "core"
between = ["server", "node-b"]
down = {}
up = {}
[[links]]
name = "radio"
between = ["node-b", "caller-*"]
up = {}
cell = { scheduler = "max-rate" }
user = { queue_limit = "100 kB" }
[[flows]]
name = "call"
from = "server"
to = "caller-*"
until = "10 s"
workload = { voip = { budget = "80 ms" } }
"#;

fn good() -> Resolved {
    read(GOOD, &[]).expect("it is right")
}

/// Line, key and message of the error, with `from` replaced by `to`.
fn said(from: &str, to: &str) -> (Option<usize>, String) {
    assert!(GOOD.contains(from), "{from} is not in the scenario");
    let error: InputError = read(&GOOD.replacen(from, to, 1), &[]).expect_err("it is wrong");
    (error.line(), format!("{}: {}; {}", error.key, error.message, error.help))
}

#[test]
fn a_star_makes_users_of_one_channel_with_the_budgets_of_their_calls() {
    let resolved = good();
    assert_eq!(resolved.cells.len(), 1);
    let cell = &resolved.cells[0];
    let links: Vec<&str> = cell.users.iter().map(|user| user.link.as_str()).collect();
    assert_eq!((cell.name.as_str(), &links[..]), ("radio", &["radio-1", "radio-2"][..]));
    let user = &cell.users[0].config;
    assert_eq!(user.budget, Some(units::Duration::from_millis(80)));
    assert_eq!(user.min_rate.bits_per_sec(), 13_600);
    let again = Resolved::from_json(&resolved.json()).expect("a resolved scenario is read as it was written");
    assert_eq!(again.hash(), resolved.hash());
    assert_eq!(again.to_spec().expect("it is a specification").cells[0].users.len(), 2);
}

#[test]
fn links_that_name_a_channel_share_it() {
    let more = "[[links]]\nname = \"fixed\"\nbetween = [\"node-b\", \"guest\"]\nup = {}\nchannel = \"radio\"\n\
                user = { place = [\"100 m\", \"0 m\"] }\n[[flows]]";
    let text = GOOD.replacen("[[flows]]", more, 1).replacen(
        "caller =",
        "guest = { profile = \"plain\" }\ncaller =",
        1,
    );
    let resolved = read(&text, &[]).expect("it is right");
    assert_eq!(resolved.cells[0].users.len(), 3);
    let other = text.replacen("channel = \"radio\"", "channel = \"radoi\"", 1);
    let error = read(&other, &[]).expect_err("there is none").to_string();
    assert!(error.contains("no channel \"radoi\"") && error.contains("radio"), "{error}");
}

#[test]
fn mistakes_are_reported_with_line_key_and_remedy() {
    let place = "user = { place = [\"90 km\", \"0 m\"] }";
    let blocks = "cell = { adaptation = { blocks = [{ bits = 200, codes = 1, needs = \"-3 dB\" }, { bits = 100, codes = 1, \
                  needs = \"0 dB\" }] } }";
    for (from, to, line, words) in [
        ("user = { queue_limit = \"100 kB\" }", place, 16, "outside the plan"),
        ("user = { queue_limit = \"100 kB\" }", "user = { budget = \"1 ms\" }", 16, "shorter than a TTI"),
        ("\"max-rate\"", "\"mr-min\"", 15, "beta"),
        ("\"max-rate\"", "\"max-rat\"", 15, "max-rate"),
        ("cell = { scheduler = \"max-rate\" }", blocks, 15, "not larger"),
        ("cell = { scheduler = \"max-rate\" }", "cell = { layout = { sites = 5 } }", 15, "write 1, 7 or 19"),
        ("cell = { scheduler = \"max-rate\" }", "cell = { mobility = { filter = 30 } }", 15, "from 0 to 19"),
        ("\"100 kB\"", "\"500 ms\"", 16, "budget = \"500 ms\""),
        ("user = { queue_limit = \"100 kB\" }", "user = { heading = \"90 deg\" }", 16, "add mobility"),
        ("user = { queue_limit = \"100 kB\" }", "user = { speed = \"-3 km/h\" }", 16, "too little"),
    ] {
        let (at, text) = said(from, to);
        assert!(at == Some(line) && text.contains(words), "{at:?} {text}");
    }
}

#[test]
fn users_who_move_are_written_as_they_are_read_and_others_are_as_they_were() {
    let text = GOOD
        .replacen(
            "\"max-rate\" }",
            "\"max-rate\", mobility = { hysteresis = \"2 dB\", held = \"lost\" } }",
            1,
        )
        .replacen("queue_limit = \"100 kB\"", "speed = \"50 km/h\", heading = \"90 deg\"", 1);
    let resolved = read(&text, &[]).expect("it is right");
    let again = Resolved::from_json(&resolved.json()).expect("a resolved scenario is read as it was written");
    assert_eq!(again.hash(), resolved.hash());
    let cell = &again.to_spec().expect("it is a specification").cells[0];
    assert!(cell.config.mobility.is_some_and(|mobility| mobility.hysteresis.0 == 2.0));
    assert_eq!(cell.users[1].config.heading.map(|heading| heading.0), Some(90.0));
    let still = good().json();
    assert!(!["mobility", "heading"].iter().any(|key| still.contains(key)), "{still}");
}

#[test]
fn a_link_has_one_way_down() {
    let (_, none) = said("cell = { scheduler = \"max-rate\" }\nuser = { queue_limit = \"100 kB\" }\n", "");
    assert!(none.contains("\"down\" is missing"), "{none}");
    let (_, both) = said("cell = { scheduler", "down = {}\ncell = { scheduler");
    assert!(both.contains("takes the place"), "{both}");
}

#[test]
fn only_a_shared_channel_has_users() {
    let (line, text) = said("cell = { scheduler = \"max-rate\" }", "down = {}");
    assert!(
        line == Some(16) && text.contains("no shared channel") && text.contains("leave user out"),
        "{line:?} {text}"
    );
}

#[test]
fn a_flow_between_a_kernel_and_a_simulated_host_is_refused() {
    let (line, text) = said("[[links]]", "[live]\nsimulated = [\"caller-*\"]\n[[links]]");
    assert!(line == Some(7) && text.contains("joins a simulated host and a kernel"), "{line:?} {text}");
    let (_, unknown) = said("[[links]]", "[live]\nsimulated = [\"coller-*\"]\n[[links]]");
    assert!(unknown.contains("no host is called like"), "{unknown}");
}

#[test]
fn headers_are_not_compressed_twice() {
    let compressed =
        |headers: &str| format!("workload = {{ voip = {{ budget = \"80 ms\", headers = \"{headers}\" }} }}");
    let workload = "workload = { voip = { budget = \"80 ms\" } }";
    let cell = "cell = { scheduler = \"max-rate\" }";
    let rohc = "cell = { scheduler = \"max-rate\", compression = { rohc = {} } }";
    let text = |cell_text: &str, headers: &str| {
        GOOD.replacen(cell, cell_text, 1).replacen(workload, &compressed(headers), 1)
    };
    assert!(read(&text(cell, "compressed"), &[]).is_ok() && read(&text(rohc, "full"), &[]).is_ok());
    let error = read(&text(rohc, "compressed"), &[]).expect_err("they would be compressed twice");
    assert_eq!((error.line(), &*error.key), (Some(22), "flows.call.workload.voip.headers"));
    assert!(error.message.contains("the link \"radio-1\" compresses them as well"), "{}", error.message);
    // On the way back nothing is compressed.
    let up = GOOD.replacen("up = {}\ncell", "up = { compression = { vj = {} } }\ncell", 1);
    assert!(read(&up.replacen(workload, &compressed("compressed"), 1), &[]).is_ok());
}

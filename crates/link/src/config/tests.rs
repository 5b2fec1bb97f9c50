//! Configurations as written in files: accepted and refused ones, and the positions in messages.

use super::*;
use units::text::{Packets, QueueLimit};

fn read(text: &str) -> Result<Config, String> {
    toml::from_str(text).map_err(|error: toml::de::Error| error.message().to_owned())
}

/// Path and message of the error of `validate`.
fn refused(text: &str) -> (String, String) {
    let error = read(text).expect("readable").validate().expect_err("must be refused");
    assert!(!error.help.is_empty());
    (error.path, error.message)
}

#[test]
fn a_whole_direction_is_read() {
    let config = read(
        r#"
        rate = "9600 bit/s"
        propagation = "200 ms"
        framing = "7 bytes"
        queue = { limit = "7 packets", discipline = "tail-drop", overflow = "drop" }
        send_buffer = { limit = "1220 bytes", held_until = "delivery" }
        receive_buffer = { limit = "1220 bytes", order = "in-order" }
        allocation_delay = { exponential = { mean = "1 s" } }
        allocation = "after-idle"
        available_rate = ["9600 bit/s", "4800 bit/s"]
        rate_change_interval = "10 s"
        errors = { per = "packet", probability = 0.01, effect = "delay", delay = { uniform = ["0.5 s", "6 s"] } }
        events = [{ packet = 20, delay = "6 s" }, { packet = 21, effect = "drop", counted_at = "transmission" }]
        dropper = { probability = 0.01 }
        "#,
    )
    .expect("readable");
    assert_eq!(config.validate(), Ok(()));
    assert_eq!(config.queue.limit, Some(QueueLimit::Packets(Packets(7))));
    assert_eq!(config.send_buffer.map(|buffer| buffer.held_until), Some(HeldUntil::Delivery));
    assert_eq!(config.events[0].effect, Effect::Delay);
    assert_eq!(config.events[1].counted_at, CountedAt::Transmission);
    let written = serde_json::to_value(&config).expect("it can be written");
    assert_eq!(serde_json::from_value::<Config>(written).expect("and read"), config);
}

#[test]
fn nothing_is_a_valid_direction_and_is_written_short() {
    let config = read("").expect("readable");
    assert_eq!((config.validate(), &config), (Ok(()), &Config::default()));
    let written = serde_json::to_value(&config).expect("it can be written");
    assert_eq!(written, serde_json::json!({ "queue": { "discipline": "tail-drop", "overflow": "drop" } }));
}

#[test]
fn red_is_read_in_sarolahtis_order_and_written_back() {
    let text = r#"queue = { discipline = { red = { min = "2 packets", max = "7 packets", weight = 0.15, max_probability = 0.3 } } }"#;
    let config = read(text).expect("readable");
    assert_eq!(config.validate(), Ok(()));
    let written = serde_json::to_string(&config.queue.discipline).expect("it can be written");
    assert_eq!(
        written,
        r#"{"red":{"min":"2 packets","max":"7 packets","weight":0.15,"max_probability":0.3}}"#
    );
}

#[test]
fn red_without_parameters_has_those_that_floyd_recommends() {
    let config = read("queue = { discipline = \"red\" }").expect("readable");
    assert_eq!(config.validate(), Ok(()));
    let written = serde_json::to_string(&config.queue.discipline).expect("it can be written");
    assert_eq!(
        written,
        r#"{"red":{"min":"5 packets","max":"15 packets","weight":0.002,"max_probability":0.1}}"#
    );
}

#[test]
fn unknown_keys_and_names_are_refused() {
    assert!(read("speed = \"1 bit/s\"").expect_err("unknown").contains("unknown field `speed`"));
    assert!(read("queue = { size = \"1 packet\" }").expect_err("unknown").contains("unknown field `size`"));
    let fred = read("queue = { discipline = \"fred\" }").expect_err("unknown");
    let names: Vec<&str> = crate::queue::ENTRIES.iter().map(|entry| entry.id).collect();
    let names = names.join(", ");
    assert_eq!(fred, format!("\"fred\" is not a queue discipline; write one of {names}"));
    let bare = read("queue = { discipline = \"pdpc\" }").expect_err("it needs parameters");
    assert!(bare.contains("missing field `"), "{bare}");
    assert!(
        read("dropper = { probability = 1.5 }").expect_err("over 1").contains("1.5 is not a probability")
    );
    assert!(read("rate = \"-1 bit/s\"").expect_err("negative").contains("negative"));
    assert!(read("rate = 9600").expect_err("bare").contains("9600 has no unit"));
}

#[test]
fn impossible_queues_are_refused() {
    assert_eq!(refused("queue = { limit = \"0 packets\" }").0, "queue.limit");
    assert_eq!(refused("queue = { limit = \"0 bytes\" }").0, "queue.limit");
    assert_eq!(refused("queue = { limit_bytes = \"0 bytes\" }").0, "queue.limit_bytes");
    assert_eq!(refused("queue = { limit = \"1 kB\", limit_bytes = \"1 kB\" }").0, "queue.limit_bytes");
    assert_eq!(refused("queue = { overflow = \"stop\" }").0, "queue.overflow");
}

#[test]
fn impossible_red_parameters_are_refused() {
    let red = |min: &str, max: &str, weight: &str| {
        refused(&format!(
            "queue = {{ discipline = {{ red = {{ min = \"{min} packets\", max = \"{max} packets\", weight = {weight}, max_probability = 0.1 }} }} }}"
        ))
    };
    let (path, message) = red("7", "2", "0.1");
    assert_eq!(path, "queue.discipline.red.min");
    assert_eq!(message, "min (7 packets) is not below max (2 packets)");
    assert_eq!(red("2", "2", "0.1").0, "queue.discipline.red.min");
    assert_eq!(red("2", "7", "0.0").0, "queue.discipline.red.weight");
}

#[test]
fn impossible_rates_are_refused() {
    assert_eq!(refused("rate = \"0 bit/s\"").0, "rate");
    assert_eq!(refused("available_rate = \"1 bit/s\"").0, "available_rate");
    assert_eq!(refused("rate = \"1 bit/s\"\nrate_change_interval = \"1 s\"").0, "rate_change_interval");
    let zero = "rate = \"1 bit/s\"\navailable_rate = [\"0 bit/s\", \"0 bit/s\"]";
    assert_eq!(refused(zero).0, "available_rate");
    let never = "rate = \"1 bit/s\"\navailable_rate = \"2 bit/s\"\nrate_change_interval = \"0 s\"";
    assert_eq!(refused(never).0, "rate_change_interval");
}

#[test]
fn impossible_buffers_and_delays_are_refused() {
    assert_eq!(refused("send_buffer = { limit = \"0 bytes\" }").0, "send_buffer.limit");
    assert_eq!(refused("receive_buffer = { limit = \"0 bytes\" }").0, "receive_buffer.limit");
    assert_eq!(refused("allocation = \"after-idle\"").0, "allocation");
    assert_eq!(refused("propagation = { uniform = [\"2 s\", \"1 s\"] }").0, "propagation.uniform");
}

#[test]
fn sizes_that_no_packet_has_are_refused() {
    let huge = "18446744073709551615 bytes";
    assert_eq!(refused(&format!("framing = \"{huge}\"")).0, "framing");
    let frames =
        |size: &str| format!("frames = {{ size = \"{size}\", payload = \"20 bytes\", probability = 0.1 }}");
    assert_eq!(refused(&frames(huge)).0, "frames.size");
    assert_eq!(refused(&frames("65536 bytes")).0, "frames.size");
    let largest = format!("framing = \"65535 bytes\"\n{}", frames("65535 bytes"));
    assert_eq!(read(&largest).expect("readable").validate(), Ok(()));
}

#[test]
fn impossible_errors_are_refused() {
    assert_eq!(refused("errors = { probability = 0.1, effect = \"delay\" }").0, "errors.delay");
    assert_eq!(
        refused("errors = { probability = 0.1, effect = \"drop\", delay = \"1 s\" }").0,
        "errors.delay"
    );
    let nested =
        "errors = { probability = 0.1, effect = \"delay\", delay = { uniform = [\"2 s\", \"1 s\"] } }";
    assert_eq!(refused(nested).0, "errors.delay.uniform");
    assert_eq!(refused("events = [{ packet = 0, delay = \"1 s\" }]").0, "events[0].packet");
    assert_eq!(refused("events = [{ packet = 1 }]").0, "events[0].delay");
    let twice = "events = [{ packet = 4, delay = \"1 s\" }, { packet = 4, effect = \"drop\" }]";
    assert_eq!(refused(twice), ("events[1].packet".into(), "packet 4 has an event already".into()));
}

/// The limit of the queue of a link with these lines, in bytes.
fn limit_of(lines: &str) -> u64 {
    let mut config = read(lines).expect("readable");
    config.validate().expect("right");
    config.settle_queue_limits();
    let Some(QueueLimit::Bytes(bytes)) = config.queue.limit else { unreachable!("{:?}", config.queue) };
    bytes.0
}

#[test]
fn a_limit_in_time_is_what_the_link_transmits_in_it() {
    assert_eq!(limit_of("rate = \"2 Mbit/s\"\nqueue = { limit = \"500 ms\" }"), 125_000);
    let schedule = "capacity = { schedule = { repeat = \"2 s\", steps = [
        { at = \"0 s\", rate = \"1 Mbit/s\" }, { at = \"1 s\", rate = \"3 Mbit/s\" }] } }";
    assert_eq!(limit_of(&format!("{schedule}\nqueue = {{ limit = \"500 ms\" }}")), 125_000);
    let drawn = "rate = \"9 Mbit/s\"\navailable_rate = { exponential = { mean = \"2 Mbit/s\" } }";
    assert_eq!(limit_of(&format!("{drawn}\nqueue = {{ limit = \"4 s\" }}")), 1_000_000);
}

#[test]
fn a_limit_in_time_of_each_sub_queue_is_what_the_whole_link_transmits_in_it() {
    let lines = "rate = \"2 Mbit/s\"
        queue = { limit = \"1 s\", discipline = { separate = { by = \"flow\", limit = \"500 ms\" } } }";
    let mut config = read(lines).expect("readable");
    config.validate().expect("right");
    config.settle_queue_limits();
    let limits: Vec<String> = config.queue.limits().map(|(_, limit)| limit.to_string()).collect();
    assert_eq!(limits, ["250 kB", "125 kB"]);
    let path = "queue.discipline.separate.limit".to_owned();
    assert_eq!(refused(lines.split_once('\n').expect("two lines").1).0, "queue.limit");
    let alone = "queue = { discipline = { separate = { by = \"flow\", limit = \"500 ms\" } } }";
    assert_eq!(refused(alone), (path, "a limit in time needs a rate, and the link has none".to_owned()));
}

#[test]
fn a_limit_in_time_without_a_mean_rate_is_refused() {
    let (path, message) = refused("queue = { limit = \"500 ms\" }");
    assert_eq!(
        (path.as_str(), message.as_str()),
        ("queue.limit", "a limit in time needs a rate, and the link has none")
    );
    let unknown = "rate = \"1 Mbit/s\"\navailable_rate = { uniform = [\"1 Mbit/s\", \"2 Mbit/s\"] }";
    assert_eq!(refused(&format!("{unknown}\nqueue.limit = \"500 ms\"")).0, "queue.limit");
    assert_eq!(refused("rate = \"1 Mbit/s\"\nqueue.limit = \"0 s\"").1, "a queue of 0 lets nothing wait");
    assert_eq!(
        refused("rate = \"1 Mbit/s\"\nqueue.limit = \"1 us\"").1,
        "the link transmits no byte in this time"
    );
    let twice = "rate = \"1 Mbit/s\"\nqueue = { limit = \"1 s\", limit_bytes = \"9 kB\" }";
    assert_eq!(refused(twice).1, "limit is in bytes already");
}

#[test]
fn an_error_reads_as_place_what_and_what_would_be_right() {
    let error = read("rate = \"0 bit/s\"").expect("readable").validate().expect_err("no rate");
    assert_eq!(error.to_string(), "rate: a rate of zero transmits nothing; write a rate like \"9600 bit/s\"");
}

#[test]
fn files_are_read_wherever_a_distribution_names_one() {
    let mut config = read(
        r#"
        rate = "1 Mbit/s"
        available_rate = { file = "rates" }
        rate_change_interval = { file = "intervals" }
        propagation = { file = "delays" }
        allocation_delay = { file = "delays" }
        errors = { probability = 0.1, effect = "delay", delay = { file = "delays" } }
        "#,
    )
    .expect("readable");
    assert_eq!(config.validate().expect_err("not read yet").path, "available_rate.file");
    let mut asked = Vec::new();
    config
        .load_files(&mut |path| {
            asked.push(path.to_owned());
            Ok(if path == "rates" { "1 Mbit/s" } else { "1 s" }.into())
        })
        .expect("values");
    assert_eq!(asked, ["delays", "rates", "intervals", "delays", "delays"]);
    assert_eq!(config.validate(), Ok(()));
}

#[test]
fn a_file_that_cannot_be_read_is_reported_at_its_key() {
    let mut config = read("propagation = { file = \"gone\" }").expect("readable");
    let error = config
        .load_files(&mut |path| Err(ConfigError::new("", format!("{path} is not there"), "name a file")))
        .expect_err("not there");
    assert_eq!((error.path.as_str(), error.message.as_str()), ("propagation.file", "gone is not there"));
}

#[test]
fn the_schema_knows_every_key_and_allows_no_other() {
    let schema = serde_json::to_value(schemars::schema_for!(Config)).expect("a schema");
    assert_eq!(schema["additionalProperties"], false);
    let keys: Vec<&String> = schema["properties"].as_object().expect("properties").keys().collect();
    for key in ["rate", "queue", "send_buffer", "receive_buffer", "errors", "events", "dropper", "framing"] {
        assert!(keys.iter().any(|known| *known == key), "{key} is missing");
    }
}

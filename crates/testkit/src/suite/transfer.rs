//! Every algorithm of every axis, alone in an otherwise standard profile, and every profile that ships,
//! carries a stream over a bad pipe.

use serde_json::{Value, json};
use tcp::axes;
use units::Duration;
use wire::Payload;

use super::{Case, CheckResult, ensure};
use crate::fate::{Trouble, drawn};
use crate::pair::{Pair, Side, User};
use crate::profile::{config, named, names, nested, overridden};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![];
    for axis in axes() {
        for entry in &axis.entries {
            let (name, id) = (axis.name, entry.id);
            // Timestamps are what some algorithms work on, and do not hurt the others.
            let base = json!({ "timestamps": true });
            let profile = overridden(&base, &nested(name, json!(id)));
            let profile = beside_its_receiver(profile);
            let run = Box::new(move || carries_a_stream(&profile));
            cases.push(Case { name: format!("{name}/{id}/carries_a_stream_over_a_bad_pipe"), run });
        }
    }
    for name in names() {
        let case = format!("profiles/{name}/carries_a_stream_over_a_bad_pipe");
        let run = Box::new(move || named(&name).and_then(|profile| carries_a_stream(&profile)));
        cases.push(Case { name: case, run });
    }
    cases
}

/// The profile with the receiver that a policy of polls needs which requests ACKs by an option: the one of its name.
pub(super) fn beside_its_receiver(mut profile: Value) -> Value {
    let poll = profile.get("poll").and_then(|poll| match poll {
        Value::Object(choice) => choice.keys().next().cloned(),
        choice => choice.as_str().map(str::to_owned),
    });
    if let Some(id) = poll.filter(|id| tcp::ack::ENTRIES.iter().any(|entry| entry.id == *id)) {
        profile["ack"] = json!(id);
    }
    profile
}

fn carries_a_stream(profile: &Value) -> CheckResult {
    let profile = config(profile).map_err(|wrong| wrong.to_string())?;
    if profile.ack.build().traits().lies {
        return Ok(());
    }
    let trouble = Trouble { lost: 40, duplicated: 20, delayed: 50, longest: Duration::from_millis(300) };
    let expected: Vec<u8> = (0..SIZE).map(Payload::pattern_byte).collect();
    for seed in 0..5 {
        let mut pair = Pair::new(&profile, &profile)
            .users(User::sends_pattern(SIZE), User::listens())
            .fates(drawn(seed, "pipe", trouble));
        let done = pair.run(Duration::from_secs(3000));
        let received = &pair.host(Side::Server).received;
        ensure(done && *received == expected, || format!("seed {seed}: {} of {SIZE} bytes", received.len()))?;
    }
    Ok(())
}

const SIZE: u64 = 100_000;

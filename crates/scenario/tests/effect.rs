//! Every key of a scenario, of its profiles and of its links has an effect: with another value the run is another, or
//! the value is refused, or the key is reported as unread.

use std::collections::BTreeMap;
use std::path::Path;

use lasthop_scenario::effect::{Clock, perturbations, reading};
use lasthop_scenario::{InputError, Resolved, Search};
use stacks::Run;
use units::Duration;

/// Scenarios with something of everything, and the seconds for which each runs: time for losses, timeouts, a handover.
const SCENARIOS: &[(&str, u64)] = &[
    ("quickstart", 25),
    ("quic-gprs", 25),
    ("dccp-lte", 6),
    ("queue-priority", 25),
    ("netem", 25),
    ("handover", 45),
    ("teach-cubic-bbr", 10),
    ("loss-bursts", 25),
    ("delay-spike", 25),
    ("live-cell", 2),
    ("proxy-snoop", 10),
    ("proxy-split", 10),
];

/// Beginnings of keys whose effect is not in these runs, with what a run needs to show it. Tests of the algorithms and
/// of the link show them.
const ELSEWHERE: &[(&str, &str)] = &[
    ("flows.*.workload.voip.robustness", "a call with frames that are lost"),
    ("hosts.*.dccp.send_queue", "a program that is faster than the window for long"),
    ("hosts.*.tcp.accecn_option", "Accurate ECN"),
    ("hosts.*.tcp.ack.linux-2000", "a sender that pauses"),
    ("hosts.*.tcp.congestion.reno.every_timeout_reduces", "two timeouts of one segment"),
    ("hosts.*.tcp.congestion.window-usage", "a sender that pauses, and a slow start of many round trips"),
    ("hosts.*.tcp.cwr_after_loss", "classic ECN"),
    ("hosts.*.tcp.drops_syn_options", "a path that loses SYNs"),
    ("hosts.*.tcp.ecn_capable", "Accurate ECN"),
    ("hosts.*.tcp.ecn_syns", "a path that loses SYNs"),
    ("hosts.*.tcp.keep_alive", "a connection that is idle for hours"),
    ("hosts.*.tcp.mtu_probing", "a link whose mtu the hosts do not know, and many round trips"),
    ("hosts.*.tcp.msl", "a connection after its end"),
    ("hosts.*.tcp.open_timeout", "a path that is gone"),
    ("hosts.*.tcp.paws", "a segment that is older than a whole sequence space"),
    ("hosts.*.tcp.recovery.new-reno", "several losses in one window without SACK"),
    ("hosts.*.tcp.recovery.rack-tlp.max_ack_delay", "a flight of one segment"),
    ("hosts.*.tcp.recovery.rack-tlp.reduces_once", "a timeout in fast recovery"),
    ("hosts.*.tcp.recovery.rack-tlp.tail_loss_probe", "the last segments of a flight that are lost"),
    ("hosts.*.tcp.recovery.rack-tlp.without_sack", "a peer without SACK"),
    ("hosts.*.tcp.retries", "a path that is gone"),
    ("hosts.*.tcp.rto.rfc6298.backoff", "two timeouts of one segment"),
    ("hosts.*.tcp.send_buffer.auto-tuning", "a window that outgrows the first buffer"),
    ("hosts.*.tcp.syn_retries", "a path that is gone"),
    ("hosts.*.tcp.timestamps_on_reset", "a connection that is reset"),
    ("hosts.*.tcp.timestamps_required", "a peer that leaves its timestamps out"),
    ("hosts.*.tcp.window.fixed.whole_segments", "a program that reads later than the window closes"),
    ("links.*.down.arq.at_limit", "a packet of which every attempt fails"),
    ("links.*.down.arq.limit", "a packet of which every attempt fails"),
    ("links.*.down.events.0.counted_at", "losses before the packet of the event"),
    ("links.*.down.spikes.length", "a spike"),
    ("links.*.up.arq.at_limit", "a packet of which every attempt fails"),
    ("links.*.up.arq.limit", "a packet of which every attempt fails"),
    ("links.*.up.queue", "a way back that is filled"),
    ("links.*.up.receive_buffer", "a way back that is filled"),
    ("links.*.up.send_buffer", "a way back that is filled"),
    ("measure.windows.beside", "a run of 40 s"),
];

fn search() -> Search {
    Search::new([Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")])
}

/// All that a run gives, as a text.
fn outcome(resolved: &Resolved, length: Duration) -> String {
    let mut short = resolved.clone();
    short.stop = Some(short.stop.map_or(length, |stop| stop.min(length)));
    let run = short.to_spec().map_err(|error| error.to_string()).and_then(|spec| {
        let mut run = Run::new(spec, &short.stacks()).map_err(|error| error.to_string())?;
        run.run().map_err(|error| error.to_string())?;
        Ok(run.finish())
    });
    blake3::hash(format!("{run:?}").as_bytes()).to_hex().to_string()
}

/// A key without the names and numbers of what there are several of.
fn form(key: &str) -> String {
    let mut steps: Vec<&str> = key.split('.').collect();
    if ["hosts", "links", "flows", "proxies"].contains(&steps[0]) && steps.len() > 1 {
        steps[1] = "*";
    }
    // The TCP of a flow, and of a side of a proxy, has the keys of a host's.
    if steps[0] == "proxies" && steps.get(3) == Some(&"tcp") {
        steps.remove(2);
    }
    if steps.get(2) == Some(&"tcp") {
        steps[0] = "hosts";
    }
    steps.join(".")
}

/// What changes of a key do, from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    /// Every other value is refused.
    Refused,
    /// No run reads the key, which is reported.
    Reported,
    /// The run is the same, and nothing says so.
    Silent,
    /// The run is another.
    Run,
}

/// The effect of one change; none if the value means what stands there already.
fn effect(
    change: &Result<Resolved, InputError>,
    before: &Resolved,
    run: &str,
    length: Duration,
) -> Option<Effect> {
    match change {
        Err(_) => Some(Effect::Refused),
        Ok(other) if reading(other, Clock::Virtual) == reading(before, Clock::Virtual) => None,
        Ok(other) if outcome(other, length) == *run => Some(Effect::Silent),
        Ok(_) => Some(Effect::Run),
    }
}

/// The greatest effect of any value of each key in the scenarios; keys with an effect on a run are not tried again.
fn effects() -> BTreeMap<String, Effect> {
    let mut found: BTreeMap<String, Effect> = BTreeMap::new();
    for (name, seconds) in SCENARIOS {
        let length = Duration::from_secs(*seconds);
        let before = lasthop_scenario::load(name, &[] as &[&str], None, &search())
            .expect("a shipped scenario is right");
        let run = outcome(&before, length);
        let perturbations = perturbations(name, &search()).expect("a shipped scenario is right");
        for (at, (key, _)) in perturbations.changes().enumerate() {
            let key = form(&key);
            let known = found.get(&key).copied().unwrap_or(Effect::Refused);
            if known < Effect::Run {
                let effect = effect(&perturbations.resolve(at), &before, &run, length);
                found.insert(key, known.max(effect.unwrap_or(Effect::Reported)));
            }
        }
    }
    found
}

#[test]
fn every_key_changes_a_run_or_is_refused_or_is_reported() {
    let effects = effects();
    let is_known = |key: &str| ELSEWHERE.iter().any(|(other, _)| key.starts_with(other));
    let silent = effects.iter().filter(|(key, effect)| **effect == Effect::Silent && !is_known(key));
    let silent: Vec<&String> = silent.map(|(key, _)| key).collect();
    assert!(silent.is_empty(), "{} keys without effect: {silent:#?}", silent.len());
}

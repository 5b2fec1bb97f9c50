//! Every detector of false loss signals.

use std::sync::Arc;

use registry::Algorithm;
use serde_json::{Value, json};
use tcp::spurious::{ENTRIES, Needs, Spurious};
use tcp::{Config, Decision, Record};
use units::{Duration, Instant};

use super::{Case, CheckResult, build, each, ensure};
use crate::fate::{Fate, Fates};
use crate::pair::{Pair, Side, User};
use crate::profile::{config, overridden};

pub(super) fn cases() -> Vec<Case> {
    each(
        "spurious",
        ENTRIES,
        &[
            ("a_delay_that_outlasts_the_timer_is_found_out", finds_delays),
            ("a_loss_is_never_undone", believes_losses),
            ("a_peer_without_its_evidence_is_recorded", falls_back),
        ],
    )
}

/// All packets of a stretch of time wait until its end, for stretches of several lengths.
fn finds_delays(entry: &'static Algorithm<dyn Spurious>) -> CheckResult {
    let mut found = 0;
    for length in (1170..1670).step_by(20) {
        let records = transfer(&offering(entry)?, &offering(entry)?, spike(Duration::from_millis(length)))?;
        let timeouts = count(&records, Decision::Timeout);
        ensure(timeouts > 0, || format!("no timeout in {length} ms"))?;
        found += count(&records, Decision::Undo);
    }
    match entry.id {
        "none" => ensure(found == 0, || format!("{found} found")),
        // It needs an ACK within half a round trip of the retransmission.
        "rtt-comparison" => ensure(found > 0, || "none found".to_owned()),
        _ => ensure(found >= 25, || format!("{found} of 25 found")),
    }
}

fn believes_losses(entry: &'static Algorithm<dyn Spurious>) -> CheckResult {
    for losses in [vec![40], vec![40, 41, 45], (40..70).collect()] {
        let own = offering(entry)?;
        let lost = losses.clone();
        let fates: Fates = Box::new(move |packet| {
            let doomed = packet.from == Side::Client && lost.contains(&packet.number);
            if doomed { Fate::Drop } else { Fate::Deliver }
        });
        let records = transfer(&own, &own, fates)?;
        ensure(count(&records, Decision::Undo) == 0, || format!("undone after the loss of {losses:?}"))?;
        let signals = count(&records, Decision::FastRetransmit) + count(&records, Decision::Timeout);
        ensure(signals > 0, || format!("no sign of the loss of {losses:?}"))?;
    }
    Ok(())
}

fn falls_back(entry: &'static Algorithm<dyn Spurious>) -> CheckResult {
    let bare =
        config(&json!({ "sack": false, "recovery": "new-reno" })).map_err(|wrong| wrong.to_string())?;
    let records = transfer(&offering(entry)?, &bare, spike(Duration::from_millis(1500)))?;
    let has_fallback = records
        .iter()
        .any(|record| record.event == Decision::Fallback && record.reason.contains("detection"));
    let needs = build(entry).needs();
    ensure(has_fallback == (needs != Needs::Nothing), || {
        format!("it needs {needs:?}, and a record is there: {has_fallback}")
    })
}

/// A profile with the detector and all sources of evidence.
fn offering(entry: &'static Algorithm<dyn Spurious>) -> Result<Arc<Config>, String> {
    let base = json!({ "timestamps": true, "sack": true, "dsack": true });
    let own = json!({ "spurious": entry.id, "recovery": "new-reno" });
    let profile: Value = overridden(&base, &own);
    config(&profile).map_err(|wrong| wrong.to_string())
}

/// The sender's records of a transfer that must complete.
fn transfer(client: &Arc<Config>, server: &Arc<Config>, fates: Fates) -> Result<Vec<Record>, String> {
    let mut pair =
        Pair::new(client, server).users(User::sends_pattern(SIZE), User::listens()).fates(fates).recorded();
    let done = pair.run(Duration::from_secs(400));
    let received = pair.host(Side::Server).received.len();
    ensure(done, || format!("{received} of {SIZE} bytes"))?;
    Ok(pair.take_records(Side::Client))
}

/// No packet that the client sends during the spike arrives before its end.
fn spike(length: Duration) -> Fates {
    let begins = Instant::START + Duration::from_millis(450);
    let ends = begins + length;
    Box::new(move |packet| {
        let inside = packet.from == Side::Client && (begins..ends).contains(&packet.at);
        if inside { Fate::Delay(ends - packet.at) } else { Fate::Deliver }
    })
}

fn count(records: &[Record], event: Decision) -> usize {
    records.iter().filter(|record| record.event == event).count()
}

const SIZE: u64 = 2_000_000;

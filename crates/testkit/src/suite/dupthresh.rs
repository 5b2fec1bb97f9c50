//! Every policy of the duplicate threshold.

use rand::RngExt;
use registry::Algorithm;
use serde_json::json;
use tcp::dupthresh::{DupThresh, ENTRIES, Reordering, View};
use units::{Bytes, Duration, Streams};

use super::{Case, CheckResult, build, each, ensure};
use crate::fate::{Fate, Fates};
use crate::pair::{Pair, Side, User};
use crate::profile::{config, overridden};

pub(super) fn cases() -> Vec<Case> {
    each(
        "dupthresh",
        ENTRIES,
        &[
            ("one_ack_of_nothing_new_is_never_a_loss_in_a_wide_window", at_least_three),
            ("a_timeout_never_makes_it_more_patient", timeout_never_raises),
            ("a_loss_is_still_repaired_by_duplicates_after_much_reordering", still_repairs),
        ],
    )
}

fn at_least_three(entry: &'static Algorithm<dyn DupThresh>) -> CheckResult {
    taught(entry, |policy, view| {
        let threshold = policy.segments(view);
        ensure(threshold >= 3, || format!("{threshold} in {view:?}"))
    })
}

fn timeout_never_raises(entry: &'static Algorithm<dyn DupThresh>) -> CheckResult {
    taught(entry, |policy, view| {
        let before = policy.segments(view);
        policy.on_timeout();
        ensure(policy.segments(view) <= before, || format!("{before} before it in {view:?}"))
    })
}

/// Asks a policy after each of many events.
fn taught(
    entry: &'static Algorithm<dyn DupThresh>,
    ask: impl Fn(&mut dyn DupThresh, &View) -> CheckResult,
) -> CheckResult {
    let mut stream = Streams::new(1).stream("reordering");
    for _ in 0..20 {
        let mut policy = build(entry);
        for _ in 0..50 {
            let flight = stream.random_range(4..=100);
            let view = View {
                flight: SMSS * flight,
                cwnd: SMSS * 100,
                advertised: SMSS * 200,
                unsent: SMSS * 1000,
                smss: SMSS,
                srtt: Some(Duration::from_millis(100)),
                rto: Duration::from_millis(400),
            };
            let (extent, retransmitted) = (stream.random_range(1..=60), stream.random());
            policy.on_reordering(&Reordering { extent, retransmitted, view });
            ask(&mut *policy, &view)?;
        }
    }
    Ok(())
}

/// With and without SACK: reordering at first, then one loss; no timer may be needed.
fn still_repairs(entry: &'static Algorithm<dyn DupThresh>) -> CheckResult {
    for recovery in ["new-reno", "sack-6675"] {
        let base = json!({ "timestamps": true, "spurious": "eifel" });
        let own = json!({ "dupthresh": entry.id, "recovery": recovery });
        let profile = config(&overridden(&base, &own)).map_err(|wrong| wrong.to_string())?;
        let mut pair = Pair::new(&profile, &profile)
            .users(User::sends_pattern(SIZE), User::listens())
            .fates(reordering_then_a_loss());
        let done = pair.run(Duration::from_secs(400));
        let sender = &pair.host(Side::Client).endpoint;
        ensure(done, || format!("{recovery}: {} of {SIZE} bytes", sender.acked()))?;
        let (timeouts, repairs) = (sender.timeouts(), sender.fast_retransmits());
        ensure(timeouts == 0 && repairs > 0, || {
            format!("{recovery}: {timeouts} timeouts, {repairs} repairs")
        })?;
    }
    Ok(())
}

/// Each 25th packet of the first three hundred comes 20 ms late; the 400th is lost.
fn reordering_then_a_loss() -> Fates {
    Box::new(|packet| match (packet.from, packet.number) {
        (Side::Client, 400) => Fate::Drop,
        (Side::Client, number) if number < 300 && number % 25 == 0 => Fate::Delay(Duration::from_millis(20)),
        _ => Fate::Deliver,
    })
}

const SMSS: Bytes = Bytes(1000);
const SIZE: u64 = 1_000_000;

//! Every acknowledgment policy.

use tcp::Arrival;
use tcp::ack::{AckPolicy, Data, ENTRIES, When};
use tcp::registry::Entry;
use units::{Bytes, Duration, Instant};

use super::{Case, CheckResult, build, each, ensure};

pub(super) fn cases() -> Vec<Case> {
    each(
        "ack",
        ENTRIES,
        &[
            ("no_wait_reaches_half_a_second", no_long_wait),
            ("every_second_full_segment_is_acknowledged", every_second),
            ("gaps_their_filling_and_duplicates_are_reported_at_once", gaps_at_once),
        ],
    )
}

fn data(at: Duration, arrival: Arrival) -> Data {
    let gap = arrival == Arrival::OutOfOrder;
    Data {
        now: Instant::START + at,
        len: FULL,
        arrival,
        gap,
        scattered: false,
        full: FULL,
        polled: false,
        rtt: None,
    }
}

/// RFC 5681 §4.2, at any spacing of segments.
fn no_long_wait(entry: &'static Entry<dyn AckPolicy>) -> CheckResult {
    for spacing in [1, 10, 39, 41, 150, 250, 5000_u64] {
        let mut policy = build(entry);
        for step in 0..100 {
            let when = policy.on_data(&data(Duration::from_millis(step * spacing), Arrival::InOrder));
            if let When::Within(wait) = when {
                ensure(wait < Duration::from_millis(500), || format!("{wait} at a spacing of {spacing} ms"))?;
            }
            if at_once(when) {
                policy.on_ack_sent();
            }
        }
    }
    Ok(())
}

/// Whether an ACK goes out, or several.
fn at_once(when: When) -> bool {
    !matches!(when, When::Within(_))
}

/// RFC 5681 §4.2.
fn every_second(entry: &'static Entry<dyn AckPolicy>) -> CheckResult {
    let mut policy = build(entry);
    if policy.traits().stretches {
        return Ok(());
    }
    let mut waited = false;
    for step in 0..100 {
        let now = at_once(policy.on_data(&data(Duration::from_millis(step), Arrival::InOrder)));
        ensure(now || !waited, || format!("segment {step}: two wait already"))?;
        waited = !now;
        if now {
            policy.on_ack_sent();
        }
    }
    Ok(())
}

/// RFC 5681 §4.2.
fn gaps_at_once(entry: &'static Entry<dyn AckPolicy>) -> CheckResult {
    for arrival in [Arrival::OutOfOrder, Arrival::FilledGap, Arrival::Duplicate] {
        let mut policy = build(entry);
        for step in 0..50 {
            policy.on_data(&data(Duration::from_secs(step), Arrival::InOrder));
            policy.on_ack_sent();
        }
        let when = policy.on_data(&data(Duration::from_secs(60), arrival));
        ensure(at_once(when), || format!("{arrival:?}: {when:?}"))?;
    }
    Ok(())
}

const FULL: Bytes = Bytes(1000);

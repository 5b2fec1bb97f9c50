//! Every retransmission timer.

use rand::RngExt;
use serde_json::json;
use tcp::registry::Entry;
use tcp::rto::{ENTRIES, Estimate, Rto, Sample};
use units::{Duration, Instant, Streams};

use super::{Case, CheckResult, build, each, ensure};
use crate::timeline::run_text;

pub(super) fn cases() -> Vec<Case> {
    each(
        "rto",
        ENTRIES,
        &[
            ("it_waits_a_second_at_least_before_the_first_sample", first_length),
            ("it_is_longer_than_the_round_trip_and_within_bounds", within_bounds),
            ("it_is_longer_when_round_trips_vary", variation_lengthens),
            ("it_goes_on_from_what_it_inherits", inherits),
            ("it_is_patient_after_a_spurious_timeout", grows_patient),
            ("it_doubles_and_keeps_the_length_until_a_sample", backs_off),
        ],
    )
}

/// RFC 6298 §2.1 and RFC 1122 §4.2.3.1.
fn first_length(entry: &'static Entry<dyn Rto>) -> CheckResult {
    let length = build(entry).length();
    ensure((Duration::from_secs(1)..=Duration::from_secs(3)).contains(&length), || length.to_string())
}

/// RFC 6298 §2.4 and §2.5.
fn within_bounds(entry: &'static Entry<dyn Rto>) -> CheckResult {
    let mut stream = Streams::new(1).stream("round trips");
    for trial in 0..50 {
        let mut rto = build(entry);
        let usual: u64 = stream.random_range(1..2000);
        for step in 1..200_u64 {
            let round_trip = Duration::from_millis(stream.random_range(usual..=usual * 2));
            let now = Instant::START + Duration::from_secs(step * 5);
            rto.on_sample(&sample(round_trip, now, step % 20 + 1));
            let srtt = rto.estimate().ok_or("no estimate after a sample")?.srtt;
            let length = rto.length();
            ensure(srtt <= length && length <= rto.longest(), || format!("{trial}: {length} for {srtt}"))?;
        }
    }
    Ok(())
}

/// RFC 6298 §2.3: that is what RTTVAR is for.
fn variation_lengthens(entry: &'static Entry<dyn Rto>) -> CheckResult {
    let length = |round_trips: [u64; 2]| {
        let mut rto = build(entry);
        for step in 1..200_u64 {
            let now = Instant::START + Duration::from_secs(step * 5);
            rto.on_sample(&sample(Duration::from_millis(round_trips[step as usize % 2]), now, 8));
        }
        rto.length()
    };
    let (steady, varying) = (length([2000, 2000]), length([1000, 3000]));
    ensure(steady < varying, || format!("{steady} for steady, {varying} for varying round trips"))
}

/// RFC 9040 §6: the estimate of an earlier connection, in times that every clock can represent.
fn inherits(entry: &'static Entry<dyn Rto>) -> CheckResult {
    let mut rto = build(entry);
    let left = Estimate { srtt: Duration::from_secs(4), rttvar: Duration::from_secs(1) };
    rto.inherit(left);
    let (estimate, length) = (rto.estimate(), rto.length());
    ensure(estimate == Some(left) && length >= left.srtt + left.rttvar, || format!("{estimate:?}, {length}"))
}

/// RFC 4015 §3.1 step 11: the first round trip after it counts as if it were the first of all.
fn grows_patient(entry: &'static Entry<dyn Rto>) -> CheckResult {
    let mut rto = build(entry);
    for step in 1..50_u64 {
        let now = Instant::START + Duration::from_secs(step * 5);
        rto.on_sample(&sample(Duration::from_millis(200), now, 8));
    }
    let earlier = rto.estimate().ok_or("no estimate after a sample")?;
    rto.inherit(earlier.after_spurious_timeout(Duration::from_secs(3), rto.granularity()));
    let length = rto.length();
    ensure(length >= Duration::from_millis(4500), || format!("{length} after a round trip of 3 s"))
}

/// RFC 6298 §5.5 and §3 (Karn).
fn backs_off(entry: &'static Entry<dyn Rto>) -> CheckResult {
    // Bounds that all timers share, wide enough that any handshake gives the same length twice, and times at
    // which every clock ticks.
    let mut rto = (entry.parse)(json!({ "min": "8 s" })).map_err(|wrong| wrong.to_string())?();
    let mut length_after = |millis: u64| {
        let now = Instant::START + Duration::from_secs(100);
        rto.on_sample(&sample(Duration::from_millis(millis), now, 8));
        rto.length().as_secs_f64()
    };
    let (first, last) = (length_after(900), length_after(1000));
    let (id, second, third) = (entry.id, first * 2.0, first * 4.0);
    let text = format!(
        "# RFC 6298 §5.5\nset rto = {{ algorithm = \"{id}\", min = \"8 s\" }}\n0 open rtt 0.9\n1 write 100\n\
         > P. 1:101(100) ack 1\n? rto {first:.3}\n+{first:.3} > P. 1:101(100) ack 1 [timeout]\n? rto {second:.3}\n\
         +{second:.3} > P. 1:101(100) ack 1 [timeout]\n? rto {third:.3}\n+1 < . 1:1(0) ack 101\n? rto {third:.3}\n\
         write 100\n> P. 101:201(100) ack 1\n+1 < . 1:1(0) ack 201\n? rto {last:.3}\n"
    );
    run_text(entry.id, &text).map_err(|wrong| wrong.to_string())
}

fn sample(round_trip: Duration, now: Instant, window: u64) -> Sample {
    Sample { sent: now - round_trip, now, cwnd: window, flight: window }
}

//! Every recovery with every congestion control: the effect of a congestion signal on the windows.

use serde_json::{Value, json};
use tcp::{Decision, Record};
use units::{Bytes, Duration};

use super::{Case, CheckResult, build, ensure};
use crate::fate::Fate;
use crate::pair::{Pair, Side, User};
use crate::profile::{config, overridden, recoveries};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![];
    for (name, keys) in recoveries() {
        // Algorithms that govern recovery by a model need not reduce at a loss, and do not keep an ssthresh.
        let reducing =
            tcp::congestion::ENTRIES.iter().filter(|entry| !build(entry).traits().governs_recovery);
        for entry in reducing {
            let own = json!({ "rto": { "rfc6298": { "min": "200 ms" } }, "congestion": entry.id });
            let profile = overridden(&own, &keys);
            // Its threshold is an estimate of the path's rate, above the window or below it (Grieco and Mascolo 2004).
            let estimates = entry.id == "westwood-plus";
            // Its window is held back while duplicates arrive, and the amount in use is the flight (RFC 4653 §3.2).
            let holds_back = name.starts_with("ncr");
            let rule = Rule { estimates, holds_back };
            let name = format!("events/{name}/{}/no_signal_of_congestion_raises_a_window", entry.id);
            cases.push(Case { name, run: Box::new(move || no_signal_raises(&profile, rule)) });
        }
    }
    cases
}

/// Exceptions of one algorithm.
#[derive(Clone, Copy)]
struct Rule {
    /// The threshold is an estimate and no part of the window.
    estimates: bool,
    /// The window of records is smaller than that in use.
    holds_back: bool,
}

/// RFC 5681 §3.1: a loss reduces the amount in use. The inflation of fast recovery for segments that have left the
/// network (§3.2 step 3) is not part of the window; two segments always remain.
fn no_signal_raises(profile: &Value, rule: Rule) -> CheckResult {
    let profile = config(profile).map_err(|wrong| wrong.to_string())?;
    let mut sent = 0;
    let mut pair = Pair::new(&profile, &profile).users(User::sends_pattern(SIZE), User::listens()).fates(
        Box::new(move |packet| {
            let data = packet.from == Side::Client && !packet.segment.payload.is_empty();
            sent += u32::from(data);
            if data && matches!(sent % 60, 40 | 43 | 44) { Fate::Drop } else { Fate::Deliver }
        }),
    );
    pair.host_mut(Side::Client).endpoint.set_recording(true);
    pair.run(Duration::from_secs(300));
    let records = pair.host_mut(Side::Client).endpoint.take_records();
    let signals = records.windows(2).filter(|pair| is_signal(&pair[1])).count();
    ensure(signals > 0, || "nothing was lost".to_owned())?;
    for pair in records.windows(2).filter(|pair| is_signal(&pair[1])) {
        let [before, after] = pair else { continue };
        let held = if rule.holds_back { before.flight } else { Bytes::ZERO };
        let in_use = before.cwnd.max(held).max(SMSS * 2);
        let sets = after.ssthresh != before.ssthresh && !rule.estimates;
        ensure(after.cwnd <= in_use + SMSS * 3 && (!sets || after.ssthresh <= in_use), || {
            let Record { at, event, cwnd: now, ssthresh: threshold, .. } = after;
            format!("{at}: {} at {in_use} made it {now}, ssthresh {threshold}", event.id())
        })?;
    }
    Ok(())
}

fn is_signal(record: &Record) -> bool {
    matches!(record.event, Decision::FastRetransmit | Decision::Collapse | Decision::Timeout | Decision::Mark)
}

const SIZE: u64 = 300_000;
const SMSS: Bytes = Bytes(1460);

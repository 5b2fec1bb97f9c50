//! Every recovery with a sender that the peer's window limits, and with a sender that its application limits. The
//! congestion window is then larger than the flight; a reduction applies to the flight (RFC 5681 §3.1), unless the
//! algorithm's source says otherwise.

use serde_json::{Value, json};
use tcp::Record;
use units::{Bytes, Duration};
use wire::Payload;

use super::{Case, CheckResult, ensure};
use crate::fate::drop_numbers;
use crate::pair::{Pair, Side, User};
use crate::profile::{config, overridden, recoveries};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![];
    for (name, keys) in recoveries() {
        let profile =
            overridden(&json!({ "mss": "1000 bytes", "rto": { "rfc6298": { "min": "200 ms" } } }), &keys);
        let reduces = Reduces::of(&name);
        let checks: [(&str, Check); 2] = [
            ("a_loss_reduces_what_the_peers_window_had_in_flight", window_limited),
            ("a_loss_raises_no_window_of_an_application_that_writes_little", application_limited),
        ];
        for (what, check) in checks {
            let profile = profile.clone();
            let name = format!("recovery/{name}/{what}");
            cases.push(Case { name, run: Box::new(move || check(&profile, reduces)) });
        }
    }
    cases
}

/// A check of a profile, given the quantity that its recovery reduces.
type Check = fn(&Value, Reduces) -> CheckResult;

/// The quantity that a recovery halves.
#[derive(Clone, Copy)]
enum Reduces {
    /// FlightSize, or the congestion window where that is smaller.
    Flight,
    /// FlightSize without SACKed data.
    Pipe,
    /// The congestion window under which the lost segment was sent.
    SentUnder,
    /// Nothing, where no mark announces the loss.
    Nothing,
}

impl Reduces {
    fn of(recovery: &str) -> Self {
        match recovery.split('/').next() {
            // Linux 2.2, tcp_recalc_ssthresh.
            Some("fack-linux-2000") => Self::Pipe,
            // Landström 2008 §4.2.4: once the loss is corroborated.
            Some("aix") => Self::Pipe,
            // Bohacek et al. 2003, cwnd(n).
            Some("pr") => Self::SentUnder,
            // Liu and Singh 2001: only marks are congestion.
            Some("atcp") => Self::Nothing,
            _ => Self::Flight,
        }
    }

    /// The bounds of ssthresh for `flight` bytes in flight and a window of `cwnd`.
    fn bounds(self, flight: Bytes, cwnd: Bytes) -> [Bytes; 2] {
        match self {
            Self::Flight => [flight * 9 / 20, flight * 11 / 20],
            Self::Pipe => [flight / 4, flight / 2],
            Self::SentUnder => [cwnd / 4, cwnd / 2],
            Self::Nothing => [Bytes::ZERO; 2],
        }
    }

    /// Whether there is a reduction, or none where none is due.
    fn check(self, records: &[Record]) -> CheckResult {
        match (self, reductions(records).count()) {
            (Self::Nothing, 0) | (Self::Flight | Self::Pipe | Self::SentUnder, 1..) => Ok(()),
            (_, count) => Err(format!("the loss reduced the window {count} times")),
        }
    }
}

/// The receiver's window is eleven segments, and one segment is lost.
fn window_limited(profile: &Value, reduces: Reduces) -> CheckResult {
    let receiver = overridden(profile, &json!({ "window": { "fixed": { "size": "11000 bytes" } } }));
    let records = records(profile, &receiver, User::sends_pattern(SIZE))?;
    reduces.check(&records)?;
    let Some((index, reduced)) = reductions(&records).next() else { return Ok(()) };
    let [least, most] = reduces.bounds(Bytes(11_000), largest_window(&records[..index]));
    let within = (least..=most).contains(&reduced.ssthresh);
    ensure(within, || format!("ssthresh {}, not from {least} to {most}", reduced.ssthresh))
}

/// The sender writes four segments each 200 ms, and one of them is lost when the congestion window is larger.
fn application_limited(profile: &Value, reduces: Reduces) -> CheckResult {
    let writes =
        (0..SIZE / 4_000).map(|piece| Payload::Pattern { offset: piece * 4_000, len: 4_000 }).collect();
    let user = User { writes, write_interval: Some(Duration::from_millis(200)), ..User::default() };
    let records = records(profile, profile, user)?;
    reduces.check(&records)?;
    for (index, reduced) in reductions(&records) {
        let before = largest_window(&records[..index]);
        // By the third duplicate ACK the next four segments are out.
        let [_, most] = reduces.bounds(Bytes(8_000), before);
        let raised = reduced.cwnd > before || reduced.ssthresh > most;
        ensure(!raised, || format!("cwnd {}, ssthresh {} after {before}", reduced.cwnd, reduced.ssthresh))?;
    }
    Ok(())
}

/// The sender's records of a transfer that loses its sixtieth packet.
fn records(sender: &Value, receiver: &Value, user: User) -> Result<Vec<Record>, String> {
    let [sender, receiver] =
        [sender, receiver].map(|profile| config(profile).map_err(|wrong| wrong.to_string()));
    let mut pair = Pair::new(&sender?, &receiver?)
        .users(user, User::listens())
        .fates(drop_numbers(Side::Client, &[60]))
        .recorded();
    let done = pair.run(Duration::from_secs(400));
    ensure(done && pair.host(Side::Server).received.len() as u64 == SIZE, || {
        "the stream is not whole".to_owned()
    })?;
    Ok(pair.take_records(Side::Client))
}

/// The records in which the threshold falls, with their places.
fn reductions(records: &[Record]) -> impl Iterator<Item = (usize, &Record)> {
    let falls = |pair: &&[Record]| pair[0].ssthresh > pair[1].ssthresh;
    (1..).zip(records.windows(2)).filter(move |(_, pair)| falls(pair)).map(|(index, pair)| (index, &pair[1]))
}

fn largest_window(records: &[Record]) -> Bytes {
    records.iter().map(|record| record.cwnd).max().unwrap_or_default()
}

/// Bytes of the stream.
const SIZE: u64 = 200_000;

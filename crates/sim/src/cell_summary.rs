//! Summary of a shared channel over the run and in each window: its sectors and its users.

use cell::{SectorCounters, UserCounters};
use serde::{Deserialize, Serialize};
use units::Duration;

use crate::measure::CellReading;

/// The results of one shared channel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellSummary {
    /// Its name.
    pub cell: String,
    /// Its scheduler.
    pub scheduler: String,
    /// Length of a TTI.
    pub tti_s: f64,
    /// Sizes of transport blocks in bits, in the order of the sectors' `blocks`.
    pub block_bits: Vec<u32>,
    /// Positions of its sites, in metres to the east and north of the first.
    pub sites_m: Vec<[f64; 2]>,
    /// Its users, in the order of the spans' `users`.
    pub users: Vec<CellUserSummary>,
    /// Totals of the whole run.
    #[serde(flatten)]
    pub whole: CellSpan,
    /// Totals of each window of the scenario.
    pub windows: Vec<CellSpan>,
}

/// A user of a shared channel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellUserSummary {
    /// Its link.
    pub link: String,
    /// Its host.
    pub host: String,
    /// The sector that serves it, from 0 on; three for each site. Of a user who moves, the last one.
    pub sector: u32,
    /// Metres to the east of the first site; of a user who moves, in the end.
    pub x_m: f64,
    /// Metres to the north of it.
    pub y_m: f64,
    /// Its delay budget, if it has one.
    pub budget_s: Option<f64>,
}

/// Activity of a shared channel between two times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellSpan {
    /// The window's name; that of the whole run is empty.
    pub window: String,
    /// Time at which it opened; events at exactly that time belong to the time before it.
    pub from_s: f64,
    /// When it closed, the latest at the end of the run.
    pub to_s: f64,
    /// Each sector.
    pub sectors: Vec<SectorSpan>,
    /// Summaries of the users.
    pub user_spans: Vec<UserSpan>,
}

/// Activity of one sector between two times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SectorSpan {
    /// Bits per second that came for its users: the offered load.
    pub offered_bit_rate: f64,
    /// Bits per second of packets that reached its users: its throughput.
    pub bit_rate: f64,
    /// Share of the TTIs in which it sent to anyone.
    pub slots: f64,
    /// Share of the shared channel's power that it used, over all TTIs.
    pub power: f64,
    /// Blocks that it sent, repetitions counted, by size.
    pub blocks: Vec<u64>,
}

/// Service of one user between two times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UserSpan {
    /// Packets that came for it.
    pub packets_in: u64,
    /// Packets that reached it.
    pub packets_out: u64,
    /// Packets dropped because they were older than its delay budget.
    pub expired: u64,
    /// Packets dropped because its queue was at its limit.
    pub overflowed: u64,
    /// Number of handovers to another sector.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub handovers: u64,
    /// Packets dropped as it was handed over.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub handover_drops: u64,
    /// Bits per second of packets that reached it.
    pub bit_rate: f64,
    /// Blocks sent to it, repetitions counted.
    pub blocks: u64,
    /// Blocks received in error.
    pub block_errors: u64,
    /// Mean size of the blocks in bits, if there were any.
    pub block_bits_mean: Option<f64>,
}

impl CellSpan {
    /// Difference of a reading and a later reading.
    pub(crate) fn between(
        before: Option<&CellReading>,
        after: &CellReading,
        (length, tti): (Duration, Duration),
    ) -> Self {
        let (no_sector, no_user) = (SectorCounters::default(), UserCounters::default());
        let sectors = after.sectors.iter().enumerate().map(|(place, sector)| {
            let earlier = before.map_or(&no_sector, |reading| &reading.sectors[place]);
            SectorSpan {
                offered_bit_rate: bit_rate(sector.bytes_in.0 - earlier.bytes_in.0, length),
                bit_rate: bit_rate(sector.bytes_out.0 - earlier.bytes_out.0, length),
                slots: share(tti * (sector.busy_ttis - earlier.busy_ttis), length),
                power: share(sector.power_time.saturating_sub(earlier.power_time), length),
                blocks: grown_blocks(&earlier.blocks_by_format, &sector.blocks_by_format),
            }
        });
        let users = after.users.iter().enumerate().map(|(user, counters)| {
            user_span(before.map_or(&no_user, |reading| &reading.users[user]), counters, length)
        });
        Self { sectors: sectors.collect(), user_spans: users.collect(), ..Self::default() }
    }
}

fn user_span(before: &UserCounters, after: &UserCounters, length: Duration) -> UserSpan {
    let blocks = after.blocks - before.blocks;
    let bits = (after.block_bits - before.block_bits) as f64;
    UserSpan {
        packets_in: after.packets_in - before.packets_in,
        packets_out: after.packets_out - before.packets_out,
        expired: after.expired - before.expired,
        overflowed: after.overflowed - before.overflowed,
        handovers: after.handovers - before.handovers,
        handover_drops: after.handover_drops - before.handover_drops,
        bit_rate: bit_rate(after.bytes_out.0 - before.bytes_out.0, length),
        blocks,
        block_errors: after.block_errors - before.block_errors,
        block_bits_mean: (blocks > 0).then(|| bits / blocks as f64),
    }
}

fn grown_blocks(before: &[u64], after: &[u64]) -> Vec<u64> {
    let earlier = |place: usize| before.get(place).copied().unwrap_or(0);
    after.iter().enumerate().map(|(place, count)| count - earlier(place)).collect()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn bit_rate(bytes: u64, length: Duration) -> f64 {
    if length.is_zero() { 0.0 } else { bytes as f64 * 8.0 / length.as_secs_f64() }
}

fn share(part: Duration, length: Duration) -> f64 {
    if length.is_zero() { 0.0 } else { part.as_secs_f64() / length.as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;

    fn reading(times: u64) -> CellReading {
        let sector = SectorCounters {
            bytes_in: Bytes(3_000 * times),
            bytes_out: Bytes(2_000 * times),
            busy_ttis: 100 * times,
            // The largest format is first used after the first reading.
            blocks_by_format: [vec![7 * times], vec![9; times as usize - 1]].concat(),
            power_time: Duration::from_millis(250) * times,
            ..SectorCounters::default()
        };
        let user = UserCounters {
            packets_in: 11 * times,
            packets_out: 10 * times,
            bytes_out: Bytes(500 * times),
            expired: 2 * times,
            overflowed: 3 * times,
            handovers: 4 * times,
            handover_drops: 5 * times,
            blocks: 20 * times,
            block_errors: 6 * times,
            block_bits: 20 * 320 * times,
            ..UserCounters::default()
        };
        CellReading { sectors: vec![sector], users: vec![user] }
    }

    #[test]
    fn a_span_has_what_grew_between_its_two_readings() {
        let times = (Duration::from_secs(1), Duration::from_millis(2));
        let whole = CellSpan::between(None, &reading(1), times);
        let later = CellSpan::between(Some(&reading(1)), &reading(2), times);
        let sector = SectorSpan {
            offered_bit_rate: 24_000.0,
            bit_rate: 16_000.0,
            slots: 0.2,
            power: 0.25,
            blocks: vec![7],
        };
        let user = UserSpan {
            packets_in: 11,
            packets_out: 10,
            expired: 2,
            overflowed: 3,
            handovers: 4,
            handover_drops: 5,
            bit_rate: 4_000.0,
            blocks: 20,
            block_errors: 6,
            block_bits_mean: Some(320.0),
        };
        assert_eq!((&whole.sectors, &whole.user_spans), (&vec![sector.clone()], &vec![user.clone()]));
        let grown = SectorSpan { blocks: vec![7, 9], ..sector };
        assert_eq!((later.sectors, later.user_spans), (vec![grown], vec![user]));
    }

    #[test]
    fn a_span_of_no_length_has_no_rates_and_one_without_blocks_no_mean() {
        let none =
            CellSpan::between(Some(&reading(1)), &reading(1), (Duration::ZERO, Duration::from_millis(2)));
        assert_eq!((none.sectors[0].bit_rate, none.sectors[0].slots), (0.0, 0.0));
        assert_eq!(none.user_spans[0].block_bits_mean, None);
    }
}

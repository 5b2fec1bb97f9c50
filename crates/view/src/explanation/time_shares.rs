//! Shares of a connection's elapsed time, by the state of the bottleneck link and the cause of that state.
//!
//! At any time the bottleneck transmits a useful packet of the connection, a useless one, or a packet of another flow;
//! or it is blocked; or it is idle, and the event that ends the idle period says what the connection was waiting for.
//! The first share is the time of an ideal transfer with the same link for itself; the others are lost time. All shares
//! add up to the elapsed time.

use std::collections::BTreeMap;

use crate::by_number::ByNumber;
use crate::coverage::first_bytes;
use crate::explanation::TimeShare;
use crate::explanation::connection::Connection;
use crate::flow::found_among;
use crate::table::{Rows, Tables};

const IDEAL: &str = "ideal";

/// The uses of time, in words.
const WORDS: [(&str, &str); 15] = [
    (IDEAL, "data that arrived first, at the link's best rate: an ideal transfer"),
    ("handshake", "before the first data: handshake and request"),
    ("needless", "copies of data that were not lost"),
    ("wasted", "data that were lost after the bottleneck"),
    ("others", "packets of other flows"),
    ("held", "the link was blocked, or slower than its best"),
    ("spurious_timeout", "idle until a retransmission timer ran out that was spurious"),
    ("timeout", "idle until a retransmission timer ran out"),
    ("after_timeout", "idle between repairs after a timeout"),
    ("recovery", "idle in fast recovery"),
    ("slow_start", "idle in slow start: the window was still small"),
    ("peer_window", "idle: the peer's window was full"),
    ("application", "idle: the application had nothing to send"),
    ("window", "idle in congestion avoidance: the window was below what the path holds"),
    ("ending", "after the last data: their delay, and the last ACK"),
];

/// Quantile of the time per byte that counts as the link's best; the minimum would depend on a single packet.
const BEST: f64 = 0.05;

/// Shares below this, in seconds, are rounding errors.
const NOTHING: f64 = 5e-7;

/// A transmission of a link direction: earliest start, end, and least duration, in seconds.
#[derive(Clone, Copy)]
struct Transmission {
    packet: f64,
    begin: f64,
    end: f64,
    least: f64,
}

/// The shares of a connection's elapsed time; none without the table `packets`, or if it sent no data.
pub(crate) fn time_shares(tables: &Tables, connection: &Connection<'_>) -> Vec<TimeShare> {
    let Some(packets) = tables.get("packets") else { return Vec::new() };
    let data = Data::of(connection);
    let Some(link) = bottleneck(&packets.all(), &data.packet) else { return Vec::new() };
    if data.rows.is_empty() {
        return Vec::new();
    }
    let (since, until) = (connection.first_seen, connection.last_seen);
    let link: Vec<Transmission> =
        link.into_iter().filter(|one| one.end > since && one.begin < until).collect();
    divided(connection, &data, &link)
}

/// The copies with data: their rows, packets and times.
struct Data {
    rows: Vec<usize>,
    packet: Vec<f64>,
    time: Vec<f64>,
    place: ByNumber<usize>,
}

impl Data {
    fn of(connection: &Connection<'_>) -> Self {
        let copies = &connection.copies;
        let rows: Vec<usize> = (0..copies.len()).filter(|row| copies.length[*row] > 0.0).collect();
        let packet: Vec<f64> = rows.iter().map(|row| copies.packet[*row]).collect();
        let time = rows.iter().map(|row| copies.time[*row]).collect();
        let place = packet.iter().enumerate().map(|(place, packet)| (*packet as i64, place));
        let place = ByNumber::new(place);
        Self { rows, packet, time, place }
    }

    /// The place of a packet among the data; none for one of another flow.
    fn place_of(&self, packet: f64) -> Option<usize> {
        self.place.last(packet as i64)
    }
}

/// The link direction that was busy longest among the directions that the data crossed.
fn bottleneck(packets: &Rows<'_>, data: &[f64]) -> Option<Vec<Transmission>> {
    let packets = packets.marked(&packets.known("transmitted_ns"));
    let crossing = packets.marked(&found_among(&packets.numbers("packet"), data));
    let (mut directions, _) = crossing.combinations(["link", "direction"]);
    directions.sort_unstable();
    let mut busiest: Option<(f64, Vec<Transmission>)> = None;
    for [link, way] in directions {
        let found = transmissions(&packets.equal("link", link).equal("direction", way));
        let busy = found.iter().map(|one| one.least).sum();
        if busiest.as_ref().is_none_or(|(most, _)| busy > *most) {
            busiest = Some((busy, found));
        }
    }
    busiest.map(|(_, found)| found)
}

fn transmissions(packets: &Rows<'_>) -> Vec<Transmission> {
    let (end, entered) = (packets.seconds("transmitted_ns"), packets.seconds("entered_ns"));
    let (packet, size) = (packets.numbers("packet"), packets.numbers("bytes"));
    let mut order: Vec<usize> = (0..end.len()).collect();
    order.sort_by(|one, other| end[*one].total_cmp(&end[*other]));
    let mut before = f64::NEG_INFINITY;
    let begins: Vec<f64> =
        order.iter().map(|row| std::mem::replace(&mut before, end[*row]).max(entered[*row])).collect();
    let per_byte = order.iter().zip(&begins).map(|(row, begin)| (end[*row] - begin) / size[*row]).collect();
    let best = quantile(per_byte, BEST);
    let one = |(row, begin): (usize, f64)| Transmission {
        packet: packet[row],
        begin,
        end: end[row],
        least: (end[row] - begin).min(best * size[row]),
    };
    order.into_iter().zip(begins).map(one).collect()
}

/// A quantile, between two values on the line that joins them; 0 of nothing.
fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    let place = share * last as f64;
    let low = place.floor();
    let (below, above) = (values[low as usize], values[(low as usize + 1).min(last)]);
    below + (above - below) * (place - low)
}

fn divided(connection: &Connection<'_>, data: &Data, link: &[Transmission]) -> Vec<TimeShare> {
    let mut shares: BTreeMap<&str, f64> = BTreeMap::new();
    let mut add = |kind, seconds| *shares.entry(kind).or_default() += seconds;
    let useful = useful(connection, data);
    let own_hops: Vec<f64> = link.iter().map(|one| one.packet).collect();
    let own = found_among(&own_hops, &connection.copies.hops.packet);
    let mut ended = connection.first_seen;
    for (one, own) in link.iter().zip(own) {
        let place = data.place_of(one.packet);
        if one.begin > ended {
            // A packet of another flow does not end the connection's wait; its own next packet does.
            let next_own =
                Some(data.time.partition_point(|time| *time <= ended)).filter(|next| *next < data.rows.len());
            add(wait(connection, data, place.or(next_own)), one.begin - ended);
        }
        let kind = match place {
            Some(place) => useful[place],
            None if !own => "others",
            None if one.begin < data.time[data.time.len() - 1] => "handshake",
            None => "ending",
        };
        add(kind, one.least);
        add("held", (one.end - one.begin - one.least).max(0.0));
        ended = ended.max(one.end);
    }
    add("ending", (connection.last_seen - ended).max(0.0));
    let time_shares = WORDS.iter().filter_map(|(kind, words)| {
        let seconds = shares.get(kind).copied().filter(|seconds| *seconds > NOTHING)?;
        Some(TimeShare { kind: (*kind).into(), seconds, words: (*words).into(), confidence: None })
    });
    let mut time_shares: Vec<TimeShare> = time_shares.collect();
    time_shares.sort_by(|one, other| {
        let by_length = other.seconds.total_cmp(&one.seconds);
        (one.kind != IDEAL).cmp(&(other.kind != IDEAL)).then(by_length)
    });
    time_shares
}

/// The use of the transmission of each of the data: for bytes that arrived first, for copies, or for nothing.
fn useful(connection: &Connection<'_>, data: &Data) -> Vec<&'static str> {
    let copies = &connection.copies;
    let arrived = |place: usize| copies.arrived[data.rows[place]];
    let mut order: Vec<usize> = (0..data.rows.len()).filter(|place| !arrived(*place).is_nan()).collect();
    order.sort_by(|one, other| arrived(*one).total_cmp(&arrived(*other)));
    let ranges: Vec<(f64, f64)> =
        order.iter().map(|place| data.rows[*place]).map(|row| (copies.seq[row], copies.end(row))).collect();
    let mut kinds: Vec<&str> = (0..data.rows.len())
        .map(|place| if arrived(place).is_nan() { "wasted" } else { "needless" })
        .collect();
    for (place, bytes) in order.into_iter().zip(first_bytes(&ranges)) {
        if bytes > 0.0 {
            kinds[place] = IDEAL;
        }
    }
    kinds
}

/// The reason for a wait of the connection with an idle bottleneck, by the copy that ended the wait.
fn wait<'a>(connection: &Connection<'a>, data: &Data, ended_by: Option<usize>) -> &'a str {
    let Some(place) = ended_by else { return "ending" };
    let (copies, row) = (&connection.copies, data.rows[place]);
    match copies.cause[row] {
        _ if place == 0 => "handshake",
        "timeout" if copies.needless[row] == Some(true) => "spurious_timeout",
        "timeout" => "timeout",
        "after_timeout" if copies.retransmission[row] => "after_timeout",
        _ if copies.retransmission[row] => "recovery",
        _ => limit(connection, data, copies.time[row]),
    }
}

/// The limit on the sender at the last decision before a time.
fn limit<'a>(connection: &Connection<'a>, data: &Data, time: f64) -> &'a str {
    let made = &connection.decisions;
    let Some(row) = made.time.partition_point(|one| *one <= time).checked_sub(1) else { return "window" };
    let room = made.flight[row] + connection.segment_size as f64;
    let phase = made.phase[row];
    let growing = matches!(phase, "slow_start" | "congestion_avoidance");
    match phase {
        _ if room > made.advertised[row] => "peer_window",
        _ if growing && room <= made.cwnd[row] && had_stopped(&data.time, made.time[row]) => "application",
        "fast_recovery" => "recovery",
        "congestion_avoidance" => "window",
        other => other,
    }
}

/// Whether the sender sent nothing after a decision although the windows had room, for lack of data.
fn had_stopped(sent: &[f64], decided: f64) -> bool {
    let place = sent.partition_point(|time| *time <= decided);
    place == 0 || sent[place - 1] < decided
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_lies_between_two_values() {
        assert_eq!(quantile((0..=20).rev().map(f64::from).collect(), 0.05), 1.0);
        assert_eq!(quantile(vec![1.0, 2.0], 0.5), 1.5);
        assert_eq!(quantile(Vec::new(), 0.5), 0.0);
    }
}

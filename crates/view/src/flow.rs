//! One flow of a result: its segments at the sender, the acknowledgments, drops and delays, and the sender's decisions.

use crate::coverage::Block;
use crate::table::{Rows, Tables, both, first_seen, not};

/// Relative to the initial sequence number, which the SYN takes (RFC 9293 §3.4).
pub(crate) const FIRST_DATA_SEQ: f64 = 1.0;

/// Fates of a packet that was lost on its link.
pub(crate) const DROPPED: [&str; 5] = ["queue_drop", "error_drop", "dropper_drop", "oversize_drop", "lost"];

/// The kind of a packet that is not TCP's.
const DATAGRAM: &str = "datagram";

/// The column of the states of a path model in `tcp`; null for senders without one, absent in older results.
pub(crate) const STATE: &str = "state";

/// Causes of delays of single packets.
const HOLD_SINGLE_PACKETS: [&str; 4] = ["error", "scripted", "arq", "reordering"];

/// Causes of delays of the transmitter, which hold all waiting packets.
pub(crate) const HOLD_THE_LINK: [&str; 4] = ["allocation", "spike", "preemption", "handover"];

/// Kinds of segments, by index: first transmission, or a retransmission that was needed, needless or not judged.
pub(crate) const VERDICTS: [&str; 4] = ["original", "needed", "needless", "unjudged"];

/// Data segments as they left the sender. `verdict` is a place in [`VERDICTS`], `why` the reason in words.
pub(crate) struct Sent {
    pub(crate) time: Vec<f64>,
    pub(crate) extent: Vec<Block>,
    pub(crate) packet: Vec<f64>,
    pub(crate) verdict: Vec<usize>,
    pub(crate) why: Vec<String>,
}

/// Acknowledgments as they reached the sender. `edge` is the right edge of the advertised window.
pub(crate) struct Acks {
    pub(crate) time: Vec<f64>,
    pub(crate) ack: Vec<f64>,
    pub(crate) edge: Vec<f64>,
    pub(crate) duplicate: Vec<bool>,
}

/// Data packets that a link dropped (`begin` and `end` are the same) or delayed: nanoseconds, offset of the middle
/// byte, and link and reason in words.
pub(crate) struct Incidents {
    pub(crate) begin: Vec<f64>,
    pub(crate) end: Vec<f64>,
    pub(crate) offset: Vec<f64>,
    pub(crate) why: Vec<String>,
}

/// The tables of a flow.
pub(crate) struct Flow<'a> {
    pub(crate) name: &'a str,
    pub(crate) sender: &'a str,
    pub(crate) segments: Rows<'a>,
    pub(crate) at_sender: Rows<'a>,
    pub(crate) data_sent: Rows<'a>,
    pub(crate) heard: Rows<'a>,
    pub(crate) decisions: Option<Rows<'a>>,
    pub(crate) packets: Option<Rows<'a>>,
}

impl<'a> Flow<'a> {
    pub(crate) fn new(tables: &'a Tables, name: &'a str) -> Self {
        let of_flow = |table: &str| tables.get(table).map(|table| table.all().equal("flow", name));
        let segments = of_flow("segments").expect("the caller has checked that the table is there");
        let sender = sender(&segments);
        let at_sender = segments.equal("host", sender);
        let sent = at_sender.equal("direction", "sent");
        let data_sent = sent.marked(&above(&sent.numbers("len"), 0.0));
        let received = at_sender.equal("direction", "received");
        let heard = received.marked(&from(&received.numbers("ack"), FIRST_DATA_SEQ));
        let decisions = of_flow("tcp").map(|tcp| tcp.equal("host", sender));
        Self { name, sender, segments, at_sender, data_sent, heard, decisions, packets: of_flow("packets") }
    }

    /// Whether its packets are datagrams, whose sequence numbers count packets and not bytes.
    pub(crate) fn is_of_datagrams(&self) -> bool {
        self.at_sender.among("kind", &[DATAGRAM]).contains(&true)
    }

    /// The data segments that the sender sent.
    pub(crate) fn sent(&self) -> Sent {
        let rows = &self.data_sent;
        Sent {
            time: rows.numbers("time_ns"),
            extent: extent(rows),
            packet: rows.numbers("packet"),
            verdict: verdicts(rows),
            why: reasons(rows),
        }
    }

    /// The acknowledgments that reached the sender.
    ///
    /// A duplicate is a pure ACK with the same number and the same window (RFC 5681 §2).
    pub(crate) fn acks(&self) -> Acks {
        let heard = &self.heard;
        let ack: Vec<f64> = heard.numbers("ack").iter().map(|ack| ack - FIRST_DATA_SEQ).collect();
        let edge: Vec<f64> =
            ack.iter().zip(heard.numbers("window")).map(|(ack, window)| ack + window).collect();
        let pure = heard.among("kind", &["ack"]);
        let same = |row: usize| row > 0 && ack[row] == ack[row - 1] && edge[row] == edge[row - 1];
        let duplicate = (0..ack.len()).map(|row| pure[row] && same(row)).collect();
        Acks { time: heard.numbers("time_ns"), ack: highest(&ack), edge, duplicate }
    }

    /// The SACK blocks of some acknowledgments, as offsets.
    pub(crate) fn blocks(heard: &Rows<'_>) -> Vec<Vec<Block>> {
        heard.texts("sack").into_iter().map(sack_blocks).collect()
    }

    /// The drops of its data packets.
    pub(crate) fn drops(data_packets: Option<&Rows<'_>>) -> Incidents {
        let lost = data_packets.map(|packets| packets.marked(&packets.among("fate", &DROPPED)));
        lost.map_or_else(Incidents::none, |lost| {
            let end = end_of_packet(&lost);
            Incidents { begin: end.clone(), end, offset: middle(&lost), why: place_and(&lost, "rule") }
        })
    }

    /// The data packets that a link delayed singly and delivered.
    pub(crate) fn delays(data_packets: Option<&Rows<'_>>) -> Incidents {
        let Some(packets) = data_packets else { return Incidents::none() };
        let single = packets.among("delay_cause", &HOLD_SINGLE_PACKETS);
        // A packet that was dropped meanwhile, as too old, has no end of its delay.
        let arrived = not(&packets.among("fate", &DROPPED));
        let delayed = above(&packets.numbers("delay_ns"), 0.0);
        let held = packets.marked(&both(&both(&single, &arrived), &delayed));
        let end = end_of_packet(&held);
        let begin = end.iter().zip(held.numbers("delay_ns")).map(|(end, delay)| end - delay).collect();
        Incidents { begin, end, offset: middle(&held), why: place_and(&held, "delay_cause") }
    }

    /// Its data packets on their links. None without the table `packets`.
    pub(crate) fn data_packets(&self, sent: &Sent) -> Option<Rows<'a>> {
        let packets = self.packets.as_ref()?;
        Some(packets.marked(&found_among(&packets.numbers("packet"), &sent.packet)))
    }
}

impl Incidents {
    const fn none() -> Self {
        Self { begin: Vec::new(), end: Vec::new(), offset: Vec::new(), why: Vec::new() }
    }
}

/// The flows of a result in the order of its table `flows`, else in the order in which they began.
pub(crate) fn flow_names(tables: &Tables) -> Vec<&str> {
    let of = |table: &str| tables.get(table).map(|table| table.all().distinct("flow")).unwrap_or_default();
    let (began, listed) = (of("segments"), of("flows"));
    let known = listed.iter().filter(|name| began.contains(name));
    first_seen(known.chain(&began).copied())
}

/// The offsets of the packets' contents: of their bytes, or for datagrams their number and the next number.
pub(crate) fn extent(packets: &Rows<'_>) -> Vec<Block> {
    let datagram = packets.among("kind", &[DATAGRAM]);
    let (seq, len) = (packets.numbers("seq"), packets.numbers("len"));
    let of = |row: usize| if datagram[row] { (seq[row], 1.0) } else { (seq[row] - FIRST_DATA_SEQ, len[row]) };
    (0..seq.len()).map(of).map(|(start, length)| (start, start + length)).collect()
}

/// Whether each of many whole numbers is wanted.
pub(crate) fn found_among(numbers: &[f64], wanted: &[f64]) -> Vec<bool> {
    let mut known: Vec<i64> = wanted.iter().filter(|one| one.is_finite()).map(|one| *one as i64).collect();
    known.sort_unstable();
    numbers.iter().map(|one| one.is_finite() && known.binary_search(&(*one as i64)).is_ok()).collect()
}

/// The largest value up to each place.
pub(crate) fn highest(values: &[f64]) -> Vec<f64> {
    let grown = values.iter().scan(f64::NEG_INFINITY, |most, value| {
        *most = most.max(*value);
        Some(*most)
    });
    grown.collect()
}

/// Which values are greater than a limit.
pub(crate) fn above(values: &[f64], limit: f64) -> Vec<bool> {
    values.iter().map(|value| *value > limit).collect()
}

/// Which values are a limit or greater.
fn from(values: &[f64], limit: f64) -> Vec<bool> {
    values.iter().map(|value| *value >= limit).collect()
}

/// The host that sent more data; in a flow without data, the host that sent first.
fn sender<'a>(segments: &Rows<'a>) -> &'a str {
    let sent = segments.equal("direction", "sent");
    let mut most: Option<(&str, f64)> = None;
    for host in sent.distinct("host") {
        let total = sent.equal("host", host).numbers("len").iter().sum();
        if most.is_none_or(|(_, least)| total > least) {
            most = Some((host, total));
        }
    }
    most.map_or("", |(host, _)| host)
}

fn verdicts(rows: &Rows<'_>) -> Vec<usize> {
    let again = rows.flags("retransmission");
    let place = |again: bool, needless: Option<bool>| match (again, needless) {
        (false, _) => 0,
        (true, Some(false)) => 1,
        (true, Some(true)) => 2,
        (true, None) => 3,
    };
    again
        .into_iter()
        .zip(rows.maybe_flags("needless"))
        .map(|(again, needless)| place(again, needless))
        .collect()
}

/// Reason and verdict of retransmissions, in words.
fn reasons(rows: &Rows<'_>) -> Vec<String> {
    if !rows.flags("retransmission").contains(&true) || !rows.has("explanation") {
        return vec![String::new(); rows.len()];
    }
    let words = |(cause, verdict): (&str, &str)| match (cause.replace('_', " "), verdict) {
        (cause, "") => cause,
        (cause, verdict) if cause.is_empty() => verdict.into(),
        (cause, verdict) => format!("{cause}: {verdict}"),
    };
    rows.texts("cause").into_iter().zip(rows.texts("explanation")).map(words).collect()
}

/// The blocks in a text like "513-1025 1281-1537", left edge and the number after the right edge, as offsets.
fn sack_blocks(text: &str) -> Vec<Block> {
    let number = |digits: &str| digits.parse::<f64>().ok().map(|number| number - FIRST_DATA_SEQ);
    text.split(' ')
        .filter_map(|block| block.split_once('-'))
        .filter_map(|(a, b)| number(a).zip(number(b)))
        .collect()
}

/// The link of each packet's fate, with the reason from a column.
fn place_and(packets: &Rows<'_>, column: &str) -> Vec<String> {
    let (links, ways, reasons) = (packets.texts("link"), packets.texts("direction"), packets.texts(column));
    let words = |row: usize| match reasons[row].replace('_', " ") {
        why if why.is_empty() => format!("{}.{}", links[row], ways[row]),
        why => format!("{}.{}: {why}", links[row], ways[row]),
    };
    (0..packets.len()).map(words).collect()
}

/// The last known time of each packet on its link: delivery, else transmission, else arrival, in nanoseconds.
fn end_of_packet(packets: &Rows<'_>) -> Vec<f64> {
    let [delivered, transmitted, entered] =
        ["delivered_ns", "transmitted_ns", "entered_ns"].map(|column| packets.numbers(column));
    let known = |row: usize| [delivered[row], transmitted[row]].into_iter().find(|time| !time.is_nan());
    (0..packets.len()).map(|row| known(row).unwrap_or(entered[row])).collect()
}

fn middle(packets: &Rows<'_>) -> Vec<f64> {
    extent(packets).into_iter().map(|(start, end)| f64::midpoint(start, end)).collect()
}

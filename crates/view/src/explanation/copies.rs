//! The segments that a sender sent, as columns; single ones are read on demand.

use crate::by_number::ByNumber;
use crate::explanation::hops::{Hop, Hops};
use crate::table::Rows;

/// A segment that the sender sent: the original, or a later copy of the same bytes. Times are in seconds.
#[derive(Clone, Debug)]
pub(crate) struct Copy {
    pub(crate) packet: i64,
    pub(crate) time: f64,
    pub(crate) seq: i64,
    pub(crate) len: i64,
    pub(crate) cause: String,
    pub(crate) needless: Option<bool>,
    pub(crate) why: String,
    pub(crate) explanation: String,
    pub(crate) arrived: Option<f64>,
    pub(crate) hops: Vec<Hop>,
}

impl Copy {
    /// The hop that dropped it, if one did.
    pub(crate) fn drop(&self) -> Option<&Hop> {
        self.hops.iter().find(|hop| hop.dropped())
    }

    /// The hop with its longest unusual delay, with start and end.
    pub(crate) fn hold(&self) -> Option<(&Hop, (f64, f64))> {
        let held = self.hops.iter().filter_map(|hop| Some((hop, hop.hold()?)));
        held.reduce(|longest, one| if one.0.delay > longest.0.delay { one } else { longest })
    }
}

/// All segments with data, SYNs and FINs of one connection's sender, in the order of sending.
pub(crate) struct Copies<'a> {
    rows: Rows<'a>,
    pub(crate) hops: Hops<'a>,
    pub(crate) packet: Vec<f64>,
    /// Times of sending, in seconds.
    pub(crate) time: Vec<f64>,
    /// First sequence numbers.
    pub(crate) seq: Vec<f64>,
    /// Bytes of data.
    pub(crate) length: Vec<f64>,
    pub(crate) retransmission: Vec<bool>,
    pub(crate) needless: Vec<Option<bool>>,
    pub(crate) cause: Vec<&'a str>,
    /// Times of arrival in seconds; NaN where they did not arrive, or it is not known.
    pub(crate) arrived: Vec<f64>,
    /// The rows in the order of their first sequence numbers.
    by_start: Vec<usize>,
}

impl<'a> Copies<'a> {
    pub(crate) fn new(sent: Rows<'a>, received: &Rows<'_>, hops: Hops<'a>) -> Self {
        let (packet, seq) = (sent.numbers("packet"), sent.numbers("seq"));
        let mut by_start: Vec<usize> = (0..seq.len()).collect();
        by_start.sort_by(|one, other| seq[*one].total_cmp(&seq[*other]));
        Self {
            hops,
            arrived: last_of_each(&packet, &received.numbers("packet"), &received.seconds("time_ns")),
            packet,
            time: sent.seconds("time_ns"),
            seq,
            length: sent.numbers("len"),
            retransmission: sent.flags("retransmission"),
            needless: sent.maybe_flags("needless"),
            cause: sent.texts("cause"),
            by_start,
            rows: sent,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.packet.len()
    }

    /// The copy of a row.
    pub(crate) fn get(&self, row: usize) -> Copy {
        let one = self.rows.at(&[row]);
        Copy {
            packet: self.packet[row] as i64,
            time: self.time[row],
            seq: self.seq[row] as i64,
            len: self.length[row] as i64,
            cause: self.cause[row].into(),
            needless: self.needless[row],
            why: one.texts("why")[0].into(),
            explanation: one.texts("explanation")[0].into(),
            arrived: Some(self.arrived[row]).filter(|time| !time.is_nan()),
            hops: self.hops.of(self.packet[row] as i64),
        }
    }

    /// The sequence number after the last byte of a row, or after its SYN or FIN.
    pub(crate) fn end(&self, row: usize) -> f64 {
        self.seq[row] + self.length[row].max(1.0)
    }

    /// The copies of a copy's first byte that were sent before it.
    pub(crate) fn earlier(&self, copy: &Copy) -> Vec<Copy> {
        let (seq, packet) = (copy.seq as f64, copy.packet as f64);
        let first = self.by_start.partition_point(|row| self.seq[*row] < seq);
        let last = self.by_start.partition_point(|row| self.seq[*row] < seq + 1.0);
        let before = |row: &usize| self.packet[*row] < packet;
        let mut same: Vec<usize> = self.by_start[first..last].iter().copied().filter(before).collect();
        if same.is_empty() {
            let covers = |row: &usize| self.seq[*row] <= seq && seq < self.end(*row) && before(row);
            same = (0..self.len()).filter(covers).collect();
        }
        same.into_iter().map(|row| self.get(row)).collect()
    }

    /// Whether no other copy begins with the same byte, for each row.
    pub(crate) fn sent_once(&self) -> Vec<bool> {
        let mut alone = vec![true; self.len()];
        for pair in self.by_start.windows(2) {
            if self.seq[pair[0]] == self.seq[pair[1]] {
                alone[pair[0]] = false;
                alone[pair[1]] = false;
            }
        }
        alone
    }
}

/// The last value of each wanted key, NaN for a missing key.
fn last_of_each(wanted: &[f64], keys: &[f64], values: &[f64]) -> Vec<f64> {
    let known = ByNumber::new(keys.iter().zip(values).map(|(key, value)| (*key as i64, *value)));
    wanted.iter().map(|key| known.last(*key as i64).unwrap_or(f64::NAN)).collect()
}

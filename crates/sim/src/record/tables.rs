//! The tables of a result. A new version may add columns, and never changes or removes one.
//!
//! Times are nanoseconds since the start of the run, sequence numbers are positions in the stream (a direction's SYN is
//! 0, its first byte 1, and nothing wraps), windows are in bytes.

use cell::BlockRecord;
use parquet::Columns;
use units::{Bytes, Rate};
use workload::Transfer;

use super::packet_row::PacketRow;
use super::packet_table::PacketTable;
use super::passage::Passage;
use super::rows::{DecisionRow, Observation, ProxyRow, QueueLength, VariableRow, Verdicts};
use crate::cell_summary::{CellSummary, CellUserSummary};
use crate::external::ObservedFlow;
use crate::ids::{CellId, ConversationId, DirectionId, Id, Side};
use crate::measure::{Reading, Sample, WindowResult, times_between};
use crate::spec::Spec;
use crate::summary::Summary;

pub(super) type Table = (&'static str, arrow_array::RecordBatch);

/// One row for each packet's transit of each link. `behind` is the length of the queue on arrival, in packets;
/// `transmitted_ns` is when the last bit was sent. Where a link compresses headers or stuffs octets, `wire_bytes` is
/// the size that it sent, framing included, and `headers` the form of the headers.
pub(super) fn packets(passages: &[Passage], packet_table: &PacketTable, spec: &Spec) -> Table {
    let rows = || passages.iter();
    let sent = || rows().map(|row| packet_table.row(row.packet));
    let columns = Columns::default()
        .u64("packet", sent().map(|packet| packet.id.0))
        .text("flow", sent().map(|packet| packet_table.flow_name(packet.conversation)))
        .text("link", rows().map(|row| link_name(spec, row.direction)))
        .text("direction", rows().map(|row| row.direction.heading().name()))
        .text("kind", sent().map(|packet| packet.kind))
        .u32("bytes", rows().map(|row| row.size))
        .i64("seq", sent().map(|packet| packet.seq))
        .u32("len", sent().map(|packet| packet.len))
        .i64("ack", sent().map(|packet| packet.ack))
        .text("flags", sent().map(|packet| packet.flags.to_string()))
        .u32("window", sent().map(|packet| packet.window))
        .maybe_text("sack", sent().map(|packet| packet.sack.as_deref()))
        .boolean("retransmission", sent().map(|packet| packet.retransmission))
        .maybe_text("cause", sent().map(|packet| packet.cause))
        .time("entered_ns", rows().map(|row| row.entered))
        .u32("behind", rows().map(|row| row.behind))
        .maybe_time("transmitted_ns", rows().map(|row| row.transmitted))
        .maybe_time("delivered_ns", rows().map(|row| row.delivered))
        .text("fate", rows().map(|row| row.fate.id()))
        .maybe_text("rule", rows().map(|row| row.rule))
        .length("delay_ns", rows().map(|row| row.delay))
        .maybe_text("delay_cause", rows().map(|row| row.delay_cause))
        .u32("connection", sent().map(|packet| packet_table.number(packet.conversation)));
    if !spec.has_other_sizes_on_wire() {
        return ("packets", columns.finish());
    }
    let columns = columns
        .maybe_u64("wire_bytes", rows().map(|row| row.wire.map(|(bytes, _)| bytes.0)))
        .maybe_text("headers", rows().map(|row| row.wire.map(|(_, headers)| headers.id())));
    ("packets", columns.finish())
}

/// One row for each decision of an endpoint, with the state that it was based on. `ssthresh` is null while it is unset.
pub(super) fn tcp(decisions: &[DecisionRow], packet_table: &PacketTable, spec: &Spec) -> Table {
    let rows = || decisions.iter().map(|row| &row.record);
    let models = || rows().map(|row| row.model);
    let unless_unset = |amount: Bytes| (amount != Bytes::MAX).then_some(amount.0);
    // The position of a decision that was made before the stream began is known only now.
    let known_now =
        |row: &DecisionRow| packet_table.position(row.conversation, row.side, row.record.seq).unwrap_or(0);
    let positions = decisions.iter().map(|row| row.position.unwrap_or_else(|| known_now(row)));
    let columns = Columns::default()
        .time("time_ns", rows().map(|row| row.at))
        .text("flow", decisions.iter().map(|row| packet_table.flow_name(row.conversation)))
        .text("host", decisions.iter().map(|row| host((row.conversation, row.side), packet_table, spec)))
        .text("event", rows().map(|row| row.event.id()))
        .text("reason", rows().map(|row| row.reason))
        .i64("seq", positions)
        .u32("len", rows().map(|row| row.len))
        .u64("cwnd", rows().map(|row| row.cwnd.0))
        .maybe_u64("ssthresh", rows().map(|row| unless_unset(row.ssthresh)))
        .u64("flight", rows().map(|row| row.flight.0))
        .u64("advertised", rows().map(|row| row.advertised.0))
        .maybe_length("srtt_ns", rows().map(|row| row.srtt))
        .maybe_length("rttvar_ns", rows().map(|row| row.rttvar))
        .length("rto_ns", rows().map(|row| row.rto))
        .text("phase", rows().map(|row| row.phase))
        .u32("connection", decisions.iter().map(|row| packet_table.number(row.conversation)))
        .u64("pipe", rows().map(|row| row.pipe.0))
        .maybe_text("state", models().map(|model| model.map(|model| model.state)))
        .maybe_f64("bandwidth_Bps", models().map(|model| model.map(|model| bytes_per_sec(model.bandwidth))))
        .maybe_f64(
            "pacing_rate_Bps",
            models().map(|model| model.map(|model| bytes_per_sec(model.pacing_rate))),
        );
    ("tcp", columns.finish())
}

/// One row for each change of a named variable of a congestion control, as a decision of its sender found it.
pub(super) fn variables(changes: &[VariableRow], packet_table: &PacketTable, spec: &Spec) -> Table {
    let rows = || changes.iter().map(|row| &row.record);
    let columns = Columns::default()
        .time("time_ns", rows().map(|row| row.at))
        .text("flow", changes.iter().map(|row| packet_table.flow_name(row.conversation)))
        .text("host", changes.iter().map(|row| host((row.conversation, row.side), packet_table, spec)))
        .u32("connection", changes.iter().map(|row| packet_table.number(row.conversation)))
        .text("name", rows().map(|row| &row.name))
        .f64("value", rows().map(|row| row.value));
    ("variables", columns.finish())
}

fn bytes_per_sec(rate: Rate) -> f64 {
    rate.bits_per_sec() as f64 / 8.0
}

/// One row whenever a packet enters, leaves or is refused by a queue, with the length of the queue afterwards: the
/// packets that wait for the send buffer.
pub(super) fn queue(lengths: &[QueueLength], spec: &Spec) -> Table {
    let rows = || lengths.iter();
    let columns = Columns::default()
        .time("time_ns", rows().map(|row| row.at))
        .text("link", rows().map(|row| link_name(spec, row.direction)))
        .text("direction", rows().map(|row| row.direction.heading().name()))
        .u32("packets", rows().map(|row| row.packets))
        .u64("bytes", rows().map(|row| row.bytes.0))
        .maybe_f64("average", rows().map(|row| row.average));
    ("queue", columns.finish())
}

/// One row for each transport block of a shared channel, in the TTI in which it was sent; `quality_db` is the
/// signal-to-interference ratio after despreading, `power` the share of the shared channel's.
pub(super) fn cell(blocks: &[(CellId, BlockRecord)], spec: &Spec) -> Table {
    let rows = || blocks.iter().map(|(_, block)| block);
    let user = |(cell, block): &(CellId, BlockRecord)| {
        &*spec.link(spec.cells[cell.index()].users[block.user.index()].link).name
    };
    let columns = Columns::default()
        .time("time_ns", rows().map(|row| row.at))
        .text("cell", blocks.iter().map(|(cell, _)| &*spec.cells[cell.index()].name))
        .text("link", blocks.iter().map(user))
        .u32("sector", rows().map(|row| row.sector.0))
        .f64("quality_db", rows().map(|row| cell::decibel::decibels(row.quality)))
        .u32("bits", rows().map(|row| row.bits))
        .u32("bytes", rows().map(|row| row.bytes.0 as u32))
        .u32("codes", rows().map(|row| row.codes))
        .f64("power", rows().map(|row| row.power))
        .u32("attempt", rows().map(|row| row.attempt))
        .boolean("failed", rows().map(|row| row.failed));
    ("cell", columns.finish())
}

/// One row for each thing that a proxy did. `seq` is a position of data, or the number of an acknowledgment; `packets`
/// and `bytes` are what the proxy then keeps of the connection.
pub(super) fn proxies(rows: &[ProxyRow], packet_table: &PacketTable, spec: &Spec) -> Table {
    let events = || rows.iter().map(|row| &row.event);
    let columns = Columns::default()
        .time("time_ns", events().map(|event| event.at))
        .text("proxy", rows.iter().map(|row| &*spec.proxies[row.proxy.index()].name))
        .text("flow", rows.iter().map(|row| packet_table.flow_name(row.conversation)))
        .text("event", events().map(|event| event.what.id()))
        .i64("seq", rows.iter().map(|row| row.position.unwrap_or(0)))
        .u32("len", events().map(|event| event.len))
        .u32("packets", events().map(|event| event.packets))
        .u64("bytes", events().map(|event| event.bytes.0))
        .maybe_length("srtt_ns", events().map(|event| event.srtt))
        .maybe_length("timer_ns", events().map(|event| event.timer))
        .u32("connection", rows.iter().map(|row| packet_table.number(row.conversation)));
    ("proxies", columns.finish())
}

/// One row for each packet that an end sent or received. `why` names the verdict on a retransmission; `explanation`
/// gives it as a sentence.
pub(super) fn segments(
    observations: &[Observation],
    packet_table: &PacketTable,
    spec: &Spec,
    verdicts: &mut Verdicts<'_>,
) -> Table {
    let rows = || observations.iter();
    let sent = || rows().map(|row| packet_table.row(row.packet));
    let found: Vec<_> = sent().map(|packet| verdicts(packet.conversation, packet.id)).collect();
    let verdicts = || found.iter().map(Option::as_ref);
    let host = |(row, packet): (&Observation, &PacketRow)| {
        let node = if row.received { packet.to } else { packet.from };
        spec.nodes[node.index()].name.as_str()
    };
    let columns = Columns::default()
        .time("time_ns", rows().map(|row| row.at))
        .text("flow", sent().map(|packet| packet_table.flow_name(packet.conversation)))
        .text("host", rows().zip(sent()).map(host))
        .text("direction", rows().map(|row| if row.received { "received" } else { "sent" }))
        .u64("packet", sent().map(|packet| packet.id.0))
        .text("kind", sent().map(|packet| packet.kind))
        .i64("seq", sent().map(|packet| packet.seq))
        .u32("len", sent().map(|packet| packet.len))
        .i64("ack", sent().map(|packet| packet.ack))
        .u32("window", sent().map(|packet| packet.window))
        .boolean("retransmission", sent().map(|packet| packet.retransmission))
        .maybe_text("cause", sent().map(|packet| packet.cause))
        .maybe_boolean("needless", verdicts().map(|verdict| verdict.map(|found| !found.necessary)))
        .maybe_text("why", verdicts().map(|verdict| verdict.map(|found| found.why.id())))
        .maybe_text("explanation", verdicts().map(|verdict| verdict.map(|found| found.why.to_string())))
        .text("flags", sent().map(|packet| packet.flags.to_string()))
        .maybe_text("sack", sent().map(|packet| packet.sack.as_deref()))
        .u32("connection", sent().map(|packet| packet_table.number(packet.conversation)));
    ("segments", columns.finish())
}

/// One row for each flow at each sample: bytes sent, acknowledged and read by then.
pub(crate) fn progress(spec: &Spec, samples: &[Sample], observed: &[ObservedFlow]) -> Table {
    let own = samples.iter().map(|row| (row.at, spec.flows[row.flow.index()].name.as_str(), row.reading));
    let others = observed.iter().flat_map(|flow| flow.samples.iter().map(move |row| (flow, row)));
    let mut all: Vec<_> =
        own.chain(others.map(|(flow, row)| (row.at, flow.summary.flow.as_str(), row.counts))).collect();
    all.sort_by_key(|row| row.0);
    let rows = || all.iter();
    let totals = || rows().map(|row| &row.2);
    let columns = Columns::default()
        .time("time_ns", rows().map(|row| row.0))
        .text("flow", rows().map(|row| row.1))
        .u64("sent", totals().map(|totals| totals.sent))
        .u64("acked", totals().map(|totals| totals.acked))
        .u64("received", totals().map(|totals| totals.received))
        .u64("segments", totals().map(|totals| totals.segments))
        .u64("retransmissions", totals().map(|totals| totals.retransmissions))
        .u64("acks", totals().map(|totals| totals.acks));
    ("progress", columns.finish())
}

/// One row for each completed transfer of a program.
pub(crate) fn transfers<'a>(flows: impl Iterator<Item = (&'a str, &'a [Transfer])>) -> Table {
    let rows: Vec<_> = flows.flat_map(|(flow, all)| all.iter().map(move |one| (flow, one))).collect();
    let columns = Columns::default()
        .text("flow", rows.iter().map(|row| row.0))
        .time("start_ns", rows.iter().map(|row| row.1.start))
        .time("end_ns", rows.iter().map(|row| row.1.end))
        .u64("bytes", rows.iter().map(|row| row.1.bytes.0));
    ("transfers", columns.finish())
}

/// One row for each length that a queue had, over the whole run and in each window, with its share of the time.
pub(crate) fn queue_lengths(spec: &Spec, last: &Reading, windows: &[WindowResult]) -> Table {
    let start = Reading::at_start();
    let whole = std::iter::once(("", &start, last));
    let spans = whole.chain(windows.iter().map(|seen| (&*seen.name, &seen.opened, &seen.closed)));
    let mut rows = Vec::new();
    for (window, before, after) in spans {
        for link in 0..last.links.len() {
            let [before, after] =
                [before, after].map(|end| end.link(DirectionId::from_index(link)).times.unwrap_or_default());
            let times = times_between(&before, &after);
            let all: f64 = times.iter().sum();
            let stood = (0_u32..).zip(times).filter(|(_, time)| *time > 0.0);
            rows.extend(
                stood.map(|(length, time)| (window, DirectionId::from_index(link), length, time / all)),
            );
        }
    }
    let columns = Columns::default()
        .text("window", rows.iter().map(|row| row.0))
        .text("link", rows.iter().map(|row| link_name(spec, row.1)))
        .text("direction", rows.iter().map(|row| row.1.heading().name()))
        .u32("packets", rows.iter().map(|row| row.2))
        .f64("share", rows.iter().map(|row| row.3));
    ("queue_lengths", columns.finish())
}

/// One row for each user of a shared channel: its position, that of its site, and its totals over the run.
pub(crate) fn cell_users(cells: &[CellSummary]) -> Table {
    let rows: Vec<_> = cells
        .iter()
        .flat_map(|cell| {
            cell.users.iter().zip(&cell.whole.user_spans).map(move |(user, had)| (cell, user, had))
        })
        .collect();
    let site = |(cell, user): (&CellSummary, &CellUserSummary)| cell.sites_m[user.sector as usize / 3];
    let columns = Columns::default()
        .text("cell", rows.iter().map(|row| &row.0.cell))
        .text("link", rows.iter().map(|row| &row.1.link))
        .text("host", rows.iter().map(|row| &row.1.host))
        .u32("sector", rows.iter().map(|row| row.1.sector))
        .f64("x_m", rows.iter().map(|row| row.1.x_m))
        .f64("y_m", rows.iter().map(|row| row.1.y_m))
        .f64("site_x_m", rows.iter().map(|row| site((row.0, row.1))[0]))
        .f64("site_y_m", rows.iter().map(|row| site((row.0, row.1))[1]))
        .maybe_f64("budget_s", rows.iter().map(|row| row.1.budget_s))
        .f64("bit_rate", rows.iter().map(|row| row.2.bit_rate))
        .u64("packets_in", rows.iter().map(|row| row.2.packets_in))
        .u64("packets_out", rows.iter().map(|row| row.2.packets_out))
        .u64("expired", rows.iter().map(|row| row.2.expired))
        .u64("handovers", rows.iter().map(|row| row.2.handovers))
        .u64("blocks", rows.iter().map(|row| row.2.blocks))
        .u64("block_errors", rows.iter().map(|row| row.2.block_errors))
        .maybe_f64("block_bits_mean", rows.iter().map(|row| row.2.block_bits_mean));
    ("cell_users", columns.finish())
}

/// The summary's flows.
pub(super) fn flows(summary: &Summary) -> Table {
    let rows = || summary.flows.iter();
    let columns = Columns::default()
        .text("flow", rows().map(|row| &row.flow))
        .text("from", rows().map(|row| &row.from))
        .text("to", rows().map(|row| &row.to))
        .u64("bytes", rows().map(|row| row.bytes))
        .maybe_f64("elapsed_s", rows().map(|row| row.elapsed_s))
        .maybe_f64("throughput_Bps", rows().map(|row| row.throughput_bps))
        .u64("segments_sent", rows().map(|row| row.segments_sent))
        .u64("retransmissions", rows().map(|row| row.retransmissions))
        .u64("unnecessary_retransmissions", rows().map(|row| row.unnecessary_retransmissions))
        .u64("timeouts", rows().map(|row| row.timeouts))
        .u64("spurious_timeouts", rows().map(|row| row.spurious_timeouts))
        .u64("fast_retransmits", rows().map(|row| row.fast_retransmits))
        .boolean("completed", rows().map(|row| row.completed));
    ("flows", columns.finish())
}

fn link_name(spec: &Spec, direction: DirectionId) -> &str {
    &spec.links[direction.link().index()].name
}

/// The name of the host at one side of a conversation, which made a decision.
fn host<'a>(
    (conversation, side): (ConversationId, Side),
    packet_table: &'a PacketTable,
    spec: &'a Spec,
) -> &'a str {
    if let Some(proxy) = packet_table.proxy_at(conversation, side) {
        return &spec.node(proxy).name;
    }
    let Some(flow) = packet_table.flow_of(conversation) else {
        return packet_table.observed_host(conversation, side).unwrap_or("");
    };
    let flow = &spec.flows[flow.index()];
    let node = match side {
        Side::From => flow.from,
        Side::To => flow.to,
    };
    &spec.node(node).name
}

//! The results of a run: the summary, the tables, the captures.

use arrow_array::RecordBatch;
use trace::ledger::Diagnosis;
use units::Instant;

use crate::engine::Engine;
use crate::external::ObservedFlow;
use crate::ids::{DirectionId, Heading, Id, NodeId};
use crate::measure::{LinkMeasures, LinkReading, Reading, WindowResult};
use crate::record::{self, Recorder, Records};
use crate::spec::{NodeKind, Spec};
use crate::stop::Stop;
use crate::summary::{Clock, FlowSummary, LinkSummary, Summary, WireSummary};

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its numbers.
    pub summary: Summary,
    /// The tables that were asked for, by name, and `flows`: the rows that `World::take_records` has not returned.
    pub tables: Vec<(&'static str, RecordBatch)>,
    /// The captures that were asked for, pcapng files by the name of their point: likewise the part not returned
    /// before.
    pub captures: Vec<(String, Vec<u8>)>,
}

/// Ends a run.
pub(crate) fn gather<R: Recorder>(
    mut engine: Engine<R>,
    spec: &Spec,
    observed: Vec<ObservedFlow>,
) -> Outcome {
    let last =
        Reading { delays: engine.delays(), cells: engine.cells.reading(), ..engine.reading(engine.now) };
    let (windows, samples) = std::mem::take(&mut engine.sampler).finish(&last);
    let own = engine.flows.iter().map(|flow| (&*flow.name, &*flow.transfers));
    let seen = observed.iter().map(|flow| (&*flow.summary.flow, &*flow.transfers));
    let transfers = record::transfers(own.chain(seen));
    let (mut flows, mut diagnoses) = flows(&mut engine, spec, &windows);
    engine.recorder.identify(&observed, &mut diagnoses);
    let progress = spec.record.measure.sample.map(|_| record::progress(spec, &samples, &observed));
    flows.extend(observed.into_iter().map(|flow| flow.summary));
    let summary = Summary {
        scenario: spec.name.clone(),
        seed: spec.seed,
        clock: clock(spec),
        stopped_s: engine.now.as_secs_f64(),
        stopped_by: stopped_by(&engine, spec),
        flows,
        links: links(spec, &last, &windows),
        cells: engine.cells.summaries(spec, &last, &windows),
        proxies: engine.proxies.summaries(spec),
    };
    let Records { mut tables, captures } = engine.recorder.finish(spec, &summary, &diagnoses);
    tables.extend(progress);
    tables.extend(spec.record.queue_lengths.then(|| record::queue_lengths(spec, &last, &windows)));
    if !summary.cells.is_empty() {
        tables.push(record::cell_users(&summary.cells));
    }
    if spec.record.transfers {
        tables.push(transfers);
    }
    Outcome { summary, tables, captures }
}

fn stopped_by<R>(engine: &Engine<R>, spec: &Spec) -> String {
    match &engine.failure {
        Some(failure) => failure.to_string(),
        None => engine.stopped.as_ref().unwrap_or(&Stop::Time).describe(spec),
    }
}

/// A world with an external node follows the wall clock.
fn clock(spec: &Spec) -> Clock {
    let external = spec.nodes.iter().any(|node| matches!(node.kind, NodeKind::External { .. }));
    if external { Clock::Real } else { Clock::Virtual }
}

fn flows<R: Recorder>(
    engine: &mut Engine<R>,
    spec: &Spec,
    windows: &[WindowResult],
) -> (Vec<FlowSummary>, Vec<Diagnosis>) {
    engine.connections.ids().for_each(|place| engine.count(place));
    let ids = engine.flows.ids();
    let flows = spec.flows.iter().zip(engine.flows.iter_mut());
    let summaries = ids.zip(flows).map(|(id, (flow_spec, flow))| {
        let name = |node: NodeId| spec.node(node).name.as_str();
        let windows = windows.iter().map(|window| window.flow(id, &flow.transfers, &flow.service));
        FlowSummary { windows: windows.collect(), ..flow.summary(name(flow_spec.from), name(flow_spec.to)) }
    });
    (summaries.collect(), diagnoses(engine))
}

/// The verdicts by conversation, in a list in which a conversation without verdicts has empty ones.
fn diagnoses<R>(engine: &mut Engine<R>) -> Vec<Diagnosis> {
    let mut verdicts = Vec::new();
    for (conversation, diagnosis) in std::mem::take(&mut engine.diagnoses) {
        verdicts.resize(conversation.index(), Diagnosis::default());
        verdicts.push(diagnosis);
    }
    verdicts
}

fn links(spec: &Spec, last: &Reading, windows: &[WindowResult]) -> Vec<LinkSummary> {
    let directions = spec.links.iter().flat_map(|link| Heading::BOTH.map(|heading| (link, heading.name())));
    directions
        .zip(&last.links)
        .enumerate()
        .map(|(index, pair)| (DirectionId::from_index(index), pair))
        .map(|(id, ((spec, direction), reading))| LinkSummary {
            measures: whole_run(last, id),
            windows: windows.iter().map(|window| window.link(id)).collect(),
            ..link_summary(&spec.name, direction, reading)
        })
        .collect()
}

fn link_summary(name: &str, direction: &str, reading: &LinkReading) -> LinkSummary {
    let counters = &reading.counters;
    LinkSummary {
        link: name.to_owned(),
        direction: direction.to_owned(),
        packets_in: reading.packets_in(),
        packets_out: counters.packets_out,
        queue_drops: counters.queue_drops,
        error_drops: counters.error_drops,
        queue_max: counters.queue_max,
        dropper_drops: counters.dropper_drops,
        oversize_drops: reading.oversize_drops,
        packets_inside: counters.inside(),
        wire: wire_summary(&counters.wire),
        ..LinkSummary::default()
    }
}

fn wire_summary(wire: &link::WireCounters) -> Option<WireSummary> {
    let summary = WireSummary {
        compressed: wire.compressed,
        refreshes: wire.refreshes,
        plain: wire.plain,
        decompressor_drops: wire.decompressor_drops,
        escaped_bytes: wire.escaped,
        wire_bytes: wire.bytes.0,
        header_bytes: wire.headers.0,
        feedback_bytes: wire.feedback.0,
    };
    (summary != WireSummary::default()).then_some(summary)
}

fn whole_run(last: &Reading, direction: DirectionId) -> LinkMeasures {
    LinkMeasures::between(&LinkReading::default(), &last.link(direction), last.at - Instant::START)
}

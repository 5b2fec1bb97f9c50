//! Windows and samples: what they report is what happened, and asking changes nothing.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use lasthop_sim::{
    Amount, FlowSpec, LinkMeasures, MeasureSpec, Outcome, RecordSpec, Spec, WindowSpec, Workload,
};
use serde_json::json;
use units::{Bytes, Duration};

use crate::support::{SECOND, config, everything, flow, pair, run, slow, tcp};

/// One flow all the time, two that come at 9 s and go at 27 s, of 36 s.
fn comers_and_goers() -> Spec {
    let flow = |name, start, until| FlowSpec {
        start: SECOND * start,
        workload: Workload::Bulk(Amount::Until(SECOND * until)),
        ..flow(name, 0, 1, 0)
    };
    let mut spec = pair(slow(), 0);
    spec.flows = vec![flow("long", 0, 36), flow("short-1", 9, 27), flow("short-2", 9, 27)];
    spec.stop = Some(SECOND * 36);
    spec
}

fn measured(windows: &[(&str, u64, Option<u64>)], sample: Option<Duration>) -> RecordSpec {
    let window = |(name, from, to): &(&str, u64, Option<u64>)| WindowSpec {
        name: (*name).to_owned(),
        from: SECOND * *from,
        to: to.map(|to| SECOND * to),
    };
    let windows = windows.iter().map(window).collect();
    RecordSpec { measure: MeasureSpec { links: true, windows, sample }, ..RecordSpec::default() }
}

fn with(mut spec: Spec, record: RecordSpec) -> Outcome {
    spec.record = record;
    run(spec)
}

const THIRDS: [(&str, u64, Option<u64>); 3] =
    [("alone", 0, Some(9)), ("shared", 9, Some(27)), ("after", 27, None)];

#[test]
fn flows_that_come_and_go_have_what_they_got_in_each_window() {
    let flows = with(comers_and_goers(), measured(&THIRDS, None)).summary.flows;
    let rates = |flow: usize| flows[flow].windows.iter().map(|window| window.throughput_bps.unwrap());
    let [long, short]: [Vec<f64>; 2] = [rates(0).collect(), rates(1).collect()];
    // 2 Mbit/s of 1500-byte packets with 1460 bytes of data each.
    let full = 2e6 / 8.0 * 1460.0 / 1500.0;
    assert!(long[0] > 0.9 * full && long[0] <= full, "{long:?}");
    assert_eq!(short[0], 0.0);
    assert!(short[1] > 0.1 * full && long[1] < 0.8 * full, "{long:?} {short:?}");
    // What the short ones have written by 27 s still goes: up to two socket buffers that wait to be sent, and what a
    // full queue and 100 ms of the link hold.
    let under_way = (20.0 + 0.1 * 2e6 / 8.0 / 1500.0) * 1460.0;
    let written = 2.0 * tcp::SOCKET_BUFFER.0 as f64 + under_way;
    assert!(short[2] * 9.0 < written && long[2] > 0.7 * full, "{long:?} {short:?}");
    for flow in &flows {
        assert_eq!(flow.windows.iter().map(|window| window.bytes).sum::<u64>(), flow.bytes);
        assert_eq!(flow.windows.iter().map(|window| window.segments_sent).sum::<u64>(), flow.segments_sent);
    }
}

#[test]
fn windows_of_a_link_add_up_to_its_totals() {
    let link = with(comers_and_goers(), measured(&THIRDS, None)).summary.links.remove(0);
    assert_eq!(link.windows.iter().map(|window| window.packets_in).sum::<u64>(), link.packets_in);
    assert_eq!(link.windows.iter().map(|window| window.queue_drops).sum::<u64>(), link.queue_drops);
    let utilisation = |measures: &LinkMeasures| measures.utilisation.unwrap();
    let weighted: f64 =
        link.windows.iter().map(|span| utilisation(&span.measures) * (span.to_s - span.from_s)).sum();
    assert!((weighted / 36.0 - utilisation(&link.measures)).abs() < 1e-9);
    // A queue of 20 packets under SACK is hardly ever empty once it has filled.
    assert!(utilisation(&link.windows[1].measures) > 0.99, "{link:?}");
}

#[test]
fn the_acknowledgments_of_a_flow_are_the_packets_of_the_link_back() {
    let summary = run(pair(slow(), 200_000)).summary;
    let (flow, up) = (&summary.flows[0], &summary.links[1]);
    assert_eq!((up.direction.as_str(), up.packets_in), ("up", flow.acks));
    // Each second segment is acknowledged at least, none of them longer than its headers with options.
    assert!(
        2 * flow.acks >= flow.segments_sent && (40 * flow.acks..=80 * flow.acks).contains(&flow.ack_bytes)
    );
}

#[test]
fn packets_that_are_too_long_for_a_link_have_arrived_at_it_in_windows_and_in_the_whole_run() {
    let mut spec = pair(slow(), 0);
    spec.links[0].mtu = Bytes(1000);
    let sending = |name, size: &str| {
        let rate = json!({ "constant-rate": { "rate": "64 kbit/s", "packet": size } });
        let application = serde_json::from_value(rate).unwrap();
        let workload = Workload::Application { application, until: Some(SECOND * 9) };
        FlowSpec { workload, ..flow(name, 0, 1, 0) }
    };
    spec.flows = vec![sending("fits", "500 bytes"), sending("too-long", "1500 bytes")];
    spec.record = measured(&[("first", 0, Some(5)), ("then", 5, None)], None);
    let link = run(spec).summary.links.remove(0);
    assert!(link.oversize_drops > 0 && link.packets_in == link.packets_out + link.oversize_drops, "{link:?}");
    assert_eq!(link.windows.iter().map(|window| window.packets_in).sum::<u64>(), link.packets_in);
}

#[test]
fn measuring_changes_nothing_else() {
    let plain = with(comers_and_goers(), RecordSpec::default()).summary;
    assert_eq!(plain.links[0].measures.utilisation, None, "not asked for");
    let mut measured = with(comers_and_goers(), measured(&THIRDS, Some(Duration::from_millis(7)))).summary;
    for (flow, plain) in measured.flows.iter_mut().zip(&plain.flows) {
        assert!(flow.measures.delay_p50_s.is_some() && plain.measures.delay_p50_s.is_none());
        flow.windows.clear();
        flow.measures = plain.measures.clone();
    }
    for (link, plain) in measured.links.iter_mut().zip(&plain.links) {
        link.windows.clear();
        link.measures = plain.measures.clone();
    }
    assert_eq!(plain, measured);
}

#[test]
fn samples_report_how_far_each_flow_had_got() {
    let mut spec = pair(slow(), 200_000);
    spec.record = measured(&[], Some(Duration::from_millis(500)));
    let outcome = run(spec);
    let (_, progress) = outcome.tables.iter().find(|(name, _)| *name == "progress").unwrap();
    let column = |name| progress.column_by_name(name).unwrap();
    let times = column("time_ns").as_primitive::<Int64Type>();
    let acked = column("acked").as_primitive::<Int64Type>();
    assert_eq!(times.value(1), 1_000_000_000);
    assert!(acked.values().is_sorted());
    assert_eq!(acked.values().last(), Some(&200_000), "the last sample is the end");
}

#[test]
fn a_link_has_been_busy_for_what_it_sent_and_for_the_part_of_a_packet_that_is_out() {
    // 12 kbit/s: a packet of 1500 bytes takes 1 s. The run is cut in the middle of one.
    let line = config(json!({ "rate": "12 kbit/s", "queue": { "limit": "9 packets" } }));
    let mut spec = pair(line, 14_600);
    spec.stop = Some(SECOND * 5);
    spec.record = measured(&[], None);
    let measures = run(spec).summary.links.remove(0).measures;
    let seconds = measures.utilisation.unwrap() * 5.0;
    let sent = measures.bytes_out as f64 / 1500.0;
    assert!(sent + 0.1 < seconds && seconds < sent + 1.0, "{measures:?}");
    assert_eq!(measures.bit_rate, Some(measures.bytes_out as f64 * 8.0 / 5.0));
}

#[test]
fn a_link_that_starts_anew_is_not_busy_with_what_it_has_lost() {
    // 64 of 100 kbit/s for 5 s. The packet that is sent from 4.875 s on is the last, and is cut off;
    // traffic in the other direction keeps the run going.
    let line = config(json!({ "rate": "100 kbit/s", "resets": { "interval": ["4.9 s", "1000 s"] } }));
    let rate = json!({ "constant-rate": { "rate": "64 kbit/s" } });
    let sending = |name, from: usize, until| {
        let application = serde_json::from_value(rate.clone()).unwrap();
        let workload = Workload::Application { application, until: Some(SECOND * until) };
        FlowSpec { workload, ..flow(name, from, 1 - from, 0) }
    };
    let mut spec = pair(line, 0);
    spec.flows = vec![sending("short", 0, 5), sending("long", 1, 100)];
    spec.stop = Some(SECOND * 100);
    spec.record = measured(&[], None);
    let link = run(spec).summary.links.remove(0);
    let expected = (26.0 * 0.12 + 0.025) / 100.0;
    assert!((link.measures.utilisation.unwrap() - expected).abs() < 1e-6, "{link:?}");
}

#[test]
fn a_measured_run_reports_how_long_segments_took_and_an_unmeasured_one_does_not() {
    // 1500 bytes take 6 ms at 2 Mbit/s, and then 50 ms; a window of one segment finds no queue.
    let mut spec = pair(slow(), 200_000);
    spec.flows[0].receiver = tcp(json!({ "window": { "fixed": { "size": "1460 bytes" } } }));
    let bare = run(spec.clone()).summary.flows.remove(0).measures;
    assert_eq!((bare.delay_mean_s, bare.jitter_s), (None, None));
    spec.record.measure.links = true;
    let alone = run(spec.clone()).summary.flows.remove(0).measures;
    assert!((alone.delay_p50_s.unwrap() / 0.056 - 1.0).abs() < 0.01, "{alone:?}");
    assert!(alone.jitter_s.unwrap() < 0.001, "{alone:?}");
    spec.flows[0].receiver = tcp(json!({}));
    let queueing = run(spec.clone()).summary.flows.remove(0).measures;
    // Twenty packets wait at most.
    assert!(
        queueing.delay_p95_s > Some(0.1) && queueing.delay_p99_s < Some(0.056 + 20.5 * 0.006),
        "{queueing:?}"
    );
    spec.record = everything(&spec);
    assert_eq!(
        run(spec).summary.flows.remove(0).measures.delay_mean_s,
        None,
        "recording alone measures nothing"
    );
}

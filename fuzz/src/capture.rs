//! Any bytes as a capture file, and what its packets say of the flows.

use std::convert::Infallible;

use analysis::{Frames, Selection, Survey};
use wire::pcapng::Section;

/// Reads the bytes as a capture, diagnoses the flows in it, and analyses it as `lasthop analyze` and `fit` do.
pub fn run(bytes: &[u8]) {
    let Ok(mut reader) = wire::capture::open(bytes) else { return };
    let (points, _) = trace::capture::read(&mut reader);
    for flow in points.iter().flat_map(|point| point.capture.flows()) {
        let half = flow.half(flow.bulk_sender());
        assert!(half.counters().unique_bytes <= half.counters().data_bytes);
        let _ = half.diagnosis();
    }
    analyze(bytes);
}

/// The rows of both tables are the same packets.
fn analyze(bytes: &[u8]) {
    let open = || {
        let reader = wire::capture::open(bytes).expect("it was opened before");
        Frames::new([reader], Selection::default())
    };
    let survey = Survey::read(open());
    let report = survey.report();
    assert!(report.length_s >= 0.0);
    let mut rows = 0;
    let Ok(()) = analysis::rows(open(), &survey, |batch| {
        rows += batch.num_rows();
        Ok::<(), Infallible>(())
    });
    assert_eq!(analysis::packets(open()).num_rows(), rows);
    let opened: u64 = report.quic.iter().flat_map(|connection| connection.contents.opened).sum();
    assert!(analysis::quic_packets(open()).num_rows() as u64 >= opened);
    let _ = analysis::quic_segments(open(), &survey);
    let mut annotated = Vec::new();
    analysis::annotate(open(), &survey, &mut annotated, &Section::default())
        .expect("memory takes everything");
}

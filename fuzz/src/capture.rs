//! Any bytes as a capture file, and what its packets say of the flows.

/// Reads the bytes as a capture and diagnoses the flows in it.
pub fn run(bytes: &[u8]) {
    let Ok(mut reader) = wire::capture::open(bytes) else { return };
    let (points, _) = trace::capture::read(&mut reader);
    for flow in points.iter().flat_map(|point| point.capture.flows()) {
        let half = flow.half(flow.bulk_sender());
        assert!(half.counters().unique_bytes <= half.counters().data_bytes);
        let _ = half.diagnosis();
    }
}

//! Any bytes as a capture file.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(mut reader) = wire::capture::open(bytes) {
        let (points, _) = trace::capture::read(&mut reader);
        for flow in points.iter().flat_map(|point| point.capture.flows()) {
            let half = flow.half(flow.bulk_sender());
            assert!(half.counters().unique_bytes <= half.counters().data_bytes);
            let _ = half.diagnosis();
        }
    }
});

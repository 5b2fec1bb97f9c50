//! Captures of real kernels, whose own counts are known (see the README next to this file).

use std::path::Path;

use lasthop_trace as trace;
use trace::capture::read;
use trace::flow::{Counters, Side};
use units::Bytes;

/// Our counts of the sender of a capture.
fn sender(name: &str) -> (Bytes, Counters) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels").join(name).with_extension("pcap");
    let file = std::fs::read(path).expect("the capture is there");
    let (points, error) = read(&mut wire::capture::open(&file[..]).expect("a pcap file"));
    assert!(error.is_none(), "{error:?}");
    let [flow] = points[0].capture.flows() else { panic!("one flow") };
    let half = flow.half(flow.bulk_sender());
    assert_eq!(flow.bulk_sender(), Side::Opener);
    (half.acked(), *half.counters())
}

#[test]
fn retransmissions_and_timeouts_are_those_that_the_kernel_counted() {
    let kernels = [
        ("queue-no-sack", 28, 0, 2),
        ("tiny-queue-no-sack", 238, 44, 1),
        ("outage-sack", 81, 1, 1),
        ("slow-spell-sack", 42, 1, 2),
        ("slow-spell-bbr", 90, 1, 1),
    ];
    for (name, retransmissions, timeouts, recoveries) in kernels {
        let (acked, counters) = sender(name);
        assert_eq!(acked, Bytes(700_000), "{name}");
        let seen = (counters.retransmissions, counters.timeouts, counters.fast_retransmits);
        assert_eq!(seen, (retransmissions, timeouts, recoveries), "{name}");
    }
}

//! Hosts with stacks in this process, among themselves and with kernels, in real time: every byte is checked.

use lasthop_live::{LiveError, LiveOutcome, Options};
use stacks::{Assignment, StackId};

use crate::support::{download, live, possible_here, quick, reno};

/// The settings of Reno, with these stacks for the first and the second host.
fn with(names: [&str; 2]) -> Options<'static> {
    let mut stacks = Assignment::default();
    for (node, name) in names.into_iter().enumerate() {
        stacks.set(node, StackId::named(name).expect("a stack that the test means to be there"));
    }
    Options { stacks, ..reno() }
}

fn transfer(names: [&str; 2]) -> LiveOutcome {
    let outcome = live(&download(quick(), 300_000), with(names));
    let flow = &outcome.summary.run.flows[0];
    assert_eq!((flow.bytes, flow.received, flow.completed), (300_000, 300_000, true), "{names:?}: {flow:?}");
    assert!(flow.segments_sent > 200, "{names:?}: {flow:?}");
    assert_eq!(outcome.summary.run.stopped_by, "every flow closed", "{names:?}");
    outcome
}

#[test]
fn our_tcp_and_smoltcp_speak_with_the_kernel_both_ways() {
    if !possible_here() {
        return;
    }
    for names in [["lasthop", "kernel"], ["kernel", "lasthop"], ["smoltcp", "kernel"], ["kernel", "smoltcp"]]
    {
        let outcome = transfer(names);
        let tables: Vec<_> =
            outcome.tables.iter().map(|(name, table)| (*name, table.num_rows() > 0)).collect();
        assert_eq!(tables, [("packets", true), ("segments", true), ("flows", true)], "{names:?}");
    }
}

#[test]
fn stacks_of_this_process_need_no_right_of_the_machine() {
    for names in [["quinn", "quinn"], ["lasthop", "lasthop"], ["smoltcp", "lasthop"]] {
        let outcome = transfer(names);
        let json = serde_json::to_value(&outcome.summary).unwrap();
        assert_eq!(json["right"], "not_needed", "{names:?}");
        assert_eq!(json["kernel"]["flows"], serde_json::json!([]), "{names:?}");
        let lateness = outcome.summary.lateness;
        let delivered: u64 = outcome.summary.run.links.iter().map(|link| link.packets_out).sum();
        assert_eq!(lateness.releases, delivered, "{names:?}");
    }
}

#[test]
fn quic_to_a_kernel_is_refused() {
    let error = lasthop_live::run(&download(quick(), 1), with(["quinn", "kernel"])).unwrap_err();
    assert!(matches!(error, LiveError::Refused(_)), "{error}");
    assert!(error.to_string().contains("left (quinn) speaks QUIC and right (kernel) speaks TCP"), "{error}");
}

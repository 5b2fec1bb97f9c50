//! The same packets as tshark and tcptrace see them.

use std::fs::File;
use std::process::Command;

use lasthop_trace::flow::Counters;
use wire::capture::Interface;
use wire::pcapng;

use crate::path::Transfer;

/// Asserts that both tools agree with our counts; prints a warning if one is not installed.
pub(crate) fn compare(case: &str, transfer: &Transfer, counters: &Counters) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("sender.pcapng");
    let file = File::create(&path).expect("created");
    let mut writer = pcapng::Writer::new(file, &pcapng::Section::default()).expect("written");
    writer.add_interface(&Interface::raw_ip("sender")).expect("written");
    transfer.frames.iter().for_each(|frame| writer.write(frame).expect("written"));
    writer.finish().expect("written");
    let path = path.to_str().expect("a plain path");

    if let Some(found) = output("tcptrace", &["-l", "-n", path]) {
        let count = |name: &str| {
            let line = found.lines().rfind(|line| line.trim_start().starts_with(name)).expect("a line");
            line.split_whitespace().find_map(|word| word.parse::<u64>().ok()).expect("a number")
        };
        assert_eq!(count("rexmt data pkts:"), counters.retransmissions, "tcptrace: {case}");
        assert_eq!(count("actual data pkts:"), counters.data_segments, "tcptrace: {case}");
        assert_eq!(count("actual data bytes:"), counters.data_bytes, "tcptrace: {case}");
        assert_eq!(count("unique bytes sent:"), counters.unique_bytes, "tcptrace: {case}");
    }
    let again = "tcp.analysis.retransmission || tcp.analysis.fast_retransmission \
                 || tcp.analysis.spurious_retransmission || tcp.analysis.out_of_order";
    let arguments = ["-r", path, "-Y", again, "-T", "fields", "-e", "frame.number"];
    if let Some(found) = output("tshark", &arguments) {
        assert_eq!(found.lines().count() as u64, counters.retransmissions, "tshark: {case}");
    }
}

fn output(tool: &str, arguments: &[&str]) -> Option<String> {
    let Ok(ran) = Command::new(tool).args(arguments).output() else {
        eprintln!("\n*** NOT RUN: {tool} is not installed, so its counts are not compared with ours ***\n");
        return None;
    };
    assert!(ran.status.success(), "{tool}: {}", String::from_utf8_lossy(&ran.stderr));
    Some(String::from_utf8_lossy(&ran.stdout).into_owned())
}

//! Captures of QUIC with their secrets, compared with what tshark found in them (`quic/*.tshark`: frame, packet
//! numbers, types of frames, and the fields of ACK frames).
//!
//! The captures were made with aioquic over a path of 20 ms that loses a packet now and then, seen at the server.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use arrow_array::{Array, BooleanArray, Int64Array, RecordBatch, StringArray};
use lasthop_analysis::{Frames, Input, KeyLog, QuicConnection, Selection, Survey, open, quic_packets};

const CAPTURES: [&str; 3] = ["aes-128-migration", "chacha20-key-update", "aes-256-version-2"];

fn path(name: &str, ending: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/quic").join(format!("{name}.{ending}"))
}

fn log(name: &str) -> KeyLog {
    KeyLog::parse(&fs::read_to_string(path(name, "keys")).expect("it is shipped")).expect("it is a key log")
}

fn frames(name: &str, key_log: KeyLog) -> Frames<Input> {
    let reader = open(File::open(path(name, "pcap")).expect("it is shipped")).expect("it is a capture");
    Frames::new([reader], Selection { key_log, ..Selection::default() })
}

fn connection(name: &str, key_log: KeyLog) -> QuicConnection {
    let mut found = Survey::read(frames(name, key_log)).report().quic;
    assert_eq!(found.len(), 1, "{name}");
    found.remove(0)
}

fn column<'a, T: 'static>(rows: &'a RecordBatch, name: &str) -> &'a T {
    rows.column_by_name(name).and_then(|column| column.as_any().downcast_ref()).expect("it has this column")
}

/// What is compared: of each frame of the capture the numbers of its packets, the names of their frames, and the
/// acknowledged ranges.
type Compared = BTreeMap<u64, (Vec<u64>, Vec<String>, Vec<String>)>;

fn ours(rows: &RecordBatch) -> Compared {
    let (places, numbers): (&Int64Array, &Int64Array) = (column(rows, "packet"), column(rows, "number"));
    let (frames, ranges): (&StringArray, &StringArray) = (column(rows, "frames"), column(rows, "ranges"));
    let mut found = Compared::new();
    for row in 0..rows.num_rows() {
        let (all, names, acked) = found.entry(places.value(row) as u64).or_default();
        all.push(numbers.value(row) as u64);
        let name = |frame: &str| frame.split(':').next().unwrap_or_default().to_owned();
        names.extend(frames.value(row).split_whitespace().map(name));
        acked.extend((!ranges.is_null(row)).then(|| ranges.value(row).to_owned()));
    }
    found
}

fn tshark_s(name: &str) -> Compared {
    let text = fs::read_to_string(path(name, "tshark")).expect("it is shipped");
    let line = |line: &str| {
        let fields: Vec<Vec<u64>> = line.split('\t').map(numbers_of).collect();
        let names = fields[2].iter().map(|kind| name_of(*kind).to_owned()).collect();
        (fields[0][0], (fields[1].clone(), names, ranges_of(&fields[3..])))
    };
    text.lines().map(line).collect()
}

fn numbers_of(field: &str) -> Vec<u64> {
    field.split(',').filter(|text| !text.is_empty()).map(|text| text.parse().expect("a number")).collect()
}

/// The text of each ACK frame's ranges. tshark lists the gaps of all frames together: only a frame's only ACK has any
/// in these captures.
fn ranges_of(fields: &[Vec<u64>]) -> Vec<String> {
    let [largest, first, gaps, lengths] = fields else { panic!("there are four fields") };
    let text = |start: u64, end: u64| if start == end { end.to_string() } else { format!("{start}-{end}") };
    let begin = |(largest, first): (&u64, &u64)| vec![(largest - first, *largest)];
    let mut acks: Vec<Vec<(u64, u64)>> = largest.iter().zip(first).map(begin).collect();
    for (gap, length) in gaps.iter().zip(lengths) {
        let ranges = acks.last_mut().expect("a gap follows a range");
        let end = ranges[ranges.len() - 1].0 - gap - 2;
        ranges.push((end - length, end));
    }
    let words = |ranges: Vec<(u64, u64)>| ranges.into_iter().map(|(start, end)| text(start, end));
    acks.into_iter().map(|ranges| words(ranges).collect::<Vec<_>>().join(" ")).collect()
}

/// RFC 9000 §19.
fn name_of(kind: u64) -> &'static str {
    match kind {
        0 => "padding",
        1 => "ping",
        2 | 3 => "ack",
        6 => "crypto",
        8..=15 => "stream",
        16 => "max_data",
        17 => "max_stream_data",
        24 => "new_connection_id",
        25 => "retire_connection_id",
        26 => "path_challenge",
        27 => "path_response",
        28 | 29 => "connection_close",
        30 => "handshake_done",
        other => panic!("no capture has frames of type {other}"),
    }
}

#[test]
fn packets_frames_and_ranges_are_those_that_tshark_finds() {
    for name in CAPTURES {
        assert_eq!(ours(&quic_packets(frames(name, log(name)))), tshark_s(name), "{name}");
    }
}

#[test]
fn a_connection_is_reported_by_its_contents() {
    let found = connection("aes-128-migration", log("aes-128-migration"));
    let contents = &found.contents;
    assert_eq!(contents.server_name.as_deref(), Some("server.example"));
    assert!(contents.unopened.is_empty() && contents.unknown_frames == 0, "{contents:?}");
    assert_eq!(contents.closed.as_deref(), Some("client: application code 0x7 (done)"));
    let server = &contents.senders[1];
    assert!(server.lost > 0 && server.retransmissions > 0 && server.retransmitted_bytes > 0, "{server:?}");
    let shortest = server.rtt.min_s.expect("acknowledgments measure it");
    assert!((0.04..0.05).contains(&shortest), "{shortest}");
    assert!(found.datagrams.iter().all(|count| *count > 20), "the new address is the connection's, too");
    let renewed = connection("chacha20-key-update", log("chacha20-key-update")).contents;
    assert!(renewed.unopened.is_empty() && renewed.key_updates == [1, 1], "{renewed:?}");
    let other = connection("aes-256-version-2", log("aes-256-version-2"));
    assert!(other.version == 2 && other.contents.unopened.is_empty(), "{other:?}");
}

#[test]
fn a_loss_has_its_time_and_what_was_sent_again_its_bytes() {
    let rows = quic_packets(frames("aes-128-migration", log("aes-128-migration")));
    let (time, lost): (&Int64Array, &Int64Array) = (column(&rows, "time_ns"), column(&rows, "lost_ns"));
    let acked: &Int64Array = column(&rows, "acknowledged_ns");
    let losses: Vec<usize> = (0..rows.num_rows()).filter(|row| !lost.is_null(*row)).collect();
    assert!(!losses.is_empty());
    for row in losses {
        let after = lost.value(row) - time.value(row);
        assert!((40_000_000..1_000_000_000).contains(&after), "declared {after} ns after it was sent");
    }
    let eliciting: &BooleanArray = column(&rows, "ack_eliciting");
    assert!((0..rows.num_rows()).any(|row| eliciting.value(row) && !acked.is_null(row)));
}

#[test]
fn without_keys_or_with_those_of_another_the_reason_is_named() {
    let name = "aes-128-migration";
    for (log, opens) in [(KeyLog::default(), false), (log("chacha20-key-update"), false), (log(name), true)] {
        let contents = connection(name, log).contents;
        assert_eq!(contents.unopened.is_empty(), opens);
        assert!(opens || contents.unopened.keys().all(|why| *why == "no secret in a key log"));
        assert!(contents.opened[0] > 0 && contents.server_name.is_some(), "Initial packets need no log");
    }
}

#[test]
fn a_wrong_secret_is_named() {
    let name = "aes-128-migration";
    let text = fs::read_to_string(path(name, "keys")).expect("it is shipped");
    let flipped: String = text
        .lines()
        .map(|line| {
            let (front, last) = line.split_at(line.len() - 1);
            format!("{front}{}\n", if last == "0" { "1" } else { "0" })
        })
        .collect();
    let contents = connection(name, KeyLog::parse(&flipped).expect("it is a key log")).contents;
    assert!(
        contents.unopened.keys().all(|why| *why == "wrong secret, or damaged")
            && !contents.unopened.is_empty()
    );
}

#[test]
fn a_capture_that_carries_its_secrets_needs_no_log() {
    let secrets = fs::read(path("aes-256-version-2", "keys")).expect("it is shipped");
    let block = |kind: u32, body: &[u8]| {
        let body = [body, &vec![0; body.len().next_multiple_of(4) - body.len()]].concat();
        let total = (12 + body.len() as u32).to_le_bytes();
        [&kind.to_le_bytes()[..], &total, &body, &total].concat()
    };
    let words = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let mut bytes = block(0x0a0d_0d0a, &words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]));
    bytes.extend(block(1, &words(&[101, 0])));
    bytes.extend(block(10, &[words(&[0x544c_534b, secrets.len() as u32]), secrets].concat()));
    let packets =
        open(File::open(path("aes-256-version-2", "pcap")).expect("it is shipped")).expect("a capture");
    for packet in packets {
        let packet = packet.expect("it is whole");
        let len = packet.data.len() as u32;
        bytes.extend(block(6, &[words(&[0, 0, 0, len, len]), packet.data].concat()));
    }
    let reader = open(std::io::Cursor::new(bytes)).expect("it is pcapng");
    let found = Survey::read(Frames::new([reader], Selection::default())).report();
    assert_eq!((found.error, found.quic[0].contents.unopened.len()), (None, 0));
}

//! Our captures as tshark and tcptrace read them. If a tool is not installed, its test prints a warning and checks
//! nothing.

use std::fs::File;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::process::Command;

use lasthop_wire as wire;
use units::{Duration, PacketId, Seq, SeqRange};
use wire::capture::{Direction, Frame, Interface, LinkType, VIRTUAL_EPOCH};
use wire::udp::Datagram;
use wire::{
    AccEcn, AccEcnOrder, AckRate, AckScheme, FastOpenCookie, Flags, OptionLayout, Options, Payload,
    SackBlocks, Segment, Timestamps, emit_ipv4, emit_ipv6, pcap, pcapng,
};

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const MOBILE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const MSS: u32 = 1000;

/// The tool's output for these arguments; `None`, and a warning, if it is not installed.
fn output(tool: &str, arguments: &[&str], file: &Path) -> Option<String> {
    let Ok(ran) = Command::new(tool).args(arguments).arg(file).output() else {
        eprintln!(
            "\n*** NOT RUN: {tool} is not installed, so nothing is known of how it reads our captures ***\n"
        );
        return None;
    };
    assert!(ran.status.success(), "{tool} {arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    Some(String::from_utf8_lossy(&ran.stdout).into_owned())
}

/// tshark with every checksum verified; it takes the file last, after `-r`.
fn tshark(more: &[&str], file: &Path) -> Option<String> {
    let checks =
        ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"];
    output("tshark", &[&checks, more, &["-r"]].concat(), file)
}

fn segment(down: bool, seq: u32, ack: u32, flags: Flags, payload: Payload) -> Segment {
    let (source_port, destination_port) = if down { (5001, 40_000) } else { (40_000, 5001) };
    Segment {
        source_port,
        destination_port,
        seq: Seq(seq),
        ack: Seq(ack),
        flags,
        window: 8192,
        options: Options::default(),
        ecn: wire::Ecn::NotCapable,
        payload,
    }
}

/// A short download: handshake with every option, six segments of which the second is lost and
/// sent again after duplicate ACKs with SACK blocks, and the close. The initial numbers are near
/// the wrap.
fn download() -> Vec<(bool, Segment)> {
    let (server, mobile) = (u32::MAX - 1500, 77);
    let ack = Flags::ACK;
    let data = |n: u32| {
        let payload = Payload::Pattern { offset: u64::from(n * MSS), len: MSS };
        (true, segment(true, server.wrapping_add(1 + n * MSS), mobile + 1, ack, payload))
    };
    let acked = |n: u32, sacked: u32| {
        let mut found = segment(false, mobile + 1, server.wrapping_add(1 + n * MSS), ack, Payload::EMPTY);
        if sacked > 0 {
            found.options.sack.push(SeqRange::new(found.ack + MSS, sacked * MSS));
        }
        (false, found)
    };
    let syn = |down: bool, seq, ack, flags| {
        let mut found = segment(down, seq, ack, flags, Payload::EMPTY);
        found.options.mss = Some(1000);
        found.options.window_scale = Some(2);
        found.options.sack_permitted = true;
        (down, found)
    };
    let fin = Flags::FIN.with(ack);
    let end = server.wrapping_add(1 + 6 * MSS);
    let mut all = vec![
        syn(false, mobile, 0, Flags::SYN),
        syn(true, server, mobile + 1, Flags::SYN.with(ack)),
        acked(0, 0),
    ];
    all.extend([
        data(0),
        data(1),
        data(2),
        acked(1, 0),
        data(3),
        data(4),
        acked(1, 1),
        acked(1, 2),
        acked(1, 3),
    ]);
    all.extend([data(1), data(5), acked(5, 0), acked(6, 0)]);
    all.extend([
        (true, segment(true, end, mobile + 1, fin, Payload::EMPTY)),
        (false, segment(false, mobile + 1, end.wrapping_add(1), fin, Payload::EMPTY)),
        (true, segment(true, end.wrapping_add(1), mobile + 2, ack, Payload::EMPTY)),
    ]);
    all
}

/// The frames of the download as the server's end sees them, 10 ms and 1 ns apart.
fn frames() -> Vec<Frame> {
    let packets = download().into_iter().enumerate();
    packets
        .map(|(number, (down, segment))| {
            let (from, to) = if down { (SERVER, MOBILE) } else { (MOBILE, SERVER) };
            let at = VIRTUAL_EPOCH + Duration::from_nanos(10_000_001) * number as u64;
            Frame {
                direction: Some(if down { Direction::Outbound } else { Direction::Inbound }),
                packet: Some(PacketId(number as u64)),
                comment: (number == 4).then(|| "queue_drop: tail-drop behind 7 packets".into()),
                ..Frame::new(0, at, emit_ipv4(from, to, number as u16, &segment))
            }
        })
        .collect()
}

fn write_pcapng(path: &Path, interfaces: &[Interface], frames: &[Frame]) {
    let section = pcapng::Section { application: "lasthop".into(), ..Default::default() };
    let file = File::create(path).expect("the folder can be written");
    let mut writer = pcapng::Writer::new(file, &section).expect("written");
    for interface in interfaces {
        writer.add_interface(interface).expect("written");
    }
    frames.iter().for_each(|frame| writer.write(frame).expect("written"));
    writer.finish().expect("written");
}

/// Asserts that tshark finds nothing malformed, no wrong checksum and no error, in `count` packets.
fn assert_sound(file: &Path, count: usize) {
    let wrong = "_ws.malformed || _ws.expert.severity == error || ip.checksum.status == 0 \
                 || tcp.checksum.status == 0 || udp.checksum.status == 0";
    let Some(found) = tshark(&["-Y", wrong, "-V"], file) else { return };
    assert_eq!(found, "", "tshark finds fault with our packets");
    let checked = "ip.version == 6 || ip.checksum.status == 1";
    let good = format!("({checked}) && (tcp.checksum.status == 1 || udp.checksum.status == 1)");
    let found = tshark(&["-Y", &good, "-T", "fields", "-e", "frame.number"], file).expect("it ran before");
    assert_eq!(found.lines().count(), count, "packets whose checksums tshark verified");
}

#[test]
fn tshark_reads_a_download_and_sees_the_retransmission() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("download.pcapng");
    let frames = frames();
    write_pcapng(&file, &[Interface::raw_ip("server")], &frames);
    assert_sound(&file, frames.len());
    let again = "tcp.analysis.retransmission || tcp.analysis.fast_retransmission";
    let fields = ["-T", "fields", "-e", "frame.number", "-e", "tcp.seq_raw"];
    let Some(found) = tshark(&[&["-Y", again][..], &fields].concat(), &file) else { return };
    let resent = u32::MAX - 1500 + 1 + MSS;
    assert_eq!(found, format!("13\t{resent}\n"));
}

#[test]
fn tshark_reads_time_point_comment_and_identity_of_each_packet() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("points.pcapng");
    let mut frames = frames();
    frames[5].interface = 1;
    write_pcapng(&file, &[Interface::raw_ip("server"), Interface::raw_ip("lasthop down")], &frames);
    let fields =
        ["frame.interface_name", "frame.time_epoch", "frame.comment", "frame.packet_id", "frame.p2p_dir"];
    let fields: Vec<&str> = fields.iter().flat_map(|field| ["-e", field]).collect();
    let Some(found) = tshark(&[&["-T", "fields"][..], &fields].concat(), &file) else { return };
    let lines: Vec<&str> = found.lines().collect();
    let expected = "server\t946684800.040000004\tqueue_drop: tail-drop behind 7 packets\t4\t";
    assert!(lines[4].starts_with(expected), "{}", lines[4]);
    assert!(lines[5].starts_with("lasthop down\t946684800.050000005\t\t5\t"), "{}", lines[5]);
}

#[test]
fn tshark_reads_every_option_with_its_value() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("options.pcapng");
    let mut sack = SackBlocks::default();
    for start in [5000, 3000, 1000] {
        sack.push(SeqRange::new(Seq(start), 500));
    }
    let timestamps = Some(Timestamps { value: 123_456, echo: 654_321 });
    let mut syn = segment(true, 9, 0, Flags::SYN, Payload::EMPTY);
    syn.options = Options {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps,
        ..Options::default()
    };
    let mut ack = segment(true, 10, 1, Flags::ACK, Payload::EMPTY);
    ack.options = Options { timestamps, sack, ..Options::default() };
    let frames =
        [&syn, &ack].map(|segment| Frame::new(0, VIRTUAL_EPOCH, emit_ipv4(SERVER, MOBILE, 1, segment)));
    write_pcapng(&file, &[Interface::raw_ip("server")], &frames);
    let fields = [
        "tcp.hdr_len",
        "tcp.options.mss_val",
        "tcp.options.wscale.shift",
        "tcp.options.sack_perm",
        "tcp.options.timestamp.tsval",
        "tcp.options.timestamp.tsecr",
        "tcp.options.sack_le",
        "tcp.options.sack_re",
    ];
    let fields: Vec<&str> = fields.iter().flat_map(|field| ["-e", field]).collect();
    let raw_numbers = ["-o", "tcp.relative_sequence_numbers:FALSE", "-T", "fields"];
    let Some(found) = tshark(&[&raw_numbers[..], &fields].concat(), &file) else { return };
    let lines: Vec<&str> = found.lines().collect();
    assert!(lines[0].starts_with("40\t1460\t7\t"), "{}", lines[0]);
    assert!(lines[0].contains("\t123456\t654321\t"), "{}", lines[0]);
    assert!(lines[1].ends_with("\t123456\t654321\t5000,3000,1000\t5500,3500,1500"), "{}", lines[1]);
}

#[test]
fn tshark_reads_the_fields_of_accurate_ecn() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("accecn.pcapng");
    let orders = [AccEcnOrder::Ect0First, AccEcnOrder::Ect1First];
    let frames = orders.map(|order| {
        let mut ack = segment(true, 10, 1, Flags::ACK.with(Flags::ace(6)), Payload::EMPTY);
        ack.options.accecn = Some(AccEcn::new(order, 1_001, 2_000, 3_001, 3));
        Frame::new(0, VIRTUAL_EPOCH, emit_ipv4(SERVER, MOBILE, 1, &ack))
    });
    write_pcapng(&file, &[Interface::raw_ip("server")], &frames);
    let fields =
        ["tcp.flags", "tcp.options.acc_ecn.ee0b", "tcp.options.acc_ecn.eceb", "tcp.options.acc_ecn.ee1b"];
    let fields: Vec<&str> = fields.iter().flat_map(|field| ["-e", field]).collect();
    let Some(found) = tshark(&[&["-T", "fields"][..], &fields].concat(), &file) else { return };
    assert_eq!(found.lines().collect::<Vec<_>>(), ["0x0190\t1001\t2000\t3001"; 2]);
}

#[test]
fn tshark_reads_a_requested_rate_of_acks_and_finds_no_fault() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("ack_rate.pcapng");
    let rates = [AckScheme::Tarr, AckScheme::AckCc].map(|scheme| AckRate { scheme, ratio: Some(9) });
    let announced = AckRate { scheme: AckScheme::Tarr, ratio: None };
    let frames = [rates[0], rates[1], announced].map(|rate| {
        let flags = if rate.ratio.is_none() { Flags::SYN } else { Flags::ACK };
        let mut sent = segment(true, 10, 1, flags, Payload::EMPTY);
        sent.options.ack_rate = Some(rate);
        Frame::new(0, VIRTUAL_EPOCH, emit_ipv4(SERVER, MOBILE, 1, &sent))
    });
    write_pcapng(&file, &[Interface::raw_ip("server")], &frames);
    let fields = ["-T", "fields", "-e", "tcp.options.tarr.rate"];
    let Some(found) = tshark(&fields, &file) else { return };
    assert_eq!(found.lines().map(str::trim).collect::<Vec<_>>(), ["9", "", ""]);
    let sound = tshark(&["-Y", "tcp && !_ws.malformed"], &file).expect("it ran before");
    assert_eq!(sound.lines().count(), 3);
}

#[test]
fn tshark_reads_fast_open_and_no_fault_in_any_layout_of_a_syn() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("fast_open.pcapng");
    let cookies = [FastOpenCookie::new(&[1, 2, 3, 4, 5, 6, 7, 8]), Some(FastOpenCookie::REQUEST)];
    let layouts = [OptionLayout::Linux, OptionLayout::FreeBsd, OptionLayout::Windows, OptionLayout::Darwin];
    let frames: Vec<Frame> = layouts
        .iter()
        .flat_map(|layout| cookies.map(|cookie| (*layout, cookie)))
        .map(|(layout, fast_open)| {
            let payload = Payload::Pattern { offset: 0, len: 300 };
            let mut syn = segment(true, 9, 0, Flags::SYN, payload);
            let timestamps = Some(Timestamps { value: 7, echo: 0 });
            let (mss, window_scale) = (Some(1460), Some(7));
            syn.options = Options {
                mss,
                window_scale,
                sack_permitted: true,
                timestamps,
                layout,
                fast_open,
                ..syn.options
            };
            Frame::new(0, VIRTUAL_EPOCH, emit_ipv4(SERVER, MOBILE, 1, &syn))
        })
        .collect();
    write_pcapng(&file, &[Interface::raw_ip("server")], &frames);
    let fields = ["tcp.options.tfo.cookie", "tcp.options.mss_val", "tcp.options.wscale.shift", "tcp.len"];
    let fields: Vec<&str> = fields.iter().flat_map(|field| ["-e", field]).collect();
    let Some(found) = tshark(&[&["-T", "fields"][..], &fields].concat(), &file) else { return };
    let expected = ["0102030405060708\t1460\t7\t300", "\t1460\t7\t300"];
    assert_eq!(found.lines().collect::<Vec<_>>(), expected.repeat(layouts.len()));
    let requests =
        tshark(&["-Y", "tcp.options.tfo.request && !_ws.malformed"], &file).expect("it ran before");
    assert_eq!(requests.lines().count(), layouts.len());
}

#[test]
fn tshark_finds_no_fault_with_ipv6_and_udp() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("mixed.pcapng");
    let (a, b) = (Ipv6Addr::LOCALHOST, Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 9));
    let payload = Payload::Pattern { offset: 3, len: 333 };
    let data = segment(true, 1, 1, Flags::ACK.with(Flags::PSH), payload.clone());
    let datagram = Datagram { source_port: 4000, destination_port: 5000, payload };
    let packets = [
        emit_ipv6(a, b, &data),
        wire::emit_udp_ipv4(SERVER, MOBILE, 1, &datagram),
        wire::emit_udp_ipv6(a, b, &datagram),
    ];
    let frames = packets.map(|packet| Frame::new(0, VIRTUAL_EPOCH, packet));
    write_pcapng(&file, &[Interface::raw_ip("server")], &frames);
    assert_sound(&file, 3);
}

#[test]
fn tcptrace_counts_the_retransmission_in_pcap_and_pcapng() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (new, old) = (folder.path().join("download.pcapng"), folder.path().join("download.pcap"));
    write_pcapng(&new, &[Interface::raw_ip("server")], &frames());
    let mut writer = pcap::Writer::new(File::create(&old).expect("created"), LinkType::RAW).expect("written");
    frames().iter().for_each(|frame| writer.write(frame).expect("written"));
    writer.finish().expect("written");
    for file in [&new, &old] {
        let Some(found) = output("tcptrace", &["-l", "-n"], file) else { return };
        let count = |name: &str| {
            let line = found.lines().rfind(|line| line.trim_start().starts_with(name));
            line.unwrap_or_else(|| panic!("no {name} in {found}"))
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(count("total packets:"), "total packets: 9 total packets: 10");
        assert_eq!(count("rexmt data pkts:"), "rexmt data pkts: 0 rexmt data pkts: 1");
        assert_eq!(count("rexmt data bytes:"), "rexmt data bytes: 0 rexmt data bytes: 1000");
        assert_eq!(count("unique bytes sent:"), "unique bytes sent: 0 unique bytes sent: 6000");
        assert!(found.contains("complete conn: yes"), "{found}");
    }
}

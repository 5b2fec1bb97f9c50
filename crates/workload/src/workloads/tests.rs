//! Each workload alone, with its events by hand.

use serde_json::json;

use units::Side;

use super::*;
use crate::program::{Command, SocketCall, SocketEvent, SocketId, Transfer};

fn application(value: serde_json::Value) -> Application {
    let application: Application = serde_json::from_value(value).expect("a workload that the test means");
    application.check().expect("good parameters");
    application
}

fn program(value: serde_json::Value, until_s: u64) -> Box<dyn Program> {
    let until = Instant::START + Duration::from_secs(until_s);
    application(value).program(&Streams::new(1).below("flow.test"), Instant::START, until)
}

fn commands(program: &mut dyn Program) -> Vec<Command> {
    std::iter::from_fn(|| program.poll_command()).collect()
}

/// The times of the datagrams of a program that nothing disturbs.
fn datagrams(value: serde_json::Value, until_s: u64) -> Vec<f64> {
    let mut program = program(value, until_s);
    let mut times = Vec::new();
    while program.poll_timeout() != Instant::NEVER {
        let now = program.poll_timeout();
        program.handle_timeout(now);
        let sent = commands(&mut *program)
            .into_iter()
            .filter(|command| matches!(command, Command::SendDatagram { .. }));
        times.extend(sent.map(|_| now.as_secs_f64()));
    }
    times
}

#[test]
fn every_entry_reads_its_example_and_writes_it_back() {
    for entry in ENTRIES {
        let text = format!("workload = {}", entry.example());
        let table: std::collections::BTreeMap<String, Application> = toml::from_str(&text).expect(entry.id);
        let application = &table["workload"];
        assert_eq!((application.id(), application.check()), (entry.id, Ok(())));
        let json = serde_json::to_value(application).unwrap();
        assert_eq!(&serde_json::from_value::<Application>(json).unwrap(), application, "{}", entry.id);
    }
}

/// The times of the keystrokes, connections or packets of a program that is woken late by this time each time.
fn acts_when_woken_late(value: &serde_json::Value, late: Duration) -> Vec<Instant> {
    let mut program = program(value.clone(), 2);
    let mut due = Vec::new();
    while program.poll_timeout() < Instant::START + Duration::from_secs(10) {
        let asked_for = program.poll_timeout();
        program.handle_timeout(asked_for + late);
        let acts = commands(&mut *program).into_iter();
        due.extend(
            acts.filter(|c| {
                matches!(c, Command::SendDatagram { .. } | Command::Call { call: SocketCall::Write(_), .. })
            })
            .map(|_| asked_for),
        );
    }
    due
}

#[test]
fn a_source_that_is_woken_late_each_time_keeps_its_times() {
    for value in [
        json!({ "constant-rate": { "rate": "160 kbit/s", "packet": "200 bytes" } }),
        json!({ "poisson": { "rate": "160 kbit/s", "packet": "200 bytes" } }),
        json!({ "on-off": { "rate": "160 kbit/s", "packet": "200 bytes", "on": "100 ms", "off": "50 ms" } }),
        json!({ "voip": {} }),
        json!({ "interactive": { "gap": "50 ms" } }),
        json!({ "arrivals": { "gap": "20 ms", "size": "3 kB" } }),
    ] {
        let on_time = acts_when_woken_late(&value, Duration::ZERO);
        assert!(on_time.len() > 20, "{value}: {}", on_time.len());
        for late_ms in [1, 60] {
            assert_eq!(
                acts_when_woken_late(&value, Duration::from_millis(late_ms)),
                on_time,
                "{value}: {late_ms} ms"
            );
        }
    }
}

/// Wakes a program at `now` until it asks for a later time. Returns how often that was.
fn wake(program: &mut dyn Program, now: Instant) -> usize {
    let mut times = 0;
    while program.poll_timeout() <= now && times < 1000 {
        program.handle_timeout(now);
        commands(program);
        times += 1;
    }
    times
}

#[test]
fn a_program_that_is_woken_long_after_its_time_goes_on_from_there() {
    let line = json!({ "rate": "10 Mbit/s", "mtu": "1500 bytes", "framing": "0 bytes" });
    let background = json!({ "background": { "share": 0.5, "of": "lasthop.down", "lines": [line, line] } });
    let examples = ENTRIES.iter().map(|entry| {
        let text = format!("workload = {}", entry.example());
        let table: std::collections::BTreeMap<String, Application> = toml::from_str(&text).expect(entry.id);
        table["workload"].clone()
    });
    let whole = |application: &Application| application.id() != "background";
    for application in examples.filter(whole).chain([self::application(background)]) {
        for late_s in [1, 7, 20, 100] {
            let until = Instant::START + Duration::from_secs(20);
            let streams = Streams::new(late_s).below("flow.test");
            let mut program = application.program(&streams, Instant::START, until);
            wake(&mut *program, Instant::START + Duration::from_millis(300));
            let late = Instant::START + Duration::from_secs(late_s);
            assert!(wake(&mut *program, late) < 1000, "{} at {late_s} s", application.id());
            assert!(program.poll_timeout() > late, "{} at {late_s} s", application.id());
        }
    }
}

#[test]
fn both_ways_writes_at_both_sides_at_once_and_reports_each_direction() {
    let mut program = program(json!({ "both-ways": { "there": "5 kB", "back": "2 kB" } }), 10);
    program.handle_timeout(Instant::START);
    let first = SocketId::FIRST;
    // Neither side closes before both have written.
    let expected = vec![
        Command::Connect { socket: first, by: Side::From },
        Command::write(first, Side::From, Bytes(5000)),
        Command::write(first, Side::To, Bytes(2000)),
        Command::notify_read(first, Side::From, 2000),
        Command::notify_read(first, Side::To, 5000),
        Command::close(first, Side::From),
        Command::close(first, Side::To),
    ];
    assert_eq!(commands(&mut *program), expected);
    let mut ended = |ms: u64, side: Side| {
        let now = Instant::START + Duration::from_millis(ms);
        program.handle_event(now, first, SocketEvent::Read { side, position: 0 });
        commands(&mut *program)
    };
    let transfer = |ms: u64, bytes: u64| {
        let end = Instant::START + Duration::from_millis(ms);
        vec![Command::ReportTransfer(Transfer { start: Instant::START, end, bytes: Bytes(bytes) })]
    };
    assert_eq!((ended(300, Side::To), ended(500, Side::From)), (transfer(300, 5000), transfer(500, 2000)));
    program.handle_event(Instant::START, first, SocketEvent::Closed);
    assert!(program.is_done());
}

#[test]
fn what_makes_no_sense_is_refused_at_its_key() {
    let said = |value| serde_json::from_value::<Application>(value).unwrap().check().unwrap_err().path;
    assert_eq!(said(json!({ "constant-rate": { "rate": "0 bit/s" } })), "constant-rate.rate");
    assert_eq!(said(json!({ "poisson": { "rate": "1 Mbit/s", "packet": "20 bytes" } })), "poisson.packet");
    assert_eq!(
        said(json!({ "web": { "size": { "pareto": { "mean": "1 kB", "shape": 1.0 } } } })),
        "web.size.pareto.shape"
    );
    assert_eq!(
        said(json!({ "arrivals": { "size": "1 kB", "load": "1 kbit/s", "gap": "1 s" } })),
        "arrivals.gap"
    );
    let normal = json!({ "normal": { "mean": "1 kB", "deviation": "1 kB" } });
    assert_eq!(said(json!({ "arrivals": { "size": normal, "load": "1 kbit/s" } })), "arrivals.load");
    assert_eq!(said(json!({ "interactive": { "gap": "0 s" } })), "interactive.gap");
    assert_eq!(said(json!({ "parallel": { "count": 0 } })), "parallel.count");
    assert_eq!(said(json!({ "parallel": { "count": 101 } })), "parallel.count");
    assert_eq!(said(json!({ "parallel": { "size": "0 bytes" } })), "parallel.size");
    assert_eq!(said(json!({ "parallel": { "over": "http3", "request": "20 bytes" } })), "parallel.request");
    assert_eq!(said(json!({ "web": { "connection": "http3", "request": "9 kB" } })), "web.request");
    assert_eq!(said(json!({ "web": { "objects": 101 } })), "web.objects");
    assert_eq!(said(json!({ "web": { "object_size": "1 kB" } })), "web.object_size");
    assert_eq!(said(json!({ "web": { "objects": 2, "object_size": "0 bytes" } })), "web.object_size");
    assert_eq!(said(json!({ "both-ways": { "back": "0 bytes" } })), "both-ways.back");
    let always_zero = json!({ "once": { "uniform": ["0 s", "0 s"] } });
    assert_eq!(said(json!({ "interactive": { "gap": always_zero } })), "interactive.gap");
    assert_eq!(said(json!({ "arrivals": { "size": "1 kB", "gap": always_zero } })), "arrivals.gap");
}

#[test]
fn a_codec_whose_packets_would_be_longer_than_ip_has_them_is_refused() {
    let check =
        |value| serde_json::from_value::<Application>(json!({ "voip": value })).expect("readable").check();
    let error = check(json!({ "rate": "30 Mbit/s" })).expect_err("must be refused");
    assert_eq!(error.path, "voip.rate");
    assert_eq!(error.message, "a frame every 20 ms makes packets of 75040 bytes");
    assert_eq!(error.help, "lower rate or frame, so that a packet is 65535 bytes at most");
    for (rate, frame) in [("1720 Gbit/s", "20 ms"), ("18446744073709551615 bit/s", "584 h")] {
        assert_eq!(check(json!({ "rate": rate, "frame": frame })).expect_err("no").path, "voip.rate");
    }
    assert_eq!(check(json!({ "frame": "20000 h" })).expect_err("no").path, "voip.rate");
    assert_eq!(check(json!({ "rate": "26.198 Mbit/s" })), Ok(()), "65,495 bytes and 40 of headers");
}

#[test]
fn a_constant_rate_sends_at_equal_intervals() {
    let times = datagrams(json!({ "constant-rate": { "rate": "120 kbit/s" } }), 10);
    assert_eq!(times.len(), 100);
    assert!((0..).zip(&times).all(|(n, time)| (time - f64::from(n) * 0.1).abs() < 1e-6));
}

#[test]
fn a_poisson_source_sends_its_rate_at_exponential_times() {
    let times = datagrams(json!({ "poisson": { "rate": "1.2 Mbit/s" } }), 1_000);
    // 100 a second: 100,000 ± 4 standard deviations.
    assert!(times.len().abs_diff(100_000) < 4 * 317, "{}", times.len());
    let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let long = gaps.iter().filter(|gap| **gap > 0.02).count() as f64 / gaps.len() as f64;
    assert!((long - (-2.0_f64).exp()).abs() < 0.005, "P(gap > 2 means) is e⁻², found {long}");
}

#[test]
fn somebody_talks_half_of_the_time_a_frame_every_20_ms() {
    let times = datagrams(json!({ "voip": {} }), 20_000);
    // About 1400 spurts of 7 s: the talking half is known to ± 4 · 0.5 / √1400 · √2.
    let talking = times.len() as f64 * 0.02 / 20_000.0;
    assert!((talking - 0.5).abs() < 0.06, "{talking}");
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
    let (frames, silences): (Vec<f64>, Vec<f64>) = gaps.partition(|gap| *gap < 0.0200001);
    assert!(frames.iter().all(|gap| *gap > 0.0199999));
    let mean = silences.iter().sum::<f64>() / silences.len() as f64;
    assert!((mean - 7.0).abs() < 0.7, "{mean}");
}

#[test]
fn a_web_user_asks_reads_and_asks_again_over_a_new_connection() {
    let mut user = program(json!({ "web": { "size": "10 kB", "think": "2 s" } }), 60);
    user.handle_timeout(Instant::START);
    let asked = commands(&mut *user);
    assert_eq!(asked[0], Command::Connect { socket: SocketId::FIRST, by: Side::To });
    assert_eq!(asked[1], Command::write(SocketId(0), Side::To, Bytes(300)));
    let at = |ms| Instant::START + Duration::from_millis(ms);
    user.handle_event(at(100), SocketId::FIRST, SocketEvent::Read { side: Side::From, position: 300 });
    let answered = commands(&mut *user);
    assert_eq!(answered[0], Command::write(SocketId(0), Side::From, Bytes(10_000)));
    assert!(answered.contains(&Command::close(SocketId(0), Side::From)));
    user.handle_event(at(900), SocketId::FIRST, SocketEvent::Read { side: Side::To, position: 10_000 });
    let page = Transfer { start: Instant::START, end: at(900), bytes: Bytes(10_000) };
    assert_eq!(commands(&mut *user), [Command::ReportTransfer(page)]);
    assert_eq!(user.poll_timeout(), at(2_900));
    user.handle_event(at(1_000), SocketId::FIRST, SocketEvent::Closed);
    user.handle_timeout(at(2_900));
    assert_eq!(commands(&mut *user)[0], Command::Connect { socket: SocketId(1), by: Side::To });
}

/// A user of HTTP/3 whose page of 10 kB has two objects of 500 bytes, after asking for the page.
fn user_of_http3() -> Box<dyn Program> {
    let web = json!({
        "size": "10 kB", "think": "2 s", "connection": "http3", "objects": 2, "object_size": "500 bytes",
    });
    let mut user = program(json!({ "web": web }), 60);
    user.handle_timeout(Instant::START);
    user
}

#[test]
fn a_web_user_of_http3_asks_for_all_objects_of_a_page_at_once_in_streams_of_one_connection() {
    let (mut user, at) = (user_of_http3(), |ms| Instant::START + Duration::from_millis(ms));
    let stream = |number| Command::OpenStream { socket: SocketId(number), connection: SocketId::FIRST };
    let asked = commands(&mut *user);
    assert_eq!(asked[..2], [Command::Connect { socket: SocketId::FIRST, by: Side::To }, stream(1)]);
    let mut load = |number, asked, loaded, position| {
        user.handle_event(at(asked), SocketId(number), SocketEvent::Read { side: Side::From, position: 300 });
        user.handle_event(at(loaded), SocketId(number), SocketEvent::Read { side: Side::To, position });
        (commands(&mut *user), user.poll_timeout())
    };
    let (after_page, _) = load(1, 50, 100, 10_000);
    assert!(after_page.contains(&Command::close(SocketId(1), Side::From)), "{after_page:?}");
    assert!(after_page.contains(&stream(2)) && after_page.contains(&stream(3)), "{after_page:?}");
    let (_, waits) = load(3, 150, 160, 500);
    assert_eq!(waits, Instant::NEVER, "an object is missing");
    let (issued, next) = load(2, 170, 200, 500);
    let object = Transfer { start: at(100), end: at(200), bytes: Bytes(500) };
    assert!(issued.contains(&Command::ReportTransfer(object)), "{issued:?}");
    assert_eq!(next, at(2_200), "it reads");
}

#[test]
fn a_web_user_of_http3_whose_connection_is_lost_opens_another_for_the_next_page() {
    let mut user = user_of_http3();
    commands(&mut *user);
    let lost = Instant::START + Duration::from_secs(5);
    (0..2).for_each(|number| user.handle_event(lost, SocketId(number), SocketEvent::Closed));
    user.handle_timeout(lost + Duration::from_secs(2));
    assert_eq!(commands(&mut *user)[0], Command::Connect { socket: SocketId(2), by: Side::To });
}

#[test]
fn objects_over_a_persistent_connection_come_one_after_the_other() {
    let web = json!({ "size": "1 kB", "connection": "persistent", "objects": 2, "object_size": "500 bytes" });
    let mut user = program(json!({ "web": web }), 60);
    user.handle_timeout(Instant::START);
    for (asked, loaded, more) in [(300, 1_000, true), (600, 1_500, true), (900, 2_000, false)] {
        let read = |side, position| SocketEvent::Read { side, position };
        user.handle_event(Instant::START, SocketId::FIRST, read(Side::From, asked));
        commands(&mut *user);
        user.handle_event(Instant::START, SocketId::FIRST, read(Side::To, loaded));
        let asks = Command::write(SocketId::FIRST, Side::To, Bytes(300));
        assert_eq!(
            commands(&mut *user).iter().filter(|command| **command == asks).count(),
            usize::from(more)
        );
    }
}

#[test]
fn a_web_user_whose_connection_is_lost_gives_the_page_up_and_asks_for_another() {
    let mut user = program(json!({ "web": { "think": "2 s", "connection": "persistent" } }), 60);
    user.handle_timeout(Instant::START);
    commands(&mut *user);
    let lost = Instant::START + Duration::from_secs(5);
    user.handle_event(lost, SocketId::FIRST, SocketEvent::Closed);
    assert_eq!(commands(&mut *user), []);
    user.handle_timeout(lost + Duration::from_secs(2));
    assert_eq!(commands(&mut *user)[0], Command::Connect { socket: SocketId(1), by: Side::To });
}

#[test]
fn keystrokes_are_echoed_and_each_echo_ends_a_transfer() {
    let mut shell = program(json!({ "interactive": { "gap": "100 ms" } }), 1);
    let at = |ms| Instant::START + Duration::from_millis(ms);
    for stroke in 0..3 {
        shell.handle_timeout(at(100 * stroke));
    }
    commands(&mut *shell);
    // Two arrive at once, and their echoes come one by one.
    shell.handle_event(at(250), SocketId::FIRST, SocketEvent::Read { side: Side::To, position: 2 });
    assert!(commands(&mut *shell).contains(&Command::write(SocketId(0), Side::To, Bytes(2))));
    shell.handle_event(at(300), SocketId::FIRST, SocketEvent::Read { side: Side::From, position: 1 });
    let first = Transfer { start: at(0), end: at(300), bytes: Bytes(1) };
    assert!(commands(&mut *shell).contains(&Command::ReportTransfer(first)));
    shell.handle_event(at(310), SocketId::FIRST, SocketEvent::Read { side: Side::From, position: 2 });
    let second = Transfer { start: at(100), end: at(310), bytes: Bytes(1) };
    assert!(commands(&mut *shell).contains(&Command::ReportTransfer(second)));
}

#[test]
fn a_read_that_ends_inside_a_keystroke_is_followed_by_that_keystrokes_end() {
    let mut shell = program(json!({ "interactive": { "gap": "100 ms", "size": "1400 bytes" } }), 1);
    let at = |ms| Instant::START + Duration::from_millis(ms);
    (0..2).for_each(|stroke| shell.handle_timeout(at(100 * stroke)));
    commands(&mut *shell);
    shell.handle_event(at(250), SocketId::FIRST, SocketEvent::Read { side: Side::To, position: 1460 });
    let expected = Command::notify_read(SocketId(0), Side::To, 2800);
    assert_eq!(commands(&mut *shell).last(), Some(&expected));
}

#[test]
fn arrivals_offer_their_load() {
    let size = json!({ "pareto": { "mean": "10 kB", "shape": 2.5 } });
    let mut others = program(json!({ "arrivals": { "size": size, "load": "800 kbit/s" } }), 2_000);
    let mut written = 0;
    while others.poll_timeout() != Instant::NEVER {
        others.handle_timeout(others.poll_timeout());
        for command in commands(&mut *others) {
            if let Command::Call { call: SocketCall::Write(bytes), .. } = command {
                written += bytes.0;
            }
        }
    }
    let load = written as f64 * 8.0 / 2_000.0;
    assert!((load / 800_000.0 - 1.0).abs() < 0.05, "{load}");
}

#[test]
fn short_spurts_send_no_more_than_their_share_of_the_rate() {
    // A packet takes 1 s, as long as a spurt does in the mean, and as a silence does.
    let times = datagrams(json!({ "on-off": { "rate": "12 kbit/s" } }), 200_000);
    // About 100,000 spurts: the sending half is known to ± 4 · 0.5 / √100,000 · √2.
    let rate = times.len() as f64 * 12_000.0 / 200_000.0;
    assert!((rate / 6_000.0 - 1.0).abs() < 0.02, "{rate}");
    let times = datagrams(json!({ "on-off": { "rate": "12 kbit/s", "on": "400 ms", "off": "1 s" } }), 11);
    assert_eq!(times, [0.0, 3.0, 7.0, 10.0]);
}

#[test]
fn spurts_and_silences_without_length_still_let_time_go_on() {
    let times = datagrams(json!({ "on-off": { "rate": "120 kbit/s", "on": "0 s", "off": "0 s" } }), 1);
    assert_eq!(times.len(), 10);
}

#[test]
fn background_traffic_offers_its_shares_over_a_long_run() {
    let line = |rate: &str, mtu: &str| json!({ "rate": rate, "mtu": mtu, "framing": "10 bytes" });
    let lines = [line("10 Mbit/s", "1500 bytes"), line("1 Mbit/s", "576 bytes")];
    let background =
        json!({ "of": "lasthop.down", "share": 0.4, "reverse": 0.2, "medium_load": 0.7, "lines": lines });
    let seconds = 200_000;
    let mut program = program(json!({ "background": background }), seconds);
    // Bits on the line, headers and framing included: a segment carries what its MTU leaves.
    let bits = |bytes: u64, mtu: u64| 8.0 * (bytes + 50 * (bytes.div_ceil(mtu - 40) + 3)) as f64;
    let (mut offered, mut medium) = ([0.0; 2], 0.0);
    while program.poll_timeout() != Instant::NEVER {
        let now = program.poll_timeout();
        program.handle_timeout(now);
        for command in commands(&mut *program) {
            match command {
                Command::Call { side: Side::From, call: SocketCall::Write(bytes), .. } => {
                    offered[0] += bits(bytes.0, 1500)
                }
                Command::Call { side: Side::To, call: SocketCall::Write(bytes), .. } => {
                    offered[1] += bits(bytes.0, 576)
                }
                Command::Call { socket, call: SocketCall::NotifyRead(position), .. } => {
                    medium += if position > 300_000 { 1.0 } else { 0.0 };
                    program.handle_event(now, socket, SocketEvent::Closed);
                }
                _ => {}
            }
        }
    }
    let shares = [offered[0] / 10e6 / seconds as f64, offered[1] / 1e6 / seconds as f64];
    assert!((shares[0] / 0.4 - 1.0).abs() < 0.01, "{shares:?}");
    assert!((shares[1] / 0.2 - 1.0).abs() < 0.02, "{shares:?}");
    // Of exponential sizes, one in e is above the mean; of the short ones hardly any.
    let expected = (0.4 * 10e6 + 0.2 * 1e6) * 0.7 * seconds as f64 / 8.0 / 300_000.0 / std::f64::consts::E;
    assert!((medium / expected - 1.0).abs() < 0.1, "{medium} for {expected}");
}

#[test]
fn a_player_asks_for_the_next_chunk_when_its_buffer_has_room_for_it() {
    let streaming =
        json!({ "streaming": { "rates": ["1 Mbit/s"], "chunk": "2 s", "buffer": "5 s", "startup": "2 s" } });
    let mut program = program(streaming, 100);
    let at = |seconds: u64| Instant::START + Duration::from_secs(seconds);
    let read = |side, position| SocketEvent::Read { side, position };
    program.handle_timeout(at(0));
    commands(&mut *program);
    // Two chunks within a second: 2 s and 3 s of media are buffered.
    for chunk in 1..=2 {
        program.handle_event(at(chunk - 1), SocketId::FIRST, read(Side::From, 300 * chunk));
        program.handle_event(at(chunk - 1), SocketId::FIRST, read(Side::To, 250_000 * chunk));
    }
    let transfers =
        commands(&mut *program).into_iter().filter(|command| matches!(command, Command::ReportTransfer(_)));
    assert_eq!(
        (transfers.count(), program.poll_timeout()),
        (2, Instant::NEVER),
        "3 s and 2 s fit: it asks at once"
    );
    program.handle_event(at(1), SocketId::FIRST, read(Side::From, 900));
    program.handle_event(at(1), SocketId::FIRST, read(Side::To, 750_000));
    assert_eq!(program.poll_timeout(), at(3), "5 s are buffered: room for 2 s is there in 2 s");
}

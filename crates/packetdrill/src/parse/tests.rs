use units::Duration;

use super::*;
use crate::script::*;

fn event(text: &str) -> Event {
    let script = parse(text, &Definitions::new()).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(script.events.len(), 1, "{text}");
    script.events[0].clone()
}

fn packet(text: &str) -> Packet {
    match event(text).action {
        Action::Packet(packet) => packet,
        other => panic!("{other:?}"),
    }
}

fn call(text: &str) -> Call {
    match event(text).action {
        Action::Call(call) => call,
        other => panic!("{other:?}"),
    }
}

#[test]
fn times_are_absolute_relative_any_or_ranges() {
    let ms = Duration::from_millis;
    let time = |text: &str| event(&format!("{text} close(3) = 0")).time;
    assert_eq!(time("0"), EventTime::Absolute(ms(0)));
    assert_eq!(time("+.01"), EventTime::Relative(ms(10)));
    assert_eq!(time("*"), EventTime::Any);
    assert_eq!(time("+.21~+.215"), EventTime::RelativeRange(ms(210), ms(215)));
    assert_eq!(time("1~2.5"), EventTime::AbsoluteRange(ms(1_000), ms(2_500)));
}

#[test]
fn a_segment_has_flags_numbers_window_and_options() {
    let syn = packet("+0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>");
    assert_eq!(syn.direction, Direction::Inbound);
    assert!(syn.flags.syn && !syn.flags.ack);
    assert_eq!((syn.window, syn.ack), (Some(32_792), None));
    let nop = TcpOption::Nop;
    let options = [
        TcpOption::Mss(1_000),
        TcpOption::SackPermitted,
        nop.clone(),
        nop.clone(),
        nop,
        TcpOption::WindowScale(7),
    ];
    assert_eq!(syn.options, Options::Exactly(options.to_vec()));
    let data = packet("+0 > [ect0] P. 1:1001(1000) ack 1 <...>");
    assert_eq!(data.ecn, Some(EcnField::Ect0));
    assert_eq!((data.start, data.end, data.payload, data.ack), (1, 1_001, 1_000, Some(1)));
    assert!(data.flags.psh && data.flags.ack);
    assert_eq!(data.options, Options::Any);
}

#[test]
fn sack_blocks_and_timestamps_stand_among_the_options() {
    let ack = packet("+0 < . 1:1(0) ack 1 win 257 <sack 3001:5001 7001:8001,nop,nop,TS val 5 ecr 100>");
    let Options::Exactly(options) = ack.options else { panic!("any") };
    assert_eq!(options[0], TcpOption::Sack(vec![(3_001, 5_001), (7_001, 8_001)]));
    assert_eq!(options[3], TcpOption::Timestamps { value: Some(5), echo: Some(100) });
}

#[test]
fn two_segments_in_a_row_are_two() {
    let script = parse("+0 > . 1:1001(1000) ack 1\n+0 > . 1001:2001(1000) ack 1\n", &Definitions::new())
        .expect("a script");
    assert_eq!(script.events.iter().map(|event| event.line).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn system_calls_have_arguments_results_errors_and_remarks() {
    let connect = call("+0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)");
    assert_eq!(connect.name, "connect");
    assert_eq!(connect.arguments, [Expression::Integer(3), Expression::Any, Expression::Any]);
    assert_eq!((connect.result, connect.errno), (Expression::Integer(-1), Some("EINPROGRESS".into())));
    let fcntl = call("+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0   // set back");
    assert_eq!(fcntl.arguments[2].names(), ["O_RDWR", "O_NONBLOCK"]);
    let flags = call("+0 fcntl(3, F_GETFL) = 0x2 (flags O_RDWR)");
    assert_eq!(flags.result, Expression::Integer(2));
}

#[test]
fn a_blocking_call_says_when_it_ends() {
    let read = event("+0...0.100 read(4, ..., 2000) = 2000");
    let Action::Call(call) = read.action else { panic!("a call") };
    assert_eq!(call.until, Some(EventTime::Absolute(Duration::from_millis(100))));
    assert_eq!(
        event("+.09...0.14 write(3, ..., 1) = 1").time,
        EventTime::Relative(Duration::from_millis(90))
    );
}

#[test]
fn messages_are_records_of_fields() {
    let text = "+0 sendmsg(4, {msg_name(...)=...,\n msg_iov(2)=[{..., 100}, {..., 195}],\n msg_flags=0}, MSG_MORE) = 295";
    let message = &call(text).arguments[1];
    let Some(Expression::List(vectors)) = message.field("msg_iov") else { panic!("no vectors") };
    assert_eq!(vectors[1], Expression::Record(vec![Expression::Any, Expression::Integer(195)]));
    assert_eq!(message.field("msg_flags"), Some(&Expression::Integer(0)));
}

#[test]
fn options_commands_code_and_comments_have_their_lines() {
    let text = "// A script.\n--tolerance_usecs=7000\n\n`sysctl -q net.ipv4.tcp_ecn=0\n`\n 0 `true`\n\
                +0 %{ assert 1,\n 2 }%\n`false`\n";
    let script = parse(text, &Definitions::new()).expect("a script");
    assert_eq!((script.options[0].name.as_str(), script.options[0].line), ("tolerance_usecs", 2));
    assert_eq!(script.init.map(|command| command.line), Some(4));
    assert_eq!(script.events[0].action, Action::Command("true".into()));
    assert_eq!(script.events[1].line, 7);
    assert_eq!(script.cleanup.map(|command| (command.line, command.text)), Some((9, "false".into())));
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_what_would_be_right() {
    let refusals = [
        ("+0 > Q. 1:2(1)", "line 1: found \"Q\"; write flags out of F S R P U E W A, 0 to 7 and \".\""),
        ("\n+0 > P. 1-2(1)", "line 2: found \"-\"; write \":\" between the sequence numbers"),
        (
            "+0 close(3)",
            "line 1: the script ends here; write \"=\" and the value that the system call returns",
        ),
        ("+0 > . 1:1(0) ack 1 win 70000", "line 1: 70000 is no window field; it does not fit"),
        ("+0 %{ assert", "line 1: code begins here and has no end; write }%"),
        ("+soon close(3) = 0", "line 1: found \"soon\"; write a time in seconds like +0.1"),
        ("+0 close(3) = 0 §", "line 1: '§' begins nothing in this language; take it out"),
    ];
    for (text, expected) in refusals {
        assert_eq!(parse(text, &Definitions::new()).expect_err(text).to_string(), expected);
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic_or_hang(text in "[-+<>0-9.:()\\[\\]{}=,|~*`%a-zA-Z\"/ \n]{0,80}") {
        let _ = parse(&text, &Definitions::new());
    }
}

#[test]
fn a_text_without_an_event_is_no_script() {
    for text in ["", "// a comment\n", "--tolerance_usecs=1000\n", "`true`\n"] {
        let error = parse(text, &Definitions::new()).expect_err("nothing is tested");
        assert!(error.line == 1 && error.message.contains("no event"), "{text:?}: {error}");
    }
}

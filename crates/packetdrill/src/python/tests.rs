use super::*;

fn info(name: &str) -> Option<Value> {
    match name {
        "tcpi_snd_cwnd" => Some(Value::Integer(10)),
        "tcpi_busy_time" => Some(Value::Integer(50_500)),
        "TCP_CA_Open" | "tcpi_ca_state" => Some(Value::Integer(0)),
        _ => None,
    }
}

fn run_all(code: &str) -> Result<(), Failure> {
    run(code, &mut Namespace::default(), &info)
}

#[test]
fn assertions_hold_or_name_what_was_found() {
    assert_eq!(run_all("assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd"), Ok(()));
    let failure = run_all("assert tcpi_snd_cwnd == 12, tcpi_snd_cwnd").expect_err("10 is not 12");
    assert_eq!(failure.to_string(), "assertion fails: tcpi_snd_cwnd == 12 (got 10)");
}

#[test]
fn statements_stand_on_lines_or_between_semicolons_and_lines_may_go_on() {
    let code = "\nassert 49000 <= tcpi_busy_time <= 52000, tcpi_busy_time; \\\n assert 0 == tcpi_ca_state\n# a remark\nassert \
                (tcpi_ca_state ==\n TCP_CA_Open), tcpi_ca_state  # another\n";
    assert_eq!(run_all(code), Ok(()));
    assert!(run_all("assert 51000 <= tcpi_busy_time <= 52000").is_err());
}

#[test]
fn what_code_assigns_is_known_later() {
    let mut names = Namespace::default();
    assert_eq!(run("TCP_INFINITE_SSTHRESH = 0x7fffffff", &mut names, &info), Ok(()));
    assert_eq!(run("assert TCP_INFINITE_SSTHRESH == 2147483647", &mut names, &info), Ok(()));
    assert_eq!(run_all("assert cwnd"), Err(Failure::UnknownName("cwnd".into())));
}

#[test]
fn operators_bind_as_in_python() {
    for truth in [
        "1 + 2 * 3 == 7",
        "(1 + 2) * 3 == 9",
        "not 1 == 2",
        "1 or 0 and 0",
        "-7 // 2 == -4",
        "7 // -2 == -4",
        "-7 % 3 == 2",
        "7 % -3 == -2",
        "7 / 2 == 3.5",
        "(1 << 4 | 3) == 19",
        "6 & 3 == 2",
        "2 < 3 < 4 != 5",
        "max(1, 7, 3) - min(4, 2) == 5",
        "'ab' == \"ab\"",
        "'cwnd=%d' % tcpi_snd_cwnd == 'cwnd=10'",
        "abs(-3) == 3 and int(3.7) == 3",
    ] {
        assert_eq!(run_all(&format!("assert {truth}")), Ok(()), "{truth}");
    }
}

#[test]
fn what_is_not_understood_is_said() {
    for (code, expected) in [
        ("for i in range(3): pass", "not understood"),
        ("assert 1 +", "not understood"),
        ("assert 1 / 0", "division by zero"),
        ("assert 'a' < 1", "no order"),
        ("assert 9223372036854775807 + 1", "beyond 64 bits"),
        ("assert (1", "no end"),
    ] {
        let failure = run_all(code).expect_err(code).to_string();
        assert!(failure.contains(expected), "{code}: {failure}");
    }
}

proptest::proptest! {
    #[test]
    fn no_code_makes_it_panic_or_hang(code in "[-+*/%<>=!()|&^0-9a-z ;,.#'\"\n]{0,60}") {
        let _ = run_all(&code);
    }
}

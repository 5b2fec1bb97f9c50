//! Messages where a live run is impossible.

use std::process::Command;

use lasthop_live::{LiveError, Options, run};

use libtest_mimic::Trial;

use crate::support::{download, quick, reno};

/// The tests of this file.
pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = anywhere![
        an_unknown_congestion_control_is_refused_before_anything_is_built,
        a_setting_outside_the_white_list_is_refused,
        a_user_to_whom_the_device_is_closed_gets_the_remedy,
    ];
    trials.extend(live![
        a_setting_that_the_kernel_refuses_is_said_with_host_and_value,
        a_program_that_is_not_there_is_said,
        progress_can_break_a_run_off,
    ]);
    trials
}

fn an_unknown_congestion_control_is_refused_before_anything_is_built() {
    let options = Options { congestion: Some("no-such".to_owned()), ..reno() };
    let error = run(&download(quick(), 1), options).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, LiveError::CannotStart(_)), "{text}");
    assert!(text.contains("no congestion control called \"no-such\"") && text.contains("reno"), "{text}");
}

fn a_setting_outside_the_white_list_is_refused() {
    let mut options = reno();
    options.sysctls.insert("kernel.core_pattern".to_owned(), "x".to_owned());
    let text = run(&download(quick(), 1), options).unwrap_err().to_string();
    assert!(text.contains("kernel.core_pattern may not be set"), "{text}");
}

fn a_setting_that_the_kernel_refuses_is_said_with_host_and_value() {
    let mut options = reno();
    options.sysctls.insert("net.ipv4.tcp_sack".to_owned(), "purple".to_owned());
    let text = run(&download(quick(), 1), options).unwrap_err().to_string();
    assert!(text.contains("host left: the kernel refused net.ipv4.tcp_sack = \"purple\""), "{text}");
}

fn a_program_that_is_not_there_is_said() {
    let options = Options { command: vec!["no-such-program".into()], ..Options::default() };
    let text = run(&download(quick(), 1), options).unwrap_err().to_string();
    assert!(text.contains("cannot run no-such-program"), "{text}");
}

fn progress_can_break_a_run_off() {
    let mut calls = 0;
    let mut hear = |_| {
        calls += 1;
        if calls == 3 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
    };
    let options = Options { progress: Some(&mut hear), ..reno() };
    let error = run(&download(quick(), 1 << 40), options).unwrap_err();
    assert!(matches!(error, LiveError::Interrupted), "{error}");
    assert_eq!(calls, 3);
}

fn a_user_to_whom_the_device_is_closed_gets_the_remedy() {
    let may_become_nobody = nix::unistd::geteuid().is_root();
    let closed = std::fs::metadata("/dev/net/tun").is_ok_and(|device| {
        use std::os::unix::fs::PermissionsExt;
        device.permissions().mode() & 0o006 != 0o006
    });
    if !may_become_nobody || !closed {
        eprintln!("NOT TESTED: needs root, and a /dev/net/tun that is closed to others");
        return;
    }
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(crate::process::example())
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/quickstart.toml"))
        .output();
    let Ok(output) = output else {
        eprintln!("NOT TESTED: setpriv is not installed");
        return;
    };
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("/dev/net/tun is not open to this user") && text.contains("chmod 0666"), "{text}");
}

//! Nothing remains, whatever ends the process.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use libtest_mimic::{Completion, Failed, Trial};

use crate::support::obstacles;

/// The tests of this file.
pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = live![a_kill_leaves_no_namespace_no_device_and_no_program];
    trials.push(Trial::ignorable_test(
        "process::without_privilege_a_run_goes_by_a_user_namespace",
        without_privilege_a_run_goes_by_a_user_namespace,
    ));
    trials
}

/// The example that runs a scenario file, which cargo builds along with the tests.
pub(crate) fn example() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own file");
    let built =
        test.parent().and_then(Path::parent).expect("target/<profile>/deps/<test>").join("examples/live");
    assert!(
        built.is_file(),
        "{} is not there: run all the tests of the crate, or build --examples",
        built.display()
    );
    built
}

/// Whether any process has this command line.
pub(crate) fn somebody_runs(words: &[&str]) -> bool {
    let line = words.iter().flat_map(|word| word.bytes().chain([0])).collect::<Vec<_>>();
    processes().any(|process| fs::read(process.join("cmdline")).is_ok_and(|own| own == line))
}

fn processes() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/proc").expect("/proc is there").flatten();
    entries.map(|entry| entry.path()).filter(|path| path.join("cmdline").exists())
}

/// The network namespaces that a process's threads are in.
fn namespaces(process: &Path) -> BTreeSet<PathBuf> {
    let threads = fs::read_dir(process.join("task")).into_iter().flatten().flatten();
    threads.filter_map(|thread| fs::read_link(thread.path().join("ns/net")).ok()).collect()
}

/// Tries for some seconds: the kernel takes things down after the end of a process.
fn comes_true(mut holds: impl FnMut() -> bool) -> bool {
    (0..500).any(|_| {
        #[expect(clippy::disallowed_methods, reason = "a test waits for the kernel to clean up")]
        std::thread::sleep(Duration::from_millis(10));
        holds()
    })
}

fn a_kill_leaves_no_namespace_no_device_and_no_program() {
    let mark = format!("32{}", std::process::id());
    let mut run = Command::new(example())
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/quickstart.toml"))
        .args(["bash", "-c", &format!("echo up; sleep {mark} & sleep {mark}")])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(run.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(first, "up\n");
    let own = namespaces(Path::new("/proc/self"));
    let theirs: BTreeSet<_> =
        namespaces(&PathBuf::from(format!("/proc/{}", run.id()))).difference(&own).cloned().collect();
    assert_eq!(theirs.len(), 2, "one namespace for each host");
    assert!(comes_true(|| somebody_runs(&["sleep", &mark])));

    run.kill().unwrap();
    run.wait().unwrap();
    assert!(comes_true(|| !somebody_runs(&["sleep", &mark])), "the program lives on");
    assert!(comes_true(|| processes().all(|process| namespaces(&process).is_disjoint(&theirs))));
}

fn without_privilege_a_run_goes_by_a_user_namespace() -> Result<Completion, Failed> {
    if let Some(obstacles) = obstacles() {
        return Ok(Completion::ignored_with(obstacles));
    }
    if !nix::unistd::geteuid().is_root() {
        return Ok(Completion::ignored_with(
            "needs root, to open the device to another user and become that user",
        ));
    }
    // In a mount namespace of its own, every user may open the device.
    let device = std::env::temp_dir().join(format!("lasthop-tun-{}", std::process::id()));
    let script = "mknod -m 0666 $0 c 10 200 && mount --bind $0 /dev/net/tun && rm $0 &&
                  exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .arg(device)
        .arg(example())
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/live-workloads.toml"))
        .args(["sh", "-c", "test $(id -u) = 0"])
        .output();
    let Ok(output) = output else {
        return Ok(Completion::ignored_with("unshare is not installed"));
    };
    let (summary, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if namespaces_are_refused(&errors) {
        return Ok(Completion::ignored_with(errors));
    }
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap_or_else(|_| panic!("{errors}"));
    assert_eq!(summary["right"], "user_namespace");
    assert_eq!(summary["command"]["status"], 0);
    assert_eq!(summary["kernel"]["sysctls"]["net.ipv4.tcp_frto"], "0");
    Ok(Completion::Completed)
}

/// Whether the machine keeps users from making namespaces, or containers from making devices.
fn namespaces_are_refused(errors: &str) -> bool {
    ["namespaces are refused", "mknod:", "mount:", "unshare:"].iter().any(|word| errors.contains(word))
}

//! Checks of what live runs need on this machine, each with a remedy.

use std::env;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::thread;

use nix::sys::utsname::uname;
use serde::Serialize;

use crate::forwarding;
use crate::namespace::{self, Privilege};
use crate::policy;
use crate::scheduling::{Priority, Rank, RealTimeLimit, Scheduling};
use crate::sysctl::{self, Sysctls};
use crate::tun;

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Subject of the check, one word.
    pub check: String,
    /// Whether the check passed.
    pub ok: bool,
    /// The finding.
    pub says: String,
    /// Remedy if the check failed.
    pub remedy: Option<String>,
}

impl Check {
    fn good(check: &str, says: impl Into<String>) -> Self {
        Self { check: check.into(), ok: true, says: says.into(), remedy: None }
    }

    fn bad(check: &str, says: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check: check.into(), ok: false, says: says.into(), remedy: Some(remedy.into()) }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.remedy {
            Some(remedy) => write!(f, "{} ({remedy})", self.says),
            None => f.write_str(&self.says),
        }
    }
}

/// Checks everything that live runs need or can use.
#[must_use]
pub fn doctor() -> Vec<Check> {
    let mut checks = needed();
    checks.push(congestion(None));
    checks.push(timers());
    checks.push(scheduling());
    checks.push(left_behind());
    checks.push(program("tshark", "reads captures", "apt-get install tshark"));
    checks.push(program("tcptrace", "analyses captures", "apt-get install tcptrace"));
    checks
}

/// Returns the failed checks for a run with this congestion control and these settings.
#[must_use]
pub fn obstacles(congestion: Option<&str>, sysctls: &Sysctls) -> Vec<Check> {
    let mut checks = needed();
    checks.extend(congestion.map(|name| self::congestion(Some(name))));
    checks.extend(sysctls.keys().map(|name| setting(name)));
    checks.retain(|check| !check.ok);
    checks
}

/// Returns name and release of the kernel, "Linux 6.18.44".
#[must_use]
pub fn kernel_version() -> String {
    uname().map_or_else(
        |_| "unknown".to_owned(),
        |name| format!("{} {}", name.sysname().display(), name.release().display()),
    )
}

fn needed() -> Vec<Check> {
    vec![Check::good("kernel", kernel_version()), device(Path::new(tun::DEVICE)), namespaces()]
}

fn device(path: &Path) -> Check {
    let name = path.display();
    match OpenOptions::new().read(true).write(true).open(path) {
        Ok(_) => Check::good("tun", format!("{name} can be opened")),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Check::bad(
            "tun",
            format!("{name} is not open to this user"),
            format!("as root: chmod 0666 {name}, or run lasthop live as root"),
        ),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Check::bad(
            "tun",
            format!("{name} does not exist"),
            format!(
                "as root: modprobe tun; mkdir -p /dev/net; mknod -m 0666 {name} c 10 200; \
                 in a container: --device {name}"
            ),
        ),
        Err(error) => Check::bad(
            "tun",
            format!("{name} cannot be opened: {error}"),
            "as root: modprobe tun; the kernel needs CONFIG_TUN",
        ),
    }
}

fn namespaces() -> Check {
    match namespace::possible() {
        Ok(Privilege::Capability | Privilege::NotNeeded) => {
            Check::good("namespaces", "network namespaces can be made, with privilege")
        }
        Ok(Privilege::UserNamespace) => {
            Check::good("namespaces", "network namespaces can be made, in a user namespace of one's own")
        }
        Err(error) => {
            Check::bad("namespaces", format!("user namespaces are refused: {error}"), namespace_remedy())
        }
    }
}

/// Returns the remedy for the setting that forbids user namespaces on this machine.
fn namespace_remedy() -> String {
    NAMESPACE_SETTINGS
        .iter()
        .find(|(path, forbids, _)| fs::read_to_string(path).is_ok_and(|value| value.trim() == *forbids))
        .map_or_else(
            || {
                "run lasthop live as root; in a container, with --cap-add SYS_ADMIN --cap-add NET_ADMIN"
                    .to_owned()
            },
            |(_, _, remedy)| format!("as root: {remedy}; or run lasthop live as root"),
        )
}

/// Settings by which distributions forbid user namespaces: file, forbidding value, remedy.
const NAMESPACE_SETTINGS: [(&str, &str, &str); 3] = [
    ("/proc/sys/user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=10000"),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
];

fn congestion(wanted: Option<&str>) -> Check {
    let there = sysctl::read("net.ipv4.tcp_available_congestion_control").unwrap_or_default();
    let default = sysctl::read("net.ipv4.tcp_congestion_control").unwrap_or_default();
    match wanted {
        None => Check::good("congestion", format!("congestion controls: {there} (default {default})")),
        Some(name) if there.split(' ').any(|one| one == name) => {
            Check::good("congestion", format!("{name} is there"))
        }
        Some(name) => Check::bad(
            "congestion",
            format!("this kernel has no congestion control called {name:?}; it has: {there}"),
            format!("name one of these under [live] congestion, or as root: modprobe tcp_{name}"),
        ),
    }
}

fn setting(name: &str) -> Check {
    if !sysctl::allowed(name) {
        return Check::bad(
            "sysctl",
            format!("{name} may not be set by a scenario"),
            format!("settings may be: {}", sysctl::allowed_names()),
        );
    }
    if sysctl::path(name).exists() {
        Check::good("sysctl", format!("{name} is there"))
    } else {
        Check::bad(
            "sysctl",
            format!("this kernel has no setting {name}"),
            "see /proc/sys/net for those that it has",
        )
    }
}

/// Checks whether timers are finer than the kernel's tick. If they are not, deliveries are milliseconds late.
fn timers() -> Check {
    use nix::time::{ClockId, clock_getres};
    match clock_getres(ClockId::CLOCK_MONOTONIC) {
        Ok(tick) if tick.tv_sec() == 0 && tick.tv_nsec() <= 1_000 => {
            Check::good("timers", format!("high resolution ({} ns)", tick.tv_nsec()))
        }
        Ok(tick) => Check::bad(
            "timers",
            format!("timers have a resolution of {} ns", tick.tv_nsec()),
            "use a kernel with CONFIG_HIGH_RES_TIMERS",
        ),
        Err(error) => {
            Check::bad("timers", format!("the clock's resolution is unknown: {error}"), "use Linux")
        }
    }
}

/// Reports the scheduling class that a driver gets, and the kernel's limit on the real-time class.
fn scheduling() -> Check {
    let raised = thread::spawn(|| Priority::raise(Rank::Driver).scheduling()).join();
    let limit = RealTimeLimit::of_this_machine().permille() / 10;
    let says = match raised.unwrap_or(Scheduling::Ordinary) {
        Scheduling::Fifo => format!(
            "real-time class (SCHED_FIFO); it may use {limit} % of a processor, and a run uses 86 % of that"
        ),
        Scheduling::ShortSlice => {
            "ordinary class, short slice: other programs delay packets; root has the real-time class"
                .to_owned()
        }
        Scheduling::Ordinary => {
            "ordinary class: other programs delay packets; root has the real-time class".to_owned()
        }
    };
    Check::good("scheduling", says)
}

/// Takes back the changes that killed shells and routers have left outside their namespaces, and reports them.
fn left_behind() -> Check {
    let rules =
        policy::remove_left().into_iter().map(|interface| format!("the routing rule for {interface}"));
    let left: Vec<String> = forwarding::restore_left().into_iter().chain(rules).collect();
    match left.is_empty() {
        true => Check::good("left", "no killed shell or router has left anything behind"),
        false => {
            Check::good("left", format!("taken back after a killed shell or router: {}", left.join(", ")))
        }
    }
}

fn program(name: &str, does: &str, install: &str) -> Check {
    let path = env::var_os("PATH").unwrap_or_default();
    match env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file()) {
        Some(file) => Check::good(name, format!("{} is there", file.display())),
        None => Check::bad(name, format!("{name} is not installed (optional: it {does})"), install),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_device_is_said_with_its_remedy() {
        let check = device(Path::new("/dev/net/no-such"));
        assert!(!check.ok && check.says.contains("does not exist"), "{check:?}");
        assert!(check.remedy.unwrap().contains("mknod"));
    }

    #[test]
    fn an_unknown_congestion_control_is_said_with_those_that_are_there() {
        let check = congestion(Some("no-such"));
        assert!(!check.ok && check.says.contains("reno"), "{check:?}");
        assert!(congestion(Some("reno")).ok);
    }

    #[test]
    fn a_setting_outside_the_white_list_is_refused_and_the_list_shown() {
        let check = setting("kernel.core_pattern");
        assert!(!check.ok && check.remedy.unwrap().contains("net.ipv4.tcp_*"));
        assert!(setting("net.ipv4.tcp_sack").ok);
        assert!(setting("net.ipv4.tcp_no_such").says.contains("no setting"));
    }

    #[test]
    fn every_bad_check_has_a_remedy() {
        for check in doctor() {
            assert!(check.ok || check.remedy.is_some(), "{check:?}");
        }
    }
}

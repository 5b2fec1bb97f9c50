//! Kernel settings of a network namespace: the list of settings that a scenario may use, reading and writing.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

/// Settings by name, "net.ipv4.tcp_sack" and so on.
pub type Sysctls = BTreeMap<String, String>;

/// Settings of every host, which a scenario may override, with the reason.
const DEFAULTS: [(&str, &str); 3] = [
    // Otherwise a connection starts with the ssthresh and RTT of an earlier one to the same host.
    ("net.ipv4.tcp_no_metrics_save", "1"),
    // Router solicitations would be extra packets on the link under test.
    ("net.ipv6.conf.all.disable_ipv6", "1"),
    ("net.ipv6.conf.default.disable_ipv6", "1"),
];

/// Settings that a scenario may set: those of TCP, the sizes of socket buffers, and path MTU discovery. They belong to
/// the namespace, so they end with the run.
const ALLOWED: [&str; 5] = [
    "net.ipv4.tcp_",
    "net.core.rmem_",
    "net.core.wmem_",
    "net.ipv4.ip_no_pmtu_disc",
    "net.ipv4.ip_local_port_range",
];

/// Returns whether a scenario may set this.
#[must_use]
pub fn allowed(name: &str) -> bool {
    let plain =
        name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._".contains(&byte));
    plain && !name.contains("..") && ALLOWED.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns the settings that a scenario may set, for messages.
#[must_use]
pub fn allowed_names() -> String {
    ALLOWED.map(|name| if name.ends_with('_') { format!("{name}*") } else { name.to_owned() }).join(", ")
}

/// Returns the file of the setting in this thread's namespace.
#[must_use]
pub fn path(name: &str) -> PathBuf {
    PathBuf::from("/proc/sys").join(name.replace('.', "/"))
}

/// Reads the setting's value in this thread's namespace.
///
/// # Errors
/// If this kernel does not have it.
pub fn read(name: &str) -> io::Result<String> {
    Ok(fs::read_to_string(path(name))?.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Applies the settings of every host that this kernel has.
pub fn set_defaults() {
    for (name, value) in DEFAULTS {
        // A kernel without IPv6 lacks two of them and does not need them.
        let _ = fs::write(path(name), value);
    }
}

/// Changes a setting in this thread's namespace and returns its value as the kernel reads it back.
///
/// # Errors
/// If this kernel does not have it, or refuses the value.
pub fn set(name: &str, value: &str) -> io::Result<String> {
    fs::write(path(name), value)?;
    read(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_may_set_tcp_and_nothing_outside_the_namespace() {
        assert!(allowed("net.ipv4.tcp_sack"));
        assert!(allowed("net.core.rmem_max"));
        assert!(!allowed("kernel.core_pattern"));
        assert!(!allowed("net.ipv4.tcp_/../../kernel/core_pattern"));
        assert!(!allowed("net.ipv4.tcp_..kernel"));
        assert!(!allowed("net.ipv4.ip_forward"));
    }

    #[test]
    fn a_setting_is_read_as_one_line() {
        assert_eq!(read("net.ipv4.tcp_rmem").unwrap().split(' ').count(), 3);
    }

    #[test]
    fn a_setting_of_a_new_namespace_is_its_own() {
        let name = "net.ipv4.tcp_no_metrics_save";
        let before = read(name).unwrap();
        crate::testing::in_new_network(|| {
            set_defaults();
            assert_eq!(read(name).unwrap(), "1");
            assert_eq!(set(name, "0").unwrap(), "0");
            assert!(set("net.ipv4.tcp_no_such", "1").is_err());
        });
        assert_eq!(read(name).unwrap(), before);
    }
}

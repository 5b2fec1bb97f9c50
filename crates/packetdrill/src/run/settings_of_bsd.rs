//! Settings of FreeBSD (`net.inet.tcp`, `kern.ipc`).

use registry::name_of;
use serde_json::{Value, json};

use super::settings::Meaning::{self, As, By, Count, Millis, Noted, NotedUnless, Nothing, Switch};
use super::settings::{
    KernelSettings, set_default_congestion_control, set_ecn, set_parameter, set_sack, set_timer,
};

/// The settings that are known.
const MEANINGS: &[(&str, Meaning)] = &[
    ("net.inet.tcp.rfc1323", By(set_high_performance)),
    ("net.inet.tcp.sack.enable", By(set_sack)),
    ("net.inet.tcp.sack.revised", As(&["1"])),
    ("net.inet.tcp.rfc6675_pipe", As(&["1"])),
    ("net.inet.tcp.do_prr", As(&["1"])),
    ("net.inet.tcp.rfc3042", As(&["1"])),
    ("net.inet.tcp.rfc3390", As(&["1"])),
    ("net.inet.tcp.rfc3465", As(&["1"])),
    ("net.inet.tcp.abc_l_var", As(&["2"])),
    ("net.inet.tcp.ecn.enable", By(set_ecn_of_bsd)),
    ("net.inet.tcp.ecn.maxretries", By(set_ecn_retries)),
    ("net.inet.tcp.cc.algorithm", By(set_algorithm)),
    ("net.inet.tcp.functions_default", As(&["freebsd"])),
    ("net.inet.tcp.initcwnd_segments", By(set_initial_window)),
    ("net.inet.tcp.rexmit_initial", By(|settings, value| set_timer(settings, "initial", value, "ms"))),
    ("net.inet.tcp.rexmit_min", By(|settings, value| set_timer(settings, "min", value, "ms"))),
    ("net.inet.tcp.rexmit_slop", By(|settings, value| set_timer(settings, "slop", value, "ms"))),
    ("net.inet.tcp.rexmit_drop_options", Switch("drops_syn_options")),
    ("net.inet.tcp.keepinit", Millis("open_timeout")),
    ("net.inet.tcp.keepidle", Millis("keep_alive_idle")),
    ("net.inet.tcp.keepintvl", Millis("keep_alive_interval")),
    ("net.inet.tcp.keepcnt", Count("keep_alive_probes")),
    ("net.inet.tcp.delayed_ack", As(&["1"])),
    ("net.inet.tcp.delacktime", By(set_ack_delay)),
    ("net.inet.tcp.insecure_syn", As(&["0"])),
    ("net.inet.tcp.insecure_rst", As(&["0"])),
    ("net.inet.tcp.recvspace", By(|settings, value| set_window(settings, "size", value))),
    ("net.inet.tcp.recvbuf_auto", Noted),
    ("net.inet.tcp.recvbuf_max", Noted),
    ("kern.ipc.maxsockbuf", By(|settings, value| set_window(settings, "largest", value))),
    ("net.inet.tcp.sendspace", Noted),
    ("net.inet.tcp.sendbuf_auto", Noted),
    ("net.inet.tcp.sendbuf_max", Noted),
    // Nothing is kept of earlier connections.
    ("net.inet.tcp.hostcache.purgenow", Nothing),
    ("net.inet.tcp.hostcache.enable", Nothing),
    // A listener of ours remembers each SYN, and none is lost for want of memory.
    ("net.inet.tcp.syncookies", Noted),
    // 0: a closed port answers.
    ("net.inet.tcp.blackhole", NotedUnless("0")),
    ("net.inet.tcp.drop_synfin", NotedUnless("0")),
    ("net.inet.tcp.icmp_may_rst", NotedUnless("1")),
    // Segments that leave together are joined as far as a script expects.
    ("net.inet.tcp.tso", Noted),
    ("net.inet.tcp.path_mtu_discovery", NotedUnless("1")),
];

/// Lays a setting over the profile; returns whether it is one of FreeBSD's.
pub(super) fn set(settings: &mut KernelSettings, name: &str, value: &str) -> bool {
    let is_ours = name.starts_with("net.inet.") || name.starts_with("kern.");
    if is_ours {
        settings.set_as(MEANINGS, name, value);
    }
    is_ours
}

/// The receive buffer with which a program of FreeBSD begins, where the profile has the largest from the start: scripts
/// end before it would grow (`recvspace`, `maxsockbuf`).
pub(super) fn begun(mut profile: Value) -> Value {
    if profile["option_layout"] == "freebsd" && name_of(&profile["window"]) == Some("fixed") {
        profile["window"] =
            json!({ "fixed": { "size": "65536 bytes", "largest": "2 MiB", "whole_segments": true } });
    }
    profile
}

/// Window scale and timestamps: both, or one of them.
fn set_high_performance(settings: &mut KernelSettings, value: &str) {
    let (scale, timestamps) = match value {
        "0" => (false, false),
        "1" => (true, true),
        "2" => (true, false),
        "3" => (false, true),
        _ => return settings.leave_out("net.inet.tcp.rfc1323", value),
    };
    settings.profile["window_scale"] = json!(scale);
    settings.profile["timestamps"] = json!(timestamps);
}

/// As Linux has it up to 2; 3 asks for Accurate ECN, 4 only answers it (tcp(4)).
fn set_ecn_of_bsd(settings: &mut KernelSettings, value: &str) {
    match value {
        "3" | "4" => {
            settings.profile["ecn"] = json!("accurate");
            settings.offered_ecn = (value == "4").then_some(false);
        }
        _ => set_ecn(settings, value),
    }
}

/// Retransmissions of a SYN that ask for ECN, too.
fn set_ecn_retries(settings: &mut KernelSettings, value: &str) {
    match value.parse::<u32>() {
        Ok(retries) => settings.profile["ecn_syns"] = json!(retries.saturating_add(1)),
        Err(_) => settings.leave_out("net.inet.tcp.ecn.maxretries", value),
    }
}

fn set_algorithm(settings: &mut KernelSettings, value: &str) {
    set_default_congestion_control(settings, if value == "newreno" { "reno" } else { value });
}

fn set_initial_window(settings: &mut KernelSettings, value: &str) {
    match value.parse::<u32>() {
        Ok(segments) => settings.profile["initial_window"] = json!(format!("{segments} segments")),
        Err(_) => settings.leave_out("net.inet.tcp.initcwnd_segments", value),
    }
}

fn set_ack_delay(settings: &mut KernelSettings, value: &str) {
    match value.parse::<u32>() {
        Ok(millis) => set_parameter(&mut settings.profile["ack"], "timeout", json!(format!("{millis} ms"))),
        Err(_) => settings.leave_out("net.inet.tcp.delacktime", value),
    }
}

fn set_window(settings: &mut KernelSettings, key: &str, value: &str) {
    match value.parse::<u64>() {
        Ok(bytes) => set_parameter(&mut settings.profile["window"], key, json!(format!("{bytes} bytes"))),
        Err(_) => settings.leave_out("a size of buffers", value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(name: &str, value: &str) -> KernelSettings {
        let profile = json!({ "option_layout": "freebsd", "window": { "fixed": { "size": "2 MiB" } } });
        let mut settings = KernelSettings::new(begun(profile));
        assert!(set(&mut settings, name, value));
        settings
    }

    #[test]
    fn buffers_begin_as_a_program_finds_them() {
        let window = after("net.inet.tcp.recvspace", "20000").profile["window"].take();
        let expected = json!({ "size": "20000 bytes", "largest": "2 MiB", "whole_segments": true });
        assert_eq!(window["fixed"], expected);
    }

    #[test]
    fn one_setting_stands_for_window_scale_and_timestamps() {
        for (value, expected) in [("0", (false, false)), ("2", (true, false)), ("3", (false, true))] {
            let profile = after("net.inet.tcp.rfc1323", value).profile;
            assert_eq!(
                (&profile["window_scale"], &profile["timestamps"]),
                (&json!(expected.0), &json!(expected.1))
            );
        }
    }

    #[test]
    fn settings_of_syns_have_keys() {
        let profile = after("net.inet.tcp.ecn.maxretries", "1").profile;
        assert_eq!(profile["ecn_syns"], 2);
        assert_eq!(after("net.inet.tcp.rexmit_drop_options", "1").profile["drops_syn_options"], true);
        assert_eq!(after("net.inet.tcp.keepinit", "10000").profile["open_timeout"], "10000 ms");
    }

    #[test]
    fn a_setting_that_changes_nothing_here_is_noted_unless_it_is_the_usual_one() {
        assert_eq!(after("net.inet.tcp.blackhole", "0").notes, [""; 0]);
        for name in ["blackhole", "drop_synfin", "syncookies"] {
            assert_eq!(after(&format!("net.inet.tcp.{name}"), "1").notes.len(), 1, "{name}");
        }
    }

    #[test]
    fn a_setting_without_a_key_is_refused() {
        assert_eq!(after("net.inet.tcp.insecure_rst", "1").refused.len(), 1);
        assert_eq!(after("net.inet.tcp.no_such_setting", "1").refused.len(), 1);
    }
}

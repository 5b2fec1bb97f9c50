//! How the host is set up: a profile, and the settings of a kernel that a script lays over it.

use serde_json::{Value, json};

/// The set-up of the host.
#[derive(Clone, Debug)]
pub(super) struct KernelSettings {
    /// The profile with its overrides.
    pub profile: Value,
    /// ECN is answered and not offered (`tcp_ecn=2`).
    pub answers_ecn_only: bool,
    /// KernelSettings that were not understood, and their treatment.
    pub notes: Vec<String>,
}

/// The effect of a kernel's setting on a profile.
enum Meaning {
    /// A key that is true or false.
    Switch(&'static str),
    /// A key that is a number.
    Count(&'static str),
    /// None, as long as it has one of these values, which Linux profiles assume.
    As(&'static [&'static str]),
    /// Nothing, whatever it is: it is about the machine, not about what TCP sends.
    Nothing,
    /// More than one key.
    By(fn(&mut KernelSettings, &str)),
}

use Meaning::{As, By, Count, Nothing, Switch};

/// The settings that are known, without `net.ipv4.`.
const MEANINGS: &[(&str, Meaning)] = &[
    ("tcp_timestamps", Switch("timestamps")),
    ("tcp_sack", By(set_sack)),
    ("tcp_dsack", Switch("dsack")),
    ("tcp_window_scaling", Switch("window_scale")),
    ("tcp_syn_retries", Count("syn_retries")),
    ("tcp_retries2", Count("retries")),
    ("tcp_ecn", By(set_ecn)),
    ("tcp_congestion_control", By(|settings, name| set_congestion_control(&mut settings.profile, name))),
    ("tcp_rmem", By(set_receive_buffer)),
    ("tcp_slow_start_after_idle", By(set_idle_restart)),
    ("tcp_reordering", By(set_reordering)),
    ("tcp_early_retrans", By(|settings, value| set_probe(settings, value != "0"))),
    ("tcp_recovery", As(&["1"])),
    ("tcp_frto", As(&["2", "1"])),
    ("tcp_fack", As(&["0"])),
    ("tcp_moderate_rcvbuf", As(&["1"])),
    ("tcp_ecn_option", Nothing),
    ("tcp_ecn_fallback", Nothing),
    ("tcp_wmem", By(set_send_buffer)),
    ("tcp_synack_retries", Nothing),
    ("tcp_fastopen", By(set_fast_open)),
    ("tcp_fastopen_key", Nothing),
    ("tcp_syncookies", Nothing),
    ("tcp_notsent_lowat", Nothing),
    ("tcp_no_metrics_save", Nothing),
    ("tcp_pacing_ss_ratio", As(&["200"])),
    ("tcp_pacing_ca_ratio", As(&["120"])),
    // How many segments go to the device at once: they are joined before they are compared.
    ("tcp_tso_win_divisor", Nothing),
    ("tcp_min_tso_segs", Nothing),
    ("tcp_limit_output_bytes", Nothing),
    ("tcp_autocorking", Nothing),
    ("tcp_cubic.hystart_detect", As(&["3"])),
    ("tcp_cubic.hystart", As(&["1"])),
];

impl KernelSettings {
    pub(super) const fn new(profile: Value) -> Self {
        Self { profile, answers_ecn_only: false, notes: Vec::new() }
    }

    /// Lays a setting over the profile, or notes that it is left out.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        let short = name.strip_prefix("net.ipv4.").unwrap_or(name);
        let meaning = MEANINGS.iter().find(|(known, _)| *known == short).map(|(_, meaning)| meaning);
        match meaning {
            Some(Switch(key)) => self.profile[*key] = json!(value != "0"),
            Some(Count(key)) => match value.parse::<u32>() {
                Ok(count) => self.profile[*key] = json!(count),
                Err(_) => self.leave_out(short, value),
            },
            Some(By(set)) => set(self, value),
            Some(As(values)) if values.contains(&value) => {}
            Some(Nothing) => {}
            Some(As(_)) | None => self.leave_out(short, value),
        }
    }

    fn leave_out(&mut self, name: &str, value: &str) {
        self.notes.push(format!("{name} = {value} has no key in a profile and is left out"));
    }
}

/// Without SACK the recovery is the endpoint's fallback.
fn set_sack(settings: &mut KernelSettings, value: &str) {
    settings.profile["sack"] = json!(value != "0");
    if value == "0" {
        settings.profile["recovery"] = json!({ "algorithm": "new-reno" });
    }
}

fn set_ecn(settings: &mut KernelSettings, value: &str) {
    settings.profile["ecn"] = if value == "3" { json!("accurate") } else { json!(value != "0") };
    settings.answers_ecn_only = value == "2";
    if !matches!(value, "0" | "1" | "2" | "3") {
        settings.leave_out("tcp_ecn", value);
    }
}

/// Replaces the congestion control, and the rules over it except those that Linux applies to all. If the profile has
/// this control already, nothing changes.
pub(super) fn set_congestion_control(profile: &mut Value, name: &str) {
    let of_linux = format!("{name}-linux");
    let congestion = &mut profile["congestion"];
    if innermost(congestion).is_some_and(|present| present == name || present == of_linux) {
        return;
    }
    let is_listed = tcp::congestion::ENTRIES.iter().any(|entry| entry.id == of_linux);
    // BBR sets the window itself (tcp_cong_control).
    let kept: &[&str] = if name.starts_with("bbr") { &[IDLE_RESTART] } else { &RULES_OF_LINUX };
    let mut place = congestion;
    while place.get("algorithm").and_then(Value::as_str).is_some_and(|rule| kept.contains(&rule)) {
        place = &mut place["over"];
    }
    *place = json!({ "algorithm": if is_listed { &of_linux } else { name } });
}

/// The algorithm below all rules.
fn innermost(congestion: &Value) -> Option<&str> {
    match congestion.get("over") {
        Some(over) => innermost(over),
        None => congestion.get("algorithm")?.as_str(),
    }
}

/// The rule for `tcp_slow_start_after_idle`.
const IDLE_RESTART: &str = "idle-restart";
/// The rules that lie over every congestion control of Linux: for idle times and unused windows, and slow start by
/// bytes (`tcp_cwnd_validate`, `tcp_slow_start`).
const RULES_OF_LINUX: [&str; 3] = [IDLE_RESTART, "window-usage", "byte-counting"];

/// `min default max`: the buffer of a new connection, and the most that it grows to. A window of one size has the most.
fn set_receive_buffer(settings: &mut KernelSettings, value: &str) {
    let sizes: Vec<u64> = value.split_whitespace().map_while(|size| size.parse().ok()).collect();
    let [_, initial, most] = sizes[..] else {
        return settings.leave_out("tcp_rmem", value);
    };
    let bytes = |size: u64| json!(format!("{size} bytes"));
    let window = &mut settings.profile["window"];
    if window.is_null() {
        *window = json!({ "algorithm": "fixed" });
    }
    let key = match window.get("algorithm").and_then(Value::as_str) {
        None | Some("fixed") => "size",
        Some("linux") => "buffer",
        Some("right-sizing") => {
            window["initial"] = bytes(initial);
            "greatest"
        }
        Some(_) => return settings.leave_out("tcp_rmem", value),
    };
    window[key] = bytes(most);
}

/// `min default max`, where the send buffer sizes itself: that of a new connection, and the most that it grows to.
fn set_send_buffer(settings: &mut KernelSettings, value: &str) {
    let sizes: Vec<u64> = value.split_whitespace().map_while(|size| size.parse().ok()).collect();
    let [_, initial, most] = sizes[..] else {
        return settings.leave_out("tcp_wmem", value);
    };
    let Some(buffer) = settings.profile.get_mut("send_buffer") else { return };
    if buffer.get("algorithm").is_some_and(|name| name == "auto-tuning") {
        buffer["initial"] = json!(format!("{initial} bytes"));
        buffer["greatest"] = json!(format!("{most} bytes"));
    }
}

/// Bit 1 gives servers the right to take data with a SYN, bit 10 makes every listener use it (ip-sysctl). Bit 0 lets
/// clients ask for cookies, which they do by `MSG_FASTOPEN` only.
fn set_fast_open(settings: &mut KernelSettings, value: &str) {
    let bits = match value.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => value.parse(),
    };
    match bits {
        Ok(bits) => {
            settings.profile["fast_open"] = if bits & 0x402 == 0x402 { json!("server") } else { json!(false) }
        }
        Err(_) => settings.leave_out("tcp_fastopen", value),
    }
}

fn set_idle_restart(settings: &mut KernelSettings, value: &str) {
    let mut congestion = settings.profile["congestion"].take();
    if congestion.get("algorithm").is_some_and(|name| name == "window-usage") {
        congestion["after_idle"] = json!(value != "0");
        settings.profile["congestion"] = congestion;
        return;
    }
    let has_rule = congestion.get("algorithm").is_some_and(|name| name == IDLE_RESTART);
    settings.profile["congestion"] = match (has_rule, value != "0") {
        (false, true) => json!({ "algorithm": IDLE_RESTART, "over": congestion }),
        (true, false) => congestion["over"].clone(),
        _ => congestion,
    };
}

fn set_reordering(settings: &mut KernelSettings, value: &str) {
    let adapts = settings.profile["dupthresh"].get("algorithm").is_some_and(|name| name != "fixed");
    match value.parse::<u32>() {
        Ok(3) => {}
        Ok(segments) if !adapts => {
            settings.profile["dupthresh"] = json!({ "algorithm": "fixed", "segments": segments });
        }
        _ => settings.leave_out("tcp_reordering", value),
    }
}

fn set_probe(settings: &mut KernelSettings, on: bool) {
    match settings.profile["recovery"].get_mut("tail_loss_probe") {
        Some(key) => *key = json!(on),
        None if on => {}
        None => settings.leave_out("tcp_early_retrans", "0"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_knows_idle_times_is_told_of_them() {
        let usage = json!({ "congestion": { "algorithm": "window-usage" } });
        let set = after(usage, "net.ipv4.tcp_slow_start_after_idle", "0");
        assert_eq!(set.profile["congestion"], json!({ "algorithm": "window-usage", "after_idle": false }));
    }

    fn after(profile: Value, name: &str, value: &str) -> KernelSettings {
        let mut settings = KernelSettings::new(profile);
        settings.set(name, value);
        settings
    }

    #[test]
    fn settings_become_keys_of_the_profile() {
        assert_eq!(after(json!({}), "net.ipv4.tcp_sack", "0").profile["sack"], false);
        assert_eq!(after(json!({}), "net.ipv4.tcp_retries2", "5").profile["retries"], 5);
        let window = after(json!({}), "net.ipv4.tcp_rmem", "4096 540000 15728640").profile["window"].take();
        assert_eq!(window, json!({ "algorithm": "fixed", "size": "15728640 bytes" }));
        let grows = json!({ "window": { "algorithm": "right-sizing" } });
        let window = after(grows, "net.ipv4.tcp_rmem", "4096 540000 15728640").profile["window"].take();
        let expected =
            json!({ "algorithm": "right-sizing", "initial": "540000 bytes", "greatest": "15728640 bytes" });
        assert_eq!(window, expected);
    }

    #[test]
    fn send_buffers_and_fast_open_have_keys() {
        let tuned = json!({ "send_buffer": { "algorithm": "auto-tuning" } });
        let buffer = after(tuned, "net.ipv4.tcp_wmem", "4096 262144 4194304").profile["send_buffer"].take();
        let expected =
            json!({ "algorithm": "auto-tuning", "initial": "262144 bytes", "greatest": "4194304 bytes" });
        assert_eq!(buffer, expected);
        assert_eq!(after(json!({}), "net.ipv4.tcp_fastopen", "0x70403").profile["fast_open"], "server");
        assert_eq!(after(json!({}), "net.ipv4.tcp_fastopen", "1").profile["fast_open"], false);
    }

    #[test]
    fn a_congestion_control_of_the_profile_keeps_its_parameters_and_what_lies_over_it() {
        let cubic = json!({ "algorithm": "cubic", "beta": 0.7 });
        let same = after(json!({ "congestion": cubic }), "net.ipv4.tcp_congestion_control", "cubic");
        assert_eq!(same.profile["congestion"], cubic);
        let mut over = after(json!({ "congestion": cubic }), "net.ipv4.tcp_slow_start_after_idle", "1");
        assert_eq!(over.profile["congestion"], json!({ "algorithm": "idle-restart", "over": cubic }));
        over.set("net.ipv4.tcp_congestion_control", "reno");
        assert_eq!(over.profile["congestion"]["over"], json!({ "algorithm": "reno" }));
        over.set("net.ipv4.tcp_congestion_control", "cubic");
        assert_eq!(over.profile["congestion"]["over"], json!({ "algorithm": "cubic-linux" }));
        let of_linux = over.profile["congestion"].clone();
        over.set("net.ipv4.tcp_congestion_control", "cubic");
        assert_eq!(over.profile["congestion"], of_linux, "it is the kernel's CUBIC already");
    }

    #[test]
    fn what_has_no_key_is_said() {
        assert_eq!(
            after(json!({}), "net.ipv4.tcp_abc", "1").notes,
            ["tcp_abc = 1 has no key in a profile and is left out"]
        );
        assert_eq!(after(json!({}), "net.ipv4.tcp_recovery", "1").notes, [""; 0]);
    }
}

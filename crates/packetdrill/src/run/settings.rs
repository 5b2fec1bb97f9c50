//! Settings of the host: a profile, and the kernel settings with which a script overrides it.

use registry::{name_of, parameters_of, parameters_of_mut};
use serde_json::{Map, Value, json};
use units::Bytes;

use super::fast_open::{CookieKey, FastOpenBits};

/// The set-up of the host.
#[derive(Clone, Debug)]
pub(super) struct KernelSettings {
    /// The profile with its overrides.
    pub profile: Value,
    /// The ECN that is offered, where it is another than the one that is answered (`tcp_ecn` 2, 4 and 5).
    pub offered_ecn: Option<bool>,
    /// The AccECN option of a script that asks for Accurate ECN (`tcp_ecn_option`).
    accecn_option: &'static str,
    /// Who takes part in Fast Open (`tcp_fastopen`).
    pub fast_open: FastOpenBits,
    /// The key of the host's Fast Open cookies (`tcp_fastopen_key`), if the script sets one.
    pub cookie_key: Option<CookieKey>,
    /// The unsent data below which sockets are writable (`tcp_notsent_lowat`).
    pub unsent_limit: Bytes,
    /// The settings of pacing (`tcp_pacing_ss_ratio` and others), which are in force with `fq` alone.
    pacing: Map<String, Value>,
    /// Whether the device has the queue discipline `fq`.
    has_fq: bool,
    /// The settings of the search for the path's MTU (`tcp_base_mss` and others), and whether there is one.
    mtu_search: Map<String, Value>,
    has_mtu_search: bool,
    /// Settings that change what TCP sends and have no key in a profile, each as a message.
    pub refused: Vec<String>,
    /// Settings that were not understood, and their treatment.
    pub notes: Vec<String>,
}

/// The effect of a kernel's setting on a profile.
pub(super) enum Meaning {
    /// A key that is true or false.
    Switch(&'static str),
    /// A key that is a number.
    Count(&'static str),
    /// A key that is a time, set in milliseconds.
    Millis(&'static str),
    /// None, as long as it has one of these values, which Linux profiles assume.
    As(&'static [&'static str]),
    /// Nothing, whatever it is: it is about the machine, not about what TCP sends.
    Nothing,
    /// None here, which a note says: a script may pass without it.
    Noted,
    /// The same, except for the value that hosts here have anyway.
    NotedUnless(&'static str),
    /// More than one key.
    By(fn(&mut KernelSettings, &str)),
}

use Meaning::{As, By, Count, Millis, Noted, NotedUnless, Nothing, Switch};

/// The settings that are known, without `net.ipv4.`.
const MEANINGS: &[(&str, Meaning)] = &[
    ("tcp_timestamps", Switch("timestamps")),
    ("tcp_sack", By(set_sack)),
    ("tcp_dsack", Switch("dsack")),
    ("tcp_window_scaling", Switch("window_scale")),
    ("tcp_syn_retries", Count("syn_retries")),
    ("tcp_retries2", Count("retries")),
    ("tcp_ecn", By(set_ecn)),
    ("tcp_congestion_control", By(set_default_congestion_control)),
    ("tcp_rmem", By(set_receive_buffer)),
    ("tcp_slow_start_after_idle", By(set_idle_restart)),
    ("tcp_reordering", By(set_reordering)),
    ("tcp_early_retrans", By(|settings, value| set_probe(settings, value != "0"))),
    ("tcp_recovery", As(&["1"])),
    ("tcp_frto", As(&["2", "1"])),
    ("tcp_fack", As(&["0"])),
    ("tcp_moderate_rcvbuf", As(&["1"])),
    ("tcp_ecn_option", By(set_ecn_option)),
    ("tcp_ecn_option_beacon", As(&["3"])),
    ("tcp_ecn_fallback", As(&["1"])),
    ("tcp_wmem", By(set_send_buffer)),
    ("tcp_synack_retries", Nothing),
    ("tcp_fastopen", By(set_fast_open)),
    ("tcp_fastopen_key", By(set_cookie_key)),
    // Without a black hole nothing is blocked.
    ("tcp_fastopen_blackhole_timeout_sec", Nothing),
    ("tcp_syncookies", Nothing),
    // In no public kernel: scripts do without it.
    ("tcp_fastopen_cookies", Nothing),
    ("tcp_notsent_lowat", By(set_unsent_limit)),
    ("tcp_no_metrics_save", Nothing),
    ("tcp_mtu_probing", By(set_mtu_probing)),
    ("tcp_base_mss", By(|settings, value| set_mtu_search(settings, "base_mss", value, "bytes"))),
    ("tcp_mtu_probe_floor", By(|settings, value| set_mtu_search(settings, "floor", value, "bytes"))),
    ("tcp_probe_threshold", By(|settings, value| set_mtu_search(settings, "threshold", value, "bytes"))),
    ("tcp_probe_interval", By(|settings, value| set_mtu_search(settings, "interval", value, "s"))),
    ("tcp_retries1", By(|settings, value| set_mtu_search(settings, "retries", value, ""))),
    ("tcp_shrink_window", As(&["0"])),
    ("tcp_max_reordering", As(&["300"])),
    ("tcp_comp_sack_nr", As(&["44"])),
    ("tcp_thin_linear_timeouts", As(&["0"])),
    ("tcp_plb_enabled", As(&["0"])),
    ("tcp_pingpong_thresh", As(&["1"])),
    ("tcp_keepalive_time", By(|settings, value| set_seconds(settings, "keep_alive_idle", value))),
    ("tcp_keepalive_intvl", By(|settings, value| set_seconds(settings, "keep_alive_interval", value))),
    ("tcp_keepalive_probes", Count("keep_alive_probes")),
    ("tcp_rto_max_ms", By(|settings, value| set_timer(settings, "max", value, "ms"))),
    ("tcp_rto_min_us", By(|settings, value| set_timer(settings, "min", value, "us"))),
    ("tcp_challenge_ack_limit", Nothing),
    ("tcp_fin_timeout", Nothing),
    ("tcp_max_syn_backlog", Nothing),
    ("tcp_max_tw_buckets", Nothing),
    ("tcp_mem", Nothing),
    ("tcp_orphan_retries", Nothing),
    ("tcp_tw_reuse", Nothing),
    ("tcp_pacing_ss_ratio", By(|settings, value| set_ratio(settings, "slow_start", value))),
    ("tcp_pacing_ca_ratio", By(|settings, value| set_ratio(settings, "avoidance", value))),
    ("tcp_min_tso_segs", By(set_least_quantum)),
    // How many segments go to the device at once: they are joined before they are compared.
    ("tcp_tso_win_divisor", Nothing),
    ("tcp_limit_output_bytes", Nothing),
    ("tcp_autocorking", Nothing),
    ("tcp_cubic.hystart_detect", As(&["3"])),
    ("tcp_cubic.hystart", As(&["1"])),
];

impl KernelSettings {
    pub(super) fn new(profile: Value) -> Self {
        Self {
            profile,
            offered_ecn: None,
            accecn_option: "always",
            fast_open: FastOpenBits::DEFAULT,
            cookie_key: None,
            unsent_limit: Bytes::MAX,
            pacing: Map::new(),
            has_fq: false,
            mtu_search: Map::new(),
            has_mtu_search: false,
            refused: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Lays a setting over the profile, or notes that it is left out.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        let short = name.strip_prefix("net.ipv4.").unwrap_or(name);
        self.set_as(MEANINGS, short, value);
    }

    /// The same by a list of settings.
    pub(super) fn set_as(&mut self, meanings: &[(&str, Meaning)], name: &str, value: &str) {
        let meaning = meanings.iter().find(|(known, _)| *known == name).map(|(_, meaning)| meaning);
        match meaning {
            Some(Switch(key)) => self.profile[*key] = json!(value != "0"),
            Some(Count(key)) => match value.parse::<u32>() {
                Ok(count) => self.profile[*key] = json!(count),
                Err(_) => self.leave_out(name, value),
            },
            Some(Millis(key)) => match value.parse::<u32>() {
                Ok(millis) => self.profile[*key] = json!(format!("{millis} ms")),
                Err(_) => self.leave_out(name, value),
            },
            Some(By(set)) => set(self, value),
            Some(As(values)) if values.contains(&value) => {}
            Some(Nothing) => {}
            Some(NotedUnless(usual)) if value == *usual => {}
            Some(Noted | NotedUnless(_)) => self.note_left_out(name, value),
            Some(As(_)) | None => self.leave_out(name, value),
        }
    }

    /// The device has the queue discipline `fq`.
    pub(super) fn pace(&mut self) {
        self.has_fq = true;
        self.profile["pacing"] = Value::Object(self.pacing.clone());
    }

    fn set_pacing(&mut self, key: &str, value: Value) {
        self.pacing.insert(key.to_owned(), value);
        if self.has_fq {
            self.pace();
        }
    }

    /// A search for the path's MTU has its settings in one table, which is absent where there is none.
    fn write_mtu_search(&mut self) {
        let search = Value::Object(self.mtu_search.clone());
        self.profile["mtu_probing"] = if self.has_mtu_search { search } else { Value::Null };
    }

    /// A setting of Linux' TCP that has no key would change what the script expects; others are about the machine.
    pub(super) fn leave_out(&mut self, name: &str, value: &str) {
        if name.starts_with("tcp_") || name.starts_with("net.inet.tcp.") {
            self.refused.push(format!("the setting {name} = {value} has no key in a profile"));
        } else {
            self.note_left_out(name, value);
        }
    }

    /// Notes a setting that is left out, where a script may pass without it.
    pub(super) fn note_left_out(&mut self, name: &str, value: &str) {
        self.notes.push(format!("{name} = {value} has no key in a profile and is left out"));
    }
}

/// Without SACK the recovery is the endpoint's fallback.
pub(super) fn set_sack(settings: &mut KernelSettings, value: &str) {
    settings.profile["sack"] = json!(value != "0");
    if value == "0" {
        settings.profile["recovery"] = json!("new-reno");
    }
}

/// From 3 on Accurate ECN is answered, in the way of Linux.
pub(super) fn set_ecn(settings: &mut KernelSettings, value: &str) {
    let is_accurate = matches!(value, "3" | "4" | "5");
    settings.profile["ecn"] = if is_accurate { json!("accurate") } else { json!(value != "0") };
    settings.offered_ecn = match value {
        "2" | "5" => Some(false),
        "4" => Some(true),
        "0" | "1" | "3" => None,
        _ => return settings.leave_out("tcp_ecn", value),
    };
    if is_accurate {
        settings.profile["ecn_capable"] = json!("all");
        settings.profile["accecn_option"] = json!(settings.accecn_option);
    }
}

/// Accurate ECN has the option of Linux' default unless a script sets another, before or after it asks for it.
fn set_ecn_option(settings: &mut KernelSettings, value: &str) {
    settings.accecn_option = match value {
        "0" => "never",
        "1" => "demand",
        "2" => "always",
        _ => return settings.leave_out("tcp_ecn_option", value),
    };
    if settings.profile["ecn"] == "accurate" {
        settings.profile["accecn_option"] = json!(settings.accecn_option);
    }
}

pub(super) fn set_default_congestion_control(settings: &mut KernelSettings, name: &str) {
    if name == PROGRAM {
        settings.leave_out("tcp_congestion_control", name);
    } else {
        set_congestion_control(&mut settings.profile, name);
    }
}

/// The entry that stands for a program of the user's own: a script brings none.
pub(super) const PROGRAM: &str = "python";

/// Replaces the congestion control and the rules over it, except the rules that Linux applies to all. If the profile
/// has this control already, nothing changes.
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
    while name_of(place).is_some_and(|rule| kept.contains(&rule)) {
        let Some(parameters) = parameters_of_mut(place) else { return };
        place = parameters.entry("over").or_insert(Value::Null);
    }
    *place = json!(if is_listed { &of_linux } else { name });
}

/// Sets one parameter of a choice.
pub(super) fn set_parameter(choice: &mut Value, key: &str, value: Value) {
    if let Some(parameters) = parameters_of_mut(choice) {
        parameters.insert(key.to_owned(), value);
    }
}

/// The algorithm below all rules.
fn innermost(congestion: &Value) -> Option<&str> {
    match parameters_of(congestion).and_then(|parameters| parameters.get("over")) {
        Some(over) => innermost(over),
        None => name_of(congestion),
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
        *window = json!("fixed");
    }
    let sizes: &[_] = match name_of(window) {
        Some("fixed") => &[("size", most)],
        Some("linux") => &[("buffer", most)],
        Some("right-sizing") => &[("initial", initial), ("greatest", most)],
        _ => return settings.leave_out("tcp_rmem", value),
    };
    for (key, size) in sizes {
        set_parameter(window, key, bytes(*size));
    }
}

fn set_ratio(settings: &mut KernelSettings, key: &str, value: &str) {
    match value.parse::<u32>() {
        Ok(percent) => settings.set_pacing(key, json!(f64::from(percent) / 100.0)),
        Err(_) => settings.leave_out(&format!("tcp_pacing ratio of {key}"), value),
    }
}

fn set_least_quantum(settings: &mut KernelSettings, value: &str) {
    match value.parse::<u32>() {
        Ok(segments) => settings.set_pacing("least_quantum", json!(segments.max(1))),
        Err(_) => settings.leave_out("tcp_min_tso_segs", value),
    }
}

/// `min default max`, where the send buffer sizes itself: that of a new connection, and the most that it grows to.
fn set_send_buffer(settings: &mut KernelSettings, value: &str) {
    let sizes: Vec<u64> = value.split_whitespace().map_while(|size| size.parse().ok()).collect();
    let [_, initial, most] = sizes[..] else {
        return settings.leave_out("tcp_wmem", value);
    };
    let Some(buffer) = settings.profile.get_mut("send_buffer") else { return };
    if name_of(buffer) == Some("auto-tuning") {
        set_parameter(buffer, "initial", json!(format!("{initial} bytes")));
        set_parameter(buffer, "greatest", json!(format!("{most} bytes")));
    }
}

fn set_mtu_probing(settings: &mut KernelSettings, value: &str) {
    settings.has_mtu_search = value != "0";
    match value {
        "0" => {}
        "1" => drop(settings.mtu_search.insert("when".to_owned(), json!("black-hole"))),
        "2" => drop(settings.mtu_search.insert("when".to_owned(), json!("always"))),
        _ => return settings.leave_out("tcp_mtu_probing", value),
    }
    settings.write_mtu_search();
}

fn set_mtu_search(settings: &mut KernelSettings, key: &str, value: &str, unit: &str) {
    match value.parse::<u32>() {
        Ok(number) if unit.is_empty() => drop(settings.mtu_search.insert(key.to_owned(), json!(number))),
        Ok(number) => drop(settings.mtu_search.insert(key.to_owned(), json!(format!("{number} {unit}")))),
        Err(_) => return settings.leave_out(&format!("the {key} of a search for the MTU"), value),
    }
    if settings.has_mtu_search {
        settings.write_mtu_search();
    }
}

fn set_fast_open(settings: &mut KernelSettings, value: &str) {
    let bits = match value.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => value.parse(),
    };
    match bits {
        Ok(bits) => settings.fast_open = FastOpenBits(bits),
        Err(_) => settings.leave_out("tcp_fastopen", value),
    }
}

fn set_seconds(settings: &mut KernelSettings, key: &str, value: &str) {
    match value.parse::<u32>() {
        Ok(seconds) => settings.profile[key] = json!(format!("{seconds} s")),
        Err(_) => settings.leave_out(key, value),
    }
}

/// The least or the greatest length of the retransmission timer, where the profile has the timer of Linux or that of
/// RFC 6298, which is the default.
pub(super) fn set_timer(settings: &mut KernelSettings, key: &str, value: &str, unit: &str) {
    let timer = &mut settings.profile["rto"];
    if timer.is_null() {
        *timer = json!("rfc6298");
    }
    let has_key = matches!(name_of(timer), Some("linux" | "rfc6298"));
    match value.parse::<u32>() {
        Ok(length) if has_key => set_parameter(timer, key, json!(format!("{length} {unit}"))),
        _ => settings.leave_out(&format!("tcp_rto_{key}_{unit}"), value),
    }
}

fn set_cookie_key(settings: &mut KernelSettings, value: &str) {
    match CookieKey::from_setting(value) {
        Some(key) => settings.cookie_key = Some(key),
        None => settings.leave_out("tcp_fastopen_key", value),
    }
}

fn set_unsent_limit(settings: &mut KernelSettings, value: &str) {
    match value.parse::<u32>() {
        Ok(u32::MAX) => settings.unsent_limit = Bytes::MAX,
        Ok(limit) => settings.unsent_limit = Bytes(u64::from(limit)),
        Err(_) => settings.leave_out("tcp_notsent_lowat", value),
    }
}

fn set_idle_restart(settings: &mut KernelSettings, value: &str) {
    let mut congestion = settings.profile["congestion"].take();
    if name_of(&congestion) == Some("window-usage") {
        set_parameter(&mut congestion, "after_idle", json!(value != "0"));
        settings.profile["congestion"] = congestion;
        return;
    }
    let has_rule = name_of(&congestion) == Some(IDLE_RESTART);
    settings.profile["congestion"] = match (has_rule, value != "0") {
        (false, true) => json!({ IDLE_RESTART: { "over": congestion } }),
        (true, false) => congestion[IDLE_RESTART]["over"].take(),
        _ => congestion,
    };
}

fn set_reordering(settings: &mut KernelSettings, value: &str) {
    let adapts = name_of(&settings.profile["dupthresh"]).is_some_and(|name| name != "fixed");
    match value.parse::<u32>() {
        Ok(3) => {}
        Ok(segments) if !adapts => {
            settings.profile["dupthresh"] = json!({ "fixed": { "segments": segments } });
        }
        _ => settings.leave_out("tcp_reordering", value),
    }
}

fn set_probe(settings: &mut KernelSettings, on: bool) {
    match name_of(&settings.profile["recovery"]) {
        Some("rack-tlp") => {
            set_parameter(&mut settings.profile["recovery"], "tail_loss_probe", json!(on));
        }
        _ if on => {}
        _ => settings.leave_out("tcp_early_retrans", "0"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_knows_idle_times_is_notified_of_them() {
        let usage = json!({ "congestion": "window-usage" });
        let set = after(usage, "net.ipv4.tcp_slow_start_after_idle", "0");
        assert_eq!(set.profile["congestion"], json!({ "window-usage": { "after_idle": false } }));
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
        assert_eq!(window, json!({ "fixed": { "size": "15728640 bytes" } }));
        let grows = json!({ "window": "right-sizing" });
        let window = after(grows, "net.ipv4.tcp_rmem", "4096 540000 15728640").profile["window"].take();
        let expected = json!({ "right-sizing": { "initial": "540000 bytes", "greatest": "15728640 bytes" } });
        assert_eq!(window, expected);
    }

    #[test]
    fn a_search_for_the_mtu_has_its_settings_wherever_they_stand() {
        let mut set = after(json!({}), "net.ipv4.tcp_base_mss", "512");
        assert_eq!(set.profile.get("mtu_probing"), None);
        set.set("net.ipv4.tcp_mtu_probing", "2");
        set.set("net.ipv4.tcp_retries1", "5");
        let expected = json!({ "when": "always", "base_mss": "512 bytes", "retries": 5 });
        assert_eq!(set.profile["mtu_probing"], expected);
        set.set("net.ipv4.tcp_mtu_probing", "0");
        assert_eq!(set.profile["mtu_probing"], Value::Null);
    }

    #[test]
    fn accurate_ecn_is_that_of_linux_whatever_the_profile_says() {
        let whole = json!({ "ecn": false, "ecn_capable": "new-data", "accecn_option": "acks" });
        let mut set = after(whole, "net.ipv4.tcp_ecn_option", "1");
        assert_eq!(set.profile["accecn_option"], "acks");
        set.set("net.ipv4.tcp_ecn", "3");
        let key = |set: &KernelSettings, key| set.profile[key].as_str().map(str::to_owned);
        assert_eq!(key(&set, "ecn_capable").as_deref(), Some("all"));
        assert_eq!(key(&set, "accecn_option").as_deref(), Some("demand"));
        set.set("net.ipv4.tcp_ecn_option", "0");
        assert_eq!(key(&set, "accecn_option").as_deref(), Some("never"));
    }

    #[test]
    fn send_buffers_and_fast_open_have_keys() {
        let tuned = json!({ "send_buffer": "auto-tuning" });
        let buffer = after(tuned, "net.ipv4.tcp_wmem", "4096 262144 4194304").profile["send_buffer"].take();
        let expected = json!({ "auto-tuning": { "initial": "262144 bytes", "greatest": "4194304 bytes" } });
        assert_eq!(buffer, expected);
        let bits = after(json!({}), "net.ipv4.tcp_fastopen", "0x70403").fast_open;
        assert!(bits.client() && bits.server(false) && !bits.server_without_cookie());
        let bits = after(json!({}), "net.ipv4.tcp_fastopen", "1").fast_open;
        assert!(bits.client() && !bits.server(true));
    }

    #[test]
    fn a_congestion_control_of_the_profile_keeps_its_parameters_and_what_lies_over_it() {
        let cubic = json!({ "cubic": { "beta": 0.7 } });
        let same = after(json!({ "congestion": cubic }), "net.ipv4.tcp_congestion_control", "cubic");
        assert_eq!(same.profile["congestion"], cubic);
        let mut over = after(json!({ "congestion": cubic }), "net.ipv4.tcp_slow_start_after_idle", "1");
        assert_eq!(over.profile["congestion"], json!({ "idle-restart": { "over": cubic } }));
        over.set("net.ipv4.tcp_congestion_control", "reno");
        assert_eq!(over.profile["congestion"][IDLE_RESTART]["over"], json!("reno"));
        over.set("net.ipv4.tcp_congestion_control", "cubic");
        assert_eq!(over.profile["congestion"][IDLE_RESTART]["over"], json!("cubic-linux"));
        let of_linux = over.profile["congestion"].clone();
        over.set("net.ipv4.tcp_congestion_control", "cubic");
        assert_eq!(over.profile["congestion"], of_linux, "it is the kernel's CUBIC already");
    }

    #[test]
    fn the_limits_of_the_retransmission_timer_are_parameters() {
        let longest = after(json!({ "rto": "linux" }), "net.ipv4.tcp_rto_max_ms", "5000");
        assert_eq!(longest.profile["rto"], json!({ "linux": { "max": "5000 ms" } }));
        let least = after(json!({}), "net.ipv4.tcp_rto_min_us", "1000000");
        assert_eq!(least.profile["rto"], json!({ "rfc6298": { "min": "1000000 us" } }));
        assert_eq!(after(json!({ "rto": "bsd" }), "net.ipv4.tcp_rto_max_ms", "5000").refused.len(), 1);
    }

    #[test]
    fn what_has_no_key_is_said() {
        assert_eq!(
            after(json!({}), "net.ipv4.ip_forward", "1").notes,
            ["ip_forward = 1 has no key in a profile and is left out"]
        );
        let refused = after(json!({}), "net.ipv4.tcp_abc", "1").refused;
        assert_eq!(refused, ["the setting tcp_abc = 1 has no key in a profile"]);
        assert_eq!(after(json!({}), "net.ipv4.tcp_recovery", "1").notes, [""; 0]);
        let program = after(json!({ "congestion": "reno" }), "net.ipv4.tcp_congestion_control", "python");
        assert_eq!((program.profile["congestion"].as_str(), program.refused.len()), (Some("reno"), 1));
    }
}

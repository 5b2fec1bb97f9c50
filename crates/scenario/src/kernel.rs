//! What a live run makes of the keys of a TCP whose host is a kernel.
//!
//! A kernel has its own TCP, with a few settings for each network namespace. A key that the scenario writes for a host
//! (`hosts.NAME.tcp.sack`) becomes the setting that corresponds to it; one without such a setting is named, with its
//! place. Keys of the host's profile describe a kernel as it comes, and are left alone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::compose;
use crate::effect::Layers;
use crate::error::{InputError, Place};
use crate::file::{Host, Scenario, Stack};
use crate::resolve::refuse_proxies;
use crate::tree::{KeyPath, Origin, Tree};

/// A setting of the network namespace of a host, made of a key of its TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSetting {
    /// The host.
    pub host: String,
    /// The key of its TCP: `sack`.
    pub key: String,
    /// The setting: `net.ipv4.tcp_sack`.
    pub name: &'static str,
    /// Its value.
    pub value: String,
}

/// The keys of kernels' TCPs in a live run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelKeys {
    /// The settings of the kernel among them.
    pub settings: Vec<KernelSetting>,
    /// An error for each other.
    pub without_effect: Vec<InputError>,
}

impl Layers<'_> {
    /// The keys of a TCP that the scenario or an override writes for hosts that are kernels in a live run, and the
    /// settings of kernels where no host is one.
    ///
    /// # Errors
    /// As [`crate::load`].
    pub fn kernel_keys(&self) -> Result<KernelKeys, InputError> {
        let tree = compose::compose(&self.tree, &self.overrides, self.search)?;
        refuse_proxies(&tree)?;
        let file: Scenario = tree.read()?;
        let scenario = Kernels { tree: &tree, file: &file };
        let mut found = KernelKeys::default();
        scenario.hosts(&mut found);
        scenario.flows(&mut found);
        scenario.live(&mut found);
        // Equal hosts and flows have one place.
        let mut seen = BTreeSet::new();
        found
            .without_effect
            .retain(|error| seen.insert((error.place.as_ref().map(ToString::to_string), error.key.clone())));
        Ok(found)
    }
}

impl KernelKeys {
    /// The settings by host.
    #[must_use]
    pub fn by_host(&self) -> BTreeMap<&str, BTreeMap<&'static str, &str>> {
        let mut hosts: BTreeMap<&str, BTreeMap<_, _>> = BTreeMap::new();
        for setting in &self.settings {
            hosts.entry(&setting.host).or_default().insert(setting.name, setting.value.as_str());
        }
        hosts
    }
}

/// A composed scenario, seen by a live run.
struct Kernels<'a> {
    tree: &'a Tree,
    file: &'a Scenario,
}

impl Kernels<'_> {
    fn is_kernel(&self, name: &str, host: &Host) -> bool {
        matches!(host.stack, None | Some(Stack::Kernel)) && !self.file.live.simulates(name)
    }

    fn is_kernels(&self, name: &str) -> bool {
        self.file.hosts.get(name).is_some_and(|host| self.is_kernel(name, host))
    }

    fn hosts(&self, found: &mut KernelKeys) {
        for (name, host) in self.file.hosts.iter().filter(|(name, host)| self.is_kernel(name, host)) {
            let tcp = KeyPath::of(["hosts", name, "tcp"]);
            for (key, value) in &host.tcp {
                let at = tcp.below(key);
                if !self.is_written(&at) || self.is_of_sockets(&at) {
                    continue;
                }
                match setting_of(key, value) {
                    Some((setting, value)) => found.settings.push(KernelSetting {
                        host: name.clone(),
                        key: key.clone(),
                        name: setting,
                        value,
                    }),
                    None => found.without_effect.push(self.no_setting(&at, name)),
                }
            }
        }
    }

    /// A flow has what its sockets have, and nothing else of its own.
    fn flows(&self, found: &mut KernelKeys) {
        for (i, flow) in self.file.flows.iter().enumerate() {
            let Some(kernel) = [&flow.from, &flow.to].into_iter().find(|name| self.is_kernels(name)) else {
                continue;
            };
            let tcp = KeyPath::of(["flows"]).below(i).below("tcp");
            let keys = flow.tcp.keys().map(|key| tcp.below(key));
            for at in keys.filter(|at| self.is_written(at) && !self.is_of_sockets(at)) {
                let message = format!("the kernel of \"{kernel}\" has no such setting for one flow");
                let help = format!("set it for a host, or set hosts.{kernel}.stack=lasthop");
                found.without_effect.push(self.tree.error(&at, message, help));
            }
        }
    }

    fn live(&self, found: &mut KernelKeys) {
        if self.file.hosts.iter().any(|(name, host)| self.is_kernel(name, host)) {
            return;
        }
        for key in ["congestion", "sysctl"] {
            let at = KeyPath::of(["live", key]);
            if self.tree.get(&at).is_some() {
                let message = "no host is a kernel, which alone reads this key";
                let help = "leave it out, or give a host no `stack`";
                found.without_effect.push(self.tree.error(&at, message, help));
            }
        }
    }

    /// Whether a key of a TCP, or one below it, is the scenario's own and not that of a profile.
    fn is_written(&self, at: &KeyPath) -> bool {
        self.tree.origins_below(at).any(|origin| is_of_scenario(&origin))
    }

    /// Whether each socket of a live run is given it: among others the congestion control by name. Parameters of an
    /// algorithm belong to the kernel's module.
    fn is_of_sockets(&self, at: &KeyPath) -> bool {
        let own = |leaf: &KeyPath| self.tree.origin(leaf).is_some_and(|origin| is_of_scenario(&origin));
        match at.last() {
            CONGESTION => self.leaves(at).iter().filter(|leaf| own(leaf)).all(is_name_of_algorithm),
            key => OPTIONS_OF_SOCKETS.contains(&key),
        }
    }

    /// The keys below `at` that are no tables, or `at`.
    fn leaves(&self, at: &KeyPath) -> Vec<KeyPath> {
        match self.tree.get(at) {
            Some(Value::Object(keys)) => keys.keys().flat_map(|key| self.leaves(&at.below(key))).collect(),
            _ => vec![at.clone()],
        }
    }

    fn no_setting(&self, at: &KeyPath, host: &str) -> InputError {
        let message = format!("host \"{host}\" is a kernel, which has no setting for this key");
        let other = OTHER_SETTINGS.iter().find(|(key, _)| at.last() == *key);
        let other = other.map_or_else(String::new, |(_, name)| format!("set live.sysctl.\"{name}\", "));
        self.tree.error(at, message, format!("{other}leave it out, or set hosts.{host}.stack=lasthop"))
    }
}

/// Whether a value of a TCP was written by the scenario or an override: a profile's keys have no host before them.
fn is_of_scenario(origin: &Origin) -> bool {
    let lists = ["hosts", "flows", "topology"];
    matches!(origin.place, Place::Override(_))
        || origin.key.0.first().is_some_and(|list| lists.contains(&list.as_str()))
}

/// Whether a key names an algorithm of congestion control or a rule over one: below the key `congestion` there are
/// names and `over` in turn.
fn is_name_of_algorithm(key: &KeyPath) -> bool {
    let mut steps = key.0.iter().skip_while(|step| *step != CONGESTION).skip(1);
    while steps.next().is_some() {
        if steps.next().is_some_and(|parameter| parameter != "over") {
            return false;
        }
    }
    true
}

/// The setting for a key of a TCP, and its value there.
fn setting_of(key: &str, value: &Value) -> Option<(&'static str, String)> {
    let (_, name, meaning) = SETTINGS.iter().find(|(known, ..)| *known == key)?;
    Some((name, meaning(value)?))
}

const CONGESTION: &str = "congestion";

/// Keys of a TCP that are options of sockets: TCP_MAXSEG and TCP_NODELAY.
const OPTIONS_OF_SOCKETS: [&str; 2] = ["mss", "nagle"];

/// The value of a setting for that of a key, if there is one.
type Meaning = fn(&Value) -> Option<String>;

/// Keys of a TCP, and the settings of Linux that correspond to them (Documentation/networking/ip-sysctl.rst).
const SETTINGS: [(&str, &str, Meaning); 7] = [
    ("dsack", "net.ipv4.tcp_dsack", switch),
    ("ecn", "net.ipv4.tcp_ecn", ecn),
    ("retries", "net.ipv4.tcp_retries2", count),
    ("sack", "net.ipv4.tcp_sack", switch),
    ("syn_retries", "net.ipv4.tcp_syn_retries", count),
    ("timestamps", "net.ipv4.tcp_timestamps", switch),
    ("window_scale", "net.ipv4.tcp_window_scaling", switch),
];

/// Keys of a TCP whose values Linux has in another form.
const OTHER_SETTINGS: [(&str, &str); 3] = [
    ("rto", "net.ipv4.tcp_rto_min_us"),
    ("send_buffer", "net.ipv4.tcp_wmem"),
    ("window", "net.ipv4.tcp_rmem"),
];

fn switch(value: &Value) -> Option<String> {
    value.as_bool().map(|is_on| u8::from(is_on).to_string())
}

fn count(value: &Value) -> Option<String> {
    value.as_u64().map(|number| number.to_string())
}

/// 1 asks for ECN as in RFC 3168, and 3 for Accurate ECN where the kernel has it.
fn ecn(value: &Value) -> Option<String> {
    if value == "accurate" { Some("3".to_owned()) } else { switch(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{GOOD, search};

    /// The good scenario without a key of TCP.
    fn plain() -> String {
        GOOD.replace("tcp = { ack.delayed.timeout = \"100 ms\" }\n", "")
    }

    fn keys(text: &str, overrides: &[&str]) -> KernelKeys {
        let search = search();
        let layers = Layers::read("good.toml", Some(text), overrides, &search).expect("it can be read");
        layers.kernel_keys().expect("it is right")
    }

    fn said(keys: &KernelKeys) -> Vec<String> {
        keys.without_effect.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn keys_with_a_setting_of_the_kernel_become_that_setting_of_the_host() {
        let text = plain().replacen("profile = \"plain\"", "profile = \"plain\"\ntcp = { retries = 7 }", 1);
        let found = keys(&text, &["hosts.mobile.tcp.timestamps=true", "hosts.mobile.tcp.ecn=\"accurate\""]);
        assert_eq!(said(&found), [""; 0]);
        let hosts = found.by_host();
        assert_eq!(hosts["server"], BTreeMap::from([("net.ipv4.tcp_retries2", "7")]));
        let mobile = BTreeMap::from([("net.ipv4.tcp_ecn", "3"), ("net.ipv4.tcp_timestamps", "1")]);
        assert_eq!(hosts["mobile"], mobile, "keys of the profile are not the scenario's");
    }

    #[test]
    fn a_key_without_a_setting_is_named_with_its_place() {
        let text = plain().replacen("profile = \"plain\"", "profile = \"plain\"\ntcp = { msl = \"9 s\" }", 1);
        let found = keys(&text, &[]);
        let expected = "good.toml:4: hosts.server.tcp.msl: host \"server\" is a kernel, which has no setting for this \
                        key; leave it out, or set hosts.server.stack=lasthop";
        assert_eq!((said(&found), found.settings), (vec![expected.to_owned()], vec![]));
        let window = said(&keys(&plain(), &["hosts.mobile.tcp.window={ fixed = { size = \"8 KiB\" } }"]));
        assert!(window[0].starts_with("--set hosts.mobile.tcp.window="), "{window:?}");
        assert!(window[0].contains("set live.sysctl.\"net.ipv4.tcp_rmem\", leave it out"), "{window:?}");
    }

    #[test]
    fn sockets_have_a_congestion_control_by_name_and_no_parameters_of_it() {
        for named in [
            "hosts.server.tcp.congestion=reno",
            "flows.download.tcp.congestion=cubic",
            "hosts.server.tcp.mss=\"500 bytes\"",
            "flows.download.tcp.nagle=false",
        ] {
            assert_eq!(keys(&plain(), &[named]), KernelKeys::default(), "{named}");
        }
        for with in ["hosts.server.tcp.congestion={ cubic = { beta = 0.5 } }", "flows.download.tcp.sack=true"]
        {
            let said = said(&keys(&plain(), &[with]));
            assert!(said.len() == 1 && said[0].starts_with("--set "), "{with}: {said:?}");
        }
    }

    #[test]
    fn a_host_with_another_stack_has_no_settings_of_a_kernel() {
        let text = plain().replacen("profile = \"plain\"", "profile = \"plain\"\nstack = \"lasthop\"", 1);
        assert_eq!(keys(&text, &["hosts.server.tcp.retries=7"]), KernelKeys::default());
        let simulated =
            format!("{}[live]\nsimulated = [\"server\", \"mobile\"]\ncongestion = \"cubic\"\n", plain());
        let said = said(&keys(&simulated, &["hosts.server.tcp.msl=\"9 s\""]));
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].contains("live.congestion: no host is a kernel, which alone reads this key"),
            "{said:?}"
        );
    }
}

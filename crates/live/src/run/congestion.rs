//! The kernel's congestion control for the sockets of a flow: that of its profile, if this kernel supports it.

use linux::socket::has_congestion_control;
use linux::sysctl::{self, Sysctls};
use registry::{name_of, parameters_of};
use serde_json::Value;

/// The congestion controls of a flow's ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KernelCongestion {
    /// The name that the sockets ask for (TCP_CONGESTION); `None` where they take that of their namespace.
    pub(crate) asked: Option<String>,
    /// Name of the congestion control in use.
    pub(crate) runs: String,
}

impl KernelCongestion {
    /// The congestion control for a connection with a profile. `named`, the value under `[live]` of the scenario, takes
    /// precedence, then that of its settings of the namespaces, then the profile's, and then the machine's default.
    pub(crate) fn of(profile: &tcp::Config, named: Option<&str>, sysctls: &Sysctls) -> Self {
        if let Some(name) = named {
            return Self { asked: Some(name.to_owned()), runs: name.to_owned() };
        }
        if let Some(name) = sysctls.get(DEFAULT) {
            return Self { asked: None, runs: name.clone() };
        }
        match of_profile(profile).filter(|name| has_congestion_control(name)) {
            Some(name) => Self { asked: Some(name.clone()), runs: name },
            None => Self { asked: None, runs: sysctl::read(DEFAULT).unwrap_or_default() },
        }
    }
}

/// Returns the name that Linux has for the congestion control of a profile, whether or not this kernel has it.
fn of_profile(profile: &tcp::Config) -> Option<String> {
    let written = serde_json::to_value(&profile.congestion).ok()?;
    let name = innermost(&written)?;
    let other = OTHER_NAMES.iter().find(|(ours, _)| *ours == name).map(|(_, linux)| *linux);
    Some(other.unwrap_or_else(|| name.strip_suffix(OF_LINUX).unwrap_or(name)).to_owned())
}

/// Returns the name of the algorithm below all rules.
fn innermost(choice: &Value) -> Option<&str> {
    match parameters_of(choice).and_then(|parameters| parameters.get("over")) {
        Some(over) => innermost(over),
        None => name_of(choice),
    }
}

/// The setting of a namespace that its sockets begin with.
const DEFAULT: &str = "net.ipv4.tcp_congestion_control";
/// Our names of congestion controls that Linux calls otherwise.
const OTHER_NAMES: [(&str, &str); 3] =
    [("h-tcp", "htcp"), ("westwood-plus", "westwood"), ("high-speed", "highspeed")];
/// The ending of names of algorithms that follow a module of Linux.
const OF_LINUX: &str = "-linux";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn profile(congestion: &Value) -> tcp::Config {
        tcp::Config::from_profile(&json!({ "congestion": congestion })).unwrap()
    }

    fn name(congestion: &Value) -> Option<String> {
        of_profile(&profile(congestion))
    }

    #[test]
    fn the_name_is_that_of_the_algorithm_below_all_rules() {
        assert_eq!(name(&json!("reno")).unwrap(), "reno");
        assert_eq!(name(&json!("bbr")).unwrap(), "bbr");
        assert_eq!(name(&json!("h-tcp")).unwrap(), "htcp");
        let layered = json!({ "window-usage": { "over": { "byte-counting": { "over": "cubic-linux" } } } });
        assert_eq!(name(&layered).unwrap(), "cubic");
    }

    #[test]
    fn what_the_scenario_says_comes_before_the_profile() {
        let reno = profile(&json!("reno"));
        assert_eq!(KernelCongestion::of(&reno, Some("cubic"), &Sysctls::default()).asked.unwrap(), "cubic");
        let sysctls = [(DEFAULT.to_owned(), "bbr".to_owned())].into();
        let set = KernelCongestion::of(&reno, None, &sysctls);
        assert_eq!((set.asked, set.runs.as_str()), (None, "bbr"));
        let own = KernelCongestion::of(&reno, None, &Sysctls::default());
        assert_eq!(
            (own.asked.as_deref(), own.runs.as_str()),
            (Some("reno"), "reno"),
            "every kernel has Reno"
        );
    }

    #[test]
    fn a_congestion_control_that_this_kernel_has_not_leaves_the_machines_default() {
        let own = KernelCongestion::of(&profile(&json!("aimd")), None, &Sysctls::default());
        assert_eq!(own.asked, None);
        assert_eq!(own.runs, sysctl::read(DEFAULT).unwrap_or_default());
    }
}

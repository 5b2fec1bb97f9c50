//! The host before a script runs: options of its head, and shell commands.

use std::net::IpAddr;

use units::{Bytes, Duration};

use super::shell::{Request, Route};
use super::{HEADERS_OF_IPV6, Refusal, ScriptRun, fast_open, settings_of_bsd, shell};
use crate::script::{Script, ScriptOption};

impl ScriptRun {
    pub(super) fn take_options(&mut self, script: &Script) -> Result<(), Refusal> {
        for option in &script.options {
            let address = || address(option);
            let micros = || {
                option.value.parse().map(Duration::from_micros).map_err(|_| Refusal {
                    line: option.line,
                    what: format!("--{}={} is no time", option.name, option.value),
                    remedy: "write microseconds, like 4000".to_owned(),
                })
            };
            match option.name.as_str() {
                "tolerance_usecs" => self.tolerance = micros()?,
                "tcp_ts_tick_usecs" => self.clocks.tick = Some(micros()?).filter(|tick| !tick.is_zero()),
                "strict_segments" => self.strict_segments = true,
                "mss" => self.gso_size = Some(segment_size(option)?),
                "ip_version" if option.value == "ipv6" => self.use_ipv6(),
                "local_ip" => match address()? {
                    IpAddr::V4(address) => self.addresses.local = address,
                    IpAddr::V6(_) => self.use_ipv6(),
                },
                "remote_ip" => match address()? {
                    IpAddr::V4(address) => self.addresses.remote = address,
                    IpAddr::V6(_) => self.use_ipv6(),
                },
                name => self.settings.notes.push(format!("the option --{name} is left out")),
            }
        }
        Ok(())
    }

    /// The headers of IPv6 leave 20 bytes less for a segment on a link of the same size.
    fn use_ipv6(&mut self) {
        self.header_len = HEADERS_OF_IPV6;
        self.settings.profile["mss"] = serde_json::json!("1440 bytes");
    }

    /// The route to the peer changes: for the connections that there are, and for those to come. One size stands for
    /// the segments that the host sends and for those that it announces.
    fn take_route(&mut self, route: Route) {
        let mtu = route.mtu.map_or(DEVICE_MTU, Bytes).saturating_sub(self.header_len);
        let mss = mtu.min(route.advmss.map_or(Bytes::MAX, Bytes)).max(Bytes(1));
        self.settings.profile["mss"] = serde_json::json!(format!("{} bytes", mss.0));
        if let Some(segments) = route.initcwnd {
            self.settings.profile["initial_window"] = serde_json::json!(format!("{segments} segments"));
        }
        let now = self.host.now;
        for connection in &mut self.host.connections {
            connection.endpoint.handle_path_mss(now, mss);
        }
    }

    /// Does what the shell commands of a line ask for.
    pub(super) fn set_up(
        &mut self,
        line: u32,
        commands: &str,
        read_file: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), Refusal> {
        for request in shell::requests(commands) {
            match request {
                Request::Setting { name, value } => {
                    if !settings_of_bsd::set(&mut self.settings, &name, &value) {
                        self.settings.set(&name, &value);
                    }
                }
                Request::ForgetsPeers => self.host.cache = fast_open::ServerCache::default(),
                Request::Paces => self.settings.pace(),
                Request::DeviceRefuses(refuses) => self.host.device_refuses = refuses,
                Request::File(file) => match read_file(&file) {
                    Some(commands) => self.set_up(line, &commands, &|_| None)?,
                    None => self.settings.notes.push(format!("{file} is not there and is left out")),
                },
                Request::Route(route) => self.take_route(route),
                Request::Unmodelled(command) => {
                    self.settings.refused.push(format!("what \"{command}\" sets up is not modelled"));
                }
                Request::Unknown(command) => {
                    self.settings.notes.push(format!("the command \"{command}\" is left out"));
                }
            }
        }
        match self.settings.refused.pop() {
            Some(what) => {
                let remedy = "take the command out, if the script does not depend on it".to_owned();
                Err(Refusal { line, what, remedy })
            }
            None => Ok(()),
        }
    }
}

/// The MTU of the device, where the route has none.
const DEVICE_MTU: Bytes = Bytes(1500);

fn segment_size(option: &ScriptOption) -> Result<Bytes, Refusal> {
    option.value.parse().map(Bytes).map_err(|_| Refusal {
        line: option.line,
        what: format!("--{}={} is no size", option.name, option.value),
        remedy: "write bytes, like 1000".to_owned(),
    })
}

fn address(option: &ScriptOption) -> Result<IpAddr, Refusal> {
    option.value.parse().map_err(|_| Refusal {
        line: option.line,
        what: format!("--{}={} is no address", option.name, option.value),
        remedy: "write an address, like 192.0.2.1".to_owned(),
    })
}

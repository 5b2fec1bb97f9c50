//! The shell commands of a script, as far as they say how the host is set up.
//!
//! Nothing is executed. Settings of the kernel are derived from the commands that would make them; files that the
//! commands name are read and interpreted in the same way.

/// A request of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// A setting of the kernel: `net.ipv4.tcp_sack`, or a parameter of a module, `tcp_cubic.hystart_detect`.
    Setting { name: String, value: String },
    /// Another file of commands.
    File(String),
    /// Whether the device takes no packet at all.
    DeviceRefuses(bool),
    /// The device paces packets by the rate of their socket (`fq`).
    Paces,
    /// The host forgets what it has learned of its peers.
    ForgetsPeers,
    /// The route to the peer has these properties, all others their defaults.
    Route(Route),
    /// A command that changes the path or the queue of the device.
    Unmodelled(String),
    /// A command that is not understood.
    Unknown(String),
}

/// Properties of the route to the peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Route {
    /// The largest packet.
    pub mtu: Option<u64>,
    /// The segment size that the host announces.
    pub advmss: Option<u64>,
    /// The first congestion window, in segments.
    pub initcwnd: Option<u64>,
}

/// The requests of the commands, in order, without requests that set up a machine and not its TCP.
pub(super) fn requests(text: &str) -> Vec<Request> {
    let joined = text.replace("\\\n", " ");
    joined
        .lines()
        .map(without_comment)
        .flat_map(|line| line.split([';', '&', '|']))
        .flat_map(request)
        .collect()
}

fn without_comment(line: &str) -> &str {
    match line.find('#') {
        Some(0) => "",
        Some(at) if line[..at].ends_with(char::is_whitespace) => &line[..at],
        _ => line,
    }
}

fn request(command: &str) -> Vec<Request> {
    let all = words(command);
    let mut words: Vec<&str> = all.iter().map(String::as_str).collect();
    words.retain(|word| !matches!(*word, "2>" | "1" | "2>1" | ">/dev/null" | "2>/dev/null"));
    match words.as_slice() {
        ["ip", "-6" | "-4", "route", rest @ ..] | ["ip", "route", rest @ ..] => {
            let unmodelled = || Request::Unmodelled(command.trim().to_owned());
            vec![route(rest).map_or_else(unmodelled, Request::Route)]
        }
        ["ip", "tcp_metrics", "flush", ..] => vec![Request::ForgetsPeers],
        []
        | [
            "ip" | "ifconfig" | "sleep" | "true" | ":" | "rm" | "ethtool" | "set" | "export" | "nstat"
            | "grep" | ">",
            ..,
        ] => Vec::new(),
        ["sysctl", settings @ ..] => {
            settings.iter().filter(|word| !word.starts_with('-')).filter_map(|word| setting(word)).collect()
        }
        ["echo", value, ">", file] => written(file, value),
        ["tc", "qdisc", rest @ ..] => queue_discipline(rest),
        [file, settings @ ..] if file.ends_with("set_sysctls.py") => settings
            .iter()
            .filter_map(|word| word.split_once('='))
            .flat_map(|(file, value)| written(file, value))
            .collect(),
        [file, ..] if file.contains("sysctl_restore") => Vec::new(),
        [file] if file.ends_with(".sh") => vec![Request::File((*file).to_owned())],
        [one] if one.parse::<u32>().is_ok() || one.starts_with('/') => Vec::new(),
        _ => vec![Request::Unknown(command.trim().to_owned())],
    }
}

/// `change PEER via ROUTER dev DEVICE` and the properties of the route; `lock` says that path MTU discovery leaves the
/// MTU alone, which it does anyway.
fn route(words: &[&str]) -> Option<Route> {
    let ["change" | "replace" | "add", _peer, rest @ ..] = words else { return None };
    let mut route = Route::default();
    let mut words = rest.iter().filter(|word| **word != "lock");
    while let Some(word) = words.next() {
        let value = *words.next()?;
        match *word {
            "via" | "dev" => {}
            "mtu" => route.mtu = Some(value.parse().ok()?),
            "advmss" => route.advmss = Some(value.parse().ok()?),
            "initcwnd" => route.initcwnd = Some(value.parse().ok()?),
            _ => return None,
        }
    }
    Some(route)
}

/// `net.ipv4.tcp_sack=1`, the same with slashes for points, and `value > 1` left out.
fn setting(word: &str) -> Option<Request> {
    let (name, value) = word.split_once('=')?;
    Some(Request::Setting { name: name.replace('/', "."), value: value.to_owned() })
}

/// A value written to a file under `/proc/sys` or `/sys/module`.
fn written(file: &str, value: &str) -> Vec<Request> {
    let name = if let Some(name) = file.strip_prefix("/proc/sys/") {
        name.replace('/', ".")
    } else if let Some(name) = file.strip_prefix("/sys/module/") {
        name.replace("/parameters/", ".")
    } else {
        return vec![Request::Unknown(format!("echo {value} > {file}"))];
    };
    vec![Request::Setting { name, value: value.to_owned() }]
}

/// A queue of zero packets refuses all; any other queue of the device passes them at once in virtual time, because no
/// link follows it. With `fq` TCP has a pacing rate.
fn queue_discipline(words: &[&str]) -> Vec<Request> {
    let refuses = words.windows(2).any(|pair| pair == ["limit", "0"]);
    match words.first() {
        Some(&("delete" | "del")) => vec![Request::DeviceRefuses(false)],
        _ if words.contains(&"fq") && !refuses => vec![Request::Paces],
        _ => vec![Request::DeviceRefuses(refuses)],
    }
}

/// Words of a command, with quotes taken off and arithmetic worked out.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut depth) = (Vec::new(), String::new(), None, 0_u32);
    for letter in command.chars() {
        match (letter, quote) {
            ('"' | '\'', None) => quote = Some(letter),
            (_, Some(open)) if letter == open => quote = None,
            ('(', _) => {
                depth += 1;
                word.push(letter);
            }
            (')', _) => {
                depth = depth.saturating_sub(1);
                word.push(letter);
            }
            (_, None) if letter.is_whitespace() && depth == 0 => {
                if !word.is_empty() {
                    words.push(arithmetic(&std::mem::take(&mut word)));
                }
            }
            _ => word.push(letter),
        }
    }
    if !word.is_empty() {
        words.push(arithmetic(&word));
    }
    words
}

/// `$((15*1024*1024))` as its value; products are all that settings use.
fn arithmetic(word: &str) -> String {
    let Some((before, rest)) = word.split_once("$((") else { return word.to_owned() };
    let Some((inside, after)) = rest.split_once("))") else { return word.to_owned() };
    let factors: Option<Vec<u64>> = inside.split('*').map(|factor| factor.trim().parse().ok()).collect();
    match factors {
        Some(factors) => format!("{before}{}{}", factors.iter().product::<u64>(), arithmetic(after)),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(name: &str, value: &str) -> Request {
        Request::Setting { name: name.into(), value: value.into() }
    }

    #[test]
    fn settings_are_read_off_the_commands_that_make_them() {
        let text = "sysctl -q net.ipv4.tcp_rmem=\"4096 540000 $((15*1024*1024))\"\nsysctl -q net.ipv4.tcp_ecn=1  # on\n\
                    sysctl -q net/ipv4/tcp_sack=0 > /dev/null 2>&1\n\
                    ../common/set_sysctls.py /proc/sys/net/ipv4/tcp_frto=1 \\\n /proc/sys/net/ipv4/tcp_dsack=0\n\
                    echo 3 > /sys/module/tcp_cubic/parameters/hystart_detect";
        let expected = [
            setting("net.ipv4.tcp_rmem", "4096 540000 15728640"),
            setting("net.ipv4.tcp_ecn", "1"),
            setting("net.ipv4.tcp_sack", "0"),
            setting("net.ipv4.tcp_frto", "1"),
            setting("net.ipv4.tcp_dsack", "0"),
            setting("tcp_cubic.hystart_detect", "3"),
        ];
        assert_eq!(requests(text), expected);
    }

    #[test]
    fn a_route_has_an_mtu_and_a_first_window() {
        let text = "ip route change 192.0.2.1 via 192.168.0.2 dev tun0 advmss 600 mtu lock 640 initcwnd 11";
        let expected = Route { mtu: Some(640), advmss: Some(600), initcwnd: Some(11) };
        assert_eq!(requests(text), [Request::Route(expected)]);
        let unmodelled = "ip route change 192.0.2.1 dev tun0 rto_min 5ms";
        assert_eq!(requests(unmodelled), [Request::Unmodelled(unmodelled.to_owned())]);
    }

    #[test]
    fn files_devices_and_what_is_not_understood_are_distinguished() {
        assert_eq!(requests("\n../common/defaults.sh\n"), [Request::File("../common/defaults.sh".into())]);
        let device = "tc qdisc delete dev tun0 root 2>/dev/null ; tc qdisc add dev tun0 root pfifo limit 0";
        assert_eq!(requests(device), [Request::DeviceRefuses(false), Request::DeviceRefuses(true)]);
        assert_eq!(requests("ip tcp_metrics flush all > /dev/null 2>&1"), [Request::ForgetsPeers]);
        assert_eq!(requests("tc qdisc replace dev tun0 root fq"), [Request::Paces]);
        assert_eq!(requests("iptables -A INPUT"), [Request::Unknown("iptables -A INPUT".into())]);
    }
}

//! From the file's types to a resolved scenario: names looked up, defaults written out, cross-checks made.
//!
//! Flows are in `flows.rs`, reachability of hosts in `reach.rs`, capacities of links in `lines.rs`.

mod cells;
mod compression;
mod flow_tcp;
mod flows;
mod lines;
mod machines;
mod migrate;
mod proxies;
mod reach;
mod stacks;
mod unread;

pub(crate) use cells::check_cell_preset;
pub(crate) use proxies::refuse_proxies;
pub(crate) use stacks::{refuse_dccp, refuse_kernels};

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use serde_json::Value;
use units::{Bytes, Duration, Streams};

use crate::error::InputError;
use crate::file::{Scenario, Stack};
use crate::resolved::{Flow, Host, Link, Resolved};
use crate::schema;
use crate::suggest;
use crate::tree::{KeyPath, Tree, is_plain, read_text};

/// MTU of Ethernet (RFC 894), and so of most paths.
const DEFAULT_MTU: Bytes = Bytes(1500);
/// Minimum MTU of a link (RFC 791 §3.2).
const LEAST_MTU: Bytes = Bytes(68);
/// A plain small number: any seed is as good as another, and a fixed one makes the first run repeatable.
const DEFAULT_SEED: u64 = 1;

/// Resolves the scenario in `tree`; `stem` is its default name.
pub(crate) fn resolve(tree: &Tree, stem: &str, seed: Option<u64>) -> Result<Resolved, InputError> {
    let file: Scenario = tree.read()?;
    let check = Check { tree, file: &file };
    check.given()?;
    check.lasts()?;
    check.names()?;
    let links = check.links()?;
    check.nodes_have_links()?;
    check.profiles_are_read()?;
    let flows = check.flows(&links)?;
    let cells = check.cells(&flows)?;
    let proxies = check.proxies(&links)?;
    check.captures()?;
    check.simulated(&flows)?;
    check.machines()?;
    let hosts = check.hosts(&flows)?;
    let resolved = Resolved {
        name: file.name.clone().unwrap_or_else(|| stem.to_owned()),
        summary: file.summary.clone(),
        seed: seed.or(file.seed).unwrap_or(DEFAULT_SEED),
        stop: file.stop,
        routers: file.routers.clone(),
        links,
        cells,
        proxies,
        flows: check.own_tcps(flows, &hosts)?,
        hosts,
        record: file.record.clone(),
        measure: crate::measure::resolve(tree, &file)?,
        live: file.live.clone(),
    };
    check.stacks(&resolved)?;
    check.proxies_are_crossed(&resolved)?;
    Ok(resolved)
}

/// A host's TCP out of its resolved keys.
pub(crate) fn tcp_config(host: &Host) -> Result<tcp::Config, tcp::ConfigError> {
    tcp::Config::from_profile(&host.tcp)
}

/// The endpoint's error on a profile's key, at the place where the key was written.
pub(crate) fn tcp_error(tree: &Tree, at: &KeyPath, error: &tcp::ConfigError) -> InputError {
    let path = at.join(&KeyPath::of_config(&error.path));
    if error.message.starts_with("unknown ") || error.message.starts_with("invalid ") {
        return tree.explain(path, &error.message);
    }
    tree.error(&path, error.message.clone(), error.help.clone())
}

/// The direction of a link at `at`, checked, with the files of its distributions read and the queue's limits in time
/// converted to bytes.
pub(crate) fn direction(
    tree: &Tree,
    at: &KeyPath,
    mut config: link::Config,
) -> Result<link::Config, InputError> {
    let located = |error: link::ConfigError| {
        let path = at.join(&KeyPath::of_config(&error.path));
        tree.error(&path, error.message, error.help)
    };
    config.load_files(&mut |path| reading(tree, at, path)).map_err(located)?;
    config.validate().map_err(located)?;
    config.settle_queue_limits();
    Ok(config)
}

/// The text of the file that a value below `at` names.
fn reading(tree: &Tree, at: &KeyPath, path: &str) -> Result<String, link::ConfigError> {
    let text = read_text(&tree.folder_of_text(at, path).join(path));
    text.map_err(|error| link::ConfigError::new("", format!("{path}: {}", error.message), error.help))
}

struct Check<'a> {
    tree: &'a Tree,
    file: &'a Scenario,
}

impl Check<'_> {
    /// There are hosts and links, from the file's own lists or from its topology.
    fn given(&self) -> Result<(), InputError> {
        for (key, example) in
            [("hosts", "hosts = { server = { profile = \"sack-6675\" } }"), ("links", "links = []")]
        {
            if self.tree.get(&KeyPath::of([key])).is_none() {
                let message = format!("the key \"{key}\" is missing");
                return Err(self.tree.error(
                    &KeyPath::root(),
                    message,
                    format!("add {example}, or a topology"),
                ));
            }
        }
        Ok(())
    }

    /// The run has a length.
    fn lasts(&self) -> Result<(), InputError> {
        if self.file.stop.is_some_and(Duration::is_zero) {
            let help = "write a time like \"60 s\", or leave it out: the run then ends with its flows";
            return Err(self.tree.error(&KeyPath::of(["stop"]), "the run ends before it begins", help));
        }
        Ok(())
    }

    /// Names are short words, and nothing that a capture can name has the name of another.
    fn names(&self) -> Result<(), InputError> {
        let hosts = self.file.hosts.keys().map(|name| (KeyPath::of(["hosts", name]), name));
        let routers = (0..).zip(&self.file.routers);
        let routers = routers.map(|(i, name)| (KeyPath::of(["routers"]).below(i), name));
        let links = (0..).zip(&self.file.links);
        let links = links.map(|(i, link)| (place_of("links", i, "name"), &link.name));
        self.distinct(hosts.chain(routers).chain(links))?;
        let flows = (0..).zip(&self.file.flows);
        self.distinct(flows.map(|(i, flow)| (place_of("flows", i, "name"), &flow.name)))
    }

    fn distinct<'n>(&self, names: impl Iterator<Item = (KeyPath, &'n String)>) -> Result<(), InputError> {
        let mut seen = BTreeSet::new();
        for (path, name) in names {
            if !is_plain(name) {
                let message = format!("\"{name}\" cannot be a name");
                return Err(self.tree.error(&path, message, "names are letters, digits, - and _"));
            }
            if !seen.insert(name) {
                let message = format!("the name \"{name}\" is taken");
                return Err(self.tree.error(
                    &path,
                    message,
                    "give every host, router, link and flow its own",
                ));
            }
        }
        Ok(())
    }

    fn nodes(&self) -> Vec<&str> {
        self.file.hosts.keys().chain(&self.file.routers).map(String::as_str).collect()
    }

    /// Hosts in the order in which flows name them, then the others in the file's order.
    fn hosts(&self, flows: &[Flow]) -> Result<Vec<Host>, InputError> {
        let (mut names, mut known): (Vec<&str>, BTreeSet<&str>) = Default::default();
        let in_flows = flows.iter().flat_map(|flow| [flow.from.as_str(), flow.to.as_str()]);
        for name in in_flows.chain(self.by_line()) {
            if known.insert(name) {
                names.push(name);
            }
        }
        let addresses = self.addresses(&names)?;
        let is_end = |name: &str| flows.iter().any(|flow| flow.from == name || flow.to == name);
        let mut taken: BTreeSet<Ipv4Addr> = addresses.values().copied().collect();
        let host = |name| self.host(name, addresses[name], is_end(name), &mut taken);
        names.into_iter().map(host).collect()
    }

    fn by_line(&self) -> Vec<&str> {
        let line = |name: &str| {
            let origin = self.tree.origin(&KeyPath::of(["hosts", name]));
            origin.map_or(usize::MAX, |origin| origin.place.line().unwrap_or(usize::MAX))
        };
        let mut names: Vec<&str> = self.file.hosts.keys().map(String::as_str).collect();
        names.sort_by_key(|name| line(name));
        names
    }

    /// A host; one at which no flow ends needs no TCP, and so no profile. `taken` are the addresses of hosts, to which
    /// it adds its second one.
    fn host(
        &self,
        name: &str,
        address: Ipv4Addr,
        is_end: bool,
        taken: &mut BTreeSet<Ipv4Addr>,
    ) -> Result<Host, InputError> {
        let file = &self.file.hosts[name];
        self.quinn(name, file)?;
        self.dccp(name, file)?;
        let needs_profile = is_end && file.stack.is_none_or(Stack::follows_a_profile);
        if needs_profile && file.profile.is_none() {
            let message = "the key \"profile\" is missing";
            let help = "add profile = \"sack-6675\"; lasthop list profiles shows the others";
            return Err(self.tree.error(&KeyPath::of(["hosts", name]), message, help));
        }
        let (profile, tcp) = (file.profile.clone().unwrap_or_default(), Value::Object(file.tcp.clone()));
        let host = Host {
            name: name.to_owned(),
            address,
            profile,
            tcp,
            stack: file.stack,
            quinn: file.quinn,
            dccp: file.dccp,
            migrate: self.migrate(name, file, taken)?,
            at: file.at.clone(),
            sysctl: BTreeMap::new(),
        };
        tcp_config(&host).map_err(|error| self.host_error(name, &error))?;
        Ok(Host { tcp: schema::with_defaults(host.tcp), ..host })
    }

    /// The error of a host's TCP. Its profile alone is valid, so that the host's own keys cause the error.
    fn host_error(&self, name: &str, error: &tcp::ConfigError) -> InputError {
        let at = KeyPath::of(["hosts", name, "tcp"]);
        let stands_here = self.tree.written_here(&at.join(&KeyPath::of_config(&error.path))).is_some();
        let error = tcp_error(self.tree, &at, error);
        let Some(ours) = self.tree.written_here(&at).filter(|_| !stands_here) else {
            return error;
        };
        let place = error.place.map(|place| format!(", {place}")).unwrap_or_default();
        let message = format!("{} ({}{place})", error.message, error.key);
        self.tree.error(&ours, message, error.help)
    }

    /// The addresses that the file gives, and one of 10.0.0.0/8 that comes from the name for each other host: a host
    /// that is added changes no other host's address, and so no byte of its packets.
    fn addresses<'n>(&self, names: &[&'n str]) -> Result<BTreeMap<&'n str, Ipv4Addr>, InputError> {
        let mut given: BTreeMap<Ipv4Addr, &str> = BTreeMap::new();
        for (name, host) in &self.file.hosts {
            let Some(address) = host.address else { continue };
            if let Some(other) = given.insert(address, name) {
                let path = KeyPath::of(["hosts", name, "address"]);
                let message = format!("host \"{other}\" has this address");
                return Err(self.tree.error(&path, message, "give each host its own, or none"));
            }
        }
        let mut taken: BTreeSet<Ipv4Addr> = given.into_keys().collect();
        let mut sorted = names.to_vec();
        sorted.sort_unstable();
        let address = |name: &'n str| {
            let address = self.file.hosts[name].address.unwrap_or_else(|| address_of(name, &taken));
            taken.insert(address);
            (name, address)
        };
        Ok(sorted.into_iter().map(address).collect())
    }

    fn links(&self) -> Result<Vec<Link>, InputError> {
        self.file.links.iter().enumerate().map(|(i, _)| self.link(i)).collect()
    }

    fn link(&self, i: usize) -> Result<Link, InputError> {
        let file = &self.file.links[i];
        let between = place_of("links", i, "between");
        for (end, name) in file.between.iter().enumerate() {
            self.node(&between.below(end), name)?;
        }
        if file.between[0] == file.between[1] {
            return Err(self.tree.error(&between, "the link leads back to its own end", "name two nodes"));
        }
        let mtu = file.mtu.unwrap_or(DEFAULT_MTU);
        if !(LEAST_MTU..=link::LARGEST_PACKET).contains(&mtu) {
            let message = format!("an mtu of {mtu} cannot carry IP");
            let help = "write 68 to 65535 bytes (RFC 791)";
            return Err(self.tree.error(&place_of("links", i, "mtu"), message, help));
        }
        let mtu_known = self.mtu_known(i, mtu)?;
        self.one_way_down(i)?;
        let down = direction(self.tree, &place_of("links", i, "down"), file.down.clone())?;
        let up = direction(self.tree, &place_of("links", i, "up"), file.up.clone())?;
        let (name, between) = (file.name.clone(), file.between.clone());
        Ok(Link { name, between, mtu, mtu_known, down, up, at: file.at.clone() })
    }

    /// Whether the hosts know the MTU of a link; one that they would take it to have anyway cannot be unknown.
    fn mtu_known(&self, i: usize, mtu: Bytes) -> Result<bool, InputError> {
        let known = self.file.links[i].mtu_known.unwrap_or(true);
        if !known && mtu >= DEFAULT_MTU {
            let message = format!("hosts that do not know an mtu of {mtu} send no longer packets");
            let help = "write an mtu below 1500 bytes with it, like mtu = \"1280 bytes\"";
            return Err(self.tree.error(&place_of("links", i, "mtu_known"), message, help));
        }
        Ok(known)
    }

    fn node(&self, path: &KeyPath, name: &str) -> Result<(), InputError> {
        let known = self.known(path, name, &self.nodes(), "host or router", "hosts and routers");
        known.map_err(|error| {
            let help = format!("{}; for a router add routers = [\"{name}\"]", error.help);
            InputError { help, ..error }
        })
    }

    fn captures(&self) -> Result<(), InputError> {
        let mut points = self.nodes();
        points.extend(self.file.links.iter().map(|link| link.name.as_str()));
        let captures = KeyPath::of(["record", "captures"]);
        for (i, name) in self.file.record.captures.iter().enumerate() {
            let (what, list) = ("host, router or link", "hosts, routers and links");
            self.known(&captures.below(i), name, &points, what, list)?;
        }
        Ok(())
    }

    /// Hosts that are simulated in a live run are there, and no flow joins one of them and a kernel.
    fn simulated(&self, flows: &[Flow]) -> Result<(), InputError> {
        let (live, hosts) = (&self.file.live, self.file.hosts.keys().map(String::as_str).collect::<Vec<_>>());
        let simulated = KeyPath::of(["live", "simulated"]);
        for (i, pattern) in live.simulated.iter().enumerate() {
            let alone =
                crate::file::Live { simulated: vec![pattern.clone()], ..crate::file::Live::default() };
            if !hosts.iter().any(|host| alone.simulates(host)) {
                let message = format!("no host is called like \"{pattern}\"");
                let help = suggest::among(pattern, &hosts, "hosts");
                return Err(self.tree.error(&simulated.below(i), message, help));
            }
        }
        match flows.iter().find(|flow| live.simulates(&flow.from) != live.simulates(&flow.to)) {
            Some(flow) => {
                let message = format!("flow \"{}\" joins a simulated host and a kernel", flow.name);
                let help = "simulate both of its hosts or none of them; give the simulated flows a server of their own";
                Err(self.tree.error(&simulated, message, help))
            }
            None => Ok(()),
        }
    }

    fn known(
        &self,
        path: &KeyPath,
        name: &str,
        names: &[&str],
        what: &str,
        list: &str,
    ) -> Result<(), InputError> {
        if names.contains(&name) {
            return Ok(());
        }
        let message = format!("there is no {what} \"{name}\"");
        Err(self.tree.error(path, message, suggest::among(name, names, list)))
    }
}

fn place_of(list: &str, position: usize, key: &str) -> KeyPath {
    KeyPath::of([list]).below(position).below(key)
}

/// The address of a name, or the next free one: 10.0.0.0/8 without the first and the last of each 256,
/// which look like a network's and a broadcast's.
fn address_of(name: &str, taken: &BTreeSet<Ipv4Addr>) -> Ipv4Addr {
    const HOSTS_OF_256: u64 = 254;
    let place = |n: u64| {
        let (net, host) = ((n / HOSTS_OF_256) as u16, (n % HOSTS_OF_256) as u8 + 1);
        Ipv4Addr::new(10, (net >> 8) as u8, (net & 0xff) as u8, host)
    };
    let all = HOSTS_OF_256 << 16;
    let first = Streams::new(0).number(name) % all;
    (0..all)
        .map(|step| place((first + step) % all))
        .find(|address| !taken.contains(address))
        .unwrap_or(Ipv4Addr::LOCALHOST)
}

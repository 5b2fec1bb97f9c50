//! From the file's types to a resolved scenario: names looked up, defaults written out, cross-checks made.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use serde_json::Value;
use sim::workload::Application;
use units::text::write_bytes;
use units::{Bytes, Streams};

use crate::error::InputError;
use crate::file::{Scenario, Start};
use crate::resolved::{Flow, Host, Link, Resolved};
use crate::schema;
use crate::suggest;
use crate::tree::{KeyPath, Tree, read_text};

/// What Ethernet carries (RFC 894), and so most paths.
const DEFAULT_MTU: Bytes = Bytes(1500);
/// What every link must carry at least (RFC 791 §3.2).
const LEAST_MTU: Bytes = Bytes(68);
/// A plain small number: any seed is as good as another, and a fixed one makes the first run repeatable.
const DEFAULT_SEED: u64 = 1;

/// Resolves a scenario whose values stand in `tree`; `stem` names it if nothing else does.
pub(crate) fn resolve(tree: &Tree, stem: &str, seed: Option<u64>) -> Result<Resolved, InputError> {
    let file: Scenario = tree.read()?;
    let check = Check { tree, file: &file };
    check.names()?;
    let links = check.links()?;
    let flows = check.flows()?;
    check.captures()?;
    Ok(Resolved {
        name: file.name.clone().unwrap_or_else(|| stem.to_owned()),
        summary: file.summary.clone(),
        seed: seed.or(file.seed).unwrap_or(DEFAULT_SEED),
        stop: file.stop,
        hosts: check.hosts()?,
        routers: file.routers.clone(),
        links,
        flows,
        record: file.record.clone(),
        measure: crate::measure::resolve(tree, &file)?,
        live: file.live.clone(),
    })
}

/// A host's TCP out of its resolved keys.
pub(crate) fn tcp_config(host: &Host) -> Result<tcp::Config, tcp::ConfigError> {
    tcp::Config::from_profile(&host.tcp)
}

/// What the endpoint says about a profile's key, at the place where the key was written.
pub(crate) fn tcp_error(tree: &Tree, at: &KeyPath, error: &tcp::ConfigError) -> InputError {
    let path = at.join(&KeyPath::of_config(&error.path));
    if error.message.starts_with("unknown ") || error.message.starts_with("invalid ") {
        return tree.explain(path, &error.message);
    }
    tree.error(&path, error.message.clone(), error.help.clone())
}

/// One direction of a link that stands at `at`, checked, with the files that its distributions name read in.
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
            let plain = |c: char| c.is_alphanumeric() || "-_".contains(c);
            if name.is_empty() || !name.chars().all(plain) {
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
    fn hosts(&self) -> Result<Vec<Host>, InputError> {
        let mut names: Vec<&str> = Vec::new();
        let in_flows = self.file.flows.iter().flat_map(|flow| [flow.from.as_str(), flow.to.as_str()]);
        for name in in_flows.chain(self.by_line()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let addresses = self.addresses(&names)?;
        names.into_iter().map(|name| self.host(name, addresses[name])).collect()
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

    fn host(&self, name: &str, address: Ipv4Addr) -> Result<Host, InputError> {
        let file = &self.file.hosts[name];
        let (profile, tcp) = (file.profile.clone(), Value::Object(file.tcp.clone()));
        let host = Host { name: name.to_owned(), address, profile, tcp };
        tcp_config(&host)
            .map_err(|error| tcp_error(self.tree, &KeyPath::of(["hosts", name, "tcp"]), &error))?;
        Ok(Host { tcp: schema::with_defaults(host.tcp), ..host })
    }

    /// The addresses that the file gives, and one of 10.0.0.0/8 that comes from the name for each other host: a host
    /// that is added changes nobody's address, and so no byte of anybody's packets.
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
            self.known(&between.below(end), name, &self.nodes(), "host or router", "hosts and routers")?;
        }
        if file.between[0] == file.between[1] {
            return Err(self.tree.error(&between, "the link leads back to its own end", "name two nodes"));
        }
        let mtu = file.mtu.unwrap_or(DEFAULT_MTU);
        if mtu < LEAST_MTU {
            let message = format!("an mtu of {mtu} cannot carry IP");
            let help = "write 68 bytes or more (RFC 791)";
            return Err(self.tree.error(&place_of("links", i, "mtu"), message, help));
        }
        let down = direction(self.tree, &place_of("links", i, "down"), file.down.clone())?;
        let up = direction(self.tree, &place_of("links", i, "up"), file.up.clone())?;
        let (name, between) = (file.name.clone(), file.between.clone());
        Ok(Link { name, between, mtu, down, up })
    }

    fn flows(&self) -> Result<Vec<Flow>, InputError> {
        let mut flows = Vec::new();
        for i in 0..self.file.flows.len() {
            self.flow_ends(i)?;
            self.flow_amount(i)?;
            let workload = self.workload(i)?;
            flows.extend(self.alike(i, workload.as_ref())?);
        }
        Ok(flows)
    }

    fn flow_ends(&self, i: usize) -> Result<(), InputError> {
        let flow = &self.file.flows[i];
        let hosts: Vec<&str> = self.file.hosts.keys().map(String::as_str).collect();
        for (key, name) in [("from", &flow.from), ("to", &flow.to)] {
            self.known(&place_of("flows", i, key), name, &hosts, "host", "hosts")?;
        }
        let to = place_of("flows", i, "to");
        if flow.from == flow.to {
            return Err(self.tree.error(&to, "the flow leads to its own host", "name another host"));
        }
        if !self.joined(&flow.from, &flow.to) {
            let message = format!("no links lead from \"{}\" to \"{}\"", flow.from, flow.to);
            return Err(self.tree.error(&to, message, "join them by links, over routers if need be"));
        }
        Ok(())
    }

    /// Whether links lead from one host to another over routers alone.
    fn joined(&self, from: &str, to: &str) -> bool {
        let mut reached = vec![from];
        let mut next = 0;
        while let Some(&node) = reached.get(next) {
            next += 1;
            if node != from && !self.file.routers.iter().any(|router| router == node) {
                continue;
            }
            for link in &self.file.links {
                let [a, b] = &link.between;
                let other = if a == node { b } else { a };
                if (a == node || b == node) && !reached.contains(&other.as_str()) {
                    reached.push(other);
                }
            }
        }
        reached.contains(&to)
    }

    fn flow_amount(&self, i: usize) -> Result<(), InputError> {
        let flow = &self.file.flows[i];
        let path = |key| place_of("flows", i, key);
        let flow_itself = KeyPath::of(["flows"]).below(i);
        if flow.workload.is_some() {
            return self.application_amount(i);
        }
        match (flow.bytes, flow.until) {
            (None, None) => {
                let help = "add bytes = \"1 MB\" or until = \"30 s\"";
                return Err(self.tree.error(&flow_itself, "how much the flow sends is missing", help));
            }
            (Some(_), Some(_)) => {
                return Err(self.tree.error(&path("until"), "bytes is given as well", "keep one of the two"));
            }
            (Some(Bytes::ZERO), None) => {
                return Err(self.tree.error(
                    &path("bytes"),
                    "the flow sends nothing",
                    "write 1 byte or more",
                ));
            }
            _ => {}
        }
        let amount = flow.bytes.unwrap_or(Bytes::MAX);
        match flow.milestones.iter().position(|milestone| milestone.is_zero() || *milestone > amount) {
            Some(at) => {
                let message = format!("the flow never has {} acknowledged", write_bytes(flow.milestones[at]));
                let help = format!("milestones lie between 1 byte and {}", write_bytes(amount));
                Err(self.tree.error(&path("milestones").below(at), message, help))
            }
            None => Ok(()),
        }
    }

    /// A workload has an end, and nothing that only a bulk transfer has.
    fn application_amount(&self, i: usize) -> Result<(), InputError> {
        let flow = &self.file.flows[i];
        let path = |key| place_of("flows", i, key);
        if flow.bytes.is_some() {
            return Err(self.tree.error(
                &path("bytes"),
                "a workload is given as well",
                "keep one of the two",
            ));
        }
        if !flow.milestones.is_empty() {
            let message = "a workload has no milestones";
            return Err(self.tree.error(
                &path("milestones"),
                message,
                "leave them to flows with bytes or until",
            ));
        }
        if flow.until.is_none() && self.file.stop.is_none() {
            let help = "add until = \"60 s\", or give the run a `stop`";
            return Err(self.tree.error(&path("workload"), "it would go on for ever", help));
        }
        Ok(())
    }

    /// The workload, checked, with the files that its distributions name read in.
    fn workload(&self, i: usize) -> Result<Option<Application>, InputError> {
        let at = place_of("flows", i, "workload");
        let Some(mut workload) = self.file.flows[i].workload.clone() else { return Ok(None) };
        let located = |error: link::ConfigError| {
            let path = at.join(&KeyPath::of_config(&error.path));
            self.tree.error(&path, error.message, error.help)
        };
        workload.load_files(&mut |path| reading(self.tree, &at, path)).map_err(located)?;
        workload.check().map_err(located)?;
        Ok(Some(workload))
    }

    /// The flows that one entry stands for.
    fn alike(&self, i: usize, workload: Option<&Application>) -> Result<Vec<Flow>, InputError> {
        let file = &self.file.flows[i];
        let (start, start_jitter) = Start::parts(file.start);
        let flow = |name: String| Flow {
            name,
            from: file.from.clone(),
            to: file.to.clone(),
            bytes: file.bytes,
            until: file.until,
            workload: workload.cloned(),
            start,
            start_jitter,
            milestones: file.milestones.clone(),
        };
        match file.count {
            Some(0) => {
                Err(self.tree.error(&place_of("flows", i, "count"), "no flow at all", "write 1 or more"))
            }
            None | Some(1) => Ok(vec![flow(file.name.clone())]),
            Some(count) => Ok((1..=count).map(|n| flow(format!("{}-{n}", file.name))).collect()),
        }
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

/// The address that a name has, or the next one that is not taken: 10.0.0.0/8 without the first and the last of each 256,
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

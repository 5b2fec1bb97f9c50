//! A resolved scenario as the specification of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use cell::layout::Point;
use stacks::{Assignment, Migration};
use units::{Duration, Instant, LinkId, NodeId};

use sim::{
    Amount, CapturePoint, CellSpec, CellUserSpec, FlowSpec, LinkSpec, MeasureSpec, NodeKind, NodeSpec,
    ProxySpec, RecordSpec, Spec, WindowSpec, Workload,
};

use crate::error::InputError;
use crate::file::Table;
use crate::resolve::tcp_config;
use crate::resolved::{Cell, Flow, Host, Migrate, Proxy, Resolved, Window};

impl Resolved {
    /// The specification that `sim::World` runs.
    ///
    /// # Errors
    /// A host's TCP that makes no sense, a name that does not exist, a flow without an amount: none after
    /// [`crate::load`], but a resolved JSON may come from elsewhere.
    pub fn to_spec(&self) -> Result<Spec, InputError> {
        let places = self.places();
        let links = self.links.iter().map(|link| {
            let [first, second] = &link.between;
            let ends = [self.place(&places, first)?, self.place(&places, second)?];
            let (down, up) = (link.down.clone(), link.up.clone());
            let (mtu, mtu_known) = (link.mtu, link.mtu_known);
            Ok(LinkSpec { name: link.name.clone(), ends, down, up, mtu, mtu_known })
        });
        let tcps = self.tcps()?;
        Ok(Spec {
            name: self.name.clone(),
            seed: self.seed,
            stop: self.stop,
            nodes: self.nodes(),
            links: links.collect::<Result<_, InputError>>()?,
            cells: self.cells.iter().map(|cell| self.cell(cell)).collect::<Result<_, _>>()?,
            proxies: self.proxies.iter().map(|one| self.proxy(one, &places)).collect::<Result<_, _>>()?,
            flows: self.flows.iter().map(|flow| self.flow(flow, &places, &tcps)).collect::<Result<_, _>>()?,
            record: self.record_spec(&places)?,
        })
    }

    /// The stacks that hosts of the specification were given.
    #[must_use]
    pub fn stacks(&self) -> Assignment {
        let mut assignment = Assignment::default();
        for (node, host) in (0..).map(NodeId::new).zip(&self.hosts) {
            if let Some(stack) = host.stack {
                let stack = stack.id().with_quinn(host.quinn.unwrap_or_default());
                let stack = stack.with_dccp(host.dccp.unwrap_or_default());
                assignment.set(node, stack.with_migration(self.migration(host)));
            }
        }
        assignment
    }

    fn migration(&self, host: &Host) -> Option<Migration> {
        let Migrate { at, address, link } = host.migrate.as_ref()?;
        let place = |name: &String| self.links.iter().position(|link| link.name == *name).map(LinkId::new);
        Some(Migration { at: Instant::START + *at, address: *address, link: link.as_ref().and_then(place) })
    }

    fn cell(&self, cell: &Cell) -> Result<CellSpec, InputError> {
        let users = cell.users.iter().map(|user| {
            let link = self.links.iter().position(|link| link.name == user.link);
            let link = link.ok_or_else(|| self.refuse(format!("there is no link \"{}\"", user.link)))?;
            let place = user.place.map(|[x, y]| Point { x: x.0, y: y.0 });
            Ok(CellUserSpec { link: LinkId::new(link), config: user.config, place })
        });
        let (name, config) = (cell.name.clone(), cell.config.clone());
        Ok(CellSpec { name, config, users: users.collect::<Result<_, InputError>>()? })
    }

    fn proxy(&self, proxy: &Proxy, places: &BTreeMap<&str, NodeId>) -> Result<ProxySpec, InputError> {
        let link = self.links.iter().position(|link| link.name == proxy.link).map(LinkId::new);
        let link = link.ok_or_else(|| self.refuse(format!("there is no link \"{}\"", proxy.link)))?;
        let tcp = |keys: &Option<serde_json::Value>| {
            let config = keys.as_ref().map(tcp::Config::from_profile).transpose();
            config
                .map(|config| config.map(Arc::new))
                .map_err(|error| self.refuse(format!("{}: {}", error.path, error.message)))
        };
        Ok(ProxySpec {
            name: proxy.name.clone(),
            link,
            node: self.place(places, &proxy.node)?,
            kind: proxy.kind.clone(),
            wireless: tcp(&proxy.wireless)?,
            wired: tcp(&proxy.wired)?,
        })
    }

    /// The TCP of each host, by name.
    fn tcps(&self) -> Result<BTreeMap<&str, Arc<tcp::Config>>, InputError> {
        let tcp = |host| tcp_config(host).map(Arc::new).map_err(|error| in_host(host, &error));
        self.hosts.iter().map(|host| Ok((host.name.as_str(), tcp(host)?))).collect()
    }

    fn nodes(&self) -> Vec<NodeSpec> {
        let hosts = self.hosts.iter().map(|host| (&host.name, NodeKind::Host { address: host.address }));
        let routers = self.routers.iter().map(|name| (name, NodeKind::Router));
        hosts.chain(routers).map(|(name, kind)| NodeSpec { name: name.clone(), kind }).collect()
    }

    /// The place of each node in the list of nodes.
    fn places(&self) -> BTreeMap<&str, NodeId> {
        let hosts = self.hosts.iter().map(|host| host.name.as_str());
        hosts.chain(self.routers.iter().map(String::as_str)).zip((0..).map(NodeId::new)).collect()
    }

    fn place(&self, places: &BTreeMap<&str, NodeId>, name: &str) -> Result<NodeId, InputError> {
        places.get(name).copied().ok_or_else(|| self.refuse(format!("there is no node \"{name}\"")))
    }

    fn flow(
        &self,
        flow: &Flow,
        places: &BTreeMap<&str, NodeId>,
        tcps: &BTreeMap<&str, Arc<tcp::Config>>,
    ) -> Result<FlowSpec, InputError> {
        let tcp = |name: &str| {
            let no_host = || self.refuse(format!("there is no host \"{name}\""));
            tcps.get(name).cloned().ok_or_else(no_host)
        };
        let workload = match (&flow.workload, flow.bytes, flow.until) {
            (Some(application), None, until) => {
                Workload::Application { application: application.clone(), until }
            }
            (None, Some(bytes), None) => Workload::Bulk(Amount::Bytes(bytes)),
            (None, None, Some(time)) => Workload::Bulk(Amount::Until(time)),
            _ => return Err(self.refuse(format!("flow \"{}\" needs one of bytes and until", flow.name))),
        };
        let own = flow.tcp.as_ref();
        Ok(FlowSpec {
            name: flow.name.clone(),
            from: self.place(places, &flow.from)?,
            to: self.place(places, &flow.to)?,
            start: flow.start,
            start_jitter: flow.start_jitter,
            class: flow.class,
            workload,
            sender: own.map_or_else(|| tcp(&flow.from), |own| of_flow(flow, &own.sender))?,
            receiver: own.map_or_else(|| tcp(&flow.to), |own| of_flow(flow, &own.receiver))?,
            milestones: flow.milestones.clone(),
        })
    }

    fn record_spec(&self, places: &BTreeMap<&str, NodeId>) -> Result<RecordSpec, InputError> {
        let keeps = |table| self.record.tables.contains(&table);
        let captures = self.record.captures.iter().map(|name| self.capture(name, places));
        Ok(RecordSpec {
            packets: keeps(Table::Packets),
            tcp: keeps(Table::Tcp),
            queue: keeps(Table::Queue),
            cell: keeps(Table::Cell),
            proxies: keeps(Table::Proxies),
            segments: keeps(Table::Segments),
            captures: captures.collect::<Result<_, _>>()?,
            payload: self.record.payload,
            transfers: keeps(Table::Transfers),
            queue_lengths: keeps(Table::QueueLengths),
            measure: self.measure_spec(keeps(Table::Progress)),
        })
    }

    fn measure_spec(&self, samples: bool) -> MeasureSpec {
        let window =
            |window: &Window| WindowSpec { name: window.name.clone(), from: window.from, to: window.to };
        MeasureSpec {
            links: self.measure.links,
            windows: self.measure.windows.iter().map(window).collect(),
            sample: samples.then(|| self.measure.sample.unwrap_or(DEFAULT_SAMPLE)),
        }
    }

    fn capture(&self, name: &str, places: &BTreeMap<&str, NodeId>) -> Result<CapturePoint, InputError> {
        match self.links.iter().position(|link| link.name == name) {
            Some(link) => Ok(CapturePoint::Link(LinkId::new(link))),
            None => self.place(places, name).map(CapturePoint::Node),
        }
    }

    fn refuse(&self, message: String) -> InputError {
        let help = "resolve the scenario file again".to_owned();
        InputError { place: None, key: self.name.clone(), message, help }
    }
}

/// The TCP of one end of a flow that has its own.
fn of_flow(flow: &Flow, keys: &serde_json::Value) -> Result<Arc<tcp::Config>, InputError> {
    tcp::Config::from_profile(keys).map(Arc::new).map_err(|error| InputError {
        place: None,
        key: format!("flows.{}.tcp.{}", flow.name, error.path),
        message: error.message,
        help: error.help,
    })
}

fn in_host(host: &Host, error: &tcp::ConfigError) -> InputError {
    InputError {
        place: None,
        key: format!("hosts.{}.tcp.{}", host.name, error.path),
        message: error.message.clone(),
        help: error.help.clone(),
    }
}

/// Ten samples a second: some for each round trip of a slow path, few enough to keep for hours.
const DEFAULT_SAMPLE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use sim::CapturePoint;
    use units::{LinkId, NodeId};

    use crate::tests::{GOOD, read};

    #[test]
    fn the_specification_has_the_scenario_in_it() {
        let text = GOOD.to_owned()
            + "start = { uniform = [\"1 s\", \"1100 ms\"] }\n[record]\ntables = [\"tcp\"]\ncaptures = [\"lasthop\", \"mobile\"]\n";
        let spec = read(&text, &[]).unwrap().to_spec().unwrap();
        assert_eq!(spec.nodes.len(), 2);
        let hosts = [0, 1].map(NodeId::new);
        assert_eq!((spec.flows[0].nodes().into_array(), spec.links[0].ends), (hosts, hosts));
        assert_eq!(spec.flows[0].start, units::Duration::from_secs(1));
        assert_eq!(spec.flows[0].start_jitter, Some(units::Duration::from_millis(100)));
        assert!(spec.record.tcp && !spec.record.packets);
        assert_eq!(spec.record.captures, [CapturePoint::Link(LinkId::new(0)), CapturePoint::Node(hosts[1])]);
    }

    #[test]
    fn a_resolved_json_needs_no_file_to_become_a_specification() {
        let json = read(GOOD, &[]).unwrap().json();
        let spec = crate::Resolved::from_json(&json).unwrap().to_spec().unwrap();
        assert_eq!((spec.flows.len(), spec.nodes.len()), (1, 2));
        let said =
            crate::Resolved::from_json(&json.replace("\"to\":\"mobile\"", "\"to\":\"phone\"")).unwrap();
        let said = said.to_spec().expect_err("no host is called phone").to_string();
        assert!(said.contains("there is no node \"phone\""), "{said}");
    }
}

//! A run in virtual time, of a World whose hosts may have other stacks.

use std::sync::Arc;

use sim::{
    Clock, FlowSpec, FlowTotals, NodeKind, ObservedFlow, Outcome, OutsideSampler, Records, RunError, Spec,
    World,
};
use units::{Duration, FlowId, Instant, NodeId};
use workload::{ClientPorts, HostTable, ProgramHost};

use crate::addresses::ends;
use crate::captures::HostCaptures;
use crate::flows::{Assignment, hosts};
use crate::host::Host;
use crate::migration::{self, Migration};
use crate::observe::{Observer, add_dccp, observe, observe_program};
use crate::program::Programs;
use crate::refusal::Refusal;
use crate::registry::StackId;
use crate::report::{TransferReport, report_of};
use crate::totals::Sources;

/// A run in virtual time. Its calls are those of a [`World`].
///
/// If every host has our own TCP, the run is the World alone.
pub struct Run(Inner);

enum Inner {
    World(Box<World>),
    Stacks(Box<WithStacks>),
}

/// Why there is no run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// The specification contradicts itself.
    #[error(transparent)]
    Build(#[from] sim::BuildError),
    /// The stacks cannot do what their flows want.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl Run {
    /// Builds the world of `spec` with the stacks of its hosts.
    ///
    /// # Errors
    /// If the specification contradicts itself, or the stacks cannot do what the flows want.
    pub fn new(spec: Spec, stacks: &Assignment) -> Result<Self, SetupError> {
        let needed = stacks.in_virtual_time(&spec)?;
        if needed.is_empty() {
            return Ok(Self(Inner::World(Box::new(World::new(spec)?))));
        }
        let (over_stacks, own): (Vec<FlowSpec>, Vec<FlowSpec>) =
            spec.flows.iter().cloned().partition(|flow| needed.contains_key(&flow.from));
        stacks.check(&spec, &over_stacks, StackId::LASTHOP)?;
        let hosts = hosts(&spec, &over_stacks, &needed);
        let captures = HostCaptures::new(&spec, hosts.len(), &over_stacks)
            .with_first_addresses(migration::first_addresses(&spec, stacks.migrations()));
        let ports = Arc::new(ClientPorts::after(over_stacks.len()));
        let programs = Programs::new(&spec, &over_stacks, &needed, &|_| true, &ports);
        let mut world = World::new(with_external_nodes(&spec, own, &hosts))?;
        for (node, Migration { address, link, .. }) in stacks.migrations() {
            world.add_address(node, address, link);
        }
        let order = spec.flows.iter().map(|flow| flow.name.clone()).collect();
        Ok(Self(Inner::Stacks(Box::new(WithStacks {
            world,
            flows: over_stacks,
            order,
            hosts,
            programs,
            captures,
            started: false,
            ended: None,
            heard: Instant::START,
            sampler: OutsideSampler::new(&spec.record),
            spec,
        }))))
    }

    /// Time at which something next happens; `None` if nothing does, or the run is over.
    #[must_use]
    pub fn next_event(&mut self) -> Option<Instant> {
        match &mut self.0 {
            Inner::World(world) => world.next_event(),
            Inner::Stacks(run) => run.next_event(),
        }
    }

    /// Does everything that is due up to and with `time`.
    ///
    /// # Errors
    /// If the stream that arrives is not the stream that was sent, or a link holds too many packets.
    pub fn run_until(&mut self, time: Instant) -> Result<(), RunError> {
        match &mut self.0 {
            Inner::World(world) => world.run_until(time),
            Inner::Stacks(run) => run.run_until(time),
        }
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// As [`Run::run_until`].
    pub fn run(&mut self) -> Result<(), RunError> {
        match &mut self.0 {
            Inner::World(world) => world.run(),
            Inner::Stacks(run) => run.run(),
        }
    }

    /// The time of the run.
    #[must_use]
    pub fn now(&self) -> Instant {
        match &self.0 {
            Inner::World(world) => world.now(),
            Inner::Stacks(run) => run.world.now(),
        }
    }

    /// The records that have become complete, as [`World::take_records`]; with stacks of others, none before the end.
    pub fn take_records(&mut self) -> Option<Records> {
        match &mut self.0 {
            Inner::World(world) => world.take_records(),
            Inner::Stacks(run) => run.world.take_records(),
        }
    }

    /// Results of the run.
    #[must_use]
    pub fn finish(self) -> Outcome {
        match self.0 {
            Inner::World(world) => world.finish(),
            Inner::Stacks(run) => run.finish(),
        }
    }
}

/// The specification with its own flows alone, and the hosts with stacks as external nodes.
fn with_external_nodes(spec: &Spec, own: Vec<FlowSpec>, hosts: &[(NodeId, Host)]) -> Spec {
    let mut spec = Spec { flows: own, ..spec.clone() };
    for (node, _) in hosts {
        let kind = &mut spec.nodes[node.index()].kind;
        let address = kind.address().expect("a host has an address");
        *kind = NodeKind::External { address };
    }
    spec
}

/// A World, and the stacks of some of its hosts.
struct WithStacks {
    /// The scenario as it was given.
    spec: Spec,
    world: World,
    /// The flows over stacks; the World has the others.
    flows: Vec<FlowSpec>,
    /// The names of all flows, in the scenario's order.
    order: Vec<String>,
    /// By node; a host's place here is its place in the captures.
    hosts: Vec<(NodeId, Host)>,
    programs: Programs,
    captures: HostCaptures,
    started: bool,
    ended: Option<End>,
    /// Time at which a packet last reached a host.
    heard: Instant,
    /// Reads the flows over stacks for the scenario's windows and samples.
    sampler: OutsideSampler,
}

/// Reason for the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    FlowsOver,
    Quiet,
    Stalled,
    /// The World knows.
    World,
}

impl WithStacks {
    fn stop_time(&self) -> Instant {
        self.spec.stop.map_or(Instant::NEVER, |stop| Instant::START + stop)
    }

    fn next_event(&mut self) -> Option<Instant> {
        if self.ended.is_some() || self.world.is_over() {
            return None;
        }
        if !self.started {
            return Some(self.world.now());
        }
        let now = self.world.now();
        let of_hosts = self.hosts.iter_mut().filter_map(|(_, host)| host.poll_timeout(now)).min();
        // A timeout of the past is one of now.
        let here = of_hosts.into_iter().chain(self.programs.poll_timeout()).map(|due| due.max(now));
        let next = self.world.next_event().into_iter().chain(here).min()?;
        (next <= self.stop_time()).then_some(next)
    }

    fn run_until(&mut self, time: Instant) -> Result<(), RunError> {
        while let Some(next) = self.next_event().filter(|next| *next <= time) {
            self.step(next)?;
        }
        if self.ended.is_none() && time < Instant::NEVER {
            self.world.run_until(time)?;
        }
        Ok(())
    }

    fn run(&mut self) -> Result<(), RunError> {
        while let Some(next) = self.next_event() {
            self.step(next)?;
        }
        match self.ended {
            None if self.spec.stop.is_some() || self.world.is_over() => {
                self.ended = Some(End::World);
                self.world.run()
            }
            None => {
                self.ended = Some(End::Quiet);
                Ok(())
            }
            Some(_) => Ok(()),
        }
    }

    /// The totals of all flows over stacks.
    fn totals(&self) -> Vec<FlowTotals> {
        let Self { spec, captures, programs, hosts, .. } = self;
        let sources = Sources { spec, captures, programs, hosts };
        let flows = (0..).map(FlowId::new).zip(&self.flows);
        flows.map(|(id, flow)| sources.totals(id, flow)).collect()
    }

    /// Takes the readings that are due before `time`: what happens at that time comes after them.
    fn read_before(&mut self, time: Instant) {
        while self.sampler.due() < time {
            let totals = self.totals();
            self.sampler.take(totals);
        }
    }

    /// Does everything that is due at `now`, the time of the next event.
    fn step(&mut self, now: Instant) -> Result<(), RunError> {
        self.started = true;
        self.read_before(now);
        self.world.run_until(now)?;
        self.deliver(now)?;
        for (_, host) in &mut self.hosts {
            if host.poll_timeout(now).is_some_and(|due| due <= now) {
                host.handle_timeout(now);
            }
        }
        self.transmit_all(now)?;
        self.run_programs(now)?;
        // A link that takes no time delivers at once what a host sends.
        self.deliver(now)?;
        self.check_streams(now)?;
        self.note_end(now);
        Ok(())
    }

    /// Hands over the packets that have arrived, and lets each host answer each packet before the next one comes.
    fn deliver(&mut self, now: Instant) -> Result<(), RunError> {
        while let Some((node, packet)) = self.world.poll_external() {
            let Some(place) = self.hosts.iter().position(|(known, _)| *known == node) else { continue };
            self.captures.handle_received(now, place, &packet);
            self.hosts[place].1.handle_packet(now, &packet.bytes.to_bytes());
            self.heard = now;
            self.transmit(now, place)?;
            self.run_programs(now)?;
        }
        while let Some(event) = self.world.poll_external_event() {
            self.captures.handle_event(&event);
        }
        Ok(())
    }

    /// Lets the programs act, and the hosts send what follows from it.
    fn run_programs(&mut self, now: Instant) -> Result<(), RunError> {
        while self.programs.advance(now, &mut ByNode(&mut self.hosts)) {
            self.heard = now;
            self.transmit_all(now)?;
        }
        Ok(())
    }

    fn transmit_all(&mut self, now: Instant) -> Result<(), RunError> {
        (0..self.hosts.len()).try_for_each(|place| self.transmit(now, place))
    }

    /// Lets a host send what it can, as long as its link takes it.
    fn transmit(&mut self, now: Instant, place: usize) -> Result<(), RunError> {
        let (node, host) = &mut self.hosts[place];
        while self.world.accepts(*node) {
            let Some(packet) = host.poll_transmit(now) else { return Ok(()) };
            // The capture of a packet comes before what the link makes of it.
            if let Some(id) = self.world.inject(now, *node, packet.clone())? {
                self.captures.handle_sent(now, place, id, &packet);
            }
        }
        Ok(())
    }

    /// Checks that receivers read what was sent.
    fn check_streams(&self, at: Instant) -> Result<(), RunError> {
        match self.hosts.iter().find_map(|(_, host)| host.failure()) {
            Some(wrong) => Err(RunError::Integrity {
                flow: self.flows[wrong.flow.index()].name.clone(),
                position: wrong.position,
                at,
            }),
            None => Ok(()),
        }
    }

    fn note_end(&mut self, now: Instant) {
        if self.ended.is_some() || self.world.is_over() {
            return;
        }
        let is_quiet = self.world.packets_under_way() == 0;
        let over_stacks =
            || self.hosts.iter().all(|(_, host)| host.is_done()) && self.programs.is_done(&|_| is_quiet);
        if self.world.open_flows() == 0 && over_stacks() {
            self.ended = Some(End::FlowsOver);
        } else if self.world.open_flows() == 0 && now.saturating_since(self.heard) > STALL {
            self.ended = Some(End::Stalled);
        }
    }

    fn finish(mut self) -> Outcome {
        if self.ended.is_some_and(|end| end != End::World) {
            self.world.stop();
        }
        let now = self.world.now();
        self.read_before(now + Duration::from_nanos(1));
        let last = self.totals();
        let measures = std::mem::take(&mut self.sampler).finish(now, last);
        let reports: Vec<_> = self.hosts.iter_mut().map(|(_, host)| host.report()).collect();
        let flows = (0..self.flows.len()).map(FlowId::new);
        let observed = flows.map(|flow| {
            let mut observed = self.observed(flow, &reports);
            let service = self.flows[flow.index()].workload.service();
            observed.summary.windows = measures.windows(flow, &observed.transfers, &service);
            observed.samples = measures.samples(flow);
            observed
        });
        let observed = observed.collect();
        let ended = self.ended;
        let mut outcome = self.world.finish_observed(observed);
        let summary = &mut outcome.summary;
        summary.clock = Clock::Virtual;
        if let Some(words) = ended.and_then(End::words) {
            words.clone_into(&mut summary.stopped_by);
        }
        summary.flows.sort_by_key(|flow| self.order.iter().position(|name| *name == flow.flow));
        outcome
    }

    /// The results of a flow, from the reports of all hosts in their order.
    fn observed(&mut self, id: FlowId, reports: &[Vec<TransferReport>]) -> ObservedFlow {
        let flow = &self.flows[id.index()];
        let place = |node| self.hosts.iter().position(|(known, _)| *known == node).expect("both have stacks");
        let [from, to] = flow.nodes().map(place).into_array();
        if let Some(outcome) = self.programs.finish(self.world.now(), id, &mut ByNode(&mut self.hosts)) {
            let ends = ends(&self.spec, flow, id).into_array();
            let is_quiet = self.world.packets_under_way() == 0;
            let lost = if is_quiet { u64::MAX } else { self.captures.lost_datagrams(ends) };
            let mut observed = observe_program(&self.spec, flow, id, &self.captures, (from, lost), outcome);
            let [sender, receiver] = [from, to].map(|place| self.hosts[place].1.report_on_datagrams(id));
            if let (Some((sender, records)), Some((receiver, _))) = (sender, receiver) {
                add_dccp(&mut observed, [&sender, &receiver], records);
            }
            return observed;
        }
        let receiver = report_of(&reports[to], id);
        let observer = Observer {
            capture: from,
            sender: report_of(&reports[from], id),
            received: receiver.map(|report| report.bytes),
            receiver_records: receiver.map_or(&[], |report| &report.records),
            dccp: receiver
                .and_then(|report| report.counters)
                .filter(|_| self.hosts[to].1.carries_datagrams()),
        };
        observe(&self.spec, flow, id, &self.captures, &observer)
    }
}

/// The hosts of a run as programs find them.
struct ByNode<'a>(&'a mut [(NodeId, Host)]);

impl HostTable for ByNode<'_> {
    fn host(&mut self, node: NodeId) -> Option<&mut dyn ProgramHost> {
        let found = self.0.iter_mut().find(|(known, _)| *known == node);
        found.map(|(_, host)| host as &mut dyn ProgramHost)
    }
}

impl End {
    /// The World's words for what ended the run.
    const fn words(self) -> Option<&'static str> {
        match self {
            Self::FlowsOver => Some("every flow closed"),
            Self::Quiet => Some("nothing left to happen"),
            Self::Stalled => Some("nothing had arrived for an hour"),
            Self::World => None,
        }
    }
}

/// A silence of more than this ends a run, as in a World of our own TCPs.
const STALL: Duration = Duration::from_secs(3600);

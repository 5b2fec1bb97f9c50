//! A host of the scenario as a network namespace: a thread that moves into a new one, gives it a
//! TUN device and an address, and then runs there whatever the host has to do.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, channel};
use std::thread::{self, JoinHandle, Scope};

use nix::unistd::{getpid, gettid};

use crate::LiveError;
use crate::bell::Ringer;
use crate::bulk::{Listening, Received, Receiver, Sender, Sent};
use crate::clock::Clock;
use crate::command::{CommandLine, Ended, Environment};
use crate::namespace;
use crate::netlink::{Interface, Netlink};
use crate::stop::Stop;
use crate::sysctl::{self, Sysctls};
use crate::tun::Tun;

/// What a host is and has to do.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) address: Ipv4Addr,
    /// The largest packet that its device takes, in bytes.
    pub(crate) mtu: u32,
    pub(crate) sysctls: Sysctls,
    pub(crate) senders: Vec<Sender>,
    pub(crate) receivers: Vec<Receiver>,
    pub(crate) command: Option<CommandLine>,
}

/// Something in a host that ended.
#[derive(Debug)]
pub(crate) enum Report {
    Sent(Sent),
    Received(Received),
    Ended(Ended),
}

/// A host that stands: its device belongs to the caller, its thread waits for the run to begin.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) address: Ipv4Addr,
    /// Where its network namespace can be entered from (nsenter(1)) while the run goes on.
    pub(crate) namespace: String,
    pub(crate) tun: Tun,
    /// The settings as the kernel reads them back.
    pub(crate) sysctls: Sysctls,
    gate: mpsc::Sender<Begin>,
    thread: JoinHandle<u64>,
}

/// What a host's thread needs to begin.
#[derive(Clone, Debug)]
pub(crate) struct Begin {
    pub(crate) clock: Clock,
    /// For the user's program, if one is run.
    pub(crate) environment: Environment,
}

/// What the host's thread hands out once the host stands.
struct Prepared {
    namespace: String,
    tun: Tun,
    sysctls: Sysctls,
}

impl Plan {
    /// How many reports the host will make.
    pub(crate) fn reports(&self) -> usize {
        self.senders.len() + self.receivers.len() + usize::from(self.command.is_some())
    }
}

impl Host {
    /// Builds the host and waits until it stands.
    pub(crate) fn build(
        plan: Plan,
        stop: Arc<Stop>,
        ringer: Ringer<Result<Report, LiveError>>,
    ) -> Result<Self, LiveError> {
        let (name, address) = (plan.name.clone(), plan.address);
        let (ready, prepared) = channel();
        let (gate, opened) = channel();
        let thread = thread::Builder::new()
            .name(name.clone())
            .spawn(move || live_in(&plan, &ready, &opened, &stop, &ringer))
            .map_err(failed(&name, "start its thread"))?;
        let died = |_| failed(&name, "set up its namespace")(io::Error::other("its thread died"));
        let Prepared { namespace, tun, sysctls } = prepared.recv().map_err(died)??;
        Ok(Self { name, address, namespace, tun, sysctls, gate, thread })
    }

    /// Lets the host begin.
    pub(crate) fn begin(&self, begin: Begin) {
        // A thread that is gone has said why through its reports.
        let _ = self.gate.send(begin);
    }

    /// Waits for the host's thread. Gives how many packets the device dropped because we did not
    /// read them in time; it is gone afterwards.
    pub(crate) fn end(self) -> u64 {
        drop(self.gate);
        // A panic there has been printed, and its missing report ends the run.
        self.thread.join().unwrap_or(0)
    }
}

/// The life of a host's thread.
fn live_in(
    plan: &Plan,
    ready: &mpsc::Sender<Result<Prepared, LiveError>>,
    opened: &mpsc::Receiver<Begin>,
    stop: &Stop,
    ringer: &Ringer<Result<Report, LiveError>>,
) -> u64 {
    let listening = match prepare(plan) {
        Ok((prepared, listening)) => {
            let _ = ready.send(Ok(prepared));
            listening
        }
        Err(error) => {
            let _ = ready.send(Err(error));
            return 0;
        }
    };
    if let Ok(begin) = opened.recv() {
        thread::scope(|scope| work(scope, plan, listening, &begin, stop, ringer));
        // The namespace must outlive its work: there may be a FIN to acknowledge yet.
        let _ = opened.recv();
    }
    device_drops().unwrap_or(0)
}

fn prepare(plan: &Plan) -> Result<(Prepared, Vec<Listening>), LiveError> {
    namespace::enter_new_network().map_err(failed(&plan.name, "make a network namespace"))?;
    sysctl::set_defaults();
    let sysctls = set_all(plan)?;
    let tun = Tun::create(INTERFACE).map_err(failed(&plan.name, "make a TUN device"))?;
    configure(plan).map_err(failed(&plan.name, "set up its interfaces"))?;
    let listening = plan.receivers.iter().cloned().map(Receiver::listen).collect::<Result<_, _>>()?;
    let namespace = format!("/proc/{}/task/{}/ns/net", getpid(), gettid());
    Ok((Prepared { namespace, tun, sysctls }, listening))
}

fn set_all(plan: &Plan) -> Result<Sysctls, LiveError> {
    let set = |(name, value): (&String, &String)| match sysctl::set(name, value) {
        Ok(now) => Ok((name.clone(), now)),
        Err(source) => Err(LiveError::Sysctl {
            host: plan.name.clone(),
            name: name.clone(),
            value: value.clone(),
            source,
        }),
    };
    plan.sysctls.iter().map(set).collect()
}

fn configure(plan: &Plan) -> io::Result<()> {
    let netlink = Netlink::open()?;
    netlink.up(Interface::named("lo")?)?;
    let interface = Interface::named(INTERFACE)?;
    netlink.shape(interface, plan.mtu, DEVICE_QUEUE)?;
    netlink.add_address(interface, plan.address)?;
    netlink.up(interface)?;
    netlink.add_default_route(interface)
}

/// One thread for each thing that the host does: they may block, and inherit the namespace.
fn work<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    plan: &'env Plan,
    listening: Vec<Listening>,
    begin: &'env Begin,
    stop: &'env Stop,
    ringer: &'env Ringer<Result<Report, LiveError>>,
) {
    let clock = begin.clock;
    let work = Work { host: &plan.name, ringer };
    for one in listening {
        scope.spawn(move || work.report(|| one.run(stop).map(Report::Received)));
    }
    for one in &plan.senders {
        scope.spawn(move || work.report(|| one.clone().run(clock, stop).map(Report::Sent)));
    }
    if let Some(one) = &plan.command {
        scope.spawn(move || work.report(|| one.run(&begin.environment, stop).map(Report::Ended)));
    }
}

/// Something that a host does, which ends in one report, whatever happens.
#[derive(Clone, Copy)]
struct Work<'a> {
    host: &'a str,
    ringer: &'a Ringer<Result<Report, LiveError>>,
}

impl Work<'_> {
    /// Does it and rings. A panic is a report too: the driver would wait for ever without one.
    fn report(self, part: impl FnOnce() -> Result<Report, LiveError>) {
        let died = |_| Err(failed(self.host, "go on")(io::Error::other("a thread of it panicked")));
        self.ringer.ring(catch_unwind(AssertUnwindSafe(part)).unwrap_or_else(died));
    }
}

/// Packets that did not fit into the device's queue, by the kernel's count: the twelfth number of
/// the device's line (Linux, net/core/net-procfs.c).
fn device_drops() -> Option<u64> {
    const TRANSMIT_DROPS: usize = 11;
    let table = fs::read_to_string("/proc/thread-self/net/dev").ok()?;
    let line = table.lines().find_map(|line| line.trim_start().strip_prefix(INTERFACE)?.strip_prefix(':'))?;
    line.split_whitespace().nth(TRANSMIT_DROPS)?.parse().ok()
}

fn failed(host: &str, step: &'static str) -> impl FnOnce(io::Error) -> LiveError {
    move |source| LiveError::Host { host: host.to_owned(), step, source }
}

/// The device's name, the same in every host: each has a namespace of its own.
const INTERFACE: &str = "hop0";
/// Packets that may wait in the device until we read them. Queueing belongs to the emulated link,
/// so this is more than the largest window in packets that a Linux sender has by default.
const DEVICE_QUEUE: u32 = 10_000;

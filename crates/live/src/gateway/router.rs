//! A router: real traffic between two network namespaces or interfaces through the links of a scenario, until it is
//! stopped. The links may be changed while it runs.

use std::net::Ipv4Addr;

use linux::channel::{ReportReceiver, report_channel};
use linux::doctor::obstacles;
use linux::policy::remove_left;
use linux::scheduling::{Priority, Rank};
use linux::sysctl::Sysctls;
use serde::Serialize;
use sim::Spec;
use units::{Duration, NodeId};

use crate::LiveError;
use crate::clock::Clock;
use crate::drive::lateness::{Lateness, LatenessRecorder, TAINTED_FROM};
use crate::drive::link_state::LinkState;
use crate::drive::network::smallest_mtu;
use crate::gateway::control_socket::{Change, ControlSocket, Reload};
use crate::gateway::driver::GatewayDriver;
use crate::gateway::link_pair::LinkPair;
use crate::gateway::router_end::{Location, RouterEnd};
use crate::run::options::Progress;

/// The options of a router.
pub struct RouterOptions<'a> {
    /// The name by which `lasthop set` finds it.
    pub name: String,
    /// The locations of the scenario's hosts, in their order: a network namespace, by name (`ip netns`) or path, or an
    /// interface of the caller's.
    pub between: [String; 2],
    /// Reads the scenario again, with other overrides.
    pub reload: Reload,
    /// Receives a line for each thing that is set up, changed on the machine or taken back.
    pub announce: &'a mut dyn FnMut(&str),
    /// Receives the state every second.
    pub show: &'a mut dyn FnMut(&RouterState),
    /// The progress callback; a break ends the router.
    pub progress: Progress<'a>,
}

/// The state of a router.
#[derive(Clone, Debug, Serialize)]
pub struct RouterState {
    /// Seconds since it began.
    pub elapsed_s: f64,
    /// Each direction of each link.
    pub links: Vec<LinkState>,
    /// The lateness of deliveries.
    pub lateness: Lateness,
    /// Number of packets that a device refused.
    pub refused: u64,
    /// Number of changes of the links.
    pub changes: usize,
}

/// Runs a router until its progress callback breaks. Returns its last state.
///
/// # Errors
/// If this machine does not allow it, a location does not exist, the scenario does not have two hosts, or a system call
/// fails.
pub fn router(spec: &Spec, options: RouterOptions<'_>) -> Result<RouterState, LiveError> {
    let missing = obstacles(None, &Sysctls::new());
    if !missing.is_empty() {
        return Err(LiveError::CannotStart(missing));
    }
    let RouterOptions { name, between: [first, second], reload, announce, show, progress } = options;
    let links = LinkPair::new(spec)?;
    let [left, right] = addresses(spec, links.nodes());
    let mtu = smallest_mtu(&spec.links);
    for interface in remove_left() {
        announce(&format!("took back the routing rule that a killed router left for {interface}"));
    }
    let locations = [Location::find(&first)?, Location::find(&second)?];
    let (changes, changed) = report_channel().map_err(LiveError::Wait)?;
    let control = ControlSocket::open(&name, spec.clone(), reload, changes)?;
    let first = RouterEnd::set_up(&locations[0], left, right, mtu, announce)?;
    let second = RouterEnd::set_up(&locations[1], right, left, mtu, announce)?;
    announce(&format!("router {name} runs; its links are changed by: lasthop set {name} KEY=VALUE"));
    let priority = Priority::raise(Rank::Driver);
    let driver = GatewayDriver::new(
        links,
        Clock::start(),
        [first.tun, second.tun],
        LatenessRecorder::new(TAINTED_FROM),
    );
    let mut running = Running { driver, changed, changes: 0 };
    let ended = running.run(show, progress);
    drop((priority, control));
    for end in [first.diversion, second.diversion].into_iter().flatten() {
        end.close(announce);
    }
    ended.map(|()| running.state())
}

/// Returns the addresses of both hosts.
fn addresses(spec: &Spec, nodes: [NodeId; 2]) -> [Ipv4Addr; 2] {
    nodes.map(|node| spec.node(node).kind.address().expect("the ends of a passage are hosts"))
}

struct Running {
    driver: GatewayDriver,
    changed: ReportReceiver<Change>,
    changes: usize,
}

impl Running {
    fn run(&mut self, show: &mut dyn FnMut(&RouterState), progress: Progress<'_>) -> Result<(), LiveError> {
        let mut shown = self.driver.clock.now();
        loop {
            let now = self.driver.clock.now();
            if progress(now).is_break() || self.driver.links.is_over() {
                return Ok(());
            }
            if now >= shown + SHOW_EVERY {
                shown = now;
                show(&self.state());
            }
            self.driver.run(&self.changed, now + PROGRESS_EVERY).map_err(LiveError::Wait)?;
            while let Some(change) = self.changed.try_recv() {
                self.apply(change);
            }
        }
    }

    fn apply(&mut self, change: Change) {
        let now = self.driver.clock.now();
        let applied = self.driver.links.exchange(now, &change.spec).map_err(|error| error.to_string());
        self.changes += usize::from(applied.is_ok());
        // The client may have closed its connection.
        let _ = change.answer.send(applied);
    }

    fn state(&self) -> RouterState {
        RouterState {
            elapsed_s: self.driver.clock.now().as_secs_f64(),
            links: self.driver.links.link_states(),
            lateness: self.driver.lateness.summary(),
            refused: self.driver.refused,
            changes: self.changes,
        }
    }
}

/// Interval of the progress callback: as often as a person reads it.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);
const SHOW_EVERY: Duration = Duration::from_secs(1);

//! The settings of a live run that a run in virtual time does not have.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::PathBuf;

use linux::sysctl::Sysctls;
use scenario::Resolved;
use scenario::file::{Live, SysctlValue};
use stacks::Assignment;
use units::{Duration, Instant, NodeId};

use crate::machines::Machines;
use crate::run::state::Watch;

/// A callback that is given the run's time every 200 ms. [`ControlFlow::Break`] ends the run.
pub type Progress<'a> = &'a mut dyn FnMut(Instant) -> ControlFlow<()>;

/// A program in a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The host's node.
    pub host: NodeId,
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// The file for its output.
    pub output: Option<PathBuf>,
}

/// The settings of a live run.
#[derive(Default)]
pub struct Options<'a> {
    /// The kernel's congestion control for every socket. `None` leaves the machine's default.
    pub congestion: Option<String>,
    /// Kernel settings of the hosts' namespaces.
    pub sysctls: Sysctls,
    /// Further settings of the namespaces of single hosts, which take precedence.
    pub host_sysctls: BTreeMap<NodeId, Sysctls>,
    /// The send buffer of the flows' senders, in bytes. `None` leaves the kernel's auto-tuning.
    pub send_buffer: Option<usize>,
    /// The receive buffer of the flows' receivers, in bytes. `None` leaves the kernel's auto-tuning.
    pub receive_buffer: Option<usize>,
    /// The nodes that are simulated, with all flows between them.
    pub simulated: Vec<NodeId>,
    /// The hosts' stacks; a host without an entry is a kernel.
    pub stacks: Assignment,
    /// A program and its arguments. It runs instead of the scenario's flows, in the first kernel's host that has no
    /// other program.
    pub command: Vec<OsString>,
    /// The file for the output of that program, which is shown as well.
    pub output: Option<PathBuf>,
    /// Programs that run in hosts alongside the flows or the command, and end with the run.
    pub programs: Vec<Program>,
    /// Lateness of a delivery above which it taints the run; default [`crate::TAINTED_FROM`].
    pub tainted_from: Option<Duration>,
    /// Number of drops at hosts' devices and sockets from which they taint the run; default 1.
    pub tainted_from_drops: Option<u64>,
    /// The hosts that are on other machines.
    pub machines: Option<Machines>,
    /// The progress callback.
    pub progress: Option<Progress<'a>>,
    /// The name of the run and the callback of its state, if it is watched.
    pub watch: Option<Watch<'a>>,
}

impl Options<'_> {
    /// The settings that a resolved scenario has.
    #[must_use]
    pub fn of(resolved: &Resolved) -> Self {
        let hosts = || (0..).map(NodeId::new).zip(&resolved.hosts);
        let simulated = hosts().filter(|(_, host)| resolved.live.simulates(&host.name));
        let with_settings = hosts().filter(|(_, host)| !host.sysctl.is_empty());
        Self {
            simulated: simulated.map(|(node, _)| node).collect(),
            host_sysctls: with_settings.map(|(node, host)| (node, host.sysctl.clone())).collect(),
            stacks: resolved.stacks(),
            ..Self::from(&resolved.live)
        }
    }
}

impl Options<'_> {
    /// The settings of the namespace of one host.
    pub(crate) fn sysctls_of(&self, node: NodeId) -> Sysctls {
        let own = self.host_sysctls.get(&node).into_iter().flatten();
        self.sysctls.iter().chain(own).map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The settings of all namespaces, by name, for which the machine is examined before the run.
    pub(crate) fn all_sysctls(&self) -> Sysctls {
        let own = self.host_sysctls.values().flatten();
        self.sysctls.iter().chain(own).map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

impl From<&Live> for Options<'_> {
    /// The settings that a scenario file has under `[live]`.
    fn from(live: &Live) -> Self {
        let text = |value: &SysctlValue| match value {
            SysctlValue::Number(number) => number.to_string(),
            SysctlValue::Text(text) => text.clone(),
        };
        let sysctls = live.sysctl.iter().map(|(name, value)| (name.clone(), text(value))).collect();
        Self {
            congestion: live.congestion.clone(),
            sysctls,
            tainted_from: live.tainted_from,
            tainted_from_drops: live.tainted_from_drops,
            ..Self::default()
        }
    }
}

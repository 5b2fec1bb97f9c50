//! The settings of a live run that a run in virtual time does not have.

use std::ffi::OsString;
use std::ops::ControlFlow;

use scenario::file::{Live, SysctlValue};
use stacks::Assignment;
use units::Instant;

use crate::sysctl::Sysctls;

/// A callback that is given the run's time every 200 ms. [`ControlFlow::Break`] ends the run.
pub type Progress<'a> = &'a mut dyn FnMut(Instant) -> ControlFlow<()>;

/// The settings of a live run.
#[derive(Default)]
pub struct Options<'a> {
    /// The kernel's congestion control for every socket. `None` leaves the machine's default.
    pub congestion: Option<String>,
    /// Kernel settings of the hosts' namespaces.
    pub sysctls: Sysctls,
    /// The send buffer of the flows' senders, in bytes. `None` leaves the kernel's auto-tuning.
    pub send_buffer: Option<usize>,
    /// The receive buffer of the flows' receivers, in bytes. `None` leaves the kernel's auto-tuning.
    pub receive_buffer: Option<usize>,
    /// The nodes that are simulated, with all flows between them.
    pub simulated: Vec<usize>,
    /// The hosts' stacks; those without one are kernels.
    pub stacks: Assignment,
    /// A program and its arguments. It runs in the first host instead of the scenario's flows.
    pub command: Vec<OsString>,
    /// The progress callback.
    pub progress: Option<Progress<'a>>,
}

impl From<&Live> for Options<'_> {
    /// The settings that a scenario file has under `[live]`.
    fn from(live: &Live) -> Self {
        let text = |value: &SysctlValue| match value {
            SysctlValue::Number(number) => number.to_string(),
            SysctlValue::Text(text) => text.clone(),
        };
        let sysctls = live.sysctl.iter().map(|(name, value)| (name.clone(), text(value))).collect();
        Self { congestion: live.congestion.clone(), sysctls, ..Self::default() }
    }
}

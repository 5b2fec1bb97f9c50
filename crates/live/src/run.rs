//! A live run, from the scenario to the result.

use std::ffi::OsString;
use std::ops::ControlFlow;

use scenario::file::{Live, SysctlValue};
use sim::{FlowSpec, Spec};
use units::Instant;

use crate::LiveError;
use crate::between::Between;
use crate::doctor::obstacles;
use crate::outcome::{LiveOutcome, gather};
use crate::scene::{self, Scene};
use crate::session;
use crate::sightings::Sightings;
use crate::sysctl::Sysctls;

/// Called now and then with the run's time; breaks to end the run.
pub type Progress<'a> = &'a mut dyn FnMut(Instant) -> ControlFlow<()>;

/// What holds only in real time.
#[derive(Default)]
pub struct Options<'a> {
    /// The kernel's congestion control for every socket; without it, the machine's.
    pub congestion: Option<String>,
    /// Settings of the hosts' namespaces.
    pub sysctls: Sysctls,
    /// The send buffer of the flows' senders, in bytes; without it, the kernel tunes it.
    pub send_buffer: Option<usize>,
    /// The receive buffer of the flows' receivers, in bytes; without it, the kernel tunes it.
    pub receive_buffer: Option<usize>,
    /// A program and its arguments, run in the first host instead of the scenario's flows.
    pub command: Vec<OsString>,
    /// Hears of the run's progress.
    pub progress: Option<Progress<'a>>,
}

impl From<&Live> for Options<'_> {
    /// What a scenario file says under `[live]`.
    fn from(live: &Live) -> Self {
        let text = |value: &SysctlValue| match value {
            SysctlValue::Number(number) => number.to_string(),
            SysctlValue::Text(text) => text.clone(),
        };
        let sysctls = live.sysctl.iter().map(|(name, value)| (name.clone(), text(value))).collect();
        Self { congestion: live.congestion.clone(), sysctls, ..Self::default() }
    }
}

/// Runs a scenario between kernels, in real time.
///
/// Call it in a process of its own, before there is a second thread: without privilege the process
/// moves into a user namespace and stays there.
///
/// # Errors
/// If this machine does not allow it (each obstacle with its remedy), the kernel refuses a setting,
/// a stream arrives damaged, or the system fails on the way. A connection that breaks is no error.
pub fn run(spec: &Spec, mut options: Options<'_>) -> Result<LiveOutcome, LiveError> {
    let missing = obstacles(options.congestion.as_deref(), &options.sysctls);
    if !missing.is_empty() {
        return Err(LiveError::CannotStart(missing));
    }
    let flows: &[FlowSpec] = if options.command.is_empty() { &spec.flows } else { &[] };
    let between = Between::new(spec)?;
    scene::check(flows)?;
    let scene = Scene::new(spec, flows);
    let plans = scene.plans(&options);
    let sightings = Sightings::new(scene.hosts.len(), flows);
    let session = session::run(plans, between, sightings, scene.end(), options.progress.take())?;
    Ok(gather(&scene, session, &options))
}

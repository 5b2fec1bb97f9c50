//! One live run: hosts around a world, from their building to their end.

use std::sync::Arc;

use units::{Duration, Instant};

use crate::LiveError;
use crate::bell::{Reports, bell};
use crate::between::Between;
use crate::clock::Clock;
use crate::command::Environment;
use crate::driver::Driver;
use crate::host::{Begin, Host, Plan, Report};
use crate::lateness::Lateness;
use crate::namespace::{self, Right};
use crate::run::Progress;
use crate::scheduling::{Scheduling, Urgency};
use crate::sightings::Sightings;
use crate::stop::Stop;
use crate::sysctl::Sysctls;

/// What a run leaves behind.
pub(crate) struct Session {
    pub(crate) between: Between,
    pub(crate) sightings: Sightings,
    pub(crate) reports: Vec<Report>,
    /// Whether the hosts ended it, and not the time or a link.
    pub(crate) all_done: bool,
    pub(crate) lateness: Lateness,
    pub(crate) scheduling: Scheduling,
    pub(crate) right: Right,
    /// Each host's settings, in the order of the plans.
    pub(crate) sysctls: Vec<Sysctls>,
    /// Packets that a host's device dropped before we read them.
    pub(crate) device_drops: u64,
    /// When the last packet was through, or the run was stopped.
    pub(crate) ended: Instant,
}

type Outcomes = Reports<Result<Report, LiveError>>;

/// Builds the hosts, runs what they have to do across the world, and takes everything down. The
/// run ends when every host has done its part, when a program of the user's has ended, or at `end`.
pub(crate) fn run(
    plans: Vec<Plan>,
    between: Between,
    sightings: Sightings,
    end: Instant,
    mut progress: Option<Progress<'_>>,
) -> Result<Session, LiveError> {
    let right = namespace::obtain_right().map_err(LiveError::UserNamespace)?;
    let stop = Arc::new(Stop::default());
    let expected = plans.iter().map(Plan::reports).sum();
    let (hosts, outcomes) = build(plans, &stop)?;
    let clock = Clock::start();
    let urgency = Urgency::take();
    let mut driver = Driver::new(between, sightings, clock, hosts.iter().map(|host| &host.tun).collect());
    let environment = environment(&hosts);
    hosts.iter().for_each(|host| host.begin(Begin { clock, environment: environment.clone() }));
    let driven = Course { outcomes: &outcomes, expected, clock, end }.drive(&mut driver, progress.as_mut());
    let ended = clock.now();
    stop.stop();
    let Driver { between, sightings, releases, .. } = driver;
    let scheduling = urgency.scheduling();
    drop(urgency);
    let sysctls = hosts.iter().map(|host| host.sysctls.clone()).collect();
    let device_drops = hosts.into_iter().map(Host::end).sum();
    let (mut reports, all_done) = driven?;
    while let Some(report) = outcomes.next() {
        reports.push(report?);
    }
    Ok(Session {
        between,
        sightings,
        reports,
        all_done,
        device_drops,
        lateness: releases.lateness(),
        scheduling,
        right,
        sysctls,
        ended,
    })
}

fn build(plans: Vec<Plan>, stop: &Arc<Stop>) -> Result<(Vec<Host>, Outcomes), LiveError> {
    let (ringer, outcomes) = bell().map_err(LiveError::Wait)?;
    let build = |plan| Host::build(plan, Arc::clone(stop), ringer.clone());
    Ok((plans.into_iter().map(build).collect::<Result<_, _>>()?, outcomes))
}

/// Tells a program where the hosts are. The first host is the one that it runs in.
fn environment(hosts: &[Host]) -> Environment {
    let named = hosts.iter().flat_map(|host| {
        let name = variable(&host.name);
        [
            (format!("LASTHOP_ADDRESS_{name}"), host.address.to_string()),
            (format!("LASTHOP_NETNS_{name}"), host.namespace.clone()),
        ]
    });
    let own = hosts.first().map(|host| ("LASTHOP_ADDRESS".to_owned(), host.address.to_string()));
    let peer = hosts.get(1).map(|host| ("LASTHOP_PEER".to_owned(), host.address.to_string()));
    named.chain(own).chain(peer).collect()
}

/// The name of a host, as part of the name of an environment variable.
fn variable(name: &str) -> String {
    let letter =
        |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    name.chars().map(letter).collect()
}

/// What a run waits for.
struct Course<'a> {
    outcomes: &'a Outcomes,
    /// How many reports the hosts will make.
    expected: usize,
    clock: Clock,
    end: Instant,
}

impl Course<'_> {
    /// Drives until the hosts are done, and on until the last packets are through. Gives the
    /// reports, and whether it was the hosts that ended it.
    fn drive(
        &self,
        driver: &mut Driver<'_>,
        mut progress: Option<&mut Progress<'_>>,
    ) -> Result<(Vec<Report>, bool), LiveError> {
        let mut reports = Vec::new();
        while !self.is_done(&reports) {
            if self.clock.now() >= self.end || driver.between.is_over() {
                return Ok((reports, false));
            }
            if progress.as_mut().is_some_and(|hear| hear(self.clock.now()).is_break()) {
                return Err(LiveError::Interrupted);
            }
            let pause = self.clock.now() + PROGRESS_EVERY;
            driver.run(self.outcomes, pause.min(self.end)).map_err(LiveError::Wait)?;
            while let Some(report) = self.outcomes.next() {
                reports.push(report?);
            }
        }
        let patience = (self.clock.now() + LONGEST_DRAIN).min(self.end);
        driver.drain(self.outcomes, patience).map_err(LiveError::Wait)?;
        Ok((reports, true))
    }

    /// Whether every host has done its part; a program of the user's ends the run by itself.
    fn is_done(&self, reports: &[Report]) -> bool {
        reports.len() >= self.expected || reports.iter().any(|report| matches!(report, Report::Ended(_)))
    }
}

/// How often progress is told: as often as a person reads it.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);
/// How long the last packets may take to get through once every host is done.
const LONGEST_DRAIN: Duration = Duration::from_secs(10);

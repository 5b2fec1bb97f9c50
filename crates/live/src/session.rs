//! One live run: hosts around a network, from their building to their end.

use std::sync::Arc;

use units::{Duration, Instant};

use crate::LiveError;
use crate::bell::{Reports, bell};
use crate::clock::Clock;
use crate::driver::{Driver, Network, Tap};
use crate::host::{Host, Plan, Report};
use crate::lateness::Lateness;
use crate::namespace::{self, Right};
use crate::scheduling::{Scheduling, Urgency};
use crate::stop::Stop;
use crate::sysctl::Sysctls;

/// What a run leaves behind.
#[derive(Debug)]
pub(crate) struct Session<N, T> {
    pub(crate) network: N,
    pub(crate) tap: T,
    pub(crate) reports: Vec<Report>,
    pub(crate) lateness: Lateness,
    pub(crate) scheduling: Scheduling,
    pub(crate) right: Right,
    /// Each host's settings, in the order of the plans.
    pub(crate) sysctls: Vec<Sysctls>,
    /// When the last packet was through, or the run was stopped.
    pub(crate) ended: Instant,
}

type Outcomes = Reports<Result<Report, LiveError>>;

/// Builds the hosts, runs what they have to do across the network, and takes everything down. The
/// run ends when every host has done its part, when a program of the user's has ended, or at `end`.
pub(crate) fn run<N: Network, T: Tap>(
    plans: Vec<Plan>,
    network: N,
    tap: T,
    end: Instant,
) -> Result<Session<N, T>, LiveError> {
    let right = namespace::obtain_right().map_err(|source| LiveError::Host {
        host: "all".into(),
        step: "make a user namespace",
        source,
    })?;
    let stop = Arc::new(Stop::default());
    let expected = plans.iter().map(Plan::reports).sum();
    let (hosts, outcomes) = build(plans, &stop)?;
    let clock = Clock::start();
    let urgency = Urgency::take();
    let mut driver = Driver::new(network, tap, clock, hosts.iter().map(|host| &host.tun).collect());
    hosts.iter().for_each(|host| host.begin(clock));
    let driven = drive(&mut driver, &outcomes, expected, clock, end);
    let ended = clock.now();
    stop.stop();
    let Driver { network, tap, releases, .. } = driver;
    let scheduling = urgency.scheduling();
    drop(urgency);
    let sysctls = hosts.iter().map(|host| host.sysctls.clone()).collect();
    hosts.into_iter().for_each(Host::end);
    let mut reports = driven?;
    while let Some(report) = outcomes.next() {
        reports.push(report?);
    }
    Ok(Session { network, tap, reports, lateness: releases.lateness(), scheduling, right, sysctls, ended })
}

fn build(plans: Vec<Plan>, stop: &Arc<Stop>) -> Result<(Vec<Host>, Outcomes), LiveError> {
    let (ringer, outcomes) = bell().map_err(LiveError::Wait)?;
    let build = |plan| Host::build(plan, Arc::clone(stop), ringer.clone());
    Ok((plans.into_iter().map(build).collect::<Result<_, _>>()?, outcomes))
}

/// Drives until all is done, and on until the last packets are through.
fn drive<N: Network, T: Tap>(
    driver: &mut Driver<'_, N, T>,
    outcomes: &Outcomes,
    expected: usize,
    clock: Clock,
    end: Instant,
) -> Result<Vec<Report>, LiveError> {
    let mut reports = Vec::new();
    while reports.len() < expected && clock.now() < end {
        driver.run(outcomes, end).map_err(LiveError::Wait)?;
        while let Some(report) = outcomes.next() {
            reports.push(report?);
        }
        if reports.iter().any(|report| matches!(report, Report::Ended(_))) {
            break;
        }
    }
    let patience = (clock.now() + LONGEST_DRAIN).min(end);
    driver.drain(outcomes, patience).map_err(LiveError::Wait)?;
    Ok(reports)
}

/// How long the last packets may take to get through once every host is done.
const LONGEST_DRAIN: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;

//! The loop of a run, and the conditions that end it.

use linux::channel::ReportReceiver;
use units::{Duration, Instant};

use crate::LiveError;
use crate::clock::Clock;
use crate::drive::driver::Driver;
use crate::machines::RemoteMachines;
use crate::run::options::Progress;
use crate::run::report::Report;
use crate::run::watch::Watcher;

/// The loop of a run.
pub(crate) struct MainLoop<'a> {
    pub(crate) reports: &'a ReportReceiver<Result<Report, LiveError>>,
    /// Number of reports that the hosts send.
    pub(crate) expected: usize,
    pub(crate) clock: Clock,
    pub(crate) end: Instant,
    /// The names of the flows.
    pub(crate) flows: &'a [String],
    pub(crate) remote: Option<&'a RemoteMachines>,
}

/// The reports of the hosts, and whether the hosts ended the run.
pub(crate) type Ended = (Vec<Report>, bool);

impl MainLoop<'_> {
    /// Drives until the hosts are done and the last packets are delivered, or until the stop time.
    pub(crate) fn drive(
        &self,
        driver: &mut Driver<'_>,
        mut progress: Option<Progress<'_>>,
        mut watcher: Option<&mut Watcher<'_>>,
    ) -> Result<Ended, LiveError> {
        let mut reports = Vec::new();
        while !(self.is_done(&reports) && driver.stacks_are_done()) {
            if self.clock.now() >= self.end || driver.network.is_over() {
                return Ok((reports, false));
            }
            self.check(driver, progress.as_mut())?;
            let now = self.clock.now();
            let next = watcher.as_mut().map_or(now + PROGRESS_EVERY, |watcher| watcher.look(driver, now));
            let pause = next.min(now + PROGRESS_EVERY);
            driver.run(self.reports, pause.min(self.end)).map_err(LiveError::Wait)?;
            while let Some(report) = self.reports.try_recv() {
                reports.push(report?);
            }
        }
        let latest = (self.clock.now() + LONGEST_DRAIN).min(self.end);
        driver.drain(self.reports, latest).map_err(LiveError::Wait)?;
        Ok((reports, true))
    }

    /// Checks the streams that were read, the progress callback and the other machines.
    fn check(&self, driver: &Driver<'_>, progress: Option<&mut Progress<'_>>) -> Result<(), LiveError> {
        if let Some(wrong) = driver.corrupted() {
            let flow = self.flows[wrong.flow.index()].clone();
            return Err(LiveError::Corrupted { flow, position: wrong.position });
        }
        if progress.is_some_and(|callback| callback(self.clock.now()).is_break()) {
            return Err(LiveError::Interrupted);
        }
        self.remote.map_or(Ok(()), RemoteMachines::look)
    }

    /// Returns whether all reports have come, or that of the user's program, whose exit ends the run.
    fn is_done(&self, reports: &[Report]) -> bool {
        reports.len() >= self.expected || reports.iter().any(|report| matches!(report, Report::Exited(_)))
    }
}

/// Interval of the progress callback: as often as a person reads it.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);
/// The longest time that the last packets may take after every host is done.
const LONGEST_DRAIN: Duration = Duration::from_secs(10);

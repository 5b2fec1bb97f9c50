//! Programs whose hosts are on two machines: their halves, joined at the end of a run.

use crate::run::host::Report;
use crate::run::session::Session;
use crate::run::setup::Setup;
use crate::workload::{HalfRan, join};

impl Session {
    /// Joins the halves of programs: each pair of reports becomes one of a whole program.
    pub(crate) fn join_halves(&mut self, setup: &Setup<'_>) {
        let (halves, rest) = std::mem::take(&mut self.reports)
            .into_iter()
            .partition::<Vec<_>, _>(|report| matches!(report, Report::Half(_)));
        self.reports = rest;
        let mut halves: Vec<HalfRan> = halves.into_iter().filter_map(Report::into_half).collect();
        for (index, flow) in setup.flows.iter().enumerate() {
            let mut take = |is_from| {
                let is_it = |half: &HalfRan| half.flow == flow.name && half.is_from == is_from;
                Some(halves.swap_remove(halves.iter().position(is_it)?))
            };
            if let (Some(from), Some(to)) = (take(true), take(false)) {
                let ran = join(flow, setup.spec.seed, setup.ends(index), from, to);
                self.reports.push(Report::Ran(Box::new(ran)));
            }
        }
    }
}

//! A scenario that is about to become a network or a run.

use std::path::Path;
use std::sync::Arc;

use ::scenario::{Resolved, Search};
use sim::{Clock, Outcome, Records, Spec};
use tcp::congestion::CongestionControl;

use crate::error::NetworkError;
use crate::network::Network;
use crate::results::Results;

/// A scenario with what a program adds to it.
pub struct Scenario {
    resolved: Resolved,
    spec: Spec,
}

impl Scenario {
    /// Reads a scenario file. `overrides` are texts "path=value", as of `lasthop run --set`; `seed` replaces the
    /// file's.
    ///
    /// # Errors
    /// A mistake in the file, in a preset or profile that it names, or in an override.
    pub fn open(path: impl AsRef<Path>, overrides: &[&str], seed: Option<u64>) -> Result<Self, NetworkError> {
        Self::of(::scenario::load(path, overrides, seed, &library())?)
    }

    /// Reads the text of a scenario. Paths in it begin in the present folder.
    ///
    /// # Errors
    /// As [`Scenario::open`].
    pub fn parse(text: &str, overrides: &[&str], seed: Option<u64>) -> Result<Self, NetworkError> {
        Self::of(::scenario::parse(text, "scenario.toml", overrides, seed, &library())?)
    }

    fn of(resolved: Resolved) -> Result<Self, NetworkError> {
        Ok(Self { spec: resolved.to_spec()?, resolved })
    }

    /// Gives the sender of a flow a congestion control of the caller: `build` makes one for each connection. The other
    /// settings of its TCP remain those of its profile.
    ///
    /// # Errors
    /// If the scenario has no flow of this name.
    pub fn congestion(
        mut self,
        flow: &str,
        build: impl Fn() -> Box<dyn CongestionControl> + Send + Sync + 'static,
    ) -> Result<Self, NetworkError> {
        let found = self.spec.flows.iter_mut().find(|known| known.name == flow);
        let found = found.ok_or_else(|| NetworkError::Flow(flow.to_owned()))?;
        Arc::make_mut(&mut found.sender).congestion.supply(build);
        Ok(self)
    }

    /// The network of the scenario: the hosts that no flow names are the caller's.
    ///
    /// # Errors
    /// A scenario in which no host is the caller's, or a host names a stack.
    pub fn network(self) -> Result<Network, NetworkError> {
        Network::new(self.resolved, self.spec)
    }

    /// Runs the flows of the scenario to their end, as `lasthop run` does.
    ///
    /// # Errors
    /// A specification that contradicts itself; an error of the run.
    pub fn run(self) -> Result<Results, NetworkError> {
        let mut run = stacks::Run::new(self.spec, &self.resolved.stacks())?;
        run.run()?;
        let Outcome { summary, tables, captures } = run.finish();
        debug_assert_eq!(summary.clock, Clock::Virtual, "no host is the caller's");
        Ok(Results::new(&self.resolved, &summary, &Records { tables, captures }))
    }
}

impl Network {
    /// The network of a scenario file. The hosts that no flow of it names are the caller's; the other flows are cross
    /// traffic. `overrides` are texts "path=value", as of `lasthop run --set`; `seed` replaces the file's.
    ///
    /// # Errors
    /// A mistake in the file or in an override; a scenario in which no host is the caller's.
    pub fn open(path: impl AsRef<Path>, overrides: &[&str], seed: Option<u64>) -> Result<Self, NetworkError> {
        Scenario::open(path, overrides, seed)?.network()
    }

    /// The same, of the text of a scenario. Paths in it begin in the present folder.
    ///
    /// # Errors
    /// As [`Network::open`].
    pub fn parse(text: &str, overrides: &[&str], seed: Option<u64>) -> Result<Self, NetworkError> {
        Scenario::parse(text, overrides, seed)?.network()
    }
}

fn library() -> Search {
    Search::in_memory(library::FILES.iter().copied())
}

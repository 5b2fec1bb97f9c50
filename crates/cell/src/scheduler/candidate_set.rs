//! A scheduler that chooses voice users from a candidate set: those with M packets or more in the queue, with an oldest
//! packet that has waited (M − 1) intervals between packets, or with a block to be repeated (quoted in Landström 2008
//! §7.3 from a study of VoIP over HSDPA). The others wait, so that blocks carry several packets each. Users without a
//! delay budget are always in the set.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;

use super::{Candidate, ConfigError, Rank, Scheduler, SchedulerChoice, SchedulerParameters, Service};
use registry::Entry;

/// The registry's line.
pub const ENTRY: Entry = Entry::new(
    "candidate-set",
    "another scheduler over the voice users for whom it is worth a block",
    "Landström 2008 §7.3",
)
.written("{ candidate-set = { packets = 2, interval = \"20 ms\", scheduler = \"proportional-fair\" } }");

/// The conditions of the set, and the choice from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// M: number of packets with which a user is in the set, 2 or more.
    pub packets: u32,
    /// Time between two packets of a call. 20 ms by default, as in the document.
    #[serde(default = "frame")]
    pub interval: Duration,
    /// The scheduler that chooses from the set.
    pub scheduler: Box<SchedulerChoice>,
}

const fn frame() -> Duration {
    Duration::from_millis(20)
}

impl SchedulerParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        if self.packets < 2 {
            let message = format!("with {} every user that has data is in the set", self.packets);
            return Err(ConfigError::new("packets", message, "write 2 or more"));
        }
        if matches!(*self.scheduler, SchedulerChoice::CandidateSet(_)) {
            let help = "write the scheduler that chooses from the set";
            return Err(ConfigError::new("scheduler", "a candidate set chooses from another one", help));
        }
        self.scheduler.check().map_err(|error| error.below("scheduler"))
    }

    fn scheduler(&self) -> Box<dyn Scheduler> {
        Box::new(CandidateSet {
            packets: self.packets,
            delay: self.interval * u64::from(self.packets - 1),
            scheduler: self.scheduler.scheduler(),
            members: Vec::new(),
            ranks: Vec::new(),
        })
    }
}

#[derive(Debug)]
struct CandidateSet {
    packets: u32,
    /// Wait of the oldest packet with which a user is in the set.
    delay: Duration,
    scheduler: Box<dyn Scheduler>,
    /// The set of one TTI and its ranks, kept for their memory.
    members: Vec<Candidate>,
    ranks: Vec<Rank>,
}

impl CandidateSet {
    fn has(&self, user: &Candidate) -> bool {
        matches!(user.service, Service::Elastic)
            || user.packets >= self.packets
            || user.delay >= self.delay
            || user.repeats
    }
}

impl Scheduler for CandidateSet {
    fn rank(&mut self, candidates: &[Candidate], ranks: &mut Vec<Rank>) {
        let mut members = std::mem::take(&mut self.members);
        members.clear();
        members.extend(candidates.iter().filter(|user| self.has(user)).copied());
        self.ranks.clear();
        self.scheduler.rank(&members, &mut self.ranks);
        self.members = members;
        let mut chosen = self.ranks.iter().copied();
        ranks.extend(candidates.iter().map(|user| match self.has(user) {
            true => chosen.next().unwrap_or(Rank::UNSERVED),
            false => Rank::UNSERVED,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ms, read, voice, web};
    use super::*;

    fn served(user: Candidate) -> bool {
        let mut scheduler = read(&ENTRY.example()).expect("the example is valid").scheduler();
        let mut ranks = Vec::new();
        scheduler.rank(&[user, web()], &mut ranks);
        assert!(ranks[1] != Rank::UNSERVED, "elastic users are always in the set");
        ranks[0] != Rank::UNSERVED
    }

    #[test]
    fn a_voice_user_waits_for_two_packets_for_their_interval_or_for_nothing_with_a_block_to_repeat() {
        let fresh = Candidate { packets: 1, delay: ms(19), repeats: false, ..voice() };
        assert!(!served(fresh));
        assert!(served(Candidate { packets: 2, ..fresh }));
        assert!(served(Candidate { delay: ms(20), ..fresh }));
        assert!(served(Candidate { repeats: true, ..fresh }));
    }

    #[test]
    fn the_members_keep_the_order_of_the_inner_scheduler() {
        let mut scheduler = read(&ENTRY.example()).expect("the example is valid").scheduler();
        let (slow, fast) = (Candidate { rate: 1e5, ..web() }, Candidate { rate: 3e6, ..web() });
        let mut ranks = Vec::new();
        scheduler.rank(&[slow, Candidate { packets: 1, delay: ms(0), ..voice() }, fast], &mut ranks);
        assert_eq!(ranks[1], Rank::UNSERVED);
        assert!(ranks[2].value > ranks[0].value);
    }

    #[test]
    fn a_set_of_one_packet_and_a_set_of_a_set_are_refused() {
        let one =
            read("{ candidate-set = { packets = 1, scheduler = \"max-rate\" } }").expect("it can be read");
        assert!(one.check().is_err());
        let inner = "{ candidate-set = { packets = 2, scheduler = \"max-rate\" } }";
        let nested = read(&format!("{{ candidate-set = {{ packets = 2, scheduler = {inner} }} }}"));
        assert!(nested.expect("it can be read").check().is_err());
    }
}

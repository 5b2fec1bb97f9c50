//! Use of time by a driver, and its stalls.

use linux::scheduling::Scheduling;
use serde::Serialize;
use units::Duration;

use crate::drive::waiting::{STALL_FROM, Spent, Stall, Stalls, Step};

/// Use of time by a driver, and its stalls. Shares are fractions of the time of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DriverAccount {
    /// The scheduling class that the system permitted.
    #[serde(skip)]
    scheduling: Scheduling,
    /// Share in which it ran.
    pub busy: f64,
    /// Share in which it polled the clock before each event.
    pub polling: f64,
    /// Share in which it slept until each event, because it had been busy before.
    pub sleeping: f64,
    /// Share in which it had also left the real-time class.
    pub ordinary: f64,
    /// Number of stalls in each second.
    pub stalls_per_s: f64,
    /// The length from which a step counts as a stall, in milliseconds.
    pub stall_from_ms: f64,
    /// Its stalls.
    pub stalls: Stalls,
}

impl DriverAccount {
    pub(crate) fn new((stalls, spent): (Stalls, Spent), scheduling: Scheduling) -> Self {
        let all = (spent.polling + spent.sleeping + spent.ordinary).as_secs_f64();
        let share = |part: Duration| if all > 0.0 { part.as_secs_f64() / all } else { 0.0 };
        Self {
            scheduling,
            busy: share(spent.busy),
            polling: share(spent.polling),
            sleeping: share(spent.sleeping),
            ordinary: share(spent.ordinary),
            stalls_per_s: if all > 0.0 { stalls.count as f64 / all } else { 0.0 },
            stall_from_ms: STALL_FROM.as_secs_f64() * 1e3,
            stalls,
        }
    }

    /// Returns the reason why packets were late, and the remedy: the longest stall, or else that there was too much to
    /// do.
    pub(crate) fn blame(&self) -> String {
        match self.stalls.longest.first() {
            Some(stall) => blame_of(stall, self.scheduling),
            None => format!(
                "the driver was at work for {:.0} % of the time, without a stall: take a slower link or a faster \
                 machine",
                100.0 * self.busy
            ),
        }
    }
}

fn blame_of(stall: &Stall, scheduling: Scheduling) -> String {
    let Stall { at_s, step, length_ms, waited_ms } = *stall;
    let when = format!("at {at_s:.3} s the driver was held up for {length_ms:.1} ms {}", during(step));
    match waited_ms {
        Some(waited) if waited > length_ms / 2.0 => {
            format!("{when}: {waited:.1} ms of them another thread had its processor: {}", remedy(scheduling))
        }
        Some(waited) => format!(
            "{when}: {waited:.1} ms of them another thread had its processor, the rest is the kernel's or the host \
             machine's, if this one is virtual: use a machine with less to do"
        ),
        None => format!("{when}: use a machine with less to do"),
    }
}

const fn during(step: Step) -> &'static str {
    match step {
        Step::Wait => "after it should have woken up",
        Step::Read => "while it read packets from a kernel",
        Step::Links => "in the links",
        Step::Write => "while it gave packets to a kernel",
        Step::Programs => "in programs of flows",
    }
}

const fn remedy(scheduling: Scheduling) -> &'static str {
    match scheduling {
        Scheduling::Fifo => "end other programs that are in the real-time class or keep the processors busy",
        Scheduling::ShortSlice | Scheduling::Ordinary => {
            "end other programs, or run as root, which takes the real-time class"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(longest: Vec<Stall>, scheduling: Scheduling) -> DriverAccount {
        let spent =
            Spent { busy: Duration::from_secs(3), polling: Duration::from_secs(4), ..Spent::default() };
        DriverAccount::new(
            (Stalls { count: longest.len() as u64, longest, ..Stalls::default() }, spent),
            scheduling,
        )
    }

    #[test]
    fn the_longest_stall_is_blamed_with_who_had_the_processor_and_a_remedy() {
        let stall = |waited_ms| Stall { at_s: 1.5, step: Step::Write, length_ms: 20.0, waited_ms };
        let said = account(vec![stall(Some(19.0))], Scheduling::ShortSlice).blame();
        assert!(said.contains("1.500 s") && said.contains("19.0 ms of them another thread"), "{said}");
        assert!(said.contains("as root"), "{said}");
        let said = account(vec![stall(Some(0.1))], Scheduling::Fifo).blame();
        assert!(said.contains("host machine's"), "{said}");
    }

    #[test]
    fn a_driver_that_had_too_much_to_do_says_so() {
        let account = account(Vec::new(), Scheduling::Fifo);
        assert!((account.busy - 0.75).abs() < 1e-9 && (account.polling - 1.0).abs() < 1e-9);
        let said = account.blame();
        assert!(said.contains("75 %") && said.contains("slower link"), "{said}");
    }
}

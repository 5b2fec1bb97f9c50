//! Combinations of keys that a profile may not have.

use super::{Config, ConfigError, Plain, error};
use crate::ecn::EcnSetting;
use crate::send_half::pacing::Pacing;
use crate::spurious::Needs;

impl Config {
    /// Refuses combinations of keys that make no sense.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let Plain { mss, sack, initial_window, .. } = &self.plain;
        if mss.is_zero() || mss.0 > u64::from(u16::MAX) {
            return Err(error("mss", format!("{mss} cannot be announced"), "1 to 65535 bytes".to_owned()));
        }
        if initial_window.bytes(*mss) < *mss {
            return Err(error(
                "initial_window",
                format!("a first window of {} is smaller than one segment", initial_window.bytes(*mss)),
                "at least \"1 segment\"".to_owned(),
            ));
        }
        let initial_ssthresh = self.plain.initial_ssthresh.map(|threshold| threshold.bytes(*mss));
        if let Some(threshold) = initial_ssthresh.filter(|threshold| *threshold < *mss * 2) {
            return Err(error(
                "initial_ssthresh",
                format!("a first slow-start threshold of {threshold} is below two segments"),
                "at least \"2 segments\" (RFC 5681 equation 4)".to_owned(),
            ));
        }
        if self.window.build().greatest().is_zero() {
            let message = "a window of 0 takes nothing in, and its peer would probe it for ever";
            return Err(error("window", message.to_owned(), "a size of 1 byte or more".to_owned()));
        }
        self.check_keep_alive()?;
        self.check_evidence()?;
        self.check_recovery()?;
        self.check_pacing()?;
        self.check_requests()?;
        self.check_offload()?;
        self.check_mtu_probing()?;
        self.check_l4s()?;
        if self.recovery.build().traits().needs_sack && !sack {
            return Err(error(
                "recovery",
                format!("{} works on selective acknowledgments, and sack = false", self.recovery.id()),
                "sack = true, or an algorithm without SACK like \"new-reno\"".to_owned(),
            ));
        }
        Ok(())
    }

    /// Probes without time between them give a connection up at once.
    fn check_keep_alive(&self) -> Result<(), ConfigError> {
        let Plain { keep_alive, keep_alive_idle, keep_alive_interval, .. } = self.plain;
        let times = [("keep_alive_idle", keep_alive_idle), ("keep_alive_interval", keep_alive_interval)];
        match times.into_iter().find(|(_, time)| keep_alive && time.is_zero()) {
            Some((key, _)) => Err(error(
                key,
                format!("{key} is 0 s, and probes would have no time between them"),
                "a time like \"75 s\"".to_owned(),
            )),
            None => Ok(()),
        }
    }

    /// RFC 9331 §4.2: L4S needs feedback finer than one echo a round trip.
    fn check_l4s(&self) -> Result<(), ConfigError> {
        if self.plain.l4s && self.plain.ecn != EcnSetting::Accurate {
            let message = "L4S needs accurate feedback (RFC 9331 §4.2)".to_owned();
            return Err(error("l4s", message, "ecn = \"accurate\"".to_owned()));
        }
        Ok(())
    }

    fn check_pacing(&self) -> Result<(), ConfigError> {
        if let Some(Pacing::RateBased(pacing)) = self.plain.pacing
            && !(1.0..=10.0).contains(&pacing.most)
        {
            let message = format!("{} windows in flight", pacing.most);
            return Err(error("pacing.most", message, "from 1 to 10".to_owned()));
        }
        let ratios = self.plain.pacing.iter().flat_map(|pacing| pacing.ratios());
        match ratios.into_iter().find(|ratio| !(0.1..=100.0).contains(ratio)) {
            Some(ratio) => Err(error(
                "pacing",
                format!("{ratio} windows per round trip"),
                "from 0.1 to 100; 1 spreads a window over one round trip".to_owned(),
            )),
            None => Ok(()),
        }
    }

    /// On a SYN one option announces both directions: an end that requests a rate of ACKs complies with requests, too.
    fn check_requests(&self) -> Result<(), ConfigError> {
        let (poll, ack) = (self.poll.build().scheme(), self.ack_scheme());
        if poll.is_none() || poll == ack {
            return Ok(());
        }
        let id = self.poll.id();
        let message =
            format!("{id} requests ACKs by an option that ack = \"{}\" does not comply with", self.ack.id());
        Err(error("poll", message, format!("ack = \"{id}\" with it")))
    }

    fn check_offload(&self) -> Result<(), ConfigError> {
        match self.plain.segmentation_offload.and_then(|offload| offload.key_of_zero()) {
            Some(key) => {
                let help =
                    "write a whole number from 1 on; without the table nothing is offloaded".to_owned();
                Err(error(&format!("segmentation_offload.{key}"), "0 is none at all".to_owned(), help))
            }
            None => Ok(()),
        }
    }

    fn check_mtu_probing(&self) -> Result<(), ConfigError> {
        match self.plain.mtu_probing.and_then(|probing| probing.mistake()) {
            Some((key, help)) => {
                let message = "no search for an MTU ends with this value".to_owned();
                Err(error(&format!("mtu_probing.{key}"), message, help.to_owned()))
            }
            None => Ok(()),
        }
    }

    /// A detector without its evidence would wait indefinitely.
    fn check_evidence(&self) -> Result<(), ConfigError> {
        let Plain { timestamps, sack, .. } = self.plain;
        let (missing, help) = match self.spurious.build().needs() {
            Needs::Timestamps if !timestamps => ("timestamps, and timestamps = false", "timestamps = true"),
            Needs::Dsack if !sack => ("D-SACK, and sack = false", "sack = true"),
            _ => return Ok(()),
        };
        let message = format!("{} judges by {missing}", self.spurious.id());
        Err(error("spurious", message, format!("{help}, or spurious = \"none\"")))
    }

    /// A recovery that judges loss signals itself needs its evidence, and no detector in addition.
    fn check_recovery(&self) -> Result<(), ConfigError> {
        let (recovery, id) = (self.recovery.build().traits(), self.recovery.id());
        if recovery.needs_timestamps && !self.plain.timestamps {
            return Err(error(
                "recovery",
                format!("{id} judges by timestamps, and timestamps = false"),
                "timestamps = true, or an algorithm without them like \"sack-6675\"".to_owned(),
            ));
        }
        if recovery.judges_signals && self.spurious.id() != "none" {
            return Err(error(
                "spurious",
                format!("{id} judges its loss signals itself, and has none for {}", self.spurious.id()),
                "spurious = \"none\"".to_owned(),
            ));
        }
        Ok(())
    }
}

//! A congestion control of one's own, in lasthop's TCP, alongside the one of the profile.
//!
//!     cargo run --release -- download.toml result
//!     lasthop plot result cwnd
//!
//! It adds a segment each round trip and keeps seven tenths of the window after a loss: AIMD(1, 0.3).

use std::error::Error;

use lasthop_network::Scenario;
use lasthop_network::congestion::{AckSample, Bytes, CongestionControl, CongestionEvent};

#[derive(Debug)]
struct Aimd {
    smss: Bytes,
    cwnd: Bytes,
    ssthresh: Bytes,
    /// Bytes acknowledged towards the next segment of the window.
    acked: Bytes,
}

impl CongestionControl for Aimd {
    fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        (self.smss, self.cwnd) = (smss, initial_window);
    }

    fn on_segment_size(&mut self, smss: Bytes) {
        self.smss = smss;
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if self.in_slow_start() {
            self.cwnd += ack.acked.min(self.smss);
            return;
        }
        self.acked += ack.acked;
        if self.acked >= self.cwnd {
            self.acked = self.acked.saturating_sub(self.cwnd);
            self.cwnd += self.smss;
        }
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        self.ssthresh = Bytes(event.in_use().0 * 7 / 10).max(self.smss + self.smss);
        self.cwnd = self.ssthresh;
    }

    fn on_timeout(&mut self, event: &CongestionEvent) {
        if !event.repeats_timeout() {
            self.ssthresh = Bytes(event.in_use().0 * 7 / 10).max(self.smss + self.smss);
        }
        self.cwnd = self.smss;
    }

    fn on_recovery_exit(&mut self, window: Bytes) {
        self.cwnd = window;
    }

    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
    }

    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn ssthresh(&self) -> Bytes {
        self.ssthresh
    }
}

fn mine() -> Box<dyn CongestionControl> {
    Box::new(Aimd { smss: Bytes(1460), cwnd: Bytes(1460), ssthresh: Bytes::MAX, acked: Bytes::ZERO })
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let scenario = arguments.next().ok_or("usage: own-congestion-control SCENARIO [RESULT]")?;
    let cubic = Scenario::open(&scenario, &[], None)?.run()?;
    let ours = Scenario::open(&scenario, &[], None)?.congestion("download", mine)?.run()?;
    for (name, results) in [("CUBIC", &cubic), ("AIMD(1, 0.3)", &ours)] {
        let flow = &results.summary["flows"][0];
        let rate = flow["throughput_Bps"].as_f64().unwrap_or_default() * 8e-6;
        println!("{name}: {rate:.2} Mbit/s, {} segments sent again", flow["retransmissions"]);
    }
    if let Some(folder) = arguments.next() {
        ours.write(folder)?;
    }
    Ok(())
}

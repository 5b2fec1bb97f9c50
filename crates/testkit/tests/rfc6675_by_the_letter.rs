//! SACK loss recovery compared with a slow and literal implementation of RFC 6675: every segment that a sender sends in
//! recovery must be the one that NextSeg() names, with room in the pipe of SetPipe(), and it must not stop while there
//! is one.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use rand::{Rng, RngExt};
use serde_json::json;
use tcp::{Config, Endpoint, Kind, Ports};
use testkit::profile::config;
use units::{Bytes, Duration, Instant, Seq, Streams};
use wire::{Payload, Segment};

const SMSS: u64 = 1000;
const ISS: Seq = Seq(u32::MAX - 40_000);
const ONE_WAY: Duration = Duration::from_millis(50);

/// RFC 6675 on segments of equal size: segment `n` has the bytes from `n * SMSS` of the stream.
#[derive(Default)]
struct Letter {
    /// HighACK: the first segment not acknowledged.
    una: u64,
    /// HighData: the first segment not sent.
    nxt: u64,
    sacked: BTreeSet<u64>,
    duplicates: u32,
    recovery: Option<Recovery>,
    /// After a timeout: no recovery before this is acknowledged (§5.1).
    after_timeout: Option<u64>,
}

#[derive(Clone, Copy)]
struct Recovery {
    point: u64,
    /// HighRxt: the end of the highest retransmitted segment.
    high_rxt: u64,
    rescued: bool,
    /// Step 4.3 is still to be done.
    first: bool,
}

/// The result of NextSeg().
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    Again(u64),
    New(u64),
    Rescue(u64),
}

impl Letter {
    /// §4 IsLost(): three discontiguous runs, or more than two segments' bytes, are SACKed above it.
    fn is_lost(&self, segment: u64) -> bool {
        let above = || self.sacked.range(segment + 1..);
        let runs = above().filter(|sacked| !self.sacked.contains(&(*sacked + 1))).count();
        runs >= 3 || above().count() as u64 * SMSS > 2 * SMSS
    }

    /// §4 SetPipe().
    fn pipe(&self) -> u64 {
        let high_rxt = self.recovery.map_or(self.una, |recovery| recovery.high_rxt);
        let counts = |segment: u64| {
            u64::from(!self.is_lost(segment)) + u64::from(segment < high_rxt && segment >= self.una)
        };
        (self.una..self.nxt).filter(|segment| !self.sacked.contains(segment)).map(counts).sum()
    }

    /// §4 NextSeg(); `new` says whether a new segment is ready and fits the peer's window.
    fn next(&self, new: bool) -> Option<Named> {
        let recovery = self.recovery?;
        let highest = self.sacked.last().copied().unwrap_or(0);
        let holes = |segment: &u64| !self.sacked.contains(segment);
        let candidates = || (recovery.high_rxt.max(self.una)..highest).filter(holes);
        if let Some(lost) = candidates().find(|segment| self.is_lost(*segment)) {
            return Some(Named::Again(lost));
        }
        if new {
            return Some(Named::New(self.nxt));
        }
        if let Some(hole) = candidates().next() {
            return Some(Named::Again(hole));
        }
        // The highest outstanding segment that was not SACKed, of those outstanding when recovery began.
        let last = (self.una..recovery.point).rev().find(holes)?;
        (!recovery.rescued && last + 1 == recovery.point && last >= highest && last >= recovery.high_rxt)
            .then_some(Named::Rescue(last))
    }

    /// §5, an ACK.
    fn on_ack(&mut self, ack: u64, blocks: &[(u64, u64)]) {
        let advances = ack > self.una;
        self.una = ack;
        if advances {
            self.duplicates = 0;
        }
        let covered = blocks.iter().flat_map(|(start, end)| *start..*end);
        let mut news = false;
        for segment in covered.filter(|segment| *segment >= ack).collect::<Vec<_>>() {
            news |= self.sacked.insert(segment);
        }
        self.sacked.retain(|segment| *segment >= ack);
        self.after_timeout = self.after_timeout.filter(|point| ack < *point);
        match &mut self.recovery {
            Some(recovery) if ack >= recovery.point => self.recovery = None,
            Some(recovery) => recovery.high_rxt = recovery.high_rxt.max(ack),
            None if !advances && news && self.after_timeout.is_none() => self.on_duplicate(),
            None => {}
        }
    }

    fn on_duplicate(&mut self) {
        self.duplicates += 1;
        if self.duplicates == 3 || self.is_lost(self.una) {
            let high_rxt = self.una;
            self.recovery = Some(Recovery { point: self.nxt, high_rxt, rescued: false, first: true });
        }
    }

    /// §5.1.
    fn on_timeout(&mut self) {
        self.sacked.clear();
        self.duplicates = 0;
        self.recovery = None;
        self.after_timeout = Some(self.nxt);
    }

    /// A segment went out: whether it may, with this cwnd in segments.
    fn on_sent(&mut self, segment: u64, cwnd: u64, ready: bool) -> Result<(), String> {
        let new = segment == self.nxt;
        let (named, pipe) = (self.next(ready), self.pipe());
        if let Some(recovery) = &mut self.recovery {
            let expected = if recovery.first { Some(Named::Again(self.una)) } else { named };
            let sent = match named {
                Some(Named::Rescue(last)) if last == segment => Named::Rescue(segment),
                _ if new => Named::New(segment),
                _ => Named::Again(segment),
            };
            if expected != Some(sent) {
                return Err(format!("{sent:?} went out, and NextSeg() names {expected:?}"));
            }
            if !recovery.first && pipe >= cwnd {
                return Err(format!("{sent:?} went out with a pipe of {pipe} and a window of {cwnd}"));
            }
            recovery.first = false;
            match sent {
                Named::Again(segment) => recovery.high_rxt = recovery.high_rxt.max(segment + 1),
                Named::Rescue(_) => recovery.rescued = true,
                Named::New(_) => {}
            }
        }
        self.nxt += u64::from(new);
        Ok(())
    }
}

/// A sender, a receiver, and the segments between them.
struct World<R> {
    draw: R,
    loss: u32,
    ends: [Endpoint; 2],
    now: Instant,
    under_way: [VecDeque<(Instant, Segment)>; 2],
    letter: Letter,
    recoveries: u64,
    checked: u64,
}

impl<R: Rng> World<R> {
    fn new(draw: R, loss: u32, config: &Arc<Config>, segments: u64) -> Self {
        let mut sender = Endpoint::connect(config, Ports { local: 1, remote: 2 }, ISS);
        sender.write(Payload::Pattern { offset: 0, len: (segments * SMSS) as u32 });
        let receiver = Endpoint::listen(config, 2, Seq(9));
        let letter = Letter::default();
        let under_way = [VecDeque::new(), VecDeque::new()];
        let ends = [sender, receiver];
        Self { draw, loss, ends, now: Instant::START, under_way, letter, recoveries: 0, checked: 0 }
    }

    fn segment_number(seq: Seq) -> u64 {
        u64::from(seq.since(ISS + 1)) / SMSS
    }

    /// Runs until everything is acknowledged.
    fn run(&mut self, segments: u64) -> Result<(), String> {
        self.send(0)?;
        while self.ends[0].acked() < Bytes(segments * SMSS) {
            let packets = self.under_way.iter().filter_map(|way| way.front()).map(|(at, _)| *at);
            let timers = self.ends.iter().filter_map(Endpoint::poll_timeout);
            self.now = packets.chain(timers).min().ok_or("everything stands still")?.max(self.now);
            self.step()?;
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), String> {
        for to in [0, 1] {
            if self.under_way[to].front().is_some_and(|(at, _)| *at <= self.now) {
                let (_, segment) = self.under_way[to].pop_front().expect("it was just seen");
                return self.arrive(to, segment);
            }
        }
        let timeouts = self.ends[0].timeouts();
        for end in [0, 1] {
            self.ends[end].handle_timeout(self.now);
            if end == 0 && self.ends[0].timeouts() > timeouts && self.letter.nxt > 0 {
                self.letter.on_timeout();
            }
            self.send(end)?;
        }
        Ok(())
    }

    fn arrive(&mut self, to: usize, segment: Segment) -> Result<(), String> {
        let is_ack = to == 0 && !segment.flags.contains(wire::Flags::SYN);
        let ack = Self::segment_number(segment.ack);
        let blocks = segment.options.sack.as_slice().iter();
        let blocks: Vec<(u64, u64)> = blocks
            .map(|block| (Self::segment_number(block.start), Self::segment_number(block.end)))
            .collect();
        self.ends[to].handle_segment(self.now, &segment);
        if is_ack && ack >= self.letter.una {
            self.letter.on_ack(ack, &blocks);
            let in_recovery = self.ends[0].phase() == "fast_recovery";
            if in_recovery != self.letter.recovery.is_some() {
                return Err(format!("at {}: in recovery: {in_recovery}", self.now));
            }
        }
        while self.ends[1].read().is_some() {}
        self.send(to)
    }

    fn send(&mut self, from: usize) -> Result<(), String> {
        while self.ends[from].poll_event().is_some() {}
        loop {
            let ready = !self.ends[0].unsent().is_zero();
            let Some(transmit) = self.ends[from].poll_transmit(self.now) else { break };
            if from == 0 && !transmit.segment.payload.is_empty() {
                self.check_sent(&transmit.segment, transmit.kind, ready)?;
            }
            if self.draw.random_range(0..1000) >= self.loss || self.now < Instant::START + ONE_WAY * 4 {
                self.under_way[1 - from].push_back((self.now + ONE_WAY, transmit.segment));
            }
        }
        if from == 0 { self.check_stopped() } else { Ok(()) }
    }

    fn cwnd(&self) -> u64 {
        self.ends[0].cwnd().0 / SMSS
    }

    fn check_sent(&mut self, segment: &Segment, kind: Kind, ready: bool) -> Result<(), String> {
        let number = Self::segment_number(segment.seq);
        self.recoveries += u64::from(self.letter.recovery.is_some_and(|recovery| recovery.first));
        self.checked += u64::from(self.letter.recovery.is_some());
        let cwnd = self.cwnd();
        self.letter
            .on_sent(number, cwnd, ready)
            .map_err(|wrong| format!("at {}: {wrong} ({kind:?})", self.now))
    }

    /// Nothing that the RFC would send is held back.
    fn check_stopped(&self) -> Result<(), String> {
        let ready = !self.ends[0].unsent().is_zero();
        let (pipe, cwnd) = (self.letter.pipe(), self.cwnd());
        match self.letter.next(ready) {
            Some(named) if pipe < cwnd => {
                Err(format!("at {}: {named:?} should go out: the pipe is {pipe} of {cwnd}", self.now))
            }
            _ => Ok(()),
        }
    }
}

#[test]
fn the_sender_sends_what_rfc_6675_names_and_nothing_else() {
    let profile = json!({
        "mss": "1000 bytes", "recovery": "sack-6675", "ack": "every-segment",
        "congestion": { "reno": { "increase": "per-window" } }, "dsack": false,
        "initial_window": "16 segments", "rto": { "rfc6298": { "min": "200 ms" } },
    });
    let config = config(&profile).unwrap();
    let (mut recoveries, mut checked) = (0, 0);
    let mut failures = vec![];
    for seed in 0..1_500 {
        let loss = [10, 40, 100, 250][seed as usize % 4];
        let segments = 20 + seed % 180;
        let mut world = World::new(Streams::new(seed).stream("loss"), loss, &config, segments);
        if let Err(wrong) = world.run(segments) {
            failures.push(format!("seed {seed}: {wrong}"));
        }
        recoveries += world.recoveries;
        checked += world.checked;
    }
    assert!(
        failures.is_empty(),
        "{} of 1500:\n{}",
        failures.len(),
        failures[..failures.len().min(20)].join("\n")
    );
    assert!(recoveries > 1_000 && checked > 10_000, "only {recoveries} recoveries, {checked} segments");
}

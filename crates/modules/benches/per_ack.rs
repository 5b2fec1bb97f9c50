//! What an ACK costs a congestion control, in nanoseconds of CPU: `cargo bench -p lasthop-modules`.
//!
//! Each algorithm sees the events of a window without a loss: a segment leaves, an ACK of one is observed and opens the
//! window. Ours are boxed as in an endpoint. The module is the test's; with files in C as arguments, those. Prints one
//! JSON line for each figure: the median of [`RUNS`] runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use lasthop_modules::{Library, Mistakes, ModuleControl, compile};
use nix::time::{ClockId, clock_gettime};
use registry::Choice;
use serde_json::Map;
use tcp::congestion::{AckSample, CongestionControl, DeliverySample, LossPhase, Module, SendEvent};
use units::{Bytes, Duration, Instant, Seq};

const RUNS: usize = 9;
const ACKS: u32 = 1_000_000;
const SMSS: Bytes = Bytes(1448);
const RTT: Duration = Duration::from_millis(50);

fn main() {
    for name in ["aimd", "cubic-linux", "bbr"] {
        report(name, || Choice::named(name).expect("it has defaults").build());
    }
    let named: Vec<String> = std::env::args().skip(1).filter(|argument| argument.ends_with(".c")).collect();
    let files = if named.is_empty() { vec!["tests/tcp_aimd.c".to_owned()] } else { named };
    for file in files {
        let library = Arc::new(loaded(&file));
        let mistakes = Arc::new(Mistakes::default());
        report(&file, || Box::new(ModuleControl::new(&library, &mistakes)));
        mistakes.check().expect("the module makes no mistake");
    }
}

fn loaded(file: &str) -> Library {
    let name = file.rsplit('/').next().unwrap_or(file).to_owned();
    let text = std::fs::read_to_string(file).expect("a file in C");
    let module =
        Module { file: file.to_owned(), sources: BTreeMap::from([(name, text)]), ..Module::default() };
    Library::load(&compile(&module).expect("it compiles"), &Map::new()).expect("it loads")
}

fn report(name: &str, build: impl Fn() -> Box<dyn CongestionControl>) {
    let mut runs: Vec<f64> = (0..RUNS).map(|_| nanos_per_ack(build())).collect();
    runs.sort_by(f64::total_cmp);
    println!(
        "{{\"name\": \"modules_ns_per_ack\", \"congestion\": \"{name}\", \"value\": {:.1}}}",
        runs[RUNS / 2]
    );
}

/// A window of a hundred segments; the threshold keeps it there.
fn nanos_per_ack(mut control: Box<dyn CongestionControl>) -> f64 {
    control.start(SMSS, SMSS * 100);
    if let Some(model) = control.path_model() {
        model.on_handshake(RTT);
    }
    control.on_restore(SMSS * 100, SMSS * 100);
    let traits = control.traits();
    let began = cpu_seconds();
    for ack in 0..ACKS {
        let now = Instant::START + RTT + Duration::from_nanos(u64::from(ack) * 100_000);
        step(control.as_mut(), traits, now, ack);
        if ack % 1000 == 0 {
            control.on_restore(SMSS * 100, SMSS * 100);
        }
    }
    (cpu_seconds() - began) * 1e9 / f64::from(ACKS)
}

fn step(control: &mut dyn CongestionControl, traits: tcp::congestion::Traits, now: Instant, ack: u32) {
    let flight = SMSS * 100;
    if traits.observes_sends {
        control.on_sent(&SendEvent {
            now,
            len: SMSS,
            flight,
            retransmission: false,
            application_limited: false,
            advertised: Bytes(1 << 20),
            rto: Duration::from_millis(250),
            busy_until: Instant::START,
        });
    }
    let una = Seq((u64::from(ack + 1) * SMSS.0) as u32);
    let sample = AckSample {
        now,
        acked: SMSS,
        segments: 1,
        flight,
        rtt: Some(RTT),
        newest_rtt: Some(RTT),
        number: una,
        nxt: una + flight.0 as u32,
        ..AckSample::default()
    };
    control.observe(&sample);
    control.on_ack(&sample);
    if traits.observes_deliveries {
        let delivered = SMSS * u64::from(ack + 1);
        let delivery = DeliverySample {
            now,
            newly_delivered: SMSS,
            newly_lost: Bytes::ZERO,
            marked: Bytes::ZERO,
            delivered,
            lost: Bytes::ZERO,
            rate: None,
            rtt: Some(RTT),
            maybe_delayed: false,
            prior_in_flight: flight,
            in_flight: flight,
            application_limited: false,
            phase: LossPhase::Open,
        };
        if let Some(model) = control.path_model() {
            model.on_delivery(&delivery, &[]);
        }
    }
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("every Unix has it");
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}

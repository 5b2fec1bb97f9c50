//! A million connections over bad pipes, on all processors: `soak [COUNT [FIRST]]`. Says how far it is at
//! every hundredth, each failure at once, and fails if there was any.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use testkit::integrity::Ends;

fn main() -> ExitCode {
    let argument = |place: usize| std::env::args().nth(place).and_then(|text| text.parse().ok());
    let (count, first) = (argument(1).unwrap_or(1_000_000), argument(2).unwrap_or(0));
    let ends = Ends::new();
    let (shipped, combined) = ends.counts();
    println!("{count} connections from number {first}: {shipped} profiles, {combined} combinations");
    let (next, wrong) = (AtomicU64::new(0), AtomicU64::new(0));
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| work(&ends, count, first, &next, &wrong));
        }
    });
    let wrong = wrong.into_inner();
    println!("{count} connections, {wrong} failed");
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn work(ends: &Ends, count: u64, first: u64, next: &AtomicU64, wrong: &AtomicU64) {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return;
        }
        if let Err(failure) = ends.run(first + number) {
            wrong.fetch_add(1, Ordering::Relaxed);
            println!("{failure}");
        }
        let step = (count / 100).max(1);
        if (number + 1).is_multiple_of(step) {
            println!("{} % ({} failed)", (number + 1) / step, wrong.load(Ordering::Relaxed));
        }
    }
}

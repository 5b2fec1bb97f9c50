//! What the benches share: CPU time, medians, and figures as `make bench` reads them.
#![allow(dead_code, reason = "each bench takes what it needs")]

use serde_json::json;

/// Medians of fewer say little on a machine that does something else as well.
pub(crate) const RUNS: usize = 5;

/// Prints a figure as `make bench` reads it.
pub(crate) fn print(name: &str, value: f64, unit: &str) {
    println!("{}", json!({ "name": name, "value": value, "unit": unit, "runs": RUNS }));
}

/// The value in the middle.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// CPU time of this process so far, user and system.
pub(crate) fn cpu_seconds() -> f64 {
    let usage = usage();
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// The most memory that this process has had at a time, in MiB.
pub(crate) fn peak_memory_mib() -> f64 {
    // Linux counts in KiB.
    usage().ru_maxrss as f64 / 1024.0
}

fn usage() -> libc::rusage {
    // SAFETY: `rusage` is plain numbers, for which all zeros are a value; the call fills it.
    unsafe {
        let mut usage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    }
}

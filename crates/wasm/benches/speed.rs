//! The core for browsers as a native program, which `benches/wasm.py` compares with WebAssembly: `speed SCENARIO
//! REPETITIONS` runs a scenario with its files and prints the CPU seconds of each run.

use std::fs::read_to_string;

use lasthop_wasm::{Order, run};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo bench` and `cargo test` give options of their own, and no scenario.
    let [scenario, repetitions] = arguments.as_slice() else { return };
    let text = read_to_string(scenario).expect("the first argument is the file of a scenario");
    let repetitions: usize = repetitions.parse().expect("the second argument is a number of repetitions");
    let order = Order { text, ..Order::default() };
    for _ in 0..repetitions {
        let before = cpu_seconds();
        let bytes = run(&order, |_| ()).framed();
        println!("{:.6}", cpu_seconds() - before);
        assert!(bytes.len() > 1000, "the run gave an error: {}", String::from_utf8_lossy(&bytes));
    }
}

/// Seconds that this thread has run: the first number of its schedstat (proc(5)), in nanoseconds.
fn cpu_seconds() -> f64 {
    let text = read_to_string("/proc/thread-self/schedstat").expect("a bench of Linux");
    let nanoseconds = text.split(' ').next().and_then(|number| number.parse::<u64>().ok());
    nanoseconds.expect("schedstat begins with a number") as f64 / 1e9
}

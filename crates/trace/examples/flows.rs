//! Prints the flows of a capture: `cargo run -p lasthop-trace --example flows -- FILE`.

use std::fs::File;
use std::io::BufReader;
use std::process::ExitCode;

use lasthop_trace::capture::{Point, read};
use lasthop_trace::flow::{Flow, Side};

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("which capture?");
        return ExitCode::from(2);
    };
    let opened = File::open(&path).map_err(|error| error.to_string());
    match opened.and_then(|file| wire::capture::open(BufReader::new(file)).map_err(|error| error.to_string()))
    {
        Ok(mut reader) => {
            let (points, error) = read(&mut reader);
            points.iter().for_each(print_point);
            error
                .inspect(|error| eprintln!("{path}: {error}"))
                .map_or(ExitCode::SUCCESS, |_| ExitCode::FAILURE)
        }
        Err(error) => {
            eprintln!("{path}: {error}");
            ExitCode::from(2)
        }
    }
}

fn print_point(point: &Point) {
    println!("at {:?}:", point.interface.name);
    point.capture.flows().iter().for_each(print_flow);
}

fn print_flow(flow: &Flow) {
    println!("  {} and {}", flow.ends()[0], flow.ends()[1]);
    for side in [Side::Opener, Side::Answerer] {
        let half = flow.half(side);
        let elapsed = flow.elapsed(side).map_or(0.0, |elapsed| elapsed.as_secs_f64());
        println!("    {side:?}: {} acknowledged after {elapsed:.6} s, {:?}", half.acked(), half.counters());
    }
}

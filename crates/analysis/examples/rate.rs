//! Reads a capture as `lasthop analyze` does, and prints its rate: `rate FILE`.

use std::fs::File;
use std::process::ExitCode;
use std::time::Instant;

use lasthop_analysis::{Frames, Selection, Survey, open};

#[expect(clippy::disallowed_methods, reason = "a measurement reads the wall clock")]
fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: rate FILE");
        return ExitCode::from(2);
    };
    let began = Instant::now();
    let reader = File::open(&path).map_err(|error| error.to_string());
    let opened = reader.and_then(|file| {
        let bytes = file.metadata().map_or(0, |about| about.len());
        open(file).map(|reader| (reader, bytes)).map_err(|error| error.to_string())
    });
    match opened {
        Ok((reader, bytes)) => {
            let report = Survey::read(Frames::new([reader], Selection::default())).report();
            let seconds = began.elapsed().as_secs_f64();
            let frames: u64 = report.points.iter().map(|point| point.frames).sum();
            let rate = bytes as f64 / seconds / 1e6;
            println!("{frames} frames, {bytes} bytes in {seconds:.3} s: {rate:.0} MB/s");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{path}: {error}");
            ExitCode::from(2)
        }
    }
}

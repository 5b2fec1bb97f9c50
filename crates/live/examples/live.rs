//! Runs a scenario file live and prints its summary: `cargo run --example live -- FILE [COMMAND…]`.
//!
//! The command of the same name in Python does this in a child process, and keeps tables and
//! captures; here is the least that it takes.

use std::path::Path;
use std::process::ExitCode;

use lasthop_live::Options;
use scenario::Search;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let Some(file) = words.next() else {
        eprintln!("usage: live FILE [COMMAND…]");
        return ExitCode::from(2);
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let no_overrides: [&str; 0] = [];
    let loaded = scenario::load(Path::new(&file), &no_overrides, None, &Search::new([root]));
    let (live, spec) = match loaded.and_then(|resolved| Ok((resolved.live.clone(), resolved.to_spec()?))) {
        Ok(both) => both,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let options = Options { command: words.collect(), ..Options::from(&live) };
    match lasthop_live::run(&spec, options) {
        Ok(outcome) => {
            println!("{}", serde_json::to_string_pretty(&outcome.summary).expect("a summary is plain data"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

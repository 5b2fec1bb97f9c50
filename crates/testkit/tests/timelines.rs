//! Every timeline under `scripts/tcp` as a test of its own.

use libtest_mimic::{Arguments, Failed, Trial};
use testkit::timeline::{all, run_file, scripts};

fn main() {
    let folder = scripts();
    let trial = |file: std::path::PathBuf| {
        let name = file.strip_prefix(&folder).unwrap_or(&file).with_extension("").display().to_string();
        Trial::test(name, move || run_file(&file).map_err(|wrong| Failed::from(wrong.to_string())))
    };
    let trials: Vec<Trial> = all().into_iter().map(trial).collect();
    assert!(!trials.is_empty(), "no timelines under {}", folder.display());
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

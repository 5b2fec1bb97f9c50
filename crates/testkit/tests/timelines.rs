//! Every timeline under `scripts/tcp` as a separate test.

use libtest_mimic::{Arguments, Failed, Trial};
use testkit::profile::repository;
use testkit::timeline::{all, run_file, scripts};

fn main() {
    let folder = scripts();
    let trial = |file: std::path::PathBuf| {
        let name = file.strip_prefix(&folder).unwrap_or(&file).with_extension("").display().to_string();
        Trial::test(name, move || run_file(&file).map_err(|wrong| Failed::from(wrong.to_string())))
    };
    let mut trials: Vec<Trial> = all().into_iter().map(trial).collect();
    trials.push(Trial::test("every_timeline_that_the_specification_names_exists", named_ones_exist));
    assert!(!trials.is_empty(), "no timelines under {}", folder.display());
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// `docs/spec/tcp.md` names its tests as `topic/case`; a name may end in a star.
fn named_ones_exist() -> Result<(), Failed> {
    let text = std::fs::read_to_string(repository().join("docs/spec/tcp.md"))?;
    let there: Vec<String> = all()
        .into_iter()
        .filter_map(|file| Some(file.strip_prefix(scripts()).ok()?.with_extension("").display().to_string()))
        .collect();
    let is_topic = |word: &str| word.split_once('/').is_some_and(|(topic, _)| scripts().join(topic).is_dir());
    let exists = |name: &str| match name.strip_suffix('*') {
        Some(start) => there.iter().any(|case| case.starts_with(start)),
        None => there.iter().any(|case| case == name),
    };
    let missing: Vec<&str> = text.split('`').filter(|word| is_topic(word) && !exists(word)).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("not there: {}", missing.join(", ")).into()) }
}

//! The example in C, built by the machine's compiler and run.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where cargo puts liblasthop next to this test.
fn library() -> PathBuf {
    env::current_exe().expect("a path").parent().expect("a folder").to_owned()
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (said, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {error}");
    said.into_owned()
}

#[test]
#[cfg(target_os = "linux")]
fn the_example_in_c_has_the_round_trips_of_the_links() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = env::temp_dir().join(format!("lasthop-echo-{}", std::process::id()));
    run(Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(root.join("crates/capi/include"))
        .arg(root.join("examples/c/echo.c"))
        .arg("-L")
        .arg(library())
        .args(["-llasthop", "-o"])
        .arg(&program));
    let result = program.with_extension("result");
    let said = run(Command::new(&program)
        .arg(root.join("examples/c/path.toml"))
        .arg(&result)
        .env("LD_LIBRARY_PATH", library()));
    let numbers: Vec<f64> = said.split([' ', ',']).filter_map(|word| word.trim().parse().ok()).collect();
    let [sent, returned, round_trip] = numbers[..] else { panic!("{said}") };
    assert!(sent == 200.0 && (160.0..200.0).contains(&returned), "a tenth is lost down: {said}");
    // 36 bytes: 0.288 ms up and 0.029 ms down, and 20 ms each way.
    assert!((round_trip - 40.317).abs() < 0.01, "{said}");
    assert!(result.join("run.json").is_file() && result.join("packets.parquet").is_file());
    std::fs::remove_dir_all(result).expect("it was made here");
    std::fs::remove_file(program).expect("it was made here");
}

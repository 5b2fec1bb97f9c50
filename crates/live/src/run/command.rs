//! Programs of the user in hosts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration as StdDuration;

use linux::process::spawn_contained;

use crate::LiveError;
use crate::run::copies::Copies;
use crate::stop::Stop;

/// A program and its arguments.
#[derive(Clone, Debug)]
pub(crate) struct CommandLine {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) output: Output,
    /// The descriptor that it inherits.
    pub(crate) descriptor: Option<Arc<OwnedFd>>,
}

/// The destination of a program's standard output and standard error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Standard output and standard error of this process.
    Shown,
    /// The standard error of this process, whose standard output belongs to another program. The program has no input.
    ShownAsErrors,
    /// A file. The program has no input.
    Kept(PathBuf),
    /// Both that of this process and a file.
    ShownAndKept(PathBuf),
}

/// Variables that are added to the program's environment.
pub(crate) type Environment = BTreeMap<String, String>;

impl CommandLine {
    /// Runs the program to its exit, or kills it when the run ends first. The calling thread cannot start other threads
    /// afterwards.
    pub(crate) fn run(&self, environment: &Environment, stop: &Stop) -> Result<ExitStatus, LiveError> {
        let failed =
            |source| LiveError::Command { program: self.program.to_string_lossy().into_owned(), source };
        // Its threads must exist before the PID namespace does.
        let mut copies = match &self.output {
            Output::ShownAndKept(file) => Copies::into_file(file).map_err(failed)?,
            _ => Copies::default(),
        };
        let mut child = self.spawn(environment, &mut copies).map_err(failed)?;
        let status = wait_for(&mut child, stop).map_err(failed);
        copies.end();
        status
    }

    fn spawn(&self, environment: &Environment, copies: &mut Copies) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).envs(environment);
        if let Output::Kept(file) = &self.output {
            let file = File::create(file)?;
            command.stdin(Stdio::null()).stderr(file.try_clone()?).stdout(file);
        }
        if self.output == Output::ShownAsErrors {
            command.stdin(Stdio::null()).stdout(io::stderr());
        }
        if let Some([output, errors]) = copies.take_ends() {
            command.stdout(output).stderr(errors);
        }
        spawn_contained(command, self.descriptor.as_deref())
    }
}

fn wait_for(child: &mut Child, stop: &Stop) -> io::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if !stop.wait_for(POLL_INTERVAL) {
            child.kill()?;
            return child.wait();
        }
    }
}

/// Interval at which the program's exit is checked: shorter than a person at a terminal notices.
const POLL_INTERVAL: StdDuration = StdDuration::from_millis(10);

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn shell(script: &str) -> CommandLine {
        CommandLine {
            program: "sh".into(),
            arguments: vec!["-c".into(), script.into()],
            output: Output::Shown,
            descriptor: None,
        }
    }

    /// Runs the command in a thread of its own, to which the PID namespace belongs.
    fn run(command: CommandLine, stop: Stop) -> Result<ExitStatus, LiveError> {
        let environment = Environment::from([("LASTHOP_ADDRESS".to_owned(), "10.0.0.1".to_owned())]);
        thread::spawn(move || command.run(&environment, &stop)).join().unwrap()
    }

    #[test]
    fn the_exit_status_and_the_environment_are_the_programs_own() {
        let status = run(shell("test $LASTHOP_ADDRESS = 10.0.0.1 && exit 7"), Stop::default()).unwrap();
        assert_eq!(status.code(), Some(7));
    }

    #[test]
    fn what_it_writes_is_shown_and_kept() {
        let file = std::env::temp_dir().join(format!("lasthop-output-{}", std::process::id()));
        let output = Output::ShownAndKept(file.clone());
        // A child that outlives the program and keeps its output open does not delay the run.
        let script = "echo said; echo warned >&2; (sleep 1; true) & exit 3";
        let status = run(CommandLine { output, ..shell(script) }, Stop::default()).unwrap();
        assert_eq!(status.code(), Some(3));
        let kept = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(file).unwrap();
        assert!(kept.contains("said\n") && kept.contains("warned\n"), "{kept}");
    }

    #[test]
    fn a_program_that_outlives_the_run_is_killed() {
        let stop = Stop::default();
        stop.stop();
        let status = run(shell("sleep 60"), stop).unwrap();
        assert_eq!(status.code(), None);
    }

    #[test]
    fn a_program_that_does_not_exist_is_named() {
        let missing = CommandLine {
            program: "no-such-program".into(),
            arguments: vec![],
            output: Output::Shown,
            descriptor: None,
        };
        assert!(run(missing, Stop::default()).unwrap_err().to_string().contains("no-such-program"));
    }
}

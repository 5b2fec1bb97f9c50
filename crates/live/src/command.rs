//! A program of the user's inside a host.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration as StdDuration;

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;

use crate::LiveError;
use crate::stop::Stop;

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandLine {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    /// Added to the environment: where the hosts are.
    pub(crate) environment: Vec<(String, String)>,
}

/// How a program ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
}

impl CommandLine {
    /// Runs the program to its end, or kills it when the run is over first.
    pub(crate) fn run(&self, stop: &Stop) -> Result<Ended, LiveError> {
        let failed =
            |source| LiveError::Command { program: self.program.to_string_lossy().into_owned(), source };
        let mut child = self.spawn().map_err(failed)?;
        wait(&mut child, stop).map(|status| Ended { status }).map_err(failed)
    }

    fn spawn(&self) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).envs(self.environment.iter().map(|(name, value)| (name, value)));
        // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
        unsafe { command.pre_exec(|| Ok(set_pdeathsig(Signal::SIGKILL)?)) };
        command.spawn()
    }
}

fn wait(child: &mut Child, stop: &Stop) -> io::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if !stop.wait_for(LOOK_EVERY) {
            child.kill()?;
            return child.wait();
        }
    }
}

/// How soon the end of a program is noticed: below what a person at a terminal feels.
const LOOK_EVERY: StdDuration = StdDuration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> CommandLine {
        CommandLine {
            program: "sh".into(),
            arguments: vec!["-c".into(), script.into()],
            environment: vec![("LASTHOP_ADDRESS".into(), "10.0.0.1".into())],
        }
    }

    #[test]
    fn the_exit_status_and_the_environment_are_the_programs_own() {
        let ended = shell("test $LASTHOP_ADDRESS = 10.0.0.1 && exit 7").run(&Stop::default()).unwrap();
        assert_eq!(ended.status.code(), Some(7));
    }

    #[test]
    fn a_program_that_outlives_the_run_is_killed() {
        let stop = Stop::default();
        stop.stop();
        let ended = shell("sleep 60").run(&stop).unwrap();
        assert_eq!(ended.status.code(), None);
    }

    #[test]
    fn a_program_that_is_not_there_is_said() {
        let missing =
            CommandLine { program: "no-such-program".into(), arguments: vec![], environment: vec![] };
        assert!(missing.run(&Stop::default()).unwrap_err().to_string().contains("no-such-program"));
    }
}

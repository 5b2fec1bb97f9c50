//! A program of the user's inside a host.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration as StdDuration;

use nix::errno::Errno;
use nix::libc;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, wait};
use nix::unistd::{ForkResult, Pid, fork};

use crate::LiveError;
use crate::stop::Stop;

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandLine {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
}

/// Variables added to a program's environment.
pub(crate) type Environment = BTreeMap<String, String>;

/// How a program ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
}

impl CommandLine {
    /// Runs the program to its end, or kills it when the run is over first. The calling thread can
    /// start no other threads afterwards.
    pub(crate) fn run(&self, environment: &Environment, stop: &Stop) -> Result<Ended, LiveError> {
        let failed =
            |source| LiveError::Command { program: self.program.to_string_lossy().into_owned(), source };
        let mut child = self.spawn(environment).map_err(failed)?;
        wait_for(&mut child, stop).map(|status| Ended { status }).map_err(failed)
    }

    fn spawn(&self, environment: &Environment) -> io::Result<Child> {
        // A process namespace dies with its first process, however far the program has spread. It
        // is a matter of tidiness: where it is refused, only the program itself is sure to end.
        let spreads = unshare(CloneFlags::CLONE_NEWPID).is_err();
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).envs(environment);
        // SAFETY: between fork and exec the closure makes system calls only; it allocates nothing
        // and takes no lock. The second fork is of a process with one thread.
        unsafe {
            command.pre_exec(move || if spreads { die_with_parent() } else { put_first_process_between() })
        };
        command.spawn()
    }
}

fn die_with_parent() -> io::Result<()> {
    Ok(set_pdeathsig(Signal::SIGKILL)?)
}

/// In the first process of a new process namespace: stays that process, and goes on as its child.
/// Signals that a program does not handle would not reach it as the first process (signals there
/// are ignored by default, pid_namespaces(7)), and nobody would reap its orphans.
fn put_first_process_between() -> io::Result<()> {
    die_with_parent()?;
    // SAFETY: this process has one thread, so the copy is whole, and both go on with system calls.
    match unsafe { fork() }? {
        ForkResult::Child => die_with_parent(),
        ForkResult::Parent { child } => be_first_process(child),
    }
}

/// Reaps whatever ends, and ends as the program does.
fn be_first_process(program: Pid) -> ! {
    // SAFETY: nothing in this process uses its descriptors any more. The pipe on which the program
    // tells of a failed exec is among them: whoever reads there waits for us too.
    unsafe { libc::close_range(FIRST_AFTER_STANDARD, libc::c_uint::MAX, 0) };
    let status = loop {
        match wait() {
            Ok(WaitStatus::Exited(pid, status)) if pid == program => break status,
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == program => break SIGNALLED + signal as i32,
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => break 1,
        }
    };
    // SAFETY: ends the process without running anything of the parent's that was copied.
    unsafe { libc::_exit(status) }
}

fn wait_for(child: &mut Child, stop: &Stop) -> io::Result<ExitStatus> {
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
/// What a shell adds to a signal's number to make an exit status (POSIX, "Exit Status for Commands").
const SIGNALLED: i32 = 128;
const FIRST_AFTER_STANDARD: libc::c_uint = 3;

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn shell(script: &str) -> CommandLine {
        CommandLine { program: "sh".into(), arguments: vec!["-c".into(), script.into()] }
    }

    /// In a thread of its own, for the process namespace is the thread's.
    fn run(command: CommandLine, stop: Stop) -> Result<Ended, LiveError> {
        let environment = Environment::from([("LASTHOP_ADDRESS".to_owned(), "10.0.0.1".to_owned())]);
        thread::spawn(move || command.run(&environment, &stop)).join().unwrap()
    }

    #[test]
    fn the_exit_status_and_the_environment_are_the_programs_own() {
        let ended = run(shell("test $LASTHOP_ADDRESS = 10.0.0.1 && exit 7"), Stop::default()).unwrap();
        assert_eq!(ended.status.code(), Some(7));
    }

    #[test]
    fn a_program_that_a_signal_ends_gives_the_status_that_a_shell_would() {
        let ended = run(shell("kill -TERM $$"), Stop::default()).unwrap();
        assert!(ended.status.code() == Some(128 + 15) || ended.status.code().is_none(), "{ended:?}");
    }

    #[test]
    fn a_program_that_outlives_the_run_is_killed() {
        let stop = Stop::default();
        stop.stop();
        let ended = run(shell("sleep 60"), stop).unwrap();
        assert_eq!(ended.status.code(), None);
    }

    #[test]
    fn a_program_that_is_not_there_is_said() {
        let missing = CommandLine { program: "no-such-program".into(), arguments: vec![] };
        assert!(run(missing, Stop::default()).unwrap_err().to_string().contains("no-such-program"));
    }
}

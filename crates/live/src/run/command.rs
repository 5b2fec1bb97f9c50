//! The user's program in a host.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration as StdDuration;

use nix::errno::Errno;
use nix::libc;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, wait};
use nix::unistd::{ForkResult, Pid, fork};

use crate::LiveError;
use crate::copies::Copies;
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

/// Where a program's output goes, and what it says on standard error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Where ours goes.
    Shown,
    /// Where our standard error goes: standard output is another program's. It has no input.
    ShownAsErrors,
    /// Into a file. It has no input.
    Kept(PathBuf),
    /// Both where ours goes and into a file.
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
        // Its threads must be there before the PID namespace is.
        let mut copies = Copies::begin(&self.output).map_err(failed)?;
        let mut child = self.spawn(environment, &mut copies).map_err(failed)?;
        let status = wait_for(&mut child, stop).map_err(failed);
        copies.end();
        status
    }

    fn spawn(&self, environment: &Environment, copies: &mut Copies) -> io::Result<Child> {
        // All processes of a PID namespace end with its init process. Where the namespace is refused, only the program
        // itself is sure to end with the run.
        let no_namespace = unshare(CloneFlags::CLONE_NEWPID).is_err();
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
        let inherited = self.descriptor.as_ref().map(|descriptor| descriptor.as_raw_fd());
        let begin = move || {
            inherit(inherited)?;
            if no_namespace { die_with_parent() } else { fork_below_init() }
        };
        // SAFETY: between fork and exec the closure makes system calls only; it allocates nothing
        // and takes no lock. The second fork is of a process with one thread.
        unsafe { command.pre_exec(begin) };
        command.spawn()
    }
}

/// Keeps a descriptor open in the program that is executed.
fn inherit(descriptor: Option<RawFd>) -> io::Result<()> {
    let Some(descriptor) = descriptor else { return Ok(()) };
    // SAFETY: changes a flag of a descriptor that the parent keeps open.
    Errno::result(unsafe { libc::fcntl(descriptor, libc::F_SETFD, 0) })?;
    Ok(())
}

fn die_with_parent() -> io::Result<()> {
    Ok(set_pdeathsig(Signal::SIGKILL)?)
}

/// Called in the init process of a new PID namespace: returns in a child, where the program is executed. As init, the
/// program would not receive signals that it does not handle (pid_namespaces(7)), and would not reap orphans.
fn fork_below_init() -> io::Result<()> {
    die_with_parent()?;
    // SAFETY: this process has one thread, so the copy is whole, and both go on with system calls.
    match unsafe { fork() }? {
        ForkResult::Child => die_with_parent(),
        ForkResult::Parent { child } => run_as_init(child),
    }
}

/// Reaps children until the program exits, and exits with its status.
fn run_as_init(program: Pid) -> ! {
    // SAFETY: nothing in this process uses its descriptors any more. The pipe by which the child reports a failed exec
    // is among them: its reader would wait for this process too.
    unsafe { libc::close_range(FIRST_AFTER_STANDARD, libc::c_uint::MAX, 0) };
    let status = loop {
        match wait() {
            Ok(WaitStatus::Exited(pid, status)) if pid == program => break status,
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == program => break SIGNALLED + signal as i32,
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => break 1,
        }
    };
    // SAFETY: ends the process without running exit handlers copied from the parent.
    unsafe { libc::_exit(status) }
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
/// What a shell adds to a signal's number to make an exit status (POSIX, "Exit Status for Commands").
const SIGNALLED: i32 = 128;
/// The first descriptor after standard input, output and error.
const FIRST_AFTER_STANDARD: libc::c_uint = 3;

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

    /// Runs the command in a thread of its own, which the PID namespace belongs to.
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
        // A child that outlives the program and keeps its output open does not hold the run up.
        let script = "echo said; echo warned >&2; (sleep 1; true) & exit 3";
        let status = run(CommandLine { output, ..shell(script) }, Stop::default()).unwrap();
        assert_eq!(status.code(), Some(3));
        let kept = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(file).unwrap();
        assert!(kept.contains("said\n") && kept.contains("warned\n"), "{kept}");
    }

    #[test]
    fn a_program_that_a_signal_ends_gives_the_status_that_a_shell_would() {
        let status = run(shell("kill -TERM $$"), Stop::default()).unwrap();
        assert!(status.code() == Some(128 + 15) || status.code().is_none(), "{status:?}");
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

//! Programs that end with this process, and descriptors that processes hand to each other.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use nix::errno::Errno;
use nix::libc;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, wait};
use nix::unistd::{ForkResult, Pid, fork};

/// Starts a program whose processes end with it, and which ends with this thread. It inherits `descriptor`. The calling
/// thread cannot start other threads afterwards.
///
/// The program gets a PID namespace, all processes of which end with its init process. Where the kernel refuses the
/// namespace, only the program itself is sure to end with this thread.
///
/// # Errors
/// If the program cannot be started.
pub fn spawn_contained(mut command: Command, descriptor: Option<&OwnedFd>) -> io::Result<Child> {
    let has_namespace = unshare(CloneFlags::CLONE_NEWPID).is_ok();
    let inherited = descriptor.map(AsRawFd::as_raw_fd);
    let begin = move || {
        inherit(inherited)?;
        if has_namespace { fork_below_init() } else { die_with_parent() }
    };
    // SAFETY: between fork and exec the closure makes system calls only; it allocates nothing and takes no lock. The
    // second fork is of a process with one thread.
    unsafe { command.pre_exec(begin) };
    command.spawn()
}

/// Takes ownership of descriptors that this process was given when it was started, by their numbers. Each number may be
/// taken once, and nothing else in this process may own it.
///
/// # Errors
/// If one of them is not open.
pub fn take_over<const COUNT: usize>(numbers: [RawFd; COUNT]) -> io::Result<[OwnedFd; COUNT]> {
    for number in numbers {
        // SAFETY: the call only reads the flags of a number, which need not be open.
        Errno::result(unsafe { libc::fcntl(number, libc::F_GETFD) })?;
    }
    // SAFETY: all are open, and the caller hands them over: nothing else owns them.
    Ok(numbers.map(|number| unsafe { OwnedFd::from_raw_fd(number) }))
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
    // SAFETY: this process has one thread, so the copy is whole, and both processes make only system calls from here
    // on.
    match unsafe { fork() }? {
        ForkResult::Child => die_with_parent(),
        ForkResult::Parent { child } => run_as_init(child),
    }
}

/// Reaps children until the program exits, and exits with its status.
fn run_as_init(program: Pid) -> ! {
    // SAFETY: nothing in this process uses its descriptors any more. The pipe by which the child reports a failed exec
    // is among them: its reader would wait for this process too. As a system call, because musl has no function for it.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST_AFTER_STANDARD, libc::c_uint::MAX, 0) };
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

/// A shell's exit status of a program that a signal ended, less the number of the signal (POSIX, "Exit Status for
/// Commands").
pub const SIGNALLED: i32 = 128;
/// The first descriptor after standard input, output and error.
const FIRST_AFTER_STANDARD: libc::c_uint = 3;

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::IntoRawFd;
    use std::process::{ExitStatus, Stdio};
    use std::thread;

    use super::*;

    /// Runs a script in a thread of its own, to which the PID namespace belongs.
    fn run(script: &'static str) -> ExitStatus {
        let run = || {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdout(Stdio::null());
            spawn_contained(command, None).unwrap().wait().unwrap()
        };
        thread::spawn(run).join().unwrap()
    }

    #[test]
    fn the_exit_status_is_the_programs_own() {
        assert_eq!(run("exit 7").code(), Some(7));
    }

    #[test]
    fn a_program_that_a_signal_ends_has_the_status_that_a_shell_would_give() {
        let status = run("kill -TERM $$");
        assert!(status.code() == Some(SIGNALLED + 15) || status.code().is_none(), "{status:?}");
    }

    #[test]
    fn a_program_inherits_the_descriptor_and_what_is_written_to_it_arrives() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let writer = OwnedFd::from(writer);
        let script = format!("echo said >&{}", writer.as_raw_fd());
        let run = move || {
            let mut command = Command::new("bash");
            command.args(["-c", &script]);
            spawn_contained(command, Some(&writer)).unwrap().wait().unwrap()
        };
        assert!(thread::spawn(run).join().unwrap().success());
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "said\n");
    }

    #[test]
    fn a_number_that_is_not_open_is_not_taken_over() {
        assert!(take_over([1 << 30]).is_err());
        let number = File::open("/dev/zero").unwrap().into_raw_fd();
        let [taken] = take_over([number]).unwrap();
        let mut byte = [1];
        File::from(taken).read_exact(&mut byte).unwrap();
        assert_eq!(byte, [0]);
    }
}

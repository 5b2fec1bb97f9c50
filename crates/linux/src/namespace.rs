//! Network namespaces without names. Each lives as long as the threads and devices in it, so nothing remains, however
//! the process ends.

use std::fs::{self, File};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::libc;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::unistd::{getegid, geteuid, getpid, gettid};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::route::{Interface, RouteSocket};

/// The privilege by which the process makes network namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Privilege {
    /// The process has CAP_SYS_ADMIN.
    #[serde(rename = "privilege")]
    Capability,
    /// The process is root in a user namespace of its own (user_namespaces(7)).
    UserNamespace,
    /// The process makes none: every host has a stack in this process.
    NotNeeded,
}

/// Obtains the privilege to make network namespaces. A process without CAP_SYS_ADMIN moves to a user namespace, which
/// the kernel permits only while it has one thread.
///
/// # Errors
/// If the kernel refuses the user namespace.
pub fn obtain_privilege() -> io::Result<Privilege> {
    if is_privileged() {
        return Ok(Privilege::Capability);
    }
    let (uid, gid) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER)?;
    // The kernel maps a group without privilege only after setgroups(2) is denied (user_namespaces(7)).
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {gid} 1"))?;
    Ok(Privilege::UserNamespace)
}

/// Moves this thread, and the threads that it starts later, to a new network namespace.
///
/// # Errors
/// If the kernel refuses it.
pub fn enter_new_network() -> io::Result<()> {
    Ok(unshare(CloneFlags::CLONE_NEWNET)?)
}

/// Moves this thread to an existing network namespace.
///
/// # Errors
/// If the file is no network namespace, or the kernel refuses it.
pub fn enter_network(namespace: &File) -> io::Result<()> {
    Ok(setns(namespace, CloneFlags::CLONE_NEWNET)?)
}

/// Returns the file of this thread's network namespace: nsenter(1) can enter it by this path.
#[must_use]
pub fn network_path() -> String {
    format!("/proc/{}/task/{}/ns/net", getpid(), gettid())
}

/// Sets up the loopback interface of this thread's network namespace.
///
/// # Errors
/// If the kernel refuses it.
pub fn set_up_loopback() -> Result<(), Error> {
    RouteSocket::open()?.up(Interface::loopback()?)
}

/// Gives this thread, and the programs that it starts, an /etc/resolv.conf that names `server`, in a mount namespace of
/// its own.
///
/// # Errors
/// If the kernel refuses the namespace or the mount.
pub fn enter_resolver(server: Ipv4Addr) -> io::Result<()> {
    const NOTHING: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(NOTHING, "/", NOTHING, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NOTHING)?;
    let file = std::env::temp_dir().join(format!("lasthop-resolv-{}-{}", getpid(), gettid()));
    fs::write(&file, format!("nameserver {server}\n"))?;
    let mounted = mount(Some(&file), RESOLVER_FILE, NOTHING, MsFlags::MS_BIND, NOTHING);
    // What is mounted remains without its name.
    fs::remove_file(&file)?;
    Ok(mounted?)
}

/// Checks whether network namespaces can be made, by making one in a child process that ends at once.
///
/// # Errors
/// If the kernel refuses it.
pub fn possible() -> io::Result<Privilege> {
    let (privilege, kinds) = match is_privileged() {
        true => (Privilege::Capability, CloneFlags::CLONE_NEWNET),
        false => (Privilege::UserNamespace, CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWUSER),
    };
    let mut child = Command::new("true");
    child.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe { child.pre_exec(move || Ok(unshare(kinds)?)) };
    match child.status() {
        // The namespaces were made; only the program "true" is missing.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(privilege),
        Err(error) => Err(error),
        Ok(_) => Ok(privilege),
    }
}

/// Returns the number of this thread's network namespace, which no later one has (SO_NETNS_COOKIE, Linux 5.14).
///
/// # Errors
/// If the kernel refuses the call.
pub fn network_cookie() -> io::Result<u64> {
    const SO_NETNS_COOKIE: libc::c_int = 71;
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    let mut cookie = 0_u64;
    let mut length = size_of::<u64>() as libc::socklen_t;
    // SAFETY: `cookie` is writable for `length` bytes, and the kernel writes no more than that.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    };
    Errno::result(result)?;
    Ok(cookie)
}

/// Returns whether this thread has CAP_SYS_ADMIN. It is read from /proc and not tried out in another thread: that
/// thread would still count for a moment after its end, and the kernel would refuse the user namespace.
fn is_privileged() -> bool {
    const CAP_SYS_ADMIN: u32 = 21;
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    effective_capabilities(&status) >> CAP_SYS_ADMIN & 1 == 1
}

/// Reads the effective capabilities from a thread's status (proc_pid_status(5)): a bit for each, by its number
/// (capabilities(7); include/uapi/linux/capability.h).
pub(crate) fn effective_capabilities(status: &str) -> u64 {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0)
}

/// The file that names this machine's resolvers (resolv.conf(5)).
pub const RESOLVER_FILE: &str = "/etc/resolv.conf";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::in_new_network;

    #[test]
    fn a_new_namespace_has_a_loopback_of_its_own_and_another_number() {
        let outside = network_cookie().unwrap();
        in_new_network(|| {
            assert_ne!(network_cookie().unwrap(), outside);
            assert!(std::net::TcpListener::bind("127.0.0.1:0").is_ok());
            let connect = || {
                let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
                std::net::TcpStream::connect(listener.local_addr()?)
            };
            assert!(connect().is_err());
            set_up_loopback().unwrap();
            assert!(connect().is_ok());
        });
        assert_eq!(network_cookie().unwrap(), outside);
    }

    #[test]
    fn a_namespace_is_entered_by_its_path() {
        in_new_network(|| {
            let (file, number) = (File::open(network_path()).unwrap(), network_cookie().unwrap());
            enter_new_network().unwrap();
            assert_ne!(network_cookie().unwrap(), number);
            enter_network(&file).unwrap();
            assert_eq!(network_cookie().unwrap(), number);
        });
    }

    #[test]
    fn capabilities_are_read_from_the_status_of_a_thread() {
        assert_eq!(effective_capabilities("Name:\tlasthop\nCapEff:\t0000000000200000\n") >> 21 & 1, 1);
        assert_eq!(effective_capabilities(""), 0);
    }
}

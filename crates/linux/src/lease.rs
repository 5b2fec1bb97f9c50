//! Forwarding, a setting of an interface outside our namespaces: taken while a shell or a router needs it, and given back.
//!
//! Who holds it stands in a file under [`FOLDER`], with the value that it had before. The last holder restores it. A
//! holder that was killed is found by the next run, and by `lasthop doctor`: [`give_back_left`].

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// The variable that tells a program in a shell its namespace's cookie: what is set there ends with it.
pub(crate) const OWN_NAMESPACE: &str = "LASTHOP_NETNS_COOKIE";

/// The forwarding of an interface, on until this is dropped.
#[derive(Debug)]
pub(crate) struct Forwarding {
    file: PathBuf,
    interface: String,
}

impl Forwarding {
    /// Sees to it that packets which come in by an interface are forwarded. Returns nothing where they are already, or
    /// where the namespace is a shell's, whose settings end with it.
    pub(crate) fn take(interface: &str) -> io::Result<Option<Self>> {
        if in_namespace_of_a_shell() {
            return set(interface, ON).map(|()| None);
        }
        give_back_left();
        Self::take_in(Path::new(FOLDER), interface)
    }

    fn take_in(folder: &Path, interface: &str) -> io::Result<Option<Self>> {
        fs::create_dir_all(folder)?;
        let file = folder.join(format!("{}-{interface}", namespace_cookie()?));
        let mut record = Record::open(&file)?;
        if record.holders.is_empty() {
            record.before = get(interface)?;
        }
        if record.before == ON {
            fs::remove_file(&file)?;
            return Ok(None);
        }
        record.holders.push(Holder::this()?);
        record.write()?;
        let taken = Self { file, interface: interface.to_owned() };
        set(interface, ON)?;
        Ok(Some(taken))
    }

    /// What is changed, in words.
    pub(crate) fn name(&self) -> String {
        format!("net.ipv4.conf.{}.forwarding", self.interface)
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        let given_back = Record::open(&self.file).and_then(|mut record| {
            record.holders.retain(|holder| holder.process != process::id());
            record.settle(&self.interface)
        });
        // The file says what is to be restored: `lasthop doctor` tries again.
        let _ = given_back;
    }
}

/// Restores what killed processes have left on in this network namespace. Returns what it was.
pub(crate) fn give_back_left() -> Vec<String> {
    give_back_left_in(Path::new(FOLDER))
}

fn give_back_left_in(folder: &Path) -> Vec<String> {
    let Ok(cookie) = namespace_cookie() else { return Vec::new() };
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let of_this = files.filter_map(|file| {
        let name = file.file_name()?.to_str()?.to_owned();
        let interface = name.strip_prefix(&format!("{cookie}-"))?.to_owned();
        Some((file, interface))
    });
    of_this.filter_map(|(file, interface)| give_back(&file, &interface)).collect()
}

/// Restores an interface's forwarding if nobody that holds it lives.
fn give_back(file: &Path, interface: &str) -> Option<String> {
    let mut record = Record::open(file).ok()?;
    let left = record.holders.is_empty();
    record.settle(interface).ok()?;
    left.then(|| format!("net.ipv4.conf.{interface}.forwarding"))
}

/// The file of an interface, locked: its value before, and who lives and needs it.
struct Record {
    file: Flock<File>,
    path: PathBuf,
    before: String,
    holders: Vec<Holder>,
}

impl Record {
    /// Opens the file, or makes it; holders that do not live any more are left out.
    fn open(path: &Path) -> io::Result<Self> {
        let mut file = open_locked(path)?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let mut lines = text.lines();
        let before = lines.next().unwrap_or(OFF).to_owned();
        let holders = lines.filter_map(Holder::parse).filter(Holder::lives).collect();
        Ok(Self { file, path: path.to_owned(), before, holders })
    }

    fn write(&mut self) -> io::Result<()> {
        let holders: String = self.holders.iter().map(Holder::line).collect();
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(format!("{}\n{holders}", self.before).as_bytes())
    }

    /// Keeps the record as long as somebody needs the setting; otherwise restores it and removes the file.
    fn settle(&mut self, interface: &str) -> io::Result<()> {
        if !self.holders.is_empty() {
            return self.write();
        }
        match set(interface, &self.before) {
            // The interface is gone, and its setting with it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => result?,
        }
        fs::remove_file(&self.path)
    }
}

/// Opens and locks a file that its last holder may be about to remove.
fn open_locked(path: &Path) -> io::Result<Flock<File>> {
    loop {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let file = Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| error)?;
        let same =
            fs::metadata(path).is_ok_and(|there| file.metadata().is_ok_and(|ours| there.ino() == ours.ino()));
        if same {
            return Ok(file);
        }
    }
}

/// A process, told from a later one with its number by the time of its start.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Holder {
    process: u32,
    started: String,
}

impl Holder {
    fn this() -> io::Result<Self> {
        let process = process::id();
        let started = start_of(process).ok_or_else(|| io::Error::other("/proc is not there"))?;
        Ok(Self { process, started })
    }

    fn parse(line: &str) -> Option<Self> {
        let (process, started) = line.split_once(' ')?;
        Some(Self { process: process.parse().ok()?, started: started.to_owned() })
    }

    fn line(&self) -> String {
        format!("{} {}\n", self.process, self.started)
    }

    fn lives(&self) -> bool {
        start_of(self.process).as_ref() == Some(&self.started)
    }
}

/// When a process started: field 22 of its line, 20 behind the name (proc_pid_stat(5)).
fn start_of(process: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let behind_name = &stat[stat.rfind(')')? + 2..];
    behind_name.split(' ').nth(19).map(str::to_owned)
}

/// Whether this namespace is that of a shell that this process runs in.
fn in_namespace_of_a_shell() -> bool {
    let own = std::env::var(OWN_NAMESPACE).ok();
    own.is_some() && own == namespace_cookie().ok().map(|cookie| cookie.to_string())
}

/// The number of this thread's network namespace, which no later one has (SO_NETNS_COOKIE, Linux 5.14).
pub(crate) fn namespace_cookie() -> io::Result<u64> {
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

fn get(interface: &str) -> io::Result<String> {
    Ok(fs::read_to_string(setting(interface))?.trim().to_owned())
}

/// Sets the forwarding of an interface of this thread's namespace.
pub(crate) fn set(interface: &str, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(setting(interface))?.write_all(value.as_bytes())
}

fn setting(interface: &str) -> PathBuf {
    PathBuf::from(format!("/proc/sys/net/ipv4/conf/{interface}/forwarding"))
}

/// Forwarding is on.
pub(crate) const ON: &str = "1";
const OFF: &str = "0";
/// Where records stand: it is emptied when the machine starts, as settings are.
const FOLDER: &str = "/run/lasthop";

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("lasthop-lease-{name}-{}", process::id()))
    }

    #[test]
    fn a_process_is_known_by_its_number_and_its_start() {
        let own = Holder::this().unwrap();
        assert!(own.lives());
        assert_eq!(Holder::parse(own.line().trim()), Some(own.clone()));
        assert!(!Holder { started: "1".into(), ..own }.lives());
    }

    #[test]
    fn a_record_forgets_those_that_do_not_live() {
        let folder = folder("forgets");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("record");
        fs::write(&file, format!("0\n4194303 12\n{}", Holder::this().unwrap().line())).unwrap();
        assert_eq!(Record::open(&file).unwrap().holders, [Holder::this().unwrap()]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_a_killed_process_left_is_given_back_and_its_file_removed() {
        let folder = folder("left");
        fs::create_dir_all(&folder).unwrap();
        // An interface that is gone: nothing is there to be set.
        let file = folder.join(format!("{}-no-such", namespace_cookie().unwrap()));
        fs::write(&file, "0\n4194303 12\n").unwrap();
        assert_eq!(give_back_left_in(&folder), ["net.ipv4.conf.no-such.forwarding"]);
        assert!(!file.exists());
        fs::remove_dir_all(folder).unwrap();
    }
}

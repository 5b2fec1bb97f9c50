//! The setting "forwarding" of an interface outside our namespaces: switched on while a shell or a router needs it, and
//! restored afterwards.
//!
//! A file under [`FOLDER`] names the processes that hold the setting, and the value that it had before. The last holder
//! restores it. The next run, and `lasthop doctor`, find a holder that was killed: [`restore_left`].

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;

use nix::fcntl::{Flock, FlockArg};

use crate::namespace::network_cookie;

/// The environment variable by which a program in a shell knows the number of its namespace: settings there end with
/// it.
pub const OWN_NAMESPACE: &str = "LASTHOP_NETNS_COOKIE";

/// The forwarding of an interface, on until this is dropped.
#[derive(Debug)]
pub struct Forwarding {
    file: PathBuf,
    interface: String,
}

impl Forwarding {
    /// Switches on the forwarding of packets that come in by an interface. Returns `None` where it is on already, or
    /// where the namespace is a shell's, whose settings end with it.
    ///
    /// # Errors
    /// If the interface does not exist, or a file cannot be written.
    pub fn take(interface: &str) -> io::Result<Option<Self>> {
        if in_namespace_of_a_shell() {
            return switch_on(interface).map(|()| None);
        }
        restore_left();
        Self::take_in(Path::new(FOLDER), interface)
    }

    fn take_in(folder: &Path, interface: &str) -> io::Result<Option<Self>> {
        fs::create_dir_all(folder)?;
        let file = folder.join(format!("{}-{interface}", network_cookie()?));
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
        switch_on(interface)?;
        Ok(Some(taken))
    }

    /// Returns the name of the setting.
    #[must_use]
    pub fn name(&self) -> String {
        format!("net.ipv4.conf.{}.forwarding", self.interface)
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        let restored = Record::open(&self.file).and_then(|mut record| {
            record.holders.retain(|holder| holder.process != process::id());
            record.settle(&self.interface)
        });
        // The file says what is to be restored: `lasthop doctor` tries again.
        let _ = restored;
    }
}

/// Restores the settings that killed processes have left on in this network namespace. Returns their names.
pub fn restore_left() -> Vec<String> {
    restore_left_in(Path::new(FOLDER))
}

fn restore_left_in(folder: &Path) -> Vec<String> {
    let Ok(cookie) = network_cookie() else { return Vec::new() };
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let of_this = files.filter_map(|file| {
        let name = file.file_name()?.to_str()?.to_owned();
        let interface = name.strip_prefix(&format!("{cookie}-"))?.to_owned();
        Some((file, interface))
    });
    of_this.filter_map(|(file, interface)| restore(&file, &interface)).collect()
}

/// Restores an interface's forwarding if no holder of it lives.
fn restore(file: &Path, interface: &str) -> Option<String> {
    let mut record = Record::open(file).ok()?;
    let left = record.holders.is_empty();
    record.settle(interface).ok()?;
    left.then(|| format!("net.ipv4.conf.{interface}.forwarding"))
}

/// The file of an interface, locked: the value of the setting before, and its living holders.
struct Record {
    file: Flock<File>,
    path: PathBuf,
    before: String,
    holders: Vec<Holder>,
}

impl Record {
    /// Opens the file, or makes it. Leaves out holders that no longer live.
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

    /// Keeps the record while it has a holder; otherwise restores the setting and removes the file.
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

/// A process. The time of its start distinguishes it from a later process with the same number.
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

/// Returns the time at which a process started: field 22 of its line, the 20th after the name (proc_pid_stat(5)).
fn start_of(process: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let after_name = &stat[stat.rfind(')')? + 2..];
    after_name.split(' ').nth(19).map(str::to_owned)
}

/// Returns whether this namespace is that of a shell in which this process runs.
fn in_namespace_of_a_shell() -> bool {
    let own = std::env::var(OWN_NAMESPACE).ok();
    own.is_some() && own == network_cookie().ok().map(|cookie| cookie.to_string())
}

fn get(interface: &str) -> io::Result<String> {
    Ok(fs::read_to_string(setting(interface))?.trim().to_owned())
}

/// Switches on the forwarding of an interface of this thread's namespace, for as long as the interface exists.
///
/// # Errors
/// If the interface does not exist, or the file cannot be written.
pub fn switch_on(interface: &str) -> io::Result<()> {
    set(interface, ON)
}

fn set(interface: &str, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(setting(interface))?.write_all(value.as_bytes())
}

fn setting(interface: &str) -> PathBuf {
    PathBuf::from(format!("/proc/sys/net/ipv4/conf/{interface}/forwarding"))
}

const ON: &str = "1";
const OFF: &str = "0";
/// The folder of the records. The machine empties it when it starts, and resets its settings as well.
const FOLDER: &str = "/run/lasthop";

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("lasthop-forwarding-{name}-{}", process::id()))
    }

    #[test]
    fn a_process_is_known_by_its_number_and_its_start() {
        let own = Holder::this().unwrap();
        assert!(own.lives());
        assert_eq!(Holder::parse(own.line().trim()), Some(own.clone()));
        assert!(!Holder { started: "1".into(), ..own }.lives());
    }

    #[test]
    fn a_record_forgets_processes_that_no_longer_live() {
        let folder = folder("forgets");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("record");
        fs::write(&file, format!("0\n4194303 12\n{}", Holder::this().unwrap().line())).unwrap();
        assert_eq!(Record::open(&file).unwrap().holders, [Holder::this().unwrap()]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_a_killed_process_left_is_restored_and_its_file_removed() {
        let folder = folder("left");
        fs::create_dir_all(&folder).unwrap();
        // An interface that is gone: nothing is there to be set.
        let file = folder.join(format!("{}-no-such", network_cookie().unwrap()));
        fs::write(&file, "0\n4194303 12\n").unwrap();
        assert_eq!(restore_left_in(&folder), ["net.ipv4.conf.no-such.forwarding"]);
        assert!(!file.exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn forwarding_stays_on_until_its_last_holder_ends() {
        crate::testing::in_new_network(|| {
            let folder = folder("holders");
            set("lo", OFF).unwrap();
            let taken = Forwarding::take_in(&folder, "lo").unwrap();
            let is_on = || get("lo").unwrap() == ON;
            assert_eq!(taken.as_ref().map(Forwarding::name), Some("net.ipv4.conf.lo.forwarding".to_owned()));
            assert!(is_on());
            drop(taken);
            assert!(!is_on());
            let _ = fs::remove_dir_all(folder);
        });
    }
}

//! A program behind an emulated link.
//!
//! The program runs in a network namespace with one device. The far end of the links is a second device: in the caller's
//! network namespace, where root allows it, with a way out by address translation; otherwise in a namespace of our own,
//! outside of the links and empty but for what `outside` runs there.
//!
//! Shells nest: the caller's namespace is then that of the outer shell's program.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::mpsc::{self, channel};
use std::thread::{self, JoinHandle};

use sim::Spec;
use units::Duration;

use crate::LiveError;
use crate::channel::{ReportReceiver, ReportSender, report_channel};
use crate::clock::Clock;
use crate::command::{CommandLine, Environment};
use crate::device::{self, Ends};
use crate::doctor::obstacles;
use crate::forwarding::Forwarder;
use crate::lateness::{Lateness, LatenessRecorder, TAINTED_FROM};
use crate::lease::{self, Forwarding};
use crate::listening::{listeners, wait_for_listener};
use crate::namespace::{self, Right};
use crate::nat::Masquerade;
use crate::netlink::{Interface, Netlink};
use crate::options::Progress;
use crate::passage::Passage;
use crate::resolver::{Relay, Resolver};
use crate::scheduling::Priority;
use crate::stop::Stop;
use crate::sysctl::{self, Sysctls};
use crate::tun::Tun;

/// What a shell runs, and whom it tells.
pub struct ShellOptions<'a> {
    /// The program behind the links, and its arguments.
    pub command: Vec<OsString>,
    /// A program at the far end, and its arguments; none if empty. It is ended with the shell.
    pub outside: Vec<OsString>,
    /// What the links are called, for the program.
    pub name: String,
    /// Is told what is set up, changed on the machine and taken back, line by line.
    pub announce: &'a mut dyn FnMut(&str),
    /// The progress callback.
    pub progress: Option<Progress<'a>>,
}

/// How a shell ended.
#[derive(Clone, Debug, PartialEq)]
pub struct ShellOutcome {
    /// The program's exit status; 128 and the signal's number where a signal ended it.
    pub status: i32,
    /// How late packets were delivered.
    pub lateness: Lateness,
}

/// Runs a program behind the links of `spec`, which has two hosts: the outside, then the inside.
///
/// Call it in a process that has one thread: without privilege the process moves into a user namespace and stays there.
///
/// # Errors
/// If this machine does not allow it, a program cannot be started, or a system call fails.
pub fn shell(spec: &Spec, mut options: ShellOptions<'_>) -> Result<ShellOutcome, LiveError> {
    let missing = obstacles(None, &Sysctls::new());
    if !missing.is_empty() {
        return Err(LiveError::CannotStart(missing));
    }
    let passage = Passage::new(spec)?;
    let place = Place::obtain()?;
    let ends = Ends::free().map_err(failed("outside", "find free addresses"))?;
    let mtu = device::mtu(spec);
    let outside = device::far_end(&ends, mtu).map_err(failed("outside", "make its device"))?;
    let stop = Arc::new(Stop::default());
    let (sender, reports) = report_channel().map_err(LiveError::Wait)?;
    let resolver = Resolver::on_loopback().filter(|_| matches!(place, Place::Caller));
    let settings = Settings { ends: ends.clone(), mtu, names_resolver: resolver.is_some() };
    let inside = Inside::set_up(settings, &options, Arc::clone(&stop), sender.clone())?;
    let way_out = WayOut::open(&place, &ends, resolver.as_ref(), &mut *options.announce);
    let outside_program = OutsideProgram::start(&mut options, &ends, &stop, &sender, &reports)?;
    let clock = Clock::start();
    let priority = Priority::raise();
    let Inside { tun, start, thread } = inside;
    let mut forwarder = Forwarder::new(passage, clock, [outside, tun], LatenessRecorder::new(TAINTED_FROM));
    (options.announce)(&introduction(&options.name, &ends, &place));
    let _ = start.send(environment(&options.name, &ends));
    let ended = drive(&mut forwarder, &reports, &mut options);
    drop(priority);
    stop.stop();
    drop(start);
    let _ = thread.join();
    drop(outside_program);
    way_out.close(&mut *options.announce);
    let (status, lateness) = (status_of(ended?), forwarder.lateness.summary());
    if lateness.tainted {
        (options.announce)(&late(&lateness));
    }
    Ok(ShellOutcome { status, lateness })
}

fn late(lateness: &Lateness) -> String {
    let Lateness { misses, releases, bound_ms, max_ms, .. } = lateness;
    format!("{misses} of {releases} packets were delivered over {bound_ms} ms late, at most {max_ms:.1} ms")
}

/// What the threads of a shell report.
enum Report {
    /// The program behind the links has ended.
    Exited(ExitStatus),
    /// The program outside has ended.
    OutsideExited(ExitStatus),
}

type Reports = ReportSender<Result<Report, LiveError>>;

/// Forwards until the program ends. What waits on the links then is lost.
fn drive(
    forwarder: &mut Forwarder,
    reports: &ReportReceiver<Result<Report, LiveError>>,
    options: &mut ShellOptions<'_>,
) -> Result<ExitStatus, LiveError> {
    loop {
        while let Some(report) = reports.try_recv() {
            match report? {
                Report::Exited(status) => return Ok(status),
                Report::OutsideExited(status) => (options.announce)(&outside_ended(status)),
            }
        }
        let now = forwarder.clock.now();
        if options.progress.as_mut().is_some_and(|callback| callback(now).is_break()) {
            return Err(LiveError::Interrupted);
        }
        forwarder.run(reports, now + PROGRESS_EVERY).map_err(LiveError::Wait)?;
    }
}

/// Where the far end is.
enum Place {
    /// In the caller's network namespace.
    Caller,
    /// In a network namespace of our own.
    Own,
}

impl Place {
    fn obtain() -> Result<Self, LiveError> {
        if namespace::obtain_right().map_err(LiveError::UserNamespace)? == Right::Privilege {
            return Ok(Self::Caller);
        }
        let made = namespace::enter_new_network().and_then(|()| {
            sysctl::set_defaults();
            Netlink::open()?.up(Interface::named("lo")?)
        });
        made.map_err(failed("outside", "make a network namespace"))?;
        Ok(Self::Own)
    }
}

fn introduction(name: &str, ends: &Ends, place: &Place) -> String {
    let far = match place {
        Place::Caller => "where you called from",
        Place::Own => "a network of its own, since the way out of here takes root",
    };
    format!("behind {name}: {} is here, {} is {far}", ends.inside, ends.outside)
}

/// The variables of the program behind the links.
fn environment(name: &str, ends: &Ends) -> Environment {
    let gateway = ends.outside.to_string();
    // In a shell within a shell the outermost far end is known already.
    let outside = std::env::var("LASTHOP_OUTSIDE").unwrap_or_else(|_| gateway.clone());
    let links =
        std::env::var("LASTHOP_LINK").map_or_else(|_| name.to_owned(), |outer| format!("{outer}, {name}"));
    BTreeMap::from([
        ("LASTHOP_ADDRESS".to_owned(), ends.inside.to_string()),
        ("LASTHOP_PEER".to_owned(), gateway.clone()),
        ("LASTHOP_GATEWAY".to_owned(), gateway),
        ("LASTHOP_OUTSIDE".to_owned(), outside),
        ("LASTHOP_LINK".to_owned(), links),
    ])
}

/// How the namespace of the program is set up.
struct Settings {
    ends: Ends,
    mtu: u32,
    /// Whether it has the far end as its resolver.
    names_resolver: bool,
}

/// The namespace of the program, in a thread of its own that waits for the start.
struct Inside {
    tun: Tun,
    start: mpsc::Sender<Environment>,
    thread: JoinHandle<()>,
}

impl Inside {
    fn set_up(
        settings: Settings,
        options: &ShellOptions<'_>,
        stop: Arc<Stop>,
        reports: Reports,
    ) -> Result<Self, LiveError> {
        let command = command_line(&options.command)
            .ok_or_else(|| failed("inside", "find a program")(io::ErrorKind::InvalidInput.into()))?;
        let (ready, prepared) = channel();
        let (start, started) = channel::<Environment>();
        let run = move || match enter(&settings) {
            Err(error) => drop(ready.send(Err(error))),
            Ok((tun, cookie)) => {
                let _ = ready.send(Ok(tun));
                if let Ok(mut environment) = started.recv() {
                    environment.insert(lease::OWN_NAMESPACE.to_owned(), cookie.to_string());
                    reports.send(command.run(&environment, &stop).map(Report::Exited));
                }
            }
        };
        let thread = thread::Builder::new()
            .name("inside".into())
            .spawn(run)
            .map_err(failed("inside", "start its thread"))?;
        let died = |_| failed("inside", "set up its namespace")(io::Error::other("its thread died"));
        let tun = prepared.recv().map_err(died)??;
        Ok(Self { tun, start, thread })
    }
}

/// Moves this thread to the namespace of the program. Returns its device and the namespace's cookie.
fn enter(settings: &Settings) -> Result<(Tun, u64), LiveError> {
    namespace::enter_new_network().map_err(failed("inside", "make a network namespace"))?;
    sysctl::set_defaults();
    let tun = device::near_end(&settings.ends, settings.mtu).map_err(failed("inside", "make its device"))?;
    if settings.names_resolver {
        Resolver::enter(settings.ends.outside).map_err(failed("inside", "name its resolver"))?;
    }
    let cookie = lease::namespace_cookie().map_err(failed("inside", "read its cookie"))?;
    Ok((tun, cookie))
}

/// The program at the far end.
struct OutsideProgram {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl OutsideProgram {
    /// Starts it, and waits until it listens on a port, has ended, or some seconds have passed.
    fn start(
        options: &mut ShellOptions<'_>,
        ends: &Ends,
        stop: &Arc<Stop>,
        reports: &Reports,
        ended: &ReportReceiver<Result<Report, LiveError>>,
    ) -> Result<Self, LiveError> {
        let Some(command) = command_line(&options.outside) else {
            return Ok(Self { stop: Arc::clone(stop), thread: None });
        };
        let environment = BTreeMap::from([
            ("LASTHOP_ADDRESS".to_owned(), ends.outside.to_string()),
            ("LASTHOP_PEER".to_owned(), ends.inside.to_string()),
        ]);
        let before = listeners();
        let (own, reports) = (Arc::clone(stop), reports.clone());
        let run = move || reports.send(command.run(&environment, &own).map(Report::OutsideExited));
        let thread = thread::Builder::new()
            .name("outside".into())
            .spawn(run)
            .map_err(failed("outside", "start its thread"))?;
        let program = Self { stop: Arc::clone(stop), thread: Some(thread) };
        let mut over = None;
        wait_for_listener(before, stop, || {
            over = ended.try_recv();
            over.is_some()
        });
        if let Some(Report::OutsideExited(status)) = over.transpose()? {
            (options.announce)(&outside_ended(status));
        }
        Ok(program)
    }
}

impl Drop for OutsideProgram {
    fn drop(&mut self) {
        self.stop.stop();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn outside_ended(status: ExitStatus) -> String {
    format!("the program outside has ended with status {}", status_of(status))
}

/// What leads from the far end on: forwarding and address translation, taken back at the end.
struct WayOut {
    changed: Vec<Forwarding>,
    translation: Option<Masquerade>,
    relay: Option<Relay>,
}

impl WayOut {
    /// Opens what this machine allows, and announces what it changes and what it cannot.
    fn open(place: &Place, ends: &Ends, resolver: Option<&Resolver>, announce: &mut dyn FnMut(&str)) -> Self {
        let mut way = Self { changed: Vec::new(), translation: None, relay: None };
        match resolver.map(|resolver| resolver.serve(ends.outside)).transpose() {
            Ok(relay) => way.relay = relay,
            Err(error) => announce(&format!("names are not resolved behind the link: {error}")),
        }
        let uplinks = device::uplinks(&ends.device);
        if matches!(place, Place::Own) || uplinks.is_empty() {
            return way;
        }
        if let Err(error) = way.translate(ends, &uplinks, announce) {
            announce(&format!(
                "no way out beyond this machine: {error}; as root: modprobe nf_tables nft_masq, with /proc/sys and /run writable"
            ));
        }
        way
    }

    fn translate(
        &mut self,
        ends: &Ends,
        uplinks: &[String],
        announce: &mut dyn FnMut(&str),
    ) -> io::Result<()> {
        let translation = Masquerade::begin(ends.inside)?;
        lease::set(&ends.device, lease::ON)?;
        for uplink in uplinks {
            self.changed.extend(Forwarding::take(uplink)?);
        }
        announce(&format!(
            "packets from {} leave by {} with this machine's address (nf_tables)",
            ends.inside,
            uplinks.join(", ")
        ));
        self.changed.iter().for_each(|setting| announce(&format!("{} = 1 until the end", setting.name())));
        self.translation = Some(translation);
        Ok(())
    }

    fn close(self, announce: &mut dyn FnMut(&str)) {
        self.changed.iter().for_each(|setting| announce(&format!("{} = 0 again", setting.name())));
    }
}

fn command_line(words: &[OsString]) -> Option<CommandLine> {
    let (program, arguments) = words.split_first()?;
    Some(CommandLine { program: program.clone(), arguments: arguments.to_vec(), output: None })
}

fn status_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

fn failed(host: &'static str, step: &'static str) -> impl Fn(io::Error) -> LiveError {
    move |source| LiveError::Host { host: host.to_owned(), step, source }
}

/// Interval of the progress callback: as often as a person reads it.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);

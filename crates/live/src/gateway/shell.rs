//! A program behind an emulated link.
//!
//! The program runs in a network namespace with one device. The far end of the links is a second device. With privilege
//! it is in the caller's network namespace, and address translation leads on from there. Without, it is in a namespace
//! of our own, in which only the program of `outside` runs.
//!
//! Shells nest: the caller's namespace is then that of the outer shell's program.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::mpsc::{self, channel};
use std::thread::{self, JoinHandle};

use linux::channel::{ReportReceiver, ReportSender, report_channel};
use linux::device::{self, Ends};
use linux::doctor::obstacles;
use linux::forwarding;
use linux::namespace;
use linux::scheduling::{Priority, Rank};
use linux::sysctl::{self, Sysctls};
use linux::tun::Tun;
use sim::Spec;
use units::Duration;

use crate::LiveError;
use crate::clock::Clock;
use crate::drive::account::DriverAccount;
use crate::drive::lateness::{Lateness, LatenessRecorder, TAINTED_FROM};
use crate::drive::network::smallest_mtu;
use crate::error::failed;
use crate::gateway::driver::GatewayDriver;
use crate::gateway::egress::{Egress, FarEnd};
use crate::gateway::link_pair::LinkPair;
use crate::gateway::outside::{self, OutsideProgram, command_line, status_of};
use crate::gateway::resolver::Resolver;
use crate::run::command::Environment;
use crate::run::options::Progress;
use crate::stop::Stop;

/// The options of a shell.
pub struct ShellOptions<'a> {
    /// The program behind the links, and its arguments.
    pub command: Vec<OsString>,
    /// A program at the far end, and its arguments; none if empty. It ends with the shell.
    pub outside: Vec<OsString>,
    /// The name of the links, for the program's environment.
    pub name: String,
    /// Receives a line for each thing that is set up, changed on the machine or taken back.
    pub announce: &'a mut dyn FnMut(&str),
    /// The progress callback.
    pub progress: Option<Progress<'a>>,
}

/// The outcome of a shell.
#[derive(Clone, Debug, PartialEq)]
pub struct ShellOutcome {
    /// The program's exit status; 128 plus the number of the signal if a signal ended it.
    pub status: i32,
    /// The lateness of deliveries.
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
    let links = LinkPair::new(spec)?;
    let far_end = FarEnd::obtain()?;
    let ends = Ends::free().map_err(failed("outside", "find free addresses"))?;
    let mtu = smallest_mtu(&spec.links);
    let outside = device::make_far_end(&ends, mtu).map_err(failed("outside", "make its device"))?;
    let stop = Arc::new(Stop::default());
    let (sender, reports) = report_channel().map_err(LiveError::Wait)?;
    let resolver = Resolver::on_loopback().filter(|_| matches!(far_end, FarEnd::Caller));
    let settings = Settings { ends: ends.clone(), mtu, names_resolver: resolver.is_some() };
    let inside = Inside::set_up(settings, &options, Arc::clone(&stop), sender.clone())?;
    let egress = Egress::open(far_end, &ends, resolver.as_ref(), None, &mut *options.announce);
    let outside_program = start_outside(&mut options, &ends, &stop, &sender, &reports)?;
    let clock = Clock::start();
    let priority = Priority::raise(Rank::Driver);
    let Inside { tun, start, thread } = inside;
    let mut driver = GatewayDriver::new(links, clock, [outside, tun], LatenessRecorder::new(TAINTED_FROM));
    (options.announce)(&far_end.introduction(&options.name, &ends));
    let _ = start.send(environment(&options.name, &ends));
    let ended = drive(&mut driver, &reports, &mut options);
    let account = driver.account(priority.scheduling());
    drop(priority);
    stop.stop();
    drop(start);
    let _ = thread.join();
    drop(outside_program);
    egress.close(&mut *options.announce);
    let (status, lateness) = (status_of(ended?), driver.lateness.summary());
    if lateness.tainted {
        (options.announce)(&late(&lateness, &account));
    }
    Ok(ShellOutcome { status, lateness })
}

fn late(lateness: &Lateness, account: &DriverAccount) -> String {
    let Lateness { misses, releases, bound_ms, max_ms, .. } = lateness;
    let blame = account.blame();
    format!(
        "{misses} of {releases} packets were delivered over {bound_ms} ms late, at most {max_ms:.1} ms; {blame}"
    )
}

/// A report of a shell's thread.
enum Report {
    /// The program behind the links has ended.
    Exited(ExitStatus),
    /// The program outside has ended.
    OutsideExited(ExitStatus),
}

type Reports = ReportSender<Result<Report, LiveError>>;

/// Forwards until the program ends. Packets that are on the links then are lost.
fn drive(
    driver: &mut GatewayDriver,
    reports: &ReportReceiver<Result<Report, LiveError>>,
    options: &mut ShellOptions<'_>,
) -> Result<ExitStatus, LiveError> {
    loop {
        while let Some(report) = reports.try_recv() {
            match report? {
                Report::Exited(status) => return Ok(status),
                Report::OutsideExited(status) => (options.announce)(&outside::ended(status)),
            }
        }
        let now = driver.clock.now();
        if options.progress.as_mut().is_some_and(|callback| callback(now).is_break()) {
            return Err(LiveError::Interrupted);
        }
        driver.run(reports, now + PROGRESS_EVERY).map_err(LiveError::Wait)?;
    }
}

/// The variables of the program behind the links.
fn environment(name: &str, ends: &Ends) -> Environment {
    let gateway = ends.outside.to_string();
    // In a shell within a shell, the variable names the outermost far end.
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

/// The settings of the program's namespace.
struct Settings {
    ends: Ends,
    mtu: u32,
    /// Whether the far end is its resolver.
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
        let command = command_line(&options.command).ok_or_else(|| {
            failed("inside", "find a program")(io::Error::from(io::ErrorKind::InvalidInput))
        })?;
        let (ready, prepared) = channel();
        let (start, started) = channel::<Environment>();
        let run = move || match enter(&settings) {
            Err(error) => drop(ready.send(Err(error))),
            Ok((tun, cookie)) => {
                let _ = ready.send(Ok(tun));
                if let Ok(mut environment) = started.recv() {
                    environment.insert(forwarding::OWN_NAMESPACE.to_owned(), cookie.to_string());
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

/// Moves this thread to the namespace of the program. Returns its device and the namespace's number.
fn enter(settings: &Settings) -> Result<(Tun, u64), LiveError> {
    namespace::enter_new_network().map_err(failed("inside", "make a network namespace"))?;
    sysctl::set_defaults();
    let tun =
        device::make_near_end(&settings.ends, settings.mtu).map_err(failed("inside", "make its device"))?;
    if settings.names_resolver {
        namespace::enter_resolver(settings.ends.outside).map_err(failed("inside", "name its resolver"))?;
    }
    let cookie = namespace::network_cookie().map_err(failed("inside", "read its cookie"))?;
    Ok((tun, cookie))
}

/// Starts the program at the far end, and waits until it listens on a port, has ended, or some seconds have passed.
fn start_outside(
    options: &mut ShellOptions<'_>,
    ends: &Ends,
    stop: &Arc<Stop>,
    reports: &Reports,
    ended: &ReportReceiver<Result<Report, LiveError>>,
) -> Result<OutsideProgram, LiveError> {
    let (sender, mut over) = (reports.clone(), None);
    let report = move |ended: Result<ExitStatus, LiveError>| sender.send(ended.map(Report::OutsideExited));
    let program = OutsideProgram::start_server(&options.outside, ends, stop, report, || {
        over = ended.try_recv();
        over.is_some()
    })?;
    if let Some(Report::OutsideExited(status)) = over.transpose()? {
        (options.announce)(&outside::ended(status));
    }
    Ok(program)
}

/// Interval of the progress callback: as often as a person reads it.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);

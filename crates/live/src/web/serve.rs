//! A server for real clients: our own TCP accepts connections through the links, and programs answer them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::os::unix::net::UnixStream;
use std::process::ExitStatus;
use std::sync::Arc;
use std::thread;

use linux::channel::{ReportReceiver, report_channel};
use linux::scheduling::{Priority, Rank};
use sim::{ObservedFlow, Spec};
use stacks::{ConnectionId, HostCaptures};

use crate::LiveError;
use crate::clock::Clock;
use crate::drive::bridge::Bridge;
use crate::drive::driver::Driver;
use crate::drive::network::Network;
use crate::gateway::egress::{Egress, FarEnd, WayIn};
use crate::gateway::outside::{OutsideProgram, status_of};
use crate::run::command::Output;
use crate::run::options::Progress;
use crate::run::outcome::LiveOutcome;
use crate::stop::Stop;
use crate::web::userspace_host::{ConnectionSummary, PROGRESS_EVERY, UserspaceHost};

/// The program that answers one connection. It is called in a thread of its own, with the program's end of the stream.
pub type Answer = Arc<dyn Fn(UnixStream) + Send + Sync>;

/// The options of a server.
pub struct ServeOptions<'a> {
    /// Its port.
    pub port: u16,
    /// The address at which other machines reach it; 0.0.0.0 for all of this machine's, and the loopback for none.
    pub bind: Ipv4Addr,
    /// The path of the URL: "/file".
    pub path: String,
    /// The TCPs of its connections, in turn; at least one.
    pub profiles: Vec<Arc<tcp::Config>>,
    /// A program at the clients' end, and its arguments. The server ends with it; without one, it runs until it is
    /// stopped.
    pub command: Vec<OsString>,
    /// The name of the links, for messages.
    pub name: String,
    /// Answers connections.
    pub answer: Answer,
    /// Receives a line for each thing that is set up, changed on the machine or taken back.
    pub announce: &'a mut dyn FnMut(&str),
    /// Receives the summary of each connection that is over.
    pub report: &'a mut dyn FnMut(&ConnectionSummary),
    /// The progress callback; a break ends the server.
    pub progress: Progress<'a>,
}

/// The outcome of a server's run.
#[derive(Clone, Debug)]
pub struct ServeOutcome {
    /// The results that every run in real time has.
    pub run: LiveOutcome,
    /// The exit status of the program, if one ran to its end.
    pub status: Option<i32>,
}

/// Serves through the links of `spec`, whose two hosts are the server and the client, until the program ends or the
/// progress callback breaks.
///
/// Call it in a process that has one thread: without privilege the process moves into a user namespace and stays there.
///
/// # Errors
/// If this machine does not allow it, the program cannot be started, or a system call fails.
pub fn serve(spec: &Spec, options: ServeOptions<'_>) -> Result<ServeOutcome, LiveError> {
    let network = Network::passage(spec)?;
    let host = UserspaceHost::set_up(spec, SERVER)?;
    if host.far_end == FarEnd::Own && options.command.is_empty() {
        return Err(LiveError::NoWayIn);
    }
    let stop = Arc::new(Stop::default());
    let (sender, reports) = report_channel().map_err(LiveError::Wait)?;
    let way_in = WayIn { port: options.port, bind: options.bind };
    let egress = Egress::open(host.far_end, &host.ends, None, Some(way_in), &mut *options.announce);
    let url = format!("http://{}:{}{}", host.ends.inside, options.port, options.path);
    (options.announce)(&format!("{url} is behind {}", options.name));
    let mut bridge = host.bridge(spec.record.tcp)?;
    bridge.host.listen(options.port, options.profiles);
    answer_by(&mut bridge, options.answer);
    let clock = Clock::start();
    let priority = Priority::raise(Rank::Driver);
    let mut driver = host.driver(network, clock, bridge);
    let environment = BTreeMap::from([
        ("LASTHOP_URL".to_owned(), url),
        ("LASTHOP_ADDRESS".to_owned(), host.ends.outside.to_string()),
        ("LASTHOP_PEER".to_owned(), host.ends.inside.to_string()),
    ]);
    let program = OutsideProgram::start(&options.command, Output::Shown, environment, &stop, move |ended| {
        sender.send(ended)
    })?;
    let mut server = Server {
        host: &host,
        spec,
        reports: &reports,
        clock,
        observed: Vec::new(),
        accepted: 0,
        report: options.report,
    };
    let ended = server.run(&mut driver, options.progress);
    let scheduling = priority.scheduling();
    drop((priority, program));
    let observed = server.observed;
    let run = host.finish(driver, observed, clock.now(), scheduling, STOPPED_BY);
    egress.close(&mut *options.announce);
    Ok(ServeOutcome { run, status: ended?.map(status_of) })
}

/// Gives each connection a thread. If the thread cannot be started, the connection is closed.
fn answer_by(bridge: &mut Bridge, answer: Answer) {
    bridge.accept_by(Box::new(move |_, stream| {
        let answer = Arc::clone(&answer);
        let _ = thread::Builder::new().name("answer".into()).spawn(move || answer(stream));
    }));
}

struct Server<'a, 'b> {
    host: &'a UserspaceHost,
    spec: &'a Spec,
    reports: &'a ReportReceiver<Result<ExitStatus, LiveError>>,
    clock: Clock,
    /// Connections that are over, for the records.
    observed: Vec<ObservedFlow>,
    accepted: u64,
    report: &'b mut dyn FnMut(&ConnectionSummary),
}

impl Server<'_, '_> {
    /// Drives until the program ends or the callback breaks. Returns the program's exit.
    fn run(
        &mut self,
        driver: &mut Driver<'_>,
        progress: Progress<'_>,
    ) -> Result<Option<ExitStatus>, LiveError> {
        loop {
            let now = self.clock.now();
            driver.run(self.reports, now + PROGRESS_EVERY).map_err(LiveError::Wait)?;
            let ended = self.reports.try_recv().transpose()?;
            if ended.is_some() {
                // The last ACKs of its connections may be in transit.
                driver.drain(self.reports, now + PROGRESS_EVERY * 10).map_err(LiveError::Wait)?;
            }
            while let Some(over) = self.host.bridge_of(driver).poll_over() {
                self.settle(driver, over);
            }
            if ended.is_some() || driver.network.is_over() || progress(now).is_break() {
                return Ok(ended);
            }
        }
    }

    /// Reports a connection that is over, and forgets it.
    fn settle(&mut self, driver: &mut Driver<'_>, over: ConnectionId) {
        self.accepted += 1;
        if let Some(summary) = self.host.summary(driver, over) {
            (self.report)(&summary);
        }
        if self.spec.record.is_on() {
            let name = format!("connection-{}", self.accepted);
            self.observed.extend(self.host.observe(driver, self.spec, over, &name));
        }
        self.host.bridge_of(driver).host.forget(over);
        if self.host.bridge_of(driver).is_idle() {
            // A server may run for days: of a connection that is over only the records are kept, if they are wanted.
            driver.captures = HostCaptures::without_flows(2);
        }
    }
}

/// The place of the server among the scenario's hosts.
const SERVER: usize = 0;
const STOPPED_BY: &str = "the server was stopped";

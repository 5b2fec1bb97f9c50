//! A client of a real server: our own TCP opens one connection through the links, and a program uses it.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::ExitStatus;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use linux::channel::{ReportReceiver, ReportSender, report_channel};
use linux::scheduling::{Priority, Rank};
use sim::Spec;
use stacks::ConnectionId;
use units::Instant;

use crate::LiveError;
use crate::clock::Clock;
use crate::drive::driver::Driver;
use crate::drive::network::Network;
use crate::error::failed;
use crate::gateway::egress::{Egress, FarEnd};
use crate::gateway::outside::{self, OutsideProgram};
use crate::run::options::Progress;
use crate::run::outcome::LiveOutcome;
use crate::stop::Stop;
use crate::web::userspace_host::{
    ConnectionSummary, Conversation, LONGEST_CLOSE, PROGRESS_EVERY, UserspaceHost, ephemeral_port,
};

/// The options of a client.
pub struct FetchOptions<'a> {
    /// The server's address; without it, the far end of the links.
    pub server: Option<Ipv4Addr>,
    /// Its port.
    pub port: u16,
    /// The client's TCP.
    pub profile: Arc<tcp::Config>,
    /// A program at the far end, and its arguments; none if empty. It ends with the run.
    pub outside: Vec<OsString>,
    /// The name of the links, for messages.
    pub name: String,
    /// The program's side of the connection. The run ends when it returns.
    pub conversation: Conversation,
    /// Receives a line for each thing that is set up, changed on the machine or taken back.
    pub announce: &'a mut dyn FnMut(&str),
    /// The progress callback.
    pub progress: Option<Progress<'a>>,
}

/// The outcome of a client's run.
#[derive(Clone, Debug)]
pub struct FetchOutcome {
    /// The results that every run in real time has.
    pub run: LiveOutcome,
    /// The connection.
    pub connection: ConnectionSummary,
}

/// A report of a thread.
enum Report {
    /// The conversation is over.
    Done,
    /// The program outside has ended.
    OutsideExited(Result<ExitStatus, LiveError>),
}

/// Opens one connection to a real server through the links of `spec`, whose two hosts are the server and the client.
///
/// Call it in a process that has one thread: without privilege the process moves into a user namespace and stays there.
///
/// # Errors
/// If this machine does not allow it, a program cannot be started, or a system call fails. A connection that breaks is
/// an outcome.
pub fn fetch(spec: &Spec, options: FetchOptions<'_>) -> Result<FetchOutcome, LiveError> {
    let FetchOptions { server, port, profile, outside, name, conversation, announce, mut progress } = options;
    let network = Network::passage(spec)?;
    let host = UserspaceHost::set_up(spec, CLIENT)?;
    let server = SocketAddrV4::new(server.unwrap_or(host.ends.outside), port);
    if host.far_end == FarEnd::Own && *server.ip() != host.ends.outside {
        return Err(LiveError::NoWayOut(*server.ip()));
    }
    let stop = Arc::new(Stop::default());
    let (sender, reports) = report_channel().map_err(LiveError::Wait)?;
    // The far end itself is reached without forwarding.
    let leads_on = *server.ip() != host.ends.outside;
    let egress = leads_on.then(|| Egress::open(host.far_end, &host.ends, None, None, &mut *announce));
    announce(&host.far_end.introduction(&name, &host.ends));
    let outside = start_outside(&outside, &host, &stop, &sender, &reports, announce)?;
    let mut bridge = host.bridge(spec.record.tcp)?;
    let local = ephemeral_port().map_err(failed("client", "draw a port"))?;
    let connection = bridge.host.connect(Instant::START, local, server, &profile);
    let stream = bridge.join(connection).map_err(failed("client", "make a socket pair"))?;
    let clock = Clock::start();
    let priority = Priority::raise(Rank::Driver);
    let mut driver = host.driver(network, clock, bridge);
    let talking = talk(conversation, stream, sender)?;
    let mut client = Client { host: &host, reports: &reports, clock, connection, announce };
    let ended = client.run(&mut driver, progress.as_mut());
    let scheduling = priority.scheduling();
    drop(priority);
    let summary = host.summary(&mut driver, connection);
    let observed = host.observe(&mut driver, spec, connection, "fetch");
    let run = host.finish(driver, observed.into_iter().collect(), clock.now(), scheduling, STOPPED_BY);
    // The driver is dropped and its end of the stream closed, so the thread ends.
    let _ = talking.join();
    drop(outside);
    if let Some(egress) = egress {
        egress.close(client.announce);
    }
    ended?;
    Ok(FetchOutcome { run, connection: summary.expect("a connection is known until it is forgotten") })
}

/// Starts the conversation in a thread of its own.
fn talk(
    conversation: Conversation,
    stream: std::os::unix::net::UnixStream,
    reports: ReportSender<Report>,
) -> Result<JoinHandle<()>, LiveError> {
    let run = move || {
        conversation(stream);
        reports.send(Report::Done);
    };
    thread::Builder::new().name("client".into()).spawn(run).map_err(failed("client", "start its thread"))
}

/// Starts the program at the far end and waits until it listens, has ended, or some seconds have passed.
fn start_outside(
    words: &[OsString],
    host: &UserspaceHost,
    stop: &Arc<Stop>,
    sender: &ReportSender<Report>,
    reports: &ReportReceiver<Report>,
    announce: &mut dyn FnMut(&str),
) -> Result<OutsideProgram, LiveError> {
    let (sender, mut over) = (sender.clone(), None);
    let report = move |ended| sender.send(Report::OutsideExited(ended));
    let program = OutsideProgram::start_server(words, &host.ends, stop, report, || {
        over = reports.try_recv();
        over.is_some()
    })?;
    if let Some(Report::OutsideExited(ended)) = over {
        announce(&outside::ended(ended?));
    }
    Ok(program)
}

struct Client<'a, 'b> {
    host: &'a UserspaceHost,
    reports: &'a ReportReceiver<Report>,
    clock: Clock,
    connection: ConnectionId,
    announce: &'b mut dyn FnMut(&str),
}

impl Client<'_, '_> {
    /// Drives until the conversation is over and the connection is closed, or until [`LONGEST_CLOSE`] later.
    fn run(
        &mut self,
        driver: &mut Driver<'_>,
        mut progress: Option<&mut Progress<'_>>,
    ) -> Result<(), LiveError> {
        let mut done_at = None;
        loop {
            let now = self.clock.now();
            while let Some(report) = self.reports.try_recv() {
                match report {
                    Report::Done => done_at = Some(now),
                    Report::OutsideExited(ended) => (self.announce)(&outside::ended(ended?)),
                }
            }
            let closed = self.is_closed(driver);
            if done_at.is_some_and(|done| closed || now >= done + LONGEST_CLOSE) || driver.network.is_over() {
                break;
            }
            if progress.as_mut().is_some_and(|callback| callback(now).is_break()) {
                return Err(LiveError::Interrupted);
            }
            driver.run(self.reports, now + PROGRESS_EVERY).map_err(LiveError::Wait)?;
        }
        let latest = self.clock.now() + LONGEST_CLOSE;
        driver.drain(self.reports, latest).map_err(LiveError::Wait)
    }

    fn is_closed(&self, driver: &mut Driver<'_>) -> bool {
        let bridge = self.host.bridge_of(driver);
        while bridge.poll_over().is_some_and(|over| over != self.connection) {}
        bridge.is_idle()
    }
}

/// The place of the client among the scenario's hosts.
const CLIENT: usize = 1;
const STOPPED_BY: &str = "the client was done";

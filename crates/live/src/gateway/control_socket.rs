//! The local socket by which the links of a router or of a live run are changed: a request is one line of JSON, and so
//! is its answer.
//!
//! The socket's name is abstract (unix(7)): it is not a file, belongs to the network namespace, and ends with the
//! process. Only root and the process's own user may send requests.

use std::io::{self, BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use linux::channel::ReportSender;
use linux::policy::ROUTER_SOCKET_PREFIX;
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use nix::unistd::geteuid;
use serde::Deserialize;
use serde_json::{Value, json};
use sim::Spec;

use crate::LiveError;

/// Reads the scenario again with all overrides that were requested so far. The error is a message to the user.
pub type Reload = Box<dyn FnMut(&[String]) -> Result<Spec, String> + Send>;

/// A requested change of links.
pub(crate) struct Change {
    pub(crate) spec: Spec,
    /// The overrides of this request.
    pub(crate) overrides: Vec<String>,
    /// Channel on which the driver reports the result.
    pub(crate) answer: Sender<Result<(), String>>,
}

/// The open socket, until it is dropped.
pub(crate) struct ControlSocket {
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// A request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// Overrides, "links.lasthop.down.rate=1 Mbit/s".
    set: Vec<String>,
}

impl ControlSocket {
    /// Opens the socket of the router or run `name`.
    pub(crate) fn open(
        name: &str,
        spec: Spec,
        reload: Reload,
        changes: ReportSender<Change>,
    ) -> Result<Self, LiveError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => LiveError::RouterRuns(name.to_owned()),
            _ => LiveError::Wait(source),
        };
        let address = SocketAddr::from_abstract_name(socket_name(name)).map_err(failed)?;
        let listener = UnixListener::bind_addr(&address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(LiveError::Wait)?;
        let stopped = Arc::new(AtomicBool::new(false));
        let mut server = Server { spec, overrides: Vec::new(), reload, changes };
        let own = Arc::clone(&stopped);
        let run = move || server.serve(&listener, &own);
        let thread = thread::Builder::new().name("control".into()).spawn(run).map_err(LiveError::Wait)?;
        Ok(Self { stopped, thread: Some(thread) })
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The abstract name of the socket, which `lasthop set` uses too.
fn socket_name(name: &str) -> String {
    format!("{ROUTER_SOCKET_PREFIX}{name}")
}

struct Server {
    /// The present scenario.
    spec: Spec,
    /// The overrides so far.
    overrides: Vec<String>,
    reload: Reload,
    changes: ReportSender<Change>,
}

impl Server {
    fn serve(&mut self, listener: &UnixListener, stopped: &AtomicBool) {
        while !stopped.load(Ordering::Relaxed) {
            match listener.accept() {
                Ok((stream, _)) => self.answer(stream),
                #[expect(
                    clippy::disallowed_methods,
                    reason = "waits for a person's command, not for the emulation"
                )]
                Err(_) => thread::sleep(ACCEPT_INTERVAL),
            }
        }
    }

    /// Carries out one request. A request that is malformed or refused changes nothing.
    fn answer(&mut self, mut stream: UnixStream) {
        let answer = match request(&stream).and_then(|request| self.set(&request.set)) {
            Ok(()) => json!({ "ok": true, "overrides": self.overrides }),
            Err(error) => json!({ "ok": false, "error": error }),
        };
        let _ = stream.write_all(line(&answer).as_bytes());
    }

    fn set(&mut self, overrides: &[String]) -> Result<(), String> {
        if let Some(other) = overrides.iter().find(|text| !text.starts_with("links.")) {
            return Err(format!(
                "{other}: only keys of links can be set during a run, links.NAME.down.rate=…"
            ));
        }
        let all = [self.overrides.clone(), overrides.to_vec()].concat();
        let next = (self.reload)(&all)?;
        check_shape(&self.spec, &next)?;
        let (answer, answered) = channel();
        self.changes.send(Change { spec: next.clone(), overrides: overrides.to_vec(), answer });
        answered.recv_timeout(LONGEST_ANSWER).map_err(|_| "the run did not answer".to_owned())??;
        (self.spec, self.overrides) = (next, all);
        Ok(())
    }
}

fn request(stream: &UnixStream) -> Result<Request, String> {
    let peer = getsockopt(stream, PeerCredentials).map_err(|error| error.to_string())?;
    if peer.uid() != 0 && peer.uid() != geteuid().as_raw() {
        return Err("this run is another user's".to_owned());
    }
    let set_up = stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(LONGEST_ANSWER)));
    set_up.map_err(|error| error.to_string())?;
    let mut text = String::new();
    let mut reader = BufReader::new(io::Read::take(stream, LONGEST_REQUEST));
    reader.read_line(&mut text).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| format!("not a request: {error}"))
}

/// Checks that the next scenario has the same nodes and links: only parameters of links may differ.
fn check_shape(now: &Spec, next: &Spec) -> Result<(), String> {
    let nodes =
        |spec: &Spec| spec.nodes.iter().map(|node| (node.name.clone(), node.kind)).collect::<Vec<_>>();
    let links = |spec: &Spec| {
        spec.links.iter().map(|link| (link.name.clone(), link.ends, link.mtu)).collect::<Vec<_>>()
    };
    if nodes(now) != nodes(next) || links(now) != links(next) {
        return Err("hosts, routers and the MTU stay as they are during a run; set keys of links, \
                    such as links.NAME.down.rate"
            .to_owned());
    }
    Ok(())
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}

const ACCEPT_INTERVAL: Duration = Duration::from_millis(50);
const LONGEST_ANSWER: Duration = Duration::from_secs(5);
const LONGEST_REQUEST: u64 = 65_536;

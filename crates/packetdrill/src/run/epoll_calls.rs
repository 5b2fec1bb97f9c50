//! Calls of `epoll`.

use super::ScriptRun;
use super::arguments::{Arguments, Unsupported};
use super::epoll::{EpollInstance, Noticed, Watch};
use super::reply::{CallResult, Reply};
use super::socket::SocketState;
use crate::script::{Call, Expression};

impl ScriptRun {
    pub(super) fn epoll_create(&mut self, call: &Call) -> CallResult {
        let descriptor = call.expected_descriptor()?;
        self.epolls.insert(descriptor, EpollInstance::default());
        Ok(Reply::Value(descriptor))
    }

    /// `epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLIN|EPOLLET, fd=4})`
    pub(super) fn epoll_control(&mut self, call: &Call) -> CallResult {
        let descriptor = call.integer(2)?;
        let operation = call.names_of(1).first().map_or(String::new(), |name| (*name).to_owned());
        let watch = match operation.as_str() {
            "EPOLL_CTL_DEL" => None,
            _ => Some(watch_of(call.argument(3)?)),
        };
        let watched = &mut self.epoll(call)?.watched;
        let known = watched.contains_key(&descriptor);
        match (operation.as_str(), watch) {
            ("EPOLL_CTL_ADD", _) if known => return Ok(Reply::Error("EEXIST")),
            ("EPOLL_CTL_MOD", _) | ("EPOLL_CTL_DEL", _) if !known => return Ok(Reply::Error("ENOENT")),
            ("EPOLL_CTL_ADD" | "EPOLL_CTL_MOD", Some(watch)) => drop(watched.insert(descriptor, watch)),
            ("EPOLL_CTL_DEL", _) => drop(watched.remove(&descriptor)),
            _ => {
                return Err(Unsupported {
                    what: format!("epoll_ctl has no operation {operation}"),
                    remedy: "use EPOLL_CTL_ADD, EPOLL_CTL_MOD or EPOLL_CTL_DEL".to_owned(),
                });
            }
        }
        Ok(Reply::Value(0))
    }

    /// `epoll_wait(5, {events=EPOLLOUT, fd=4}, 1, 0)`, for one event.
    pub(super) fn epoll_wait(&mut self, call: &Call) -> CallResult {
        self.notice_changes();
        let number = call.integer(0)?;
        let expected = call.argument(1)?.clone();
        let watched = self.epoll(call)?.watched.clone();
        for (descriptor, watch) in watched {
            let asked: Vec<&str> = watch.events.iter().map(String::as_str).collect();
            let got = self.ready_for(descriptor, &asked);
            if got.is_empty() || asked.is_empty() || (watch.edge && !watch.woken) {
                continue;
            }
            self.after_report(number, descriptor);
            return Ok(compared(&expected, descriptor, &got));
        }
        Ok(if call.integer(3)? == 0 { Reply::Value(0) } else { Reply::Blocks })
    }

    fn after_report(&mut self, number: i64, descriptor: i64) {
        let instance = self.epolls.get_mut(&number);
        if let Some(watch) = instance.and_then(|instance| instance.watched.get_mut(&descriptor)) {
            watch.woken = false;
            if watch.oneshot {
                watch.events.clear();
            }
        }
    }

    /// Finds out what has happened on each socket since the last time.
    fn notice_changes(&mut self) {
        for (descriptor, socket) in self.sockets.by_descriptor() {
            let SocketState::Connected(id) = self.sockets.get(socket).state else { continue };
            let writable = self.is_writable(socket, id);
            let connection = self.host.connection(id);
            let (_, completed) = connection.completions();
            let ends = connection.at_end || connection.error.is_some();
            let now = Noticed {
                received: connection.endpoint.received(),
                completed,
                ends,
                connected: connection.was_connected,
            };
            let before = std::mem::replace(&mut connection.noticed, now);
            let freed = writable && std::mem::replace(&mut connection.lacks_room, !writable);
            let changed = ends != before.ends || now.connected != before.connected;
            let events = [
                ("POLLIN", now.received > before.received || changed),
                ("POLLOUT", freed || changed),
                ("POLLERR", completed > before.completed || changed),
            ];
            let events: Vec<&str> = events.iter().filter(|(_, new)| *new).map(|(event, _)| *event).collect();
            self.wake_epolls(descriptor, &events);
        }
    }

    /// Something has happened that wakes those who wait for one of `events` on a descriptor.
    fn wake_epolls(&mut self, descriptor: i64, events: &[&str]) {
        for instance in self.epolls.values_mut() {
            if let Some(watch) = instance.watched.get_mut(&descriptor) {
                watch.woken |= events
                    .iter()
                    .any(|event| *event == "POLLERR" || watch.events.iter().any(|asked| asked == event));
            }
        }
    }

    fn epoll(&mut self, call: &Call) -> Result<&mut EpollInstance, Unsupported> {
        let descriptor = call.integer(0)?;
        self.epolls.get_mut(&descriptor).ok_or_else(|| Unsupported {
            what: format!("descriptor {descriptor} was not opened by epoll_create"),
            remedy: "use the descriptor that epoll_create() has returned".to_owned(),
        })
    }
}

/// The watch that `{events=EPOLLIN|EPOLLET, fd=4}` asks for. A new watch reports what is so already.
fn watch_of(event: &Expression) -> Watch {
    let names = event.field("events").map(Expression::names).unwrap_or_default();
    let modes = ["EPOLLET", "EPOLLONESHOT", "EPOLLEXCLUSIVE", "EPOLLWAKEUP"];
    Watch {
        events: names.iter().filter(|name| !modes.contains(name)).map(|name| poll_name(name)).collect(),
        edge: names.contains(&"EPOLLET"),
        oneshot: names.contains(&"EPOLLONESHOT"),
        woken: true,
    }
}

fn poll_name(name: &str) -> String {
    name.replacen("EPOLL", "POLL", 1)
}

fn compared(expected: &Expression, descriptor: i64, got: &[&str]) -> Reply {
    let names = expected.field("events").map(Expression::names).unwrap_or_default();
    let mut wanted: Vec<String> = names.iter().map(|name| poll_name(name)).collect();
    let mut found: Vec<String> = got.iter().map(|name| (*name).to_owned()).collect();
    wanted.sort();
    found.sort();
    let asks = expected.field("fd").and_then(Expression::integer);
    if wanted == found && asks.is_none_or(|asked| asked == descriptor) {
        return Reply::Value(1);
    }
    Reply::Differs { expected: expected.to_string(), got: format!("{} on {descriptor}", found.join("|")) }
}

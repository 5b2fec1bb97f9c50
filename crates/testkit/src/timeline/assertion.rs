//! Assertions of a timeline about the endpoint between two segments.

use tcp::{CloseReason, EcnFeedback, Endpoint, Event, Timer};
use units::{Bytes, Duration};
use wire::AckScheme;

use super::number::{seconds, whole};

/// One claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Assertion {
    /// `state ESTABLISHED`.
    State(String),
    /// `cwnd 4`: with what recovery adds to it, in segments.
    Cwnd(f64),
    /// `ssthresh 2` in segments, or `ssthresh unset`.
    Ssthresh(Option<f64>),
    /// `flight 3` in segments.
    Flight(f64),
    /// `phase slow_start`.
    Phase(String),
    /// `rto 1.5` in seconds.
    Rto(Duration),
    /// `timers retransmission keep-alive`: the timers that are set, or `timers none`.
    Timers(Vec<String>),
    /// `timeouts 1`.
    Timeouts(u64),
    /// `fast_retransmits 1`.
    FastRetransmits(u64),
    /// `smss 1448` in bytes.
    Smss(u64),
    /// `agreed sack timestamps`: just these options are in force, or `agreed none`.
    Agreed(Vec<String>),
    /// `unsent 100`, `acked 100`, `received 100` in bytes.
    Count(&'static str, u64),
    /// `cookie 0102030405060708`: the Fast Open cookie that the server has given, or `cookie none`.
    Cookie(String),
    /// `event closed`: it came, and was not claimed before.
    Event(String),
    /// `no-event closed`: it did not come since the last that was claimed.
    NoEvent(String),
}

impl Assertion {
    /// Reads a claim.
    ///
    /// # Errors
    /// Says what cannot be read.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, value) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let value = value.trim();
        let words = || value.split_whitespace().map(str::to_owned).collect();
        Ok(match name {
            "state" => Self::State(value.to_owned()),
            "cwnd" => Self::Cwnd(segments(value)?),
            "ssthresh" if value == "unset" => Self::Ssthresh(None),
            "ssthresh" => Self::Ssthresh(Some(segments(value)?)),
            "flight" => Self::Flight(segments(value)?),
            "phase" => Self::Phase(value.to_owned()),
            "rto" => Self::Rto(seconds(value)?),
            "timers" => Self::Timers(words()),
            "timeouts" => Self::Timeouts(whole(value)?),
            "fast_retransmits" => Self::FastRetransmits(whole(value)?),
            "smss" => Self::Smss(whole(value)?),
            "agreed" => Self::Agreed(words()),
            "unsent" => Self::Count("unsent", whole(value)?),
            "acked" => Self::Count("acked", whole(value)?),
            "received" => Self::Count("received", whole(value)?),
            "cookie" => Self::Cookie(value.to_owned()),
            "event" => Self::Event(value.to_owned()),
            "no-event" => Self::NoEvent(value.to_owned()),
            _ => return Err(format!("nothing is known of \"{name}\"")),
        })
    }

    /// The difference from the assertion, if any. `events` are those not asserted yet.
    #[must_use]
    pub fn difference(&self, endpoint: &Endpoint, events: &mut Vec<Event>) -> Option<String> {
        let (expected, came) = self.compared(endpoint, events);
        (expected != came).then(|| format!("{expected}, and it is {came}"))
    }

    /// The asserted and the actual value, as texts.
    fn compared(&self, endpoint: &Endpoint, events: &mut Vec<Event>) -> (String, String) {
        let in_segments = |bytes: Bytes| bytes.0 as f64 / endpoint.agreed().smss.0 as f64;
        match self {
            Self::State(name) => (name.clone(), endpoint.state().name().to_owned()),
            Self::Cwnd(expected) => near("cwnd", *expected, in_segments(endpoint.cwnd())),
            Self::Ssthresh(None) => {
                let unset = endpoint.ssthresh() == Bytes::MAX;
                ("ssthresh unset".to_owned(), if unset { "ssthresh unset" } else { "set" }.to_owned())
            }
            Self::Ssthresh(Some(expected)) => near("ssthresh", *expected, in_segments(endpoint.ssthresh())),
            Self::Flight(expected) => near("flight", *expected, in_segments(endpoint.flight())),
            Self::Phase(name) => (name.clone(), endpoint.phase().to_owned()),
            Self::Rto(expected) => near("rto", expected.as_secs_f64(), endpoint.rto().as_secs_f64()),
            Self::Timers(names) => (listed("timers", names), listed("timers", &timers(endpoint))),
            Self::Timeouts(expected) => count("timeouts", *expected, endpoint.timeouts()),
            Self::FastRetransmits(expected) => {
                count("fast_retransmits", *expected, endpoint.fast_retransmits())
            }
            Self::Smss(expected) => count("smss", *expected, endpoint.agreed().smss.0),
            Self::Agreed(names) => (listed("agreed", names), listed("agreed", &agreed(endpoint))),
            Self::Count(what, expected) => count(what, *expected, counter(endpoint, what).0),
            Self::Cookie(digits) => {
                let known = endpoint.fast_open_cookie();
                (digits.clone(), known.map_or(NOTHING.to_owned(), |known| known.cookie.to_string()))
            }
            Self::Event(name) => (name.clone(), claim(name, events)),
            Self::NoEvent(name) => {
                let came = events.iter().any(|event| event_name(*event) == name);
                (format!("no {name}"), if came { name.clone() } else { format!("no {name}") })
            }
        }
    }
}

/// Takes the event off the list with all before it; what there was instead, if it is not there.
fn claim(name: &str, events: &mut Vec<Event>) -> String {
    match events.iter().position(|event| event_name(*event) == name) {
        Some(place) => {
            events.drain(..=place);
            name.to_owned()
        }
        None => format!("{events:?}"),
    }
}

/// Two numbers that count as equal when they agree to a thousandth.
fn near(what: &str, expected: f64, came: f64) -> (String, String) {
    (format!("{what} {expected:.3}"), format!("{what} {came:.3}"))
}

fn count(what: &str, expected: u64, came: u64) -> (String, String) {
    (format!("{what} {expected}"), format!("{what} {came}"))
}

fn listed(what: &str, names: &[String]) -> String {
    let mut names: Vec<&str> = names.iter().map(String::as_str).filter(|name| *name != NOTHING).collect();
    names.sort_unstable();
    format!("{what} {}", if names.is_empty() { NOTHING.to_owned() } else { names.join(" ") })
}

fn counter(endpoint: &Endpoint, what: &str) -> Bytes {
    match what {
        "unsent" => endpoint.unsent(),
        "acked" => endpoint.acked(),
        _ => endpoint.received(),
    }
}

fn timers(endpoint: &Endpoint) -> Vec<String> {
    let name = |timer: Timer| match timer {
        Timer::Retransmission => "retransmission",
        Timer::Recovery => "recovery",
        Timer::Pacing => "pacing",
        Timer::Congestion => "congestion",
        Timer::Persist => "persist",
        Timer::DelayedAck => "delayed-ack",
        Timer::KeepAlive => "keep-alive",
        Timer::TimeWait => "time-wait",
    };
    let set = Timer::ALL.into_iter().filter(|timer| endpoint.timer_is_set(*timer));
    set.map(|timer| name(timer).to_owned()).collect()
}

fn agreed(endpoint: &Endpoint) -> Vec<String> {
    let agreed = endpoint.agreed();
    let mut names = vec![];
    names.extend(agreed.sack.then(|| "sack".to_owned()));
    names.extend(agreed.timestamps.then(|| "timestamps".to_owned()));
    names.extend(match agreed.ecn {
        EcnFeedback::Absent => None,
        EcnFeedback::Classic => Some("ecn".to_owned()),
        EcnFeedback::Accurate => Some("accecn".to_owned()),
    });
    names.extend(agreed.polls.then(|| "polls".to_owned()));
    names.extend(agreed.dummies.then(|| "dummies".to_owned()));
    names.extend(agreed.ack_scheme.map(|scheme| match scheme {
        AckScheme::Tarr => "tarr".to_owned(),
        AckScheme::AckCc => "ackcc".to_owned(),
    }));
    let shifts = (agreed.send_shift, agreed.receive_shift);
    names.extend((shifts != (0, 0)).then(|| format!("wscale-{}-{}", shifts.0, shifts.1)));
    names
}

const fn event_name(event: Event) -> &'static str {
    match event {
        Event::Connected => "connected",
        Event::Readable => "readable",
        Event::Writable => "writable",
        Event::PeerClosed => "peer-closed",
        Event::Closed => "closed",
        Event::Reset(CloseReason::Refused) => "refused",
        Event::Reset(CloseReason::ByPeer) => "reset-by-peer",
        Event::Reset(CloseReason::Aborted) => "aborted",
        Event::Reset(CloseReason::TimedOut) => "timed-out",
        Event::Reset(CloseReason::Unreachable) => "unreachable",
    }
}

fn segments(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| format!("\"{text}\" is not a number of segments"))
}

/// An empty list.
const NOTHING: &str = "none";

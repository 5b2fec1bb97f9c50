//! What the two halves of a program tell each other, and how it gets there.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};
use units::Instant;

use crate::channel::{ReportReceiver, ReportSender, report_channel};

use super::half::{Half, HalfSpec};

/// What a half tells the other. Times are those of the run, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Told {
    /// A connection was opened from another port than the one that both know, since somebody had that.
    Opened {
        /// The program's number for it.
        socket: u32,
        /// The port of the end that connects.
        port: u16,
    },
    /// The program's notice that an end has read so far.
    Read {
        /// The connection.
        socket: u32,
        /// Bytes since it was opened.
        position: u64,
        /// When.
        at_ns: u64,
    },
    /// Both streams of a connection have ended at this end.
    Over {
        /// The connection.
        socket: u32,
        /// When.
        at_ns: u64,
    },
    /// And the other half has told the same before.
    BothOver {
        /// The connection.
        socket: u32,
        /// When.
        at_ns: u64,
    },
    /// The kernel here gave a connection up.
    Broken {
        /// The connection.
        socket: u32,
        /// Why.
        why: String,
        /// When.
        at_ns: u64,
    },
    /// A datagram has arrived, of which the program wants to hear.
    Arrived {
        /// Its number.
        number: u64,
        /// The packet, IP header included.
        size: u64,
        /// When.
        at_ns: u64,
    },
    /// The program, of which there is no copy here, sends a datagram from here.
    Send {
        /// The packet, IP header included.
        size: u64,
    },
    /// The program is done at `from`, which has sent so many datagrams.
    Finished {
        /// How many.
        datagrams: u64,
    },
}

impl Told {
    /// The connection that it is about.
    pub(super) const fn socket(&self) -> Option<u32> {
        match self {
            Self::Opened { socket, .. }
            | Self::Read { socket, .. }
            | Self::Over { socket, .. }
            | Self::BothOver { socket, .. }
            | Self::Broken { socket, .. } => Some(*socket),
            Self::Arrived { .. } | Self::Send { .. } | Self::Finished { .. } => None,
        }
    }

    /// When it happened.
    pub(super) fn at(&self) -> Option<Instant> {
        match self {
            Self::Read { at_ns, .. }
            | Self::Over { at_ns, .. }
            | Self::BothOver { at_ns, .. }
            | Self::Broken { at_ns, .. }
            | Self::Arrived { at_ns, .. } => Some(Instant::from_nanos(*at_ns)),
            Self::Opened { .. } | Self::Send { .. } | Self::Finished { .. } => None,
        }
    }
}

/// What is told, and to whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Letter {
    /// The node of the half that is told.
    pub(crate) node: usize,
    /// The flow.
    pub(crate) flow: usize,
    /// What.
    pub(crate) told: Told,
}

/// The halves of this process, and the way to those of others.
#[derive(Default)]
pub(crate) struct Post {
    boxes: BTreeMap<Address, ReportSender<Told>>,
    inboxes: Mutex<BTreeMap<Address, ReportReceiver<Told>>>,
    out: OnceLock<Out>,
}

/// A half's node and flow.
type Address = (usize, usize);

/// What carries letters to other processes.
type Out = Box<dyn Fn(Letter) + Send + Sync>;

impl Post {
    /// Inboxes for halves of this process.
    pub(crate) fn new<'a>(halves: impl Iterator<Item = &'a HalfSpec>) -> io::Result<Self> {
        let mut post = Self::default();
        for half in halves {
            let (sender, receiver) = report_channel()?;
            let address = (half.node(half.side), half.index);
            post.boxes.insert(address, sender);
            post.inboxes.get_mut().unwrap_or_else(PoisonError::into_inner).insert(address, receiver);
        }
        Ok(post)
    }

    /// Says how letters get to other processes.
    pub(crate) fn lead_out(&self, out: impl Fn(Letter) + Send + Sync + 'static) {
        // There is one way, which is known before any half runs.
        let _ = self.out.set(Box::new(out));
    }

    /// Takes the inbox of a half here.
    pub(crate) fn take_inbox(&self, node: usize, flow: usize) -> Option<ReportReceiver<Told>> {
        self.inboxes.lock().unwrap_or_else(PoisonError::into_inner).remove(&(node, flow))
    }

    /// Delivers what a half has to tell.
    pub(super) fn deliver_all(&self, half: &mut Half) {
        while let Some(letter) = half.poll_letter() {
            self.deliver(letter);
        }
    }

    /// Delivers a letter. That a half elsewhere is gone is told by its silence.
    pub(crate) fn deliver(&self, letter: Letter) {
        match (self.boxes.get(&(letter.node, letter.flow)), self.out.get()) {
            (Some(inbox), _) => inbox.send(letter.told),
            (None, Some(out)) => out(letter),
            (None, None) => {}
        }
    }
}

impl std::fmt::Debug for Post {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Post").field("boxes", &self.boxes.keys()).finish_non_exhaustive()
    }
}

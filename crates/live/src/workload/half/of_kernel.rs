//! A half at a kernel's host: a thread with the sockets.

use std::io;

use linux::scheduling::wake_promptly;

use crate::LiveError;
use crate::clock::Clock;
use crate::stop::Stop;
use crate::workload::HalfRan;
use crate::workload::message_bus::MessageBus;
use crate::workload::poller::Token;
use crate::workload::sockets::SocketHost;

use super::{Half, HalfSpec};

/// A half with its sockets, before the run. Its ports are open before the other half begins.
pub(crate) struct OpenHalf {
    spec: HalfSpec,
    sockets: SocketHost,
}

impl OpenHalf {
    pub(super) const fn new(spec: HalfSpec, sockets: SocketHost) -> Self {
        Self { spec, sockets }
    }

    /// Runs the half until the run is over; calls `done` when there is nothing more to do at its side.
    pub(crate) fn run(
        self,
        clock: Clock,
        stop: &Stop,
        bus: &MessageBus,
        done: impl FnOnce(),
    ) -> Result<HalfRan, LiveError> {
        let Self { spec, mut sockets } = self;
        let inbox = bus.take_inbox(spec.node(spec.side), spec.index);
        let inbox = inbox.ok_or_else(|| spec.failed("hear the other host", io::ErrorKind::NotFound))?;
        sockets.watch(&inbox, stop)?;
        wake_promptly();
        let mut half = Half::new(spec.clone());
        let mut done = Some(done);
        let advance = |half: &mut Half, sockets: &mut SocketHost| {
            half.advance(clock.now(), sockets);
            bus.deliver_from(half);
            sockets.check()
        };
        while !stop.stopped() {
            advance(&mut half, &mut sockets)?;
            if done.is_some() && half.is_done() && !sockets.has_waiting() {
                done.take().into_iter().for_each(|tell| tell());
            }
            let ready = sockets.poller.wait(clock, half.poll_timeout(done.is_some()));
            for token in ready.map_err(|error| spec.failed("wait", error))? {
                if token == Token::Message {
                    while let Some(event) = inbox.try_recv() {
                        half.handle_peer_event(clock.now(), event, &mut sockets);
                    }
                }
                sockets.advance(clock.now(), token);
                advance(&mut half, &mut sockets)?;
            }
        }
        sockets.advance_datagrams(clock.now());
        advance(&mut half, &mut sockets)?;
        let mut ran = half.finish(clock.now(), &mut sockets);
        ran.counts = sockets.finish().1;
        Ok(ran)
    }
}

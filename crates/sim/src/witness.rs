//! What the world does about each event on a link: it tells the flow of its losses, clears lost
//! packets away, and has everything recorded where that is wanted.

use link::{Event, Observer};
use units::Instant;

use crate::external::{ExternalEvent, ExternalFate, Gateway};
use crate::flow::Flow;
use crate::packet::{Body, Store, Ticket};
use crate::record::Recorder;

/// The observer of one direction of a link while that is called.
pub(crate) struct Witness<'a, R> {
    pub(crate) link: usize,
    pub(crate) packets: &'a mut Store,
    pub(crate) flows: &'a mut [Flow],
    pub(crate) gateway: &'a mut Gateway,
    pub(crate) recorder: &'a mut R,
}

/// A direction of a link and its witness, borrowed from the engine side by side.
macro_rules! witness {
    ($engine:ident, $index:expr) => {
        (
            &mut $engine.links[$index],
            $crate::witness::Witness {
                link: $index,
                packets: &mut $engine.packets,
                flows: &mut $engine.flows,
                gateway: &mut $engine.gateway,
                recorder: &mut $engine.recorder,
            },
        )
    };
}
pub(crate) use witness;

impl<R: Recorder> Observer<Ticket> for Witness<'_, R> {
    #[inline]
    fn on_event(&mut self, now: Instant, ticket: &Ticket, event: Event) {
        if R::ON {
            self.recorder.on_link_event(now, self.link, self.packets.get_mut(ticket), event);
        }
        match event {
            Event::QueueDropped { rule, .. } => self.lose(now, ticket, rule.id()),
            Event::ErrorDropped { cause } => self.lose(now, ticket, cause.id()),
            Event::DropperDropped => self.lose(now, ticket, event.id()),
            Event::Delayed { by, cause } => self.delay(now, ticket, by, cause.id()),
            _ => {}
        }
    }
}

impl<R> Witness<'_, R> {
    /// The packet ends here.
    #[cold]
    pub(crate) fn lose(&mut self, now: Instant, ticket: &Ticket, rule: &'static str) {
        let packet = self.packets.take(ticket);
        match packet.body {
            Body::Segment { segment, end, .. } => {
                let flow = &mut self.flows[end as usize / 2];
                flow.on_lost(now, packet.id, &segment, end % 2 == 1, rule);
            }
            Body::Raw(bytes) => {
                let fate = ExternalFate::Lost { rule };
                self.gateway.tell(ExternalEvent { id: packet.id, at: now, bytes, fate });
            }
        }
    }

    #[cold]
    fn delay(&mut self, now: Instant, ticket: &Ticket, by: units::Duration, cause: &'static str) {
        let packet = self.packets.get_mut(ticket);
        match &packet.body {
            Body::Segment { end, .. } => self.flows[*end as usize / 2].ledger.on_delay(now, by, cause),
            Body::Raw(bytes) => {
                let (bytes, fate) = (bytes.clone(), ExternalFate::Delayed { by, cause });
                self.gateway.tell(ExternalEvent { id: packet.id, at: now, bytes, fate });
            }
        }
    }
}

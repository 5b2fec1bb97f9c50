//! Handovers of users that move.

use link::config::HeldPackets;
use link::{DelayCause, DropRule, Event, Observer, Packet};
use units::Instant;

use super::Cell;
use crate::identity::{SectorId, UserId};
use crate::layout::Point;

impl<P: Packet> Cell<P> {
    /// Position of a user, if users move.
    #[must_use]
    pub fn place_of(&self, user: UserId) -> Option<Point> {
        self.movement.as_ref().map(|movement| movement.place(user))
    }

    /// Moves all users to their positions at `now`, with the handovers on the way. While no packet waits this is not
    /// called; the call before the next packet makes up for every measurement in between.
    pub(super) fn move_users(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        let Some(mut movement) = self.movement.take() else { return };
        while movement.next <= now {
            let measured = movement.next;
            for user in (0..movement.users.len() as u32).map(UserId) {
                let gains = movement.advance(user);
                let own = self.users[user.index()].sector;
                let trigger = &mut movement.users[user.index()].trigger;
                let target = trigger.measure(measured, &gains, own, &movement.config);
                self.gains.set(user, &gains);
                if let Some(target) = target {
                    let resumes = measured + movement.config.suspension;
                    self.hand_over(now, user, target, (resumes, movement.config.held), observer);
                }
            }
            movement.next += movement.config.period;
        }
        self.movement = Some(movement);
    }

    /// Makes `target` the serving sector of `user`, which it serves from `resumes` on. A block that was to be repeated
    /// is given up: its contents are sent in a new one, or dropped with the rest.
    fn hand_over(
        &mut self,
        now: Instant,
        user: UserId,
        target: SectorId,
        (resumes, held): (Instant, HeldPackets),
        observer: &mut impl Observer<P>,
    ) {
        let receiver = &mut self.users[user.index()];
        let left = std::mem::replace(&mut receiver.sector, target);
        receiver.counters.handovers += 1;
        receiver.block = None;
        receiver.reports.clear();
        receiver.paused_until = receiver.paused_until.max(resumes);
        if receiver.queue.is_empty() {
            return;
        }
        self.sectors[left.index()].backlogged.retain(|waiting| *waiting != user);
        if held == HeldPackets::Lost {
            return receiver.drop_all(now, observer);
        }
        self.sectors[target.index()].backlogged.push(user);
        let event = Event::Delayed { by: resumes.saturating_since(now), cause: DelayCause::Handover };
        receiver
            .queue
            .carried(receiver.queue.bytes())
            .for_each(|waiting| observer.on_event(now, &waiting.packet, event));
    }
}

impl<P: Packet> super::User<P> {
    fn drop_all(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        while let Some(dropped) = self.queue.pop() {
            self.counters.handover_drops += 1;
            self.on_lost(&dropped);
            let event = Event::QueueDropped {
                rule: DropRule::named("handover"),
                behind: self.queue.len() as u32,
                behind_bytes: self.queue.bytes(),
                average: None,
            };
            observer.on_event(now, &dropped.packet, event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::PlacedUser;
    use super::super::tests::{Log, TestPacket, at, config, packet, run, web};
    use super::*;
    use crate::config::UserConfig;
    use crate::identity::SiteId;
    use crate::layout::Layout;
    use crate::mobility::MobilityConfig;
    use crate::quantity::{Decibels, Degrees, Speed};
    use crate::scheduler::{SchedulerChoice, max_rate};
    use crate::users;
    use units::{Duration, Streams};

    /// One user that starts 300 m to the east of the first site and drives east to the next one at 50 m/s, without
    /// shadowing, measured every 200 ms without a filter.
    fn driving(held: HeldPackets) -> (Cell<TestPacket>, SectorId, SectorId) {
        let mut config = config(SchedulerChoice::MaxRate(max_rate::Parameters {}));
        config.radio.shadowing = Decibels(0.0);
        config.mobility = Some(MobilityConfig {
            filter: 0,
            time_to_trigger: Duration::from_millis(400),
            held,
            ..MobilityConfig::default()
        });
        let (user, _) = web(1.0);
        let user = UserConfig { speed: Some(Speed(50.0)), heading: Some(Degrees(0.0)), ..user };
        assert_eq!(config.validate().and_then(|()| config.validate_user(&user)), Ok(()));
        let (layout, streams) = (Layout::of(&config.layout), Streams::new(1).below("user"));
        let start = Point { x: 300.0, y: 0.0 };
        let placement = users::place(&layout, &config.radio, start, &mut streams.stream("shadowing"));
        let neighbour = (0..7).find(|site| layout.site(SiteId(*site)).x > 999.0).expect("a site to the east");
        let from = placement.sector;
        let cell = Cell::new(&config, &[PlacedUser { config: user, placement, streams }]);
        // The antenna at 150 degrees of the next site points at the user's start.
        (cell, from, SectorId(3 * neighbour + 1))
    }

    const USER: UserId = UserId(0);

    /// At x metres the next site is stronger by 35 log10(x / (1000 - x)) dB: by more than 3 dB from 549.2 m on. That is
    /// first measured at 550 m, after 5 s, and the time to trigger ends at 5.4 s.
    #[test]
    fn the_next_site_takes_over_where_it_is_stronger_by_the_hysteresis() {
        let (mut cell, from, to) = driving(HeldPackets::Delivered);
        let mut log = Log::default();
        (0..600).for_each(|id| cell.handle_packet(at(5_200), USER, packet(id, 1_200), &mut log));
        let before = run(&mut cell, at(5_398), &mut log);
        assert_eq!((cell.sector_of(USER), cell.user_counters(USER).handovers), (from, 0));
        let after = run(&mut cell, at(9_000), &mut log);
        assert_eq!((cell.sector_of(USER), cell.user_counters(USER).handovers), (to, 1));
        // Packets sent from 5398 ms on arrive at 5400.
        let (before, after): (Vec<_>, Vec<_>) =
            before.into_iter().chain(after).partition(|(at, _)| *at <= 5_400);
        assert_eq!(before.len() + after.len(), 600, "what waited has moved with the user");
        let sent: Vec<u64> = log.times("block_sent").into_iter().map(|(at, _)| at).collect();
        let (last, first) =
            sent.windows(2).map(|two| (two[0], two[1])).max_by_key(|two| two.1 - two.0).expect("blocks");
        assert_eq!((last, first), (5_398, 5_450), "nothing is sent for 50 ms");
        let delayed = log.times("delayed");
        assert!(delayed.len() == 600 - before.len() && delayed.iter().all(|(at, _)| *at == 5_400));
        let bytes: Vec<u64> = [from, to].map(|sector| cell.sector_counters(sector).bytes_out.0).to_vec();
        assert_eq!(bytes, [1_200 * before.len() as u64, 1_200 * after.len() as u64]);
    }

    #[test]
    fn where_packets_are_not_moved_those_that_wait_are_lost() {
        let (mut cell, _, to) = driving(HeldPackets::Lost);
        let mut log = Log::default();
        (0..600).for_each(|id| cell.handle_packet(at(5_200), USER, packet(id, 1_200), &mut log));
        let delivered = run(&mut cell, at(9_000), &mut log);
        let counters = cell.user_counters(USER);
        assert_eq!((cell.sector_of(USER), counters.handovers), (to, 1));
        assert_eq!((delivered.len() as u64 + counters.handover_drops, cell.packets_inside()), (600, 0));
        assert!(log.times("queue_drop").iter().all(|(at, _)| *at == 5_400));
        assert_eq!(cell.poll_timeout(), None);
    }

    #[test]
    fn a_packet_that_arrives_after_a_handover_is_not_lost_to_it() {
        let (mut cell, _, to) = driving(HeldPackets::Lost);
        let mut log = Log::default();
        cell.handle_packet(at(10_001), USER, packet(1, 100), &mut log);
        assert_eq!(run(&mut cell, at(11_000), &mut log).len(), 1);
        assert_eq!((cell.sector_of(USER), cell.user_counters(USER).handovers), (to, 1));
        assert_eq!(cell.user_counters(USER).handover_drops, 0);
    }

    #[test]
    fn a_user_to_whom_nothing_was_sent_meanwhile_is_where_it_has_come_to() {
        let (mut cell, _, to) = driving(HeldPackets::Delivered);
        let mut log = Log::default();
        cell.handle_packet(at(10_001), USER, packet(1, 100), &mut log);
        assert_eq!(
            run(&mut cell, at(11_000), &mut log),
            [(10_004, 1)],
            "the suspension of 5.4 s is long over"
        );
        assert_eq!((cell.sector_of(USER), cell.user_counters(USER).handovers), (to, 1));
        assert_eq!(cell.place_of(USER), Some(Point { x: 800.0, y: 0.0 }));
    }
}

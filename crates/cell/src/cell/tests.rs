use proptest::prelude::*;
use units::text::{Packets, PacketsOrBytes, Probability};
use units::{PacketId, Rate, Streams};

use super::*;
use crate::adaptation::{AdaptationConfig, Errors};
use crate::config::UserConfig;
use crate::layout::Point;
use crate::quantity::Speed;
use crate::radio::{Multipath, RadioConfig};
use crate::scheduler::{SchedulerChoice, max_rate, mr_delay, proportional_fair, round_robin};
use crate::users::Placement;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct TestPacket {
    id: u64,
    size: u64,
    flow: u64,
    headers: Vec<u8>,
}

impl Packet for TestPacket {
    fn id(&self) -> PacketId {
        PacketId(self.id)
    }
    fn size(&self) -> Bytes {
        Bytes(self.size)
    }
    fn corrupt(&mut self) {}
    fn flow_key(&self) -> u64 {
        self.flow
    }
    fn headers(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.headers);
    }
}

/// Every event, in order.
#[derive(Default)]
pub(super) struct Log(pub(super) Vec<(Instant, u64, Event)>);

impl Observer<TestPacket> for Log {
    fn on_event(&mut self, now: Instant, packet: &TestPacket, event: Event) {
        self.0.push((now, packet.id, event));
    }
}

impl Log {
    pub(super) fn times(&self, name: &str) -> Vec<(u64, u64)> {
        let named = self.0.iter().filter(|(_, _, event)| event.id() == name);
        named.map(|(at, id, _)| (at.as_nanos() / 1_000_000, *id)).collect()
    }
}

pub(super) fn at(milliseconds: u64) -> Instant {
    Instant::START + Duration::from_millis(milliseconds)
}

/// A channel without fading, errors or interference, on which every block is received.
pub(super) fn config(scheduler: SchedulerChoice) -> Config {
    Config {
        scheduler,
        radio: RadioConfig {
            speed: Speed(0.0),
            multipath: Multipath::Flat,
            non_orthogonality: Probability::ZERO,
            ..RadioConfig::default()
        },
        adaptation: AdaptationConfig {
            errors: Errors::Fixed { usual: Probability::ZERO, below_smallest: Probability::ZERO },
            ..AdaptationConfig::default()
        },
        ..Config::default()
    }
}

fn with_errors(usual: f64) -> Config {
    let usual = Probability::new(usual).expect("a probability");
    let mut config = config(SchedulerChoice::MaxRate(max_rate::Parameters {}));
    config.adaptation.errors = Errors::Fixed { usual, below_smallest: usual };
    config
}

pub(super) fn web(gain: f64) -> (UserConfig, Placement) {
    let user = UserConfig {
        budget: None,
        min_rate: Rate::from_bits_per_sec(64_000),
        queue_limit: None,
        speed: None,
        heading: None,
    };
    (
        user,
        Placement { place: Point::default(), sector: SectorId(0), gains: vec![gain], shadowing: Vec::new() },
    )
}

pub(super) fn voice(gain: f64, budget: u64) -> (UserConfig, Placement) {
    let (user, placement) = web(gain);
    (UserConfig { budget: Some(Duration::from_millis(budget)), ..user }, placement)
}

/// A distance at which the best format is received, whatever the fading of this seed.
const NEAR: f64 = 1e-7;

pub(super) fn cell(config: &Config, users: &[(UserConfig, Placement)]) -> Cell<TestPacket> {
    let users: Vec<PlacedUser> = (0..)
        .zip(users)
        .map(|(place, (user, placement))| PlacedUser {
            config: *user,
            placement: placement.clone(),
            streams: Streams::new(1).below("user").below(&format!("{place}")),
        })
        .collect();
    Cell::new(config, &users)
}

/// Runs to `until`; the packets delivered, with the times in milliseconds.
pub(super) fn run(cell: &mut Cell<TestPacket>, until: Instant, log: &mut Log) -> Vec<(u64, u64)> {
    let mut delivered = Vec::new();
    while let Some(now) = cell.poll_timeout().filter(|now| *now <= until) {
        cell.handle_timeout(now, log);
        while let Some(packet) = cell.poll_delivery() {
            delivered.push((now.as_nanos() / 1_000_000, packet.id));
        }
    }
    delivered
}

pub(super) fn packet(id: u64, size: u64) -> TestPacket {
    TestPacket { id, size, flow: 0, headers: Vec::new() }
}

#[test]
fn a_packet_waits_for_the_next_tti_and_takes_one_for_each_block() {
    let mut cell = cell(&config(SchedulerChoice::MaxRate(max_rate::Parameters {})), &[web(NEAR)]);
    let mut log = Log::default();
    // 9719 bits carry 1214 bytes: one block for the first packet, and two for both together with the second.
    cell.handle_packet(at(3), UserId(0), packet(1, 1_000), &mut log);
    cell.handle_packet(at(3), UserId(0), packet(2, 1_400), &mut log);
    assert_eq!(cell.poll_timeout(), Some(at(4)));
    assert_eq!(run(&mut cell, at(100), &mut log), [(6, 1), (8, 2)]);
    assert_eq!(log.times("transmission_started"), [(4, 1), (4, 2)]);
    assert_eq!(cell.poll_timeout(), None, "nothing waits");
    assert_eq!(cell.user_counters(UserId(0)).blocks, 2);
}

#[test]
fn after_an_error_the_user_pauses_and_the_block_comes_before_its_other_data() {
    // Seed and stream decide which attempts fail: all of them.
    let mut cell = cell(&with_errors(1.0), &[web(NEAR), web(NEAR)]);
    let mut log = Log::default();
    cell.handle_packet(at(0), UserId(0), packet(1, 500), &mut log);
    run(&mut cell, at(40), &mut log);
    let counters = cell.user_counters(UserId(0));
    // Sent at 0, failed at 2, again from 14 on: 0, 14, 28.
    assert_eq!((counters.blocks, counters.block_errors), (3, 3));
    assert_eq!(log.times("delayed"), [(2, 1), (16, 1), (30, 1)]);
}

#[test]
fn while_one_user_pauses_the_others_are_served() {
    let mut cell = cell(&with_errors(0.5), &[web(NEAR), web(NEAR / 2.0)]);
    let mut log = Log::default();
    for id in 0..40 {
        cell.handle_packet(at(0), UserId((id % 2) as u32), packet(id, 1_200), &mut log);
    }
    let delivered = run(&mut cell, at(2_000), &mut log);
    assert_eq!(delivered.len(), 40, "errors delay, they do not lose");
    let of_user =
        |user: u64| delivered.iter().map(|(_, id)| *id).filter(|id| id % 2 == user).collect::<Vec<_>>();
    assert!((0..2).all(|user| of_user(user).is_sorted()), "in order for each user");
}

#[test]
fn what_is_older_than_its_budget_is_dropped_with_its_block() {
    let mut cell = cell(&with_errors(1.0), &[voice(NEAR, 40)]);
    let mut log = Log::default();
    cell.handle_packet(at(0), UserId(0), packet(1, 34), &mut log);
    cell.handle_packet(at(20), UserId(0), packet(2, 34), &mut log);
    assert_eq!(run(&mut cell, at(200), &mut log), []);
    assert_eq!(log.times("queue_drop"), [(42, 1), (62, 2)]);
    assert_eq!(cell.user_counters(UserId(0)).expired, 2);
}

#[test]
fn small_blocks_share_a_tti_by_codes_and_power_and_at_most_four_do() {
    let users: Vec<_> = (0..6).map(|_| voice(NEAR, 80)).collect();
    let mut cell = cell(&config(SchedulerChoice::RoundRobin(round_robin::Parameters {})), &users);
    let mut log = Log::default();
    for user in 0..6 {
        cell.handle_packet(at(0), UserId(user), packet(u64::from(user), 34), &mut log);
    }
    assert_eq!(run(&mut cell, at(100), &mut log), [(2, 0), (2, 1), (2, 2), (2, 3), (4, 4), (4, 5)]);
    let counters = cell.sector_counters(SectorId(0));
    assert_eq!(counters.busy_ttis, 2);
    assert!(counters.power_time < Duration::from_millis(4), "small blocks leave power over");
}

#[test]
fn maximum_rate_gives_all_to_the_best_while_it_has_data() {
    let alone = Config { users_per_tti: 1, ..config(SchedulerChoice::MaxRate(max_rate::Parameters {})) };
    let mut cell = cell(&alone, &[web(NEAR), web(1e-14)]);
    let mut log = Log::default();
    for id in 0..100 {
        cell.handle_packet(at(0), UserId((id % 2) as u32), packet(id, 1_214), &mut log);
    }
    let delivered = run(&mut cell, at(98), &mut log);
    assert!(delivered.iter().all(|(_, id)| id % 2 == 0), "{delivered:?}");
}

#[test]
fn late_voice_goes_before_faster_web() {
    let mr_delay = SchedulerChoice::MrDelay(mr_delay::Parameters { margin: Duration::from_millis(40) });
    let alone = Config { users_per_tti: 1, ..config(mr_delay) };
    let mut cell = cell(&alone, &[web(NEAR), voice(1e-13, 60)]);
    let mut log = Log::default();
    (0..60).for_each(|id| cell.handle_packet(at(0), UserId(0), packet(id, 1_214), &mut log));
    cell.handle_packet(at(0), UserId(1), packet(99, 34), &mut log);
    let delivered = run(&mut cell, at(130), &mut log);
    let voice = delivered.iter().find(|(_, id)| *id == 99).expect("it is delivered");
    assert!((22..=60).contains(&voice.0), "with 40 ms left it is sent: {voice:?}");
}

/// Equal, independent users that always have data: PF gives each the same share of the slots, and all together more
/// than one alone, because each is served while its channel is good (for Rayleigh fading and a rate that is linear in
/// the quality, 1 + 1/2 + … + 1/n times as much: Knopp and Humblet 1995).
#[test]
fn proportional_fair_shares_slots_equally_and_gains_from_fading() {
    let total = |count: u32| {
        let mut config = config(SchedulerChoice::ProportionalFair(proportional_fair::Parameters {}));
        config.radio.speed = Speed(3.0 / 3.6);
        // Far out, where no user reaches the largest block and rates follow the fading.
        config.users_per_tti = 1;
        let users: Vec<_> = (0..count).map(|_| web(3e-15)).collect();
        let mut cell = cell(&config, &users);
        let mut log = Log::default();
        for user in 0..count {
            (0..700).for_each(|id| cell.handle_packet(at(0), UserId(user), packet(id, 65_000), &mut log));
        }
        run(&mut cell, at(60_000), &mut log);
        let counters = |user| cell.user_counters(UserId(user)).clone();
        let blocks: Vec<u64> = (0..count).map(|user| counters(user).blocks).collect();
        let (least, most) = (blocks.iter().min().copied(), blocks.iter().max().copied());
        assert!(most <= least.map(|least| least * 5 / 4), "{blocks:?}");
        (0..count).map(|user| counters(user).bytes_out.0).sum::<u64>() as f64
    };
    let (alone, eight) = (total(1), total(8));
    // Rates are floored to block sizes and bounded by the largest, so the gain stays below 1 + 1/2 + … + 1/8 = 2.7.
    assert!((1.3..2.8).contains(&(eight / alone)), "{}", eight / alone);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each packet is delivered, dropped with a cause, or still there; those of a user in order.
    #[test]
    fn no_packet_is_lost_or_made(
        arrivals in prop::collection::vec((0_u64..200, 0_u32..3, 20_u64..1_500), 1..80),
        errors in 0.0_f64..0.9,
        scheduler in 0_usize..3,
    ) {
        let schedulers = [
            SchedulerChoice::MaxRate(max_rate::Parameters {}),
            SchedulerChoice::ProportionalFair(proportional_fair::Parameters {}),
            SchedulerChoice::RoundRobin(round_robin::Parameters {}),
        ];
        let config = Config { scheduler: schedulers[scheduler].clone(), ..with_errors(errors) };
        let mut cell = cell(&config, &[web(NEAR), voice(1e-13, 60), web(1e-14)]);
        let mut log = Log::default();
        let mut arrivals = arrivals;
        arrivals.sort_by_key(|(at, _, _)| *at);
        let mut delivered = Vec::new();
        for (id, (milliseconds, user, size)) in arrivals.iter().enumerate() {
            delivered.extend(run(&mut cell, at(*milliseconds), &mut log));
            cell.handle_packet(at(*milliseconds), UserId(*user), packet(id as u64, *size), &mut log);
        }
        delivered.extend(run(&mut cell, at(400), &mut log));
        let dropped = log.times("queue_drop").len();
        let waiting: usize = (0..3).map(|user| cell.queue_len(UserId(user)).0).sum();
        prop_assert_eq!(delivered.len() + dropped + waiting, arrivals.len());
        for user in 0..3 {
            let own = delivered.iter().filter(|(_, id)| arrivals[*id as usize].1 == user).map(|(_, id)| *id);
            prop_assert!(own.is_sorted());
        }
    }
}

#[test]
fn a_users_queue_takes_packets_up_to_its_limit_in_packets_or_in_bytes() {
    let (user, placement) = web(NEAR);
    for (limit, fit) in [(PacketsOrBytes::Packets(Packets(3)), 3), (PacketsOrBytes::Bytes(Bytes(2_500)), 2)] {
        let user = UserConfig { queue_limit: Some(limit), ..user };
        let mut cell = cell(&with_errors(0.0), &[(user, placement.clone())]);
        for number in 0..5 {
            cell.handle_packet(Instant::START, UserId(0), packet(number, 1_000), &mut Log::default());
        }
        assert_eq!(cell.user_counters(UserId(0)).overflowed, 5 - fit);
    }
}

/// A frame of speech of 31 bytes with headers of IPv4, UDP and RTP, without a UDP checksum.
fn frame(number: u64) -> TestPacket {
    let mut headers = vec![0; 40];
    (headers[0], headers[3], headers[5], headers[8], headers[9]) = (0x45, 71, number as u8 + 1, 64, 17);
    (headers[28], headers[31]) = (0x80, number as u8);
    headers[32..36].copy_from_slice(&(160 * number as u32).to_be_bytes());
    TestPacket { headers, ..packet(number, 71) }
}

#[test]
fn headers_are_compressed_before_a_frame_waits_and_what_expires_is_lost_to_the_decompressor() {
    let robustness = 1;
    let rohc = link::compression::rohc::Parameters {
        mode: link::compression::rohc::Mode::Unidirectional,
        robustness,
        ..Default::default()
    };
    let mut config = config(SchedulerChoice::MaxRate(max_rate::Parameters {}));
    config.compression = Some(link::compression::Compression::Rohc(rohc));
    assert_eq!(config.validate(), Ok(()));
    let mut cell = cell(&config, &[voice(NEAR, 40)]);
    let mut log = Log::default();
    for number in 0..10 {
        cell.handle_packet(at(20 * number), UserId(0), frame(number), &mut log);
        run(&mut cell, at(20 * number + 19), &mut log);
    }
    let counters = cell.user_counters(UserId(0));
    assert_eq!((counters.packets_out, counters.bytes_out), (10, Bytes(710)));
    assert_eq!((counters.wire.refreshes, counters.wire.compressed), (2, 8));
    assert_eq!(counters.wire.bytes, Bytes(2 * (31 + 41) + 8 * 32));
    // Twenty frames come at once; sixteen of them are older than their budget before the user is served again.
    cell.users[0].paused_until = at(300);
    (10..30).for_each(|number| cell.handle_packet(at(200), UserId(0), frame(number), &mut log));
    run(&mut cell, at(299), &mut log);
    assert_eq!(cell.user_counters(UserId(0)).expired, 20);
    cell.handle_packet(at(300), UserId(0), frame(30), &mut log);
    run(&mut cell, at(400), &mut log);
    assert_eq!(cell.user_counters(UserId(0)).wire.decompressor_drops, 1);
    assert_eq!(log.times("error_drop").len(), 1);
}

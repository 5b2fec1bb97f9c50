//! 735 users in 21 cells for 50 simulated seconds, half with voice and half with web, as in Landström 2008 chapter 7,
//! without TCP: a web object arrives as a whole. Prints CPU seconds; `plan SCHEDULER` for one scheduler.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant as Clock;

use lasthop_cell::layout::Layout;
use lasthop_cell::scheduler::{ENTRIES, SchedulerChoice};
use lasthop_cell::{Cell, Config, PlacedUser, UserConfig, UserId, users};
use link::Packet;
use units::{Bytes, Duration, Instant, PacketId, Rate, Stream, Streams};

/// An empty packet.
struct Blank {
    user: u32,
    size: u64,
    object: u64,
    last: bool,
}

impl Packet for Blank {
    fn id(&self) -> PacketId {
        PacketId(0)
    }
    fn size(&self) -> Bytes {
        Bytes(self.size)
    }
    fn corrupt(&mut self) {}
    fn flow_key(&self) -> u64 {
        self.object
    }
}

#[expect(clippy::disallowed_methods, reason = "a bench measures the time that the machine takes")]
fn main() {
    let wanted = std::env::args().nth(1).filter(|name| !name.starts_with("--"));
    for name in wanted.map_or_else(|| vec!["proportional-fair".into(), "mr-delay".into()], |name| vec![name])
    {
        let begun = Clock::now();
        let (delivered, blocks) = run(&scheduler(&name));
        let took = begun.elapsed().as_secs_f64();
        println!(
            "{name:20} {took:6.2} s for 50 s, {:.0} kbit/s a cell, {blocks} blocks",
            delivered as f64 * 8.0 / 50.0 / 21.0 / 1e3
        );
    }
}

fn scheduler(name: &str) -> SchedulerChoice {
    let entry = ENTRIES.iter().find(|entry| entry.id == name).expect("a scheduler's name");
    #[derive(serde::Deserialize)]
    struct File {
        scheduler: SchedulerChoice,
    }
    toml::from_str::<File>(&format!("scheduler = {}", entry.example)).expect("its own example").scheduler
}

fn run(scheduler: &SchedulerChoice) -> (u64, u64) {
    let config = Config { scheduler: scheduler.clone(), ..Config::default() };
    let streams = Streams::new(1);
    let layout = Layout::hexagonal(1, config.layout.site_distance.0);
    let placed = users::drop_users(&layout, &config.radio, 35, &streams);
    let user = |place: usize| UserConfig {
        budget: place.is_multiple_of(2).then_some(Duration::from_millis(120)),
        min_rate: Rate::from_bits_per_sec(if place.is_multiple_of(2) { 13_600 } else { 64_000 }),
        queue_limit: None,
        speed: None,
        heading: None,
    };
    let users: Vec<_> = placed
        .into_iter()
        .enumerate()
        .map(|(place, placement)| PlacedUser {
            config: user(place),
            placement,
            streams: streams.below("user").below(&place.to_string()),
        })
        .collect();
    let mut cell: Cell<Blank> = Cell::new(&config, &users);
    let mut random = streams.stream("traffic");
    let mut arrivals: BinaryHeap<Reverse<(Instant, u32)>> = (0..users.len() as u32)
        .map(|user| Reverse((Instant::START + exponential(&mut random, 1.0), user)))
        .collect();
    let end = Instant::START + Duration::from_secs(50);
    let mut on_until = vec![Instant::START; users.len()];
    let (mut delivered, mut objects) = (0, 0);
    loop {
        let arrival = arrivals.peek().map_or(Instant::NEVER, |next| next.0.0);
        let tti = cell.poll_timeout().unwrap_or(Instant::NEVER);
        let now = arrival.min(tti);
        if now > end {
            break;
        }
        if tti <= arrival {
            cell.handle_timeout(now, &mut ());
            while let Some(packet) = cell.poll_delivery() {
                delivered += packet.size;
                if packet.last {
                    arrivals.push(Reverse((now + exponential(&mut random, 0.5), packet.user)));
                }
            }
            continue;
        }
        let Some(Reverse((_, user))) = arrivals.pop() else { break };
        objects += 1;
        if user % 2 == 0 {
            cell.handle_packet(now, UserId(user), Blank { user, size: 34, object: 0, last: false }, &mut ());
            if now > on_until[user as usize] {
                let off = exponential(&mut random, 7.0);
                on_until[user as usize] = now + off + exponential(&mut random, 7.0);
                arrivals.push(Reverse((now + off, user)));
            } else {
                arrivals.push(Reverse((now + Duration::from_millis(20), user)));
            }
        } else {
            let size = pareto(&mut random, 30_458.0, 1.7584) as u64;
            let packets = size.div_ceil(1_460);
            for packet in 0..packets {
                let last = packet + 1 == packets;
                cell.handle_packet(
                    now,
                    UserId(user),
                    Blank { user, size: 1_500, object: objects, last },
                    &mut (),
                );
            }
        }
    }
    let blocks = (0..users.len() as u32).map(|user| cell.user_counters(UserId(user)).blocks).sum();
    (delivered, blocks)
}

fn unit(stream: &mut Stream) -> f64 {
    use rand::Rng;
    ((stream.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

fn exponential(stream: &mut Stream, mean: f64) -> Duration {
    Duration::from_secs_f64(-mean * unit(stream).ln())
}

fn pareto(stream: &mut Stream, mean: f64, shape: f64) -> f64 {
    mean * (shape - 1.0) / shape * unit(stream).powf(-1.0 / shape)
}

//! Two endpoints over a hostile pipe: whatever is lost, damaged, doubled or late, the streams arrive whole.

use testkit::fate::{Fate, Fates};
use testkit::pair::{Closes, Pair, Reads, Side, User};
use units::Duration;
use wire::Payload;

use crate::config;

/// Bytes of the input before the fates.
const HEAD: usize = 8;

/// The first eight bytes choose two configurations and the users' behaviour. Each byte after them is the fate of one
/// packet, in the order of sending; packets after the last byte arrive. No side loses more than [`MOST_LOST`] packets
/// in all: a sender that receives nothing for all its retries rightly gives up.
pub fn run(bytes: &[u8]) {
    let Some((head, fates)) = bytes.split_first_chunk::<HEAD>() else { return };
    let [a, b, c, d, size, reply, habits, delay] = *head;
    let (client, server) = (config::persistent([a, b]), config::persistent([c, d]));
    let lens = [u64::from(size) * 250, u64::from(reply) * 50];
    let mut pair = Pair::new(client.1, server.1)
        .users(client_user(lens[0], habits), server_user(lens[1], habits))
        .delays(delay_of(delay & 0xf), delay_of(delay >> 4))
        .step_limit(STEPS)
        .fates(fates_of(fates));
    let done = pair.run(LONGEST);
    let names = || format!("{} to {}", client.0, server.0);
    assert!(done, "{}: not over after {LONGEST}", names());
    arrives(&pair, Side::Server, lens[0], &names);
    arrives(&pair, Side::Client, lens[1], &names);
}

/// Checks that the `len` bytes of the other side's stream were read on `side`.
fn arrives(pair: &Pair, side: Side, len: u64, names: &impl Fn() -> String) {
    let received = &pair.host(side).received;
    assert_eq!(received.len() as u64, len, "{}: bytes at {side:?}", names());
    let differs = (0..).zip(received).find(|(place, byte)| Payload::pattern_byte(*place) != **byte);
    assert_eq!(differs, None, "{}: the stream at {side:?}", names());
}

fn client_user(len: u64, habits: u8) -> User {
    let closes = if habits & 1 == 0 { Closes::WhenWritten } else { Closes::AfterPeer };
    User { reads: reads(habits >> 1), closes, ..User::sends_pattern(len) }
}

/// At least one of the two users closes without waiting for the other.
fn server_user(len: u64, habits: u8) -> User {
    let closes = if habits & 9 == 8 { Closes::AfterPeer } else { Closes::WhenWritten };
    User { reads: reads(habits >> 4), closes, ..User::sends_pattern(len) }
}

const fn reads(habit: u8) -> Reads {
    match habit & 3 {
        0 | 1 => Reads::AtOnce,
        2 => Reads::OneEvery(Duration::from_millis(10)),
        _ => Reads::OneEvery(Duration::from_millis(500)),
    }
}

/// 1 ms to 3.6 s.
fn delay_of(quarter: u8) -> Duration {
    Duration::from_millis(1 + u64::from(quarter).pow(3) * 16 / 15)
}

fn fates_of(fates: &[u8]) -> Fates {
    let owned = fates.to_vec();
    let mut fates = owned.into_iter();
    let mut lost = [0; 2];
    Box::new(move |passing| {
        let lost = &mut lost[passing.from as usize];
        let fate = fates.next().map_or(Fate::Deliver, fate);
        let fate = if fate == Fate::Drop && *lost == MOST_LOST { Fate::Deliver } else { fate };
        *lost += u32::from(fate == Fate::Drop);
        fate
    })
}

/// The fate that a byte encodes: half of the values deliver.
fn fate(byte: u8) -> Fate {
    let later = Duration::from_millis(u64::from(byte & 0x1f).pow(2) * 2);
    match byte >> 5 {
        0..=3 => Fate::Deliver,
        4 => Fate::Drop,
        5 => Fate::Mark,
        6 => Fate::Duplicate(later),
        _ => Fate::Delay(later),
    }
}

/// Packets of one side that are lost. A retry fails where the segment or its ACK is lost, so that at most twice as many
/// fail in a row; a persistent configuration makes 60.
const MOST_LOST: u32 = 25;
/// Simulated time in which every connection ends, whatever the pipe does.
const LONGEST: Duration = Duration::from_secs(1_000_000);
/// Packets and timers that a connection of at most 64 kB with a few kB of fates never needs.
const STEPS: u64 = 200_000;

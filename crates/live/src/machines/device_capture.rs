//! A capture at a remote host's device, by the clock of its machine, before any delay of the tunnel.

use std::io;

use units::Instant;
use wire::capture::{Direction, Frame, Interface, VIRTUAL_EPOCH};
use wire::pcapng::{Section, Writer};

use super::offset::Drift;
use crate::clock::Clock;

/// The packets of a device.
#[derive(Debug)]
pub(crate) struct DeviceCapture {
    name: String,
    clock: Clock,
    /// Whether packets are kept whole.
    whole: bool,
    frames: Vec<Frame>,
}

impl DeviceCapture {
    /// Makes an empty capture.
    pub(crate) fn new(name: String, clock: Clock, whole: bool) -> Self {
        Self { name, clock, whole, frames: Vec::new() }
    }

    /// Records a packet that the host sent.
    pub(crate) fn sent(&mut self, packet: &[u8]) {
        self.note(packet, Direction::Outbound);
    }

    /// Records a packet that the host received.
    pub(crate) fn received(&mut self, packet: &[u8]) {
        self.note(packet, Direction::Inbound);
    }

    fn note(&mut self, packet: &[u8], direction: Direction) {
        let kept = if self.whole { packet.len() } else { headers(packet) };
        let frame = Frame::new(0, self.clock.now(), packet[..kept].to_vec());
        let original_len = u32::try_from(packet.len()).expect("a packet is at most 64 KiB");
        self.frames.push(Frame { original_len, direction: Some(direction), ..frame });
    }

    /// Returns the capture as pcapng. The run began at `start` by the clock of the machine, which has drifted by
    /// `drift`.
    pub(crate) fn write(self, start: Instant, drift: Drift) -> io::Result<(String, Vec<u8>)> {
        let comment = "at the host's device, by its machine's clock; offset and drift against the emulator's are \
                       taken out";
        let section =
            Section { application: "lasthop".to_owned(), comment: comment.to_owned(), ..Section::default() };
        let mut writer = Writer::new(Vec::new(), &section)?;
        writer.add_interface(&Interface::raw_ip(self.name.as_str()))?;
        for frame in self.frames {
            let noted = Instant::from_nanos(frame.at.saturating_since(start).as_nanos());
            let at = VIRTUAL_EPOCH + drift.correct(noted).saturating_since(Instant::START);
            writer.write(&Frame { at, ..frame })?;
        }
        Ok((self.name, writer.finish()?))
    }
}

/// Returns the length of an IPv4 packet's headers: its own (RFC 791) and that of TCP (RFC 9293) or UDP.
fn headers(packet: &[u8]) -> usize {
    let word = |at: usize| packet.get(at).copied().map_or(0, usize::from);
    let own = (word(0) & 15) * 4;
    let next = match word(9) {
        6 => (word(own + 12) >> 4) * 4,
        17 => 8,
        _ => 0,
    };
    (own + next).min(packet.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_kept_and_times_are_the_emulators() {
        let mut packet = vec![0; 100];
        (packet[0], packet[9], packet[32]) = (0x45, 6, 0x80);
        assert_eq!(headers(&packet), 52);
        let mut capture = DeviceCapture::new("mobile-device".to_owned(), Clock::start(), false);
        capture.sent(&packet);
        capture.frames[0].at = Instant::from_nanos(3_000_000);
        let drift = Drift { gained: 1_000, over: 1_000_000 };
        let (name, file) = capture.write(Instant::from_nanos(1_000_000), drift).unwrap();
        let frames: Vec<_> = wire::capture::open(&file[..]).unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!((name.as_str(), frames.len()), ("mobile-device", 1));
        assert_eq!((frames[0].data.len(), frames[0].original_len), (52, 100));
        assert_eq!(frames[0].at.saturating_since(VIRTUAL_EPOCH).as_nanos(), 1_998_000);
    }
}

//! The buffer of a media player: how much is in it, and when it plays.

use units::{Bytes, Duration, Instant};

use crate::program::Transfer;

/// What the playback of a stream depends on besides the arrival of its chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Playback {
    /// Media in a chunk.
    pub chunk: Duration,
    /// Media that is buffered before playback begins, and again after a stall.
    pub startup: Duration,
}

/// The buffer at one time.
#[derive(Clone, Debug)]
pub struct PlayoutBuffer {
    playback: Playback,
    /// Media in the buffer at `at`.
    level: Duration,
    at: Instant,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing has been played.
    Before,
    Playing,
    /// Since when the buffer is empty.
    Stalled(Instant),
}

/// The course of a playback.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaybackCourse {
    /// When it began, if it did.
    pub began: Option<Instant>,
    /// Interruptions that have ended: from the empty buffer until playback continued.
    pub stalls: Vec<[Instant; 2]>,
}

impl PlayoutBuffer {
    /// An empty buffer.
    #[must_use]
    pub const fn new(playback: Playback) -> Self {
        Self { playback, level: Duration::ZERO, at: Instant::START, stage: Stage::Before }
    }

    /// Media in the buffer at `now`, which is not before the last arrival.
    #[must_use]
    pub fn level(&self, now: Instant) -> Duration {
        match self.stage {
            Stage::Playing => self.level.saturating_sub(now - self.at),
            Stage::Before | Stage::Stalled(_) => self.level,
        }
    }

    /// A chunk has arrived. Returns the stall that it ends, from and to.
    pub fn on_chunk(&mut self, now: Instant) -> Option<[Instant; 2]> {
        if self.stage == Stage::Playing && now - self.at > self.level {
            self.stage = Stage::Stalled(self.at + self.level);
            self.level = Duration::ZERO;
        }
        self.level = self.level(now) + self.playback.chunk;
        self.at = now;
        if self.stage == Stage::Playing || self.level < self.playback.startup {
            return None;
        }
        match std::mem::replace(&mut self.stage, Stage::Playing) {
            Stage::Stalled(since) => Some([since, now]),
            Stage::Before | Stage::Playing => None,
        }
    }

    fn has_begun(&self) -> bool {
        self.stage != Stage::Before
    }
}

impl Playback {
    /// The course of a playback whose chunks were these transfers, in the order of their ends.
    #[must_use]
    pub fn course(self, chunks: &[Transfer]) -> PlaybackCourse {
        let mut buffer = PlayoutBuffer::new(self);
        let mut course = PlaybackCourse::default();
        for chunk in chunks {
            let stall = buffer.on_chunk(chunk.end);
            course.stalls.extend(stall);
            if course.began.is_none() && buffer.has_begun() {
                course.began = Some(chunk.end);
            }
        }
        course
    }

    /// Mean rate of the media in these chunks, in bit/s. None without a chunk.
    #[must_use]
    pub fn media_bit_rate(self, chunks: &[Transfer]) -> Option<f64> {
        let bytes: Bytes = chunks.iter().map(|chunk| chunk.bytes).sum();
        let length = self.chunk.as_secs_f64() * chunks.len() as f64;
        (length > 0.0).then(|| 8.0 * bytes.0 as f64 / length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAYBACK: Playback = Playback { chunk: Duration::from_secs(4), startup: Duration::from_secs(8) };

    fn at(seconds: u64) -> Instant {
        Instant::START + Duration::from_secs(seconds)
    }

    fn chunks(ends: &[u64]) -> Vec<Transfer> {
        ends.iter().map(|end| Transfer { start: at(0), end: at(*end), bytes: Bytes(500_000) }).collect()
    }

    #[test]
    fn playback_begins_when_enough_is_buffered_and_stalls_when_nothing_is() {
        // 8 s of media from the second 3 on, 4 s more at 5: empty at 15. Chunks at 18 and 20: it continues at 20.
        let course = PLAYBACK.course(&chunks(&[1, 3, 5, 18, 20, 21]));
        assert_eq!(course, PlaybackCourse { began: Some(at(3)), stalls: vec![[at(15), at(20)]] });
    }

    #[test]
    fn a_chunk_that_arrives_as_the_buffer_empties_is_in_time() {
        assert!(PLAYBACK.course(&chunks(&[1, 3, 11])).stalls.is_empty());
        assert_eq!(PLAYBACK.course(&chunks(&[1, 3, 12, 13])).stalls, [[at(11), at(13)]]);
    }

    #[test]
    fn too_few_chunks_never_begin() {
        assert_eq!(PLAYBACK.course(&chunks(&[1])), PlaybackCourse::default());
    }

    #[test]
    fn the_rate_is_that_of_the_media_and_not_of_the_network() {
        assert_eq!(PLAYBACK.media_bit_rate(&chunks(&[1, 2])), Some(1e6));
        assert_eq!(PLAYBACK.media_bit_rate(&[]), None);
    }
}

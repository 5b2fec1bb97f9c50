//! The send queue: data that the user wrote and that were not sent yet.

use std::collections::VecDeque;

use units::Bytes;
use wire::Payload;

/// The unsent part of the stream.
#[derive(Clone, Debug, Default)]
pub struct SendQueue {
    runs: VecDeque<Payload>,
    len: Bytes,
}

impl SendQueue {
    /// Adds data at the end.
    pub fn push(&mut self, payload: Payload) {
        if payload.is_empty() {
            return;
        }
        self.len += Bytes(u64::from(payload.len()));
        self.runs.push_back(payload);
    }

    /// Takes `len` bytes off the front. Callers take no more than there are.
    pub fn take(&mut self, len: u32) -> Payload {
        self.take_of_first(len).unwrap_or_else(|| self.take_of_several(len))
    }

    /// The usual case of a bulk transfer: a piece of one long stretch of the pattern.
    #[inline]
    fn take_of_first(&mut self, len: u32) -> Option<Payload> {
        let Payload::Pattern { offset, len: left } = self.runs.front_mut()? else { return None };
        *left = left.checked_sub(len).filter(|left| *left > 0)?;
        let taken = Payload::Pattern { offset: *offset, len };
        *offset += u64::from(len);
        self.len -= Bytes(u64::from(len));
        Some(taken)
    }

    fn take_of_several(&mut self, len: u32) -> Payload {
        let mut taken = Payload::EMPTY;
        while taken.len() < len {
            let run = self.runs.pop_front().expect("callers take no more than there is");
            let wanted = len - taken.len();
            if run.len() > wanted {
                self.runs.push_front(run.slice(wanted, run.len() - wanted));
                taken = join(taken, run.slice(0, wanted));
            } else {
                taken = join(taken, run);
            }
        }
        self.len -= Bytes(u64::from(len));
        taken
    }

    /// Number of bytes.
    #[must_use]
    pub const fn len(&self) -> Bytes {
        self.len
    }

    /// Whether there are no bytes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len.is_zero()
    }
}

/// One run out of two that follow each other. Adjoining stretches of the pattern stay a pattern; other
/// bytes are copied, at most a segment's worth.
fn join(first: Payload, second: Payload) -> Payload {
    match (&first, &second) {
        (_, _) if first.is_empty() => second,
        (Payload::Pattern { offset, len }, Payload::Pattern { offset: next, len: more })
            if offset + u64::from(*len) == *next =>
        {
            Payload::Pattern { offset: *offset, len: len + more }
        }
        _ => {
            let mut bytes = Vec::with_capacity((first.len() + second.len()) as usize);
            first.write_to(&mut bytes);
            second.write_to(&mut bytes);
            Payload::Data(bytes.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_may_span_what_was_written() {
        let mut queue = SendQueue::default();
        queue.push(Payload::Data(b"hello "[..].into()));
        queue.push(Payload::Data(b"world"[..].into()));
        assert_eq!(queue.take(8), Payload::Data(b"hello wo"[..].into()));
        assert_eq!((queue.take(3), queue.is_empty()), (Payload::Data(b"rld"[..].into()), true));
    }

    #[test]
    fn adjoining_patterns_stay_a_pattern() {
        let mut queue = SendQueue::default();
        queue.push(Payload::Pattern { offset: 0, len: 10 });
        queue.push(Payload::Pattern { offset: 10, len: 10 });
        assert_eq!(queue.take(15), Payload::Pattern { offset: 0, len: 15 });
        assert_eq!(queue.len(), Bytes(5));
    }
}

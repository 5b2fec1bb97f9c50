//! The frames of a capture, or of a series of files, that are chosen to be read.

use std::collections::VecDeque;
use std::io::Read;

use ::quic::KeyLog;
use units::{Duration, Instant, PacketId};
use wire::capture::{Frame, Interface, ReadError, Reader};
use wire::framing::{NotIp, Unpacked, Unpacker};

use crate::filter::Filter;

/// The frames to read. By default all.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Least time from the capture's first frame.
    pub from: Duration,
    /// Greatest time from the capture's first frame.
    pub to: Option<Duration>,
    /// The filter of frames.
    pub filter: Option<Filter>,
    /// Secrets of QUIC connections, besides those in the files.
    pub key_log: KeyLog,
}

/// The chosen frames of files that follow each other in time, such as a rotated series, in the order of the files.
///
/// A frame's identity is its number as Wireshark counts it: from 1, and across the files. Interfaces with the same
/// name and link type are one point of observation. A damaged file is read up to the damage, then the next one.
#[derive(Debug)]
pub struct Frames<R> {
    readers: VecDeque<Reader<R>>,
    selection: Selection,
    points: Vec<Interface>,
    unpackers: Vec<Unpacker>,
    /// The point of each interface of the present file.
    places: Vec<usize>,
    began: Option<Instant>,
    number: u64,
    files: u64,
    errors: Vec<(u64, ReadError)>,
}

impl<R: Read> Frames<R> {
    /// The chosen frames of these files.
    pub fn new(files: impl IntoIterator<Item = Reader<R>>, selection: Selection) -> Self {
        Self {
            readers: files.into_iter().collect(),
            selection,
            points: Vec::new(),
            unpackers: Vec::new(),
            places: Vec::new(),
            began: None,
            number: 0,
            files: 1,
            errors: Vec::new(),
        }
    }

    /// The points of observation so far: all to which the frames so far refer.
    #[must_use]
    pub fn points(&self) -> &[Interface] {
        &self.points
    }

    /// Time at which the first frame of all was seen, chosen or not.
    #[must_use]
    pub const fn began(&self) -> Option<Instant> {
        self.began
    }

    /// The errors that ended the reading of a file before its end, in words.
    #[must_use]
    pub fn error(&self) -> Option<String> {
        let one = self.files == 1;
        let words = |(file, error): &(u64, ReadError)| {
            if one { error.to_string() } else { format!("file {file}: {error}") }
        };
        let all: Vec<_> = self.errors.iter().map(words).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// The secrets of QUIC connections so far: those of the selection and those in the files.
    #[must_use]
    pub const fn key_log(&self) -> &KeyLog {
        &self.selection.key_log
    }

    /// The innermost IP packet that a frame holds or completes.
    ///
    /// # Errors
    /// Its other contents.
    pub fn unpack<'a>(&mut self, frame: &'a Frame) -> Result<Unpacked<'a>, NotIp> {
        let point = frame.interface as usize;
        self.unpackers[point].unpack(self.points[point].link_type, &frame.data)
    }

    /// The next frame, chosen or not.
    fn next_frame(&mut self) -> Option<Frame> {
        loop {
            let reader = self.readers.front_mut()?;
            match reader.next() {
                Some(Ok(mut frame)) => {
                    if let Some(secrets) = reader.take_secrets() {
                        self.selection.key_log.add_lines(&secrets);
                    }
                    self.number += 1;
                    self.find_points();
                    frame.interface = self.places[frame.interface as usize] as u32;
                    frame.packet = Some(PacketId(self.number));
                    return Some(frame);
                }
                Some(Err(error)) => self.errors.push((self.files, error)),
                None => self.finish_file(),
            }
        }
    }

    fn finish_file(&mut self) {
        self.find_points();
        self.readers.pop_front();
        self.places.clear();
        self.files += u64::from(!self.readers.is_empty());
    }

    /// Gives each new interface of the present file its point of observation.
    fn find_points(&mut self) {
        let Some(reader) = self.readers.front() else { return };
        for interface in &reader.interfaces()[self.places.len()..] {
            let taken = &self.places;
            let same = |(place, point): &(usize, &Interface)| {
                point.name == interface.name
                    && point.link_type == interface.link_type
                    && !taken.contains(place)
            };
            let place = self.points.iter().enumerate().find(same).map(|(place, _)| place);
            let place = place.unwrap_or_else(|| {
                self.points.push(interface.clone());
                self.unpackers.push(Unpacker::default());
                self.points.len() - 1
            });
            self.places.push(place);
        }
    }

    fn chooses(&self, frame: &Frame, began: Instant) -> bool {
        let at = frame.at.saturating_since(began);
        let link_type = self.points[frame.interface as usize].link_type;
        at >= self.selection.from
            && self.selection.to.is_none_or(|to| at <= to)
            && self.selection.filter.as_ref().is_none_or(|filter| filter.matches(link_type, frame))
    }
}

impl<R: Read> Iterator for Frames<R> {
    type Item = Frame;

    fn next(&mut self) -> Option<Frame> {
        loop {
            let frame = self.next_frame()?;
            let began = *self.began.get_or_insert(frame.at);
            if self.chooses(&frame, began) {
                return Some(frame);
            }
        }
    }
}

//! Reads a capture file into the packets seen at each of its points.

use std::io::Read;

use units::PacketId;
use wire::capture::{Interface, ReadError, Reader};
use wire::framing::Unpacker;

use super::Capture;

/// A point of observation, and the packets seen there.
#[derive(Clone, Debug)]
pub struct Point {
    /// The capture's interface.
    pub interface: Interface,
    /// The packets seen.
    pub capture: Capture,
}

/// Reads a capture to its end. Packets without an identity get one by their position in the file. If the file is
/// truncated or damaged, the error is returned together with the packets before it.
pub fn read<R: Read>(reader: &mut Reader<R>) -> (Vec<Point>, Option<ReadError>) {
    let mut points = Vec::new();
    let mut unpackers = Vec::new();
    let mut place = 0;
    while let Some(next) = reader.next() {
        let frame = match next {
            Ok(frame) => frame,
            Err(error) => return (points, Some(error)),
        };
        add_new_points(&mut points, reader.interfaces());
        unpackers.resize_with(points.len(), Unpacker::default);
        let point: &mut Point = &mut points[frame.interface as usize];
        let packet = frame.packet.unwrap_or(PacketId(place));
        place += 1;
        match unpackers[frame.interface as usize].unpack(point.interface.link_type, &frame.data) {
            Ok(unpacked) => match unpacked.parse_headers() {
                Ok(parsed) => drop(point.capture.handle_parsed(frame.at, packet, &parsed)),
                Err(_) => point.capture.handle_unreadable(),
            },
            Err(_) => point.capture.other += 1,
        }
    }
    add_new_points(&mut points, reader.interfaces());
    (points, None)
}

fn add_new_points(points: &mut Vec<Point>, interfaces: &[Interface]) {
    let new = interfaces.iter().skip(points.len());
    points.extend(new.map(|interface| Point { interface: interface.clone(), capture: Capture::new() }));
}

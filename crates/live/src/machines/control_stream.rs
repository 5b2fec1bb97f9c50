//! Messages over a pair of streams.
//!
//! A frame is the length of the message (4 bytes), the number of a machine (2 bytes), both in network byte order, and
//! the message (postcard's wire format). In frames of the emulator's stream the number says which part the message is
//! for, or comes from; a part ignores it. The process between the emulator and the parts passes messages on by their
//! headers and does not read them.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::protocol::{FromPart, ToPart};

/// The stream out. Threads may share it.
#[derive(Debug)]
pub(crate) struct FrameWriter(Mutex<File>);

/// The stream in.
#[derive(Debug)]
pub(crate) struct FrameReader<R = BufReader<File>>(R);

impl FrameWriter {
    pub(crate) fn new(output: OwnedFd) -> Self {
        Self(Mutex::new(File::from(output)))
    }

    /// Writes a message for a machine, or of a part.
    pub(crate) fn write(&self, machine: usize, message: &impl Serialize) -> io::Result<()> {
        let frame = frame(machine, message)?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(&frame)
    }
}

impl FrameReader {
    pub(crate) fn new(input: OwnedFd) -> Self {
        Self(BufReader::new(File::from(input)))
    }
}

impl<R: Read> FrameReader<R> {
    /// Waits for the next message; `None` at the end of the stream. Returns it with the number of its machine.
    pub(crate) fn read<T: DeserializeOwned>(&mut self) -> io::Result<Option<(usize, T)>> {
        let mut header = [0; HEADER_LEN];
        if self.fill(&mut header)?.is_none() {
            return Ok(None);
        }
        let [a, b, c, d, high, low] = header;
        let mut message = Vec::new();
        let length = u32::from_be_bytes([a, b, c, d]);
        let read = self.0.by_ref().take(u64::from(length)).read_to_end(&mut message)?;
        if read < length as usize {
            return Ok(None);
        }
        let machine = usize::from(u16::from_be_bytes([high, low]));
        postcard::from_bytes(&message).map(|message| Some((machine, message))).map_err(malformed)
    }

    /// Fills a buffer; `None` if the stream ends first.
    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<Option<()>> {
        match self.0.read_exact(buffer) {
            Ok(()) => Ok(Some(())),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Reads the messages of one machine to another, as far as they are well formed; for the fuzz targets.
///
/// Each takes at least a frame's header, and its text survives a second encoding; otherwise this panics.
pub fn examine_control_stream(bytes: &[u8]) {
    fn examine<T: std::fmt::Debug + Serialize + DeserializeOwned>(bytes: &[u8]) {
        let mut reader = FrameReader(bytes);
        let mut messages = 0;
        while let Ok(Some((machine, message))) = reader.read::<T>() {
            messages += 1;
            let again = frame(machine, &message).expect("a message that was read can be written");
            let (_, read) = FrameReader(&*again).read::<T>().expect("well formed").expect("complete");
            assert_eq!(format!("{message:?}"), format!("{read:?}"), "a message changed");
        }
        assert!(messages * HEADER_LEN <= bytes.len(), "more messages than headers");
    }
    examine::<ToPart>(bytes);
    examine::<FromPart>(bytes);
}

/// Returns the bytes of a frame.
fn frame(machine: usize, message: &impl Serialize) -> io::Result<Vec<u8>> {
    let too_large = |_| io::Error::new(io::ErrorKind::InvalidInput, "a message is longer than 4 GiB");
    let mut frame = postcard::to_extend(message, vec![0; HEADER_LEN]).map_err(malformed)?;
    let length = u32::try_from(frame.len() - HEADER_LEN).map_err(too_large)?;
    let machine = u16::try_from(machine).expect("a scenario has fewer machines");
    frame[..4].copy_from_slice(&length.to_be_bytes());
    frame[4..HEADER_LEN].copy_from_slice(&machine.to_be_bytes());
    Ok(frame)
}

fn malformed(error: postcard::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a message is malformed: {error}"))
}

/// Bytes of a frame's header.
const HEADER_LEN: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn streams() -> (FrameReader, FrameWriter) {
        let (input, output) = nix::unistd::pipe().unwrap();
        (FrameReader::new(input), FrameWriter::new(output))
    }

    #[test]
    fn messages_are_read_as_they_were_written_until_the_end() {
        let (mut reader, writer) = streams();
        writer.write(2, &("über", vec![0_u8, 255])).unwrap();
        let half = &frame(1, &"a message that is cut").unwrap()[..12];
        writer.0.lock().unwrap().write_all(half).unwrap();
        drop(writer);
        let read: (usize, (String, Vec<u8>)) = reader.read().unwrap().unwrap();
        assert_eq!(read, (2, ("über".to_owned(), vec![0, 255])));
        assert_eq!(reader.read::<String>().unwrap(), None, "half a frame is the end");
    }

    #[test]
    fn a_header_has_length_and_machine_in_network_byte_order() {
        assert_eq!(frame(258, &[7_u8, 8]).unwrap(), [0, 0, 0, 2, 1, 2, 7, 8]);
    }

    #[test]
    fn a_message_of_another_type_is_malformed() {
        let (mut reader, writer) = streams();
        writer.write(0, &7_u8).unwrap();
        assert_eq!(reader.read::<String>().unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}

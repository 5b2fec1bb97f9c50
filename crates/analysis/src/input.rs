//! Opens captures, compressed ones too.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use wire::capture::{ReadError, Reader};

/// The bytes of a capture.
pub type Input = Box<dyn Read + Send>;

/// Opens a capture, pcap or pcapng, perhaps compressed by gzip (RFC 1952) or Zstandard (RFC 8878). Positions in errors
/// are those of the capture without compression.
///
/// # Errors
/// If it is of another kind, or its header is truncated or damaged.
pub fn open(input: impl Read + Send + 'static) -> Result<Reader<Input>, ReadError> {
    wire::capture::open(decompressed(input).map_err(|error| ReadError::Io { at: 0, error })?)
}

fn decompressed(mut input: impl Read + Send + 'static) -> io::Result<Input> {
    let mut start = Vec::new();
    input.by_ref().take(4).read_to_end(&mut start)?;
    let kind: [u8; 4] = start.as_slice().try_into().unwrap_or_default();
    let whole = Cursor::new(start).chain(input);
    Ok(match kind {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(whole)),
        ZSTANDARD => Box::new(Zstandard::new(whole)),
        _ => Box::new(whole),
    })
}

/// Frames of Zstandard one after the other, as `zstd` and `pzstd` write them.
struct Zstandard<R> {
    source: BufReader<R>,
    decoder: FrameDecoder,
}

impl<R: Read> Zstandard<R> {
    fn new(source: R) -> Self {
        Self { source: BufReader::with_capacity(BUFFER, source), decoder: FrameDecoder::new() }
    }

    /// Begins the next frame that holds data; false at the end of the file.
    fn begin_frame(&mut self) -> io::Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.init(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut self.source.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }
}

impl<R: Read> Read for Zstandard<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !buffer.is_empty() && self.decoder.can_collect() == 0 {
            if self.decoder.is_finished() && !self.begin_frame()? {
                return Ok(0);
            }
            let some = BlockDecodingStrategy::UptoBytes(buffer.len());
            self.decoder.decode_blocks(&mut self.source, some).map_err(io::Error::other)?;
        }
        self.decoder.read(buffer)
    }
}

/// The first bytes of a Zstandard frame (RFC 8878 §3.1.1).
const ZSTANDARD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const BUFFER: usize = 1 << 18;

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn unpacked(bytes: Vec<u8>) -> Vec<u8> {
        let mut found = Vec::new();
        decompressed(Cursor::new(bytes)).expect("it opens").read_to_end(&mut found).expect("it is whole");
        found
    }

    #[test]
    fn what_is_not_compressed_stays_as_it_is() {
        assert_eq!(unpacked(b"plain text".to_vec()), b"plain text");
        assert_eq!(unpacked(b"ab".to_vec()), b"ab");
    }

    #[test]
    fn several_members_of_gzip_are_one_file() {
        let member = |text: &[u8]| {
            let mut out = GzEncoder::new(Vec::new(), Compression::fast());
            out.write_all(text).expect("memory takes everything");
            out.finish().expect("memory takes everything")
        };
        assert_eq!(unpacked([member(b"one "), member(b"two")].concat()), b"one two");
    }

    #[test]
    fn several_frames_of_zstandard_are_one_file_and_skippable_ones_none() {
        let frame = |text: &[u8]| compress_to_vec(text, CompressionLevel::Fastest);
        let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        assert_eq!(unpacked([frame(b"one "), skippable, frame(b"two")].concat()), b"one two");
    }

    #[test]
    fn a_truncated_file_is_an_error_after_what_it_has() {
        let mut frame = compress_to_vec(&[7; 100_000][..], CompressionLevel::Uncompressed);
        frame.truncate(90_000);
        let mut found = Vec::new();
        let error = decompressed(Cursor::new(frame)).expect("it opens").read_to_end(&mut found);
        assert!(error.is_err());
    }
}

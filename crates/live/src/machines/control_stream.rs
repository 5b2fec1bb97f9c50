//! Lines of JSON over a pair of streams.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A value for one of the machines, or of one of them, as the emulator's lines have it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Numbered<T> {
    /// The machine's place in the list.
    pub(crate) machine: usize,
    /// What is said.
    pub(crate) message: T,
}

/// The stream out.
#[derive(Debug)]
pub(crate) struct Speaker(Mutex<File>);

/// The stream in.
#[derive(Debug)]
pub(crate) struct Listener(BufReader<File>);

impl Speaker {
    pub(crate) fn new(output: OwnedFd) -> Self {
        Self(Mutex::new(File::from(output)))
    }

    /// Says a value, a whole line at a time, whoever else speaks.
    pub(crate) fn say(&self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line)
    }
}

impl Listener {
    pub(crate) fn new(input: OwnedFd) -> Self {
        Self(BufReader::new(File::from(input)))
    }

    /// Waits for the next value; none at the end of the stream.
    pub(crate) fn hear<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 || !line.ends_with('\n') {
            return Ok(None);
        }
        Ok(Some(serde_json::from_str(&line)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_heard_until_the_end() {
        let (input, output) = nix::unistd::pipe().unwrap();
        let (mut listener, speaker) = (Listener::new(input), Speaker::new(output));
        speaker.say(&Numbered { machine: 2, message: "über" }).unwrap();
        speaker.0.lock().unwrap().write_all(b"{\"machine\": 1, \"mess").unwrap();
        drop(speaker);
        let heard: Numbered<String> = listener.hear().unwrap().unwrap();
        assert_eq!((heard.machine, heard.message.as_str()), (2, "über"));
        assert!(listener.hear::<Numbered<String>>().unwrap().is_none(), "half a line is the end");
    }
}

//! Files in memory for the output of programs, so that nothing remains on a machine's disk.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use nix::sys::memfd::{MFdFlags, memfd_create};

/// A file for each program.
#[derive(Debug)]
pub(crate) struct Outputs(Vec<File>);

impl Outputs {
    /// Makes an empty file for each program.
    pub(crate) fn new(programs: usize) -> io::Result<Self> {
        let file = |_| Ok(File::from(memfd_create("output", MFdFlags::MFD_CLOEXEC)?));
        (0..programs).map(file).collect::<io::Result<_>>().map(Self)
    }

    /// Returns the path by which this process opens a file.
    pub(crate) fn path(&self, place: usize) -> PathBuf {
        format!("/proc/self/fd/{}", self.0[place].as_raw_fd()).into()
    }

    /// Returns the contents of the files at some places.
    pub(crate) fn contents(&self, places: &[usize]) -> Vec<(usize, Vec<u8>)> {
        let content = |place: &usize| {
            let mut content = Vec::new();
            let mut file = &self.0[*place];
            let _ = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut content));
            (*place, content)
        };
        places.iter().map(content).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_to_the_path_is_the_content() {
        let outputs = Outputs::new(2).unwrap();
        std::fs::write(outputs.path(1), b"ab").unwrap();
        assert_eq!(outputs.contents(&[1]), [(1, b"ab".to_vec())]);
    }
}

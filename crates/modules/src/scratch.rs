//! A folder that ends with its owner.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A folder of its own for temporary files, which only the user may read.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(nix::unistd::mkdtemp(&std::env::temp_dir().join("lasthop-module-XXXXXX"))?))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing depends on it any more; what cannot be removed stays for the system to remove.
        let _ = fs::remove_dir_all(&self.0);
    }
}

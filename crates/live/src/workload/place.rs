//! The network namespaces of a flow's hosts.

use std::fs::File;
use std::io;

use nix::sched::{CloneFlags, setns};
use sim::workload::Side;

/// The namespaces in which the sockets of a flow are opened.
#[derive(Debug)]
pub(crate) struct Places {
    /// Of `from`, then of `to`; without them, both ends are in the namespace of the thread.
    files: Option<[File; 2]>,
    /// The side whose namespace the thread is in.
    present: Option<Side>,
}

impl Places {
    /// Both ends in the namespace of the calling thread.
    #[cfg(test)]
    pub(crate) const fn here() -> Self {
        Self { files: None, present: None }
    }

    /// `from` in the namespace of the calling thread, `to` in that of the file.
    pub(crate) fn open(to: &str) -> io::Result<Self> {
        Ok(Self { files: Some([File::open("/proc/thread-self/ns/net")?, File::open(to)?]), present: None })
    }

    /// Moves the calling thread to the namespace of a side.
    pub(crate) fn enter(&mut self, side: Side) -> io::Result<()> {
        if let Some(files) = &self.files
            && self.present != Some(side)
        {
            setns(&files[side as usize], CloneFlags::CLONE_NEWNET)?;
            self.present = Some(side);
        }
        Ok(())
    }
}

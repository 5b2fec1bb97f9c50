//! Copies of a program's output, to the output of this process and to a file.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// The threads that copy a program's standard output and standard error to those of this process and to a file; none if
/// nothing is copied.
#[derive(Default)]
pub(crate) struct Copies {
    /// The program's ends.
    ends: Option<[PipeWriter; 2]>,
    threads: Vec<JoinHandle<()>>,
    is_over: Arc<AtomicBool>,
}

impl Copies {
    /// Begins to copy into a file.
    pub(crate) fn into_file(file: &Path) -> io::Result<Self> {
        let file = Arc::new(File::create(file)?);
        let is_over = Arc::new(AtomicBool::new(false));
        let [(output, output_end), (errors, errors_end)] = [io::pipe()?, io::pipe()?];
        let copy = |from: PipeReader, mut shown: Box<dyn Write + Send>| {
            let (file, is_over) = (Arc::clone(&file), Arc::clone(&is_over));
            thread::spawn(move || copy(from, &mut *shown, &file, &is_over))
        };
        let threads = vec![copy(output, Box::new(io::stdout())), copy(errors, Box::new(io::stderr()))];
        Ok(Self { ends: Some([output_end, errors_end]), threads, is_over })
    }

    /// The ends for the program's standard output and standard error.
    pub(crate) fn take_ends(&mut self) -> Option<[PipeWriter; 2]> {
        self.ends.take()
    }

    /// Copies the rest after the program has exited.
    pub(crate) fn end(self) {
        self.is_over.store(true, Ordering::SeqCst);
        for thread in self.threads {
            // A panic there has been printed; the output until then is kept.
            let _ = thread.join();
        }
    }
}

/// Copies until the pipe is closed or, once the program is over, silent: another process may keep it open.
fn copy(mut from: PipeReader, shown: &mut dyn Write, file: &File, is_over: &AtomicBool) {
    let mut kept = file;
    let mut buffer = [0; 8 * 1024];
    loop {
        let was_over = is_over.load(Ordering::SeqCst);
        match poll(&mut [PollFd::new(from.as_fd(), PollFlags::POLLIN)], PollTimeout::from(SILENCE)) {
            Ok(0) if was_over => return,
            Ok(0) | Err(nix::errno::Errno::EINTR) => continue,
            Ok(_) => {}
            Err(_) => return,
        }
        let Ok(count @ 1..) = from.read(&mut buffer) else { return };
        // The file is written even if the reader of our output has closed it.
        let _ = shown.write_all(&buffer[..count]).and_then(|()| shown.flush());
        if kept.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}

/// Silence of a pipe after which its reader checks whether the program is over, in milliseconds.
const SILENCE: u8 = 50;

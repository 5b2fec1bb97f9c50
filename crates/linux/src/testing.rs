//! Support for tests of this crate: a network namespace of their own, and a way to say where a machine does not allow
//! one.

use std::fmt::Display;
use std::io::{self, Write};
use std::{panic, thread};

use crate::namespace::enter_new_network;

/// Runs a test in a network namespace of its own, in a thread of its own.
pub(crate) fn in_new_network(test: impl FnOnce() + Send) {
    let name = thread::current().name().unwrap_or("a test").to_owned();
    let run = || match enter_new_network() {
        Ok(()) => test(),
        Err(error) => say_not_tested(&format!("no network namespace: {error}")),
    };
    let ended = thread::scope(|scope| {
        thread::Builder::new().name(name).spawn_scoped(scope, run).expect("a thread").join()
    });
    if let Err(panic) = ended {
        panic::resume_unwind(panic);
    }
}

/// Says that this machine does not allow a test. It writes to standard error itself: the test harness shows what
/// `eprintln!` writes only of tests that fail.
pub(crate) fn say_not_tested(reason: &dyn Display) {
    let name = thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(io::stderr(), "NOT TESTED: {name}: {reason}");
}

//! Calls of C that may crash or never return.
//!
//! A fault in a module raises a signal in the thread that calls it. The handler leaves the call by the plug-in's own
//! `longjmp`, to the beginning of `lasthop_event`: it passes over frames of C only, and over the handler's, which owns
//! nothing. A watch raises a signal too where a call takes for ever. A signal from anywhere else goes to the handler
//! that was there before.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::time::Duration;

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// The way out of the plug-in that this thread is calling.
type Escape = unsafe extern "C" fn(c_int);

thread_local! {
    static ESCAPE: Cell<Option<Escape>> = const { Cell::new(None) };
}

/// Signals of a fault, and that of the watch, whose handler does nothing else.
const SIGNALS: [Signal; 5] = [Signal::SIGSEGV, Signal::SIGBUS, Signal::SIGFPE, Signal::SIGILL, ENDLESS];
pub(crate) const ENDLESS: Signal = Signal::SIGVTALRM;

/// The handlers that were there before, in the order of [`SIGNALS`].
static EARLIER: OnceLock<Vec<SigAction>> = OnceLock::new();

/// Calls a plug-in; `call` returns the number of the signal that has ended it.
pub(crate) fn guarded(escape: Escape, call: impl FnOnce() -> c_int) -> c_int {
    ESCAPE.set(Some(escape));
    let ended = call();
    ESCAPE.set(None);
    ended
}

/// Installs the handlers, once in a process.
pub(crate) fn install() {
    EARLIER.get_or_init(|| {
        let flags = SaFlags::SA_SIGINFO | SaFlags::SA_ONSTACK | SaFlags::SA_NODEFER;
        let ours = SigAction::new(SigHandler::SigAction(on_signal), flags, SigSet::empty());
        // SAFETY: the handler leaves a plug-in or calls the earlier handler, and allocates nothing.
        let install =
            |signal: &Signal| unsafe { sigaction(*signal, &ours) }.expect("these signals may be handled");
        SIGNALS.iter().map(install).collect()
    });
}

extern "C" fn on_signal(number: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    if let Some(escape) = ESCAPE.take() {
        // SAFETY: this thread is inside `lasthop_event` or `lasthop_load` of that plug-in, which has set its mark. The
        // frames between are the plug-in's and this one, which has nothing to drop.
        unsafe { escape(number) };
    }
    let place = SIGNALS.iter().position(|signal| *signal as c_int == number);
    let earlier = EARLIER.get().zip(place).and_then(|(earlier, place)| earlier.get(place));
    match earlier.map(SigAction::handler) {
        Some(SigHandler::Handler(handler)) => handler(number),
        Some(SigHandler::SigAction(handler)) => handler(number, info, context),
        // The watch was too late: its call has returned.
        _ if number == ENDLESS as c_int => {}
        _ => {
            // SAFETY: the default action; the fault happens again when this returns, and ends the process.
            unsafe { libc::signal(number, libc::SIG_DFL) };
        }
    }
}

/// A watch over the calls of one plug-in.
#[derive(Debug)]
pub(crate) struct Watch {
    watched: Arc<Watched>,
}

#[derive(Debug, Default)]
struct Watched {
    /// Number of calls that have begun or ended: odd during a call.
    calls: AtomicU64,
    /// The thread of the present call.
    thread: AtomicU64,
    over: Mutex<bool>,
    ends: Condvar,
}

impl Watch {
    pub(crate) fn start() -> Self {
        let watched = Arc::new(Watched::default());
        let looks = Arc::clone(&watched);
        std::thread::spawn(move || looks.look());
        Self { watched }
    }

    /// Makes a call under the watch. Calls of one plug-in come one after another.
    pub(crate) fn over<T>(&self, call: impl FnOnce() -> T) -> T {
        let begun = self.watched.calls.load(Ordering::Relaxed) + 1;
        // SAFETY: it reads the calling thread's own number.
        self.watched.thread.store(unsafe { libc::pthread_self() } as u64, Ordering::Relaxed);
        self.watched.calls.store(begun, Ordering::Release);
        let outcome = call();
        self.watched.calls.store(begun + 1, Ordering::Release);
        outcome
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        *self.watched.over.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = true;
        self.watched.ends.notify_all();
    }
}

impl Watched {
    fn look(&self) {
        let (mut seen, mut looks) = (0, 0);
        let mut over = self.over.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        while !*over {
            over = self.ends.wait_timeout(over, LOOK).unwrap_or_else(std::sync::PoisonError::into_inner).0;
            let now = self.calls.load(Ordering::Acquire);
            looks = if now == seen && now % 2 == 1 { looks + 1 } else { 0 };
            seen = now;
            if looks >= LIMIT {
                // SAFETY: the thread is inside a call that has not returned, so it exists.
                unsafe {
                    libc::pthread_kill(
                        self.thread.load(Ordering::Relaxed) as libc::pthread_t,
                        ENDLESS as c_int,
                    )
                };
                looks = 0;
            }
        }
    }
}

/// Time between two looks, and the number of looks that a call may take: ten seconds, as in Python.
const LOOK: Duration = Duration::from_millis(500);
const LIMIT: u32 = 20;

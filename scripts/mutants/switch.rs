/// The mutant that is switched on, by `LASTHOP_MUTANT`; or one of the constants below.
static SWITCHED_ON: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(UNKNOWN);
const UNKNOWN: usize = usize::MAX;
const NONE: usize = usize::MAX - 1;
/// No mutant: those that are reached are appended, each with the test's name, to the file that `LASTHOP_REACHED` names.
const SURVEY: usize = usize::MAX - 2;

/// Whether the mutant of this number is switched on.
#[doc(hidden)]
#[inline]
pub fn mutant(number: usize) -> bool {
    let on = SWITCHED_ON.load(std::sync::atomic::Ordering::Relaxed);
    if on >= SURVEY { mutants::first(number) } else { on == number }
}

#[doc(hidden)]
mod mutants {
    use std::cell::RefCell;
    use std::io::Write;
    use std::sync::atomic::Ordering;

    use super::{NONE, SURVEY, SWITCHED_ON, UNKNOWN};

    #[cold]
    pub fn first(number: usize) -> bool {
        if SWITCHED_ON.load(Ordering::Relaxed) == UNKNOWN {
            SWITCHED_ON.store(from_environment(), Ordering::Relaxed);
        }
        let on = SWITCHED_ON.load(Ordering::Relaxed);
        if on == SURVEY {
            report(number);
        }
        on == number
    }

    fn from_environment() -> usize {
        match std::env::var("LASTHOP_MUTANT") {
            Ok(text) => text.parse().expect("LASTHOP_MUTANT is a number"),
            Err(_) if std::env::var_os("LASTHOP_REACHED").is_some() => SURVEY,
            Err(_) => NONE,
        }
    }

    /// A test runs in a thread of its name, where several run at a time.
    fn report(number: usize) {
        thread_local!(static SEEN: RefCell<[bool; 1 << 16]> = const { RefCell::new([false; 1 << 16]) });
        if !SEEN.with_borrow_mut(|seen| std::mem::replace(&mut seen[number], true)) {
            let path = std::env::var_os("LASTHOP_REACHED").expect("there in a survey");
            let mut file = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .expect("a file to append to");
            let line = format!("{number} {}\n", std::thread::current().name().unwrap_or_default());
            file.write_all(line.as_bytes()).expect("space for a line");
        }
    }
}

//! The core in a browser: an order as JSON in, an answer out, by a C interface.
//!
//! The page writes an order into memory from [`lasthop_allocate`], and calls [`lasthop_run`] ([`run::Order`]: a
//! scenario is run), [`lasthop_case`] ([`CaseOrder`]: a case of a sweep is read), [`lasthop_check`]
//! ([`editor::checked`]: a text is read and resolved) or [`lasthop_change`] ([`editor::Change`]: one key is set). The
//! answer is JSON, after the number of its bytes (32 bits, little-endian) and before the bytes of the files.
//! [`lasthop_release`] frees both. A run is whole before it is answered, and reports its virtual time to the function
//! `progress` of the page meanwhile. A page calls it in a worker, and cancels it by ending the worker.

mod case;
mod editor;
mod fault;
mod run;

use serde::{Deserialize, Serialize};

pub use case::{Case, CaseOrder, case};
pub use editor::{Change, Changed, Checked, checked};
pub use fault::Fault;
pub use run::{Answer, File, Order, run};

#[cfg(target_family = "wasm")]
#[link(wasm_import_module = "page")]
unsafe extern "C" {
    safe fn progress(virtual_s: f64);
}

#[cfg(not(target_family = "wasm"))]
extern "C" fn progress(_virtual_s: f64) {}

/// Allocates `bytes` of memory for an order.
#[unsafe(no_mangle)]
pub extern "C" fn lasthop_allocate(bytes: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; bytes].into_boxed_slice()).cast()
}

/// Frees memory of [`lasthop_allocate`] or of an answer.
///
/// # Safety
/// `start` is from [`lasthop_allocate`] with the same `bytes`, or from an answer of this length; it is freed once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lasthop_release(start: *mut u8, bytes: usize) {
    // SAFETY: a boxed slice of this length, by the contract above.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, bytes)) });
}

/// Runs a scenario. Returns the place of the answer in the upper 32 bits, and its length in the lower ones.
///
/// # Safety
/// `start` is the start of `bytes` of initialised memory, which nothing else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lasthop_run(start: *const u8, bytes: usize) -> u64 {
    // SAFETY: by the contract above.
    answered(unsafe { order(start, bytes) }, |order| run(&order, |time| progress(time)).framed())
}

/// Reads a case of a sweep. Returns what [`lasthop_run`] does.
///
/// # Safety
/// That of [`lasthop_run`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lasthop_case(start: *const u8, bytes: usize) -> u64 {
    // SAFETY: by the contract above.
    answered(unsafe { order(start, bytes) }, |order| framed(&case(&order)))
}

/// Checks a text. Returns what [`lasthop_run`] does.
///
/// # Safety
/// That of [`lasthop_run`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lasthop_check(start: *const u8, bytes: usize) -> u64 {
    // SAFETY: by the contract above.
    answered(unsafe { order(start, bytes) }, |text: String| framed(&checked(&text)))
}

/// Changes a text. Returns what [`lasthop_run`] does.
///
/// # Safety
/// That of [`lasthop_run`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lasthop_change(start: *const u8, bytes: usize) -> u64 {
    // SAFETY: by the contract above.
    answered(unsafe { order(start, bytes) }, |change: Change| framed(&change.made()))
}

/// Reads an order.
///
/// # Safety
/// That of [`lasthop_run`].
unsafe fn order<Order: for<'a> Deserialize<'a>>(start: *const u8, bytes: usize) -> serde_json::Result<Order> {
    // SAFETY: by the contract above.
    serde_json::from_slice(unsafe { std::slice::from_raw_parts(start, bytes) })
}

/// The place and length of the answer to an order; an order that cannot be read is answered by a fault.
fn answered<Order>(order: serde_json::Result<Order>, act: impl FnOnce(Order) -> Vec<u8>) -> u64 {
    let unread = |error: serde_json::Error| framed(&Answer::from(Fault::of(&error)));
    let answer = order.map_or_else(unread, act).into_boxed_slice();
    let length = answer.len() as u64;
    let place = Box::into_raw(answer).cast::<u8>() as usize as u64;
    place << u32::BITS | length
}

/// An answer as JSON, after the number of its bytes.
fn framed(answer: &impl Serialize) -> Vec<u8> {
    let json = serde_json::to_vec(answer).expect("an answer has text keys and finite numbers");
    let length = u32::try_from(json.len()).expect("a summary is smaller than the memory of a browser");
    length.to_le_bytes().into_iter().chain(json).collect()
}

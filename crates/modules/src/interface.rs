//! What crosses between Rust and a plug-in: `c/bridge.h`, field for field.

use std::ffi::{c_char, c_int, c_void};

/// `LASTHOP_BRIDGE`: the version of this file.
pub(crate) const BRIDGE: u32 = 2;

/// `ICSK_CA_PRIV_SIZE`: the bytes of an algorithm's own state.
pub(crate) const PRIVATE: usize = 18 * 8;

/// `TCP_INFINITE_SSTHRESH`.
pub(crate) const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// What has happened.
#[derive(Clone, Copy, Debug, Default)]
#[repr(u32)]
pub(crate) enum Kind {
    #[default]
    Start,
    Handshake,
    Observe,
    Ack,
    Delivery,
    Sent,
    Loss,
    Mark,
    Timeout,
    Recovered,
    Restore,
    Release,
}

impl Kind {
    /// The functions of a module that it calls, for messages.
    pub(crate) const fn function(self) -> &'static str {
        match self {
            Self::Start | Self::Handshake => "init",
            Self::Observe => "in_ack_event, pkts_acked",
            Self::Ack => "cong_avoid",
            Self::Delivery => "cong_control, set_state",
            Self::Sent => "init, cwnd_event",
            Self::Loss | Self::Mark | Self::Timeout => "ssthresh, set_state",
            Self::Recovered | Self::Restore => "undo_cwnd",
            Self::Release => "release",
        }
    }
}

/// The sender's reaction to losses.
#[derive(Clone, Copy, Debug, Default)]
#[repr(u32)]
pub(crate) enum Phase {
    #[default]
    Open,
    FastRecovery,
    AfterTimeout,
}

/// An event, with the fields that its kind has: times in nanoseconds (negative: none), sizes in bytes.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Event {
    pub(crate) kind: Kind,
    pub(crate) phase: Phase,
    pub(crate) una: u32,
    pub(crate) nxt: u32,
    pub(crate) now: u64,
    pub(crate) size: u64,
    pub(crate) flight: u64,
    pub(crate) marked: u64,
    pub(crate) cwnd: u64,
    pub(crate) ssthresh: u64,
    pub(crate) rtt: i64,
    pub(crate) newest_rtt: i64,
    pub(crate) rto: i64,
    pub(crate) seed: u64,
    pub(crate) sent_flight: u64,
    pub(crate) sent_at: u64,
    pub(crate) in_flight: u64,
    pub(crate) prior_in_flight: u64,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    pub(crate) newly_lost: u64,
    pub(crate) rate_delivered: u64,
    pub(crate) rate_prior_delivered: u64,
    pub(crate) rate_interval: i64,
    pub(crate) segments: u32,
    pub(crate) one_way: i32,
    pub(crate) has_one_way: bool,
    pub(crate) has_rate: bool,
    pub(crate) rate_limited: bool,
    pub(crate) rate_retransmitted: bool,
    pub(crate) maybe_delayed: bool,
    pub(crate) application_limited: bool,
    pub(crate) retransmission: bool,
    pub(crate) repeated: bool,
}

/// What follows from an event: windows and the quantum in segments, rates in bytes per second.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Answer {
    pub(crate) cwnd: u32,
    pub(crate) ssthresh: u32,
    /// `u64::MAX` where the module does not pace.
    pub(crate) pacing_rate: u64,
    pub(crate) quantum: u32,
    /// `enum tcp_ca_state`.
    pub(crate) state: u32,
}

/// The functions of a plug-in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calls {
    pub(crate) bridge: unsafe extern "C" fn() -> u32,
    pub(crate) load: unsafe extern "C" fn() -> c_int,
    pub(crate) name: unsafe extern "C" fn() -> *const c_char,
    pub(crate) has_cong_control: unsafe extern "C" fn() -> c_int,
    pub(crate) connection_size: unsafe extern "C" fn() -> usize,
    pub(crate) event: unsafe extern "C" fn(*mut c_void, *const Event, *mut Answer) -> c_int,
    pub(crate) escape: unsafe extern "C" fn(c_int),
    pub(crate) bug_text: unsafe extern "C" fn() -> *const c_char,
    pub(crate) private: unsafe extern "C" fn(*const c_void) -> *const u8,
    pub(crate) parameter_name: unsafe extern "C" fn(u32) -> *const c_char,
    pub(crate) parameter_text: unsafe extern "C" fn(u32) -> *const c_char,
    pub(crate) parameter_get: unsafe extern "C" fn(u32, *mut c_char) -> c_int,
    pub(crate) parameter_set: unsafe extern "C" fn(u32, *const c_char) -> c_int,
}

//! Real traffic through the links of a scenario, between two devices, with nothing recorded.
//!
//! `shell.rs` runs a program behind the links, `router.rs` joins two places of this machine by them. `forwarding.rs` is the
//! event loop of both, `passage.rs` the World between the two devices. `way_out.rs` leads on from the far end of a shell,
//! `place.rs` is an end of a router, `control.rs` the socket by which a running router is changed, `resolver.rs` passes on
//! queries for names, and `outside.rs` is a program at the far end.

pub(crate) mod control;
pub(crate) mod forwarding;
pub(crate) mod outside;
pub(crate) mod passage;
pub(crate) mod place;
pub(crate) mod resolver;
pub(crate) mod router;
pub(crate) mod shell;
pub(crate) mod way_out;

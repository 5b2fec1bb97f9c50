//! Real traffic through the links of a scenario, between two devices, without records.
//!
//! `shell.rs` runs a program behind the links, `router.rs` joins two places of this machine by them. Both drive a
//! [`link_pair::LinkPair`] between two devices (`driver.rs`). `egress.rs` connects the far end of a shell to the
//! network of this machine, and `resolver.rs` forwards its queries for names; `router_end.rs` is one end of a router,
//! and `control_socket.rs` the socket by which a running router is changed. `outside.rs` is a program at the far end.

pub(crate) mod control_socket;
pub(crate) mod driver;
pub(crate) mod egress;
pub(crate) mod link_pair;
pub(crate) mod outside;
pub(crate) mod resolver;
pub(crate) mod router;
pub(crate) mod router_end;
pub(crate) mod shell;

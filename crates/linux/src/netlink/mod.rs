//! netlink(7): requests to the kernel, written as messages with attributes, and the kernel's answers.
//!
//! `message.rs` writes and reads messages, `socket.rs` exchanges them. What the messages say is in the modules that use
//! them: [`route`](crate::route), [`nat`](crate::nat) and [`sock_diag`](crate::sock_diag).

mod message;
mod socket;

pub(crate) use message::{Attributes, Request, attributes, objects};
pub(crate) use socket::Socket;

//! CCID 2, congestion control as TCP's (RFC 4341): `sender.rs` has the window, `ack_ratio.rs` the congestion control of
//! acknowledgments, `receiver.rs` the acknowledgments with their Ack Vectors.

mod ack_ratio;
mod receiver;
mod sender;

pub(super) use receiver::Receiver;
pub(super) use sender::Sender;

//! CCID 3, TFRC (RFC 4342): the rate control and the loss history are those of the workload `tfrc` (RFC 5348).
//!
//! `sender.rs` has the rate, `window_counter.rs` the counter of quarters of a round trip that packets carry, and
//! `receiver.rs` the loss events, the receive rate and the feedback.

mod receiver;
mod sender;
mod window_counter;

pub(super) use receiver::Receiver;
pub(super) use sender::Sender;

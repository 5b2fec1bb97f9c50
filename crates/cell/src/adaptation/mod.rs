//! Link adaptation: from signal quality to a transport block, and whether the block is received.
//!
//! A user reports its quality as a channel-quality indicator, the number of the largest transport format that it could
//! receive with all the power of the shared channel. A format needs a signal-to-interference ratio (after despreading)
//! and a number of codes; the remaining power can go to another user in the same TTI.

mod block_error;
mod config;
mod indicator;
mod tables;

pub use block_error::{BlockErrors, FixedErrors, Reception};
pub use config::{AdaptationConfig, Blocks, CustomBlock, Errors};
pub use indicator::{indicator, threshold_db};
pub use tables::{CATEGORY_6_SIZES, CATEGORY_10, Format, Formats};

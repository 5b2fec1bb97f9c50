//! Runs between two kernels, where the machine allows them.

mod bulk;
mod offload;
mod parity;
mod process;
mod program;
mod refusal;
mod stacks;
mod support;

//! Runs of stacks over two hosts, in virtual time. Read `support.rs` first.

mod dccp;
mod http3;
mod migration;
mod pairs;
mod programs;
mod quic_user;
mod quinn;
mod receivers;
mod streams;
mod support;
mod windows;

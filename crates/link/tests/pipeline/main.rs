//! The pipeline from outside: timing, Seawind's semantics, errors, and laws that hold for any
//! configuration. Read `support.rs` first.

extern crate lasthop_link as link;

mod compression;
mod disciplines;
mod errors;
mod exchange;
mod impairments;
mod laws;
mod queue;
mod radio;
mod rates;
mod registered;
mod seawind;
mod support;
mod theory;
mod timing;

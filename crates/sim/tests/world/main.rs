//! Whole worlds, from specification to outcome. Read `support.rs` first.

mod cell;
mod classes;
mod conservation;
mod determinism;
mod external;
mod measure;
mod proxies;
mod records;
mod support;
mod tcb_sharing;
mod theory;
mod topology;
mod transfer;
mod workload;

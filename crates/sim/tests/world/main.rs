//! Whole worlds, from specification to outcome. Read `support.rs` first.

mod classes;
mod conservation;
mod determinism;
mod external;
mod kinship;
mod measure;
mod records;
mod support;
mod theory;
mod topology;
mod transfer;
mod workload;

//! Whole worlds, from specification to outcome.

mod support;
mod transfer;

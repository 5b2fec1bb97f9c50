//! Motion of users, and their handover to another sector.
//!
//! In every measurement period each user moves along its course, its path loss becomes that of the new place, and its
//! shadowing drifts with the distance (Gudmundson 1991, "Correlation model for shadow fading in mobile radio systems").
//! It measures the sectors, averages its measurements, and is handed over when another sector has been stronger by the
//! hysteresis for the time to trigger (event A3 of 3GPP TS 36.331 §5.5.4.4, 1D of TS 25.331 §14.1.2.4).

mod config;
mod course;
mod trigger;

pub use config::{MobilityConfig, Motion};
pub(crate) use course::Course;
pub(crate) use trigger::Trigger;

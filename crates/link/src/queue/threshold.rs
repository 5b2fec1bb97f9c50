//! Thresholds of a queue's length, in packets or in bytes.

use units::Bytes;
use units::text::{Packets, PacketsOrBytes};

use crate::error::ConfigError;

/// Refuses thresholds that are not of one kind, or not in order.
pub(super) fn check_thresholds(min: PacketsOrBytes, max: PacketsOrBytes) -> Result<(), ConfigError> {
    let in_order = match (min, max) {
        (PacketsOrBytes::Packets(min), PacketsOrBytes::Packets(max)) => min < max,
        (PacketsOrBytes::Bytes(min), PacketsOrBytes::Bytes(max)) => min < max,
        _ => {
            let help = "write both in packets or both in bytes";
            return Err(ConfigError::new("max", "min and max are not of one kind", help));
        }
    };
    if !in_order {
        let message = format!("min ({min}) is not below max ({max})");
        return Err(ConfigError::new("min", message, "write the lower threshold as min"));
    }
    Ok(())
}

/// The length of a queue in the unit of a threshold.
pub(super) fn length(waiting: u32, bytes: Bytes, like: PacketsOrBytes) -> PacketsOrBytes {
    match like {
        PacketsOrBytes::Packets(_) => PacketsOrBytes::Packets(Packets(u64::from(waiting))),
        PacketsOrBytes::Bytes(_) => PacketsOrBytes::Bytes(bytes),
    }
}

/// A threshold or length as a plain number.
pub(super) fn number(threshold: PacketsOrBytes) -> u64 {
    match threshold {
        PacketsOrBytes::Packets(packets) => packets.0,
        PacketsOrBytes::Bytes(bytes) => bytes.0,
    }
}

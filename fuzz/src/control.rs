//! Any bytes as the control stream between the machines of a live run, in both directions.

/// Reads the messages; each that is well formed is written and read again.
pub fn run(bytes: &[u8]) {
    live::examine_control_stream(bytes);
}

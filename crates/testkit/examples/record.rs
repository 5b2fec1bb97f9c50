//! Renews the recorded window curves of the congestion controls, `crates/testkit/curves/`: part of `make record`.

fn main() -> std::io::Result<()> {
    for (file, curve) in testkit::suite::curves() {
        std::fs::write(file, curve)?;
    }
    Ok(())
}

//! The throughput equation of RFC 5348 §3.1, after Padhye, Firoiu, Towsley and Kurose 1998, and its inverse.

use units::Duration;

/// The rate in bytes a second that a TCP has with segments of `s` bytes, this round trip and a loss event rate of `p`.
///
/// X = s / (R·√(2bp/3) + `t_RTO`·(3·√(3bp/8)·p·(1 + 32p²))) with b = 1 and `t_RTO` = 4R, which the RFC recommends.
#[must_use]
pub fn rate(s: f64, rtt: Duration, p: f64) -> f64 {
    let r = rtt.as_secs_f64();
    let timeouts = 3.0 * (3.0 * B * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
    s / (r * (2.0 * B * p / 3.0).sqrt() + T_RTO * r * timeouts)
}

/// The loss event rate at which the equation gives this rate (RFC 5348 §6.3.1), by bisection of its logarithm.
#[must_use]
pub fn loss_event_rate(s: f64, rtt: Duration, x: f64) -> f64 {
    let (mut low, mut high) = (libm::log(LEAST), 0.0);
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if rate(s, rtt, libm::exp(middle)) > x { low = middle } else { high = middle }
    }
    libm::exp(high)
}

/// Packets that an ACK of the imagined TCP acknowledges (§3.1).
const B: f64 = 1.0;
/// The imagined retransmission timer, in round trips (§3.1).
const T_RTO: f64 = 4.0;
/// One loss in a thousand million packets.
const LEAST: f64 = 1e-9;
/// Halvings after which the result is exact to eight digits.
const STEPS: u32 = 40;

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn the_rate_is_that_of_the_rfcs_equation() {
        // For p = 0.01: 0.1·0.0816497 + 0.4·(3·0.0612372·0.01·1.0032) = 0.00816497 + 0.00073720 s for each packet.
        let x = rate(1460.0, RTT, 0.01);
        assert!((x / (1460.0 / 0.008_902_17) - 1.0).abs() < 1e-4, "{x}");
        // At small p it is the square-root law, s / (R·√(2p/3)).
        let x = rate(1000.0, RTT, 1e-6);
        assert!((x / (10_000.0 / (2e-6_f64 / 3.0).sqrt()) - 1.0).abs() < 1e-2, "{x}");
    }

    #[test]
    fn the_inverse_gives_the_loss_event_rate_back() {
        for p in [1e-5, 1e-3, 0.03, 0.4] {
            let back = loss_event_rate(1460.0, RTT, rate(1460.0, RTT, p));
            assert!((back / p - 1.0).abs() < 1e-6, "{back} and {p}");
        }
        assert!((loss_event_rate(1460.0, RTT, 1.0) - 1.0).abs() < 1e-9, "no rate is slower");
    }
}

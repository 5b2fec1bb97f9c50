//! Whole connections compared with what theory says of them.

use lasthop_sim::{Amount, MeasureSpec, RecordSpec, Spec, WindowSpec, Workload};
use serde_json::json;
use units::Duration;

use crate::support::*;

const MSS: f64 = 1460.0;
const ROUND_TRIP_S: f64 = 0.5;
/// With this number of losses the mean settles to some hundredths.
const LOSSES: f64 = 1_500.0;

/// MSS / RTT · √(3/2) / √p (Mathis, Semke, Mahdavi and Ott 1997, equation 3, with an ACK for every segment).
fn mathis(loss: f64) -> f64 {
    MSS / ROUND_TRIP_S * (1.5 / loss).sqrt()
}

/// The goodput of a SACK connection that nothing limits but losses at random, in bytes per second, after its start.
fn goodput(loss: f64) -> f64 {
    let length = LOSSES / loss * MSS / mathis(loss);
    let [warm_up, end] = [0.1, 1.1].map(|share| Duration::from_secs_f64(share * length));
    let lossy =
        config(json!({ "propagation": "250 ms", "errors": { "probability": loss, "effect": "drop" } }));
    let mut spec: Spec = pair(lossy, 0);
    spec.links[0].up = config(json!({ "propagation": "250 ms" }));
    spec.flows[0].workload = Workload::Bulk(Amount::Until(end));
    spec.flows[0].receiver = tcp(json!({
        "ack": "every-segment", "window": { "fixed": { "size": "64 MiB" } },
    }));
    spec.stop = Some(end);
    let steady = WindowSpec { name: "steady".to_owned(), from: warm_up, to: None };
    let measure = MeasureSpec { windows: vec![steady], ..MeasureSpec::default() };
    spec.record = RecordSpec { measure, ..RecordSpec::default() };
    run(spec).summary.flows[0].windows[0].goodput_bps.unwrap()
}

#[test]
fn random_loss_slows_a_sack_connection_by_the_square_root() {
    for loss in [0.0005, 0.001, 0.003, 0.01] {
        let (found, expected) = (goodput(loss), mathis(loss));
        assert!((found / expected - 1.0).abs() < 0.15, "{found} for {expected} at a loss of {loss}");
    }
}

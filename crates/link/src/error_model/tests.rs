//! Every error model against its theory: shares and run lengths.

use super::*;
use serde_json::json;
use units::{Bytes, Streams};

const PACKETS: usize = 20_000;
const SEEDS: u64 = 100;
/// The two-sided 99 % point of the normal distribution.
const Z99: f64 = 2.576;

fn model(text: &str) -> ErrorModel {
    #[derive(serde::Deserialize)]
    struct File {
        model: ErrorModel,
    }
    let model = toml::from_str::<File>(&format!("model = {text}")).expect("readable").model;
    model.check().expect("good parameters");
    model
}

fn hits(model: &ErrorModel, seed: u64, packets: usize) -> Vec<bool> {
    let mut process = model.process(Streams::new(seed).stream("error"));
    (0..packets).map(|_| process.hits(Bytes(1500))).collect()
}

/// Lengths of the runs of hits; the last one may be cut off and does not count.
fn runs(hits: &[bool]) -> Vec<usize> {
    let mut runs: Vec<usize> = hits.split(|hit| !hit).map(<[bool]>::len).filter(|run| *run > 0).collect();
    runs.pop();
    runs
}

/// The number of seeds, of 100, whose sample mean is outside the 99 % interval around theory: more than 5 occur by
/// chance once in 1900 times. Each seed's interval is that of its own number of independent values.
fn assert_mean(text: &str, theory: f64, values: impl Fn(&[bool]) -> Vec<f64>) {
    let model = model(text);
    let is_outside = |seed: &u64| {
        let values = values(&hits(&model, *seed, PACKETS));
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        (mean - theory).abs() > Z99 * (variance / count).sqrt()
    };
    let outside = (0..SEEDS).filter(is_outside).count();
    assert!(outside <= 5, "{text}: {outside} of {SEEDS} seeds are outside the 99 % interval of {theory}");
}

/// The share of hits in batches that are long against a burst, and so nearly independent.
fn shares(hits: &[bool]) -> Vec<f64> {
    let share = |batch: &[bool]| batch.iter().filter(|hit| **hit).count() as f64 / batch.len() as f64;
    hits.chunks_exact(400).map(share).collect()
}

fn run_lengths(hits: &[bool]) -> Vec<f64> {
    runs(hits).into_iter().map(|run| run as f64).collect()
}

#[test]
fn every_example_reads_checks_and_writes_back_as_itself() {
    for entry in ENTRIES {
        let model = model(entry.example);
        assert_eq!(model.id(), entry.id);
        let json = serde_json::to_value(&model).expect("it can be written");
        assert_eq!(serde_json::from_value::<ErrorModel>(json).expect("and read"), model);
    }
}

#[test]
fn periodic_errors_hit_the_packets_of_their_numbers_and_no_others() {
    let hit = |text: &str| -> Vec<usize> {
        let hits = hits(&model(text), 1, 12);
        (1..).zip(hits).filter_map(|(number, hit)| hit.then_some(number)).collect()
    };
    assert_eq!(hit("{ periodic = { first = 3, every = 4 } }"), [3, 7, 11]);
    assert_eq!(hit("{ periodic = { first = 5, every = 5, burst = 2 } }"), [5, 6, 10, 11]);
    assert_eq!(hit("{ periodic = { first = 11, every = 1 } }"), [11, 12]);
}

#[test]
fn independent_errors_have_the_probability_as_their_share() {
    assert_mean("{ independent = { probability = 0.03 } }", 0.03, shares);
    // A run of independent errors has the mean 1 / (1 − p).
    assert_mean("{ independent = { probability = 0.3 } }", 1.0 / 0.7, run_lengths);
}

#[test]
fn a_burst_takes_exactly_its_number_of_packets() {
    for burst in [1, 3, 7] {
        let text = format!("{{ independent = {{ probability = 0.001, burst = {burst} }} }}");
        let runs = runs(&hits(&model(&text), 1, 100_000));
        assert!(runs.len() > 50 && runs.iter().all(|run| run % burst == 0));
        assert!(runs.iter().filter(|run| **run > burst).count() < 5, "two in a row are rare");
    }
}

// Bruyeron 1997: "packet loss P = b P'", close for small P'; exact is b·P' / (1 + (b − 1)·P').
#[test]
fn bursts_of_three_lose_the_share_that_renewal_theory_says() {
    let (p, b) = (0.02, 3.0);
    let share = b * p / (1.0 + (b - 1.0) * p);
    assert_mean("{ independent = { probability = 0.02, burst = 3 } }", share, shares);
}

#[test]
fn events_begin_at_the_same_packets_whatever_their_burst() {
    let begins = |burst: u32| {
        let text = format!("{{ independent = {{ probability = 0.002, burst = {burst} }} }}");
        let hits = hits(&model(&text), 5, 20_000);
        (1..hits.len()).filter(|n| hits[*n] && !hits[n - 1]).collect::<Vec<usize>>()
    };
    let (alone, three) = (begins(1), begins(3));
    assert!(three.len() > 20 && three.iter().all(|packet| alone.contains(packet)));
}

#[test]
fn gilbert_elliott_loses_the_stationary_share_in_geometric_runs() {
    let text = "{ gilbert-elliott = { to_bad = 0.02, to_good = 0.25 } }";
    assert_mean(text, 0.02 / 0.27, shares);
    assert_mean(text, 4.0, run_lengths);
    // Exactly k in a row with probability 0.25 · 0.75ᵏ⁻¹.
    for length in 1..5 {
        let is_this_long = |run: &usize| f64::from(u8::from(*run == length));
        let theory = 0.25 * 0.75_f64.powi(length as i32 - 1);
        assert_mean(text, theory, |hits| runs(hits).iter().map(is_this_long).collect());
    }
}

#[test]
fn gilbert_elliott_with_errors_in_both_states_mixes_them() {
    let text = "{ gilbert-elliott = { to_bad = 0.05, to_good = 0.2, good = 0.01, bad = 0.4 } }";
    assert_mean(text, 0.8 * 0.01 + 0.2 * 0.4, shares);
}

#[test]
fn four_states_lose_the_stationary_share() {
    let text = "{ four-state-markov = { p13 = 0.02, p31 = 0.4, p32 = 0.3, p23 = 0.5, p14 = 0.01 } }";
    // Balance: π₄ = π₁·p14, π₃·p31 = π₁·p13, π₂·p23 = π₃·p32.
    let (four, three) = (0.01, 0.02 / 0.4);
    let two = three * 0.3 / 0.5;
    assert_mean(text, (three + four) / (1.0 + two + three + four), shares);
}

#[test]
fn a_four_state_burst_has_runs_of_losses_with_the_mean_of_its_exits() {
    // Without isolated losses a run of losses ends with p31 + p32.
    let text = "{ four-state-markov = { p13 = 0.02, p31 = 0.2, p32 = 0.3, p23 = 0.5 } }";
    assert_mean(text, 2.0, run_lengths);
}

#[test]
fn isolated_losses_stand_alone() {
    let text = "{ four-state-markov = { p13 = 0.0, p31 = 1.0, p14 = 0.1 } }";
    let hits = hits(&model(text), 1, PACKETS);
    assert!(runs(&hits).iter().all(|run| *run == 1));
    assert_mean(text, 0.1 / 1.1, shares);
}

#[test]
fn parameters_that_make_no_sense_are_refused_at_their_key() {
    let path =
        |json| serde_json::from_value::<ErrorModel>(json).expect("readable").check().expect_err("no").path;
    assert_eq!(path(json!({ "independent": { "probability": 0.1, "burst": 0 } })), "independent.burst");
    assert_eq!(
        path(json!({ "gilbert-elliott": { "to_bad": 0.1, "to_good": 0 } })),
        "gilbert-elliott.to_good"
    );
    assert_eq!(path(json!({ "four-state-markov": { "p13": 0.1, "p31": 0 } })), "four-state-markov.p31");
    let sum = json!({ "four-state-markov": { "p13": 0.6, "p14": 0.5, "p31": 1 } });
    assert_eq!(path(sum), "four-state-markov.p13");
}

#[test]
fn what_is_no_model_is_refused_with_advice() {
    let said = |json| serde_json::from_value::<ErrorModel>(json).expect_err("no").to_string();
    assert!(
        said(json!({ "gilbert": {} }))
            .contains("\"gilbert\" is not an error model; write one of independent,")
    );
    assert!(said(json!("gilbert-elliott")).contains("missing field `to_bad`"));
    assert!(said(json!({})).contains("has no name"));
    assert!(said(json!(7)).contains("the name of one error model"));
}

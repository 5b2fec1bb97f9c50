//! Laws of all distributions, and comparisons with theory.

use super::*;
use serde_json::{Value, json};
use units::{Duration, Rate, Streams};

/// How many numbers are drawn for a comparison with theory.
const DRAWS: usize = 200_000;

/// A distribution as written in a scenario file.
fn written(text: &str) -> Distribution<Duration> {
    #[derive(serde::Deserialize)]
    struct File {
        delay: Distribution<Duration>,
    }
    toml::from_str::<File>(&format!("delay = {text}")).expect("a readable distribution").delay
}

/// A user's file, and a table of netem: a coarse bell with a long right side.
const VALUES: &str = "100 ms\n200 ms # a comment\n\n6 s\n";
const TABLE: &str = "# made up\n-8192 -4096 -4096 0\n0 0 4096 16384\n";

/// The same with its user file read.
fn loaded(text: &str) -> Distribution<Duration> {
    let mut distribution = written(text);
    let text = |path: &str| if path.ends_with(".dist") { TABLE } else { VALUES };
    distribution.load_files(&mut |path| Ok(text(path).into())).expect("values");
    distribution.check().expect("good parameters");
    distribution
}

fn read<Q: Quantity>(json: Value) -> Result<Distribution<Q>, String> {
    serde_json::from_value(json).map_err(|error| error.to_string())
}

/// Draws of numbers, before anything is cut off or rounded.
fn numbers(text: &str) -> Vec<f64> {
    let (mut sampler, mut stream) = (loaded(text).sampler(), Streams::new(1).stream(text));
    (0..DRAWS).map(|_| sampler.sample(&mut stream)).collect()
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

fn variance(numbers: &[f64]) -> f64 {
    let mean = mean(numbers);
    numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / numbers.len() as f64
}

/// The mean must lie within four standard errors of theory, the variance within `tolerance`.
fn assert_moments(text: &str, theory_mean: f64, theory_variance: f64, tolerance: f64) {
    let numbers = numbers(text);
    let error = (theory_variance / DRAWS as f64).sqrt();
    let (mean, variance) = (mean(&numbers), variance(&numbers));
    assert!((mean - theory_mean).abs() < 4.0 * error, "{text}: mean {mean:e}, theory {theory_mean:e}");
    let ratio = variance / theory_variance;
    assert!((ratio - 1.0).abs() < tolerance, "{text}: variance {variance:e}, theory {theory_variance:e}");
}

/// Kolmogorov and Smirnov: the largest distance between the draws and the distribution function
/// stays below the value that chance exceeds once in a thousand times.
fn assert_follows(text: &str, distribution_function: impl Fn(f64) -> f64) {
    let mut numbers = numbers(text);
    numbers.sort_by(f64::total_cmp);
    let distance = numbers.iter().enumerate().fold(0.0_f64, |distance, (rank, number)| {
        let theory = distribution_function(*number);
        let (below, above) = (rank as f64 / DRAWS as f64, (rank + 1) as f64 / DRAWS as f64);
        distance.max((theory - below).abs()).max((theory - above).abs())
    });
    let bound = 1.95 / (DRAWS as f64).sqrt();
    assert!(distance < bound, "{text}: distance {distance}, bound {bound}");
}

fn normal_function(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

const MS: f64 = 1e6;

#[test]
fn every_example_reads_checks_and_writes_back_as_itself() {
    for entry in ENTRIES {
        let distribution = loaded(&entry.example());
        assert_eq!(distribution.id(), entry.id);
        let json = serde_json::to_value(&distribution).expect("it can be written");
        assert_eq!(read::<Duration>(json), Ok(distribution), "{}", entry.id);
    }
}

#[test]
fn every_distribution_repeats_its_draws_under_a_seed_and_gives_nothing_negative() {
    for entry in ENTRIES {
        let distribution = loaded(&entry.example());
        let draws = |seed| {
            let mut source = Source::new(&distribution, Streams::new(seed).stream("test"));
            (0..1_000).map(|_| source.draw()).collect::<Vec<Duration>>()
        };
        assert_eq!(draws(1), draws(1), "{}", entry.id);
        assert!(draws(1).iter().all(|draw| *draw < Duration::from_secs(100_000)), "{}", entry.id);
    }
}

#[test]
fn draws_are_pinned_for_ever() {
    // A change here changes every published run. The numbers are the third draw of each, in ns.
    let third = |entry: &Entry| {
        let distribution = loaded(&entry.example());
        let mut source = Source::new(&distribution, Streams::new(7).stream("pinned"));
        (source.draw(), source.draw(), source.draw()).2.as_nanos()
    };
    let drawn: Vec<(&str, u64)> = ENTRIES.iter().map(|entry| (entry.id, third(entry))).collect();
    assert_eq!(drawn, PINNED);
}

const PINNED: &[(&str, u64)] = &[
    ("static", 200_000_000),
    ("sequence", 200_000_000),
    ("uniform", 5_041_535_787),
    ("normal", 4_246_834_348),
    ("lognormal", 63_287_272),
    ("exponential", 1_747_171_145),
    ("hyperexponential", 82_272_566),
    ("two-phase-markov", 100_000_000),
    ("beta", 1_255_690_210),
    ("gamma", 1_511_803_695),
    ("cauchy", 1_164_032_753),
    ("pareto", 1_164_935_279),
    ("file", 6_000_000_000),
    ("correlated", 112_266_534),
    ("once", 25_367_776),
    ("table", 110_000_000),
];

#[test]
fn uniform_numbers_follow_their_theory() {
    let width = 5_500.0 * MS;
    assert_moments("{ uniform = [\"0.5 s\", \"6 s\"] }", 3_250.0 * MS, width * width / 12.0, 0.02);
    assert_follows("{ uniform = [\"0.5 s\", \"6 s\"] }", |x| (x - 500.0 * MS) / width);
}

#[test]
fn pareto_numbers_follow_their_theory_and_a_shape_without_a_mean_is_refused() {
    // Page sizes of the web (Landström 2008, chapter 7), as times: scale = mean · (shape − 1) / shape.
    let (shape, scale) = (1.7584, 30_458.0 * MS * 0.7584 / 1.7584);
    let below = |x: f64| if x < scale { 0.0 } else { 1.0 - libm::pow(scale / x, shape) };
    assert_follows("{ pareto = { mean = \"30458 ms\", shape = 1.7584 } }", below);
    let said = written("{ pareto = { mean = \"1 s\", shape = 1.0 } }").check().unwrap_err();
    assert_eq!(said.path, "pareto.shape");
}

#[test]
fn normal_numbers_follow_their_theory() {
    let text = "{ normal = { mean = \"10 s\", deviation = \"2.5 s\" } }";
    assert_moments(text, 10_000.0 * MS, (2_500.0 * MS).powi(2), 0.02);
    assert_follows(text, |x| normal_function((x / MS - 10_000.0) / 2_500.0));
}

#[test]
fn lognormal_numbers_follow_their_theory() {
    let text = "{ lognormal = { median = \"200 ms\", sigma = 0.5 } }";
    let square = 0.25_f64;
    let mean = 200.0 * MS * (square / 2.0).exp();
    assert_moments(text, mean, mean * mean * square.exp_m1(), 0.05);
    assert_follows(text, |x| normal_function((x / (200.0 * MS)).ln() / 0.5));
}

#[test]
fn exponential_numbers_follow_their_theory() {
    let text = "{ exponential = { mean = \"1 s\" } }";
    assert_moments(text, 1e9, 1e18, 0.03);
    assert_follows(text, |x| -(-x / 1e9).exp_m1());
}

#[test]
fn hyperexponential_numbers_follow_their_theory() {
    let branches = "{ hyperexponential = [{ probability = 0.9, mean = \"100 ms\" }, { probability = 0.1, mean = \"5 s\" }] }";
    let mean = (0.9 * 100.0 + 0.1 * 5_000.0) * MS;
    let square = 2.0 * (0.9 * 100.0_f64.powi(2) + 0.1 * 5_000.0_f64.powi(2)) * MS * MS;
    assert_moments(branches, mean, square - mean * mean, 0.05);
    assert_follows(branches, |x| 1.0 - 0.9 * (-x / (100.0 * MS)).exp() - 0.1 * (-x / (5_000.0 * MS)).exp());
}

#[test]
fn gamma_numbers_follow_their_theory_above_and_below_shape_one() {
    for shape in [0.3, 1.0, 2.0, 7.5] {
        let text = format!("{{ gamma = {{ shape = {shape:.1}, scale = \"500 ms\" }} }}");
        assert_moments(&text, shape * 500.0 * MS, shape * (500.0 * MS).powi(2), 0.05);
    }
    // Shape 2 has a distribution function in closed form: 1 − e⁻ˣ(1 + x).
    assert_follows("{ gamma = { shape = 2.0, scale = \"500 ms\" } }", |x| {
        let x = x / (500.0 * MS);
        1.0 - (-x).exp() * (1.0 + x)
    });
}

#[test]
fn beta_numbers_follow_their_theory() {
    let text = "{ beta = { alpha = 2.0, beta = 5.0, low = \"0.5 s\", high = \"6 s\" } }";
    let width = 5_500.0 * MS;
    assert_moments(text, 500.0 * MS + width * 2.0 / 7.0, width * width * 10.0 / (49.0 * 8.0), 0.02);
    // Beta(2, 5): F(x) = 1 − (1 − x)⁵(1 + 5x).
    assert_follows(text, |x| {
        let x = (x - 500.0 * MS) / width;
        1.0 - (1.0 - x).powi(5) * (1.0 + 5.0 * x)
    });
}

#[test]
fn cauchy_numbers_follow_their_theory_and_have_no_mean_to_compare() {
    let text = "{ cauchy = { median = \"1 s\", scale = \"100 ms\" } }";
    assert_follows(text, |x| 0.5 + ((x - 1e9) / (100.0 * MS)).atan() / std::f64::consts::PI);
}

#[test]
fn two_phases_share_the_draws_as_theory_says_and_come_in_runs() {
    let numbers = numbers(
        "{ two-phase-markov = { first = { draw = \"100 ms\", leave = 0.05 }, second = { draw = \"2 s\", leave = 0.5 } } }",
    );
    assert_eq!(numbers[0], 100.0 * MS, "it starts in the first phase");
    // The first phase has the share 0.5 / (0.05 + 0.5).
    let share = numbers.iter().filter(|number| **number == 100.0 * MS).count() as f64 / DRAWS as f64;
    assert!((share - 0.5 / 0.55).abs() < 0.005, "share {share}");
    let ends = numbers.windows(2).filter(|pair| pair[0] < pair[1]).count();
    let run = share * DRAWS as f64 / ends as f64;
    assert!((run / 20.0 - 1.0).abs() < 0.05, "a stay in the first phase lasts {run} draws");
}

#[test]
fn a_file_is_replayed_in_turn_or_picked_from_at_random() {
    assert_eq!(numbers("{ file = \"delays.txt\" }")[..4], [100.0 * MS, 200.0 * MS, 6_000.0 * MS, 100.0 * MS]);
    let picked = numbers("{ file = { path = \"delays.txt\", pick = \"random\" } }");
    for value in [100.0, 200.0, 6_000.0] {
        let share = picked.iter().filter(|number| **number == value * MS).count() as f64 / DRAWS as f64;
        assert!((share - 1.0 / 3.0).abs() < 0.005, "{value} ms has the share {share}");
    }
}

#[test]
fn a_bad_line_of_a_file_is_named() {
    let mut distribution = written("{ file = \"delays.txt\" }");
    let error = distribution.load_files(&mut |_| Ok("100 ms\n200\n".into())).expect_err("no unit");
    assert_eq!(error.path, "file");
    assert_eq!(error.message, "delays.txt, line 2: 200 has no unit");
    let error = distribution.load_files(&mut |_| Ok("# nothing\n".into())).expect_err("no values");
    assert_eq!(error.message, "delays.txt gave no values");
    assert!(distribution.check().is_err());
}

#[test]
fn a_file_inside_a_phase_is_read_too() {
    let mut nested = written(
        "{ two-phase-markov = { first = { draw = { file = \"x\" }, leave = 0.5 }, second = { draw = \"1 s\", leave = 0.5 } } }",
    );
    assert_eq!(nested.check().expect_err("not read").path, "two-phase-markov.first.draw.file");
    nested.load_files(&mut |_| Ok("1 ms".into())).expect("values");
    assert_eq!(nested.check(), Ok(()));
}

#[test]
fn negative_draws_are_zero() {
    let wide = written("{ normal = { mean = \"1 ms\", deviation = \"1 s\" } }");
    let mut source = Source::new(&wide, Streams::new(1).stream("clamp"));
    let zeros = (0..10_000).filter(|_| source.draw().is_zero()).count();
    assert!((4_800..5_200).contains(&zeros), "{zeros} of 10000 are zero");
}

#[test]
fn plain_values_lists_and_tables_are_read() {
    assert_eq!(read(json!("200 ms")), Ok(Distribution::constant(Duration::from_millis(200))));
    let list = read::<Rate>(json!(["9600 bit/s", "19200 bit/s"])).expect("a list");
    assert_eq!(list.id(), "sequence");
    let table = read::<Rate>(json!({ "static": "1 Mbit/s" })).expect("a table");
    assert_eq!(table.only_value(), Some(Rate::from_bits_per_sec(1_000_000)));
}

#[test]
fn what_cannot_be_is_refused_with_advice() {
    let said = |json| read::<Duration>(json).expect_err("must be refused");
    assert!(said(json!(6)).starts_with("6 has no unit; write a duration like \"6 ms\""));
    assert!(
        said(json!({ "gauss": "1 s" })).contains("\"gauss\" is not a distribution; write one of static,")
    );
    assert!(
        said(json!({ "static": "1 s", "uniform": ["1 s", "2 s"] }))
            .contains("are two, where one distribution stands")
    );
    assert!(said(json!({})).contains("has no name"));
    assert!(said(json!({ "normal": { "mean": "1 s", "sigma": "1 s" } })).contains("unknown field `sigma`"));
    let rate = read::<Rate>(json!("200 ms")).expect_err("not a rate");
    assert!(rate.contains("not a unit of rate"), "{rate}");
}

#[test]
fn parameters_that_make_no_sense_are_refused_at_their_key() {
    let path = |text: &str| written(text).check().expect_err("must be refused").path;
    assert_eq!(path("{ uniform = [\"2 s\", \"1 s\"] }"), "uniform");
    assert_eq!(path("[]"), "sequence");
    assert_eq!(path("{ lognormal = { median = \"0 s\", sigma = 1.0 } }"), "lognormal.median");
    assert_eq!(path("{ lognormal = { median = \"1 s\", sigma = -1.0 } }"), "lognormal.sigma");
    assert_eq!(path("{ gamma = { shape = 0.0, scale = \"1 s\" } }"), "gamma.shape");
    assert_eq!(path("{ beta = { alpha = 1.0, beta = -1.0, low = \"0 s\", high = \"1 s\" } }"), "beta.beta");
    assert_eq!(path("{ hyperexponential = [{ probability = 0.5, mean = \"1 s\" }] }"), "hyperexponential");
    let never_left = "{ two-phase-markov = { first = { draw = \"1 s\", leave = 0.0 }, second = { draw = \"1 s\", leave = 1.0 } } }";
    assert_eq!(path(never_left), "two-phase-markov.first.leave");
}

#[test]
fn the_schema_names_every_distribution() {
    let schema = serde_json::to_string(&schemars::schema_for!(Distribution<Duration>)).expect("a schema");
    for entry in ENTRIES {
        assert!(schema.contains(&format!("\"{}\"", entry.id)), "{} is missing", entry.id);
    }
}

/// The correlation of numbers that are `apart` from each other.
fn correlation(numbers: &[f64], apart: usize) -> f64 {
    let (mean, variance) = (mean(numbers), variance(numbers));
    let products = numbers.iter().zip(&numbers[apart..]).map(|(one, two)| (one - mean) * (two - mean));
    products.sum::<f64>() / (numbers.len() - apart) as f64 / variance
}

#[test]
fn correlated_numbers_lean_on_those_before_and_keep_the_mean() {
    let width = 40.0 * MS;
    for (method, variance_theory) in [("hold", 1.0), ("blend", 0.75 / 1.25)] {
        let text = format!(
            "{{ correlated = {{ of = {{ uniform = [\"80 ms\", \"120 ms\"] }}, correlation = 0.25, method = \"{method}\" }} }}"
        );
        let numbers = numbers(&text);
        assert!((mean(&numbers) / (100.0 * MS) - 1.0).abs() < 0.002, "{method}");
        let ratio = variance(&numbers) / (variance_theory * width * width / 12.0);
        assert!((ratio - 1.0).abs() < 0.02, "{method}: variance ratio {ratio}");
        for (apart, theory) in [(1, 0.25), (2, 0.0625), (3, 0.015_625)] {
            let measured = correlation(&numbers, apart);
            assert!((measured - theory).abs() < 0.01, "{method}: {measured} at {apart}");
        }
    }
}

#[test]
fn what_is_drawn_once_holds_and_differs_between_streams() {
    let distribution = written("{ once = { uniform = [\"20 ms\", \"80 ms\"] } }");
    let drawn = |name: &str| {
        let mut source = Source::new(&distribution, Streams::new(7).stream(name));
        let first = source.draw();
        assert!((0..100).all(|_| source.draw() == first));
        first
    };
    assert_ne!(drawn("one"), drawn("another"));
}

#[test]
fn what_can_only_be_zero_is_known_whatever_its_kind() {
    for (text, positive) in [
        ("\"0 s\"", false),
        ("[\"0 s\", \"1 us\"]", true),
        ("{ exponential = { mean = \"0 s\" } }", false),
        ("{ exponential = { mean = \"1 us\" } }", true),
        ("{ uniform = [\"0 s\", \"0 s\"] }", false),
        ("{ normal = { mean = \"0 s\", deviation = \"1 us\" } }", true),
        ("{ once = { uniform = [\"0 s\", \"0 s\"] } }", false),
    ] {
        assert_eq!(written(text).can_be_positive(), positive, "{text}");
    }
    for (values, positive) in [("0 s\n0 s\n", false), ("0 s\n1 us\n", true)] {
        let mut file = written("{ file = \"x.txt\" }");
        file.load_files(&mut |_| Ok(values.into())).expect("values");
        assert_eq!(file.can_be_positive(), positive, "{values}");
    }
}

#[test]
fn a_table_of_netem_is_scaled_to_its_mean_and_deviation() {
    let text = "{ table = { path = \"x.dist\", mean = \"100 ms\", deviation = \"20 ms\" } }";
    let numbers = numbers(text);
    for (value, theory) in [(80.0, 0.125), (90.0, 0.25), (100.0, 0.375), (110.0, 0.125), (140.0, 0.125)] {
        let share = numbers.iter().filter(|number| **number == value * MS).count() as f64 / DRAWS as f64;
        assert!((share - theory).abs() < 0.005, "{value} ms has the share {share}");
    }
}

#[test]
fn a_bad_line_of_a_table_is_named() {
    let said = |text: &str| {
        let mut table = written("{ table = { path = \"x.dist\", mean = \"1 ms\", deviation = \"1 ms\" } }");
        let error = table.load_files(&mut |_| Ok(text.into())).expect_err("must be refused");
        assert_eq!(error.path, "table.path");
        error.message
    };
    assert_eq!(said("# head\n1 2\n3 x4\n"), "x.dist, line 3: x4 is not a whole number of 16 bits");
    assert_eq!(said("1 2 40000"), "x.dist, line 1: 40000 is not a whole number of 16 bits");
    assert_eq!(said("# nothing\n"), "x.dist gave no numbers");
    assert_eq!(said(&"1 ".repeat(16_385)), "x.dist has 16385 numbers");
}

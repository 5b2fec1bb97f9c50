//! Studies of other documents, with other variables and columns.

mod mistakes;

use std::path::{Path, PathBuf};

use lasthop_scenario::{InputError, Search, study};

const BASE: &str = r#"
[hosts.server]
profile = "plain"
[hosts.client]
profile = "plain"
[[links]]
name = "path"
between = ["server", "client"]
down = { rate = "2 Mbit/s", propagation = "25 ms" }
up = { rate = "2 Mbit/s", propagation = "25 ms" }
[[flows]]
name = "file"
from = "server"
to = "client"
bytes = "200 kB"
"#;

const PUBLISHED: &str =
    "figure,tcp,loss_pct,rtt_ms,metric,stat,value,uncertain\n3,plain,1,50,throughput_Bps,median,132,0\n";

/// A study over error rate, round trip, profile and file size.
const STUDY: &str = r#"title = "error rates and round trips"
source = "a document"
scenario = "./base.toml"
first_seed = 100
columns = ["tcp", "loss_pct", "rtt_ms", "metric"]
published = { file = "published.csv", statistic = "stat" }
defaults = { size = "200k" }
[[variables.tcp]]
form = "{profile}"
set."hosts.server.profile" = "{profile}"
[[variables.loss_pct]]
form = "0"
[[variables.loss_pct]]
form = "1"
set."links.path.down.errors" = { probability = 0.01, effect = "drop" }
replications = 10
[[variables.loss_pct]]
form = "3"
set."links.path.down.errors" = { probability = 0.03, effect = "drop" }
replications = 30
[[variables.rtt_ms]]
form = "50"
[[variables.rtt_ms]]
form = "500"
set."links.path.down.propagation" = "250 ms"
set."links.path.up.propagation" = "250 ms"
[[variables.size]]
form = "{kb}k"
set."flows.file.bytes" = "{kb} kB"
[metrics.throughput_Bps]
says = "bytes over elapsed time"
flow = "throughput_Bps"
[metrics.drops]
says = "drops"
link = "path.down.error_drops"
[[tables]]
id = "3"
title = "throughput"
metrics = ["throughput_Bps"]
cases = [{ tcp = ["plain", "derived"], loss_pct = [0, 1, 3], rtt_ms = [50, 500] }, { tcp = "plain", loss_pct = 0, rtt_ms = 50, size = "1000k" }]
[[figures]]
id = "1"
kind = "cwnd"
title = "a window"
case = { tcp = "plain", loss_pct = 3, rtt_ms = 500 }
[[claims]]
id = "1"
says = "loss hurts"
place = "2"
holds = "lossy < clean / 2"
[claims.values]
clean = { tcp = "plain", loss_pct = 0, rtt_ms = 500 }
lossy = { tcp = "plain", loss_pct = 3, rtt_ms = 500, stat = "q75" }
[[tables]]
id = "5"
title = "drops"
metrics = ["drops"]
cases = [{ tcp = "plain", loss_pct = 1, rtt_ms = 50 }]
"#;

fn search() -> Search {
    Search::new([Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")])
}

fn written(name: &str, text: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("studies").join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    for (file, text) in [("study.toml", text), ("base.toml", BASE), ("published.csv", PUBLISHED)] {
        std::fs::write(folder.join(file), text).expect("a file");
    }
    folder
}

fn load(name: &str, text: &str) -> Result<study::Study, InputError> {
    study::load(written(name, text), &search())
}

#[test]
fn a_study_may_vary_anything_that_a_scenario_has() {
    let study = load("varied", STUDY).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((study.name.as_str(), study.cases.len(), study.rows.len()), ("varied", 13, 14));
    let case = study.case("derived,3,500").expect("it is in the grid");
    assert_eq!(case.seeds, (100..130).collect::<Vec<u64>>());
    let scenario = serde_json::to_value(&case.variants[0].scenario).expect("JSON");
    assert_eq!(scenario["links"][0]["up"]["propagation"], "250 ms");
    assert_eq!(scenario["links"][0]["down"]["errors"]["probability"], 0.03);
    assert_eq!(scenario["hosts"][0]["tcp"]["initial_window"], "2 segments");
    let long = study.case("plain,0,50,size=1000k").expect("a variable that is no column is named in the id");
    assert_eq!(serde_json::to_value(&long.variants[0].scenario).expect("JSON")["flows"][0]["bytes"], "1 MB");
    assert_eq!(study.claims[0].values["lossy"].stat, lasthop_scenario::file::Stat::Q75);
    assert_eq!(study.rows[study.claims[0].values["lossy"].row].case, "plain,3,500");
}

#[test]
fn values_may_come_from_a_program_that_is_asked_when_the_study_is_run() {
    let oracle = r#"oracle = { ask = "other", program = "ns", install = "apt-get install ns2" }"#;
    let text = STUDY.replace(r#"file = "published.csv", statistic = "stat""#, oracle);
    let study = load("oracle", &text).unwrap_or_else(|error| panic!("{error}"));
    let published = serde_json::to_value(&study.published).expect("JSON");
    assert_eq!(published["oracle"]["program"], "ns");
}

#[test]
fn cases_that_only_differ_in_seeds_share_random_numbers() {
    let study = load("seeds", STUDY).unwrap_or_else(|error| panic!("{error}"));
    for case in &study.cases {
        assert_eq!(case.seeds[0], 100);
        assert!(case.variants.iter().all(|variant| variant.hash == variant.scenario.hash()));
    }
}

/// Numbers identified by their own columns, and a ratio of two.
fn with_numbers() -> String {
    let columns = STUDY.replace(
        "columns = [\"tcp\", \"loss_pct\", \"rtt_ms\", \"metric\"]",
        "columns = [\"figure\", \"tcp\", \"loss_pct\", \"rtt_ms\", \"end\", \"metric\"]",
    );
    let claims = columns.find("[[claims]]").expect("it has claims");
    columns[..claims]
        .replace("file = \"published.csv\", statistic = \"stat\"", "file = \"published.csv\"")
        .replace("published = { file = \"published.csv\" }\n", "")
        + r#"[[tables]]
id = "7"
title = "both ends"
cases = [{ tcp = ["plain", "derived"], loss_pct = 1, rtt_ms = 50 }]
numbers = [{ metric = "seen", is = "drops", end = "server" }, { metric = "throughput_Bps", end = "client" }, { metric = "drops", only = { tcp = "derived" } }]
ratios = [{ metric = "ratio", of = "throughput_Bps", column = "tcp", over = "derived", under = "plain", called = "derived/plain" }]
"#
}

#[test]
fn a_tables_numbers_may_have_columns_of_their_own_and_quotients() {
    let study = load("numbers", &with_numbers()).unwrap_or_else(|error| panic!("{error}"));
    let rows: Vec<_> = study.rows.iter().enumerate().filter(|(_, row)| row.table == "7").collect();
    let labels: Vec<String> = rows
        .iter()
        .map(|(_, row)| format!("{} {} {}", row.columns["tcp"], row.columns["end"], row.columns["metric"]))
        .collect();
    assert_eq!(
        labels,
        [
            "plain server seen",
            "plain client throughput_Bps",
            "derived server seen",
            "derived client throughput_Bps",
            "derived  drops",
            "derived/plain client ratio"
        ]
    );
    assert!(rows.iter().all(|(_, row)| row.columns["figure"] == "7"));
    assert_eq!((rows[0].1.measure.as_str(), rows[0].1.quotient), ("drops", None));
    assert_eq!(rows[5].1.quotient, Some([rows[3].0, rows[1].0]));
}

#[test]
fn a_quotient_of_nothing_is_refused() {
    let text = with_numbers().replace("under = \"plain\"", "under = \"plian\"");
    let error = load("no-quotient", &text).expect_err("it should be refused").to_string();
    assert!(error.contains("tables.1.ratios.0: no two rows are \"derived\" and \"plian\""), "{error}");
}

#[test]
fn numbers_of_a_variable_that_there_is_not_are_refused() {
    let text = with_numbers().replace("only = { tcp", "only = { tpc");
    let error = load("no-only", &text).expect_err("it should be refused").to_string();
    let expected = "tables.1.numbers.2.only.tpc: there is no variable \"tpc\"; did you mean \"tcp\"?";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_default_that_every_table_and_figure_replaces_is_refused() {
    let size = ", size = \"100k\" }";
    let text = STUDY
        .replacen("rtt_ms = [50, 500] }", &format!("rtt_ms = [50, 500]{size}"), 1)
        .replacen("rtt_ms = 500 }\n[[claims]]", &format!("rtt_ms = 500{size}\n[[claims]]"), 1)
        .replacen("rtt_ms = 50 }]\n", &format!("rtt_ms = 50{size}]\n"), 1);
    let said = load("no-default", &text).expect_err("no case has it").to_string();
    assert!(said.contains(":7: defaults.size: no case has this value of \"size\"; leave it out"), "{said}");
}

#[test]
fn words_of_a_chart_are_labels_of_what_it_shows() {
    let with = |name: &str, words: &str| {
        let text = with_a_smallest().replacen("by = \"loss_pct\"", &format!("by = \"loss_pct\"\n{words}"), 1);
        load(name, &text)
    };
    let shown = "words = { rtt_ms = \"round trip\", throughput_Bps = \"B/s\", \"loss_pct 3\" = \"3 %\" }";
    assert!(with("words", shown).is_ok());
    let error = with("no-words", "words = { \"loss_pct 0\" = \"none\" }").expect_err("it shows 1 and 3");
    let expected = ".words.loss_pct 0: no column, metric, curve or panel of the chart is called";
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn a_scope_is_of_flows_that_send_so_much_and_of_what_is_known_of_their_first_bytes() {
    let with = |bytes: &str, more: &str| {
        let scopes = format!("[scopes.first]\nbytes = \"{bytes}\"\n[metrics.throughput_Bps]\n{more}");
        let text = STUDY.replacen("[metrics.throughput_Bps]", &scopes, 1);
        load(
            "scope",
            &text.replacen("title = \"throughput\"", "title = \"throughput\"\nscopes = [\"first\"]", 1),
        )
    };
    assert!(with("100 kB", "").is_ok());
    for (bytes, more, expected) in [
        ("300 kB", "", ".flow: \"file\" sends less than the 300000 bytes of a scope; leave that scope out"),
        ("100 kB", "flows = \"f*x\"", ".flows: the case derived,0,50 has no flow \"f*x\"; "),
    ] {
        let error = with(bytes, more).expect_err(bytes).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_span_needs_whole_numbers_under_its_keys() {
    let span = "replications = 10\nspan = { over = \"links.path.down.events.*.packet\", add = [0, 1] }";
    let said = load("span", &STUDY.replacen("replications = 10", span, 1))
        .expect_err("there is no event")
        .to_string();
    assert!(said.contains("span.over: no key of the scenario is meant; check the path"), "{said}");
    for (over, add, expected) in [
        (
            "links.path.down.rate",
            "1",
            "links.path.down.rate: the span needs a whole number here; write one, or",
        ),
        (
            "seed",
            "9223372036854775807",
            "span.add: 1 and 9223372036854775807 make a number that is too large",
        ),
    ] {
        let span = format!("replications = 10\nset.seed = 1\nspan = {{ over = \"{over}\", add = [{add}] }}");
        let text = STUDY.replacen("replications = 10", &span, 1);
        let said = load("span", &text).expect_err("it should be refused").to_string();
        assert!(said.contains(expected), "{said}");
    }
}

/// Round trip at which half of the throughput remains, and a chart of it.
fn with_a_smallest() -> String {
    let table = "metrics = [\"throughput_Bps\"]";
    let smallest = "smallest = [{ metric = \"need\", column = \"rtt_ms\", of = \"throughput_Bps\", reaches = 5000, called = \"need\" }]";
    let chart = r#"[[charts]]
id = "3a"
title = "throughput"
table = "3"
metrics = ["throughput_Bps"]
over = "rtt_ms"
by = "loss_pct"
only = { tcp = "plain", loss_pct = [1, 3] }
[[figures]]"#;
    STUDY.replacen(table, &format!("{table}\n{smallest}"), 1).replacen("[[figures]]", chart, 1)
}

#[test]
fn the_smallest_that_is_enough_is_sought_among_rows_that_differ_in_nothing_else() {
    let study = load("smallest", &with_a_smallest()).unwrap_or_else(|error| panic!("{error}"));
    let found: Vec<_> = study.rows.iter().filter(|row| row.metric == "need").collect();
    assert_eq!(found.len(), 6, "one for each of two senders and three loss rates");
    let columns = ["tcp", "loss_pct", "rtt_ms", "metric"].map(|name| found[1].columns[name].as_str());
    assert_eq!(columns, ["plain", "1", "need", "need"]);
    let smallest = found[1].smallest.as_ref().expect("it is made of others");
    let tried: Vec<_> =
        smallest.tried.iter().map(|(number, row)| (*number, study.rows[*row].case.as_str())).collect();
    assert_eq!(tried, [(50.0, "plain,1,50"), (500.0, "plain,1,500")]);
}

#[test]
fn a_chart_shows_some_of_a_tables_rows() {
    let study = load("chart", &with_a_smallest()).unwrap_or_else(|error| panic!("{error}"));
    let chart = &study.charts[0];
    assert_eq!((chart.over.as_str(), chart.by.as_deref(), chart.log), ("rtt_ms", Some("loss_pct"), false));
    assert_eq!(chart.only["loss_pct"], ["1", "3"]);
}

#[test]
fn a_chart_or_a_smallest_of_nothing_is_refused() {
    for (from, to, expected) in [
        (
            "column = \"rtt_ms\"",
            "column = \"tcp\"",
            "smallest.0: no row of \"throughput_Bps\" has a number in \"tcp\"",
        ),
        (
            "of = \"throughput_Bps\"",
            "of = \"drops\"",
            "smallest.0: no row of \"drops\" has a number in \"rtt_ms\"",
        ),
        (
            "over = \"rtt_ms\"",
            "over = \"tcp\"",
            "charts.0.over: \"plain\" of the column \"tcp\" is no number",
        ),
        ("over = \"rtt_ms\"", "over = \"rtt\"", "charts.0.over: there is no column \"rtt\""),
        ("by = \"loss_pct\"", "by = \"loss\"", "charts.0: there is no column \"loss\""),
        ("table = \"3\"", "table = \"4\"", "charts.0.table: there is no table \"4\""),
    ] {
        let text = with_a_smallest();
        assert!(text.contains(from), "{from}");
        let said = load("no-chart", &text.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn only_the_scenarios_of_wanted_tables_are_worked_out() {
    let more = "[[tables]]\nid = \"4\"\ntitle = \"long\"\nmetrics = [\"drops\"]\n\
                cases = [{ tcp = \"plain\", loss_pct = 3, rtt_ms = 50, size = \"500k\" }]\n[[figures]]";
    let folder = written("wanted", &STUDY.replacen("[[figures]]", more, 1));
    let planned = |wanted: &[String]| {
        let study = study::load_tables(&folder, &search(), wanted).unwrap_or_else(|error| panic!("{error}"));
        let planned = study.cases.iter().filter(|case| !case.variants.is_empty()).count();
        (study.cases.len(), study.rows.len(), planned)
    };
    assert_eq!(planned(&[]), (14, 15, 14));
    assert_eq!(planned(&["4".to_owned()]), (14, 15, 1), "all cases are known, and one is to be run");
}

//! Mistakes in a study, and the messages for them.

use super::{STUDY, load};

/// A text, its replacement, and the message after the study's path.
const MISTAKES: &[(&str, &str, &str)] = &[
    (
        "first_seed",
        "first_sed",
        ":4: first_sed: there is no key \"first_sed\" here; did you mean \"first_seed\"?",
    ),
    ("./base.toml", "./bass.toml", ":3: scenario: there is no scenario \"./bass.toml\""),
    (
        "\"rtt_ms\", \"metric\"]",
        "\"rtt\", \"metric\"]",
        ":5: columns.2: no variable gives the column \"rtt\"; ",
    ),
    (
        "defaults = { size",
        "defaults = { sizes",
        ":7: defaults.sizes: there is no variable \"sizes\"; did you mean \"size\"?",
    ),
    (
        "loss_pct = [0, 1, 3]",
        "loss_pct = [0, 2]",
        ":40: tables.0.cases.0.loss_pct: \"2\" is of no form of the variable \"loss_pct\"; its forms are 0, 1, 3",
    ),
    (
        "loss_pct = [0, 1, 3]",
        "los_pct = [0, 1]",
        ":40: tables.0.cases.0.los_pct: there is no variable \"los_pct\"; did you mean \"loss_pct\"?",
    ),
    (
        "loss_pct = [0, 1, 3], ",
        "",
        ":40: tables.0.cases.0: the variable \"loss_pct\" has no value; give it one here, in `fixed`",
    ),
    (
        "rtt_ms = [50, 500]",
        "rtt_ms = []",
        ":40: tables.0.cases.0.rtt_ms: the variable \"rtt_ms\" has no value in the list; its forms are 50, 500",
    ),
    (
        "defaults = { size = \"200k\" }",
        "defaults = { size = [] }",
        ":7: defaults.size: the variable \"size\" has no value in the list; its forms are {kb}k",
    ),
    (
        "metrics = [\"throughput_Bps\"]",
        "metrics = [\"throughput\"]",
        ":39: tables.0.metrics.0: there is no metric \"throughput\"; ",
    ),
    (
        "link = \"path.down.error_drops\"",
        "",
        ":33: metrics.drops: 0 of flow, link, transfers and check are given; give exactly one",
    ),
    (
        "flow = \"throughput_Bps\"",
        "flow = \"throughput_bps\"",
        ":32: metrics.throughput_Bps.flow: a flow has no \"throughput_bps\"; did you mean \"throughput_Bps\"?",
    ),
    (
        "flow = \"throughput_Bps\"",
        "flow = \"throughput_Bps\"\nflows = \"fil\"",
        ":33: metrics.throughput_Bps.flows: the case derived,0,50 has no flow \"fil\"; did you mean \"file\"?",
    ),
    (
        "flow = \"throughput_Bps\"",
        "link = \"path.down.eror_drops\"",
        ":32: metrics.throughput_Bps.link: a link has no \"eror_drops\"; did you mean \"error_drops\"?",
    ),
    (
        "flow = \"throughput_Bps\"",
        "link = \"pats.down.error_drops\"",
        ":32: metrics.throughput_Bps.link: the case derived,0,50 has no link \"pats\"; did you mean \"path\"?",
    ),
    (
        "flow = \"throughput_Bps\"",
        "link = \"path.error_drops\"",
        ":32: metrics.throughput_Bps.link: \"path.error_drops\" is no counter of a link; write it as ",
    ),
    (
        "flow = \"throughput_Bps\"",
        "flow = \"throughput_Bps\"\nwindow = \"steady\"",
        ":33: metrics.throughput_Bps.window: the case derived,0,50 has no window \"steady\"; there are no windows",
    ),
    (
        "flow = \"throughput_Bps\"",
        "transfers = { quantile = 0.5 }\nflows = \"fil\"",
        ":33: metrics.throughput_Bps.flows: the case derived,0,50 has no flow \"fil\"; did you mean \"file\"?",
    ),
    (
        "flow = \"throughput_Bps\"",
        "flow = \"throughput_Bps\"\ndivided_by = 0",
        ":33: metrics.throughput_Bps.divided_by: nothing can be divided by 0; write another number",
    ),
    (
        "metrics = [\"throughput_Bps\"]",
        "metrics = [\"throughput_Bps\", \"drops\", \"drops\"]",
        ":39: tables.0.metrics.2: two metrics are called \"drops\"; rename one: the first is in line 39",
    ),
    (
        "[[figures]]",
        "[[tables]]\nid = \"3\"\ntitle = \"again\"\nmetrics = [\"drops\"]\ncases = []\n[[figures]]",
        ":42: tables.1.id: two tables are called \"3\"; rename one: the first is in line 37",
    ),
    (
        "[[claims]]",
        "[[claims]]\nid = \"1\"\nsays = \"loss hurts\"\nplace = \"1\"\nholds = \"1 < 2\"\n[[claims]]",
        ":52: claims.1.id: two claims are called \"1\"; rename one: the first is in line 47",
    ),
    (
        "\"{kb} kB\"",
        "\"{mb} MB\"",
        ":29: variables.size.0.set.\"flows.file.bytes\": the form \"{kb}k\" has no placeholder {mb}; ",
    ),
    (
        "\"{kb} kB\"",
        "\"{kb} KB\"",
        ":29: flows.file.bytes: \"KB\" is not a unit of size; write kB for 1000 bytes, or KiB for 1024",
    ),
    ("statistic = \"stat\"", "statistic = \"stats\"", ":6: published.file: "),
    ("published.csv", "none.csv", "none.csv: there is no such file; check the path"),
    (
        "file = \"published.csv\", ",
        "",
        ":6: published: values come either from a `file` or from an `oracle`; ",
    ),
    ("holds = \"", "about = [\"8\"]\nholds = \"", "claims.0.about.0: there is no table \"8\"; "),
    (
        "clean / 2",
        "cleen / 2",
        ":50: claims.0.holds: the expression uses \"cleen\", which has no value; did you mean \"clean\"?",
    ),
    (
        "holds = \"lossy < clean / 2\"\n",
        "",
        ":46: claims.0: a claim is judged either by `holds` or by `check`; give exactly one",
    ),
    (
        "clean = { tcp = \"plain\", loss_pct = 0, rtt_ms = 500 }",
        "clean = { tcp = \"plain\", loss_pct = 0 }",
        ":52: claims.0.values.clean: 3 rows have these values; distinguish them by more of tcp, loss_pct",
    ),
    (
        "clean = { tcp = \"plain\", loss_pct = 0",
        "clean = { tcp = \"plain\", loss_pct = 9",
        ":52: claims.0.values.clean: no row has these values; check them",
    ),
    (
        "clean = { tcp",
        "clean = { tpc",
        ":52: claims.0.values.clean.tpc: this is no column; did you mean \"tcp\"?",
    ),
    (
        "case = { tcp = \"plain\"",
        "case = { tcp = [\"plain\", \"derived\"]",
        ":45: figures.0.case: 2 cases are meant; give each variable one value",
    ),
    (
        "kind = \"cwnd\"",
        "kind = \"cwind\"",
        ":43: figures.0.kind: \"cwind\" is not a choice here; did you mean \"cwnd\"?",
    ),
    (
        "tcp = [\"plain\", \"derived\"]",
        "tcp = [\"plian\"]",
        ":10: hosts.server.profile: there is no profile \"plian\"; did you mean \"plain\"?",
    ),
];

#[test]
fn every_mistake_in_a_study_says_where_what_and_what_would_be_right() {
    let mut wrong = Vec::new();
    for (i, (from, to, expected)) in MISTAKES.iter().enumerate() {
        assert!(STUDY.contains(from), "{from} is not in the study");
        let said = load(&format!("mistake-{i}"), &STUDY.replacen(from, to, 1)).expect_err(to).to_string();
        if !said.contains(expected) {
            wrong.push(format!("for {to}\nsaid:     {said}\nexpected: …{expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A text, its replacement, and the message after the study's path.
const UNUSED: &[(&str, &str, &str)] = &[
    (
        "metrics = [\"drops\"]",
        "metrics = [\"throughput_Bps\"]",
        ": metrics.drops: no table has the metric \"drops\"; name it in a table's `metrics` or `numbers`, or leave it",
    ),
    (
        "[metrics.drops]",
        "[scopes.first]\nbytes = \"10 kB\"\n[metrics.drops]",
        ": scopes.first: no table has the scope \"first\"; name it in a table's `scopes`, or leave it out",
    ),
    (
        "[[variables.size]]",
        "[[variables.rtt_ms]]\nform = \"900\"\n[[variables.size]]",
        ": variables.rtt_ms.2: no case has a value of this form of \"rtt_ms\"; give a table, figure or claim such a",
    ),
    (
        "link = \"path.down.error_drops\"",
        "link = \"path.down.error_drops\"\nfold = \"max\"",
        ": metrics.drops.fold: only a metric with `flow` reads this key; leave it out",
    ),
    (
        "link = \"path.down.error_drops\"",
        "link = \"path.down.error_drops\"\ntables = [\"packets\"]",
        ": metrics.drops.tables: only a metric with `check` reads this key; leave it out",
    ),
    (
        "title = \"drops\"",
        "title = \"drops\"\nfixed = { rtt_ms = 500 }",
        ": tables.1.fixed.rtt_ms: every grid of the table gives \"rtt_ms\" a value of its own; leave one of the two",
    ),
    (
        "title = \"drops\"",
        "title = \"drops\"\ndefinitions = { lost = \"drops\" }",
        ": tables.1.definitions.lost: the table has no metric \"lost\"; name it in the table's `metrics`",
    ),
    (
        "title = \"drops\"",
        "title = \"drops\"\nnumbers = [{ metric = \"few\", is = \"drops\", only = { loss_pct = 3 } }]",
        ": tables.1.numbers.0: no case of the table has the values of `only`; write values that a case of the table",
    ),
    (
        "lossy < clean / 2",
        "lossy < 2000",
        ": claims.0.values.clean: the claim does not use the value \"clean\"; use it in `holds`, or leave it out",
    ),
    (
        "holds = \"",
        "about = [\"5\"]\nholds = \"",
        ": claims.0.about: only a claim with `check` reads this key; leave it out",
    ),
    (
        "[[figures]]",
        "[words]\ntcp = \"sender\"\n[[figures]]",
        ": words.tcp: no column, metric, curve or panel of any chart is called \"tcp\"; ",
    ),
    (
        "[[figures]]",
        "[[agreement]]\nkind = \"slow\"\nwithin = 0.1\nonly = { rtt_ms = [\"9*\"] }\n[[figures]]",
        ": agreement.0: no row is of the kind \"slow\"; ",
    ),
];

#[test]
fn what_nothing_in_a_study_reads_is_refused_with_its_place() {
    let mut wrong = Vec::new();
    for (i, (from, to, expected)) in UNUSED.iter().enumerate() {
        assert!(STUDY.contains(from), "{from} is not in the study");
        let found = load(&format!("unused-{i}"), &STUDY.replacen(from, to, 1));
        let said = found.map_or_else(|error| error.to_string(), |_| "nothing".to_owned());
        if !said.contains(expected) {
            wrong.push(format!("for {to}\nsaid:     {said}\nexpected: …{expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

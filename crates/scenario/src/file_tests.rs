//! Invalid files that a scenario names: the message has the file, the line, the error and the remedy.

use std::path::PathBuf;

use crate::tests::GOOD;
use crate::{InputError, Resolved, Search, parse};

/// A scenario whose link's direction, or whose flow, has this key, with this content of `x.txt`.
struct Case {
    folder: PathBuf,
    text: String,
}

impl Case {
    fn new(name: &str, text: String, content: &[u8]) -> Self {
        let folder = std::env::temp_dir().join(format!("lasthop-files-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the test may write its own files");
        std::fs::write(folder.join("x.txt"), content).expect("the test may write its own files");
        Self { folder, text }
    }

    fn of_link(name: &str, key: &str, content: &[u8]) -> Self {
        Self::new(name, GOOD.replacen("[links.down]", &format!("[links.down]\n{key}"), 1), content)
    }

    fn of_flow(name: &str, key: &str, content: &[u8]) -> Self {
        let bulk = "bytes = \"100 KiB\"\nmilestones = [\"10 KiB\"]\n";
        Self::new(name, GOOD.replacen(bulk, &format!("until = \"9 s\"\n{key}\n"), 1), content)
    }

    fn load(&self) -> Result<Resolved, InputError> {
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
        parse(&self.text, self.folder.join("good.toml"), &[""; 0], None, &Search::new([fixtures]))
    }

    fn said(&self) -> String {
        let said = self.load().map(|_| ()).expect_err("the file is wrong").to_string();
        said.replace(&format!("{}/", self.folder.display()), "")
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

const TRACE: &str = "capacity = { trace = { path = \"x.txt\" } }";
const TABLE: &str = "propagation = { table = { path = \"x.txt\", mean = \"50 ms\", deviation = \"5 ms\" } }";
const DELAYS: &str = "propagation = { file = \"x.txt\" }";
const PAGES: &str = "workload = { web = { size = { file = { path = \"x.txt\", pick = \"random\" } } } }";

/// The key of the file in messages, its content, and the message.
type Wrong = (&'static [u8], &'static str);

const TRACES: &[Wrong] = &[
    (b"", "x.txt gave no times; write a time in milliseconds to each line"),
    (b"# nothing but words\n\n", "x.txt gave no times; write a time"),
    (b"5\nseven\n9\n", "x.txt, line 2: seven is not a time; write whole milliseconds"),
    (b"5\n6.5\n", "x.txt, line 2: 6.5 is not a time; write whole milliseconds"),
    (b"-5\n", "x.txt, line 1: -5 is not a time; write whole milliseconds"),
    (b"5 6\n", "x.txt, line 1: 5 6 is not a time; write whole milliseconds"),
    (b"5\n\n9\n7\n", "x.txt, line 4: 7 is before 9; write the times in order"),
    // The last line is torn: it was 1000.
    (b"998\n999\n10", "x.txt, line 3: 10 is before 999; write the times in order"),
    (b"0\n0\n", "x.txt ends at 0 ms, so it lasts no time; write a time"),
    (b"99999999999999999999\n", "x.txt, line 1: 99999999999999999999 is not a time"),
    (b"5\n\xff\n", "x.txt: the file is not UTF-8 text; save it as UTF-8"),
];

const TABLES: &[Wrong] = &[
    (b"", "x.txt gave no numbers; name a distribution table of netem"),
    (b"# mean: 0\n", "x.txt gave no numbers; name a distribution table of netem"),
    (
        b"1 2 3\n4 x 6\n",
        "x.txt, line 2: x is not a whole number of 16 bits; write numbers from -32768 to 32767",
    ),
    (b"1\n40000\n", "x.txt, line 2: 40000 is not a whole number of 16 bits"),
    (b"1 2\n0.5\n", "x.txt, line 2: 0.5 is not a whole number of 16 bits"),
    // The last line is torn: it was -120.
    (b"1 2\n3 -", "x.txt, line 2: - is not a whole number of 16 bits"),
];

const VALUES: &[Wrong] = &[
    (b"", "x.txt gave no values; write one value with its unit to a line"),
    (b"200 ms\n300\n", "x.txt, line 2: 300 has no unit; write a duration like"),
    (b"200 ms\nsoon\n", "x.txt, line 2: "),
    (b"200 ms # measured\n\n-3 ms\n", "x.txt, line 3: \"-3 ms\" is negative; a duration is zero or more"),
    // The last line is torn: it was 300 ms.
    (b"200 ms\n300 ", "x.txt, line 2: 300 has no unit; write a duration like"),
];

const SIZES: &[Wrong] = &[
    (b"", "x.txt gave no values; write one value with its unit to a line"),
    (b"30 kB\n12000\n", "x.txt, line 2: 12000 has no unit; write a size like"),
    (
        b"30 kB\n10 KB\n",
        "x.txt, line 2: \"KB\" is not a unit of size; write kB for 1000 bytes, or KiB for 1024",
    ),
    (b"30 kB\n10 k", "x.txt, line 2: \"k\" is not a unit of size"),
    (b"30 kB\n-1 kB\n", "x.txt, line 2: \"-1 kB\" is negative"),
];

fn assert_said(cases: &[Wrong], place: &str, case: impl Fn(&str, &[u8]) -> Case) {
    for (number, (content, expected)) in cases.iter().enumerate() {
        let said = case(&format!("{}-{number}", place.len()), content).said();
        let expected = format!("{place}: {expected}");
        assert!(said.starts_with(&expected), "said:     {said}\nexpected: {expected}");
    }
}

#[test]
fn a_trace_that_is_no_trace_is_said_with_its_line() {
    let place = "good.toml:12: links.lasthop.down.capacity.trace.path";
    assert_said(TRACES, place, |name, content| Case::of_link(name, TRACE, content));
}

#[test]
fn a_distribution_table_that_is_none_is_said_with_its_line() {
    let place = "good.toml:12: links.lasthop.down.propagation.table.path";
    assert_said(TABLES, place, |name, content| Case::of_link(name, TABLE, content));
}

#[test]
fn a_file_of_values_that_has_others_is_said_with_its_line() {
    let place = "good.toml:12: links.lasthop.down.propagation.file";
    assert_said(VALUES, place, |name, content| Case::of_link(name, DELAYS, content));
}

#[test]
fn a_file_of_page_sizes_that_has_others_is_said_with_its_line() {
    let place = "good.toml:18: flows.download.workload.web.size.file";
    assert_said(SIZES, place, |name, content| Case::of_flow(name, PAGES, content));
}

#[test]
fn files_as_they_should_be_are_taken_in() {
    Case::of_link("trace", TRACE, b"# a trace\n1\n1\n4\n").load().expect("it is right");
    Case::of_link("table", TABLE, b"# a table\n-100 0\n100").load().expect("it is right");
    Case::of_link("values", DELAYS, b"200 ms # measured\n\n1.5 s").load().expect("it is right");
    let sizes = Case::of_flow("sizes", PAGES, b"30 kB\n1 MB\n").load().expect("it is right");
    assert!(sizes.json().contains("\"values\":[\"30 kB\",\"1 MB\"]"), "{}", sizes.json());
}

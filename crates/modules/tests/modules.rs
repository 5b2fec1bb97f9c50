//! Modules of our own: compiled, run in a World, and ended where they crash.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use lasthop_modules::{Library, Mistakes, ModuleControl, ModuleError, build, compile, supply};
use registry::Choice;
use scenario::Search;
use serde_json::{Map, Value, json};
use sim::Outcome;
use tcp::congestion::{AckSample, CongestionControl, Module, PathModel};
use units::{Bytes, Duration, Instant, Seq};

extern crate lasthop_modules;

const AIMD: &str = include_str!("tcp_aimd.c");

/// The module of a text, in a file of its own name.
fn module(text: &str) -> Module {
    let sources = BTreeMap::from([("tcp_mine.c".to_owned(), text.to_owned())]);
    Module { file: "mine/tcp_mine.c".to_owned(), sources, ..Module::default() }
}

fn loaded(text: &str, parameters: Value) -> Result<Library, ModuleError> {
    Library::load(&compile(&module(text))?, parameters.as_object().unwrap_or(&Map::new()))
}

fn error(text: &str) -> ModuleError {
    loaded(text, json!({})).expect_err("the module is wrong")
}

/// AIMD with `body` in place of the growth in congestion avoidance.
fn growing_by(body: &str) -> String {
    let at = AIMD.find("\tif (tcp_in_slow_start(tp) || fast)").expect("the module has slow start");
    format!("{}\t{body}\n}}\n{}", &AIMD[..at], &AIMD[AIMD.find("static void aimd_set_state").unwrap()..])
}

/// The mistake of a module that is asked to grow its window.
fn mistake(body: &str) -> ModuleError {
    let library = Arc::new(loaded(&growing_by(body), json!({})).unwrap());
    let mistakes = Arc::new(Mistakes::default());
    let mut control = ModuleControl::new(&library, &mistakes);
    control.start(Bytes(1000), Bytes(10_000));
    control.on_ack(&acked(1));
    assert_eq!(control.cwnd(), Bytes(10_000), "the windows of a module that has failed stay");
    mistakes.check().expect_err("the module has crashed")
}

fn acked(segments: u32) -> AckSample {
    AckSample {
        now: Instant::START + Duration::from_millis(100),
        acked: Bytes(1000 * u64::from(segments)),
        segments,
        flight: Bytes(10_000),
        number: Seq(1000 * segments),
        nxt: Seq(10_000),
        ..AckSample::default()
    }
}

#[test]
fn a_module_reports_its_name_and_its_parameters() {
    let library = loaded(AIMD, json!({ "kept": 819 })).unwrap();
    assert_eq!((library.name().as_str(), library.has_cong_control()), ("aimd", false));
    let parameters: Vec<_> =
        library.parameters().into_iter().map(|known| (known.name, known.value)).collect();
    assert_eq!(parameters, [("kept", "819"), ("fast", "N")].map(|(name, value)| (name.into(), value.into())));
    assert!(library.parameters()[0].text.contains("1/1024"));
}

#[test]
fn a_library_has_variables_of_its_own() {
    let plugin = compile(&module(AIMD)).unwrap();
    let with = |kept: u32| Library::load(&plugin, json!({ "kept": kept }).as_object().unwrap()).unwrap();
    let (one, other) = (with(100), with(200));
    assert_eq!([one, other].map(|library| library.parameters()[0].value.clone()), ["100", "200"]);
}

#[test]
fn a_module_opens_its_window_and_keeps_state_of_its_own() {
    let library = Arc::new(loaded(AIMD, json!({})).unwrap());
    let mut control = ModuleControl::new(&library, &Arc::default());
    control.start(Bytes(1000), Bytes(10_000));
    control.on_handshake(Duration::from_millis(50));
    assert_eq!((control.cwnd(), control.ssthresh()), (Bytes(10_000), Bytes::MAX));
    control.on_ack(&acked(1));
    assert_eq!(control.cwnd(), Bytes(11_000));
    control.on_restore(Bytes(4000), Bytes(4000));
    for acks in 1..4 {
        control.on_ack(&acked(1));
        assert_eq!((control.cwnd(), control.private()[0]), (Bytes(4000), acks));
    }
    control.on_ack(&acked(1));
    assert_eq!(control.cwnd(), Bytes(5000));
}

#[test]
fn debug_information_names_the_variables_of_a_modules_own_state() {
    let of_state = Module { state: "aimd".to_owned(), ..module(AIMD) };
    let library = Arc::new(Library::load(&compile(&of_state).unwrap(), &Map::new()).unwrap());
    let state = library.state().expect("the compiler writes DWARF");
    assert_eq!((state.name.as_str(), &*state.variables[0].name), ("aimd", "acks"));
    let mut control = ModuleControl::new(&library, &Arc::default());
    control.start(Bytes(1000), Bytes(10_000));
    control.on_restore(Bytes(4000), Bytes(4000));
    for acks in 1..4 {
        control.on_ack(&acked(1));
        assert_eq!(control.variables()[0], (Arc::from("acks"), f64::from(acks)));
    }
}

/// AIMD with a larger state, to which one function more has a pointer than to another struct.
const KINDS: &str = "struct other { u32 it; };
enum mood { CALM, WILD };
struct aimd {
\tu32 acks;
\ts8 balance;
\tu8 phase:3, is_late:1;
\tenum mood mood;
\tstruct { u64 start; s32 *where; } clock;
\tu16 rtt[2], many[20];
\tbool done;
};
static struct other it;
static int others(struct other *other) { return READ_ONCE(other->it); }
";

#[test]
fn fields_of_every_kind_have_names() {
    let (before, rest) = AIMD.split_once("struct aimd {").expect("the module has a state");
    let after = rest.split_once("};\n").expect("it ends").1;
    let registered = "tcp_register_congestion_control(&aimd)";
    let text =
        format!("{before}{KINDS}{after}").replacen(registered, &format!("{registered} + others(&it)"), 1);
    let plugin = build(&module(&text)).unwrap();
    let state = plugin.state.expect("the compiler writes DWARF");
    let names: Vec<_> = state.variables.iter().map(|variable| &*variable.name).collect();
    assert_eq!(
        names,
        ["acks", "balance", "phase", "is_late", "mood", "clock.start", "rtt[0]", "rtt[1]", "done"]
    );
    let named = |name: &str| compile(&Module { state: name.to_owned(), ..module(&text) });
    assert_eq!(named("other").unwrap().state.map(|state| state.name).as_deref(), Some("other"));
    let error = named("nowhere").unwrap_err();
    assert_eq!((error.key.as_str(), error.help.as_str()), ("state", "it has aimd, other"));
    let without = compile(&module(&text)).unwrap();
    assert_eq!(without.state, None);
    let digits = without.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let sources = BTreeMap::from([("mine.so".to_owned(), digits)]);
    let error =
        compile(&Module { file: "mine.so".to_owned(), state: "aimd".to_owned(), sources, ..module(&text) });
    let error = error.unwrap_err();
    assert_eq!((error.file.as_str(), error.key.as_str()), ("mine.so", "state"));
    assert!(error.help.contains("make it by lasthop cc build"), "{}", error.help);
}

#[test]
fn a_run_records_the_changes_of_a_modules_variables() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tcp_aimd.c");
    let of = |state: &str| {
        run(&format!("{{ linux = {{ file = \"{}\"{state} }} }}", file.display()), ("sack-6675", 0.002), 1)
    };
    let (named, plain) = (of(", state = \"aimd\""), of(""));
    let rows = table(&named, "variables");
    assert!(rows.num_rows() > 10, "{}", rows.num_rows());
    assert!(plain.tables.iter().all(|(name, _)| *name != "variables"));
    for recorded in ["segments", "tcp"] {
        assert!(
            table(&named, recorded) == table(&plain, recorded),
            "{recorded} is the same with state and without"
        );
    }
}

#[test]
fn the_compilers_words_come_with_their_line() {
    let text = AIMD.replacen("u32 acks;", "u23 acks;", 1);
    let error = error(&text);
    assert_eq!((error.file.as_str(), error.line), ("mine/tcp_mine.c", Some(8)), "{error}");
    assert!(error.message.contains("the compiler refuses it: "), "{error}");
}

#[test]
fn what_lasthop_does_not_have_is_named() {
    let called = growing_by("extern void tcp_send_loss_probe(struct sock *sk); tcp_send_loss_probe(sk);");
    let error = error(&called);
    assert!(error.message.starts_with("tcp_send_loss_probe is a function"), "{error}");
}

#[test]
fn a_module_that_does_not_register_is_refused() {
    let silent = AIMD.replacen("return tcp_register_congestion_control(&aimd);", "return 0;", 1);
    assert!(error(&silent).message.contains("registered no congestion control"));
    let incomplete = AIMD.replacen("\t.undo_cwnd\t= tcp_reno_undo_cwnd,\n", "", 1);
    assert!(error(&incomplete).message.contains("error 22"));
    let unending = AIMD.replacen("module_init(aimd_register);", "", 1);
    assert!(error(&unending).message.contains("no module_init"));
}

#[test]
fn a_parameter_that_is_not_there_is_answered_with_those_that_are() {
    let error = loaded(AIMD, json!({ "beta": 1 })).unwrap_err();
    assert_eq!((error.key.as_str(), error.help.as_str()), ("beta", "it has kept, fast"));
    for (name, wrong) in
        [("kept", json!(1.5)), ("kept", json!(3_000_000_000_u64)), ("fast", json!("perhaps"))]
    {
        let error = loaded(AIMD, json!({ name: wrong })).unwrap_err();
        assert!(error.message.contains("refuses"), "{error}");
    }
}

#[test]
fn a_crash_is_an_error_that_names_the_function() {
    let zero = mistake("tcp_snd_cwnd_set(tp, 10 / (READ_ONCE(ca->acks) - acked + acked));");
    assert_eq!((zero.message.as_str(), zero.key.as_str()), ("the module divides by zero", "cong_avoid"));
    let null = mistake("*(volatile int *)(unsigned long)(acked - 1) = 1;");
    assert!(null.message.contains("null pointer"), "{null}");
    let bug = mistake("BUG_ON(acked == 1);");
    assert!(bug.message.contains("tcp_mine.c:") && bug.message.contains("BUG_ON(acked == 1)"), "{bug}");
}

#[test]
fn a_crash_leaves_the_next_module_unharmed() {
    mistake("*(volatile int *)(unsigned long)(acked - 1) = 1;");
    a_module_opens_its_window_and_keeps_state_of_its_own();
}

#[test]
fn an_endless_loop_is_ended_after_ten_seconds() {
    let endless = mistake("while (READ_ONCE(acked)) ;");
    assert!(endless.message.contains("has not returned within 10 s"), "{endless}");
}

/// A download with losses by a congestion control and a recovery, and its records.
fn run(congestion: &str, (recovery, loss): (&str, f64), seed: u64) -> Outcome {
    let text = r#"
stop = "60 s"
flows = [{ name = "download", from = "server", to = "phone", bytes = "3 MB" }]
[hosts]
server = { profile = "sack-6675" }
phone = { profile = "sack-6675" }
[[links]]
name = "lasthop"
between = ["server", "phone"]
down = { rate = "4 Mbit/s", propagation = "30 ms", queue = { limit = "30 packets" }, errors = { per = "packet", probability = 0.002, effect = "drop" } }
up = { rate = "4 Mbit/s", propagation = "30 ms" }
[record]
tables = ["segments", "tcp"]
"#;
    let search = Search::new([Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")]);
    let set = [
        format!("hosts.server.tcp.congestion={congestion}"),
        format!("hosts.server.tcp.recovery={recovery}"),
        format!("links.lasthop.down.errors.probability={loss}"),
    ];
    let resolved = scenario::parse(text, "scenario.toml", &set, Some(seed), &search).unwrap();
    let mut spec = resolved.to_spec().unwrap();
    let mistakes = Arc::new(Mistakes::default());
    let choices = spec.flows.iter_mut().map(|flow| &mut Arc::make_mut(&mut flow.sender).congestion);
    supply(choices.collect::<Vec<&mut Choice<dyn CongestionControl>>>().into_iter(), &mistakes).unwrap();
    let mut world = stacks::Run::new(spec, &resolved.stacks()).unwrap();
    world.run().unwrap();
    mistakes.check().unwrap();
    world.finish()
}

fn table<'a>(outcome: &'a Outcome, name: &str) -> &'a RecordBatch {
    &outcome.tables.iter().find(|(known, _)| *known == name).expect("the table is recorded").1
}

#[test]
fn aimd_in_c_gives_the_windows_of_ours_to_the_byte() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tcp_aimd.c");
    let in_c = format!("{{ linux = {{ file = \"{}\", kept = 717 }} }}", file.display());
    let keys = "beta = \"307/1024\", slow_start_beta = \"307/1024\", alpha = 1.0, increase = \"count-acks\", \
                reduction_of = \"cwnd\", ssthresh_unit = \"segments\"";
    let ours = format!("{{ aimd = {{ {keys} }} }}");
    // With RFC 6675 a timeout interrupts a fast recovery under seed 2. Linux then leaves the threshold as it is; RFC
    // 5681 reduces it again: `reduces_once` is Linux' rule. With 8 % of losses and no probes it matters under seed 6.
    let linux = "{ rack-tlp = { tail_loss_probe = false, reduces_once = true } }";
    let cases = [1, 3, 4, 5]
        .map(|seed| ("sack-6675", 0.002, seed))
        .into_iter()
        .chain((1..13).map(|seed| (linux, 0.08, seed)));
    for (recovery, loss, seed) in cases {
        let (c, rust) = (run(&in_c, (recovery, loss), seed), run(&ours, (recovery, loss), seed));
        assert!(table(&c, "segments") == table(&rust, "segments"), "segments, {recovery}, seed {seed}");
        for column in ["time_ns", "cwnd", "ssthresh"] {
            let of =
                |outcome| table(outcome, "tcp").column_by_name(column).map(|column| format!("{column:?}"));
            assert!(of(&c).is_some(), "there is a column {column}");
            assert!(of(&c) == of(&rust), "{column}, {recovery}, seed {seed}");
        }
    }
}

#[test]
fn a_plug_in_runs_without_its_text() {
    let plugin = compile(&module(AIMD)).unwrap();
    let digits = plugin.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let sources = BTreeMap::from([("mine.so".to_owned(), digits)]);
    let built = Module { file: "mine.so".to_owned(), sources, ..Module::default() };
    assert_eq!(Library::load(&compile(&built).unwrap(), &Map::new()).unwrap().name(), "aimd");
    let cut = BTreeMap::from([("mine.so".to_owned(), "7f454c46".to_owned())]);
    let error = Library::load(&compile(&Module { sources: cut, ..built }).unwrap(), &Map::new()).unwrap_err();
    assert!(error.message.contains("no plug-in"), "{error}");
}

//! Written data arrive, byte for byte and once: the first twelve thousand connections of
//! `testkit::integrity`. `make soak` runs a million.

use testkit::integrity::Ends;

const CONNECTIONS: u64 = 12_000;

#[test]
#[ignore = "long: `make test` runs it, `make test-fast` does not"]
fn every_stream_arrives_byte_for_byte() {
    let ends = Ends::new();
    let (shipped, combined) = ends.counts();
    assert!(combined > 100, "only {combined} combinations");
    assert!(
        (shipped * shipped) as u64 <= CONNECTIONS / 4 * 3,
        "{shipped} profiles leave the rest too little"
    );
    let wrong: Vec<String> = (0..CONNECTIONS).filter_map(|number| ends.run(number).err()).collect();
    assert!(wrong.is_empty(), "{} of {CONNECTIONS} connections:\n{}", wrong.len(), wrong.join("\n"));
}

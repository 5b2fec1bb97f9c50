//! The header is what cbindgen makes of the source. `make record` renews it.

use std::path::Path;

#[test]
fn the_header_is_that_of_the_source() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("a valid configuration");
    let mut text = Vec::new();
    let source = root.join("src/lib.rs");
    cbindgen::Builder::new()
        .with_config(config)
        .with_src(source)
        .generate()
        .expect("a header")
        .write(&mut text);
    let path = root.join("include/lasthop.h");
    if std::env::var_os("LASTHOP_RECORD").is_some() {
        std::fs::write(&path, &text).expect("the header can be written");
    }
    let kept = std::fs::read(&path).unwrap_or_default();
    assert!(kept == text, "include/lasthop.h is not that of src/lib.rs: renew it with make record");
}

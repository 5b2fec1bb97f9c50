//! Runs a target with the input in a file: `replay TARGET FILE`.

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, file] = arguments.as_slice() else { panic!("usage: replay TARGET FILE") };
    let target = fuzz::TARGETS.into_iter().find(|target| target.name == name);
    let target = target.unwrap_or_else(|| panic!("there is no target {name}"));
    let bytes = std::fs::read(file).unwrap_or_else(|wrong| panic!("{file}: {wrong}"));
    (target.run)(&bytes);
    println!("{name}: {file} reveals nothing");
}

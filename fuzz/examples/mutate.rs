//! Runs a target with mutations of its seeds, where libFuzzer is not at hand: `mutate TARGET COUNT [SKIPPED]`.
//!
//! The first SKIPPED of COUNT mutations are made, but not run: a second process continues what a first one began.

use std::path::Path;

/// Numbers that look random (G. Marsaglia, "Xorshift RNGs", 2003), the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (name, counts) = arguments.split_first().expect("usage: mutate TARGET COUNT [SKIPPED]");
    let number = |text: &String| text.parse::<u64>().unwrap_or_else(|wrong| panic!("{text}: {wrong}"));
    let (count, skipped) = match counts {
        [count] => (number(count), 0),
        [count, skipped] => (number(count), number(skipped)),
        _ => panic!("usage: mutate TARGET COUNT [SKIPPED]"),
    };
    let target = fuzz::TARGETS.into_iter().find(|target| target.name == name);
    let target = target.unwrap_or_else(|| panic!("there is no target {name}"));
    let seeds = seeds(name);
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for place in 0..count {
        let mut bytes = seeds[numbers.below(seeds.len())].clone();
        for _ in 0..=numbers.below(8) {
            mutate(&mut bytes, &mut numbers);
        }
        if place >= skipped {
            (target.run)(&bytes);
        }
    }
    println!("{name}: {} mutations of {} seeds reveal nothing", count.saturating_sub(skipped), seeds.len());
}

/// Changes, removes or repeats some bytes.
fn mutate(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    let place = numbers.below(bytes.len());
    match numbers.below(6) {
        0 if !bytes.is_empty() => bytes.truncate(place),
        1 if !bytes.is_empty() => {
            bytes.remove(place);
        }
        2 => bytes.insert(place, numbers.below(256) as u8),
        3 if !bytes.is_empty() => bytes[place] ^= 1 << numbers.below(8),
        4 if !bytes.is_empty() => bytes[place] = [0, 0xff, 0x7f, 0x80][numbers.below(4)],
        _ if !bytes.is_empty() => bytes[place] = numbers.below(256) as u8,
        _ => bytes.push(0),
    }
}

fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(name);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|wrong| panic!("{}: {wrong}", folder.display()));
    let mut paths: Vec<_> =
        files.map(|file| file.expect("a folder that was opened can be read").path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a seed can be read")).collect()
}

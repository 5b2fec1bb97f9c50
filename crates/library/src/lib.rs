//! The presets and profiles of lasthop, inside the program: for browsers, which have no folders, and for programs that
//! use lasthop as a library.
//!
//! The folders `presets` and `profiles` of this crate are links to those of the checkout, so that a package has them.

/// The texts by their paths in the library, such as "presets/gprs.toml".
pub const FILES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/library.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_are_there() {
        let has = |path| FILES.iter().any(|(known, _)| *known == path);
        assert!(has("presets/gprs.toml") && has("profiles/linux-6.toml"));
    }
}

//! Patterns of texts, as the reading side matches them (Python's `fnmatch`): `*` stands for any letters, `?` for one,
//! and `[0-9]` for one of a set.

/// Whether a text matches a pattern.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    let Some(first) = pattern.chars().next() else { return text.is_empty() };
    let rest = &pattern[first.len_utf8()..];
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    if first == '*' {
        return ends.into_iter().any(|at| fits(rest, &text[at..]));
    }
    let Some(letter) = text.chars().next() else { return false };
    let others = &text[letter.len_utf8()..];
    match (first, set(rest)) {
        ('?', _) => fits(rest, others),
        ('[', Some((members, rest))) => is_in(letter, members) && fits(rest, others),
        _ => letter == first && fits(rest, others),
    }
}

/// The members of a set whose `[` has been read, and the pattern after it. A `]` that comes first is a member.
fn set(pattern: &str) -> Option<(&str, &str)> {
    let first = usize::from(pattern.starts_with('!'));
    let least = first + pattern[first..].chars().next()?.len_utf8();
    let end = least + pattern[least..].find(']')?;
    Some((&pattern[..end], &pattern[end + 1..]))
}

/// Whether a letter is one of `a-z0`, or none of `!a-z0`.
fn is_in(letter: char, members: &str) -> bool {
    if let Some(others) = members.strip_prefix('!') {
        return !is_in(letter, others);
    }
    let members: Vec<char> = members.chars().collect();
    let mut at = 0;
    while at < members.len() {
        if at + 2 < members.len() && members[at + 1] == '-' {
            if (members[at]..=members[at + 2]).contains(&letter) {
                return true;
            }
            at += 3;
        } else if members[at] == letter {
            return true;
        } else {
            at += 1;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_the_shell() {
        for (pattern, text) in [
            ("rexmt*", "rexmt"),
            ("*_Bps", "throughput_Bps"),
            ("[0-9]*", "14a"),
            ("a?c", "abc"),
            ("[!0-9]", "x"),
            ("[]x]", "]"),
            ("[", "["),
            ("", ""),
        ] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("[0-9]*", "A1"), ("a?c", "ac"), ("[!0-9]", "7"), ("drop", "drops"), ("*x", "")]
        {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
    }
}

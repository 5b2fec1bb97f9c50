//! "Did you mean": the nearest of the existing names.

/// Advice for a name that is not among `names`: the nearest one if it is close, then all of a short list, or the first
/// of a long one. After a near name a long list has no use.
pub(crate) fn among<T: AsRef<str>>(unknown: &str, names: &[T], what: &str) -> String {
    if names.is_empty() {
        return format!("there are no {what} here");
    }
    let list: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let near = nearest(unknown, &list);
    let shown = match near {
        Some(near) if list.len() > MOST_SHOWN => return format!("did you mean \"{near}\"?"),
        _ => list.len().min(MOST_SHOWN),
    };
    let more = if shown < list.len() { format!(" and {} more", list.len() - shown) } else { String::new() };
    let all = format!("the {what} are {}{more}", list[..shown].join(", "));
    match near {
        Some(near) => format!("did you mean \"{near}\"? {}", capitalised(&all)),
        None => all,
    }
}

/// Whether advice leaves out some of these names.
pub(crate) const fn are_too_many<T>(names: &[T]) -> bool {
    names.len() > MOST_SHOWN
}

/// The nearest name, if at most a third of the letters differ.
fn nearest<'a>(unknown: &str, names: &[&'a str]) -> Option<&'a str> {
    let distance = |name: &str| edits(&unknown.to_lowercase(), &name.to_lowercase());
    let near = names.iter().min_by_key(|name| distance(name))?;
    (distance(near) <= near.chars().count().max(3) / 3).then_some(*near)
}

/// Letters to insert, delete or replace (Levenshtein 1966), where two neighbours swapped count once.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// Names that are listed: two lines of a terminal.
const MOST_SHOWN: usize = 24;

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_a_thousand_hosts_is_cut_short() {
        let hosts: Vec<String> = (1..=1000).map(|number| format!("server-{number}")).collect();
        let advice = among("mobile", &hosts, "hosts");
        assert!(advice.starts_with("the hosts are server-1, server-2, "), "{advice}");
        assert!(advice.ends_with("server-24 and 976 more"), "{advice}");
        assert_eq!(among("server", &hosts, "hosts"), "did you mean \"server-1\"?");
    }

    #[test]
    fn a_slip_of_the_finger_is_recognised() {
        assert_eq!(nearest("rato", &["rate", "queue"]), Some("rate"));
        assert_eq!(nearest("propogation", &["rate", "propagation"]), Some("propagation"));
        assert_eq!(nearest("qeuue", &["rate", "queue"]), Some("queue"));
    }

    #[test]
    fn a_stranger_is_not() {
        assert_eq!(nearest("colour", &["rate", "queue"]), None);
        assert_eq!(among("colour", &["rate", "queue"], "keys"), "the keys are rate, queue");
    }
}

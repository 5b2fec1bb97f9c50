//! Retransmissions by trigger, verdict and the fate of earlier copies.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::explanation::connection::Connection;
use crate::explanation::copies::Copy;

/// Retransmissions with the same trigger, verdict and origin.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub struct Cause {
    /// What made the sender retransmit.
    pub trigger: String,
    /// None if it cannot be known.
    pub needed: Option<bool>,
    /// The reason of the verdict.
    pub why: String,
    /// The fate of the earlier copies.
    pub origin: String,
    /// Their number.
    pub copies: usize,
}

/// The causes of a connection's retransmissions, the most frequent first.
pub(crate) fn causes(connection: &Connection<'_>) -> Vec<Cause> {
    let mut found: BTreeMap<Cause, usize> = BTreeMap::new();
    for copy in connection.all_retransmissions() {
        *found.entry(cause_of(connection, copy)).or_default() += 1;
    }
    let mut causes: Vec<Cause> = found.into_iter().map(|(cause, copies)| Cause { copies, ..cause }).collect();
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.copies));
    causes
}

fn cause_of(connection: &Connection<'_>, copy: &Copy) -> Cause {
    Cause {
        trigger: copy.cause.clone(),
        needed: copy.needless.map(|needless| !needless),
        why: copy.why.clone(),
        origin: origin(connection, copy),
        copies: 0,
    }
}

/// The fate of the earlier copies: rule and link of the drop, or cause and link of the delay.
fn origin(connection: &Connection<'_>, copy: &Copy) -> String {
    let earlier = connection.copies.earlier(copy);
    let dropped: Vec<_> = earlier.iter().filter_map(Copy::drop).collect();
    if let Some(last) = dropped.last().filter(|_| dropped.len() == earlier.len()) {
        let rule = if last.rule.is_empty() { &last.fate } else { &last.rule };
        return format!("{rule} at {}", last.link);
    }
    let held = earlier.iter().filter_map(|other| other.hold().map(|(hop, _)| hop));
    let longest = held.reduce(|longest, hop| if hop.delay > longest.delay { hop } else { longest });
    longest.map(|hop| format!("{} at {}", hop.delay_cause, hop.link)).unwrap_or_default()
}

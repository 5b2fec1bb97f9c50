//! Counts, times and causes in words.

/// The fate of a packet, in words.
pub(crate) fn drop_words(fate: &str) -> &str {
    match fate {
        "queue_drop" => "dropped by the queue",
        "error_drop" => "lost to an error",
        "dropper_drop" => "dropped after the link",
        "oversize_drop" => "longer than the link's MTU",
        other => other,
    }
}

/// The cause of a link's delay, in words.
pub(crate) fn hold_words(cause: &str) -> &str {
    match cause {
        "error" => "an error that the link repaired",
        "scripted" => "a scripted delay",
        "arq" => "retransmission on the link",
        "reordering" => "reordering on the link",
        "allocation" => "allocation of the channel",
        "spike" => "a delay spike",
        "preemption" => "pre-emption by other traffic",
        "handover" => "a handover",
        other => other,
    }
}

/// "1 segment" or "3 segments".
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A whole number with its thousands apart: "1 234 567".
pub(crate) fn grouped(number: i64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A packet's number in its connection: an identity has the connection in its upper 32 bits.
pub(crate) const fn number_of(packet: i64) -> i64 {
    packet & 0xFFFF_FFFF
}

/// A time of the run as text, to the millisecond.
pub(crate) fn at(seconds: f64) -> String {
    format!("{seconds:.3} s")
}

/// A duration as text, in milliseconds below a second.
pub(crate) fn lasting(seconds: f64) -> String {
    if seconds >= 1.0 { format!("{seconds:.2} s") } else { format!("{:.0} ms", 1000.0 * seconds) }
}

/// A window in segments, with one decimal if it is not whole.
pub(crate) fn in_segments(size: f64, segment: i64) -> String {
    let segments = size / segment as f64;
    let whole = (segments - segments.round_ties_even()).abs() < 0.05;
    if whole { format!("{segments:.0}") } else { format!("{segments:.1}") }
}

/// "a", "a and b", or "a, b and c".
pub(crate) fn listed(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The parts that are not empty, with semicolons between them.
pub(crate) fn joined(parts: &[String]) -> String {
    let present: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    present.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_rounded_for_reading() {
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!(grouped(999), "999");
        assert_eq!((lasting(0.1724), lasting(1.5)), ("172 ms".into(), "1.50 s".into()));
        assert_eq!((in_segments(14_480.0, 1448), in_segments(3620.0, 1448)), ("10".into(), "2.5".into()));
    }

    #[test]
    fn a_list_ends_with_and() {
        let parts = ["a", "b", "c"].map(String::from);
        assert_eq!(
            (listed(&parts), listed(&parts[..2]), listed(&parts[..1])),
            ("a, b and c".into(), "a and b".into(), "a".into())
        );
    }
}

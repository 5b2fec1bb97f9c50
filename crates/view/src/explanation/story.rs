//! The story of one connection: its events in order of time, each with its packets and its cause.

use std::collections::BTreeMap;

use crate::explanation::Event;
use crate::explanation::connection::Connection;
use crate::explanation::copies::Copy;
use crate::explanation::decisions::Decisions;
use crate::explanation::hops::Hold;
use crate::explanation::words::{
    at, count, drop_words, grouped, hold_words, in_segments, joined, lasting, listed, number_of,
};

/// Largest number of delays of one kind that the story has; of more it has the longest, and their number.
const MANY_HOLDS: usize = 5;

/// A pause of this length, in seconds, separates two groups of the peer's retransmissions.
const PAUSE: f64 = 1.0;

/// The events of a connection, in order of time.
pub(crate) fn story(connection: &Connection<'_>) -> Vec<Event> {
    let mut events: Vec<Event> = opening(connection).into_iter().collect();
    events.extend(recoveries(connection));
    events.extend(timeouts(connection));
    events.extend(without_decisions(connection));
    events.extend(other_direction(connection));
    events.extend(marks(connection));
    events.extend(undone(connection));
    events.extend(segment_sizes(connection));
    events.extend(holds(connection));
    events.extend(window_stalls(connection));
    events.extend(ending(connection));
    sort(&mut events);
    events
}

/// Sorts events by their starts, then by their ends.
pub(crate) fn sort(events: &mut [Event]) {
    events.sort_by(|one, other| one.start.total_cmp(&other.start).then(one.end.total_cmp(&other.end)));
}

fn event(start: f64, end: f64, kind: &str, text: String, packets: Vec<i64>) -> Event {
    Event { start, end, kind: kind.into(), text, packets }
}

fn numbers<'c>(copies: impl IntoIterator<Item = &'c Copy>) -> Vec<i64> {
    copies.into_iter().map(|copy| copy.packet).collect()
}

fn opening(connection: &Connection<'_>) -> Option<Event> {
    let decisions = &connection.decisions;
    let established = decisions.get(*decisions.of("established").first()?);
    let again: Vec<&Copy> = connection.all_retransmissions().iter().filter(|copy| copy.seq == 0).collect();
    let mut text = format!("connected after {}", lasting(established.time - connection.first_seen));
    if let Some(first) = again.first() {
        let times = count(again.len(), "more time");
        text += &format!("; the SYN was sent {times}: {}", fate_of_original(connection, first));
    }
    Some(event(connection.first_seen, established.time, "opening", text, numbers(again)))
}

fn ending(connection: &Connection<'_>) -> Option<Event> {
    let copies = &connection.copies;
    let data: Vec<usize> = (0..copies.len()).filter(|row| copies.length[*row] > 0.0).collect();
    let last = copies.get(*data.last()?);
    let size = data.iter().map(|row| copies.end(*row) as i64).max()? - 1;
    let text = format!("the last of {} bytes was sent", grouped(size));
    Some(event(last.time, connection.last_seen, "ending", text, vec![last.packet]))
}

/// Fast retransmits, each with its recovery.
fn recoveries(connection: &Connection<'_>) -> Vec<Event> {
    let decisions = &connection.decisions;
    let places = decisions.of("fast_retransmit").into_iter();
    places.map(|place| recovery(connection, place, decisions.end_of_phase(place, "fast_recovery"))).collect()
}

fn recovery(connection: &Connection<'_>, place: usize, end: f64) -> Event {
    let made = connection.decisions.get(place);
    let resent = connection.retransmissions(made.time, end);
    let lead = resent.iter().position(|copy| copy.cause == "fast_retransmit").unwrap_or(0);
    let first = resent.get(lead);
    let reason = if made.reason.is_empty() { "loss found" } else { made.reason };
    let mut parts = vec![format!("fast retransmit{} ({reason})", of(first, connection))];
    parts.extend(first.map(|first| verdict(connection, first)));
    let lost = queue_drops_before(connection, made.time);
    let overshot =
        lost > 1 && connection.decisions.before(place).is_some_and(|before| before.phase == "slow_start");
    if overshot {
        parts.push(format!(
            "slow start had overshot: the queue dropped {} of one round trip",
            count(lost, "packet")
        ));
    }
    let others = resent.iter().enumerate().filter(|(row, _)| *row != lead).map(|(_, copy)| copy);
    parts.push(repairs(&others.collect::<Vec<_>>()));
    parts.push(window_change(connection, place));
    if end < connection.last_seen {
        parts.push(format!("recovery ended after {}", lasting(end - made.time)));
    }
    let kind = if overshot { "slow_start_overshoot" } else { "fast_retransmit" };
    event(made.time, end, kind, joined(&parts), numbers(resent))
}

/// Timeouts with the retransmissions after them; consecutive ones for one segment are one event.
fn timeouts(connection: &Connection<'_>) -> Vec<Event> {
    let decisions = &connection.decisions;
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for place in decisions.of("timeout") {
        match groups.last_mut() {
            Some(group) if decisions.get(place).reason == "again" => group.push(place),
            _ => groups.push(vec![place]),
        }
    }
    groups.into_iter().map(|places| timeout(connection, &places)).collect()
}

fn timeout(connection: &Connection<'_>, places: &[usize]) -> Event {
    let decisions = &connection.decisions;
    let (begun, last) = (places[0], places[places.len() - 1]);
    let made = decisions.get(begun);
    let end = decisions.end_of_phase(last, "after_timeout");
    let resent = connection.retransmissions(made.time, end);
    let first = resent.iter().find(|copy| copy.cause == "timeout");
    let spurious = first.is_some_and(|first| first.needless == Some(true));
    let mut parts = vec![match (places.len(), of(first, connection)) {
        (1, segment) if segment.is_empty() => "timeout of a segment".into(),
        (1, segment) => format!("timeout of{segment}"),
        (number, _) => format!("{} in a row, {}", count(number, "timeout"), waits(decisions, places)),
    }];
    if let Some(first) = first {
        let judged = match first.needless {
            Some(true) => "spurious: ",
            Some(false) => "genuine: ",
            None => "",
        };
        parts.push(format!("{judged}{}", fate_of_original(connection, first)));
    }
    parts.push(repairs(&resent.iter().filter(|copy| copy.cause != "timeout").collect::<Vec<_>>()));
    parts.push(window_change(connection, begun));
    event(
        made.time,
        end,
        if spurious { "spurious_timeout" } else { "timeout" },
        joined(&parts),
        numbers(resent),
    )
}

fn waits(decisions: &Decisions<'_>, places: &[usize]) -> String {
    format!("at {}", listed(&places.iter().map(|place| at(decisions.time[*place])).collect::<Vec<_>>()))
}

/// The retransmissions of a sender without recorded decisions (a kernel, a capture), grouped by cause.
fn without_decisions(connection: &Connection<'_>) -> Vec<Event> {
    if connection.decisions.len() > 0 {
        return Vec::new();
    }
    episodes(connection).iter().map(|copies| episode(connection, copies)).collect()
}

fn episode(connection: &Connection<'_>, copies: &[&Copy]) -> Event {
    let (lead, last) = (copies[0], copies[copies.len() - 1]);
    let what = match lead.cause.as_str() {
        "timeout" if connection.timers_hidden => "probably a timeout of",
        "timeout" => "timeout of",
        _ => "sent again:",
    };
    let length = last.time - lead.time;
    let until = if length >= 1.0 { format!("the last {} later", lasting(length)) } else { String::new() };
    let parts = [
        format!("{what}{}", of(Some(lead), connection)),
        trigger(connection, lead),
        verdict(connection, lead),
        repairs(&copies[1..]),
        until,
    ];
    let kind = match lead.cause.as_str() {
        "" => "retransmission",
        "timeout" if lead.needless == Some(true) => "spurious_timeout",
        cause => cause,
    };
    event(lead.time, last.time, kind, joined(&parts), numbers(copies.iter().copied()))
}

/// The cause of a retransmission in a capture, and its time since the previous copy, in words.
fn trigger(connection: &Connection<'_>, copy: &Copy) -> String {
    let earlier = connection.copies.earlier(copy);
    let after =
        earlier.last().map(|last| format!("{} after the copy before it", lasting(copy.time - last.time)));
    let parts: Vec<String> = trigger_words(&copy.cause).map(String::from).into_iter().chain(after).collect();
    parts.join(", ")
}

/// The cause of a retransmission, in words.
fn trigger_words(cause: &str) -> Option<&'static str> {
    Some(match cause {
        "fast_retransmit" => "on duplicate ACKs or SACK blocks",
        "scoreboard" => "on SACK blocks",
        "partial_ack" => "on a partial ACK",
        "after_timeout" => "after a timeout",
        "tail_loss_probe" | "probe" => "as a probe, to get an answer",
        "packet_threshold" => "because its packet was declared lost by the packet threshold",
        "time_threshold" => "because its packet was declared lost by the time threshold",
        "unknown" => "for a reason that the capture does not show",
        _ => return None,
    })
}

/// The retransmissions by episode: of one kind, until all that was sent by then is acknowledged.
fn episodes<'c>(connection: &'c Connection<'_>) -> Vec<Vec<&'c Copy>> {
    let is_of_timeout = |copy: &Copy| matches!(copy.cause.as_str(), "timeout" | "after_timeout");
    let mut episodes: Vec<Vec<&Copy>> = Vec::new();
    for copy in connection.all_retransmissions().iter().filter(|copy| copy.len > 0 || !connection.captured) {
        let goes_on = episodes.last().and_then(|episode| episode.last()).is_some_and(|before| {
            is_of_timeout(before) == is_of_timeout(copy) && !connection.repaired(before, copy)
        });
        match episodes.last_mut().filter(|_| goes_on) {
            Some(episode) => episode.push(copy),
            None => episodes.push(vec![copy]),
        }
    }
    episodes
}

/// The retransmissions of data by the peer, in groups without a pause.
fn other_direction(connection: &Connection<'_>) -> Vec<Event> {
    let again = &connection.back;
    let rows: Vec<usize> = (0..again.time.len()).collect();
    let groups = rows.chunk_by(|one, next| again.time[*next] - again.time[*one] <= PAUSE);
    let event_of = |group: &[usize]| {
        let (first, last) = (group[0], group[group.len() - 1]);
        let text = format!(
            "the peer sent {} again, the first from byte {} ({}, {} {})",
            count(group.len(), "segment"),
            again.seq[first] as i64,
            again.cause[first].replace('_', " "),
            connection.unit(),
            number_of(again.packet[first] as i64),
        );
        let packets = group.iter().map(|row| again.packet[*row] as i64).collect();
        event(again.time[first], again.time[last], "other_direction", text, packets)
    };
    groups.map(event_of).collect()
}

fn marks(connection: &Connection<'_>) -> Option<Event> {
    let times: Vec<f64> =
        connection.decisions.of("mark").into_iter().map(|row| connection.decisions.time[row]).collect();
    let (first, last) = (*times.first()?, *times.last()?);
    let reductions = count(times.len(), "reduction");
    let text = format!("{reductions} on congestion marks (ECN), from {} to {}", at(first), at(last));
    Some(event(first, last, "marks", text, Vec::new()))
}

fn undone(connection: &Connection<'_>) -> Vec<Event> {
    let found = "the sender found its loss signal spurious and took the reduction back";
    let event_at = |place: usize| {
        let time = connection.decisions.time[place];
        event(time, time, "undo", format!("{found}; {}", window_change(connection, place)), Vec::new())
    };
    connection.decisions.of("undo").into_iter().map(event_at).collect()
}

/// Changes of the segment size: each black hole, and the probes together that search the path's MTU.
fn segment_sizes(connection: &Connection<'_>) -> Vec<Event> {
    let (decisions, copies) = (&connection.decisions, &connection.copies);
    let (mut events, mut probes) = (Vec::new(), Vec::new());
    for place in decisions.of("segment_size") {
        let (made, length) = (decisions.get(place), decisions.length(place) as i64);
        if made.reason.contains("probe") {
            probes.push((made.time, made.reason.contains("lost"), length));
        } else {
            let earlier = (0..copies.len()).take_while(|row| copies.time[*row] < made.time);
            let longest = earlier.map(|row| copies.length[row] as i64).max().unwrap_or(0);
            let (longest, length) = (grouped(longest), grouped(length));
            let reason = made.reason;
            let text = format!("segments of {longest} bytes vanish: {reason}; segments of {length} bytes");
            events.push(event(made.time, made.time, "segment_size", text, Vec::new()));
        }
    }
    events.extend(mtu_search(&probes));
    events
}

/// The probes of a search, each with its time, whether it was lost, and its length.
fn mtu_search(probes: &[(f64, bool, i64)]) -> Option<Event> {
    let (first, last) = (probes.first()?, probes.last()?);
    let arrived = probes.iter().filter(|probe| !probe.1).map(|probe| probe.2).max();
    let lost = probes.iter().filter(|probe| probe.1).map(|probe| probe.2).min();
    let mut parts = vec![format!("the path's MTU was searched with {}", count(probes.len(), "probe"))];
    parts.extend(arrived.map(|size| format!("{} bytes arrive", grouped(size))));
    parts.extend(lost.map(|size| format!("{} bytes do not", grouped(size))));
    Some(event(first.0, last.0, "segment_size", joined(&parts), Vec::new()))
}

/// The periods in which a link delayed packets unusually.
fn holds(connection: &Connection<'_>) -> Vec<Event> {
    let merged = merged(connection.copies.hops.holds(&connection.copies.packet));
    let event_of = |hold: &Hold| {
        let held = count(hold.packets.len(), "packet");
        let length = lasting(hold.end - hold.start);
        let text = format!("{} held {held} for up to {length}: {}", hold.link, hold_words(&hold.cause));
        event(hold.start, hold.end, "held", text, hold.packets.clone())
    };
    if merged.len() <= 2 * MANY_HOLDS {
        return merged.iter().map(event_of).collect();
    }
    let (start, end) = (merged[0].start, merged[merged.len() - 1].end);
    let times = count(merged.len(), "time");
    let text = format!("links held packets {times}; these are the {MANY_HOLDS} longest");
    let mut longest: Vec<&Hold> = merged.iter().collect();
    longest.sort_by(|one, other| (one.start - one.end).total_cmp(&(other.start - other.end)));
    longest.truncate(MANY_HOLDS);
    longest.sort_by(|one, other| one.start.total_cmp(&other.start).then(one.end.total_cmp(&other.end)));
    longest.into_iter().map(event_of).chain([event(start, end, "held", text, Vec::new())]).collect()
}

/// The holds with overlapping ones of the same link and cause in one.
fn merged(holds: Vec<Hold>) -> Vec<Hold> {
    let mut merged: Vec<Hold> = Vec::new();
    for hold in holds {
        let same = |last: &&mut Hold| {
            (&last.link, &last.cause) == (&hold.link, &hold.cause) && hold.start <= last.end
        };
        if let Some(last) = merged.last_mut().filter(same) {
            last.end = last.end.max(hold.end);
            last.packets.extend(hold.packets);
        } else {
            merged.push(hold);
        }
    }
    merged
}

/// The periods in which the peer's window was closed.
fn window_stalls(connection: &Connection<'_>) -> Vec<Event> {
    let event_of = |(begin, end): (f64, Option<f64>)| {
        let after = end.unwrap_or(connection.last_seen);
        let text = format!("the peer's window was closed for {}", lasting(after - begin));
        event(begin, after, "window_stall", text, Vec::new())
    };
    connection.decisions.stalls().into_iter().map(event_of).collect()
}

/// The change of the window by a decision, in words.
fn window_change(connection: &Connection<'_>, place: usize) -> String {
    let Some(before) = connection.decisions.before(place) else { return String::new() };
    let (after, size) = (connection.decisions.get(place), connection.segment_size);
    let windows =
        format!("cwnd {} to {} segments", in_segments(before.cwnd, size), in_segments(after.cwnd, size));
    if after.ssthresh.is_nan() {
        return windows;
    }
    format!("{windows}, ssthresh {}", in_segments(after.ssthresh, size))
}

/// The number of copies that queues dropped in the two round trips before a time.
fn queue_drops_before(connection: &Connection<'_>, time: f64) -> usize {
    let span = 2.0 * connection.best_round_trip.unwrap_or(0.0);
    let drops = &connection.queue_drops;
    drops.partition_point(|drop| *drop <= time) - drops.partition_point(|drop| *drop < time - span)
}

fn of(copy: Option<&Copy>, connection: &Connection<'_>) -> String {
    let Some(copy) = copy else { return String::new() };
    if copy.len == 0 {
        return format!(" the {}", if copy.seq == 0 { "SYN" } else { "FIN" });
    }
    let segment = (copy.seq - 1).div_euclid(connection.segment_size) + 1;
    format!(" segment {segment} (byte {}, {} {})", copy.seq, connection.unit(), number_of(copy.packet))
}

fn verdict(connection: &Connection<'_>, copy: &Copy) -> String {
    match copy.needless {
        Some(false) if connection.captured && copy.why == "no_sign_of_original" => "needed".into(),
        None => String::new(),
        Some(needless) => {
            format!("{}{}", if needless { "needless: " } else { "" }, fate_of_original(connection, copy))
        }
    }
}

/// The rule of a packet that a decompressor of headers discarded.
const DECOMPRESSOR: &str = "decompressor";

/// The fate of the copies before this one, in words: evidence for whether it was needed.
fn fate_of_original(connection: &Connection<'_>, copy: &Copy) -> String {
    let earlier = connection.copies.earlier(copy);
    if earlier.iter().all(|other| other.hops.is_empty()) {
        // Without recorded packets the reason of the verdict says it; a verdict on a capture has its evidence.
        return copy.explanation.clone();
    }
    let Some(alive) = earlier.iter().position(|other| other.drop().is_none()) else {
        let last = &earlier[earlier.len() - 1];
        if last.drop().is_some_and(|hop| hop.rule == DECOMPRESSOR) {
            // The verdict names the packet whose loss caused this one.
            return copy.explanation.clone();
        }
        let last = drop_of(last);
        return match earlier.len() {
            1 => format!("the original was {last}"),
            number => format!("all {number} earlier copies were lost, the latest {last}"),
        };
    };
    let which = if alive == 0 { "the original" } else { "an earlier copy" };
    let alive = &earlier[alive];
    let mut parts = vec![format!("{which} was not lost")];
    if let Some((hop, (start, end))) = alive.hold() {
        let why = hold_words(&hop.delay_cause);
        parts.push(format!("{} held it for {} ({why})", hop.link, lasting(end - start)));
    }
    if let Some(arrived) = alive.arrived {
        let after = lasting(arrived - alive.time);
        parts.push(format!("it arrived at {}, {after} after it was sent", at(arrived)));
    }
    parts.join(", ")
}

fn drop_of(copy: &Copy) -> String {
    let Some(hop) = copy.drop() else { return "lost".into() };
    let place = format!("{} at {}, {}", drop_words(&hop.fate), hop.link, at(hop.end()));
    let length = match hop.fate.as_str() {
        "queue_drop" => format!(", behind {}", count(hop.behind, "packet")),
        _ => String::new(),
    };
    match (hop.rule.as_str(), hop.fate.as_str()) {
        ("", "lost") => place,
        ("", fate) => format!("{place} ({fate}{length})"),
        (rule, _) => format!("{place} ({rule}{length})"),
    }
}

/// The number of further retransmissions by verdict and, if needless, by cause, in words.
fn repairs(copies: &[&Copy]) -> String {
    if copies.is_empty() {
        return String::new();
    }
    let text = format!("{} sent again", count(copies.len(), "more segment"));
    if copies.iter().all(|copy| copy.needless.is_none()) {
        return text;
    }
    let needless: Vec<&&Copy> = copies.iter().filter(|copy| copy.needless == Some(true)).collect();
    if needless.is_empty() {
        let lost = copies.iter().filter(|copy| copy.needless == Some(false)).count();
        let which = match copies.len() {
            1 => "which was lost before".to_owned(),
            all if all == lost => "all of them lost before".to_owned(),
            _ => format!("{lost} of them lost before, the others perhaps"),
        };
        return format!("{text}, {which}{}", discarded(copies));
    }
    let reasons = most_common(needless.iter().map(|copy| copy.why.replace('_', " ")));
    let reasons: Vec<String> = reasons.into_iter().map(|(why, number)| format!("{number} {why}")).collect();
    format!("{text}, {} of them needlessly ({})", needless.len(), listed(&reasons))
}

/// The segments among these whose copies a decompressor of headers discarded, and since which packet it was out of
/// step: the verdict says it as "discarded: decompressor out of step since packet #14, at 1.2 s".
fn discarded(copies: &[&Copy]) -> String {
    let reason_of = |copy: &&Copy| {
        let (_, reason) = copy.explanation.split_once("discarded: ")?;
        Some(reason.split(',').next().unwrap_or(reason).to_owned())
    };
    let reasons: Vec<String> = copies.iter().filter_map(reason_of).collect();
    match reasons.first() {
        None => String::new(),
        Some(reason) => {
            format!("; of {} an earlier copy was discarded: {reason}", count(reasons.len(), "segment"))
        }
    }
}

/// Texts with their numbers, the most frequent first, and among equals the earliest.
fn most_common(texts: impl Iterator<Item = String>) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (place, text) in texts.enumerate() {
        counts.entry(text).or_insert((0, place)).0 += 1;
    }
    let mut found: Vec<(String, (usize, usize))> = counts.into_iter().collect();
    found.sort_by_key(|(_, (number, place))| (std::cmp::Reverse(*number), *place));
    found.into_iter().map(|(text, (number, _))| (text, number)).collect()
}

//! Verdicts as comments of the packets of a capture, for Wireshark.

use std::io::{self, Read, Write};

use trace::capture::Capture;
use trace::flow::{Cause, Judgement, ObservedSegment, SegmentKind};
use wire::capture::Frame;
use wire::pcapng::{Section, Writer};

use crate::frames::Frames;
use crate::survey::{Known, Survey};

/// Writes the frames of which `survey` is the first reading as a pcapng file, with the verdict on each packet as its
/// comment, after the comment that it had. Returns the number of packets with a verdict.
///
/// # Errors
/// If the system cannot write.
pub fn annotate<R: Read, W: Write>(
    mut frames: Frames<R>,
    survey: &Survey,
    out: W,
    section: &Section,
) -> io::Result<u64> {
    let mut writer = Writer::new(out, section)?;
    let mut commenter = Commenter { known: survey.known(), captures: Vec::new() };
    let mut count = 0;
    while let Some(mut frame) = frames.next() {
        for interface in &frames.points()[commenter.captures.len()..] {
            writer.add_interface(interface)?;
            commenter.captures.push(Capture::new());
        }
        if let Some(verdict) = commenter.verdict(&frame, &mut frames) {
            let before = frame.comment.take().map(|comment| format!("{comment}\n"));
            frame.comment = Some(before.unwrap_or_default() + &verdict);
            count += 1;
        }
        // The number is that of the frame in this file, too.
        frame.packet = None;
        writer.write(&frame)?;
    }
    writer.finish()?;
    Ok(count)
}

struct Commenter {
    known: Vec<Vec<Known>>,
    captures: Vec<Capture>,
}

impl Commenter {
    fn verdict<R: Read>(&mut self, frame: &Frame, frames: &mut Frames<R>) -> Option<String> {
        let point = frame.interface as usize;
        let packet = frame.packet?;
        let parsed = frames.unpack(frame).ok()?.parse_headers().ok()?;
        let (flow, observed) = self.captures[point].handle_parsed(frame.at, packet, &parsed)?;
        words(&observed, self.known[point][flow].judgements.get(&packet))
    }
}

/// The verdict on a packet in words; `None` on an ordinary one.
fn words(observed: &ObservedSegment, judgement: Option<&Judgement>) -> Option<String> {
    match observed.kind {
        SegmentKind::Retransmission(cause) => Some(format!("{}{}", cause_words(cause), judged(judgement))),
        SegmentKind::OutOfOrder => Some("out of order: data sent after it passed before it".to_owned()),
        SegmentKind::Probe => Some("keep-alive, or probe of a closed window".to_owned()),
        _ => None,
    }
}

const fn cause_words(cause: Cause) -> &'static str {
    match cause {
        Cause::Timeout => "retransmission: the timer expired",
        Cause::AfterTimeout => "retransmission after a timeout",
        Cause::FastRetransmit => "fast retransmit",
        Cause::PartialAck => "retransmission: a partial ACK pointed at it",
        Cause::Scoreboard => "retransmission: SACK blocks report its loss",
        Cause::TailLossProbe => "tail loss probe",
        Cause::Answer => "SYN-ACK again, in answer to another SYN",
        Cause::Unknown => "retransmission, of unknown cause",
    }
}

fn judged(judgement: Option<&Judgement>) -> String {
    let Some(judgement) = judgement else { return String::new() };
    let verdict = match judgement.needed {
        Some(true) => "needed",
        Some(false) => "needless",
        None => "not judged",
    };
    format!("; {verdict} ({}): {}", judgement.confidence.id(), judgement.explanation())
}

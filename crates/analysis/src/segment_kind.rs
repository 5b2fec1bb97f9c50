//! Names of kinds of segments in tables.

use trace::flow::SegmentKind;

/// The name of a kind in tables.
pub(crate) const fn kind_id(kind: SegmentKind) -> &'static str {
    match kind {
        SegmentKind::Syn => "syn",
        SegmentKind::Data => "data",
        SegmentKind::Fin => "fin",
        SegmentKind::Retransmission(_) => "retransmission",
        SegmentKind::OutOfOrder => "out_of_order",
        SegmentKind::Ack => "ack",
        SegmentKind::Probe => "probe",
        SegmentKind::Reset => "rst",
    }
}

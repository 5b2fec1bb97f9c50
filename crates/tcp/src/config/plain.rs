//! The keys of a profile that belong to no axis.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use units::text::{Segments, SegmentsOrBytes};
use units::{Bytes, Duration};

use crate::ecn::{AccEcnOption, EcnCapable, EcnSetting};
use crate::fast_open::FastOpenSetting;
use crate::interdependence::Interdependence;
use crate::options::OptionLayout;
use crate::send_half::mtu_search::MtuProbing;
use crate::send_half::offload::SegmentationOffload;
use crate::send_half::pacing::Pacing;

/// The keys of a profile that belong to no axis.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Plain {
    /// The largest segment that this end sends and announces, without headers and options. 1460 bytes:
    /// Ethernet's 1500 less 40 (RFC 9293 §3.7.1). A path with a smaller MTU lowers it.
    pub mss: Bytes,
    /// Path MTU discovery by probes (RFC 4821), for paths that carry less than their hosts know: a table, `{}` for that
    /// of Linux after a black hole. Absent: segments have the size of the MTU that the host knows, whatever happens.
    pub mtu_probing: Option<MtuProbing>,
    /// The first congestion window: segments, bytes, or "rfc2414" or "rfc3390", min(4·MSS, max(2·MSS, 4380
    /// bytes)). 10 segments (RFC 6928).
    pub initial_window: InitialWindow,
    /// The first slow-start threshold, at least two segments, as one that a route or an earlier connection has left;
    /// absent: as high as can be (RFC 5681 §3.1). A value from `interdependence` takes precedence.
    pub initial_ssthresh: Option<SegmentsOrBytes>,
    /// State that a connection takes over from earlier connections to the same host (RFC 2140, RFC 9040); absent:
    /// nothing.
    pub interdependence: Option<Interdependence>,
    /// Bytes that are sent beyond the window that the peer offers: 0. An error that Gurtov 2001 observed in Windows NT.
    pub overrun: Bytes,
    /// The order and the padding of the options on a SYN, in which hosts differ: "linux", "freebsd", "windows" or
    /// "darwin".
    pub option_layout: OptionLayout,
    /// Role of the end in TCP Fast Open (RFC 7413): `false`; "client", which asks for a cookie and in later
    /// connections sends data with its SYN; "server", which gives cookies and answers such data before the handshake is
    /// done; `true`, both.
    pub fast_open: FastOpenSetting,
    /// Whether a SYN announces the largest segment. A SYN without is answered by segments of 536 bytes (RFC 9293
    /// §3.7.1).
    pub announces_mss: bool,
    /// Whether the third retransmission of a SYN and those after it carry no option but the segment size, for paths
    /// that drop others (`net.inet.tcp.rexmit_drop_options` of FreeBSD).
    pub drops_syn_options: bool,
    /// Whether to offer window scaling (RFC 7323 §2).
    pub window_scale: bool,
    /// Whether to offer timestamps (RFC 7323 §3).
    pub timestamps: bool,
    /// Whether segments without the timestamps that were agreed on are dropped (RFC 7323 §3.2); Linux takes them in.
    pub timestamps_required: bool,
    /// Whether a reset that ends a connection of ours carries the clock, as RFC 7323 §3.2 recommends.
    pub timestamps_on_reset: bool,
    /// Method of measuring round trips where timestamps are agreed.
    pub round_trip: RoundTrip,
    /// Whether, with timestamps, segments from the past are dropped (PAWS, RFC 7323 §5). So are then late originals
    /// that lie beyond a hole which a retransmission has just filled; ns-2 and others of its time took them in.
    pub paws: bool,
    /// Whether to offer selective acknowledgments (RFC 2018).
    pub sack: bool,
    /// Whether to report segments that arrived twice, where SACK is agreed (RFC 2883).
    pub dsack: bool,
    /// Explicit congestion notification to offer, with which queues on the path may mark instead of drop. `false`;
    /// `true` (RFC 3168); "accurate" (RFC 9768), which falls back on that with a peer that knows no other; "dctcp" (RFC
    /// 8257).
    pub ecn: EcnSetting,
    /// Whether data go out as ECT(1), which asks queues for the service of L4S (RFC 9331 §4.1), once Accurate ECN is
    /// agreed. Only for a scalable congestion control.
    pub l4s: bool,
    /// Segments that go out as ECN-capable where Accurate ECN is agreed: "new-data", as RFC 3168 demands; "all", as in
    /// Linux: ACKs, retransmissions, probes and FINs too, so that queues mark them instead of dropping them.
    pub ecn_capable: EcnCapable,
    /// Segments with the AccECN option, by which a receiver reports bytes for each ECN field: "acks", those without
    /// data after a change; "always", every segment, as in Linux; "demand" or "never", as Linux with `tcp_ecn_option` 1
    /// or 0. With all but the first every change of the ECN field is acknowledged at once.
    pub accecn_option: AccEcnOption,
    /// SYNs that offer ECN, the first included, before one goes without, as on paths that drop them (RFC 3168 §6.1.1.1,
    /// RFC 9768 §3.1.4.1). Absent: all of them, with Accurate ECN 2.
    pub ecn_syns: Option<u32>,
    /// Whether a sender under RFC 3168 says with CWR on its next new data that a loss has reduced its window, too, as
    /// §6.1.2 demands; after a mark it always does.
    pub cwr_after_loss: bool,
    /// Whether segments leave evenly instead of in bursts, and how fast: windows per round trip (1 spreads a window
    /// over just one smoothed round trip), or a table of ratios for slow start and congestion avoidance, `{}` for those
    /// of Linux, or `{ rate_based = 1 }` for a rate alone, where the window limits only how many windows are in flight.
    /// Absent: no pacing, unless the congestion control sets a rate.
    pub pacing: Option<Pacing>,
    /// Bursts in which new data leave, from a host whose network card cuts them into segments; `{}` for those of Linux.
    /// Absent: a segment leaves as soon as the windows permit it.
    pub segmentation_offload: Option<SegmentationOffload>,
    /// Whether small segments wait while something is unacknowledged (Nagle; RFC 9293 §3.7.4).
    pub nagle: bool,
    /// Whether by this rule a small segment waits only while another small segment is unacknowledged (Minshall's
    /// variation, `tcp_minshall_check` of Linux).
    pub minshall: bool,
    /// Whether every retransmission of data carries PSH. If not, only that of the last data does, as Linux repeats the
    /// flags of the first transmission.
    pub pushes_retransmissions: bool,
    /// Whether a silent connection is probed; off as RFC 9293 §3.8.4 demands.
    pub keep_alive: bool,
    /// Silence before the first keep-alive probe. RFC 9293 §3.8.4: at least 2 h.
    pub keep_alive_idle: Duration,
    /// Time between keep-alive probes; 75 s as in BSD.
    pub keep_alive_interval: Duration,
    /// Keep-alive probes without an answer before the connection is given up; 9 as in Linux.
    pub keep_alive_probes: u32,
    /// Retransmissions of a SYN before an open fails; 6 as in Linux (RFC 9293 §3.8.3: at least 3 min).
    pub syn_retries: u32,
    /// Time after which an open fails, however many SYNs were sent: 75 s in FreeBSD (`net.inet.tcp.keepinit`). Absent:
    /// `syn_retries` alone decides.
    pub open_timeout: Option<Duration>,
    /// Retransmissions of other segments before the connection is given up; 15 as in Linux
    /// (R2 of RFC 9293 §3.8.3: at least 100 s).
    pub retries: u32,
    /// Maximum segment lifetime; TIME-WAIT lasts twice as long. RFC 9293 §3.4.2: 2 min; 30 s as in BSD and Linux.
    pub msl: Duration,
}

/// Method of measuring round trips where timestamps are agreed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoundTrip {
    /// By the clock that the ACK echoes, in its ticks of 1 ms (RFC 7323 §4.1).
    #[default]
    ByEcho,
    /// By the time at which the oldest of the acknowledged segments was sent, and by the echo only where one of them
    /// was sent again (Linux `tcp_ack_update_rtt`).
    ByOldest,
}

/// The first congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum InitialWindow {
    /// By the formula of an RFC.
    Formula(Formula),
    /// A number of full-sized segments, or of bytes.
    Size(SegmentsOrBytes),
}

/// RFCs whose first window depends on the segment size; both have the same formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Formula {
    /// RFC 2414 equation 1.
    Rfc2414,
    /// RFC 3390 equation 1.
    Rfc3390,
}

impl<'de> Deserialize<'de> for InitialWindow {
    /// Written by hand, as the error of an untagged enum does not say what is wrong with the size.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match Formula::deserialize(&value) {
            Ok(formula) => Ok(Self::Formula(formula)),
            Err(_) => SegmentsOrBytes::deserialize(value).map(Self::Size).map_err(D::Error::custom),
        }
    }
}

impl InitialWindow {
    /// The window, where one segment is `smss` long.
    #[must_use]
    pub fn bytes(self, smss: Bytes) -> Bytes {
        match self {
            Self::Size(size) => size.bytes(smss),
            Self::Formula(_) => (smss * 4).min((smss * 2).max(Bytes(4380))),
        }
    }
}

impl Default for Plain {
    fn default() -> Self {
        Self {
            mss: Bytes(1460),
            mtu_probing: None,
            initial_window: InitialWindow::Size(SegmentsOrBytes::Segments(Segments(10))),
            initial_ssthresh: None,
            interdependence: None,
            overrun: Bytes::ZERO,
            option_layout: OptionLayout::Linux,
            fast_open: FastOpenSetting::Off,
            announces_mss: true,
            drops_syn_options: false,
            window_scale: true,
            timestamps: false,
            timestamps_required: true,
            timestamps_on_reset: false,
            round_trip: RoundTrip::ByEcho,
            paws: true,
            sack: true,
            dsack: true,
            ecn: EcnSetting::Off,
            l4s: false,
            ecn_capable: EcnCapable::NewData,
            accecn_option: AccEcnOption::Acks,
            ecn_syns: None,
            cwr_after_loss: false,
            pacing: None,
            segmentation_offload: None,
            nagle: true,
            minshall: false,
            pushes_retransmissions: true,
            keep_alive: false,
            keep_alive_idle: Duration::from_secs(7200),
            keep_alive_interval: Duration::from_secs(75),
            keep_alive_probes: 9,
            syn_retries: 6,
            open_timeout: None,
            retries: 15,
            msl: Duration::from_secs(30),
        }
    }
}

//! The send buffer that Linux sizes automatically (Semke, Mahdavi and Mathis 1998): room for some congestion windows,
//! counted in the memory that their packets take.
//!
//! It grows where a user has filled it although the congestion window has room (`tcp_should_expand_sndbuf`), and never
//! shrinks. Memory counts on both sides (`sk_wmem_queued`): a packet of the program's writes is begun while there is
//! some, and then filled.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::{SendBuffer, Sender};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters; the defaults are Linux'.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The buffer before the handshake, and the least: 16 KiB (`tcp_wmem[1]`).
    pub initial: Bytes,
    /// Maximum size: 4 MiB (`tcp_wmem[2]`).
    pub greatest: Bytes,
    /// Size in congestion windows: 2, so that fast recovery finds new data to send; BBR asks for 3
    /// (`sndbuf_expand`).
    pub windows: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { initial: Bytes(16 << 10), greatest: Bytes(4 << 20), windows: 2 }
    }
}

#[derive(Debug)]
struct AutoTuning {
    parameters: Parameters,
    size: Bytes,
}

impl AutoTuning {
    const fn new(parameters: Parameters) -> Self {
        Self { size: parameters.initial, parameters }
    }
}

impl SendBuffer for AutoTuning {
    fn size(&self) -> Bytes {
        self.size
    }

    /// `sk_stream_memory_free`.
    fn data(&self, packet: Bytes) -> Bytes {
        packet * self.size.0.div_ceil((packet + PACKET_RECORD).0)
    }

    /// `tcp_sndbuf_expand`.
    fn grow(&mut self, sender: &Sender) {
        let cwnd = sender.cwnd.whole(sender.smss);
        let segments = cwnd.max(INITIAL_SEGMENTS).max(u64::from(sender.dupthresh) + 1);
        let wanted = segment_memory(sender.mss) * segments * u64::from(self.parameters.windows);
        self.size = self.size.max(wanted.min(self.parameters.greatest));
    }
}

/// Memory that a segment with headers takes in Linux: its packet in a block whose size is a power of two, and the
/// packet's record.
fn segment_memory(mss: Bytes) -> Bytes {
    Bytes((mss + HEADERS + SHARED_INFO).0.next_power_of_two()) + RECORD
}

/// `TCP_INIT_CWND`.
const INITIAL_SEGMENTS: u64 = 10;
/// `MAX_TCP_HEADER`, on a kernel with tunnels: 128 bytes for TCP, 176 for what is below, rounded up to a cache line.
const HEADERS: Bytes = Bytes(320);
/// `struct skb_shared_info` and `struct sk_buff`, each rounded up to a cache line, on a machine of 64 bits.
const SHARED_INFO: Bytes = Bytes(320);
const RECORD: Bytes = Bytes(256);
/// Memory of a packet besides its data: its record, and the block for headers (`tcp_stream_alloc_skb`).
const PACKET_RECORD: Bytes = Bytes(1280);

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        let Parameters { initial, greatest, windows } = *self;
        if initial < LEAST_BUFFER || initial > greatest {
            let wrong = format!("initial is {} bytes and greatest {}", initial.0, greatest.0);
            return Err(refusal(wrong, "initial at least \"4608 bytes\", and greatest no smaller"));
        }
        if windows == 0 {
            return Err(refusal("windows is 0", "2, or 3 for BBR"));
        }
        Ok(())
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn SendBuffer> = Algorithm::checked(
    "auto-tuning",
    "a send buffer that follows the congestion window, as Linux sizes it",
    "Semke, Mahdavi and Mathis 1998; Linux net/ipv4/tcp_input.c (tcp_sndbuf_expand)",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(AutoTuning::new(parameters.clone()))),
);

/// `SOCK_MIN_SNDBUF`.
const LEAST_BUFFER: Bytes = Bytes(4608);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn after(parameters: Parameters, cwnd: u64) -> Bytes {
        let mut buffer = AutoTuning::new(parameters);
        let (smss, mss) = (Bytes(1448), Bytes(1460));
        buffer.grow(&Sender { cwnd: smss * cwnd, smss, mss, dupthresh: 3 });
        buffer.size()
    }

    #[test]
    fn a_new_connection_over_ethernet_has_the_87040_bytes_that_ss_shows() {
        assert_eq!(AutoTuning::new(Parameters::default()).size(), Bytes(16_384));
        assert_eq!(after(Parameters::default(), 10), Bytes(87_040));
        assert_eq!(after(Parameters::default(), 1), Bytes(87_040), "never for less than TCP_INIT_CWND");
    }

    #[test]
    fn it_has_room_for_two_windows_or_for_three_of_bbr_up_to_the_greatest() {
        assert_eq!(after(Parameters::default(), 100), Bytes(870_400));
        assert_eq!(after(Parameters { windows: 3, ..Parameters::default() }, 100), Bytes(1_305_600));
        assert_eq!(after(Parameters::default(), 10_000), Bytes(4 << 20));
    }

    #[test]
    fn packets_that_are_begun_are_filled_and_their_records_count() {
        let buffer = AutoTuning { size: Bytes(50_000), parameters: Parameters::default() };
        // Of 16000 bytes a third packet is begun at 34560 bytes of memory, and no fourth at 51840.
        assert_eq!(buffer.data(Bytes(16_000)), Bytes(48_000));
        assert_eq!(buffer.data(Bytes(15_000)), Bytes(60_000));
        assert_eq!(buffer.data(Bytes(64_000)), Bytes(64_000));
    }

    #[test]
    fn it_never_shrinks() {
        let mut buffer = AutoTuning::new(Parameters::default());
        for cwnd in [100, 10] {
            let (smss, mss) = (Bytes(1448), Bytes(1460));
            buffer.grow(&Sender { cwnd: smss * cwnd, smss, mss, dupthresh: 3 });
            assert_eq!(buffer.size(), Bytes(870_400));
        }
    }

    #[test]
    fn a_buffer_without_room_for_a_packet_is_refused() {
        for wrong in [json!({ "initial": "1 KiB" }), json!({ "initial": "8 MiB" }), json!({ "windows": 0 })] {
            assert!(ENTRY.choice(wrong.clone()).is_err(), "{wrong}");
        }
    }
}

//! TCP Fast Open (RFC 7413): data with the SYN. The cookies are kept in `fast_open.rs`.

use units::{Bytes, Instant};
use wire::{FastOpenCookie, Flags, Options, Segment};

use super::Endpoint;
use crate::CachedCookie;
use crate::state::State;

impl Endpoint {
    /// Gives a client the cookie of its server: the data written before the first [`Endpoint::poll_transmit`] leave
    /// with the SYN, as far as they fit. Without a profile that plays the client it does nothing.
    pub fn use_fast_open_cookie(&mut self, known: CachedCookie) {
        if self.config.plain.fast_open.is_client() {
            self.fast_open.know(known);
        }
    }

    /// Sets the cookie that a server expects of its peer, and grants where the peer does not show it. Without a profile
    /// that plays the server it does nothing.
    pub fn expect_fast_open_cookie(&mut self, cookie: FastOpenCookie) {
        if self.config.plain.fast_open.is_server() {
            self.fast_open.expect(cookie);
        }
    }

    /// Lets a client send data with its SYN, or a server take them, without a cookie; `mss` is the segment size of the
    /// server, if the client knows it (`tcp_fastopen` of Linux, 0x4 and 0x200). Without a profile that plays the role
    /// it does nothing.
    pub fn need_no_fast_open_cookie(&mut self, mss: Option<Bytes>) {
        let setting = self.config.plain.fast_open;
        if (self.passive && setting.is_server()) || (!self.passive && setting.is_client()) {
            self.fast_open.need_none(mss);
        }
    }

    /// Makes a client show its cookie also where no data leave with the SYN, as Linux does.
    pub const fn always_show_fast_open_cookie(&mut self) {
        self.fast_open.show_always();
    }

    /// The segment size that the server has announced to this client.
    #[must_use]
    pub const fn fast_open_mss(&self) -> Option<Bytes> {
        self.fast_open.learned_mss()
    }

    /// Whether the data of a SYN were taken by the end that it reached (`TCPI_OPT_SYN_DATA` of Linux).
    #[must_use]
    pub fn syn_data_taken(&self) -> bool {
        self.fast_open.data_taken(self.send.una())
    }

    /// Room for data in a client's SYN.
    #[must_use]
    pub fn fast_open_room(&self) -> Bytes {
        self.fast_open.room(self.config.plain.mss)
    }

    /// The cookie that the server has granted to this client.
    #[must_use]
    pub const fn fast_open_cookie(&self) -> Option<CachedCookie> {
        self.fast_open.learned()
    }

    /// Whether the SYN with data had no answer: the next connection should try without (RFC 7413 §4.1.3.1).
    #[must_use]
    pub const fn fast_open_failed(&self) -> bool {
        self.fast_open.is_refused()
    }

    /// Adds Fast Open to the first SYN or SYN-ACK. A repeated one leaves without it, in case a middlebox drops it (RFC
    /// 7413 §4.2.2, Linux `tcp_send_syn_data`).
    pub(super) fn add_fast_open(&mut self, now: Instant, syn: &mut Segment) {
        if self.state == State::SynReceived {
            syn.options.fast_open = self.fast_open.grant();
        } else if self.config.plain.fast_open.is_client() {
            syn.options.fast_open = self.fast_open.request(!self.send.unsent().is_zero());
            let room = self.fast_open_room();
            if let Some(payload) = self.send.send_with_syn(now, room) {
                self.fast_open.on_data_sent(self.send.nxt());
                syn.payload = payload;
            }
        }
    }

    /// A SYN has arrived at a listener: with a valid cookie, its data are taken in at once (RFC 7413 §4.2.1).
    pub(super) fn judge_fast_open(&mut self, now: Instant, syn: &Segment) {
        if !self.fast_open.judge(syn) {
            return;
        }
        self.begin(now);
        self.send.open_before_ack();
        if syn.payload.is_empty() {
            return;
        }
        let window = self.receive.offer_on_syn(self.config.plain.mss);
        self.receive.open(window);
        let data = Segment {
            seq: syn.seq + 1,
            flags: syn.flags.without(Flags::SYN.with(Flags::FIN)),
            options: Options::default(),
            payload: syn.payload.clone(),
            ..*syn
        };
        self.take_in(now, &data);
        self.receive.on_syn_data();
        self.fast_open.on_data_taken();
    }

    /// The SYN-ACK has arrived at a client: data of the SYN that it does not acknowledge leave again (RFC 7413 §4.2.2).
    pub(super) fn conclude_fast_open(&mut self, now: Instant, syn_ack: &Segment) {
        if !self.config.plain.fast_open.is_client() {
            return;
        }
        if self.fast_open.on_syn_ack(syn_ack) {
            self.send.resend_syn_data(now, syn_ack.ack);
        }
        self.send.time_syn_data(now, &mut self.timers);
        self.take_syn_ack_data(now, syn_ack);
    }

    /// Data and FIN of a SYN-ACK, which acknowledges a Fast Open (RFC 7413 §4.2.2).
    fn take_syn_ack_data(&mut self, now: Instant, syn_ack: &Segment) {
        if syn_ack.payload.is_empty() && !syn_ack.flags.contains(Flags::FIN) {
            return;
        }
        let window = self.receive.offer_on_syn(self.config.plain.mss);
        self.receive.open(window);
        let text =
            Segment { seq: syn_ack.seq + 1, flags: syn_ack.flags.without(Flags::SYN), ..syn_ack.clone() };
        self.process_text(now, &text);
    }
}

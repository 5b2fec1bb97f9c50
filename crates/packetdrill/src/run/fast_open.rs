//! TCP Fast Open as Linux sets it up: who takes part, which cookie a server gives, and what a client remembers.

use std::net::Ipv4Addr;

use tcp::CachedCookie;
use units::Bytes;
use wire::FastOpenCookie;

use super::connection::TestedConnection;
use super::segment::bytes_of;

/// `net.ipv4.tcp_fastopen` (Documentation/networking/ip-sysctl.rst).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FastOpenBits(pub u32);

impl FastOpenBits {
    /// The default of Linux: clients only.
    pub(super) const DEFAULT: Self = Self(0x1);

    /// Clients may ask for cookies.
    pub(super) const fn client(self) -> bool {
        self.0 & 0x1 != 0
    }

    /// Servers may take data with a SYN: those whose program asks, or all.
    pub(super) const fn server(self, program_asks: bool) -> bool {
        self.0 & 0x2 != 0 && (program_asks || self.0 & 0x400 != 0)
    }

    /// Clients send data with a SYN without a cookie.
    pub(super) const fn client_without_cookie(self) -> bool {
        self.0 & 0x4 != 0
    }

    /// Servers take data with a SYN without a cookie.
    pub(super) const fn server_without_cookie(self) -> bool {
        self.0 & 0x200 != 0
    }
}

/// The key from which a server computes its cookies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CookieKey([u64; 2]);

impl CookieKey {
    /// A key as `net.ipv4.tcp_fastopen_key` writes it: four words in hexadecimal digits with dashes between them.
    pub(super) fn from_setting(text: &str) -> Option<Self> {
        let words: Option<Vec<u32>> =
            text.split('-').map(|word| u32::from_str_radix(word, 16).ok()).collect();
        let [a, b, c, d] = words?[..] else { return None };
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        Some(Self([pair(a, b), pair(c, d)]))
    }

    /// A key as a program sets it (`TCP_FASTOPEN_KEY`): 16 bytes, as a string of `\x…`.
    pub(super) fn from_string(text: &str) -> Option<Self> {
        let bytes: [u8; 16] = bytes_of(&text.replace("\\x", ""))?.try_into().ok()?;
        let word = |half: &[u8]| half.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        Some(Self([word(&bytes[..8]), word(&bytes[8..])]))
    }

    /// The cookie of a client: SipHash-2-4 of both addresses (net/ipv4/tcp_fastopen.c, `__tcp_fastopen_cookie_gen`).
    pub(super) fn cookie(self, client: Ipv4Addr, server: Ipv4Addr) -> Option<FastOpenCookie> {
        let [a, b] = [client, server].map(|address| u64::from(u32::from_le_bytes(address.octets())));
        FastOpenCookie::new(&sip_hash(self.0, a | b << 32).to_le_bytes())
    }
}

/// SipHash-2-4 of eight bytes (Aumasson and Bernstein 2012).
fn sip_hash(key: [u64; 2], message: u64) -> u64 {
    let mut v = [
        key[0] ^ 0x736f_6d65_7073_6575,
        key[1] ^ 0x646f_7261_6e64_6f6d,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ];
    let length = 8 << 56;
    for block in [message, length] {
        v[3] ^= block;
        (0..2).for_each(|_| sip_round(&mut v));
        v[0] ^= block;
    }
    v[2] ^= 0xff;
    (0..4).for_each(|_| sip_round(&mut v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

const fn sip_round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[2] = v[2].rotate_left(32);
}

/// What a host remembers of the server (`tcp_metrics` of Linux).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ServerCache {
    /// Its cookie, and whether it came in the experimental option.
    pub cookie: Option<(FastOpenCookie, bool)>,
    /// The segment size that it has announced.
    pub mss: Option<Bytes>,
    /// The form of the option with which the host asks.
    asks: AskingForm,
}

/// The form of the option that asks for a cookie (`tcp_fastopen_cache_set`): after the option of RFC 7413 has brought
/// none, the experimental one is tried, once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AskingForm {
    #[default]
    Standard,
    Experimental,
    StandardForGood,
}

impl ServerCache {
    /// The cookie and segment size, if both are known.
    pub(super) fn known(&self) -> Option<CachedCookie> {
        Some(CachedCookie { cookie: self.cookie?.0, mss: self.mss? })
    }

    /// Whether the next SYN has the experimental option.
    pub(super) fn is_experimental(&self) -> bool {
        self.cookie.map_or(self.asks == AskingForm::Experimental, |(_, experimental)| experimental)
    }

    /// Takes over what the SYN-ACK of a connection has brought, once.
    pub(super) fn learn(&mut self, connection: &mut TestedConnection) {
        let endpoint = &connection.endpoint;
        let Some(mss) = endpoint.fast_open_mss().filter(|_| !connection.is_cached) else { return };
        if !connection.asks_for_fast_open {
            return;
        }
        connection.is_cached = true;
        self.mss = Some(mss);
        // A cookie that was not asked for is ignored.
        if let Some(learned) = endpoint.fast_open_cookie().filter(|_| !connection.needs_no_cookie) {
            self.cookie = Some((learned.cookie, connection.notation.experimental));
        } else if self.cookie.is_none() && !connection.needs_no_cookie && endpoint.timeouts() == 0 {
            self.asks = match (self.asks, connection.notation.experimental) {
                (AskingForm::StandardForGood, _) | (_, true) => AskingForm::StandardForGood,
                (_, false) => AskingForm::Experimental,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_the_hash_of_both_addresses_under_either_form_of_the_key() {
        // Reference value of SipHash-2-4 for the key 00…0f and the message 00…07 (appendix A of the paper).
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        assert_eq!(sip_hash(key, 0x0706_0504_0302_0100), 0x93f5_f579_9a93_2462);
        let setting = CookieKey::from_setting("03020100-07060504-0b0a0908-0f0e0d0c").expect("a key");
        let string: String = (0..16).map(|byte| format!("\\x{byte:02x}")).collect();
        assert_eq!((setting, CookieKey::from_string(&string)), (CookieKey(key), Some(CookieKey(key))));
        let cookie = setting.cookie(Ipv4Addr::new(0, 1, 2, 3), Ipv4Addr::new(4, 5, 6, 7)).expect("a cookie");
        assert_eq!(cookie.to_string(), "6224939a79f5f593");
        assert_eq!(CookieKey::from_string("\\x00"), None);
    }
}

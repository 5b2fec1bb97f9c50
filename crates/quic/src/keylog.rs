//! Logs of TLS secrets: the NSS key log format, which `SSLKEYLOGFILE` names (RFC 9850).

use std::collections::BTreeMap;

/// Secrets of connections, by the client's random number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyLog {
    secrets: BTreeMap<([u8; 32], Label), Vec<u8>>,
}

/// A secret that QUIC uses (RFC 9001 §5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Label {
    ClientEarly,
    ClientHandshake,
    ServerHandshake,
    ClientTraffic,
    ServerTraffic,
}

/// Why a text is no key log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct KeyLogError {
    /// The line, from 1; 0 of the whole file.
    pub line: usize,
    /// The fault in words.
    pub fault: String,
}

impl KeyLog {
    /// Reads a log. Lines with labels that QUIC does not use are passed over.
    ///
    /// # Errors
    /// If a line is neither a comment nor a label with two hexadecimal numbers, or if there is no secret at all.
    pub fn parse(text: &str) -> Result<Self, KeyLogError> {
        let mut log = Self::default();
        let mut any = false;
        for (place, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            log.add(line).map_err(|fault| KeyLogError { line: place + 1, fault: fault.to_owned() })?;
            any = true;
        }
        if any { Ok(log) } else { Err(KeyLogError { line: 0, fault: "has no secret".to_owned() }) }
    }

    /// Adds the good lines of a log, such as a capture carries.
    pub fn add_lines(&mut self, text: &str) {
        for line in text.lines() {
            // A line that is no secret is no reason to refuse the packets.
            let _ = self.add(line.trim());
        }
    }

    /// Whether there is no secret of QUIC.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// Whether there is a secret of the connection with this random number.
    #[must_use]
    pub(crate) fn knows(&self, random: &[u8; 32]) -> bool {
        self.secrets.range((*random, Label::ClientEarly)..=(*random, Label::ServerTraffic)).next().is_some()
    }

    pub(crate) fn secret(&self, random: &[u8; 32], label: Label) -> Option<&[u8]> {
        self.secrets.get(&(*random, label)).map(Vec::as_slice)
    }

    fn add(&mut self, line: &str) -> Result<(), &'static str> {
        let mut words = line.split_ascii_whitespace();
        let (label, random, secret) = (words.next(), words.next(), words.next());
        let (Some(label), Some(random), Some(secret), None) = (label, random, secret, words.next()) else {
            return Err("is not a label, a client's random number and a secret");
        };
        if !label.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_') {
            return Err("does not begin with a label");
        }
        let random = bytes_of(random).ok_or("has a random number that is not hexadecimal")?;
        let secret = bytes_of(secret).ok_or("has a secret that is not hexadecimal")?;
        if let Some(label) = Label::of(label) {
            let random = random.try_into().map_err(|_| "has a random number that is not 32 bytes long")?;
            self.secrets.insert((random, label), secret);
        }
        Ok(())
    }
}

impl Label {
    fn of(text: &str) -> Option<Self> {
        // Older logs put QUIC before the label.
        Some(match text.strip_prefix("QUIC_").unwrap_or(text) {
            "CLIENT_EARLY_TRAFFIC_SECRET" => Self::ClientEarly,
            "CLIENT_HANDSHAKE_TRAFFIC_SECRET" => Self::ClientHandshake,
            "SERVER_HANDSHAKE_TRAFFIC_SECRET" => Self::ServerHandshake,
            "CLIENT_TRAFFIC_SECRET_0" => Self::ClientTraffic,
            "SERVER_TRAFFIC_SECRET_0" => Self::ServerTraffic,
            _ => return None,
        })
    }
}

fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let one = |pair: &[u8]| {
        let digit = |byte: u8| char::from(byte).to_digit(16);
        Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8)
    };
    if digits.is_empty() || !digits.len().is_multiple_of(2) {
        None
    } else {
        digits.chunks(2).map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(label: &str) -> String {
        format!("{label} {} {}", "07".repeat(32), "ab".repeat(32))
    }

    #[test]
    fn a_log_has_the_secrets_of_its_lines() {
        let text = format!(
            "# made\n\n{}\nRSA 00 11\n{}\n",
            line("CLIENT_TRAFFIC_SECRET_0"),
            line("EXPORTER_SECRET")
        );
        let log = KeyLog::parse(&text).expect("it is one");
        assert_eq!(log.secret(&[7; 32], Label::ClientTraffic), Some(&[0xab; 32][..]));
        assert_eq!(log.secret(&[7; 32], Label::ServerTraffic), None);
        assert!(log.knows(&[7; 32]) && !log.knows(&[8; 32]));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let wrong = |text: &str| KeyLog::parse(text).map_err(|error| error.line);
        assert_eq!(wrong("# none\n"), Err(0));
        assert_eq!(wrong(&format!("{}\nhello", line("CLIENT_RANDOM"))), Err(2));
        assert_eq!(wrong("CLIENT_TRAFFIC_SECRET_0 0g 11"), Err(1));
        assert_eq!(wrong("CLIENT_TRAFFIC_SECRET_0 00 11"), Err(1));
        assert_eq!(wrong("<html> 00 11"), Err(1));
    }
}

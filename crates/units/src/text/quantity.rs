//! Reading a number with its unit, exactly; the table of units of each quantity.

use super::error::UnitError;

/// One kind of quantity: its units in multiples of the finest, and the words for its messages.
pub(super) struct Quantity {
    pub(super) what: &'static str,
    pub(super) example: &'static str,
    finest: &'static str,
    units: &'static [(&'static str, u64)],
    /// Wrong units with advice: units whose meaning is clear, and ambiguous units.
    advice: &'static [(&'static str, &'static str)],
}

pub(super) const DURATION: Quantity = Quantity {
    what: "duration",
    example: "\"200 ms\"",
    finest: "nanoseconds",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
    advice: &[("m", "write min for minutes, or ms for milliseconds"), ("sec", "write s")],
};

pub(super) const BYTES: Quantity = Quantity {
    what: "size",
    example: "\"1220 bytes\"",
    finest: "bytes",
    units: &[
        ("bytes", 1),
        ("byte", 1),
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
    advice: &[
        ("KB", "write kB for 1000 bytes, or KiB for 1024"),
        ("K", "write kB for 1000 bytes, or KiB for 1024"),
        ("k", "write kB for 1000 bytes, or KiB for 1024"),
        ("M", "write MB for 1000000 bytes, or MiB for 1048576"),
        ("bit", "sizes are in bytes: eight bits each"),
        ("bits", "sizes are in bytes: eight bits each"),
        ("packets", "write a size like \"1220 bytes\""),
    ],
};

pub(super) const RATE: Quantity = Quantity {
    what: "rate",
    example: "\"9600 bit/s\"",
    finest: "bits per second",
    units: &[("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)],
    advice: &[
        ("bps", "write bit/s"),
        ("kbps", "write kbit/s"),
        ("Mbps", "write Mbit/s"),
        ("Gbps", "write Gbit/s"),
        ("mbit/s", "write Mbit/s (m would be a thousandth)"),
        ("Kbit/s", "write kbit/s"),
        ("B/s", "rates are in bits: write eight times the number and bit/s"),
        ("kB/s", "rates are in bits: write eight times the number and kbit/s"),
        ("MB/s", "rates are in bits: write eight times the number and Mbit/s"),
        ("bytes/s", "rates are in bits: write eight times the number and bit/s"),
    ],
};

pub(super) const PACKETS: Quantity = Quantity {
    what: "number of packets",
    example: "\"7 packets\"",
    finest: "packets",
    units: &[("packets", 1), ("packet", 1)],
    advice: &[("segments", "a link counts packets: write packets")],
};

pub(super) const SEGMENTS: Quantity = Quantity {
    what: "number of segments",
    example: "\"2 segments\"",
    finest: "segments",
    units: &[("segments", 1), ("segment", 1)],
    advice: &[("packets", "a TCP counts segments: write segments")],
};

/// Units for writing, largest first.
pub(super) const DURATION_CANONICAL: &[(&str, u64)] =
    &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
pub(super) const BYTES_CANONICAL: &[(&str, u64)] = &[
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1_000),
    ("bytes", 1),
];
pub(super) const RATE_CANONICAL: &[(&str, u64)] =
    &[("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)];

impl Quantity {
    /// The value in the finest unit.
    pub(super) fn parse(&self, text: &str) -> Result<u64, UnitError> {
        let trimmed = text.trim();
        let (number, unit) = self.split(trimmed)?;
        let factor = self.factor(unit, trimmed)?;
        self.scale(trimmed, number, factor)
    }

    /// The error of a number without a unit.
    pub(super) fn no_unit(&self, text: &str) -> UnitError {
        UnitError::NoUnit { text: text.to_owned(), what: self.what, example: self.example_with(text) }
    }

    /// The example, with its number replaced by the written number, if it is a number.
    fn example_with(&self, number: &str) -> String {
        let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        match self.example.split_once(' ') {
            Some((_, unit)) if plain => format!("\"{number} {unit}"),
            _ => self.example.to_owned(),
        }
    }

    /// Every unit, as a regular expression's alternatives.
    pub(super) fn pattern(&self) -> String {
        let units: Vec<&str> = self.units.iter().map(|(unit, _)| *unit).collect();
        format!(r"^[0-9]+(\.[0-9]+)? ?({})$", units.join("|"))
    }

    pub(super) fn has_unit(&self, unit: &str) -> bool {
        self.units.iter().any(|(name, _)| *name == unit)
    }

    /// Whether a unit is one of this quantity's, or a known wrong spelling of one.
    pub(super) fn speaks_of(&self, unit: &str) -> bool {
        self.has_unit(unit) || self.advice.iter().any(|(name, _)| *name == unit)
    }

    fn split<'a>(&self, text: &'a str) -> Result<(&'a str, &'a str), UnitError> {
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        if text.starts_with('-') && text[1..].trim_start().starts_with(is_number) {
            let (text, what, example) = (text.to_owned(), self.what, self.example);
            return Err(UnitError::Negative { text, what, example });
        }
        let end = text.find(|c| !is_number(c)).unwrap_or(text.len());
        let (number, unit) = (&text[..end], text[end..].trim_start());
        let digits = number.bytes().filter(u8::is_ascii_digit).count();
        if digits == 0 || number.len() - digits > 1 || number.starts_with('.') || number.ends_with('.') {
            return Err(UnitError::NoNumber {
                text: text.to_owned(),
                what: self.what,
                example: self.example,
            });
        }
        Ok((number, unit))
    }

    fn factor(&self, unit: &str, text: &str) -> Result<u64, UnitError> {
        if unit.is_empty() {
            return Err(self.no_unit(text));
        }
        if let Some((_, factor)) = self.units.iter().find(|(name, _)| *name == unit) {
            return Ok(*factor);
        }
        if unit.contains(|c: char| c.is_ascii_digit()) {
            return Err(UnitError::NotPlain { text: text.to_owned(), example: self.example });
        }
        let advice = self.advice.iter().find(|(name, _)| *name == unit);
        let advice = advice.map_or_else(|| self.list_units(), |(_, advice)| (*advice).to_owned());
        Err(UnitError::UnknownUnit { unit: unit.to_owned(), what: self.what, advice })
    }

    fn list_units(&self) -> String {
        let units: Vec<&str> =
            self.units.iter().map(|(unit, _)| *unit).filter(|unit| unit.is_ascii()).collect();
        format!("write one of {}", units.join(", "))
    }

    fn scale(&self, text: &str, number: &str, factor: u64) -> Result<u64, UnitError> {
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let fraction = fraction.trim_end_matches('0');
        let too_large = || UnitError::TooLarge {
            text: text.to_owned(),
            what: self.what,
            largest: format!("{} {}", u64::MAX, self.units[0].0),
        };
        let too_fine = || UnitError::TooFine { text: text.to_owned(), finest: self.finest };
        let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| too_large())?;
        let scaled = digits.checked_mul(u128::from(factor)).ok_or_else(too_large)?;
        let divisor = 10_u128.checked_pow(fraction.len() as u32).ok_or_else(too_fine)?;
        if !scaled.is_multiple_of(divisor) {
            return Err(too_fine());
        }
        u64::try_from(scaled / divisor).map_err(|_| too_large())
    }
}

/// The text with the smallest whole number; zero is written in the common unit ("0 s", "0 bytes").
pub(super) fn write(value: u64, units: &[(&str, u64)]) -> String {
    let everyday = if units[0].0 == "s" { units[0].0 } else { units[units.len() - 1].0 };
    let whole = units.iter().find(|(_, factor)| value.is_multiple_of(*factor));
    match whole {
        Some((unit, factor)) if value > 0 => format!("{} {unit}", value / factor),
        _ => format!("{value} {everyday}"),
    }
}

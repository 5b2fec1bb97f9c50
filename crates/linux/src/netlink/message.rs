//! Messages: `struct nlmsghdr`, a fixed part that depends on the type of the message, and attributes (`struct nlattr`).
//! Messages and attributes are padded to four bytes. Headers are in the byte order of the machine.

use std::io;

use nix::libc;

use crate::Error;

/// A request under construction.
#[derive(Debug)]
pub(crate) struct Request {
    kind: u16,
    flags: u16,
    sequence: u32,
    body: Vec<u8>,
}

/// Attributes under construction. The caller chooses the byte order of each number: rtnetlink uses that of the machine,
/// nfnetlink that of the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes(Vec<u8>);

/// A message of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    kind: u16,
    /// The bytes after the header: the fixed part, then the attributes.
    pub(crate) body: &'a [u8],
}

/// Kind of a message in an answer.
#[derive(Debug)]
pub(crate) enum Answer<'a> {
    /// An object that the request asked for.
    Object(Message<'a>),
    /// The request was carried out (NLMSG_ERROR with 0, or NLMSG_DONE after the last object).
    Done,
    /// The kernel refused the request (NLMSG_ERROR).
    Refused(io::Error),
}

impl Request {
    /// Begins a request of a type, with a fixed part.
    pub(crate) fn new(kind: u16, fixed: &[u8]) -> Self {
        Self { kind, flags: libc::NLM_F_REQUEST as u16, sequence: 0, body: fixed.to_vec() }
    }

    /// Sets flags (NLM_F_…).
    pub(crate) fn flags(mut self, flags: libc::c_int) -> Self {
        self.flags |= flags as u16;
        self
    }

    /// Sets the sequence number, which the acknowledgment repeats.
    pub(crate) fn sequence(self, sequence: u32) -> Self {
        Self { sequence, ..self }
    }

    /// Appends attributes.
    pub(crate) fn attributes(mut self, attributes: &Attributes) -> Self {
        self.body.extend(&attributes.0);
        self
    }

    /// Returns the bytes of the message: length, type, flags, sequence number and port, then the body.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let length = HEADER_LEN + self.body.len();
        let mut bytes = Vec::with_capacity(length);
        bytes.extend(u32::try_from(length).expect("a request is a few hundred bytes").to_ne_bytes());
        bytes.extend(self.kind.to_ne_bytes());
        bytes.extend(self.flags.to_ne_bytes());
        bytes.extend(self.sequence.to_ne_bytes());
        bytes.extend(KERNEL_PORT.to_ne_bytes());
        bytes.extend(&self.body);
        bytes
    }
}

impl Attributes {
    /// Appends an attribute with these bytes.
    pub(crate) fn bytes(mut self, kind: u16, value: &[u8]) -> Self {
        let length = u16::try_from(ATTRIBUTE_HEADER_LEN + value.len()).expect("an attribute is short");
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(ALIGNMENT), 0);
        self
    }

    /// Appends a text, which ends with a zero byte.
    pub(crate) fn text(self, kind: u16, value: &str) -> Self {
        self.bytes(kind, &[value.as_bytes(), &[0]].concat())
    }

    /// Appends a number in the byte order of the machine.
    pub(crate) fn number(self, kind: u16, value: u32) -> Self {
        self.bytes(kind, &value.to_ne_bytes())
    }

    /// Appends a number in the byte order of the network.
    pub(crate) fn network_number(self, kind: u16, value: u32) -> Self {
        self.bytes(kind, &value.to_be_bytes())
    }

    /// Appends an attribute that consists of attributes.
    pub(crate) fn nested(self, kind: u16, inner: &Self) -> Self {
        self.bytes(kind | libc::NLA_F_NESTED as u16, &inner.0)
    }

    /// Appends other attributes at the same level.
    pub(crate) fn and(mut self, others: &Self) -> Self {
        self.0.extend(&others.0);
        self
    }
}

/// Iterates over the messages of an answer. It ends early where the answer does.
pub(crate) fn messages(answer: &[u8]) -> impl Iterator<Item = Message<'_>> {
    let mut rest = answer;
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(*rest.first_chunk()?) as usize;
        let kind = u16::from_ne_bytes(*rest.get(4..)?.first_chunk()?);
        let body = rest.get(HEADER_LEN..length)?;
        rest = rest.get(length.next_multiple_of(ALIGNMENT)..).unwrap_or_default();
        Some(Message { kind, body })
    })
}

/// Calls `each` with every object of a part of a list (NLM_F_DUMP); reports whether the list ends in it.
///
/// # Errors
/// If the kernel refused the request, or the part ends within a message.
pub(crate) fn objects<'a>(part: &'a [u8], mut each: impl FnMut(Message<'a>)) -> Result<bool, Error> {
    for message in messages(part) {
        match message.answer()? {
            Answer::Object(object) => each(object),
            Answer::Done => return Ok(true),
            Answer::Refused(error) => return Err(error.into()),
        }
    }
    Ok(false)
}

/// Iterates over attributes: type and value of each. It ends early where the bytes do.
pub(crate) fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(*rest.first_chunk()?));
        let kind = u16::from_ne_bytes(*rest.get(2..)?.first_chunk()?);
        let value = rest.get(ATTRIBUTE_HEADER_LEN..length)?;
        rest = rest.get(length.next_multiple_of(ALIGNMENT)..).unwrap_or_default();
        Some((kind, value))
    })
}

impl<'a> Message<'a> {
    /// Reads what the message is.
    ///
    /// # Errors
    /// If it ends within the error number.
    pub(crate) fn answer(self) -> Result<Answer<'a>, Error> {
        match i32::from(self.kind) {
            libc::NLMSG_DONE => Ok(Answer::Done),
            // Zero, or a negative error number.
            libc::NLMSG_ERROR => {
                match i32::from_ne_bytes(*self.body.first_chunk().ok_or(Error::Truncated)?) {
                    0 => Ok(Answer::Done),
                    number => Ok(Answer::Refused(io::Error::from_raw_os_error(number.saturating_neg()))),
                }
            }
            _ => Ok(Answer::Object(self)),
        }
    }
}

/// Bytes of `struct nlmsghdr`.
const HEADER_LEN: usize = 16;
/// Bytes of `struct nlattr` (and of `struct rtattr`, which is the same).
const ATTRIBUTE_HEADER_LEN: usize = 4;
/// NLMSG_ALIGNTO and NLA_ALIGNTO.
const ALIGNMENT: usize = 4;
/// The port of a request: the kernel fills in that of the socket.
const KERNEL_PORT: u32 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_is_padded_to_four_bytes_and_has_its_true_length() {
        let request =
            Request::new(libc::RTM_NEWLINK, &[]).attributes(&Attributes::default().bytes(3, b"lasthop"));
        let bytes = request.to_bytes();
        assert_eq!(bytes.len(), HEADER_LEN + 12);
        assert_eq!(bytes[HEADER_LEN..HEADER_LEN + 2], 11_u16.to_ne_bytes());
        assert_eq!(bytes[..4], 28_u32.to_ne_bytes());
    }

    #[test]
    fn a_text_ends_with_a_zero_byte() {
        let attributes = Attributes::default().text(7, "nat");
        assert_eq!(attributes.0, [8, 0, 7, 0, b'n', b'a', b't', 0]);
        assert_eq!(Attributes::default().text(1, "masq").0.len(), 12);
    }

    #[test]
    fn attributes_are_read_as_they_were_written() {
        let inner = Attributes::default().network_number(1, 0x0102_0304);
        let written = Attributes::default().number(4, 9).text(5, "eth0").nested(6, &inner);
        let read: Vec<_> = attributes(&written.0).collect();
        let nested = 6 | libc::NLA_F_NESTED as u16;
        assert_eq!(read, [(4, &9_u32.to_ne_bytes()[..]), (5, b"eth0\0"), (nested, &inner.0[..])]);
        assert_eq!(attributes(read[2].1).collect::<Vec<_>>(), [(1, &[1, 2, 3, 4][..])]);
    }

    #[test]
    fn attributes_that_say_a_wrong_length_end_the_list() {
        assert_eq!(attributes(&[9, 0, 1, 0, 5]).count(), 0);
        assert_eq!(attributes(&[0, 0, 0, 0, 0, 0, 0, 0]).count(), 0);
        assert_eq!(attributes(&[1, 0]).count(), 0);
    }

    #[test]
    fn an_answer_is_an_object_an_acknowledgment_or_a_refusal() {
        let error = |number: i32| Request::new(libc::NLMSG_ERROR as u16, &number.to_ne_bytes()).to_bytes();
        let bytes = [Request::new(20, &[1, 2, 3, 4]).to_bytes(), error(0), error(-libc::EPERM)].concat();
        let answers: Vec<_> = messages(&bytes).map(|message| message.answer().unwrap()).collect();
        assert!(matches!(answers[0], Answer::Object(Message { kind: 20, body: [1, 2, 3, 4] })));
        assert!(matches!(answers[1], Answer::Done));
        assert!(matches!(&answers[2], Answer::Refused(error) if error.raw_os_error() == Some(libc::EPERM)));
    }

    #[test]
    fn a_refusal_with_the_smallest_number_is_a_refusal() {
        let bytes = Request::new(libc::NLMSG_ERROR as u16, &i32::MIN.to_ne_bytes()).to_bytes();
        assert!(objects(&bytes, |_| ()).is_err());
    }

    #[test]
    fn an_acknowledgment_without_an_error_number_is_an_error() {
        let bytes = Request::new(libc::NLMSG_ERROR as u16, &[0, 0]).to_bytes();
        let message = messages(&bytes).next().unwrap();
        assert!(matches!(message.answer(), Err(Error::Truncated)));
        assert_eq!(messages(&bytes[..HEADER_LEN]).count(), 0);
    }
}

//! Arguments of system calls.

use units::Bytes;

use crate::script::{Call, Expression};

/// Something that the runner does not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unsupported {
    /// The unsupported argument.
    pub what: String,
    /// The remedy.
    pub remedy: String,
}

/// Accessors of a call's arguments.
pub(super) trait Arguments {
    fn argument(&self, index: usize) -> Result<&Expression, Unsupported>;
    fn integer(&self, index: usize) -> Result<i64, Unsupported>;
    fn names_of(&self, index: usize) -> Vec<&str>;
    fn has_flag(&self, flag: &str) -> bool;
    fn expected_descriptor(&self) -> Result<i64, Unsupported>;
    fn vectors(&self, index: usize) -> Result<Bytes, Unsupported>;
    fn vectors_of_message(&self, index: usize) -> Result<Bytes, Unsupported>;
    fn vector_lengths(&self, index: usize) -> Option<Vec<u32>>;
    fn control_data(&self, index: usize, kind: &str) -> Option<i64>;
    fn control_field(&self, index: usize, field: &str) -> Option<&Expression>;
}

impl Arguments for Call {
    fn argument(&self, index: usize) -> Result<&Expression, Unsupported> {
        self.arguments.get(index).ok_or_else(|| Unsupported {
            what: format!("{} has {} arguments", self.name, self.arguments.len()),
            remedy: format!("give it {} or more", index + 1),
        })
    }

    fn integer(&self, index: usize) -> Result<i64, Unsupported> {
        let argument = self.argument(index)?;
        value_of(argument).ok_or_else(|| Unsupported {
            what: format!("argument {} of {} is {argument}", index + 1, self.name),
            remedy: "write a number".to_owned(),
        })
    }

    fn names_of(&self, index: usize) -> Vec<&str> {
        self.arguments.get(index).map(Expression::names).unwrap_or_default()
    }

    /// Whether one of the arguments names a flag like `MSG_MORE`.
    fn has_flag(&self, flag: &str) -> bool {
        let bits = NUMBERED_FLAGS.iter().find(|(name, _)| *name == flag).map_or(0, |(_, bits)| *bits);
        let is_set = |argument: &Expression| argument.integer().is_some_and(|value| value & bits != 0);
        let numbered = self.arguments.get(3).is_some_and(is_set);
        numbered || self.arguments.iter().any(|argument| argument.names().contains(&flag))
    }

    /// The descriptor that the script expects from a call that opens one; an error if it expects an error.
    fn expected_descriptor(&self) -> Result<i64, Unsupported> {
        self.result.integer().ok_or_else(|| Unsupported {
            what: format!("{} is expected to return {}", self.name, self.result),
            remedy: "write the number of the new descriptor".to_owned(),
        })
    }

    /// The bytes of `[{..., 100}, {..., 200}]` together.
    fn vectors(&self, index: usize) -> Result<Bytes, Unsupported> {
        lengths(self.argument(index)?).ok_or_else(|| Unsupported {
            what: format!("argument {} of {} has no lengths", index + 1, self.name),
            remedy: "write vectors like [{..., 100}]".to_owned(),
        })
    }

    /// The bytes of the vectors of `{msg_name(...)=..., msg_iov(1)=[{..., 100}], …}`.
    fn vectors_of_message(&self, index: usize) -> Result<Bytes, Unsupported> {
        self.argument(index)?.field("msg_iov").and_then(lengths).ok_or_else(|| Unsupported {
            what: format!("argument {} of {} has no msg_iov", index + 1, self.name),
            remedy: "write a message like {msg_name(...)=..., msg_iov(1)=[{..., 100}], msg_flags=0}"
                .to_owned(),
        })
    }

    /// The length of each vector of a message.
    fn vector_lengths(&self, index: usize) -> Option<Vec<u32>> {
        let Expression::List(vectors) = self.arguments.get(index)?.field("msg_iov")? else { return None };
        let length = |vector: &Expression| match vector {
            Expression::Record(parts) => u32::try_from(parts.last()?.integer()?).ok(),
            _ => None,
        };
        vectors.iter().map(length).collect()
    }

    /// The data of the control message of a kind that the script expects to find in a message.
    fn control_data(&self, index: usize, kind: &str) -> Option<i64> {
        let Some(Expression::List(messages)) = self.arguments.get(index)?.field("msg_control") else {
            return None;
        };
        let wanted = messages
            .iter()
            .find(|message| message.field("cmsg_type").is_some_and(|name| name.names() == [kind]));
        wanted?.field("cmsg_data")?.integer()
    }

    /// A field of the data of the control messages that the script expects to find in a message.
    fn control_field(&self, index: usize, field: &str) -> Option<&Expression> {
        let Expression::List(messages) = self.arguments.get(index)?.field("msg_control")? else {
            return None;
        };
        messages.iter().find_map(|message| message.field("cmsg_data")?.field(field))
    }
}

/// Flags that a script may write as a number (include/linux/socket.h).
const NUMBERED_FLAGS: &[(&str, i64)] = &[("MSG_FASTOPEN", 0x2000_0000)];

fn lengths(vectors: &Expression) -> Option<Bytes> {
    let Expression::List(vectors) = vectors else { return None };
    let length = |vector: &Expression| match vector {
        Expression::Record(parts) => {
            parts.last().and_then(Expression::integer).map(|length| Bytes(length.unsigned_abs()))
        }
        _ => None,
    };
    vectors.iter().map(length).sum::<Option<Bytes>>()
}

/// An integer, also one between brackets as options have it: `[1]`.
pub(super) fn value_of(expression: &Expression) -> Option<i64> {
    match expression {
        Expression::Integer(value) => Some(*value),
        Expression::List(values) if values.len() == 1 => value_of(&values[0]),
        _ => None,
    }
}

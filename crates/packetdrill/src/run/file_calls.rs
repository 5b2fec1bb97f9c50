//! Calls of files and pipes.

use units::Bytes;

use super::ScriptRun;
use super::arguments::{Arguments, Unsupported};
use super::files::OpenFile;
use super::reply::{CallResult, Reply};
use crate::script::{Call, Expression};

impl ScriptRun {
    pub(super) fn open_file(&mut self, call: &Call) -> CallResult {
        let descriptor = call.expected_descriptor()?;
        self.files.insert(descriptor, OpenFile::Regular);
        Ok(Reply::Value(descriptor))
    }

    /// `pipe([5, 6])`: both ends.
    pub(super) fn open_pipe(&mut self, call: &Call) -> CallResult {
        let ends: Option<Vec<i64>> = match call.argument(0)? {
            Expression::List(ends) => ends.iter().map(Expression::integer).collect(),
            _ => None,
        };
        let Some([reading, writing]) = ends.as_deref() else {
            return Err(Unsupported {
                what: format!("pipe has the argument {}", call.argument(0)?),
                remedy: "write the descriptors of both ends, like pipe([5, 6])".to_owned(),
            });
        };
        self.files.extend([*reading, *writing].map(|end| (end, OpenFile::Pipe)));
        Ok(Reply::Value(0))
    }

    /// `sendfile(socket, file, [offset], count)`.
    pub(super) fn send_file(&mut self, call: &Call) -> CallResult {
        match self.files.get(&call.integer(1)?) {
            Some(OpenFile::Regular) => self.write(call),
            Some(OpenFile::Pipe) => Ok(Reply::Error("EINVAL")),
            None => Ok(Reply::Error("EBADF")),
        }
    }

    /// `splice(socket, NULL, pipe, NULL, count, flags)`: received data, up to a byte that is urgent
    /// (net/ipv4/tcp.c, `__tcp_read_sock`).
    pub(super) fn splice(&mut self, call: &Call) -> CallResult {
        if self.files.get(&call.integer(2)?) != Some(&OpenFile::Pipe) {
            return Err(Unsupported {
                what: format!("splice writes to descriptor {}, which is no pipe", call.integer(2)?),
                remedy: "let it read from a socket and write to a pipe".to_owned(),
            });
        }
        let most = Bytes(call.integer(4)?.unsigned_abs());
        let (_, id) = self.on_connection(call)?;
        let before_mark = id.and_then(|id| self.host.connection(id).before_urgent_byte());
        match before_mark {
            Some(Bytes::ZERO) => Ok(Reply::Value(0)),
            before => self.take_data(call, most.min(before.unwrap_or(Bytes::MAX))),
        }
    }
}

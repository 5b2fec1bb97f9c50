//! The program at the far end of a device's links: a server, say. It ends with the run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use linux::device::Ends;
use linux::listening::listeners;

use crate::LiveError;
use crate::error::failed;
use crate::run::command::{CommandLine, Environment, Output};
use crate::run::listening::wait_for_listener;
use crate::stop::Stop;

/// A program at the far end, in this thread's network namespace.
pub(crate) struct OutsideProgram {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl OutsideProgram {
    /// Starts a program, unless `words` is empty. Its exit status goes to `report`.
    pub(crate) fn start(
        words: &[OsString],
        output: Output,
        environment: Environment,
        stop: &Arc<Stop>,
        report: impl FnOnce(Result<ExitStatus, LiveError>) + Send + 'static,
    ) -> Result<Self, LiveError> {
        let Some(command) = command_line(words) else {
            return Ok(Self { stop: Arc::clone(stop), thread: None });
        };
        let command = CommandLine { output, ..command };
        let own = Arc::clone(stop);
        let run = move || report(command.run(&environment, &own));
        let thread = thread::Builder::new()
            .name("outside".into())
            .spawn(run)
            .map_err(failed("outside", "start its thread"))?;
        Ok(Self { stop: Arc::clone(stop), thread: Some(thread) })
    }

    /// Starts a server, whose output goes to standard error, since standard output belongs to another program. In its
    /// words `$LASTHOP_ADDRESS` and `$LASTHOP_PEER` stand for the addresses of the two ends, as in its environment: it
    /// is started by no shell, and the one of the caller does not know them. Waits until it listens on a port, until
    /// `is_over`, or for some seconds.
    pub(crate) fn start_server(
        words: &[OsString],
        ends: &Ends,
        stop: &Arc<Stop>,
        report: impl FnOnce(Result<ExitStatus, LiveError>) + Send + 'static,
        is_over: impl FnMut() -> bool,
    ) -> Result<Self, LiveError> {
        let environment = BTreeMap::from([
            ("LASTHOP_ADDRESS".to_owned(), ends.outside.to_string()),
            ("LASTHOP_PEER".to_owned(), ends.inside.to_string()),
        ]);
        let words: Vec<OsString> = words.iter().map(|word| expanded(word, &environment)).collect();
        let before = listeners();
        let program = Self::start(&words, Output::ShownAsErrors, environment, stop, report)?;
        if program.thread.is_some() {
            wait_for_listener(before, stop, is_over);
        }
        Ok(program)
    }
}

impl Drop for OutsideProgram {
    fn drop(&mut self) {
        self.stop.stop();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Returns a word with the values of variables in the place of `$NAME`. Other texts after `$` stay.
fn expanded(word: &OsString, environment: &Environment) -> OsString {
    let Some(text) = word.to_str() else { return word.clone() };
    let replaced = |text: String, (name, value): (&String, &String)| text.replace(&format!("${name}"), value);
    environment.iter().fold(text.to_owned(), replaced).into()
}

/// Returns a sentence that says that a program at the far end has ended.
pub(crate) fn ended(status: ExitStatus) -> String {
    format!("the program outside has ended with status {}", status_of(status))
}

/// A program and its arguments; none if there are no words.
pub(crate) fn command_line(words: &[OsString]) -> Option<CommandLine> {
    let (program, arguments) = words.split_first()?;
    Some(CommandLine {
        program: program.clone(),
        arguments: arguments.to_vec(),
        output: Output::Shown,
        descriptor: None,
    })
}

/// Returns the exit status as a shell does: 128 plus the number of the signal that ended the program.
pub(crate) fn status_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_the_far_end_are_known_in_its_programs_words() {
        let environment = Environment::from([("LASTHOP_ADDRESS".to_owned(), "198.18.1.1".to_owned())]);
        let word = |text: &str| expanded(&text.into(), &environment);
        assert_eq!(word("$LASTHOP_ADDRESS:8000"), "198.18.1.1:8000");
        assert_eq!(word("echo $HOME $LASTHOP_PEER"), "echo $HOME $LASTHOP_PEER");
    }
}

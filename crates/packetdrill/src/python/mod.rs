//! Evaluates the Python of assertions: `%{ assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd }%`.
//!
//! Scripts use little of the language: assertions, assignments and `print` over integers, comparisons and arithmetic.
//! This subset is evaluated here, as Python 3 does; anything else is an error. Names are looked up among the
//! assignments of earlier code, and then in the runner's (fields of `tcp_info`, constants).

mod evaluate;
mod syntax;
mod value;

use std::collections::BTreeMap;

use syntax::{Expression, Statement};
pub use value::{Failure, Value};

/// The assignments so far.
#[derive(Clone, Debug, Default)]
pub struct Namespace(BTreeMap<String, Value>);

/// Runs code; `lookup` gives the values of names that no code has assigned.
///
/// # Errors
/// The first assertion that does not hold, or what cannot be evaluated.
pub fn run(code: &str, names: &mut Namespace, lookup: &dyn Fn(&str) -> Option<Value>) -> Result<(), Failure> {
    for statement in syntax::parse(code)? {
        let evaluate = |expression: &Expression| {
            let known = |name: &str| names.0.get(name).cloned().or_else(|| lookup(name));
            evaluate::evaluate(expression, &known)
        };
        match statement {
            Statement::Pass => {}
            Statement::Assign(name, expression) => {
                let value = evaluate(&expression)?;
                names.0.insert(name, value);
            }
            Statement::Expression(expression) => drop(evaluate(&expression)?),
            Statement::Assert { condition, written, message } => {
                if !evaluate(&condition)?.is_true() {
                    let value = message.as_ref().map(evaluate).transpose()?;
                    return Err(Failure::Assertion { condition: written, value });
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

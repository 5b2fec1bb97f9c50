//! The value of an expression, as in Python 3.

use super::syntax::Expression;
use super::value::{Failure, Value};

/// Evaluates an expression with the names of `lookup`.
pub(super) fn evaluate(
    expression: &Expression,
    lookup: &dyn Fn(&str) -> Option<Value>,
) -> Result<Value, Failure> {
    match expression {
        Expression::Integer(value) => Ok(Value::Integer(*value)),
        Expression::Float(value) => Ok(Value::Float(*value)),
        Expression::Text(text) => Ok(Value::Text(text.clone())),
        Expression::Name(name) => named(name, lookup),
        Expression::Call(name, arguments) => call(name, arguments, lookup),
        Expression::Unary(sign, operand) => unary(sign, &evaluate(operand, lookup)?),
        Expression::Binary(sign, left, right) => binary(sign, left, right, lookup),
        Expression::Compare(first, rest) => compare(first, rest, lookup),
        Expression::Tuple(values) => {
            let texts: Result<Vec<String>, Failure> =
                values.iter().map(|value| evaluate(value, lookup).map(|value| value.to_string())).collect();
            Ok(Value::Text(format!("({})", texts?.join(", "))))
        }
    }
}

fn named(name: &str, lookup: &dyn Fn(&str) -> Option<Value>) -> Result<Value, Failure> {
    match name {
        "True" => Ok(Value::Bool(true)),
        "False" => Ok(Value::Bool(false)),
        "None" => Ok(Value::Nothing),
        _ => lookup(name).ok_or_else(|| Failure::UnknownName(name.to_owned())),
    }
}

fn call(
    name: &str,
    arguments: &[Expression],
    lookup: &dyn Fn(&str) -> Option<Value>,
) -> Result<Value, Failure> {
    let values: Result<Vec<Value>, Failure> = arguments.iter().map(|value| evaluate(value, lookup)).collect();
    let values = values?;
    match (name, values.as_slice()) {
        // Output of scripts is for a person at a terminal.
        ("print", _) => Ok(Value::Nothing),
        ("abs", [Value::Integer(value)]) => Ok(Value::Integer(value.abs())),
        ("int", [value]) => number(value).map(|value| Value::Integer(value as i64)),
        ("min" | "max", [_, ..]) => extreme(name == "min", &values),
        _ => Err(Failure::NotUnderstood(format!("{name}(…) with {} values is not understood", values.len()))),
    }
}

fn extreme(least: bool, values: &[Value]) -> Result<Value, Failure> {
    let mut chosen = values[0].clone();
    for value in &values[1..] {
        let less = number(value)? < number(&chosen)?;
        if less == least && number(value)? != number(&chosen)? {
            chosen = value.clone();
        }
    }
    Ok(chosen)
}

fn unary(sign: &str, operand: &Value) -> Result<Value, Failure> {
    match (sign, operand) {
        ("not", value) => Ok(Value::Bool(!value.is_true())),
        ("-", Value::Float(value)) => Ok(Value::Float(-value)),
        ("-", value) => {
            integer(value).and_then(|value| value.checked_neg().ok_or_else(too_large)).map(Value::Integer)
        }
        (_, value) => number(value).map(|_| value.clone()),
    }
}

fn binary(
    sign: &str,
    left: &Expression,
    right: &Expression,
    lookup: &dyn Fn(&str) -> Option<Value>,
) -> Result<Value, Failure> {
    let first = evaluate(left, lookup)?;
    // `and` and `or` look at the second only where the first leaves it open.
    match sign {
        "and" if !first.is_true() => return Ok(first),
        "or" if first.is_true() => return Ok(first),
        "and" | "or" => return evaluate(right, lookup),
        _ => {}
    }
    let second = evaluate(right, lookup)?;
    match (&first, &second) {
        (Value::Text(a), Value::Text(b)) if sign == "+" => Ok(Value::Text(format!("{a}{b}"))),
        // Formatting serves what scripts print: a value in the place of the first conversion.
        (Value::Text(format), value) if sign == "%" => Ok(Value::Text(formatted(format, value))),
        (Value::Float(_), _) | (_, Value::Float(_)) => floats(sign, number(&first)?, number(&second)?),
        _ if sign == "/" => floats(sign, number(&first)?, number(&second)?),
        _ => integers(sign, integer(&first)?, integer(&second)?),
    }
}

fn formatted(format: &str, value: &Value) -> String {
    match format.split_once('%') {
        Some((before, after)) => {
            format!("{before}{value}{}", after.trim_start_matches(|c: char| c.is_ascii_alphanumeric()))
        }
        None => format.to_owned(),
    }
}

fn integers(sign: &str, a: i64, b: i64) -> Result<Value, Failure> {
    let divides = || if b == 0 { Err(Failure::Type("division by zero".into())) } else { Ok(()) };
    let shift = || u32::try_from(b).map_err(|_| Failure::Type(format!("a shift by {b} is none")));
    let value = match sign {
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        // Python rounds towards minus infinity, and the remainder has the sign of the divisor.
        "//" => {
            divides()?;
            a.checked_div_euclid(b)
                .map(|quotient| if b < 0 && a.rem_euclid(b) != 0 { quotient - 1 } else { quotient })
        }
        "%" => {
            divides()?;
            a.checked_rem_euclid(b).map(|rest| if b < 0 && rest != 0 { rest + b } else { rest })
        }
        "|" => Some(a | b),
        "&" => Some(a & b),
        "^" => Some(a ^ b),
        "<<" => a.checked_shl(shift()?).filter(|shifted| shifted >> b.min(63) == a),
        ">>" => Some(a >> shift()?.min(63)),
        _ => return Err(Failure::Type(format!("integers have no \"{sign}\""))),
    };
    value.map(Value::Integer).ok_or_else(too_large)
}

fn floats(sign: &str, a: f64, b: f64) -> Result<Value, Failure> {
    let value = match sign {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" if b == 0.0 => return Err(Failure::Type("division by zero".into())),
        "/" => a / b,
        _ => return Err(Failure::Type(format!("decimals have no \"{sign}\""))),
    };
    Ok(Value::Float(value))
}

/// A chain holds if each of its comparisons does; evaluation stops at the first that fails.
fn compare(
    first: &Expression,
    rest: &[(&'static str, Expression)],
    lookup: &dyn Fn(&str) -> Option<Value>,
) -> Result<Value, Failure> {
    let mut left = evaluate(first, lookup)?;
    for (sign, expression) in rest {
        let right = evaluate(expression, lookup)?;
        if !holds(sign, &left, &right)? {
            return Ok(Value::Bool(false));
        }
        left = right;
    }
    Ok(Value::Bool(true))
}

fn holds(sign: &str, left: &Value, right: &Value) -> Result<bool, Failure> {
    if let (Value::Text(_) | Value::Nothing, _) | (_, Value::Text(_) | Value::Nothing) = (left, right) {
        return match sign {
            "==" => Ok(left == right),
            "!=" => Ok(left != right),
            _ => Err(Failure::Type(format!("{left} and {right} have no order"))),
        };
    }
    let (a, b) = (number(left)?, number(right)?);
    Ok(match sign {
        "==" => a == b,
        "!=" => a != b,
        "<" => a < b,
        "<=" => a <= b,
        ">" => a > b,
        _ => a >= b,
    })
}

fn integer(value: &Value) -> Result<i64, Failure> {
    match value {
        Value::Integer(value) => Ok(*value),
        Value::Bool(value) => Ok(i64::from(*value)),
        _ => Err(Failure::Type(format!("{value} is not an integer"))),
    }
}

fn number(value: &Value) -> Result<f64, Failure> {
    match value {
        Value::Float(value) => Ok(*value),
        _ => integer(value).map(|value| value as f64),
    }
}

fn too_large() -> Failure {
    Failure::Type("the value is beyond 64 bits".into())
}

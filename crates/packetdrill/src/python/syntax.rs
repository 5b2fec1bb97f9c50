//! From the text of code to statements.

use super::value::Failure;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Statement {
    Pass,
    Assign(String, Expression),
    Expression(Expression),
    Assert { condition: Expression, written: String, message: Option<Expression> },
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    Integer(i64),
    Float(f64),
    Text(String),
    Name(String),
    /// `name(a, b)`
    Call(String, Vec<Expression>),
    /// `-a`, `+a`, `not a`
    Unary(&'static str, Box<Expression>),
    /// `a + b`, `a and b`
    Binary(&'static str, Box<Expression>, Box<Expression>),
    /// `a < b <= c`
    Compare(Box<Expression>, Vec<(&'static str, Expression)>),
    /// Values with commas between them, as `assert a, (b, c)` has them.
    Tuple(Vec<Expression>),
}

/// Binary operators by how strongly they bind, the weakest first.
const LEVELS: &[&[&str]] =
    &[&["or"], &["and"], &["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "//", "/", "%"]];
const COMPARISONS: &[&str] = &["==", "!=", "<=", ">=", "<", ">"];
const SIGNS: &[&str] = &[
    "<<", ">>", "==", "!=", "<=", ">=", "//", "<", ">", "=", "+", "-", "*", "/", "%", "(", ")", ",", "|",
    "&", "^", ".",
];

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Integer(i64),
    Float(f64),
    Text(String),
    Word(String),
    Sign(&'static str),
}

/// The statements of code, separated by line ends or `;`.
pub(super) fn parse(code: &str) -> Result<Vec<Statement>, Failure> {
    let joined = code.replace("\\\n", " ");
    let lines = joined.lines().map(without_comment);
    // A line that ends within brackets continues in the next.
    let mut statements = Vec::new();
    let mut text = String::new();
    for line in lines {
        text.push_str(line);
        if open_brackets(&text) > 0 {
            text.push(' ');
            continue;
        }
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            statements.push(statement(part)?);
        }
        text.clear();
    }
    if text.trim().is_empty() { Ok(statements) } else { Err(unfinished(&text)) }
}

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or(line)
}

fn open_brackets(text: &str) -> usize {
    text.matches('(').count().saturating_sub(text.matches(')').count())
}

fn unfinished(text: &str) -> Failure {
    Failure::NotUnderstood(format!("\"{}\" has no end", text.trim()))
}

fn statement(text: &str) -> Result<Statement, Failure> {
    if text == "pass" || text.starts_with("import ") {
        return Ok(Statement::Pass);
    }
    let tokens = tokens(text)?;
    if let [Token::Word(name), Token::Sign("="), rest @ ..] = tokens.as_slice() {
        return Ok(Statement::Assign(name.clone(), whole(text, rest)?));
    }
    if let [Token::Word(word), rest @ ..] = tokens.as_slice()
        && word == "assert"
    {
        let mut reader = Reader { text, tokens: rest };
        let condition = reader.binary(0)?;
        let message = if reader.takes(",") { Some(reader.tuple()?) } else { None };
        reader.finish()?;
        let written = text["assert".len()..].split(',').next().unwrap_or(text).trim().to_owned();
        return Ok(Statement::Assert { condition, written, message });
    }
    whole(text, &tokens).map(Statement::Expression)
}

fn whole(text: &str, tokens: &[Token]) -> Result<Expression, Failure> {
    let mut reader = Reader { text, tokens };
    let expression = reader.tuple()?;
    reader.finish()?;
    Ok(expression)
}

struct Reader<'a> {
    text: &'a str,
    tokens: &'a [Token],
}

impl Reader<'_> {
    fn finish(&self) -> Result<(), Failure> {
        if self.tokens.is_empty() { Ok(()) } else { Err(self.not_understood()) }
    }

    fn not_understood(&self) -> Failure {
        let text = self.text;
        Failure::NotUnderstood(format!(
            "\"{text}\" is not understood; assertions, assignments, comparisons and arithmetic are"
        ))
    }

    /// Takes the next token if it is this sign or word.
    fn takes(&mut self, wanted: &str) -> bool {
        let is = match self.tokens.first() {
            Some(Token::Sign(sign)) => *sign == wanted,
            Some(Token::Word(word)) => word == wanted,
            _ => false,
        };
        if is {
            self.tokens = &self.tokens[1..];
        }
        is
    }

    fn takes_one_of(&mut self, wanted: &[&'static str]) -> Option<&'static str> {
        wanted.iter().find(|sign| self.takes(sign)).copied()
    }

    fn tuple(&mut self) -> Result<Expression, Failure> {
        let first = self.binary(0)?;
        let mut all = vec![first];
        while self.takes(",") {
            all.push(self.binary(0)?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Expression::Tuple(all) })
    }

    fn binary(&mut self, level: usize) -> Result<Expression, Failure> {
        // `not` and comparisons bind between `and` and the bits.
        if level == 2 {
            return self.negation();
        }
        self.operators(level, if level < 2 { level } else { level - 1 })
    }

    fn operators(&mut self, level: usize, row: usize) -> Result<Expression, Failure> {
        let Some(signs) = LEVELS.get(row) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(sign) = self.takes_one_of(signs) {
            left = Expression::Binary(sign, Box::new(left), Box::new(self.binary(level + 1)?));
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<Expression, Failure> {
        if self.takes("not") {
            return Ok(Expression::Unary("not", Box::new(self.negation()?)));
        }
        let first = self.binary(3)?;
        let mut rest = Vec::new();
        while let Some(sign) = self.takes_one_of(COMPARISONS) {
            rest.push((sign, self.binary(3)?));
        }
        Ok(if rest.is_empty() { first } else { Expression::Compare(Box::new(first), rest) })
    }

    fn unary(&mut self) -> Result<Expression, Failure> {
        match self.takes_one_of(&["-", "+"]) {
            Some(sign) => Ok(Expression::Unary(sign, Box::new(self.unary()?))),
            None => self.single(),
        }
    }

    fn single(&mut self) -> Result<Expression, Failure> {
        if self.takes("(") {
            let inside = self.tuple()?;
            return if self.takes(")") { Ok(inside) } else { Err(self.not_understood()) };
        }
        let Some((first, rest)) = self.tokens.split_first() else { return Err(self.not_understood()) };
        self.tokens = rest;
        match first {
            Token::Integer(value) => Ok(Expression::Integer(*value)),
            Token::Float(value) => Ok(Expression::Float(*value)),
            Token::Text(text) => Ok(Expression::Text(text.clone())),
            Token::Word(name) if self.takes("(") => self.call(name),
            Token::Word(name) => Ok(Expression::Name(name.clone())),
            Token::Sign(_) => Err(self.not_understood()),
        }
    }

    fn call(&mut self, name: &str) -> Result<Expression, Failure> {
        if self.takes(")") {
            return Ok(Expression::Call(name.to_owned(), Vec::new()));
        }
        let arguments = match self.tuple()? {
            Expression::Tuple(arguments) => arguments,
            one => vec![one],
        };
        if self.takes(")") {
            Ok(Expression::Call(name.to_owned(), arguments))
        } else {
            Err(self.not_understood())
        }
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, Failure> {
    let mut rest = text.trim_start();
    let mut tokens = Vec::new();
    while let Some(first) = rest.chars().next() {
        let (token, len) = match first {
            '0'..='9' => number(rest)?,
            '"' | '\'' => {
                let end = rest[1..].find(first).ok_or_else(|| unfinished(text))?;
                (Token::Text(rest[1..=end].to_owned()), end + 2)
            }
            _ if first.is_ascii_alphabetic() || first == '_' => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                (Token::Word(rest[..end].to_owned()), end)
            }
            _ => {
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
                let sign = sign.ok_or_else(|| {
                    Failure::NotUnderstood(format!("'{first}' in \"{text}\" is not understood"))
                })?;
                (Token::Sign(sign), sign.len())
            }
        };
        tokens.push(token);
        rest = rest[len..].trim_start();
    }
    Ok(tokens)
}

fn number(text: &str) -> Result<(Token, usize), Failure> {
    let bad = |text: &str| Failure::NotUnderstood(format!("{text} is not a number that is understood"));
    if let Some(hex) = text.strip_prefix("0x") {
        let len = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
        return i64::from_str_radix(&hex[..len], 16)
            .map(|value| (Token::Integer(value), len + 2))
            .map_err(|_| bad(text));
    }
    let len = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let digits = &text[..len];
    let token = if digits.contains('.') {
        digits.parse().map(Token::Float).map_err(|_| bad(digits))
    } else {
        digits.parse().map(Token::Integer).map_err(|_| bad(digits))
    };
    token.map(|token| (token, len))
}

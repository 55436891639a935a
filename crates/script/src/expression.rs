//! Expressions of `\set`, `\if` and `\elif`.
//!
//! The grammar is that of pgbench (`exprparse.y`): operators bind, from loosely to tightly, as
//! OR, AND, NOT, IS, comparisons, bits and shifts, sums, products, signs.

use crate::{error::SyntaxError, value::Value, variables::is_name_byte};

/// An expression; `V` is what a variable is known by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression<V> {
    Constant(Value),
    Variable(V),
    Call(Function, Vec<Expression<V>>),
    And(Box<[Expression<V>; 2]>),
    Or(Box<[Expression<V>; 2]>),
    /// Conditions with their values, and the value where none holds.
    Case(Vec<[Expression<V>; 2]>, Box<Expression<V>>),
}

/// A variable by its name, and where it stands in the script.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) offset: usize,
}

/// What is done with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Not,
    Is,
    Abs,
    Debug,
    Double,
    Exp,
    Greatest,
    HashFnv,
    HashMurmur,
    Int,
    Least,
    Ln,
    Permute,
    Pi,
    Power,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Sqrt,
}

/// The variable that seeds hashes and permutations unless a seed is given.
pub(crate) const DEFAULT_SEED: &str = "default_seed";

/// Functions by name, with the fewest and most arguments.
const FUNCTIONS: [(&str, Function, usize, usize); 21] = [
    ("abs", Function::Abs, 1, 1),
    ("debug", Function::Debug, 1, 1),
    ("double", Function::Double, 1, 1),
    ("exp", Function::Exp, 1, 1),
    ("greatest", Function::Greatest, 1, usize::MAX),
    ("hash", Function::HashMurmur, 1, 2),
    ("hash_fnv1a", Function::HashFnv, 1, 2),
    ("hash_murmur2", Function::HashMurmur, 1, 2),
    ("int", Function::Int, 1, 1),
    ("least", Function::Least, 1, usize::MAX),
    ("ln", Function::Ln, 1, 1),
    ("mod", Function::Modulo, 2, 2),
    ("permute", Function::Permute, 2, 3),
    ("pi", Function::Pi, 0, 0),
    ("pow", Function::Power, 2, 2),
    ("power", Function::Power, 2, 2),
    ("random", Function::Random, 2, 2),
    ("random_exponential", Function::RandomExponential, 3, 3),
    ("random_gaussian", Function::RandomGaussian, 3, 3),
    ("random_zipfian", Function::RandomZipfian, 3, 3),
    ("sqrt", Function::Sqrt, 1, 1),
];

/// How deeply expressions may be nested: far beyond what people write, and no danger to the
/// stack.
const DEPTH_MAX: u32 = 100;

/// The most operators of an expression, for the same reason.
const OPERATORS_MAX: u32 = 1000;

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Integer(u64),
    Double(f64),
    Variable(String),
    /// A word in lower case.
    Word(String),
    Symbol(&'static str),
    End,
}

/// Symbols, longer ones first.
const SYMBOLS: [&str; 21] = [
    "<>", "<=", ">=", "!=", "<<", ">>", "<", ">", "=", "+", "-", "*", "/", "%", "&", "|", "#", "~",
    "(", ")", ",",
];

/// Reads the expression in a range of a script.
pub(crate) fn parse(
    script: &str,
    source: &str,
    range: std::ops::Range<usize>,
) -> Result<Expression<Named>, SyntaxError> {
    let mut parser = Parser {
        script,
        source,
        at: range.start,
        end: range.end,
        token: Token::End,
        token_at: range.start,
        depth: 0,
        operators: 0,
    };
    parser.advance()?;
    let expression = parser.binary(0)?;
    match parser.token {
        Token::End => Ok(expression),
        _ => Err(parser.unexpected("an operator or the line's end")),
    }
}

struct Parser<'s> {
    script: &'s str,
    source: &'s str,
    at: usize,
    end: usize,
    token: Token,
    token_at: usize,
    depth: u32,
    /// Operators so far: a chain of them is as deep as it is long.
    operators: u32,
}

type Parsed = Result<Expression<Named>, SyntaxError>;

impl Parser<'_> {
    fn error(&self, offset: usize, message: impl Into<String>) -> SyntaxError {
        SyntaxError::at(self.script, self.source, offset, message)
    }

    fn unexpected(&self, wanted: &str) -> SyntaxError {
        self.error(self.token_at, format!("{wanted} is expected here"))
    }

    fn advance(&mut self) -> Result<(), SyntaxError> {
        let bytes = self.source.as_bytes();
        while self.at < self.end {
            // A backslash is here only before a line's end, which it continues.
            match bytes[self.at] {
                b' ' | b'\t' | b'\r' | b'\n' | b'\x0b' | b'\x0c' => self.at += 1,
                b'\\'
                    if self.source[self.at + 1..self.end]
                        .trim_start_matches('\r')
                        .starts_with('\n') =>
                {
                    self.at += 1;
                }
                _ => break,
            }
        }
        self.token_at = self.at;
        let rest = &self.source[self.at..self.end];
        let Some(&first) = rest.as_bytes().first() else {
            self.token = Token::End;
            return Ok(());
        };
        let word = |from: usize| {
            rest[from..]
                .bytes()
                .take_while(|byte| is_name_byte(*byte))
                .count()
        };
        if first == b':' {
            let length = word(1);
            if length == 0 {
                return Err(self.error(self.at, "a variable's name is missing behind the colon"));
            }
            self.token = Token::Variable(rest[1..=length].to_owned());
            self.at += 1 + length;
        } else if first.is_ascii_digit()
            || (first == b'.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()))
        {
            self.number()?;
        } else if is_name_byte(first) {
            let length = word(0);
            self.token = Token::Word(rest[..length].to_ascii_lowercase());
            self.at += length;
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            self.token = Token::Symbol(symbol);
            self.at += symbol.len();
        } else {
            return Err(self.error(self.at, "this character means nothing here"));
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), SyntaxError> {
        let rest = &self.source[self.at..self.end];
        let digits = |from: usize| rest[from..].bytes().take_while(u8::is_ascii_digit).count();
        let mut length = digits(0);
        let mut is_double = false;
        if rest[length..].starts_with('.') {
            is_double = true;
            length += 1 + digits(length + 1);
        }
        if rest[length..].starts_with(['e', 'E']) {
            let sign = usize::from(rest[length + 1..].starts_with(['+', '-']));
            let exponent = digits(length + 1 + sign);
            if exponent > 0 {
                is_double = true;
                length += 1 + sign + exponent;
            }
        }
        let text = &rest[..length];
        let is_glued = rest[length..].bytes().next().is_some_and(is_name_byte);
        self.token = match (is_double, is_glued) {
            (_, true) => {
                return Err(
                    self.error(self.at + length, "a number ends here, and a letter follows")
                );
            }
            (true, _) => match text.parse::<f64>() {
                Ok(value) if value.is_finite() => Token::Double(value),
                _ => return Err(self.error(self.at, "this number is too large")),
            },
            (false, _) => match text.parse() {
                Ok(value) if value <= 1 << 63 => Token::Integer(value),
                _ => return Err(self.error(self.at, "this number is too large")),
            },
        };
        self.at += length;
        Ok(())
    }

    fn is_symbol(&self, symbol: &str) -> bool {
        matches!(&self.token, Token::Symbol(found) if *found == symbol)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(&self.token, Token::Word(found) if found == word)
    }

    fn expect_symbol(&mut self, symbol: &'static str) -> Result<(), SyntaxError> {
        if !self.is_symbol(symbol) {
            return Err(self.unexpected(symbol));
        }
        self.advance()
    }

    fn expect_word(&mut self, word: &str) -> Result<(), SyntaxError> {
        if !self.is_word(word) {
            return Err(self.unexpected(&word.to_ascii_uppercase()));
        }
        self.advance()
    }

    /// The operator that stands here, how tightly it binds, and whether it takes another one of
    /// its kind at its left.
    fn operator(&self) -> Option<(Operator, u32, bool)> {
        let symbol = match &self.token {
            Token::Word(word) => match word.as_str() {
                "or" => return Some((Operator::Or, OR, true)),
                "and" => return Some((Operator::And, AND, true)),
                "is" => return Some((Operator::Is, IS, true)),
                "isnull" => return Some((Operator::IsNull(true), IS, true)),
                "notnull" => return Some((Operator::IsNull(false), IS, true)),
                _ => return None,
            },
            Token::Symbol(symbol) => *symbol,
            _ => return None,
        };
        let call =
            |function, binding, chains| Some((Operator::Call(function, false), binding, chains));
        match symbol {
            "<" => call(Function::Less, COMPARISON, false),
            "<=" => call(Function::LessOrEqual, COMPARISON, false),
            ">" => Some((Operator::Call(Function::Less, true), COMPARISON, false)),
            ">=" => Some((
                Operator::Call(Function::LessOrEqual, true),
                COMPARISON,
                false,
            )),
            "=" => call(Function::Equal, COMPARISON, false),
            "<>" | "!=" => call(Function::NotEqual, COMPARISON, false),
            "|" => call(Function::BitOr, BITS, true),
            "#" => call(Function::BitXor, BITS, true),
            "&" => call(Function::BitAnd, BITS, true),
            "<<" => call(Function::ShiftLeft, BITS, true),
            ">>" => call(Function::ShiftRight, BITS, true),
            "+" => call(Function::Add, SUM, true),
            "-" => call(Function::Subtract, SUM, true),
            "*" => call(Function::Multiply, PRODUCT, true),
            "/" => call(Function::Divide, PRODUCT, true),
            "%" => call(Function::Modulo, PRODUCT, true),
            _ => None,
        }
    }

    /// An expression whose operators bind at least so tightly.
    fn binary(&mut self, least: u32) -> Parsed {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.error(self.token_at, "this expression is nested too deeply"));
        }
        let mut left = self.prefix()?;
        // What may not follow: a second comparison without parentheses.
        let mut closed = None;
        while let Some((operator, binding, chains)) = self.operator() {
            if binding < least {
                break;
            }
            if closed == Some(binding) {
                return Err(self.error(
                    self.token_at,
                    "put parentheses around the comparison before",
                ));
            }
            self.operators += 1;
            if self.operators > OPERATORS_MAX {
                return Err(self.error(self.token_at, "this expression is too long"));
            }
            self.advance()?;
            left = match operator {
                Operator::Is => self.is(left)?,
                Operator::IsNull(wanted) => is(left, Value::Null, wanted),
                Operator::And => Expression::And(Box::new([left, self.binary(binding + 1)?])),
                Operator::Or => Expression::Or(Box::new([left, self.binary(binding + 1)?])),
                Operator::Call(function, is_turned) => {
                    let right = self.binary(binding + 1)?;
                    let operands = if is_turned {
                        vec![right, left]
                    } else {
                        vec![left, right]
                    };
                    Expression::Call(function, operands)
                }
            };
            closed = (!chains).then_some(binding);
        }
        self.depth -= 1;
        Ok(left)
    }

    /// What follows IS.
    fn is(&mut self, left: Expression<Named>) -> Parsed {
        let wanted = !self.is_word("not");
        if !wanted {
            self.advance()?;
        }
        let value = match &self.token {
            Token::Word(word) => constant(word),
            _ => None,
        };
        let Some(value) = value else {
            return Err(self.unexpected("NULL, TRUE or FALSE"));
        };
        self.advance()?;
        Ok(is(left, value, wanted))
    }

    /// Signs and NOT, and what they stand before.
    fn prefix(&mut self) -> Parsed {
        let call = |function, operands| Ok(Expression::Call(function, operands));
        if self.is_word("not") {
            self.advance()?;
            let operand = self.binary(NOT)?;
            return call(Function::Not, vec![operand]);
        }
        if self.is_symbol("~") {
            self.advance()?;
            let operand = self.binary(BITS + 1)?;
            return call(
                Function::BitXor,
                vec![Expression::Constant(Value::Integer(-1)), operand],
            );
        }
        if self.is_symbol("+") {
            self.advance()?;
            return self.binary(SIGN);
        }
        if self.is_symbol("-") {
            self.advance()?;
            // The least number has no positive one.
            if self.token == Token::Integer(1 << 63) {
                self.advance()?;
                return Ok(Expression::Constant(Value::Integer(i64::MIN)));
            }
            let operand = self.binary(SIGN)?;
            return call(
                Function::Subtract,
                vec![Expression::Constant(Value::Integer(0)), operand],
            );
        }
        self.primary()
    }

    fn primary(&mut self) -> Parsed {
        let offset = self.token_at;
        let expression = match self.token.clone() {
            Token::Integer(value) => match i64::try_from(value) {
                Ok(value) => Expression::Constant(Value::Integer(value)),
                Err(_) => return Err(self.error(offset, "this number is too large")),
            },
            Token::Double(value) => Expression::Constant(Value::Double(value)),
            Token::Variable(name) => Expression::Variable(Named { name, offset }),
            Token::Symbol("(") => {
                self.advance()?;
                let inner = self.binary(0)?;
                self.expect_symbol(")")?;
                return Ok(inner);
            }
            Token::Word(word) => {
                self.advance()?;
                if let Some(value) = constant(&word) {
                    return Ok(Expression::Constant(value));
                }
                return if word == "case" {
                    self.case()
                } else {
                    self.call(&word, offset)
                };
            }
            Token::Symbol(_) | Token::End => return Err(self.unexpected("a value")),
        };
        self.advance()?;
        Ok(expression)
    }

    fn case(&mut self) -> Parsed {
        let mut branches = Vec::new();
        while self.is_word("when") {
            self.advance()?;
            let condition = self.binary(0)?;
            self.expect_word("then")?;
            branches.push([condition, self.binary(0)?]);
        }
        if branches.is_empty() {
            return Err(self.unexpected("WHEN"));
        }
        let otherwise = match self.is_word("else") {
            true => {
                self.advance()?;
                self.binary(0)?
            }
            false => Expression::Constant(Value::Null),
        };
        self.expect_word("end")?;
        Ok(Expression::Case(branches, Box::new(otherwise)))
    }

    fn call(&mut self, name: &str, offset: usize) -> Parsed {
        let Some((_, function, least, most)) =
            FUNCTIONS.iter().find(|(known, ..)| *known == name).copied()
        else {
            return Err(self.error(offset, format!("{name} is no function of pgbench's")));
        };
        self.expect_symbol("(")?;
        let mut arguments = Vec::new();
        if !self.is_symbol(")") {
            arguments.push(self.binary(0)?);
            while self.is_symbol(",") {
                self.advance()?;
                arguments.push(self.binary(0)?);
            }
        }
        self.expect_symbol(")")?;
        if !(least..=most).contains(&arguments.len()) {
            let wanted = match (least, most) {
                (least, usize::MAX) => format!("at least {least}"),
                (least, most) if least == most => least.to_string(),
                (least, most) => format!("{least} or {most}"),
            };
            let message = format!("{name} takes {wanted} arguments, not {}", arguments.len());
            return Err(self.error(offset, message));
        }
        let is_seeded = matches!(
            function,
            Function::HashFnv | Function::HashMurmur | Function::Permute
        );
        if is_seeded && arguments.len() < most {
            let name = DEFAULT_SEED.to_owned();
            arguments.push(Expression::Variable(Named { name, offset }));
        }
        Ok(Expression::Call(function, arguments))
    }
}

enum Operator {
    Or,
    And,
    Is,
    /// ISNULL, or NOTNULL.
    IsNull(bool),
    /// A function of both operands, which may be turned around.
    Call(Function, bool),
}

const OR: u32 = 1;
const AND: u32 = 2;
const NOT: u32 = 3;
const IS: u32 = 4;
const COMPARISON: u32 = 5;
const BITS: u32 = 6;
const SUM: u32 = 7;
const PRODUCT: u32 = 8;
const SIGN: u32 = 9;

fn constant(word: &str) -> Option<Value> {
    match word {
        "null" => Some(Value::Null),
        "true" => Some(Value::Boolean(true)),
        "false" => Some(Value::Boolean(false)),
        _ => None,
    }
}

fn is(left: Expression<Named>, value: Value, wanted: bool) -> Expression<Named> {
    let is = Expression::Call(Function::Is, vec![left, Expression::Constant(value)]);
    match wanted {
        true => is,
        false => Expression::Call(Function::Not, vec![is]),
    }
}

impl Expression<Named> {
    /// The same with its variables replaced.
    pub(crate) fn resolve<V, E>(
        &self,
        find: &mut dyn FnMut(&Named) -> Result<V, E>,
    ) -> Result<Expression<V>, E> {
        let mut each = |expressions: &[Self]| -> Result<Vec<Expression<V>>, E> {
            expressions.iter().map(|of| of.resolve(find)).collect()
        };
        fn two<V>(of: Vec<Expression<V>>) -> [Expression<V>; 2] {
            match <[Expression<V>; 2]>::try_from(of) {
                Ok(of) => of,
                Err(_) => unreachable!("two expressions were resolved"),
            }
        }
        Ok(match self {
            Self::Constant(value) => Expression::Constant(*value),
            Self::Variable(named) => Expression::Variable(find(named)?),
            Self::Call(function, operands) => Expression::Call(*function, each(operands)?),
            Self::And(operands) => Expression::And(Box::new(two(each(operands.as_ref())?))),
            Self::Or(operands) => Expression::Or(Box::new(two(each(operands.as_ref())?))),
            Self::Case(branches, otherwise) => {
                let mut resolved = Vec::new();
                for branch in branches {
                    resolved.push(two(each(branch)?));
                }
                Expression::Case(resolved, Box::new(otherwise.resolve(find)?))
            }
        })
    }
}

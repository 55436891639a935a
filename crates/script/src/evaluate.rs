//! The value of an expression (`evalStandardFunc` and its kin in pgbench).

use crate::{
    expression::{Expression, Function},
    hash, permute,
    random::{self, Random},
    value::{Result, Value},
    variables::{Slot, Variables},
};

/// A variable's place and name.
pub(crate) type Known = (Slot, Box<str>);

/// The most arguments that are evaluated before a function of a fixed number of them.
const ARGUMENTS: usize = 3;

/// The value of an expression. `random` is drawn from in the order in which pgbench draws:
/// arguments from the left, and nothing that is not needed.
pub(crate) fn evaluate(
    expression: &Expression<Known>,
    variables: &Variables,
    random: &mut dyn Random,
) -> Result<Value> {
    match expression {
        Expression::Constant(value) => Ok(*value),
        Expression::Variable((slot, name)) => variables.value(*slot, name),
        Expression::And(operands) => both(operands, false, variables, random),
        Expression::Or(operands) => both(operands, true, variables, random),
        Expression::Case(branches, otherwise) => {
            for [condition, value] in branches {
                if evaluate(condition, variables, random)?.holds() {
                    return evaluate(value, variables, random);
                }
            }
            evaluate(otherwise, variables, random)
        }
        Expression::Call(function @ (Function::Greatest | Function::Least), arguments) => extreme(
            *function == Function::Greatest,
            arguments,
            variables,
            random,
        ),
        Expression::Call(function, arguments) => {
            let mut values = [Value::Null; ARGUMENTS];
            let mut is_null = false;
            for (value, argument) in values.iter_mut().zip(arguments) {
                *value = evaluate(argument, variables, random)?;
                is_null |= *value == Value::Null;
            }
            match function {
                Function::Is => Ok(Value::Boolean(values[0] == values[1])),
                Function::Debug => Ok(values[0]),
                _ if is_null => Ok(Value::Null),
                _ => apply(*function, values, random),
            }
        }
    }
}

/// AND and OR. `decisive` is the value of the first operand that leaves the second one out;
/// so does NULL, which is the value then, whatever the second one is (`evalLazyFunc`).
fn both(
    operands: &[Expression<Known>; 2],
    decisive: bool,
    variables: &Variables,
    random: &mut dyn Random,
) -> Result<Value> {
    for operand in operands {
        match evaluate(operand, variables, random)? {
            Value::Null => return Ok(Value::Null),
            value if value.boolean()? == decisive => return Ok(Value::Boolean(decisive)),
            _ => {}
        }
    }
    Ok(Value::Boolean(!decisive))
}

/// The largest or smallest argument: a double where any is one.
fn extreme(
    is_largest: bool,
    arguments: &[Expression<Known>],
    variables: &Variables,
    random: &mut dyn Random,
) -> Result<Value> {
    let mut found: Option<Value> = None;
    let mut is_null = false;
    for argument in arguments {
        let value = evaluate(argument, variables, random)?;
        if value == Value::Null {
            is_null = true;
            continue;
        }
        found = Some(match (found, value) {
            (None, Value::Integer(_) | Value::Double(_)) => value,
            (None, value) => Value::Integer(value.integer()?),
            (Some(Value::Integer(found)), Value::Integer(value)) => Value::Integer(if is_largest {
                found.max(value)
            } else {
                found.min(value)
            }),
            (Some(found), value) => {
                let (found, value) = (found.double()?, value.double()?);
                Value::Double(if is_largest {
                    found.max(value)
                } else {
                    found.min(value)
                })
            }
        });
    }
    Ok(found.filter(|_| !is_null).unwrap_or(Value::Null))
}

fn apply(function: Function, values: [Value; ARGUMENTS], random: &mut dyn Random) -> Result<Value> {
    use Function as F;
    let [first, second, third] = values;
    match function {
        F::Add | F::Subtract | F::Multiply | F::Divide => arithmetic(function, first, second),
        F::Equal | F::NotEqual | F::Less | F::LessOrEqual => compare(function, first, second),
        F::Modulo | F::BitAnd | F::BitOr | F::BitXor | F::ShiftLeft | F::ShiftRight => {
            whole(function, first.integer()?, second.integer()?).map(Value::Integer)
        }
        F::Not => Ok(Value::Boolean(!first.boolean()?)),
        F::Abs => match first {
            Value::Double(value) => Ok(Value::Double(value.abs())),
            other => match other.integer()?.checked_abs() {
                Some(value) => Ok(Value::Integer(value)),
                None => Err("bigint out of range".into()),
            },
        },
        F::Double => first.double().map(Value::Double),
        F::Int => first.integer().map(Value::Integer),
        F::Exp => Ok(Value::Double(first.double()?.exp())),
        F::Ln => Ok(Value::Double(first.double()?.ln())),
        F::Sqrt => Ok(Value::Double(first.double()?.sqrt())),
        F::Power => Ok(Value::Double(first.double()?.powf(second.double()?))),
        F::Pi => Ok(Value::Double(std::f64::consts::PI)),
        F::HashFnv => Ok(Value::Integer(hash::fnv_1a(
            first.integer()?,
            second.integer()?,
        ))),
        F::HashMurmur => Ok(Value::Integer(hash::murmur_2(
            first.integer()?,
            second.integer()?,
        ))),
        F::Permute => {
            let (value, size, seed) = (first.integer()?, second.integer()?, third.integer()?);
            match u64::try_from(size) {
                Ok(size @ 1..) => {
                    let place = permute::permute(value, size, seed);
                    Ok(Value::Integer(place.cast_signed()))
                }
                _ => Err("permute size parameter must be greater than zero".into()),
            }
        }
        F::Random => {
            random::uniform(random, first.integer()?, second.integer()?).map(Value::Integer)
        }
        F::RandomExponential | F::RandomGaussian | F::RandomZipfian => {
            let draw = match function {
                F::RandomExponential => random::exponential,
                F::RandomGaussian => random::gaussian,
                _ => random::zipfian,
            };
            let drawn = draw(random, first.integer()?, second.integer()?, third.double()?);
            drawn.map(Value::Integer)
        }
        F::Is | F::Debug | F::Greatest | F::Least => {
            unreachable!("these take NULL and are evaluated before")
        }
    }
}

fn arithmetic(function: Function, first: Value, second: Value) -> Result<Value> {
    if let (Value::Double(_), _) | (_, Value::Double(_)) = (first, second) {
        let (first, second) = (first.double()?, second.double()?);
        return Ok(Value::Double(match function {
            Function::Add => first + second,
            Function::Subtract => first - second,
            Function::Multiply => first * second,
            _ => first / second,
        }));
    }
    let (first, second) = (first.integer()?, second.integer()?);
    let (result, name) = match function {
        Function::Add => (first.checked_add(second), "add"),
        Function::Subtract => (first.checked_sub(second), "sub"),
        Function::Multiply => (first.checked_mul(second), "mul"),
        _ if second == 0 => return Err("division by zero".into()),
        _ => (first.checked_div(second), "div"),
    };
    result
        .map(Value::Integer)
        .ok_or_else(|| format!("bigint {name} out of range"))
}

fn compare(function: Function, first: Value, second: Value) -> Result<Value> {
    let ordering = match (first, second) {
        (Value::Double(_), _) | (_, Value::Double(_)) => {
            first.double()?.partial_cmp(&second.double()?)
        }
        _ => Some(first.integer()?.cmp(&second.integer()?)),
    };
    Ok(Value::Boolean(match function {
        Function::Equal => ordering.is_some_and(|of| of.is_eq()),
        Function::NotEqual => !ordering.is_some_and(|of| of.is_eq()),
        Function::Less => ordering.is_some_and(|of| of.is_lt()),
        _ => ordering.is_some_and(|of| of.is_le()),
    }))
}

fn whole(function: Function, first: i64, second: i64) -> Result<i64> {
    // A processor shifts by the count's lowest six bits, and so does pgbench on it.
    let count = (second & 63) as u32;
    Ok(match function {
        Function::Modulo if second == 0 => return Err("division by zero".into()),
        Function::Modulo => first.wrapping_rem(second),
        Function::BitAnd => first & second,
        Function::BitOr => first | second,
        Function::BitXor => first ^ second,
        Function::ShiftLeft => first.wrapping_shl(count),
        _ => first.wrapping_shr(count),
    })
}

//! What is said of flags that make no sense: one line with the remedy last.

use std::{error::Error as _, ffi::OsString};

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use octavo_database::left_out;
use octavo_report::number::list;

use crate::shell;

/// What is wrong with the flags, and what to type instead. Without any command
/// it is the help, which has many lines.
pub(crate) fn complaint(error: &Error, arguments: &[OsString]) -> String {
    let all = |kind| error.get(kind).map(texts).unwrap_or_default();
    let one = |kind| all(kind).into_iter().next().unwrap_or_default();
    let option = option(&one(ContextKind::InvalidArg)).to_owned();
    let help = help(&one(ContextKind::Usage));
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let suggested = all(ContextKind::SuggestedSubcommand);
            let command = one(ContextKind::InvalidSubcommand);
            format!(
                "no command '{command}'; {}",
                instead(&command, &suggested, &help)
            )
        }
        ErrorKind::UnknownArgument => {
            if let Some(negative) = negative(&option, arguments) {
                return negative;
            }
            let suggested = all(ContextKind::SuggestedArg);
            let what = if option.starts_with('-') {
                "no option"
            } else {
                "unexpected argument"
            };
            format!("{what} '{option}'; {}", instead(&option, &suggested, &help))
        }
        ErrorKind::InvalidValue => {
            let value = one(ContextKind::InvalidValue);
            let possible = quoted(&all(ContextKind::ValidValue), "or");
            if value.is_empty() {
                return format!("{option} needs a value; {}", choose(&possible, &help));
            }
            let remedy = match nearest(&value, &all(ContextKind::SuggestedValue)) {
                _ if left_out().contains(&value.as_str()) => {
                    format!("this octavo was built without it: build it with --features {value}")
                }
                None => choose(&possible, &help),
                Some(name) => format!("did you mean '{name}'?"),
            };
            format!("{option} cannot be '{value}'; {remedy}")
        }
        ErrorKind::ValueValidation => {
            let value = one(ContextKind::InvalidValue);
            let why = error.source().map(ToString::to_string);
            let why = why.unwrap_or_default();
            match limits(&why).or_else(|| no_number(&why, &value)) {
                // It may have a password in it.
                _ if value.contains("://") => format!("{option}: {why}"),
                Some(limits) if value.parse::<f64>().is_ok() && !value.starts_with('-') => {
                    format!("{option} must be {limits}, not {value}")
                }
                Some(limits) => format!("{option} must be {limits}, not '{value}'"),
                None if why.contains(&value) => format!("{option}: {why}"),
                None => format!("{option} cannot be '{value}': {why}"),
            }
        }
        ErrorKind::MissingRequiredArgument => {
            let usage = one(ContextKind::Usage);
            let usage = usage.trim_start_matches("Usage:").trim();
            let missing = all(ContextKind::InvalidArg);
            let verb = if missing.len() > 1 { "are" } else { "is" };
            format!("{} {verb} missing; type {usage}", missing.join(" and "))
        }
        ErrorKind::ArgumentConflict => {
            let other = one(ContextKind::PriorArg);
            let other = self::option(&other);
            match other == option {
                true => format!("{option} can be given once; leave one out"),
                false => format!("{option} and {other} exclude each other; leave one out"),
            }
        }
        ErrorKind::InvalidUtf8 => {
            let broken = arguments
                .iter()
                .filter(|argument| argument.to_str().is_none())
                .map(shell::word);
            format!(
                "{} is not UTF-8, which names of devices, machines and the like are; rename it",
                list(broken.collect::<Vec<_>>(), "or")
            )
        }
        _ => {
            let text = error.to_string();
            let Some(text) = text.strip_prefix("error: ") else {
                return text;
            };
            let lines = text.lines().map(str::trim);
            let message: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
            format!("{}; see {help}", message.join(" "))
        }
    }
}

/// `--database` of `--database <NAME>`.
fn option(argument: &str) -> &str {
    argument.split([' ', '=']).next().unwrap_or_default()
}

fn texts(value: &ContextValue) -> Vec<String> {
    match value {
        ContextValue::String(text) => vec![text.clone()],
        ContextValue::Strings(texts) => texts.clone(),
        ContextValue::StyledStr(text) => vec![text.to_string()],
        ContextValue::StyledStrs(texts) => texts.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    }
}

fn quoted(names: &[String], last: &str) -> String {
    list(names.iter().map(|name| format!("'{name}'")), last)
}

/// The command whose help has what is missing, by the usage of what was typed.
fn help(usage: &str) -> String {
    let words = usage.trim_start_matches("Usage:").split_whitespace();
    let is_word = |word: &&str| word.chars().all(|letter| letter.is_ascii_lowercase());
    let command: Vec<&str> = words.take_while(is_word).collect();
    match command.as_slice() {
        [] => "octavo --help".into(),
        command => format!("{} --help", command.join(" ")),
    }
}

/// What is said of a negative number, which looks like an option to clap.
fn negative(option: &str, arguments: &[OsString]) -> Option<String> {
    let digit = option.strip_prefix('-')?.chars().next()?;
    if !digit.is_ascii_digit() && digit != '.' {
        return None;
    }
    let texts: Vec<_> = arguments
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let place = texts.iter().position(|word| word.starts_with(option))?;
    let before = texts[..place].last().filter(|word| word.starts_with("--"));
    let what = before.map_or("a value", |word| word);
    Some(format!(
        "{} is negative; give {what} a positive one",
        texts[place]
    ))
}

/// The most similar of clap's suggestions is its last. Many are not similar at all, but for
/// those that are begun.
fn nearest<'a>(given: &str, suggested: &'a [String]) -> Option<&'a String> {
    let is_near = |name: &&String| {
        let length = name.trim_start_matches('-').len();
        (given.len() > 2 && name.starts_with(given))
            || strsim::damerau_levenshtein(given, name) <= 1 + length / 4
    };
    suggested.last().filter(is_near)
}

fn instead(given: &str, suggested: &[String], help: &str) -> String {
    match nearest(given, suggested) {
        None => format!("see {help}"),
        Some(name) => format!("did you mean '{name}'?"),
    }
}

fn choose(possible: &str, help: &str) -> String {
    match possible {
        "" => format!("see {help}"),
        possible => format!("choose {possible}"),
    }
}

/// What a value has to be that the standard library takes for no number, in words.
fn no_number(why: &str, value: &str) -> Option<String> {
    let is_negative = value.starts_with('-');
    Some(match why {
        "invalid digit found in string" if is_negative => "a whole number from 0 on".into(),
        "invalid digit found in string" => "a whole number".into(),
        "cannot parse integer from empty string" => "a whole number".into(),
        "number would be zero for non-zero type" => "at least 1".into(),
        "number too large to fit in target type" => "a smaller number".into(),
        "invalid float literal" | "cannot parse float from empty string" => "a number".into(),
        _ => return None,
    })
}

/// The limits in clap's "0 is not in 1..=100", or without "=" where there is no
/// upper one, in words.
fn limits(why: &str) -> Option<String> {
    let (_, range) = why.split_once(" is not in ")?;
    let (least, most) = range.split_once("..")?;
    let most: u64 = most.trim_start_matches('=').parse().ok()?;
    Some(if most == u64::MAX || most == u64::from(u32::MAX) {
        format!("at least {least}")
    } else {
        format!("from {least} to {most}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guide;

    fn said(arguments: &[&str]) -> String {
        let arguments = ["octavo"].iter().chain(arguments);
        let arguments: Vec<OsString> = arguments.map(OsString::from).collect();
        complaint(&guide::parse(&arguments).unwrap_err(), &arguments)
    }

    #[test]
    fn every_complaint_is_one_line_with_the_remedy_last() {
        for (arguments, text) in [
            (
                &["advice"][..],
                "no command 'advice'; did you mean 'advise'?",
            ),
            (&["xyz"], "no command 'xyz'; see octavo --help"),
            (
                &["advise", "--page-size=4K"],
                "no option '--page-size'; did you mean '--page-sizes'?",
            ),
            (
                &["advise", "--database=postgrs"],
                "--database cannot be 'postgrs'; did you mean 'postgres'?",
            ),
            (
                &["advise", "--database=oracle"],
                "--database cannot be 'oracle'; choose 'sqlite', 'postgres', 'mariadb', 'mysql', 'libmdbx', 'lmdb' or 'rocksdb'",
            ),
            (
                &["bench", "--clients=0"],
                "--clients must be from 1 to 100000, not 0",
            ),
            (
                &["bench", "--transactions=0"],
                "--transactions must be at least 1, not 0",
            ),
            (
                &["calibrate"],
                "<DIRECTORY> is missing; type octavo calibrate <DIRECTORY>",
            ),
            (
                &["calibrate", "here", "--quick", "--full"],
                "--quick and --full exclude each other; leave one out",
            ),
            (
                &["report", "a", "b"],
                "unexpected argument 'b'; see octavo report --help",
            ),
            (
                &["advise", "--duration=5s"],
                "no option '--duration'; see octavo advise --help",
            ),
            (
                &["advise", "--budget", "-5s"],
                "-5s is negative; give --budget a positive one",
            ),
            (
                &["bench", "-3"],
                "-3 is negative; give a value a positive one",
            ),
            (
                &["advise", "--clients=x"],
                "--clients must be a whole number, not 'x'",
            ),
            (
                &["advise", "--seed=-1"],
                "--seed must be a whole number from 0 on, not '-1'",
            ),
            (
                &["advise", "--margin=wide"],
                "--margin must be a number, not 'wide'",
            ),
            (
                &["calibrate", "here", "--passes=0"],
                "--passes must be at least 1, not 0",
            ),
        ] {
            assert_eq!(said(arguments), text);
        }
        let url = "postgres://me:secret@here/db";
        for command in ["bench", "load", "advise", "check"] {
            assert_eq!(
                said(&[command, url]),
                "[DIRECTORY]: a server that you run is named with octavo bench --url"
            );
        }
        let budget = said(&["advise", "--budget=soon"]);
        assert!(budget.starts_with("--budget: 'soon' is not"), "{budget}");
    }
}

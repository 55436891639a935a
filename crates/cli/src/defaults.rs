//! `octavo.toml`: options that commands have where they are typed in its directory.
//!
//! They become words of the command line, right behind the command, so whatever holds for options
//! that are typed holds for them.

use std::{ffi::OsString, fs, iter, os::unix::fs::MetadataExt, path::Path, sync::OnceLock};

use anyhow::{Context, anyhow, bail, ensure};
use clap::{Arg, ArgMatches, Command, parser::ValueSource};
use octavo_report::number::list;
use octavo_storage::text;
use rustix::process::geteuid;
use toml::{Table, Value};

use crate::{failure::Failure, guide, print, shell};

/// Its name, in the working directory.
const FILE: &str = "octavo.toml";

/// Commands that have tables in it: those that decide or measure, and have options that somebody
/// would repeat.
const COMMANDS: [&str; 7] = ["advise", "predict", "value", "ab", "run", "bench", "load"];

/// Options that the file may have. All others have to be typed: a directory that came from somewhere else
/// runs no program of its own, writes and removes nothing, connects to nothing, chooses nobody's data,
/// and does not change what kind of answer is printed.
const ALLOWED: [&str; 51] = [
    "arrivals",
    "block-sizes",
    "bloom-bits",
    "budget",
    "cache",
    "clients",
    "compression",
    "cpus",
    "currency",
    "customers",
    "data",
    "database",
    "device",
    "distribution",
    "duration",
    "enlarge",
    "isolation",
    "journal-mode",
    "keep-data",
    "machine",
    "machine-price",
    "margin",
    "memory",
    "memory-price",
    "mix",
    "no-calibrate",
    "os-cache",
    "page-sizes",
    "part",
    "passes",
    "predict-first",
    "progress",
    "quiet",
    "rate",
    "readahead",
    "records",
    "replacement",
    "row-bytes",
    "scale",
    "scale-factor",
    "seed",
    "step",
    "storage-price",
    "times",
    "trade-days",
    "transactions",
    "verbose",
    "warehouses",
    "warm-up",
    "warm-up-time",
    "workload",
];

static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// The command line as it is read: `typed` with what the file adds, if there is one. Says on the
/// standard error what that is.
pub(crate) fn complete(typed: Vec<OsString>) -> Result<&'static [OsString], Failure> {
    let added = match needs_file(&typed) {
        true => match text::read(Path::new(FILE), text::WRITTEN_MAX) {
            Ok(_) if !is_ours() => Err(anyhow!(
                "{FILE} belongs to another user: make it yours, or type octavo --no-defaults"
            )),
            Ok(text) => defaults(&guide::command(), &typed, &text).context(FILE),
            Err(error) if error.is_missing() => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        },
        // What only looks has to work beside a file that is wrong.
        false => Ok(Vec::new()),
    };
    let added = added.map_err(Failure::Input)?;
    if !added.is_empty() {
        let words: Vec<String> = added.iter().map(shell::word).collect();
        print::aside(&format!("octavo: {FILE} adds {}", words.join(" ")));
    }
    let begin = typed.iter().take(2).cloned();
    let rest = typed.iter().skip(2).cloned();
    Ok(WORDS.get_or_init(|| begin.chain(added).chain(rest).collect()))
}

/// Whether the file is the user's or root's: in a shared directory anybody may put one.
fn is_ours() -> bool {
    let owner = fs::metadata(FILE).map(|about| about.uid());
    owner.is_ok_and(|owner| owner == 0 || owner == geteuid().as_raw())
}

/// Whether a command line is of a command that has a table, and does not ask for help. Behind
/// `--no-defaults` no command is the first word.
fn needs_file(typed: &[OsString]) -> bool {
    let is_command = |word: &OsString| COMMANDS.iter().any(|name| word == name);
    let is_help = |word: &OsString| word == "-h" || word == "--help";
    typed.get(1).is_some_and(is_command) && !typed.iter().any(is_help)
}

/// The command line behind the program's name, once [`complete`] has read it; empty before.
pub(crate) fn words() -> impl Iterator<Item = OsString> {
    WORDS.get().into_iter().flatten().skip(1).cloned()
}

/// What the file's text adds behind the command: its options that are not typed and do not exclude
/// any that is.
fn defaults(root: &Command, typed: &[OsString], text: &str) -> anyhow::Result<Vec<OsString>> {
    let tables: Table = toml::from_str(text).map_err(|error| {
        let message = error.message().to_owned();
        let before = error.span().and_then(|span| text.get(..span.start));
        match before.map(|before| before.matches('\n').count() + 1) {
            Some(line) => anyhow!("line {line}: {message}"),
            None => anyhow!(message),
        }
    })?;
    // All of it is read, whatever the command: a wrong word is found at once.
    for (name, options) in &tables {
        let command = COMMANDS.contains(&name.as_str());
        let command = command.then(|| root.find_subcommand(name)).flatten();
        let (Some(command), Some(options)) = (command, options.as_table()) else {
            bail!(
                "'{name}' is no table of options: there are {}",
                list(COMMANDS.map(|name| format!("[{name}]")), "and")
            );
        };
        for (option, value) in options {
            as_arguments(allowed(command, option)?, option, value)
                .with_context(|| format!("'{option}' in [{name}]"))?;
        }
    }
    let named = typed.get(1).and_then(|word| word.to_str()).unwrap_or("");
    let (Some(command), Some(Value::Table(options))) =
        (root.find_subcommand(named), tables.get(named))
    else {
        return Ok(Vec::new());
    };
    // What is wrong with it is said when all of it is read.
    let matches = root.clone().ignore_errors(true).try_get_matches_from(typed);
    let Ok(Some((_, matches))) = matches.as_ref().map(ArgMatches::subcommand) else {
        return Ok(Vec::new());
    };
    let is_typed = |arg: &Arg| {
        let id = arg.get_id().as_str();
        matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    let given: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| is_typed(arg))
        .collect();
    let mut added = Vec::new();
    for (option, value) in options {
        let arg = allowed(command, option)?;
        let excludes = |one: &Arg, other: &Arg| {
            let all = command.get_arg_conflicts_with(one);
            all.iter().any(|of| of.get_id() == other.get_id())
        };
        let is_excluded = |given: &&Arg| excludes(given, arg) || excludes(arg, given);
        if !is_typed(arg) && !given.iter().any(is_excluded) {
            added.extend(
                as_arguments(arg, option, value)?
                    .into_iter()
                    .map(OsString::from),
            );
        }
    }
    Ok(added)
}

/// An option of a command that may stand in the file.
fn allowed<'c>(command: &'c Command, option: &str) -> anyhow::Result<&'c Arg> {
    let found = command
        .get_arguments()
        .find(|arg| arg.get_long() == Some(option) && !arg.is_hide_set());
    let name = command.get_name();
    let arg = found.ok_or_else(|| {
        anyhow!("[{name}] has '{option}', which is no option: octavo {name} --help lists them")
    })?;
    ensure!(
        ALLOWED.contains(&option),
        "[{name}] has '{option}', which has to be typed, so that no file chooses it: take it out"
    );
    Ok(arg)
}

/// A value as words of the command line: several values are as many options.
fn as_arguments(arg: &Arg, option: &str, value: &Value) -> anyhow::Result<Vec<String>> {
    let takes_values = arg.get_action().takes_values();
    let one = |value: &Value| match value {
        Value::String(text) => Ok(format!("--{option}={text}")),
        Value::Integer(number) => Ok(format!("--{option}={number}")),
        Value::Float(number) => Ok(format!("--{option}={number}")),
        _ => Err(anyhow!("needs a text or a number, or a list of these")),
    };
    match (value, takes_values) {
        (Value::Boolean(true), false) => Ok(vec![format!("--{option}")]),
        (Value::Boolean(false), false) => Ok(Vec::new()),
        (_, false) => bail!("needs true or false"),
        (Value::Array(all), true) => all.iter().map(one).collect(),
        (value, true) => iter::once(value).map(one).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adds(typed: &str, text: &str) -> Result<String, String> {
        let typed: Vec<OsString> = typed.split(' ').map(OsString::from).collect();
        let added = defaults(&guide::command(), &typed, text);
        let added = added.map_err(|error| format!("{error:#}"))?;
        let added: Vec<String> = added
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect();
        Ok(added.join(" "))
    }

    const TEXT: &str = "[advise]\nbudget = '10m'\nmemory = ['8M', '64M']\nclients = 4\nkeep-data = true\n\
                        no-calibrate = false\nmargin = 2.5\nverbose = true\n[value]\nmachine-price = 90\n";

    #[test]
    fn what_is_not_typed_is_added() {
        let all =
            "--budget=10m --clients=4 --keep-data --margin=2.5 --memory=8M --memory=64M --verbose";
        assert_eq!(adds("octavo advise d", TEXT).unwrap(), all);
        assert_eq!(
            adds("octavo advise --budget 5m d --memory=1G", TEXT).unwrap(),
            "--clients=4 --keep-data --margin=2.5 --verbose"
        );
        // One that is typed excludes one of the file.
        let json = adds("octavo advise --json", TEXT).unwrap();
        assert_eq!(json, all.trim_end_matches(" --verbose"));
        // Options of a command that lacks what it needs.
        let predict = "[predict]\ndevice = 'gp3-3000'";
        assert_eq!(
            adds("octavo predict", predict).unwrap(),
            "--device=gp3-3000"
        );
        for other in [
            "octavo",
            "octavo run p.toml",
            "octavo advise --help",
            "octavo nothing",
        ] {
            assert_eq!(adds(other, TEXT).unwrap(), "", "{other}");
        }
    }

    #[test]
    fn what_cannot_be_added_is_refused_with_its_place() {
        for (text, why) in [
            ("[advise]\nbudget", "line 2: "),
            ("[advise]\nseed = 1\nseed = 2", "line 3: "),
            ("[bench]\nremove = true", "which has to be typed"),
            ("[advise]\nsource = '.'", "which has to be typed"),
            (
                "budget = '5m'",
                "'budget' is no table of options: there are [advise], ",
            ),
            (
                "[report]\nverbose = true",
                "'report' is no table of options",
            ),
            (
                "[advise]\nbudgets = '5m'",
                "[advise] has 'budgets', which is no option",
            ),
            (
                "[advise]\nscript = 'x.sql'",
                "[advise] has 'script', which has to be typed",
            ),
            (
                "[bench]\nbin = '/tmp'",
                "[bench] has 'bin', which has to be typed",
            ),
            (
                "[advise]\nkeep-data = 'yes'",
                "'keep-data' in [advise]: needs true or false",
            ),
            (
                "[advise]\nmemory = [true]",
                "'memory' in [advise]: needs a text or a number",
            ),
        ] {
            let error = adds("octavo predict", text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn options_that_are_allowed_exist() {
        let root = guide::command();
        let has = |option: &str| {
            let all = COMMANDS.map(|name| root.find_subcommand(name).unwrap());
            let mut args = all.iter().flat_map(|command| command.get_arguments());
            args.any(|arg| arg.get_long() == Some(option))
        };
        for option in ALLOWED {
            assert!(has(option), "{option}");
        }
    }
}

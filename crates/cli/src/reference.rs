//! docs/cli.md, written from the declarations. To renew it after they changed:
//!
//! ```sh
//! OCTAVO_TEST_RENEW=1 cargo test -p octavo-cli reference
//! ```

use std::{env, fmt::Write as _, fs, path::Path};

use clap::{Arg, Command};

use crate::{
    guide::{self, GROUPS},
    system,
};

const HEAD: &str = include_str!("guide/head.md");

/// The page: its head, a section for each command, and the options that databases have.
fn page() -> String {
    let mut root = guide::command();
    root.build();
    let mut text = format!("{HEAD}\n");
    for (title, guides) in GROUPS {
        let links = guides.iter().map(|guide| {
            let title = title_of(command(&root, guide.command), guide.command);
            format!("[{}](#{})", guide.command, anchor(&title))
        });
        let links: Vec<String> = links.collect();
        let _ = writeln!(text, "- {title}: {}", links.join(", "));
    }
    for guide in guide::all() {
        let command = command(&root, guide.command);
        let (what, examples, notes) = guide.parts();
        let _ = write!(
            text,
            "\n## {}\n\n{what}\n\n```sh\n{examples}\n```\n",
            title_of(command, guide.command)
        );
        let own = arguments(command).filter(|arg| !is_of_databases(arg));
        text += &table(own);
        if arguments(command).any(is_of_databases) {
            text += "\nIt also takes the [options of databases](#options-of-databases).\n";
        }
        if !notes.is_empty() {
            let _ = write!(text, "\n{notes}\n");
        }
    }
    text += "\n## Options of databases\n\n[servers.md](servers.md) explains those of servers.\n";
    text + &table(arguments(command(&root, "advise")).filter(|arg| is_of_databases(arg)))
}

/// The command with these words behind `octavo`.
fn command<'a>(root: &'a Command, words: &str) -> &'a Command {
    words.split(' ').fold(root, |command, word| {
        let found = command.find_subcommand(word);
        found.unwrap_or_else(|| panic!("no command {words}"))
    })
}

/// `octavo run PLAN [DIRECTORY]`: a command with all that it has to be given.
fn title_of(command: &Command, words: &str) -> String {
    let mut title = format!("octavo {words}");
    for argument in command.get_positionals() {
        title += &format!(" {}", name(argument));
    }
    let options = arguments(command).filter(|arg| !arg.is_positional() && arg.is_required_set());
    for option in options {
        title += &format!(" {}", name(option));
    }
    title
}

/// Where a heading is on GitHub: letters, digits and hyphens remain.
fn anchor(title: &str) -> String {
    let kept = title.to_lowercase().replace(' ', "-");
    kept.chars()
        .filter(|c| c.is_alphanumeric() || *c == '-')
        .collect()
}

/// The arguments of a command in the order of its help.
fn arguments(command: &Command) -> impl Iterator<Item = &Arg> {
    let arguments = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let arguments = arguments.filter(|arg| !["help", "version"].contains(&arg.get_id().as_str()));
    let mut arguments: Vec<&Arg> = arguments.collect();
    arguments.sort_by_key(|arg| (!arg.is_positional(), arg.get_display_order()));
    arguments.into_iter()
}

fn is_of_databases(argument: &Arg) -> bool {
    argument.get_help_heading() == Some(system::HEADING)
}

fn table<'a>(arguments: impl Iterator<Item = &'a Arg>) -> String {
    let rows: String = arguments.map(row).collect();
    match rows.as_str() {
        "" => rows,
        _ => format!("\n| argument | default | |\n|---|---|---|\n{rows}"),
    }
}

fn row(argument: &Arg) -> String {
    let help = argument.get_long_help().or_else(|| argument.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let help = help.split("\n\n").collect::<Vec<_>>().join(". ");
    let takes_values = argument.get_action().takes_values();
    let own = argument
        .get_default_values()
        .iter()
        .filter(|_| takes_values);
    let own: Vec<_> = own.map(|value| format!("`{}`", value.display())).collect();
    let (help, default) = match split_default(&help) {
        _ if !own.is_empty() => (help.as_str(), own.join(", ")),
        Some((help, default)) => (help, default.to_owned()),
        None => (help.as_str(), String::new()),
    };
    let values = argument.get_possible_values();
    let values = values.iter().filter(|value| !value.is_hide_set());
    let values: Vec<_> = values
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    let values = match values.is_empty() {
        true => String::new(),
        false => format!(": {}", values.join(", ")),
    };
    let cells = [
        format!("`{}`", name(argument)),
        default,
        help.to_owned() + &values,
    ];
    let cells = cells.map(|cell| cell.replace('|', "\\|"));
    format!("| {} |\n", cells.join(" | "))
}

/// A help text and the one default that it ends with.
fn split_default(help: &str) -> Option<(&str, &str)> {
    let (text, default) = help.split_once(" [default: ")?;
    let default = default.strip_suffix(']')?;
    (!default.contains('[')).then_some((text, default))
}

/// An argument as it is typed: `--budget TIME`, `[DIR]...`.
fn name(argument: &Arg) -> String {
    let values = argument.get_value_names().unwrap_or_default();
    let values = values.join(" ");
    match argument.get_long() {
        Some(long) if argument.get_action().takes_values() => format!("--{long} {values}"),
        Some(long) => format!("--{long}"),
        None => {
            let most = argument
                .get_num_args()
                .map_or(1, |range| range.max_values());
            let more = if most > 1 { "..." } else { "" };
            match argument.is_required_set() {
                true => format!("{values}{more}"),
                false => format!("[{values}]{more}"),
            }
        }
    }
}

#[test]
fn the_page_is_what_commands_declare() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let page = page();
    if env::var_os("OCTAVO_TEST_RENEW").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let lines = page.lines();
    let text = fs::read_to_string(&path).unwrap();
    let differing = lines.zip(text.lines()).find(|(new, old)| new != old);
    assert!(
        page == text,
        "docs/cli.md is not what commands declare ({differing:?}): OCTAVO_TEST_RENEW=1 cargo test \
         -p octavo-cli reference"
    );
}

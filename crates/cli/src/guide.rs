//! What people read of commands: groups, examples and notes, in help as on docs/cli.md.
//!
//! Each command has a file in `guide/`: what it does, a block of examples, and notes, in
//! Markdown whose links are those of a page in docs/.

use std::{ffi::OsString, fmt::Write as _};

use clap::{Command, CommandFactory, FromArgMatches, builder::Styles};

use crate::flags::Flags;

/// All commands by their words, in groups, each in the order in which people meet them.
pub(crate) const GROUPS: [(&str, &[Guide]); 4] = [
    (
        "Decide",
        &[
            Guide::new("advise", include_str!("guide/advise.md")),
            Guide::new("predict", include_str!("guide/predict.md")),
            Guide::new("value", include_str!("guide/value.md")),
            Guide::new("ab", include_str!("guide/ab.md")),
            Guide::new("compare", include_str!("guide/compare.md")),
            Guide::new("reproduce", include_str!("guide/reproduce.md")),
            Guide::new("curve", include_str!("guide/curve.md")),
        ],
    ),
    (
        "Measure",
        &[
            Guide::new("plan", include_str!("guide/plan.md")),
            Guide::new("plan check", include_str!("guide/plan-check.md")),
            Guide::new("run", include_str!("guide/run.md")),
            Guide::new("fleet", include_str!("guide/fleet.md")),
            Guide::new("fleet script", include_str!("guide/fleet-script.md")),
            Guide::new("bench", include_str!("guide/bench.md")),
            Guide::new("load", include_str!("guide/load.md")),
            Guide::new("calibrate", include_str!("guide/calibrate.md")),
            Guide::new("emulate", include_str!("guide/emulate.md")),
        ],
    ),
    (
        "Look",
        &[
            Guide::new("report", include_str!("guide/report.md")),
            Guide::new("merge", include_str!("guide/merge.md")),
            Guide::new("check", include_str!("guide/check.md")),
            Guide::new("devices", include_str!("guide/devices.md")),
            Guide::new("devices show", include_str!("guide/devices-show.md")),
            Guide::new("devices fit", include_str!("guide/devices-fit.md")),
        ],
    ),
    (
        "Octavo itself",
        &[
            Guide::new("docs", include_str!("guide/docs.md")),
            Guide::new("man", include_str!("guide/man.md")),
            Guide::new("completions", include_str!("guide/completions.md")),
        ],
    ),
];

/// What is written of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guide {
    /// Its words behind `octavo`.
    pub(crate) command: &'static str,
    text: &'static str,
}

impl Guide {
    const fn new(command: &'static str, text: &'static str) -> Self {
        Self { command, text }
    }

    /// What the command does, examples a line each, and notes.
    pub(crate) fn parts(&self) -> (&'static str, &'static str, &'static str) {
        let (what, rest) = self.text.split_once("```sh\n").unwrap_or((self.text, ""));
        let (examples, notes) = rest.split_once("```\n").unwrap_or((rest, ""));
        (what.trim(), examples.trim_end(), notes.trim())
    }
}

/// All guides.
pub(crate) fn all() -> impl Iterator<Item = &'static Guide> {
    GROUPS.iter().flat_map(|(_, guides)| *guides)
}

/// The command line with examples, notes and groups in its help.
pub(crate) fn command() -> Command {
    let mut root = Flags::command();
    for guide in all() {
        root = explain(root, guide.command, guide);
    }
    let groups = groups(&root);
    root.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{}\n{{options}}{{after-help}}",
        heading("Options")
    ))
    .after_help(
        "octavo COMMAND -h has examples and common options, --help the rest.\n\
         Exit codes: 0 done, 1 failed, 2 bad input and nothing changed, 3 and 4 by\n\
         --fail-if, 3 too when an interrupted part of a plan is kept, 130 interrupted.\n\
         octavo --version, with --verbose also the build and what is found here.\n\
         octavo.toml in this directory has defaults: octavo docs cli.",
    )
}

/// Reads a command line, its program's name first.
pub(crate) fn parse(
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> Result<Flags, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(arguments)?;
    Flags::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Puts a guide into the help of the command with these words.
fn explain(parent: Command, words: &str, guide: &Guide) -> Command {
    let (first, below) = words.split_once(' ').unwrap_or((words, ""));
    parent.mut_subcommand(first, |command| {
        if !below.is_empty() {
            return explain(command, below, guide);
        }
        let (what, examples, notes) = guide.parts();
        let indented = examples.lines().map(|line| format!("\n  {line}"));
        let indented: String = indented.collect();
        let command = command
            .help_template(
                "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n\
                 {all-args}{after-help}",
            )
            .long_about(plain(what))
            .before_help(format!("{}{indented}", heading("Examples")));
        match notes {
            "" => command,
            notes => command
                .after_help(format!("octavo {} --help has the rest.", guide.command))
                .after_long_help(plain(notes)),
        }
    })
}

/// The commands by groups, as `octavo --help` lists them.
fn groups(root: &Command) -> String {
    let mut text = String::new();
    for (title, guides) in GROUPS {
        let _ = writeln!(text, "{}", heading(title));
        for guide in guides.iter().filter(|guide| !guide.command.contains(' ')) {
            let about = root.find_subcommand(guide.command);
            let about = about.and_then(Command::get_about).cloned();
            let about = about.unwrap_or_default();
            let _ = writeln!(text, "  {:<12} {about}", guide.command);
        }
        text.push('\n');
    }
    text
}

fn heading(title: &str) -> String {
    let style = Styles::styled().get_header().to_owned();
    format!("{style}{title}:{style:#}")
}

/// Markdown as terminals show it: links with the page that they lead to, blocks without
/// fences, and each paragraph on one line, which help breaks to fit.
pub(crate) fn plain(markdown: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut is_block = false;
    let mut is_begin = true;
    for line in markdown.lines() {
        if line.starts_with("```") {
            is_block = !is_block;
            is_begin = true;
        } else if is_block {
            lines.push(format!("  {line}"));
        } else if line.is_empty() {
            lines.push(String::new());
            is_begin = true;
        } else if !line.starts_with("<a id=") {
            match lines.last_mut() {
                Some(last) if !is_begin && !line.starts_with("- ") => {
                    *last += &format!(" {}", line.trim_start());
                }
                _ => lines.push(line.to_owned()),
            }
            is_begin = false;
        }
    }
    let lines = lines.iter().map(|line| without_links(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// `[text](store.md#part)` as `text (docs/store.md)`, and without the page where the text is
/// its name.
fn without_links(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, label, target, behind)) = next_link(rest) {
        let target = target.split('#').next().unwrap_or_default();
        let page = match target.strip_prefix("../") {
            Some(other) => other.to_owned(),
            None => format!("docs/{target}"),
        };
        text += before;
        match page.trim_start_matches("docs/") == label {
            true => text += &page,
            false => text += &format!("{label} ({page})"),
        }
        rest = behind;
    }
    text + rest
}

/// What is before a link, its text, its target and what is behind it.
fn next_link(line: &str) -> Option<(&str, &str, &str, &str)> {
    let middle = line.find("](")?;
    // The text may have brackets of its own.
    let begin = line[..middle]
        .char_indices()
        .rev()
        .scan(1, |depth, (place, c)| {
            match c {
                ']' => *depth += 1,
                '[' => *depth -= 1,
                _ => {}
            }
            Some((place, *depth))
        })
        .find(|(_, depth)| *depth == 0)?
        .0;
    let (target, behind) = line[middle + 2..].split_once(')')?;
    Some((&line[..begin], &line[begin + 1..middle], target, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All commands with their words, hidden ones left out.
    fn commands() -> Vec<(String, Command)> {
        let mut root = command();
        root.build();
        let mut found = Vec::new();
        let mut open = vec![(String::new(), root)];
        while let Some((words, command)) = open.pop() {
            for below in command.get_subcommands() {
                if !below.is_hide_set() && below.get_name() != "help" {
                    let words = format!("{words} {}", below.get_name());
                    open.push((words.trim().to_owned(), below.clone().term_width(80)));
                }
            }
            found.push((words, command));
        }
        found
    }

    #[test]
    fn each_command_has_a_guide() {
        let mut guided: Vec<&str> = all().map(|guide| guide.command).collect();
        guided.push("");
        guided.sort_unstable();
        let commands = commands();
        let mut named: Vec<&str> = commands.iter().map(|(words, _)| words.as_str()).collect();
        named.sort_unstable();
        assert_eq!(guided, named);
    }

    #[test]
    fn each_example_is_a_command_line() {
        for guide in all() {
            let (_, examples, _) = guide.parts();
            let lines: Vec<&str> = examples.lines().collect();
            assert!((2..=5).contains(&lines.len()), "{}", guide.command);
            for line in lines {
                assert!(
                    line.chars().count() <= 78,
                    "too long for a terminal: {line}"
                );
                let (words, _) = line.split_once(" #").unwrap_or((line, ""));
                let (words, _) = words.split_once(" > ").unwrap_or((words, ""));
                let words = words.split_whitespace().map(|word| word.trim_matches('\''));
                let parsed = parse(words);
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            }
        }
    }

    #[test]
    fn help_fits_a_screen() {
        for (words, mut command) in commands() {
            let short = command.render_help().to_string();
            assert!(
                short.lines().count() <= 45,
                "octavo {words} -h has {} lines:\n{short}",
                short.lines().count()
            );
            if words.is_empty() {
                let widest = short.lines().map(|line| line.chars().count()).max();
                assert!(widest <= Some(80), "{short}");
                continue;
            }
            for help in [short, command.render_long_help().to_string()] {
                let begin: Vec<&str> = help.lines().take(16).collect();
                assert!(
                    begin.iter().any(|line| line.starts_with("  octavo ")),
                    "{help}"
                );
            }
        }
    }

    #[test]
    fn markdown_is_shown_without_its_marks() {
        let text = "A [link](store.md#x) and\n[`[prices]`](plans.md).\n\n- one\n  more\n- [bench.md](bench.md)\n\n\
                    <a id=\"here\"></a>\nB [x](../plans/)\n\n```toml\na = [1]\n```\n";
        assert_eq!(
            plain(text),
            "A link (docs/store.md) and `[prices]` (docs/plans.md).\n\n- one more\n- docs/bench.md\n\n\
             B x (plans/)\n\n  a = [1]"
        );
    }
}

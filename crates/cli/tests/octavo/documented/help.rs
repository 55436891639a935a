//! What `--help` says of commands and their options.

use std::collections::BTreeMap;

use crate::octavo;

/// The options of each command, as `--help` lists them.
pub(super) struct Help {
    /// The text by a command's words, such as `devices show`; of `octavo` itself by none.
    texts: BTreeMap<String, String>,
}

impl Help {
    pub(super) fn read() -> Self {
        let mut texts = BTreeMap::new();
        let mut wanted = vec![String::new()];
        while let Some(command) = wanted.pop() {
            let words = command.split_whitespace();
            let output = octavo().args(words).arg("--help").output().unwrap();
            assert!(output.status.success(), "octavo {command} --help");
            let text = String::from_utf8(output.stdout).unwrap();
            let below = subcommands(&text).map(|name| format!("{command} {name}"));
            wanted.extend(below.map(|name| name.trim().to_owned()));
            texts.insert(command, text);
        }
        Self { texts }
    }

    /// The commands, and what their help says.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let texts = self.texts.iter();
        texts.map(|(command, text)| (command.as_str(), text.as_str()))
    }

    /// The command that words after `octavo` begin with, `octavo` itself if that is an option;
    /// none of another word.
    pub(super) fn command(&self, words: &[String]) -> Option<&str> {
        if words.first().is_some_and(|word| word.starts_with("--")) {
            return Some("");
        }
        let known = self.texts.keys().filter(|command| !command.is_empty());
        let is_begun = |command: &&String| {
            let own: Vec<&str> = command.split(' ').collect();
            words.len() >= own.len() && own.iter().zip(words).all(|(one, other)| one == other)
        };
        known
            .filter(is_begun)
            .max_by_key(|command| command.len())
            .map(String::as_str)
    }

    /// The options of a command, with their dashes.
    pub(super) fn options(&self, command: &str) -> Vec<&str> {
        let lines = self.texts[command].lines();
        // Notes begin at the margin.
        let lines = lines.filter(|line| line.starts_with("  "));
        let lines = lines.map(str::trim_start);
        let lines = lines.map(|line| line.strip_prefix("-h, ").unwrap_or(line));
        let lines = lines.map(|line| line.strip_prefix("-V, ").unwrap_or(line));
        // A short one may stand before.
        let lines = lines.map(|line| match line.split_once(", --") {
            Some((short, _)) if short.len() == 2 => &line[4..],
            _ => line,
        });
        let options = lines.filter(|line| line.starts_with("--"));
        options
            .filter_map(|line| line.split([' ', ',', '=']).next())
            .collect()
    }

    /// Whether any command has this option.
    pub(super) fn has(&self, option: &str) -> bool {
        let mut commands = self.texts.keys();
        commands.any(|command| self.options(command).contains(&option))
    }
}

/// The names of commands: the first words of lists that have no options, examples or arguments.
fn subcommands(help: &str) -> impl Iterator<Item = &str> {
    const OTHERS: [&str; 3] = ["Arguments:", "Examples:", "Options:"];
    let mut heading = "";
    let lines = help.lines().filter(move |line| {
        let is_heading = line.ends_with(':') && !line.starts_with(' ');
        if is_heading || line.is_empty() {
            heading = line;
        }
        !is_heading && !heading.is_empty() && !OTHERS.contains(&heading)
    });
    lines
        // Descriptions go on further to the right.
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
}

/// The options that a text names: two dashes and a word, with nothing before it that it
/// could be a part of.
pub(super) fn options_in(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (place, _) in text.match_indices("--") {
        let is_begin = text[..place]
            .chars()
            .next_back()
            .is_none_or(|c| !c.is_alphanumeric() && c != '-');
        let name = &text[place + 2..];
        let end = name.find(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit() && c != '-');
        let name = &name[..end.unwrap_or(name.len())];
        if is_begin && name.starts_with(|c: char| c.is_ascii_lowercase()) {
            found.push(&text[place..place + 2 + name.len()]);
        }
    }
    found
}

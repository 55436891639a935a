//! What README and docs say: their commands, options and blocks.
//!
//! A command is a line of a shell block that begins with `octavo`, a line of any block that
//! begins with `$ octavo`, with the lines that a backslash adds, and inline code that is one.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A page that people read, or the comments of a plan.
pub(super) struct Page {
    /// Its path below the repository, such as `docs/cli.md`.
    pub(super) name: String,
    text: String,
}

/// A command as it stands on a page.
pub(super) struct Command {
    /// Where its line is, from 1.
    pub(super) line: usize,
    /// All of it, without a comment behind it.
    pub(super) text: String,
    /// Whether it is inline code.
    is_inline: bool,
}

/// A fenced block.
pub(super) struct Block {
    /// Its language, or nothing.
    pub(super) language: String,
    /// The line of its fence, from 1.
    pub(super) line: usize,
    /// What it holds.
    pub(super) text: String,
}

/// The top of the repository.
pub(super) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All pages that say what to type: README, docs, what bench/ says of itself, and comments of
/// plans and studies.
pub(super) fn pages() -> Vec<Page> {
    let mut names = vec!["README.md".to_owned(), "bench/README.md".to_owned()];
    for (directory, ending) in [
        ("docs", "md"),
        ("docs/decisions", "md"),
        ("plans", "toml"),
        ("studies", "toml"),
    ] {
        let entries = fs::read_dir(repository().join(directory)).unwrap();
        let files = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let files = files.filter(|name| name.ends_with(&format!(".{ending}")));
        names.extend(files.map(|file| format!("{directory}/{file}")));
    }
    names.sort();
    names.iter().map(|name| page(name)).collect()
}

/// The page of a name; of TOML its comments alone.
pub(super) fn page(name: &str) -> Page {
    let mut text = fs::read_to_string(repository().join(name)).unwrap();
    if name.ends_with(".toml") {
        let comments = text.lines().map(|line| line.strip_prefix("# "));
        text = comments
            .map(|line| line.unwrap_or_default())
            .fold(String::new(), |text, line| text + line + "\n");
    }
    let name = name.to_owned();
    Page { name, text }
}

impl Page {
    /// Its commands, in their order.
    pub(super) fn commands(&self) -> Vec<Command> {
        let mut found: Vec<Command> = Vec::new();
        for block in self.blocks() {
            let is_shell = ["", "sh"].contains(&block.language.as_str());
            let mut lines = block.text.lines().zip(block.line + 1..);
            while let Some((line, number)) = lines.next() {
                let line = line.trim_start();
                let command = match line.strip_prefix("$ ") {
                    Some(command) => command,
                    None if is_shell => line,
                    None => continue,
                };
                if !command.starts_with("octavo ") {
                    continue;
                }
                let mut text = without_comment(command);
                while let Some(begun) = text.strip_suffix('\\') {
                    let (more, _) = lines.next().expect("a line after a backslash");
                    text = format!("{} {}", begun.trim_end(), without_comment(more.trim()));
                }
                found.push(Command {
                    line: number,
                    text,
                    is_inline: false,
                });
            }
        }
        let inline = self.inline_code();
        let inline = inline.into_iter().filter(|(_, code)| {
            code.strip_prefix("octavo ")
                .is_some_and(|rest| !rest.is_empty())
        });
        found.extend(inline.map(|(line, text)| Command {
            line,
            text,
            is_inline: true,
        }));
        found.sort_by_key(|command| command.line);
        found
    }

    /// Its fenced blocks.
    pub(super) fn blocks(&self) -> Vec<Block> {
        let mut found = Vec::new();
        let mut open: Option<Block> = None;
        for (line, number) in self.text.lines().zip(1..) {
            match (line.trim_start().strip_prefix("```"), &mut open) {
                (Some(language), None) => {
                    open = Some(Block {
                        language: language.to_owned(),
                        line: number,
                        text: String::new(),
                    });
                }
                (Some(_), Some(_)) => found.extend(open.take()),
                (None, Some(block)) => block.text += &format!("{line}\n"),
                (None, None) => {}
            }
        }
        found
    }

    /// The code within its sentences, on one line each, with where it begins.
    pub(super) fn inline_code(&self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        let mut is_fenced = false;
        // What stands between backquotes, once one is open: code may go on on the next line,
        // but not beyond its paragraph.
        let mut open: Option<(usize, String)> = None;
        for (line, number) in self.text.lines().zip(1..) {
            if line.trim_start().starts_with("```") {
                is_fenced = !is_fenced;
                open = None;
                continue;
            }
            if is_fenced || line.is_empty() {
                open = None;
                continue;
            }
            let mut parts = line.trim().split('`');
            let first = parts.next().unwrap_or_default();
            if let Some((_, code)) = &mut open {
                *code += &format!(" {first}");
            }
            for part in parts {
                match open.take() {
                    Some(code) => found.push(code),
                    None => open = Some((number, part.to_owned())),
                }
            }
        }
        found
    }

    /// All of it.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

impl Command {
    /// Its words, as a shell reads them.
    pub(super) fn words(&self) -> Vec<String> {
        words(&self.text)
    }

    /// Whether it only names a command and options of it, without a value: `octavo load`,
    /// `octavo bench --url`.
    pub(super) fn is_name(&self) -> bool {
        self.is_inline && self.words()[2..].iter().all(|word| word.starts_with("--"))
    }
}

/// Words as a shell reads them, quotes included.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => found.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    assert_eq!(quote, None, "a quote is open in {text}");
    found.extend(word);
    found
}

fn without_comment(line: &str) -> String {
    let mut quote = None;
    let mut last = ' ';
    for (place, c) in line.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '\'' || c == '"' => quote = Some(c),
            None if c == '#' && last == ' ' => return line[..place].trim_end().to_owned(),
            None => {}
        }
        last = c;
    }
    line.trim_end().to_owned()
}

#[test]
fn commands_are_found_wherever_they_stand() {
    let text = "Say `octavo load`, or `octavo check\n[DIR]`; not `octavo`, nor:\n\n\
                ```text\n$ octavo advise x   # five minutes\nReport: octavo report\n\
                octavo report x\n```\n\n```sh\noctavo predict a \\\n  --device 'b # c'\nls\n```\n";
    let page = Page {
        name: "x".into(),
        text: text.into(),
    };
    let found: Vec<(usize, String)> = page
        .commands()
        .into_iter()
        .map(|command| (command.line, command.text))
        .collect();
    let wanted = [
        (1, "octavo load"),
        (1, "octavo check [DIR]"),
        (5, "octavo advise x"),
        (11, "octavo predict a --device 'b # c'"),
    ];
    assert_eq!(found, wanted.map(|(line, text)| (line, text.to_owned())));
    let names: Vec<bool> = page.commands().iter().map(Command::is_name).collect();
    assert_eq!(names, [true, false, false, false]);
    assert_eq!(
        page.commands()[3].words(),
        ["octavo", "predict", "a", "--device", "b # c"]
    );
}

//! A document as Markdown for a pull request or an issue: the answer with its tables, and all else
//! folded.
//!
//! It is what GitHub and GitLab read: pipe tables
//! (<https://github.github.com/gfm/#tables-extension->) and `details` elements.

use crate::{
    document::{Block, ColumnKind, Depth, Document, Section, Table},
    naming::capital,
    visible::visible,
};

/// What GitHub takes for a comment, in bytes at least: 65,536 characters. Less, so that there is room
/// for what others write around it.
const LENGTH_MAX: usize = 60_000;

impl Document {
    /// The answer and its tables as Markdown. What follows the first section that has a table is
    /// folded, as far as a comment has room for it; how much is left out is said. Without drawings.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        if !self.origin.is_empty() {
            paragraph(&mut text, &escaped(&self.origin));
        }
        let (mut has_table, mut left_out) = (false, 0);
        for (place, section) in self.sections.iter().enumerate() {
            let is_open = section.depth == Depth::First && !has_table;
            has_table |= is_open && section.blocks.iter().any(is_table);
            let written = match (is_open, place) {
                // What was decided needs no heading.
                (true, 0) => body(section),
                (true, _) => heading(section) + &body(section),
                (false, _) => folded(section),
            };
            match text.len() + written.len() <= LENGTH_MAX {
                true => text += &written,
                false => left_out += 1,
            }
        }
        if left_out > 0 {
            let left_out = crate::number::counted(left_out, "more section");
            paragraph(
                &mut text,
                &format!("{left_out}: `octavo report --verbose`."),
            );
        }
        text
    }
}

fn is_table(block: &Block) -> bool {
    match block.bare() {
        Block::Table(_) | Block::Brief(_) => true,
        Block::Columns(blocks) => blocks.iter().any(is_table),
        _ => false,
    }
}

fn heading(section: &Section) -> String {
    match section.title.is_empty() {
        true => String::new(),
        false => format!("#### {}\n\n", escaped(&section.title)),
    }
}

fn body(section: &Section) -> String {
    let mut text = String::new();
    section.blocks.iter().for_each(|of| block(&mut text, of));
    text
}

/// A section that is read where it is opened. Blank lines let Markdown go on inside.
fn folded(section: &Section) -> String {
    match body(section) {
        body if body.is_empty() => body,
        body => fold(&section.title, &body),
    }
}

fn fold(summary: &str, body: &str) -> String {
    let summary = match summary {
        "" => "More",
        summary => summary,
    };
    format!(
        "<details><summary>{}</summary>\n\n{body}</details>\n\n",
        escaped(summary)
    )
}

fn paragraph(text: &mut String, line: &str) {
    text.push_str(line);
    text.push_str("\n\n");
}

fn list(text: &mut String, mark: &str, items: &[String]) {
    for item in items {
        text.push_str(&format!("- {mark}{}\n", escaped(item)));
    }
    text.push('\n');
}

fn block(text: &mut String, block: &Block) {
    match block {
        Block::Decision { what, why } => {
            let (what, why) = (escaped(what), escaped(&capital(why)));
            let end = match what.ends_with(['.', '!', '?']) {
                true => "",
                false => ".",
            };
            paragraph(text, format!("**{what}{end}** {why}").trim_end());
        }
        Block::Commands {
            purpose,
            statements,
        } => {
            paragraph(text, &format!("{}:", escaped(purpose)));
            // Longer than any fence in what is typed.
            let longest = statements.iter().flat_map(|of| of.split(|c| c != '`'));
            let longest = longest.map(str::len).max().unwrap_or(0);
            let fence = "`".repeat(3.max(longest + 1));
            let lines = visible(&statements.join("\n")).into_owned();
            paragraph(text, &format!("{fence}\n{lines}\n{fence}"));
        }
        Block::Heading(title) => paragraph(text, &format!("**{}**", escaped(title))),
        Block::Paragraph(said) => paragraph(text, &escaped(said)),
        Block::List(items) => list(text, "", items),
        Block::Warnings(items) => list(text, "⚠ ", items),
        Block::Passed(items) => list(text, "✓ ", items),
        Block::Values(values) => {
            for (name, value) in values {
                text.push_str(&format!("- {}: {}\n", escaped(name), escaped(value)));
            }
            text.push('\n');
        }
        Block::Table(of) | Block::Brief(of) => table(text, of),
        Block::Figure(_) => {}
        Block::Columns(blocks) => blocks.iter().for_each(|of| self::block(text, of)),
        Block::Details { summary, blocks } => {
            let mut inner = String::new();
            blocks.iter().for_each(|of| self::block(&mut inner, of));
            if !inner.is_empty() {
                text.push_str(&fold(summary, &inner));
            }
        }
        Block::Spare { block, .. } => self::block(text, block),
    }
}

fn table(text: &mut String, table: &Table) {
    if !table.caption.is_empty() {
        paragraph(text, &escaped(&table.caption));
    }
    let shown = |column: usize| table.columns[column].kind != ColumnKind::Drawing;
    let columns: Vec<usize> = (0..table.columns.len()).filter(|of| shown(*of)).collect();
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let names = columns.iter().map(|&of| escaped(&table.columns[of].name));
    *text += &row(names.collect());
    let rules = columns.iter().map(|&of| match table.columns[of].kind {
        ColumnKind::Figure => "---:".to_owned(),
        _ => ":---".to_owned(),
    });
    *text += &row(rules.collect());
    for cells in &table.rows {
        *text += &row(columns.iter().map(|&of| escaped(&cells[of].text)).collect());
    }
    text.push('\n');
}

/// Text that Markdown shows as it is, on one line. Every sign of ASCII may stand behind a backslash
/// (<https://spec.commonmark.org/0.31.2/#backslash-escapes>).
fn escaped(text: &str) -> String {
    let words = visible(text);
    let words = words
        .split(' ')
        .map(|word| match word.starts_with("https://") {
            true => {
                let url = word.trim_end_matches(['.', ',', ';', ':', ')']);
                // Nothing in one ends it, or is a line's end.
                match url.contains(['<', '>', '\n', '\t', '|', '\\', '`']) {
                    true => escaped_word(word),
                    false => format!("<{url}>{}", &word[url.len()..]),
                }
            }
            false => escaped_word(word),
        });
    let mut words: Vec<String> = words.collect();
    // At the beginning these begin a list.
    if let Some(first) = words.first_mut()
        && first.starts_with(['-', '+'])
    {
        first.insert(0, '\\');
    }
    words.join(" ")
}

fn escaped_word(word: &str) -> String {
    let mut escaped = String::new();
    for character in word.chars() {
        match character {
            '\n' | '\t' => escaped.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '&' => {
                escaped.push('\\');
                escaped.push(character);
            }
            // What is behind them would be a person or an issue, behind a backslash too.
            '#' | '@' => {
                escaped.push(character);
                escaped.push_str("<!-- -->");
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn an_answer_is_a_sentence_a_table_and_folds() {
        let text = crate::findings(&fixture::findings()).markdown();
        let lines: Vec<&str> = text.lines().collect();
        let at = |wanted: &str| {
            let found = lines.iter().position(|line| line.contains(wanted));
            found.unwrap_or_else(|| panic!("no {wanted}: {text}"))
        };
        let (decision, table) = (at("**With 32 MiB of memory, USE"), at("| ---: |"));
        assert!(decision < table && table < at("<details>"), "{text}");
        assert_eq!(
            text.matches("<details>").count(),
            text.matches("</details>").count()
        );
        let width = |line: &str| line.matches('|').count() - line.matches("\\|").count();
        assert_eq!(width(lines[table]), width(lines[table - 1]));
        assert_eq!(width(lines[table]), width(lines[table + 1]));
        assert!(text.len() <= LENGTH_MAX + 100);
        for drawing in ["├", "●", "<svg"] {
            assert!(!text.contains(drawing), "{drawing}");
        }
    }

    #[test]
    fn text_is_shown_as_it_is() {
        assert_eq!(
            escaped("a_b|c <!-- `x` @me\n# 1 & \u{1b}"),
            "a\\_b\\|c \\<!-- \\`x\\` @<!-- -->me #<!-- --> 1 \\& \u{fffd}"
        );
        assert_eq!(escaped("-1% of x-y"), "\\-1% of x-y");
        assert_eq!(
            escaped("see https://sqlite.org/pragma.html#page_size, and"),
            "see <https://sqlite.org/pragma.html#page_size>, and"
        );
        assert_eq!(escaped("https://x|y"), "https://x\\|y");
        let mut text = String::new();
        block(
            &mut text,
            &Block::Commands {
                purpose: "Type".into(),
                statements: vec!["echo ```".into()],
            },
        );
        assert_eq!(text, "Type:\n\n````\necho ```\n````\n\n");
    }

    #[test]
    fn what_a_comment_has_no_room_for_is_told() {
        let long = Section {
            blocks: vec![Block::Paragraph("x".repeat(LENGTH_MAX))],
            ..Section::new("long", "Long")
        };
        let mut answer = Section::new("answer", "Answer");
        answer.paragraph("yes");
        let text = Document::new("title", [answer, long]).markdown();
        assert_eq!(
            text,
            "yes\n\n1 more section: `octavo report --verbose`.\n\n"
        );
    }
}

//! A document as text for a terminal.

use std::collections::HashSet;

use crate::{
    document::{Block, Cell, ColumnKind, Depth, Document, EXTRA, Section, Table, Tone},
    number::{counted, unbroken},
    visible::visible,
};

/// Lines are not made longer than this, however wide the terminal is: longer
/// ones are hard to read.
const PROSE_WIDTH_MAX: usize = 100;
/// Below this, prose breaks but tables lose all of their columns.
const WIDTH_MIN: usize = 40;
/// Prose in a narrower column would be a word a line.
const PROSE_COLUMN_MIN: usize = 12;
/// Names of values get no more columns, with what is between them and values.
const NAME_WIDTH_MAX: usize = 24;
/// Lines of the short text, which a screen shows at once.
const LINES_MAX: usize = 40;
/// Indent of decisions.
const DECISION_INDENT: &str = "  ";
/// Between columns.
const GAP: usize = 2;
/// Between closing lines that stand on one.
const CLOSING_GAP: &str = "     ";

const BOLD: &str = "\x1b[1m";
const YELLOW: &str = "\x1b[33m";
const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[31m";
const DIM: &str = "\x1b[2m";
const RESET: &str = "\x1b[0m";

impl Document {
    /// The short text: what was found and what to do, of at most `width`
    /// columns (but not fewer than 40). Columns of tables are left out where
    /// they do not fit: the page has them all. With `color`, ANSI escape
    /// sequences mark headings, warnings and decisions. Ends with a line break.
    ///
    /// It has at most 40 lines, as far as leaving out what is spare makes it so. How many
    /// warnings that leaves out is said.
    pub fn terminal(&self, width: usize, color: bool) -> String {
        let mut ranks = (0..=self.spare()).rev();
        let fits = |rank: &u8| {
            let text = self.text(width, false, Detail::UpTo(*rank));
            let rows = |line: &str| line.chars().count().div_ceil(width.max(1)).max(1);
            text.lines().map(rows).sum::<usize>() <= LINES_MAX
        };
        let rank = ranks.find(fits).unwrap_or(0);
        self.text(width, color, Detail::UpTo(rank))
    }

    /// The highest rank of spare blocks; 0 without any.
    fn spare(&self) -> u8 {
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        let ranks = blocks.map(|block| match block {
            Block::Spare { rank, .. } => *rank,
            _ => 0,
        });
        ranks.max().unwrap_or(0)
    }

    /// The same with all that the page has but its drawings.
    pub fn verbose(&self, width: usize, color: bool) -> String {
        self.text(width, color, Detail::All)
    }

    fn text(&self, width: usize, color: bool, shown: Detail) -> String {
        let mut screen = Screen {
            text: String::new(),
            width: width.max(WIDTH_MIN),
            color,
            shown,
        };
        let verbose = shown == Detail::All;
        if !self.origin.is_empty() {
            screen.prose(DIM, "", &self.origin);
        }
        let shown = self.sections.iter();
        let shown = shown.filter(|section| verbose || section.depth == Depth::First);
        // Some have drawings alone.
        let shown: Vec<&Section> = shown
            .filter(|section| section.blocks.iter().any(|block| screen.shows(block)))
            .collect();
        for (place, section) in shown.into_iter().enumerate() {
            screen.blank();
            // What was decided needs no heading.
            if place > 0 && !section.title.is_empty() {
                screen.prose(BOLD, "", &section.title);
            }
            screen.blocks(&section.blocks);
        }
        screen.closing(&self.closing);
        screen.text
    }
}

/// How much of a document is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    /// The first sections without details; of what is spare the ranks up to this.
    UpTo(u8),
    /// All of it.
    All,
}

/// Whether a block follows another without an empty line.
fn belongs_to(before: &Block, block: &Block) -> bool {
    matches!(
        (before, block),
        (Block::Heading(_), _)
            | (Block::Paragraph(_), Block::Paragraph(_))
            | (Block::Decision { .. }, Block::Decision { .. })
            | (Block::Commands { .. }, Block::Commands { .. })
            | (Block::Warnings(_), Block::Warnings(_) | Block::Passed(_))
    )
}

/// Text under way.
struct Screen {
    text: String,
    width: usize,
    color: bool,
    shown: Detail,
}

impl Screen {
    fn blocks(&mut self, blocks: &[Block]) {
        let unsaid = self.unsaid(blocks);
        // Where the first warning is that is left out.
        let place = blocks.iter().position(|block| self.is_unsaid(block));
        let (head, tail) = blocks.split_at(place.unwrap_or(blocks.len()));
        let shown = |block: &&Block| self.shows(block);
        let all: Vec<&Block> = head
            .iter()
            .filter(shown)
            .chain(&unsaid)
            .chain(tail.iter().filter(shown))
            .map(Block::bare)
            .collect();
        let mut before: Option<&Block> = None;
        for block in all {
            if before.is_some_and(|before| !belongs_to(before, block)) {
                self.blank();
            }
            self.block(block);
            before = Some(block);
        }
    }

    /// Whether these are warnings that there is no room for.
    fn is_unsaid(&self, block: &Block) -> bool {
        matches!(block.bare(), Block::Warnings(_)) && !self.shows(block)
    }

    /// How many warnings there is no room for, as a warning; `None` where all are shown.
    fn unsaid(&self, blocks: &[Block]) -> Option<Block> {
        let blocks = blocks.iter().filter(|block| self.is_unsaid(block));
        let count = blocks.map(|block| match block.bare() {
            Block::Warnings(warnings) => warnings.len(),
            _ => 0,
        });
        let count: usize = count.sum();
        (count > 0).then(|| {
            let warnings = counted(count, "more warning");
            Block::Warnings(vec![format!("{warnings}: --verbose.")])
        })
    }

    /// On one line where they fit.
    fn closing(&mut self, lines: &[String]) {
        let one = lines.join(CLOSING_GAP);
        if !one.is_empty() && one.chars().count() <= self.width {
            return self.line("", &one);
        }
        for line in lines {
            self.line("", line);
        }
    }

    fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn line(&mut self, style: &str, line: &str) {
        let line = styled(&clean(line), style, self.color);
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// The text in lines that fit, after this indent.
    fn wrapped(&self, indent: usize, text: &str) -> Vec<String> {
        let room = self.width.min(PROSE_WIDTH_MAX).saturating_sub(indent);
        wrap(&unbroken(text), room.max(16))
    }

    fn prose(&mut self, style: &str, first: &str, text: &str) {
        let indent = first.chars().count();
        for (number, line) in self.wrapped(indent, text).into_iter().enumerate() {
            let before = if number == 0 {
                first
            } else {
                &" ".repeat(indent)
            };
            self.line(style, &format!("{before}{line}"));
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Decision { what, why } => self.decision(what, why),
            Block::Commands {
                purpose,
                statements,
            } => self.commands(purpose, statements),
            Block::Heading(text) => self.prose(BOLD, "", text),
            Block::Paragraph(text) => self.prose("", "", text),
            Block::List(items) => {
                for item in items {
                    self.prose("", "- ", item);
                }
            }
            Block::Warnings(warnings) => {
                for warning in warnings {
                    self.prose(YELLOW, "! ", warning);
                }
            }
            Block::Values(values) => {
                self.values(values);
            }
            Block::Passed(passed) => {
                self.prose("", "✓ ", &passed.join(" "));
            }
            Block::Table(table) | Block::Brief(table) => self.table(table),
            Block::Figure(_) => {}
            Block::Columns(blocks) => self.blocks(blocks),
            Block::Details { summary, blocks } => {
                self.prose(BOLD, "", summary);
                self.blocks(blocks);
            }
            Block::Spare { block, .. } => self.block(block),
        }
    }

    fn shows(&self, block: &Block) -> bool {
        let shows = |all: &[Block]| all.iter().any(|block| self.shows(block));
        match block {
            Block::Figure(_) => false,
            Block::Details { blocks, .. } => self.shown == Detail::All && shows(blocks),
            Block::Columns(blocks) => shows(blocks),
            Block::Spare { rank, block } => {
                let has_room = match self.shown {
                    Detail::UpTo(most) => *rank <= most,
                    Detail::All => true,
                };
                has_room && self.shows(block)
            }
            _ => true,
        }
    }

    /// What and why as one paragraph, of which what to do stands out.
    fn decision(&mut self, what: &str, why: &str) {
        let colon = match what.ends_with(['.', '!', '?']) || why.is_empty() {
            true => "",
            false => ":",
        };
        let mut bold = what.chars().count() + colon.len();
        let text = clean(&format!("{what}{colon} {why}"));
        for line in self.wrapped(DECISION_INDENT.len(), &text) {
            let (strong, rest) = match line.char_indices().nth(bold) {
                Some((end, _)) => line.split_at(end),
                None => (line.as_str(), ""),
            };
            // The blank that the line break took the place of.
            bold = bold.saturating_sub(line.chars().count() + 1);
            let strong = styled(strong, BOLD, self.color);
            self.text += &format!("{DECISION_INDENT}{strong}{rest}\n");
        }
    }

    /// One command stands behind its purpose where it fits, and statements that
    /// end by themselves on one line.
    fn commands(&mut self, purpose: &str, statements: &[String]) {
        let fits = |line: &str| line.chars().count() <= self.width;
        let mut lines: Vec<String> = statements.iter().map(|of| format!("  {of}")).collect();
        let one = format!("  {}", statements.join(" "));
        if statements.iter().all(|of| of.ends_with(';')) && fits(&one) {
            lines = vec![one];
        }
        let purpose = format!("{purpose}:");
        if let [line] = lines.as_slice()
            && fits(&format!("{purpose}{line}"))
        {
            return self.line("", &format!("{purpose}{line}"));
        }
        self.prose("", "", &purpose);
        for line in lines {
            self.line("", &line);
        }
    }

    fn values(&mut self, values: &[(String, String)]) {
        let length = |name: &str| name.chars().count();
        let longest = values.iter().map(|(name, _)| length(name) + GAP).max();
        let width = longest.unwrap_or(0).min(NAME_WIDTH_MAX);
        for (name, value) in values {
            let mut name = clean(name);
            if length(&name) + GAP > width {
                // A server's name of a setting: the value goes below it.
                self.prose("", "", &name);
                name.clear();
            }
            let padding = " ".repeat(width - length(&name));
            self.prose("", &(name + &padding), value);
        }
    }

    fn table(&mut self, table: &Table) {
        if !table.caption.is_empty() {
            self.prose("", "", &table.caption);
        }
        let mut wanted: Vec<usize> = (0..table.columns.len()).collect();
        let (first, _) = fitting(table, wanted.clone(), self.width);
        let numbered = numbered(table);
        let table = match self.shown == Detail::All && first.len() < wanted.len() {
            true => numbered.as_ref().unwrap_or(table),
            false => table,
        };
        let is_label = |column: usize| table.columns[column].kind == ColumnKind::Label;
        loop {
            let (mut columns, mut widths) = fitting(table, wanted.clone(), self.width);
            let wide = wanted.iter().find(|&&column| !is_label(column)).copied();
            if self.shown == Detail::All
                && columns.iter().all(|&column| is_label(column))
                && let Some(wide) = wide
            {
                // It has no room by itself: its texts break, and names that leave it none.
                let most = self.width.saturating_sub(GAP + PROSE_COLUMN_MIN);
                while whole(&widths) > most
                    && let Some(widest) = widths.iter_mut().max()
                    && *widest > 1
                {
                    *widest -= 1;
                }
                let room = self.width.saturating_sub(whole(&widths) + GAP);
                columns.push(wide);
                widths.push(room);
            }
            self.part(table, &columns, &widths);
            // Where all is shown, what has no room follows, with the names of its rows.
            wanted.retain(|&column| is_label(column) || !columns.contains(&column));
            let is_all = wanted.iter().all(|&column| is_label(column));
            if self.shown != Detail::All || is_all {
                break;
            }
            self.blank();
        }
    }

    /// Some of a table's columns.
    fn part(&mut self, table: &Table, columns: &[usize], widths: &[usize]) {
        let header: Vec<Cell> = columns
            .iter()
            .map(|&column| table.columns[column].name.as_str().into())
            .collect();
        let header: Vec<&Cell> = header.iter().collect();
        self.row(table, columns, widths, &header, DIM);
        for row in &table.rows {
            let cells: Vec<&Cell> = columns.iter().map(|&column| &row[column]).collect();
            self.row(table, columns, widths, &cells, "");
        }
    }

    fn row(
        &mut self,
        table: &Table,
        columns: &[usize],
        widths: &[usize],
        cells: &[&Cell],
        style: &str,
    ) {
        let broken: Vec<Vec<String>> = cells
            .iter()
            .zip(widths)
            .map(|(cell, &width)| match clean(&cell.text) {
                text if text.chars().count() <= width => vec![text],
                text => wrap(&text, width),
            })
            .collect();
        let lines = broken.iter().map(Vec::len).max().unwrap_or(0);
        for number in 0..lines {
            let mut line = String::new();
            for (place, &column) in columns.iter().enumerate() {
                let (text, width) = (broken[place].get(number), widths[place]);
                let text = text.map_or("", String::as_str);
                let padding = " ".repeat(width.saturating_sub(text.chars().count()));
                let style = match cells[place].tone {
                    Tone::Good => GREEN,
                    Tone::Bad => RED,
                    Tone::Plain | Tone::Open => style,
                };
                let text = styled(text, style, self.color);
                line += &if is_right(table, column) {
                    padding + &text
                } else {
                    text + &padding
                };
                line += &" ".repeat(GAP);
            }
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
    }
}

fn styled(text: &str, style: &str, color: bool) -> String {
    if color && !style.is_empty() && !text.is_empty() {
        format!("{style}{text}{RESET}")
    } else {
        text.into()
    }
}

/// One line of what facts and reasons hold.
fn clean(text: &str) -> String {
    visible(&text.trim_end().replace(['\n', '\t'], " ")).into_owned()
}

/// Labels that are sizes line up like numbers.
fn is_right(table: &Table, column: usize) -> bool {
    match table.columns[column].kind {
        ColumnKind::Figure => true,
        ColumnKind::Label => table
            .rows
            .iter()
            .all(|row| row[column].text.starts_with(|c: char| c.is_ascii_digit())),
        ColumnKind::Words | ColumnKind::Prose | ColumnKind::Drawing => false,
    }
}

/// The table with its rows numbered, where their names alone do not tell them apart.
fn numbered(table: &Table) -> Option<Table> {
    let labels: Vec<usize> = (0..table.columns.len())
        .filter(|&column| table.columns[column].kind == ColumnKind::Label)
        .collect();
    let first = *labels.first()?;
    let name = |row: &Vec<Cell>| -> Vec<String> {
        let cells = labels.iter().map(|&column| row[column].text.clone());
        cells.collect()
    };
    let names: HashSet<Vec<String>> = table.rows.iter().map(name).collect();
    if names.len() == table.rows.len() {
        return None;
    }
    let mut table = table.clone();
    for (place, row) in table.rows.iter_mut().enumerate() {
        row[first].text = format!("{}: {}", place + 1, row[first].text);
    }
    Some(table)
}

/// Those of some columns that have room, and their widths.
fn fitting(table: &Table, mut left: Vec<usize>, width: usize) -> (Vec<usize>, Vec<usize>) {
    loop {
        let expendable = left.iter().skip(1).copied();
        let rank = |column: usize| table.columns[column].rank;
        let gone = expendable.max_by_key(|&column| (rank(column), column));
        let widths = widths(table, &left);
        if whole(&widths) <= width {
            return (left, widths);
        }
        match gone {
            // A long name alone breaks.
            None => return (left, vec![width]),
            Some(gone) => {
                if rank(gone) < EXTRA
                    && let Some(widths) = narrower(table, &left, widths, width)
                {
                    return (left, widths);
                }
                left.retain(|&column| column != gone);
            }
        }
    }
}

/// Natural widths of these columns.
fn widths(table: &Table, columns: &[usize]) -> Vec<usize> {
    let length = |text: &str| text.chars().count();
    let width = |&column: &usize| {
        let cells = table.rows.iter().map(|row| length(&row[column].text));
        cells.fold(length(&table.columns[column].name), usize::max)
    };
    columns.iter().map(width).collect()
}

/// The width of a table with columns of these widths.
fn whole(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// The widths with prose made narrower until all fits; `None` where it cannot
/// be.
fn narrower(
    table: &Table,
    columns: &[usize],
    mut widths: Vec<usize>,
    width: usize,
) -> Option<Vec<usize>> {
    let is_prose = |&place: &usize| table.columns[columns[place]].kind == ColumnKind::Prose;
    while whole(&widths) > width {
        // The widest prose gives way, down to the second widest at once.
        let prose = || (0..columns.len()).filter(is_prose);
        let widest = prose().max_by_key(|&place| widths[place])?;
        let others = prose().filter(|&place| place != widest);
        let next = others.map(|place| widths[place]).max().unwrap_or(0);
        let wanted = widths[widest].saturating_sub(whole(&widths) - width);
        widths[widest] = wanted.max(next.min(widths[widest] - 1));
        if widths[widest] < PROSE_COLUMN_MIN {
            return None;
        }
    }
    Some(widths)
}

/// Lines of at most `room` characters; a word that is longer is cut.
fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    // The characters of the line. Facts of a store may be long: none is counted twice.
    let mut length = 0;
    for word in text.split_ascii_whitespace() {
        if length > 0 && length + 1 + word.chars().count() > room {
            lines.push(std::mem::take(&mut line));
            length = 0;
        }
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        for character in word.chars() {
            if length == room {
                lines.push(std::mem::take(&mut line));
                length = 0;
            }
            line.push(character);
            length += 1;
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(blocks: impl IntoIterator<Item = Block>) -> Document {
        let mut section = Section::new("one", "One");
        section.extend(blocks);
        Document::new("Title", [section])
    }

    fn table() -> Table {
        Table::with_rows(
            "Speed",
            &[("4 KiB", 17_000, "slower"), ("16 KiB", 900, "faster")],
        )
        .label("page", |row| row.0)
        .figure(("orders", 1), |row| row.1.to_string())
        .words("decision", |row| {
            let tone = if row.2 == "faster" {
                Tone::Good
            } else {
                Tone::Bad
            };
            Cell::toned(row.2, tone)
        })
        .build()
    }

    #[test]
    fn long_words_are_cut_and_others_kept_whole() {
        let of = |text: &str| wrap(text, 8).join("|");
        assert_eq!(of("one two three"), "one two|three");
        assert_eq!(of("12345678 9"), "12345678|9");
        assert_eq!(of("a 123456789012345678 b"), "a|12345678|90123456|78 b");
        assert_eq!(of(""), "");
        assert_eq!(of("ääääääää ä"), "ääääääää|ä");
    }

    #[test]
    fn a_table_lines_up_and_loses_columns_where_it_is_too_wide() {
        let document = document([Block::Table(table())]);
        let expected = "\
Speed
  page  orders  decision
 4 KiB   17000  slower
16 KiB     900  faster
";
        assert_eq!(document.terminal(80, false), expected);
        let (left, _) = fitting(&table(), vec![0, 1, 2], 20);
        assert_eq!(left, [0, 2]);
    }

    #[test]
    fn all_of_a_table_has_room_where_all_is_shown() {
        let wide = Table::with_rows("Speed", &[(4, "slower"), (16, "faster")])
            .label("page", |row| format!("{} KiB", row.0))
            .figure((format!("{:>30}", "orders"), 1), |row| {
                (row.0 * 100).to_string()
            })
            .words("decision", |row| row.1)
            .build();
        let document = document([Block::Table(wide)]);
        let expected = "\
Speed
  page  decision
 4 KiB  slower
16 KiB  faster
";
        assert_eq!(document.terminal(40, false), expected);
        let all = format!(
            "{expected}
  page {blank}orders
 4 KiB {blank}   400
16 KiB {blank}  1600
",
            blank = " ".repeat(25)
        );
        assert_eq!(document.verbose(40, false), all);
        // Two rows of one name.
        let rows = [
            (4, "a long word by itself", 17),
            (4, "another one of these", 9),
        ];
        let twice = Table::with_rows("", &rows)
            .label("page", |row| format!("{} KiB", row.0))
            .words("between", |row| row.1)
            .figure(("a quite long name of a figure", 1), |row| {
                row.2.to_string()
            })
            .build();
        let mut section = Section::new("one", "One");
        section.push(Block::Table(twice));
        let text = Document::new("Title", [section]).verbose(40, false);
        for row in [
            "1: 4 KiB  a long",
            "1: 4 KiB ",
            "2: 4 KiB  another",
            "2: 4 KiB ",
        ] {
            assert!(text.contains(row), "{text}");
        }
        assert_eq!(text.matches("2: 4 KiB").count(), 2, "{text}");
    }

    #[test]
    fn color_marks_cells_and_nothing_else_changes() {
        let document = document([Block::Table(table())]);
        let colored = document.terminal(80, true);
        assert!(
            colored.contains(&format!("{GREEN}faster{RESET}")),
            "{colored}"
        );
        assert!(
            colored.contains(&format!("{RED}slower{RESET}")),
            "{colored}"
        );
        let stripped = [BOLD, YELLOW, GREEN, RED, DIM, RESET]
            .iter()
            .fold(colored, |text, code| text.replace(code, ""));
        assert_eq!(stripped, document.terminal(80, false));
    }

    #[test]
    fn prose_in_tables_breaks_into_lines() {
        let long = "a source with many words that would need a second line";
        let table = Table::with_rows("", &[long])
            .label("name", |_| "x")
            .prose("source", |source| *source)
            .build();
        let text = document([Block::Table(table)]).terminal(40, false);
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 40),
            "{text}"
        );
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let evil = "evil\x1b[2J".to_owned();
        let blocks = [
            Block::Paragraph(evil.clone()),
            Block::Values(vec![(evil.clone(), evil.clone())]),
            Block::Commands {
                purpose: evil.clone(),
                statements: vec![evil],
            },
        ];
        assert!(!document(blocks).terminal(80, false).contains('\x1b'));
    }

    #[test]
    fn decision_stands_out_from_its_reason() {
        let document = document([Block::Decision {
            what: "KEEP 4 KiB PAGES".into(),
            why: "nothing is faster.".into(),
        }]);
        let line = "  KEEP 4\u{a0}KiB PAGES: nothing is faster.\n";
        assert_eq!(document.terminal(80, false), line);
        assert_eq!(
            document.terminal(80, true),
            format!("  {BOLD}KEEP 4\u{a0}KiB PAGES:{RESET} nothing is faster.\n")
        );
    }

    #[test]
    fn sections_below_the_first_are_in_the_long_text_alone() {
        let mut section = Section::new("io", "I/O").at(Depth::Evidence);
        section.paragraph("8 reads");
        let mut document = Document::new("Title", [section]);
        document.origin = "Octavo · SQLite".into();
        assert_eq!(document.terminal(80, false), "Octavo · SQLite\n");
        assert_eq!(document.verbose(80, false), "Octavo · SQLite\n\n8 reads\n");
    }

    #[test]
    fn details_are_in_the_long_text_alone() {
        let details = Block::Details {
            summary: "more".into(),
            blocks: vec![Block::Paragraph("hidden".into())],
        };
        let document = document([details]);
        assert_eq!(document.terminal(80, false), "");
        assert_eq!(document.verbose(80, false), "more\nhidden\n");
    }
}

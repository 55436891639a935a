//! A page of text for a terminal: prose, entries and tables that fit its
//! width.

use comfy_table::{CellAlignment, ContentArrangement, Table as Grid, presets::NOTHING};

use crate::{naming::short, number::held, table::Table};

/// Lines are not made longer than this, however wide the terminal is: longer
/// ones are hard to read.
const PROSE_WIDTH_MAX: usize = 100;
/// Below this, prose breaks but tables lose all of their columns.
const WIDTH_MIN: usize = 40;

/// A table of cells for a terminal of this width, for the device's profile.
pub(crate) fn grid(header: &[String], rows: &[Vec<String>], width: usize) -> String {
    let table = Table {
        header: header.to_vec(),
        rows: rows.to_vec(),
    };
    fitting(&table, width, &[])
}

/// A table whose cells break into lines where it is wider than `width`.
pub(crate) fn wrapped(header: &[&str], rows: &[Vec<String>], width: usize) -> String {
    let mut grid = Grid::new();
    grid.load_style(NOTHING)
        .force_no_tty()
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX))
        .set_header(header);
    for row in rows {
        grid.add_row(row.iter().map(|cell| clean(cell)));
    }
    for column in grid.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let mut text = String::new();
    for line in grid.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Text under way.
pub(crate) struct Page {
    text: String,
    width: usize,
    colour: bool,
}

pub(crate) const BOLD: &str = "\x1b[1m";
pub(crate) const YELLOW: &str = "\x1b[33m";
pub(crate) const GREEN: &str = "\x1b[32m";
pub(crate) const RED: &str = "\x1b[31m";
pub(crate) const DIM: &str = "\x1b[2m";
pub(crate) const RESET: &str = "\x1b[0m";

impl Page {
    /// A page of at most `width` columns (but not fewer than 40); with
    /// `colour`, ANSI escape sequences mark headings, warnings and standings.
    pub(crate) fn new(width: usize, colour: bool) -> Self {
        Self {
            text: String::new(),
            width: width.max(WIDTH_MIN),
            colour,
        }
    }

    /// The text, which ends with one line break.
    pub(crate) fn finish(mut self) -> String {
        while self.text.ends_with("\n\n") {
            self.text.pop();
        }
        self.text
    }

    pub(crate) fn line(&mut self, line: &str) {
        self.text.push_str(&clean(line));
        self.text.push('\n');
    }

    pub(crate) fn blank(&mut self) {
        self.text.push('\n');
    }

    fn styled(&mut self, style: &str, line: &str) {
        let line = clean(line);
        if self.colour {
            self.text.push_str(&format!("{style}{line}{RESET}\n"));
        } else {
            self.text.push_str(&format!("{line}\n"));
        }
    }

    fn wrapped(&self, indent: &str, text: &str) -> Vec<String> {
        wrap(text, self.width.min(PROSE_WIDTH_MAX), indent)
    }

    pub(crate) fn prose(&mut self, indent: &str, text: &str) {
        for line in self.wrapped(indent, text) {
            self.line(&line);
        }
    }

    pub(crate) fn answer(&mut self, text: &str) {
        for line in self.wrapped("", text) {
            self.styled(BOLD, &line);
        }
    }

    pub(crate) fn heading(&mut self, text: &str) {
        for line in self.wrapped("", text) {
            self.styled(BOLD, &line);
        }
    }

    pub(crate) fn warnings(&mut self, warnings: &[String]) {
        for warning in warnings {
            for line in self.wrapped("", &format!("WARNING: {warning}")) {
                self.styled(YELLOW, &line);
            }
        }
        if !warnings.is_empty() {
            self.blank();
        }
    }

    pub(crate) fn sentences(&mut self, heading: &str, sentences: &[String]) {
        if sentences.is_empty() {
            return;
        }
        self.heading(heading);
        for sentence in sentences {
            self.prose("  ", sentence);
        }
        self.blank();
    }

    pub(crate) fn entry(&mut self, name: &str, value: &str) {
        const NAME: usize = 22;
        let indent = " ".repeat(NAME);
        let mut lines = self.wrapped(&indent, value).into_iter();
        if name.chars().count() < NAME {
            let first = lines.next().unwrap_or_default();
            self.line(&format!("{name:<NAME$}{}", first.trim_start()));
        } else {
            // A server's name of a setting: the value goes below it.
            self.line(name);
        }
        for line in lines {
            self.line(&line);
        }
    }

    /// `expendable` are the columns to leave out where the width is too
    /// small, the first first; then the last ones go.
    pub(crate) fn table(&mut self, table: &Table, expendable: &[usize]) {
        for (index, line) in fitting(table, self.width, expendable).lines().enumerate() {
            let style = match line.trim_end() {
                _ if index == 0 => DIM,
                line if line.ends_with(" better") => GREEN,
                line if line.ends_with(" worse") || line.ends_with(" FAIL") => RED,
                _ => "",
            };
            if style.is_empty() {
                self.line(line);
            } else {
                self.styled(style, line);
            }
        }
        self.blank();
    }
}

/// Control characters, which facts and reasons might hold, would change what
/// the terminal shows.
fn clean(text: &str) -> String {
    text.trim_end()
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

fn fitting(table: &Table, width: usize, expendable: &[usize]) -> String {
    let mut left: Vec<usize> = (0..table.header.len()).collect();
    let mut expendable = expendable.iter();
    loop {
        let mut grid = Grid::new();
        grid.load_style(NOTHING).force_no_tty();
        let chosen = |row: &[String]| -> Vec<String> {
            left.iter()
                .filter_map(|&column| row.get(column))
                .map(|cell| clean(cell))
                .collect()
        };
        grid.set_header(chosen(&table.header));
        for row in &table.rows {
            grid.add_row(chosen(row));
        }
        for (place, &column) in left.iter().enumerate() {
            let Some(shown) = grid.column_mut(place) else {
                continue;
            };
            shown.set_padding((0, 2));
            let figures = column > 0
                && table.rows.iter().all(|row| {
                    row.get(column).is_some_and(|cell| {
                        cell.starts_with(|c: char| c.is_ascii_digit() || c == '–')
                    })
                });
            // Intervals in brackets line up at their first digit.
            let bracketed = table.rows.iter().any(|row| row[column].contains('('));
            if (figures || column == 0 && is_number(&table.rows)) && !bracketed {
                shown.set_cell_alignment(CellAlignment::Right);
            }
        }
        let text = grid.to_string();
        let widest = text
            .lines()
            .map(|line| line.trim_end().chars().count())
            .max()
            .unwrap_or(0);
        if widest <= width {
            return text;
        }
        if left.len() <= 1 {
            // A long name alone: its beginning is better than a broken line.
            let lines: Vec<String> = text
                .lines()
                .map(|line| short(line.trim_end(), width))
                .collect();
            return lines.join("\n");
        }
        match expendable.next() {
            Some(column) => left.retain(|other| other != column),
            None => {
                left.pop();
            }
        }
    }
}

fn is_number(rows: &[Vec<String>]) -> bool {
    rows.iter()
        .all(|row| row[0].starts_with(|c: char| c.is_ascii_digit()))
}

fn wrap(text: &str, width: usize, indent: &str) -> Vec<String> {
    let room = width.saturating_sub(indent.chars().count()).max(16);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in held(text).split_ascii_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
            lines.push(format!("{indent}{line}"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        while line.chars().count() > room {
            let cut: String = line.chars().take(room).collect();
            line = line.chars().skip(room).collect();
            lines.push(format!("{indent}{cut}"));
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(format!("{indent}{line}"));
    }
    lines
}

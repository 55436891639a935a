//! The report for a terminal: the answer first, then its evidence.

use comfy_table::{CellAlignment, Table as Grid, presets::NOTHING};
use octavo_experiment::{
    findings::{Findings, MemoryFindings},
    statistics::Interval,
};

use crate::{
    number::{held, is_bounded},
    sentence,
    table::{self, Table},
};

/// Lines are not made longer than this, however wide the terminal is: longer
/// ones are hard to read.
const PROSE_WIDTH_MAX: usize = 100;
/// Below this, prose breaks but tables lose all of their columns.
const WIDTH_MIN: usize = 40;

/// The report as text of at most `width` columns (but not fewer than 40).
/// Tables lose columns where they do not fit: the page at `report.html` has
/// them all. With `colour`, ANSI escape sequences mark headings, warnings and
/// standings. Ends with a line break.
pub fn terminal(findings: &Findings, width: usize, colour: bool) -> String {
    let mut page = Page {
        text: String::new(),
        width: width.max(WIDTH_MIN),
        colour,
    };
    for (answer, memory) in sentence::answers(findings).iter().zip(&findings.memories) {
        page.answer(answer);
        for command in sentence::commands(findings, memory) {
            page.prose("  ", &format!("{}:", command.purpose));
            for statement in &command.statements {
                page.line(&format!("    {statement}"));
            }
        }
        page.blank();
    }
    page.warnings(findings);
    for (index, memory) in findings.memories.iter().enumerate() {
        page.memory(memory, findings, index == 0);
    }
    page.sentences("Buffer sizes", &sentence::buffers(findings));
    page.sentences("Storage", &sentence::evidence(findings));
    if let Some(profile) = &findings.calibration {
        page.heading("Device");
        page.prose("", &crate::device::summary(profile));
        page.blank();
    }
    if !findings.runs_failed.is_empty() {
        page.heading("Runs without a result");
        for run in &findings.runs_failed {
            page.prose(
                "  ",
                &format!(
                    "round {}, page size {}, {}: {}",
                    run.round,
                    run.cell.page_size.get(),
                    run.cell.memory,
                    run.reason
                ),
            );
        }
        page.blank();
    }
    page.heading("Generated load (all runs, warm-up included)");
    page.table(&table::audit(findings), &[]);
    page.heading("Conditions");
    for (name, value) in sentence::conditions(findings) {
        page.entry(&name, &value);
    }
    page.blank();
    page.sentences("Next", &sentence::next_steps(findings));
    while page.text.ends_with("\n\n") {
        page.text.pop();
    }
    page.text
}

/// A table of cells for a terminal of this width, for the device's profile.
pub(crate) fn grid(header: &[String], rows: &[Vec<String>], width: usize) -> String {
    let table = Table {
        header: header.to_vec(),
        rows: rows.to_vec(),
    };
    fitting(&table, width, &[])
}

struct Page {
    text: String,
    width: usize,
    colour: bool,
}

const BOLD: &str = "\x1b[1m";
const YELLOW: &str = "\x1b[33m";
const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[31m";
const DIM: &str = "\x1b[2m";
const RESET: &str = "\x1b[0m";

impl Page {
    fn line(&mut self, line: &str) {
        self.text.push_str(&clean(line));
        self.text.push('\n');
    }

    fn blank(&mut self) {
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

    fn prose(&mut self, indent: &str, text: &str) {
        for line in self.wrapped(indent, text) {
            self.line(&line);
        }
    }

    fn answer(&mut self, text: &str) {
        for line in self.wrapped("", text) {
            self.styled(BOLD, &line);
        }
    }

    fn heading(&mut self, text: &str) {
        for line in self.wrapped("", text) {
            self.styled(BOLD, &line);
        }
    }

    fn warnings(&mut self, findings: &Findings) {
        for warning in &findings.warnings {
            for line in self.wrapped("", &format!("WARNING: {warning}")) {
                self.styled(YELLOW, &line);
            }
        }
        if !findings.warnings.is_empty() {
            self.blank();
        }
    }

    fn sentences(&mut self, heading: &str, sentences: &[String]) {
        if sentences.is_empty() {
            return;
        }
        self.heading(heading);
        for sentence in sentences {
            self.prose("  ", sentence);
        }
        self.blank();
    }

    fn entry(&mut self, name: &str, value: &str) {
        const NAME: usize = 22;
        let indent = " ".repeat(NAME);
        let mut lines = self.wrapped(&indent, value).into_iter();
        let first = lines.next().unwrap_or_default();
        self.line(&format!("{name:<NAME$}{}", first.trim_start()));
        for line in lines {
            self.line(&line);
        }
    }

    fn memory(&mut self, memory: &MemoryFindings, findings: &Findings, explained: bool) {
        self.heading(&format!(
            "{}: new orders a minute (NOPM, mean), ratios within rounds",
            memory.memory
        ));
        let mut table = table::throughput(memory);
        let bar = Bar::over(memory, findings.plan.margin);
        // Between the ratio and the standing, which ends the line so that it
        // can be coloured.
        table.header.insert(3, bar.header());
        for (row, cell) in table.rows.iter_mut().zip(&memory.cells) {
            row.insert(3, bar.draw(cell.ratio.as_ref(), cell.reference));
        }
        self.table(&table, &[3, 1]);
        if explained {
            self.prose("", table::COSTS);
        }
        self.table(&table::costs(memory), &[5, 6, 2, 7, 8, 1, 4]);
    }

    /// `expendable` are the columns to leave out where the width is too
    /// small, the first first; then the last ones go.
    fn table(&mut self, table: &Table, expendable: &[usize]) {
        for (index, line) in fitting(table, self.width, expendable).lines().enumerate() {
            let style = match line.trim_end() {
                _ if index == 0 => DIM,
                line if line.ends_with(" better") => GREEN,
                line if line.ends_with(" worse") => RED,
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
        if widest <= width || left.len() <= 1 {
            return text;
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

/// Intervals drawn with characters, on a logarithmic scale around 1.
struct Bar {
    /// The logarithm at the right end; its negative at the left one.
    span: f64,
    margin: f64,
}

impl Bar {
    const CELLS: usize = 25;
    const CENTRE: usize = Self::CELLS / 2;
    /// Farther from 1 than this factor an arrow is enough: one page size that
    /// is far off would squeeze all that matters into the middle.
    const FARTHEST: f64 = 1.35;

    fn over(memory: &MemoryFindings, margin: f64) -> Self {
        let margin = margin.ln_1p();
        let span = memory
            .cells
            .iter()
            .filter_map(|cell| cell.ratio)
            .filter(is_bounded)
            .flat_map(|ratio| [ratio.low, ratio.high])
            .map(|end| end.ln().abs())
            .fold(3.0 * margin, f64::max);
        Self {
            span: span.min(Self::FARTHEST.ln().max(3.0 * margin)),
            margin,
        }
    }

    fn header(&self) -> String {
        let side = |value: f64| format!("{:.2}", value.exp());
        let (low, high) = (side(-self.span), side(self.span));
        let room = Self::CELLS - low.len() - high.len();
        format!("{low}{:^room$}{high}", "1")
    }

    fn place(&self, logarithm: f64) -> Option<usize> {
        if self.span <= 0.0 || self.span.is_nan() || logarithm.is_nan() {
            return None;
        }
        let share = (logarithm / self.span).clamp(-1.0, 1.0);
        let place = Self::CENTRE as f64 * (1.0 + share);
        Some(place.round() as usize)
    }

    fn draw(&self, ratio: Option<&Interval>, reference: bool) -> String {
        let mut cells = ['·'; Self::CELLS];
        for edge in [-self.margin, self.margin] {
            if let Some(place) = self.place(edge) {
                cells[place] = ':';
            }
        }
        cells[Self::CENTRE] = if reference { '●' } else { '│' };
        let Some(ratio) = ratio else {
            return cells.iter().collect();
        };
        let (low, high) = (ratio.low.ln(), ratio.high.ln());
        if let (Some(from), Some(to)) = (self.place(low), self.place(high)) {
            for cell in &mut cells[from..=to] {
                if *cell == '·' {
                    *cell = '─';
                }
            }
            cells[from] = '├';
            cells[to] = '┤';
            // Last, since both ends may lie beyond the same side.
            if low < -self.span {
                cells[from] = '◄';
            }
            if high > self.span {
                cells[to] = '►';
            }
        }
        let estimate = ratio.estimate.ln();
        if estimate.abs() <= self.span
            && let Some(place) = self.place(estimate)
        {
            cells[place] = '●';
        }
        cells.iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn widest(text: &str) -> usize {
        text.lines()
            .map(|line| line.chars().count())
            .max()
            .unwrap_or(0)
    }

    #[test]
    fn nothing_is_wider_than_the_terminal() {
        for findings in [
            fixture::findings(),
            fixture::one_round(),
            fixture::empty(),
            fixture::one_memory(),
        ] {
            for width in [40, 60, 80, 100, 200] {
                let text = terminal(&findings, width, false);
                assert!(widest(&text) <= width, "{width}:\n{text}");
            }
        }
    }

    #[test]
    fn the_answer_comes_first_and_tables_follow() {
        let text = terminal(&fixture::findings(), 80, false);
        let expected = "\
With 32\u{a0}MiB of memory: use page_size 8192: 12\u{a0}% more new orders a minute than
the default 4096 (9\u{a0}% to 15\u{a0}%, 5 rounds).
  once, with no other connection open and room for a second copy of the database
  (in WAL mode the page size cannot change, so leave it first):
    PRAGMA journal_mode = DELETE;
    PRAGMA page_size = 8192; VACUUM;
    PRAGMA journal_mode = WAL;
  in every connection, for 32\u{a0}MiB of cache:
    PRAGMA cache_size = -32768;
";
        assert!(text.starts_with(expected), "{text}");
        let table = "\
 page   NOPM  ratio to default (95 %)  0.74        1        1.35  standing
 2048  5\u{202f}580  0.851 (0.830 to 0.873)   ·····├●┤···:│:···········  worse
 4096  6\u{202f}550  1                        ···········:●:···········  default
";
        assert!(text.contains(table), "{text}");
        let costs = "\
 page    hits  misses      read   written     log  ampl.  p50 ms  p99 ms
 2048  93.7 %    5.95  11.9 KiB  10.9 KiB  63.6 %   17.4    4.50    15.0
";
        assert!(text.contains(costs), "{text}");
        assert!(text.contains("WARNING: 1 run gave no result"), "{text}");
    }

    #[test]
    fn bars_mark_one_the_margin_and_the_interval() {
        let bar = Bar {
            span: 1.2f64.ln(),
            margin: 1.03f64.ln(),
        };
        let interval = |estimate, low, high| Interval {
            estimate,
            low,
            high,
            rounds: 5,
        };
        assert_eq!(bar.draw(None, true), "··········:·●·:··········");
        assert_eq!(
            bar.draw(Some(&interval(1.1, 1.05, 1.16)), false),
            "··········:·│·:├──●───┤··"
        );
        assert_eq!(
            bar.draw(Some(&interval(1.0, 0.0, f64::INFINITY)), false),
            "◄─────────:─●─:─────────►"
        );
        assert_eq!(
            bar.draw(Some(&interval(0.5, 0.45, 0.55)), false),
            "◄·········:·│·:··········"
        );
        assert_eq!(bar.header().chars().count(), Bar::CELLS);
    }

    #[test]
    fn colours_only_when_wanted() {
        let findings = fixture::findings();
        let plain = terminal(&findings, 100, false);
        assert!(!plain.contains('\x1b'));
        let coloured = terminal(&findings, 100, true);
        assert!(coloured.contains(GREEN) && coloured.contains(RED));
        let stripped = [BOLD, YELLOW, GREEN, RED, DIM, RESET]
            .iter()
            .fold(coloured, |text, code| text.replace(code, ""));
        assert_eq!(stripped, plain);
    }

    #[test]
    fn control_characters_of_facts_do_not_reach_the_terminal() {
        let mut findings = fixture::findings();
        findings.machine.push(("cpu".into(), "evil\x1b[2J".into()));
        assert!(!terminal(&findings, 100, false).contains('\x1b'));
    }
}

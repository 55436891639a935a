//! The report for a terminal: the answer first, then its evidence.

use octavo_experiment::{
    findings::{Findings, GroupFindings},
    statistics::Interval,
};

use crate::{
    naming,
    number::is_bounded,
    page::Page,
    sentence,
    table::{self, Detail},
};

/// The report as text of at most `width` columns (but not fewer than 40).
/// Tables lose columns where they do not fit: the page at `report.html` has
/// them all. With `colour`, ANSI escape sequences mark headings, warnings and
/// standings. Ends with a line break.
pub fn terminal(findings: &Findings, width: usize, colour: bool) -> String {
    let mut page = Page::new(width, colour);
    let groups = naming::groups(findings);
    for group in &groups {
        page.answer(&sentence::answer(findings, group));
        for command in sentence::commands(findings, group) {
            page.prose("  ", &format!("{}:", command.purpose));
            for statement in &command.statements {
                page.line(&format!("    {statement}"));
            }
        }
        page.blank();
    }
    page.warnings(&findings.warnings);
    for (index, group) in groups.iter().enumerate() {
        show_group(&mut page, group, findings, index == 0);
    }
    if let Some(saved) = sentence::saved(findings) {
        page.sentences("Race", &[saved]);
    }
    page.sentences("Interactions", &sentence::interactions(findings));
    page.sentences("Stability", &sentence::stability(findings));
    page.sentences("Buffer sizes", &sentence::buffers(findings));
    page.sentences("Storage", &sentence::evidence(findings));
    energy(&mut page, findings);
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
                    "round {}, {}: {}",
                    run.round,
                    findings.plan.cell_name(&run.cell),
                    run.reason
                ),
            );
        }
        page.blank();
    }
    page.heading("Generated load (the longest run of each round, warm-up included)");
    page.table(&table::audit(findings), &[]);
    page.heading("Conditions");
    for (name, value) in sentence::conditions(findings) {
        page.entry(&name, &value);
    }
    page.blank();
    page.sentences("Next", &sentence::next_steps(findings));
    page.finish()
}

/// Silent where no device's power is known.
fn energy(page: &mut Page, findings: &Findings) {
    page.sentences("Energy", &sentence::energy(findings));
    for group in naming::groups(findings) {
        if let Some(table) = table::energy(findings, group) {
            if !group.name.is_empty() {
                page.prose("", &naming::capital(&group.name));
            }
            page.table(&table, &[3, 2, 4]);
        }
    }
}

fn show_group(page: &mut Page, group: &GroupFindings, findings: &Findings, explained: bool) {
    let name = if group.name.is_empty() {
        String::new()
    } else {
        format!("{}: ", group.name)
    };
    page.heading(&naming::capital(&format!(
        "{name}{}, mean of its own runs, ratios within rounds",
        naming::rate_in_full(findings)
    )));
    let mut table = table::throughput(findings, group, Detail::Short);
    let bar = Bar::over(group, findings.plan.margin);
    // Between the ratio and the standing, which ends the line so that it
    // can be coloured.
    table.header.insert(3, bar.header());
    for (row, cell) in table.rows.iter_mut().zip(&group.cells) {
        row.insert(3, bar.draw(cell.ratio.as_ref(), cell.reference));
    }
    page.table(&table, &[3, 1]);
    if let Some(left) = sentence::all_left(group) {
        page.prose("", &left);
        page.blank();
    }
    if explained {
        page.prose("", &table::costs_words(findings));
    }
    page.table(&table::costs(findings, group), &[5, 6, 2, 7, 8, 1, 4]);
    if explained {
        page.prose("", table::STABILITY);
    }
    page.table(&table::stability(findings, group, Detail::Short), &[2, 4]);
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

    fn over(group: &GroupFindings, margin: f64) -> Self {
        let margin = margin.ln_1p();
        let span = group
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
        let room = Self::CELLS.saturating_sub(low.len() + high.len());
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
    use crate::{
        fixture,
        page::{BOLD, DIM, GREEN, RED, RESET, YELLOW},
    };

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
            fixture::full(),
            fixture::clients(),
            fixture::systems(),
            fixture::copies(),
            fixture::many_groups(),
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
the default 4096 (9\u{a0}% to 15\u{a0}%, 5 fresh rounds after choosing).
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
 2048  5\u{202f}570  0.851 (0.830 to 0.873)   ·····├●┤···:│:···········  worse
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
    fn the_race_interactions_and_stability_have_their_sections() {
        let text = terminal(&fixture::findings(), 100, false);
        for said in [
            "Out of the race: 2048 after 5 rounds (worse), 16384",
            "\nRace\n  Racing made 46 runs where each cell",
            "\nInteractions\n",
            "\nStability\n",
            " page  variation  window  longest stall  periodic  not steady\n",
        ] {
            assert!(
                text.replace('\u{a0}', "\u{202f}").contains(said),
                "{said}: {text}"
            );
        }
        let text = terminal(&fixture::full(), 100, false);
        assert!(
            !text.contains("Racing") && !text.contains("Out of the race"),
            "{text}"
        );
        assert!(!terminal(&fixture::copies(), 100, false).contains("PRAGMA"));
    }

    #[test]
    fn energy_has_a_section_where_it_is_known() {
        let mut findings = fixture::findings();
        assert!(!terminal(&findings, 100, false).contains("Energy"));
        fixture::give_energy(&mut findings);
        let text = terminal(&findings, 100, false).replace('\u{a0}', " ");
        assert!(
            text.contains("\nEnergy\n  With 32 MiB of memory: the device alone took"),
            "{text}"
        );
        let table = "\
 page   energy  of it idle    busy  ratio to default (95 %)
 2048   123 mJ      100 mJ  25.0 %  0.851 (0.830 to 0.873)
 4096  15.0 mJ     12.0 mJ  25.0 %  1
";
        assert!(text.contains(table), "{text}");
    }

    #[test]
    fn throughput_of_other_workloads_is_no_nopm() {
        let text = terminal(&fixture::clients(), 100, false);
        assert!(text.contains(" operations/min "), "{text}");
        assert!(text.contains("latency of READ"), "{text}");
        assert!(
            !text.contains("NOPM") && !text.contains("new orders"),
            "{text}"
        );
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

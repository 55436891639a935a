//! The report of an experiment whose cells are ramps of clients.

use octavo_experiment::{
    findings::{CellRamp, Findings, RampEnd},
    plan::Plan,
    ramp::StepFinding,
};

use crate::{
    document::{Block, Depth, Document, Section, Table},
    findings::{FIRST_ROWS, disk, load, method, origin, setup, title, warn_first, warn_last},
    naming,
    number::{count, counted, moment},
    ramp::{self, Rate},
    sentence::Answer,
    table::ms,
};

/// Answers that the first screen has room for; a table has the others.
const FIRST_ANSWERS: usize = 4;

/// The report: what each cell reached, its steps, its law and its chart.
pub(crate) fn document(findings: &Findings) -> Document {
    let sections = [summary, clients, disk, load, setup, method];
    Document {
        origin: format!("{} · begun {}", origin(findings), moment(&findings.created)),
        ..Document::new(title(findings), sections.map(|section| section(findings)))
    }
}

/// The result of each cell's ramp.
pub(crate) fn answers(findings: &Findings) -> impl Iterator<Item = Answer> {
    findings.ramps.iter().map(|cell| {
        let name = naming::capital(&cell.name);
        let rate = Rate::new(&findings.counted_name, &cell.found);
        let is_finished = cell.end == RampEnd::Finished;
        let larger = is_finished.then_some("ramp in [clients]");
        let Some(reached) = ramp::answer(&rate, &cell.found, larger) else {
            return Answer {
                what: format!("{name}: no figures"),
                why: format!("{}.", end(&findings.plan, cell)),
            };
        };
        let mut why = Vec::new();
        if let (Some(law), Some(last)) = (&cell.found.law, cell.found.steps.last()) {
            let knee = ramp::knee(&law.peak, f64::from(last.clients));
            why.push(match law.peak.clients {
                Some(_) => format!("The universal scalability law has its knee at {knee}."),
                None => "By the universal scalability law throughput never falls.".into(),
            });
        }
        if !is_finished {
            why.push(format!("{}.", naming::capital(&end(&findings.plan, cell))));
        }
        Answer {
            what: format!("{name}: {reached}"),
            why: why.join(" "),
        }
    })
}

/// The result of a ramp.
fn end(plan: &Plan, cell: &CellRamp) -> String {
    match &cell.end {
        RampEnd::Finished => "finished".into(),
        RampEnd::Interrupted => {
            let all = plan.ramp.map_or(0, |ramp| ramp.clients.count());
            let ended = cell.found.steps.len();
            format!("interrupted after {ended} of {}", counted(all, "step"))
        }
        RampEnd::Failed(reason) => format!("failed: {reason}"),
        RampEnd::Missing => "not begun yet".into(),
    }
}

fn summary(findings: &Findings) -> Section {
    let mut section = Section::new("answer", "Summary");
    for answer in answers(findings).take(FIRST_ANSWERS) {
        section.push(Block::Decision {
            what: answer.what,
            why: answer.why,
        });
    }
    warn_first(&mut section, findings);
    let ramps = &findings.ramps;
    if ramps.len() > 1 {
        let first = &ramps[..ramps.len().min(FIRST_ROWS - 2)];
        section.push(Block::Table(overview(findings, first)));
        let more = ramps.len() - first.len();
        if more > 0 {
            section.paragraph(format!("{more} more cells follow below (--verbose)."));
        }
    } else if is_on_first(findings) {
        for cell in ramps {
            section.extend(of_cell(findings, cell));
        }
    }
    let open = ramps.iter().filter(|cell| cell.end != RampEnd::Finished);
    let open = open.count();
    if open > 0 {
        let which = match ramps.len() {
            1 => "The ramp is not finished.".to_owned(),
            all => format!("Not finished: {open} of {}.", counted(all, "ramp")),
        };
        section.paragraph(format!(
            "{which} Repeat the command to go on, with a larger --budget if it has one."
        ));
        if let Some(command) = &findings.command {
            section.push(Block::Commands {
                purpose: "To go on".into(),
                statements: vec![command.clone()],
            });
        }
    }
    warn_last(&mut section, findings);
    section
}

/// A row for each cell.
fn overview(findings: &Findings, cells: &[CellRamp]) -> Table {
    let last = |cell: &CellRamp| cell.found.steps.last().map(|step| step.clients);
    let law = |cell: &CellRamp| cell.found.law.zip(last(cell));
    let units = findings.ramps.iter();
    let with_steps = units.clone().find(|cell| !cell.found.steps.is_empty());
    let rate = with_steps.map_or_else(
        || findings.counted_name.clone(),
        |cell| Rate::new(&findings.counted_name, &cell.found).unit,
    );
    let enough = |cell: &CellRamp, words: &dyn Fn(&StepFinding) -> String| {
        ramp::enough(&cell.found).map_or_else(String::new, words)
    };
    let mut table = Table::with_rows("Fewest clients that reach 97% of the most", cells)
        .label("cell", |cell| naming::capital(&cell.name))
        .figure("clients", |cell| {
            enough(cell, &|of| count(of.clients.into()))
        })
        .figure(rate.as_str(), |cell| {
            let rate = Rate::new(&findings.counted_name, &cell.found);
            enough(cell, &|of| rate.format(of.counted_per_second))
        })
        .figure(("p99 ms", 3), |cell| {
            enough(cell, &|of| ms(of.latency.p99_us))
        });
    if cells.iter().any(|cell| cell.found.law.is_some()) {
        table = table
            .words(("knee", 4), |cell| {
                law(cell).map_or_else(String::new, |(law, last)| {
                    ramp::knee(&law.peak, f64::from(last))
                })
            })
            .words(("contention", 6), |cell| {
                law(cell).map_or_else(String::new, |(law, _)| ramp::between(law.contention))
            })
            .words(("coherence", 7), |cell| {
                law(cell).map_or_else(String::new, |(law, _)| ramp::between(law.coherence))
            });
    }
    table
        .prose("ramp", |cell| end(&findings.plan, cell))
        .build()
}

/// Whether the only cell has few enough steps for the first screen.
fn is_on_first(findings: &Findings) -> bool {
    let steps = findings.ramps.iter().map(|cell| cell.found.steps.len());
    findings.ramps.len() == 1 && steps.sum::<usize>() <= FIRST_ROWS
}

/// Steps, law and chart of each cell that are not in the summary.
fn clients(findings: &Findings) -> Section {
    let mut section = Section::new("clients", "Clients").at(Depth::Evidence);
    if is_on_first(findings) {
        return section;
    }
    if findings.ramps.len() > FIRST_ROWS - 2 {
        section.push(Block::Table(overview(findings, &findings.ramps)));
    }
    for cell in &findings.ramps {
        section.extend(of_cell(findings, cell));
        if cell.end != RampEnd::Finished {
            let end = naming::capital(&end(&findings.plan, cell));
            section.paragraph(format!("{end}."));
        }
    }
    section
}

/// The steps of a cell, what they say together, and a chart.
fn of_cell(findings: &Findings, cell: &CellRamp) -> Vec<Block> {
    let found = &cell.found;
    let rate = Rate::new(&findings.counted_name, found);
    let of = match findings.ramps.len() {
        1 => String::new(),
        _ => cell.name.clone(),
    };
    let mut blocks = vec![Block::Table(ramp::steps(
        found,
        &rate,
        naming::capital(&of),
    ))];
    blocks.extend(ramp::below(found));
    blocks.extend(ramp::figure(found, &rate, &of).map(Block::Figure));
    blocks.extend(ramp::over_time(found, &rate, &of).map(Block::Figure));
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        findings_json,
        fixture::{self, words},
    };

    #[test]
    fn each_cell_has_its_answer_its_steps_its_law_and_its_chart() {
        let of = fixture::ramps();
        let short = words(&document(&of).terminal(100, false));
        for said in [
            "4 KiB pages: 4,430 new orders per minute with 20 clients. More, up to 40, gain less \
             than 3%.",
            "The universal scalability law has its knee at 21.8 clients (",
            "8 KiB pages: 8,490 new orders per minute with 15 clients, the most that were tried",
            "Interrupted after 3 of 8 steps.",
            "Fewest clients that reach 97% of the most",
            "Not finished: 1 of 2 ramps. Repeat the command to go on",
        ] {
            assert!(short.contains(said), "{said}: {short}");
        }
        let long = words(&document(&of).verbose(100, false));
        for said in [
            "4 KiB pages: steps, without the first tenth of each",
            "8 KiB pages: steps, without the first tenth of each",
            "contention 5.0% (",
            "coherence 0.2% (",
            "clients 5..40/5, 1 min a step",
            "design each cell a ramp by itself, one after the other",
            "Cells run at different times",
        ] {
            assert!(long.contains(said), "{said}: {long}");
        }
        // What is said of lockstep is not said of these.
        for never in ["margin", "passes", "slice", "leads", "lockstep, "] {
            assert!(!long.contains(never), "{never}: {long}");
        }
        let page = document(&of).html();
        assert!(page.contains("Throughput by clients with 4 KiB pages, in new orders per minute"));
        assert!(page.contains("Throughput by clients with 8 KiB pages, in new orders per minute"));
        assert!(page.contains("Throughput over time, in new orders per minute, 8 KiB pages"));
        assert!(page.contains("Response times by clients, 4 KiB pages"));
    }

    #[test]
    fn a_single_cell_has_its_steps_in_the_summary() {
        let mut of = fixture::ramps();
        of.ramps.truncate(1);
        of.plan.page_sizes.truncate(1);
        let short = words(&document(&of).terminal(100, false));
        assert!(short.contains("Steps, without the first tenth"), "{short}");
        assert!(short.contains("off by 0.0% on average"), "{short}");
        assert!(!short.contains("Repeat the command"), "{short}");
    }

    #[test]
    fn more_clients_are_worth_trying_where_the_last_ones_reach_the_most() {
        let mut of = fixture::ramps();
        of.ramps[0].found.steps.truncate(2);
        of.ramps[1].found.steps.truncate(1);
        let answers: Vec<String> = answers(&of).map(|answer| answer.what).collect();
        assert!(
            answers[0].ends_with(
                " with 10 clients, the most that were tried; fewer reach less. Try more with \
                 ramp in [clients]."
            ),
            "{answers:?}"
        );
        // Its other steps are to come.
        let only = " with 5 clients, the only number that was tried.";
        assert!(answers[1].ends_with(only), "{answers:?}");
    }

    #[test]
    fn cells_without_figures_say_why() {
        let mut of = fixture::ramps();
        of.ramps[0].found.steps.clear();
        of.ramps[0].found.law = None;
        of.ramps[0].end = RampEnd::Failed("the disk is full".into());
        of.ramps[1] = CellRamp {
            end: RampEnd::Missing,
            cell: of.ramps[1].cell.clone(),
            name: of.ramps[1].name.clone(),
            ..of.ramps[0].clone()
        };
        let short = words(&document(&of).terminal(100, false));
        for said in [
            "4 KiB pages: no figures: failed: the disk is full.",
            "8 KiB pages: no figures: not begun yet.",
            "Not finished: 2 of 2 ramps.",
        ] {
            assert!(
                short.to_lowercase().contains(&said.to_lowercase()),
                "{said}: {short}"
            );
        }
    }

    #[test]
    fn programs_get_steps_law_and_words() {
        let value: serde_json::Value =
            serde_json::from_str(&findings_json(&fixture::ramps())).unwrap();
        assert_eq!(value["plan"]["ramp"]["clients"], "5..40/5");
        assert_eq!(value["groups"].as_array().unwrap().len(), 0);
        let ramps = value["ramps"].as_array().unwrap();
        assert_eq!(ramps[0]["end"], "finished");
        assert_eq!(ramps[1]["end"], "interrupted");
        assert_eq!(ramps[0]["steps"].as_array().unwrap().len(), 8);
        let peak = ramps[0]["law"]["peak"]["clients"].as_f64().unwrap();
        assert!((peak - (0.95_f64 / 0.002).sqrt()).abs() < 0.1, "{peak}");
        assert!(ramps[1]["law"].is_null());
        let said = value["sentences"][0].as_str().unwrap();
        assert!(said.starts_with("4 KiB pages: 4,430"), "{said}");
    }
}

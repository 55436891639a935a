//! The report of a dry run.

use std::time::Duration;

use octavo_experiment::{
    forecast::{Forecast, ForecastCell},
    plan::{Design, Storage},
};

use crate::{
    document::{Block, Document, Section, Table},
    number::{counted, estimate, join, list, percent},
    sentence, table,
};

/// What an experiment would do and take.
pub fn forecast(forecast: &Forecast) -> Document {
    let title = forecast
        .plan
        .name
        .clone()
        .unwrap_or_else(|| "Dry run".into());
    let sections = sections(forecast, &title);
    Document::new(title, sections)
}

/// The same of one experiment of several, under its own heading.
pub(crate) fn sections(forecast: &Forecast, heading: &str) -> [Section; 5] {
    let mut section = Section::new("forecast", "");
    section.heading(heading);
    section.push(Block::Values(summary(forecast)));
    [
        section,
        cells(forecast),
        own_sizes(forecast),
        space(forecast),
        times(forecast),
    ]
}

fn own_sizes(forecast: &Forecast) -> Section {
    let mut section = Section::new("own-sizes", "Tables and indexes");
    if let Some(chosen) = &forecast.chosen_sizes {
        section.paragraph(sentence::about_own_sizes(chosen));
        section.push(Block::Table(table::own_sizes(&forecast.plan, chosen, &[])));
    }
    section
}

fn summary(forecast: &Forecast) -> Vec<(String, String)> {
    let plan = &forecast.plan;
    let title = plan.workload_title();
    let data = join(plan.data.iter().map(|of| of.of_workload(&title)), "; ");
    let design = match plan.design {
        _ if plan.ramp.is_some() => "each cell a ramp by itself, one after the other",
        Design::Race => "lockstep, decided cells are dropped",
        Design::Full => "lockstep, every cell to the end",
    };
    let mut values = vec![("workload", data)];
    match plan.ramp {
        Some(ramp) => values.push((
            "clients",
            format!(
                "{}, {} of {}",
                ramp.clients,
                counted(ramp.clients.count(), "step"),
                estimate(ramp.step)
            ),
        )),
        None => values.push(("compared", plan.compare.to_string())),
    }
    values.push(("design", design.into()));
    if plan.ramp.is_none() {
        let margin = percent(plan.margin);
        values.push(("margin", format!("up to {margin} counts as no difference")));
    }
    let memories: Vec<String> = plan.memories.iter().map(ToString::to_string).collect();
    values.push(("memory", list(&memories, "and")));
    values.push(("directory", forecast.directory.display().to_string()));
    if forecast.ramps_done > 0 {
        let done = counted(forecast.ramps_done, "ramp");
        values.push((
            "finished",
            format!("{done}, which stay; below is the whole plan"),
        ));
    }
    if forecast.passes_done > 0 {
        let done = counted(forecast.passes_done, "pass");
        values.push((
            "finished",
            format!("{done}, which stay; below is the whole plan"),
        ));
    }
    values
        .into_iter()
        .map(|(name, value)| (name.into(), value))
        .collect()
}

fn cells(forecast: &Forecast) -> Section {
    let plan = &forecast.plan;
    let all = plan.cells();
    let mut section = Section::new("cells", "Cells");
    let place = |cell: &ForecastCell| {
        let found = forecast
            .order_of_first_pass
            .iter()
            .position(|&of| of == cell.cell);
        found.map_or_else(String::new, |place| (place + 1).to_string())
    };
    let mut table = Table::with_rows("", &forecast.cells)
        .label("cell", |cell| (cell.cell + 1).to_string())
        .words(plan.compare.noun(), |cell| {
            let level = plan.level(&all[cell.cell], plan.compare).with_noun();
            let is_reference = cell.reference && plan.ramp.is_none();
            let reference = if is_reference { " (reference)" } else { "" };
            format!("{level}{reference}")
        });
    if forecast.cells.iter().any(|cell| !cell.group.is_empty()) {
        table = table.prose("group", |cell| cell.group.clone());
    }
    let order = match plan.ramp {
        None => "in first pass",
        Some(_) => "turn",
    };
    let table = table.figure(order, place);
    section.push(Block::Table(table.build()));
    section
}

fn space(forecast: &Forecast) -> Section {
    let mut section = Section::new("space", "Space");
    let snapshots = Table::with_rows("Data to load", &forecast.snapshots)
        .prose("database", |of| of.database.clone())
        .figure("page", |of| of.page_size.to_string())
        .figure("about", |of| of.size.to_string())
        .prose("rows", |of| of.rows.clone())
        .prose("directory", |of| of.directory.display().to_string());
    section.push(Block::Table(snapshots.build()));
    let space = Table::with_rows(
        "Disk space, with the copies that sittings change",
        &forecast.space,
    )
    .prose("directory", |space| space.directory.display().to_string())
    .figure("needs about", |space| space.needed.to_string())
    .figure("free", |space| space.free.to_string());
    section.push(Block::Table(space.build()));
    let full = forecast
        .space
        .iter()
        .filter(|space| space.free < space.needed);
    let warnings = full.map(|space| {
        format!(
            "{} is too small. Name a directory on a larger disk.",
            space.directory.display()
        )
    });
    section.push(Block::Warnings(warnings.collect()));
    section
}

fn times(forecast: &Forecast) -> Section {
    let mut section = Section::new("time", "Time (estimates)");
    let loading = if forecast.calibrate {
        "calibrate and load"
    } else {
        "load"
    };
    let slice = match forecast.slices.transactions {
        Some(count) => counted(count, "transaction"),
        None => "set after a trial".into(),
    };
    let mut values = vec![
        (loading.to_owned(), estimate(forecast.making)),
        (
            match forecast.plan.ramp {
                None => "copies and warm-up".into(),
                Some(_) => "copies".into(),
            },
            match forecast.plan.ramp {
                None => format!("{} in each sitting", estimate(forecast.beginning)),
                Some(_) => format!("{} for all cells", estimate(forecast.beginning)),
            },
        ),
    ];
    match forecast.plan.ramp {
        Some(ramp) => {
            let cells = u32::try_from(forecast.cells.len()).unwrap_or(u32::MAX);
            let all = ramp.length().saturating_mul(cells);
            let warm_up = ramp.step.saturating_mul(cells);
            values.push((
                "ramps".into(),
                format!(
                    "{}, and at least {} of warm-up",
                    estimate(all),
                    estimate(warm_up)
                ),
            ));
        }
        None => values.push(("slice".into(), slice)),
    }
    if let Some(passes) = forecast.passes {
        values.push(("passes".into(), format!("at most {passes}")));
    }
    if let Some(budget) = forecast.budget {
        let said = if forecast.time_min > budget {
            format!(
                "too small, must be at least {}",
                // What is said has to be enough.
                estimate(whole_seconds(forecast.time_min))
            )
        } else {
            let rest = budget.saturating_sub(forecast.making + forecast.beginning);
            format!("leaves about {} for measuring", estimate(rest))
        };
        values.push((format!("budget of {}", estimate(budget)), said));
    }
    section.push(Block::Values(values));
    let is_asked = |storage: &Storage| !matches!(storage, Storage::Device(_));
    let measured = match &forecast.chosen_sizes {
        Some(_) if forecast.plan.storages.iter().any(is_asked) => {
            "Random reads were measured, and nothing else: measured again, other sizes of tables may be \
             chosen."
        }
        _ => "Nothing was measured.",
    };
    section.paragraph(format!(
        "{measured} Assumes a slow disk: 60 MB/s for loading, 360 MB/s for copying."
    ));
    section
}

/// Rounded up.
fn whole_seconds(time: Duration) -> Duration {
    let more = u64::from(time.subsec_nanos() > 0);
    Duration::from_secs(time.as_secs().saturating_add(more))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::fixture;

    /// Without line breaks and unbreakable blanks.
    fn words() -> String {
        fixture::words(&forecast(&fixture::forecast()).terminal(100, false))
    }

    #[test]
    fn a_forecast_says_what_is_done_and_taken() {
        let text = words();
        for said in [
            "workload TPC-C, warehouses: 3 compared page size design",
            " 2 4 KiB pages (reference) 4 3 8 KiB",
            "calibrate and load 60 s copies and warm-up 40 s in each sitting",
            "memory 32 MiB directory",
            "slice set after a trial budget of 10 min leaves about 8 min for measuring",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
    }

    #[test]
    fn lack_of_time_and_space_is_printed() {
        let mut of = fixture::forecast();
        of.time_min = Duration::from_secs(3600);
        of.space[0].free = octavo_units::ByteCount::mib(1);
        let text = forecast(&of).terminal(100, false);
        let text = text.replace('\u{a0}', " ");
        assert!(
            text.contains("too small, must be at least 60 min"),
            "{text}"
        );
        assert!(text.contains("! octavo-sample is too small."), "{text}");
    }
}

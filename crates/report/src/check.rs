//! The report of a check.

use octavo_experiment::check::{CheckResult, Checked};

use crate::{
    document::{Block, Cell, Document, Section, Table, Tone},
    number::count,
};

/// The report of a check.
pub fn check(result: &CheckResult) -> Document {
    let mut answer = Section::new("answer", "Answer");
    let (what, why) = if result.is_sound() {
        match (&result.loaded.copy_of, result.base.conditions.as_slice()) {
            (None, _) => (
                "Sound.",
                "All conditions hold, and the loaded rows are those of the seed.",
            ),
            (Some(_), []) => (
                "It opens.",
                "Nothing else was checked: rows of a copy are not compared with yours.",
            ),
            (Some(_), _) => (
                "Sound.",
                "All conditions hold. Rows of a copy are not compared with yours.",
            ),
        }
    } else if result.unchecked().is_some() {
        (
            "NOT CHECKED.",
            "No space left, so not all rows were read. Free some space and run the same command \
             again.",
        )
    } else {
        ("NOT SOUND.", "See below.")
    };
    answer.push(Block::Decision {
        what: what.into(),
        why: why.into(),
    });
    answer.paragraph(format!("{}.", result.loaded));
    let unexpected = result.unexpected.iter();
    let unexpected = unexpected
        .map(|table| format!("The loaded rows of {table} are not the seed's. Load again."));
    answer.push(Block::Warnings(unexpected.collect()));
    let loaded = section("loaded", "As loaded", &result.base);
    let last_run = result.last_run.as_ref();
    let last_run = last_run.map(|last_run| section("last-run", "After the last run", last_run));
    Document::new("Check", [answer, loaded].into_iter().chain(last_run))
}

fn section(id: &'static str, title: &'static str, checked: &Checked) -> Section {
    let mut section = Section::new(id, title);
    if let Some(reason) = &checked.unreadable {
        section.paragraph(format!("Cannot be read: {reason}"));
        return section;
    }
    if let Some(reason) = &checked.unchecked {
        section.paragraph(format!("Not checked: {reason}"));
        return section;
    }
    let tables = Table::with_rows("", &checked.tables)
        .label("table", |table| table.table.clone())
        .figure("rows", |table| count(table.rows))
        .words("content hash", |table| table.hash.to_string());
    section.push(Block::Table(tables.build()));
    let conditions = Table::with_rows("", &checked.conditions)
        .label("condition", |of| of.clause.clone())
        .figure("places", |of| count(of.checked))
        .figure("violations", |of| count(of.violations))
        .prose("result", |of| {
            let first = of.first_violation.as_deref().unwrap_or_default();
            match of.violations {
                0 => Cell::from("holds"),
                _ => Cell::toned(format!("{first} FAIL").trim_start(), Tone::Bad),
            }
        });
    section.push(Block::Table(conditions.build()));
    section
}

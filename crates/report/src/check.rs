//! What a check found, for a terminal and for programs.

use octavo_experiment::check::{CheckResult, Checked};

use crate::{number::count, page::Page, table::Table};

/// The result as indented JSON.
///
/// # Panics
/// Never: every part of a result has a JSON form.
pub fn check_json(result: &CheckResult) -> String {
    serde_json::to_string_pretty(result).expect("a result has a JSON form")
}

/// The result as text of at most `width` columns; with `colour`, ANSI escape
/// sequences mark headings and violations. Ends with a line break.
pub fn check(result: &CheckResult, width: usize, colour: bool) -> String {
    let mut page = Page::new(width, colour);
    page.answer(if result.is_sound() {
        "Sound: all conditions hold, and the loaded rows are those that the seed gives."
    } else {
        "NOT SOUND: see below."
    });
    page.prose("", &format!("{}.", result.loaded));
    page.blank();
    let unexpected: Vec<String> = result
        .unexpected
        .iter()
        .map(|table| {
            format!("the loaded rows of {table} are not those that the seed gives: load again")
        })
        .collect();
    page.warnings(&unexpected);
    show(&mut page, "As loaded", &result.base);
    if let Some(last_run) = &result.last_run {
        show(&mut page, "After the last run", last_run);
    }
    page.finish()
}

fn show(page: &mut Page, heading: &str, checked: &Checked) {
    page.heading(heading);
    if let Some(reason) = &checked.unreadable {
        page.prose("  ", &format!("cannot be read: {reason}"));
        page.blank();
        return;
    }
    page.table(
        &Table::new(
            ["table", "rows", "content hash"],
            checked.tables.iter().map(|table| {
                [
                    table.table.clone(),
                    count(table.rows),
                    table.hash.to_string(),
                ]
            }),
        ),
        &[],
    );
    if checked.conditions.is_empty() {
        return;
    }
    page.table(
        &Table::new(
            ["condition", "places", "violations", ""],
            checked.conditions.iter().map(|condition| {
                [
                    condition.clause.clone(),
                    count(condition.checked),
                    count(condition.violations),
                    match (condition.violations, &condition.first_violation) {
                        (0, _) => "holds".to_owned(),
                        (_, Some(first)) => format!("{first} FAIL"),
                        (_, None) => "FAIL".to_owned(),
                    },
                ]
            }),
        ),
        &[],
    );
}

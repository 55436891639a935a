//! What must hold of the table after a load and after every run.
//!
//! The database counts, a range of keys at a time, so that looking for keys
//! that come twice takes it no more memory than a range needs.

use std::fmt::Write;

use super::{
    key::{PREFIX, quantile},
    schema::FIELDS,
    statements::{COUNT, STATEMENTS, SUMMARY},
};
use crate::{
    Condition, Connection, ConnectionError,
    answer::{Prepared, integer},
    connection::{Row, Value},
};

/// About how many records a range has.
const RANGE_RECORDS: u64 = 20_000;

/// Above every key in every collation.
const ABOVE: &str = "v";

/// What [`SUMMARY`] tells of a range.
#[derive(Debug, Default)]
struct Summary {
    records: u64,
    distinct: u64,
    well_formed: u64,
    /// The shortest and longest value of each field; `None` for an empty
    /// range.
    lengths: [Option<(u64, u64)>; FIELDS],
}

/// Checks all conditions of a table that began with `records` records whose
/// fields have `field_length` characters.
pub(super) fn check(
    connection: &mut dyn Connection,
    records: u64,
    field_length: usize,
) -> Result<Vec<Condition>, ConnectionError> {
    let mut database = Prepared::new(connection, STATEMENTS);
    let all = database.one(COUNT, &[], |row| count(row, 0))?;
    let mut sum = Summary::default();
    let mut wrong_fields = 0;
    let mut wrong_field = None;
    let parts = (records / RANGE_RECORDS).max(1);
    let (mut low, mut high) = (String::from(PREFIX), String::new());
    for part in 0..parts {
        high.clear();
        match part + 1 == parts {
            true => high.push_str(ABOVE),
            // Writing to a string never fails.
            false => {
                let _ = write!(high, "{PREFIX}{}", quantile(part + 1, parts));
            }
        }
        let range = [Value::Text(&low), Value::Text(&high)];
        let range = database.one(SUMMARY, &range, summary)?;
        sum.records += range.records;
        sum.distinct += range.distinct;
        sum.well_formed += range.well_formed;
        for (field, lengths) in range.lengths.iter().enumerate() {
            let Some((shortest, longest)) = *lengths else {
                continue;
            };
            if (shortest, longest) != (field_length as u64, field_length as u64) {
                wrong_fields += 1;
                wrong_field.get_or_insert_with(|| {
                    format!(
                        "field{field} has {shortest} to {longest} characters between keys {low} \
                         and {high}, instead of {field_length}"
                    )
                });
            }
        }
        std::mem::swap(&mut low, &mut high);
    }
    let condition = |clause: &str, checked, violations, words: String| Condition {
        clause: clause.into(),
        checked,
        violations,
        first_violation: (violations > 0).then_some(words),
    };
    // Rows outside of all ranges have no YCSB key.
    let ill_formed = all.saturating_sub(sum.well_formed);
    let repeated = sum.records.saturating_sub(sum.distinct);
    Ok(vec![
        condition(
            "records",
            1,
            u64::from(all < records),
            format!("{all} records are there, but {records} were loaded"),
        ),
        condition(
            "keys",
            all,
            ill_formed,
            format!("{ill_formed} keys are not {PREFIX} and 1 to 19 characters"),
        ),
        condition(
            "distinct keys",
            sum.records,
            repeated,
            format!("{repeated} records have the key of another one"),
        ),
        condition(
            "field lengths",
            parts * FIELDS as u64,
            wrong_fields,
            wrong_field.unwrap_or_default(),
        ),
    ])
}

/// `None` when it is not what was declared.
fn summary(row: &dyn Row) -> Option<Summary> {
    let mut summary = Summary {
        records: count(row, 0)?,
        distinct: count(row, 1)?,
        well_formed: count(row, 2)?,
        ..Summary::default()
    };
    if summary.records > 0 {
        for (field, lengths) in summary.lengths.iter_mut().enumerate() {
            *lengths = Some((count(row, 3 + 2 * field)?, count(row, 4 + 2 * field)?));
        }
    }
    Some(summary)
}

fn count(row: &dyn Row, column: usize) -> Option<u64> {
    u64::try_from(integer(row, column)?).ok()
}

//! The cells of findings as comma-separated values, a row each.

use octavo_experiment::{
    figures::{COLUMNS, Figure, figures},
    findings::Findings,
};

/// A row for each cell (RFC 4180), below one with the names of
/// [`COLUMNS`](octavo_experiment::figures::COLUMNS). What is not known is empty.
pub fn findings_csv(findings: &Findings) -> String {
    let rows = figures(findings).into_iter();
    let rows = rows.map(|row| line(row.iter().map(field)));
    std::iter::once(line(COLUMNS.map(str::to_owned)))
        .chain(rows)
        .collect()
}

/// All digits.
fn field(figure: &Figure) -> String {
    match figure {
        Figure::Unknown => String::new(),
        Figure::Text(text) => text.clone(),
        Figure::Count(count) => count.to_string(),
        Figure::Number(number) => number.to_string(),
    }
}

fn line(fields: impl IntoIterator<Item = String>) -> String {
    let fields = fields
        .into_iter()
        .map(|field| match field.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", field.replace('"', "\"\"")),
            false => field,
        });
    fields.collect::<Vec<_>>().join(",") + "\r\n"
}

#[cfg(test)]
mod tests {
    use octavo_experiment::findings::CellFindings;

    use super::*;
    use crate::{fixture, naming};

    #[test]
    fn every_cell_is_a_row_with_its_figures() {
        let findings = fixture::findings();
        let csv = findings_csv(&findings);
        let mut rows = csv.split("\r\n");
        let names: Vec<&str> = rows.next().unwrap().split(',').collect();
        assert_eq!(names, COLUMNS);
        // No quote is in any of them.
        let fields = |row: &str| -> Vec<String> {
            let parts = row.split('"').enumerate();
            let parts = parts.map(|(place, part)| match place % 2 {
                0 => part.replace(',', "\n"),
                _ => part.to_owned(),
            });
            parts
                .collect::<String>()
                .split('\n')
                .map(str::to_owned)
                .collect()
        };
        let rows: Vec<Vec<String>> = rows.filter(|row| !row.is_empty()).map(fields).collect();
        let cells: Vec<&CellFindings> = naming::cells(&findings).collect();
        assert_eq!(rows.len(), cells.len());
        let at = |name: &str| names.iter().position(|of| *of == name).unwrap();
        let numbers = findings.plan.cells();
        for (row, cell) in rows.iter().zip(cells) {
            assert_eq!(row.len(), COLUMNS.len(), "{row:?}");
            assert_eq!(
                row[at("page_size_bytes")],
                cell.cell.page_size.get().to_string()
            );
            let ratio: Option<f64> = row[at("ratio")].parse().ok();
            assert_eq!(ratio, cell.ratio.map(|of| of.estimate));
            let throughput: Option<f64> = row[at("throughput_per_minute")].parse().ok();
            assert_eq!(throughput, cell.throughput.map(|of| of.estimate));
            let number: usize = row[at("cell_number")].parse().unwrap();
            assert_eq!(numbers[number], cell.cell);
        }
    }

    #[test]
    fn fields_are_quoted_where_they_have_to_be() {
        let fields = ["a,b", "say \"x\"", "", "1"].map(str::to_owned);
        assert_eq!(line(fields), "\"a,b\",\"say \"\"x\"\"\",,1\r\n");
        let fields = [
            Figure::Number(0.1),
            Figure::Number(1e9),
            Figure::Count(7),
            Figure::Unknown,
        ];
        assert_eq!(
            fields.each_ref().map(field),
            ["0.1", "1000000000", "7", ""].map(str::to_owned)
        );
    }
}

//! What another disk would change.

use octavo_experiment::{findings::Findings, prediction::Elsewhere};

use crate::number::{factor, percent};

/// Less than this is no reason to change the page size, by predictions.
const WORTH: f64 = 1.05;

/// What the lines of [`elsewhere`] are; `None` where there are none.
pub(crate) fn elsewhere_heading(findings: &Findings) -> Option<String> {
    let first = findings.elsewhere.first()?;
    Some(format!(
        "Predicted, not measured: {} of memory on another disk (octavo devices lists them).",
        first.memory
    ))
}

/// One line for each disk that was asked, by its name.
pub(crate) fn elsewhere(findings: &Findings) -> Vec<(String, String)> {
    let Some(database) = findings.plan.databases.first() else {
        return Vec::new();
    };
    let default = database.default_page_size;
    let line = |one: &Elsewhere| {
        let (more, here) = (one.over_default, factor(one.over_here));
        let pages = match more >= WORTH {
            true => format!(
                "{} pages {} faster than {default}",
                one.page_size,
                percent(more - 1.0)
            ),
            false => format!("keep {default} pages"),
        };
        (
            one.device.clone(),
            format!("{here} as fast as here; {pages}"),
        )
    };
    findings.elsewhere.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use octavo_experiment::record::Source;
    use octavo_units::{ByteCount, PageSize};

    use super::*;
    use crate::fixture;

    #[test]
    fn each_disk_has_a_line() {
        let mut findings = fixture::findings();
        assert_eq!(elsewhere_heading(&findings), None);
        let one = |device: &str, kib, over_default, over_here| Elsewhere {
            source: Source::Predicted,
            device: device.into(),
            memory: ByteCount::mib(32),
            page_size: PageSize::kib(kib),
            over_default,
            over_here,
        };
        findings.elsewhere = vec![one("nvme-tlc", 2, 1.124, 2.43), one("disk", 8, 1.01, 0.053)];
        let lines = elsewhere(&findings);
        assert_eq!(
            lines[0].1,
            "2.4x as fast as here; 2 KiB pages 12% faster than 4 KiB"
        );
        assert_eq!(lines[1].1, "0.05x as fast as here; keep 4 KiB pages");
        assert!(
            elsewhere_heading(&findings)
                .unwrap()
                .contains("not measured")
        );
    }
}

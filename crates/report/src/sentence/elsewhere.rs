//! What another disk would change.

use octavo_experiment::{
    findings::Findings,
    prediction::{OtherDisk, PagesElsewhere},
    statistics::Interval,
};

use crate::number::{ends, factor, factors, list, percent};

/// Below this factor a pace is given as "N times slower".
const SLOW: f64 = 0.5;

/// What the lines of [`elsewhere`] are; `None` where there are none.
pub(crate) fn elsewhere_heading(findings: &Findings) -> Option<String> {
    let first = findings.elsewhere.first()?;
    let default = findings.plan.databases.first()?.default_page_size;
    Some(format!(
        "Predicted, not measured: {} of memory, {default} pages on other disks, 95% CI (octavo \
         devices).",
        first.memory
    ))
}

/// One line for each disk that was asked, by its name.
pub(crate) fn elsewhere(findings: &Findings) -> Vec<(String, String)> {
    let Some(database) = findings.plan.databases.first() else {
        return Vec::new();
    };
    let default = database.default_page_size;
    let line = |one: &OtherDisk| {
        let pages = match &one.pages {
            PagesElsewhere::Use {
                page_size,
                over_default,
            } => format!(
                "; {page_size} pages {} faster than {default} ({})",
                percent(over_default.estimate - 1.0),
                ends(over_default, |end| percent(end - 1.0))
            ),
            // Earlier versions kept what had no rival.
            PagesElsewhere::Keep if findings.plan.page_sizes.len() > 1 => {
                format!("; keep {default} pages")
            }
            PagesElsewhere::Keep | PagesElsewhere::Alone => String::new(),
            PagesElsewhere::Open { page_sizes } => {
                let sizes = [&[default], page_sizes.as_slice()].concat();
                format!("; {}: too close to call", list(&sizes, "or"))
            }
        };
        (
            one.device.clone(),
            format!("{}{pages}", pace(&one.over_here)),
        )
    };
    findings.elsewhere.iter().map(line).collect()
}

/// `2.4x as fast as here (1.9x to 3.0x)`, `19 times slower than here (14 to 25)`. Of an interval
/// that holds 1 the ends alone are told.
fn pace(over_here: &Interval) -> String {
    let Interval {
        estimate,
        low,
        high,
        ..
    } = *over_here;
    if low <= 1.0 && high >= 1.0 {
        return format!("{} as fast as here", ends(over_here, factor));
    }
    match estimate < SLOW {
        true => {
            let [times, least, most] = factors([1.0 / estimate, 1.0 / high, 1.0 / low])
                .map(|factor| factor.trim_end_matches('x').to_owned());
            format!("{times} times slower than here ({least} to {most})")
        }
        false => {
            let [times, least, most] = factors([estimate, low, high]);
            format!("{times} as fast as here ({least} to {most})")
        }
    }
}

#[cfg(test)]
mod tests {
    use octavo_experiment::record::Source;
    use octavo_units::{ByteCount, PageSize};

    use super::*;
    use crate::fixture;

    fn interval(low: f64, estimate: f64, high: f64) -> Interval {
        Interval {
            estimate,
            low,
            high,
            batches: 10,
        }
    }

    #[test]
    fn each_disk_has_a_line() {
        let mut findings = fixture::findings();
        assert_eq!(elsewhere_heading(&findings), None);
        let one = |device: &str, pages, over_here| OtherDisk {
            source: Source::Predicted,
            device: device.into(),
            memory: ByteCount::mib(32),
            pages,
            over_here,
        };
        let faster = PagesElsewhere::Use {
            page_size: PageSize::kib(2),
            over_default: interval(1.05, 1.124, 1.2),
        };
        let open = PagesElsewhere::Open {
            page_sizes: vec![PageSize::kib(2), PageSize::kib(8)],
        };
        findings.elsewhere = vec![
            one("nvme-tlc", faster, interval(1.9, 2.43, 3.0)),
            one("disk", PagesElsewhere::Keep, interval(0.04, 0.053, 0.07)),
            one("other", open, interval(0.9, 1.1, 1.3)),
        ];
        let lines: Vec<String> = elsewhere(&findings)
            .into_iter()
            .map(|line| line.1)
            .collect();
        assert_eq!(
            lines,
            [
                "2.4x as fast as here (1.9x to 3.0x); 2 KiB pages 12% faster than 4 KiB (5% to \
                 20%)",
                "19 times slower than here (14 to 25); keep 4 KiB pages",
                "0.90x to 1.30x as fast as here; 4 KiB, 2 KiB or 8 KiB: too close to call",
            ]
        );
        assert!(
            elsewhere_heading(&findings)
                .unwrap()
                .contains("not measured")
        );
    }
}

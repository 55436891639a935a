//! Warnings about losses, outages and errors of a bench.

use octavo_experiment::bench::BenchResult;

use crate::number::{count, join, seconds};

/// Outages that are named one by one.
const NAMED: usize = 3;

/// Losses and outages since the warm-up, and what could not be checked.
pub(crate) fn troubles(result: &BenchResult) -> Vec<String> {
    let load = &result.figures.load;
    let mut troubles = Vec::new();
    if load.transactions() == 0 {
        troubles.push(format!(
            "No transaction ended in the {} that were measured.",
            seconds(load.measured.as_secs_f64())
        ));
    }
    if let Some(reason) = &load.lost {
        troubles.push(format!(
            "The database was lost and did not come back, so the run ended after {}: {reason}.",
            seconds(load.measured.as_secs_f64())
        ));
    }
    if let Some(reason) = &load.full {
        troubles.push(format!(
            "The run ended after {}, and the rows were not checked: {reason}.",
            seconds(load.measured.as_secs_f64())
        ));
    }
    if !load.outages.is_empty() {
        let named = load.outages.iter().take(NAMED).map(|outage| {
            let [length, begin] = [outage.length_s, outage.begin_s].map(seconds);
            format!("{length} at {begin}")
        });
        let more = match load.outages.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        troubles.push(format!(
            "Nothing was committed for {}{more}. Throughput counts this time, latencies only \
             what ended.",
            join(named, ", ")
        ));
    }
    let lost: u64 = result.kinds().iter().map(|kind| kind.lost()).sum();
    if lost > 0 {
        troubles.push(format!(
            "{} lost, each with a transaction that may have been committed or not.",
            match lost {
                1 => "1 connection was".into(),
                lost => format!("{} connections were", count(lost)),
            }
        ));
    }
    if let Some(reason) = &result.figures.unchecked
        && load.full.is_none()
    {
        troubles.push(format!("The rows were not checked: {reason}."));
    }
    troubles
}

/// How many transactions failed, and how many more did in the warm-up.
pub(crate) fn errors(result: &BenchResult) -> String {
    let load = &result.figures.load;
    let failed = count(load.counts.failed());
    match load.warm_up_failed {
        0 => failed,
        more => format!("{failed}, and {} more in the warm-up", count(more)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use octavo_driver::{KindCounts, Sample, steady::Outage};
    use octavo_units::Seed;
    use octavo_workload::{Tpcc, Workload};

    use super::*;
    use crate::{
        bench, bench_csv, bench_json,
        fixture::{self, words},
    };

    /// Six seconds of which the first is warm-up and the second was cut, with three lost
    /// connections since the warm-up and an outage.
    fn lossy() -> BenchResult {
        let mut result = fixture::bench();
        let load = &mut result.figures.load;
        let second = |number: u64| Sample {
            at: Duration::from_secs(number + 1),
            measured: number > 1,
            cut: number == 1,
            length: Duration::from_secs(1),
            counted: if number == 3 { 0 } else { 200 },
            failed: u64::from(number < 3),
            retries: number % 2,
            ..Sample::default()
        };
        load.series = (0..6).map(second).collect();
        load.series[4].failed = 1;
        load.warm_up = Duration::from_secs(1);
        load.warm_up_failed = 1;
        load.measured = Duration::from_secs(4);
        load.steadiness.cut_s = 1.0;
        let kinds = Tpcc::new(2, Seed::new(1)).unwrap().transactions();
        let outcomes = [990, 10, 3, 0, 0, 0, 0, 3];
        let latencies = load.counts.kinds[0].latencies.clone();
        load.counts.kinds[0] = KindCounts::with_outcomes(&kinds[0], outcomes, latencies);
        load.outages = vec![Outage {
            begin_s: 2.75,
            length_s: 1.5,
        }];
        load.stability.longest_stall_s = 1.5;
        result
    }

    #[test]
    fn losses_and_outages_are_alike_in_every_output() {
        let result = lossy();
        let text = words(&bench(&result).terminal(100, false));
        let page = bench(&result).html().replace('\u{a0}', " ");
        for said in [
            "errors 3, and 1 more in the warm-up",
            "longest gap 1.50 s",
            "Nothing was committed for 1.50 s at 2.75 s. Throughput counts",
            "3 connections were lost, each",
        ] {
            assert!(text.contains(said), "{said} in {text}");
            let said = said.replace("errors ", "errors</dt><dd>");
            let said = said.replace("gap ", "gap</dt><dd>");
            assert!(page.contains(&said), "{said}");
        }
        let json: serde_json::Value = serde_json::from_str(&bench_json(&result)).unwrap();
        assert_eq!((&json["failed"], &json["retries"]), (&3.into(), &3.into()));
        assert_eq!(json["warm_up_failed"], 1);
        assert_eq!(json["outages"][0]["length_s"], 1.5);
        let csv = bench_csv(&result);
        let names: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
        let total = |name: &str, is_in: fn(&str, &str) -> bool| {
            let place = |name: &str| names.iter().position(|other| *other == name).unwrap();
            let lines = csv.lines().skip(1).map(|line| line.split(',').collect());
            let lines =
                lines.filter(|line: &Vec<&str>| is_in(line[place("measured")], line[place("cut")]));
            lines
                .map(|line| line[place(name)].parse::<f64>().unwrap())
                .sum::<f64>()
        };
        let since = |measured: &str, cut: &str| measured == "1" || cut == "1";
        assert_eq!(total("failed", since), 3.0, "{csv}");
        assert_eq!(total("retries", since), 3.0, "{csv}");
        assert_eq!(
            total("failed", |measured, cut| measured == "0" && cut == "0"),
            1.0
        );
        assert_eq!(total("outage_s", |_, _| true), 1.5, "{csv}");
    }

    #[test]
    fn a_page_has_headings_its_date_navigation_and_a_chart_of_time() {
        let result = lossy();
        let page = bench(&result).html();
        let date = result.started_at.to_string();
        assert!(page.contains(&format!("begun {} ", &date[..10])), "{date}");
        let place = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part}"));
        let parts = [
            "class=\"decision\"",
            "<nav",
            "<h2>By second</h2>",
            "<h2>Latency</h2>",
            "<h2>Load</h2>",
            "<h2>Conditions</h2>",
        ];
        assert!(parts.map(place).is_sorted());
        // One where it was, and one in the legend: over throughput, and over what failed.
        assert_eq!(page.matches("<rect class=\"outage\"").count(), 4);
        assert!(page.contains("Retries and failed transactions by second"));
        assert!(page.contains("seconds with failures") || page.contains("second with failures"));
        // A text has no room for a heading over a chart.
        let text = bench(&result).terminal(100, false);
        assert!(!text.contains("By second"), "{text}");
    }

    #[test]
    fn what_could_not_be_checked_or_measured_is_said() {
        let mut result = lossy();
        assert_eq!(result.shortfall(), None);
        result.figures.unchecked = Some("no server".into());
        assert_eq!(
            result.shortfall().unwrap(),
            "the rows were not checked: no server"
        );
        let mut full = result.clone();
        full.figures.load.full = Some("no space left".into());
        let text = words(&bench(&full).terminal(200, false));
        assert_eq!(text.matches("not checked").count(), 1, "{text}");
        assert!(text.contains("and the rows were not checked: no space left."));
        assert_eq!(
            full.shortfall().unwrap(),
            "the run ended early, and the rows were not checked: no space left"
        );
        result.figures.load.lost = Some("client 1 lost its connection".into());
        let text = words(&bench(&result).terminal(200, false));
        assert!(
            text.contains("The rows were not checked: no server."),
            "{text}"
        );
        assert!(
            text.contains("so the run ended after 4.00 s: client 1"),
            "{text}"
        );
        let mut nothing = fixture::bench();
        nothing.figures.load.counts.kinds.clear();
        let said = nothing.shortfall().unwrap();
        assert!(said.starts_with("no transaction ended in the "), "{said}");
        let text = words(&bench(&nothing).terminal(200, false));
        assert!(text.contains("latency none errors 0"), "{text}");
    }

    #[test]
    fn data_that_fits_needs_no_longer_warm_up() {
        let mut result = lossy();
        result.figures.load.buffer_filled = false;
        let text = |result: &BenchResult| words(&bench(result).terminal(200, false));
        assert!(text(&result).contains("Use a longer --warm-up-time"));
        result.data_fits = true;
        assert!(
            !text(&result).contains("--warm-up-time"),
            "{}",
            text(&result)
        );
    }
}

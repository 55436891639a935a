//! What simulated solid-state drives do, against data sheets.

use octavo_device::{
    catalog::{self, Compared},
    point::PointSpec,
    probe::{self, Effort},
    profile::Point,
};
use octavo_units::Seed;

const SEED: Seed = Seed::new(1);

fn measured(name: &str, spec: &str) -> Point {
    let spec: PointSpec = spec.parse().unwrap();
    let mut device = catalog::find(name).unwrap().open(SEED);
    probe::measure(&mut *device, &spec, Effort::default(), SEED).unwrap()
}

#[test]
fn drives_of_data_centers_meet_the_figures_they_list() {
    for name in ["sata-tlc", "nvme-tlc"] {
        let entry = catalog::find(name).unwrap();
        let writes = entry.published.iter().filter(|of| of.at.mix.writes());
        assert!(writes.count() >= 3, "{name}");
        for published in &entry.published {
            let Compared {
                simulated, error, ..
            } = published.compare(&entry, SEED).unwrap();
            assert!(
                error.abs() < 0.2,
                "{name}, {}: {simulated}, {error}",
                published.at
            );
        }
    }
}

#[test]
fn reads_of_a_cells_pages_differ_and_a_few_are_repeated() {
    // 66 us less or more a quarter, and 190 us more for 1.5 of 1,000.
    let read = measured("sata-tlc", "random read 4K, depth 1, range 16GiB").latency;
    assert!(read.us_p99 - read.us_p50 > 12.0, "{read:?}");
    assert!(read.us_p999 - read.us_p50 > 170.0, "{read:?}");
}

#[test]
fn sequential_reads_come_from_what_was_read_ahead() {
    for name in ["sata-tlc", "nvme-tlc"] {
        let [sequential, random] = ["sequential", "random"].map(|pattern| {
            let spec = format!("{pattern} read 4K, depth 1, range 16GiB");
            measured(name, &spec).latency.us_mean
        });
        assert!(2.0 * sequential < random, "{name}: {sequential} {random}");
    }
}

#[test]
fn parameters_that_would_be_ignored_are_refused() {
    let text = catalog::find("sata-tlc").unwrap().to_toml();
    for (from, key) in [
        ("bits_per_cell", "nand.read_spread"),
        ("retry_us", "nand.retry_share"),
    ] {
        let without: String = text
            .lines()
            .filter(|line| !line.starts_with(from))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_ne!(without, text);
        let refusal = catalog::Entry::from_toml(&without).unwrap_err().to_string();
        assert!(refusal.contains(key), "{refusal}");
    }
}

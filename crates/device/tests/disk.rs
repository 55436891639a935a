//! What simulated disks do, against what follows by hand.

use octavo_device::{
    Completion, Device, Request, Tag,
    catalog::{self, Compared, Entry, Relation},
    point::PointSpec,
    probe::{self, Effort},
};
use octavo_units::{Moment, Seed};
use rand::Rng;

const SEED: Seed = Seed::new(1);

/// The lee-2009 drive with some text of its entry replaced.
fn cheetah(changes: &[(&str, &str)]) -> Entry {
    Entry::from_toml(&changed(changes)).unwrap()
}

fn changed(changes: &[(&str, &str)]) -> String {
    let mut text = catalog::find("st373455ss").unwrap().to_toml();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    text
}

/// One request at a time; all completions.
fn one_by_one(device: &mut dyn Device, requests: impl Iterator<Item = Request>) -> Vec<u64> {
    let mut completions = Vec::new();
    let mut now = device.now();
    for request in requests {
        device.submit(now, Tag(0), request).unwrap();
        now = device.next(Moment::NEVER).unwrap().unwrap().at;
        completions.push(now.get());
    }
    completions
}

fn spec(text: &str) -> PointSpec {
    #[derive(serde::Deserialize)]
    struct Spec {
        at: PointSpec,
    }
    toml::from_str::<Spec>(&format!("at = {{ {text}, durability = \"device\" }}"))
        .unwrap()
        .at
}

#[test]
fn published_figures_of_lee_2009_are_met() {
    let entry = catalog::find("st373455ss").unwrap();
    for published in &entry.published {
        let Compared {
            simulated, error, ..
        } = published.compare(&entry, SEED).unwrap();
        assert!(error.abs() < 0.15, "{}: {simulated}, {error}", published.at);
    }
}

#[test]
fn published_figures_of_petrov_2010_are_met_on_average() {
    let entry = catalog::find("petrov-hdd").unwrap();
    let errors: Vec<f64> = entry
        .published
        .iter()
        .map(|published| {
            assert_eq!(published.relation, Relation::About);
            published.compare(&entry, SEED).unwrap().error.abs()
        })
        .collect();
    assert_eq!(errors.len(), 10);
    let mean = errors.iter().sum::<f64>() / 10.0;
    assert!(mean < 0.10, "{mean}: {errors:?}");
}

#[test]
fn a_stream_of_reads_runs_at_the_rate_of_the_media_at_any_depth() {
    for (depth, size) in [(1, 131_072), (1, 65_536), (8, 131_072), (32, 8192)] {
        let mut device = cheetah(&[]).open(SEED);
        let at = spec(&format!(
            "mix = \"read\", pattern = \"sequential\", request_size = {size}, depth = {depth}, \
             range = 1073741824"
        ));
        let point = probe::measure(&mut *device, &at, Effort::default(), SEED).unwrap();
        let rate = point.bytes_per_second.get() / 125e6;
        assert!((0.97..1.01).contains(&rate), "{at}: {rate}");
    }
}

/// Each write of 128 KiB comes 0.2 ms after the one before it ended: its first
/// sector has just passed. So each takes a revolution of 4 ms and the passing
/// of its 256 of 1,079 sectors, of which 0.25 switches of 0.4 ms on average.
#[test]
fn writes_one_by_one_lose_a_revolution_each_unless_they_are_cached() {
    let rate = |entry: &Entry| {
        let at = spec(
            "mix = \"write\", pattern = \"sequential\", request_size = 131072, depth = 1, \
             range = 1073741824",
        );
        let point = probe::measure(&mut *entry.open(SEED), &at, Effort::default(), SEED).unwrap();
        point.bytes_per_second.get()
    };
    let lost = rate(&cheetah(&[])) / (131_072.0 / (4e-3 + 256.0 / 1079.0 * 4e-3 + 0.1e-3));
    assert!((lost - 1.0).abs() < 0.01, "{lost}");
    let cached = rate(&cheetah(&[("[\"off\",", "[\"on\",")])) / 125e6;
    assert!((0.95..1.01).contains(&cached), "{cached}");
}

#[test]
fn cached_writes_are_complete_early_and_durable_after_a_flush() {
    let mut device = cheetah(&[("[\"off\",", "[\"on\",")]).open(SEED);
    let written = 100;
    let writes = (0..written).map(|index| Request::write(index * 300_000_000 / 4096 * 4096, 4096));
    let completions = one_by_one(&mut *device, writes);
    // 0.1 ms and 4,096 bytes at 300 MB/s.
    assert_eq!(completions[0], 100_000 + 13_653);
    assert!(completions[99] < 100 * 113_700, "{completions:?}");
    assert!(device.counters().media_written_bytes < written * 4096 / 2);
    let flushed = one_by_one(&mut *device, [Request::FLUSH].into_iter())[0];
    assert_eq!(device.counters().media_written_bytes, written * 4096);
    // Nearest first, of a hundred spread over 30 GB: 1 to 4 ms each.
    assert!((100_000_000..400_000_000).contains(&flushed), "{flushed}");
    // Nothing is left to do.
    assert_eq!(device.earliest(), Moment::NEVER);
    let again = one_by_one(&mut *device, [Request::FLUSH].into_iter())[0];
    assert_eq!(again, flushed + 100_000);
}

#[test]
fn a_full_write_cache_takes_writes_at_the_rate_of_the_media() {
    let random = |changes: &[(&str, &str)], depth: u16| {
        let at = spec(&format!(
            "mix = \"write\", pattern = \"random\", request_size = 8192, depth = {depth}, \
             range = 17179869184"
        ));
        let mut device = cheetah(changes).open(SEED);
        let point = probe::measure(&mut *device, &at, Effort::default(), SEED).unwrap();
        point.iops.get()
    };
    let one = random(&[], 1);
    let cached = random(&[("[\"off\",", "[\"on\",")], 1);
    let many = random(&[], 64);
    // Memory sorts at depth 1 as the queue does with many.
    assert!(
        cached > 1.5 * one && cached < 1.5 * many,
        "{one} {cached} {many}"
    );
}

#[test]
fn memory_answers_what_was_read_and_forgets_what_was_written() {
    let mut device = cheetah(&[]).open(SEED);
    let far = Request::read(50 << 30, 8192);
    let near = Request::read(0, 8192);
    let times = one_by_one(
        &mut *device,
        [near, far, near, Request::write(4096, 4096), far, near].into_iter(),
    );
    // 0.1 ms and 8 KiB at 300 MB/s, against a seek.
    assert_eq!(times[2] - times[1], 100_000 + 27_306);
    assert!(times[5] - times[4] > 1_000_000, "{times:?}");
}

#[test]
fn every_queued_request_is_served_in_bounded_time() {
    let waited = |age_share: &str| {
        let changed = format!("age_share = [{age_share},");
        let mut device = cheetah(&[("age_share = [0.02,", &changed)]).open(SEED);
        let mut generator = SEED.generator();
        device
            .submit(Moment::START, Tag(99), Request::read(68 << 30, 4096))
            .unwrap();
        let mut near = || Request::read(generator.next_u64() % 10_000 * 4096, 4096);
        for lane in 0..16 {
            device.submit(Moment::START, Tag(lane), near()).unwrap();
        }
        for _ in 0..5_000 {
            let Completion { tag, at } = device.next(Moment::NEVER).unwrap().unwrap();
            if tag == Tag(99) {
                return at.get();
            }
            device.submit(at, tag, near()).unwrap();
        }
        u64::MAX
    };
    // The longest positioning of 7.1 and 4 ms is outweighed after 11.1 / 0.02
    // ms, by when at most 16 others are older.
    assert!(waited("0.02") < 600_000_000, "{}", waited("0.02"));
    assert_eq!(waited("0.0"), u64::MAX);
}

#[test]
fn requests_beyond_the_queue_wait_in_the_host() {
    let mut device = cheetah(&[("queue = [64,", "queue = [1,")]).open(SEED);
    let mut generator = SEED.generator();
    for tag in 0..200 {
        let offset = generator.next_u64() % 1_000_000 * 4096;
        let at = Moment::nanoseconds(u64::from(tag) * 1_000_000);
        device
            .submit(at, Tag(tag), Request::read(offset, 4096))
            .unwrap();
    }
    let mut last = Moment::START;
    for tag in 0..200 {
        // With a queue of one, in the order in which they came.
        let completion = device.next(Moment::NEVER).unwrap().unwrap();
        assert_eq!(completion.tag, Tag(tag));
        assert!(completion.at > last);
        last = completion.at;
    }
    assert!(device.next(Moment::NEVER).unwrap().is_none());
    let counters = device.counters();
    assert!(counters.busy_ns < last.get() && counters.busy_ns > last.get() / 2);
    assert_eq!(counters.read_bytes, 200 * 4096);
}

#[test]
fn one_seed_gives_one_result_everywhere() {
    let mut device = cheetah(&[]).open(SEED);
    let mut generator = SEED.generator();
    let mut draw = || {
        let offset = generator.next_u64() % 17_000_000 * 4096;
        match generator.next_u64() % 4 {
            0 => Request::write(offset, 8192),
            _ => Request::read(offset, 4096),
        }
    };
    for lane in 0..32 {
        device.submit(Moment::START, Tag(lane), draw()).unwrap();
    }
    let mut checksum = 0_u64;
    for _ in 0..20_000 {
        let Completion { tag, at } = device.next(Moment::NEVER).unwrap().unwrap();
        checksum = checksum
            .wrapping_mul(31)
            .wrapping_add(at.get() ^ u64::from(tag.0));
        device.submit(at, tag, draw()).unwrap();
    }
    assert_eq!(checksum, 11_659_096_195_467_057_279);
}

#[test]
fn impossible_values_are_named() {
    for (from, to, named) in [
        (
            "capacity_bytes = [73407868928",
            "capacity_bytes = [0",
            "capacity_bytes",
        ),
        (
            "capacity_bytes = [73407868928",
            "capacity_bytes = [73407868929",
            "sector_bytes",
        ),
        (
            "capacity_bytes = [73407868928",
            "capacity_bytes = [1125899906842624",
            "cylinders",
        ),
        ("rpm = [15000", "rpm = [0", "rpm"),
        ("heads = [2", "heads = [0", "heads"),
        ("zones = [16", "zones = [0", "zones"),
        ("queue = [64", "queue = [0", "queue"),
        (
            "outer_mb_per_s = [125.0",
            "outer_mb_per_s = [nan",
            "outer_mb_per_s",
        ),
        (
            "outer_mb_per_s = [125.0",
            "outer_mb_per_s = [72.0",
            "inner_mb_per_s",
        ),
        (
            "seek_average_read_ms = [3.5",
            "seek_average_read_ms = [-3.5",
            "seek_average_read_ms",
        ),
        (
            "seek_average_read_ms = [3.5",
            "seek_average_read_ms = [inf",
            "seek_average_read_ms",
        ),
        (
            "seek_average_write_ms = [4.0",
            "seek_average_write_ms = [6.9",
            "seek_average_write_ms",
        ),
        ("age_share = [0.02", "age_share = [2.0", "age_share"),
        ("command_us = [200.0", "command_us = [1e300", "command_us"),
    ] {
        let error = Entry::from_toml(&changed(&[(from, to)])).unwrap_err();
        assert!(error.to_string().contains(named), "{to}: {error}");
    }
}

#[test]
fn cached_writes_are_reordered_more_freely_than_reads() {
    // 350 to 440 a second are expected of disks of 7,200 rpm.
    let rate = |mix| {
        let text = format!(
            r#"mix = "{mix}", pattern = "random", request_size = 4096, depth = 16, range = 17179869184"#
        );
        let mut disk = catalog::find("hdd-7200").unwrap().open(SEED);
        let point = probe::measure(&mut *disk, &spec(&text), Effort::default(), SEED);
        point.unwrap().iops.get()
    };
    let (writes, reads) = (rate("write"), rate("read"));
    assert!((350.0..440.0).contains(&writes), "{writes}");
    assert!(writes > reads, "{writes} {reads}");
}

#[test]
fn a_write_of_a_part_of_a_sector_comes_a_revolution_later() {
    // Without a write cache, 512 bytes alone: of the media's sectors of 4 KiB the first is read,
    // and written when it comes by again. A revolution of 15,000 rpm takes 4 ms.
    let sectors = (
        "sector_bytes = [512, ",
        "physical_sector_bytes = [4096, \"test\"]\nsector_bytes = [512, ",
    );
    let revolution_ns = 4_000_000;
    let took = |entry: &Entry, request: Request| {
        let mut device = entry.open(SEED);
        (
            one_by_one(&mut *device, [request].into_iter())[0],
            device.counters(),
        )
    };
    let (plain, large) = (cheetah(&[]), cheetah(&[sectors]));
    // Sectors that are read, and that are written.
    for (offset, length, read, written) in [
        (4096, 4096, 0, 1),
        (4096, 512, 1, 1),
        (4608, 4096, 2, 2),
        (4608, 3584, 1, 1),
        (4608, 65_536, 2, 17),
    ] {
        let request = Request::write(offset, length);
        let (at_once, before) = took(&plain, request);
        let (at, counters) = took(&large, request);
        assert_eq!(before.media_read_bytes, 0);
        assert_eq!(counters.media_read_bytes, read * 4096);
        assert_eq!(counters.media_written_bytes, written * 4096);
        let later = at - at_once;
        let expected = if read > 0 { revolution_ns } else { 0 };
        assert!(
            later.abs_diff(expected) < revolution_ns / 20,
            "{offset}: {later}"
        );
        let read = Request::read(offset, length);
        assert_eq!(took(&large, read).0, took(&plain, read).0);
    }
    // What was read for the last one is in memory.
    let mut device = large.open(SEED);
    let log = (0..8).map(|sector| Request::write(sector * 512, 512));
    one_by_one(&mut *device, log);
    assert_eq!(device.counters().media_read_bytes, 4096);
    // Of a log of 1,536 bytes a time each of three sectors once.
    let mut device = large.open(SEED);
    let log = (0..8).map(|turn| Request::write(turn * 1536, 1536));
    one_by_one(&mut *device, log);
    assert_eq!(device.counters().media_read_bytes, 3 * 4096);
}

#[test]
fn parts_of_sectors_that_a_cache_has_together_are_not_read() {
    let sectors = (
        "sector_bytes = [512, ",
        "physical_sector_bytes = [4096, \"test\"]\nsector_bytes = [512, ",
    );
    let cache = ("write_cache = [\"off\"", "write_cache = [\"on\"");
    let mut device = cheetah(&[sectors, cache]).open(SEED);
    // A run of 64 writes from byte 512 on: nothing has what is before the first and behind the last.
    let now = device.now();
    for index in 0..64 {
        let request = Request::write(512 + index * 8192, 8192);
        device.submit(now, Tag(index as u32), request).unwrap();
    }
    device.submit(now, Tag(64), Request::FLUSH).unwrap();
    while device.next(Moment::NEVER).unwrap().is_some() {}
    let read = device.counters().media_read_bytes / 4096;
    assert!((1..=8).contains(&read), "{read}");
}

use octavo_units::{ByteCount, Moment, QueueDepth, RequestSize, Seed};

use crate::{
    Device, Request, Tag,
    catalog::Entry,
    point::{Durability, PointSpec},
    probe::{self, Effort},
    request::{Mix, Pattern},
};

/// Four constant members of 100 us behind a controller that costs nothing.
const PLAIN: &str = r#"
name = "plain"
title = "for tests"

[raid]
level = ["raid0", "test"]
members = [4, "test"]
stripe_unit_bytes = [4096, "test"]

[raid.member]
name = "member"
title = "for tests"
constant.capacity_bytes = [1048576, "test"]
constant.latency_us = [100, "test"]

[raid.controller]
queue = [64, "test"]
command_us = [0, "test"]
command_us_per_kib = [0, "test"]
latency_us = [0, "test"]
write_latency_us_per_kib = [0, "test"]
link_mb_per_s = [1e9, "test"]
cache_bytes = [0, "test"]
destage_depth = [1, "test"]
destage_bytes_max = [4096, "test"]
"#;

fn with(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(PLAIN.to_owned(), |text, (key, value)| {
        let at = text
            .find(&format!("\n{key} = "))
            .unwrap_or_else(|| panic!("no {key}"))
            + 1;
        let line = at + text[at..].find('\n').expect("lines end");
        format!(
            "{}{key} = [{value}, \"test\"]{}",
            &text[..at],
            &text[line..]
        )
    })
}

fn open(changes: &[(&str, &str)]) -> Box<dyn Device + Send> {
    Entry::from_toml(&with(changes))
        .unwrap_or_else(|error| panic!("{error}"))
        .open(Seed::new(1))
}

fn ends_at(device: &mut dyn Device, at: u64, request: Request) -> u64 {
    device
        .submit(Moment::nanoseconds(at), Tag(0), request)
        .unwrap();
    device.next(Moment::NEVER).unwrap().unwrap().at.get()
}

#[test]
fn a_request_takes_what_its_parts_take() {
    let costs: &[(&str, &str)] = &[
        ("command_us", "10"),
        ("command_us_per_kib", "0.5"),
        ("latency_us", "30"),
        ("write_latency_us_per_kib", "0.25"),
        ("link_mb_per_s", "1024"),
    ];
    // 8 KiB: processor 10 + 4, two members at once 100, link 8, latency 30, and
    // of writes 2 more.
    let mut device = open(costs);
    assert_eq!(ends_at(&mut *device, 0, Request::read(0, 8192)), 152_000);
    assert_eq!(
        ends_at(&mut *device, 200_000, Request::write(0, 8192)),
        354_000
    );
    // A flush goes to all members, and costs a command.
    assert_eq!(ends_at(&mut *device, 400_000, Request::FLUSH), 540_000);
    // With a cache the members are not waited for, neither by the flush nor
    // by a read of what is dirty.
    let mut device = open(&[costs, &[("cache_bytes", "65536")]].concat());
    assert_eq!(ends_at(&mut *device, 0, Request::write(0, 8192)), 54_000);
    assert_eq!(ends_at(&mut *device, 54_000, Request::FLUSH), 94_000);
    assert_eq!(
        ends_at(&mut *device, 94_000, Request::read(0, 8192)),
        146_000
    );
    assert_eq!(
        ends_at(&mut *device, 148_000, Request::read(0, 8192)),
        300_000
    );
    assert_eq!(device.counters().written_bytes, 8192);
}

#[test]
fn a_processor_and_a_link_serve_one_after_the_other() {
    let spec = |request_size, depth| PointSpec {
        mix: Mix::READ,
        pattern: Pattern::Random,
        request_size: RequestSize::new(request_size).unwrap(),
        depth: QueueDepth::new(depth).unwrap(),
        range: ByteCount::mib(4),
        durability: Durability::Device,
        shift: ByteCount::ZERO,
    };
    let rate = |device: &mut dyn Device, spec| {
        probe::measure(device, &spec, Effort::default(), Seed::new(3))
            .unwrap()
            .iops
            .get()
    };
    // 25 us a command: 40,000 IOPS however deep the queue.
    let mut device = open(&[("command_us", "25")]);
    assert!((rate(&mut *device, spec(4096, 32)) / 40_000.0 - 1.0).abs() < 1e-3);
    assert!((rate(&mut *device, spec(4096, 1)) / 8_000.0 - 1.0).abs() < 1e-3);
    // 64 KiB at 655.36 MB/s take 100 us.
    let mut device = open(&[("link_mb_per_s", "655.36")]);
    assert!((rate(&mut *device, spec(65536, 32)) / 10_000.0 - 1.0).abs() < 1e-3);
    // Eight of 64 wait in the host: 56 in flight of 100 us.
    let mut device = open(&[("queue", "56")]);
    assert!((rate(&mut *device, spec(4096, 64)) / 560_000.0 - 1.0).abs() < 1e-3);
}

#[test]
fn a_full_cache_goes_as_fast_as_the_members() {
    let mut device = open(&[("cache_bytes", "65536"), ("command_us", "1")]);
    let spec = PointSpec {
        mix: Mix::WRITE,
        pattern: Pattern::Random,
        request_size: RequestSize::new(4096).unwrap(),
        depth: QueueDepth::new(8).unwrap(),
        range: ByteCount::mib(4),
        durability: Durability::Device,
        shift: ByteCount::ZERO,
    };
    let point = probe::measure(&mut *device, &spec, Effort::default(), Seed::new(3)).unwrap();
    // Sixteen dirty blocks circulate among four members of 100 us: a closed
    // network, of which the members are busy for N / (N + M - 1) = 16 / 19 of
    // the time if service times were exponential (Lazowska et al.,
    // Quantitative System Performance, 1984, chapter 6), more as they are
    // constant, and at most always. 1.6 % of the writes find their block dirty.
    let rate = point.iops.get();
    assert!((33_700.0..40_700.0).contains(&rate), "{rate}");
    // Mirrors halve that, since both write everything: 16 / 17 and more.
    let mut device = open(&[("cache_bytes", "65536"), ("level", "\"raid10\"")]);
    let spec = PointSpec {
        range: ByteCount::mib(2),
        ..spec
    };
    let point = probe::measure(&mut *device, &spec, Effort::default(), Seed::new(3)).unwrap();
    let rate = point.iops.get();
    assert!((18_800.0..20_700.0).contains(&rate), "{rate}");
}

#[test]
fn mirrors_share_reads_and_both_write() {
    // Members that serve one request at a time: processors of nested arrays
    // of one member that answers at once.
    let serial = with(&[("level", "\"raid10\"")]).replace(
        "constant.capacity_bytes = [1048576, \"test\"]\nconstant.latency_us = [100, \"test\"]\n",
        &format!(
            "[raid.member.raid]{}",
            with(&[("members", "1"), ("command_us", "100"), ("latency_us", "0")])
                .split_once("[raid]")
                .unwrap()
                .1
                .replace("[raid.", "[raid.member.raid.")
                .replace("constant.latency_us = [100", "constant.latency_us = [0")
        ),
    );
    let entry = Entry::from_toml(&serial).unwrap_or_else(|error| panic!("{error}\n{serial}"));
    assert_eq!(entry.devices(), 4);
    let mut device = entry.open(Seed::new(1));
    assert_eq!(device.geometry().capacity, ByteCount::mib(2));
    let mut all = |request| {
        let now = device.now();
        for tag in 0..4 {
            device.submit(now, Tag(tag), request).unwrap();
        }
        let mut ends = Vec::new();
        while let Some(completion) = device.next(Moment::NEVER).unwrap() {
            ends.push(completion.at.since(now) / 1000);
        }
        ends
    };
    // Four reads of one block: two by each mirror.
    assert_eq!(all(Request::read(0, 4096)), [100, 100, 200, 200]);
    assert_eq!(all(Request::write(0, 4096)), [100, 200, 300, 400]);
    assert_eq!(all(Request::FLUSH), [100, 200, 300, 400]);
}

#[test]
fn a_cache_is_full_after_a_load_of_writes() {
    // Room for 256 writes, of which probes would measure nothing else if the
    // cache were empty at first.
    let mut device = open(&[("cache_bytes", "1048576")]);
    let spec = PointSpec {
        mix: Mix::WRITE,
        pattern: Pattern::Sequential,
        request_size: RequestSize::new(4096).unwrap(),
        depth: QueueDepth::new(8).unwrap(),
        range: ByteCount::mib(4),
        durability: Durability::Device,
        shift: ByteCount::ZERO,
    };
    let effort = Effort {
        ramp: 0,
        requests: 20,
        rounds_max: 5,
    };
    let point = probe::measure(&mut *device, &spec, effort, Seed::new(3)).unwrap();
    // Four members, each a write of 100 us at a time.
    let rate = point.iops.get();
    assert!((rate / 40_000.0 - 1.0).abs() < 0.1, "{rate}");
    while device.earliest() != Moment::NEVER {
        let until = device.earliest();
        device.next(until).unwrap();
    }
    // All that was written and more has come to the members.
    let mut read = || ends_at(&mut *device, 1 << 40, Request::read(4096, 4096)) - (1 << 40);
    assert_eq!(read(), 100_000);
}

#[test]
fn every_request_completes_once_and_time_goes_on() {
    for (level, cache, queue) in [
        ("\"raid0\"", "0", "64"),
        ("\"raid10\"", "0", "3"),
        ("\"raid0\"", "20480", "64"),
        ("\"raid10\"", "20480", "5"),
    ] {
        let changes = [
            ("level", level),
            ("cache_bytes", cache),
            ("queue", queue),
            ("command_us", "7"),
            ("latency_us", "3"),
        ];
        let run = || {
            use rand::Rng;
            let mut device = open(&changes);
            let mut random = Seed::new(11).generator();
            let mut flying = [None::<Moment>; 16];
            let mut all = Vec::new();
            let mut now = Moment::START;
            for _ in 0..3_000 {
                let word = random.next_u64();
                if let Some(tag) = flying.iter().position(Option::is_none)
                    && !word.is_multiple_of(3)
                {
                    let offset = (word >> 8) % 448 * 4096;
                    let length = ((word >> 32) % 16 * 4096) as u32;
                    let request = match (word >> 40) % 8 {
                        0 => Request::FLUSH,
                        1 => Request::trim(offset, length),
                        2..5 => Request::write(offset, length),
                        _ => Request::read(offset, length),
                    };
                    device.submit(now, Tag(tag as u32), request).unwrap();
                    flying[tag] = Some(now);
                    continue;
                }
                let earliest = device.earliest();
                let until = match (word >> 48) % 4 {
                    0 => Moment::NEVER,
                    1 => earliest.min(now.after(1 << 40)),
                    _ => now.after((word >> 50) % 60_000),
                };
                match device.next(until).unwrap() {
                    Some(completion) => {
                        assert!(completion.at >= now && completion.at <= until);
                        assert!(completion.at >= earliest);
                        let since = flying[completion.tag.0 as usize].take();
                        assert!(since.expect("it was in flight") <= completion.at);
                        now = completion.at;
                        all.push(completion);
                    }
                    None if until == Moment::NEVER => {
                        assert!(flying.iter().all(Option::is_none));
                    }
                    None => {
                        assert!(device.earliest() > until);
                        now = until;
                    }
                }
                assert_eq!(device.now(), now);
            }
            while let Some(completion) = device.next(Moment::NEVER).unwrap() {
                assert!(flying[completion.tag.0 as usize].take().is_some());
            }
            assert!(flying.iter().all(Option::is_none));
            all
        };
        let once = run();
        assert!(once.len() > 500, "{}", once.len());
        assert_eq!(once, run(), "{changes:?}");
    }
}

#[test]
fn power_and_busy_time_are_of_all_members() {
    let power = "[raid.member.power]\nidle_w = [10, \"test\"]\nactive_w = [14, \"test\"]\n";
    let text = PLAIN.replace("[raid.controller]", &format!("{power}[raid.controller]"));
    let entry = Entry::from_toml(&text).unwrap();
    let draw = entry.draw().unwrap();
    assert_eq!((draw.idle_w, draw.active_w), (40.0, 56.0));
    // One member of four works for 100 us of 1 ms: 40 mJ and 4 W x 100 us.
    let mut device = entry.open(Seed::new(1));
    ends_at(&mut *device, 0, Request::read(0, 4096));
    let busy_ns = device.counters().busy_ns;
    let joules = draw
        .energy(std::time::Duration::from_millis(1), busy_ns)
        .joules;
    assert!((joules - 0.0404).abs() < 1e-9, "{joules}");
    // Controllers add theirs; a member that does not tell leaves it open.
    let own = format!("{text}\n[power]\nidle_w = [5, \"test\"]\nactive_w = [5, \"test\"]\n");
    let draw = Entry::from_toml(&own).unwrap().draw().unwrap();
    assert_eq!((draw.idle_w, draw.active_w), (45.0, 61.0));
    assert_eq!(Entry::from_toml(PLAIN).unwrap().draw(), None);
}

#[test]
fn bad_arrays_are_named() {
    for (key, value, named) in [
        ("members", "0", "raid.members"),
        ("members", "257", "raid.members"),
        ("stripe_unit_bytes", "0", "stripe_unit_bytes"),
        ("stripe_unit_bytes", "4097", "stripe_unit_bytes"),
        ("level", "\"raid5\"", "raid5"),
        ("queue", "0", "controller.queue"),
        ("command_us", "-1", "controller.command_us"),
        ("command_us", "nan", "controller.command_us"),
        (
            "write_latency_us_per_kib",
            "1e9",
            "write_latency_us_per_kib",
        ),
        ("link_mb_per_s", "0", "link_mb_per_s"),
        ("destage_bytes_max", "4095", "destage_bytes_max"),
        ("cache_bytes", "9223372036854775807", "cache_bytes"),
        ("constant.latency_us", "-5", "constant.latency_us"),
        ("constant.latency_us", "true", "expected f64"),
    ] {
        let error = Entry::from_toml(&with(&[(key, value)])).unwrap_err();
        assert!(error.to_string().contains(named), "{key} {value}: {error}");
    }
    let odd = with(&[("level", "\"raid10\""), ("members", "3")]);
    let error = Entry::from_toml(&odd).unwrap_err().to_string();
    assert!(error.contains("pairs"), "{error}");
    let (before, after) = PLAIN.split_once("[raid.member]").unwrap();
    let rest = &after[after.find("[raid.controller]").unwrap()..];
    let named = format!("{before}member = [\"nothing\", \"test\"]\n{rest}");
    let error = Entry::from_toml(&named).unwrap_err().to_string();
    assert!(error.contains("'nothing' is unknown"), "{error}");
    assert!(Entry::from_toml(&named.replace("nothing", "instant")).is_ok());
}

#[test]
fn petrov_array_reads_as_published() {
    let entry = crate::catalog::find("petrov-array").unwrap();
    let reads = entry
        .published
        .iter()
        .filter(|published| !published.at.mix.writes());
    let errors: Vec<f64> = reads
        .map(|published| {
            let compared = published.compare(&entry, Seed::new(1)).unwrap();
            compared.error.abs()
        })
        .collect();
    assert_eq!(errors.len(), 26);
    let mean = errors.iter().sum::<f64>() / 26.0;
    assert!(mean < 0.08, "{mean}: {errors:?}");
}

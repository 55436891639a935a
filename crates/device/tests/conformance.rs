//! What every device keeps to, whatever is behind it: the contract of
//! [`Device`], on all entries of the catalog and a profile.

use std::{collections::BTreeMap, ops::ControlFlow};

use octavo_device::{
    Completion, Device, DeviceError, Request, Tag, catalog,
    point::{Durability, PointSpec},
    preset::Preset,
    probe::{self, Effort, ProfileSettings},
    profiled::Profiled,
    request::{Command, Mix, Pattern},
    simulated::Constant,
};
use octavo_units::{ByteCount, Moment, QueueDepth, RequestSize, Seed};
use rand::Rng;

/// Requests lie in this many first bytes.
const RANGE: u64 = 16 << 20;
const SEED: Seed = Seed::new(41);

#[test]
fn every_entry_of_the_catalog_conforms() {
    for name in catalog::names() {
        let entry = catalog::find(name).unwrap();
        conforms(name, &|seed| entry.open(seed));
    }
}

#[test]
fn partitions_conform() {
    for (name, offset) in [("nvme-tlc", 512), ("raid0-8x15k", 1 << 20)] {
        let entry = catalog::find(name).unwrap();
        let entry = entry.from_byte(ByteCount::new(offset)).unwrap();
        conforms(&entry.name, &|seed| entry.open(seed));
    }
}

#[test]
fn a_profile_conforms() {
    let settings = ProfileSettings {
        limits: Vec::new(),
        name: "constant".into(),
        title: "100 us".into(),
        points: (
            Preset::Quick.points(ByteCount::new(RANGE), 512),
            Some(Preset::Quick),
        ),
        range: ByteCount::new(RANGE),
        effort: Effort {
            ramp: 100,
            requests: 100,
            rounds_max: 5,
        },
        seed: SEED,
    };
    let mut device = Constant::new(ByteCount::new(RANGE), 100_000);
    let mut on = |_: &PointSpec, _| ControlFlow::Continue(());
    let profile = probe::profile(&mut device, &settings, &mut on).unwrap();
    conforms("profile", &|seed| {
        Box::new(Profiled::new(&profile, None, seed).unwrap())
    });
}

fn conforms(name: &str, open: &dyn Fn(Seed) -> Box<dyn Device>) {
    let mut device = open(SEED);
    let device = &mut *device;
    refuses_what_does_not_fit(name, device);
    let requests = random_requests(device, 300);
    let first = keeps_to_the_contract(name, device, &requests);
    holds_more_than_its_queue(name, device);
    flushes_after_writes(name, device);
    is_no_slower_with_more_in_flight(name, device);
    let mut again = open(SEED);
    refuses_what_does_not_fit(name, &mut *again);
    let second = keeps_to_the_contract(name, &mut *again, &requests);
    assert!(first == second, "{name}: the same seed gave something else");
}

/// Reads and writes, a few flushes and trims, of one to eight sectors at random
/// places.
fn random_requests(device: &dyn Device, count: usize) -> Vec<Request> {
    let geometry = device.geometry();
    let sector = geometry.sector.get();
    let sectors = geometry.capacity.get().min(RANGE) / sector;
    let mut generator = SEED.derive("requests", 0).generator();
    let mut below = |bound: u64| generator.next_u64() % bound;
    (0..count)
        .map(|_| {
            let length = (1 + below(8)).min(sectors);
            let offset = below(sectors - length + 1) * sector;
            let length = (length * sector) as u32;
            match below(20) {
                0 => Request::FLUSH,
                1 => Request::trim(offset, length),
                2..=9 => Request::read(offset, length),
                _ => Request::write(offset, length),
            }
        })
        .collect()
}

/// Submits in bursts and asks for completions until moments in between; gives
/// all completions.
fn keeps_to_the_contract(
    name: &str,
    device: &mut dyn Device,
    requests: &[Request],
) -> Vec<Completion> {
    let mut generator = SEED.derive("moments", 0).generator();
    let mut below = |bound: u64| generator.next_u64() % bound;
    let before = device.counters();
    let mut completions: Vec<Completion> = Vec::new();
    let mut submitted = BTreeMap::new();
    let mut now = device.now();
    let mut take = |device: &mut dyn Device,
                    submitted: &mut BTreeMap<Tag, Moment>,
                    until: Moment|
     -> Option<Moment> {
        let earliest = device.earliest();
        let completion = device.next(until).unwrap();
        let Some(completion) = completion else {
            if until != Moment::NEVER {
                assert!(device.now() >= until, "{name}: time did not pass");
            }
            assert!(
                device.earliest() > until || until == Moment::NEVER,
                "{name}"
            );
            return None;
        };
        let Completion { tag, at } = completion;
        assert!(at <= until, "{name}: {at} is after {until}");
        assert!(
            at >= earliest,
            "{name}: {at}, but nothing before {earliest}"
        );
        let began = submitted.remove(&tag);
        let began = began.unwrap_or_else(|| panic!("{name}: {tag:?} is not in flight"));
        assert!(at >= began, "{name}: {tag:?} ended before it began");
        if let Some(last) = completions.last() {
            assert!(at >= last.at, "{name}: {at} after {}", last.at);
        }
        assert!(device.now() >= at, "{name}: now is before a completion");
        completions.push(completion);
        Some(at)
    };
    for (index, request) in requests.iter().enumerate() {
        // Bursts at one moment, and pauses.
        if below(3) == 0 {
            now = now.after(below(300_000));
        }
        let tag = Tag(index as u32);
        device.submit(now, tag, *request).unwrap();
        submitted.insert(tag, now);
        assert!(device.now() >= now, "{name}: now is before a submission");
        while below(4) == 0 {
            let until = now.after(below(200_000));
            match take(device, &mut submitted, until) {
                Some(at) => now = now.max(at),
                None => now = until,
            }
        }
    }
    while take(device, &mut submitted, Moment::NEVER).is_some() {}
    assert!(submitted.is_empty(), "{name}: {submitted:?} never ended");
    assert_eq!(device.next(Moment::NEVER).unwrap(), None, "{name}");

    let done = device.counters().since(&before);
    let count = move |command| {
        requests
            .iter()
            .filter(move |request| request.command == command)
    };
    let bytes = move |command| -> u64 {
        count(command)
            .map(|request| u64::from(request.length))
            .sum()
    };
    assert_eq!(done.reads, count(Command::Read).count() as u64, "{name}");
    assert_eq!(done.writes, count(Command::Write).count() as u64, "{name}");
    assert_eq!(done.flushes, count(Command::Flush).count() as u64, "{name}");
    assert_eq!(done.read_bytes, bytes(Command::Read), "{name}");
    assert_eq!(done.written_bytes, bytes(Command::Write), "{name}");
    completions
}

fn refuses_what_does_not_fit(name: &str, device: &mut dyn Device) {
    let geometry = device.geometry();
    let sector = geometry.sector.get() as u32;
    let capacity = geometry.capacity.get();
    let before = device.counters();
    for request in [
        Request::read(capacity, sector),
        Request::write(capacity - u64::from(sector), 2 * sector),
        Request::read(1, sector),
        Request::write(0, sector + 1),
        Request::trim(u64::MAX - u64::from(sector) + 1, sector),
    ] {
        let error = device.submit(device.now(), Tag(0), request).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(&geometry.capacity.to_string()),
            "{name}: {text}"
        );
        assert!(
            matches!(error, DeviceError::Extent { request: r, geometry: g } if r == request && g == geometry),
            "{name}: {text}"
        );
    }
    assert_eq!(device.next(Moment::NEVER).unwrap(), None, "{name}");
    assert_eq!(device.counters(), before, "{name}");
}

fn holds_more_than_its_queue(name: &str, device: &mut dyn Device) {
    let count = 2 * usize::from(device.geometry().queue.get().min(500)) + 1;
    let requests = random_requests(device, count);
    let now = device.now();
    for (index, request) in requests.iter().enumerate() {
        device.submit(now, Tag(index as u32), *request).unwrap();
    }
    let mut ended = vec![false; count];
    let mut last = now;
    while let Some(Completion { tag, at }) = device.next(Moment::NEVER).unwrap() {
        assert!(at >= last, "{name}");
        last = at;
        let ended = &mut ended[tag.0 as usize];
        assert!(!*ended, "{name}: {tag:?} ended twice");
        *ended = true;
    }
    assert!(ended.iter().all(|ended| *ended), "{name}");
}

fn flushes_after_writes(name: &str, device: &mut dyn Device) {
    let sector = device.geometry().sector.get();
    let now = device.now();
    for index in 0..8 {
        let request = Request::write(u64::from(index) * sector, sector as u32);
        device.submit(now, Tag(index), request).unwrap();
    }
    let mut written = now;
    while let Some(completion) = device.next(Moment::NEVER).unwrap() {
        written = completion.at;
    }
    device.submit(written, Tag(100), Request::FLUSH).unwrap();
    let flush = device.next(Moment::NEVER).unwrap();
    let Some(Completion { tag: Tag(100), at }) = flush else {
        panic!("{name}: {flush:?} instead of the flush");
    };
    assert!(at >= written, "{name}: {at} before {written}");
    assert_eq!(device.next(Moment::NEVER).unwrap(), None, "{name}");
}

fn is_no_slower_with_more_in_flight(name: &str, device: &mut dyn Device) {
    let effort = Effort {
        ramp: 200,
        requests: 200,
        rounds_max: 5,
    };
    let sector = u32::try_from(device.geometry().sector.get()).unwrap();
    let mut rate = |depth: u16| {
        let spec = PointSpec {
            mix: Mix::READ,
            pattern: Pattern::Random,
            request_size: RequestSize::new(sector.max(4096)).unwrap(),
            depth: QueueDepth::new(depth).unwrap(),
            range: ByteCount::new(RANGE.min(device.geometry().capacity.get())),
            durability: Durability::Device,
            shift: ByteCount::ZERO,
        };
        let point = probe::measure(device, &spec, effort, SEED).unwrap();
        point.iops.get()
    };
    let mut best = 0f64;
    for depth in [1, 4, 16, 64] {
        let rate = rate(depth);
        // A figure of 1,000 requests is good to a few percent.
        assert!(
            rate >= 0.85 * best,
            "{name}: {rate} at depth {depth} after {best}"
        );
        best = best.max(rate);
    }
}

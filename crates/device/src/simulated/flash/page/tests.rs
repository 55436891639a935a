mod reference;

use octavo_units::{ByteCount, QueueDepth, RequestSize, Seed};

use rand::RngExt as _;

use self::reference::Reference;
use super::{cleaning::FREE_BLOCKS, *};
use crate::{
    Command, Completion, Device, Request, Tag,
    point::{Durability, PointSpec},
    probe::{self, Effort},
    request::{Mix, Pattern},
    simulated::flash::{Chips, Host, Link, Parallelism, Parameters as Flash, ssd::Ssd},
    sourced::Sourced,
};

fn sourced<T>(value: T) -> Sourced<T> {
    Sourced::new(value, "test")
}

/// Single-level cells of 2008 on two channels of two dies.
pub(in super::super) fn flash(capacity: u64, over_provisioning: f64) -> Flash {
    Flash {
        capacity_bytes: sourced(capacity),
        sector_bytes: sourced(512),
        host: Host {
            queue: sourced(32),
            link_mb_per_s: sourced(250.0),
            link: sourced(Link::HalfDuplex),
            link_command_us: None,
            read_command_us: sourced(5.0),
            write_command_us: sourced(5.0),
            read_us_per_kib: sourced(0.0),
            write_us_per_kib: sourced(0.0),
            latency_us: sourced(20.0),
            write_latency_us: None,
            read_ahead_bytes: None,
        },
        nand: Chips {
            channels: sourced(2),
            dies_per_channel: sourced(2),
            planes: sourced(1),
            pages_per_block: sourced(64),
            page_bytes: sourced(4096),
            read_us: sourced(25.0),
            program_us: sourced(200.0),
            bits_per_cell: None,
            read_spread: None,
            program_spread: None,
            retry_share: None,
            retry_us: None,
            erase_us: sourced(1500.0),
            channel_mb_per_s: sourced(40.0),
            suspend_us: None,
            parallelism: sourced(Parallelism::InterCommand),
        },
        superblock: None,
        page: Some(Parameters {
            unit_bytes: sourced(4096),
            over_provisioning: sourced(over_provisioning),
            buffer_bytes: sourced(256 << 10),
            buffer_us: sourced(4.0),
            buffer: sourced(Buffer::Volatile),
            cleaning: sourced(Cleaning::Apart),
            copying: sourced(Copying::Channel),
            wear_gap: sourced(0),
            flush_us_per_kib: None,
        }),
    }
}

pub(in super::super) fn open(parameters: &Flash) -> Ssd<PageMapped> {
    parameters.check().unwrap();
    let shape = parameters.shape();
    let page = parameters.page.as_ref().unwrap();
    Ssd::new(
        parameters.geometry(),
        parameters.front(),
        Nand::new(shape),
        PageMapped::new(page, parameters.capacity_bytes.value, &shape),
    )
}

fn spec(mix: Mix, request_size: u32, depth: u16, range: u64) -> PointSpec {
    PointSpec {
        mix,
        pattern: Pattern::Random,
        request_size: RequestSize::new(request_size).unwrap(),
        depth: QueueDepth::new(depth).unwrap(),
        range: ByteCount::new(range),
        durability: Durability::Device,
        shift: ByteCount::ZERO,
    }
}

/// A drive that was overwritten until cleaning is steady, at rest.
fn worn(parameters: &Flash, seed: Seed) -> (PageMapped, Nand) {
    let shape = parameters.shape();
    let page = parameters.page.as_ref().unwrap();
    let capacity = *parameters.capacity_bytes;
    let mut layer = PageMapped::new(page, capacity, &shape);
    let mut nand = Nand::new(shape);
    let mut generator = seed.generator();
    nand.set_timed(false);
    for _ in 0..layer.fill(capacity) / 4096 {
        let extent = Extent {
            offset: generator.random_range(0..capacity / 4096) * 4096,
            length: 4096,
        };
        layer.write(&mut nand, Moment::START, extent);
    }
    nand.set_timed(true);
    (layer, nand)
}

/// The fast simulation against the slow one, which has its data in the same
/// places and is asked for the same.
#[test]
fn rates_and_latencies_are_those_of_the_reference() {
    const RAMP: usize = 15_000;
    const REQUESTS: usize = 60_000;
    for (index, (read_percent, depth)) in [
        (100, 1),
        (100, 4),
        (100, 16),
        (100, 64),
        (70, 4),
        (70, 16),
        (50, 32),
        (30, 64),
        (0, 1),
        (0, 64),
    ]
    .into_iter()
    .enumerate()
    {
        let seed = Seed::new(7).derive("case", index as u64);
        let mut parameters = flash(32 << 20, 0.25);
        parameters.host.queue = sourced(64);
        let (layer, nand) = worn(&parameters, seed);
        let mut generator = seed.derive("requests", 0).generator();
        let requests: Vec<(bool, usize)> = (0..RAMP + REQUESTS + depth)
            .map(|_| {
                let read = generator.random_range(0..100) < read_percent;
                (read, generator.random_range(0..8192))
            })
            .collect();
        let expected = Reference::new(&parameters, &layer).run(&requests, depth, RAMP);
        let mut device = Ssd::new(parameters.geometry(), parameters.front(), nand, layer);
        let (iops, latency_us) = closed_loop(&mut device, &requests, depth, RAMP);
        let iops = iops / expected.iops - 1.0;
        let latency = latency_us / expected.latency_us - 1.0;
        println!(
            "{read_percent} %, depth {depth}: {:.0} IOPS {iops:+.5}, {:.1} us {latency:+.5}",
            expected.iops, expected.latency_us
        );
        assert!(
            iops.abs().max(latency.abs()) < 0.01,
            "{read_percent} %, depth {depth}: IOPS {iops:+.4}, latency {latency:+.4}"
        );
    }
}

/// As [`Reference::run`]: requests a second, and their mean latency.
fn closed_loop(
    device: &mut impl Device,
    requests: &[(bool, usize)],
    depth: usize,
    ramp: usize,
) -> (f64, f64) {
    let count = requests.len() - depth - ramp;
    let mut requests = requests.iter().map(|&(read, page)| match read {
        true => Request::read(page as u64 * 4096, 4096),
        false => Request::write(page as u64 * 4096, 4096),
    });
    let mut began = vec![Moment::START; depth];
    for tag in 0..depth as u32 {
        let request = requests.next().unwrap();
        device.submit(Moment::START, Tag(tag), request).unwrap();
    }
    let (mut sum_ns, mut from, mut now) = (0, Moment::START, Moment::START);
    for over in 1..=ramp + count {
        let Completion { tag, at } = device.next(Moment::NEVER).unwrap().unwrap();
        now = at;
        if over > ramp {
            sum_ns += at.since(began[tag.0 as usize]);
        } else {
            from = at;
        }
        began[tag.0 as usize] = at;
        if let Some(request) = requests.next() {
            device.submit(at, tag, request).unwrap();
        }
    }
    let seconds = now.since(from) as f64 / 1e9;
    (count as f64 / seconds, sum_ns as f64 / count as f64 / 1e3)
}

/// Write amplification of greedy cleaning under uniform random writes, in the
/// limit of many large blocks: with a units of flash for each of the host,
/// a / (a + W(-a e^-a)), W being Lambert's function (Desnoyers, SYSTOR 2012;
/// Xiang and Kurkoski, 2012).
///
/// 1 / (1 - u) where u, the share in use of a block that is cleaned, solves
/// u = e^(-a (1 - u)): a block waits until the host has written (1 - u) times
/// all flash, and each unit of it has been spared by as many writes.
fn theory(a: f64) -> f64 {
    let mut u = 0.0;
    for _ in 0..10_000 {
        u = f64::exp(-a * (1.0 - u));
    }
    1.0 / (1.0 - u)
}

#[test]
fn the_theory_has_its_published_value() {
    assert!((theory(1.3) - 2.36).abs() < 0.005, "{}", theory(1.3));
}

#[test]
fn write_amplification_is_that_of_greedy_cleaning() {
    // Blocks of 512 flash pages, so that each has nearly its mean in use: with
    // 64, less is written than the limit says.
    for (over_provisioning, gib, cleaning) in [
        (0.07, 2, Cleaning::Apart),
        (0.1, 1, Cleaning::Apart),
        (0.15, 1, Cleaning::Apart),
        (0.2, 1, Cleaning::Together),
        (0.3, 1, Cleaning::Apart),
        (0.3, 1, Cleaning::Together),
        (0.5, 1, Cleaning::Apart),
    ] {
        let capacity = gib << 30;
        let mut parameters = flash(capacity, over_provisioning);
        let page = parameters.page.as_mut().unwrap();
        page.cleaning = sourced(cleaning);
        parameters.nand.channels = sourced(1);
        parameters.nand.dies_per_channel = sourced(1);
        parameters.nand.pages_per_block = sourced(512);
        let mut device = open(&parameters);
        let layer = device.translation();
        // Two blocks are free, and a half of each of the open ones.
        let open = 1 + u32::from(cleaning == Cleaning::Apart);
        let blocks = f64::from(layer.rows) - FREE_BLOCKS as f64 - 0.5 * f64::from(open);
        let a = blocks * f64::from(layer.units_per_block) / f64::from(layer.logical_units);
        let spec = spec(Mix::WRITE, 4096, 8, capacity);
        let effort = Effort {
            ramp: 0,
            requests: 20_000,
            rounds_max: 5,
        };
        probe::measure(&mut device, &spec, effort, Seed::new(1)).unwrap();
        let measured = device.counters().write_amplification().unwrap();
        let error = measured / theory(a) - 1.0;
        println!(
            "{over_provisioning} {cleaning:?}: {measured:.3}, theory {:.3}: {error:+.4}",
            theory(a)
        );
        assert!(
            error.abs() < 0.02,
            "{over_provisioning}: {measured}, theory {}",
            theory(a)
        );
    }
}

/// Two maps of 4 bytes a unit, and a bit: see "Speed and memory" in
/// docs/devices.md for why not less.
#[test]
fn the_map_takes_9_bytes_a_unit_at_most() {
    for page_bytes in [4096, 16_384] {
        let mut parameters = flash(4 << 30, 0.25);
        parameters.nand.page_bytes = sourced(page_bytes);
        let device = open(&parameters);
        let layer = device.translation();
        let units = layer.logical.len();
        let bytes = layer.memory_bytes();
        assert!(bytes > 4 * units + 4 * layer.physical.len());
        assert!(bytes <= 9 * units, "{bytes} for {units}");
    }
}

/// Random requests of all kinds, sizes and alignments leave the map consistent.
#[test]
fn every_unit_is_where_the_map_says_it_is() {
    for seed in 0..24 {
        let seed = Seed::new(seed);
        let mut generator = seed.generator();
        let mut parameters = flash(16 << 20, 0.5);
        parameters.nand.pages_per_block = sourced(8);
        parameters.nand.planes = sourced([1, 2, 4][generator.random_range(0..3)]);
        let page = parameters.page.as_mut().unwrap();
        page.wear_gap = sourced([0, 3][generator.random_range(0..2)]);
        page.cleaning =
            sourced([Cleaning::Apart, Cleaning::Together][generator.random_range(0..2)]);
        if *parameters.nand.planes == 1 && generator.random_range(0..2) == 0 {
            page.copying = sourced(Copying::CopyBack);
        }
        let mut device = open(&parameters);
        let mut trimmed = vec![false; device.translation().logical_units as usize];
        let mut now = Moment::START;
        for _ in 0..3000 {
            let length = 512 * generator.random_range(1..64u32);
            let offset = 512 * generator.random_range(0..(16u64 << 11) - 64);
            let request = match generator.random_range(0..20) {
                0 => Request::trim(offset, length),
                1 => Request::FLUSH,
                2..8 => Request::read(offset, length),
                _ => Request::write(offset, length),
            };
            let whole = offset.div_ceil(4096)..(offset + u64::from(length)) / 4096;
            let touched = offset / 4096..(offset + u64::from(length)).div_ceil(4096);
            match request.command {
                Command::Trim => whole.for_each(|unit| trimmed[unit as usize] = true),
                Command::Write => touched.for_each(|unit| trimmed[unit as usize] = false),
                _ => {}
            }
            device.submit(now, Tag(0), request).unwrap();
            now = device.next(Moment::NEVER).unwrap().unwrap().at;
        }
        device.submit(now, Tag(0), Request::FLUSH).unwrap();
        device.next(Moment::NEVER).unwrap();

        let layer = device.translation();
        let mut used = vec![0; (layer.rows * layer.dies.get()) as usize];
        for (logical, trimmed) in (0..).zip(trimmed) {
            let physical = layer.physical(logical);
            assert_eq!(physical.is_none(), trimmed, "{logical}, {seed}");
            if let Some(physical) = physical {
                let spot = layer.spot(physical);
                let Spot { die, row, unit } = spot;
                assert_eq!(layer.physical_at(spot), physical);
                assert!(layer.blocks.is_used(die, row, unit), "{logical}, {seed}");
                assert_eq!(layer.logical[layer.entry(spot)] ^ physical, logical);
                used[(die * layer.rows + row) as usize] += 1;
            }
        }
        for (block, used) in (0..).zip(used) {
            let (die, row) = (block / layer.rows, block % layer.rows);
            assert_eq!(layer.blocks.used(die, row), used, "{die}, {row}, {seed}");
        }
        assert_eq!(layer.buffered, 0, "{seed}");
    }
}

#[test]
fn blocks_wear_evenly_where_asked() {
    let spread = |wear_gap| {
        let mut parameters = flash(64 << 20, 0.3);
        parameters.nand.pages_per_block = sourced(16);
        parameters.page.as_mut().unwrap().wear_gap = sourced(wear_gap);
        let mut device = open(&parameters);
        // A tenth of it is rewritten, the rest never.
        let spec = spec(Mix::WRITE, 4096, 8, 6 << 20);
        let effort = Effort {
            ramp: 0,
            requests: 60_000,
            rounds_max: 5,
        };
        probe::measure(&mut device, &spec, effort, Seed::new(1)).unwrap();
        device.translation().blocks.wear()
    };
    let (least, mean) = spread(0);
    assert_eq!(least, 0);
    assert!(mean > 10, "{mean}");
    let (least, mean) = spread(4);
    // A block that lags is cleaned in its turn, of 336 of its die.
    assert!(least + 8 > mean, "{least}, mean {mean}");
}

#[test]
fn parts_of_units_cost_a_read() {
    let mut parameters = flash(64 << 20, 0.3);
    parameters.nand.planes = sourced(2);
    parameters.page.as_mut().unwrap().unit_bytes = sourced(8192);
    let media = |requests: &[Request]| {
        let mut device = open(&parameters);
        let mut now = Moment::START;
        for &request in requests {
            device.submit(now, Tag(0), request).unwrap();
            now = device.next(Moment::NEVER).unwrap().unwrap().at;
        }
        let counters = device.counters();
        (counters.media_read_bytes, counters.media_written_bytes)
    };
    let write = Request::write;
    let flush = Request::FLUSH;
    assert_eq!(media(&[write(8192, 8192), flush]), (0, 8192));
    // Half of a unit, and two halves that are not of the same one.
    assert_eq!(media(&[write(4096, 4096), flush]), (8192, 8192));
    assert_eq!(media(&[write(4096, 8192), flush]), (16384, 16384));
    // Both halves, one after the other.
    assert_eq!(
        media(&[write(0, 4096), write(4096, 4096), flush]),
        (0, 8192)
    );
    // Reads move what is asked for.
    assert_eq!(media(&[Request::read(4096, 2048)]), (2048, 0));
}

#[test]
fn flushes_wait_for_programs_unless_the_buffer_is_protected() {
    let latency_ns = |buffer| {
        let mut parameters = flash(64 << 20, 0.3);
        parameters.page.as_mut().unwrap().buffer = sourced(buffer);
        let mut device = open(&parameters);
        device
            .submit(Moment::START, Tag(0), Request::write(0, 4096))
            .unwrap();
        let written = device.next(Moment::NEVER).unwrap().unwrap().at;
        device.submit(written, Tag(1), Request::FLUSH).unwrap();
        (
            written.get(),
            device.next(Moment::NEVER).unwrap().unwrap().at.get(),
        )
    };
    // Controller 5 us, link 4096 x 4 ns, buffer 4 us, protocol 20 us.
    let written = 5_000 + 16_384 + 4_000 + 20_000;
    assert_eq!(latency_ns(Buffer::Protected), (written, written + 25_000));
    // The data were there after 21.384 us, passed the channel in 102.4, and
    // were programmed in 200.
    let durable = 21_384 + 102_400 + 200_000;
    assert_eq!(latency_ns(Buffer::Volatile), (written, durable + 20_000));
}

#[test]
fn a_flush_takes_its_time_for_each_byte_since_the_last() {
    let mut parameters = flash(64 << 20, 0.3);
    let mut flushes_ns = |us_per_kib: f64, writes: &[u64]| {
        let page = parameters.page.as_mut().unwrap();
        page.flush_us_per_kib = Some(sourced(us_per_kib));
        let mut device = open(&parameters);
        let mut now = Moment::START;
        let mut ask = |request| {
            let began = now;
            device.submit(now, Tag(0), request).unwrap();
            now = device.next(Moment::NEVER).unwrap().unwrap().at;
            now.since(began)
        };
        let flushes = writes.iter().map(|&count| {
            for number in 0..count {
                ask(Request::write(number * 8192, 4096));
            }
            ask(Request::FLUSH)
        });
        flushes.collect::<Vec<u64>>()
    };
    let writes = [1, 3, 0, 2];
    let without = flushes_ns(0.0, &writes);
    for (flush, (count, plain)) in writes.iter().zip(&without).enumerate() {
        let longer = flushes_ns(10.0, &writes)[flush] - plain;
        // 10 us a KiB, in whole picoseconds a byte.
        assert!(longer.abs_diff(count * 40_000) <= count * 4, "{longer}");
    }
}

#[test]
fn a_drive_is_busy_from_its_first_request_to_its_last() {
    for queue in [1, 2, 32] {
        let mut parameters = flash(64 << 20, 0.3);
        parameters.host.queue = sourced(queue);
        let mut device = open(&parameters);
        let began = Moment::nanoseconds(5_000);
        for tag in 0..4 {
            let read = Request::read(u64::from(tag) * 4096, 4096);
            device.submit(began, Tag(tag), read).unwrap();
        }
        let mut over = began;
        while let Some(completion) = device.next(Moment::NEVER).unwrap() {
            over = completion.at;
        }
        assert_eq!(device.counters().busy_ns, over.since(began), "{queue}");
        // And not afterwards.
        let later = over.after(1_000_000);
        assert_eq!(device.next(later).unwrap(), None);
        assert_eq!(device.counters().busy_ns, over.since(began), "{queue}");
    }
}

#[test]
fn bad_values_are_named() {
    let refused = |change: fn(&mut Parameters)| {
        let mut parameters = flash(64 << 20, 0.3);
        change(parameters.page.as_mut().unwrap());
        parameters.check().unwrap_err().key
    };
    assert_eq!(refused(|page| page.unit_bytes.value = 0), "page.unit_bytes");
    assert_eq!(
        refused(|page| page.unit_bytes.value = 8192),
        "page.unit_bytes"
    );
    for bad in [f64::NAN, -1.0, 0.0, 1e300] {
        let mut parameters = flash(64 << 20, 0.3);
        parameters.page.as_mut().unwrap().over_provisioning.value = bad;
        assert_eq!(
            parameters.check().unwrap_err().key,
            "page.over_provisioning"
        );
    }
    assert_eq!(
        refused(|page| page.buffer_bytes.value = 4096),
        "page.buffer_bytes"
    );
    assert_eq!(
        refused(|page| page.buffer_us.value = f64::INFINITY),
        "page.buffer_us"
    );
    let mut parameters = flash(15_000_000_000_000, 0.3);
    parameters.capacity_bytes.value -= parameters.capacity_bytes.value % 4096;
    assert_eq!(parameters.check().unwrap_err().key, "page.unit_bytes");
    parameters.capacity_bytes.value = u64::MAX;
    assert_eq!(parameters.check().unwrap_err().key, "capacity_bytes");
}

mod reference;

use octavo_units::{ByteCount, QueueDepth, Seed};
use rand::RngExt;

use self::reference::{Drive, Reference};
use super::*;
use crate::{
    Device, Geometry, Request, Tag, catalog,
    simulated::flash::ssd::{Front, Ssd},
};

/// Four ganged channels of 40 MB/s with the chips of Agrawal et al. 2008,
/// table 1.
const CHIPS: nand::Shape = nand::Shape {
    channels: 1,
    dies_per_channel: 4,
    pages_per_block: 64,
    page_bytes: 16_384,
    bits_per_cell: 1,
    read_ns: [25_000; nand::BITS_MAX],
    program_ns: [200_000; nand::BITS_MAX],
    retry_below: 0,
    retry_ns: 0,
    erase_ns: 1_500_000,
    channel_ps_per_byte: 6_250,
    suspend_ns: None,
    gang: 4,
};
/// A superpage over the bus.
const TRANSFER_NS: u64 = 102_400;

/// No time but that of the chips.
const FRONT: Front = Front {
    read_ns: 0,
    write_ns: 0,
    read_ps_per_byte: 0,
    write_ps_per_byte: 0,
    latency_ns: 0,
    write_latency_ns: 0,
    link_ns: 0,
    link_ps_per_byte: 0,
    duplex: false,
    ahead_bytes: 0,
};

fn parameters(replacements: u32, ways: u32, buffer_bytes: u64) -> Parameters {
    Parameters {
        log: Sourced::new(Log::Replacement, "test"),
        replacements: Sourced::new(replacements, "test"),
        spares: Sourced::new(2 * ways, "test"),
        ways: Sourced::new(ways, "test"),
        copying: Sourced::new(Copying::Controller, "test"),
        levelling_spread: Sourced::new(0, "test"),
        buffer_bytes: Sourced::new(buffer_bytes, "test"),
        buffer_line_bytes: Sourced::new(512, "test"),
        victim: Sourced::new(Victim::Fullest, "test"),
    }
}

fn drive(parameters: &Parameters, superblocks: u64) -> Ssd<Superblock> {
    let capacity = superblocks << 20;
    parameters.check(capacity, 512, &CHIPS).unwrap();
    Ssd::new(
        Geometry {
            capacity: ByteCount::new(capacity),
            sector: ByteCount::new(512),
            queue: QueueDepth::ONE,
        },
        FRONT,
        Nand::new(CHIPS),
        parameters.open(capacity, 512, &CHIPS),
    )
}

/// Does a request alone and says when it is over.
fn complete(device: &mut dyn Device, request: Request) -> Moment {
    device.submit(device.now(), Tag(0), request).unwrap();
    device.next(Moment::NEVER).unwrap().unwrap().at
}

#[test]
fn a_block_mapped_write_rewrites_the_block() {
    let mut device = drive(&parameters(0, 1, 0), 8);
    // Each write waits for the one before, whose superblock is rewritten:
    // 63 x (tR + 2 tX + tP) + tX + tP + tE = 28.9 ms, 35 IOPS.
    let rewrite_ns = 63 * (25_000 + 2 * TRANSFER_NS + 200_000) + TRANSFER_NS + 200_000 + 1_500_000;
    for index in 0..10 {
        let superpage = index * 37 % 512;
        let over = complete(&mut device, Request::write(superpage << 14, 16_384)).get();
        assert_eq!(over, index * rewrite_ns);
    }
    let over = complete(&mut device, Request::FLUSH).get();
    assert_eq!(over, 10 * rewrite_ns);
    let counters = device.counters();
    assert_eq!(counters.media_written_bytes, 10 << 20);
    assert_eq!(counters.media_read_bytes, 10 * 63 * 16_384);
    // Four chips, each a block.
    assert_eq!(counters.erases, 10 * 4);
    assert_eq!(counters.write_amplification(), Some(64.0));
    assert_eq!(device.translation().wear().erases, 10);
}

#[test]
fn the_buffer_answers_at_once_and_flushing_empties_it() {
    let mut device = drive(&parameters(1, 1, 1 << 20), 8);
    assert_eq!(complete(&mut device, Request::write(4096, 8192)).get(), 0);
    // From the buffer; beside it, tR + 8192 bytes; both, once.
    assert_eq!(complete(&mut device, Request::read(4608, 512)).get(), 0);
    let beside = complete(&mut device, Request::read(16_384, 8192)).get();
    assert_eq!(beside, 25_000 + 8192 * 6_250 / 1000);
    let across = complete(&mut device, Request::read(0, 8192)).get();
    assert_eq!(across, 2 * beside);
    // The rest of the superpage is read for it: 8192 out, 16384 in.
    let flushed = complete(&mut device, Request::FLUSH).get();
    assert_eq!(flushed - across, 25_000 + 24_576 * 6_250 / 1000 + 200_000);
    let again = complete(&mut device, Request::FLUSH).get();
    assert_eq!(again, flushed);
    // What was trimmed needs no flash.
    complete(&mut device, Request::trim(0, 16_384));
    assert_eq!(complete(&mut device, Request::read(0, 8192)).get(), flushed);
    assert_eq!(complete(&mut device, Request::read(0, 0)).get(), flushed);
}

#[test]
fn a_superblock_drive_matches_the_slow_reference() {
    for (seed, ways, replacements, buffer, line, through_controller) in [
        (1, 1, 4, 64, 1, true),
        (2, 2, 8, 300, 1, true),
        (3, 4, 4, 900, 8, true),
        (4, 4, 8, 900, 1, false),
        (5, 3, 3, 2_000, 16, false),
    ] {
        let superblocks = 60;
        let mut parameters = parameters(replacements, ways, buffer * 512);
        parameters.buffer_line_bytes.value = line as u32 * 512;
        if !through_controller {
            parameters.copying.value = Copying::CopyBack;
        }
        let mut fast = drive(&parameters, superblocks);
        let mut slow = Reference::full(Drive {
            superblocks,
            superpages: 64,
            ways: ways.into(),
            replacements_a_way: (replacements / ways) as usize,
            sectors_a_superpage: 32,
            buffer_sectors: buffer as usize,
            sectors_a_line: line,
            sense: CHIPS.read_ns[0],
            program: CHIPS.program_ns[0],
            erase: CHIPS.erase_ns,
            move_kib: 1024 * CHIPS.channel_ps_per_byte / 1000,
            through_controller,
        });
        let mut generator = Seed::new(seed).generator();
        let mut sequential = 0;
        for turn in 0..1_500 {
            // Random ones of 1 to 40 sectors, and runs in order.
            let sectors = if turn % 300 < 200 {
                generator.random_range(1..=40)
            } else {
                48
            };
            let first = if sectors == 48 {
                sequential += 48;
                sequential % (superblocks * 2048 - 48)
            } else {
                generator.random_range(0..superblocks * 2048 - 40)
            };
            let length = sectors as u32 * 512;
            let at = complete(&mut fast, Request::write(first * 512, length)).get();
            slow.write(first, first + sectors);
            assert_eq!(at, slow.now, "seed {seed}, write {turn}");
        }
        assert_eq!(fast.translation().wear().erases, slow.erases, "seed {seed}");
        assert!(slow.erases > 200, "seed {seed}: {} erases", slow.erases);
    }
}

#[test]
fn a_shared_log_takes_more_of_a_narrow_skew() {
    // One superblock has all writes: its own replacement is full every 64
    // writes, a shared log of 8 only every 448, and then has one to merge.
    let erases = |log| {
        let mut parameters = parameters(8, 1, 0);
        parameters.log.value = log;
        let mut device = drive(&parameters, 16);
        for index in 0..4_480_u64 {
            let superpage = 5 * 64 + 1 + index % 63;
            complete(&mut device, Request::write(superpage << 14, 16_384));
        }
        complete(&mut device, Request::FLUSH);
        device.translation().wear().erases
    };
    assert_eq!(erases(Log::Replacement), 2 * (4_480 / 64 - 1));
    // Reclaimed blocks hold nothing that was not overwritten: 1 erase each.
    assert_eq!(erases(Log::Shared), 4_480 / 64 - 7);
}

#[test]
fn translation_tables_take_little_memory() {
    for name in ["pc-a", "pc-b"] {
        let entry = catalog::find(name).unwrap();
        let catalog::Model::Flash(parameters) = entry.model() else {
            panic!("{name} is a drive");
        };
        let chips = parameters.shape();
        let capacity = parameters.capacity_bytes.value;
        let mut translation = parameters
            .superblock
            .as_ref()
            .unwrap()
            .open(capacity, 512, &chips);
        let mut nand = Nand::new(chips);
        nand.set_timed(false);
        translation.fill(capacity);
        let mut generator = Seed::new(1).generator();
        for _ in 0..50_000 {
            let offset = generator.random_range(0..capacity / 2048) * 2048;
            let extent = Extent {
                offset,
                length: 2048,
            };
            translation.write(&mut nand, Moment::START, extent);
        }
        let flash_pages = capacity / u64::from(parameters.nand.page_bytes.value);
        let bytes = translation.memory_bytes() as f64 / flash_pages as f64;
        assert!(bytes < 2.0, "{name}: {bytes} bytes a flash page");
    }
}

/// Makes parameters impossible.
type Spoil = fn(&mut Parameters);

#[test]
fn impossible_parameters_are_named() {
    let check = |change: Spoil, capacity: u64, sector: u32| {
        let mut parameters = parameters(8, 2, 1 << 20);
        change(&mut parameters);
        parameters
            .check(capacity, sector, &CHIPS)
            .map_err(|impossible| impossible.key)
    };
    let capacity = 64 << 20;
    assert_eq!(check(|_| (), capacity, 512), Ok(()));
    assert_eq!(check(|_| (), capacity - 512, 512), Ok(()));
    let cases: [(&str, Spoil); 13] = [
        ("superblock.ways", |p| p.ways.value = 0),
        ("superblock.ways", |p| p.ways.value = 5),
        ("superblock.replacements", |p| p.replacements.value = 7),
        ("superblock.replacements", |p| p.replacements.value = 66),
        ("superblock.replacements", |p| {
            p.replacements.value = u32::MAX - 1;
        }),
        ("superblock.replacements", |p| {
            p.log.value = Log::Shared;
            p.replacements.value = 2;
        }),
        ("superblock.spares", |p| p.spares.value = 2),
        ("superblock.spares", |p| p.spares.value = 5),
        ("superblock.spares", |p| p.spares.value = u32::MAX - 1),
        ("superblock.buffer_bytes", |p| {
            p.buffer_bytes.value = u64::MAX;
        }),
        ("superblock.buffer_line_bytes", |p| {
            p.buffer_line_bytes.value = 0;
        }),
        ("superblock.buffer_line_bytes", |p| {
            p.buffer_line_bytes.value = 768;
        }),
        ("superblock.buffer_line_bytes", |p| {
            p.buffer_line_bytes.value = 32_768;
        }),
    ];
    for (key, change) in cases {
        assert_eq!(check(change, capacity, 512), Err(key.to_owned()));
    }
    let small = 1 << 20;
    assert_eq!(check(|_| (), small, 512), Err("capacity_bytes".to_owned()));
    let large = 16_000_000_000_000 << 1;
    assert_eq!(check(|_| (), large, 512), Err("capacity_bytes".to_owned()));
    let wide = nand::Shape {
        page_bytes: 65_536,
        ..CHIPS
    };
    let refused = parameters(8, 2, 0).check(1 << 30, 512, &wide).unwrap_err();
    assert_eq!(refused.key, "sector_bytes");
    let apart = nand::Shape {
        channels: 4,
        ..CHIPS
    };
    let refused = parameters(8, 2, 0).check(1 << 30, 512, &apart).unwrap_err();
    assert_eq!(refused.key, "nand.channels");
}

#[test]
fn drives_for_pcs_do_what_was_published_of_them() {
    for name in ["pc-a", "pc-b"] {
        let entry = catalog::find(name).unwrap();
        for published in &entry.published {
            let compared = published.compare(&entry, Seed::new(1)).unwrap();
            // What the size of writes is worth on pc-a is missed (docs/devices.md).
            if name == "pc-a" && published.over.is_some() {
                assert!((1.0..1.1).contains(&compared.simulated), "{compared:?}");
                continue;
            }
            assert!(
                compared.error.abs() <= 0.15,
                "{name}, {}: {}, {} published ({})",
                published.at,
                compared.simulated,
                published.value,
                published.source
            );
        }
    }
}

//! One suite for every engine, on a buffered file so that it passes wherever
//! direct I/O is not to be had.

use std::{
    fs::File,
    io,
    ops::ControlFlow,
    os::unix::fs::{FileExt, MetadataExt},
    time::Duration,
};

use octavo_device::{
    point::Durability,
    request::{Mix, Operation, Pattern},
    stream::{Content, Load},
};
use octavo_units::{QueueDepth, RequestSize, Seed};

use super::{Engine, EngineError, Stop};

const FILE_BYTES: u64 = 1 << 20;

fn engines() -> Vec<Engine> {
    match Engine::best() {
        (Engine::Ring, _) => vec![Engine::Ring, Engine::Threads],
        (Engine::Threads, reason) => {
            println!("skipped io_uring: {reason:?}");
            vec![Engine::Threads]
        }
    }
}

fn load(mix: Mix, pattern: Pattern, depth: u16) -> Load {
    Load {
        mix,
        pattern,
        request_size: RequestSize::new(4096).unwrap(),
        depth: QueueDepth::new(depth).unwrap(),
        range_bytes: FILE_BYTES,
        shift_bytes: 0,
        content: Content::Fresh,
        first: 0,
        seed: Seed::new(3),
    }
}

fn filled() -> File {
    let file = tempfile::tempfile().unwrap();
    file.set_len(FILE_BYTES).unwrap();
    file
}

fn carry_on(_: Duration) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn a_sequential_fill_writes_every_sector_and_counts_it() {
    for engine in engines() {
        let file = filled();
        let load = load(Mix::WRITE, Pattern::Sequential, 7);
        let stop = Stop::requests(FILE_BYTES / 4096);
        let tally = engine
            .run(&file, &load, Durability::Device, stop, &mut carry_on)
            .unwrap();
        assert_eq!(tally.requests(), 256, "{engine}");
        assert_eq!(tally.writes.len(), 256);
        assert!(tally.writes.min() > 0);
        let mut bytes = vec![0; FILE_BYTES as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        let mut seen = std::collections::HashSet::new();
        for sector in bytes.chunks(512) {
            assert!(seen.insert(sector.to_vec()), "{engine}: a sector repeats");
        }
        assert_eq!(file.metadata().unwrap().size(), FILE_BYTES);
    }
}

#[test]
fn a_timed_run_counts_the_same_in_slices_and_histograms() {
    for engine in engines() {
        for depth in [1, 8] {
            let file = filled();
            let load = load(Mix::READ_50, Pattern::Random, depth);
            let stop = Stop {
                ramp: Duration::from_millis(5),
                slice: Duration::from_millis(10),
                slices: 3,
                requests: u64::MAX,
            };
            let tally = engine
                .run(&file, &load, Durability::Device, stop, &mut carry_on)
                .unwrap();
            assert_eq!(tally.slices.iter().sum::<u64>(), tally.requests());
            assert!(tally.elapsed >= Duration::from_millis(30));
        }
    }
}

#[test]
fn a_mix_reads_and_writes_as_many_requests_as_asked() {
    for engine in engines() {
        let file = filled();
        let load = load(Mix::READ_50, Pattern::Random, 8);
        let stop = Stop::requests(500);
        let tally = engine
            .run(&file, &load, Durability::Device, stop, &mut carry_on)
            .unwrap();
        assert_eq!(tally.reads.len() + tally.writes.len(), 500, "{engine}");
        // Mean 250, standard deviation 11.
        assert!((190..=310).contains(&tally.reads.len()), "{engine}");
    }
}

#[test]
fn requests_beyond_the_end_are_an_error_with_the_offset() {
    for engine in engines() {
        let file = tempfile::tempfile().unwrap();
        let load = load(Mix::READ, Pattern::Sequential, 4);
        let result = engine.run(
            &file,
            &load,
            Durability::Device,
            Stop::requests(256),
            &mut carry_on,
        );
        let Err(EngineError::Request {
            operation, source, ..
        }) = result
        else {
            panic!("{engine}: an empty file was read");
        };
        assert_eq!(operation, Operation::Read);
        assert_eq!(source.kind(), io::ErrorKind::UnexpectedEof);
    }
}

#[test]
fn the_hook_stops_a_run() {
    for engine in engines() {
        let file = filled();
        let load = load(Mix::WRITE, Pattern::Random, 4);
        let stop = Stop {
            ramp: Duration::ZERO,
            slice: Duration::from_secs(3600),
            slices: 1,
            requests: u64::MAX,
        };
        let mut calls = 0;
        let result = engine.run(&file, &load, Durability::Device, stop, &mut |_| {
            calls += 1;
            if calls == 2 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        assert!(matches!(result, Err(EngineError::Stopped)), "{engine}");
        assert_eq!(calls, 2);
    }
}

#[test]
fn synced_writes_are_written() {
    for engine in engines() {
        let file = filled();
        let load = load(Mix::WRITE, Pattern::Sequential, 1);
        let tally = engine
            .run(
                &file,
                &load,
                Durability::Synced,
                Stop::requests(3),
                &mut carry_on,
            )
            .unwrap();
        assert_eq!(tally.writes.len(), 3);
        let mut bytes = [0; 4096 * 4];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert!(
            bytes[..4096 * 3]
                .chunks(512)
                .all(|sector| sector != [0; 512])
        );
        assert!(bytes[4096 * 3..].iter().all(|byte| *byte == 0));
    }
}

//! The whole of calibrating, small: a few points on a small file.

use std::{ops::ControlFlow, time::Duration};

use octavo_device::{
    point::{Durability, PointSpec},
    preset::Timing,
    profile::{Profile, table},
    request::{Mix, Pattern},
};
use octavo_storage::{
    calibrate::{self, CalibrateError, Settings},
    engine::Engine,
    target::Target,
};
use octavo_units::{ByteCount, QueueDepth, RequestSize, Seed};

const FILE: ByteCount = ByteCount::mib(4);

fn spec(mix: Mix, pattern: Pattern, depth: u16, durability: Durability) -> PointSpec {
    PointSpec {
        mix,
        pattern,
        request_size: RequestSize::new(4096).unwrap(),
        depth: QueueDepth::new(depth).unwrap(),
        range: FILE,
        durability,
        shift: ByteCount::ZERO,
    }
}

fn settings(engine: Option<Engine>) -> Settings {
    Settings {
        file_size: Some(FILE),
        points: Some(vec![
            spec(Mix::READ, Pattern::Random, 4, Durability::Device),
            spec(Mix::READ_50, Pattern::Random, 4, Durability::Device),
            spec(Mix::WRITE, Pattern::Sequential, 1, Durability::Synced),
        ]),
        engine,
        ..Settings::brief(Seed::new(u64::MAX))
    }
}

#[test]
fn either_engine_gives_a_profile_that_can_be_read_back() {
    for engine in [None, Some(Engine::Threads)] {
        let directory = tempfile::tempdir().unwrap();
        let mut names = Vec::new();
        let profile = calibrate::calibrate(directory.path(), &settings(engine), &mut |step| {
            assert!(step.done <= step.total);
            if names.last().map(String::as_str) != Some(step.name) {
                names.push(step.name.to_owned());
            }
            ControlFlow::Continue(())
        })
        .unwrap();
        println!("{} {}", profile.engine, profile.access);
        assert_eq!(profile.points.len(), 3);
        for point in &profile.points {
            assert!(point.requests > 0 && point.latency.us_p50 > 0.0);
            assert!(point.latency.us_max >= point.latency.us_p999);
            // A request that waits long at an end of a point this short counts
            // whole.
            assert!(point.in_flight < f64::from(point.spec.depth.get()) * 1.5);
        }
        assert!(profile.commit().is_some());
        assert!(
            names
                .iter()
                .any(|name| name.starts_with("random read 4 KiB"))
        );
        assert!(!table::all(&profile).is_empty());
        assert_eq!(Profile::from_toml(&profile.to_toml()).unwrap(), profile);
        assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    }
}

#[test]
fn stopping_is_an_error_of_its_own_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let result = calibrate::calibrate(directory.path(), &settings(None), &mut |step| {
        if step.name.starts_with("random") {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    assert!(matches!(result, Err(CalibrateError::Stopped)));
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
}

#[test]
fn impossible_points_are_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let mut settings = settings(None);
    let mut wide = spec(Mix::READ, Pattern::Random, 1, Durability::Device);
    wide.range = ByteCount::mib(5);
    settings.points = Some(vec![wide]);
    let error = calibrate::calibrate(directory.path(), &settings, &mut |_| {
        ControlFlow::Continue(())
    })
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "point 'random read 4 KiB, depth 1, range 5 MiB' exceeds the file of 4 MiB"
    );
}

#[test]
fn a_missing_directory_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    let error = calibrate::calibrate(
        &missing,
        &settings(None),
        &mut |_| ControlFlow::Continue(()),
    )
    .unwrap_err();
    assert!(error.to_string().contains("missing"), "{error}");
}

#[test]
fn writes_run_in_rounds_until_steady_or_the_limit() {
    let mut file = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut file, &vec![7; 1 << 20]).unwrap();
    let target = Target::over(file).unwrap();
    let mut write = spec(Mix::WRITE, Pattern::Random, 2, Durability::Device);
    write.range = ByteCount::mib(1);
    let timing = Timing {
        ramp: Duration::ZERO,
        round: Duration::from_millis(4),
        rounds_max: 8,
        in_turns: false,
    };
    let point = calibrate::measure(
        &target,
        Engine::Threads,
        &write,
        timing,
        Seed::new(1),
        &mut |_| ControlFlow::Continue(()),
    )
    .unwrap();
    assert!((5..=8).contains(&point.rounds));
    match point.steady_round {
        Some(round) => assert_eq!(round, point.rounds),
        None => assert_eq!(point.rounds, 8),
    }
    // The figures are over five rounds, however many were run.
    assert!((point.duration_s - 0.020).abs() < 1e-9);
}

#[test]
fn limits_are_looked_for_on_a_file_that_is_gone_afterwards() {
    let directory = tempfile::tempdir().unwrap();
    let mut calls = 0;
    let limits = calibrate::limits(directory.path(), Seed::new(1), &mut || {
        calls += 1;
        ControlFlow::Continue(())
    });
    // What is found depends on the disk.
    println!("{:?} in {calls} calls", limits.unwrap());
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    let stopped = calibrate::limits(directory.path(), Seed::new(1), &mut || {
        ControlFlow::Break(())
    });
    assert!(matches!(stopped, Ok(_) | Err(CalibrateError::Stopped)));
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
}

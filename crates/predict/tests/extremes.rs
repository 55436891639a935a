//! Databases at the ends of what page sizes, rows and memory can be: each is refused with a
//! reason, or executes transactions, without a panic.

use std::ops::ControlFlow;

use octavo_device::simulated::Constant;
use octavo_predict::{
    CpuCost, EngineError, Miniature, Model, PredictError, Registry, Setup, Slowness, System,
    model_of,
};
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{Ycsb, ycsb::Core};

/// All of them, on storage that rotates.
fn models() -> Vec<Model> {
    let registry = Registry::standard();
    let models = registry.iter().map(|kind| kind.model(&[], true).unwrap());
    models.collect()
}

/// Executes some transactions of a workload.
fn run(
    model: &Model,
    workload: &Ycsb,
    page_size: PageSize,
    memory: ByteCount,
    clients: u32,
) -> Result<(), PredictError> {
    let setup = Setup {
        model: model.clone(),
        miniature: Miniature::WHOLE,
        page_size,
        memory,
        clients,
        processors: 2,
        seed: Seed::new(3),
        cpu: CpuCost {
            transaction_ns: 1e5,
            ..CpuCost::default()
        },
        weights: Vec::new(),
        slowness: Slowness::default(),
    };
    let device = Constant::new(ByteCount::mib(1 << 20), 50_000);
    let mut system = System::new(workload, &setup, Box::new(device))?;
    system.run(60, &mut |done| assert!(done.elapsed_ns > 0))?;
    Ok(())
}

#[test]
fn rows_and_pages_of_all_sizes_are_predicted() {
    let sizes = (0..8).map(|doubled| PageSize::new(512 << doubled).unwrap());
    let models = models();
    let (mut ran, mut number) = (0, 0);
    for size in sizes {
        for records in [1, 2, 11, 997, 5_000] {
            for row in [10, 100, 480, 990, 1000, 2010, 4090, 9000, 60_000] {
                for (core, model) in [Core::E, Core::D, Core::A]
                    .into_iter()
                    .flat_map(|core| models.iter().map(move |model| (core, model)))
                {
                    // One in 11 meets each value with most others, as 11 divides no count of them.
                    number += 1;
                    if number % 11 != 0 {
                        continue;
                    }
                    let workload = Ycsb::new(records, Seed::new(row)).unwrap();
                    let workload = workload.with_core(core).with_row(ByteCount::new(row));
                    let workload = workload.unwrap();
                    let clients = 1 + u32::try_from(row % 3).unwrap();
                    match run(model, &workload, size, ByteCount::mib(4), clients) {
                        Ok(()) => ran += 1,
                        Err(PredictError::Engine(EngineError::Memory { .. })) => {}
                        Err(error) => panic!("{model:?} {size} {records} {row}: {error}"),
                    }
                }
            }
        }
    }
    assert!(ran > 300, "{ran}");
}

#[test]
fn more_pages_than_can_be_numbered_are_refused() {
    // A page of 64 KiB for each value of 6,000 bytes that has no room in its row.
    let workload = Ycsb::new(Ycsb::RECORDS_MAX, Seed::new(1)).unwrap();
    let workload = workload.with_row(Ycsb::ROW_MAX).unwrap();
    for model in &models() {
        for size in [512 << 3, 512 << 7] {
            let size = PageSize::new(size).unwrap();
            let refused = run(model, &workload, size, ByteCount::mib(64), 1);
            match refused {
                Err(PredictError::Engine(EngineError::Size { .. })) => {}
                // The smaller number of pages fits, and the device does not.
                Err(PredictError::Capacity { .. }) if size == PageSize::MAX => {}
                other => panic!("{model:?} {size}: {other:?}"),
            }
        }
    }
}

#[test]
fn placing_rows_stops_when_asked() {
    let workload = Ycsb::new(100_000, Seed::new(1)).unwrap();
    let setup = Setup {
        model: model_of("sqlite", &[], false).unwrap(),
        miniature: Miniature::WHOLE,
        page_size: PageSize::kib(4),
        memory: ByteCount::mib(4),
        clients: 1,
        processors: 1,
        seed: Seed::new(1),
        cpu: CpuCost::default(),
        weights: Vec::new(),
        slowness: Slowness::default(),
    };
    let looks = std::cell::Cell::new(0);
    let flow = || {
        looks.set(looks.get() + 1);
        match looks.get() {
            3 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    };
    let device = Box::new(Constant::new(ByteCount::mib(1 << 20), 50_000));
    let ended = System::new_while(&workload, &setup, device, &flow);
    assert!(matches!(ended, Err(PredictError::Stopped)));
    assert_eq!(looks.get(), 3);
}

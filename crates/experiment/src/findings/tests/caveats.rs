//! Warnings beside the figures.

use super::*;
use crate::{
    caveats::BelowBlock,
    lockstep::{BATCH_PASSES, Movement},
    plan::Storage,
};

#[test]
fn a_cache_that_still_warmed_is_a_caveat() {
    // Misses of one cell, or of all, are a fifth fewer in the second half.
    let found = |is_meant: fn(usize) -> bool| {
        findings_of(
            |_, _, figures| Ok(figures),
            move |slice| {
                if is_meant(slice.key.cell) && slice.key.pass >= PASSES / 2 {
                    slice.misses = 240;
                }
            },
        )
    };
    let one = found(|cell| cell == 1);
    let [caveat @ Caveat::StillWarming { cells, fall, apart }] = &one.caveats[..] else {
        panic!("{:?}", one.caveats);
    };
    assert_eq!(cells.len(), 1);
    assert_eq!(cells[0].page_size, octavo_units::PageSize::kib(8));
    assert!((fall - 0.2).abs() < 1e-9 && *apart);
    assert_eq!(caveat.severity(), Severity::Choice);
    let all = found(|_| true);
    let [caveat @ Caveat::StillWarming { apart: false, .. }] = &all.caveats[..] else {
        panic!("{:?}", all.caveats);
    };
    assert_eq!(caveat.severity(), Severity::Amount);
}

#[test]
fn misses_that_rise_are_a_caveat_and_rare_ones_are_not() {
    let rose = |change: fn(&mut Slice)| {
        let found = findings_of(|_, _, figures| Ok(figures), change);
        let mut caveats = found.caveats.into_iter();
        caveats.find(|caveat| {
            matches!(
                caveat,
                Caveat::MissesRose { .. } | Caveat::StillWarming { .. }
            )
        })
    };
    let grows = |slice: &mut Slice| {
        if slice.key.cell == 1 && slice.key.pass >= PASSES / 2 {
            slice.misses *= 2;
        }
    };
    let Some(caveat @ Caveat::MissesRose { factor, apart, .. }) = &rose(grows) else {
        panic!("{:?}", rose(grows));
    };
    assert!((factor.unwrap() - 2.0).abs() < 1e-9 && *apart);
    assert_eq!(caveat.severity(), Severity::Choice);
    // Two rose alike; a third one, which left early, says nothing.
    let mut groups = findings_of(
        |_, _, figures| Ok(figures),
        |slice| {
            if slice.key.pass >= PASSES / 2 {
                slice.misses *= 2;
            }
        },
    )
    .groups;
    let mut is_apart = |missed| {
        let of = &mut groups[0].cells[2];
        of.passes_missed = missed;
        if missed == 0 {
            of.age.as_mut().unwrap().misses_changed = MissChange::None;
        }
        matches!(
            misses_rose(&groups),
            Some(Caveat::MissesRose { apart: true, .. })
        )
    };
    assert!(!is_apart(30) && is_apart(0));
    // There were none before, so there is no factor.
    let begins = |slice: &mut Slice| {
        if slice.key.cell == 1 && slice.key.pass < PASSES / 2 {
            slice.misses = 0;
        }
    };
    assert!(
        matches!(&rose(begins), Some(Caveat::MissesRose { factor: None, .. })),
        "{:?}",
        rose(begins)
    );
    // Statements that read a table fall into one half more often than into the other.
    let rare = |slice: &mut Slice| {
        if slice.key.cell == 1 && [3, PASSES / 2 + 1, PASSES / 2 + 5].contains(&slice.key.pass) {
            slice.misses *= 50;
        }
    };
    assert!(rose(rare).is_none(), "{:?}", rose(rare));
}

#[test]
fn warm_ups_without_time_are_said_to_be_none_wherever_they_stand() {
    let cold = |run: &mut Figures| {
        (run.load.buffer_filled, run.load.warm_up) = (false, Duration::ZERO);
    };
    let found = findings_with(cold);
    assert!(!found.warmed);
    assert_eq!(
        found.warm_up.as_deref(),
        Some("none: the budget left no time")
    );
    let found = findings_with(|run| {
        cold(run);
        run.load.warm_up = Duration::from_millis(1);
    });
    assert!(found.warmed);
    assert_eq!(found.warm_up, None);
}

#[test]
fn a_machine_that_halves_its_pace_is_a_caveat() {
    let found = findings_of(
        |_, _, figures| Ok(figures),
        |slice| {
            if slice.key.sitting > 0 {
                slice.elapsed *= 2;
            }
        },
    );
    let [caveat @ Caveat::PaceChanged { cell, factor }] = &found.caveats[..] else {
        panic!("{:?}", found.caveats);
    };
    assert!(found.groups[0].cells[0].cell == *cell);
    assert!((factor - 2.0).abs() < 0.02, "{factor}");
    assert_eq!(caveat.severity(), Severity::Amount);
    assert_eq!(
        found.groups[0].cells[0].age.unwrap().pace_change,
        Some(*factor)
    );
    // Ratios are of the same minutes.
    let ratio = found.groups[0].cells[1].ratio.unwrap().estimate;
    assert!((ratio - 1.1).abs() < 0.01, "{ratio}");
}

#[test]
fn a_warning_and_an_open_level_are_both_reasons() {
    use crate::confidence::{ConfidenceLevel, ConfidenceLimit, confidence};
    let mut found = findings_with(|_| {});
    found.caveats = vec![Caveat::PageCache { runs: 1, of: 1 }];
    let doubts = |found: &Findings| confidence(found).unwrap().doubts;
    assert!(matches!(
        doubts(&found)[..],
        [ConfidenceLimit::Caveat { .. }]
    ));
    found.groups[0].cells[2].ratio = None;
    found.groups[0].verdict = Verdict::Inconclusive {
        open: vec![
            found
                .plan
                .level(&found.groups[0].cells[2].cell, found.plan.compare),
        ],
        leader: None,
        more_s: None,
    };
    assert_eq!(confidence(&found).unwrap().trust, ConfidenceLevel::Low);
    assert!(matches!(
        doubts(&found)[..],
        [ConfidenceLimit::Caveat { .. }, ConfidenceLimit::TooFew]
    ));
}

/// Misses that are a little fewer in the second half of the passes.
fn still_falling(slice: &mut Slice) {
    if slice.key.pass >= PASSES / 2 {
        slice.misses = 279;
    }
}

#[test]
fn one_cell_whose_warm_up_did_not_fill_the_buffer_may_change_the_choice() {
    let unfilled_in = |sittings: u32| {
        let figures = |cell, sitting, mut figures: Figures| {
            figures.load.buffer_filled = cell != 1 || sitting >= sittings;
            Ok(figures)
        };
        let found = findings_of(figures, still_falling);
        let expected = UnfilledCell {
            cell: found.groups[0].cells[1].cell.clone(),
            runs: sittings as usize,
            of: SITTINGS as usize,
        };
        let mut caveats = found.caveats.into_iter();
        let of_buffers = caveats.find(|one| matches!(one, Caveat::BufferNotFilled { .. }));
        let expected = Caveat::BufferNotFilled {
            cells: vec![expected],
            runs: sittings as usize,
            of: 6,
        };
        assert_eq!(of_buffers, Some(expected.clone()));
        expected.severity()
    };
    // Of 6 runs of three cells: one, and two.
    assert_eq!(unfilled_in(1), Severity::Choice);
    assert_eq!(unfilled_in(2), Severity::Choice);
}

#[test]
fn caveats_follow_from_what_runs_counted() {
    let only = |change: &dyn Fn(&mut Figures)| {
        let mut caveats = findings_with(change).caveats;
        assert_eq!(caveats.len(), 1, "{caveats:?}");
        caveats.remove(0)
    };
    let cached = only(&|run| run.storage_path = Some(StoragePath::PageCache));
    assert!(
        matches!(cached, Caveat::PageCache { runs, of } if runs == of && runs > 0),
        "{cached:?}"
    );
    assert_eq!(only(&|run| run.device = None), Caveat::NoDeviceCounters);
    let unfilled = |_, _, mut figures: Figures| {
        figures.load.buffer_filled = false;
        Ok(figures)
    };
    // Misses that stay level are those of a warm cache.
    assert_eq!(findings_of(unfilled, |_| {}).caveats, []);
    let mut caveats = findings_of(unfilled, still_falling).caveats;
    let Some(Caveat::BufferNotFilled { cells, runs, of }) = caveats.pop() else {
        panic!("filled");
    };
    assert_eq!(caveats, []);
    assert_eq!((cells.len(), runs, of), (3, 6, 6));
    assert!(cells.iter().all(|cell| (cell.runs, cell.of) == (2, 2)));
    assert_eq!(
        only(&|run| run.restored_by = Some(RestoreMethod::Reflink)),
        Caveat::SharedBlocks
    );
    assert_eq!(
        only(&|run| run.load.counters.reads /= 2),
        Caveat::MissesNotAtDevice { share: 0.5 }
    );
    let Caveat::Disturbed(disturbance) = only(&|run| run.machine.steal = 0.3) else {
        panic!("not disturbed");
    };
    assert_eq!((disturbance.cause, disturbance.runs), (Cause::Steal, 6));
    let mut caveats = findings_with(|run| {
        run.storage_path = Some(StoragePath::Limited);
        if let Some(device) = &mut run.device {
            device.reads *= 4;
        }
    })
    .caveats;
    let Some(Caveat::ReadsPerMiss { reads, .. }) = caveats.pop() else {
        panic!("not marked");
    };
    assert!((reads - 4.0).abs() < 1e-9);
}

#[test]
fn an_answer_that_met_no_checkpoint_has_a_caveat() {
    let found = |log_kib: u64, change: &dyn Fn(usize, &mut Figures)| {
        let figures = |cell, sitting: u32, mut of: Figures| {
            let counters = &mut of.load.counters;
            // The largest of a run counts, not the sum of them.
            counters.log_written_bytes = ByteCount::kib(log_kib + 1024 * u64::from(sitting));
            counters.read_time = Duration::ZERO;
            change(cell, &mut of);
            Ok(of)
        };
        let caveats = findings_of(figures, |_| {}).caveats;
        let mut meant = caveats.into_iter();
        meant.find(|of| matches!(of, Caveat::NoCheckpoint { .. }))
    };
    let none = |figures: &mut Figures| {
        let counters = &mut figures.load.counters;
        (counters.checkpoints, counters.checkpoint_time) = (0, Duration::ZERO);
        counters.data_writes = 0;
    };
    let all = |_: usize, figures: &mut Figures| none(figures);
    let caveat = found(4096, &all);
    let Some(Caveat::NoCheckpoint { cell, log, share }) = &caveat else {
        panic!("{caveat:?}");
    };
    assert_eq!(*log, ByteCount::mib(5));
    assert_eq!(cell.page_size, octavo_units::PageSize::kib(4));
    // 9 MiB in 2,000 transactions of 1 ms, and 100 us a page.
    assert!(
        (share - 9.0 * 256.0 / 2000.0 * 0.1).abs() < 0.005,
        "{share}"
    );
    assert_eq!(caveat.unwrap().severity(), Severity::Choice);
    assert_eq!(found(4096, &|_, _| {}), None);
    // Less than the margin.
    assert_eq!(found(64, &all), None);
    // The winner alone has one; who is slower without any would be slower still.
    let only = |which: usize| {
        let change = |cell: usize, figures: &mut Figures| {
            if cell == which {
                none(figures);
            }
        };
        found(4096, &change).is_some()
    };
    assert_eq!([0, 1, 2].map(only), [true, true, false]);
    // A rollback journal has no checkpoints.
    let writes = |_: usize, figures: &mut Figures| {
        none(figures);
        figures.load.counters.data_writes = 9;
    };
    assert_eq!(found(4096, &writes), None);
}

#[test]
fn what_could_not_be_recorded_is_a_caveat() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(&directory.path().join("octavo.db")).unwrap();
    store.adopt(&plan(), SliceLength::default(), "0").unwrap();
    let what = "how often pages are pinned".to_owned();
    let fact = (NOT_RECORDED.to_owned(), what.clone());
    let timed = (TIMED_BESIDE.to_owned(), "8 KiB".to_owned());
    store.replace_facts("storage", &[fact, timed]).unwrap();
    let findings = Findings::read(&store).unwrap().unwrap();
    let is_it = |caveat: &Caveat| matches!(caveat, Caveat::NotRecorded { what: of } if *of == what);
    assert!(findings.caveats.iter().any(is_it), "{:?}", findings.caveats);
    let beside = Caveat::TimedBeside {
        page_sizes: "8 KiB".into(),
        decides: false,
    };
    assert!(findings.caveats.contains(&beside), "{:?}", findings.caveats);
}

#[test]
fn a_ratio_that_moves_as_copies_grow_older_is_a_caveat() {
    // 64 KiB pages take 4 times as long at the beginning of a sitting, and twice at its end.
    let time = |measured| Horizon::Time { measured };
    let found = |grows_nearer: bool| {
        findings_over(
            time,
            |_, _, figures| Ok(figures),
            move |slice| {
                let key = slice.key;
                if key.cell == 2 && grows_nearer {
                    let factor = (1.0 - f64::from(key.pass) / f64::from(PASSES)).exp2();
                    slice.elapsed = slice.elapsed.mul_f64(factor);
                    slice.spent = None;
                }
            },
        )
    };
    let [moving, still] = [true, false].map(found);
    let of_moved = |found: &Findings| -> Vec<Caveat> {
        let is_meant = |caveat: &&Caveat| matches!(caveat, Caveat::RatioMoved { .. });
        found.caveats.iter().filter(is_meant).cloned().collect()
    };
    assert_eq!(of_moved(&still), []);
    let moved = of_moved(&moving);
    let [caveat @ Caveat::RatioMoved { cells, .. }] = &moved[..] else {
        panic!("{:?}", moving.caveats);
    };
    assert_eq!(caveat.severity(), Severity::Choice);
    assert_eq!(cells.len(), 1);
    assert_eq!(cells[0].cell.page_size, octavo_units::PageSize::kib(64));
    // The older half counts, and it moves as well.
    let Movement { first, last } = cells[0].movement;
    assert!(
        (first - 0.36).abs() < 0.01 && (last - 0.48).abs() < 0.02,
        "{first} {last}"
    );
    let young = |found: &Findings| found.groups[0].young.as_ref().map(|of| of.passes);
    assert_eq!([young(&still), young(&moving)], [None, Some(PASSES / 2)]);
    let is_told = |caveat: &Caveat| {
        let is_told = matches!(caveat, Caveat::Young { groups } if groups[0].passes == PASSES / 2);
        is_told && caveat.severity() == Severity::Note
    };
    assert!(moving.caveats.iter().any(is_told), "{:?}", moving.caveats);
    // Of all cells of the group.
    for cell in &moving.groups[0].cells {
        assert_eq!(cell.batches[0].pass, PASSES / 2);
        assert_eq!(cell.passes_counted, cell.batches.len() * BATCH_PASSES);
    }
}

#[test]
fn pages_below_blocks_and_partitions_off_blocks_are_caveats() {
    let mut findings = findings_of(|_, _, figures| Ok(figures), |_| {});
    let mut tell = |facts: &[(&str, &str)]| {
        let facts = facts.iter();
        findings.storage = facts
            .map(|&(name, value)| (name.into(), value.into()))
            .collect();
        (
            found_caveats::page_below_block(&findings),
            found_caveats::misaligned(&findings),
        )
    };
    let made = Storage::from("file-system:xfs:16K".to_owned());
    assert_eq!(
        tell(&[
            ("file_system_block_bytes", "4096"),
            ("offset_bytes", "1048576")
        ]),
        (None, None)
    );
    assert_eq!(tell(&[]), (None, None));
    // Of 4, 8 and 64 KiB; Windows XP's partitions began after 63 sectors.
    let (below, off) = tell(&[
        ("file_system_block_bytes", "16384"),
        ("offset_bytes", "32256"),
    ]);
    let below_own = BelowBlock {
        storage: Storage::Own,
        block: ByteCount::kib(16),
        page_sizes: [4, 8].map(octavo_units::PageSize::kib).into(),
    };
    let storages = vec![below_own.clone()];
    assert_eq!(below, Some(Caveat::PageBelowBlock { storages }));
    let (offset, block) = (ByteCount::new(32_256), ByteCount::kib(4));
    let storage = Storage::Own;
    assert_eq!(
        off,
        Some(Caveat::Misaligned {
            offset,
            block,
            storage
        })
    );
    assert_eq!(off.unwrap().severity(), Severity::Choice);
    // An aligned start of a device whose blocks are larger than usual is none.
    let large = [("offset_bytes", "4096"), ("physical_block_bytes", "16384")];
    assert!(
        matches!(tell(&large).1, Some(Caveat::Misaligned { block, .. }) if block == ByteCount::kib(16))
    );
    findings.plan.storages = vec![Storage::Own, made.clone()];
    let told = |name: &str| (name.to_owned(), "16384".to_owned());
    findings.storage = vec![
        told("file_system_block_bytes"),
        told("file-system:xfs:16K: file_system_block_bytes"),
    ];
    let storages = vec![
        below_own.clone(),
        BelowBlock {
            storage: made,
            ..below_own
        },
    ];
    let found = found_caveats::page_below_block(&findings);
    assert_eq!(found, Some(Caveat::PageBelowBlock { storages }));
    // Where the plan says so, it is no mistake.
    findings.plan.storages = vec!["file-system:xfs:4K,offset=512".to_owned().into()];
    findings.storage = vec![(
        "file-system:xfs:4K,offset=512: offset_bytes".into(),
        "512".into(),
    )];
    assert_eq!(found_caveats::misaligned(&findings), None);
}

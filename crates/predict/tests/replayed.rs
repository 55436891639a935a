//! Pages that were recorded, replayed: counts by hand, and several clients beside each other.

use std::sync::Arc;

use octavo_device::simulated::Constant;
use octavo_predict::{
    CpuCost, Done, EngineError, Miniature, PredictError, Purpose, Setup, Slowness, System, Wait,
    model_of,
};
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{
    Outcome, PageTrace, Workload, WorkloadSpec, own,
    page_trace::{LoggedAs, LoggedPage, PartEnd, TracedPage},
    user::{CopyOf, Own, OwnScript, Prepared},
};

const PAGE_SIZE: PageSize = PageSize::kib(4);

const READS: PartEnd = PartEnd {
    only_reads: true,
    is_committed: true,
};
const WRITES: PartEnd = PartEnd {
    only_reads: false,
    is_committed: true,
};

fn read(number: u32) -> TracedPage {
    TracedPage::new(number, false, false)
}

fn changed(number: u32) -> TracedPage {
    TracedPage::new(number, true, false)
}

fn part(trace: &mut PageTrace, pages: &[TracedPage], end: PartEnd) {
    for &page in pages {
        trace.refer(page);
    }
    trace.end_part(end);
}

/// A workload that replays a trace.
fn replaying(trace: PageTrace) -> Box<dyn Workload> {
    let page_size = trace.page_size();
    let own = Own {
        prepared: Some(Prepared::new(Vec::new(), None).with_trace(Arc::new(trace))),
        ..Own::new(
            CopyOf::whole("my.db", ByteCount::mib(1), page_size, "my.db"),
            vec![OwnScript {
                name: "mix.sql".into(),
                weight: 1,
                fingerprint: 0,
            }],
        )
    };
    let data = own::data(&own);
    let spec = WorkloadSpec {
        own: Some(Arc::new(own)),
        ..WorkloadSpec::new(own::name(), data, Seed::new(1))
    };
    spec.build().unwrap()
}

fn setup(clients: u32) -> Setup {
    Setup {
        model: model_of("sqlite", &[], false).unwrap(),
        miniature: Miniature::WHOLE,
        page_size: PAGE_SIZE,
        memory: ByteCount::kib(256),
        clients,
        processors: 2,
        seed: Seed::new(1),
        cpu: CpuCost {
            transaction_ns: 10_000.0,
            request_ns: 1000.0,
            ..CpuCost::default()
        },
        weights: Vec::new(),
        slowness: Slowness::default(),
    }
}

fn system(trace: PageTrace, clients: u32) -> System {
    let device = Constant::new(ByteCount::mib(64), 100_000);
    System::new(replaying(trace).as_ref(), &setup(clients), Box::new(device)).unwrap()
}

fn run(system: &mut System, transactions: u64) -> Vec<Done> {
    let mut each = Vec::new();
    system
        .run(transactions, &mut |done| each.push(*done))
        .unwrap();
    each
}

#[test]
fn what_is_replayed_is_read_and_logged_by_hand() {
    let mut trace = PageTrace::new(PAGE_SIZE, 10);
    part(&mut trace, &[read(0), read(3), read(3)], WRITES);
    trace.end_transaction(1, Outcome::Committed);
    let new = TracedPage::new(10, true, true);
    part(&mut trace, &[read(0), changed(3), new, changed(3)], WRITES);
    trace.end_transaction(0, Outcome::Committed);
    let undone = PartEnd {
        is_committed: false,
        ..WRITES
    };
    part(&mut trace, &[read(0), changed(3), changed(5)], undone);
    trace.end_transaction(0, Outcome::RolledBack);
    part(&mut trace, &[read(0), read(3), read(5), read(10)], WRITES);
    trace.end_transaction(1, Outcome::Committed);
    let mut system = system(trace, 1);
    let each = run(&mut system, 4);
    let kinds: Vec<usize> = each.iter().map(|done| done.kind).collect();
    assert_eq!(kinds, [1, 0, 0, 1]);
    assert_eq!(each[2].outcome, Outcome::RolledBack);
    let counts = |done: &Done| [done.referred.hits, done.referred.misses];
    // The new page is neither found nor read; what was undone is read again.
    let found: Vec<[u64; 2]> = each.iter().map(counts).collect();
    assert_eq!(found, [[1, 2], [3, 0], [2, 1], [2, 2]]);
    // The header of a new log and, from its begin, two frames: 32 + 2 * (24 + 4096) bytes, both in
    // whole blocks.
    let logged: Vec<u64> = each.iter().map(|done| done.referred.logged).collect();
    assert_eq!(logged, [0, 4096 + 3 * 4096, 0, 0]);
    let commit = &each[1];
    assert_eq!(commit.asked(Purpose::LogWrite).requests, 2);
    assert_eq!(commit.asked(Purpose::LogSync).flushes, 2);
    // Page 3 is read again from the log, within two of its blocks.
    assert_eq!(each[3].asked(Purpose::Read).bytes, 4096 + 2 * 4096);
    for done in &each {
        let requests: u64 = Purpose::ALL
            .map(|of| done.asked(of).requests + done.asked(of).flushes)
            .iter()
            .sum();
        assert_eq!(done.cpu_ns, 10_000 + 1000 * requests);
        assert_eq!(done.elapsed_ns, done.cpu_ns + 100_000 * requests);
    }
}

/// Transactions of a part that reads and one that writes, and others that only read.
fn mixed(transactions: usize) -> PageTrace {
    let mut trace = PageTrace::new(PAGE_SIZE, 200);
    for number in 0..transactions as u32 {
        let page = |step: u32| (number * 7 + step * 31) % 200;
        part(&mut trace, &[read(0), read(page(1)), read(page(2))], READS);
        if number.is_multiple_of(2) {
            part(
                &mut trace,
                &[read(0), read(page(3)), changed(page(4))],
                WRITES,
            );
        }
        trace.end_transaction(0, Outcome::Committed);
    }
    trace
}

#[test]
fn parts_that_write_come_one_after_the_other_and_others_do_not_wait() {
    let mut system = system(mixed(1200), 4);
    let each = run(&mut system, 1000);
    let waits_for_rows = |done: &&Done| done.waited.ns(Wait::Rows) > 0;
    let writes = |done: &&Done| done.referred.logged > 0;
    assert_eq!(each.iter().filter(writes).count(), 500);
    assert!(each.iter().filter(writes).filter(waits_for_rows).count() > 100);
    let readers = each.iter().filter(|done| !writes(done));
    assert_eq!(readers.filter(waits_for_rows).count(), 0);
    for done in &each {
        let asked: u64 = Purpose::ALL.map(|of| done.asked(of).waited_ns).iter().sum();
        let waited: u64 = Wait::ALL.map(|of| done.waited.ns(of)).iter().sum();
        assert_eq!(done.elapsed_ns, done.cpu_ns + asked + waited, "{done:?}");
        // Both parts together take what the whole takes.
        let requests: u64 = Purpose::ALL
            .map(|of| done.asked(of).requests + done.asked(of).flushes)
            .iter()
            .sum();
        assert!(
            done.cpu_ns.abs_diff(10_000 + 1000 * requests) <= 2,
            "{done:?}"
        );
    }
}

#[test]
fn a_trace_that_ends_is_told_and_not_begun_anew() {
    let mut system = system(mixed(10), 1);
    assert_eq!(run(&mut system, 10).len(), 10);
    let ended = system.run(1, &mut |_| ()).unwrap_err();
    assert!(
        matches!(ended, PredictError::TraceEnds { transactions: 10 }),
        "{ended}"
    );
}

#[test]
fn a_trace_is_of_one_page_size() {
    let workload = replaying(mixed(1));
    let setup = Setup {
        page_size: PageSize::kib(8),
        ..setup(1)
    };
    let device = Box::new(Constant::new(ByteCount::mib(64), 1000));
    let refused = System::new(workload.as_ref(), &setup, device).err();
    assert!(matches!(
        refused,
        Some(PredictError::Engine(EngineError::Unrecorded { .. }))
    ));
}

/// A page in a record of the log.
fn logged(number: u32) -> LoggedPage {
    LoggedPage {
        number,
        data: 90,
        whole: 3000,
        logged_as: LoggedAs::Change,
    }
}

fn system_of_postgres(trace: PageTrace, clients: u32) -> System {
    let setup = Setup {
        model: model_of("postgres", &[], false).unwrap(),
        ..setup(clients)
    };
    let device = Constant::new(ByteCount::mib(1024), 100_000);
    System::new(replaying(trace).as_ref(), &setup, Box::new(device)).unwrap()
}

#[test]
fn pages_and_records_of_a_server_are_replayed_by_hand() {
    let mut trace = PageTrace::new(PAGE_SIZE, 200);
    let only_reads = [read(0), read(3), read(3)];
    part(&mut trace, &only_reads, READS);
    trace.end_transaction(1, Outcome::Committed);
    // An update to a new page and its commit, and the same once more.
    let new = TracedPage::new(200, true, true);
    let never_whole = LoggedPage {
        logged_as: LoggedAs::Whole,
        ..logged(200)
    };
    trace.log(70, &[logged(3), never_whole]);
    trace.log(34, &[]);
    part(&mut trace, &[changed(3), new], WRITES);
    trace.log(70, &[logged(3), never_whole]);
    trace.log(34, &[]);
    part(&mut trace, &[changed(3), changed(200)], WRITES);
    trace.end_transaction(0, Outcome::Committed);
    // What nobody waits for is flushed by the next one.
    trace.log(50, &[logged(5)]);
    part(&mut trace, &[read(0), changed(5)], READS);
    trace.end_transaction(1, Outcome::Committed);
    // 64 frames: these push all others out.
    let scan: Vec<TracedPage> = (0..5).flat_map(|_| 100..190).map(read).collect();
    part(&mut trace, &scan, READS);
    trace.end_transaction(1, Outcome::Committed);
    let mut system = system_of_postgres(trace, 1);
    let each = run(&mut system, 4);
    let found = |done: &Done| [done.referred.hits, done.referred.misses, done.referred.made];
    let counts: Vec<[u64; 3]> = each.iter().map(found).collect();
    assert_eq!(counts[..3], [[1, 2, 0], [3, 1, 1], [1, 1, 0]]);
    // A page of the log begins with 24 bytes. The first record has page 3 whole:
    // 70 + 5 + 3000 + 90 = 3165 in 3168 bytes, and 34 in 40. The second has its change alone:
    // 70 + 90 + 90 = 250 in 256, and 40.
    let logged: Vec<u64> = each.iter().map(|done| done.referred.logged).collect();
    // 50 + 5 + 3000 in 3056.
    assert_eq!(logged, [0, 24 + 3168 + 40 + 256 + 40, 3056, 0]);
    let flushes = |done: &Done| done.asked(Purpose::LogSync).flushes;
    assert_eq!(each.iter().map(flushes).collect::<Vec<_>>(), [0, 2, 0, 0]);
    // The new page is written at once; what was changed is when it is evicted.
    let written = |done: &Done| done.asked(Purpose::Background).requests;
    assert_eq!(each.iter().map(written).collect::<Vec<_>>(), [0, 1, 0, 3]);
}

#[test]
fn who_changes_rows_of_a_server_waits_for_nobody_but_the_log() {
    let mut trace = PageTrace::new(PAGE_SIZE, 200);
    for number in 0..600 {
        trace.log(70, &[logged(number % 200)]);
        trace.log(34, &[]);
        part(&mut trace, &[read(0), changed(number % 200)], WRITES);
        trace.end_transaction(0, Outcome::Committed);
    }
    let mut system = system_of_postgres(trace, 4);
    let each = run(&mut system, 500);
    let waits = |wait| each.iter().filter(|done| done.waited.ns(wait) > 0).count();
    assert_eq!(waits(Wait::Rows), 0);
    assert!(waits(Wait::Log) > 100);
}

#[test]
fn what_is_replayed_on_innodb_is_read_and_logged_by_hand() {
    let mut trace = PageTrace::new(PAGE_SIZE, 10).with_buffered(vec![0, 1]);
    let logged = |number, logged_as| LoggedPage {
        logged_as,
        ..logged(number)
    };
    // Pages 0 and 1 are there from the start. 10 is made, which is not read.
    let new = TracedPage::new(10, true, true);
    trace.log(
        700,
        &[logged(10, LoggedAs::New), logged(3, LoggedAs::Change)],
    );
    trace.log(41, &[]);
    part(&mut trace, &[read(0), changed(3), new], WRITES);
    trace.end_transaction(0, Outcome::Committed);
    // Purge goes on: nobody waits for its log.
    trace.log(30, &[logged(10, LoggedAs::Freed)]);
    let reads = PartEnd {
        only_reads: true,
        is_committed: false,
    };
    part(&mut trace, &[read(1), read(3), read(4)], reads);
    trace.end_transaction(1, Outcome::Committed);
    // One that got a page for its undo log, as it does in the model.
    trace.log(300, &[logged(11, LoggedAs::NewUndo)]);
    let undo = TracedPage::new(11, true, true);
    part(&mut trace, &[changed(4), undo], WRITES);
    trace.end_transaction(0, Outcome::Committed);
    let setup = Setup {
        model: model_of("mariadb", &[], false).unwrap(),
        memory: ByteCount::mib(8),
        ..setup(1)
    };
    let device = Constant::new(ByteCount::mib(1024), 100_000);
    let replaying = replaying(trace);
    let mut system = System::new(replaying.as_ref(), &setup, Box::new(device)).unwrap();
    let each = run(&mut system, 3);
    let counts = |done: &Done| [done.referred.hits, done.referred.misses];
    let found: Vec<[u64; 2]> = each.iter().map(counts).collect();
    assert_eq!(found, [[2, 1], [2, 1], [2, 0]]);
    let log = each.iter().map(|done| done.referred.logged);
    // The first one got no page when it was recorded, and gets one in the model: 157 bytes more.
    assert_eq!(log.collect::<Vec<u64>>(), [741 + 157, 30, 300]);
    let syncs = each.iter().map(|done| done.asked(Purpose::LogSync).flushes);
    assert_eq!(syncs.collect::<Vec<u64>>(), [1, 0, 1]);
}

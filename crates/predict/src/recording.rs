//! The references of a modeled run, which OPT has to know beforehand.

use std::{ops::ControlFlow, sync::PoisonError};

use octavo_buffer::Trace;
use octavo_device::Device;
use octavo_workload::Workload;

use crate::{
    error::PredictError,
    replacement::Recording,
    system::{Setup, System},
};

/// References that are recorded, at most: with what OPT keeps of each 1.6 GB.
const REFERENCES_MAX: usize = 200_000_000;
/// Transactions between two looks at how many there are.
const RECORDED_AT_ONCE: u64 = 1000;

impl System {
    /// The references of the first transactions of such a database with LRU, which
    /// [`Model::foresee`](crate::Model::foresee) takes for the future. With one client they
    /// are the same for every policy, except for what a database does by time.
    ///
    /// # Errors
    /// As [`Self::new_while`] and [`Self::run`], and [`PredictError::References`].
    pub fn record(
        workload: &dyn Workload,
        setup: &Setup,
        device: Box<dyn Device + Send>,
        transactions: u64,
        flow: &dyn Fn() -> ControlFlow<()>,
    ) -> Result<Trace, PredictError> {
        let recording = Recording::default();
        let mut setup = setup.clone();
        setup.model = setup.model.record(&recording);
        let mut system = Self::new_while(workload, &setup, device, flow)?;
        let recorded = || recording.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left = transactions;
        while left > 0 {
            let next = left.min(RECORDED_AT_ONCE);
            system.run(next, &mut |_| {})?;
            left -= next;
            if flow().is_break() {
                return Err(PredictError::Stopped);
            }
            if recorded().len() > REFERENCES_MAX {
                return Err(PredictError::References {
                    max: REFERENCES_MAX,
                });
            }
        }
        drop(system);
        let references = std::mem::take(&mut *recorded());
        Ok(references.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use octavo_buffer::{Frames, Lru, NamedPolicy, Policy};
    use octavo_device::simulated::Constant;
    use octavo_units::{ByteCount, PageSize, Seed};
    use octavo_workload::{Tpcc, Ycsb, ycsb::Core};

    use super::*;
    use crate::{CpuCost, Miniature, Purpose, REPLACEMENT, Slowness, model_of};

    const TRANSACTIONS: u64 = 4000;

    fn setup(database: &str, policy: Option<NamedPolicy>) -> Setup {
        let option = |policy: NamedPolicy| (REPLACEMENT.to_owned(), policy.name().to_owned());
        let options: Vec<_> = policy.map(option).into_iter().collect();
        Setup {
            model: model_of(database, &options, false).unwrap(),
            miniature: Miniature::WHOLE,
            page_size: PageSize::kib(8),
            memory: ByteCount::mib(4),
            clients: 1,
            processors: 2,
            seed: Seed::new(1),
            cpu: CpuCost::default(),
            weights: Vec::new(),
            slowness: Slowness::default(),
        }
    }

    fn device() -> Box<dyn Device + Send> {
        Box::new(Constant::new(ByteCount::mib(1 << 14), 100_000))
    }

    fn record(workload: &dyn Workload, database: &str) -> Trace {
        let flow = || ControlFlow::Continue(());
        let setup = setup(database, None);
        System::record(workload, &setup, device(), TRANSACTIONS, &flow).unwrap()
    }

    /// Pages read and pages written.
    fn counts(workload: &dyn Workload, setup: &Setup) -> [u64; 2] {
        let mut system = System::new(workload, setup, device()).unwrap();
        let mut counts = [0; 2];
        let mut add = |done: &crate::Done| {
            counts[0] += done.referred.misses - done.referred.made;
            let written = [Purpose::Checkpoint, Purpose::Background];
            counts[1] += written
                .map(|of| done.asked(of).requests)
                .iter()
                .sum::<u64>();
        };
        system.run(TRANSACTIONS, &mut add).unwrap();
        counts
    }

    /// SQLite's own cache is LRU as long as nothing is changed.
    #[test]
    fn lru_reads_what_the_own_policy_of_such_a_database_and_its_recorded_trace_read() {
        let workload = Ycsb::new(20_000, Seed::new(1)).unwrap().with_core(Core::C);
        let [own, _] = counts(&workload, &setup("sqlite", None));
        let [replaced, _] = counts(&workload, &setup("sqlite", Some(NamedPolicy::Lru)));
        let trace = record(&workload, "sqlite");
        // A page has 136 bytes besides, and the cache a page less than that.
        let frames = Frames::new((4 << 20) / (8192 + 136) - 1).unwrap();
        let replayed = Lru::new(trace.pages(), frames).replay(&trace).misses;
        assert_eq!([own, replaced], [replayed; 2]);
        assert!(replayed > 1000, "{replayed}");
    }

    #[test]
    fn clean_pages_that_go_first_save_writes() {
        let workload = Tpcc::new(1, Seed::new(1)).unwrap();
        for database in ["postgres", "mariadb", "oracle-like"] {
            let of = |policy| counts(&workload, &setup(database, Some(policy)));
            let [lru, cflru] = [NamedPolicy::Lru, NamedPolicy::Cflru].map(of);
            assert!(cflru[1] < lru[1], "{database}: {cflru:?}, {lru:?}");
        }
    }

    #[test]
    fn no_policy_reads_less_than_one_that_knows_the_future() {
        let workload = Tpcc::new(1, Seed::new(1)).unwrap();
        for database in ["sqlite", "postgres", "oracle-like", "cubrid-like"] {
            let opt = setup(database, Some(NamedPolicy::Opt));
            assert!(matches!(
                System::new(&workload, &opt, device()),
                Err(PredictError::Engine(crate::EngineError::NoFuture))
            ));
            let future = record(&workload, database);
            let model = opt.model.clone().foresee(future);
            let [best, _] = counts(&workload, &Setup { model, ..opt });
            let own = [None].into_iter();
            for policy in own.chain(NamedPolicy::ALL.map(Some)) {
                if policy != Some(NamedPolicy::Opt) {
                    let [reads, _] = counts(&workload, &setup(database, policy));
                    assert!(reads >= best, "{database}, {policy:?}: {reads}, {best}");
                }
            }
        }
    }
}

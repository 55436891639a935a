//! A model of a cell that was measured, whose times are made those that were measured.

use std::time::Duration;

use octavo_database::Counters;
use octavo_device::{profile::Profile, profiled::ProfiledError};
use octavo_predict::{Asked, PredictError, Purpose, Setup, Slowness, System, Timing};
use octavo_units::Seed;
use octavo_workload::Workload;

use super::{Cpu, PredictedDevice};

/// Transactions before those whose times are compared, and of these, at most: a model
/// executes 10,000 and more a second.
const WARM_UP_MAX: u64 = 30_000;
const COMPARED_MAX: u64 = 10_000;

/// How often several clients' times are compared, at most, and how far off they may be.
const ROUNDS: usize = 10;
const ERROR_MAX: f64 = 0.02;
/// The share of a correction, in logarithms, that is made at once. Chosen.
const DAMPING: f64 = 0.6;
/// Storage is not taken to be faster by more than this: 0.1 is ten times.
const SCALE_MIN: f64 = 0.1;

/// Why a cell that was measured cannot be modeled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// Its storage was not calibrated well enough.
    #[error(transparent)]
    Profiled(#[from] ProfiledError),
    /// The model refuses it.
    #[error(transparent)]
    Predict(#[from] PredictError),
}

/// A cell that was measured, and how to model it.
pub(super) struct FitTarget<'a> {
    pub(super) workload: &'a dyn Workload,
    /// Its processor's cost and its slowness are what is looked for.
    pub(super) setup: Setup,
    pub(super) profile: &'a Profile,
    pub(super) device_seed: Seed,
    /// What the database counted, and of how many transactions.
    pub(super) counters: Counters,
    pub(super) counted: u64,
    /// From begin to end of all slices over their transactions.
    pub(super) elapsed_ns: f64,
    /// Pages that were read before what counts. Logs are longest, and caches coldest, at
    /// the beginning.
    pub(super) warm_up_misses: u64,
    /// Transactions of a sitting, and of each slice of it, at least 1.
    pub(super) transactions: u64,
    pub(super) slice: u64,
}

/// What a model's transactions gave together.
#[derive(Default)]
struct Modeled {
    elapsed_ns: f64,
    asked: [Asked; Purpose::ALL.len()],
    transactions: u64,
}

impl FitTarget<'_> {
    /// How many times as long as the profile says requests took under the database. What
    /// the processor took of its transactions is known.
    pub(super) fn slowness(&self, cpu: &Cpu) -> Result<Slowness, FitError> {
        let modeled = self.model(cpu, Slowness::default())?;
        Ok(Slowness(self.ratios(&modeled)))
    }

    /// What a nanosecond more of each transaction adds to the time of all where processors
    /// are busy all the time.
    fn busy(&self) -> f64 {
        let at_work = self.setup.clients.min(self.setup.processors);
        1.0 / f64::from(at_work.max(1))
    }

    /// Likewise where it is not known, because clients waited for each other as well, or
    /// for what is not timed: it is what makes the model as fast as the database was. `cpu`
    /// makes it from nanoseconds a transaction, of which there are at least `least_ns`.
    pub(super) fn fit(
        &self,
        least_ns: f64,
        cpu: impl Fn(f64) -> Cpu,
    ) -> Result<(Cpu, Slowness), FitError> {
        let least_ns = least_ns.max(1.0);
        let mut slowness = Slowness::default();
        let mut cpu_ns = least_ns;
        for _ in 0..ROUNDS {
            let modeled = self.model(&cpu(cpu_ns), slowness)?;
            let ratios = self.ratios(&modeled);
            let elapsed = self.elapsed_ns / modeled.elapsed_ns;
            let is_off = |ratio: &f64| (ratio - 1.0).abs() > ERROR_MAX;
            if !ratios.iter().chain([&elapsed]).any(is_off) {
                break;
            }
            // Each has a part in the other: who waits longer for storage waits less for
            // processors. All at once would swing to and fro.
            for (all, ratio) in slowness.0.iter_mut().zip(ratios) {
                *all *= ratio.powf(DAMPING);
            }
            cpu_ns = (cpu_ns * elapsed).max(least_ns);
        }
        Ok((cpu(cpu_ns), slowness))
    }

    /// Likewise of a database that times nothing: the processor took about `cpu_ns` a
    /// transaction, and all of the storage takes as many times as long as makes the model
    /// as fast as the database was. Where the processor alone takes too long, it took less.
    pub(super) fn fit_storage(
        &self,
        mut cpu_ns: f64,
        cpu: impl Fn(f64) -> Cpu,
    ) -> Result<(Cpu, Slowness), FitError> {
        let mut scale: f64 = 1.0;
        let mut before: Option<[f64; 2]> = None;
        for _ in 0..ROUNDS {
            let all = Slowness([scale; Purpose::ALL.len()]);
            let elapsed_ns = self.model(&cpu(cpu_ns), all)?.elapsed_ns;
            let missing_ns = self.elapsed_ns - elapsed_ns;
            if missing_ns.abs() < 0.5 * ERROR_MAX * self.elapsed_ns {
                break;
            }
            if scale <= SCALE_MIN && missing_ns < 0.0 {
                cpu_ns = (cpu_ns + missing_ns / self.busy()).max(1.0);
                before = None;
                continue;
            }
            // All that is not the processor's is the storage's, as far as is known.
            let slope = before.map_or(f64::NAN, |[scale_before, elapsed_before]| {
                (elapsed_ns - elapsed_before) / (scale - scale_before)
            });
            let slope = match slope > 0.0 {
                true => slope,
                false => (elapsed_ns - cpu_ns * self.busy()).max(0.1 * elapsed_ns) / scale,
            };
            before = Some([scale, elapsed_ns]);
            let next = scale + missing_ns / slope;
            scale = next
                .clamp(scale / 3.0, scale * 3.0)
                .clamp(SCALE_MIN, 1.0 / SCALE_MIN);
        }
        Ok((cpu(cpu_ns), Slowness([scale; Purpose::ALL.len()])))
    }

    fn model(&self, cpu: &Cpu, slowness: Slowness) -> Result<Modeled, FitError> {
        let device = PredictedDevice::Profile(Box::new(self.profile.clone()));
        let setup = Setup {
            cpu: cpu.cost,
            slowness,
            ..self.setup.clone()
        };
        let device = device.open(self.device_seed)?;
        let mut system = System::new(self.workload, &setup, device)?;
        let (mut misses, mut warmed) = (0, 0);
        while misses < self.warm_up_misses && warmed < WARM_UP_MAX {
            system.run(self.slice, &mut |done| misses += done.referred.misses)?;
            warmed += self.slice;
        }
        let mut modeled = Modeled::default();
        let (mut elapsed_ns, mut done) = (0, 0);
        while done < self.transactions.min(COMPARED_MAX) {
            elapsed_ns += system.run(self.slice, &mut |done| {
                for (all, one) in modeled.asked.iter_mut().zip(done.asked) {
                    *all = *all + one;
                }
            })?;
            done += self.slice;
        }
        modeled.elapsed_ns = elapsed_ns as f64 / done as f64;
        modeled.transactions = done;
        Ok(modeled)
    }

    /// What a transaction was measured to wait over what it is modeled to, by purpose: 1
    /// where either is not known. Not of each request: databases ask in smaller parts than
    /// their models. But of each checkpoint, of which there may be few.
    ///
    /// As far as the database tells its times.
    fn ratios(&self, modeled: &Modeled) -> [f64; Purpose::ALL.len()] {
        let counters = &self.counters;
        let timing = self.setup.model.kind().timing;
        let waited = |purpose: Purpose| modeled.asked[purpose as usize].waited_ns as f64;
        let mut ratios = [1.0; Purpose::ALL.len()];
        let mut set = |purpose: Purpose, measured: Duration, modeled_ns: f64| {
            let [was, is] = match purpose {
                Purpose::Checkpoint if timing == Timing::Everything => {
                    let flushes = modeled.asked[purpose as usize].flushes;
                    [counters.checkpoints, flushes]
                }
                _ => [self.counted, modeled.transactions],
            };
            let measured = measured.as_nanos() as f64 / was as f64;
            let ratio = measured / (modeled_ns / is as f64);
            if ratio > 0.0 && ratio.is_finite() {
                ratios[purpose as usize] = ratio;
            }
        };
        let mut alone = |purpose: Purpose, measured| set(purpose, measured, waited(purpose));
        match timing {
            Timing::Everything => {
                alone(Purpose::Read, counters.read_time);
                alone(Purpose::LogWrite, counters.log_write_time);
                alone(Purpose::LogSync, counters.log_sync_time);
                alone(Purpose::Checkpoint, counters.checkpoint_time);
            }
            Timing::UserMode => {}
            Timing::ReadsAndLog => {
                alone(Purpose::Read, counters.read_time);
                set(
                    Purpose::Checkpoint,
                    counters.read_time,
                    waited(Purpose::Read),
                );
                let both = counters.log_write_time + counters.log_sync_time;
                let modeled = waited(Purpose::LogWrite) + waited(Purpose::LogSync);
                set(Purpose::LogWrite, both, modeled);
                set(Purpose::LogSync, both, modeled);
            }
        }
        ratios
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use octavo_device::{
        catalog,
        preset::Preset,
        probe::{self, Effort, ProfileSettings},
    };
    use octavo_predict::{CpuCost, Miniature, Registry, TransactionCost, model_of};
    use octavo_units::{ByteCount, PageSize};
    use octavo_workload::{Pgbench, pgbench::Script};

    use super::*;

    fn cpu(ns: f64) -> Cpu {
        let cost = TransactionCost {
            other_ns: ns,
            log_bytes: 0.0,
            read_bytes: 0.0,
        };
        let workload = Pgbench::new(1, Seed::new(1)).unwrap();
        let workload = workload.with_script(Script::SimpleUpdate);
        Cpu::measured(
            cost,
            Registry::standard().find("postgres").unwrap(),
            &workload,
            String::new(),
        )
    }

    fn profile() -> Profile {
        let range = ByteCount::mib(256);
        let settings = ProfileSettings {
            limits: Vec::new(),
            name: String::new(),
            title: String::new(),
            points: (Preset::Brief.points(range, 4096), None),
            range,
            effort: Effort {
                ramp: 500,
                requests: 500,
                rounds_max: 5,
            },
            seed: Seed::new(1),
        };
        let mut device = catalog::find("sata-tlc").unwrap().open(Seed::new(1));
        probe::profile(device.as_mut(), &settings, &mut |_, _| {
            ControlFlow::Continue(())
        })
        .unwrap()
    }

    /// What a database would have counted that is as the model says.
    fn counted(modeled: &Modeled) -> Counters {
        let time =
            |purpose: Purpose| Duration::from_nanos(modeled.asked[purpose as usize].waited_ns);
        Counters {
            read_time: time(Purpose::Read),
            log_write_time: time(Purpose::LogWrite),
            log_sync_time: time(Purpose::LogSync),
            ..Counters::default()
        }
    }

    #[test]
    fn what_went_in_is_found_again() {
        let workload = Pgbench::new(2, Seed::new(1))
            .unwrap()
            .with_script(Script::SimpleUpdate);
        let profile = profile();
        for clients in [1, 8] {
            let mut reference = FitTarget {
                workload: &workload,
                setup: Setup {
                    model: model_of("postgres", &[], false).unwrap(),
                    miniature: Miniature::WHOLE,
                    page_size: PageSize::kib(8),
                    memory: ByteCount::mib(8),
                    clients,
                    processors: 2,
                    seed: Seed::new(1),
                    cpu: CpuCost::default(),
                    weights: Vec::new(),
                    slowness: Slowness::default(),
                },
                profile: &profile,
                device_seed: Seed::new(2),
                counters: Counters::default(),
                counted: 0,
                elapsed_ns: 0.0,
                warm_up_misses: 1000,
                transactions: 2000,
                slice: 100,
            };
            let was = Slowness([1.4, 0.7, 0.7, 1.4, 1.0]);
            let modeled = reference.model(&cpu(400_000.0), was).unwrap();
            reference.counters = counted(&modeled);
            reference.counted = modeled.transactions;
            reference.elapsed_ns = modeled.elapsed_ns;
            let (found, slowness) = reference.fit(100_000.0, cpu).unwrap();
            let error = found.cost.transaction_ns / 400_000.0 - 1.0;
            assert!(error.abs() < 0.05, "{clients}: {found:?}");
            let mut each = vec![slowness];
            if clients == 1 {
                each.push(reference.slowness(&found).unwrap());
            }
            for slowness in each {
                for (is, was) in slowness.0.iter().zip(was.0) {
                    assert!((is / was - 1.0).abs() < 0.1, "{clients}: {slowness:?}");
                }
            }
            let was = Slowness([1.4; Purpose::ALL.len()]);
            reference.elapsed_ns = reference.model(&cpu(400_000.0), was).unwrap().elapsed_ns;
            let (found, slowness) = reference.fit_storage(400_000.0, cpu).unwrap();
            assert_eq!(found.cost.transaction_ns, 400_000.0);
            assert!(
                (slowness.0[0] / 1.4 - 1.0).abs() < 0.1,
                "{clients}: {slowness:?}"
            );
            // A processor that alone took too long took less.
            let (found, slowness) = reference.fit_storage(40_000_000.0, cpu).unwrap();
            let elapsed = reference.model(&found, slowness).unwrap().elapsed_ns;
            assert!(
                (elapsed / reference.elapsed_ns - 1.0).abs() < 0.05,
                "{clients}: {elapsed} {found:?} {slowness:?}"
            );
        }
    }
}

//! What another disk would change: the plan's page sizes predicted on other disks, from what
//! was measured here, by the same steps as any prediction.

use std::time::Duration;

use octavo_device::catalog;
use octavo_units::ByteCount;
use schemars::JsonSchema;
use serde::Serialize;

use super::{predictions::Predictions, settings::CampaignSettings, warm_up::WarmUp};
use crate::{
    directory::STORE,
    error::CampaignError,
    executor::PredictedExecutor,
    findings::{CellFindings, Findings, GroupFindings},
    monitor::Monitor,
    observer::Observer,
    plan::{Design, Level, Plan, SliceLength, Storage},
    prediction::{
        Calibrated, OtherDisk, PREDICTED_PASSES, PREDICTED_SLICE, PagesElsewhere, PredictedCpus,
        PredictedDevice, PredictedDevices, Prediction, Slowness,
    },
    record::Source,
    resolved::ResolvedPlan,
    statistics::{Decision, Interval},
    store::{Store, StoreError},
    verdict::Verdict,
};

/// Predicts what other disks would change, and keeps it in the store with the results.
/// Nothing is predicted where no single comparison is meant: with several databases,
/// storages, numbers of clients or CPUs, or data of several kinds; nor of what has no model.
///
/// Disks that the budget has no time for are left out, with a note that names them.
///
/// # Errors
/// When the store cannot be read or written, and when the user interrupts: then nothing is
/// kept.
pub(super) fn predict_elsewhere(
    settings: &CampaignSettings,
    found: &Findings,
    store: &mut Store,
    monitor: &Monitor<'_>,
) -> Result<Vec<OtherDisk>, CampaignError> {
    let mut all = Vec::new();
    if let Some(measured) = MeasuredHere::read(&settings.plan, found, store)? {
        // Nothing ends a session of so many passes but these.
        let end = settings.budget.filter(|_| settings.passes.is_none());
        let within = QuietObserver { monitor, end };
        let without_time = each_in_time(&OtherDisk::DEVICES, &within, |device| {
            monitor.progress(&format!("predict {device}"));
            all.extend(measured.on(device, settings, &within)?);
            Ok(())
        })?;
        if let Some(note) = not_predicted(&without_time, NO_TIME) {
            monitor.note(&note);
        }
    }
    OtherDisk::put(store, &all)?;
    Ok(all)
}

/// Predicts one device after the other until the budget is over; those that it has no time for.
///
/// # Errors
/// Those of predicting, and when the user interrupts.
fn each_in_time<'d>(
    devices: &[&'d str],
    within: &QuietObserver<'_>,
    mut predict: impl FnMut(&'d str) -> Result<(), CampaignError>,
) -> Result<Vec<&'d str>, CampaignError> {
    let mut without_time = Vec::new();
    for &device in devices {
        within.monitor.stop_if_interrupted()?;
        if within.is_over() {
            without_time.push(device);
            continue;
        }
        match predict(device) {
            Err(CampaignError::Stopped) if !within.monitor.interrupted() => {
                without_time.push(device);
            }
            predicted => predicted?,
        }
    }
    Ok(without_time)
}

/// Why devices are not predicted within a budget.
const NO_TIME: &str = "the budget has no time left";

/// A sentence that names the devices that were not predicted, and why.
fn not_predicted(devices: &[&str], why: &str) -> Option<String> {
    let (last, others) = devices.split_last()?;
    Some(match others {
        [] => format!("{last} was not predicted: {why}"),
        others => format!("{} and {last} were not predicted: {why}", others.join(", ")),
    })
}

/// Transactions of a warm-up, at most: seconds. Chosen.
const WARM_UP_MAX: u64 = 30_000;

/// What is predicted from.
struct MeasuredHere {
    calibrated: Calibrated,
    memory: ByteCount,
    /// Counted transactions a minute, measured with the default page size.
    here: Interval,
}

impl MeasuredHere {
    fn read(plan: &Plan, found: &Findings, store: &Store) -> Result<Option<Self>, StoreError> {
        let Some((database, memory)) = plan.compared_elsewhere() else {
            return Ok(None);
        };
        let Ok(calibrated) = Calibrated::from_store(store, plan, "these results") else {
            return Ok(None);
        };
        let is_default = |of: &&CellFindings| {
            of.cell.page_size == database.default_page_size && of.cell.memory == memory
        };
        let mut cells = found.groups.iter().flat_map(|group| &group.cells);
        let here = cells.find(is_default).and_then(|cell| cell.throughput);
        // One batch here says nothing of there.
        Ok(here.filter(Interval::says_something).map(|here| Self {
            calibrated,
            memory,
            here,
        }))
    }

    /// What a disk would change; `None` where it cannot have the data, or nothing is known
    /// of the default page size.
    fn on(
        &self,
        device: &str,
        settings: &CampaignSettings,
        within: &QuietObserver<'_>,
    ) -> Result<Option<OtherDisk>, CampaignError> {
        let mut plan = settings.plan.clone();
        plan.memories = vec![self.memory];
        let there = predicted_on(device, &self.calibrated, plan, settings, within)?;
        Ok(there.and_then(|there| self.compare(device, &there)))
    }

    /// `None` without figures, or where those here are too few for an interval.
    fn compare(&self, device: &str, there: &Findings) -> Option<OtherDisk> {
        let group = there.groups.first()?;
        let default = group.cells.iter().find(|cell| cell.reference)?;
        let over_here = default.throughput?.over(&self.here);
        if !(over_here.low > 0.0 && over_here.high.is_finite()) {
            return None;
        }
        let of_pages = |levels: &[Level]| {
            let sizes = levels.iter().filter_map(|level| match level {
                Level::PageSize(size) => Some(*size),
                _ => None,
            });
            sizes.collect()
        };
        Some(OtherDisk {
            source: Source::Predicted,
            device: device.to_owned(),
            memory: self.memory,
            pages: match &group.verdict {
                Verdict::Use {
                    level: Level::PageSize(size),
                    ratio,
                    ..
                } => PagesElsewhere::Use {
                    page_size: *size,
                    over_default: *ratio,
                },
                Verdict::Use { .. } | Verdict::Keep { .. } => PagesElsewhere::Keep,
                Verdict::Alone { .. } | Verdict::Cold { .. } => PagesElsewhere::Alone,
                Verdict::Inconclusive { open, .. } => PagesElsewhere::Open {
                    page_sizes: of_pages(open),
                },
            },
            over_here,
        })
    }
}

/// A plan's cells on a disk; `None` where that cannot have the data, or takes too long to warm up.
fn predicted_on(
    device: &str,
    calibrated: &Calibrated,
    mut plan: Plan,
    settings: &CampaignSettings,
    within: &QuietObserver<'_>,
) -> Result<Option<Findings>, CampaignError> {
    let Ok(entry) = catalog::find(device) else {
        return Ok(None);
    };
    let prediction = Prediction {
        devices: PredictedDevices::new(PredictedDevice::Entry(Box::new(entry))),
        cpu: calibrated.cpu.clone().map(PredictedCpus::new),
        measured_own: None,
        processors: calibrated.processors,
        slowness: Slowness::default(),
        machine: None,
        // A budget's rest has no time for more.
        warm_up_max: Some(WARM_UP_MAX),
        ends_slices: false,
        in_part: false,
        shard: None,
    };
    plan.storages = vec![Storage::Device(device.to_owned())];
    plan.design = Design::Full;
    let settings = CampaignSettings {
        plan,
        prediction: Some(prediction.clone()),
        budget: None,
        passes: Some(PREDICTED_PASSES),
        slices: SliceLength {
            transactions: Some(PREDICTED_SLICE),
            warm_up: None,
        },
        calibrate: false,
        predict_first: false,
        chosen_sizes: None,
        until: None,
        command: None,
        ..settings.clone()
    };
    let resolved = ResolvedPlan::new(&settings.plan, &settings.directory)?;
    let horizon = WarmUp::horizon(&settings);
    let Ok(mut executor) = PredictedExecutor::new(resolved, &prediction, horizon) else {
        return Ok(None);
    };
    let mut store = Store::in_memory()?;
    store.adopt(&settings.plan, settings.slices, settings.octavo_version)?;
    let own = Monitor::new(within, Duration::ZERO, None);
    let there = Predictions::begin(&settings, store, &own)?.carry_out(&mut executor)?;
    let is_cold = |group: &GroupFindings| matches!(group.verdict, Verdict::Cold { .. });
    if there.groups.iter().any(is_cold) {
        within.monitor.note(&format!(
            "{device} was not predicted: its cache would take too long to warm up"
        ));
        return Ok(None);
    }
    Ok(Some(there))
}

/// One version over another on a disk that is not here.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RatioElsewhere {
    /// That it is predicted, whatever else was measured.
    pub source: Source,
    /// The disk's name in the catalog.
    pub device: String,
    /// Throughput over that of the reference there (95%).
    pub ratio: Interval,
    /// What that says.
    pub decision: Decision,
}

/// What was measured of two versions, predicted on other disks, within so much time. Empty where
/// models do not know what the versions differ in, and where results do not tell what transactions
/// take of the processor.
///
/// # Errors
/// When the store cannot be read, and when the user interrupts.
pub fn ratios_elsewhere(
    settings: &CampaignSettings,
    time: Duration,
    observer: &dyn Observer,
) -> Result<Vec<RatioElsewhere>, CampaignError> {
    let mut all = Vec::new();
    let plan = &settings.plan;
    if !plan.is_predictable_elsewhere() {
        return Ok(all);
    }
    let store = Store::open(&settings.directory.join(STORE))?;
    let monitor = Monitor::new(observer, Duration::ZERO, Some(time));
    let calibrated = match Calibrated::from_store(&store, plan, "these results") {
        Ok(calibrated) => calibrated,
        Err(error) => {
            monitor.note(&format!("other disks were not predicted: {error}"));
            return Ok(all);
        }
    };
    let within = QuietObserver {
        monitor: &monitor,
        end: Some(time),
    };
    let without_time = each_in_time(&OtherDisk::DEVICES, &within, |device| {
        monitor.progress(&format!("predict {device}"));
        let there = predicted_on(device, &calibrated, plan.clone(), settings, &within)?;
        let cells = there.iter().flat_map(|there| &there.groups);
        let mut others = cells.flat_map(|group| &group.cells);
        let other = others.find(|cell| !cell.reference);
        all.extend(other.and_then(|cell| {
            Some(RatioElsewhere {
                source: Source::Predicted,
                device: device.to_owned(),
                ratio: cell.ratio?,
                decision: cell.decision?,
            })
        }));
        Ok(())
    })?;
    if let Some(note) = not_predicted(
        &without_time,
        &format!("{} s were not enough", time.as_secs()),
    ) {
        monitor.note(&note);
    }
    Ok(all)
}

/// An observer that is asked whether to stop, the budget's end included, and not told of each
/// step.
struct QuietObserver<'a> {
    monitor: &'a Monitor<'a>,
    /// When the budget is over, where that ends anything.
    end: Option<Duration>,
}

impl QuietObserver<'_> {
    /// Whether the budget is over, though loading may have been allowed to take longer.
    fn is_over(&self) -> bool {
        self.end.is_some_and(|end| self.monitor.spent() >= end)
    }
}

impl Observer for QuietObserver<'_> {
    fn progress(&self, _now: &str, _spent: Duration, _expected: Duration) {}

    fn note(&self, _line: &str) {}

    fn interrupted(&self) -> bool {
        self.monitor.interrupted() || self.is_over()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Interrupted, or not.
    struct Interrupted(bool);

    impl Observer for Interrupted {
        fn progress(&self, _: &str, _: Duration, _: Duration) {}
        fn note(&self, _: &str) {}
        fn interrupted(&self) -> bool {
            self.0
        }
    }

    #[test]
    fn devices_beyond_the_budget_are_not_predicted_and_all_are_named() {
        let devices = ["a", "b", "c"];
        // The budget ends in the second one, is over before, or ends nothing.
        for (end_ms, stopped, asked, without_time) in [
            (Some(60_000), Some("b"), "ab", &["b", "c"][..]),
            (Some(0), None, "", &["a", "b", "c"]),
            (None, None, "abc", &[]),
        ] {
            let observer = Interrupted(false);
            let monitor = Monitor::new(&observer, Duration::ZERO, None);
            let mut end = end_ms.map(Duration::from_millis);
            let mut seen = String::new();
            let mut missed = Vec::new();
            for device in devices {
                let within = QuietObserver {
                    monitor: &monitor,
                    end,
                };
                let found = each_in_time(&[device], &within, |device| {
                    seen += device;
                    match stopped == Some(device) {
                        true => Err(CampaignError::Stopped),
                        false => Ok(()),
                    }
                });
                if stopped == Some(device) {
                    end = Some(Duration::ZERO);
                }
                missed.extend(found.unwrap());
            }
            assert_eq!((seen.as_str(), &missed[..]), (asked, without_time));
        }
        assert_eq!(not_predicted(&[], NO_TIME), None);
        assert_eq!(
            not_predicted(&["a", "b", "c"], NO_TIME).unwrap(),
            "a, b and c were not predicted: the budget has no time left"
        );
    }

    #[test]
    fn an_interruption_ends_predicting() {
        let observer = Interrupted(true);
        let monitor = Monitor::new(&observer, Duration::ZERO, None);
        let within = QuietObserver {
            monitor: &monitor,
            end: None,
        };
        let ended = each_in_time(&["a"], &within, |_| Ok(()));
        assert!(matches!(ended, Err(CampaignError::Stopped)));
    }
}

//! What another disk would change: the plan's page sizes predicted on other disks, from what
//! was measured here, by the same steps as any prediction.

use std::time::Duration;

use octavo_device::catalog;
use octavo_units::ByteCount;

use super::{settings::CampaignSettings, sittings::Campaign};
use crate::{
    error::CampaignError,
    executor::{Executor, PredictedExecutor},
    findings::{CellFindings, Findings},
    monitor::Monitor,
    observer::Observer,
    plan::{Design, Level, Plan, SliceLength, Storage},
    prediction::{
        Calibrated, Elsewhere, PREDICTED_PASSES, PREDICTED_SLICE, PagesElsewhere, PredictedDevice,
        Prediction, Slowness,
    },
    record::Source,
    resolved::ResolvedPlan,
    statistics::Interval,
    store::{Store, StoreError},
    verdict::Verdict,
};

/// Predicts what other disks would change, and keeps it in the store with the results.
/// Nothing is predicted where no single comparison is meant: with several databases,
/// storages, numbers of clients or CPUs, or data of several kinds; nor of what has no model.
///
/// Disks that the budget has no time for are left out, with a note.
///
/// # Errors
/// When the store cannot be read or written, and when the user interrupts: then nothing is
/// kept.
pub(super) fn predict_elsewhere(
    settings: &CampaignSettings,
    found: &Findings,
    store: &mut Store,
    monitor: &Monitor<'_>,
) -> Result<Vec<Elsewhere>, CampaignError> {
    let mut all = Vec::new();
    if let Some(known) = Known::of(&settings.plan, found, store)? {
        for device in Elsewhere::DEVICES {
            monitor.progress(&format!("predict {device}"));
            match known.on(device, settings, monitor) {
                Err(CampaignError::Stopped) if !monitor.interrupted() => {
                    monitor.note(&format!(
                        "{device} was not predicted: the budget has no time left for it"
                    ));
                    break;
                }
                found => all.extend(found?),
            }
        }
    }
    Elsewhere::put(store, &all)?;
    Ok(all)
}

/// What is predicted from.
struct Known {
    calibrated: Calibrated,
    memory: ByteCount,
    /// Counted transactions a minute, measured with the default page size.
    here: Interval,
}

impl Known {
    fn of(plan: &Plan, found: &Findings, store: &Store) -> Result<Option<Self>, StoreError> {
        let ([database], [_], [_], [_], [_], Some(&memory)) = (
            plan.databases.as_slice(),
            plan.storages.as_slice(),
            plan.clients.as_slice(),
            plan.cpus.as_slice(),
            plan.data.as_slice(),
            plan.memories.iter().max(),
        ) else {
            return Ok(None);
        };
        let Ok(calibrated) = Calibrated::of(store, plan, "these results") else {
            return Ok(None);
        };
        let is_default = |of: &&CellFindings| {
            of.cell.page_size == database.default_page_size && of.cell.memory == memory
        };
        let mut cells = found.groups.iter().flat_map(|group| &group.cells);
        let here = cells.find(is_default).and_then(|cell| cell.throughput);
        Ok(here.map(|here| Self {
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
        monitor: &Monitor<'_>,
    ) -> Result<Option<Elsewhere>, CampaignError> {
        let Ok(entry) = catalog::find(device) else {
            return Ok(None);
        };
        let prediction = Prediction {
            device: PredictedDevice::Entry(Box::new(entry)),
            cpu: self.calibrated.cpu.clone(),
            processors: self.calibrated.processors,
            slowness: Slowness::default(),
            machine: None,
        };
        let mut plan = settings.plan.clone();
        plan.memories = vec![self.memory];
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
            command: None,
            ..settings.clone()
        };
        let resolved = ResolvedPlan::of(&settings.plan, &settings.directory)?;
        let Ok(mut executor) = PredictedExecutor::new(resolved, &prediction) else {
            return Ok(None);
        };
        let mut store = Store::in_memory()?;
        store.adopt(&settings.plan, settings.slices, settings.octavo_version)?;
        let within = Within(monitor);
        let own = Monitor::new(&within, Duration::ZERO, None);
        let campaign = Campaign::new(&settings, store, executor.source(), &own)?;
        let there = campaign.carry_out(&mut executor)?;
        Ok(self.compare(device, &there))
    }

    /// `None` without figures, or where those here are too few for an interval.
    fn compare(&self, device: &str, there: &Findings) -> Option<Elsewhere> {
        let group = there.groups.first()?;
        let default = group.cells.iter().find(|cell| cell.reference)?;
        let over_here = default.throughput?.over(&self.here);
        // One batch here says nothing of there.
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
        Some(Elsewhere {
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
                Verdict::Inconclusive { open, .. } => PagesElsewhere::Open {
                    page_sizes: of_pages(open),
                },
            },
            over_here,
        })
    }
}

/// An observer that is asked whether to stop, the budget's end included, and not told of each
/// step.
struct Within<'a>(&'a Monitor<'a>);

impl Observer for Within<'_> {
    fn progress(&self, _now: &str, _spent: Duration, _expected: Duration) {}

    fn note(&self, _line: &str) {}

    fn interrupted(&self) -> bool {
        self.0.interrupted() || self.0.passed_limit().is_some()
    }
}

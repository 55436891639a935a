//! A store's findings.

use std::collections::{BTreeMap, HashSet};

use octavo_device::profile::Profile;

use super::{
    ClassFindings, Findings, GroupFindings, LENGTHS, RampEnd, ScreenedPasses, WARM_UP,
    cell::{ByCell, Predicted},
    fleet::{ClassParts, Fleet, HostFindings},
    found_caveats::{found_caveats, in_few_sittings, is_of_one_course, of_fleet},
    per_transaction::per_transaction,
    ramps,
    timeline::{Executed, timelines},
};
use crate::{
    budget::OverBudget,
    caveats::{self, Caveat},
    inputs::Inputs,
    limits::StorageLimits,
    lockstep::{self, Horizon, HostRatios, Judgement, Slice, over_hosts},
    own_sizes::ChosenSizes,
    part::{StoredPart, tell_apart},
    plan::{Cell, Design, Plan},
    prediction::{Expected, OtherDisk},
    record::{Figures, Source},
    statistics::Decision,
    store::{CHANGED, Store, StoreError},
    verdict::{buffer_findings, interactions},
    waits::Waits,
};

impl Findings {
    /// Reads a store. `None` when it has no plan yet.
    ///
    /// # Errors
    /// When the store cannot be read or holds what Octavo does not write.
    pub fn read(store: &Store) -> Result<Option<Self>, StoreError> {
        let mut parts = store.parts()?;
        tell_apart(&mut parts);
        let mut read = Self::read_classes(store, &parts)?.into_iter();
        let Some((mut findings, first)) = read.next() else {
            // Without parts, or where none counts.
            let Some((mut findings, _)) = Self::read_alone(store, &BTreeMap::new())? else {
                return Ok(None);
            };
            findings.add_fleet(store, &parts, Vec::new())?;
            return Ok(Some(findings));
        };
        let (mut classes, mut others) = (vec![first], Vec::new());
        for (mut own, mut class) in read {
            own.add_fleet(store, &parts, vec![class.clone()])?;
            class.caveats = own.caveats.clone();
            others.push(own);
            classes.push(class);
        }
        findings.add_fleet(store, &parts, classes)?;
        findings.other_classes = others;
        Ok(Some(findings))
    }

    /// Reads what hosts of each class say by themselves, in the order of [`Self::read`]; one result of a
    /// store without parts.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn by_class(store: &Store) -> Result<Vec<Self>, StoreError> {
        let mut parts = store.parts()?;
        tell_apart(&mut parts);
        let read = Self::read_classes(store, &parts)?;
        if read.is_empty() {
            return Ok(Self::read(store)?.into_iter().collect());
        }
        let add = |(mut findings, class): (Self, ClassFindings)| {
            findings.add_fleet(store, &parts, vec![class])?;
            Ok(findings)
        };
        read.into_iter().map(add).collect()
    }

    /// What the parts say that count, by class.
    fn read_classes(
        store: &Store,
        parts: &[StoredPart],
    ) -> Result<Vec<(Self, ClassFindings)>, StoreError> {
        let names = store.classes(parts)?;
        let classes = ClassParts::of(parts, &names);
        let mut all = Vec::new();
        for class in &classes {
            let copy = match classes.len() {
                1 => None,
                _ => Some(store.of_parts(&class.parts)?),
            };
            let read = Self::read_alone(copy.as_ref().unwrap_or(store), &class.host_of())?;
            let Some((findings, ratios)) = read else {
                continue;
            };
            let plan = &findings.plan;
            let found = (&*plan.groups(), &*findings.groups);
            let of_class = class.findings(found, &ratios, plan.margin);
            all.push((findings, of_class));
        }
        Ok(all)
    }

    /// Adds what is known of parts and of their hosts, if there are any.
    fn add_fleet(
        &mut self,
        store: &Store,
        parts: &[StoredPart],
        classes: Vec<ClassFindings>,
    ) -> Result<(), StoreError> {
        let groups = self.plan.groups().len();
        let Some(fleet) = Fleet::new(parts, classes, groups, &store.boots()?) else {
            return Ok(());
        };
        if !fleet.missing.is_empty() {
            // That it is missing is said of the parts.
            let failed = &self.runs_failed;
            let is_missing = |cell: &Cell| !failed.iter().any(|run| run.cell == *cell);
            self.caveats.retain(
                |caveat| !matches!(caveat, Caveat::NoReference { cell } if is_missing(cell)),
            );
        }
        // Which hosts have it is said of levels.
        let has_some = |cell: &Cell| {
            let first = fleet.classes.first().map_or(&[][..], |class| &class.groups);
            let own = self.groups.iter().zip(first);
            let mut cells = own.flat_map(|(group, of)| group.cells.iter().zip(&of.cells));
            let is_known = |of: &HostFindings| of.by_host.iter().any(|of| of.throughput.is_some());
            cells.any(|(own, of)| own.cell == *cell && is_known(of))
        };
        self.caveats
            .retain(|caveat| !matches!(caveat, Caveat::NoReference { cell } if has_some(cell)));
        self.caveats.extend(of_fleet(&fleet));
        self.caveats.extend(in_few_sittings(self, &fleet));
        caveats::sort(&mut self.caveats);
        self.fleet = Some(fleet);
        Ok(())
    }

    /// What a store says whose sittings were on these hosts.
    fn read_alone(
        store: &Store,
        host_of: &BTreeMap<u32, usize>,
    ) -> Result<Option<(Self, HostRatios)>, StoreError> {
        let Some(plan) = store.plan()? else {
            return Ok(None);
        };
        let (octavo, created) = store.origin()?;
        let slices = store.slices()?;
        let plan_groups = plan.groups();
        let cells = plan.cells();
        let source = store.source()?.unwrap_or(Source::Measured);
        let inputs = Inputs::all(store, &cells)?;
        let (judgement, ratios) = judge(store, &plan, &slices, &inputs, host_of)?;
        let workload = plan
            .workload(plan.data[0])
            .map_err(|error| store.damaged("plan", error))?;
        let counted_name = workload.counted_name();
        let runs = store.runs(workload.transactions())?;
        let expected = Expected::all(store)?;
        let waits: Result<Vec<_>, StoreError> = (0..cells.len())
            .map(|cell| Waits::read(store, cell))
            .collect();
        let waits = waits?;
        let predicted = Predicted {
            source,
            expected: &expected,
            inputs: &inputs,
            waits: &waits,
        };
        let by_cell = ByCell::new(&plan, &cells, &runs, &slices, &judgement, predicted);
        let warm_ups = store.warm_up()?;
        let hosts: HashSet<&usize> = host_of.values().collect();
        let executed = Executed {
            cells: &cells,
            warm_ups: &warm_ups,
            slices: &slices,
            slice_transactions: store.slice_transactions()?,
            screened: &judgement.screened,
        };
        let groups: Vec<GroupFindings> = plan_groups
            .iter()
            .zip(&judgement.groups)
            .map(|(group, judged)| {
                let mut found = by_cell.group(group, judged, &judgement.levels);
                // The courses of several hosts are not one.
                let timelines = match hosts.len() > 1 {
                    true => Vec::new(),
                    false => timelines(executed, group, judged),
                };
                if hosts.len() > 1 {
                    for cell in &mut found.cells {
                        cell.stability = None;
                    }
                }
                for (cell, timeline) in found.cells.iter_mut().zip(timelines) {
                    cell.timeline = timeline;
                }
                found
            })
            .collect();
        let is_ramps = plan.ramp.is_some();
        let ramps = ramps::ramps(&plan, &cells, &runs, &store.steps()?, |cell| {
            let runs: Vec<&Figures> = by_cell.figures[cell].values().copied().collect();
            per_transaction(&runs, cells[cell].page_size)
        });
        let sittings: HashSet<u32> = slices.iter().map(|slice| slice.key.sitting).collect();
        let warm_up = warm_up_of(store)?;
        let warmed =
            is_ramps || source != Source::Measured || is_warmed(&by_cell, warm_up.as_deref());
        let mut findings = Self {
            octavo,
            created,
            command: store.command()?,
            spent_s: store.time_counted()?.as_secs_f64(),
            measured_s: match is_ramps {
                true => by_cell
                    .all()
                    .map(|run| run.load.measured.as_secs_f64())
                    .sum(),
                false => judgement.measured.as_secs_f64(),
            },
            sittings: match is_ramps {
                true => by_cell.all().count(),
                false => sittings.len(),
            },
            passes: judgement.passes,
            screened: ScreenedPasses::count(&judgement),
            slice_transactions: executed.slice_transactions,
            warm_up: match warmed {
                true => warm_up,
                false => Some(NO_WARM_UP.into()),
            },
            horizon: store.horizon()?,
            finished: match is_ramps {
                true => ramps.iter().all(|ramp| ramp.end == RampEnd::Finished),
                false => is_finished(&plan, &judgement),
            },
            saved_s: plan_groups
                .iter()
                .zip(&judgement.groups)
                .map(|(group, judged)| by_cell.saved_s(group, judged))
                .sum(),
            warmed,
            counted_name: counted_name.into(),
            runs_done: by_cell.all().count(),
            runs_failed: by_cell.failed(&runs),
            machine: store.facts("machine")?,
            changed: store.facts(CHANGED)?,
            storage: store.facts_below("storage")?,
            database: store.facts_below("database")?,
            storage_path: by_cell.storage_path(),
            snapshots: store.snapshots()?,
            calibration: calibration_of(store)?,
            limits: StorageLimits::all(store)?,
            source,
            buffers: Vec::new(),
            interactions: Vec::new(),
            groups,
            ramps,
            audit: match is_ramps {
                true => store.longest_audit()?,
                false => store.audit()?,
            },
            chosen_sizes: ChosenSizes::of_store(store)?,
            elsewhere: OtherDisk::all(store)?,
            fleet: None,
            other_classes: Vec::new(),
            caveats: Vec::new(),
            plan: plan.clone(),
        };
        findings.caveats = found_caveats(&findings, &by_cell, &store.statements()?);
        if hosts.len() > 1 {
            findings.caveats.retain(|caveat| !is_of_one_course(caveat));
        }
        if is_ramps {
            // Caveats are of their cells; nothing is compared in them.
            findings.groups.clear();
        } else if source == Source::Measured || by_cell.unfilled().is_empty() {
            // Of predicted buffers that were not warm nothing is concluded.
            let levels = &judgement.levels;
            findings.buffers = buffer_findings(&plan, &cells, &judgement, &inputs);
            findings.interactions = interactions(&plan, &cells, &plan_groups, levels, &inputs);
        }
        let missing = Expected::missing(store)?;
        findings
            .caveats
            .extend(missing.map(|reason| Caveat::NotPredicted { reason }));
        let over = OverBudget::read(store)?;
        findings.caveats.extend(over.map(Caveat::OverBudget));
        caveats::sort(&mut findings.caveats);
        Ok(Some((findings, ratios)))
    }
}

/// What the slices decide, wider by what predicted cells do not know.
fn judge(
    store: &Store,
    plan: &Plan,
    slices: &[Slice],
    inputs: &Inputs,
    host_of: &BTreeMap<u32, usize>,
) -> Result<(Judgement, HostRatios), StoreError> {
    // Stores without lockstep have no horizon: they went as far as they go.
    let passes: HashSet<(u32, u32)> = slices
        .iter()
        .map(|slice| (slice.key.sitting, slice.key.pass))
        .collect();
    let horizon = store.horizon()?.unwrap_or(Horizon::Passes {
        passes: u32::try_from(passes.len()).unwrap_or(u32::MAX).max(1),
    });
    let rules = plan.rules(horizon, store.source()?.unwrap_or(Source::Measured));
    let cells = plan.cells().len();
    let unseated = Expected::unseated(store, cells)?;
    let groups = plan.groups();
    let mut judgement = lockstep::judge(&rules, &groups, cells, slices, &unseated);
    let of_plan = (&*groups, cells);
    let ratios = over_hosts(&mut judgement, &rules, of_plan, slices, &unseated, host_of);
    for (judged, group) in judgement.groups.iter_mut().zip(&groups) {
        inputs.widen_all(judged, group, rules.margin);
    }
    Ok((judgement, ratios))
}

/// Whether nothing is left to measure: all is decided, and groups that somebody leaves are finished.
fn is_finished(plan: &Plan, judgement: &Judgement) -> bool {
    judgement.groups.iter().all(|group| {
        let mut candidates = group.candidates.iter();
        let is_left = plan.design == Design::Race && group.candidates.len() > 1;
        candidates.all(|candidate| candidate.decision != Some(Decision::Open))
            && (group.finished || !is_left)
    })
}

fn calibration_of(store: &Store) -> Result<Option<Profile>, StoreError> {
    let text = store.calibration()?;
    let profile = text.map(|text| Profile::from_toml(&text)).transpose();
    profile.map_err(|error| store.damaged("device profile", error))
}

/// What is said of warm-ups where a budget had no time left for them.
const NO_WARM_UP: &str = "none: the budget left no time";

/// Whether any run had a warm-up, or none was to be waited for: so many transactions were
/// wanted, which may be none, or nothing was measured.
fn is_warmed(by_cell: &ByCell<'_>, warm_up: Option<&str>) -> bool {
    let is_counted = warm_up.is_some_and(|of| of.starts_with(|first: char| first.is_ascii_digit()));
    let mut runs = by_cell.all().peekable();
    is_counted
        || runs.peek().is_none()
        || runs.any(|run| run.load.buffer_filled || !run.load.warm_up.is_zero())
}

/// How long warm-ups were to be.
fn warm_up_of(store: &Store) -> Result<Option<String>, StoreError> {
    let facts = store.facts(LENGTHS)?;
    let mut warm_ups = facts.into_iter().filter(|(name, _)| name == WARM_UP);
    Ok(warm_ups.next().map(|(_, value)| value))
}

//! What comes before the first sitting: checks that change nothing, then the
//! directories and the store.

use std::{fs, path::Path, time::Duration};

use super::{
    elsewhere::predict_elsewhere,
    predictions::Predictions,
    ramps::Ramps,
    requirements::{Requirements, check, find_programs},
    settings::CampaignSettings,
    sittings::{Campaign, has_passes, is_complete},
    warm_up::{RECORDED_MAX, WarmUp},
};
use crate::{
    budget,
    directory::{STORE, WorkDirectory},
    error::CampaignError,
    executor::{Executor, MeasuredExecutor, PredictedExecutor, Wanted},
    figures,
    findings::{Findings, LENGTHS, WARM_UP},
    lockstep::{Horizon, judge},
    monitor::Monitor,
    observer::Observer,
    prediction::Expected,
    record::Source,
    resolved::ResolvedPlan,
    store::{Store, StoreError},
};

/// Carries out a plan. Everything is checked before anything is changed.
///
/// # Errors
/// When the plan cannot be carried out here, its directory cannot be used, or
/// no run gives a result; [`CampaignError::Stopped`] when the observer wants
/// it. Finished runs are in the store in any case.
pub fn campaign(
    settings: &CampaignSettings,
    observer: &dyn Observer,
) -> Result<Findings, CampaignError> {
    let findings = carry_out(settings, observer)?;
    // For other programs. All that it follows from is in the store already.
    let kept = Store::open_or_create(&settings.directory.join(STORE))
        .and_then(|mut store| figures::keep(&mut store, &findings));
    if let Err(error) = kept {
        observer.note(&format!("the table of figures could not be kept: {error}"));
    }
    Ok(findings)
}

fn carry_out(
    settings: &CampaignSettings,
    observer: &dyn Observer,
) -> Result<Findings, CampaignError> {
    let plan = &settings.plan;
    refuse_parts(settings)?;
    let resolved = ResolvedPlan::new(plan, &settings.directory)?;
    if let Some(prediction) = &settings.prediction {
        if let Some(ramp) = plan.ramp {
            return Err(CampaignError::Setting(format!(
                "ramp {} cannot be predicted: measure it, or predict single numbers of clients",
                ramp.clients
            )));
        }
        let names = resolved.names();
        let mut executor = PredictedExecutor::new(resolved, prediction, WarmUp::horizon(settings))?;
        let directory = WorkDirectory::open(&settings.directory, &names)?;
        let inputs = settings.inputs();
        if let Some(findings) = made_before(settings, &directory.store(), inputs.as_deref())? {
            return Ok(findings);
        }
        begin_anew(&directory.store())?;
        return match Store::open_or_create(&directory.store()) {
            Ok(mut store) => {
                adopt(settings, &mut store, executor.source())?;
                let monitor = Monitor::new(observer, store.time_spent()?, settings.budget);
                let settings = record(settings, &mut executor, &directory, &monitor)?;
                let findings =
                    Predictions::begin(&settings, store, &monitor)?.carry_out(&mut executor)?;
                if let Some(inputs) = inputs {
                    Store::open_or_create(&directory.store())?.set_inputs(&inputs)?;
                }
                Ok(findings)
            }
            Err(error) => {
                directory.abandon()?;
                Err(error.into())
            }
        };
    }
    check(settings, &resolved)?;
    match find_programs(settings, &resolved) {
        // What is left to do may be nothing.
        Err(_) if is_done(settings)? => {}
        found => found?,
    }
    resolved.examine()?;
    let requirements = Requirements::of_resolved(settings, &resolved);
    let time_min = requirements.time_min;
    match requirements.check(settings) {
        // What is left to do may be nothing.
        Err(CampaignError::Space { .. }) if is_done(settings)? => {}
        checked => checked?,
    }
    let mut executor = MeasuredExecutor::open(resolved, &settings.program, observer)?;
    let mut store = match Store::open_or_create(&executor.store()) {
        Ok(store) => store,
        Err(error) => {
            executor.abandon()?;
            return Err(error.into());
        }
    };
    if let Some(part) = &settings.part {
        executor.note_host(&part.host)?;
    }
    adopt(settings, &mut store, executor.source())?;
    executor.adopt(store.snapshots()?);
    executor.confine(&settings.later)?;
    if let Some(ramp) = plan.ramp {
        let earlier = store.time_spent()?;
        let expected = settings.budget.unwrap_or(earlier.saturating_add(time_min));
        let monitor = Monitor::new(observer, earlier, Some(expected));
        return Ramps::begin(settings, ramp, store, &monitor)?.carry_out(&mut executor);
    }
    let earlier = match settings.part {
        Some(_) => Duration::ZERO,
        None => store.time_spent()?,
    };
    let monitor = Monitor::new(observer, earlier, settings.budget);
    let monitor = match settings.passes {
        None => monitor.with_limit(settings.budget),
        Some(_) => monitor,
    };
    let (path, before) = (executor.store(), store.slices()?.len());
    // For predicting other disks.
    let kept = settings
        .budget
        .filter(|_| plan.compared_elsewhere().is_some() && settings.part.is_none());
    let kept = kept.map_or(Duration::ZERO, budget::elsewhere);
    let campaign = Campaign::new(settings, store, executor.source(), &monitor)?.keeping(kept);
    let session = campaign.session();
    let carried = campaign.carry_out(&mut executor);
    // Copies of the user's own rows do not lie about for an experiment that failed.
    let is_failed = matches!(&carried, Err(error) if !matches!(error, CampaignError::Stopped));
    if plan.own.is_some() && is_failed {
        executor.clear_up(settings.keep_data, &monitor);
    }
    let mut findings = carried?;
    let mut store = Store::open_or_create(&path)?;
    // Nothing else is known than when it was predicted.
    let is_known = !findings.elsewhere.is_empty() && store.slices()?.len() == before;
    if !is_known && settings.command.is_some() && settings.part.is_none() {
        findings.elsewhere = predict_elsewhere(settings, &findings, &mut store, &monitor)?;
        store.extend_session(session, monitor.session())?;
        findings.spent_s = store.time_counted()?.as_secs_f64();
    }
    Ok(findings)
}

/// Refuses a store that has parts of a plan, for what is none: a sitting beside them would be of no part, and no
/// merge would take it.
fn refuse_parts(settings: &CampaignSettings) -> Result<(), CampaignError> {
    let path = settings.directory.join(STORE);
    if settings.part.is_some() || !path.exists() {
        return Ok(());
    }
    // What cannot be read is refused by what comes next.
    let has_parts = Store::open(&path).and_then(|store| store.has_parts());
    match has_parts {
        Ok(true) => Err(CampaignError::Setting(format!(
            "{} has parts of a plan, which others are merged with: name another directory, or add a part with \
             'octavo run PLAN --sitting N --into DIR' (of predictions, --shard) and octavo merge",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Without `--warm-up`, as many transactions are recorded for it however slow they are. A cell that
/// is still cold after these has no verdict. Chosen.
const RECORDED_LEAST: u64 = 1000;

/// Records the pages of the user's own statements, where the plan has any, and lets the warm-up
/// take no more of them than there are.
fn record(
    settings: &CampaignSettings,
    executor: &mut PredictedExecutor<'_>,
    directory: &WorkDirectory,
    monitor: &Monitor<'_>,
) -> Result<CampaignSettings, CampaignError> {
    let mut settings = settings.clone();
    let plan = &settings.plan;
    if plan.own.is_none() {
        return Ok(settings);
    }
    let clients = plan.clients.iter().copied().max().unwrap_or(1);
    let counted = WarmUp::counted(&settings, clients);
    let most = settings.slices.warm_up.unwrap_or(RECORDED_MAX);
    let warm_up = settings.slices.warm_up.unwrap_or(RECORDED_LEAST);
    let wanted = Wanted {
        seed: plan.inputs_seed(0),
        clients,
        transactions: counted.saturating_add(most),
        needed: counted.saturating_add(warm_up),
    };
    let recorded = executor.record(directory, &wanted, monitor)?;
    let left = recorded.checked_sub(counted).filter(|left| *left > 0);
    let is_enough = settings
        .slices
        .warm_up
        .is_none_or(|given| left >= Some(given));
    let Some(left) = left.filter(|_| is_enough) else {
        return Err(CampaignError::Setting(format!(
            "your statements refer to so many pages that {recorded} of the {counted} transactions were \
             recorded that are needed besides the warm-up: use fewer --passes or --transactions, or \
             measure them with octavo advise"
        )));
    };
    if left < most {
        monitor.note(&format!(
            "your statements take so long, or refer to so many pages, that {recorded} transactions \
             were recorded: the warm-up has {left} at most"
        ));
    }
    if let Some(prediction) = &mut settings.prediction {
        prediction.warm_up_max = Some(left.min(most));
    }
    Ok(settings)
}

/// What the directory has of the same prediction, if that was finished: it would come out the
/// same.
fn made_before(
    settings: &CampaignSettings,
    path: &Path,
    inputs: Option<&str>,
) -> Result<Option<Findings>, CampaignError> {
    if inputs.is_none() || !path.exists() {
        return Ok(None);
    }
    // What cannot be read is for those who begin anew to refuse.
    let Ok(store) = Store::open(path) else {
        return Ok(None);
    };
    let is_same =
        store.inputs()?.as_deref() == inputs && store.plan()?.as_ref() == Some(&settings.plan);
    if !is_same {
        return Ok(None);
    }
    if let Some(command) = &settings.command
        && store.command()?.as_ref() != Some(command)
    {
        store.set_command(command)?;
    }
    Ok(Findings::read(&store)?)
}

/// Removes an earlier prediction: what it was made from is not all in its plan, and one
/// that was interrupted would go on with other inputs.
fn begin_anew(path: &Path) -> Result<(), CampaignError> {
    // One that a full disk or a kill left empty has nothing.
    let is_empty = fs::metadata(path).is_ok_and(|file| file.len() == 0);
    let is_kept = |store: &Store| {
        Ok::<bool, StoreError>(match store.source()? {
            Some(source) => source != Source::Predicted,
            // An interrupted prediction has nothing, and an interrupted experiment may know its storage.
            None => !store.has_no_result()? || store.calibration()?.is_some(),
        })
    };
    if !path.exists() || (!is_empty && is_kept(&Store::open(path)?)?) {
        return Ok(());
    }
    Store::remove(path).map_err(CampaignError::File)
}

/// Has the store take the plan, whose records so far came about in the same way.
fn adopt(
    settings: &CampaignSettings,
    store: &mut Store,
    source: Source,
) -> Result<(), CampaignError> {
    store.adopt(&settings.plan, settings.slices, settings.octavo_version)?;
    if let Some(found) = store.source()?
        && found != source
    {
        return Err(CampaignError::Setting(format!(
            "the results in {} are {}, not {}: name another directory",
            settings.directory.display(),
            found.name(),
            source.name(),
        )));
    }
    if let Some(command) = &settings.command {
        store.set_command(command)?;
    }
    if let Some(chosen) = &settings.chosen_sizes {
        chosen.keep(store)?;
    }
    // Those of ramps follow from their steps.
    if settings.plan.ramp.is_none() {
        keep_warm_up(settings, store, source)?;
    }
    Ok(())
}

/// Keeps how long warm-ups are to be, with those of earlier sessions where they were others.
fn keep_warm_up(
    settings: &CampaignSettings,
    store: &mut Store,
    source: Source,
) -> Result<(), StoreError> {
    let own = match (settings.slices.warm_up, source) {
        (Some(transactions), Source::Measured)
            if settings.budget.is_some() && settings.passes.is_none() =>
        {
            format!("{transactions} transactions, and a quarter of the budget at most")
        }
        (Some(transactions), _) => format!("{transactions} transactions"),
        (None, Source::Predicted) => "until the cache was full for as long as filling took, or hardly misses, and misses fall no more".into(),
        (None, Source::Measured) => {
            "until cache misses are level, or twice as long as the cache took to fill, and a quarter of the budget at most".into()
        }
    };
    let facts = store.facts(LENGTHS)?;
    let mut kept = facts.into_iter().filter(|(name, _)| name == WARM_UP);
    let kept = match kept.next() {
        Some((_, kept)) if kept.split("; ").any(|of| of == own) => kept,
        Some((_, kept)) => format!("{kept}; {own}"),
        None => own,
    };
    store.replace_facts(LENGTHS, &[(WARM_UP.to_owned(), kept)])
}

/// Whether earlier sessions have done all that this one is to do.
pub(super) fn is_done(settings: &CampaignSettings) -> Result<bool, StoreError> {
    let path = settings.directory.join(STORE);
    // Each attempt at a part is a new one.
    if settings.part.is_some() || !path.exists() {
        return Ok(false);
    }
    let plan = &settings.plan;
    let mut store = Store::open(&path)?;
    if store.plan()?.is_none() {
        return Ok(false);
    }
    store.adopt(plan, settings.slices, settings.octavo_version)?;
    if plan.ramp.is_some() {
        return Ok(store.finished_cells()?.len() >= plan.cell_count());
    }
    if let (None, Some(budget)) = (settings.passes, settings.budget)
        && store.time_spent()? >= budget
    {
        return Ok(true);
    }
    let given = settings.passes.map(|passes| Horizon::Passes { passes });
    let Some(horizon) = given.map_or_else(|| store.horizon(), |given| Ok(Some(given)))? else {
        return Ok(false);
    };
    let groups = plan.groups();
    let slices = store.slices()?;
    let rules = plan.rules(horizon, store.source()?.unwrap_or(Source::Measured));
    let cells = plan.cells().len();
    let unseated = Expected::unseated(&store, cells)?;
    let judgement = judge(&rules, &groups, cells, &slices, &unseated);
    let all = judgement.groups.iter().zip(&groups);
    Ok(all.into_iter().all(|(judged, group)| {
        let enough = |passes| has_passes(group, &slices, &judgement, passes);
        let is_finished = judged.finished && is_complete(group, &slices, &unseated);
        is_finished || settings.passes.is_some_and(enough)
    }))
}

//! `octavo advise`: flags to a plan, the call, and what is printed.

use std::path::PathBuf;

use anyhow::{bail, ensure};
use octavo_experiment::{
    advise::{DataSize, complete, plan, sort_cells},
    campaign::{CampaignError, CampaignSettings, Requirements, campaign},
    own,
    plan::{Factor, Level, OwnSettings, Plan, Storage},
};
use octavo_report::number::list;
use octavo_units::{ByteCount, PageSize};

use crate::{
    devices::storage,
    failure::Failure,
    flags::{AdviseFlags, CellFlags, OwnFlags},
    host::program,
    outcome, per_table, print,
    system::SystemFlags,
    watcher::Watcher,
};

pub(crate) fn advise(flags: AdviseFlags) -> Result<(), Failure> {
    if flags.own.show_script {
        let given = flags.database.given.as_deref();
        return show_script(&flags.own, given, &flags.cells.system);
    }
    // Before the user's own server is asked, so that an interrupt leaves nothing behind.
    let watcher = Watcher::answering(flags.progress, flags.metrics)?;
    let settings = settings(&flags, program()?, &watcher).map_err(Failure::of_plan)?;
    if flags.dry_run.is_dry {
        watcher.finish();
        return outcome::forecast(&settings, flags.print, |error| {
            failure(error, &settings, &flags)
        });
    }
    let result = campaign(&settings, &watcher);
    watcher.finish();
    let findings = result.map_err(|error| failure(error, &settings, &flags))?;
    outcome::publish(&findings, &flags.directory, flags.print)
}

/// Prints the script that is guessed for the user's own data; `given` is what --database says.
pub(crate) fn show_script(
    own: &OwnFlags,
    given: Option<&str>,
    system: &SystemFlags,
) -> Result<(), Failure> {
    let database = own.database(given).map_err(Failure::Input)?;
    let spec = system.spec(database).map_err(Failure::Input)?;
    print::text(&own::shown(&spec, own.source(), own.are_digests()).map_err(Failure::input)?)
}

/// Adds the flag that would help, where there is one.
fn failure(error: CampaignError, settings: &CampaignSettings, flags: &AdviseFlags) -> Failure {
    let remedy = match &error {
        CampaignError::Budget { .. } => {
            format!("use a larger --budget, or {}", fewer(settings, flags))
        }
        CampaignError::Space { .. } => format!(
            "name a directory on a larger file system, or use {}",
            fewer(settings, flags)
        ),
        CampaignError::UsedUp { .. } => "repeat the command with a larger --budget".into(),
        _ => return outcome::failure(error, &flags.directory),
    };
    outcome::with_remedy(&error, &remedy)
}

/// What makes an experiment smaller: less data, and fewer cells where there are several.
fn fewer(settings: &CampaignSettings, flags: &AdviseFlags) -> String {
    let mut remedies = Vec::new();
    let is_own = flags.own.is_given();
    if let (true, Some(fitting)) = (is_own, fitting(settings)) {
        return format!("fewer cells, such as {fitting}");
    }
    let flags = &flags.cells;
    // Rows of the user's own are as many as they are.
    if let Ok(workload) = flags.workload.name()
        && !is_own
    {
        let scale = workload.family().data.scale();
        let less = match scale.noun {
            Some(_) => "fewer",
            None => "a smaller",
        };
        remedies.push(format!("{less} --{}", scale.name));
    }
    if flags.page_sizes.len() != 1 {
        remedies.push("fewer --page-sizes".into());
    }
    remedies.push(match flags.memory.len() {
        1 => "a smaller --memory".into(),
        _ => "smaller or fewer sizes of --memory".into(),
    });
    list(&remedies, "or")
}

/// Flags of an experiment with one memory and fewer page sizes that its budget and the free space
/// allow: the first of some that does, which get smaller.
fn fitting(settings: &CampaignSettings) -> Option<String> {
    let plan = &settings.plan;
    let Some(Level::PageSize(present)) = plan.reference else {
        return None;
    };
    let memory = *plan.memories.iter().max()?;
    // At most so many times as large as the present one, or as small, and at last one other alone.
    let near = [16, 4, 2].map(|factor| {
        let is_near = |size: &&PageSize| {
            let (one, other) = (size.get(), present.get());
            one.max(other) / one.min(other) <= factor
        };
        plan.page_sizes.iter().filter(is_near).copied().collect()
    });
    let others = plan.page_sizes.iter().filter(|size| **size != present);
    let next = others.min_by_key(|size| size.get().abs_diff(4 * present.get()));
    let two = next.map(|next| vec![present.min(*next), present.max(*next)]);
    near.into_iter()
        .chain(two)
        .find_map(|page_sizes: Vec<PageSize>| {
            if page_sizes.len() < 2 {
                return None;
            }
            let mut smaller = settings.clone();
            smaller.plan.memories = vec![memory];
            smaller.plan.page_sizes = page_sizes;
            let needed = Requirements::estimate(&smaller).ok()?;
            needed.check(&smaller).ok()?;
            let sizes = smaller.plan.page_sizes.iter();
            let sizes: Vec<String> = sizes.map(|size| in_a_flag(size.bytes())).collect();
            Some(format!(
                "--page-sizes {} --memory {}",
                sizes.join(","),
                in_a_flag(memory)
            ))
        })
}

/// A size as it is typed, whole.
fn in_a_flag(size: ByteCount) -> String {
    match size.get() {
        bytes if bytes.is_multiple_of(1 << 20) => format!("{}M", bytes >> 20),
        bytes if bytes.is_multiple_of(1 << 10) => format!("{}K", bytes >> 10),
        bytes => bytes.to_string(),
    }
}

fn settings(
    flags: &AdviseFlags,
    program: PathBuf,
    watcher: &Watcher,
) -> anyhow::Result<CampaignSettings> {
    ensure!(
        flags.slices.transactions != Some(0),
        "--transactions must be at least 1"
    );
    let storage = match &flags.device.name {
        Some(device) => Storage::Device(storage(device)?),
        None => Storage::Own,
    };
    let plan = match flags
        .own
        .settings(flags.cells.random.seed, flags.cells.clients)
    {
        Some(own) => {
            let own = OwnSettings {
                pace: flags.pace,
                ..own
            };
            let database = flags.own.database(flags.database.given.as_deref())?;
            let stopped = || watcher.is_interrupted();
            let os_memory = flags.device.name.is_none();
            plan_of_own(database, &own, &flags.cells, storage, os_memory, &stopped)?
        }
        None => plan_of(flags.database.name(), &flags.cells, storage)?,
    };
    let mut plan = plan;
    if let Some(systems) = &flags.file_systems {
        let ground = plan.storages[0].clone();
        let systems = systems.iter().cloned();
        plan.storages = systems.map(|of| ground.with_file_system(of)).collect();
        if plan.page_sizes.len() == 1 && plan.storages.len() > 1 {
            plan.compare = Factor::Storage;
        }
    }
    let defaults = plan.databases[0].kind()?.defaults;
    let mut settings = CampaignSettings {
        directory: flags.directory.clone(),
        plan,
        chosen_sizes: None,
        prediction: None,
        budget: Some(flags.campaign.budget.unwrap_or(defaults.budget)),
        passes: flags.passes,
        slices: flags.slices.into(),
        calibrate: !flags.no_calibrate,
        predict_first: flags.predict_first,
        program,
        keep_data: flags.campaign.keep_data,
        until: None,
        part: None,
        later: Vec::new(),
        command: Some(outcome::command()),
        octavo_version: env!("CARGO_PKG_VERSION"),
    };
    if flags.per_table {
        per_table::choose(&mut settings, flags, watcher)?;
    }
    Ok(settings)
}

/// The cells of a database that flags name, on one storage.
pub(crate) fn plan_of(database: &str, flags: &CellFlags, storage: Storage) -> anyhow::Result<Plan> {
    let workload = flags.workload.name()?;
    let mut plan = plan(flags.system.database(database)?, workload)?;
    let memory = choose_cells(&mut plan, flags, storage)?;
    plan.mix.clone_from(&flags.mix.mix);
    plan.distribution = flags.mix.distribution.map(|of| of.to_string());
    let wanted = flags
        .data
        .map_or(DataSize::OverMemory(memory), DataSize::Given);
    plan.shape = flags.workload.shape().cloned();
    complete(
        &mut plan,
        wanted,
        &flags.workload.rows(flags.data.is_some()),
    )?;
    // Before anything is loaded or modeled.
    plan.workload(plan.data[0])?;
    Ok(plan)
}

/// The same of the user's own data and statements. With `os_memory` a file that fits is measured in
/// the OS's memory too, where flags do not say how much memory there is.
pub(crate) fn plan_of_own(
    database: &str,
    own: &OwnSettings,
    flags: &CellFlags,
    storage: Storage,
    os_memory: bool,
    stopped: &dyn Fn() -> bool,
) -> anyhow::Result<Plan> {
    flags.workload.refuse_rows()?;
    let spec = flags.system.spec(database)?;
    let mut plan = own::plan(&spec, &flags.system.options(&[]), own, stopped)?;
    choose_cells(&mut plan, flags, storage)?;
    let is_open = flags.memory.is_empty() && flags.cache.is_empty();
    if os_memory && is_open {
        own::measure_with_os_memory(&mut plan)?;
    }
    sort_cells(&mut plan);
    if let (2.., Some(own)) = (plan.clients[0], &plan.own) {
        own::check_several_clients(own)?;
    }
    if flags.page_sizes.is_empty() {
        own::leave_out_large_pages(&mut plan)?;
    } else if is_open {
        own::raise_memories(&mut plan)?;
    }
    Ok(plan)
}

/// Takes over what flags say of cells. Answers the largest memory.
fn choose_cells(plan: &mut Plan, flags: &CellFlags, storage: Storage) -> anyhow::Result<ByteCount> {
    ensure!(
        flags.margin > 0.0 && flags.margin < 100.0,
        "--margin must be above 0 and below 100, not {}",
        flags.margin
    );
    if !flags.memory.is_empty() {
        plan.memories.clone_from(&flags.memory);
    }
    let memory = plan.memories.iter().copied().max().unwrap_or_default();
    if let Some(cache) = flags.cache.iter().copied().find(|&cache| cache > memory) {
        bail!("--cache {cache} is larger than the memory {memory}; give a larger --memory");
    }
    if !flags.cache.is_empty() {
        plan.memories.clone_from(&flags.cache);
    }
    if !flags.page_sizes.is_empty() {
        plan.page_sizes.clone_from(&flags.page_sizes);
    }
    if let Some(clients) = flags.clients {
        plan.clients = vec![clients];
    }
    plan.storages = vec![storage];
    plan.isolation = flags.isolation.level();
    plan.seed = flags.random.seed;
    plan.margin = flags.margin / 100.0;
    Ok(memory)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use octavo_units::ByteCount;

    use super::*;

    #[derive(Parser)]
    struct AdviseCommand {
        #[command(flatten)]
        flags: AdviseFlags,
    }

    #[test]
    fn a_refused_budget_has_remedies_that_these_flags_allow() {
        let refused = |words: &[&str], cells| {
            let flags = AdviseCommand::parse_from([&["octavo"], words].concat()).flags;
            let watcher = Watcher::new(flags.progress).unwrap();
            let settings = settings(&flags, PathBuf::new(), &watcher).unwrap();
            watcher.finish();
            let error = CampaignError::Budget {
                cells,
                data: ByteCount::mib(64),
                needed_s: 34,
                budget_s: 10,
            };
            match failure(error, &settings, &flags) {
                Failure::Input(error) => error.to_string(),
                _ => panic!("it is not bad input"),
            }
        };
        assert_eq!(
            refused(&[], 10),
            "10 cells with 64 MiB of data need about 34 s, more than the budget of 10 s: use a \
             larger --budget, or fewer --warehouses, fewer --page-sizes or smaller or fewer \
             sizes of --memory"
        );
        let one = ["--workload=ycsb-a", "--page-sizes=4K", "--memory=8MiB"];
        assert_eq!(
            refused(&one, 1),
            "1 cell with 64 MiB of data needs about 34 s, more than the budget of 10 s: use a \
             larger --budget, or fewer --records or a smaller --memory"
        );
        let scaled = ["--workload=pgbench", "--page-sizes=4K,8K"];
        assert!(refused(&scaled, 4).contains("or a smaller --scale, fewer --page-sizes or"));
    }
}

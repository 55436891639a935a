//! `--per-table`: page sizes of tables and indexes of their own.

use anyhow::{anyhow, ensure};
use octavo_database::Registry;
use octavo_experiment::{
    campaign::{CampaignSettings, Requirements},
    directory::STORE,
    observer::Observer,
    own_sizes::{ChosenSizes, ReadTime, choose as choose_sizes, read_times_here, read_times_of},
    plan::Plan,
    store::Store,
};
use octavo_report::number::list;

use crate::{devices::named, flags::AdviseFlags, watcher::Watcher};

/// Chooses the sizes, and has the plan measure them. Those of an earlier session stay: what reads take
/// differs from one minute to the next. What cannot be measured is refused before.
pub(crate) fn choose(
    settings: &mut CampaignSettings,
    flags: &AdviseFlags,
    watcher: &Watcher,
) -> anyhow::Result<()> {
    let plan = &mut settings.plan;
    let kind = plan.databases[0].kind()?;
    let Some(own_sizes) = kind.own_sizes else {
        let registry = Registry::standard();
        let can = registry.iter().filter(|kind| kind.own_sizes.is_some());
        let names: Vec<&str> = can.map(|kind| kind.name).collect();
        return Err(anyhow!(
            "{} gives all tables and indexes one page size: --per-table is for --database {}",
            kind.title,
            list(&names, "or")
        ));
    };
    ensure!(
        plan.databases[0].option(own_sizes.option).is_none(),
        "--per-table chooses the sizes of --{}: leave one out",
        own_sizes.option
    );
    ensure!(
        flags.cells.memory.len() <= 1 && flags.cells.cache.is_empty(),
        "--per-table chooses sizes for one memory: give one --memory, and no --cache"
    );
    let largest = plan.memories.iter().copied().max();
    plan.memories = largest.into_iter().collect();
    ensure!(
        plan.page_sizes.len() > 1,
        "--per-table chooses among several page sizes: name more with --page-sizes"
    );
    Requirements::estimate(settings)?;
    let chosen = match kept(flags)? {
        Some(chosen) => chosen,
        None => {
            let times = read_times(&settings.plan, flags, watcher)?;
            choose_sizes(&settings.plan, times, &|| watcher.flow())?
        }
    };
    chosen.add_to(&mut settings.plan);
    settings.chosen_sizes = Some(chosen);
    Ok(())
}

/// What an earlier session in the directory has chosen.
fn kept(flags: &AdviseFlags) -> anyhow::Result<Option<ChosenSizes>> {
    let path = flags.directory.join(STORE);
    // What is no store is for others to refuse.
    let Some(Ok(store)) = path.exists().then(|| Store::open(&path)) else {
        return Ok(None);
    };
    let Some(plan) = store.plan()? else {
        return Ok(None);
    };
    let directory = flags.directory.display();
    match ChosenSizes::of_store(&store)? {
        None => Err(anyhow!(
            "the results in {directory} were made without --per-table: name another directory"
        )),
        Some(chosen) if !chosen.is_of(&plan) => Err(anyhow!(
            "{} is damaged: its page sizes of tables are not those that were chosen",
            path.display()
        )),
        chosen => Ok(chosen),
    }
}

fn read_times(
    plan: &Plan,
    flags: &AdviseFlags,
    watcher: &Watcher,
) -> anyhow::Result<Vec<ReadTime>> {
    let (sizes, clients) = (&plan.page_sizes, plan.clients[0]);
    let seed = plan.seed.derive("reads", 0);
    Ok(match plan.storages[0].device() {
        Some(device) => {
            let workload = plan.workload(plan.data[0])?;
            let database = plan.databases[0].make()?;
            let data = database.estimate(workload.as_ref(), plan.page_sizes[0]);
            read_times_of(&named(device)?, sizes, clients, data, seed)?
        }
        None => read_times_here(&flags.directory, sizes, clients, seed, watcher)?,
    })
}

//! Choosing page sizes of tables and indexes, from what the workload's statements touch.

use std::ops::ControlFlow;

use octavo_database::PageSizesByName;
use octavo_predict::own_sizes::{
    ReadCost, References, ReferencesError, Watch, choose as choose_by,
};
use octavo_units::ByteCount;

use super::{ChosenSizes, ChosenTree, ReadTime, SingleSize};
use crate::{
    error::CampaignError,
    plan::{MixedSizes, Plan},
};

/// Chooses page sizes among those of a plan, whose database gives tables sizes of their own, for its
/// largest memory. `flow` may stop it.
///
/// # Errors
/// A plan of a database that gives all tables one size, or with a single size to choose from;
/// [`CampaignError::Stopped`] when `flow` stopped it.
///
/// # Panics
/// When the plan has no database, rows or memory.
pub fn choose(
    plan: &Plan,
    read_times: Vec<ReadTime>,
    flow: &dyn Fn() -> ControlFlow<()>,
) -> Result<ChosenSizes, CampaignError> {
    let refused = |reason: String| Err(CampaignError::Setting(reason));
    let tested = &plan.databases[0];
    let kind = tested.kind()?;
    let Some(own_sizes) = kind.own_sizes else {
        return refused(format!(
            "{} gives all tables and indexes one page size",
            kind.title
        ));
    };
    let points = read_times
        .iter()
        .map(|time| (time.page_size, time.us * 1e3))
        .collect();
    let Some(cost) = ReadCost::new(points) else {
        return refused("page sizes are chosen among several: name more".into());
    };
    let memory = plan.memories.iter().copied().max().expect("a memory");
    let room = tested.make()?.holds(memory);
    let recent = (own_sizes.recent)(memory);
    let options = kind.read(&tested.options)?;
    let workload = plan.workload(plan.data[0])?;
    let trees = (own_sizes.trees)(workload.as_ref(), &options);
    if trees.iter().filter(|tree| tree.entries > 0).count() < 2 {
        let title = plan.workload_title();
        return refused(format!(
            "{title} has one table, so one page size is all that it can have"
        ));
    }
    let watch = Watch {
        room,
        recent,
        clients: plan.clients.iter().copied().max().unwrap_or(1),
        seed: plan.inputs_seed(0),
    };
    let sizes = plan.page_sizes.clone();
    let counted = References::count(workload.as_ref(), own_sizes, trees, sizes, watch, flow);
    let references = counted.map_err(|error| match error {
        ReferencesError::Stopped => CampaignError::Stopped,
        error => CampaignError::Setting(crate::causes::with_causes(&error)),
    })?;
    let choice = choose_by(&references, room, &cost);
    let (others, own) = choice.mixed.others_and_own();
    let size_of = references.sizes_of_trees();
    let trees = choice.mixed.trees.iter().zip(size_of).enumerate();
    let trees = trees.map(|(number, (tree, size))| {
        let single = choice.single.iter().map(|of| &of.trees[number]);
        ChosenTree {
            name: tree.name.clone(),
            size,
            page_size: tree.page_size,
            misses: tree.missed.pages,
            reads: tree.missed.reads,
            reads_ahead: tree.missed.ahead,
            reads_us: tree.ns / 1e3,
            held: ByteCount::new(tree.held as u64),
            misses_single: single.clone().map(|of| of.missed.pages).collect(),
            reads_single: single.clone().map(|of| of.missed.reads).collect(),
            reads_ahead_single: single.clone().map(|of| of.missed.ahead).collect(),
            reads_us_single: single.map(|of| of.ns / 1e3).collect(),
        }
    });
    let sizes = plan.page_sizes.iter().zip(&choice.single);
    Ok(ChosenSizes {
        read_times,
        room,
        transactions: references.transactions(),
        are_few: references.are_few(),
        single: sizes
            .map(|(&page_size, of)| SingleSize {
                page_size,
                reads_us: of.ns / 1e3,
                misses: of.trees.iter().map(|tree| tree.missed.pages).sum(),
            })
            .collect(),
        best_single: plan.page_sizes[choice.best_single],
        reads_us: choice.mixed.ns / 1e3,
        trees: trees.collect(),
        mixed: (!own.is_empty()).then(|| MixedSizes {
            others,
            own: PageSizesByName::new(own),
        }),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use octavo_database::{DatabaseSpec, Registry};
    use octavo_units::PageSize;

    use super::*;
    use crate::{
        advise::plan,
        plan::{Factor, Level, TestedDatabase},
    };

    fn plan_of(workload: &str, rows: (&str, u64)) -> Plan {
        let kind = Registry::standard().find("rocksdb").unwrap();
        let spec = DatabaseSpec::new(kind, Vec::new()).unwrap();
        let tested = TestedDatabase::new(&spec).unwrap();
        let workload: octavo_workload::WorkloadName = workload.parse().unwrap();
        let mut plan = plan(tested, workload).unwrap();
        plan.data = vec![workload.data_spec(&[rows]).unwrap()];
        plan.memories = vec![ByteCount::mib(8)];
        plan.page_sizes = [4, 16, 64].map(PageSize::kib).to_vec();
        plan
    }

    /// Reads that take so long, and so much longer for each KiB.
    fn times(us: f64, us_a_kib: f64) -> Vec<ReadTime> {
        [4, 16, 64]
            .map(|kib| ReadTime {
                page_size: PageSize::kib(kib),
                us: us + us_a_kib * f64::from(kib),
            })
            .to_vec()
    }

    #[test]
    fn what_is_chosen_adds_up() {
        let mut plan = plan_of("tpcc", ("warehouses", 2));
        let flow = || ControlFlow::Continue(());
        let chosen = choose(&plan, times(100.0, 5.0), &flow).unwrap();
        let sum = |of: &dyn Fn(&ChosenTree) -> f64| chosen.trees.iter().map(of).sum::<f64>();
        let close = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-9;
        assert!(close(sum(&|tree| tree.reads_us), chosen.reads_us));
        for (number, single) in chosen.single.iter().enumerate() {
            assert!(close(
                sum(&|tree| tree.misses_single[number]),
                single.misses
            ));
            assert!(close(
                sum(&|tree| tree.reads_us_single[number]),
                single.reads_us
            ));
        }
        // Rows of 4 KiB blocks are few; with a free choice reads take no longer.
        assert_eq!(chosen.best_single, PageSize::kib(4));
        let saves = chosen.saves_over(chosen.best_single).unwrap();
        assert!((-0.005..1.0).contains(&saves), "{saves}");
        assert_eq!(chosen.saves_over(PageSize::kib(8)), None);
        let one = plan_of("ycsb-c", ("records", 1000));
        let refused = choose(&one, times(1.0, 1.0), &flow)
            .unwrap_err()
            .to_string();
        assert!(refused.contains("has one table"), "{refused}");
        chosen.add_to(&mut plan);
        let mixed = chosen.mixed.iter().count();
        assert_eq!(plan.cell_count(), 3 + mixed);
        assert_eq!(plan.fault(), None);
        let stopped = choose(&plan, times(1.0, 1.0), &|| ControlFlow::Break(()));
        assert!(matches!(stopped, Err(CampaignError::Stopped)));
        let few = choose(&plan, times(1.0, 1.0)[..1].to_vec(), &flow);
        assert!(few.unwrap_err().to_string().contains("name more"));
        plan.databases = vec![Arc::new(TestedDatabase {
            name: "sqlite".into(),
            ..TestedDatabase::clone(&plan.databases[0])
        })];
        let refused = choose(&plan, times(1.0, 1.0), &flow).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "SQLite gives all tables and indexes one page size"
        );
    }

    #[test]
    fn mixed_sizes_are_one_more_page_size() {
        let mut plan = plan_of("tpcc", ("warehouses", 1));
        plan.mixed = vec![MixedSizes {
            others: PageSize::kib(16),
            own: "stock=4K,order_line=64K".parse().unwrap(),
        }];
        let cells = plan.cells();
        assert_eq!(cells.len(), 4);
        assert_eq!(cells[3].page_size, PageSize::kib(16));
        assert_eq!(
            cells[3].database.option("block-sizes"),
            Some("stock=4K,order_line=64K")
        );
        let level = plan.level(&cells[3], Factor::PageSize);
        assert_eq!(level, Level::MixedSizes(plan.mixed[0].clone()));
        assert_eq!(level.to_string(), "mixed");
        assert_eq!(
            level.with_noun(),
            "mixed pages (stock 4 KiB, order_line 64 KiB, others 16 KiB)"
        );
        let groups = plan.groups();
        assert_eq!((groups.len(), groups[0].reference), (1, 0));
        // Loaded once, and derived for each.
        let snapshots = plan.snapshots();
        assert_eq!(snapshots.len(), 4);
        assert!(snapshots.iter().all(|of| of.is_related(&snapshots[0])));
        assert!(snapshots.contains(&cells[3].snapshot()));
        let kept: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
        assert_eq!(kept, plan);
        plan.compare = Factor::Memory;
        assert!(plan.fault().unwrap().contains("does not compare them"));
        plan.compare = Factor::PageSize;
        plan.databases.push(plan.databases[0].clone());
        assert!(plan.fault().unwrap().contains("one database that has them"));
    }
}

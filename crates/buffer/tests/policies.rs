//! What holds for every policy, on random traces.

use std::collections::{BTreeMap, BTreeSet};

use octavo_buffer::{
    Access, Arc, Cflru, Clock, Curve, Frames, Lru, MidpointLru, MidpointRule, Opt, Outcome, Page,
    Pcache, Policy, Reference, S3Fifo, TouchCount, TouchRule, Trace, TraceBuilder, TwoQ, Usage,
    Zones,
};
use proptest::prelude::*;

type Make = fn(u32, Frames) -> Box<dyn Policy>;

/// InnoDB's rule for buffers as small as these.
const SHORT: MidpointRule = MidpointRule {
    old_time: 0,
    length_min: 30,
    ..MidpointRule::INNODB
};

/// Oracle's rule with every touch counted.
const EACH_TOUCH: TouchRule = TouchRule {
    touch_time: 0,
    ..TouchRule::ORACLE
};

const POLICIES: [(&str, Make); 11] = [
    ("lru", |pages, frames| Box::new(Lru::new(pages, frames))),
    ("midpoint lru", |pages, frames| {
        Box::new(MidpointLru::new(pages, frames, SHORT))
    }),
    ("clock", |pages, frames| {
        Box::new(Clock::new(pages, frames, Usage::POSTGRES))
    }),
    ("second chance", |pages, frames| {
        Box::new(Clock::new(pages, frames, Usage::SECOND_CHANCE))
    }),
    ("zones", |pages, frames| Box::new(Zones::new(pages, frames))),
    ("touch count", |pages, frames| {
        Box::new(TouchCount::new(pages, frames, EACH_TOUCH))
    }),
    ("2Q", |pages, frames| Box::new(TwoQ::new(pages, frames))),
    ("ARC", |pages, frames| Box::new(Arc::new(pages, frames))),
    ("CFLRU", |pages, frames| {
        Box::new(Cflru::new(pages, frames, frames.get() / 3))
    }),
    ("S3-FIFO", |pages, frames| {
        Box::new(S3Fifo::new(pages, frames))
    }),
    ("pcache", |pages, frames| {
        Box::new(Pcache::new(pages, frames))
    }),
];

const PAGES: u32 = 80;

/// Small numbers are more frequent than large ones.
fn page() -> impl Strategy<Value = u32> {
    (0..PAGES, 0..PAGES).prop_map(|(one, other)| one.min(other))
}

fn access(is_change: bool) -> Access {
    match is_change {
        true => Access::Change,
        false => Access::Read,
    }
}

fn trace_of(references: &[(u32, bool)]) -> Trace {
    let mut builder = TraceBuilder::default();
    for &(page, is_change) in references {
        builder.push(page.into(), access(is_change));
    }
    builder.build()
}

fn frames(count: u32) -> Frames {
    Frames::new(count).expect("at least one")
}

proptest! {
    #[test]
    fn pages_come_and_go_as_a_policy_says(
        references in prop::collection::vec((page(), any::<bool>(), 0..6), 0..400),
        count in 1..60_u32,
    ) {
        for (name, make) in POLICIES {
            let keeps_dirty = name == "pcache";
            let mut policy = make(PAGES, frames(count));
            // Dirty or not, by page.
            let mut resident: BTreeMap<u32, bool> = BTreeMap::new();
            for &(number, is_change, what) in &references {
                let page = Page::new(number);
                if what == 0 {
                    let expected = resident.get_mut(&number).map(std::mem::take);
                    if !keeps_dirty {
                        prop_assert_eq!(policy.clean(page), expected.unwrap_or(false), "{}", name);
                    }
                    continue;
                }
                let is_change = is_change && !keeps_dirty;
                match policy.access(Reference::new(page, access(is_change))) {
                    Outcome::Hit => prop_assert!(resident.contains_key(&number), "{}", name),
                    Outcome::Miss(evicted) => {
                        prop_assert!(!resident.contains_key(&number), "{}", name);
                        if let Some(evicted) = evicted {
                            let was_dirty = resident.remove(&evicted.page.number());
                            prop_assert_eq!(was_dirty, Some(evicted.is_dirty), "{}", name);
                        }
                    }
                }
                *resident.entry(number).or_default() |= is_change;
                prop_assert!(resident.len() <= count as usize, "{}", name);
            }
        }
    }

    #[test]
    fn no_policy_misses_less_than_the_best(
        references in prop::collection::vec((page(), any::<bool>()), 1..400),
        count in 1..60_u32,
    ) {
        let trace = trace_of(&references);
        let best = Opt::new(&trace, frames(count)).replay(&trace);
        let pages: BTreeSet<u32> = references.iter().map(|&(page, _)| page).collect();
        for (name, make) in POLICIES {
            // SQLite's cache grows beyond its size with what no transaction commits.
            let trace = match name {
                "pcache" => Trace::from(references.iter().map(|&(page, _)| u64::from(page)).collect::<Vec<_>>()),
                _ => trace.clone(),
            };
            let counts = make(trace.pages(), frames(count)).replay(&trace);
            prop_assert!(counts.misses >= best.misses, "{}: {:?}, {:?}", name, counts, best);
            prop_assert_eq!(counts.references, references.len() as u64);
            let counts = make(trace.pages(), frames(PAGES + 2)).replay(&trace);
            prop_assert_eq!((counts.misses, counts.writes), (pages.len() as u64, 0), "{}", name);
        }
    }

    #[test]
    fn a_curve_is_what_each_buffer_misses(
        references in prop::collection::vec((page(), any::<bool>()), 1..400),
    ) {
        let trace = trace_of(&references);
        let curve = Curve::exact(&trace);
        let mut last = u64::MAX;
        for count in 1..PAGES + 2 {
            let misses = Lru::new(trace.pages(), frames(count)).replay(&trace).misses;
            prop_assert_eq!(curve.misses(frames(count)), misses);
            prop_assert!(misses <= last);
            last = misses;
        }
        prop_assert_eq!(last, u64::from(trace.pages()));
    }

    #[test]
    fn the_best_is_a_stack_algorithm(
        references in prop::collection::vec((page(), any::<bool>()), 1..400),
    ) {
        let trace = trace_of(&references);
        let misses = (1..PAGES).map(|count| Opt::new(&trace, frames(count)).replay(&trace).misses);
        prop_assert!(misses.is_sorted_by(|smaller, larger| smaller >= larger));
    }
}

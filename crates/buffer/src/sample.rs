//! Some of a trace's pages, with all of their references.

use octavo_units::{Seed, mix};

use crate::trace::{Page, Reference, Trace};

/// Parts of a sample, which give estimates of their own: their scatter is the error.
pub(crate) const PARTS: usize = 8;

/// Disjoint parts of a trace, each with about the same share of its pages.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) parts: [Part; PARTS],
}

/// All references to some pages.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The references, with pages numbered anew.
    pub(crate) trace: Trace,
    /// The share of the whole trace's pages that are in this one.
    pub(crate) share: f64,
    /// References that there would be if all pages had the same number of them.
    pub(crate) references: f64,
}

impl Sample {
    /// Pages whose hash is small, about `pages` of them; all of them where there are
    /// fewer.
    pub(crate) fn draw(trace: &Trace, pages: u32, seed: Seed) -> Self {
        let rate = (f64::from(pages) / f64::from(trace.pages().max(1))).min(1.0);
        // Of 2^32 hashes, those below this are in the sample; the lowest go to the first
        // part, and so on.
        let limit = (rate * 2_f64.powi(32)) as u64;
        let width = limit.div_ceil(PARTS as u64).max(1);
        let key = seed.derive("sample", 0).get();
        let mut numbers = vec![UNKNOWN; trace.pages() as usize];
        let mut counts = [0_u32; PARTS];
        let mut parts: [Vec<Reference>; PARTS] = Default::default();
        for &reference in trace.references() {
            let hash = mix(u64::from(reference.page().number()) ^ key) >> 32;
            if hash >= limit {
                continue;
            }
            let part = (hash / width) as usize;
            let number = &mut numbers[reference.page().index()];
            if *number == UNKNOWN {
                *number = counts[part];
                counts[part] += 1;
            }
            parts[part].push(Reference::new(Page::new(*number), reference.access()));
        }
        let mut counts = counts.into_iter();
        Self {
            parts: parts.map(|references| {
                let pages = counts.next().expect("a count for each part");
                let share = f64::from(pages) / f64::from(trace.pages().max(1));
                Part {
                    trace: Trace::new(references, pages),
                    share,
                    references: trace.references().len() as f64 * share,
                }
            }),
        }
    }
}

/// The number of a page that is not known yet.
const UNKNOWN: u32 = u32::MAX;

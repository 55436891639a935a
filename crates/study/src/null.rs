//! What somebody would say who knows nothing of databases and has seen one study: small pages
//! are 1.25 times as fast, and each doubling of the buffer adds 8%.
//!
//! A model is worth what it says better than this one. Its two constants were read off
//! petrov-2010's tables, so that study flatters it.

use octavo_units::{ByteCount, PageSize};

use crate::{
    claim::{Claim, Figure},
    place::Place,
    study::Study,
};

/// 4 KiB over 16 KiB pages.
const SMALL_PAGES: f64 = 1.25;
/// How many times the page size that is.
const SMALLER: f64 = 4.0;
/// Twice the buffer.
const DOUBLED: f64 = 1.08;

/// What the null model says of a claim: of throughputs alone, as a ratio of cells that differ
/// in page size and buffer alone, or of a cell that differs so from one whose published figure
/// constants were fitted to. `None` of all else.
pub(crate) fn predict(study: &Study, claim: &Claim) -> Option<f64> {
    let experiment = claim.experiment.as_deref()?;
    if claim.shape.is_some() || !matches!(claim.figure?, Figure::Tps | Figure::Nopm) {
        return None;
    }
    if let Some(over) = &claim.over {
        return ratio(study, experiment, &claim.at, over);
    }
    study
        .claims
        .iter()
        .find_map(|known| {
            let is_known = known.fitted.is_some()
                && known.figure == claim.figure
                && known.over.is_none()
                && known.shape.is_none()
                && known.experiment.as_deref() == Some(experiment);
            let ratio = ratio(study, experiment, &claim.at, &known.at);
            ratio.filter(|_| is_known).zip(known.published)
        })
        .map(|(ratio, published)| ratio * published)
}

/// One cell's throughput over another's, where they differ in page size and buffer alone. They
/// may be of two experiments with the same rows.
fn ratio(study: &Study, experiment: &str, at: &Place, over: &Place) -> Option<f64> {
    let cell = |place: &Place| study.cells(experiment, place, &[]).ok()?.into_iter().next();
    let (own, other) = (cell(at)?, cell(over)?);
    let [one, another] = [&own, &other].map(|cell| &study.experiments[cell.experiment]);
    let same_rows = (&*one.database, &*one.workload) == (&*another.database, &*another.workload)
        && one.rows.keys().eq(another.rows.keys())
        && one
            .rows
            .values()
            .map(|of| of.value)
            .eq(another.rows.values().map(|of| of.value));
    let differs_else = !same_rows
        || own.cpus != other.cpus
        || own.clients != other.clients
        || own.device != other.device;
    if differs_else {
        return None;
    }
    let pages = |size: PageSize| f64::from(size.get()).ln();
    let smaller = (pages(other.page_size) - pages(own.page_size)) / SMALLER.ln();
    let bytes = |memory: ByteCount| (memory.get() as f64).log2();
    let doubled = bytes(own.memory) - bytes(other.memory);
    Some(SMALL_PAGES.powf(smaller) * DOUBLED.powf(doubled))
}

#[cfg(test)]
mod tests {
    use crate::catalog::find;

    #[test]
    fn a_ratio_of_pages_and_of_buffers_by_hand() {
        let study = find("petrov-2010").unwrap();
        let said = |text: &str| {
            let claim = study.claims.iter().find(|claim| claim.text.contains(text));
            super::predict(&study, claim.unwrap_or_else(|| panic!("no {text}")))
        };
        let near = |found: Option<f64>, wanted: f64| (found.unwrap() / wanted - 1.0).abs() < 1e-9;
        // 3,993 of 16 KiB pages were published, and fitted.
        assert!(near(said("4 KiB pages, 640 MB, 4 CPUs"), 3993.0 * 1.25));
        assert!(near(
            said("(a) 4 KiB over 16 KiB pages, 640 MB, 1 CPU"),
            1.25
        ));
        assert!(near(
            said("four times that, 1 CPU"),
            1.25 / 1.08_f64.powi(2)
        ));
        assert_eq!(said("New-order response, 4 KiB pages, 640 MB, 1 CPU"), None);
    }
}

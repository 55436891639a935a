//! Audit of one client's operations.

use super::{
    core::{Kind, SCAN_MAX, TRANSACTIONS},
    schema::FIELDS,
};
use crate::{Audit, AuditDistribution, AuditLine, Mix};

/// Ranges of scan lengths, ten lengths each.
const SCAN_RANGES: usize = 10;

/// Counts of one client.
#[derive(Debug, Default)]
pub(super) struct Counts {
    tried: [u64; TRANSACTIONS.len()],
    fields: [u64; FIELDS],
    scans: [u64; SCAN_RANGES],
}

impl Counts {
    /// An operation at its first try, with the field that it writes or the
    /// records that it scans.
    pub(super) fn tried(&mut self, kind: Kind, argument: usize) {
        self.tried[kind as usize] += 1;
        match kind {
            Kind::Update | Kind::ReadModifyWrite => self.fields[argument] += 1,
            Kind::Scan => self.scans[(argument - 1) * SCAN_RANGES / SCAN_MAX] += 1,
            Kind::Read | Kind::Insert => {}
        }
    }

    /// The audit; `keys` says how the keys were distributed, if they were
    /// drawn at random. Kinds that the mix leaves out are left out.
    pub(super) fn audit(&self, mix: &Mix, keys: Option<AuditDistribution>) -> Audit {
        let lines = AuditLine::of_kinds(&TRANSACTIONS, &self.tried, mix, "operations");
        let drawn_of = |kinds: &[Kind]| kinds.iter().any(|kind| mix.weights()[*kind as usize] > 0);
        let existing = [Kind::Read, Kind::Update, Kind::Scan, Kind::ReadModifyWrite];
        let mut distributions = Vec::new();
        if drawn_of(&existing) {
            distributions.extend(keys);
        }
        if drawn_of(&[Kind::Update, Kind::ReadModifyWrite]) {
            distributions.push(AuditDistribution::uniform(
                "fields of updates",
                &self.fields,
            ));
        }
        if drawn_of(&[Kind::Scan]) {
            distributions.push(AuditDistribution::uniform("lengths of scans", &self.scans));
        }
        Audit {
            lines: lines.filter(|line| line.wanted > 0.0).collect(),
            distributions,
            ..Audit::default()
        }
    }
}

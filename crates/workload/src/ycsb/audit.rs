//! What one client really drew.

use super::{
    client::SCAN_MAX,
    core::{Kind, TRANSACTIONS},
    schema::FIELDS,
};
use crate::{Audit, AuditDistribution, AuditLine, AuditRule, Mix};

/// Ranges of scan lengths, ten lengths each.
const SCAN_RANGES: usize = 10;

/// Counts of one client. Retries draw nothing, so they count nothing.
#[derive(Debug, Default)]
pub(super) struct Counts {
    drawn: [u64; TRANSACTIONS.len()],
    fields: [u64; FIELDS],
    scans: [u64; SCAN_RANGES],
}

impl Counts {
    pub(super) fn drawn(&mut self, kind: Kind) {
        self.drawn[kind as usize] += 1;
    }

    pub(super) fn field(&mut self, field: usize) {
        self.fields[field] += 1;
    }

    pub(super) fn scan(&mut self, records: usize) {
        self.scans[(records - 1) * SCAN_RANGES / SCAN_MAX] += 1;
    }

    /// The audit; `keys` says how the keys were distributed, if they were
    /// drawn at random. Kinds that the mix leaves out are left out.
    pub(super) fn audit(&self, mix: &Mix, keys: Option<AuditDistribution>) -> Audit {
        let all = self.drawn.iter().sum();
        let lines = TRANSACTIONS
            .iter()
            .enumerate()
            .filter(|(kind, _)| mix.weights()[*kind] > 0)
            .map(|(kind, transaction)| AuditLine {
                name: format!("{} among operations", transaction.name),
                count: self.drawn[kind],
                total: all,
                wanted: mix.share(kind),
                rule: AuditRule::Independent,
            });
        let uniform = |name: &str, counts: &[u64]| AuditDistribution {
            name: name.into(),
            counts: counts.to_vec(),
            wanted: vec![1.0 / counts.len() as f64; counts.len()],
        };
        let drawn_of = |kinds: &[Kind]| kinds.iter().any(|kind| mix.weights()[*kind as usize] > 0);
        let existing = [Kind::Read, Kind::Update, Kind::Scan, Kind::ReadModifyWrite];
        let mut distributions = Vec::new();
        if drawn_of(&existing) {
            distributions.extend(keys);
        }
        if drawn_of(&[Kind::Update, Kind::ReadModifyWrite]) {
            distributions.push(uniform("fields of updates", &self.fields));
        }
        if drawn_of(&[Kind::Scan]) {
            distributions.push(uniform("lengths of scans", &self.scans));
        }
        Audit {
            lines: lines.collect(),
            distributions,
        }
    }
}

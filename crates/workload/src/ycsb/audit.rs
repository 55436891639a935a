//! What one client really ran.

use super::{
    client::{Drawn, SCAN_MAX},
    core::{Kind, TRANSACTIONS},
    schema::FIELDS,
};
use crate::{Audit, AuditDistribution, AuditLine, AuditRule, Mix};

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
    /// An operation at its first try.
    pub(super) fn tried(&mut self, drawn: Drawn) {
        let kind = match drawn {
            Drawn::Read => Kind::Read,
            Drawn::Update { field } => {
                self.fields[field] += 1;
                Kind::Update
            }
            Drawn::Insert => Kind::Insert,
            Drawn::Scan { records } => {
                self.scans[(records - 1) * SCAN_RANGES / SCAN_MAX] += 1;
                Kind::Scan
            }
            Drawn::ReadModifyWrite { field } => {
                self.fields[field] += 1;
                Kind::ReadModifyWrite
            }
        };
        self.tried[kind as usize] += 1;
    }

    /// The audit; `keys` says how the keys were distributed, if they were
    /// drawn at random. Kinds that the mix leaves out are left out.
    pub(super) fn audit(&self, mix: &Mix, keys: Option<AuditDistribution>) -> Audit {
        let all = self.tried.iter().sum();
        let lines = TRANSACTIONS
            .iter()
            .enumerate()
            .filter(|(kind, _)| mix.weights()[*kind] > 0)
            .map(|(kind, transaction)| AuditLine {
                name: format!("{} among operations", transaction.name),
                count: self.tried[kind],
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

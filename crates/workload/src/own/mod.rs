//! The user's own statements, on a copy of the user's own rows.
//!
//! Unlike the other workloads it has no rows of its own making and no tables that it knows: a
//! database copies them ([`crate::user::CopyOf`]), and says what SQL a script's statements are there
//! ([`Prepared`]). Nothing of the statements goes into a store or a report: these have names,
//! weights and fingerprints.

mod call;
mod client;
mod digests;
mod recorded;

use std::sync::Arc;

use octavo_units::Seed;

use crate::{
    Client, Condition, Connection, DataKind, DataSpec, Family, KindTrial, Member, Mix, PageTrace,
    Parameter, Result, TransactionKind, Trial, Unit, Workload, WorkloadError, WorkloadName, boxed,
    connection::{Statement, StatementId, Value},
    population::{Partition, Population, RowBatch},
    schema::Table,
    touch::TouchTracer,
    user::{Own, Prepared, Runs},
};
use client::OwnClient;
use digests::DigestClient;
use recorded::RecordedClient;

/// The family of the user's own statements. It is not among those that can be named.
pub static FAMILY: Family = Family {
    data: DataKind {
        name: "own",
        title: "your data",
        parameters: &[BYTES, STATE],
    },
    members: &[Member {
        name: "own",
        title: "your statements",
        help: "Your statements on a copy of your data",
    }],
    takes_distribution: false,
    takes_shape: false,
    is_divisible: false,
    trial: Trial {
        data: &[],
        mix: None,
        transactions: 0,
    },
    kind_trial: KindTrial {
        data: &[],
        are_alone: false,
        mix: None,
    },
    make: |spec| {
        let own = spec.own.as_ref().ok_or(WorkloadError::Nothing)?;
        // They may be those of a store that somebody changed.
        let weights = own.scripts.iter().map(|script| script.weight);
        let mix = Mix::of_weights(weights.collect()).ok_or(WorkloadError::Nothing)?;
        Ok(Box::new(OwnWorkload {
            data: spec.data,
            mix,
            own: Arc::clone(own),
        }))
    },
};

const BYTES: Parameter = Parameter {
    name: "bytes",
    unit: Unit::Bytes,
    help: "Bytes of the database that is copied",
    noun: None,
    label: ", ",
    default: |_| 0,
    min: |_| 0,
    max: u64::MAX,
    multiple_of: 1,
};

/// What tells one state of a database from another, so that a copy is not taken for one of
/// later rows.
const STATE: Parameter = Parameter {
    name: "state",
    unit: Unit::Count,
    help: "Fingerprint of the database that is copied",
    noun: None,
    label: "",
    default: |_| 0,
    min: |_| 0,
    max: u64::MAX,
    multiple_of: 1,
};

/// The rows of a copy.
pub fn data(own: &Own) -> DataSpec {
    FAMILY
        .data
        .of_values(&[own.copy.size.get(), own.copy.state])
}

/// Rows of a copy that was not looked at yet: they stand for one that will be.
pub fn unread() -> DataSpec {
    FAMILY.data.of_values(&[0, 0])
}

/// The name of the workload.
pub fn name() -> WorkloadName {
    FAMILY.first()
}

/// The statement that checks the data, where a database has one.
const CHECK: StatementId = StatementId(0);

struct OwnWorkload {
    data: DataSpec,
    own: Arc<Own>,
    mix: Mix,
}

impl OwnWorkload {
    fn prepared(&self) -> Option<&Prepared> {
        self.own.prepared.as_ref()
    }

    fn has_check(&self) -> bool {
        self.prepared().is_some_and(|prepared| prepared.has_check)
    }
}

impl Workload for OwnWorkload {
    fn name(&self) -> &'static str {
        FAMILY.first().name()
    }

    fn data_spec(&self) -> DataSpec {
        self.data
    }

    fn tables(&self) -> &[Table] {
        &[]
    }

    fn statements(&self) -> &'static [Statement] {
        self.prepared().map_or(&[], |prepared| prepared.statements)
    }

    fn transactions(&self) -> &'static [TransactionKind] {
        match self.prepared() {
            Some(prepared) => prepared.kinds,
            None => {
                // Of a store: only names are asked for.
                let names = self.own.scripts.iter().map(|script| script.name.clone());
                let is_script = self.own.recording.is_none() && self.own.digests.is_none();
                let kind = match is_script {
                    true => TransactionKind::script,
                    false => TransactionKind::plain,
                };
                Vec::leak(names.map(|name| kind(String::leak(name))).collect())
            }
        }
    }

    fn mix(&self) -> &Mix {
        &self.mix
    }

    fn counted_name(&self) -> &'static str {
        "transactions"
    }

    fn population(&self) -> Arc<dyn Population + Send> {
        Arc::new(NoRows)
    }

    fn clients(&self, seed: Seed, count: u32) -> Vec<Box<dyn Client>> {
        let prepared = self
            .prepared()
            .expect("what was read from a store does not run");
        match &prepared.runs {
            Runs::Scripts(programs) => boxed(count, |index| {
                OwnClient::new(programs, prepared.kinds, &self.mix, seed, index)
            }),
            Runs::Recorded(replayed) => {
                let recording = &replayed.recording;
                let of_clients = match replayed.pace {
                    Some(_) => recording.by_client_in_time(count),
                    None => recording.by_client(count),
                };
                let mut of_clients = of_clients.into_iter();
                boxed(count, |_| {
                    let order = of_clients.next().unwrap_or_default();
                    RecordedClient::new(replayed, prepared.kinds, order)
                })
            }
            Runs::Digests(drawn) => boxed(count, |index| {
                DigestClient::new(drawn, prepared.kinds, &self.mix, seed, (index, count))
            }),
        }
    }

    fn page_trace(&self) -> Option<&Arc<PageTrace>> {
        self.prepared()?.trace.as_ref()
    }

    fn touch_tracer(&self) -> TouchTracer {
        unreachable!("own statements are predicted from the pages that they refer to")
    }

    fn own(&self) -> Option<&Own> {
        Some(&self.own)
    }

    fn check(&self, connection: &mut dyn Connection) -> Result<Vec<Condition>> {
        if !self.has_check() {
            return Ok(Vec::new());
        }
        let mut condition = Condition::new("pages and indexes are sound");
        connection.query(CHECK, &[], &mut |row| {
            let found = row.value(0);
            condition.expect(found == Value::Text("ok"), || match found {
                Value::Text(text) => text.to_owned(),
                _ => "the check answered with no text".into(),
            });
        })?;
        Ok(vec![condition])
    }
}

/// There are no rows to make.
struct NoRows;

impl Population for NoRows {
    fn partitions(&self) -> Vec<Partition> {
        Vec::new()
    }

    fn generate(
        &self,
        _partition: &Partition,
        _batch: &mut RowBatch,
        _consume: &mut dyn FnMut(&mut RowBatch) -> bool,
    ) {
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::{ByteCount, PageSize};

    use super::*;
    use crate::{
        WorkloadSpec,
        user::{CopyOf, OwnScript},
    };

    #[test]
    fn weights_of_a_changed_store_are_refused() {
        let build = |weights: &[u32]| {
            let script = |weight: &u32| OwnScript {
                name: "mix.sql".into(),
                weight: *weight,
                fingerprint: 0,
            };
            let own = Own::new(
                CopyOf::whole("my.db", ByteCount::mib(1), PageSize::kib(4), "my.db"),
                weights.iter().map(script).collect(),
            );
            WorkloadSpec {
                own: Some(Arc::new(own.clone())),
                ..WorkloadSpec::new(name(), data(&own), Seed::new(1))
            }
            .build()
            .map(drop)
        };
        assert!(build(&[3, 1]).is_ok());
        for weights in [&[][..], &[0], &[u32::MAX, 2]] {
            assert!(
                matches!(build(weights), Err(WorkloadError::Nothing)),
                "{weights:?}"
            );
        }
    }
}

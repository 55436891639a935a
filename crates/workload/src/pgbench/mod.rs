//! pgbench, with the tables, rows and built-in scripts of PostgreSQL 17's
//! (<https://github.com/postgres/postgres/blob/REL_17_STABLE/src/bin/pgbench/pgbench.c>).
//!
//! Where it differs: `mtime` comes from a clock that advances with each draw
//! instead of the server's, so that one seed gives one outcome, and a change
//! that meets no row is an error.

mod audit;
mod check;
mod client;
mod keyed;
mod population;
mod schema;
mod script;
mod statements;
mod touched;

use std::sync::Arc;

use octavo_units::{ByteCount, Seed};

pub use script::Script;

use crate::{
    Client, Condition, Connection, ConnectionError, DataError, DataKind, DataSpec, Deviation,
    Family, KindTrial, Mix, Parameter, ROW_BYTES, TransactionKind, Trial, Unit, Workload, boxed,
    connection::{Statement, StatementId},
    keyed::Keyed,
    population::Population,
    schema::Table,
    touch::TouchTracer,
};
use client::PgbenchClient;
use population::PgbenchPopulation;
use schema::{FILLER, integer_bytes};
use touched::TouchedRows;

/// pgbench's built-in scripts, scaled by branches.
pub static FAMILY: Family = Family {
    data: DataKind {
        name: "pgbench",
        title: "pgbench",
        parameters: &[SCALE, ROW],
    },
    members: &script::MEMBERS,
    takes_distribution: false,
    takes_shape: false,
    is_divisible: true,
    trial: Trial {
        data: &[("scale", 1)],
        mix: Some("tpcb-like=2,simple-update=1,select-only=1"),
        transactions: 300,
    },
    kind_trial: KindTrial {
        data: &[],
        are_alone: true,
        mix: None,
    },
    make: |spec| {
        let mut pgbench = Pgbench::new(spec.scale_u32(), spec.seed)?
            .with_script(Script::ALL[spec.name.position()]);
        if let Some(row) = spec.data.row_bytes() {
            pgbench = pgbench.with_row(row)?;
        }
        let mix = spec.mix_for(&pgbench)?;
        Ok(Box::new(pgbench.with_mix(mix)))
    },
};

const SCALE: Parameter = Parameter {
    name: "scale",
    unit: Unit::Count,
    help: "pgbench's scale, 100,000 accounts each",
    noun: None,
    label: ", scale: ",
    default: |_| 10,
    min: |_| 1,
    max: Pgbench::SCALE_MAX as u64,
    multiple_of: 1,
};

/// pgbench's own rows are as narrow as can be: wider ones have more filler.
const ROW: Parameter = Parameter {
    name: ROW_BYTES,
    unit: Unit::Bytes,
    help: "Bytes of a pgbench account's columns",
    noun: None,
    label: ", rows of ",
    default: row_min,
    min: row_min,
    max: Pgbench::ROW_MAX.get(),
    multiple_of: 1,
};

/// pgbench at one scale: 100,000 accounts, 10 tellers and a branch a unit.
#[derive(Clone, Debug)]
pub struct Pgbench {
    scale: u32,
    row: ByteCount,
    script: Script,
    mix: Mix,
    tables: [Table; 4],
}

impl Pgbench {
    /// The largest scale, 10^10 accounts: a guard against mistyped flags.
    pub const SCALE_MAX: u32 = 100_000;

    /// The widest row of an account, so that it fits MySQL's largest with a
    /// byte a character.
    pub const ROW_MAX: ByteCount = ByteCount::new(60_000);

    /// The script tpcb-like at `scale`, 1 to [`Self::SCALE_MAX`], with rows as
    /// wide as pgbench's. Nothing in these is random, so that `_seed`, which
    /// every workload takes, changes nothing.
    ///
    /// # Errors
    /// [`DataError::Range`] of `scale`.
    pub fn new(scale: u32, _seed: Seed) -> Result<Self, DataError> {
        SCALE.check(scale.into(), 0)?;
        Ok(Self {
            scale,
            row: ByteCount::new(row_min(scale.into())),
            script: Script::TpcbLike,
            mix: Script::TpcbLike.mix(),
            tables: schema::tables(scale, FILLER),
        })
    }

    /// The same with another script's name and mix.
    pub fn with_script(self, script: Script) -> Self {
        Self {
            script,
            mix: script.mix(),
            ..self
        }
    }

    /// The same with a wider filler, so that the columns of an account have
    /// `row` bytes as they are declared: a number 4 (`aid` 8 from scale 20,000
    /// on), a character 1. From pgbench's own 96 (100) to [`Self::ROW_MAX`].
    ///
    /// # Errors
    /// [`DataError::Range`] of `row-bytes`.
    pub fn with_row(self, row: ByteCount) -> Result<Self, DataError> {
        ROW.check(row.get(), self.scale.into())?;
        Ok(Self {
            row,
            tables: schema::tables(self.scale, filler(self.scale, row)),
            ..self
        })
    }

    /// The same with another mix of the scripts: tpcb-like, simple-update,
    /// select-only. Each transaction's is drawn by itself, as with pgbench's
    /// `-b name@weight`.
    ///
    /// # Panics
    /// When it has not these three kinds.
    pub fn with_mix(self, mix: Mix) -> Self {
        assert_eq!(mix.weights().len(), Script::ALL.len());
        Self { mix, ..self }
    }

    /// The scale.
    pub fn scale(&self) -> u32 {
        self.scale
    }

    fn weight(&self, script: Script) -> u32 {
        self.mix.weights()[script as usize]
    }
}

/// The bytes of an account's columns as pgbench declares them.
fn row_min(scale: u64) -> u64 {
    integer_bytes(scale) + u64::from(FILLER)
}

/// The characters of the filler in a row of at most [`Pgbench::ROW_MAX`].
fn filler(scale: u32, row: ByteCount) -> u32 {
    (row.get() - integer_bytes(scale.into())) as u32
}

impl Workload for Pgbench {
    fn name(&self) -> &'static str {
        self.script.workload_name()
    }

    fn data_spec(&self) -> DataSpec {
        FAMILY.data.of_values(&[self.scale.into(), self.row.get()])
    }

    fn tables(&self) -> &[Table] {
        &self.tables
    }

    fn statements(&self) -> &'static [Statement] {
        statements::STATEMENTS
    }

    fn keyed(&self, statement: StatementId) -> Option<Keyed> {
        Some(keyed::keyed(statement))
    }

    fn transactions(&self) -> &'static [TransactionKind] {
        &script::TRANSACTIONS
    }

    fn mix(&self) -> &Mix {
        &self.mix
    }

    fn counted_name(&self) -> &'static str {
        "transactions"
    }

    fn population(&self) -> Arc<dyn Population + Send> {
        let filler = filler(self.scale, self.row);
        Arc::new(PgbenchPopulation::new(self.scale, filler))
    }

    fn clients(&self, seed: Seed, count: u32) -> Vec<Box<dyn Client>> {
        boxed(count, |index| {
            PgbenchClient::new(self.scale, &self.mix, seed, index)
        })
    }

    fn touch_tracer(&self) -> TouchTracer {
        let accounts = u64::from(self.scale) * schema::ACCOUNTS_PER_UNIT.unsigned_abs();
        TouchTracer::new(
            TouchedRows::new(accounts),
            statements::STATEMENTS,
            self.tables(),
        )
    }

    fn deviations(&self, connections: u32) -> Vec<Deviation> {
        let mut deviations = Vec::new();
        if connections > self.scale && self.weight(Script::TpcbLike) > 0 {
            deviations.push(Deviation::FewBranches {
                connections,
                branches: self.scale,
            });
        }
        if self.row.get() > row_min(self.scale.into()) {
            // TOAST_TUPLE_THRESHOLD: four rows a page
            // (<https://www.postgresql.org/docs/17/storage-toast.html>).
            deviations.push(Deviation::BlankRows);
        }
        deviations
    }

    /// Balances are compared with all of the history: it has to be the one
    /// that was begun with the initial rows. That tellers and branches agree
    /// with it is only asked of a mix without simple-update, which leaves them
    /// out.
    fn check(&self, connection: &mut dyn Connection) -> Result<Vec<Condition>, ConnectionError> {
        let every_change_has_a_branch = self.weight(Script::SimpleUpdate) == 0;
        check::check(connection, self.scale, every_change_has_a_branch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::ColumnKind;

    fn pgbench(scale: u32) -> Pgbench {
        Pgbench::new(scale, Seed::new(1)).unwrap()
    }

    #[test]
    fn a_scale_out_of_range_is_named() {
        let error = Pgbench::new(0, Seed::new(1)).unwrap_err();
        assert_eq!(error.to_string(), "scale must be 1 to 100000, not 0");
        assert!(Pgbench::new(Pgbench::SCALE_MAX, Seed::new(1)).is_ok());
        assert!(Pgbench::new(Pgbench::SCALE_MAX + 1, Seed::new(1)).is_err());
    }

    #[test]
    fn wider_rows_widen_the_filler_of_accounts_alone() {
        let filler = |pgbench: &Pgbench, table: usize| {
            pgbench.tables()[table].columns.last().map(|last| last.kind)
        };
        for (scale, row, wanted) in [(1, 96, 84), (1, 60_000, 59_988), (20_000, 101, 85)] {
            let pgbench = pgbench(scale).with_row(ByteCount::new(row)).unwrap();
            let wanted = Some(ColumnKind::Char(wanted));
            assert_eq!(filler(&pgbench, schema::ACCOUNTS), wanted);
            for (table, own) in [
                (schema::TELLERS, 84),
                (schema::BRANCHES, 88),
                (schema::HISTORY, 22),
            ] {
                assert_eq!(filler(&pgbench, table), Some(ColumnKind::Char(own)));
            }
            let given = [("scale", scale.into()), (ROW_BYTES, row)];
            assert_eq!(pgbench.data_spec(), FAMILY.data.data_spec(&given).unwrap());
        }
        for (scale, row, range) in [(1, 95, "96 to 60000"), (20_000, 96, "100 to 60000")] {
            let error = pgbench(scale).with_row(ByteCount::new(row)).unwrap_err();
            let wanted = format!("row-bytes must be {range}, not {row}");
            assert_eq!(error.to_string(), wanted);
        }
        assert!(pgbench(1).with_row(ByteCount::new(60_001)).is_err());
    }

    #[test]
    fn scripts_set_name_and_mix() {
        for (script, name, weights) in [
            (Script::TpcbLike, "pgbench", [1, 0, 0]),
            (Script::SimpleUpdate, "pgbench-simple-update", [0, 1, 0]),
            (Script::SelectOnly, "pgbench-select-only", [0, 0, 1]),
        ] {
            let pgbench = pgbench(1).with_script(script);
            assert_eq!(pgbench.name(), name);
            assert_eq!(pgbench.mix().weights(), weights);
            let mixed = pgbench.with_mix(Mix::new(&[1, 2, 3]));
            assert_eq!(mixed.name(), name);
            assert_eq!(mixed.mix().weights(), [1, 2, 3]);
        }
    }

    #[test]
    fn more_connections_than_branches_are_caveats() {
        let pgbench = pgbench(4);
        assert!(pgbench.deviations(4).is_empty());
        let few = Deviation::FewBranches {
            connections: 5,
            branches: 4,
        };
        assert_eq!(pgbench.deviations(5), [few]);
        let others = pgbench.with_mix(Mix::new(&[0, 1, 1]));
        assert!(others.deviations(5).is_empty());
        let wide = others.with_row(ByteCount::new(97)).unwrap();
        assert_eq!(wide.deviations(5)[0], Deviation::BlankRows);
    }
}

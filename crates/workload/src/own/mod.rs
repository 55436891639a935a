//! The user's own statements, on a copy of the user's own rows.
//!
//! Unlike the other workloads it has no rows of its own making and no tables that it knows: a
//! database copies them ([`CopyOf`]), and says what SQL a script's statements are there
//! ([`Prepared`]). Nothing of the statements goes into a store or a report: these have names,
//! weights and fingerprints.

mod client;

use std::sync::Arc;

use octavo_script::Program;
use octavo_units::{ByteCount, PageSize, Seed};
use serde::{Deserialize, Serialize};

use crate::{
    Client, Condition, Connection, DataKind, DataSpec, Family, KindTrial, Member, Mix, Parameter,
    Result, TransactionKind, Trial, Unit, Workload, WorkloadError, WorkloadName, boxed,
    connection::{Statement, StatementId, Value},
    population::{Partition, Population, RowBatch},
    schema::{ColumnKind, Table},
    touch::TouchTracer,
};
use client::OwnClient;

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
    is_divisible: false,
    trial: Trial {
        data: &[],
        mix: None,
        transactions: 0,
    },
    kind_trial: KindTrial {
        data: &[],
        are_alone: false,
    },
    make: |spec| match &spec.own {
        Some(own) => Ok(Box::new(OwnWorkload {
            data: spec.data,
            mix: Mix::new(
                &own.scripts
                    .iter()
                    .map(|script| script.weight)
                    .collect::<Vec<_>>(),
            ),
            own: Arc::clone(own),
        })),
        None => Err(WorkloadError::Nothing),
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

/// The name of the workload.
pub fn name() -> WorkloadName {
    FAMILY.first()
}

/// The user's database as it was when it was looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CopyOf {
    /// What it is called in reports: a file's name without its directory.
    pub name: String,
    /// Its size.
    pub size: ByteCount,
    /// Its page size.
    pub page_size: PageSize,
    /// What tells its state from later ones.
    pub state: u64,
    /// Where it is. Stores do not keep it.
    #[serde(skip)]
    pub source: std::path::PathBuf,
}

/// A script of a workload: what may be told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnScript {
    /// Its name in reports: a file's name without its directory.
    pub name: String,
    /// How often it is drawn, out of the sum of all weights.
    pub weight: u32,
    /// What tells its text and definitions from others.
    pub fingerprint: u64,
}

/// The user's own workload, as plans and stores keep it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Own {
    /// Whose rows.
    pub copy: CopyOf,
    /// The scripts, at least one.
    pub scripts: Vec<OwnScript>,
    /// Whether the script was guessed from the schema.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_guess: bool,
    /// What runs. A store does not keep it, so that what was read from one can be looked at, not
    /// run.
    #[serde(skip)]
    pub prepared: Option<Prepared>,
}

/// Two are equal if they would do the same; one that was read from a store has no programs.
impl PartialEq for Own {
    fn eq(&self, other: &Self) -> bool {
        self.scripts == other.scripts
            && (&self.copy.name, self.copy.state) == (&other.copy.name, other.copy.state)
    }
}

impl Own {
    /// The rows of its copy.
    pub fn data(&self) -> DataSpec {
        FAMILY
            .data
            .of_values(&[self.copy.size.get(), self.copy.state])
    }
}

/// Scripts as one database runs them.
#[derive(Clone, Debug)]
pub struct Prepared {
    programs: Arc<[OwnProgram]>,
    statements: &'static [Statement],
    kinds: &'static [TransactionKind],
}

/// A script's program, and where its statements begin among those of all scripts.
#[derive(Debug)]
struct OwnProgram {
    program: Program,
    first_statement: usize,
    /// Of each statement, whether it only reads and how many of its columns are wanted.
    statements: Vec<(bool, usize)>,
}

/// A script with the SQL of its statements in the words of one database.
#[derive(Debug)]
pub struct OwnStatements {
    /// Its name.
    pub name: String,
    /// The program.
    pub program: Program,
    /// Its statements.
    pub statements: Vec<OwnStatement>,
}

/// A statement in the words of one database.
#[derive(Clone, Debug)]
pub struct OwnStatement {
    /// SQL with parameters.
    pub sql: String,
    /// How many parameters it has.
    pub parameters: usize,
    /// How many columns of it become variables.
    pub columns: usize,
    /// Whether it only reads.
    pub reads: bool,
}

impl Prepared {
    /// Of scripts in their order. A database may add a `check`, a query whose rows are one text
    /// each: what is wrong with the data, or "ok".
    ///
    /// A process has one workload of its own, and what workloads declare lives as long as the
    /// process: statements and names are never freed.
    pub fn new(scripts: Vec<OwnStatements>, check: Option<&'static str>) -> Self {
        let mut statements: Vec<Statement> = Vec::new();
        let mut kinds = Vec::new();
        let mut programs = Vec::new();
        if let Some(check) = check {
            statements.push(Statement::of_user(check, 0, 1));
        }
        for script in scripts {
            kinds.push(TransactionKind::plain(String::leak(script.name)));
            let of_statement = |own: &OwnStatement| (own.reads, own.columns);
            programs.push(OwnProgram {
                program: script.program,
                first_statement: statements.len(),
                statements: script.statements.iter().map(of_statement).collect(),
            });
            statements.extend(
                script.statements.into_iter().map(|own| {
                    Statement::of_user(String::leak(own.sql), own.parameters, own.columns)
                }),
            );
        }
        Self {
            programs: programs.into(),
            statements: Vec::leak(statements),
            kinds: Vec::leak(kinds),
        }
    }
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
        self.prepared()
            .and_then(|prepared| prepared.programs.first())
            .is_some_and(|first| first.first_statement > CHECK.0)
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
                Vec::leak(
                    names
                        .map(|name| TransactionKind::plain(String::leak(name)))
                        .collect(),
                )
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
        boxed(count, |index| {
            OwnClient::new(prepared, &self.mix, seed, index)
        })
    }

    fn touch_tracer(&self) -> TouchTracer {
        unreachable!("predictions of own statements are refused")
    }

    fn copy_of(&self) -> Option<&CopyOf> {
        Some(&self.own.copy)
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

impl Statement {
    /// A user's statement: what it touches is not known.
    fn of_user(sql: &'static str, parameters: usize, columns: usize) -> Self {
        Self::new(
            sql,
            Vec::leak(vec![ColumnKind::Any; parameters]),
            Vec::leak(vec![ColumnKind::Any; columns]),
            &[],
        )
    }
}

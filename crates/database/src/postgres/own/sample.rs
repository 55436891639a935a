//! A sample of the user's rows: its tables by `pg_dump` as ever, but for those that are sampled.
//! Their rows are selected by `psql` in a transaction whose snapshot `pg_dump` has too.

use std::{
    cell::RefCell,
    env::temp_dir,
    ffi::{OsStr, OsString},
    fs::File,
    io::{BufWriter, Write as _},
    iter,
    ops::ControlFlow,
    path::Path,
};

use octavo_units::{ByteCount, Seed};
use octavo_workload::user::{CopyOf, Copying, Share};
use rustix::process::Signal;
use serde::{Deserialize, de::DeserializeOwned};
use tempfile::TempDir;

use super::{original::Original, restore::Dump, setup::Setup, tools::environment};
use crate::{
    DatabaseError, Own, Progress, Result,
    files::named,
    own::{
        sample::{
            ALIAS, Full, Of, Pair, Reference, Required, Sampling, Size, Table, WHOLE_BYTES_MAX,
            WHOLE_MAX,
        },
        told_if_lost,
    },
    server::{piped::Piped, process::Launch},
};

/// What ends an answer: COPY writes no such line, because it doubles a backslash.
const END: &str = "\\.";

/// Tables with the partitions that have their rows, and foreign keys between them. Partitions have
/// the foreign keys of their tables again. What they alone have says nothing of the table's other
/// rows, and one that is not valid says nothing of older rows.
const QUESTION: &str = "\
    WITH RECURSIVE part(root, oid) AS ( \
      SELECT c.oid, c.oid FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace \
      WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't' \
        AND n.nspname NOT IN ('pg_catalog', 'information_schema') \
        AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_class'::regclass \
          AND d.objid = c.oid AND d.deptype = 'e') \
      UNION ALL SELECT p.root, i.inhrelid FROM part AS p \
        JOIN pg_inherits AS i ON i.inhparent = p.oid \
        JOIN pg_class AS c ON c.oid = i.inhrelid AND c.relispartition), \
    found AS ( \
      SELECT child.root AS child, parent.root AS parent, \
        (SELECT json_agg(json_build_object( \
           'child', quote_ident(of_child.attname), 'parent', quote_ident(of_parent.attname), \
           'equals', format('OPERATOR(%I.%s)', n.nspname, o.oprname)) ORDER BY k.place)::text \
         FROM unnest(f.conkey, f.confkey, f.conpfeqop) WITH ORDINALITY \
           AS k(child, parent, operator, place) \
         JOIN pg_attribute AS of_child \
           ON of_child.attrelid = f.conrelid AND of_child.attnum = k.child \
         JOIN pg_attribute AS of_parent \
           ON of_parent.attrelid = f.confrelid AND of_parent.attnum = k.parent \
         JOIN pg_operator AS o ON o.oid = k.operator \
         JOIN pg_namespace AS n ON n.oid = o.oprnamespace) AS columns, \
        f.conrelid = child.root AND (SELECT bool_and(a.attnotnull) FROM pg_attribute AS a \
         WHERE a.attrelid = f.conrelid AND a.attnum = ANY (f.conkey)) AS is_required, \
        f.conrelid = child.root AND f.convalidated AS is_checked \
      FROM pg_constraint AS f JOIN part AS child ON child.oid = f.conrelid \
      JOIN part AS parent ON parent.oid = f.confrelid WHERE f.contype = 'f'), \
    key AS ( \
      SELECT child, parent, columns, bool_or(is_required) AS is_required, \
        bool_or(is_checked) AS is_checked FROM found GROUP BY child, parent, columns) \
    SELECT json_build_object( \
      'tables', (SELECT coalesce(json_agg(json_build_object( \
        'oid', c.oid::bigint, \
        'from', CASE c.relkind WHEN 'r' THEN 'ONLY ' ELSE '' END \
          || format('%I.%I', n.nspname, c.relname), \
        'is_foreign', EXISTS (SELECT FROM part AS p JOIN pg_class AS l ON l.oid = p.oid \
          WHERE p.root = c.oid AND l.relkind = 'f'), \
        'bytes', (SELECT coalesce(sum(pg_total_relation_size(p.oid)), 0)::bigint FROM part AS p \
          WHERE p.root = c.oid), \
        'key', (SELECT coalesce(json_agg(quote_ident(a.attname) ORDER BY k.place), '[]') \
          FROM pg_constraint AS f, unnest(f.conkey) WITH ORDINALITY AS k(number, place) \
          JOIN pg_attribute AS a ON a.attnum = k.number \
          WHERE f.conrelid = c.oid AND f.contype = 'p' AND a.attrelid = c.oid), \
        'leaves', (SELECT coalesce(json_agg(json_build_object( \
            'oid', l.oid::bigint, 'name', format('%I.%I', of.nspname, l.relname), \
            'pattern', '\"' || replace(of.nspname, '\"', '\"\"') || '\".\"' \
              || replace(l.relname, '\"', '\"\"') || '\"', \
            'columns', (SELECT coalesce(json_agg(quote_ident(a.attname) ORDER BY a.attnum), '[]') \
              FROM pg_attribute AS a WHERE a.attrelid = l.oid AND a.attnum > 0 \
              AND NOT a.attisdropped AND coalesce(to_jsonb(a) ->> 'attgenerated', '') = '')) \
            ORDER BY of.nspname, l.relname), '[]') \
          FROM part AS p JOIN pg_class AS l ON l.oid = p.oid AND l.relkind = 'r' \
          JOIN pg_namespace AS of ON of.oid = l.relnamespace WHERE p.root = c.oid)) \
        ORDER BY n.nspname, c.relname), '[]') \
        FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace \
        WHERE c.oid IN (SELECT root FROM part)), \
      'references', (SELECT coalesce(json_agg(json_build_object('child', child::bigint, \
        'parent', parent::bigint, 'columns', columns::json, 'is_required', is_required, 'is_checked', is_checked)), \
        '[]') \
        FROM key))";

/// What the server says of its tables.
#[derive(Debug, Deserialize)]
struct Facts {
    tables: Vec<FoundTable>,
    references: Vec<FoundReference>,
}

#[derive(Debug, Deserialize)]
struct FoundTable {
    oid: u32,
    from: String,
    /// Whether a partition has its rows on another server.
    is_foreign: bool,
    bytes: u64,
    key: Vec<String>,
    leaves: Vec<Leaf>,
}

/// What has rows: a table, or a partition of one.
#[derive(Debug, Deserialize)]
struct Leaf {
    oid: u32,
    name: String,
    /// As `pg_dump` takes it.
    pattern: String,
    /// Those that are not computed.
    columns: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct FoundReference {
    child: u32,
    parent: u32,
    columns: Vec<FoundPair>,
    is_required: bool,
    is_checked: bool,
}

#[derive(Debug, Deserialize)]
struct FoundPair {
    child: String,
    parent: String,
    equals: String,
}

/// Looks at a database, and at what a copy of it would have.
pub(super) fn examine(
    original: &Original,
    source: &OsStr,
    copying: &Copying,
    stopped: &dyn Fn() -> bool,
) -> Result<Own> {
    original.examine(source)?.copied(copying, |share| {
        let directory =
            TempDir::with_prefix("octavo-").map_err(named("create a directory in", &temp_dir()))?;
        let of = (share, copying.seed);
        Snapshot::open(original, of, directory.path(), None, stopped)
            .and_then(Snapshot::size)
            .map_err(told_if_lost)
    })
}

/// Dumps the rows that a copy has.
pub(super) fn dump(
    original: &Original,
    dump: &Dump,
    setup: &Setup,
    copy: &CopyOf,
    progress: &mut Progress<'_>,
) -> Result<()> {
    let progress = RefCell::new(progress);
    let stopped = || (progress.borrow_mut())(dump.written()) == ControlFlow::Break(());
    match copy.sample {
        None => original.run(dump, Vec::new(), copy.rate, &stopped)?,
        Some(sample) => {
            let of = (sample.share, sample.seed);
            let mut snapshot = Snapshot::open(original, of, dump.directory(), copy.rate, &stopped)?;
            let arguments = snapshot.dump_arguments()?;
            original.run(dump, arguments, copy.rate, &stopped)?;
            snapshot.write_rows(&dump.rows())?;
        }
    }
    dump.note(setup)
}

/// One state of the user's database, open to be read.
pub(super) struct Snapshot<'s> {
    psql: Piped<'s>,
    original: &'s Original,
    sampling: Sampling,
    /// What has the rows of each table.
    leaves: Vec<Vec<Leaf>>,
    encoding: &'static str,
}

impl<'s> Snapshot<'s> {
    /// Opens it, with a log in a directory, and decides how each table is sampled.
    pub(super) fn open(
        original: &'s Original,
        (share, seed): (Share, Seed),
        directory: &Path,
        rate: Option<ByteCount>,
        stopped: &'s dyn Fn() -> bool,
    ) -> Result<Self> {
        let log = directory.join("sample.log");
        // Texts of databases without an encoding cannot be converted, nor need they be.
        let encoding = match original.setup().encoding() {
            "SQL_ASCII" => "SQL_ASCII",
            _ => "UTF8",
        };
        let program = original.tools().path("psql");
        let url = original.url();
        let launch = Launch {
            program: &program,
            arguments: vec![
                "--no-psqlrc".into(),
                "--no-password".into(),
                "--quiet".into(),
                "--tuples-only".into(),
                "--no-align".into(),
                "--set=ON_ERROR_STOP=1".into(),
                "--dbname".into(),
                url.bare().into(),
            ],
            directory,
            log: &log,
            account: None,
            group: None,
            // It cancels its statement on the server then.
            on_death: Signal::INT,
            input: None,
            environment: environment(url.password(), Some(encoding)),
        };
        let mut psql = Piped::start("sample your database", &launch, rate, stopped)?;
        // As pg_dump has it, and rows in one order each time.
        psql.send(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;\n\
             SET LOCAL search_path = ''; SET LOCAL lock_timeout = '30s';\n\
             SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;\n\
             SET LOCAL row_security = off; SET LOCAL standard_conforming_strings = on;\n\
             SET LOCAL datestyle = 'ISO'; SET LOCAL intervalstyle = 'postgres';\n\
             SET LOCAL extra_float_digits = 3; SET LOCAL synchronize_seqscans = off;\n\
             SET LOCAL max_parallel_workers_per_gather = 0;\n",
        )?;
        // Servers have it since 17, and SET fails on others.
        let timeout = "SELECT pg_catalog.set_config(name, '0', true) FROM pg_catalog.pg_settings \
            WHERE name = 'transaction_timeout'";
        keeping(&mut psql, timeout, &mut |_| Ok(()))?;
        let facts: Facts = one(&mut psql, original, QUESTION)?;
        let mut tables = Vec::new();
        let mut leaves = Vec::new();
        let mut oids = Vec::new();
        for found in facts.tables {
            if found.is_foreign {
                return Err(original.refuse(format!(
                    "has the table {} with partitions on another server, of which no sample is made: \
                     leave --sample out",
                    found.from
                )));
            }
            let few = of_a_tool(&format!(
                "SELECT count(*) <= {WHOLE_MAX} FROM \
                 (SELECT FROM {} LIMIT {WHOLE_MAX} + 1) AS first",
                found.from
            ));
            let mut is_whole = found.leaves.iter().all(|leaf| leaf.columns.is_empty());
            let is_small = found.bytes <= WHOLE_BYTES_MAX;
            query(&mut psql, &few, &mut |line| {
                is_whole |= is_small && line == "t";
                Ok(())
            })?;
            let columns = match found.key.is_empty() {
                // Where a row lies does not change in one snapshot.
                true => vec![format!("{ALIAS}.tableoid"), format!("{ALIAS}.ctid")],
                false => found
                    .key
                    .iter()
                    .map(|column| format!("{ALIAS}.{column}"))
                    .collect(),
            };
            tables.push(Table {
                name: found.from.trim_start_matches("ONLY ").to_owned(),
                from: found.from,
                bytes: found.bytes,
                is_whole,
                drawn_by: columns,
                key: found.key,
                numbered: None,
            });
            leaves.push(found.leaves);
            oids.push(found.oid);
        }
        let place = |oid: u32| oids.iter().position(|other| *other == oid);
        let references = facts.references.into_iter().filter_map(|found| {
            let columns = found.columns.into_iter().map(|pair| Pair {
                child: pair.child,
                parent: pair.parent,
                equals: pair.equals,
            });
            Some(Reference {
                child: place(found.child)?,
                parent: place(found.parent)?,
                columns: columns.collect(),
                is_required: found.is_required,
                is_checked: found.is_checked,
            })
        });
        let references = references.collect();
        let mut sampling = Sampling::new(tables, references, share, seed, hashed);
        sampling.count(&mut |sql| one(&mut psql, original, &of_a_tool(sql)))?;
        Ok(Self {
            psql,
            original,
            sampling,
            leaves,
            encoding,
        })
    }

    /// How large the sample is.
    pub(super) fn size(mut self) -> Result<Size> {
        let required = self.required()?;
        self.psql.send("COMMIT;\n")?;
        self.psql.finish()?;
        Ok(self.sampling.size(&required))
    }

    /// What makes `pg_dump` see the same state, without the rows of tables that are sampled.
    pub(super) fn dump_arguments(&mut self) -> Result<Vec<OsString>> {
        let mut arguments = Vec::new();
        let export = "SELECT pg_catalog.pg_export_snapshot()";
        keeping(&mut self.psql, export, &mut |name| {
            arguments.push(format!("--snapshot={name}").into());
            Ok(())
        })?;
        let leaves = self.sampled().flat_map(|table| &self.leaves[table]);
        let patterns: Vec<&str> = leaves.map(|leaf| leaf.pattern.as_str()).collect();
        // pg_dump sends patterns as they are, in the server's encoding unless it is told another one.
        if !patterns.iter().all(|pattern| pattern.is_ascii()) {
            arguments.push(format!("--encoding={}", self.encoding).into());
        }
        let excluded = patterns.iter();
        arguments.extend(excluded.map(|pattern| format!("--exclude-table-data={pattern}").into()));
        Ok(arguments)
    }

    fn sampled(&self) -> impl Iterator<Item = usize> + use<'_, 's> {
        (0..self.leaves.len()).filter(|&table| !self.sampling.is_whole(table))
    }

    /// Writes the sampled rows to a file that `psql` reads.
    pub(super) fn write_rows(mut self, path: &Path) -> Result<()> {
        // pg_dump may have waited for who changed a table that was counted.
        self.check_unchanged((0..self.leaves.len()).collect())?;
        let required = self.required()?;
        let file = File::create(path).map_err(named("create", path))?;
        let mut file = BufWriter::with_capacity(1 << 18, file);
        let failed = |error| named("write", path)(error);
        let header = format!(
            "SET client_encoding = '{}'; SET datestyle = 'ISO'; SET intervalstyle = 'postgres'; \
             SET search_path = '';\n",
            self.encoding
        );
        file.write_all(header.as_bytes()).map_err(failed)?;
        let sampled: Vec<usize> = self.sampled().collect();
        for &table in &sampled {
            let kept = self.sampling.kept(table, "t");
            for leaf in &self.leaves[table] {
                let columns = leaf.columns.join(", ");
                let begin = format!("COPY {} ({columns}) FROM stdin;\n", leaf.name);
                file.write_all(begin.as_bytes()).map_err(failed)?;
                let by_place = required.batches(table).filter_map(|keys| {
                    Some(format!("t.ctid = ANY ('{}'::tid[])", at(&keys, leaf.oid)?))
                });
                for condition in iter::once(kept.clone()).chain(by_place) {
                    let copy = format!(
                        "COPY (SELECT {columns} FROM ONLY {} AS t WHERE {condition}) TO STDOUT",
                        leaf.name
                    );
                    ask(&mut self.psql, &copy)?;
                    let mut is_first = true;
                    self.psql.parts_until(END, &mut |begins, part| {
                        let between: &[u8] = if begins && !is_first { b"\n" } else { b"" };
                        is_first = false;
                        let written = file.write_all(between);
                        written.and_then(|()| file.write_all(part)).map_err(failed)
                    })?;
                    let end: &[u8] = if is_first { b"" } else { b"\n" };
                    file.write_all(end).map_err(failed)?;
                }
                file.write_all(b"\\.\n").map_err(failed)?;
            }
        }
        file.flush().map_err(failed)?;
        self.check_unchanged(sampled)?;
        self.psql.send("COMMIT;\n")?;
        self.psql.finish()
    }

    /// Refuses tables whose rows were written anew since the snapshot, by TRUNCATE or some kinds of ALTER
    /// TABLE: it finds none of them
    /// (<https://www.postgresql.org/docs/current/mvcc-caveats.html>).
    fn check_unchanged(&mut self, tables: Vec<usize>) -> Result<()> {
        let leaves = tables.iter().flat_map(|&table| &self.leaves[table]);
        let oids: Vec<String> = leaves.map(|leaf| leaf.oid.to_string()).collect();
        // The table has the file of the snapshot, and the function answers the present one.
        let changed = format!(
            "SELECT c.oid::regclass FROM pg_class AS c WHERE c.oid = ANY ('{{{}}}'::oid[]) \
             AND c.relfilenode IS DISTINCT FROM pg_relation_filenode(c.oid) ORDER BY 1 LIMIT 1",
            oids.join(",")
        );
        let original = self.original;
        query(&mut self.psql, &changed, &mut |name| {
            Err(original.refuse(format!(
                "had the rows of {name} written anew while they were read, as by ALTER TABLE or \
                 TRUNCATE: run the same command again"
            )))
        })
    }

    /// The places of rows that foreign keys require beside those that are kept anyway.
    fn required(&mut self) -> Result<Required> {
        let Self {
            psql,
            original,
            sampling,
            ..
        } = self;
        sampling.close(&mut |reference, of: Of<'_>, found| {
            let required = sampling.required(reference, of, &by_key);
            // As in `of_a_tool`.
            let sql = format!(
                "SELECT p.tableoid || ' ' || p.ctid FROM {required} \
                 AND EXISTS (SELECT FROM pg_catalog.pg_am)"
            );
            query(psql, &sql, &mut |key| {
                found(key).map_err(|Full| original.refuse(Full::REASON.into()))
            })
        })
    }
}

/// The places of rows that lie in one of a table's partitions, as an array: `{"(0,1)","(0,2)"}`.
fn at(keys: &[Box<str>], leaf: u32) -> Option<String> {
    let number = leaf.to_string();
    let tids = keys.iter().filter_map(|key| {
        let (oid, tid) = key.split_once(' ')?;
        (oid == number).then(|| format!("\"{tid}\""))
    });
    let tids: Vec<String> = tids.collect();
    (!tids.is_empty()).then(|| format!("{{{}}}", tids.join(",")))
}

/// The condition that a row lies at one of these places.
fn by_key(alias: &str, keys: &[Box<str>]) -> String {
    let oids = keys
        .iter()
        .filter_map(|key| key.split_once(' ')?.0.parse().ok());
    let mut leaves: Vec<u32> = oids.collect();
    leaves.sort_unstable();
    leaves.dedup();
    let places = leaves.into_iter().filter_map(|leaf| {
        let tids = at(keys, leaf)?;
        Some(format!(
            "{alias}.tableoid = {leaf} AND {alias}.ctid = ANY ('{tids}'::tid[])"
        ))
    });
    format!("({})", places.collect::<Vec<_>>().join(" OR "))
}

/// SQL for a text's hash in hexadecimal digits.
pub(super) fn hashed(text: &str) -> String {
    format!("md5({text})")
}

/// A question for one value that names a table of the server's own, so that digests do not take it for
/// a program's. The rest is planned as before.
fn of_a_tool(sql: &str) -> String {
    format!("SELECT ({sql}) FROM pg_catalog.pg_am LIMIT 1")
}

/// Makes the end of an answer. See [`of_a_tool`].
fn end() -> String {
    format!("SELECT '{END}' FROM pg_catalog.pg_am LIMIT 1;\n")
}

/// Asks, and releases the locks on its tables at the end of the answer; the snapshot stays as it is.
/// An ALTER TABLE would wait for these locks, and pg_dump, whose end we wait for, behind it.
fn ask(psql: &mut Piped<'_>, sql: &str) -> Result<()> {
    psql.send(&format!(
        "SAVEPOINT octavo;\n{sql};\nROLLBACK TO SAVEPOINT octavo;\nRELEASE SAVEPOINT octavo;\n{}",
        end()
    ))
}

/// Asks for what is to stay with the transaction.
fn keeping(
    psql: &mut Piped<'_>,
    sql: &str,
    each: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<()> {
    psql.send(&format!("{sql};\n{}", end()))?;
    psql.lines_until(END, each)
}

/// The lines of an answer.
fn query(psql: &mut Piped<'_>, sql: &str, each: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
    ask(psql, sql)?;
    psql.lines_until(END, each)
}

/// An answer of one line of JSON.
fn one<T: DeserializeOwned>(psql: &mut Piped<'_>, original: &Original, sql: &str) -> Result<T> {
    let mut answer = String::new();
    query(psql, sql, &mut |line| {
        answer.push_str(line);
        Ok(())
    })?;
    let not_understood = |error: serde_json::Error| -> DatabaseError {
        original.refuse(format!("answers what is not understood: {error}"))
    };
    serde_json::from_str(&answer).map_err(not_understood)
}

#[cfg(test)]
pub(super) mod tests;

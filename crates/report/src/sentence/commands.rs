//! What to type to follow an answer, in the words of the database.

use octavo_database::Sqlite;
use octavo_experiment::{
    findings::{Findings, GroupFindings},
    plan::{Cell, Factor, Level},
    verdict::Verdict,
};
use octavo_units::PageSize;

use crate::document::Block;

/// What to type in one group. Empty unless page sizes of a known database are
/// compared.
pub(crate) fn commands(findings: &Findings, group: &GroupFindings) -> Vec<Block> {
    let Some(cell) = group
        .cells
        .first()
        .map(|cell| &cell.cell)
        .filter(|_| findings.plan.compare == Factor::PageSize)
    else {
        return Vec::new();
    };
    let wanted = match group.verdict {
        Verdict::Use {
            level: Level::PageSize(page_size),
            ..
        } => Some(page_size),
        _ => None,
    };
    match cell.database.name.as_str() {
        "sqlite" => sqlite(cell, wanted),
        "postgres" => postgres(cell, wanted),
        "mysql" | "mariadb" => innodb(cell, wanted),
        _ => Vec::new(),
    }
}

/// Sources: <https://www.sqlite.org/pragma.html#pragma_page_size> (the page
/// size of a database that exists changes with the next `VACUUM`, and not in
/// WAL mode) and <https://www.sqlite.org/pragma.html#pragma_cache_size>
/// (negative: KiB; for the connection alone).
fn sqlite(cell: &Cell, wanted: Option<PageSize>) -> Vec<Block> {
    let mut commands = Vec::new();
    if let Some(page_size) = wanted {
        let change = format!("PRAGMA page_size = {}; VACUUM;", page_size.get());
        let mode = cell
            .database
            .option("journal-mode")
            .unwrap_or(Sqlite::default().journal_mode.name());
        let statements = if mode.eq_ignore_ascii_case("wal") {
            vec![
                "PRAGMA journal_mode = DELETE;".into(),
                change,
                "PRAGMA journal_mode = WAL;".into(),
            ]
        } else {
            vec![change]
        };
        commands.push(Block::Commands {
            purpose: "Run once, with no other connection open and space for a second copy of the \
                      database"
                .into(),
            statements,
        });
    }
    let shared = if cell.clients > 1 {
        ", divided among your connections"
    } else {
        ""
    };
    commands.push(Block::Commands {
        purpose: format!(
            "Run on every connection, for {} of cache{shared}",
            cell.memory
        ),
        statements: vec![format!(
            "PRAGMA cache_size = -{};",
            cell.memory.get() / 1024
        )],
    });
    commands
}

/// Source: <https://www.postgresql.org/docs/current/install-make.html> (the
/// block size is that of the build, and the cluster has to be made anew by its
/// own initdb).
fn postgres(cell: &Cell, wanted: Option<PageSize>) -> Vec<Block> {
    let mut commands = Vec::new();
    if let Some(page_size) = wanted {
        commands.push(Block::Commands {
            purpose: "Run once: build PostgreSQL for this page size, create a cluster with its \
                      initdb, and move the data by dump and restore"
                .into(),
            statements: vec![
                format!("./configure --with-blocksize={}", page_size.get() / 1024),
                "pg_dumpall > everything.sql".into(),
            ],
        });
    }
    commands.push(Block::Commands {
        purpose: "In postgresql.conf, for the memory that was measured".into(),
        statements: vec![format!("shared_buffers = {}kB", cell.memory.get() / 1024)],
    });
    commands
}

/// Source:
/// <https://mariadb.com/kb/en/innodb-system-variables/#innodb_page_size> and
/// <https://dev.mysql.com/doc/refman/8.4/en/innodb-parameters.html> (the page
/// size is fixed when the data directory is made).
fn innodb(cell: &Cell, wanted: Option<PageSize>) -> Vec<Block> {
    let mut statements = vec!["[mysqld]".to_owned()];
    statements.extend(wanted.map(|page_size| format!("innodb_page_size = {}", page_size.get())));
    statements.push(format!("innodb_buffer_pool_size = {}", cell.memory.get()));
    vec![Block::Commands {
        purpose: match wanted {
            Some(_) => "In the server's configuration, before you create a new data directory and \
                        move the data by dump and restore"
                .into(),
            None => "In the server's configuration".into(),
        },
        statements,
    }]
}

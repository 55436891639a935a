//! Which model predicts a database of a plan.

use std::time::Duration;

use octavo_database::{DatabaseError, Registry};
use octavo_predict::{InPlaceKind, Model, OracleSettings, PostgresSettings};
use octavo_units::{ByteCount, PageSize};

use crate::plan::TestedDatabase;

/// The redo log that servers have unless told otherwise.
const MODELED_REDO: ByteCount = ByteCount::mib(512);

/// Checkpoints come by the log alone.
const MODELED_TIMEOUT: Duration = Duration::from_hours(24);

/// The model of a database with its options, on storage of which the system says that it
/// rotates or not.
///
/// # Errors
/// [`DatabaseError::Setting`] for a database or an option that is not modeled.
pub fn model_of(database: &TestedDatabase, rotates: bool) -> Result<Model, DatabaseError> {
    let kind = Registry::with_models().find(&database.name)?;
    let options = kind.read(&database.options)?;
    match kind.name {
        "sqlite" => match options.get::<&'static str>("journal-mode") {
            "wal" => Ok(Model::Sqlite),
            mode => Err(kind.refuse(
                "journal-mode",
                mode,
                "there is no model of it, predict knows wal; octavo advise measures it",
            )),
        },
        "postgres" if options.get::<Duration>("checkpoint-timeout") < MODELED_TIMEOUT => {
            let timeout = options.get::<Duration>("checkpoint-timeout");
            let reason = format!(
                "there is no model of it, predict knows {}h",
                MODELED_TIMEOUT.as_secs() / 3600
            );
            Err(kind.refuse("checkpoint-timeout", format!("{timeout:?}"), reason))
        }
        "postgres" => Ok(Model::Postgres(PostgresSettings {
            log_block: options.get::<PageSize>("wal-block-size"),
            full_page_writes: options.get::<bool>("full-page-writes"),
            max_wal_size: options.get::<ByteCount>("max-wal-size"),
        })),
        "mariadb" => {
            let redo = options.get::<ByteCount>("redo");
            if redo != MODELED_REDO {
                let reason = format!("there is no model of it, predict knows {MODELED_REDO}");
                return Err(kind.refuse("redo", redo, reason));
            }
            match options.get::<&'static str>("doublewrite") {
                "on" => Ok(Model::Innodb {
                    writes_neighbors: rotates,
                }),
                mode => Err(kind.refuse(
                    "doublewrite",
                    mode,
                    "there is no model of it, predict knows on; octavo advise measures it",
                )),
            }
        }
        "oracle-like" => Ok(Model::InPlace(InPlaceKind::OracleLike(OracleSettings {
            redo: options.get::<ByteCount>("redo"),
            is_log_elsewhere: options.get::<bool>("log-elsewhere"),
            flushes_pages: options.get::<bool>("checkpoint-flush"),
        }))),
        "cubrid-like" => Ok(Model::InPlace(InPlaceKind::CubridLike)),
        _ => Err(DatabaseError::NotModeled {
            database: kind.title,
        }),
    }
}

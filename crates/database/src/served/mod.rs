//! Servers that the user runs: Octavo has one schema there, which it made and
//! marked, and touches nothing else.

mod url;

use octavo_units::PageSize;
use octavo_workload::Workload;

use crate::{DatabaseError, Inspection, Isolation, Loaded, Progress, Running, mysql, postgres};

pub use url::{Protocol, Url, UrlError};

/// The schema that is Octavo's; for MySQL, where the two are one, the
/// database.
pub const SCHEMA: &str = "octavo";

/// How the mark of the schema begins; what was loaded follows.
pub(crate) const MARK: &str = "octavo: ";

/// The mark while rows are being loaded.
pub(crate) const LOADING: &str = "octavo: loading";

/// A server that the user runs.
pub trait Served: Send + Sync {
    /// The database's short name.
    fn name(&self) -> &'static str;

    /// The version, as the server says it.
    fn version(&self) -> String;

    /// Its page size.
    fn page_size(&self) -> PageSize;

    /// What [`Self::load`] noted of the rows in Octavo's schema; `None`
    /// without a schema, or when loading did not come to its end.
    ///
    /// Refuses a schema of that name that Octavo did not mark.
    fn found(&self) -> Result<Option<String>, DatabaseError>;

    /// Makes the schema and fills it. What an earlier load left unfinished is
    /// replaced; anything else is refused. `note` is what [`Self::found`]
    /// answers afterwards.
    fn load(
        &self,
        workload: &dyn Workload,
        note: &dyn Fn(&Loaded) -> String,
        progress: &mut Progress<'_>,
    ) -> Result<Loaded, DatabaseError>;

    /// Removes the schema with all that is in it; `false` when there is none.
    /// Refuses one that Octavo did not mark.
    fn remove(&self) -> Result<bool, DatabaseError>;

    /// Makes ready to drive it: stopping what is answered leaves the server
    /// running.
    fn start(
        &self,
        isolation: Option<Isolation>,
        workload: &dyn Workload,
    ) -> Result<Box<dyn Running>, DatabaseError>;

    /// Opens a session that only reads.
    fn inspect(&self, workload: &dyn Workload) -> Result<Box<dyn Inspection>, DatabaseError>;
}

/// Connects to a server.
pub fn serve(url: &Url) -> Result<Box<dyn Served>, DatabaseError> {
    match url.protocol {
        Protocol::Postgres => Ok(Box::new(postgres::ServedPostgres::connect(url)?)),
        Protocol::Mysql => Ok(Box::new(mysql::ServedMysql::connect(url)?)),
    }
}

/// The refusal of a schema that somebody else made.
pub(crate) fn foreign(database: &'static str, what: &str) -> DatabaseError {
    DatabaseError::Setting {
        database,
        setting: "schema",
        value: SCHEMA.into(),
        reason: format!(
            "{what} exists and is not marked as Octavo's: rename it, or use another database"
        ),
    }
}

//! The boundary of external servers, and what the two have in common.

use std::time::Duration;

use octavo_units::PageSize;
use octavo_workload::{Connection, Workload};

use super::{counted::Counted, schema::SCHEMA, url::Url};
use crate::{
    Counters, DatabaseError, Inspection, Isolation, LoadReport, Progress, Result, Running,
    StoragePath,
};

/// A server that the user runs. No other Octavo uses its schema as long as
/// this lives.
pub trait ExternalServer: Send + Sync {
    /// The database's short name.
    fn name(&self) -> &'static str;

    /// The version, as the server says it.
    fn version(&self) -> String;

    /// Its page size.
    fn page_size(&self) -> PageSize;

    /// Where it is and who asks, without the password.
    fn address(&self) -> String;

    /// The note on the rows in Octavo's schema; `None` without a schema, or
    /// when loading did not come to its end.
    ///
    /// # Errors
    /// [`DatabaseError::Setting`] for a schema of that name that Octavo did not
    /// mark; [`DatabaseError::Connection`] when the server refuses or is gone.
    fn found(&self) -> Result<Option<String>>;

    /// Makes the schema and fills it, durably as far as the server is. What an
    /// earlier load left unfinished is replaced. `note` makes what
    /// [`Self::found`] answers afterwards. A load that is stopped stays
    /// unfinished; one that fails is taken away.
    ///
    /// # Errors
    /// As [`Self::found`]; [`DatabaseError::Setting`] also for rows that are
    /// there already, [`DatabaseError::Missing`] for a right that the user lacks,
    /// and [`DatabaseError::Stopped`] when `progress` stopped it.
    fn load(
        &self,
        workload: &dyn Workload,
        note: &dyn Fn(&LoadReport) -> String,
        progress: &mut Progress<'_>,
    ) -> Result<LoadReport>;

    /// Tries whether a load could make the workload's tables where Octavo's
    /// schema is, before rows are removed for it. Leaves nothing behind.
    ///
    /// # Errors
    /// [`DatabaseError::Connection`] when the server does not take a table, or
    /// is gone.
    fn rehearse(&self, workload: &dyn Workload) -> Result<()>;

    /// Replaces the note on the rows that are there.
    ///
    /// # Errors
    /// [`DatabaseError::Connection`] when the server refuses or is gone.
    fn set_note(&self, note: &str) -> Result<()>;

    /// Removes the schema with Octavo's tables; `false` when there is none.
    ///
    /// # Errors
    /// As [`Self::found`]; [`DatabaseError::Setting`] also when something else
    /// depends on the schema. Nothing is changed then.
    fn remove(&self) -> Result<bool>;

    /// Makes ready to drive it. Stopping the answer leaves the server running.
    ///
    /// # Errors
    /// [`DatabaseError::Connection`] when the server refuses or is gone.
    fn start(
        &self,
        isolation: Option<Isolation>,
        workload: &dyn Workload,
    ) -> Result<Box<dyn Running>>;

    /// Opens a session that only reads.
    ///
    /// # Errors
    /// [`DatabaseError::Connection`] when the server refuses or is gone.
    fn inspect(&self, workload: &dyn Workload) -> Result<Box<dyn Inspection>>;
}

/// An external server while it is driven.
pub(crate) struct Driven<C> {
    /// Opens the session of a client.
    pub(crate) connect: C,
    pub(crate) counted: Counted,
    /// Sees to the lock of the schema.
    pub(crate) keep_lock: Box<dyn Fn() + Send + Sync>,
    pub(crate) conditions: Vec<(&'static str, String)>,
}

impl<C> Running for Driven<C>
where
    C: Fn() -> Result<Box<dyn Connection + Send>> + Send + Sync,
{
    fn connect(&self, _client: u32) -> Result<Box<dyn Connection + Send>> {
        (self.connect)()
    }

    fn counters(&self) -> Counters {
        (self.keep_lock)();
        self.counted.counters()
    }

    fn conditions(&self) -> Vec<(&'static str, String)> {
        self.conditions.clone()
    }

    /// The memory that the user's server may use is not known.
    fn storage_path(&self) -> StoragePath {
        StoragePath::PageCache
    }

    fn stop(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// The refusal of a schema that somebody else made.
pub(crate) fn foreign(database: &'static str, url: &Url) -> DatabaseError {
    refused(
        database,
        format!(
            "{url} has a {SCHEMA} that is not marked as Octavo's: rename it, or give the URL of \
             another {}",
            url.protocol.scope()
        ),
    )
}

/// The refusal to load over rows that are there.
pub(crate) fn occupied(database: &'static str, url: &Url) -> DatabaseError {
    refused(
        database,
        format!("{SCHEMA} of {url} holds rows already: remove them first"),
    )
}

/// The refusal to remove what is not Octavo's.
pub(crate) fn entangled(database: &'static str, url: &Url, what: &str) -> DatabaseError {
    refused(
        database,
        format!("{what} is not Octavo's, and in {SCHEMA} of {url} or made from it: drop it first"),
    )
}

/// How long the lock is waited for: a server holds that of a connection which
/// is gone until it notices.
pub(crate) const LOCK_WAIT: Duration = Duration::from_secs(5);

/// The refusal while another Octavo holds the lock.
pub(crate) fn busy(url: &Url) -> DatabaseError {
    DatabaseError::Missing {
        what: format!("another octavo works in {SCHEMA} of {url}"),
        remedy: "wait until it has ended".into(),
    }
}

/// The refusal of the schema that there is.
pub(crate) fn refused(database: &'static str, reason: String) -> DatabaseError {
    DatabaseError::Setting {
        database,
        setting: "schema",
        value: SCHEMA.into(),
        reason,
    }
}

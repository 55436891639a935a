//! The user's own database on a server of MySQL or MariaDB: read by the makers' own programs,
//! dumped once as SQL, and run on a server of each page size.
//!
//! | file | what |
//! |---|---|
//! | tools | the client and the dump program |
//! | original | the user's server: what it is asked, and the dump |
//! | digests | statements that the server counts, and where their values come from |
//! | limits | what its schema and settings say of other page sizes |
//! | options | a dump without those that a server of Octavo's cannot have |
//! | propose | what a guess of statements needs to know |
//! | recording | statements in the server's logs |
//! | restore | a dump into a server of Octavo's |
//! | sample | a part of the rows |
//! | trial | a server with the schema alone, in which statements are tried |

mod clock;
mod digests;
mod general_log;
mod limits;
mod options;
mod original;
mod propose;
mod recording;
mod restore;
mod sample;
#[cfg(test)]
mod tests;
mod tools;
mod trial;

use std::{
    ffi::OsStr,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Instant,
};

use octavo_recording::Recording;
use octavo_units::{ByteCount, PageSize};
use octavo_workload::user::{CopyOf, Copying};

use super::{configured::Mysql, layout::Layout, load, session::Session};
use crate::{
    CopyOwn, Derive, Guess, LoadReport, Own, OwnError, Progress, Result, Tried,
    error::unless_stopped,
    own::{Statements, digested::FoundDigests, make_private, told_if_lost},
    server::{account::Account, tree},
};
use original::Original;
use restore::Dump;
use tools::Tools;
use trial::Trial;

impl CopyOwn for Mysql {
    fn examine(
        &self,
        source: &OsStr,
        copying: &Copying,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Own> {
        let original = Original::open(source, self.programs()?)?;
        let own = sample::examine(&original, source, copying, stopped)?;
        let (flavour, present) = (original.tools().flavour, own.copy.page_size);
        let limits = match limits::Facts::ask(&original) {
            Ok(facts) => limits::limits(&facts, flavour, present),
            // What can be copied can be measured, whatever else an account may not ask.
            Err(error) => vec![limits::unknown(&error.to_string(), present)],
        };
        Ok(Own { limits, ..own })
    }

    fn propose(&self, source: &OsStr) -> Result<Option<Guess>> {
        let original = Original::open(source, self.programs()?)?;
        propose::propose(&original)
    }

    fn read_recording(
        &self,
        source: &OsStr,
        copy: &CopyOf,
        files: &[PathBuf],
    ) -> Result<Recording> {
        let original = Original::open(source, self.programs()?)?;
        recording::read(copy, original.sql_mode(), original.is_any_case(), files)
    }

    fn read_digests(&self, source: &OsStr) -> Result<FoundDigests> {
        digests::read(&Original::open(source, self.programs()?)?)
    }

    fn prepare(&self, source: &OsStr, statements: Statements<'_>) -> Result<Tried, OwnError> {
        let original = Original::open(source, self.programs()?)?;
        let runnable = Trial::begin(self.programs()?, &original)?.prepare(statements)?;
        Ok(Tried {
            prepared: runnable.prepared,
            digests: runnable.digests,
            unlike: original.unlike(),
            sorts_by_bytes: false,
        })
    }

    fn make_private(&self, directory: &Path) -> Result<()> {
        make_private(directory, Account::of_servers()?.as_ref())
    }
}

/// Dumps the user's database into the directory of a snapshot, which others are made of.
pub(super) fn dump(
    mysql: &Mysql,
    copy: &CopyOf,
    snapshot: &Path,
    progress: &mut Progress<'_>,
) -> Result<LoadReport> {
    let begin = Instant::now();
    let original = Original::open(&copy.source, mysql.programs()?)?;
    let dump = Dump::in_directory(snapshot)?;
    sample::dump(&original, &dump, copy, progress).map_err(told_if_lost)?;
    Ok(LoadReport {
        // They are counted when they are there again.
        rows: 0,
        size: tree::size(snapshot)?,
        log: None,
        elapsed: begin.elapsed(),
    })
}

impl Derive for Mysql {
    /// Of a dump. When it fails, a part of the snapshot may be there: the caller removes the
    /// directory.
    fn derive(
        &self,
        from: &Path,
        to: &Path,
        page_size: PageSize,
        progress: &mut Progress<'_>,
    ) -> Result<LoadReport> {
        let begin = Instant::now();
        let layout = Layout::resolve(to)?;
        let programs = self.programs()?;
        let account = Account::of_servers()?;
        let account = account.as_ref();
        let data = layout.data.clone();
        let mut written = || {
            let size = tree::size(&data).map_or(0, |size| size.get());
            progress(size) == ControlFlow::Break(())
        };
        let dump = Dump::in_directory(from)?;
        dump.prepare(&layout)?;
        let (server, mut session) =
            load::start(programs, &layout, page_size, account, &mut written)?;
        let before = log_written(&mut session)?;
        let rows = dump.restore(&Tools::find(programs)?, &layout, &mut session, &mut written)?;
        let after = log_written(&mut session)?;
        // As the user's own were asked for.
        let size = original::bytes_of_tables(&mut session)?;
        load::settle(programs, &layout, page_size, account, server, session)?;
        unless_stopped(progress(0))?;
        Ok(LoadReport {
            rows,
            size,
            log: before
                .zip(after)
                .map(|(before, after)| ByteCount::new(after.saturating_sub(before))),
            elapsed: begin.elapsed(),
        })
    }
}

/// The bytes of redo log that the server has written.
fn log_written(session: &mut Session) -> Result<Option<u64>> {
    let rows = session.texts("SHOW GLOBAL STATUS LIKE 'Innodb_os_log_written'")?;
    let value = rows.into_iter().flatten().flatten().next_back();
    Ok(value.and_then(|value| value.parse().ok()))
}

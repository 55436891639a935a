//! Reading a data directory at rest: a server of its own, for one session.

use std::time::Duration;

use octavo_units::PageSize;
use octavo_workload::{Result, Workload, connection::RowVisitor, schema::Table};

use super::{
    Flavour,
    arguments::Purpose,
    ddl,
    instance::{Instance, session_setup},
    layout::Layout,
    programs::Programs,
    session::Session,
};
use crate::{
    DatabaseError, Inspection,
    at_rest::AtRest,
    ddl::select,
    server::{account::Account, tree},
};

/// Starts a server on the data directory, which is stopped, and whose files'
/// pages are forgotten, in the end.
pub(super) fn open(
    programs: &Programs,
    layout: Layout,
    page_size: PageSize,
    workload: &dyn Workload,
) -> Result<AtRest<Session>, DatabaseError> {
    let account = Account::of_servers()?;
    let (instance, first) = Instance::start(
        programs,
        &layout,
        page_size,
        &Purpose::Rest,
        account.as_ref(),
    )?;
    drop(first);
    let setup = setup(programs.version.flavour);
    let own = layout.own_setup()?;
    let mut session = instance.statement_session(ddl::DATABASE, setup, own)?;
    read_only(&mut session, workload)?;
    let end = move || {
        // A server that does not stop well is killed, and recovers at its
        // next start; nothing was changed.
        let _stopped = instance.stop();
        let _kept_in_memory = tree::forget(&layout.directory);
    };
    Ok(AtRest::new(session, Some(Box::new(end))))
}

/// Through a session that [`setup`] was run in, of a server that is not ours
/// to stop.
pub(super) fn through(
    mut session: Session,
    workload: &dyn Workload,
) -> Result<AtRest<Session>, DatabaseError> {
    read_only(&mut session, workload)?;
    Ok(AtRest::new(session, None))
}

/// In this order: what writes could not even be prepared behind it.
fn read_only(session: &mut Session, workload: &dyn Workload) -> Result<()> {
    session.prepare_all(workload.statements())?;
    session.simple("SET SESSION TRANSACTION READ ONLY")
}

/// What a session that reads is set to. A check joins whole tables: it takes
/// the time that it takes.
pub(super) fn setup(flavour: Flavour) -> Vec<String> {
    session_setup(flavour, "REPEATABLE READ", Duration::ZERO)
}

impl Inspection for Session {
    fn scan(&mut self, table: &Table, visit: &mut RowVisitor<'_>) -> Result<u64> {
        let kinds = table.kinds();
        Session::scan(self, &select(table), &kinds, visit)
    }
}

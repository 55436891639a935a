//! A session of the user's statements.

use octavo_workload::Workload;

use super::super::{
    cluster::{Role, Started},
    running::session_options,
    session::Session,
};
use crate::{Isolation, PagesWanted, Result};

/// A session of the user's statements, as measured ones are.
///
/// # Errors
/// When the server does not let it in, or a statement cannot be prepared.
pub(super) fn open(server: &Started, wanted: &PagesWanted<'_>) -> Result<Session> {
    let (mut options, _) = session_options(wanted.isolation);
    let workload: &dyn Workload = wanted.workload;
    let mut statements = workload.statements().iter();
    if statements.any(|statement| statement.is_planned_by_values) {
        options.push(("plan_cache_mode", "force_custom_plan".into()));
    }
    let session = server.connect_as(Role::of(workload), &options)?;
    let mut session = session.at_level(wanted.isolation.unwrap_or(Isolation::ReadCommitted));
    session.prepare_all(workload.statements())?;
    Ok(session)
}

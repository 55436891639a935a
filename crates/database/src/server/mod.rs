//! What database servers have in common: programs that are started in
//! Octavo's own directories as another user, held to a limit of memory, held
//! still meanwhile, and ended whatever happens.

pub(crate) mod account;
pub(crate) mod child;
pub(crate) mod descendants;
pub(crate) mod file_calls;
pub(crate) mod host;
pub(crate) mod memory;
pub(crate) mod memory_limiter;
pub(crate) mod monitor;
pub(crate) mod orphans;
pub(crate) mod pace;
pub(crate) mod piped;
pub(crate) mod process;
#[cfg(feature = "keyed")]
pub(crate) mod seat;
pub(crate) mod socket;
pub(crate) mod start;
pub(crate) mod tree;
pub(crate) mod version;
pub(crate) mod write_back;

mod cgroup;
mod freezer;
mod spawner;

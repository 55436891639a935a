//! MySQL and MariaDB: their server programs, their data directories, and the
//! way to talk to them.

mod auth;
mod channel;
mod failure;
mod fields;
mod handshake;
mod infile;
mod marks;
mod session;
mod time;
mod value;

/// Which of the two servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// MySQL.
    Mysql,
    /// MariaDB.
    Mariadb,
}

//! MySQL and MariaDB: their server programs, their data directories, and the
//! way to talk to them.

//! PostgreSQL: its server programs, its clusters, and the way to talk to it.

mod copy;
mod failure;
mod login;
mod messages;
mod numeric;
mod session;
#[cfg(test)]
mod session_tests;
mod statement;
#[cfg(test)]
mod test_server;
mod value;

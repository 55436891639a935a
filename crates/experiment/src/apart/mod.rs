//! Databases whose threads nobody can hold still in this process: each cell of a sitting is a process of
//! its own, with the sessions that drive it, so that it stands still as a whole between its slices.
//!
//! `process` is the side of the experiment, and [`serve`] that of the process. They send each other
//! messages, one a line.

mod host;
mod message;
mod process;

pub use host::serve;
pub(crate) use process::{Apart, ApartLoad, start};

/// What the program is called with that is to [`serve`].
pub const COMMAND: &str = "host";

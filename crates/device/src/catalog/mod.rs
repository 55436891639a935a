//! Devices that Octavo knows, with a source for every number.
//!
//! An [`Entry`] is a TOML file: those in `crates/device/catalog/` are part of
//! the program, others can be read with [`Entry::from_toml`]. It has a name, a
//! title, one table of parameters named after its model (`[disk]`, `[flash]`,
//! ...), perhaps `[power]`, and `[[published]]` figures, with which the model
//! is compared. See docs/devices.md. Beside devices stand the [machines](machine) under
//! databases.

mod compare;
mod entry;
pub mod machine;
mod published;
mod texts;

pub use compare::{Compared, SimulateError};
pub use entry::{Entry, EntryError, Member, Model, Parameter, find};
pub use published::{Figure, Published, Relation};
pub use texts::{as_file, names, split_offset};

//! Statements that programs sent, as logs of databases have them, to be sent again.
//!
//! A database reads its own kind of log and tells a [`Gathering`] what it finds: which session
//! sent which statement. That keeps sessions apart and transactions whole, and finds the *forms*:
//! statements that differ in nothing but values. The [`Recording`] has each form once, and the
//! values of each run.
//!
//! A value that is the same in all runs of a form stays in its text, because databases plan by
//! such values (`status = 'open'` with an index of the open ones alone). Others become parameters
//! of the type that they had ([`Dialect::parameter`]).

mod dialect;
pub mod digest;
mod form;
mod gathering;
mod lane;
mod left;
mod recording;
mod token;

pub use dialect::{Dialect, Mark, Type};
pub use form::split;
pub use gathering::{FORMS_MAX, Gathering, HELD_MAX};
pub use left::Left;
pub use recording::{Datum, End, Form, Pause, Recording, Step, Transaction};

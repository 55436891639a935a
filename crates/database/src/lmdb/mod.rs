//! LMDB, linked into the program.

mod environment;
mod failure;
mod kind;
mod library;

pub use kind::KIND;

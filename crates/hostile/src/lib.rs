//! All readers of foreign bytes, tried with damaged and made-up input: for tests, and for
//! fuzzers (`fuzz/`).
//!
//! A [`Reader`] takes bytes in one way that Octavo does, and panics where Octavo
//! would, or where what it prints would act on a screen or a page. Its test tries
//! a fixed number of [damaged](damage) forms of sound input.

pub mod damage;
mod files;
mod own;
mod reader;
pub mod replay;
mod servers;
mod stores;
mod traces;

pub use reader::Reader;
pub use servers::record;

/// All of them.
pub const READERS: [Reader; 13] = [
    files::PLAN,
    files::ENTRY,
    files::MACHINE,
    files::PROFILE,
    stores::BYTES,
    stores::VALUES,
    stores::TEXT,
    traces::TRACE,
    own::SCRIPT,
    own::FILE,
    own::RECORDING,
    servers::POSTGRES,
    servers::MARIADB,
];

/// Reads bytes with the reader of that name.
///
/// # Panics
/// When there is none, and where the reader finds a fault.
pub fn read(name: &str, bytes: &[u8]) {
    let reader = READERS.iter().find(|reader| reader.name == name);
    (reader.expect("a reader's name").read)(bytes);
}

//! Everything that Octavo reads and may be somebody else's, given bytes that
//! were damaged or made up: for tests, and for fuzzers (`fuzz/`).
//!
//! A [`Reader`] takes bytes in one way that Octavo does, and panics where Octavo
//! would, or where what it prints would act on a screen or a page. Its test tries
//! a fixed number of [damaged](damage) forms of sound input.

pub mod damage;
mod files;
pub mod replay;
mod servers;
mod stores;

pub use servers::record;

/// One way in which bytes of others get in.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    /// Its name, as fuzzers and failures call it.
    pub name: &'static str,
    /// Input that is accepted.
    pub sound: fn() -> Vec<Vec<u8>>,
    /// Reads some; answers whether it was accepted.
    pub read: fn(&[u8]) -> bool,
    /// How many cases fit into the time of one of the fastest.
    pub cost: u64,
}

/// All of them.
pub const READERS: [Reader; 8] = [
    files::PLAN,
    files::ENTRY,
    files::PROFILE,
    stores::BYTES,
    stores::VALUES,
    stores::TEXT,
    servers::POSTGRES,
    servers::MARIADB,
];

/// Has the reader of that name read some bytes.
///
/// # Panics
/// When there is none, and where the reader finds a fault.
pub fn read(name: &str, bytes: &[u8]) {
    let reader = READERS.iter().find(|reader| reader.name == name);
    (reader.expect("a reader's name").read)(bytes);
}

/// As `octavo` prints a reason, which is made safe there.
fn refuse(error: &dyn std::error::Error) -> bool {
    assert!(!octavo_report::visible(&error.to_string()).is_empty());
    false
}

fn as_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Renders everything, and checks that nothing in it acts on a screen.
fn render(document: &octavo_report::Document) {
    for text in [
        document.terminal(80, false),
        document.verbose(200, false),
        document.html(),
    ] {
        assert_eq!(octavo_report::visible(&text), text);
    }
}

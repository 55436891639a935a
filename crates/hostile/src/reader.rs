//! What a reader is, and what all of them ask of a reason and of a document.

/// One way in which foreign bytes get in.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    /// Its name, as fuzzers and failures call it.
    pub name: &'static str,
    /// Input that is accepted.
    pub sound: fn() -> Vec<Vec<u8>>,
    /// Reads some; answers whether it was accepted.
    pub read: fn(&[u8]) -> bool,
    /// Time of one case, as a multiple of the fastest reader's.
    pub cost: u64,
}

/// As `octavo` prints a reason, which is made safe there.
pub(crate) fn refuse(error: &dyn std::error::Error) -> bool {
    assert!(!octavo_report::visible(&error.to_string()).is_empty());
    false
}

pub(crate) fn as_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Renders everything, and checks that nothing in it acts on a screen.
pub(crate) fn render(document: &octavo_report::Document) {
    for text in [
        document.terminal(80, false),
        document.verbose(200, false),
        document.html(),
    ] {
        assert_eq!(octavo_report::visible(&text), text);
    }
}

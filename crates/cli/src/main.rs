//! The `octavo` binary.
fn main() {}

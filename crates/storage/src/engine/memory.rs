//! Memory of requests, filled with bytes that cannot be compressed.

use octavo_units::Seed;
use rand::Rng;

use crate::aligned::AlignedBuffer;

/// The first `length` bytes of a buffer, which is replaced by a longer one if
/// need be.
pub(super) fn at_least(buffer: &mut Option<AlignedBuffer>, length: usize) -> &mut [u8] {
    if buffer.as_ref().is_none_or(|buffer| buffer.len() < length) {
        let mut longer = AlignedBuffer::new(length.max(AlignedBuffer::ALIGNMENT));
        randomize(&mut longer);
        *buffer = Some(longer);
    }
    &mut buffer.as_mut().expect("was made above")[..length]
}

/// Fills memory with bytes that cannot be compressed. Which they are does not
/// matter: every sector is stamped before it is written.
pub(super) fn randomize(buffer: &mut [u8]) {
    Seed::new(0)
        .derive("content", 0)
        .generator()
        .fill_bytes(buffer);
}

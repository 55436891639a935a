//! Loads memory into the processor's cache before it is used.

#![allow(unsafe_code, reason = "an instruction of the processor")]

/// Starts to load an element of a table into the cache, without waiting. A hint: it changes
/// nothing, and ignores an index outside the table.
///
/// Tables of simulated drives and buffers are larger than any cache, and a random entry takes
/// as long as a few hundred instructions; where the entry is known that much
/// earlier, this hides it. Does nothing on processors other than x86-64, for
/// which the standard library has no such instruction yet.
#[inline]
pub fn prefetch<T>(table: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(entry) = table.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction reads nothing that the program sees and
        // faults at no address; SSE, which has it, is part of x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(entry).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, index);
}

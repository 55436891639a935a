//! Memory that direct I/O accepts.

#![expect(unsafe_code, reason = "memory with an alignment")]

use std::{
    alloc::{self, Layout},
    ops::{Deref, DerefMut},
    ptr::NonNull,
};

/// Zeroed bytes that begin on a multiple of [`AlignedBuffer::ALIGNMENT`].
pub struct AlignedBuffer {
    start: NonNull<u8>,
    layout: Layout,
}

impl AlignedBuffer {
    /// A page of memory: no device that Linux drives asks for more.
    pub const ALIGNMENT: usize = 4096;

    /// So many zeros, at least one.
    ///
    /// # Panics
    /// If `bytes` is more than the address space holds.
    pub fn new(bytes: usize) -> Self {
        let layout = Layout::from_size_align(bytes.max(1), Self::ALIGNMENT)
            .expect("a buffer is smaller than the address space");
        // SAFETY: the layout's size is not 0.
        let start = unsafe { alloc::alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else {
            alloc::handle_alloc_error(layout)
        };
        Self { start, layout }
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `start` points to `layout.size()` initialised bytes that
        // this value owns.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.layout.size()) }
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, freed only here.
        unsafe { alloc::dealloc(self.start.as_ptr(), self.layout) }
    }
}

// SAFETY: the bytes are owned, and shared only by the borrow rules of the
// slices given out.
unsafe impl Send for AlignedBuffer {}

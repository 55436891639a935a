//! Memory that direct I/O accepts.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    cell::RefCell,
    ops::{Deref, DerefMut},
    ptr::NonNull,
    slice,
};

/// The alignment of every buffer: a memory page, which no block device asks
/// to exceed (`stx_dio_mem_align` in statx(2) is at most that in practice).
pub(crate) const MEMORY_ALIGN: usize = 4096;

/// A zeroed buffer aligned to [`MEMORY_ALIGN`].
pub(crate) struct AlignedBuffer {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the buffer owns its memory like a Vec<u8> does.
unsafe impl Send for AlignedBuffer {}

impl AlignedBuffer {
    /// A buffer of `length` bytes rounded up to whole memory pages, at least
    /// one.
    pub(crate) fn new(length: usize) -> Self {
        let length = length.max(1).next_multiple_of(MEMORY_ALIGN);
        let layout = Self::layout(length);
        // SAFETY: the layout's size is at least one memory page.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        Self { start, length }
    }

    fn layout(length: usize) -> Layout {
        Layout::from_size_align(length, MEMORY_ALIGN).expect("buffers are far below isize::MAX")
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `start` points to `length` initialised bytes that we own.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` makes the access exclusive.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this very layout.
        unsafe { dealloc(self.start.as_ptr(), Self::layout(self.length)) }
    }
}

thread_local! {
    static BOUNCE: RefCell<AlignedBuffer> = RefCell::new(AlignedBuffer::new(128 * 1024));
}

/// Lends the thread's bounce buffer, at least `length` bytes of it, so that
/// an I/O allocates nothing. Its content is whatever was there before.
pub(crate) fn with_bounce<R>(length: usize, work: impl FnOnce(&mut [u8]) -> R) -> R {
    // The buffer is gone when a connection is closed by another thread-local
    // destructor, and taken when the caller holds it: both are rare enough to
    // allocate then.
    let mut work = Some(work);
    let lent = BOUNCE.try_with(|bounce| {
        let mut bounce = bounce.try_borrow_mut().ok()?;
        if bounce.len() < length {
            *bounce = AlignedBuffer::new(length);
        }
        work.take().map(|work| work(&mut bounce[..length]))
    });
    match (lent, work) {
        (Ok(Some(result)), _) => result,
        (_, Some(work)) => work(&mut AlignedBuffer::new(length)[..length]),
        (_, None) => unreachable!("the work ran, so there is a result"),
    }
}

//! Memory that a thread lends for requests whose own is not aligned.

use std::cell::RefCell;

use octavo_storage::aligned::AlignedBuffer;

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

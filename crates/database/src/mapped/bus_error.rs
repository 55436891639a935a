//! A page of a mapped file that cannot be read ends the process: this says why.

#![expect(unsafe_code, reason = "no safe form of a handler of SIGBUS")]

use std::{ffi::c_int, sync::Once};

/// What is said. A handler may neither allocate nor lock.
const WORDS: &str = "octavo: a page of a database's file could not be read: the device failed, or the file was cut \
     meanwhile. Results that were saved stay; run the same command again. If it says so again, delete the directory that was \
     named and load again\n";

static INSTALLED: Once = Once::new();

/// Has the process say so and end with exit code 1, where it would only be ended by a signal.
pub(super) fn explain() {
    INSTALLED.call_once(|| {
        // SAFETY: the handler makes two calls that are safe within one (signal-safety(7)); zeros are
        // valid for the fields that are not set.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = say_and_end as extern "C" fn(c_int) as usize;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
        }
    });
}

extern "C" fn say_and_end(_: c_int) {
    // SAFETY: the text is valid for as long as is written; nothing runs after the end.
    unsafe {
        libc::write(libc::STDERR_FILENO, WORDS.as_ptr().cast(), WORDS.len());
        libc::_exit(1);
    }
}

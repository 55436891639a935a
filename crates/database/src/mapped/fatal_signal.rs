//! A page of a mapped file that cannot be read ends the process, and so do offsets of a damaged page
//! that lead outside of the map, which the libraries take as they are: this says why.

#![expect(unsafe_code, reason = "no safe form of a handler of such signals")]

use std::{ffi::c_int, sync::Once};

/// What is said of SIGBUS. A handler may neither allocate nor lock.
const UNREADABLE: &str = "octavo: a page of a database's file could not be read: the device failed, or the file was cut. \
     Results that were saved stay; run the same command again. If it says so again, delete the directory that was \
     named and load again\n";

/// What is said of SIGSEGV, and where a library stops at what it never writes.
const IMPOSSIBLE: &str = "octavo: a page of a database's file is not as its library writes it: the file is damaged, or \
     Octavo or the library has a bug. Results that were saved stay. Delete the directory that was named and load again; \
     if it says so again, please report it\n";

static INSTALLED: Once = Once::new();

/// Has the process say so and end with exit code 1, where it would only be ended by a signal.
pub(super) fn explain() {
    INSTALLED.call_once(|| {
        for signal in [libc::SIGBUS, libc::SIGSEGV] {
            // SAFETY: the handler makes two calls that are safe within one (signal-safety(7)); zeros are
            // valid for the fields that are not set.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = say_and_end as extern "C" fn(c_int) as usize;
                // Rust's threads have a stack of their own for signals: an overflow leaves no other.
                action.sa_flags = libc::SA_ONSTACK;
                libc::sigemptyset(&raw mut action.sa_mask);
                libc::sigaction(signal, &raw const action, std::ptr::null_mut());
            }
        }
    });
}

extern "C" fn say_and_end(signal: c_int) {
    let words = match signal {
        libc::SIGBUS => UNREADABLE,
        _ => IMPOSSIBLE,
    };
    // SAFETY: the text is valid for as long as is written; nothing runs after the end.
    unsafe {
        libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), words.len());
        libc::_exit(1);
    }
}

//! A page of a mapped file that cannot be read ends the process. So does a damaged page whose offsets lead
//! outside of the file, in a library that does not check them. This says why.

#![expect(unsafe_code, reason = "no safe form of a handler of such signals")]

use std::{
    ffi::{c_int, c_void},
    mem, ptr,
    sync::{Once, OnceLock},
};

/// What is said of SIGBUS. A handler may neither allocate nor lock.
const UNREADABLE: &str = "octavo: a page of a database's file could not be read: the device failed, or the file was cut. \
     Results that were saved stay; run the same command again. If it says so again, delete the directory that was \
     named and load again\n";

/// What is said of SIGSEGV.
const IMPOSSIBLE: &str = "octavo: a page of a database's file is not as its library writes it: the file is damaged, or \
     Octavo or the library has a bug. Results that were saved stay. Delete the directory that was named and load again; \
     if it says so again, please report it\n";

static INSTALLED: Once = Once::new();

/// What handled SIGSEGV before: Rust, which says where a stack overflowed.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// Has the process say so and end with exit code 1, where it would only be ended by a signal.
pub(super) fn explain() {
    INSTALLED.call_once(|| {
        handle(libc::SIGBUS, unreadable);
        BEFORE.get_or_init(|| handle(libc::SIGSEGV, impossible));
    });
}

/// Answers what handled the signal before.
fn handle(signal: c_int, handler: Handler) -> libc::sigaction {
    // SAFETY: the handlers make calls that are safe within one (signal-safety(7)); zeros are valid for the
    // fields that are not set.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = handler as usize;
        // Rust's threads have a stack of their own for signals: an overflow leaves no other.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        let mut before = mem::zeroed();
        libc::sigaction(signal, &raw const action, ptr::from_mut(&mut before));
        before
    }
}

extern "C" fn unreadable(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    say_and_end(UNREADABLE);
}

extern "C" fn impossible(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    if let Some(before) = BEFORE.get()
        && before.sa_flags & libc::SA_SIGINFO != 0
    {
        // It ends the process where a stack overflowed, and comes back elsewhere.
        // SAFETY: that is the signature of a handler with SA_SIGINFO.
        let before: Handler = unsafe { mem::transmute(before.sa_sigaction) };
        before(signal, info, context);
    }
    say_and_end(IMPOSSIBLE);
}

fn say_and_end(words: &str) {
    // SAFETY: the text is valid for as long as is written; nothing runs after the end.
    unsafe {
        libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), words.len());
        libc::_exit(1);
    }
}

#[cfg(test)]
mod tests {
    use std::{env, hint::black_box, process::Command};

    use super::*;

    const ITSELF: &str = "mapped::fatal_signal::tests::what_ends_a_process_is_told";
    const END: &str = "OCTAVO_TEST_END";

    fn overflow(depth: u64) -> u64 {
        let filled = black_box([depth; 512]);
        match depth {
            u64::MAX => depth,
            _ => overflow(depth + 1) + black_box(filled)[0],
        }
    }

    /// The process that tests starts itself, to be ended.
    #[test]
    fn what_ends_a_process_is_told() {
        if let Ok(by) = env::var(END) {
            explain();
            match by.as_str() {
                "overflow" => drop(black_box(overflow(0))),
                // SAFETY: the handler is there, and ends the process.
                signal => drop(unsafe { libc::raise(signal.parse().unwrap()) }),
            }
            return;
        }
        let ended_by = |end: &str| {
            let mut itself = Command::new(env::current_exe().unwrap());
            let itself = itself.args(["--exact", ITSELF, "--nocapture"]);
            let output = itself.env(END, end).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            (output.status.code(), said)
        };
        let (code, said) = ended_by("overflow");
        assert_eq!(code, None);
        assert!(said.contains("overflowed its stack"), "{said}");
        assert!(!said.contains("damaged"), "{said}");
        for (signal, words) in [(libc::SIGSEGV, IMPOSSIBLE), (libc::SIGBUS, UNREADABLE)] {
            let (code, said) = ended_by(&signal.to_string());
            assert_eq!(code, Some(1), "{said}");
            assert!(said.ends_with(words), "{said}");
        }
    }
}

//! What the system lets this process have.

use std::sync::{Arc, atomic::AtomicBool};

use octavo_experiment::descriptors;
use rustix::process::{Resource, getrlimit, setrlimit};
use signal_hook::{consts::SIGXFSZ, flag};

use crate::failure::Failure;

/// What to do where more files would be open than this process may have.
pub(crate) const TOO_MANY_FILES: &str = "use fewer clients, or raise the limit with ulimit -n";

/// Has a write beyond the limit of a file's size (`ulimit -f`) fail with a
/// reason, instead of ending the process without a word (setrlimit(2)), and
/// lets this process open as many files as its hard limit says: a session takes
/// up to three, and a file of an emulated device two.
pub(crate) fn widen() {
    // Without either, it is as before.
    let _unheard = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    let _as_before = setrlimit(Resource::Nofile, files);
}

/// Refuses more sessions than files may be open.
pub(crate) fn check_files(clients: u32, files_a_session: u64) -> Result<(), Failure> {
    descriptors::check(u64::from(clients) * files_a_session)
        .map_err(|error| Failure::Input(anyhow::anyhow!("{error}: {TOO_MANY_FILES}")))
}

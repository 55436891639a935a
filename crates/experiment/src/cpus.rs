//! Holding what runs to some of the machine's CPUs.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Why CPUs cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CpusError {
    /// There are fewer.
    #[error("{wanted} CPUs are not possible: {available} may be used here")]
    TooMany {
        /// CPUs wanted.
        wanted: u32,
        /// CPUs that this process may use.
        available: u32,
    },
    /// The system refused.
    #[error("hold this process to {wanted} CPUs")]
    Refused {
        /// CPUs wanted.
        wanted: u32,
        /// What the system said.
        #[source]
        source: rustix::io::Errno,
    },
}

/// As long as it lives, the thread that made it, and all threads and processes
/// that this thread starts meanwhile, use no more than a number of CPUs: the
/// first ones that it may use (sched_setaffinity(2)).
#[derive(Debug)]
pub(crate) struct HeldCpus {
    before: Option<CpuSet>,
}

impl HeldCpus {
    /// Holds the calling thread to `wanted` CPUs; to nothing with `None`.
    pub(crate) fn hold(wanted: Option<u32>) -> Result<Self, CpusError> {
        let Some(wanted) = wanted else {
            return Ok(Self { before: None });
        };
        check(wanted)?;
        let refused = |source| CpusError::Refused { wanted, source };
        let before = sched_getaffinity(None).map_err(refused)?;
        let mut held = CpuSet::new();
        (0..CpuSet::MAX_CPU)
            .filter(|&cpu| before.is_set(cpu))
            .take(wanted as usize)
            .for_each(|cpu| held.set(cpu));
        sched_setaffinity(None, &held).map_err(refused)?;
        Ok(Self {
            before: Some(before),
        })
    }
}

impl Drop for HeldCpus {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // They were allowed a moment ago; if no longer, the system has
            // chosen others itself.
            let _restored = sched_setaffinity(None, before);
        }
    }
}

/// Refuses more CPUs than there are.
pub(crate) fn check(wanted: u32) -> Result<(), CpusError> {
    let available = sched_getaffinity(None)
        .map_err(|source| CpusError::Refused { wanted, source })?
        .count();
    if wanted == 0 || wanted > available {
        return Err(CpusError::TooMany { wanted, available });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_started_meanwhile_are_held_and_later_ones_are_not() {
        let all = sched_getaffinity(None).unwrap().count();
        let count = || {
            std::thread::spawn(|| sched_getaffinity(None).unwrap().count())
                .join()
                .unwrap()
        };
        {
            let _held = HeldCpus::hold(Some(1)).unwrap();
            assert_eq!(count(), 1);
        }
        assert_eq!(count(), all);
        let _free = HeldCpus::hold(None).unwrap();
        assert_eq!(count(), all);
    }

    #[test]
    fn more_than_there_are_is_refused() {
        assert!(HeldCpus::hold(Some(100_000)).is_err());
        assert!(HeldCpus::hold(Some(0)).is_err());
    }
}

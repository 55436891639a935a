//! Keeps idle cores from falling asleep.
//!
//! The kernel halts a core that has nothing to do. To wake it takes some
//! microseconds, and where the core is virtual 100 to 300, because the
//! hypervisor has to schedule it again: as long as a whole read of an SSD, and
//! twice for each request that is alone (once to this process, once back).
//!
//! Whoever holds `/dev/cpu_dma_latency` open has asked that cores be back
//! within as many microseconds as were written to it (Linux, "PM Quality Of
//! Service Interface", Documentation/power/pm_qos_interface.rst). With 0 they
//! poll while they are idle. Programs that run lose nothing, and the request
//! ends with the process that made it.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
};

/// Cores stay awake until it is dropped.
#[derive(Debug)]
pub(crate) struct Awake {
    _request: File,
}

impl Awake {
    /// # Errors
    /// The device file is not there, as in most containers, or not ours to
    /// write to.
    pub(crate) fn keep() -> io::Result<Self> {
        let mut request = OpenOptions::new()
            .write(true)
            .open("/dev/cpu_dma_latency")?;
        let microseconds = 0_i32;
        request.write_all(&microseconds.to_ne_bytes())?;
        Ok(Self { _request: request })
    }
}

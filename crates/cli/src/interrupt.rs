//! Ctrl-C, SIGTERM and a closed terminal: the first asks the work to stop where it may, the
//! second one ends the process.

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::Context;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};

use crate::failure::Failure;

/// Whether a signal came.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on, to a closed terminal too unless nohup runs the command.
    pub(crate) fn listen() -> Result<Self, Failure> {
        match hangup_is_ignored() {
            true => Self::listen_to(&[SIGINT, SIGTERM]),
            false => Self::listen_to(&[SIGINT, SIGTERM, SIGHUP]),
        }
    }

    fn listen_to(signals: &[i32]) -> Result<Self, Failure> {
        let flag = Arc::new(AtomicBool::new(false));
        for &signal in signals {
            // In this order: the first signal finds the flag unset.
            flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))
                .and_then(|_| flag::register(signal, Arc::clone(&flag)))
                .context("listen for Ctrl-C and other signals")
                .map_err(Failure::Fault)?;
        }
        Ok(Self(flag))
    }

    /// Whether to stop.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The same, for work that asks after each step.
    pub(crate) fn flow(&self) -> ControlFlow<()> {
        if self.is_set() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Whether whoever started this process had it ignore SIGHUP (proc(5): a mask
/// in which the lowest bit is signal 1).
fn hangup_is_ignored() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| {
        status
            .lines()
            .find_map(|line| line.strip_prefix("SigIgn:"))
            .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .is_some_and(|mask| mask >> (SIGHUP - 1) & 1 == 1)
    })
}

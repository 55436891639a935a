//! The device as it is mounted: preconditioned, which can take minutes, unless
//! whoever waits for it is interrupted.

use std::{panic::resume_unwind, thread, time::Duration};

use octavo_device::Device;

use crate::{error::EmulateError, settings::Settings};

/// How often the interrupt is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// Opens and preconditions the device on a thread of its own, which nobody
/// waits for after an interrupt: it ends with the process, and has nothing that
/// would stay.
pub(crate) fn open(
    settings: &Settings,
    interrupted: &dyn Fn() -> bool,
) -> Result<Box<dyn Device + Send>, EmulateError> {
    let (entry, precondition, seed) =
        (settings.entry.clone(), settings.precondition, settings.seed);
    let opening = thread::Builder::new()
        .name("octavo-condition".into())
        .spawn(move || {
            let mut device = entry.open(seed);
            match precondition {
                None => Ok(device),
                Some(spec) => device
                    .precondition(&spec, seed.derive("precondition", 0))
                    .map(|()| device),
            }
        })
        .map_err(EmulateError::io("start a thread for", &settings.backing))?;
    while !opening.is_finished() {
        if interrupted() {
            return Err(EmulateError::Interrupted);
        }
        thread::sleep(LOOK);
    }
    opening
        .join()
        .unwrap_or_else(|panic| resume_unwind(panic))
        .map_err(EmulateError::Precondition)
}

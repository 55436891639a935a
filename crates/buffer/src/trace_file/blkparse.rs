//! What blkparse(1) prints of events of block devices, in its own format.
//!
//! ```text
//!   8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]
//! ```
//!
//! Device, processor, sequence, time, process, action, what is done (RWBS), first sector,
//! count of sectors. Each request has events of several actions: queued (Q), issued to the
//! device (D), completed (C) and others; one of them counts. A summary follows the events.
//! Source: blkparse(1), sections "Output description and formatting" and "Default output".

use std::collections::BTreeMap;

use octavo_units::Seed;

use super::{
    error::{Problem, TraceFileError, shortened},
    request::{Request, number},
};
use crate::trace::Access;

/// Actions that are counted for a message; there are about 20.
const ACTIONS_MAX: usize = 32;

/// What is known of a file so far.
#[derive(Debug)]
pub(super) struct Blkparse {
    action: String,
    /// Events by their action.
    seen: BTreeMap<String, u64>,
}

impl Blkparse {
    /// Events of this action count.
    pub(super) fn new(action: &str) -> Self {
        Self {
            action: action.into(),
            seen: BTreeMap::new(),
        }
    }

    /// Whether the events are over, and the summary begins.
    pub(super) fn is_end(&self, line: &str) -> bool {
        !self.seen.is_empty() && (line.starts_with("CPU") || line.starts_with("Total"))
    }

    /// The request of an event; none of other actions, of discards, and of flushes without
    /// data.
    pub(super) fn request(&mut self, line: &str) -> Result<Option<Request>, Problem> {
        if is_notice(line) {
            return Ok(None);
        }
        let mut fields = line.split_ascii_whitespace();
        let device = fields.next().filter(|field| is_device(field));
        let action = fields.nth(4);
        let (Some(device), Some(action)) = (device, action) else {
            return Err(Problem::Event {
                found: shortened(line.trim()),
            });
        };
        if let Some(count) = self.seen.get_mut(action) {
            *count += 1;
        } else if self.seen.len() < ACTIONS_MAX {
            self.seen.insert(shortened(action), 1);
        }
        let done = fields.next().unwrap_or_default();
        if action != self.action || done.contains('D') {
            return Ok(None);
        }
        let access = match (done.contains('R'), done.contains('W')) {
            (true, _) => Access::Read,
            (false, true) => Access::Change,
            (false, false) => return Ok(None),
        };
        let (sector, plus, count) = (fields.next(), fields.next(), fields.next());
        let (Some(sector), Some("+"), Some(count)) = (sector, plus, count) else {
            // A flush has no sectors.
            return Ok(None);
        };
        let device = Seed::new(0).derive(device, 0).get();
        let (sector, count) = (number("sector", sector)?, number("count", count)?);
        Request::of_sectors(device, sector, count, access).map(Some)
    }

    /// Refuses a file whose events have other actions.
    pub(super) fn check(&self, name: &str) -> Result<(), TraceFileError> {
        if self.seen.is_empty() || self.seen.contains_key(&self.action) {
            return Ok(());
        }
        let found = self.seen.iter();
        let found: Vec<String> = found
            .map(|(action, count)| format!("{action} ({count})"))
            .collect();
        Err(TraceFileError::Action {
            name: name.into(),
            action: self.action.clone(),
            found: found.join(", "),
        })
    }
}

/// Whether a line says which files blkparse itself reads.
pub(super) fn is_notice(line: &str) -> bool {
    line.starts_with("Input file ")
}

/// Whether a line is an event.
pub(super) fn fits(line: &str) -> bool {
    let mut fields = line.split_ascii_whitespace();
    fields.next().is_some_and(is_device) && fields.count() >= 5
}

/// Whether this is a device's major and minor number.
fn is_device(field: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    field
        .split_once(',')
        .is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

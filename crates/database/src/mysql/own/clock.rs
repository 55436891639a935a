//! When statements began, in logs that say it in whole seconds: MariaDB's, and those of MySQL before
//! 5.7.
//!
//! Statements of one second are spread over it evenly, in their order. So where a second had a
//! burst and a pause, it has neither, but minutes have what they had.

use std::{collections::HashMap, fs::File, io::BufReader, path::Path, time::Duration};

use super::general_log::entry;
use crate::{
    Result, files,
    own::{
        civil::{since_1970, since_1970_of_short},
        recorded::Lines,
    },
};

/// What a log says of time.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// How many statements each second has, and how many of these were read.
    seconds: HashMap<u64, (u32, u32)>,
    /// The last time that the general log had.
    last: Option<Duration>,
}

impl Clock {
    /// Counts the entries of a log.
    pub(super) fn of(path: &Path, is_slow: bool) -> Result<Self> {
        let file = File::open(path).map_err(files::named("open", path))?;
        let mut lines = Lines::new(path, BufReader::with_capacity(1 << 20, file));
        let mut clock = Self::default();
        while let Some((_, line)) = lines.next()? {
            let at = match is_slow {
                true => timestamp(line),
                false if entry(line).is_some() => clock.moves(line),
                false => None,
            };
            if let Some(at) = at.filter(is_whole) {
                clock.seconds.entry(at.as_secs()).or_default().0 += 1;
            }
        }
        clock.last = None;
        Ok(clock)
    }

    /// The time of an entry of the general log. A line without one has that of the line before.
    fn moves(&mut self, line: &[u8]) -> Option<Duration> {
        let end = line.iter().position(|byte| *byte == b'\t');
        let text = String::from_utf8_lossy(&line[..end.unwrap_or_default()]);
        let found = since_1970_of_short(&text).or_else(|| since_1970(&text));
        self.last = found.or(self.last);
        self.last
    }

    /// When the statement of the general log's next entry began.
    pub(super) fn of_general(&mut self, line: &[u8]) -> Option<Duration> {
        let at = self.moves(line)?;
        Some(self.spread(at))
    }

    /// When the statement of a slow log's entry began, by the line that sets its timestamp.
    pub(super) fn of_slow(&mut self, line: &[u8]) -> Option<Duration> {
        Some(self.spread(timestamp(line)?))
    }

    fn spread(&mut self, at: Duration) -> Duration {
        let Some((count, read)) = self
            .seconds
            .get_mut(&at.as_secs())
            .filter(|_| is_whole(&at))
        else {
            return at;
        };
        // In the middle of its part of the second.
        let place = (f64::from(*read) + 0.5) / f64::from((*count).max(1));
        *read = (*read + 1).min(count.saturating_sub(1));
        at + Duration::from_secs_f64(place.min(1.0))
    }
}

fn is_whole(at: &Duration) -> bool {
    at.subsec_nanos() == 0
}

/// What `SET timestamp=1795778553;` says.
fn timestamp(line: &[u8]) -> Option<Duration> {
    let line = std::str::from_utf8(line.strip_prefix(b"SET ")?).ok()?;
    let (_, behind) = line.split_once("timestamp=")?;
    let is_number = |character: char| character.is_ascii_digit() || character == '.';
    let end = behind.find(|character| !is_number(character));
    let seconds = behind[..end.unwrap_or(behind.len())].parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

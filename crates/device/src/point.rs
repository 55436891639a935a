//! One point of a measurement: how storage is loaded.

use octavo_units::{ByteCount, QueueDepth, RequestSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request::{Mix, Pattern};

/// One thing to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct PointSpec {
    /// The share of reads.
    pub mix: Mix,
    /// The order of offsets.
    pub pattern: Pattern,
    /// Bytes of one request.
    pub request_size: RequestSize,
    /// Requests in flight.
    pub depth: QueueDepth,
    /// Requests lie in this many first bytes of the file; at least one
    /// request, and at most the file.
    pub range: ByteCount,
    /// Whether each write is followed by `fdatasync`. Synced requests are
    /// made by `pwrite` and `fdatasync` whatever the engine, as a database
    /// makes them.
    pub durability: Durability,
    /// How far past a multiple of its size each request begins, as pages lie on a partition that
    /// begins there; 0 of most. Points of profiles and texts have less than a request. More says
    /// where a range begins: see [`Device::precondition`](crate::Device::precondition).
    #[serde(skip_serializing_if = "is_zero", default)]
    pub shift: ByteCount,
}

fn is_zero(bytes: &ByteCount) -> bool {
    *bytes == ByteCount::ZERO
}

impl PointSpec {
    /// Bytes from the beginning of the file up to the end of the first request: a range holds
    /// as many or more.
    pub const fn least_range(&self) -> ByteCount {
        self.request_size.bytes().saturating_add(self.shift)
    }
}

/// A text that is not a [`PointSpec`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "point '{text}' is not one, {reason}: write it like 'random read 8K, depth 32, range 16GiB', \
     'sequential 75/25 64K, depth 1, range 1GiB', 'random write 4K + fdatasync, depth 1, range 1GiB' \
     or 'random read 8K, depth 1, range 1GiB, shifted 512'"
)]
pub struct ParsePointError {
    text: String,
    reason: String,
}

impl std::str::FromStr for PointSpec {
    type Err = ParsePointError;

    /// Reads what [`Display`](std::fmt::Display) prints.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = |reason: String| ParsePointError {
            text: text.to_owned(),
            reason,
        };
        let (what, rest) = text
            .split_once(',')
            .ok_or_else(|| refused("it names no depth".into()))?;
        let (depth, rest) = rest
            .split_once(',')
            .ok_or_else(|| refused("it names no range".into()))?;
        let (range, shift) = match rest.split_once(',') {
            Some((range, shift)) => (range, Some(shift)),
            None => (rest, None),
        };
        let (what, durability) = match what.split_once('+') {
            Some((what, sync)) if sync.trim() == "fdatasync" => (what, Durability::Synced),
            Some((_, other)) => {
                return Err(refused(format!("'{}' is not fdatasync", other.trim())));
            }
            None => (what, Durability::Device),
        };
        let mut words = what.trim().splitn(3, char::is_whitespace);
        let mut word = || words.next().unwrap_or_default().trim();
        let pattern = match word() {
            "random" => Pattern::Random,
            "sequential" => Pattern::Sequential,
            other => {
                return Err(refused(format!(
                    "'{other}' is neither random nor sequential"
                )));
            }
        };
        let mix: Mix = word()
            .parse()
            .map_err(|error| refused(format!("{error}")))?;
        let request_size: RequestSize = word()
            .parse()
            .map_err(|error| refused(format!("{error}")))?;
        let number = |part: &'static str, given: &str| -> Result<String, ParsePointError> {
            let given = given.trim();
            given
                .strip_prefix(part)
                .map(|number| number.trim().to_owned())
                .ok_or_else(|| refused(format!("'{given}' is no {part}")))
        };
        let depth = number("depth", depth)?;
        let depth = depth
            .parse()
            .ok()
            .and_then(QueueDepth::new)
            .ok_or_else(|| refused(format!("depth '{depth}' is not a number from 1 to 65535")))?;
        let range: ByteCount = number("range", range)?
            .parse()
            .map_err(|error| refused(format!("{error}")))?;
        let shift: ByteCount = match shift {
            Some(shift) => number("shifted", shift)?
                .parse()
                .map_err(|error| refused(format!("{error}")))?,
            None => ByteCount::ZERO,
        };
        if shift >= request_size.bytes() {
            return Err(refused("its shift is not less than one request".into()));
        }
        let point = Self {
            mix,
            pattern,
            request_size,
            depth,
            range,
            durability,
            shift,
        };
        if range < point.least_range() {
            return Err(refused(
                "its range is smaller than the end of its first request".into(),
            ));
        }
        Ok(point)
    }
}

impl std::fmt::Display for PointSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            mix,
            pattern,
            request_size,
            depth,
            range,
            durability,
            shift,
        } = self;
        write!(f, "{pattern} {mix} {request_size}")?;
        if *durability == Durability::Synced {
            write!(f, " + fdatasync")?;
        }
        write!(f, ", depth {depth}, range {range}")?;
        match *shift {
            ByteCount::ZERO => Ok(()),
            shift => write!(f, ", shifted {shift}"),
        }
    }
}

/// Whether a write is followed by `fdatasync` before it counts as completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// A write is complete when the device has taken it, perhaps in a cache.
    Device,
    /// A write and an `fdatasync` are one request: what a commit costs.
    Synced,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Preset;

    #[test]
    fn points_survive_being_written_and_bad_ones_are_explained() {
        for point in Preset::Full.points(ByteCount::mib(8192), 512) {
            assert_eq!(point.to_string().parse::<PointSpec>().unwrap(), point);
        }
        for (text, named) in [
            ("", "no depth"),
            ("random read 8K, depth 32", "no range"),
            ("random read 8K, depth 0, range 1G", "depth '0'"),
            ("random read 8K, range 1G, depth 1", "is no depth"),
            ("sorted read 8K, depth 1, range 1G", "'sorted'"),
            ("random 75/26 8K, depth 1, range 1G", "75/26"),
            ("random read 8X, depth 1, range 1G", "8X"),
            ("random read, depth 1, range 1G", "''"),
            ("random write 8K + sync, depth 1, range 1G", "'sync'"),
            ("random read 8K, depth 1, range 4K", "smaller"),
            ("random read 8K, depth 1, range 8K, shifted 512", "smaller"),
            ("random read 8K, depth 1, range 1G, shifted 8K", "not less"),
            ("random read 8K, depth 1, range 1G, 512", "is no shifted"),
        ] {
            let error = text.parse::<PointSpec>().unwrap_err().to_string();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}

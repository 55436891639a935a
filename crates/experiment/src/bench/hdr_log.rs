//! Each second's latencies as HdrHistogram's tools read them: an interval log
//! with one line a kind of transaction and second
//! (<https://hdrhistogram.github.io/HdrHistogram/>), values in microseconds,
//! maxima in milliseconds.

use std::{
    io,
    time::{Duration, SystemTime},
};

use hdrhistogram::serialization::{
    V2DeflateSerializer,
    interval_log::{IntervalLogWriter, IntervalLogWriterBuilder, Tag},
};

use octavo_driver::Counts;

/// Microseconds in the unit of the log's maxima.
const MAXIMA_US: f64 = 1000.0;

/// Why the log could not be written.
#[derive(Debug, thiserror::Error)]
#[error("write the log of latencies: {0}")]
pub struct HdrLogError(String);

fn failed(error: impl std::fmt::Display) -> HdrLogError {
    HdrLogError(error.to_string())
}

/// Where a log goes; the library borrows what it works with.
pub(super) struct HdrLogPlace<'a, 'w> {
    pub(super) out: &'a mut &'w mut dyn io::Write,
    pub(super) serializer: &'a mut V2DeflateSerializer,
}

impl<'a, 'w> HdrLogPlace<'a, 'w> {
    /// Begins the log of a run whose clients began `since` ago: the log's times
    /// count from there.
    pub(super) fn begin(self, since: Duration) -> Result<HdrLog<'a, 'w>, HdrLogError> {
        let start = SystemTime::now() - since;
        let writer = IntervalLogWriterBuilder::new()
            .add_comment("octavo bench: latencies in microseconds by kind of transaction")
            .with_start_time(start)
            .with_base_time(start)
            .with_max_value_divisor(MAXIMA_US)
            .begin_log_with(self.out, self.serializer)
            .map_err(failed)?;
        Ok(HdrLog { writer })
    }
}

/// A log under way.
pub(super) struct HdrLog<'a, 'w> {
    writer: IntervalLogWriter<'a, 'a, &'w mut dyn io::Write, V2DeflateSerializer>,
}

impl HdrLog<'_, '_> {
    /// Adds what was recorded in `length` until `at`.
    pub(super) fn add(
        &mut self,
        at: Duration,
        length: Duration,
        counts: &Counts,
    ) -> Result<(), HdrLogError> {
        for kind in &counts.kinds {
            if kind.latencies.count() > 0 {
                let begin = at.saturating_sub(length);
                self.writer
                    .write_histogram(
                        &kind.latencies.histogram(),
                        begin,
                        length,
                        Tag::new(&kind.name),
                    )
                    .map_err(failed)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::{
        Histogram,
        serialization::{
            Deserializer,
            interval_log::{IntervalLogIterator, LogEntry},
        },
    };
    use octavo_workload::TransactionKind;

    use super::*;

    #[test]
    fn a_reader_finds_every_second_and_kind() {
        let kind = |name| TransactionKind {
            name,
            ..TransactionKind::PLAIN
        };
        let mut counts = Counts::new(&[kind("Read"), kind("Update"), kind("Scan")]);
        counts.kinds[0].latencies.record(85.0);
        counts.kinds[2].latencies.record(12_000.0);
        let mut bytes = Vec::new();
        {
            let mut out: &mut dyn io::Write = &mut bytes;
            let mut serializer = V2DeflateSerializer::new();
            let place = HdrLogPlace {
                out: &mut out,
                serializer: &mut serializer,
            };
            let mut log = place.begin(Duration::from_secs(1)).unwrap();
            for second in 1..=2 {
                let at = Duration::from_secs(second);
                log.add(at, Duration::from_secs(1), &counts).unwrap();
            }
        }
        let found: Vec<(String, u64, u64)> = IntervalLogIterator::new(&bytes)
            .filter_map(|entry| match entry.unwrap() {
                LogEntry::Interval(interval) => Some(interval),
                _ => None,
            })
            .map(|interval| {
                let encoded = interval.encoded_histogram();
                let bytes = base64(encoded);
                let histogram: Histogram<u64> =
                    Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
                let tag = interval.tag().unwrap().as_str().to_owned();
                (tag, interval.start_timestamp().as_secs(), histogram.max())
            })
            .collect();
        let wanted = [
            ("Read", 0, 85),
            ("Scan", 0, 12_007),
            ("Read", 1, 85),
            ("Scan", 1, 12_007),
        ];
        assert_eq!(
            found,
            wanted.map(|(tag, at, max)| (tag.to_owned(), at, max))
        );
    }

    /// Decodes standard base64, as the log has it.
    fn base64(text: &str) -> Vec<u8> {
        const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let digits: Vec<u32> = text
            .bytes()
            .filter_map(|byte| DIGITS.iter().position(|digit| *digit == byte))
            .map(|digit| digit as u32)
            .collect();
        let mut bytes = Vec::new();
        for group in digits.chunks(4) {
            let word = group
                .iter()
                .enumerate()
                .fold(0, |word, (place, digit)| word | digit << (18 - 6 * place));
            bytes.extend(&word.to_be_bytes()[1..group.len()]);
        }
        bytes
    }
}

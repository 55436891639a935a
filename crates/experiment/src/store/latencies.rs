//! Latencies of many runs put together, without a histogram for each: a store
//! of 10,000 runs has 50,000, of 170 KiB each in memory.

use std::collections::BTreeMap;

use hdrhistogram::{Histogram, serialization::Deserializer};

use super::{Store, StoreError, from_integer};
use crate::drive::new_histogram;

/// The latencies of one kind of transaction, over the steady runs of a cell.
#[derive(Clone, Debug)]
pub struct KindLatency {
    /// The kind's name.
    pub name: String,
    /// Committed.
    pub committed: u64,
    /// Rolled back as the specification wants.
    pub rolled_back: u64,
    /// Tries repeated after conflicts.
    pub retries: u64,
    /// Microseconds.
    pub latency_us: Histogram<u64>,
}

impl Store {
    /// The latencies of each cell that has steady runs, by kind of
    /// transaction.
    pub fn latencies(&self) -> Result<BTreeMap<usize, Vec<KindLatency>>, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT cell, name, committed, rolled_back, latency.retries, histogram
                 FROM run JOIN latency USING (run) WHERE steady AND set_aside = 0
                 ORDER BY cell, kind",
            )
            .map_err(|error| self.error(error))?;
        let mut rows = statement.query([]).map_err(|error| self.error(error))?;
        let mut cells: BTreeMap<usize, Vec<KindLatency>> = BTreeMap::new();
        while let Some(row) = rows.next().map_err(|error| self.error(error))? {
            let mut read = || -> rusqlite::Result<Result<(), String>> {
                let kinds = cells.entry(from_integer(row, 0)? as usize).or_default();
                let name = row.get_ref(1)?.as_str()?;
                if kinds.last().is_none_or(|kind| kind.name != name) {
                    kinds.push(KindLatency {
                        name: name.to_owned(),
                        committed: 0,
                        rolled_back: 0,
                        retries: 0,
                        latency_us: new_histogram(),
                    });
                }
                let kind = kinds.last_mut().expect("one was pushed");
                kind.committed = kind.committed.saturating_add(from_integer(row, 2)?);
                kind.rolled_back = kind.rolled_back.saturating_add(from_integer(row, 3)?);
                kind.retries = kind.retries.saturating_add(from_integer(row, 4)?);
                Ok(add(&mut kind.latency_us, row.get_ref(5)?.as_blob()?))
            };
            read()
                .map_err(|error| self.error(error))?
                .map_err(|what| StoreError::Damaged {
                    path: self.path.clone(),
                    what: format!("latency histogram: {what}"),
                })?;
        }
        Ok(cells)
    }
}

/// Bytes before the counts in HdrHistogram's V2 encoding: cookie, length of
/// the counts, offset, digits (4 each), lowest and highest value, conversion
/// ratio (8 each), all big-endian
/// (<https://github.com/HdrHistogram/HdrHistogram>, `AbstractHistogram.java`,
/// `encodeIntoByteBuffer`).
const HEADER: usize = 40;

/// Cookie of the V2 encoding with counts as variable-length integers.
const COOKIE: u32 = 0x1c84_9313;

/// Significant digits of [`new_histogram`], for which values below
/// 2^[`SUB_BUCKET_BITS`] have an index of their own.
const DIGITS: u32 = 3;
const SUB_BUCKET_BITS: u32 = 11;

/// Adds an encoded histogram to another.
fn add(histogram: &mut Histogram<u64>, encoded: &[u8]) -> Result<(), String> {
    let field = |at: usize| {
        let bytes = encoded.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    let lowest = (field(16), field(20));
    if (field(0), field(8), field(12), lowest)
        != (Some(COOKIE), Some(0), Some(DIGITS), (Some(0), Some(1)))
    {
        // Not as this version writes it: decoded the long way. A histogram may
        // have other bounds; values are cut to ours rather than lost.
        let other: Histogram<u64> = Deserializer::new()
            .deserialize(&mut &*encoded)
            .map_err(|error| format!("{error:?}"))?;
        for bucket in other.iter_recorded() {
            histogram.saturating_record_n(bucket.value_iterated_to(), bucket.count_at_value());
        }
        return Ok(());
    }
    let length = field(4).unwrap_or(0) as usize;
    let mut counts = encoded
        .get(HEADER..)
        .and_then(|counts| counts.get(..length))
        .ok_or("it is cut short")?
        .iter();
    let mut index = 0u64;
    while let Some(number) = zig_zag(&mut counts)? {
        match u64::try_from(number) {
            Ok(count) => {
                if count > 0 {
                    histogram.saturating_record_n(value(index), count);
                }
                index += 1;
            }
            // So many indexes with no count.
            Err(_) => index = index.saturating_add(number.unsigned_abs()),
        }
    }
    Ok(())
}

/// The smallest value that is counted at an index: of each power of two from
/// 2^[`SUB_BUCKET_BITS`] on, half as many values as below it have an index.
fn value(index: u64) -> u64 {
    let half = SUB_BUCKET_BITS - 1;
    let power = (index >> half).saturating_sub(1).min(63);
    let within = index - (power << half);
    within << power
}

/// Reads an integer of 7 bits a byte (the ninth has 8), the lowest first and
/// its sign in the lowest bit (`ZigZagEncoding.java`); `None` at the end.
fn zig_zag<'a>(bytes: &mut impl Iterator<Item = &'a u8>) -> Result<Option<i64>, String> {
    let mut number = 0u64;
    for place in 0..9 {
        let Some(&byte) = bytes.next() else {
            return if place == 0 {
                Ok(None)
            } else {
                Err("a count is cut short".into())
            };
        };
        let last = place == 8 || byte & 0x80 == 0;
        let bits = if place == 8 { byte } else { byte & 0x7f };
        number |= u64::from(bits) << (7 * place);
        if last {
            break;
        }
    }
    Ok(Some((number >> 1) as i64 ^ -((number & 1) as i64)))
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::{Serializer, V2Serializer};

    use super::*;

    fn encoded(histogram: &Histogram<u64>) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(histogram, &mut bytes)
            .unwrap();
        bytes
    }

    #[test]
    fn what_is_added_is_what_was_recorded() {
        let mut one = new_histogram();
        let mut other = new_histogram();
        let mut value = 1u64;
        for count in 1..60 {
            one.saturating_record_n(value, count * count);
            other.saturating_record_n(value + 3, 1 << (count % 40));
            value = value * 3 / 2 + 1;
        }
        let mut sum = new_histogram();
        add(&mut sum, &encoded(&one)).unwrap();
        add(&mut sum, &encoded(&other)).unwrap();
        one.add(&other).unwrap();
        assert_eq!(sum.len(), one.len());
        for quantile in [0.0, 0.1, 0.5, 0.9, 0.99, 0.9999, 1.0] {
            assert_eq!(
                sum.value_at_quantile(quantile),
                one.value_at_quantile(quantile)
            );
        }
        let buckets = |histogram: &Histogram<u64>| -> Vec<(u64, u64)> {
            histogram
                .iter_recorded()
                .map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value()))
                .collect()
        };
        assert_eq!(buckets(&sum), buckets(&one));
    }

    #[test]
    fn other_bounds_are_read_as_well_and_damage_is_an_error() {
        let mut coarse = Histogram::<u64>::new_with_bounds(1, 1000, 1).unwrap();
        coarse.record_n(500, 7).unwrap();
        let mut sum = new_histogram();
        add(&mut sum, &encoded(&coarse)).unwrap();
        assert_eq!(sum.len(), 7);
        let mut whole = new_histogram();
        whole.record_n(12_345, 100_000).unwrap();
        let bytes = encoded(&whole);
        for end in 0..bytes.len() {
            assert!(add(&mut sum, &bytes[..end]).is_err(), "{end}");
        }
        assert!(add(&mut sum, b"nonsense").is_err());
    }
}

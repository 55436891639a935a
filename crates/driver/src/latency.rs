//! Latencies as histograms, and as the figures that people compare.

use std::borrow::Cow;

use hdrhistogram::{
    Histogram,
    serialization::{Deserializer, Serializer, V2Serializer},
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, ser};

/// The longest latency that a histogram holds, 10 minutes; longer ones count
/// as this long.
const LATENCY_US_MAX: u64 = 600_000_000;

/// Significant digits of a histogram.
const DIGITS: u8 = 3;

/// What a histogram of microseconds says, three digits exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Percentiles {
    /// Arithmetic mean.
    pub mean_us: f64,
    /// Median.
    pub p50_us: u64,
    /// 90%.
    pub p90_us: u64,
    /// 95%.
    pub p95_us: u64,
    /// 99%.
    pub p99_us: u64,
    /// 99.9%.
    pub p999_us: u64,
    /// The longest.
    pub max_us: u64,
}

/// Between what a 99th percentile lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct P99Between {
    /// The lower end, in microseconds.
    pub low_us: u64,
    /// The upper end, in microseconds; `None` of too few to know.
    pub high_us: Option<u64>,
}

/// A histogram of microseconds: 3 significant digits, 1 µs to 10 minutes. Open
/// it takes 172 KiB of memory; one that was packed, as stores keep it, some
/// hundred bytes. Both can be added up and asked for percentiles.
#[derive(Clone, Debug)]
pub struct Latencies {
    representation: Representation,
    /// The sum of all, not rounded, in µs; NaN where only the histogram is
    /// known.
    sum_us: f64,
}

#[derive(Clone, Debug)]
enum Representation {
    Open(Histogram<u64>),
    /// HdrHistogram's V2 encoding.
    Packed(Vec<u8>),
}

impl Default for Latencies {
    fn default() -> Self {
        Self {
            representation: Representation::Open(empty()),
            sum_us: 0.0,
        }
    }
}

impl Latencies {
    /// Reads HdrHistogram's V2 encoding. Bounds other than ours are accepted;
    /// values beyond ours count as our longest.
    ///
    /// # Errors
    /// What is wrong with bytes that are not such an encoding.
    pub fn from_packed(bytes: Vec<u8>) -> Result<Self, String> {
        unpack(&bytes)?;
        Ok(Self {
            representation: Representation::Packed(bytes),
            sum_us: f64::NAN,
        })
    }

    /// HdrHistogram's V2 encoding.
    ///
    /// # Panics
    /// Never: writing to memory does not fail.
    pub fn packed(&self) -> Vec<u8> {
        match &self.representation {
            Representation::Packed(bytes) => bytes.clone(),
            Representation::Open(histogram) => {
                let mut bytes = Vec::new();
                V2Serializer::new()
                    .serialize(histogram, &mut bytes)
                    .expect("writing to memory does not fail");
                bytes
            }
        }
    }

    /// Adds a latency in microseconds; in the histogram it is rounded to whole
    /// ones.
    #[inline]
    pub fn record(&mut self, latency_us: f32) {
        let histogram = match &mut self.representation {
            Representation::Open(histogram) => histogram,
            Representation::Packed(_) => self.open(),
        };
        // Casts of positive floats round down and saturate.
        histogram.saturating_record((latency_us + 0.5) as u64);
        self.sum_us += f64::from(latency_us);
    }

    /// Adds all of another.
    pub fn add(&mut self, other: &Self) {
        let histogram = self.open();
        match &other.representation {
            Representation::Open(other) => histogram
                .add(other)
                .expect("all histograms have the same bounds"),
            Representation::Packed(bytes) => {
                let other = unpack(bytes).expect("it was read when it was made");
                for bucket in other.iter_recorded() {
                    histogram
                        .saturating_record_n(bucket.value_iterated_to(), bucket.count_at_value());
                }
            }
        }
        self.sum_us += other.sum_us;
    }

    /// Forgets all, and keeps the memory.
    pub fn clear(&mut self) {
        self.open().reset();
        self.sum_us = 0.0;
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.histogram().len()
    }

    /// The histogram itself.
    pub fn histogram(&self) -> std::borrow::Cow<'_, Histogram<u64>> {
        use std::borrow::Cow;
        match &self.representation {
            Representation::Open(histogram) => Cow::Borrowed(histogram),
            Representation::Packed(_) => {
                let mut open = Self::default();
                open.add(self);
                match open.representation {
                    Representation::Open(histogram) => Cow::Owned(histogram),
                    Representation::Packed(_) => unreachable!("it was made open"),
                }
            }
        }
    }

    /// The figures; all are 0 of nothing. The mean is not rounded where the
    /// sum is known.
    pub fn percentiles(&self) -> Percentiles {
        let histogram = self.histogram();
        Percentiles {
            mean_us: if self.sum_us.is_nan() {
                histogram.mean()
            } else {
                self.sum_us / histogram.len().max(1) as f64
            },
            p50_us: histogram.value_at_quantile(0.5),
            p90_us: histogram.value_at_quantile(0.9),
            p95_us: histogram.value_at_quantile(0.95),
            p99_us: histogram.value_at_quantile(0.99),
            p999_us: histogram.value_at_quantile(0.999),
            max_us: histogram.max(),
        }
    }

    /// Between what the 99th percentile lies at 95%, of all that might have come in the place of these: of n
    /// in their order, those at the ranks 0.99 n ± 1.96 √(0.99 · 0.01 · n) (order statistics: David and
    /// Nagaraja, "Order Statistics", 2003, section 7.1, in the normal approximation).
    pub fn p99_between(&self) -> P99Between {
        let histogram = self.histogram();
        let count = histogram.len() as f64;
        let half = 1.96 * (0.99 * 0.01 * count).sqrt();
        let (low, high) = (
            (0.99 * count - half).floor(),
            (0.99 * count + half).ceil() + 1.0,
        );
        let at = |rank: f64| histogram.value_at_quantile((rank / count).clamp(0.0, 1.0));
        P99Between {
            low_us: if low >= 1.0 { at(low) } else { 0 },
            high_us: (high <= count).then(|| at(high)),
        }
    }

    fn open(&mut self) -> &mut Histogram<u64> {
        if matches!(self.representation, Representation::Packed(_)) {
            self.representation = Representation::Open(self.histogram().into_owned());
        }
        match &mut self.representation {
            Representation::Open(histogram) => histogram,
            Representation::Packed(_) => unreachable!("it was opened"),
        }
    }
}

impl Serialize for Latencies {
    /// As its percentiles.
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.percentiles().serialize(serializer)
    }
}

impl JsonSchema for Latencies {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Latencies".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<Percentiles>()
    }
}

fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_US_MAX, DIGITS).expect("the bounds are sound constants")
}

/// Bytes before the counts in HdrHistogram's V2 encoding: cookie, length of
/// the counts, offset, digits (4 each), lowest and highest value, conversion
/// ratio (8 each), all big-endian
/// (<https://github.com/HdrHistogram/HdrHistogram>, `AbstractHistogram.java`,
/// `encodeIntoByteBuffer`).
const HEADER: usize = 40;

/// Reads HdrHistogram's V2 encoding, of any bounds.
fn unpack(encoded: &[u8]) -> Result<Histogram<u64>, String> {
    let length = match encoded.first_chunk::<8>() {
        // The cookie of counts that are not compressed.
        Some(&[0x1c, 0x84, 0x93, 0x13, length @ ..]) => u32::from_be_bytes(length),
        _ => return Err("it is no histogram".into()),
    };
    // The library takes memory for any length, and negates without a check the
    // number that these nine bytes are.
    if encoded.len() < HEADER + length as usize {
        return Err("it is cut short".into());
    }
    if encoded.windows(9).any(|bytes| bytes == [0xff; 9]) {
        return Err("a count is out of bounds".into());
    }
    Deserializer::new()
        .deserialize(&mut &*encoded)
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[(u64, u64)]) -> Histogram<u64> {
        let mut histogram = empty();
        for &(value, count) in values {
            histogram.saturating_record_n(value, count);
        }
        histogram
    }

    fn packed(histogram: Histogram<u64>) -> Latencies {
        let open = Latencies {
            representation: Representation::Open(histogram),
            sum_us: f64::NAN,
        };
        Latencies::from_packed(open.packed()).unwrap()
    }

    #[test]
    fn a_99th_percentile_is_known_as_well_as_its_ranks() {
        let of = |count: u32| {
            let mut latencies = Latencies::default();
            (1..=count).for_each(|us| latencies.record(us as f32));
            latencies.p99_between()
        };
        // 1.96 √(0.99 · 0.01 · 10,000) is 19.5: ranks 9,880 and 9,921, three digits exact.
        let many = of(10_000);
        assert!((9870..=9890).contains(&many.low_us), "{many:?}");
        assert!((9911..=9931).contains(&many.high_us.unwrap()), "{many:?}");
        // Of 475 the 99th percentile may be above all: 470.25 + 4.25 rounds up to 475, and one more.
        assert_eq!(of(475).high_us, None);
        assert!(of(600).high_us.is_some());
        assert_eq!(
            of(0),
            P99Between {
                low_us: 0,
                high_us: None
            }
        );
    }

    #[test]
    fn packed_histograms_add_up_to_what_was_recorded() {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        let mut value = 1u64;
        for count in 1..60 {
            one.push((value, count * count));
            other.push((value + 3, 1 << (count % 40)));
            value = value * 3 / 2 + 1;
        }
        let mut sum = packed(of(&one));
        sum.add(&packed(of(&other)));
        one.extend(other);
        let whole = of(&one);
        let buckets = |histogram: &Histogram<u64>| -> Vec<(u64, u64)> {
            histogram
                .iter_recorded()
                .map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value()))
                .collect()
        };
        assert_eq!(buckets(&sum.histogram()), buckets(&whole));
        assert_eq!(sum.count(), whole.len());
        assert_eq!(sum.percentiles().p99_us, whole.value_at_quantile(0.99));
        assert_eq!(packed(whole).packed(), sum.packed());
    }

    #[test]
    fn other_bounds_are_accepted_and_damage_is_an_error() {
        let mut coarse = Histogram::<u64>::new_with_bounds(1, 1000, 1).unwrap();
        coarse.record_n(500, 7).unwrap();
        assert_eq!(packed(coarse).count(), 7);
        let bytes = packed(of(&[(12_345, 100_000)])).packed();
        for end in 0..bytes.len() {
            assert!(
                Latencies::from_packed(bytes[..end].to_vec()).is_err(),
                "{end}"
            );
        }
        assert!(Latencies::from_packed(b"nonsense".to_vec()).is_err());
        let mut negated = bytes.clone();
        negated[4..8].copy_from_slice(&9u32.to_be_bytes());
        negated.truncate(HEADER);
        negated.extend([0xff; 9]);
        assert!(Latencies::from_packed(negated).is_err());
    }

    #[test]
    fn the_mean_is_exact_as_long_as_the_sum_is_known() {
        let mut latencies = Latencies::default();
        for latency_us in [0.3, 0.6, 1.5] {
            latencies.record(latency_us);
        }
        let figures = latencies.percentiles();
        assert_eq!((figures.p50_us, figures.max_us), (1, 2));
        assert!((figures.mean_us - 0.8).abs() < 1e-6, "{figures:?}");
        latencies.add(&packed(of(&[(1000, 1)])));
        assert!((latencies.percentiles().mean_us - 250.75).abs() < 0.5);
    }
}

//! What a caller does not want of a ratio: a script ends by it.

use std::{fmt, str::FromStr};

use crate::statistics::Interval;

/// That throughput is slower or faster by more than a share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition {
    direction: Direction,
    /// From 0 to below 1 for slower.
    beyond: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Slower,
    Faster,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// All of the interval is beyond.
    Yes,
    /// None of it is.
    No,
    /// Some of it is.
    Open,
}

impl Condition {
    /// Whether a ratio of throughputs, the new one over the old one, is beyond it.
    pub fn holds(&self, ratio: &Interval) -> Holds {
        let (is_all, is_none) = match self.direction {
            Direction::Slower => {
                let limit = 1.0 - self.beyond;
                (ratio.high < limit, ratio.low >= limit)
            }
            Direction::Faster => {
                let limit = 1.0 + self.beyond;
                (ratio.low > limit, ratio.high <= limit)
            }
        };
        match (is_all, is_none) {
            (true, _) => Holds::Yes,
            (_, true) => Holds::No,
            _ => Holds::Open,
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.direction {
            Direction::Slower => "slower",
            Direction::Faster => "faster",
        };
        if self.beyond == 0.0 {
            return f.write_str(word);
        }
        // Two digits behind the point are all that it is read with.
        write!(f, "{word} > {}%", (self.beyond * 1e4).round() / 100.0)
    }
}

/// A text is no condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}: write 'slower > 5%' or 'faster > 5%'")]
pub struct ConditionError(&'static str);

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (word, share) = match text.split_once('>') {
            Some((word, share)) => (word.trim(), Some(share.trim())),
            None => (text.trim(), None),
        };
        let direction = match word {
            "slower" => Direction::Slower,
            "faster" => Direction::Faster,
            _ => return Err(ConditionError("it begins with neither slower nor faster")),
        };
        let beyond = match share {
            None => 0.0,
            Some(share) => {
                let number = share.strip_suffix('%').map(str::trim_end);
                let number = number.ok_or(ConditionError("the share has no %"))?;
                let percent: f64 = number
                    .parse()
                    .map_err(|_| ConditionError("the share is no number"))?;
                let beyond = (percent * 100.0).round() / 1e4;
                if (beyond * 100.0 - percent).abs() > 1e-9 {
                    return Err(ConditionError(
                        "the share has more than two digits behind the point",
                    ));
                }
                beyond
            }
        };
        let is_possible = match direction {
            Direction::Slower => (0.0..1.0).contains(&beyond),
            Direction::Faster => (0.0..=1e6).contains(&beyond),
        };
        match is_possible {
            true => Ok(Self { direction, beyond }),
            false => Err(ConditionError("nothing can be beyond that share")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(condition: &str, low: f64, high: f64) -> Holds {
        let condition: Condition = condition.parse().unwrap();
        condition.holds(&Interval {
            estimate: f64::midpoint(low, high),
            low,
            high,
            batches: 10,
        })
    }

    #[test]
    fn an_interval_is_beyond_within_or_both() {
        assert_eq!(holds("slower > 5%", 0.90, 0.94), Holds::Yes);
        assert_eq!(holds("slower > 5%", 0.90, 0.96), Holds::Open);
        assert_eq!(holds("slower > 5%", 0.95, 1.2), Holds::No);
        assert_eq!(holds("slower", 0.90, 0.99), Holds::Yes);
        assert_eq!(holds("faster>2.5%", 1.03, 1.1), Holds::Yes);
        assert_eq!(holds("faster > 2.5 %", 1.0, 1.02), Holds::No);
        // Of which nothing is known.
        assert_eq!(holds("slower > 5%", 0.0, f64::INFINITY), Holds::Open);
        assert_eq!(holds("slower > 5%", f64::NAN, f64::NAN), Holds::Open);
    }

    #[test]
    fn conditions_are_written_as_they_are_read() {
        for text in ["slower > 5%", "faster > 0.25%", "slower"] {
            let condition: Condition = text.parse().unwrap();
            assert_eq!(condition.to_string(), text);
        }
        for text in [
            "",
            "fast",
            "slower >",
            "slower > 5",
            "slower > x%",
            "slower > 100%",
            "slower > -1%",
            "faster > 0.001%",
            "faster > inf%",
            "faster > nan%",
            "slower < 5%",
        ] {
            assert!(text.parse::<Condition>().is_err(), "{text}");
        }
    }
}

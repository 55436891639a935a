//! How fast recorded transactions are sent, as it is written: `recorded` or `2x`.

use std::{fmt, str::FromStr, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A speed, 1 for that of the recording. From 0.01 to 100.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "f64", into = "f64")]
pub struct Pace(f64);

/// What is no pace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} must be recorded, or a speed from 0.01x to 100x, such as 2x")]
pub struct PaceError(String);

impl Pace {
    /// That of the recording.
    pub const RECORDED: Self = Self(1.0);

    /// How long something takes that took `time` when it was recorded.
    pub fn scale(self, time: Duration) -> Duration {
        match self == Self::RECORDED {
            true => time,
            false => {
                Duration::try_from_secs_f64(time.as_secs_f64() / self.0).unwrap_or(Duration::MAX)
            }
        }
    }
}

impl TryFrom<f64> for Pace {
    type Error = PaceError;

    fn try_from(speed: f64) -> Result<Self, PaceError> {
        match (0.01..=100.0).contains(&speed) {
            true => Ok(Self(speed)),
            false => Err(PaceError(speed.to_string())),
        }
    }
}

impl From<Pace> for f64 {
    fn from(pace: Pace) -> Self {
        pace.0
    }
}

impl FromStr for Pace {
    type Err = PaceError;

    fn from_str(text: &str) -> Result<Self, PaceError> {
        let refused = || PaceError(format!("'{text}'"));
        match text.strip_suffix('x') {
            Some(speed) => {
                let speed: f64 = speed.parse().map_err(|_| refused())?;
                Self::try_from(speed).map_err(|_| refused())
            }
            None if text == "recorded" => Ok(Self::RECORDED),
            None => Err(refused()),
        }
    }
}

impl fmt::Display for Pace {
    /// "the recorded pace", "2 times the recorded pace".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self == Self::RECORDED {
            true => f.write_str("the recorded pace"),
            false => write!(f, "{} times the recorded pace", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paces_are_recorded_or_speeds() {
        for (text, wanted) in [
            ("recorded", Some(1.0)),
            ("1x", Some(1.0)),
            ("2x", Some(2.0)),
            ("0.5x", Some(0.5)),
            ("0x", None),
            ("-1x", None),
            ("NaNx", None),
            ("infx", None),
            ("1e3x", None),
            ("2", None),
            ("x", None),
            ("", None),
            ("spec", None),
        ] {
            assert_eq!(text.parse::<Pace>().ok().map(f64::from), wanted, "{text}");
        }
        let second = Duration::from_secs(1);
        assert_eq!("2x".parse::<Pace>().unwrap().scale(second), second / 2);
        assert_eq!(Pace::RECORDED.scale(Duration::MAX), Duration::MAX);
        assert_eq!(
            "0.01x".parse::<Pace>().unwrap().scale(Duration::MAX),
            Duration::MAX
        );
    }
}

//! Clients that begin one group after the other.

use std::{fmt, str::FromStr, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

/// Numbers of clients at work, one after the other: from the first by so many more to the
/// last. Written `5..60/5`, or `5..60` for one more at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ClientSteps {
    first: u32,
    last: u32,
    by: u32,
}

/// Why there are no such steps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientStepsError {
    /// It is no `FIRST..LAST/BY`.
    #[error("'{0}' is no ramp: write FIRST..LAST/BY, such as 5..60/5")]
    Form(String),
    /// There are none.
    #[error("a ramp goes from at least 1 client by at least 1 to more clients, not {0}")]
    Empty(String),
    /// There are too many.
    #[error("a ramp has at most {most} clients, not {last}")]
    Clients {
        /// How many may be.
        most: u32,
        /// How many were wanted.
        last: u32,
    },
}

impl ClientSteps {
    /// Clients at most.
    pub const CLIENTS_MAX: u32 = 100_000;

    /// From `first` by `by` more to `last`; where that is not reached exactly, to what comes
    /// before it.
    ///
    /// # Errors
    /// [`ClientStepsError`].
    pub fn new(first: u32, last: u32, by: u32) -> Result<Self, ClientStepsError> {
        if first == 0 || by == 0 || last <= first {
            return Err(ClientStepsError::Empty(format!("{first}..{last}/{by}")));
        }
        if last > Self::CLIENTS_MAX {
            let most = Self::CLIENTS_MAX;
            return Err(ClientStepsError::Clients { most, last });
        }
        let last = last - (last - first) % by;
        Ok(Self { first, last, by })
    }

    /// The numbers.
    pub fn clients(self) -> impl Iterator<Item = u32> {
        (0..=(self.last - self.first) / self.by).map(move |step| self.first + step * self.by)
    }

    /// How many steps there are.
    pub fn count(self) -> u32 {
        (self.last - self.first) / self.by + 1
    }

    /// Clients at the end.
    pub fn last(self) -> u32 {
        self.last
    }

    /// The step, from 0, with which a client begins.
    pub(crate) fn step_of_client(self, client: u32) -> u32 {
        (client + 1).saturating_sub(self.first).div_ceil(self.by)
    }
}

impl fmt::Display for ClientSteps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}/{}", self.first, self.last, self.by)
    }
}

impl Serialize for ClientSteps {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for ClientSteps {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ClientSteps".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

impl FromStr for ClientSteps {
    type Err = ClientStepsError;

    fn from_str(text: &str) -> Result<Self, ClientStepsError> {
        let form = || ClientStepsError::Form(text.to_owned());
        let (range, by) = text.split_once('/').unwrap_or((text, "1"));
        let (first, last) = range.split_once("..").ok_or_else(form)?;
        let number = |text: &str| text.parse().map_err(|_| form());
        Self::new(number(first)?, number(last)?, number(by)?)
    }
}

impl TryFrom<String> for ClientSteps {
    type Error = ClientStepsError;

    fn try_from(text: String) -> Result<Self, ClientStepsError> {
        text.parse()
    }
}

/// Clients that begin step by step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "StoredRamp")]
pub struct Ramp {
    /// How many are at work in each step.
    pub clients: ClientSteps,
    /// How long each step lasts.
    #[serde(rename = "step_s", serialize_with = "crate::seconds")]
    #[schemars(with = "f64")]
    pub step: Duration,
}

/// A ramp as it is written, before it is known whether it can be.
#[derive(Deserialize, JsonSchema)]
struct StoredRamp {
    clients: ClientSteps,
    step_s: f64,
}

/// Why a ramp cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RampError {
    /// Its steps are too short.
    #[error(
        "step must be at least {}s: figures come second by second",
        Ramp::STEP_MIN.as_secs()
    )]
    Short,
    /// Its steps last no time that there is.
    #[error("the length of its steps is no time")]
    NoTime,
}

impl TryFrom<StoredRamp> for Ramp {
    type Error = RampError;

    fn try_from(stored: StoredRamp) -> Result<Self, RampError> {
        let step = Duration::try_from_secs_f64(stored.step_s).map_err(|_| RampError::NoTime)?;
        Self::new(stored.clients, step)
    }
}

impl Ramp {
    /// The shortest step.
    pub const STEP_MIN: Duration = Duration::from_secs(5);

    /// The share of each step, at its beginning, that should not count: its clients have just
    /// begun.
    pub const SETTLING: f64 = 0.1;

    /// So many clients in each step, which lasts so long.
    ///
    /// # Errors
    /// When steps are shorter than [`Self::STEP_MIN`].
    pub fn new(clients: ClientSteps, step: Duration) -> Result<Self, RampError> {
        if step < Self::STEP_MIN {
            return Err(RampError::Short);
        }
        Ok(Self { clients, step })
    }

    /// How long all steps last.
    pub fn length(self) -> Duration {
        self.step.saturating_mul(self.clients.count())
    }

    /// Which step it is, so long after measuring has begun, and whether what should not count
    /// of it is over. Seconds of a run end where this changes.
    pub(crate) fn part(self, after: Duration) -> (u64, bool) {
        let steps = after.as_secs_f64() / self.step.as_secs_f64();
        (steps as u64, steps.fract() >= Self::SETTLING)
    }

    /// How long after measuring has begun a client begins.
    pub(crate) fn start_delay(self, client: u32) -> Duration {
        self.step
            .saturating_mul(self.clients.step_of_client(client))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(text: &str) -> Vec<u32> {
        text.parse::<ClientSteps>().unwrap().clients().collect()
    }

    #[test]
    fn steps_are_as_written() {
        assert_eq!(steps("5..20/5"), [5, 10, 15, 20]);
        assert_eq!(steps("1..4"), [1, 2, 3, 4]);
        assert_eq!(steps("1..10/4"), [1, 5, 9]);
        assert_eq!(
            "1..10/4".parse::<ClientSteps>().unwrap().to_string(),
            "1..9/4"
        );
        assert_eq!(
            steps("1..10/4").len(),
            "1..10/4".parse::<ClientSteps>().unwrap().count() as usize
        );
    }

    #[test]
    fn each_client_begins_with_the_step_that_first_has_it() {
        let ramp = Ramp {
            clients: ClientSteps::new(5, 15, 5).unwrap(),
            step: Duration::from_secs(60),
        };
        for (client, step) in [(0, 0), (4, 0), (5, 1), (9, 1), (10, 2), (14, 2)] {
            assert_eq!(
                ramp.start_delay(client),
                Duration::from_secs(60) * step,
                "{client}"
            );
        }
        assert_eq!(ramp.length(), Duration::from_secs(180));
    }

    #[test]
    fn a_ramp_is_read_as_it_was_written_and_bad_ones_are_refused() {
        let ramp = Ramp::new("5..60/5".parse().unwrap(), Duration::from_millis(7500)).unwrap();
        let written = serde_json::to_string(&ramp).unwrap();
        assert_eq!(written, r#"{"clients":"5..60/5","step_s":7.5}"#);
        assert_eq!(serde_json::from_str::<Ramp>(&written).unwrap(), ramp);
        for (old, new, words) in [
            ("5..60/5", "60..5/5", "to more clients"),
            ("7.5", "4.9", "at least 5s"),
            ("7.5", "-1", "no time"),
            ("7.5", "1e300", "no time"),
        ] {
            let error = serde_json::from_str::<Ramp>(&written.replace(old, new)).unwrap_err();
            assert!(error.to_string().contains(words), "{new}: {error}");
        }
    }

    #[test]
    fn what_is_no_ramp_is_named() {
        for (text, words) in [
            ("5", "'5' is no ramp"),
            ("a..5", "'a..5' is no ramp"),
            ("1..5/", "'1..5/' is no ramp"),
            ("0..5/1", "at least 1 client"),
            ("5..5", "to more clients, not 5..5/1"),
            ("1..5/0", "by at least 1"),
            ("1..200000/5", "at most 100000 clients"),
            ("1..99999999999", "is no ramp"),
        ] {
            let error = text.parse::<ClientSteps>().unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}

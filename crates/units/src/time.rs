//! Durations as people write them.

use std::time::Duration;

/// Why a time was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseDurationError {
    /// It is not a time.
    #[error("'{0}' is not a time: write it like 90s, 5m or 1h30m")]
    Form(String),
    /// Its number has a comma, which some read as thousands and others as a fraction.
    #[error("'{0}' has a comma: write 1500ms for 1,500 ms, and 1.5s for 1 s and a half")]
    Comma(String),
    /// It is zero.
    #[error("'{0}' leaves no time at all")]
    Nothing(String),
}

/// Reads a time above zero, such as `90s`, `5m` or `1h 30m`: numbers with
/// units, as jiff's [friendly
/// format](https://docs.rs/jiff/latest/jiff/fmt/friendly/index.html) has them, but
/// without commas: to that format `1,500ms` is 1.5 ms.
pub fn parse_duration(text: &str) -> Result<Duration, ParseDurationError> {
    let refused = || ParseDurationError::Form(text.into());
    if text.contains(',') {
        return Err(ParseDurationError::Comma(text.into()));
    }
    let span: jiff::SignedDuration = text.parse().map_err(|_| refused())?;
    let time = Duration::try_from(span).map_err(|_| refused())?;
    if time.is_zero() {
        return Err(ParseDurationError::Nothing(text.into()));
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        for (text, seconds) in [("90s", 90), ("5m", 300), ("1h30m", 5400), ("1h 30m", 5400)] {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs(seconds)));
        }
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
    }

    #[test]
    fn what_is_no_time_is_refused_by_name() {
        for text in ["", "5", "-5m", "soon", "1e9h"] {
            let error = parse_duration(text).unwrap_err();
            assert_eq!(error, ParseDurationError::Form(text.into()));
        }
        for text in ["1,500ms", "1,5h", "0,5s", "1h, 30m", "1,500,000us"] {
            let error = parse_duration(text).unwrap_err();
            assert_eq!(error, ParseDurationError::Comma(text.into()));
        }
        let error = parse_duration("0s").unwrap_err().to_string();
        assert_eq!(error, "'0s' leaves no time at all");
    }
}

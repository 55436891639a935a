//! PostgreSQL by options, as plans and flags write them.

use std::{path::PathBuf, time::Duration};

use octavo_units::{PageSize, parse_duration};

use super::{Postgres, programs::Programs, refuse, source::Source};
use crate::DatabaseError;

/// The names of the options.
pub(crate) const OPTIONS: [&str; 7] = [
    "bin",
    "source",
    "version",
    "wal-block-size",
    "full-page-writes",
    "checkpoint-timeout",
    "direct-io",
];

/// What `checkpoint_timeout` may be
/// (<https://www.postgresql.org/docs/current/runtime-config-wal.html>).
const CHECKPOINT_TIMEOUT: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(30)..=Duration::from_hours(24);

/// Makes PostgreSQL with options. What is not named is the default.
pub(crate) fn choose(options: &[(String, String)]) -> Result<Postgres, DatabaseError> {
    let mut postgres = Postgres::default();
    let mut source = None;
    for (option, value) in options {
        let wrong = |setting, reason: String| refuse(setting, value.clone(), reason);
        match option.as_str() {
            "bin" => postgres.programs = Programs::given(value)?,
            "source" | "version" if source.is_some() => {
                return Err(refuse(
                    "option",
                    option.clone(),
                    "give a source or a version, not both".into(),
                ));
            }
            "source" => source = Some(source_at(value)?),
            "version" => {
                let major = value
                    .parse()
                    .ok()
                    .filter(|major| (14..=18).contains(major))
                    .ok_or_else(|| wrong("version", "choose 14 to 18".into()))?;
                source = Some(Source::Distribution { major });
            }
            "wal-block-size" => {
                postgres.wal_block_size = value
                    .parse()
                    .ok()
                    .filter(|size: &PageSize| (1 << 10..=64 << 10).contains(&size.get()))
                    .ok_or_else(|| wrong("wal-block-size", "choose 1K, 2K, 4K … 64K".into()))?;
            }
            "full-page-writes" => {
                postgres.full_page_writes = is_on("full-page-writes", value)?;
            }
            "checkpoint-timeout" => {
                postgres.checkpoint_timeout = parse_duration(value)
                    .ok()
                    .filter(|time| CHECKPOINT_TIMEOUT.contains(time))
                    .ok_or_else(|| wrong("checkpoint-timeout", "choose 30s to 24h".into()))?;
            }
            "direct-io" => postgres.direct_io = is_on("direct-io", value)?,
            _ => {
                return Err(refuse(
                    "option",
                    option.clone(),
                    format!("it has {}", OPTIONS.join(", ")),
                ));
            }
        }
    }
    if source.is_some() {
        postgres.programs.source = source;
    }
    // Now rather than after the plan was adopted.
    postgres.programs.version()?;
    Ok(postgres)
}

fn is_on(setting: &'static str, value: &str) -> Result<bool, DatabaseError> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(refuse(setting, value.to_owned(), "choose on or off".into())),
    }
}

fn source_at(value: &str) -> Result<Source, DatabaseError> {
    let path = PathBuf::from(value);
    if path.is_dir() {
        return Ok(Source::Directory(path));
    }
    if path.is_file() {
        return Ok(Source::Tarball(path));
    }
    Err(refuse(
        "source",
        value.to_owned(),
        "it is no file or directory: name PostgreSQL's source, such as postgresql-17.4.tar.bz2"
            .into(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(option: &str, value: &str) -> Result<Postgres, DatabaseError> {
        choose(&[
            ("version".into(), "15".into()),
            (option.into(), value.into()),
        ])
    }

    #[test]
    fn options_set_what_they_name() {
        assert!(!chosen("full-page-writes", "off").unwrap().full_page_writes);
        assert!(!chosen("direct-io", "off").unwrap().direct_io);
        let postgres = chosen("wal-block-size", "64K").unwrap();
        assert_eq!(postgres.wal_block_size.get(), 65536);
        let postgres = chosen("checkpoint-timeout", "5m").unwrap();
        assert_eq!(postgres.checkpoint_timeout, Duration::from_mins(5));
        assert_eq!(
            postgres.programs.source,
            Some(Source::Distribution { major: 15 })
        );
        assert_eq!(postgres.programs.version().unwrap(), "15");
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        for (option, value, part) in [
            ("full-page-writes", "maybe", "choose on or off"),
            ("wal-block-size", "128K", "choose 1K"),
            ("wal-block-size", "3K", "choose 1K"),
            ("checkpoint-timeout", "1s", "choose 30s"),
            ("version", "15", "not both"),
            ("source", "/nonexistent", "not both"),
            ("doublewrite", "on", "it has bin, source"),
        ] {
            let error = chosen(option, value).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let error = choose(&[("version".into(), "9".into())]).unwrap_err();
        assert!(error.to_string().contains("14 to 18"), "{error}");
        let error = choose(&[("source".into(), "/nonexistent".into())]).unwrap_err();
        assert!(
            error.to_string().contains("no file or directory"),
            "{error}"
        );
    }
}

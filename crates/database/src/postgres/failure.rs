//! What PostgreSQL says went wrong, as the errors that workloads and callers
//! act on.

use std::{error::Error as StdError, io};

use octavo_workload::{ConnectionError, connection::Conflict};

/// Conditions by their SQLSTATE
/// (<https://www.postgresql.org/docs/current/errcodes-appendix.html>).
mod state {
    pub(super) const DEADLOCK: &str = "40P01";
    pub(super) const SERIALISATION: &str = "40001";
    pub(super) const LOCK_NOT_AVAILABLE: &str = "55P03";
    /// Also what `statement_timeout` ends in.
    pub(super) const QUERY_CANCELED: &str = "57014";
    pub(super) const DISK_FULL: &str = "53100";
    pub(super) const IO_ERROR: &str = "58030";
    pub(super) const INTERNAL_ERROR: &str = "XX000";
    pub(super) const ADMIN_SHUTDOWN: &str = "57P01";
    pub(super) const CRASH_SHUTDOWN: &str = "57P02";
    pub(super) const CANNOT_CONNECT_NOW: &str = "57P03";
    /// The first characters of all connection exceptions.
    pub(super) const CONNECTION: &str = "08";
}

/// Names of conditions that a statement of the user's may meet, from the same appendix: its words
/// are not told, since they have values in them.
const NAMES: [(&str, &str); 26] = [
    ("21000", "cardinality_violation"),
    ("22001", "string_data_right_truncation"),
    ("22003", "numeric_value_out_of_range"),
    ("22007", "invalid_datetime_format"),
    ("22008", "datetime_field_overflow"),
    ("22012", "division_by_zero"),
    ("22021", "character_not_in_repertoire"),
    ("22023", "invalid_parameter_value"),
    ("22P02", "invalid_text_representation"),
    ("23502", "not_null_violation"),
    ("23503", "foreign_key_violation"),
    ("23505", "unique_violation"),
    ("23514", "check_violation"),
    ("23P01", "exclusion_violation"),
    ("25006", "read_only_sql_transaction"),
    ("25P02", "in_failed_sql_transaction"),
    ("42501", "insufficient_privilege"),
    ("42601", "syntax_error"),
    ("42703", "undefined_column"),
    ("42704", "undefined_object"),
    ("42804", "datatype_mismatch"),
    ("42883", "undefined_function"),
    ("42P01", "undefined_table"),
    ("42P02", "undefined_parameter"),
    ("53200", "out_of_memory"),
    ("P0001", "raise_exception"),
];

/// The system's words for a full device and a used-up quota. The server
/// passes them on, in English where its messages are.
const FULL: [&str; 2] = ["No space left on device", "Disk quota exceeded"];

/// An error as the server reported it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerError {
    /// ERROR, FATAL, PANIC or the name of a notice.
    pub(crate) severity: String,
    /// The SQLSTATE: five characters.
    pub(crate) code: String,
    /// What happened.
    pub(crate) message: String,
    /// Where in the statement, as the number of a character from 1.
    pub(crate) position: Option<usize>,
    /// More of it, or nothing.
    pub(crate) detail: String,
    /// What to do about it, or nothing.
    pub(crate) hint: String,
}

impl std::fmt::Display for ServerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.severity, self.code)?;
        let name = NAMES.iter().find(|(code, _)| *code == self.code);
        if let Some((_, name)) = name.filter(|_| self.message.is_empty()) {
            write!(f, " ({name})")?;
        }
        let parts = [
            (": ", &self.message),
            ("; ", &self.detail),
            ("; ", &self.hint),
        ];
        for (mark, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
            write!(f, "{mark}{part}")?;
        }
        Ok(())
    }
}

impl StdError for ServerError {}

impl ServerError {
    /// Reads the fields of an error or a notice: each a letter and a text that
    /// ends in NUL. Damaged fields stay empty.
    pub(crate) fn parse(body: &[u8]) -> Self {
        let mut error = Self::default();
        for field in body.split(|&byte| byte == 0) {
            let Some((&letter, text)) = field.split_first() else {
                continue;
            };
            let place = match letter {
                // The severity is there twice, once translated.
                b'V' => &mut error.severity,
                b'C' => &mut error.code,
                b'M' => &mut error.message,
                b'D' => &mut error.detail,
                b'H' => &mut error.hint,
                b'P' => {
                    let digits = str::from_utf8(text).ok();
                    error.position = digits.and_then(|digits| digits.parse().ok());
                    continue;
                }
                _ => continue,
            };
            *place = String::from_utf8_lossy(text).into_owned();
        }
        error
    }

    /// Whether the server ends the session with it.
    pub(crate) fn ends_session(&self) -> bool {
        matches!(self.severity.as_str(), "FATAL" | "PANIC") || self.says_lost()
    }

    /// Whether its code says that the server or the connection goes away.
    fn says_lost(&self) -> bool {
        matches!(
            self.code.as_str(),
            state::ADMIN_SHUTDOWN | state::CRASH_SHUTDOWN | state::CANNOT_CONNECT_NOW
        ) || self.code.starts_with(state::CONNECTION)
    }

    fn says_full(&self) -> bool {
        self.code == state::DISK_FULL
            || (matches!(self.code.as_str(), state::IO_ERROR | state::INTERNAL_ERROR)
                && FULL.iter().any(|words| self.message.contains(words)))
    }

    /// What its code means; `None` for what has no meaning of its own.
    fn sort(self: Box<Self>) -> Result<ConnectionError, Box<Self>> {
        let kind = match self.code.as_str() {
            state::DEADLOCK => Conflict::Deadlock,
            state::SERIALISATION => Conflict::Serialisation,
            state::LOCK_NOT_AVAILABLE => Conflict::LockTimeout,
            state::QUERY_CANCELED => return Ok(ConnectionError::Timeout(self)),
            _ if self.says_full() => return Ok(ConnectionError::Full(self)),
            _ if self.says_lost() => return Ok(ConnectionError::Lost(self)),
            _ => return Err(self),
        };
        Ok(ConnectionError::Conflict { kind, source: self })
    }
}

/// Why an exchange with the server failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The server refused.
    Server(Box<ServerError>),
    /// The stream broke, or was closed by the server.
    Stream(io::Error),
    /// The server broke the protocol: in which way.
    Protocol(&'static str),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Stream(error)
    }
}

impl Failure {
    /// The same without what the server says besides its code, which may have values of rows in
    /// it. That the storage is full has none.
    pub(crate) fn without_words(self) -> Self {
        match self {
            Self::Server(error) if !error.says_full() => Self::Server(Box::new(ServerError {
                severity: error.severity,
                code: error.code,
                ..ServerError::default()
            })),
            other => other,
        }
    }

    /// Whether nothing more can be asked over the same connection.
    pub(crate) fn ends_session(&self) -> bool {
        match self {
            Self::Server(error) => error.ends_session(),
            Self::Stream(_) | Self::Protocol(_) => true,
        }
    }

    /// The error of something that was `context`.
    pub(crate) fn into_error(self, context: impl FnOnce() -> String) -> ConnectionError {
        match self {
            Self::Server(error) => match error.sort() {
                Ok(sorted) => sorted,
                Err(error) if error.ends_session() => ConnectionError::Lost(error),
                Err(error) => ConnectionError::other(context(), *error),
            },
            Self::Stream(error) => ConnectionError::Lost(Box::new(error)),
            Self::Protocol(what) => ConnectionError::Lost(protocol(what)),
        }
    }

    /// The error of a login, which the server refuses with FATAL although it
    /// is there.
    pub(crate) fn into_login_error(self, context: impl FnOnce() -> String) -> ConnectionError {
        match self {
            Self::Server(error) => match error.sort() {
                Ok(sorted) => sorted,
                Err(error) => ConnectionError::other(context(), *error),
            },
            other => other.into_error(context),
        }
    }
}

fn protocol(what: &str) -> Box<dyn StdError + Send + Sync> {
    format!("the server does not follow PostgreSQL's protocol: {what}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: &str, severity: &str, message: &str) -> ConnectionError {
        let body = format!("S{severity}\0V{severity}\0C{code}\0M{message}\0\0");
        let error = ServerError::parse(body.as_bytes());
        Failure::Server(Box::new(error)).into_error(|| "run SELECT 1".into())
    }

    #[test]
    fn codes_become_what_callers_act_on() {
        for (code, wanted) in [
            ("40P01", Conflict::Deadlock),
            ("40001", Conflict::Serialisation),
            ("55P03", Conflict::LockTimeout),
        ] {
            let ConnectionError::Conflict { kind, .. } = error(code, "ERROR", "m") else {
                panic!("{code}")
            };
            assert_eq!(kind, wanted);
        }
        let timeout = error("57014", "ERROR", "canceling statement");
        assert!(matches!(timeout, ConnectionError::Timeout(_)));
        for code in ["53100", "58030", "XX000"] {
            let full = error(code, "ERROR", "could not extend: No space left on device");
            assert!(matches!(full, ConnectionError::Full(_)), "{code}");
        }
        for code in ["57P01", "57P02", "57P03", "08006"] {
            let lost = error(code, "FATAL", "m");
            assert!(matches!(lost, ConnectionError::Lost(_)), "{code}");
        }
        let other = error("42601", "ERROR", "syntax error");
        assert!(matches!(other, ConnectionError::Other { .. }));
        assert_eq!(other.to_string(), "run SELECT 1");
        assert_eq!(
            other.source().unwrap().to_string(),
            "ERROR 42601: syntax error"
        );
        let ended = error("25P03", "FATAL", "idle in transaction");
        assert!(matches!(ended, ConnectionError::Lost(_)));
    }

    #[test]
    fn of_private_values_only_the_code_is_told() {
        let body = b"VERROR\0C23505\0Mduplicate (5)\0DKey (5)\0P12\0\0";
        let parsed = ServerError::parse(body);
        assert_eq!(parsed.position, Some(12));
        let told = Failure::Server(Box::new(parsed)).without_words();
        let told = told.into_error(|| "run a statement".into());
        assert_eq!(
            told.source().unwrap().to_string(),
            "ERROR 23505 (unique_violation)"
        );
        let full = ServerError::parse(b"VERROR\0C53100\0Mno room\0\0");
        let told = Failure::Server(Box::new(full)).without_words();
        assert!(matches!(
            told.into_error(String::new),
            ConnectionError::Full(_)
        ));
    }

    #[test]
    fn a_refused_login_is_no_lost_server() {
        let refused = ServerError::parse(b"VFATAL\0C28P01\0Mpassword\0Dd\0Hh\0\0");
        assert_eq!(refused.to_string(), "FATAL 28P01: password; d; h");
        let error = Failure::Server(Box::new(refused)).into_login_error(|| "log in".into());
        assert!(matches!(error, ConnectionError::Other { .. }));
        let starting = ServerError::parse(b"VFATAL\0C57P03\0Mstarting up\0\0");
        let error = Failure::Server(Box::new(starting)).into_login_error(|| "log in".into());
        assert!(matches!(error, ConnectionError::Lost(_)));
    }

    #[test]
    fn damaged_fields_stay_empty() {
        assert_eq!(ServerError::parse(b""), ServerError::default());
        assert_eq!(ServerError::parse(b"\0\0C\0").code, "");
        assert_eq!(ServerError::parse(b"M\xff").message, "\u{fffd}");
    }
}

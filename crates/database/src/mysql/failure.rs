//! What goes wrong between us and a server, as the errors that workloads and
//! callers act on.

use std::{fmt, io};

use octavo_workload::{ConnectionError, connection::Conflict};

/// An error that the server answered with
/// (<https://mariadb.com/kb/en/err_packet/>).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerError {
    /// The server's number for it.
    pub(crate) code: u16,
    /// SQLSTATE; five characters.
    pub(crate) state: String,
    /// The server's words.
    pub(crate) message: String,
}

/// Names of errors that a statement of the user's may meet: the server's words are not told, since
/// they have values in them
/// (<https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html>, and for 4025
/// <https://mariadb.com/kb/en/mariadb-error-code-reference/>).
const NAMES: [(u16, &str); 22] = [
    (1048, "ER_BAD_NULL_ERROR"),
    (1054, "ER_BAD_FIELD_ERROR"),
    (1062, "ER_DUP_ENTRY"),
    (1064, "ER_PARSE_ERROR"),
    (1093, "ER_UPDATE_TABLE_USED"),
    (1136, "ER_WRONG_VALUE_COUNT_ON_ROW"),
    (1142, "ER_TABLEACCESS_DENIED_ERROR"),
    (1146, "ER_NO_SUCH_TABLE"),
    (1205, "ER_LOCK_WAIT_TIMEOUT"),
    (1213, "ER_LOCK_DEADLOCK"),
    (1242, "ER_SUBQUERY_NO_1_ROW"),
    (1264, "ER_WARN_DATA_OUT_OF_RANGE"),
    (1292, "ER_TRUNCATED_WRONG_VALUE"),
    (1305, "ER_SP_DOES_NOT_EXIST"),
    (1364, "ER_NO_DEFAULT_FOR_FIELD"),
    (1366, "ER_TRUNCATED_WRONG_VALUE_FOR_FIELD"),
    (1406, "ER_DATA_TOO_LONG"),
    (1451, "ER_ROW_IS_REFERENCED_2"),
    (1452, "ER_NO_REFERENCED_ROW_2"),
    (1644, "ER_SIGNAL_EXCEPTION"),
    (3819, "ER_CHECK_CONSTRAINT_VIOLATED"),
    (4025, "ER_CONSTRAINT_FAILED"),
];

/// An error by its number, and its name where that is among [`NAMES`].
pub(super) fn numbered(code: u16) -> String {
    match NAMES.iter().find(|(of, _)| *of == code) {
        Some((_, name)) => format!("error {code} ({name})"),
        None => format!("error {code}"),
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            code,
            state,
            message,
        } = self;
        match message.as_str() {
            "" => write!(f, "{}, SQLSTATE {state}", numbered(*code)),
            _ => write!(f, "{message} (error {code}, SQLSTATE {state})"),
        }
    }
}

impl std::error::Error for ServerError {}

impl ServerError {
    /// Reads an error packet; of one that is cut short, the fields that arrived.
    pub(crate) fn parse(payload: &[u8]) -> Self {
        let code = match payload {
            [_, low, high, ..] => u16::from_le_bytes([*low, *high]),
            _ => 0,
        };
        let rest = payload.get(3..).unwrap_or_default();
        let (state, message) = match rest {
            [b'#', state @ ..] if state.len() >= 5 => state.split_at(5),
            // Before the handshake is over there is no state.
            _ => (&b"HY000"[..], rest),
        };
        Self {
            code,
            state: String::from_utf8_lossy(state).into_owned(),
            message: String::from_utf8_lossy(message).into_owned(),
        }
    }

    /// Whether the storage is full: the server's own codes, or the operating
    /// system's error 28 (ENOSPC) or 122 (EDQUOT) in its words.
    fn is_full(&self) -> bool {
        matches!(self.code, 1114 | 1021)
            || self.message.contains("errno: 28")
            || self.message.contains("Errcode: 28")
            || self.message.contains("Errcode: 122")
            || self.message.contains("No space left")
    }
}

/// Why an exchange with a server failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The server answered with an error; the session stays open.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The stream broke.
    #[error("the stream to the server broke")]
    Stream(#[from] io::Error),
    /// The server sent what the protocol does not allow here. Nothing that
    /// follows can be understood.
    #[error("the server sent what its protocol does not allow: {0}")]
    Malformed(&'static str),
    /// We cannot do what was asked; nothing was sent.
    #[error("{0}")]
    Refused(String),
    /// Another error had ended the session before.
    #[error("the session had ended: {0}")]
    Ended(String),
}

impl Failure {
    /// Whether the session cannot be used any more.
    pub(crate) fn is_end(&self) -> bool {
        match self {
            Self::Server(error) => is_lost(error.code),
            Self::Stream(_) | Self::Malformed(_) | Self::Ended(_) => true,
            Self::Refused(_) => false,
        }
    }

    /// The same without the server's words, which may have values of rows in them. That the
    /// storage is full has none.
    pub(crate) fn without_words(self) -> Self {
        match self {
            Self::Server(error) if !error.is_full() => Self::Server(ServerError {
                message: String::new(),
                ..error
            }),
            other => other,
        }
    }

    /// The error for callers; `context` says what was being done.
    pub(crate) fn sort(self, context: impl FnOnce() -> String) -> ConnectionError {
        let error = match self {
            Self::Server(error) => error,
            Self::Refused(_) => {
                return ConnectionError::other(context(), self);
            }
            Self::Stream(_) | Self::Malformed(_) | Self::Ended(_) => {
                return ConnectionError::Lost(Box::new(self));
            }
        };
        let conflict = match error.code {
            // ER_LOCK_DEADLOCK, and ER_AUTOINC_READ_FAILED: what InnoDB says of a deadlock over a
            // table's AUTO-INC lock. Of 4 sessions with INSERT ... SELECT on MariaDB 10.11,
            // Innodb_deadlocks counted 192, and each was told so. A column at its end says so too,
            // and fails when its retries are over.
            1213 | 1467 => Some(Conflict::Deadlock),
            // ER_LOCK_WAIT_TIMEOUT
            1205 => Some(Conflict::LockTimeout),
            // ER_CHECKREAD: MariaDB with innodb_snapshot_isolation.
            1020 => Some(Conflict::Serialisation),
            _ => None,
        };
        if let Some(kind) = conflict {
            return ConnectionError::Conflict {
                kind,
                source: Box::new(error),
            };
        }
        match error.code {
            // ER_STATEMENT_TIMEOUT of MariaDB, ER_QUERY_TIMEOUT of MySQL,
            // ER_QUERY_INTERRUPTED.
            1969 | 3024 | 1317 => ConnectionError::Timeout(Box::new(error)),
            _ if error.is_full() => ConnectionError::Full(Box::new(error)),
            code if is_lost(code) => ConnectionError::Lost(Box::new(error)),
            _ => ConnectionError::other(context(), error),
        }
    }
}

/// Errors after which the server closes the connection: shutdown (1053),
/// killed (1927 of MariaDB), gone (2006, 2013), idle for too long (4031 of
/// MySQL).
fn is_lost(code: u16) -> bool {
    matches!(code, 1053 | 1927 | 2006 | 2013 | 4031)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(code: u16, message: &str) -> ConnectionError {
        let mut payload = vec![0xff];
        payload.extend(code.to_le_bytes());
        payload.extend(b"#HY000");
        payload.extend(message.as_bytes());
        Failure::Server(ServerError::parse(&payload)).sort(|| "run SELECT 1".into())
    }

    #[test]
    fn codes_become_what_callers_act_on() {
        for (code, wanted) in [
            (1213, Conflict::Deadlock),
            (1467, Conflict::Deadlock),
            (1205, Conflict::LockTimeout),
            (1020, Conflict::Serialisation),
        ] {
            match sorted(code, "x") {
                ConnectionError::Conflict { kind, .. } => assert_eq!(kind, wanted),
                other => panic!("{other:?}"),
            }
        }
        for code in [1969, 3024, 1317] {
            assert!(matches!(sorted(code, "x"), ConnectionError::Timeout(_)));
        }
        for code in [1053, 1927, 2006, 2013] {
            assert!(matches!(sorted(code, "x"), ConnectionError::Lost(_)));
        }
        for (code, message) in [
            (1114, "The table 't' is full"),
            (
                3,
                "Error writing file './t' (Errcode: 28 \"No space left on device\")",
            ),
            (1030, "Got error 28 \"No space left on device\""),
        ] {
            assert!(matches!(sorted(code, message), ConnectionError::Full(_)));
        }
        let other = sorted(1064, "You have an error");
        assert_eq!(other.to_string(), "run SELECT 1");
    }

    #[test]
    fn of_private_values_only_the_code_is_told() {
        let error = ServerError {
            code: 1062,
            state: "23000".into(),
            message: "Duplicate entry 'x'".into(),
        };
        let told = Failure::Server(error).without_words();
        assert_eq!(
            told.to_string(),
            "error 1062 (ER_DUP_ENTRY), SQLSTATE 23000"
        );
    }

    #[test]
    fn an_error_packet_that_is_cut_short_is_read() {
        for length in 0..9 {
            let payload = [0xff, 0x15, 0x04, b'#', b'2', b'8', b'0', b'0', b'0'];
            let error = ServerError::parse(&payload[..length]);
            assert_eq!(error.code, if length < 3 { 0 } else { 1045 }, "{length}");
        }
    }
}

//! Where a server is and who asks: `postgres://` and `mysql://` URLs.

use std::{
    borrow::Cow, error::Error as StdError, ffi::OsStr, fmt, path::PathBuf, str::FromStr,
    time::Duration,
};

use octavo_workload::ConnectionError;

use super::schema::SCHEMA;
use crate::{DatabaseError, wire::Stream};

/// How long one address may take to answer.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Which protocol a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// PostgreSQL's.
    Postgres,
    /// That of MySQL and MariaDB.
    Mysql,
}

impl Protocol {
    const fn port(self) -> u16 {
        match self {
            Self::Postgres => 5432,
            Self::Mysql => 3306,
        }
    }

    const fn scheme(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
        }
    }

    /// The name as its makers write it.
    const fn title(self) -> &'static str {
        match self {
            Self::Postgres => "PostgreSQL",
            Self::Mysql => "MySQL or MariaDB",
        }
    }

    /// What can have only one schema of a name.
    pub(super) const fn scope(self) -> &'static str {
        match self {
            Self::Postgres => "database",
            Self::Mysql => "server",
        }
    }
}

/// A URL of a server: `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, the same
/// with `postgresql`, `mysql` or `mariadb`. A parameter `host` or `socket`
/// names a Unix socket, or for PostgreSQL its directory:
/// `postgres://USER@/DATABASE?host=/run/postgresql`.
///
/// The password is never shown: neither by `Display` nor by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    /// How the server is spoken to.
    pub protocol: Protocol,
    /// Who asks.
    pub user: String,
    pub(crate) password: Option<String>,
    place: Endpoint,
    /// The database that the schema is in; for MySQL, where a schema is a
    /// database, none but Octavo's own can be given.
    pub database: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Endpoint {
    Tcp { host: String, port: u16 },
    Socket(PathBuf),
}

/// Why a text is no URL of a server.
#[derive(Debug, thiserror::Error)]
#[error(
    "'{shown}' is no URL of a server ({reason}): write postgres://USER:PASSWORD@HOST/DATABASE or \
     mysql://USER:PASSWORD@HOST"
)]
pub struct UrlError {
    /// The text without its password.
    shown: String,
    reason: String,
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let refused = |reason: &str| UrlError {
            shown: without_password(text),
            reason: reason.into(),
        };
        let (scheme, rest) = text.split_once("://").ok_or_else(|| refused("no ://"))?;
        let protocol = match scheme {
            "postgres" | "postgresql" => Protocol::Postgres,
            "mysql" | "mariadb" => Protocol::Mysql,
            _ => return Err(refused("neither postgres nor mysql")),
        };
        // Where a password with such characters ends cannot be told.
        if rest.matches('@').count() > 1 {
            return Err(refused(
                "more than one @: write those of names and passwords as %40",
            ));
        }
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (who, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match who.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (who, None),
        };
        let decode = |text: &str, what: &str| {
            decoded(text).ok_or_else(|| refused(&format!("{what} is not well encoded")))
        };
        let user = decode(user, "the user")?;
        if user.is_empty() {
            return Err(refused("no user"));
        }
        let mut socket = None;
        for parameter in parameters.split('&').filter(|part| !part.is_empty()) {
            match parameter.split_once('=') {
                Some(("host" | "socket", path)) => {
                    socket = Some(PathBuf::from(decode(path, "the socket")?));
                }
                Some(("sslmode", "disable" | "allow" | "prefer")) => {}
                Some(("sslmode" | "ssl-mode", _)) => {
                    return Err(refused(
                        "TLS is not spoken here: reach the server by a Unix socket, a tunnel or a \
                         network that you trust",
                    ));
                }
                // It is not shown: some clients take a password there.
                _ => {
                    return Err(refused(
                        "only host, socket and sslmode are known behind the ?",
                    ));
                }
            }
        }
        let database = match decode(database, "the database")? {
            name if name.is_empty() => None,
            name if protocol == Protocol::Mysql && name != SCHEMA => {
                return Err(refused(
                    "Octavo works in a database of its own, octavo: leave the name out",
                ));
            }
            name => Some(name),
        };
        let place = match socket {
            Some(path) if protocol == Protocol::Postgres && path.is_dir() => {
                Endpoint::Socket(path.join(format!(
                    ".s.PGSQL.{}",
                    port_of(place, protocol, &refused)?.1
                )))
            }
            Some(path) => Endpoint::Socket(path),
            None => {
                let (host, port) = port_of(place, protocol, &refused)?;
                if host.is_empty() {
                    return Err(refused("no host"));
                }
                Endpoint::Tcp {
                    host: host.to_owned(),
                    port,
                }
            }
        };
        Ok(Self {
            protocol,
            user,
            password: password
                .map(|text| decode(text, "the password"))
                .transpose()?,
            place,
            database,
        })
    }
}

fn port_of<'p>(
    place: &'p str,
    protocol: Protocol,
    refused: &dyn Fn(&str) -> UrlError,
) -> Result<(&'p str, u16), UrlError> {
    // An address of IPv6 has colons of its own, in brackets.
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (place, None),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = match port {
        None => protocol.port(),
        Some(port) => port
            .parse()
            .ok()
            .filter(|&port| port > 0)
            .ok_or_else(|| refused("the port is no number from 1 to 65535"))?,
    };
    Ok((host, port))
}

/// A URL of a database to be copied: as the programs of its makers understand it, with the
/// password apart, so that it stands in no command line.
#[derive(Clone)]
pub(crate) struct SourceUrl {
    bare: String,
    password: Option<String>,
}

impl SourceUrl {
    /// # Errors
    /// [`DatabaseError::Source`] for what is none.
    pub(crate) fn read(source: &OsStr) -> Result<Self, DatabaseError> {
        let text = source.to_str().unwrap_or_default();
        let refused = |reason: &str| DatabaseError::Source {
            name: format!("'{}'", without_password(text)),
            reason: format!("is no URL of a database: {reason}"),
        };
        let (scheme, rest) = text.split_once("://").ok_or_else(|| refused("no ://"))?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, behind) = rest.split_at(end);
        if authority.matches('@').count() > 1 || behind.contains('@') {
            return Err(refused(
                "more than one @: write those of names and passwords as %40",
            ));
        }
        if behind.contains("password=") {
            return Err(refused(
                "put the password before the @, or into PGPASSWORD or a file of passwords",
            ));
        }
        let (bare, password) = match authority.split_once('@') {
            None => (text.to_owned(), None),
            Some((who, place)) => {
                let (user, password) = match who.split_once(':') {
                    Some((user, password)) => (user, Some(password)),
                    None => (who, None),
                };
                (format!("{scheme}://{user}@{place}{behind}"), password)
            }
        };
        let password = password
            .map(|text| decoded(text).ok_or_else(|| refused("the password is not well encoded")))
            .transpose()?;
        Ok(Self { bare, password })
    }

    /// Its parts, for programs that take no URL.
    ///
    /// # Errors
    /// [`DatabaseError::Source`] for one without a database, or that is not well encoded.
    pub(crate) fn parts(&self) -> Result<SourceParts, DatabaseError> {
        let refused = |reason: &str| self.refuse(format!("is no URL of a database: {reason}"));
        let decode = |text: &str| decoded(text).ok_or_else(|| refused("it is not well encoded"));
        let (_, rest) = self.bare.split_once("://").unwrap_or_default();
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (host, port) = port_of(place, Protocol::Mysql, &|reason| UrlError {
            shown: self.bare.clone(),
            reason: reason.into(),
        })
        .map_err(|error| refused(&error.reason))?;
        if database.is_empty() {
            return Err(refused(
                "name the database behind the host, as in //HOST/DATABASE",
            ));
        }
        let parameters = parameters.split('&').filter(|part| !part.is_empty());
        let parameter = |part: &str| -> Result<_, DatabaseError> {
            let (name, value) = part
                .split_once('=')
                .ok_or_else(|| refused("a parameter is NAME=VALUE"))?;
            Ok((name.to_owned(), decode(value)?))
        };
        Ok(SourceParts {
            user: decode(user)?,
            host: decode(host)?,
            port,
            database: decode(database)?,
            parameters: parameters.map(parameter).collect::<Result<_, _>>()?,
        })
    }

    /// Without the password.
    pub(crate) fn bare(&self) -> &str {
        &self.bare
    }

    pub(crate) fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// Why it cannot be copied.
    pub(crate) fn refuse(&self, reason: impl Into<String>) -> DatabaseError {
        DatabaseError::Source {
            name: self.to_string(),
            reason: reason.into(),
        }
    }
}

/// A text that may be a URL, without what may be a password.
pub fn hide_password(text: &str) -> Cow<'_, str> {
    if !text.contains("://") {
        return text.into();
    }
    match SourceUrl::read(OsStr::new(text)) {
        Ok(url) => url.bare.into(),
        Err(_) => without_password(text).into(),
    }
}

/// What a [`SourceUrl`] says, but for its password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceParts {
    /// Empty for the user that Octavo runs as.
    pub(crate) user: String,
    /// Empty for this machine.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) database: String,
    /// What stands behind the question mark.
    pub(crate) parameters: Vec<(String, String)>,
}

impl fmt::Display for SourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.bare)
    }
}

/// Decodes percent signs (RFC 3986, section 2.1); `None` when that is not
/// possible.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            let value = digit(rest.next()?)? * 16 + digit(rest.next()?)?;
            bytes.push(u8::try_from(value).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// A text without what may be a password. Of a text whose parts cannot be told
/// apart nothing but the scheme is left.
fn without_password(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return "…".into();
    };
    // Parameters may hold passwords, and a password that is not well encoded
    // a question mark: what is behind the first one is left out.
    let (rest, more) = match rest.split_once('?') {
        Some((rest, _)) => (rest, "?…"),
        None => (rest, ""),
    };
    let parts = rest
        .split_once('@')
        .filter(|_| text.matches('@').count() == 1);
    let Some((who, place)) = parts else {
        return format!("{scheme}://…");
    };
    let user = who.split(':').next().unwrap_or_default();
    let hidden = if who.contains(':') { ":…" } else { "" };
    format!("{scheme}://{user}{hidden}@{place}{more}")
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}@", self.protocol.scheme(), self.user)?;
        let database = self.database.as_deref().unwrap_or_default();
        match &self.place {
            Endpoint::Tcp { host, port } if host.contains(':') => {
                write!(f, "[{host}]:{port}/{database}")
            }
            Endpoint::Tcp { host, port } => write!(f, "{host}:{port}/{database}"),
            Endpoint::Socket(path) => write!(f, "/{database}?socket={}", path.display()),
        }
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Url({self})")
    }
}

impl Url {
    /// Connects, trying each address of the host.
    pub(crate) fn connect(&self) -> Result<Stream, ConnectionError> {
        let connected = match &self.place {
            Endpoint::Socket(path) => Stream::unix(path),
            Endpoint::Tcp { host, port } => Stream::tcp(host, *port, CONNECT_LIMIT),
        };
        connected.map_err(|error| self.failed("", error.into()))
    }

    /// The error of a login that did not succeed.
    pub(crate) fn refused(&self, error: ConnectionError) -> ConnectionError {
        let where_ = match error {
            ConnectionError::Lost(_) => {
                format!(", where no {} server is ready", self.protocol.title())
            }
            _ => String::new(),
        };
        self.failed(&where_, error.into())
    }

    fn failed(&self, where_: &str, source: Box<dyn StdError + Send + Sync>) -> ConnectionError {
        ConnectionError::other(format!("connect to {self}{where_}"), source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_and_the_password_is_not_shown() {
        for (text, shown) in [
            (
                "postgres://anna:s%40cret@db.example/shop",
                "postgres://anna@db.example:5432/shop",
            ),
            (
                "postgresql://a@[::1]:5433/shop",
                "postgres://a@[::1]:5433/shop",
            ),
            ("mariadb://root:x@localhost", "mysql://root@localhost:3306/"),
            ("mysql://root@db:3307/octavo", "mysql://root@db:3307/octavo"),
            (
                "mysql://root@/?socket=/run/mysqld/mysqld.sock",
                "mysql://root@/?socket=/run/mysqld/mysqld.sock",
            ),
            (
                "postgres://a@/shop?host=/tmp&sslmode=prefer",
                "postgres://a@/shop?socket=/tmp/.s.PGSQL.5432",
            ),
            (
                "postgres://a@:5499/shop?host=/tmp",
                "postgres://a@/shop?socket=/tmp/.s.PGSQL.5499",
            ),
        ] {
            let url: Url = text.parse().unwrap();
            assert_eq!(url.to_string(), shown);
            assert_eq!(format!("{url:?}"), format!("Url({shown})"));
        }
        let url: Url = "postgres://anna:s%40cret@db.example/shop".parse().unwrap();
        assert_eq!(url.password.as_deref(), Some("s@cret"));
        assert_eq!(url.database.as_deref(), Some("shop"));
    }

    #[test]
    fn a_bad_url_is_refused_without_showing_its_password() {
        for (text, part) in [
            ("db.example", "no ://"),
            ("http://a:secret@b/c", "neither postgres nor mysql"),
            ("postgres://:secret@b/c", "no user"),
            ("postgres://a:secret@/c", "no host"),
            ("postgres://a:secret@b:0/c", "the port"),
            ("postgres://a:secret@b:port/c", "the port"),
            ("postgres://a:secret%4@b/c", "the password is not"),
            ("postgres://a:secret@b/c?sslmode=require", "TLS"),
            ("postgres://a:secret@b/c?fast=secret", "only host, socket"),
            ("postgres://a@b/c?password=secret", "only host, socket"),
            ("postgres://a@b/c?secret", "only host, socket"),
            ("postgres://a@b/c?password=1@secret", "more than one @"),
            ("postgres://a:secret/c", "no user"),
            ("postgres://secret", "no user"),
            ("postgres://a:se?secret@b/c", "no user"),
            ("postgres://a:1/secret@b/c", "no user"),
            ("postgres:a:secret@b/c", "no ://"),
            ("postgres://a:1@secret@b/c", "more than one @"),
            ("postgres://a:1@2?secret@b/c", "more than one @"),
            ("mysql://a:secret@b/shop", "leave the name out"),
        ] {
            let error = text.parse::<Url>().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}

//! Logging in (<https://mariadb.com/kb/en/connection/>).

use super::{
    Flavour,
    auth::{Method, clear, encrypted},
    channel::Channel,
    failure::{Failure, ServerError},
    fields::Fields,
};
use crate::wire::Stream;

/// Capabilities (<https://mariadb.com/kb/en/connection/#capabilities>).
mod capability {
    /// MariaDB leaves it out, and has capabilities of its own then.
    pub(super) const MYSQL: u32 = 1;
    /// Counts of changes are of the rows that were met.
    pub(super) const FOUND_ROWS: u32 = 1 << 1;
    pub(super) const LONG_FLAG: u32 = 1 << 2;
    pub(super) const CONNECT_WITH_DB: u32 = 1 << 3;
    pub(super) const LOCAL_FILES: u32 = 1 << 7;
    pub(super) const PROTOCOL_41: u32 = 1 << 9;
    pub(super) const TRANSACTIONS: u32 = 1 << 13;
    pub(super) const SECURE_CONNECTION: u32 = 1 << 15;
    pub(super) const PLUGIN_AUTH: u32 = 1 << 19;
    pub(super) const DEPRECATE_EOF: u32 = 1 << 24;
    /// Of MariaDB's own: `MARIADB_CLIENT_CACHE_METADATA`.
    pub(super) const CACHE_METADATA: u32 = 1 << 4;
}

/// What we always ask for.
const WANTED: u32 = capability::MYSQL
    | capability::FOUND_ROWS
    | capability::LONG_FLAG
    | capability::LOCAL_FILES
    | capability::PROTOCOL_41
    | capability::TRANSACTIONS
    | capability::SECURE_CONNECTION
    | capability::PLUGIN_AUTH;

/// What we use if the server has it.
const WELCOME: u32 = capability::DEPRECATE_EOF;

/// utf8mb4_general_ci, which all versions know.
const CHARSET: u8 = 45;

/// The largest message that we take.
const MESSAGE_BYTES_MAX: u32 = 1 << 30;

/// The account to log in with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Login<'l> {
    /// The account's name.
    pub(crate) user: &'l str,
    /// Its password; empty for none.
    pub(crate) password: &'l str,
    /// The database to be in.
    pub(crate) database: Option<&'l str>,
}

/// What a server says of itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Greeting {
    /// The version as it says it.
    pub(crate) version: String,
    /// Which server it is.
    pub(crate) flavour: Flavour,
    capabilities: u32,
    extended: u32,
    nonce: Vec<u8>,
    method: Vec<u8>,
}

impl Greeting {
    fn parse(payload: &[u8]) -> Result<Self, Failure> {
        let mut fields = Fields(payload);
        match fields.u8()? {
            10 => {}
            0xff => return Err(ServerError::parse(payload).into()),
            _ => {
                return Err(Failure::Malformed(
                    "a greeting that is not MySQL's; is this its port?",
                ));
            }
        }
        let version = String::from_utf8_lossy(fields.until_zero()).into_owned();
        let _thread = fields.u32()?;
        let mut nonce = fields.bytes(8)?.to_vec();
        fields.u8()?;
        let low = fields.u16()?;
        let _charset = fields.u8()?;
        let _status = fields.u16()?;
        let high = fields.u16()?;
        let capabilities = u32::from(high) << 16 | u32::from(low);
        let nonce_length = fields.u8()?;
        fields.bytes(6)?;
        let extended = fields.u32()?;
        // A zero ends it.
        let rest = usize::from(nonce_length).saturating_sub(8).max(13);
        let second = fields.bytes(rest)?;
        nonce.extend_from_slice(second.strip_suffix(&[0]).unwrap_or(second));
        let is_mysql = capabilities & capability::MYSQL != 0;
        // Behind "5.5.5-" for the sake of old replicas.
        let flavour = match version.contains("MariaDB") {
            true => Flavour::Mariadb,
            false => Flavour::Mysql,
        };
        Ok(Self {
            version: version.strip_prefix("5.5.5-").unwrap_or(&version).into(),
            flavour,
            capabilities,
            extended: if is_mysql { 0 } else { extended },
            nonce,
            method: fields.until_zero().to_vec(),
        })
    }
}

/// Logs in, and leaves the channel ready for commands. A connection in the
/// clear is all there is: a server that wants TLS is told apart by its error.
pub(crate) fn log_in(channel: &mut Channel, login: Login<'_>) -> Result<Greeting, Failure> {
    channel.next()?;
    let greeting = Greeting::parse(channel.payload())?;
    let needed = capability::PROTOCOL_41 | capability::SECURE_CONNECTION | capability::PLUGIN_AUTH;
    if greeting.capabilities & needed != needed {
        return Err(Failure::Refused(format!(
            "the server {} is too old: MySQL 5.7 and MariaDB 10.5 are the oldest that are known \
             here",
            greeting.version
        )));
    }
    let is_local = matches!(channel.stream(), Stream::Unix(_));
    let mut capabilities = WANTED | (greeting.capabilities & WELCOME);
    // MariaDB has this bit off, and so has a client with capabilities of
    // MariaDB's own.
    if greeting.capabilities & capability::MYSQL == 0 {
        capabilities &= !capability::MYSQL;
    }
    if login.database.is_some() {
        capabilities |= capability::CONNECT_WITH_DB;
    }
    let extended = greeting.extended & capability::CACHE_METADATA;
    // An unknown method is answered as if it were the oldest; the server then
    // asks for the one it wants by name.
    let method = Method::named(&greeting.method).unwrap_or(Method::Native);
    let first = match method {
        // Not before we are asked for it.
        Method::Clear => Vec::new(),
        _ => method.answer(login.password, &greeting.nonce, is_local)?,
    };
    channel.answer(|out| {
        out.extend(capabilities.to_le_bytes());
        out.extend(MESSAGE_BYTES_MAX.to_le_bytes());
        out.push(CHARSET);
        out.extend([0; 19]);
        out.extend(extended.to_le_bytes());
        push_text(out, login.user)?;
        out.push(first.len() as u8);
        out.extend(&first);
        if let Some(database) = login.database {
            push_text(out, database)?;
        }
        push_text(out, method.name())
    })?;
    channel.flush()?;
    finish(channel, &login, method, &greeting.nonce, is_local)?;
    channel.without_eof = capabilities & capability::DEPRECATE_EOF != 0;
    channel.caches_metadata = extended & capability::CACHE_METADATA != 0;
    Ok(greeting)
}

/// Appends a text and the zero that ends it.
fn push_text(out: &mut Vec<u8>, text: &str) -> Result<(), Failure> {
    if text.contains('\0') {
        return Err(Failure::Refused(format!(
            "the name {text:?} holds a zero, which ends it"
        )));
    }
    out.extend(text.as_bytes());
    out.push(0);
    Ok(())
}

/// The first byte of a packet with which a method goes on.
const MORE: u8 = 1;

/// Asks `caching_sha2_password` for the server's RSA key.
const WANT_KEY: u8 = 2;

/// Answers until the server lets us in or not.
fn finish(
    channel: &mut Channel,
    login: &Login<'_>,
    mut method: Method,
    nonce: &[u8],
    is_local: bool,
) -> Result<(), Failure> {
    let mut nonce = nonce.to_vec();
    let mut wants_key = false;
    // A server asks for another method once, and methods say three things
    // more; one that goes on for ever is none.
    for _ in 0..8 {
        channel.next()?;
        let payload = channel.payload();
        let answer = match payload {
            [0, ..] => return Ok(()),
            [0xff, ..] => {
                let error = ServerError::parse(payload);
                return Err(match wants_key {
                    true => without_key(error),
                    false => explained(error),
                });
            }
            [0xfe, rest @ ..] => {
                let mut fields = Fields(rest);
                let name = fields.until_zero();
                method = Method::named(name).ok_or_else(|| unknown(name))?;
                nonce = fields.0.strip_suffix(&[0]).unwrap_or(fields.0).to_vec();
                method.answer(login.password, &nonce, is_local)?
            }
            [MORE, key @ ..] if wants_key => {
                wants_key = false;
                encrypted(login.password, &nonce, key)?
            }
            // The account is known to the server's cache; its consent follows.
            [MORE, 3] if method == Method::CachingSha2 => continue,
            // It is not: the server wants the password itself.
            [MORE, 4] if method == Method::CachingSha2 && is_local => {
                clear(login.password, is_local)?
            }
            [MORE, 4] if method == Method::CachingSha2 => {
                wants_key = true;
                vec![WANT_KEY]
            }
            // The server asks the operating system; nothing is to be said.
            [MORE, ..] if method == Method::Socket => Vec::new(),
            _ => return Err(Failure::Malformed("an answer to the login that is none")),
        };
        channel.answer(|out| {
            out.extend(&answer);
            Ok(())
        })?;
        channel.flush()?;
    }
    Err(Failure::Malformed("a login without an end"))
}

fn unknown(name: &[u8]) -> Failure {
    Failure::Refused(format!(
        "the account logs in by {}, which is not known here: let it use mysql_native_password, \
         caching_sha2_password, unix_socket or auth_socket",
        String::from_utf8_lossy(name)
    ))
}

/// What a server that has no RSA key answers to the request for it.
fn without_key(error: ServerError) -> Failure {
    Failure::Refused(format!(
        "{error}; the server gives no RSA key to encrypt the password with: connect through its \
         Unix socket, or let it make one (caching_sha2_password_auto_generate_rsa_keys)"
    ))
}

/// An account that may not log in, or not so: ER_ACCESS_DENIED_ERROR.
const ACCESS_DENIED: u16 = 1045;

/// Names the remedy where the server's words do not.
fn explained(error: ServerError) -> Failure {
    // ER_SECURE_TRANSPORT_REQUIRED of MySQL; MariaDB's has another number.
    if error.code == 3159 || error.message.contains("require_secure_transport") {
        return Failure::Refused(format!(
            "{error}; Octavo has no TLS: connect through the server's Unix socket, or turn \
             require_secure_transport off"
        ));
    }
    // With REQUIRE SSL servers say the same.
    if error.code == ACCESS_DENIED {
        return Failure::Refused(format!(
            "{error}; check the user and the password, and that the account has no REQUIRE SSL or \
             REQUIRE X509, since Octavo has no TLS"
        ));
    }
    error.into()
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread, time::Duration};

    use proptest::prelude::*;

    use super::{
        super::auth::server_side::{decrypted, private_key, public_pem},
        *,
    };

    fn greeting(version: &str, capabilities: u32, extended: u32, method: &str) -> Vec<u8> {
        let mut bytes = vec![10];
        bytes.extend(version.as_bytes());
        bytes.extend([0, 1, 0, 0, 0]);
        bytes.extend(b"abcdefgh");
        bytes.push(0);
        bytes.extend(&capabilities.to_le_bytes()[..2]);
        bytes.extend([8, 2, 0]);
        bytes.extend(&capabilities.to_le_bytes()[2..]);
        bytes.push(21);
        bytes.extend([0; 6]);
        bytes.extend(extended.to_le_bytes());
        bytes.extend(b"ijklmnopqrst\0");
        bytes.extend(method.as_bytes());
        bytes.push(0);
        bytes
    }

    #[test]
    fn greetings_tell_mysql_from_mariadb() {
        let bytes = greeting("5.5.5-10.11.9-MariaDB", !1, 0x14, "mysql_native_password");
        let found = Greeting::parse(&bytes).unwrap();
        assert_eq!(found.version, "10.11.9-MariaDB");
        assert_eq!(found.flavour, Flavour::Mariadb);
        assert_eq!(found.extended, 0x14);
        assert_eq!(found.nonce, b"abcdefghijklmnopqrst");
        assert_eq!(found.method, b"mysql_native_password");
        let bytes = greeting("8.4.2", !0, 0x14, "caching_sha2_password");
        let found = Greeting::parse(&bytes).unwrap();
        assert_eq!((found.flavour, found.extended), (Flavour::Mysql, 0));
    }

    #[test]
    fn a_server_without_free_connections_is_an_error() {
        let error = Greeting::parse(b"\xff\x10\x04Too many connections").unwrap_err();
        assert!(error.to_string().contains("Too many"), "{error}");
        let error = Greeting::parse(b"\x09").unwrap_err();
        assert!(error.to_string().contains("port"), "{error}");
    }

    /// Logs in over a network at a server that has `password`, as the account
    /// `anna` with `given`.
    fn log_in_over_network(
        password: &'static str,
        given: &str,
        has_key: bool,
    ) -> Result<(), Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let stream = listener.accept().unwrap().0;
            let mut channel = Channel::new(Stream::Tcp(stream));
            let send = |channel: &mut Channel, bytes: &[u8]| {
                channel.answer(|out| {
                    out.extend(bytes);
                    Ok(())
                })?;
                channel.flush().map_err(Failure::from)
            };
            let denied = b"\xff\x15\x04#28000Access denied for user 'anna'@'localhost'";
            send(
                &mut channel,
                &greeting("9.7.4", !0, 0, "caching_sha2_password"),
            )?;
            channel.next()?;
            // The account is not in its cache.
            send(&mut channel, &[1, 4])?;
            channel.next()?;
            assert_eq!(channel.payload(), [2]);
            if !has_key {
                return send(&mut channel, denied);
            }
            let key = private_key();
            send(
                &mut channel,
                &[b"\x01", public_pem(&key).as_bytes()].concat(),
            )?;
            channel.next()?;
            let found = decrypted(&key, channel.payload(), b"abcdefghijklmnopqrst");
            match found.strip_suffix(&[0]) == Some(password.as_bytes()) {
                true => send(&mut channel, &[0, 0, 0, 2, 0, 0, 0]),
                false => send(&mut channel, denied),
            }
        });
        let stream = Stream::tcp("127.0.0.1", port, Duration::from_secs(5)).unwrap();
        let login = Login {
            user: "anna",
            password: given,
            database: None,
        };
        let answer = log_in(&mut Channel::new(stream), login).map(|_| ());
        server.join().unwrap().unwrap();
        answer
    }

    #[test]
    fn a_password_crosses_a_network_under_the_servers_key() {
        log_in_over_network("sécret", "sécret", true).unwrap();
        let denied = |given, has_key| {
            let error = log_in_over_network("sécret", given, has_key).unwrap_err();
            let error = error.to_string();
            assert!(error.contains("Access denied for user 'anna'"), "{error}");
            error
        };
        let wrong = denied("wrong", true);
        assert!(wrong.contains("check the user and the password"), "{wrong}");
        let without = denied("sécret", false);
        assert!(without.contains("gives no RSA key"), "{without}");
    }

    proptest! {
        #[test]
        fn arbitrary_greetings_do_not_panic(mut bytes in prop::collection::vec(any::<u8>(), 1..90)) {
            bytes[0] = 10;
            let _either = Greeting::parse(&bytes);
        }
    }
}

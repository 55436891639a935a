//! The start of a session: who we are, and the proof of it
//! (<https://www.postgresql.org/docs/current/protocol-flow.html>).

use std::io;

use bytes::BytesMut;
use octavo_workload::{ConnectionError, Result};
use postgres_protocol::{
    authentication::{
        md5_hash,
        sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256},
    },
    message::frontend,
};

use super::{
    failure::{Failure, ServerError},
    messages::Channel,
};
use crate::wire::Wire;

/// What the server wants to see, by the number in its request.
mod request {
    pub(super) const NOTHING: u32 = 0;
    pub(super) const CLEARTEXT: u32 = 3;
    pub(super) const MD5: u32 = 5;
    pub(super) const SASL: u32 = 10;
    pub(super) const SASL_CONTINUE: u32 = 11;
    pub(super) const SASL_FINAL: u32 = 12;
}

/// Who logs in, and where to.
pub(crate) struct Login<'l> {
    pub(crate) user: &'l str,
    pub(crate) password: Option<&'l str>,
    pub(crate) database: &'l str,
    /// Whether nobody can listen: by a Unix socket.
    pub(crate) is_local: bool,
    /// Parameters of the session by name.
    pub(crate) options: &'l [(&'l str, String)],
}

/// Puts a message into the output; fails for a text that holds NUL.
pub(crate) fn put(
    wire: &mut Wire,
    message: impl FnOnce(&mut BytesMut) -> io::Result<()>,
) -> io::Result<()> {
    let mut bytes = BytesMut::new();
    message(&mut bytes)?;
    wire.output().extend_from_slice(&bytes);
    Ok(())
}

/// Whether the server, or a pooler before it, would let the user in over TLS:
/// their words, since the codes are those of other refusals too.
fn wants_tls(error: &ServerError) -> bool {
    const WORDS: [&str; 4] = [
        // PostgreSQL, by its pg_hba.conf, and before version 13.
        "no encryption",
        "SSL off",
        // PgBouncer.
        "SSL required",
        "SSL connection is required",
    ];
    WORDS.iter().any(|words| error.message.contains(words))
}

impl Login<'_> {
    /// Logs in; afterwards the server is ready.
    pub(crate) fn perform(&self, channel: &mut Channel) -> Result<()> {
        put(&mut channel.wire, |bytes| {
            let first = [("user", self.user), ("database", self.database)];
            let encoding = [("client_encoding", "UTF8")];
            let given = self.options.iter().map(|(name, value)| (*name, &**value));
            // Of a name that is there twice the last one counts.
            frontend::startup_message(first.into_iter().chain(encoding).chain(given), bytes)
        })
        .map_err(|error| self.unusable(error))?;
        channel.send().map_err(|failure| self.failed(failure))?;
        self.authenticate(channel)?;
        channel.ready(1).map_err(|failure| self.failed(failure))
    }

    /// Answers the server's requests until it is content.
    fn authenticate(&self, channel: &mut Channel) -> Result<()> {
        let mut scram: Option<ScramSha256> = None;
        let mut server_proved = false;
        loop {
            let message = channel.message().map_err(|failure| self.failed(failure))?;
            match message.tag {
                b'R' => {}
                b'E' => return Err(self.refused(channel.refusal(message))),
                // NegotiateProtocolVersion: it does not know an option.
                b'v' => {
                    channel.done(message);
                    continue;
                }
                _ => return Err(self.failed(Failure::Protocol("a login has another message"))),
            }
            let Some((code, body)) = channel.body(message).split_first_chunk::<4>() else {
                return Err(self.failed(Failure::Protocol("it asks for nothing")));
            };
            let code = u32::from_be_bytes(*code);
            let body = body.to_vec();
            channel.done(message);
            match code {
                request::NOTHING if scram.is_some() && !server_proved => {
                    return Err(
                        self.unusable("the server did not prove that it knows the password")
                    );
                }
                request::NOTHING => return Ok(()),
                // Anybody on the way could ask for it.
                request::CLEARTEXT if !self.is_local => {
                    return Err(self.unusable(
                        "it asks for the password in the clear over a network: let it use \
                         scram-sha-256, or connect by a Unix socket",
                    ));
                }
                request::CLEARTEXT => {
                    let password = self.password()?;
                    self.send(channel, |bytes| {
                        frontend::password_message(password.as_bytes(), bytes)
                    })?;
                }
                request::MD5 => {
                    let salt = <[u8; 4]>::try_from(&body[..])
                        .map_err(|_| self.failed(Failure::Protocol("a salt is not 4 bytes")))?;
                    let hash = md5_hash(self.user.as_bytes(), self.password()?.as_bytes(), salt);
                    self.send(channel, |bytes| {
                        frontend::password_message(hash.as_bytes(), bytes)
                    })?;
                }
                request::SASL => {
                    let offered = || body.split(|&byte| byte == 0);
                    if !offered().any(|name| name == SCRAM_SHA_256.as_bytes()) {
                        return Err(self.unusable("the server does not offer SCRAM-SHA-256"));
                    }
                    let password = self.password()?.as_bytes();
                    let scram =
                        scram.insert(ScramSha256::new(password, ChannelBinding::unsupported()));
                    self.send(channel, |bytes| {
                        frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), bytes)
                    })?;
                }
                request::SASL_CONTINUE => {
                    let scram = scram.as_mut().ok_or_else(|| self.out_of_turn())?;
                    scram.update(&body).map_err(|error| self.unusable(error))?;
                    self.send(channel, |bytes| {
                        frontend::sasl_response(scram.message(), bytes)
                    })?;
                }
                request::SASL_FINAL => {
                    let scram = scram.as_mut().ok_or_else(|| self.out_of_turn())?;
                    scram.finish(&body).map_err(|error| self.unusable(error))?;
                    server_proved = true;
                }
                other => {
                    return Err(self.unusable(format!(
                        "the server wants authentication method {other}: set trust, password, \
                         md5 or scram-sha-256 for this user in its pg_hba.conf"
                    )));
                }
            }
        }
    }

    fn send(
        &self,
        channel: &mut Channel,
        message: impl FnOnce(&mut BytesMut) -> io::Result<()>,
    ) -> Result<()> {
        put(&mut channel.wire, message).map_err(|error| self.unusable(error))?;
        channel.send().map_err(|failure| self.failed(failure))
    }

    fn password(&self) -> Result<&str> {
        self.password
            .ok_or_else(|| self.unusable("the server wants a password and none was given"))
    }

    fn context(&self) -> String {
        format!(
            "log in to PostgreSQL as user '{}' to database '{}'",
            self.user, self.database
        )
    }

    /// The server's refusal, with the remedy where it wants TLS.
    fn refused(&self, failure: Failure) -> ConnectionError {
        match failure {
            Failure::Server(error) if wants_tls(&error) => self.unusable(format!(
                "{error}; Octavo has no TLS: connect by the server's Unix socket, or let it take \
                 this user without (a host line in pg_hba.conf)"
            )),
            other => self.failed(other),
        }
    }

    /// What the server or the stream says against it.
    fn failed(&self, failure: Failure) -> ConnectionError {
        failure.into_login_error(|| self.context())
    }

    fn out_of_turn(&self) -> ConnectionError {
        self.failed(Failure::Protocol("a step of SCRAM comes out of turn"))
    }

    /// What we say against it.
    fn unusable(
        &self,
        reason: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> ConnectionError {
        ConnectionError::other(self.context(), reason)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        error::Error,
        io::{Read, Write},
        os::unix::net::UnixStream,
        thread,
    };

    use super::*;
    use crate::wire::Stream;

    /// Logs in at a server that refuses with this error.
    fn refused_with(code: &str, message: &str) -> ConnectionError {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let fields = format!("SFATAL\0VFATAL\0C{code}\0M{message}\0\0");
        let server = thread::spawn(move || {
            let mut startup = [0; 1024];
            let length = theirs.read(&mut startup).unwrap();
            let length_of = |bytes: usize| u32::try_from(bytes + 4).unwrap().to_be_bytes();
            theirs.write_all(b"E").unwrap();
            theirs.write_all(&length_of(fields.len())).unwrap();
            theirs.write_all(fields.as_bytes()).unwrap();
            startup[..length].to_vec()
        });
        let login = Login {
            user: "anna",
            password: None,
            database: "shop",
            is_local: true,
            options: &[],
        };
        let mut channel = Channel::new(Stream::Unix(ours));
        let error = login.perform(&mut channel).unwrap_err();
        server.join().unwrap();
        error
    }

    #[test]
    fn a_server_that_wants_tls_is_told_from_one_that_is_not_ready() {
        for (code, message) in [
            (
                "28000",
                "no pg_hba.conf entry for host \"127.0.0.1\", user \"anna\", database \"shop\", no \
                 encryption",
            ),
            ("08P01", "SSL required"),
        ] {
            let error = refused_with(code, message);
            assert!(matches!(error, ConnectionError::Other { .. }), "{error:?}");
            let why = error.source().unwrap().to_string();
            assert!(
                why.contains(message) && why.contains("Octavo has no TLS"),
                "{why}"
            );
        }
        let starting = refused_with("57P03", "the database system is starting up");
        assert!(matches!(starting, ConnectionError::Lost(_)), "{starting:?}");
    }
}

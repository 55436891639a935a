//! Waiting until a server answers.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::process::Server;
use crate::DatabaseError;

/// Between two attempts. Servers start in tenths of a second.
const PAUSE: Duration = Duration::from_millis(5);

/// Tries to connect until it succeeds.
///
/// Fails with [`DatabaseError::Program`] when the server ends before, or is
/// slower than `limit`; both with its last words. The server is not stopped.
pub(crate) fn wait_until_ready<T>(
    server: &Server,
    limit: Duration,
    try_connect: &mut dyn FnMut() -> Option<T>,
) -> Result<T, DatabaseError> {
    let since = Instant::now();
    let failure = |what: String| server.failure("start the server", what);
    loop {
        if let Some(status) = server.ended() {
            return Err(failure(format!(
                "it ended after {:.1} s ({status})",
                since.elapsed().as_secs_f64()
            )));
        }
        if let Some(connected) = try_connect() {
            return Ok(connected);
        }
        if since.elapsed() >= limit {
            return Err(failure(format!(
                "it was slower than its start limit: no answer in {:.1} s",
                since.elapsed().as_secs_f64()
            )));
        }
        thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rustix::process::Signal;

    use super::{super::process::Launch, *};

    fn shell(directory: &Path, script: &str) -> Server {
        Server::launch(&Launch {
            program: Path::new("/bin/sh"),
            arguments: vec!["-c".into(), script.into()],
            directory,
            log: &directory.join("log"),
            account: None,
            group: None,
            on_death: Signal::KILL,
            input: None,
            environment: Vec::new(),
        })
        .unwrap()
    }

    #[test]
    fn a_server_is_waited_for_until_it_answers_ends_or_is_too_slow() {
        let scratch = crate::scratch::directory();
        let directory = scratch.path();
        let wait = |script: &str, limit, connect: &mut dyn FnMut() -> Option<u32>| {
            wait_until_ready(
                &shell(directory, script),
                Duration::from_millis(limit),
                connect,
            )
        };
        let mut attempts = 0;
        let connected = wait("sleep 600", 60_000, &mut || {
            attempts += 1;
            (attempts == 3).then_some(attempts)
        });
        assert_eq!(connected.unwrap(), 3);
        let error = wait("echo port taken; exit 1", 60_000, &mut || None);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("exit status: 1"), "{error}");
        assert!(error.ends_with("port taken"), "{error}");
        let error = wait("sleep 600", 60, &mut || None).unwrap_err().to_string();
        assert!(error.contains("slower than its start limit"), "{error}");
    }
}

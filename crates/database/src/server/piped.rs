//! A program whose output Octavo reads, at a rate if one is given, and which it may ask something
//! meanwhile.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, Read, Write},
    path::Path,
    process::{ChildStdin, ChildStdout},
    time::{Duration, Instant},
};

use octavo_units::ByteCount;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::Signal,
};

use super::{
    pace::{Pace, sleep},
    process::{Launch, Server},
};
use crate::{DatabaseError, Result, files::named};

/// How long to wait for output between two looks whether to stop.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// The most bytes of a line that are held at once.
const PART_MAX: u64 = 1 << 18;

/// The longest answer that is understood as a line. Chosen.
const LINE_MAX: usize = 64 << 20;

/// How long a program may take to end that has nothing more to say.
const END_LIMIT: Duration = Duration::from_secs(60);

/// How long a program that was interrupted may take to cancel its statement on the server. Chosen.
const CANCEL_LIMIT: Duration = Duration::from_secs(2);

/// A program with pipes. Dropping it ends it.
pub(crate) struct Piped<'s> {
    /// What it does, for errors.
    action: &'static str,
    input: Option<ChildStdin>,
    output: BufReader<Output<'s>>,
    server: Server,
}

/// What a program writes.
struct Output<'s> {
    pipe: ChildStdout,
    pace: Option<Pace>,
    begin: Instant,
    stopped: &'s dyn Fn() -> bool,
    was_stopped: bool,
}

impl<'s> Piped<'s> {
    /// Starts a program, and reads its output at a `rate` in bytes a second, until `stopped` says so.
    pub(crate) fn start(
        action: &'static str,
        launch: &Launch<'_>,
        rate: Option<ByteCount>,
        stopped: &'s dyn Fn() -> bool,
    ) -> Result<Self> {
        let (server, input, pipe) = Server::launch_piped(launch)?;
        let pace = rate.map(Pace::new);
        let bytes = pace.as_ref().map_or(1 << 18, Pace::bytes_max);
        let output = Output {
            pipe,
            pace,
            begin: Instant::now(),
            stopped,
            was_stopped: false,
        };
        Ok(Self {
            action,
            input: Some(input),
            output: BufReader::with_capacity(bytes, output),
            server,
        })
    }

    /// Sends it a text.
    pub(crate) fn send(&mut self, text: &str) -> Result<()> {
        let sent = match &mut self.input {
            Some(input) => input
                .write_all(text.as_bytes())
                .and_then(|()| input.flush()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        sent.map_err(|error| self.failed(&error))
    }

    /// The lines that it writes up to this one. A line comes in parts where it is long; each is with
    /// whether it begins one, and without its end.
    pub(crate) fn parts_until(
        &mut self,
        last: &str,
        each: &mut dyn FnMut(bool, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut part = Vec::new();
        let mut begins = true;
        loop {
            part.clear();
            let mut output = (&mut self.output).take(PART_MAX);
            if let Err(error) = output.read_until(b'\n', &mut part) {
                return Err(self.failed(&error));
            }
            if part.is_empty() {
                return Err(self.failed(&io::ErrorKind::UnexpectedEof.into()));
            }
            let ends = part.last() == Some(&b'\n');
            if ends {
                part.pop();
            }
            if begins && ends && part == last.as_bytes() {
                return Ok(());
            }
            each(begins, &part)?;
            begins = ends;
        }
    }

    /// The lines that it writes up to this one, as texts.
    pub(crate) fn lines_until(
        &mut self,
        last: &str,
        each: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<()> {
        let action = self.action;
        let unreadable = |reason: &str| DatabaseError::Source {
            name: action.to_owned(),
            reason: format!("cannot be done: the server answers {reason}"),
        };
        let mut line: Option<Vec<u8>> = None;
        let mut give = |line: Option<Vec<u8>>| match line {
            None => Ok(()),
            Some(line) => match String::from_utf8(line) {
                Ok(line) => each(&line),
                Err(_) => Err(unreadable("what is no UTF-8")),
            },
        };
        self.parts_until(last, &mut |begins, part| {
            if begins {
                give(line.take())?;
            }
            let line = line.get_or_insert_default();
            line.extend_from_slice(part);
            match line.len() > LINE_MAX {
                true => Err(unreadable("with a line of more than 64 MiB")),
                false => Ok(()),
            }
        })?;
        give(line)
    }

    /// Copies all that it writes to a file, and waits for its end.
    pub(crate) fn write_to(mut self, path: &Path) -> Result<()> {
        self.input = None;
        let mut file = BufWriter::new(File::create(path).map_err(named("create", path))?);
        loop {
            let length = match self.output.fill_buf() {
                Ok([]) => break,
                Ok(bytes) => {
                    file.write_all(bytes).map_err(named("write", path))?;
                    bytes.len()
                }
                Err(error) => return Err(self.failed(&error)),
            };
            self.output.consume(length);
        }
        file.flush().map_err(named("write", path))?;
        self.finish()
    }

    /// Ends its input, and waits until it has ended.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.input = None;
        match self.server.ends_within(END_LIMIT) {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(self.server.failure(self.action, status.to_string())),
            None => Err(self.server.failure(self.action, "it did not end".into())),
        }
    }

    /// What became of it where it can be read or written no more.
    fn failed(&mut self, error: &io::Error) -> DatabaseError {
        if self.output.get_ref().was_stopped {
            // Servers do not see that a client is gone as long as a statement has no rows to send.
            // psql, pg_dump and the others cancel it there when they are interrupted.
            self.server.signal(Signal::INT);
            if self.server.ends_within(CANCEL_LIMIT).is_none() {
                self.server.kill();
            }
            return DatabaseError::Stopped;
        }
        self.input = None;
        let what = match self.server.ends_within(Duration::from_secs(5)) {
            Some(status) => status.to_string(),
            None => {
                self.server.signal(Signal::TERM);
                error.to_string()
            }
        };
        self.server.failure(self.action, what)
    }
}

impl Output<'_> {
    fn stop(&mut self) -> io::Result<usize> {
        self.was_stopped = true;
        Err(io::Error::other("stopped"))
    }
}

impl Read for Output<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if (self.stopped)() {
                return self.stop();
            }
            let mut ready = [PollFd::new(&self.pipe, PollFlags::IN)];
            match poll(&mut ready, Some(&LOOK)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                Ok(_) => break,
                Err(error) => return Err(error.into()),
            }
        }
        let count = self.pipe.read(buffer)?;
        if let Some(pace) = &mut self.pace {
            let wait = pace.wait(count as u64, self.begin.elapsed());
            if !sleep(wait, &mut || !(self.stopped)()) {
                return self.stop();
            }
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch<'l>(directory: &'l Path, log: &'l Path, script: &str) -> Launch<'l> {
        Launch {
            program: Path::new("/bin/sh"),
            arguments: vec!["-c".into(), script.into()],
            directory,
            log,
            account: None,
            group: None,
            on_death: Signal::TERM,
            input: None,
            environment: Vec::new(),
        }
    }

    #[test]
    fn answers_end_at_their_last_line() {
        let directory = crate::scratch::directory();
        let log = directory.path().join("log");
        let long = "x".repeat(3 * PART_MAX as usize);
        let script = "while read line; do echo \"$line\"; echo \"$line.\"; echo end; done";
        let go = || false;
        let launch = launch(directory.path(), &log, script);
        let mut piped = Piped::start("ask", &launch, None, &go).unwrap();
        for asked in ["one", long.as_str(), ""] {
            piped.send(&format!("{asked}\n")).unwrap();
            let mut answer = Vec::new();
            let mut each = |line: &str| {
                answer.push(line.to_owned());
                Ok(())
            };
            piped.lines_until("end", &mut each).unwrap();
            assert_eq!(answer, [asked.to_owned(), format!("{asked}.")]);
        }
        piped.finish().unwrap();
    }

    #[test]
    fn a_slow_rate_is_stopped_soon() {
        let directory = crate::scratch::directory();
        let log = directory.path().join("log");
        // At this rate it would take a minute.
        let writing = launch(directory.path(), &log, "head -c 60 /dev/zero");
        let begin = Instant::now();
        let stop = || begin.elapsed() > Duration::from_millis(300);
        let piped = Piped::start("copy", &writing, Some(ByteCount::new(1)), &stop).unwrap();
        let stopped = piped.write_to(&directory.path().join("copied"));
        assert!(
            matches!(stopped, Err(DatabaseError::Stopped)),
            "{stopped:?}"
        );
        assert!(begin.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn ends_are_told() {
        let directory = crate::scratch::directory();
        let log = directory.path().join("log");
        let go = || false;
        let failing = launch(directory.path(), &log, "echo a; echo wrong >&2; exit 3");
        let mut piped = Piped::start("ask", &failing, None, &go).unwrap();
        let error = piped.lines_until("end", &mut |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("wrong"), "{error}");

        let file = directory.path().join("copied");
        let writing = launch(directory.path(), &log, "printf 'a\\nb'");
        let rate = Some(ByteCount::mib(1));
        let piped = Piped::start("copy", &writing, rate, &go).unwrap();
        piped.write_to(&file).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"a\nb");
        let piped = Piped::start("copy", &failing, None, &go).unwrap();
        assert!(piped.write_to(&file).is_err());

        let stop = || true;
        let waiting = launch(directory.path(), &log, "sleep 60");
        let piped = Piped::start("copy", &waiting, None, &stop).unwrap();
        let stopped = piped.write_to(&file);
        assert!(
            matches!(stopped, Err(DatabaseError::Stopped)),
            "{stopped:?}"
        );
    }
}

//! The stream to a server and the bytes that wait on either side of it.
//!
//! One exchange is one write and, as a rule, one read: requests gather in
//! [`Wire::output`] until [`Wire::flush`], and answers are looked at where
//! they arrived. Both buffers live as long as the connection, so a statement
//! allocates nothing. What the bytes mean is the protocol's business.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    path::Path,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    net::{RecvFlags, SendFlags, recv, send},
};

/// The input buffer to begin with: a page of answers in one read.
const INPUT_BYTES: usize = 64 * 1024;

/// An input buffer never grows beyond this, so that a damaged length ends in
/// an error rather than in all memory being taken.
pub(crate) const INPUT_BYTES_MAX: usize = 256 * 1024 * 1024;

/// An output of up to this size is written in one blocking call. It fits into
/// the socket's buffer, so the server cannot keep us from reading its answers.
const BLOCKING_BYTES_MAX: usize = 16 * 1024;

/// A connected socket, in blocking mode.
#[derive(Debug)]
pub(crate) enum Stream {
    /// On this machine.
    Unix(UnixStream),
    /// Over a network; each write is sent at once.
    Tcp(TcpStream),
}

impl Stream {
    /// Connects to the socket file at `path`.
    pub(crate) fn unix(path: &Path) -> io::Result<Self> {
        UnixStream::connect(path).map(Self::Unix)
    }

    /// Connects to a port of a host, trying each of its addresses for up to
    /// `limit`.
    pub(crate) fn tcp(host: &str, port: u16, limit: Duration) -> io::Result<Self> {
        let mut failure = None;
        for address in (host, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, limit) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(Self::Tcp(stream));
                }
                Err(error) => failure = Some(error),
            }
        }
        Err(failure.unwrap_or_else(|| {
            io::Error::new(ErrorKind::NotFound, format!("{host} has no address"))
        }))
    }

    /// How long a read may wait; `None` for ever. A read that waited in vain
    /// fails with [`ErrorKind::TimedOut`].
    pub(crate) fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_read_timeout(limit),
            Self::Tcp(stream) => stream.set_read_timeout(limit),
        }
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(into),
            Self::Tcp(stream) => stream.read(into),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.write_all(bytes),
            Self::Tcp(stream) => stream.write_all(bytes),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}

/// A stream with its two buffers.
#[derive(Debug)]
pub(crate) struct Wire {
    stream: Stream,
    /// All of it may be read into; `begin..end` waits to be consumed.
    input: Vec<u8>,
    begin: usize,
    end: usize,
    output: Vec<u8>,
}

impl Wire {
    /// Empty buffers around a stream.
    pub(crate) fn new(stream: Stream) -> Self {
        Self {
            stream,
            input: vec![0; INPUT_BYTES],
            begin: 0,
            end: 0,
            output: Vec::with_capacity(BLOCKING_BYTES_MAX),
        }
    }

    /// The stream itself, for its settings.
    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// What the next [`Wire::flush`] will send, to append to.
    #[inline]
    pub(crate) fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// What has arrived and was not consumed.
    #[inline]
    pub(crate) fn buffered(&self) -> &[u8] {
        &self.input[self.begin..self.end]
    }

    /// Forgets the first `bytes` of what has arrived; at most all of it.
    #[inline]
    pub(crate) fn consume(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.end - self.begin);
        self.begin = (self.begin + bytes).min(self.end);
    }

    /// Waits for more input, in one read. Fails with
    /// [`ErrorKind::UnexpectedEof`] when the server closed the connection.
    pub(crate) fn fill(&mut self) -> io::Result<()> {
        self.make_room()?;
        loop {
            match self.stream.read(&mut self.input[self.end..]) {
                Ok(0) => return Err(closed()),
                Ok(bytes) => {
                    self.end += bytes;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Err(io::Error::new(
                        ErrorKind::TimedOut,
                        "the server did not answer in time",
                    ));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until at least `bytes` have arrived, and shows all that has.
    #[inline]
    pub(crate) fn need(&mut self, bytes: usize) -> io::Result<&[u8]> {
        while self.end - self.begin < bytes {
            if bytes > INPUT_BYTES_MAX {
                return Err(too_large());
            }
            self.fill()?;
        }
        Ok(self.buffered())
    }

    /// Sends the output and empties it, whether or not that succeeds.
    ///
    /// While a large output waits for the server to take it, answers are read
    /// into the input buffer: a server that waits for its answers to be read
    /// takes nothing more.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let result = if self.output.len() <= BLOCKING_BYTES_MAX {
            self.stream.write_all(&self.output)
        } else {
            self.flush_both_ways()
        };
        self.output.clear();
        result
    }

    fn flush_both_ways(&mut self) -> io::Result<()> {
        let mut sent = 0;
        while sent < self.output.len() {
            match self.send_now(sent) {
                Ok(bytes) => sent += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.wait_both_ways()? {
                        self.receive_now()?;
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends what the socket takes at once of the output from `sent` on.
    fn send_now(&self, sent: usize) -> io::Result<usize> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        Ok(send(self.stream.as_fd(), &self.output[sent..], flags)?)
    }

    /// Reads the bytes that have arrived, without waiting for any.
    pub(crate) fn receive_now(&mut self) -> io::Result<()> {
        self.make_room()?;
        let room = &mut self.input[self.end..];
        match recv(self.stream.as_fd(), room, RecvFlags::DONTWAIT) {
            Ok((0, _)) => Err(closed()),
            Ok((bytes, _)) => {
                self.end += bytes;
                Ok(())
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the socket takes or has something; answers whether it has.
    fn wait_both_ways(&self) -> io::Result<bool> {
        let stream = self.stream.as_fd();
        let mut waiting = [PollFd::from_borrowed_fd(
            stream,
            PollFlags::IN | PollFlags::OUT,
        )];
        match poll(&mut waiting, None) {
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
            // A socket at its end or in error shows as readable too: the read
            // then says which.
            Ok(_) => Ok(!(waiting[0].revents() - PollFlags::OUT).is_empty()),
        }
    }

    /// Sees to it that a read has a good part of the buffer to go to.
    fn make_room(&mut self) -> io::Result<()> {
        if self.begin == self.end {
            self.begin = 0;
            self.end = 0;
        }
        let wanted = self.input.len() / 4;
        if self.input.len() - self.end >= wanted {
            return Ok(());
        }
        self.input.copy_within(self.begin..self.end, 0);
        self.end -= self.begin;
        self.begin = 0;
        if self.input.len() - self.end < wanted {
            if self.input.len() >= INPUT_BYTES_MAX {
                return Err(too_large());
            }
            let larger = (self.input.len() * 2).min(INPUT_BYTES_MAX);
            self.input.resize(larger, 0);
        }
        Ok(())
    }
}

fn closed() -> io::Error {
    io::Error::new(
        ErrorKind::UnexpectedEof,
        "the server closed the connection; its log may say why",
    )
}

fn too_large() -> io::Error {
    io::Error::new(
        ErrorKind::InvalidData,
        format!("the server sent more than {INPUT_BYTES_MAX} bytes at once"),
    )
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn pair() -> (Wire, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Wire::new(Stream::Unix(ours)), theirs)
    }

    #[test]
    fn input_is_kept_until_consumed() {
        let (mut wire, mut server) = pair();
        server.write_all(b"abcdef").unwrap();
        assert_eq!(wire.need(6).unwrap(), b"abcdef");
        wire.consume(4);
        server.write_all(b"gh").unwrap();
        assert_eq!(wire.need(4).unwrap(), b"efgh");
        wire.consume(4);
        drop(server);
        assert_eq!(wire.fill().unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_long_message_makes_the_buffer_grow() {
        let (mut wire, mut server) = pair();
        let sent: Vec<u8> = (0..1_000_000_u32).map(|i| i as u8).collect();
        let copy = sent.clone();
        let writer = thread::spawn(move || server.write_all(&copy).unwrap());
        assert!(wire.need(sent.len()).unwrap() == sent);
        writer.join().unwrap();
        wire.consume(sent.len());
        assert!(wire.buffered().is_empty());
    }

    #[test]
    fn an_absurd_length_is_refused() {
        let (mut wire, _server) = pair();
        let error = wire.need(INPUT_BYTES_MAX + 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }

    /// The server answers each kilobyte with another one and reads nothing
    /// more until its answer was taken: neither side may wait for ever.
    #[test]
    fn a_flush_reads_while_it_writes() {
        const BYTES: usize = 8 << 20;
        let (mut wire, mut server) = pair();
        let echo = thread::spawn(move || {
            let mut block = [0; 1024];
            for _ in 0..BYTES / block.len() {
                server.read_exact(&mut block).unwrap();
                server.write_all(&block).unwrap();
            }
        });
        wire.output().extend((0..BYTES).map(|i| (i / 7) as u8));
        wire.flush().unwrap();
        assert!(wire.output().is_empty());
        let answer = wire.need(BYTES).unwrap();
        assert!((0..BYTES).all(|i| answer[i] == (i / 7) as u8));
        echo.join().unwrap();
    }

    #[test]
    fn a_read_gives_up_after_its_limit() {
        let (mut wire, _server) = pair();
        wire.stream()
            .set_read_timeout(Some(Duration::from_millis(10)))
            .unwrap();
        assert_eq!(wire.fill().unwrap_err().kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn writing_to_a_closed_connection_fails() {
        let (mut wire, server) = pair();
        drop(server);
        wire.output().extend([0; 10]);
        assert!(wire.flush().is_err());
        wire.output().extend([0; 100_000]);
        assert!(wire.flush().is_err());
        assert!(wire.output().is_empty());
    }

    #[test]
    fn a_name_and_port_are_connected_to() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let stream = Stream::tcp("127.0.0.1", port, Duration::from_secs(5)).unwrap();
        let Stream::Tcp(tcp) = &stream else {
            panic!("{stream:?}")
        };
        assert!(tcp.nodelay().unwrap());
    }
}

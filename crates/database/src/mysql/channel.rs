//! Packets to and from a server (<https://mariadb.com/kb/en/0-packet/>), and
//! the few of them that every answer is made of.

use std::io;

use super::{
    failure::{Failure, ServerError},
    fields::Fields,
    value::ServerColumn,
};
use crate::wire::{Stream, Wire};

/// A packet of this length continues in the next one.
const PACKET_BYTES_MAX: usize = 0xff_ffff;

/// A message of several packets is refused beyond this: a server's own limit,
/// `max_allowed_packet`, is at most 1 GiB.
const MESSAGE_BYTES_MAX: usize = 1 << 30;

/// Length and sequence number in front of a packet.
const HEADER_BYTES: usize = 4;

/// Where the message that was read last is.
#[derive(Clone, Copy, Debug)]
enum Current {
    None,
    /// In the input buffer, this long.
    Buffered(usize),
    /// Joined from several packets.
    Joined,
}

/// The first packet of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Head {
    /// Done, and how many rows were met.
    Done(u64),
    /// Rows follow, of so many columns.
    Rows {
        /// Columns of a row.
        columns: usize,
        /// Whether their definitions come before the rows.
        defined: bool,
    },
    /// The server asks for the contents of a file.
    File,
}

/// What one packet behind the columns' definitions is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A row: see [`Channel::payload`].
    Row,
    /// No more rows.
    End,
}

/// A stream of packets.
#[derive(Debug)]
pub(crate) struct Channel {
    wire: Wire,
    /// Sequence number of the next packet, in either direction.
    sequence: u8,
    current: Current,
    joined: Vec<u8>,
    /// No end-of-file packets: `CLIENT_DEPRECATE_EOF`.
    pub(crate) without_eof: bool,
    /// Definitions of columns may be left out: `MARIADB_CLIENT_CACHE_METADATA`.
    pub(crate) caches_metadata: bool,
}

impl Channel {
    /// Nothing has been sent or received yet.
    pub(crate) fn new(stream: Stream) -> Self {
        Self {
            wire: Wire::new(stream),
            sequence: 0,
            current: Current::None,
            joined: Vec::new(),
            without_eof: false,
            caches_metadata: false,
        }
    }

    /// The stream itself, for its settings.
    pub(crate) fn stream(&self) -> &Stream {
        self.wire.stream()
    }

    /// Adds a command to what [`Self::flush`] sends. When `write` fails the
    /// command is not there.
    #[inline]
    pub(crate) fn command(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        packet(self.wire.output(), 0, write)
    }

    /// Adds the answer to the packet that was read last.
    pub(crate) fn answer(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        packet(self.wire.output(), self.sequence, write)?;
        self.sequence = self.sequence.wrapping_add(1);
        Ok(())
    }

    /// Forgets what waits for [`Self::flush`].
    pub(crate) fn forget(&mut self) {
        self.wire.output().clear();
    }

    /// Sends what was added.
    #[inline]
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.wire.flush()
    }

    /// Whether nothing has arrived behind the message that was read last.
    #[inline]
    pub(crate) fn is_dry(&self) -> bool {
        let read = match self.current {
            Current::Buffered(length) => length,
            Current::None | Current::Joined => 0,
        };
        self.wire.buffered().len() <= read
    }

    fn consume(&mut self) {
        if let Current::Buffered(length) = self.current {
            self.wire.consume(length);
        }
        self.current = Current::None;
    }

    /// Reads the next message, to be looked at with [`Self::payload`].
    #[inline]
    pub(crate) fn next(&mut self) -> Result<(), Failure> {
        self.consume();
        let length = self.header()?;
        self.current = if length < PACKET_BYTES_MAX {
            self.wire.need(length)?;
            Current::Buffered(length)
        } else {
            self.join(length)?;
            Current::Joined
        };
        Ok(())
    }

    /// Takes a packet's header; returns the length of what follows.
    #[inline]
    fn header(&mut self) -> Result<usize, Failure> {
        let &[a, b, c, sequence, ..] = self.wire.need(HEADER_BYTES)? else {
            return Err(Failure::Malformed("a packet without a header"));
        };
        if sequence != self.sequence {
            return Err(Failure::Malformed("packets out of their order"));
        }
        self.sequence = sequence.wrapping_add(1);
        self.wire.consume(HEADER_BYTES);
        Ok(u32::from_le_bytes([a, b, c, 0]) as usize)
    }

    /// Joins packets up to one that is not full.
    fn join(&mut self, mut length: usize) -> Result<(), Failure> {
        self.joined.clear();
        loop {
            if self.joined.len() + length > MESSAGE_BYTES_MAX {
                return Err(Failure::Malformed("a message of more than 1 GiB"));
            }
            let bytes = self.wire.need(length)?;
            self.joined.extend_from_slice(&bytes[..length]);
            self.wire.consume(length);
            if length < PACKET_BYTES_MAX {
                return Ok(());
            }
            length = self.header()?;
        }
    }

    /// The message that was read last.
    #[inline]
    pub(crate) fn payload(&self) -> &[u8] {
        match self.current {
            Current::None => &[],
            Current::Buffered(length) => &self.wire.buffered()[..length],
            Current::Joined => &self.joined,
        }
    }

    /// Reads the first packet of the answer to a command. An error of the
    /// server ends the answer.
    #[inline]
    pub(crate) fn head(&mut self) -> Result<Head, Failure> {
        self.sequence = 1;
        self.next()?;
        self.head_here()
    }

    /// Reads the first packet of the answer to a preparation, which has a number where that of
    /// other commands has a length.
    pub(crate) fn preparation(&mut self) -> Result<(), Failure> {
        self.sequence = 1;
        self.next()?;
        match self.payload().first() {
            Some(0) => Ok(()),
            Some(0xff) => Err(ServerError::parse(self.payload()).into()),
            _ => Err(Failure::Malformed("no answer to a preparation")),
        }
    }

    /// As [`Self::head`], for an answer that begins with the last packet read.
    pub(crate) fn head_here(&self) -> Result<Head, Failure> {
        let payload = self.payload();
        match payload.first() {
            None => Err(Failure::Malformed("an empty answer")),
            Some(0) => Fields(&payload[1..]).length().map(Head::Done),
            Some(0xff) => Err(ServerError::parse(payload).into()),
            Some(0xfb) => Ok(Head::File),
            Some(_) => {
                let mut fields = Fields(payload);
                // A table has at most 4096 columns, and so have results.
                let columns = usize::try_from(fields.length()?)
                    .ok()
                    .filter(|&columns| columns <= 4096)
                    .ok_or(Failure::Malformed("more than 4096 columns"))?;
                Ok(Head::Rows {
                    columns,
                    defined: !self.caches_metadata || fields.u8()? != 0,
                })
            }
        }
    }

    /// Reads the definitions of `count` columns, which `each` gets with the packets that they are
    /// in, and the packet behind them
    /// where there is one.
    pub(crate) fn definitions(
        &mut self,
        count: usize,
        mut each: impl FnMut(ServerColumn, &[u8]),
    ) -> Result<(), Failure> {
        for _ in 0..count {
            self.next()?;
            each(ServerColumn::parse(self.payload())?, self.payload());
        }
        if !self.without_eof && count > 0 {
            self.next()?;
            if !self.is_end() {
                return Err(Failure::Malformed("no end behind definitions"));
            }
        }
        Ok(())
    }

    /// Whether the packet ends rows or definitions. A text of 16 MiB begins
    /// with the same byte.
    fn is_end(&self) -> bool {
        let payload = self.payload();
        payload.first() == Some(&0xfe) && payload.len() < PACKET_BYTES_MAX
    }

    /// Reads a row, or the end of the rows.
    #[inline]
    pub(crate) fn row(&mut self) -> Result<Next, Failure> {
        self.next()?;
        if self.is_end() {
            return Ok(Next::End);
        }
        let payload = self.payload();
        match payload.first() {
            Some(0xff) => Err(ServerError::parse(payload).into()),
            Some(_) => Ok(Next::Row),
            None => Err(Failure::Malformed("an empty row")),
        }
    }
}

/// Appends one packet.
#[inline]
fn packet(
    out: &mut Vec<u8>,
    sequence: u8,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let start = out.len();
    out.extend_from_slice(&[0, 0, 0, sequence]);
    let written = write(out);
    let length = out.len() - start - HEADER_BYTES;
    let result = match written {
        Ok(()) if length >= PACKET_BYTES_MAX => Err(Failure::Refused(format!(
            "a statement with its parameters has {length} bytes: 16 MiB are the most"
        ))),
        result => result,
    };
    match result {
        Ok(()) => out[start..start + 3].copy_from_slice(&(length as u32).to_le_bytes()[..3]),
        Err(_) => out.truncate(start),
    }
    result
}

#[cfg(test)]
mod tests {
    use std::{io::Write, os::unix::net::UnixStream, thread};

    use super::*;

    /// A channel that has these bytes to read, and then the end.
    fn channel(bytes: &[u8]) -> Channel {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let bytes = bytes.to_vec();
        thread::spawn(move || theirs.write_all(&bytes));
        Channel::new(Stream::Unix(ours))
    }

    #[test]
    fn an_answer_has_to_be_in_order() {
        let mut good = channel(b"\x07\0\0\x01\0\x05\0\x02\0\0\0");
        assert!(matches!(good.head(), Ok(Head::Done(5))));
        let mut bad = channel(b"\x07\0\0\x02\0\x05\0\x02\0\0\0");
        assert!(matches!(bad.head(), Err(Failure::Malformed(_))));
        let mut error = channel(b"\x0c\0\0\x01\xff\x28\x04#42000bad");
        match error.head() {
            Err(Failure::Server(error)) => assert_eq!(error.code, 1064),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_message_of_several_packets_is_joined() {
        let mut bytes = vec![0xff, 0xff, 0xff, 0];
        bytes.extend(vec![7; PACKET_BYTES_MAX]);
        bytes.extend([2, 0, 0, 1, 8, 9, 1, 0, 0, 2, 5]);
        let mut channel = channel(&bytes);
        channel.next().unwrap();
        let payload = channel.payload();
        assert_eq!(payload.len(), PACKET_BYTES_MAX + 2);
        assert_eq!(payload[PACKET_BYTES_MAX - 1..], [7, 8, 9]);
        channel.next().unwrap();
        assert_eq!(channel.payload(), [5]);
        assert!(matches!(channel.next(), Err(Failure::Stream(_))));
    }

    #[test]
    fn a_command_that_cannot_be_written_is_not_sent() {
        let mut channel = channel(b"");
        channel
            .command(|out| {
                out.push(1);
                Ok(())
            })
            .unwrap();
        let refused = channel.command(|out| {
            out.resize(out.len() + PACKET_BYTES_MAX, 0);
            Ok(())
        });
        assert!(matches!(refused, Err(Failure::Refused(_))));
        assert_eq!(*channel.wire.output(), [1, 0, 0, 0, 1]);
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..80)) {
            let mut channel = channel(&bytes);
            if let Ok(Head::Rows { columns, .. }) = channel.head()
                && channel.definitions(columns, |_, _| ()).is_ok()
            {
                while let Ok(Next::Row) = channel.row() {}
            }
        }
    }
}

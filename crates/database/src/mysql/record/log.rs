//! The mini-transactions of a server's redo log, as its file has them since MariaDB 10.8 (`log0log.h`,
//! `mtr0types.h`, `mtr0log.h`; `recv_sys_t::parse` in `log0recv.cc`).
//!
//! The file has a header, two blocks of checkpoints, and from its byte 12,288 on a ring of
//! mini-transactions. One is a row of records, and ends with a byte that says in which turn of the
//! ring it was written, and a CRC-32C:
//!
//! | bytes | what |
//! |---|---|
//! | 1 | the same page as before (0x80), kind (0x70), and how many bytes follow (0x0f); with 0 there it is 15 more than a number says |
//! | 0 to 3 | that number |
//! | 2 to 10 | the page: number of its file, and its own number; not where it is the same |
//! | any | what is written there |
//!
//! A record "of the same page" before any page was named is of a file. Encrypted logs are not read:
//! Octavo's own servers have none.

use std::{
    collections::VecDeque,
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use octavo_workload::page_trace::LoggedAs;

use super::crc::crc32c;

/// The log's file in a data directory.
pub(super) const FILE: &str = "ib_logfile0";

/// `log_t::FORMAT_10_8`: "Phys".
const FORMAT: [u8; 4] = *b"Phys";
/// `LOG_HEADER_START_LSN`.
const FIRST_LSN: usize = 8;
/// `log_t::START_OFFSET`.
const HEADER: u64 = 12_288;

/// `recv_sys_t::MTR_SIZE_MAX`.
const LENGTH_MAX: usize = 1 << 20;

/// How much of the file is read at once, at most: there is room for the longest one.
const WINDOW: usize = 2 * LENGTH_MAX;

/// Of a record's first byte.
const SAME_PAGE: u8 = 0x80;
const KIND: u8 = 0x70;
const LENGTH: u8 = 0x0f;
/// Kinds of records (`mrec_type_t`).
const FREE_PAGE: u8 = 0x00;
const INIT_PAGE: u8 = 0x10;
const RESERVED: u8 = 0x60;
const OPTION: u8 = 0x70;

/// The end of a mini-transaction: a byte that is 0 or 1, and the check of what is before it.
const END: usize = 5;

/// A mini-transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MiniTransaction {
    /// All its bytes.
    pub(super) bytes: u32,
    /// Its pages, each time that it comes to another one.
    pub(super) pages: Vec<Changed>,
}

/// A page in a mini-transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Changed {
    /// The number of its file.
    pub(super) space: u32,
    /// Its number there.
    pub(super) page: u32,
    /// What is done with it.
    pub(super) logged_as: LoggedAs,
}

/// Where in the file a position of the log is.
#[derive(Clone, Copy, Debug)]
struct Ring {
    /// The position behind the header.
    first: u64,
    capacity: u64,
}

impl Ring {
    fn offset(&self, position: u64) -> u64 {
        HEADER + (position - self.first) % self.capacity
    }

    /// What a mini-transaction ends with whose end begins there.
    fn turn(&self, position: u64) -> u8 {
        u8::from(((position - self.first) / self.capacity).is_multiple_of(2))
    }
}

/// A log that is written meanwhile.
pub(super) struct RedoLog {
    path: PathBuf,
    file: File,
    ring: Ring,
    position: u64,
    /// Those that were read, and where they begin.
    found: VecDeque<(u64, MiniTransaction)>,
}

impl RedoLog {
    /// The log of a data directory, from the begin of a mini-transaction on.
    ///
    /// # Errors
    /// When there is none of this format.
    pub(super) fn open(data: &Path, position: u64) -> io::Result<Self> {
        let path = data.join(FILE);
        let file = File::open(&path)?;
        let mut header = [0; 16];
        file.read_exact_at(&mut header, 0)?;
        let size = file.metadata()?.len();
        let ring = ring(&header, size).filter(|ring| ring.first <= position);
        let ring = ring.ok_or_else(|| invalid("it has not the format of MariaDB 10.8".into()))?;
        Ok(Self {
            path,
            file,
            ring,
            position,
            found: VecDeque::new(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads on up to the end of a mini-transaction, which the server has written. It is not told by
    /// the file: behind what was written last may be what the server's buffer had there before, sound
    /// mini-transactions of earlier times.
    ///
    /// # Errors
    /// When it cannot be read, or has something else there, or a record that this version does not
    /// know.
    pub(super) fn read_to(&mut self, end: u64) -> io::Result<()> {
        let mut bytes = Vec::new();
        while self.position < end {
            let left = usize::try_from(end - self.position).unwrap_or(usize::MAX);
            self.fill(&mut bytes, left.min(WINDOW))?;
            let mut at = 0;
            while at < bytes.len() {
                let begin = self.position + at as u64;
                let turn = |end| self.ring.turn(begin + end as u64);
                let Next::Found(length) = next(&bytes[at..], turn) else {
                    break;
                };
                let found = parse(&bytes[at..at + length])
                    .ok_or_else(|| invalid(format!("there is an unknown record at {begin}")))?;
                self.found.push_back((begin, found));
                at += length;
            }
            if at == 0 {
                return Err(invalid(format!("there is no record at {}", self.position)));
            }
            self.position += at as u64;
        }
        Ok(())
    }

    /// The next one of those that were read, if it begins before this position.
    pub(super) fn next(&mut self, end: u64) -> Option<(u64, MiniTransaction)> {
        self.found.pop_front_if(|(begin, _)| *begin < end)
    }

    /// Reads so many bytes, around the end of the ring.
    fn fill(&self, bytes: &mut Vec<u8>, wanted: usize) -> io::Result<()> {
        let wanted = wanted.min(usize::try_from(self.ring.capacity).unwrap_or(usize::MAX));
        bytes.resize(wanted, 0);
        let mut at = 0;
        while at < wanted {
            let offset = self.ring.offset(self.position + at as u64);
            let room = HEADER + self.ring.capacity - offset;
            let behind = wanted.min(at.saturating_add(usize::try_from(room).unwrap_or(usize::MAX)));
            self.file.read_exact_at(&mut bytes[at..behind], offset)?;
            at = behind;
        }
        Ok(())
    }
}

/// The ring in a file of this size with such a header.
fn ring(header: &[u8; 16], size: u64) -> Option<Ring> {
    let first = header.get(FIRST_LSN..)?.try_into().ok()?;
    let ring = Ring {
        first: u64::from_be_bytes(first),
        capacity: size.checked_sub(HEADER).filter(|capacity| *capacity > 0)?,
    };
    header.starts_with(&FORMAT).then_some(ring)
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// What is at the begin of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// A mini-transaction of so many bytes.
    Found(usize),
    /// Perhaps one that goes on behind them.
    Cut,
    /// None, or one that is not written as a whole yet.
    Nothing,
}

/// Looks for a mini-transaction. `turn` answers what its end has there.
fn next(bytes: &[u8], turn: impl Fn(usize) -> u8) -> Next {
    let mut at = 0;
    while at <= LENGTH_MAX {
        let Some(&first) = bytes.get(at) else {
            return Next::Cut;
        };
        if first <= 1 {
            // None is empty.
            if at == 0 || first != turn(at) {
                return Next::Nothing;
            }
            let Some(check) = bytes.get(at + 1..at + END) else {
                return Next::Cut;
            };
            let is_whole = crc32c(&bytes[..at]).to_be_bytes() == check;
            return match is_whole {
                true => Next::Found(at + END),
                false => Next::Nothing,
            };
        }
        match length(&bytes[at..]) {
            Some((length, _)) if length <= LENGTH_MAX => at += length,
            Some(_) => return Next::Nothing,
            // The number is not there as a whole, or is none.
            None if bytes.len() - at >= 4 => return Next::Nothing,
            None => return Next::Cut,
        }
    }
    Next::Nothing
}

/// How long a record is with its first byte, and where in it the page is.
fn length(record: &[u8]) -> Option<(usize, usize)> {
    match record.first()? & LENGTH {
        0 => {
            let (more, bytes) = number(record.get(1..)?).filter(|(_, bytes)| *bytes <= 3)?;
            Some((1 + 15 + more as usize, 1 + bytes))
        }
        length => Some((1 + usize::from(length), 1)),
    }
}

/// A number of one to five bytes, and how many (`mlog_decode_varint`): as many as its first byte has
/// ones before its first zero, and one more. Longer ones begin where shorter ones end.
fn number(bytes: &[u8]) -> Option<(u32, usize)> {
    let first = *bytes.first()?;
    let more = first.leading_ones();
    if more > 4 {
        return None;
    }
    let rest = bytes.get(1..=more as usize)?;
    // What the first byte has behind its ones and the zero.
    let high = u64::from(first) & (0x7f >> more);
    let value = rest
        .iter()
        .fold(high, |value, byte| value << 8 | u64::from(*byte));
    let least: u64 = (0..more).map(|shorter| 1 << (7 * (shorter + 1))).sum();
    Some((u32::try_from(value + least).ok()?, 1 + more as usize))
}

/// Reads a mini-transaction that is whole; `None` if a record of it is unknown.
fn parse(bytes: &[u8]) -> Option<MiniTransaction> {
    let mut pages: Vec<Changed> = Vec::new();
    let mut is_of_page = false;
    let mut at = 0;
    while let Some(&first) = bytes.get(at).filter(|first| **first > 1) {
        let record = &bytes[at..];
        let (length, mut place) = length(record)?;
        let record = record.get(..length)?;
        at += length;
        let (is_same, kind) = (first & SAME_PAGE != 0, first & KIND);
        if is_same && !is_of_page {
            continue;
        }
        let logged_as = match kind {
            FREE_PAGE => LoggedAs::Freed,
            INIT_PAGE => LoggedAs::New,
            RESERVED => return None,
            _ => LoggedAs::Change,
        };
        if is_same {
            continue;
        }
        is_of_page = true;
        let (space, length) = number(record.get(place..)?)?;
        place += length;
        let (page, _) = number(record.get(place..)?)?;
        if kind != OPTION {
            pages.push(Changed {
                space,
                page,
                logged_as,
            });
        }
    }
    Some(MiniTransaction {
        bytes: u32::try_from(bytes.len()).ok()?,
        pages,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Records with the end that they have at a position.
    fn ended(records: &[&[u8]], turn: u8) -> Vec<u8> {
        let mut bytes = records.concat();
        let check = crc32c(&bytes);
        bytes.push(turn);
        bytes.extend(check.to_be_bytes());
        bytes
    }

    fn changed(space: u32, page: u32, logged_as: LoggedAs) -> Changed {
        Changed {
            space,
            page,
            logged_as,
        }
    }

    /// The examples of `mtr0log.h`: page 0x57 of file 0x40 is written at its byte 0x60, and behind
    /// that; page 0x56 of file 0x34 is made.
    const WRITE: &[u8] = &[0x36, 0x40, 0x57, 0x60, 0x12, 0x34, 0x56];
    const WRITE_ON: &[u8] = &[0xb2, 0x00, 0x78];
    const INIT: &[u8] = &[0x12, 0x34, 0x56];

    /// 200 bytes behind the page's byte 0x60: 199 + 15 - 15 follow the number.
    fn long() -> Vec<u8> {
        // Length of 1 + 2 + 3 + 200 bytes: 205 behind the first one, 190 more than 15.
        let mut record = vec![0x30, 0x80, 190 - 128, 0x40, 0x58, 0x60];
        record.resize(206, 0xee);
        record
    }

    #[test]
    fn numbers_begin_where_shorter_ones_end() {
        for (bytes, wanted) in [
            (&[0x00][..], 0),
            (&[0x7f], 127),
            (&[0x80, 0x00], 128),
            (&[0xbf, 0xff], 16_511),
            (&[0xc0, 0x00, 0x00], 16_512),
            (&[0xdf, 0xff, 0xff], 2_113_663),
            (&[0xe0, 0, 0, 0], 2_113_664),
            (&[0xef, 0xff, 0xff, 0xff], 270_549_119),
            (&[0xf0, 0, 0, 0, 0], 270_549_120),
            (&[0xf0, 0xef, 0xdf, 0xbf, 0x7f], u32::MAX),
        ] {
            assert_eq!(number(bytes), Some((wanted, bytes.len())), "{bytes:x?}");
            assert_eq!(number(&bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(number(&[0xf0, 0xef, 0xdf, 0xbf, 0x80]), None);
        assert_eq!(number(&[0xf8, 0, 0, 0, 0, 0]), None);
    }

    #[test]
    fn records_have_their_pages() {
        let long = long();
        let bytes = ended(&[INIT, WRITE, WRITE_ON, &long, &[0x02, 0x34, 0x56]], 1);
        assert_eq!(next(&bytes, |_| 1), Next::Found(bytes.len()));
        let found = parse(&bytes).unwrap();
        assert_eq!(found.bytes as usize, bytes.len());
        assert_eq!(
            found.pages,
            [
                changed(0x34, 0x56, LoggedAs::New),
                changed(0x40, 0x57, LoggedAs::Change),
                changed(0x40, 0x58, LoggedAs::Change),
                changed(0x34, 0x56, LoggedAs::Freed),
            ]
        );
        // A file's name, and a checkpoint: no pages.
        let modified: &[u8] = &[0xb9, 0x07, 0x00, b'a', b'/', b'b', b'.', b'i', b'b', b'd'];
        let checkpoint: &[u8] = &[0xfa, 0, 0, 0, 0, 0, 0, 0, 0, 0x30, 0];
        let files = ended(&[modified, checkpoint], 0);
        assert_eq!(next(&files, |_| 0), Next::Found(files.len()));
        assert_eq!(parse(&files).unwrap().pages, []);
        // Behind them records are of pages again.
        let both = ended(&[modified, WRITE], 0);
        let wanted = [changed(0x40, 0x57, LoggedAs::Change)];
        assert_eq!(parse(&both).unwrap().pages, wanted);
        let reserved = ended(&[WRITE, &[0xe1, 0]], 0);
        assert_eq!(parse(&reserved), None);
    }

    #[test]
    fn what_is_not_there_as_a_whole_is_not_taken() {
        let sound = ended(&[WRITE, WRITE_ON, &long()], 1);
        for length in 0..sound.len() {
            assert_eq!(next(&sound[..length], |_| 1), Next::Cut, "{length}");
        }
        assert_eq!(next(&sound, |_| 0), Next::Nothing, "an earlier turn's");
        assert_eq!(next(&[0; 100], |_| 0), Next::Nothing);
        for at in 0..sound.len() {
            for bit in 0..8 {
                let mut damaged = sound.clone();
                damaged[at] ^= 1 << bit;
                assert_ne!(next(&damaged, |_| 1), Next::Found(sound.len()), "{at}");
                let _any = parse(&damaged);
            }
        }
        for length in 0..sound.len() {
            let _any = parse(&sound[..length]);
        }
    }

    /// All rows of up to three bytes, with any behind them: nothing panics.
    #[test]
    fn any_bytes_are_survived() {
        let mut bytes = [0u8; 12];
        for number in 0..1u32 << 24 {
            let [_, head @ ..] = number.to_be_bytes();
            bytes[..3].copy_from_slice(&head);
            bytes[3..].fill(head[0] ^ head[1] ^ 0xf3);
            let _any = (next(&bytes, |_| 1), parse(&bytes));
        }
    }

    #[test]
    fn a_log_is_read_as_it_grows_around_its_end() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join(FILE);
        let (first, capacity) = (50_000u64, 20_000u64);
        let mut file = vec![0; usize::try_from(HEADER + capacity).unwrap()];
        file[..4].copy_from_slice(&FORMAT);
        file[8..16].copy_from_slice(&first.to_be_bytes());
        fs::write(&path, &file).unwrap();
        let mut put = |at: u64, bytes: &[u8]| {
            for (at, byte) in (at - first..).zip(bytes) {
                file[usize::try_from(HEADER + at % capacity).unwrap()] = *byte;
            }
            fs::write(&path, &file).unwrap();
        };
        let begin = first + capacity - 100;
        let mut log = RedoLog::open(data.path(), begin).unwrap();
        log.read_to(begin).unwrap();
        let short = ended(&[WRITE], 1);
        // Its end is in the next turn.
        let records: Vec<Vec<u8>> = (0..30).map(|_| long()).collect();
        let records: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
        let around = ended(&records, 0);
        put(begin, &short);
        let second = begin + short.len() as u64;
        // What was there before is sound, and not read.
        put(second, &short);
        log.read_to(second).unwrap();
        let third = second + around.len() as u64;
        put(second, &around[..around.len() - 1]);
        assert!(log.read_to(third).is_err(), "it is not there as a whole");
        put(second, &around);
        put(third, &ended(&[INIT], 0));
        let end = third + INIT.len() as u64 + 5;
        assert!(log.read_to(end - 1).is_err(), "no end of any");
        log.read_to(end).unwrap();
        let mut found = std::iter::from_fn(|| log.next(third));
        let (at, one) = found.next().unwrap();
        assert_eq!((at, one.bytes as usize), (begin, short.len()));
        let (at, one) = found.next().unwrap();
        assert_eq!((at, one.pages.len()), (second, 30));
        assert_eq!(found.next(), None);
        assert_eq!(log.next(end).unwrap().0, third);
        // Other formats.
        assert!(ring(b"PHYS\0\0\0\0\0\0\0\0\0\0\0\0", 100_000).is_none());
        assert!(ring(b"Phys\0\0\0\0\0\0\0\0\0\0\0\0", HEADER).is_none());
    }
}

//! The records of a server's write-ahead log, as its files have them
//! (src/include/access/xlogrecord.h, xlog_internal.h; versions 14 to 18).
//!
//! Not read are compressed pages: the server is told not to compress any.

use std::{
    collections::HashMap,
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use octavo_units::PageSize;
use octavo_workload::page_trace::LoggedAs;

use super::relations::Relation;

/// Bytes of each file (`DEFAULT_XLOG_SEG_SIZE`), and how many a number of 32 bits counts.
const FILE_BYTES: u64 = 16 << 20;
const FILES_EACH: u64 = (1 << 32) / FILE_BYTES;

/// The header of a page of the log; the first one of each file has a longer one.
const PAGE_HEADER: u64 = 24;
const FIRST_PAGE_HEADER: u64 = 40;

/// `SizeOfXLogRecord`.
const RECORD_HEADER: usize = 24;
/// `XLogRecordMaxSize` of version 16, and no sane one is longer before.
const RECORD_MAX: usize = 1020 << 20;

/// Of `fork_flags`.
const FORK: u8 = 0x0f;
const HAS_IMAGE: u8 = 0x10;
const WILL_INIT: u8 = 0x40;
const SAME_RELATION: u8 = 0x80;

/// Numbers of parts of a record; those of pages are up to `XLR_MAX_BLOCK_ID`.
const PAGE_MAX: u8 = 32;
const MAIN_SHORT: u8 = 255;
const MAIN_LONG: u8 = 254;
const ORIGIN: u8 = 253;
const TOP_TRANSACTION: u8 = 252;

/// `RM_XACT_ID`, and of its kinds of records those of commits (`XLOG_XACT_COMMIT` and
/// `XLOG_XACT_COMMIT_PREPARED`).
const TRANSACTIONS: u8 = 1;
const KIND: u8 = 0x70;
const COMMIT: u8 = 0x00;
const COMMIT_PREPARED: u8 = 0x30;

/// `RM_STANDBY_ID`, and its list of running transactions (`XLOG_RUNNING_XACTS`). The server logs that
/// every 15 s by itself (`LogStandbySnapshot`): it belongs to no transaction.
const STANDBY: u8 = 8;
const RUNNING: u8 = 0x10;

/// A record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// Its bytes without those of its pages.
    pub(super) bytes: u32,
    /// Whether it commits a transaction.
    pub(super) is_commit: bool,
    pub(super) pages: Vec<LoggedBlock>,
}

/// A page in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LoggedBlock {
    pub(super) relation: Relation,
    pub(super) block: u32,
    /// Bytes that it has in the record.
    pub(super) data: u32,
    /// What the record does with it.
    pub(super) logged_as: LoggedAs,
}

/// The files of a log, from a position on.
pub(super) struct LogReader {
    directory: PathBuf,
    page: u64,
    position: u64,
    /// By their numbers; the last one alone is read again.
    file: Option<(u64, File)>,
}

impl LogReader {
    /// The log of a cluster from a record on.
    pub(super) fn new(cluster: &Path, page: PageSize, position: u64) -> Self {
        Self {
            directory: cluster.join("pg_wal"),
            page: page.get().into(),
            position,
            file: None,
        }
    }

    /// The next record of a transaction and where it begins; `None` when it begins at `end` or behind that.
    ///
    /// # Errors
    /// When the files have no record there.
    pub(super) fn next(&mut self, end: u64) -> io::Result<Option<(u64, Record)>> {
        loop {
            self.position = self.position.next_multiple_of(8);
            self.skip_header();
            if self.position >= end {
                return Ok(None);
            }
            let begin = self.position;
            let mut bytes = vec![0; 4];
            self.read(&mut bytes)?;
            let length = u32_at(&bytes, 0).unwrap_or(0) as usize;
            if !(RECORD_HEADER..=RECORD_MAX).contains(&length) {
                return Err(damaged(begin));
            }
            bytes.resize(length, 0);
            self.read(&mut bytes[4..])?;
            let record = parse(&bytes).ok_or_else(|| damaged(begin))?;
            if (bytes[17], bytes[16] & KIND) != (STANDBY, RUNNING) {
                return Ok(Some((begin, record)));
            }
        }
    }

    fn skip_header(&mut self) {
        self.position += match (self.position % FILE_BYTES, self.position % self.page) {
            (0, _) => FIRST_PAGE_HEADER,
            (_, 0) => PAGE_HEADER,
            _ => 0,
        };
    }

    /// Reads what comes next without the headers of pages.
    fn read(&mut self, mut into: &mut [u8]) -> io::Result<()> {
        while !into.is_empty() {
            self.skip_header();
            let room = self.page - self.position % self.page;
            let length = into.len().min(usize::try_from(room).unwrap_or(usize::MAX));
            let (now, rest) = into.split_at_mut(length);
            let (number, offset) = (self.position / FILE_BYTES, self.position % FILE_BYTES);
            self.open(number)?.read_exact_at(now, offset)?;
            self.position += length as u64;
            into = rest;
        }
        Ok(())
    }

    fn open(&mut self, number: u64) -> io::Result<&File> {
        let is_open = self.file.as_ref().is_some_and(|(open, _)| *open == number);
        if !is_open {
            // Of the first timeline: nothing was restored from an archive.
            let (high, low) = (number / FILES_EACH, number % FILES_EACH);
            let path = self.directory.join(format!("00000001{high:08X}{low:08X}"));
            self.file = Some((number, File::open(path)?));
        }
        match &self.file {
            Some((_, file)) => Ok(file),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

fn damaged(position: u64) -> io::Error {
    let text = format!(
        "there is no record at {:X}/{:X}",
        position >> 32,
        position as u32
    );
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// A position as the server writes it: `0/16B3D80`.
pub(super) fn position(text: &str) -> Option<u64> {
    let (high, low) = text.split_once('/')?;
    let number = |text| u32::from_str_radix(text, 16).ok().map(u64::from);
    Some(number(high)? << 32 | number(low)?)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(bytes.try_into().ok()?))
}

/// Reads a record; `None` if it is none.
fn parse(bytes: &[u8]) -> Option<Record> {
    /// Bytes of the number of a relation: its tablespace, database and own number.
    const RELATION: usize = 12;
    let (info, manager) = (*bytes.get(16)?, *bytes.get(17)?);
    let kind = info & KIND;
    let mut pages: Vec<LoggedBlock> = Vec::new();
    let mut of_pages = 0usize;
    // Headers end where what is left is what they announce.
    let mut announced = 0usize;
    let mut at = RECORD_HEADER;
    while bytes.len().checked_sub(at)? > announced {
        let id = *bytes.get(at)?;
        at += 1;
        match id {
            MAIN_SHORT => {
                announced += usize::from(*bytes.get(at)?);
                at += 1;
            }
            MAIN_LONG => {
                announced += u32_at(bytes, at)? as usize;
                at += 4;
            }
            ORIGIN => at += 2,
            TOP_TRANSACTION => at += 4,
            0..=PAGE_MAX => {
                let flags = *bytes.get(at)?;
                let mut data = usize::from(u16_at(bytes, at + 1)?);
                at += 3;
                if flags & HAS_IMAGE != 0 {
                    data += usize::from(u16_at(bytes, at)?);
                    at += 5;
                }
                let relation = match (flags & SAME_RELATION != 0, pages.last()) {
                    (true, Some(last)) => last.relation,
                    (true, None) => return None,
                    (false, _) => {
                        let (database, number) = (u32_at(bytes, at + 4)?, u32_at(bytes, at + 8)?);
                        at += RELATION;
                        Relation {
                            database,
                            number,
                            fork: 0,
                        }
                    }
                };
                pages.push(LoggedBlock {
                    relation: Relation {
                        fork: flags & FORK,
                        ..relation
                    },
                    block: u32_at(bytes, at)?,
                    data: u32::try_from(data).ok()?,
                    logged_as: match flags & (HAS_IMAGE | WILL_INIT) {
                        0 => LoggedAs::Change,
                        _ => LoggedAs::Whole,
                    },
                });
                at += 4;
                announced += data;
                of_pages += data;
            }
            _ => return None,
        }
    }
    Some(Record {
        bytes: u32::try_from(bytes.len().checked_sub(of_pages)?).ok()?,
        is_commit: manager == TRANSACTIONS && matches!(kind, COMMIT | COMMIT_PREPARED),
        pages,
    })
}

/// Bytes of whole pages as the log has them: without the hole in their middle (`XLogRecordAssemble`
/// in xloginsert.c), which the header of a page tells (src/include/storage/bufpage.h). They are
/// those that pages have at the end of a recording.
#[derive(Default)]
pub(super) struct Wholes {
    known: HashMap<(Relation, u32), u32>,
}

impl Wholes {
    /// Those of a page in a cluster that rests.
    pub(super) fn of(&mut self, cluster: &Path, page: &LoggedBlock, page_size: PageSize) -> u32 {
        let key = (page.relation, page.block);
        *self.known.entry(key).or_insert_with(|| {
            let (file, offset) =
                super::relations::file_of(page.relation, page.block, page_size.get().into());
            let mut header = [0; 16];
            let read = File::open(cluster.join(file))
                .and_then(|file| file.read_exact_at(&mut header, offset));
            // One that went away meanwhile is whole.
            match read {
                Ok(()) => page_size.get() - hole(&header, page_size),
                Err(_) => page_size.get(),
            }
        })
    }
}

/// Bytes of the hole in a page, by its header.
fn hole(header: &[u8; 16], page_size: PageSize) -> u32 {
    let [lower, upper] =
        [12, 14].map(|at| u32::from(u16::from_le_bytes([header[at], header[at + 1]])));
    // Pages that keep no rows in the usual way, of visibility maps and of BRIN's maps, have none
    // behind their header, and are logged as they are (`log_heap_visible`, `brin_doinsert`).
    let is_sound = (25..=upper).contains(&lower) && upper <= page_size.get();
    if is_sound { upper - lower } else { 0 }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const RELATION: Relation = Relation {
        database: 5,
        number: 16384,
        fork: 0,
    };

    /// A record of a manager with these headers and as many bytes behind them.
    fn record(manager: u8, info: u8, headers: &[u8], data: usize) -> Vec<u8> {
        let length = RECORD_HEADER + headers.len() + data;
        let mut bytes = (length as u32).to_le_bytes().to_vec();
        bytes.resize(16, 0);
        bytes.extend([info, manager, 0, 0, 0, 0, 0, 0]);
        bytes.extend(headers);
        bytes.resize(length, 0xee);
        bytes
    }

    fn page(id: u8, flags: u8, data: u16, image: Option<u16>, block: u32) -> Vec<u8> {
        let mut bytes = vec![id, flags];
        bytes.extend(data.to_le_bytes());
        if let Some(image) = image {
            bytes.extend(image.to_le_bytes());
            bytes.extend([0, 0, 1]);
        }
        if flags & SAME_RELATION == 0 {
            for number in [1663u32, 5, 16384] {
                bytes.extend(number.to_le_bytes());
            }
        }
        bytes.extend(block.to_le_bytes());
        bytes
    }

    fn block(block: u32, data: u32) -> LoggedBlock {
        LoggedBlock {
            relation: RELATION,
            block,
            data,
            logged_as: LoggedAs::Change,
        }
    }

    #[test]
    fn records_have_their_pages() {
        let commit = record(TRANSACTIONS, 0x80, &[MAIN_SHORT, 8], 8);
        let wanted = Record {
            bytes: 34,
            is_commit: true,
            pages: Vec::new(),
        };
        assert_eq!(parse(&commit).unwrap(), wanted);
        let abort = record(TRANSACTIONS, 0x20, &[MAIN_SHORT, 8], 8);
        assert!(!parse(&abort).unwrap().is_commit);
        // An update from one page to another of the same table, and the map of free pages.
        let headers = [
            page(0, 0x20 | WILL_INIT, 90, None, 7),
            page(1, SAME_RELATION, 0, None, 3),
            page(2, 2 | HAS_IMAGE, 0, Some(50), 0),
            vec![TOP_TRANSACTION, 1, 0, 0, 0, MAIN_LONG, 14, 0, 0, 0],
        ]
        .concat();
        let update = parse(&record(10, 0x20, &headers, 90 + 50 + 14)).unwrap();
        let new = LoggedBlock {
            logged_as: LoggedAs::Whole,
            ..block(7, 90)
        };
        let map = LoggedBlock {
            relation: Relation {
                fork: 2,
                ..RELATION
            },
            logged_as: LoggedAs::Whole,
            ..block(0, 50)
        };
        assert_eq!(update.pages, [new, block(3, 0), map]);
        assert_eq!(update.bytes as usize, RECORD_HEADER + headers.len() + 14);
        assert!(!update.is_commit);
    }

    #[test]
    fn damaged_records_are_none() {
        let headers = [page(0, 0, 90, None, 7), vec![MAIN_SHORT, 14]].concat();
        let sound = record(10, 0, &headers, 104);
        assert!(parse(&sound).is_some());
        for length in 0..sound.len() {
            let cut = parse(&sound[..length]);
            assert!(cut.is_none() || length < sound.len(), "{length}");
        }
        for at in 0..sound.len() {
            let mut damaged = sound.clone();
            damaged[at] ^= 0xff;
            let _any = parse(&damaged);
        }
        let first_of_same = record(10, 0, &page(0, SAME_RELATION, 0, None, 7), 0);
        assert_eq!(parse(&first_of_same), None);
    }

    #[test]
    fn records_go_on_behind_the_headers_of_pages() {
        let cluster = tempfile::tempdir().unwrap();
        let directory = cluster.path().join("pg_wal");
        fs::create_dir(&directory).unwrap();
        let long = record(10, 0, &[MAIN_LONG, 0x10, 0x27, 0, 0], 10_000);
        let short = record(TRANSACTIONS, 0, &[MAIN_SHORT, 8], 8);
        // The last page of a file and the first two of the next.
        let mut files = [0xaa, 0xbb].map(|fill| vec![fill; FILE_BYTES as usize]);
        let begin = 3 * FILE_BYTES - 8192 + 24;
        let mut at = begin;
        let mut put = |record: &[u8]| {
            at = at.next_multiple_of(8);
            for byte in record {
                at += match (at % FILE_BYTES, at % 8192) {
                    (0, _) => 40,
                    (_, 0) => 24,
                    _ => 0,
                };
                let file = &mut files[usize::try_from(at / FILE_BYTES - 2).unwrap()];
                file[usize::try_from(at % FILE_BYTES).unwrap()] = *byte;
                at += 1;
            }
            at
        };
        // Which the server logs by itself.
        let running = record(STANDBY, RUNNING, &[MAIN_SHORT, 30], 30);
        let ends = [&short, &long, &running, &short].map(|record| put(record));
        for (number, file) in files.iter().enumerate() {
            let name = format!("0000000100000000{:08X}", number + 2);
            fs::write(directory.join(name), file).unwrap();
        }
        let mut log = LogReader::new(cluster.path(), PageSize::kib(8), begin);
        let mut next = || log.next(ends[3]).unwrap();
        let (first, commit) = next().unwrap();
        assert!(first == begin && commit.is_commit);
        let (second, change) = next().unwrap();
        assert_eq!(
            (second, change.bytes),
            (ends[0].next_multiple_of(8), 24 + 5 + 10_000)
        );
        let (third, commit) = next().unwrap();
        assert!(third == ends[2].next_multiple_of(8) && commit.is_commit);
        assert_eq!(next(), None);
        let mut behind = LogReader::new(cluster.path(), PageSize::kib(8), ends[3] + 64);
        assert!(
            behind.next(u64::MAX).is_err(),
            "0xbbbbbbbb bytes are no record"
        );
    }

    #[test]
    fn positions_are_written_by_the_server() {
        assert_eq!(position("0/16B3D80"), Some(0x016b_3d80));
        assert_eq!(position("2/0"), Some(2 << 32));
        for bad in ["", "5", "x/1", "1/x", "1/100000000"] {
            assert_eq!(position(bad), None, "{bad}");
        }
    }

    #[test]
    fn pages_have_holes() {
        let header = |lower: u16, upper: u16| {
            let mut header = [0; 16];
            header[12..14].copy_from_slice(&lower.to_le_bytes());
            header[14..16].copy_from_slice(&upper.to_le_bytes());
            header
        };
        let map = header(24, 8192);
        let header = header(100, 4000);
        assert_eq!(hole(&header, PageSize::kib(8)), 3900);
        assert_eq!(hole(&header, PageSize::kib(2)), 0, "not of this size");
        assert_eq!(hole(&[0; 16], PageSize::kib(8)), 0, "never used");
        assert_eq!(hole(&map, PageSize::kib(8)), 0, "of a visibility map");
    }
}

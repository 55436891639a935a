//! Which page of the copy a part of a file is. A file has a number in its first page
//! (`fil0fil.h`, `fsp0fsp.h`), by which the log knows it.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use octavo_units::PageSize;
use octavo_workload::page_trace::LoggedAs;

use super::log;
use crate::{
    DatabaseError, Result,
    files::named,
    recorded::{Event, PageFiles, PageNumbers},
    server::file_calls::{FileAction, FileCall},
};

/// `FIL_PAGE_SPACE_ID`, and `FSP_SPACE_FLAGS` in the header of a file.
const SPACE_ID: usize = 34;
const FLAGS: usize = 38 + 16;
/// Bits of these flags: pages have checks of all their bytes, which compressed ones never have
/// (`FSP_FLAGS_FCRC32_MASK_MARKER`); and as what those are compressed (`FSP_FLAGS_MASK_ZIP_SSIZE`).
const WHOLE_CHECK: u32 = 1 << 4;
const COMPRESSED: u32 = 0xf << 1;

/// The system's file, whose number is 0.
const SYSTEM: &str = "ibdata1";
/// Files of undo logs, and the ending of those of tables.
const UNDO: &str = "undo";
const TABLE: &str = "ibd";

/// See the module.
pub(super) struct Spaces {
    data: PathBuf,
    page: u64,
    pub(super) numbers: PageNumbers<u32>,
    /// The numbers of files, `None` of those that have no pages.
    ids: HashMap<PathBuf, Option<u32>>,
    /// Those of files that have undo logs.
    undo: HashSet<u32>,
    /// Writes of the log by who is followed.
    pub(super) log_writes: u64,
}

impl Spaces {
    /// The files of a data directory.
    ///
    /// # Errors
    /// When one cannot be read, and [`DatabaseError::Unrecorded`] for compressed tables.
    pub(super) fn find(data: &Path, page_size: PageSize) -> Result<Self> {
        let mut found = Self {
            data: data.to_owned(),
            page: page_size.get().into(),
            numbers: PageNumbers::default(),
            ids: HashMap::new(),
            undo: HashSet::new(),
            log_writes: 0,
        };
        let mut files = Vec::new();
        list(data, &mut |path| {
            if !has_pages(path) {
                return Ok(());
            }
            let header = Header::read(path).map_err(named("read", path))?;
            if header.is_compressed() {
                return Err(DatabaseError::Unrecorded {
                    reason: "tables with ROW_FORMAT=COMPRESSED have two copies of each page, which \
                        are not modeled: octavo advise --copy-of measures them",
                });
            }
            let size = fs::metadata(path).map_err(named("examine", path))?.len();
            files.push((header.space, size, path.to_owned()));
            Ok(())
        })?;
        // The order of a directory is no order of pages.
        files.sort();
        for (space, size, path) in files {
            found.numbers.grow(space, size / found.page);
            if path.extension().is_none_or(|ending| ending != TABLE) {
                found.undo.insert(space);
            }
            let below = path.strip_prefix(data).unwrap_or(&path);
            found.ids.insert(below.to_owned(), Some(space));
        }
        Ok(found)
    }

    /// What a record does with a page that it makes in a file: pages come to those with undo logs
    /// for these, and seldom for anything else.
    pub(super) fn made(&self, space: u32) -> LoggedAs {
        match self.undo.contains(&space) {
            true => LoggedAs::NewUndo,
            false => LoggedAs::New,
        }
    }

    /// The number of a file, by its path below the data directory.
    fn space(&mut self, file: &Path) -> Option<u32> {
        if let Some(known) = self.ids.get(file) {
            return *known;
        }
        let path = self.data.join(file);
        let header = has_pages(&path).then(|| Header::read(&path).ok()).flatten();
        // One that is being made has none yet.
        let space = header.map(|header| header.space).filter(|space| *space > 0);
        self.ids.insert(file.to_owned(), space);
        space
    }
}

impl PageFiles for Spaces {
    fn note(&mut self, file: &Path, call: &FileCall, events: &mut Vec<Event>) {
        match call.action {
            FileAction::Write if file == log::FILE => self.log_writes += 1,
            FileAction::Read => {
                let Some(space) = self.space(file) else {
                    return;
                };
                let first = call.offset / self.page;
                let behind = (call.offset + call.bytes).div_ceil(self.page);
                let pages = self.numbers.at(space, first, behind);
                events.extend(pages.into_iter().map(|(page, _)| Event::read(page)));
            }
            FileAction::Write | FileAction::Allocate => {}
        }
    }
}

/// Whether a file has pages of rows, indexes or undo logs. Those of temporary tables have no log.
fn has_pages(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let is_system = name.is_some_and(|name| name == SYSTEM || name.starts_with(UNDO));
    is_system || path.extension().is_some_and(|ending| ending == TABLE)
}

/// Passes on all files below a directory.
fn list(directory: &Path, visit: &mut dyn FnMut(&Path) -> Result<()>) -> Result<()> {
    let entries = fs::read_dir(directory).map_err(named("list", directory))?;
    for entry in entries {
        let entry = entry.map_err(named("list", directory))?;
        let path = entry.path();
        match entry.file_type().map_err(named("examine", &path))?.is_dir() {
            true => list(&path, visit)?,
            false => visit(&path)?,
        }
    }
    Ok(())
}

/// What the first page of a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    space: u32,
    flags: u32,
}

impl Header {
    fn read(path: &Path) -> io::Result<Self> {
        let mut bytes = [0; FLAGS + 4];
        File::open(path)?.read_exact_at(&mut bytes, 0)?;
        Ok(Self::parse(&bytes))
    }

    fn parse(bytes: &[u8; FLAGS + 4]) -> Self {
        let number = |at: usize| {
            let mut number = [0; 4];
            number.copy_from_slice(&bytes[at..at + 4]);
            u32::from_be_bytes(number)
        };
        Self {
            space: number(SPACE_ID),
            flags: number(FLAGS),
        }
    }

    fn is_compressed(self) -> bool {
        self.flags & WHOLE_CHECK == 0 && self.flags & COMPRESSED != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(space: u32, flags: u32) -> [u8; FLAGS + 4] {
        let mut bytes = [0; FLAGS + 4];
        bytes[SPACE_ID..][..4].copy_from_slice(&space.to_be_bytes());
        bytes[FLAGS..].copy_from_slice(&flags.to_be_bytes());
        bytes
    }

    #[test]
    fn compressed_files_are_known() {
        // 16 KiB pages with checks of all bytes; the older format as such, and with 8 KiB.
        for (flags, wanted) in [(0x15, false), (0x21, false), (0x29, true)] {
            let found = Header::parse(&header(7, flags));
            assert_eq!((found.space, found.is_compressed()), (7, wanted), "{flags}");
        }
    }

    #[test]
    fn pages_that_are_read_have_numbers() {
        let data = tempfile::tempdir().unwrap();
        let make = |file: &str, space: u32, pages: usize| {
            let path = data.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let mut bytes = header(space, 0x15).to_vec();
            bytes.resize(pages * 4096, 0);
            fs::write(path, bytes).unwrap();
        };
        make("ibdata1", 0, 3);
        make("octavo/b.ibd", 5, 2);
        make("octavo/a.ibd", 9, 4);
        make("ibtmp1", 0xffff_fffe, 4);
        make("ib_logfile0", 77, 4);
        let mut spaces = Spaces::find(data.path(), PageSize::kib(4)).unwrap();
        assert_eq!(spaces.numbers.count(), 9);
        make("octavo/c.ibd", 12, 1);
        let mut events = Vec::new();
        let mut note = |action, file: &str, block: u64, blocks: u64| {
            let call = FileCall {
                action,
                file: 7,
                offset: block * 4096,
                bytes: blocks * 4096,
            };
            spaces.note(file.as_ref(), &call, &mut events);
        };
        for (file, block) in [
            ("ibdata1", 2),
            ("octavo/b.ibd", 1),
            ("octavo/a.ibd", 0),
            ("ibtmp1", 1),
            ("octavo/c.ibd", 0),
            ("octavo/gone.ibd", 0),
        ] {
            note(FileAction::Read, file, block, 1);
        }
        note(FileAction::Write, "octavo/a.ibd", 1, 1);
        note(FileAction::Write, "ib_logfile0", 1, 1);
        note(FileAction::Read, "octavo/a.ibd", 2, 2);
        let wanted = [2, 4, 5, 9, 7, 8].map(Event::read);
        assert_eq!(events, wanted);
        assert_eq!(spaces.log_writes, 1);
        assert_eq!(spaces.made(0), LoggedAs::NewUndo);
        assert_eq!(spaces.made(5), LoggedAs::New);
        make("octavo/z.ibd", 13, 1);
        let path = data.path().join("octavo/z.ibd");
        let mut bytes = fs::read(&path).unwrap();
        bytes[FLAGS + 3] = 0x29;
        fs::write(&path, bytes).unwrap();
        assert!(Spaces::find(data.path(), PageSize::kib(4)).is_err());
    }
}

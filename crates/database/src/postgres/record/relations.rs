//! Which page of the copy a part of a file is.
//!
//! All pages have numbers as if the files lay behind each other, each in one piece
//! (src/backend/storage/smgr/md.c: files of 1 GiB, src/common/relpath.c: their names). What a
//! file gets later has numbers behind all others.

use std::{fs, path::Path};

use octavo_units::PageSize;

use crate::{
    Result, files,
    recorded::{Event, PageFiles, PageNumbers},
    server::file_calls::{FileAction, FileCall},
};

/// Bytes of each file of a relation but the last (`RELSEG_SIZE`, in bytes whatever the page size
/// unless a server is built otherwise).
const FILE_BYTES: u64 = 1 << 30;

/// The directory of what all databases share, and the number that stands for it here.
const SHARED: &str = "global";
const SHARED_DATABASE: u32 = 0;

/// The directory of the databases.
const DATABASES: &str = "base";

/// Endings of a relation's names by the number of its fork; the first one has none
/// (`forkNames`).
const FORKS: [&str; 3] = ["fsm", "vm", "init"];

/// Asks for the number of a session's database.
pub(super) const OF_DATABASE: &str =
    "SELECT oid FROM pg_database WHERE datname = current_database()";

/// A file of rows or an index, or of what goes with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Relation {
    /// The number of its database, or 0.
    pub(super) database: u32,
    /// Its number there (`relfilenode`).
    pub(super) number: u32,
    /// 0 for the rows.
    pub(super) fork: u8,
}

impl Relation {
    /// Whether it is of this database, or of all.
    pub(super) const fn is_of(self, database: u32) -> bool {
        self.database == database || self.database == SHARED_DATABASE
    }
}

/// See the module.
pub(super) struct Relations {
    page: u64,
    pub(super) numbers: PageNumbers<Relation>,
}

impl Relations {
    /// Those of a database in a cluster that rests.
    ///
    /// # Errors
    /// When a directory cannot be read.
    pub(super) fn find(cluster: &Path, database: u32, page_size: PageSize) -> Result<Self> {
        let mut found = Self {
            page: page_size.get().into(),
            numbers: PageNumbers::default(),
        };
        let own = Path::new(DATABASES).join(database.to_string());
        for directory in [SHARED.as_ref(), own.as_path()] {
            let place = cluster.join(directory);
            let entries = fs::read_dir(&place).map_err(files::named("list", &place))?;
            let mut sizes = Vec::new();
            for entry in entries {
                let entry = entry.map_err(files::named("list", &place))?;
                let Some((relation, begin)) = parse(&directory.join(entry.file_name())) else {
                    continue;
                };
                let path = entry.path();
                let about = entry.metadata().map_err(files::named("examine", &path))?;
                sizes.push((relation, begin, about.len()));
            }
            // The order of a directory is no order of pages.
            sizes.sort_by_key(|(relation, begin, _)| {
                (relation.number, relation.fork, relation.database, *begin)
            });
            for (relation, begin, size) in sizes {
                found.numbers.grow(relation, (begin + size) / found.page);
            }
        }
        Ok(found)
    }

    /// The numbers of the pages in a part of a file, below the cluster's directory, each with
    /// whether it was not there before; none for a file that has no pages.
    pub(super) fn at(&mut self, file: &Path, offset: u64, bytes: u64) -> Vec<(u32, bool)> {
        let Some((relation, begin)) = parse(file) else {
            return Vec::new();
        };
        let first = (begin + offset) / self.page;
        let behind = (begin + offset + bytes).div_ceil(self.page);
        self.numbers.at(relation, first, behind)
    }
}

impl PageFiles for Relations {
    fn note(&mut self, file: &Path, call: &FileCall, events: &mut Vec<Event>) {
        for (page, is_new) in self.at(file, call.offset, call.bytes) {
            events.push(match (call.action, is_new) {
                (FileAction::Read, _) => Event::read(page),
                (FileAction::Write | FileAction::Allocate, true) => Event::made(page),
                (FileAction::Write, false) => Event::written(page),
                (FileAction::Allocate, false) => continue,
            });
        }
    }
}

/// The relation that a file below the cluster's directory is of, and at which of its bytes the
/// file begins; `None` for any other file, also of temporary tables.
fn parse(file: &Path) -> Option<(Relation, u64)> {
    let mut parts = file.iter().map(|part| part.to_str());
    let database = match parts.next()?? {
        SHARED => SHARED_DATABASE,
        DATABASES => parts.next()??.parse().ok()?,
        _ => return None,
    };
    let name = parts.next()??;
    if parts.next().is_some() {
        return None;
    }
    let (name, begin) = match name.split_once('.') {
        Some((name, file)) => (name, file.parse::<u64>().ok()?.checked_mul(FILE_BYTES)?),
        None => (name, 0),
    };
    let (number, fork) = match name.split_once('_') {
        Some((number, fork)) => (number, FORKS.iter().position(|known| *known == fork)? + 1),
        None => (name, 0),
    };
    let relation = Relation {
        database,
        number: number.parse().ok()?,
        fork: u8::try_from(fork).ok()?,
    };
    Some((relation, begin))
}

/// The relation of a file below the cluster's directory, and the block that it begins with.
pub(super) fn file_of(relation: Relation, block: u32, page: u64) -> (String, u64) {
    let Relation {
        database,
        number,
        fork,
    } = relation;
    let directory = match database {
        SHARED_DATABASE => SHARED.to_owned(),
        database => format!("{DATABASES}/{database}"),
    };
    let fork = match fork
        .checked_sub(1)
        .and_then(|fork| FORKS.get(usize::from(fork)))
    {
        Some(fork) => format!("_{fork}"),
        None => String::new(),
    };
    let place = u64::from(block) * page;
    let file = match place / FILE_BYTES {
        0 => String::new(),
        file => format!(".{file}"),
    };
    (
        format!("{directory}/{number}{fork}{file}"),
        place % FILE_BYTES,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn relation(database: u32, number: u32, fork: u8) -> Relation {
        Relation {
            database,
            number,
            fork,
        }
    }

    #[test]
    fn files_are_of_relations() {
        for (file, wanted) in [
            ("base/5/16384", Some((relation(5, 16384, 0), 0))),
            ("base/5/16384_fsm", Some((relation(5, 16384, 1), 0))),
            ("base/5/16384_vm", Some((relation(5, 16384, 2), 0))),
            ("base/5/16384.2", Some((relation(5, 16384, 0), 2 << 30))),
            ("global/1262", Some((relation(0, 1262, 0), 0))),
            ("base/5/t3_16390", None),
            ("base/5/PG_VERSION", None),
            ("base/5/pg_filenode.map", None),
            ("base/5/16384 (deleted)", None),
            ("base/pgsql_tmp/pgsql_tmp12.0", None),
            ("pg_xact/0000", None),
            ("pg_wal/000000010000000000000001", None),
            ("base/5/6/16384", None),
        ] {
            assert_eq!(parse(file.as_ref()), wanted, "{file}");
        }
        for (of, block, wanted) in [
            (
                relation(5, 16384, 0),
                3,
                ("base/5/16384".to_owned(), 3 * 8192),
            ),
            (relation(5, 16384, 2), 0, ("base/5/16384_vm".to_owned(), 0)),
            (
                relation(0, 1262, 0),
                131_073,
                ("global/1262.1".to_owned(), 8192),
            ),
        ] {
            assert_eq!(file_of(of, block, 8192), wanted);
            let (file, _) = wanted;
            assert_eq!(parse(file.as_ref()).unwrap().0, of);
        }
    }

    #[test]
    fn pages_have_numbers_in_a_row_and_new_ones_behind_them() {
        let cluster = tempfile::tempdir().unwrap();
        let make = |file: &str, size: u64| {
            let path = cluster.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::File::create(path).unwrap().set_len(size).unwrap();
        };
        make("global/1262", 8192);
        make("base/1/1255", 8192);
        make("base/5/20", 2 * 8192);
        make("base/5/3", 3 * 8192);
        make("base/5/PG_VERSION", 3);
        let page_size = PageSize::kib(8);
        let mut relations = Relations::find(cluster.path(), 5, page_size).unwrap();
        assert_eq!(relations.numbers.count(), 6);
        let mut at = |file: &str, block: u64, blocks: u64| {
            relations.at(file.as_ref(), block * 8192, blocks * 8192)
        };
        assert_eq!(at("global/1262", 0, 1), [(0, false)]);
        assert_eq!(at("base/5/3", 1, 2), [(2, false), (3, false)]);
        assert_eq!(at("base/5/20", 1, 1), [(5, false)]);
        assert_eq!(at("base/5/20", 2, 1), [(6, true)]);
        assert_eq!(at("base/5/20", 2, 1), [(6, false)]);
        assert_eq!(at("base/5/21", 0, 2), [(7, true), (8, true)]);
        assert_eq!(at("base/5/3", 3, 1), [(9, true)]);
        assert_eq!(at("pg_xact/0000", 0, 1), []);
        assert_eq!(relations.numbers.page(relation(5, 3, 0), 2), Some(3));
        assert_eq!(relations.numbers.page(relation(5, 3, 0), 4), Some(10));
    }
}

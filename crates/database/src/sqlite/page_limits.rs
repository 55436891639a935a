//! What a file's header says of another page size.

use octavo_units::{ByteCount, PageSize};
use octavo_workload::Limit;

use super::KIND;

/// Formats of files whose makers registered them
/// (<https://www.sqlite.org/src/file/magic.txt>).
const FORMATS: [(u32, &str); 11] = [
    (0x0f05_5111, "Fossil repository"),
    (0x0f05_5112, "Fossil checkout"),
    (0x0f05_5113, "Fossil configuration"),
    (0x4265_4462, "Bentley BeSQLite file"),
    (0x4265_4c6e, "Bentley localization file"),
    (0x4573_7269, "Esri geodatabase"),
    (0x4750_3130, "GeoPackage"),
    (0x4750_4b47, "GeoPackage"),
    (0x4d50_4258, "MBTiles tileset"),
    (0x5f4d_544e, "Monotone repository"),
    (0x6a03_5744, "TeXnicard card database"),
];

/// What a header says of the file besides its page size
/// (<https://www.sqlite.org/fileformat2.html#the_database_header>).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// At offset 68: 0 if nobody has set it.
    pub(super) application_id: u32,
    /// Whether it is in WAL mode.
    pub(super) has_log: bool,
    /// At offset 52: whether freed pages are given back.
    pub(super) is_auto_vacuumed: bool,
}

/// What has to be known before the page size is changed. Nothing forbids one: rows that do not fit
/// in a page go on in others (<https://www.sqlite.org/fileformat2.html#ovflpgs>).
pub(super) fn limits(facts: Facts, present: PageSize) -> Vec<Limit> {
    let others = || KIND.page_sizes.iter().filter(move |size| *size != present);
    let mut limits = Vec::new();
    let format = FORMATS.iter().find(|(id, _)| *id == facts.application_id);
    if let Some((_, format)) = format {
        limits.push(Limit::new(
            others(),
            format!("The file is a {format}: programs that make new ones choose the page size"),
            "https://www.sqlite.org/pragma.html#pragma_application_id",
        ));
    } else if facts.application_id != 0 {
        limits.push(Limit::new(
            others(),
            format!(
                "The file is of a program's own format (application_id {:#x}): new ones get its page \
 size",
                facts.application_id
            ),
            "https://www.sqlite.org/pragma.html#pragma_application_id",
        ));
    }
    if facts.has_log {
        limits.push(Limit::new(
            others(),
            "The file is in WAL mode, in which VACUUM keeps the page size: it has to leave that mode",
            "https://www.sqlite.org/pragma.html#pragma_page_size",
        ));
    }
    if facts.has_log {
        let larger = others().filter(|size| *size > present);
        limits.extend(larger.map(|size| log_memory(present, size)));
    }
    if facts.is_auto_vacuumed {
        limits.push(Limit::new(
            others(),
            "auto_vacuum stays on, but only a VACUUM changes the page size",
            "https://www.sqlite.org/pragma.html#pragma_auto_vacuum",
        ));
    }
    limits
}

/// Pages in the log from which on a commit copies them to the database, unless a program says
/// otherwise (<https://www.sqlite.org/pragma.html#pragma_wal_autocheckpoint>).
pub const LOG_PAGES: u64 = 1000;

/// What the log of larger pages needs. A measurement has that beside the cache. Where the OS has
/// less for the file, checkpoints read the log from storage: docs/decisions/0001-direct-vfs.md.
fn log_memory(present: PageSize, size: PageSize) -> Limit {
    let pages = |count: u64, size: PageSize| ByteCount::new(count * u64::from(size.get()));
    let as_now = pages(LOG_PAGES, present).get() / u64::from(size.get());
    Limit::new(
        [size],
        format!(
            "Its log takes {} of the OS's memory, not {} (unmeasured: wal_autocheckpoint={as_now})",
            pages(LOG_PAGES, size),
            pages(LOG_PAGES, present)
        ),
        "https://www.sqlite.org/pragma.html#pragma_wal_autocheckpoint",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Facts = Facts {
        application_id: 0,
        has_log: false,
        is_auto_vacuumed: false,
    };

    fn said(facts: Facts) -> Vec<String> {
        let limits = limits(facts, PageSize::kib(8));
        // Each is a line of a terminal.
        assert!(limits.iter().all(|limit| limit.what.chars().count() < 98));
        for limit in &limits {
            assert!(
                !limit.forbids && !limit.is_of(PageSize::kib(8)),
                "{limit:?}"
            );
        }
        let all = [4, 64].map(PageSize::kib);
        let are_of_all = limits
            .into_iter()
            .filter(|limit| all.iter().all(|&size| limit.is_of(size)));
        are_of_all.map(|limit| limit.what).collect()
    }

    #[test]
    fn headers_tell_what_to_know_before_a_change() {
        assert!(said(PLAIN).is_empty());
        let geopackage = Facts {
            application_id: u32::from_be_bytes(*b"GPKG"),
            has_log: true,
            is_auto_vacuumed: true,
        };
        let found = said(geopackage);
        for (line, part) in found
            .iter()
            .zip(["is a GeoPackage", "WAL mode", "auto_vacuum"])
        {
            assert!(line.contains(part), "{line}");
        }
        assert_eq!(found.len(), 3);
        let limits = limits(geopackage, PageSize::kib(8));
        let of_log = |size: PageSize| {
            let mut of_log = limits.iter().filter(|limit| limit.is_of(size));
            of_log.find(|limit| limit.what.starts_with("Its log"))
        };
        assert_eq!(
            of_log(PageSize::kib(64)).unwrap().what,
            "Its log takes 62.5 MiB of the OS's memory, not 7.8 MiB (unmeasured: wal_autocheckpoint=125)"
        );
        assert!(of_log(PageSize::kib(4)).is_none());
        let unknown = Facts {
            application_id: 0x1234,
            ..PLAIN
        };
        assert!(said(unknown)[0].contains("application_id 0x1234"));
    }
}

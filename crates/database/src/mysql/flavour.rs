//! The two servers, and the setting in which they differ.

use octavo_units::{ByteCount, PageSize};

/// Which of the two servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// MySQL.
    Mysql,
    /// MariaDB.
    Mariadb,
}

impl Flavour {
    /// The smallest buffer pool that it starts with at a page size.
    ///
    /// MariaDB says it when it refuses less; found with 10.11.19. MySQL's is 5
    /// MiB, and 24 MiB for pages above 16 KiB (`innobase_init` in
    /// `ha_innodb.cc`).
    pub(super) const fn buffer_min(self, page_size: PageSize) -> ByteCount {
        ByteCount::mib(match (self, page_size.get()) {
            (Self::Mariadb, 0..=4096) => 2,
            (Self::Mariadb, 4097..=8192) => 3,
            (Self::Mariadb, 8193..=16_384) => 6,
            (Self::Mariadb, 16_385..=32_768) => 11,
            (Self::Mariadb, _) => 21,
            (Self::Mysql, 0..=16_384) => 5,
            (Self::Mysql, _) => 24,
        })
    }
}

/// How pages that were only half written at a crash are guarded against
/// (<https://mariadb.com/kb/en/innodb-doublewrite-buffer/>).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doublewrite {
    /// Each page is written twice.
    On,
    /// Each page is written once: a crash may leave a page that cannot be
    /// repaired, unless the storage writes pages whole.
    Off,
    /// As the server does on its own. It is on; MariaDB leaves it out where it
    /// finds a device that writes pages whole (`innodb_use_atomic_writes`).
    Detect,
}

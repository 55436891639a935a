//! The six core workloads: YCSB's `workloads/workloada` to `workloadf`.

use crate::{
    Member, Mix, TransactionKind,
    keys::{Distribution, Theta},
};

/// A kind of operation: its position in [`TRANSACTIONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// All fields of one record.
    Read,
    /// One field of one record.
    Update,
    /// A new record.
    Insert,
    /// All fields of records in key order.
    Scan,
    /// A read and an update of one record.
    ReadModifyWrite,
}

impl Kind {
    /// In the order of [`TRANSACTIONS`].
    pub(super) const ALL: [Self; 5] = [
        Self::Read,
        Self::Update,
        Self::Insert,
        Self::Scan,
        Self::ReadModifyWrite,
    ];
}

/// The most records that a scan returns; their number is uniform from 1 on
/// (`workloade`).
pub(super) const SCAN_MAX: usize = 100;

/// The kinds in the order of [`Kind`].
pub(super) static TRANSACTIONS: [TransactionKind; Kind::ALL.len()] = [
    TransactionKind::plain("Read"),
    TransactionKind::plain("Update"),
    TransactionKind::plain("Insert"),
    TransactionKind::plain("Scan"),
    TransactionKind::plain("Read-Modify-Write"),
];

/// The core workloads in the order of [`Core`].
pub(super) static MEMBERS: [Member; Core::ALL.len()] = [
    member("ycsb-a", "YCSB A", "50% reads, 50% updates, zipfian"),
    member("ycsb-b", "YCSB B", "95% reads, 5% updates, zipfian"),
    member("ycsb-c", "YCSB C", "Reads alone, zipfian"),
    member("ycsb-d", "YCSB D", "95% reads, 5% inserts, latest"),
    member("ycsb-e", "YCSB E", "95% scans, 5% inserts, zipfian"),
    member(
        "ycsb-f",
        "YCSB F",
        "50% reads, 50% read-modify-writes, zipfian",
    ),
];

const fn member(name: &'static str, title: &'static str, help: &'static str) -> Member {
    Member { name, title, help }
}

/// A core workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Core {
    /// Half reads, half updates.
    A,
    /// 95% reads, 5% updates.
    B,
    /// Reads alone.
    C,
    /// 95% reads of the latest records, 5% inserts.
    D,
    /// 95% scans of 1 to 100 records, 5% inserts.
    E,
    /// Half reads, half read-modify-writes.
    F,
}

impl Core {
    /// All six.
    pub const ALL: [Self; 6] = [Self::A, Self::B, Self::C, Self::D, Self::E, Self::F];

    /// Its name, `ycsb-a` to `ycsb-f`.
    pub fn name(self) -> &'static str {
        MEMBERS[self as usize].name
    }

    /// In which shares its kinds of operations are drawn.
    pub fn mix(self) -> Mix {
        Mix::new(match self {
            Self::A => &[50, 50, 0, 0, 0],
            Self::B => &[95, 5, 0, 0, 0],
            Self::C => &[100, 0, 0, 0, 0],
            Self::D => &[95, 0, 5, 0, 0],
            Self::E => &[0, 0, 5, 95, 0],
            Self::F => &[50, 0, 0, 0, 50],
        })
    }

    /// How often its operations fall on which keys.
    pub const fn distribution(self) -> Distribution {
        match self {
            Self::D => Distribution::Latest(Theta::YCSB),
            _ => Distribution::Zipfian(Theta::YCSB),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_stand_where_their_positions_say() {
        for (position, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, position);
            let name = TRANSACTIONS[position].name.replace('-', "");
            assert_eq!(name, format!("{kind:?}"));
            assert!(TRANSACTIONS[position].counted);
        }
    }

    #[test]
    fn members_stand_where_their_positions_say() {
        for (position, core) in Core::ALL.into_iter().enumerate() {
            assert_eq!(core as usize, position);
            assert_eq!(core.name(), format!("ycsb-{core:?}").to_lowercase());
        }
    }

    #[test]
    fn mixes_are_those_of_ycsb() {
        for (core, text) in [
            (Core::A, "read=50,update=50"),
            (Core::B, "read=95,update=5"),
            (Core::C, "read=100"),
            (Core::D, "read=95,insert=5"),
            (Core::E, "insert=5,scan=95"),
            (Core::F, "read=50,read-modify-write=50"),
        ] {
            assert_eq!(core.mix().describe(&TRANSACTIONS).to_string(), text);
            assert_eq!(core.mix().sum(), 100);
        }
    }
}

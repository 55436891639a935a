//! Statements: their SQL, and beside it, as data, what it touches. Predictions read the
//! data, databases the SQL; a test compares the two.

use crate::schema::ColumnKind;

/// One SQL statement of a workload, prepared once per connection and then
/// named by its position in [`crate::Workload::statements`].
///
/// Parameters are written `?1`, `?2`, …; adapters rewrite them where their
/// database wants another mark.
#[derive(Debug)]
pub struct Statement {
    /// The text, in the SQL that every supported database shares.
    pub sql: &'static str,
    /// What the parameters hold.
    pub parameters: &'static [ColumnKind],
    /// What the columns of the result hold; empty for a statement that writes.
    pub result: &'static [ColumnKind],
    /// How many of the leading parameters are new column values. Their bytes
    /// are the logical change that write amplification is related to.
    pub changed_parameters: usize,
    /// Whether it is a user's own, so that neither its text nor values of its rows may be told.
    pub is_private: bool,
    /// Whether it is planned by the values of each run, as a recorded statement was that its
    /// program sent with the values in its text.
    pub is_planned_by_values: bool,
    /// The tables that it touches, each once. The first one is that of which rows are
    /// changed, if any are.
    pub tables: &'static [TableAccess],
}

impl Statement {
    /// A statement on these tables. New values come first among the parameters: all of an
    /// insert, and one a column of an update.
    pub(crate) const fn new(
        sql: &'static str,
        parameters: &'static [ColumnKind],
        result: &'static [ColumnKind],
        tables: &'static [TableAccess],
    ) -> Self {
        let changed_parameters = match tables {
            [first, ..] if matches!(first.verb, Verb::Insert) => parameters.len(),
            [first, ..] => first.writes.len(),
            [] => 0,
        };
        Self {
            sql,
            parameters,
            result,
            changed_parameters,
            is_private: false,
            is_planned_by_values: false,
            tables,
        }
    }
}

/// The position of a [`Statement`] in its workload's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StatementId(pub usize);

/// What a statement does with one table.
#[derive(Debug)]
pub struct TableAccess {
    /// The table's name.
    pub table: &'static str,
    /// What it does with rows.
    pub verb: Verb,
    /// How it reaches them: several where an index leads to rows, or where it reads the table
    /// more than once.
    pub paths: &'static [Path],
    /// The columns whose values it uses.
    pub reads: &'static [&'static str],
    /// The columns whose values it sets.
    pub writes: &'static [&'static str],
}

/// What a statement does with the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// It reads them.
    Read,
    /// It replaces values.
    Update,
    /// It adds them.
    Insert,
    /// It removes them.
    Delete,
}

/// How a statement reaches the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// By the table's key; where it has none, in the order in which rows came.
    Key,
    /// By the entries of the index with this name.
    Index(&'static str),
    /// From an entry of an index that is one of its paths too.
    Entry,
}

/// Names the statements of a workload, and numbers them as they stand in its
/// `STATEMENTS`. They stand in groups. One is written as
///
/// `NAME: [parameters] -> [result's columns] = "text" VERB TABLE by [paths] of [columns read]
/// sets [columns set], VERB TABLE ...;`
///
/// with `reads`, `updates`, `inserts` or `deletes` as the verb, and with `key`, `entry` and
/// names of indexes as paths. Left out are `->` where there is no result, `by` where the
/// path is the key, and `of` and `sets` where there are no such columns.
///
/// Each group is an enum of its statements, and `StatementName` one of the groups, so that
/// whoever matches one has all of them.
macro_rules! statements {
    (@verb reads) => { $crate::connection::Verb::Read };
    (@verb updates) => { $crate::connection::Verb::Update };
    (@verb inserts) => { $crate::connection::Verb::Insert };
    (@verb deletes) => { $crate::connection::Verb::Delete };
    (@path key) => { $crate::connection::Path::Key };
    (@path entry) => { $crate::connection::Path::Entry };
    (@path $index:ident) => { $crate::connection::Path::Index(stringify!($index)) };
    (@paths) => { &[$crate::connection::Path::Key] };
    (@paths $($path:ident)+) => { &[$($crate::connection::statements!(@path $path)),+] };
    ($(
        $(#[$about:meta])*
        $group:ident {$(
            $(#[$doc:meta])*
            $name:ident: $parameters:tt $(-> [$($result:tt)*])? = $sql:tt
            $(
                $verb:ident $table:ident $(by [$($path:ident),+])?
                $(of [$($read:ident),*])? $(sets [$($write:ident),*])?
            ),+;
        )*}
    )*) => {
        $(
            $(#[$about])*
            #[derive(Clone, Copy)]
            #[allow(
                non_camel_case_types,
                clippy::upper_case_acronyms,
                reason = "variants are named as the constants"
            )]
            pub(super) enum $group {
                $($name),*
            }
        )*
        /// Every statement by its name.
        #[derive(Clone, Copy)]
        #[allow(dead_code, reason = "nobody asks which statement a check is")]
        pub(super) enum StatementName {
            $($group($group)),*
        }
        impl From<$crate::connection::StatementId> for StatementName {
            fn from(id: $crate::connection::StatementId) -> Self {
                const NAMES: &[StatementName] =
                    &[$($(StatementName::$group($group::$name),)*)*];
                NAMES[id.0]
            }
        }
        #[allow(
            non_camel_case_types,
            clippy::upper_case_acronyms,
            reason = "variants only number the constants"
        )]
        enum Position {
            $($($name,)*)*
        }
        $($(
            $(#[$doc])*
            pub(super) const $name: $crate::connection::StatementId =
                $crate::connection::StatementId(Position::$name as usize);
        )*)*
        pub(super) static STATEMENTS: &[$crate::connection::Statement] =
            &[$($($crate::connection::Statement::new(
                $sql,
                &$parameters,
                &[$($($result)*)?],
                &[$($crate::connection::TableAccess {
                    table: stringify!($table),
                    verb: $crate::connection::statements!(@verb $verb),
                    paths: $crate::connection::statements!(@paths $($($path)+)?),
                    reads: &[$($(stringify!($read)),*)?],
                    writes: &[$($(stringify!($write)),*)?],
                }),+],
            ),)*)*];
    };
}
pub(crate) use statements;

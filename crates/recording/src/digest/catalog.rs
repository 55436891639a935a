//! The tables that digests can name.

/// The tables of a database.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// All of them.
    pub tables: Vec<Table>,
}

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The name of its schema or database.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Its name in SQL.
    pub sql: String,
    /// Whether its name alone is enough.
    pub is_visible: bool,
    /// Its columns, in their order.
    pub columns: Vec<Column>,
    /// The columns of each unique key by their positions, the primary key first.
    pub keys: Vec<Vec<usize>>,
    /// Whether something else says that rows differ, such as an index of an expression.
    pub has_other_keys: bool,
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its name in SQL.
    pub sql: String,
    /// What its values are.
    pub class: Class,
    /// Whether a foreign key begins here.
    pub is_foreign: bool,
}

/// What values are, as far as drawing and making them needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Whole numbers.
    Integer,
    /// Other numbers.
    Number,
    /// Texts of up to so many characters.
    Text(u32),
    /// UUIDs.
    Uuid,
    /// Bytes.
    Bytes,
    /// Arrays.
    Array,
    /// What cannot be read as a text, so that no value can be drawn.
    Unreadable,
    /// Others.
    Other,
}

impl Catalog {
    /// The position of a table; `schema` is as the statement says.
    pub(crate) fn table(&self, schema: Option<&str>, name: &str) -> Option<usize> {
        let is_named = |table: &Table, is_alike: fn(&str, &str) -> bool| {
            is_alike(&table.name, name)
                && schema.map_or(table.is_visible, |schema| is_alike(&table.schema, schema))
        };
        let exact: fn(&str, &str) -> bool = |one, other| one == other;
        let loose: fn(&str, &str) -> bool = str::eq_ignore_ascii_case;
        [exact, loose]
            .into_iter()
            .find_map(|alike| self.tables.iter().position(|table| is_named(table, alike)))
    }
}

impl Table {
    /// The position of a column.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        let exact = self.columns.iter().position(|of| of.name == name);
        exact.or_else(|| {
            let mut all = self.columns.iter();
            all.position(|of| of.name.eq_ignore_ascii_case(name))
        })
    }
}

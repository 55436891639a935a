//! Shapes of key-value workloads, in files of their own or in a plan's `[workload]`.

use std::{ops::Range, path::Path, sync::Arc};

use octavo_storage::text;
use octavo_workload::shape::{Distribution, KeyOrder, Shape, ShapeError, ShapeTable, Spread};
use serde::Deserialize;
use toml::de::DeTable;

use super::{
    keys::{Operations, WorkloadKeys},
    refusal::{PlanFileError, Source, SpanError},
    section::{self, TABLES},
    value::{SpannedValue, Whole},
};

/// What stands before the tables of a file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct ShapeKeys {
    operations: Option<SpannedValue<Operations>>,
}

/// A share of the operations: out of the sum of all.
type Weight = Whole<0, 10_000>;

/// `[tables.NAME]`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct TableKeys {
    keys: Option<SpannedValue<Whole<0, { u64::MAX }>>>,
    key_bytes: Option<SpannedValue<Whole<0, { u32::MAX as u64 }>>>,
    value_bytes: Option<SpannedValue<Spread>>,
    order: Option<SpannedValue<KeyOrder>>,
    distribution: Option<SpannedValue<Distribution>>,
    range_length: Option<SpannedValue<Spread>>,
    get: Option<SpannedValue<Weight>>,
    get_absent: Option<SpannedValue<Weight>>,
    put: Option<SpannedValue<Weight>>,
    insert: Option<SpannedValue<Weight>>,
    delete: Option<SpannedValue<Weight>>,
    range: Option<SpannedValue<Weight>>,
}

/// A table with its place in the file.
struct Located {
    table: ShapeTable,
    name: Range<usize>,
    keys: TableKeys,
}

/// Reads the shape in `path`.
///
/// # Errors
/// When the file cannot be read, or at the first place whose key or value is not possible.
pub fn read_shape(path: &Path) -> Result<Arc<Shape>, PlanFileError> {
    let text = text::read(path, text::WRITTEN_MAX)?;
    let source = Source {
        name: path.display().to_string(),
        text: text.trim_start_matches('\u{feff}').to_owned(),
    };
    from_source(&source).map_err(|refusal| source.locate(refusal))
}

fn from_source(source: &Source) -> Result<Arc<Shape>, SpanError> {
    let mut document = DeTable::parse(&source.text)
        .map_err(|error| SpanError::from_toml(&error, "a shape", &[]))?
        .into_inner();
    let has_tables = document.contains_key(TABLES);
    let tables = section::table(&mut document, TABLES)?;
    let keys: ShapeKeys = section::read(document, "a shape", &[TABLES])?;
    if !has_tables {
        return Err(SpanError::new(
            &(0..0),
            "there is no table: write one as [tables.NAME] with keys, key-bytes and value-bytes",
        ));
    }
    shape(keys.operations.as_ref(), tables, &(0..0))
}

/// The shape that a plan's `[workload]` names or has itself, with its place. `tables` are those that it
/// has.
pub(super) fn of_plan(
    workload: &WorkloadKeys,
    tables: Option<&(DeTable<'_>, Range<usize>)>,
) -> Result<Option<SpannedValue<Arc<Shape>>>, SpanError> {
    let operations = workload.operations.as_ref();
    match (&workload.shape, tables) {
        (Some(file), Some(_)) => Err(SpanError::new(
            &file.span,
            "shape names a file with tables, and [workload.tables] has some: remove one of them",
        )),
        (Some(file), None) => {
            if let Some(operations) = operations {
                return Err(SpanError::new(
                    &operations.span,
                    "operations belong into the file with the shape: remove them here",
                ));
            }
            let read = read_shape(Path::new(&file.value));
            let value = read.map_err(|error| SpanError::new(&file.span, error.to_string()))?;
            let span = file.span.clone();
            Ok(Some(SpannedValue { value, span }))
        }
        (None, Some((tables, span))) => {
            let value = shape(operations, tables.clone(), span)?;
            let span = span.clone();
            Ok(Some(SpannedValue { value, span }))
        }
        (None, None) => match operations {
            None => Ok(None),
            Some(operations) => Err(SpanError::new(
                &operations.span,
                "operations are of tables: write them as [workload.tables.NAME], or name a file \
                 with shape",
            )),
        },
    }
}

/// Makes a shape. `place` is where all tables are.
fn shape(
    operations: Option<&SpannedValue<Operations>>,
    tables: DeTable<'_>,
    place: &Range<usize>,
) -> Result<Arc<Shape>, SpanError> {
    let mut located = Vec::new();
    for (name, value) in tables {
        let span = name.span();
        let name = name.into_inner().into_owned();
        let section = format!("[{TABLES}.{name}]");
        let toml::de::DeValue::Table(table) = value.into_inner() else {
            let reason = format!("{name} is no table: write {section}");
            return Err(SpanError::new(&span, reason));
        };
        let keys: TableKeys = section::read(table, &section, &[])?;
        located.push(Located {
            table: table_of(name, &keys, &span)?,
            name: span,
            keys,
        });
    }
    // In the order of the file.
    located.sort_by_key(|of| of.name.start);
    let count = operations.map_or(1, |operations| operations.value.get());
    let tables = located.iter().map(|of| of.table.clone()).collect();
    let made = Shape::new(count, tables);
    let refused = |error: ShapeError| {
        let of = error.table.as_ref();
        let of = of.and_then(|name| located.iter().find(|of| of.table.name == *name));
        let span = match of {
            Some(of) => of.keys.span(error.key).unwrap_or(&of.name),
            None => place,
        };
        // The place says the table.
        SpanError::new(span, error.reason)
    };
    made.map(Arc::new).map_err(refused)
}

fn table_of(name: String, keys: &TableKeys, span: &Range<usize>) -> Result<ShapeTable, SpanError> {
    let missing = |key: &str, example: &str| {
        let reason =
            format!("{key} is missing in [{TABLES}.{name}]: write it like {key} = {example}");
        SpanError::new(span, reason)
    };
    let (Some(count), Some(key_bytes), Some(value_bytes)) =
        (&keys.keys, &keys.key_bytes, &keys.value_bytes)
    else {
        let (key, example) = match (&keys.keys, &keys.key_bytes) {
            (None, _) => ("keys", "1_000_000"),
            (_, None) => ("key-bytes", "20"),
            _ => ("value-bytes", "32"),
        };
        return Err(missing(key, example));
    };
    // The range of its form has 32 bits.
    let key_bytes = u32::try_from(key_bytes.value.0).unwrap_or(u32::MAX);
    let weight = |of: &Option<SpannedValue<Weight>>| {
        let weight = of.as_ref().map_or(0, |of| of.value.0);
        u32::try_from(weight).unwrap_or(u32::MAX)
    };
    let table = ShapeTable::new(name.clone(), count.value.0, key_bytes, value_bytes.value);
    Ok(ShapeTable {
        order: keys.order.as_ref().map_or(table.order, |of| of.value),
        distribution: (keys.distribution.as_ref()).map_or(table.distribution, |of| of.value),
        range_length: (keys.range_length.as_ref()).map_or(table.range_length, |of| of.value),
        get: weight(&keys.get),
        get_absent: weight(&keys.get_absent),
        put: weight(&keys.put),
        insert: weight(&keys.insert),
        delete: weight(&keys.delete),
        range: weight(&keys.range),
        ..table
    })
}

impl TableKeys {
    /// Where the value of a key is.
    fn span(&self, key: &str) -> Option<&Range<usize>> {
        fn span<T>(of: &Option<SpannedValue<T>>) -> Option<&Range<usize>> {
            of.as_ref().map(|of| &of.span)
        }
        match key {
            "keys" => span(&self.keys),
            "key-bytes" => span(&self.key_bytes),
            "value-bytes" => span(&self.value_bytes),
            "range-length" => span(&self.range_length),
            "delete" => span(&self.delete),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Arc<Shape>, String> {
        let source = Source {
            name: "shape.toml".into(),
            text: text.to_owned(),
        };
        from_source(&source).map_err(|refusal| source.locate(refusal).to_string())
    }

    const TABLE: &str = "[tables.accounts]\nkeys = 1_000\nkey-bytes = 20\nvalue-bytes = 32\n";

    #[test]
    fn a_shape_is_read_with_its_defaults() {
        let shape = read(&format!("{TABLE}get = 3\n")).unwrap();
        let table = ShapeTable {
            get: 3,
            ..ShapeTable::new("accounts", 1000, 20, Spread::always(32))
        };
        assert_eq!(*shape, Shape::new(1, vec![table]).unwrap());
    }

    #[test]
    fn a_shape_is_read_in_full() {
        let shape = read(
            "operations = 100\n\n[tables.z]\nkeys = 7\nkey-bytes = 8\nvalue-bytes = \"1..90\"\n\
             order = \"sequential\"\ndistribution = \"hotspot:10/90\"\nrange-length = 50\nget = 1\n\
             get-absent = 2\nput = 3\ninsert = 5\ndelete = 4\nrange = 6\n\n[tables.a]\nkeys = 9\n\
             key-bytes = 4\nvalue-bytes = 1\n",
        )
        .unwrap();
        assert_eq!(shape.operations(), 100);
        let [first, second] = shape.tables() else {
            panic!("two tables")
        };
        assert_eq!(second.name, "a", "in the order of the file");
        let wanted = ShapeTable {
            order: KeyOrder::Sequential,
            distribution: "hotspot:10/90".parse().unwrap(),
            range_length: Spread::always(50),
            get: 1,
            get_absent: 2,
            put: 3,
            insert: 5,
            delete: 4,
            range: 6,
            ..ShapeTable::new("z", 7, 8, Spread::new(1, 90).unwrap())
        };
        assert_eq!(*first, wanted);
    }

    #[test]
    fn refusals_are_at_their_lines() {
        for (text, words) in [
            ("".to_owned(), "shape.toml:1: there is no table"),
            (
                "tables = 3\n".into(),
                "shape.toml:1: tables is not a section",
            ),
            (
                "table = 3\n".into(),
                "a shape has no 'table': did you mean tables?",
            ),
            (
                "[tables.t]\nkeys = 3\nvalue-bytes = 3\n".into(),
                "shape.toml:1: key-bytes is missing in [tables.t]: write it like key-bytes = 20",
            ),
            (
                format!("{TABLE}gets = 3\n"),
                "shape.toml:5: [tables.accounts] has no 'gets': did you mean get?",
            ),
            (
                format!("{TABLE}get = -3\n"),
                "shape.toml:5: -3 is not possible: choose a whole number from 0 to 10000",
            ),
            (
                format!("{TABLE}order = \"sorted\"\n"),
                "shape.toml:5: 'sorted' is not known: choose hashed, sequential",
            ),
            (
                format!("{TABLE}distribution = \"zipf\"\n"),
                "shape.toml:5: distribution 'zipf' is not known",
            ),
            (
                format!("{TABLE}range-length = \"9..3\"\n"),
                "shape.toml:5: '9..3' is no number and no range",
            ),
            (
                format!("{TABLE}get = 1\ninsert = 2\ndelete = 3\n"),
                "shape.toml:7: delete = 3 is more than insert = 2",
            ),
            (
                TABLE.replace("20", "2000") + "get = 1\n",
                "shape.toml:3: key-bytes must be 4 to 255, not 2000",
            ),
            (
                TABLE.replace("1_000", "0") + "get = 1\n",
                "shape.toml:2: keys must be 1 to",
            ),
            (
                TABLE.replace("accounts", "table") + "get = 1\n",
                "shape.toml:1: 'table' is a word of SQL",
            ),
            (TABLE.into(), "must sum to 1 to 10000, not 0"),
            (
                format!("operations = 0\n{TABLE}"),
                "shape.toml:1: 0 is not possible: choose a whole number from 1 to 10000",
            ),
            (format!("{TABLE}{TABLE}"), "shape.toml:5: "),
            (
                "[tables]\nt = 3\n".into(),
                "shape.toml:2: t is no table: write [tables.t]",
            ),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}

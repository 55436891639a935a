//! What is made of digests: statements as servers take them, and where their values come from.

use std::time::Duration;

use octavo_recording::{
    Dialect, Left, Mark,
    digest::{Catalog, Class, Column, Digest, Draw, Expression, Planned, Style, Table, plan},
};
use octavo_script::Part;
use proptest::prelude::*;

const fn dialect(has_dollars: bool, marks: &'static [u8]) -> Dialect {
    Dialect {
        has_backslashes: !has_dollars,
        has_double_quoted_texts: !has_dollars,
        has_hash_comments: !has_dollars,
        has_spaced_comments: !has_dollars,
        has_dollar_quotes: has_dollars,
        has_bracketed_names: false,
        has_autocommit: false,
        has_whole_texts: true,
        has_text_transactions: false,
        has_outer_savepoints: false,
        session_functions: &["PG_ADVISORY_LOCK", "GET_LOCK"],
        parameter_marks: marks,
        parameter: |_| Some(Mark::PLAIN),
    }
}

static POSTGRES: Dialect = dialect(true, b"$");
static MYSQL: Dialect = dialect(false, b"?");

fn table(name: &str, columns: &[(&str, Class)], keys: &[&[usize]]) -> Table {
    Table {
        schema: "shop".into(),
        name: name.into(),
        sql: name.into(),
        is_visible: true,
        columns: columns
            .iter()
            .map(|(name, class)| Column {
                name: (*name).into(),
                sql: (*name).into(),
                class: *class,
                is_foreign: *name == "customer",
            })
            .collect(),
        keys: keys.iter().map(|key| key.to_vec()).collect(),
        has_other_keys: false,
    }
}

fn catalog() -> Catalog {
    const TEXT: Class = Class::Text(60);
    Catalog {
        tables: vec![
            table(
                "customer",
                &[
                    ("id", Class::Integer),
                    ("email", TEXT),
                    ("paid", Class::Number),
                    ("since", Class::Other),
                    ("tags", Class::Array),
                ],
                &[&[0], &[1]],
            ),
            table(
                "line",
                &[
                    ("orders", Class::Integer),
                    ("number", Class::Integer),
                    ("customer", Class::Integer),
                    ("note", TEXT),
                ],
                &[&[0, 1]],
            ),
            table("owned", &[("customer", Class::Integer)], &[&[0]]),
            table("state", &[("code", Class::Text(2))], &[&[0]]),
        ],
    }
}

fn planned(text: &str, style: Style) -> Result<Planned, Left> {
    let digest = Digest {
        text: text.into(),
        calls: 10,
        took: Duration::ZERO,
        rows: 25,
        most: (style == Style::Marked).then_some(1024),
    };
    let dialect = match style {
        Style::Numbered => &POSTGRES,
        Style::Marked => &MYSQL,
    };
    plan(&digest, dialect, style, &catalog())
}

/// The values of a digest in short: the column and the row that each one is of.
fn drawn(planned: &Planned) -> Vec<String> {
    let catalog = catalog();
    let name = |table: usize, column: usize| {
        let table: &Table = &catalog.tables[table];
        format!("{}.{}", table.name, table.columns[column].name)
    };
    let of = |draw: &Draw| match *draw {
        Draw::Column {
            row,
            column,
            expression,
        } => {
            let name = name(planned.rows[row].table, column);
            match expression {
                Expression::Value => format!("{name} {row}"),
                other => format!("{other:?} {name} {row}"),
            }
        }
        Draw::Next { row, column, .. } => {
            format!("next {} {row}", name(planned.rows[row].table, column))
        }
        Draw::Several { table, column, .. } => format!("several {}", name(table, column)),
        Draw::New { table, column } => format!("new {}", name(table, column)),
        Draw::Amount => "amount".into(),
        Draw::Whole(number) => number.to_string(),
        Draw::Word(word) => word.into(),
    };
    planned.draws.iter().map(of).collect()
}

#[track_caller]
fn draws(text: &str, wanted: &[&str]) {
    let style = match text.contains('?') || text.contains("...") {
        true => Style::Marked,
        false => Style::Numbered,
    };
    let planned = planned(text, style).unwrap_or_else(|left| panic!("{text}: {left}"));
    assert_eq!(drawn(&planned), wanted, "{text}");
}

#[test]
fn values_are_of_the_columns_that_they_are_compared_with() {
    for (text, wanted) in [
        (
            "SELECT * FROM customer WHERE id = $1",
            &["customer.id 0"][..],
        ),
        ("SELECT * FROM customer WHERE $1 = id", &["customer.id 0"]),
        (
            "select * from shop.customer c where c.id = $1::bigint and (c.since)::date > $2",
            &["customer.id 0", "customer.since 0"],
        ),
        // Columns of one table are of one row, so that a composite key is there.
        (
            "SELECT * FROM line WHERE orders = $1 AND number = $2",
            &["line.orders 0", "line.number 0"],
        ),
        (
            "SELECT * FROM line WHERE (orders, number) IN (($1, $2), ($3, $4))",
            &[
                "line.orders 0",
                "line.number 0",
                "line.orders 1",
                "line.number 2",
            ],
        ),
        (
            "SELECT * FROM customer WHERE id IN ($1, $2)",
            &["customer.id 0", "customer.id 1"],
        ),
        (
            "SELECT * FROM customer WHERE id = ANY($1::int[])",
            &["several customer.id"],
        ),
        (
            "SELECT * FROM customer WHERE $1 = ANY(tags) OR tags @> ARRAY[$2]",
            &["Element customer.tags 0", "Element customer.tags 1"],
        ),
        (
            "SELECT * FROM customer WHERE lower(email) = $1",
            &["Lower customer.email 0"],
        ),
        // Ranges end at the next value.
        (
            "SELECT * FROM customer WHERE since BETWEEN $1 AND $2 LIMIT $3 OFFSET $4",
            &["customer.since 0", "next customer.since 0", "3", "0"],
        ),
        (
            "SELECT * FROM customer WHERE since >= $1 AND since < $2",
            &["customer.since 0", "next customer.since 0"],
        ),
        // The nearest table that has the column.
        (
            "SELECT * FROM customer AS c JOIN line AS l ON l.customer = c.id \
             WHERE l.note = $1 AND c.email LIKE $2 AND EXISTS \
             (SELECT $3 FROM line AS l WHERE l.number = $4)",
            &["line.note 0", "customer.email 1", "1", "line.number 2"],
        ),
        (
            "WITH t AS (SELECT id FROM customer WHERE email = $1) SELECT * FROM t WHERE t.id = $2",
            &["customer.email 0", "customer.id 0"],
        ),
        (
            "UPDATE customer SET paid = paid + $1, since = $2 WHERE id = $3",
            &["amount", "customer.since 0", "customer.id 1"],
        ),
        ("SELECT $1", &["1"]),
        (
            "DELETE FROM line USING customer WHERE line.note = $1",
            &["line.note 0"],
        ),
        (
            "SELECT extract($1 from since) FROM customer WHERE id = $2",
            &["customer.id 0"],
        ),
    ] {
        draws(text, wanted);
    }
}

#[test]
fn keys_that_are_inserted_are_new() {
    for (text, wanted) in [
        (
            "INSERT INTO customer (id, email, paid) VALUES ($1, $2, $3)",
            &["new customer.id", "new customer.email", "customer.paid 0"][..],
        ),
        // The server numbers it.
        (
            "INSERT INTO customer (paid) VALUES ($1)",
            &["customer.paid 0"],
        ),
        (
            "INSERT INTO line VALUES ($1, $2, $3, $4), ($5, $6, $7, $8)",
            &[
                "line.orders 0",
                "new line.number",
                "line.customer 0",
                "line.note 0",
                "line.orders 1",
                "new line.number",
                "line.customer 1",
                "line.note 1",
            ],
        ),
        (
            "INSERT INTO customer (id, email) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET paid = $3",
            &["customer.id 0", "customer.email 0", "customer.paid 1"],
        ),
        (
            "UPDATE customer SET email = $1 WHERE id = $2",
            &["new customer.email", "customer.id 0"],
        ),
    ] {
        draws(text, wanted);
    }
    for text in [
        // Its parent would not be there, and it is too short.
        "INSERT INTO owned (customer) VALUES ($1)",
        "INSERT INTO state (code) VALUES ($1)",
        "UPDATE state SET code = $1",
    ] {
        assert_eq!(planned(text, Style::Numbered), Err(Left::NewKey), "{text}");
    }
}

/// As MariaDB 10.11 writes them.
#[test]
fn lists_that_a_server_shortens_get_their_length_back() {
    for (text, wanted) in [
        (
            "INSERT INTO `line` VALUES (...) /* , ... */",
            &[
                "line.orders 0",
                "new line.number",
                "line.customer 0",
                "line.note 0",
            ][..],
        ),
        (
            "INSERT INTO `customer` ( EMAIL , `paid` , `since` , `id` ) VALUES ( ?, ... , NOW ( ) , ? )",
            &["new customer.email", "customer.paid 0", "new customer.id"],
        ),
        (
            "SELECT * FROM `line` WHERE ( `orders` , `number` ) IN ( (...) /* , ... */ ) LIMIT ?, ...",
            &["line.orders 0", "line.number 0", "0", "3"],
        ),
        (
            "UPDATE `customer` SET `paid` = `paid` - ? , `since` = - ? WHERE ID = - ?",
            &["amount", "customer.since 0", "customer.id 1"],
        ),
        ("SELECT COUNT ( ? ) FROM `customer` GROUP BY ?", &["1"]),
        (
            "SELECT * FROM `line` WHERE `number` IN (...)",
            &[
                "line.number 0",
                "line.number 1",
                "line.number 2",
                "line.number 3",
            ],
        ),
    ] {
        draws(text, wanted);
    }
    let text = "SELECT `f` ( ?, ... ) FROM `line` WHERE `note` = ?";
    assert_eq!(planned(text, Style::Marked), Err(Left::Shortened));
    let cut = "SELECT * FROM `line` WHERE `note` = ? AND `number` = ? OR ...";
    assert_eq!(planned(cut, Style::Marked), Err(Left::NoEnd));
}

/// Servers of the MySQL kind do not mark what they cut: a statement without its last condition would
/// change or read all rows.
#[test]
fn what_a_server_may_have_cut_at_its_limit_does_not_run() {
    let update = |columns: usize| {
        let set = vec!["`note` = ?"; columns].join(" , ");
        format!("UPDATE `line` SET {set} WHERE `orders` = ?")
    };
    // 14 bytes a column, and 30 of the rest: 13 more may be a name that did not fit.
    let most = (1024 - 260 - 30) / 14;
    assert!(planned(&update(most), Style::Marked).is_ok());
    assert_eq!(planned(&update(most + 1), Style::Marked), Err(Left::NoEnd));
    let cut = "INSERT INTO `line` SET `note` = ? , ";
    assert_eq!(planned(cut, Style::Marked), Err(Left::NoEnd));
}

#[test]
fn a_column_that_is_equal_to_two_values_has_two_rows() {
    draws(
        "SELECT note FROM line WHERE orders = $1 AND number = $2 OR orders = $3 AND number = $4",
        &[
            "line.orders 0",
            "line.number 0",
            "line.orders 1",
            "line.number 1",
        ],
    );
}

/// A text that is no date cannot be told from one here.
#[test]
fn what_is_inserted_from_a_select_is_of_no_column() {
    let text = "INSERT INTO line SELECT $1, $2, $3, $4 WHERE NOT EXISTS (SELECT 1 FROM owned)";
    assert_eq!(planned(text, Style::Numbered), Err(Left::NoColumn));
    draws("SELECT $1, note FROM line LIMIT 1", &["1"]);
}

#[test]
fn digests_are_named_by_their_text() {
    let digest = |text: &str| Digest {
        text: text.into(),
        calls: 1,
        took: Duration::ZERO,
        rows: 0,
        most: None,
    };
    assert_eq!(digest("SELECT a").name(), digest("SELECT a").name());
    assert_ne!(digest("SELECT a").name(), digest("SELECT b").name());
    assert_eq!(digest("").name().len(), "digest 3fa2c1".len());
}

/// PostgreSQL 18 keeps one value of a list.
#[test]
fn lists_that_were_squashed_have_several_values() {
    for text in [
        "SELECT note FROM line WHERE number IN ($1 /*, ... */)",
        "SELECT note FROM line WHERE number = ANY (ARRAY[$1 /*, ... */])",
    ] {
        let planned = planned(text, Style::Numbered).unwrap();
        assert_eq!(drawn(&planned).len(), 4, "{text}");
    }
    let both = "SELECT note FROM line WHERE number IN ($1 /*, ... */) AND orders = $2";
    assert_eq!(drawn(&planned(both, Style::Numbered).unwrap()).len(), 5);
}

#[test]
fn texts_are_as_servers_take_them() {
    for (style, text, wanted) in [
        (
            Style::Numbered,
            "SELECT * FROM customer WHERE since > date $1",
            "SELECT * FROM customer WHERE since > CAST($1 AS date)",
        ),
        (
            Style::Marked,
            "SELECT COUNT ( * ) FROM LINE WHERE `number` = ? AND `since` > NOW ( )",
            "SELECT COUNT( * ) FROM `line` WHERE `number` = $1 AND `since` > NOW( )",
        ),
    ] {
        let planned = planned(text, style).unwrap();
        let written = planned.parts.iter().map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Parameter(position) => format!("${}", position + 1),
        });
        assert_eq!(written.collect::<String>(), wanted);
    }
}

#[test]
fn what_cannot_be_sent_is_left_out_by_its_reason() {
    for (text, wanted) in [
        ("SET a = $1", Left::Word("SET")),
        (
            "SELECT * FROM pg_catalog.pg_class WHERE relname = $1",
            Left::Tool,
        ),
        ("SELECT pg_stat_statements_reset()", Left::Tool),
        ("SELECT SQL_NO_CACHE * FROM orders", Left::Tool),
        ("SELECT pg_catalog.pg_is_in_recovery()", Left::Tool),
        ("SELECT pg_advisory_lock($1)", Left::SessionLock),
        (
            "SELECT * FROM customer WHERE since > now() - interval $1",
            Left::NoColumn,
        ),
        (
            "SELECT * FROM customer WHERE more ->> $1 = $2",
            Left::NoColumn,
        ),
        (
            "SELECT * FROM customer WHERE date(since) = $1",
            Left::NoColumn,
        ),
        ("SELECT * FROM nosuch WHERE a = $1", Left::NoColumn),
        ("SELECT 'no end", Left::NoEnd),
    ] {
        assert_eq!(planned(text, Style::Numbered), Err(wanted), "{text}");
    }
}

proptest! {
    /// Whatever a server counts, and however it was cut.
    #[test]
    fn no_text_is_too_odd(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "SELECT", "INSERT INTO", "UPDATE", "DELETE FROM", "customer", "line", "id", "(", ")",
                "[", "]", ",", ".", "...", "=", "-", "::", "$1", "$3", "?", "VALUES", "SET", "WHERE",
                "IN", "AND", "BETWEEN", "LIMIT", "AS", "WITH", "CASE", "WHEN", "THEN", "ON", "KEY",
                "ANY", "ARRAY", "'", "\"", "/*", "date", "FROM", "NOT", "CAST", "lower", "ä",
            ]),
            0..24,
        ),
        is_marked: bool,
        is_spaced: bool,
    ) {
        let text = words.join(if is_spaced { " " } else { "" });
        let style = if is_marked { Style::Marked } else { Style::Numbered };
        let _any = planned(&text, style);
        let _any = planned(&format!("SELECT {text}"), style);
        let _any = planned(&format!("INSERT INTO line {text}"), style);
        let _any = planned(&format!("INSERT INTO line SET note = ?, {text}"), style);
    }
}

//! Guesses for tables of many kinds, run on them.

use octavo_script::{Definitions, Script};

use super::{
    super::{
        super::programs::installed,
        original::Original,
        sample::tests::{programs, server, url},
    },
    propose,
};
use crate::own::numbered;

/// A table of 100 rows.
struct Case {
    schema: &'static str,
    /// The column that is changed, if one is.
    changed: Option<&'static str>,
    is_added_to: bool,
}

const fn case(schema: &'static str, changed: Option<&'static str>, is_added_to: bool) -> Case {
    Case {
        schema,
        changed,
        is_added_to,
    }
}

/// Runs what is guessed for each as often as may be.
fn run(cases: &[Case]) {
    let Some((_, directory)) = installed() else {
        eprintln!("skipped: PostgreSQL is not installed");
        return;
    };
    let (_home, server) = server(&directory, "none");
    let mut session = server.connect(&[]).unwrap();
    let url = url(&server);
    for Case {
        schema,
        changed,
        is_added_to,
    } in cases
    {
        session
            .simple("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
            .unwrap();
        session
            .simple(schema)
            .unwrap_or_else(|error| panic!("{schema}: {error}"));
        let original = Original::open(url.as_ref(), &programs(&directory)).unwrap();
        let text = propose(&original).unwrap().unwrap().script;
        assert_eq!(text.contains("INSERT"), *is_added_to, "{schema}: {text}");
        match changed {
            None => assert!(!text.contains("UPDATE"), "{schema}: {text}"),
            Some(column) => assert!(
                text.contains(&format!("SET {column} =")),
                "{schema}: {text}"
            ),
        }
        let script = Script::parse("guess", &text, &Definitions::default()).unwrap();
        for statement in script.statements() {
            let sql = numbered(&statement.parts, '$');
            for number in 1..=100 {
                // Steps stand before the key, and are 25 at most.
                let mut places = (1..=9).rev().map(|place| format!("${place}"));
                let key = places.find(|place| sql.contains(place)).unwrap();
                let step = (number % 25 + 1).to_string();
                let mut sql = sql.replace(&key, &number.to_string());
                for place in 1..=9 {
                    sql = sql.replace(&format!("${place}"), &step);
                }
                session
                    .simple(&sql)
                    .unwrap_or_else(|error| panic!("{schema}: {sql}: {error}"));
            }
        }
    }
}

#[test]
fn nothing_breaks_a_unique_index() {
    run(&[
        case(
            "CREATE TABLE t(id serial PRIMARY KEY, email text, body text);
             CREATE UNIQUE INDEX ON t(lower(email));
             INSERT INTO t(email) SELECT chr(64 + i % 26) || i / 26 FROM generate_series(1, 100) i;",
            Some("body"),
            false,
        ),
        case(
            "CREATE TABLE t(id serial PRIMARY KEY, a int, b text, c text);
             CREATE UNIQUE INDEX ON t(a) WHERE b = 'ax';
             INSERT INTO t(a, b) SELECT i, 'bx' FROM generate_series(1, 100) i;",
            Some("c"),
            false,
        ),
        case(
            "CREATE TABLE t(id serial PRIMARY KEY, a int,
                 b int GENERATED ALWAYS AS (a * 2) STORED UNIQUE);
             INSERT INTO t(a) SELECT i FROM generate_series(1, 100) i;",
            None,
            false,
        ),
        // What an expression cannot read.
        case(
            "CREATE TABLE t(id serial PRIMARY KEY, a text, n int GENERATED ALWAYS AS (a::int) STORED);
             INSERT INTO t(a) SELECT i FROM generate_series(1, 100) i;",
            None,
            true,
        ),
        // The twelfth column is not the second, nor the first.
        case(
            "CREATE TABLE t(id serial PRIMARY KEY, b int, c int, d int, e int, f int, g int, h int,
                 i int, j int, k int, l int);
             CREATE UNIQUE INDEX ON t((l + 1));
             INSERT INTO t(l) SELECT i FROM generate_series(1, 100) i;",
            Some("b"),
            false,
        ),
        case(
            "CREATE FUNCTION name(anyelement) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT $1::text';
             CREATE TABLE t(id serial PRIMARY KEY, a int);
             CREATE INDEX ON t(name(t));
             INSERT INTO t(a) SELECT i FROM generate_series(1, 100) i;",
            None,
            true,
        ),
    ]);
}

#[test]
fn nothing_breaks_what_holds_between_tables() {
    run(&[
        case(
            "CREATE TABLE t(id serial PRIMARY KEY, parent int REFERENCES t, n int);
             INSERT INTO t(parent) SELECT i FROM generate_series(1, 100) i;",
            Some("n"),
            true,
        ),
        case(
            "CREATE TABLE t(id serial PRIMARY KEY, a int) PARTITION BY RANGE (id);
             CREATE TABLE u PARTITION OF t FOR VALUES FROM (1) TO (101);
             CREATE UNIQUE INDEX ON u(a);
             INSERT INTO t(a) SELECT i FROM generate_series(1, 100) i;",
            None,
            false,
        ),
        case(
            "CREATE TABLE t(id serial PRIMARY KEY, a int);
             CREATE TABLE u(UNIQUE (a)) INHERITS (t);
             INSERT INTO u(a) SELECT i FROM generate_series(1, 100) i;",
            None,
            false,
        ),
    ]);
}

#[test]
fn rows_are_added_where_numbers_go_on() {
    run(&[
        case(
            "CREATE TABLE t(id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a int);
             INSERT INTO t(a) SELECT i FROM generate_series(1, 100) i;",
            Some("a"),
            true,
        ),
        case(
            "CREATE SEQUENCE \"Of Hand\" INCREMENT 5;
             CREATE TABLE t(id bigint DEFAULT nextval('\"Of Hand\"') PRIMARY KEY, a int);
             INSERT INTO t(a) SELECT i FROM generate_series(1, 100) i;",
            Some("a"),
            true,
        ),
        // Rows that came with their keys.
        case(
            "CREATE TABLE t(id serial PRIMARY KEY, a int);
             INSERT INTO t SELECT i, i FROM generate_series(1, 100) i;",
            Some("a"),
            false,
        ),
        case(
            "CREATE TABLE t(id serial PRIMARY KEY, a int);
             INSERT INTO t SELECT i, i FROM generate_series(1, 100) i;
             SELECT setval('t_id_seq', 99);",
            Some("a"),
            false,
        ),
        case(
            "CREATE TABLE t(id int PRIMARY KEY DEFAULT 0, a int);
             INSERT INTO t SELECT i, i FROM generate_series(1, 100) i;",
            Some("a"),
            false,
        ),
        case(
            "CREATE SEQUENCE s;
             CREATE TABLE t(id int PRIMARY KEY DEFAULT nextval('s') % 100, a int);
             INSERT INTO t(a) SELECT i FROM generate_series(1, 100) i;",
            Some("a"),
            false,
        ),
        case(
            "CREATE TABLE t(id smallserial PRIMARY KEY, a int);
             INSERT INTO t(a) SELECT i FROM generate_series(1, 100) i;",
            Some("a"),
            false,
        ),
        case(
            "CREATE TABLE t(id serial PRIMARY KEY, a int);
             ALTER SEQUENCE t_id_seq INCREMENT -1 MINVALUE -1000;
             INSERT INTO t(a) SELECT i FROM generate_series(1, 100) i;",
            Some("a"),
            false,
        ),
    ]);
}

#[test]
fn numbers_stay_in_their_range() {
    run(&[
        case(
            "CREATE TABLE t(id serial PRIMARY KEY, a numeric(4,2), b numeric(2,1), c numeric(3,2),
                 d numeric(2,2), e numeric(5,2));
             INSERT INTO t(a, b, c, d, e)
             SELECT i - 1, i % 10, i % 10, 0.99, 1000 - i FROM generate_series(1, 100) i;",
            Some("e"),
            true,
        ),
        case(
            "CREATE TABLE t(id serial PRIMARY KEY, a numeric(4,2));
             INSERT INTO t(a) SELECT 95 FROM generate_series(1, 100) i;",
            None,
            true,
        ),
        case(
            "CREATE TABLE t(id serial PRIMARY KEY, a numeric(2,-1));
             INSERT INTO t(a) SELECT i * 10 - 500 FROM generate_series(1, 100) i;",
            Some("a"),
            true,
        ),
        case(
            "CREATE TABLE t(id serial PRIMARY KEY, a numeric);
             INSERT INTO t(a) SELECT i * 1e9 FROM generate_series(1, 99) i UNION SELECT 'NaN';",
            Some("a"),
            true,
        ),
        case(
            "CREATE TABLE t(id serial PRIMARY KEY, a smallint);
             INSERT INTO t(a) SELECT -32768 FROM generate_series(1, 100) i;",
            Some("a"),
            true,
        ),
        case(
            "CREATE TABLE t(id serial PRIMARY KEY, a varchar(1));
             INSERT INTO t(a) SELECT '' FROM generate_series(1, 100) i;",
            Some("a"),
            true,
        ),
    ]);
}

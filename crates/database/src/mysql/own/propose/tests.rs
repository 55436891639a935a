//! Guesses for tables of many kinds, run on them.

use octavo_script::{Definitions, Script};

use super::{
    super::{
        super::{Flavour, programs::Programs},
        original::Original,
        sample::tests::{run as execute, server, url},
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
    let Ok(programs) = Programs::find(Flavour::Mariadb, None) else {
        eprintln!("skipped: MariaDB is not installed");
        return;
    };
    let (_home, layout, server, mut session) = server(&programs);
    let url = url(&layout);
    for Case {
        schema,
        changed,
        is_added_to,
    } in cases
    {
        execute(
            &mut session,
            "CREATE OR REPLACE DATABASE shop CHARACTER SET utf8mb4;\nUSE shop",
        );
        execute(&mut session, schema);
        let original = Original::open(url.as_ref(), &programs).unwrap();
        let text = propose(&original).unwrap().unwrap().script;
        assert_eq!(text.contains("INSERT"), *is_added_to, "{schema}: {text}");
        match changed {
            None => assert!(!text.contains("UPDATE"), "{schema}: {text}"),
            Some(column) => assert!(
                text.contains(&format!("SET `{column}` =")),
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
    drop(session);
    server.stop().unwrap();
}

#[test]
fn nothing_breaks_a_unique_index() {
    run(&[
        case(
            "CREATE TABLE t(id int AUTO_INCREMENT PRIMARY KEY, a int, g int AS (`A` * 2) UNIQUE);
INSERT INTO t(a) SELECT seq FROM seq_1_to_100",
            None,
            false,
        ),
        case(
            "SET sql_mode = 'ANSI_QUOTES';
CREATE TABLE t(id int AUTO_INCREMENT PRIMARY KEY, \"a\"\"b`c\" int, g int AS (\"a\"\"b`c\" * 2) UNIQUE, b int);
SET sql_mode = DEFAULT;
INSERT INTO t(`a\"b``c`) SELECT seq FROM seq_1_to_100",
            Some("b"),
            false,
        ),
        case(
            "CREATE TABLE t(id int AUTO_INCREMENT PRIMARY KEY, t text, b text, UNIQUE (t));
INSERT INTO t(t) SELECT CONCAT(CHAR(64 + seq % 26), seq DIV 26) FROM seq_1_to_100",
            Some("b"),
            false,
        ),
        case(
            "CREATE TABLE t(id int AUTO_INCREMENT PRIMARY KEY, a varchar(10), b int, UNIQUE (a(1), b));
INSERT INTO t(a, b) SELECT 'x', seq FROM seq_1_to_100",
            None,
            false,
        ),
        // What an expression cannot read.
        case(
            "CREATE TABLE t(id int AUTO_INCREMENT PRIMARY KEY, a text, n int AS (a) STORED);
INSERT INTO t(a) SELECT seq FROM seq_1_to_100",
            None,
            true,
        ),
    ]);
}

#[test]
fn rows_are_added_where_numbers_go_on() {
    run(&[
        case(
            "CREATE TABLE t(id int AUTO_INCREMENT PRIMARY KEY, a int);
INSERT INTO t SELECT seq, seq FROM seq_1_to_100",
            Some("a"),
            true,
        ),
        case(
            "CREATE TABLE t(id smallint AUTO_INCREMENT PRIMARY KEY, a int);
INSERT INTO t SELECT seq, seq FROM seq_1_to_100",
            Some("a"),
            false,
        ),
        case(
            "CREATE TABLE t(id int AUTO_INCREMENT PRIMARY KEY, a int) AUTO_INCREMENT = 2147483600;
INSERT INTO t SELECT seq, seq FROM seq_1_to_100",
            Some("a"),
            false,
        ),
        case(
            "CREATE TABLE t(id int unsigned AUTO_INCREMENT PRIMARY KEY, a int) AUTO_INCREMENT = 2147483600;
INSERT INTO t(a) SELECT seq FROM seq_1_to_100",
            Some("a"),
            true,
        ),
        case(
            "CREATE TABLE t(id int AUTO_INCREMENT PRIMARY KEY, a int)
PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (101));
INSERT INTO t SELECT seq, seq FROM seq_1_to_100",
            Some("a"),
            false,
        ),
    ]);
}

#[test]
fn values_stay_in_their_range() {
    run(&[
        case(
            "CREATE TABLE t(id int AUTO_INCREMENT PRIMARY KEY, a decimal(4,2), b decimal(2,1) unsigned,
c decimal(2,2), d float(4,2), e double(5,3), f varchar(0), g char(0), h decimal(5,2) unsigned);
INSERT INTO t(a, b, c, d, e, f, g, h)
SELECT 99, seq % 10, 0.99, 99, 99, '', '', 1000 - seq FROM seq_1_to_100",
            Some("h"),
            true,
        ),
        case(
            "CREATE TABLE t(id int AUTO_INCREMENT PRIMARY KEY, a decimal(4,2));
INSERT INTO t(a) SELECT 95 FROM seq_1_to_100",
            None,
            true,
        ),
        case(
            "CREATE TABLE t(id int AUTO_INCREMENT PRIMARY KEY, a tinyint(1));
INSERT INTO t(a) SELECT IF(seq % 2, 127, -128) FROM seq_1_to_100",
            Some("a"),
            true,
        ),
        case(
            "CREATE TABLE t(id int AUTO_INCREMENT PRIMARY KEY, a tinyint unsigned);
INSERT INTO t(a) SELECT IF(seq % 2, 255, 0) FROM seq_1_to_100",
            Some("a"),
            true,
        ),
        case(
            "CREATE TABLE t(id int AUTO_INCREMENT PRIMARY KEY, a float);
INSERT INTO t(a) SELECT -seq * 1e30 FROM seq_1_to_100",
            Some("a"),
            true,
        ),
        case(
            "CREATE TABLE t(id int AUTO_INCREMENT PRIMARY KEY, a varchar(1) CHARACTER SET utf16);
INSERT INTO t(a) SELECT '' FROM seq_1_to_100",
            Some("a"),
            true,
        ),
    ]);
}

//! What a user names to be measured: scripts, and files of SQLite.

use std::{convert::Infallible, fs, time::Duration};

use octavo_database::{DatabaseSpec, SQLITE, Statements};
use octavo_script::{Control, Definitions, Described, Host, Parameter, Random, Script, Value};
use rusqlite::Connection;

use crate::reader::{Reader, as_text, refuse};

pub(crate) const SCRIPT: Reader = Reader {
    name: "script",
    sound: scripts,
    read: read_script,
    cost: 1,
};

pub(crate) const FILE: Reader = Reader {
    name: "own-file",
    sound: files,
    read: read_file,
    cost: 2,
};

fn scripts() -> Vec<Vec<u8>> {
    [
        "\\set id random_zipfian(1, 10, 1.2)\nSELECT a, 'x :id' FROM t WHERE b = :id \\gset p_\n\
         BEGIN;\nUPDATE t SET a = :p_a + :scale;\nEND;\n",
        "\\if :client_id % 2 = 0 AND NOT FALSE\n  \\sleep 1 us\n\\elif CASE WHEN 1 THEN 2 END\n\
         A; -- c\n\\else\n  /* d */ B $$;$$;\n\\endif\n",
        "\\set x permute(hash(3), greatest(2, 7.5), -1) << 2 | ~ 5\nSELECT :x::int \\aset\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// Answers each statement with one row. Its fractions differ: distributions that reject draw
/// until one is good.
#[derive(Default)]
struct OneRow {
    drawn: f64,
}

impl Random for OneRow {
    fn uniform(&mut self, low: i64, high: i64) -> i64 {
        low.midpoint(high)
    }

    fn fraction(&mut self) -> f64 {
        self.drawn += 0.618_033_988_75;
        self.drawn.fract()
    }
}

impl Host for OneRow {
    type Error = Infallible;

    fn control(&mut self, _control: Control) -> Result<(), Infallible> {
        Ok(())
    }

    fn statement(
        &mut self,
        _statement: usize,
        _parameters: &[Parameter<'_>],
        column: &mut dyn FnMut(usize, Parameter<'_>),
    ) -> Result<(), Infallible> {
        column(0, Parameter::Value(Value::Integer(7)));
        column(1, Parameter::Text("text"));
        Ok(())
    }

    fn sleep(&mut self, _time: Duration) {}
}

fn read_script(bytes: &[u8]) -> bool {
    let script = match Script::parse("mix.sql", &as_text(bytes), &Definitions::default()) {
        Ok(script) => script,
        Err(error) => return refuse(&error),
    };
    let described = Described {
        columns: vec!["a".to_owned(), "b".to_owned()],
        reads: true,
    };
    let described = vec![described; script.statements().len()];
    let program = match script.compile(&described) {
        Ok(program) => program,
        Err(error) => return refuse(&error),
    };
    if let Err(error) = program.run(&mut program.state(0, 1), &mut OneRow::default()) {
        refuse(&error);
    }
    true
}

fn files() -> Vec<Vec<u8>> {
    let directory = tempfile::tempdir().expect("a scratch directory");
    let path = directory.path().join("my.db");
    let made = Connection::open(&path).and_then(|file| {
        file.execute_batch(
            "PRAGMA page_size=512; CREATE TABLE a(id INTEGER PRIMARY KEY, b TEXT, c AS (id + 1));
             CREATE UNIQUE INDEX i ON a(b COLLATE NOCASE); CREATE VIEW v AS SELECT b FROM a;
             CREATE VIRTUAL TABLE f USING fts5(body); INSERT INTO f VALUES ('some words');
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50)
             INSERT INTO a SELECT i, 'row ' || i FROM n; ANALYZE;",
        )
    });
    made.expect("a database is made");
    vec![fs::read(&path).expect("a database is read")]
}

/// Looks at the file and guesses a script, as advise does before it copies.
fn read_file(bytes: &[u8]) -> bool {
    let directory = tempfile::tempdir().expect("a scratch directory");
    let path = directory.path().join("my.db");
    fs::write(&path, bytes).expect("a file is written");
    let spec = DatabaseSpec::new(&SQLITE, Vec::new()).expect("SQLite without options");
    let database = spec.make().expect("SQLite without options");
    let copies = database.copies_own().expect("SQLite copies files");
    let script = match copies
        .examine(path.as_os_str())
        .and_then(|_| copies.propose(path.as_os_str()))
    {
        Ok(script) => script,
        Err(error) => return refuse(&error),
    };
    let left = fs::read_dir(directory.path())
        .expect("the directory")
        .count();
    assert_eq!(left, 1, "nothing is made beside the file");
    assert_eq!(
        fs::read(&path).expect("the file"),
        bytes,
        "the file stays as it is"
    );
    if let Some(text) = script {
        let script = Script::parse("guess", &text, &Definitions::default());
        let script = script.expect("what is guessed can be read");
        if let Err(error) = copies.prepare(path.as_os_str(), Statements::Scripts(&[script])) {
            refuse(&error);
        }
    }
    true
}

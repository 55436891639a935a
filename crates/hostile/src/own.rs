//! What a user names to be measured: scripts, recordings, and files of SQLite.

use std::{convert::Infallible, fs, path::Path, time::Duration};

use octavo_database::{DatabaseSpec, POSTGRES, SQLITE, Statements};
use octavo_script::{
    Control, Definitions, Described, Host, PARAMETERS_MAX, Parameter, Random, Script, Value,
};
use octavo_units::{ByteCount, PageSize};
use octavo_workload::user::{CopyOf, Copying};
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

pub(crate) const RECORDING: Reader = Reader {
    name: "recording",
    sound: recordings,
    read: read_recording,
    cost: 1,
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

fn recordings() -> Vec<Vec<u8>> {
    // The columns of PostgreSQL 15, with one line for its messages. 1e22 ms are more than half of what
    // a time can be.
    let csvlog = [
        "duration: 1e22 ms  parse <unnamed>: SELECT a FROM t WHERE b = $1",
        "duration: 1e22 ms  execute <unnamed>: SELECT a FROM t WHERE b = $1",
        "statement: BEGIN",
        "statement: UPDATE t SET a = 5 WHERE b = 'it''s'",
        "duration: 1e22 ms",
        "statement: COMMIT",
        "duration: 0.250 ms  statement: SELECT a FROM t WHERE b = 7",
    ]
    .map(|message| {
        let detail = match message.contains("execute") {
            true => "parameters: $1 = '5'",
            false => "",
        };
        format!(
            "2026-11-27 08:00:00.123 UTC,\"a\",\"my.db\",7,\"[local]\",5.1,1,\"SELECT\",\
             2026-11-27 08:00:00 UTC,3/2,0,LOG,00000,\"{message}\",\"{detail}\",,,,,,,,\"shop\",\
             \"client backend\",,0\n"
        )
    })
    .concat();
    [
        "BEGIN;\nSELECT a FROM t WHERE b = 5 AND c = 'it''s'; -- 1200 ns\nSELECT a FROM t WHERE b = -7 \
         AND c = x'00ff';\nSAVEPOINT s;\nINSERT INTO t VALUES(NULL, 1.5e3, 12345678901, 2.5);\n\
         ROLLBACK TO s;\nINSERT INTO t VALUES(1, 2, 3, NULL);\nRELEASE s;\nCOMMIT;\n",
        "CREATE TEMP TRIGGER x AFTER INSERT ON t BEGIN UPDATE t SET a = CASE WHEN b THEN 1 END; END;\n\
         SELECT \"a\", [b c], `d` FROM t ORDER BY a, 2 LIMIT 5 /* why */;\nSAVEPOINT o;\nDELETE FROM t;\n\
         RELEASE o;\nWITH n AS (SELECT 1) SELECT * FROM n WHERE x IN (1, 2, 3);\n",
        csvlog.as_str(),
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// Reads a trace of SQLite's or a log of PostgreSQL's, and each transaction as clients do.
fn read_recording(bytes: &[u8]) -> bool {
    let directory = tempfile::tempdir().expect("a scratch directory");
    let path = directory.path().join("my.trace");
    fs::write(&path, bytes).expect("a file is written");
    let is_read = [&SQLITE, &POSTGRES].map(|kind| {
        let spec = DatabaseSpec::new(kind, Vec::new()).expect("a database without options");
        read_recording_of(&spec, &path)
    });
    is_read.contains(&true)
}

fn read_recording_of(spec: &DatabaseSpec, path: &Path) -> bool {
    let database = spec.make().expect("a database without options");
    let copies = database.copies_own().expect("it copies databases");
    let copy = CopyOf::whole("my.db", ByteCount::mib(1), PageSize::kib(4), "my.db");
    let recording = match copies.read_recording("my.db".as_ref(), &copy, &[path.to_owned()]) {
        Ok(recording) => recording,
        Err(error) => return refuse(&error),
    };
    let mut sent = 0;
    for order in recording.by_client(2) {
        for position in order {
            let transaction = &recording.transactions[position as usize];
            for step in recording.steps(transaction) {
                sent += 1;
                assert!(recording.values(step).len() <= PARAMETERS_MAX);
            }
        }
    }
    assert_eq!(sent, recording.kept());
    let left: u64 = recording.left.values().sum();
    assert_eq!(sent + left, recording.statements, "each is counted once");
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
        .examine(path.as_os_str(), &Copying::WHOLE, &|| false)
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
    if let Some(guess) = script {
        let script = Script::parse("guess", &guess.script, &Definitions::default());
        let script = script.expect("what is guessed can be read");
        if let Err(error) = copies.prepare(path.as_os_str(), Statements::Scripts(&[script])) {
            refuse(&error);
        }
    }
    true
}

//! What scripts do, beside what pgbench 15.18 did with the same: it printed these values
//! (`\set x debug(...)`, `--random-seed=1 -D v=7 -D w=2.5 -D t=true`).

use std::{convert::Infallible, time::Duration};

use octavo_script::{
    Access, Control, Definitions, Described, Host, Parameter, Part, Program, Random, RunError,
    Script, State, StatementText, Value,
};

/// Notes what is asked of it. A statement that begins with a number answers with so many rows:
/// 1, "b"; 2, "b"; and so on.
#[derive(Default)]
struct Notes {
    texts: Vec<String>,
    done: Vec<String>,
    draws: i64,
}

impl Random for Notes {
    fn uniform(&mut self, low: i64, high: i64) -> i64 {
        self.draws += 1;
        low + self.draws % (high - low + 1)
    }

    fn fraction(&mut self) -> f64 {
        self.draws += 1;
        (self.draws as f64 * 0.618_033_988_75).fract()
    }
}

impl Host for Notes {
    type Error = Infallible;

    fn control(&mut self, control: Control) -> Result<(), Infallible> {
        self.done.push(format!("{control:?}"));
        Ok(())
    }

    fn statement(
        &mut self,
        statement: usize,
        parameters: &[Parameter<'_>],
        column: &mut dyn FnMut(usize, Parameter<'_>),
    ) -> Result<(), Infallible> {
        let text = &self.texts[statement];
        let shown = parameters.iter().map(|parameter| match parameter {
            Parameter::Text(text) => format!("'{text}'"),
            Parameter::Value(value) => show(*value),
        });
        self.done.push(format!(
            "{text} <- {}",
            shown.collect::<Vec<_>>().join(", ")
        ));
        let rows = text
            .split(' ')
            .next()
            .and_then(|word| word.parse().ok())
            .unwrap_or(0);
        for row in 1..=rows {
            column(0, Parameter::Value(Value::Integer(row)));
            column(1, Parameter::Text("b"));
        }
        Ok(())
    }

    fn sleep(&mut self, time: Duration) {
        self.done.push(format!("sleep {time:?}"));
    }
}

/// As pgbench's debug() prints it, but for the digits of doubles.
fn show(value: Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Boolean(value) => format!("boolean {value}"),
        Value::Integer(value) => format!("int {value}"),
        Value::Double(value) => format!("double {value:.14e}"),
    }
}

fn definitions() -> Definitions {
    let mut definitions = Definitions::default();
    definitions.set("v", "7");
    definitions.set("w", "2.5");
    definitions.set("t", "true");
    definitions
}

fn compile(source: &str) -> Result<(Program, Notes), String> {
    let script =
        Script::parse("s.sql", source, &definitions()).map_err(|error| error.to_string())?;
    let describe = |statement: &StatementText| Described {
        columns: vec!["a".to_owned(), "b".to_owned()],
        reads: matches!(&statement.parts[0], Part::Text(text)
            if text.starts_with("SELECT") && !text.contains("FOR UPDATE")),
    };
    let described: Vec<Described> = script.statements().iter().map(describe).collect();
    let program = script
        .compile(&described)
        .map_err(|error| error.to_string())?;
    let text = |parts: &[Part]| {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Parameter(position) => format!("${}", position + 1),
        };
        parts.iter().map(part).collect::<String>()
    };
    let statements = script.statements().iter();
    let notes = Notes {
        texts: statements.map(|statement| text(&statement.parts)).collect(),
        ..Notes::default()
    };
    Ok((program, notes))
}

fn run(source: &str) -> Result<Vec<String>, String> {
    let (program, mut notes) = compile(source)?;
    let mut state: State = program.state(3, 1);
    match program.run(&mut state, &mut notes) {
        Ok(_) => Ok(notes.done),
        Err(RunError::Host { error, .. }) => match error {},
        Err(error) => Err(error.to_string()),
    }
}

fn value(expression: &str) -> Result<String, String> {
    let done = run(&format!("\\set x {expression}\nSELECT :x"))?;
    Ok(done[0].trim_start_matches("SELECT $1 <- ").to_owned())
}

#[test]
fn expressions_have_the_values_that_pgbench_gives_them() {
    for (expression, wanted) in [
        ("1 + 2 * 3", "int 7"),
        ("-2 + 5", "int 3"),
        ("- 2 * 3", "int -6"),
        ("7 / 2", "int 3"),
        ("-7 / 2", "int -3"),
        ("7 / 2.0", "double 3.5"),
        ("7.5 % 2", "int 0"),
        ("-7 % 3", "int -1"),
        ("2 << 3 + 1", "int 32"),
        ("1 | 2 & 3", "int 3"),
        ("1 # 3", "int 2"),
        ("~ 5", "int -6"),
        ("~ 1 + 2", "int -4"),
        ("~ 1 & 2", "int 2"),
        ("NOT 1 = 2", "boolean true"),
        ("NOT FALSE AND FALSE", "boolean false"),
        ("TRUE OR NULL", "boolean true"),
        ("FALSE AND NULL", "boolean false"),
        ("TRUE AND NULL", "null"),
        ("NULL AND FALSE", "null"),
        ("NULL OR TRUE", "null"),
        ("NOT NULL", "null"),
        ("NULL IS NULL", "boolean true"),
        ("1 IS NULL", "boolean false"),
        ("1 ISNULL", "boolean false"),
        ("NULL NOTNULL", "boolean false"),
        ("1 IS NOT NULL", "boolean true"),
        ("1 = 1.0", "boolean true"),
        ("1 <> 2", "boolean true"),
        ("2 > 1", "boolean true"),
        ("2 >= 2.0", "boolean true"),
        ("1 < NULL", "null"),
        ("TRUE IS TRUE", "boolean true"),
        ("1 IS TRUE", "boolean false"),
        ("FALSE IS NOT TRUE", "boolean true"),
        ("CASE WHEN 0 THEN 1 WHEN 2 THEN 3 ELSE 4 END", "int 3"),
        ("CASE WHEN NULL THEN 1 END", "null"),
        ("abs(-17)", "int 17"),
        ("abs(-17.5)", "double 17.5"),
        ("double(5432)", "double 5432"),
        ("int(5.4 + 3.8)", "int 9"),
        ("int(2.5)", "int 2"),
        ("int(3.5)", "int 4"),
        ("exp(1.0)", "double 2.71828182845905"),
        ("ln(2.0)", "double 0.693147180559945"),
        ("sqrt(2)", "double 1.4142135623731"),
        ("pow(2, 10)", "double 1024"),
        ("power(2.0, 0.5)", "double 1.4142135623731"),
        ("pi()", "double 3.14159265358979"),
        ("greatest(5, 4, 3, 2)", "int 5"),
        ("greatest(5, 4.5)", "double 5"),
        ("least(5, 4, 2.1)", "double 2.1"),
        ("least(1, NULL)", "null"),
        ("mod(54, 32)", "int 22"),
        ("hash(10, 5432)", "int -5817877081768721676"),
        ("hash_fnv1a(10, 5432)", "int -7793829335365542153"),
        ("hash_murmur2(10, 5432)", "int -5817877081768721676"),
        ("hash(-1, 0)", "int 4219408603045787357"),
        ("hash_fnv1a(-1, -1)", "int 9116541788052886162"),
        ("permute(0, 10, 5432)", "int 6"),
        ("permute(7, 10, 5432)", "int 4"),
        ("permute(12345, 1000000, 42)", "int 100143"),
        ("permute(-5, 1000000007, 1)", "int 892555021"),
        ("permute(3, 1, 7)", "int 0"),
        (
            "permute(9223372036854775806, 9223372036854775807, -77)",
            "int 3969267917432548341",
        ),
        ("-9223372036854775808", "int -9223372036854775808"),
        ("1.0 / 0", "double inf"),
        ("1e3", "double 1000"),
        (".5", "double 0.5"),
        ("1.", "double 1"),
        ("NULL + 1", "null"),
        ("5 - 3 - 1", "int 1"),
        ("2 * 3 % 4", "int 2"),
        ("100 >> 2 >> 1", "int 12"),
        ("-:v", "int -7"),
        (":v + :w", "double 9.5"),
        ("CASE WHEN :t AND TRUE THEN :client_id ELSE 0 END", "int 3"),
        ("+ 5", "int 5"),
        ("- - 5", "int 5"),
        ("debug(4)", "int 4"),
        ("sqrt(-1)", "double nan"),
        ("1 + \\\n  2", "int 3"),
        ("1e3 IS NOT FALSE NOTNULL", "boolean true"),
        ("5 NOTNULL ISNULL", "boolean false"),
    ] {
        let found = value(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
        let is_same = match (
            found.strip_prefix("double "),
            wanted.strip_prefix("double "),
        ) {
            (Some(found), Some(wanted)) => {
                let (found, wanted): (f64, f64) = (found.parse().unwrap(), wanted.parse().unwrap());
                found == wanted
                    || (found.is_nan() && wanted.is_nan())
                    || (found - wanted).abs() <= wanted.abs() * 1e-13
            }
            _ => found == wanted,
        };
        assert!(is_same, "{expression} is {found}, not {wanted}");
    }
}

#[test]
fn expressions_without_a_value_are_told_as_pgbench_tells_them() {
    for (expression, words) in [
        ("9223372036854775807 + 1", "bigint add out of range"),
        ("9223372036854775807 * 2", "bigint mul out of range"),
        ("-9223372036854775808 - 1", "bigint sub out of range"),
        ("-9223372036854775808 / -1", "bigint div out of range"),
        ("1 / 0", "division by zero"),
        ("1 % 0", "division by zero"),
        ("2 IS NULL = FALSE", "cannot coerce boolean to int"),
        ("1 + TRUE", "cannot coerce boolean to int"),
        ("TRUE AND 1", "cannot coerce int to boolean"),
        ("NOT 1", "cannot coerce int to boolean"),
        ("1 = TRUE", "cannot coerce boolean to int"),
        ("int(1e19)", "double to int overflow"),
        ("random(5, 4)", "empty range given to random"),
        (
            "random_gaussian(1, 10, 1.0)",
            "gaussian parameter must be at least 2",
        ),
        (
            "random_zipfian(1, 10, 1.0)",
            "zipfian parameter must be 1.001 to 1000",
        ),
        (
            "random_exponential(1, 10, 0)",
            "exponential parameter must be greater than zero",
        ),
        (
            "permute(1, 0)",
            "permute size parameter must be greater than zero",
        ),
        // What pgbench's parser refuses, with the place.
        (
            "1 < 2 < 3",
            "s.sql:1:14: put parentheses around the comparison before",
        ),
        ("1 +", "a value is expected here"),
        ("foo(1)", "s.sql:1:8: foo is no function of pgbench's"),
        ("hash()", "hash takes 1 or 2 arguments, not 0"),
        (
            "1 2",
            "s.sql:1:10: an operator or the line's end is expected here",
        ),
        ("(1", ") is expected here"),
        ("1 ? 2", "this character means nothing here"),
        ("12a", "a number ends here, and a letter follows"),
        ("9223372036854775808", "this number is too large"),
        (
            ":nobody",
            "s.sql:1:8: nobody is not set: put \\set nobody before, or give -D nobody=",
        ),
        (": + 1", "a variable's name is missing behind the colon"),
    ] {
        let error = value(expression).unwrap_err();
        assert!(error.contains(words), "{expression}: {error}");
    }
    let deep = format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(value(&deep).unwrap_err().contains("nested too deeply"));
    let long = format!("1{}", "+1".repeat(100_000));
    assert!(value(&long).unwrap_err().contains("too long"));
    let deep = format!("{}1", "-".repeat(100_000));
    assert!(value(&deep).unwrap_err().contains("nested too deeply"));
}

#[test]
fn branches_are_taken_by_conditions() {
    let source = "
        \\if :v > 7
          A;
          \\if 1
            B;
          \\endif
        \\elif :v = 7
          C;
        \\elif 1
          D;
        \\else
          E;
        \\endif
        \\if NULL
          F;
        \\else
          G;
        \\endif
        H";
    assert_eq!(run(source).unwrap(), ["C <- ", "G <- ", "H <- "]);
    for (source, words) in [
        ("\\if 1\nA;", "s.sql:1:1: this \\if has no \\endif"),
        ("\\endif", "there is no \\if before this"),
        (
            "\\if 1\n\\else\n\\elif 1\n\\endif",
            "s.sql:3:1: this stands behind \\else",
        ),
        (
            "\\if 1\n\\else\n\\else\n\\endif",
            "this stands behind \\else",
        ),
        ("\\else x", "\\else takes at most 0 of these"),
    ] {
        assert!(run(source).unwrap_err().contains(words), "{source}");
    }
}

#[test]
fn rows_become_variables() {
    let source = "1 SELECT x \\gset p_\nSELECT :p_a, :p_b;\n3 SELECT y \\aset\nSELECT :a + :b;\n0 SELECT z \\aset\nSELECT :a";
    assert_eq!(
        run(source).unwrap(),
        [
            "1 SELECT x <- ",
            "SELECT $1, $2 <- int 1, 'b'",
            "3 SELECT y <- ",
            "SELECT $1 + $2 <- int 3, 'b'",
            "0 SELECT z <- ",
            "SELECT $1 <- int 3",
        ]
    );
    let error = run("SELECT 1;\n2 SELECT x \\gset").unwrap_err();
    assert_eq!(
        error,
        "s.sql, line 2: \\gset wants one row, and there were 2"
    );
    assert!(
        run("\\gset")
            .unwrap_err()
            .contains("must stand behind a statement")
    );
    assert!(
        run("1 A \\gset\n\\gset")
            .unwrap_err()
            .contains("must stand behind a statement")
    );
    let error = run("\\set x :b + 1\n1 A \\gset").unwrap_err();
    assert!(
        error.starts_with("s.sql:1:1: b has no value yet\n"),
        "{error}"
    );
}

/// What each run would end with is told before the first one; what the database's answers decide
/// is not known yet.
#[test]
fn expressions_that_need_no_answer_are_tried_beforehand() {
    let said = |source: &str| compile(source).err().unwrap_or_default();
    let error = said("\\set n 5\nSELECT 1;\n\\set k random_zipfian(1, :n, 0.9)\nSELECT :k");
    assert!(
        error.starts_with("s.sql:3:1: zipfian parameter must be 1.001 to 1000\n  \\set k"),
        "{error}"
    );
    assert!(said("\\sleep :y ms\n\\set y 1\nSELECT :y").contains("y has no value yet"));
    assert!(said("SELECT :y;\n\\set y 1").contains("y has no value yet"));
    for later in [
        "1 SELECT x \\gset\n\\set y 1 / (:a - 1)\nSELECT :y",
        "\\if :client_id > 5\n\\set y 1 / 0\n\\else\n\\set y 1\n\\endif\nSELECT :y",
    ] {
        assert_eq!(said(later), "", "{later}");
    }
}

#[test]
fn transactions_say_whether_they_write() {
    for (source, wanted) in [
        (
            "BEGIN; SELECT 1; END;",
            vec![Control::Begin(Access::Read), Control::Commit],
        ),
        (
            "BEGIN; SELECT 1; UPDATE t; COMMIT;",
            vec![Control::Begin(Access::Write), Control::Commit],
        ),
        (
            "BEGIN READ ONLY; UPDATE t; ROLLBACK",
            vec![Control::Begin(Access::Read), Control::Rollback],
        ),
        (
            "BEGIN; SELECT 1; END; UPDATE t; BEGIN; SELECT 1; SELECT 2 FOR UPDATE; END",
            vec![
                // What is behind its end counts too: no transaction is hurt by it.
                Control::Begin(Access::Write),
                Control::Commit,
                Control::Begin(Access::Write),
                Control::Commit,
            ],
        ),
        (
            "START TRANSACTION ISOLATION LEVEL SERIALIZABLE; ABORT",
            vec![Control::Begin(Access::WriteSerializable), Control::Rollback],
        ),
    ] {
        let done = run(source).unwrap();
        let controls: Vec<&String> = done.iter().filter(|done| !done.contains("<-")).collect();
        let wanted: Vec<String> = wanted
            .iter()
            .map(|control| format!("{control:?}"))
            .collect();
        assert_eq!(controls, wanted.iter().collect::<Vec<_>>(), "{source}");
    }
    for (source, words) in [
        ("BEGIN; A; BEGIN;", "begins within another one"),
        ("COMMIT", "no transaction to end"),
        (
            "A;\nBEGIN;\nB",
            "s.sql:2:1: the script ends within this transaction",
        ),
    ] {
        assert!(run(source).unwrap_err().contains(words), "{source}");
    }
}

#[test]
fn transactions_of_branches_are_known_when_they_run() {
    let source = |condition: &str, end: &str| {
        format!("BEGIN;\n\\if {condition}\nA;\nEND;\n\\else\nB;\n\\endif\n{end}")
    };
    assert_eq!(run(&source("1", "")).unwrap().last().unwrap(), "Commit");
    let error = run(&source("0", "")).unwrap_err();
    assert!(
        error.contains("the script ends within a transaction"),
        "{error}"
    );
    let error = run(&source("1", "ROLLBACK")).unwrap_err();
    assert!(error.contains("no transaction to end"), "{error}");
    // Each branch ends it, so nothing is open behind them.
    let both = "BEGIN;\n\\if 1\nEND;\n\\else\nABORT;\n\\endif\nEND";
    assert!(
        run(both)
            .unwrap_err()
            .contains("s.sql:7:1: there is no transaction to end")
    );
}

/// As pgbench -M simple puts them into a statement.
#[test]
fn variables_in_quotes_are_joined_to_one_text() {
    let source = "\\set n NULL\n\\set b TRUE\n\\set h 10.0 / 4\n1 SELECT x \\gset\n\
                  SELECT 'a:n :b|:h', ':b', ':v:w', '{\"k\":true}', 'it''s ', :w, :t;";
    assert_eq!(
        run(source).unwrap()[1],
        "SELECT $1, $2, $3, $4, 'it''s ', $5, $6 <- 'aNULL b|2.5', 'b', '72.5', '{\"k\":true}', \
         double 2.50000000000000e0, boolean true"
    );
    let mut definitions = Definitions::default();
    for (name, text) in [("zip", "01234"), ("who", "O''Brien"), ("no", "no")] {
        definitions.set(name, text);
    }
    let script = Script::parse("s", "SELECT ':zip', ':who', :zip, :no", &definitions).unwrap();
    let program = script.compile(&[Described::default()]).unwrap();
    let mut notes = Notes {
        texts: vec![String::new()],
        ..Notes::default()
    };
    program.run(&mut program.state(0, 0), &mut notes).unwrap();
    assert_eq!(notes.done, [" <- '01234', 'O'Brien', int 1234, 'no'"]);
}

#[test]
fn other_commands() {
    assert_eq!(
        run("\\sleep 5 ms\n\\sleep 2us\n\\set n 3\n\\sleep :n\n\\startpipeline\nA;\n\\endpipeline")
            .unwrap(),
        ["sleep 5ms", "sleep 2\u{b5}s", "sleep 3s", "A <- "]
    );
    for (source, words) in [
        ("\\sleep", "the number is missing"),
        ("\\sleep 1 h", "us, ms and s"),
        ("\\sleep 1ms s", "two units"),
        ("\\shell ls", "\\shell is not supported"),
        ("\\nothing", "\\nothing is no command of pgbench's"),
        ("\\set", "the name is missing"),
        ("\\set a-b 1", "letters, digits and underscores"),
        ("-- nothing\n", "this script does nothing"),
        ("A \\; B;", "write BEGIN and COMMIT"),
    ] {
        assert!(run(source).unwrap_err().contains(words), "{source}");
    }
}

/// The built-in scripts of pgbench 17, as `pgbench --show-script` prints them.
#[test]
fn pgbench_s_own_scripts_are_read() {
    let source = "\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
";
    let done = run(source).unwrap();
    assert_eq!(done.len(), 7);
    assert_eq!(
        done[1],
        "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2 <- int -4996, int 2"
    );
    assert_eq!(
        (done[0].as_str(), done[6].as_str()),
        ("Begin(Write)", "Commit")
    );
}

proptest::proptest! {
    /// Whatever a file holds, it is read or refused.
    #[test]
    fn any_text_is_read_or_refused(source in "(\\\\(set|if|elif|else|endif|gset|sleep|aset) ?|[a-c:;'\"$\\n\\\\ ()+*/<=%0-9.-]|random\\(|BEGIN|END|SELECT ){0,30}") {
        if let Ok((program, mut notes)) = compile(&source) {
            let _refused = program.run(&mut program.state(0, 0), &mut notes);
        }
    }
}

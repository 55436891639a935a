//! A dump without options of tables that a server of Octavo's cannot have: it has no key service and no
//! tablespaces that users made, and its files are in its own directory.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead as _, BufReader, Read as _},
    ops::Range,
    os::unix::fs::FileExt as _,
    path::Path,
};

/// What the last line of a CREATE TABLE begins with in a dump, and those of its partitions, and what all of
/// these have. Rows are in lines that begin with INSERT, and line breaks in them are escaped.
const BEGINNINGS: [&str; 5] = [
    ") ",
    "(PARTITION ",
    " PARTITION ",
    " (SUBPARTITION ",
    "  SUBPARTITION ",
];

/// See [`BEGINNINGS`].
const ENGINE: &str = " ENGINE";

/// The longest line of options that is looked at. A comment has at most 2,048 characters.
const LINE_MAX: u64 = 1 << 16;

/// What they are called: by MySQL, which may have them in comments for servers, and by MariaDB, whose
/// options keep the letters that they were written with.
const NAMES: [&str; 9] = [
    "data directory=",
    "data directory = ",
    "index directory=",
    "index directory = ",
    "tablespace = ",
    "tablespace ",
    "encryption=",
    "`encrypted`=",
    "`encryption_key_id`=",
];

/// Writes blanks over options that say where tables are, that they are encrypted, and with which key.
/// Answers whether there were any.
pub(super) fn blank(dump: &Path) -> io::Result<bool> {
    let mut reader = BufReader::with_capacity(1 << 18, File::open(dump)?);
    let writer = OpenOptions::new().write(true).open(dump)?;
    let mut part = Vec::new();
    let (mut offset, mut begins, mut has_any) = (0, true, false);
    loop {
        part.clear();
        let length = (&mut reader).take(LINE_MAX).read_until(b'\n', &mut part)?;
        if length == 0 {
            return Ok(has_any);
        }
        if begins && is_options(&part) {
            for range in unwanted(&part) {
                has_any = true;
                let blanks = vec![b' '; range.len()];
                writer.write_all_at(&blanks, offset + range.start as u64)?;
            }
        }
        begins = part.ends_with(b"\n");
        offset += length as u64;
    }
}

fn is_options(line: &[u8]) -> bool {
    let mut beginnings = BEGINNINGS.iter();
    beginnings.any(|begin| line.starts_with(begin.as_bytes()))
        && line
            .windows(ENGINE.len())
            .any(|part| part == ENGINE.as_bytes())
}

/// Where a line of options has such a one: outside of quoted texts.
fn unwanted(line: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < line.len() {
        let rest = &line[at..];
        let length = match rest[0] {
            b'\'' => quoted(rest),
            _ => match option(rest) {
                Some(length) => {
                    found.push(at..at + length);
                    length
                }
                None => 1,
            },
        };
        at += length;
    }
    found
}

/// The length of an option that a text begins with, if it is such a one.
fn option(text: &[u8]) -> Option<usize> {
    let name = NAMES.iter().find(|name| begins_with(text, name))?;
    Some(name.len() + value(&text[name.len()..]))
}

/// Whether a text begins with a name, in any letters.
fn begins_with(text: &[u8], name: &str) -> bool {
    let begin = text.get(..name.len());
    begin.is_some_and(|begin| begin.eq_ignore_ascii_case(name.as_bytes()))
}

/// The length of an option's value.
fn value(text: &[u8]) -> usize {
    if matches!(text.first(), Some(b'\'' | b'`')) {
        return quoted(text);
    }
    let is_word = |byte: &&u8| byte.is_ascii_alphanumeric();
    text.iter().take_while(is_word).count()
}

/// The length of a text in quotes, which may be doubled or have a backslash before them.
fn quoted(text: &[u8]) -> usize {
    let quote = text[0];
    let mut at = 1;
    while at < text.len() {
        match text[at] {
            b'\\' if quote == b'\'' => at += 2,
            // The second one of two begins another text.
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn options_become_blank_and_texts_and_rows_stay() {
        let directory = crate::scratch::directory();
        let path = directory.path().join("copy.sql");
        let rows =
            r"INSERT INTO `t` VALUES ('/*!80016 ENCRYPTION=\'Y\' */\n) ENGINE=x `ENCRYPTED`=YES');";
        // Longer than what is looked at.
        let long = ") ENGINE=`encrypted`=YES".repeat(20_000);
        let of_mysql = r"COMMENT='it''s ENCRYPTION=''Y'''";
        let of_mariadb = r"`page_compressed`=1 COMMENT='a\'`ENCRYPTED`=YES'";
        let dump = |options: [&str; 7]| {
            let [plain, tablespace, wrapped, first, second, directory, part] = options;
            format!(
                "CREATE TABLE `t` (\n  `a` int\n) ENGINE=InnoDB {of_mysql} {plain};\n{rows}\nCREATE TABLE \
                 `s` (\n  `a` int\n) /*!50100 {tablespace} */ ENGINE=InnoDB /*!80016 {wrapped} */;\nINSERT \
                 INTO `t` VALUES ('{long}');\nCREATE TABLE `u` (\n  `encrypted` int\n) ENGINE=InnoDB {first} \
                 {second} {of_mariadb} {directory}\n PARTITION BY RANGE (`a`)\n(PARTITION `p` VALUES LESS \
                 THAN (1) {part} ENGINE = InnoDB);\n"
            )
        };
        let options = [
            "ENCRYPTION='Y'",
            r"TABLESPACE `t\`",
            "ENCRYPTION='Y'",
            "`Encrypted`='YES'",
            "`encryption_key_id`=2",
            "DATA DIRECTORY='/x y/'",
            "DATA DIRECTORY = '/x' TABLESPACE = `ts`",
        ];
        fs::write(&path, dump(options)).unwrap();
        assert!(blank(&path).unwrap());
        // What stands between two of them is one blank as well.
        let blanks = options.map(|option| " ".repeat(option.len()));
        let wanted = dump(blanks.each_ref().map(String::as_str));
        assert_eq!(fs::read_to_string(&path).unwrap(), wanted);
        assert!(!blank(&path).unwrap());
    }
}

//! A dump without the encryption of tables: a server of Octavo's has no key service.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead as _, BufReader, Read as _},
    ops::Range,
    os::unix::fs::FileExt as _,
    path::Path,
};

/// What the last line of a CREATE TABLE begins with in a dump, and what it has: a tablespace may stand
/// between them. Rows are in lines that begin with INSERT, and line breaks in them are escaped.
const OPTIONS: [&str; 2] = [") ", " ENGINE="];

/// The longest line of options that is looked at. A comment has at most 2,048 characters.
const LINE_MAX: u64 = 1 << 16;

/// What encryption is called: by MySQL, which may have it in a comment for servers, and by MariaDB, whose
/// options keep the letters that they were written with.
const NAMES: [&str; 3] = ["encryption=", "`encrypted`=", "`encryption_key_id`="];

/// Writes blanks over the options of tables that say that these are encrypted, and by which key.
pub(super) fn blank(dump: &Path) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(1 << 18, File::open(dump)?);
    let writer = OpenOptions::new().write(true).open(dump)?;
    let mut part = Vec::new();
    let (mut offset, mut begins) = (0, true);
    loop {
        part.clear();
        let length = (&mut reader).take(LINE_MAX).read_until(b'\n', &mut part)?;
        if length == 0 {
            return Ok(());
        }
        if begins && is_options(&part) {
            for range in encryption(&part) {
                let blanks = vec![b' '; range.len()];
                writer.write_all_at(&blanks, offset + range.start as u64)?;
            }
        }
        begins = part.ends_with(b"\n");
        offset += length as u64;
    }
}

fn is_options(line: &[u8]) -> bool {
    let [begin, engine] = OPTIONS.map(str::as_bytes);
    line.starts_with(begin) && line.windows(engine.len()).any(|part| part == engine)
}

/// Where a line of options says that a table is encrypted: outside of quoted texts.
fn encryption(line: &[u8]) -> Vec<Range<usize>> {
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

/// The length of an option that a text begins with, if it is one of encryption.
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
    if text.first() == Some(&b'\'') {
        return quoted(text);
    }
    let is_word = |byte: &&u8| byte.is_ascii_alphanumeric();
    text.iter().take_while(is_word).count()
}

/// The length of a text in quotes, which may be doubled or have a backslash before them.
fn quoted(text: &[u8]) -> usize {
    let mut at = 1;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            // The second one of two begins another text.
            b'\'' => return at + 1,
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
        let dump = |options: [&str; 4]| {
            let [plain, wrapped, first, second] = options;
            format!(
                "CREATE TABLE `t` (\n  `a` int\n) ENGINE=InnoDB {of_mysql} {plain};\n{rows}\nCREATE TABLE \
                 `s` (\n  `a` int\n) /*!50100 TABLESPACE `ts` */ ENGINE=InnoDB /*!80016 {wrapped} */;\nINSERT \
                 INTO `t` VALUES ('{long}');\nCREATE TABLE `u` (\n  `encrypted` int\n) ENGINE=InnoDB {first} \
                 {second} {of_mariadb};\n"
            )
        };
        let options = [
            "ENCRYPTION='Y'",
            "ENCRYPTION='Y'",
            "`Encrypted`='YES'",
            "`encryption_key_id`=2",
        ];
        fs::write(&path, dump(options)).unwrap();
        blank(&path).unwrap();
        let blanks = options.map(|option| " ".repeat(option.len()));
        let wanted = dump(blanks.each_ref().map(String::as_str));
        assert_eq!(fs::read_to_string(&path).unwrap(), wanted);
    }
}

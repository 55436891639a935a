//! Words of commands as a shell reads them, for commands that people repeat.

use std::{ffi::OsStr, fmt::Write as _, os::unix::ffi::OsStrExt};

/// A word as a shell reads it. One that is not UTF-8, or acts on terminals, is in the
/// quotes of bash, zsh and POSIX since 2024: `$'a\377b'`.
pub(crate) fn word(word: impl AsRef<OsStr>) -> String {
    let bytes = word.as_ref().as_bytes();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,/:+%@".contains(c);
    match str::from_utf8(bytes) {
        Ok(text) if !text.is_empty() && text.chars().all(is_plain) => text.to_owned(),
        Ok(text) if !text.contains(char::is_control) => {
            format!("'{}'", text.replace('\'', "'\\''"))
        }
        _ => {
            let mut quoted = String::from("$'");
            for byte in bytes {
                match byte {
                    b'\'' | b'\\' => quoted.extend(['\\', char::from(*byte)]),
                    b' '..=b'~' => quoted.push(char::from(*byte)),
                    // Three digits: hexadecimal ones would take letters behind them.
                    byte => write!(quoted, "\\{byte:03o}").expect("a text takes all"),
                }
            }
            quoted.push('\'');
            quoted
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        for (plain, quoted) in [
            (&b"a/b.db"[..], "a/b.db"),
            (b"", "''"),
            (b"x y", "'x y'"),
            (b"it's", "'it'\\''s'"),
            ("größe".as_bytes(), "'größe'"),
            (b"a\xff1", "$'a\\3771'"),
            (b"a'\n\\", "$'a\\'\\012\\\\'"),
        ] {
            assert_eq!(word(OsStr::from_bytes(plain)), quoted);
        }
    }
}

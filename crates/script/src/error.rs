//! What is wrong with a script, and where.

use std::fmt;

/// A script that cannot be read, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The script, as its user names it.
    pub script: String,
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// The line itself.
    pub text: String,
    /// What is wrong, and what to do.
    pub message: String,
}

impl SyntaxError {
    /// What is wrong at a byte of a script's text. A position behind the end is the end.
    pub fn at(script: &str, source: &str, offset: usize, message: impl Into<String>) -> Self {
        let mut offset = offset.min(source.len());
        while !source.is_char_boundary(offset) {
            offset -= 1;
        }
        let begin = source[..offset].rfind('\n').map_or(0, |end| end + 1);
        let end = source[offset..]
            .find('\n')
            .map_or(source.len(), |length| offset + length);
        Self {
            script: script.to_owned(),
            line: source[..offset].matches('\n').count() + 1,
            column: source[begin..offset].chars().count() + 1,
            text: source[begin..end].trim_end().to_owned(),
            message: message.into(),
        }
    }
}

/// The most characters of a line that are shown; a longer one is cut around the place.
const SHOWN: usize = 76;

impl fmt::Display for SyntaxError {
    /// Place and reason, then the line with a caret below the place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            script,
            line,
            column,
            message,
            ..
        } = self;
        // Tabs are one character here as in `column`, and the caret stands below.
        let characters: Vec<char> = self.text.chars().map(shown).collect();
        let first = match characters.len() {
            length if length <= SHOWN => 0,
            length => (column - 1).saturating_sub(SHOWN / 2).min(length - SHOWN),
        };
        let last = characters.len().min(first + SHOWN);
        let text: String = characters[first..last].iter().collect();
        let caret = " ".repeat(column - 1 - first.min(column - 1));
        write!(
            f,
            "{script}:{line}:{column}: {message}\n  {text}\n  {caret}^"
        )
    }
}

/// A character that moves a terminal's cursor by one place.
fn shown(character: char) -> char {
    if character.is_control() {
        ' '
    } else {
        character
    }
}

impl std::error::Error for SyntaxError {}

/// Why a run of a script ended before its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError<E: std::error::Error + 'static> {
    /// The database refused.
    #[error("{script}, line {line}")]
    Host {
        /// The script, as its user names it.
        script: String,
        /// The line of the command.
        line: usize,
        /// What it said.
        #[source]
        error: E,
    },
    /// An expression has no value, or a result is not what the script says.
    #[error("{script}, line {line}: {message}")]
    Script {
        /// The script, as its user names it.
        script: String,
        /// The line of the command.
        line: usize,
        /// What is wrong.
        message: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caret_stands_below_the_place() {
        let source = "SELECT 1;\n\t\\set a 1 +\u{e4} x\nSELECT 2;";
        let offset = source.find('x').unwrap();
        let error = SyntaxError::at("mix.sql", source, offset, "no");
        assert_eq!((error.line, error.column), (2, 14));
        let text = error.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "mix.sql:2:14: no");
        assert_eq!(lines[1].chars().position(|c| c == 'x'), lines[2].find('^'));
        let end = SyntaxError::at("mix.sql", source, usize::MAX, "end").to_string();
        assert!(
            end.starts_with("mix.sql:3:10: end\n  SELECT 2;\n           ^"),
            "{end}"
        );
        assert_eq!(
            SyntaxError::at("a", "", 3, "").to_string(),
            "a:1:1: \n  \n  ^"
        );
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        for place in [0, 10, 500, 990, 999] {
            let mut source = "-".repeat(1000);
            source.replace_range(place..=place, "x");
            let text = SyntaxError::at("a", &source, place, "no").to_string();
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(lines[1].len(), 2 + SHOWN);
            assert_eq!(lines[1].find('x'), lines[2].find('^'), "{place}");
        }
    }
}

//! What is wrong with a plan file, and where.

use std::{fmt, ops::Range};

use octavo_storage::text::TextError;

/// Why a plan file gives no plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanFileError {
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] TextError),
    /// It says what cannot be.
    #[error(transparent)]
    Refused(Box<Refused>),
}

/// A place in a plan file and what is wrong there. Prints as several lines:
/// file, number of the line and reason, then the line with carets below the
/// place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refused {
    /// The file's name as it was given.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// Where in the line the place begins, in characters from 0.
    pub column: usize,
    /// The place's characters in that line, at least 1.
    pub width: usize,
    /// The whole line.
    pub text: String,
    /// What is wrong and what is possible.
    pub reason: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        // Tabs stay, so that the carets stand below the place however wide
        // tabs are shown.
        let before: String = self
            .text
            .chars()
            .take(self.column)
            .map(|character| if character == '\t' { '\t' } else { ' ' })
            .collect();
        writeln!(f, "{}:{number}: {}", self.file, self.reason)?;
        writeln!(f, "{gutter} |")?;
        writeln!(f, "{number} | {}", self.text)?;
        write!(f, "{gutter} | {before}{}", "^".repeat(self.width))
    }
}

/// What is wrong at a place of the text, in bytes.
#[derive(Debug)]
pub(super) struct SpanError {
    pub(super) span: Range<usize>,
    pub(super) reason: String,
}

impl SpanError {
    pub(super) fn new(span: &Range<usize>, reason: impl Into<String>) -> Self {
        Self {
            span: span.clone(),
            reason: reason.into(),
        }
    }

    /// What TOML or serde refuse in a section, of which `others` are keys that
    /// it does not know of.
    pub(super) fn from_toml(error: &toml::de::Error, section: &str, others: &[&str]) -> Self {
        let message = error.message();
        // "unknown field `x`, expected one of `a`, `b`".
        let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
        let reason = match &quoted[..] {
            [found, known @ ..] if message.starts_with("unknown field") => {
                let known = [known, others].concat();
                format!("{section} has no '{found}': {}", instead(found, &known))
            }
            _ => message
                .replace('\n', ", ")
                .replace("invalid type: sequence", "invalid type: list")
                .replace("invalid type: map", "invalid type: table"),
        };
        Self::new(&error.span().unwrap_or(0..0), reason)
    }
}

/// A file's name and text.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) text: String,
}

impl Source {
    /// Finds the line of a refusal.
    pub(super) fn locate(&self, refusal: SpanError) -> PlanFileError {
        let end = self.text.len();
        let begin = self.text.floor_char_boundary(refusal.span.start.min(end));
        let start = self.text[..begin].rfind('\n').map_or(0, |at| at + 1);
        let stop = self.text[begin..].find('\n').map_or(end, |at| begin + at);
        let line = self.text[start..stop].trim_end_matches('\r');
        let column = self.text[start..begin].chars().count();
        let place_end = self
            .text
            .floor_char_boundary(refusal.span.end.clamp(begin, stop));
        let width = self.text[begin..place_end].trim_end().chars().count();
        PlanFileError::Refused(Box::new(Refused {
            file: self.name.clone(),
            line: self.text[..start].matches('\n').count() + 1,
            column,
            width: width.max(1),
            text: line.to_owned(),
            reason: refusal.reason,
        }))
    }
}

/// What is possible instead of `word`: the nearest of `known` when it is near
/// enough to be a slip, else all of them.
pub(super) fn instead(word: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .map(|candidate| (strsim::levenshtein(word, candidate), candidate))
        .min();
    match nearest {
        Some((distance, candidate)) if distance <= 1 + candidate.len() / 3 => {
            format!("did you mean {candidate}?")
        }
        _ => format!("choose {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_suggested_and_else_all_are_listed() {
        assert_eq!(
            instead("page-sizes", &["memory", "page-size"]),
            "did you mean page-size?"
        );
        assert_eq!(
            instead("colour", &["memory", "page-size"]),
            "choose memory, page-size"
        );
    }

    #[test]
    fn the_carets_stand_below_the_place() {
        let source = Source {
            name: "p.toml".into(),
            text: "a = 1\r\n\tb = \"ä\" # c\r\n".into(),
        };
        let start = source.text.find('"').unwrap();
        let refusal = SpanError::new(&(start..start + 4), "no");
        assert_eq!(
            source.locate(refusal).to_string(),
            "p.toml:2: no\n  |\n2 | \tb = \"ä\" # c\n  | \t    ^^^"
        );
        // Behind the end of the text, and over several lines.
        let text = |span: Range<usize>| source.locate(SpanError::new(&span, "no")).to_string();
        assert!(text(900..901).starts_with("p.toml:3: no"));
        assert!(text(0..9).ends_with("1 | a = 1\n  | ^^^^^"));
    }
}

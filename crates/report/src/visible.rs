//! Text from files, flags and servers as it may be shown.

use std::borrow::Cow;

/// Text without the characters that would change what a terminal or a browser
/// shows beside themselves: each is shown as U+FFFD. Ends of lines and tabs
/// stay.
///
/// These are control characters, which begin a terminal's commands (ECMA-48),
/// and those that turn the direction of what follows (Unicode Standard Annex 9,
/// section 2), with which a name can look like another.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.contains(is_hidden) {
        Cow::Owned(text.replace(is_hidden, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// JSON with these characters written as escapes: it says the same.
pub(crate) fn escaped(json: String) -> String {
    if !json.contains(is_hidden) {
        return json;
    }
    let mut text = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_hidden(c) {
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            text.push(c);
        }
    }
    text
}

/// Whether a character acts on what is shown instead of being shown itself.
/// All of them have 16 bits.
pub(crate) fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}[31mb\u{9b}c\u{202e}d\re\tf\ng";

    #[test]
    fn what_acts_on_a_screen_is_replaced() {
        assert_eq!(
            visible(HOSTILE),
            "a\u{fffd}[31mb\u{fffd}c\u{fffd}d\u{fffd}e\tf\ng"
        );
        assert!(matches!(visible("plain · ±5% µs"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_says_the_same_without_them() {
        let json = escaped(serde_json::to_string(HOSTILE).unwrap());
        assert!(!json.contains(is_hidden), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), HOSTILE);
    }
}

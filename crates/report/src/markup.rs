//! Markup of pages and drawings, in which text is never mistaken for tags.
//!
//! A [`Markup`] is made from our own literals, from text, which is escaped on
//! the way in, and from tags around other markup. There is no way from a
//! `String` to markup that leaves it as it is, so that forgetting to escape
//! does not compile.

use std::fmt::Display;

use crate::visible::is_hidden;

/// A piece of HTML or SVG that is safe as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Markup(String);

impl Markup {
    /// Markup that is written in this program.
    pub(crate) fn literal(own: &'static str) -> Self {
        Self(own.into())
    }

    /// Text, escaped.
    pub(crate) fn text(text: impl Display) -> Self {
        let mut escaped = String::new();
        escape(&text.to_string(), &mut escaped);
        Self(escaped)
    }

    /// Adds a piece at the end.
    pub(crate) fn push(&mut self, more: Self) {
        self.0.push_str(&more.0);
    }

    /// The characters to write to a file.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromIterator<Self> for Markup {
    fn from_iter<I: IntoIterator<Item = Self>>(pieces: I) -> Self {
        let mut all = Self::default();
        pieces.into_iter().for_each(|piece| all.push(piece));
        all
    }
}

/// An element whose attributes are being given.
#[derive(Debug)]
pub(crate) struct Tag {
    name: &'static str,
    opened: String,
}

/// An element of this name.
pub(crate) fn tag(name: &'static str) -> Tag {
    Tag {
        name,
        opened: format!("<{name}"),
    }
}

impl Tag {
    /// An attribute, its value escaped.
    pub(crate) fn attr(mut self, name: &'static str, value: impl Display) -> Self {
        self.opened.push(' ');
        self.opened.push_str(name);
        self.opened.push_str("=\"");
        escape(&value.to_string(), &mut self.opened);
        self.opened.push('"');
        self
    }

    /// The class, or classes with spaces between them.
    pub(crate) fn class(self, class: impl Display) -> Self {
        self.attr("class", class)
    }

    /// The element around this content.
    pub(crate) fn around(self, content: impl IntoIterator<Item = Markup>) -> Markup {
        let mut all = Markup(self.opened);
        all.0.push('>');
        content.into_iter().for_each(|piece| all.push(piece));
        all.0.push_str("</");
        all.0.push_str(self.name);
        all.0.push('>');
        all
    }

    /// The element around a text, which is escaped.
    pub(crate) fn text(self, text: impl Display) -> Markup {
        self.around([Markup::text(text)])
    }

    /// The element without content, closed in itself.
    pub(crate) fn empty(mut self) -> Markup {
        self.opened.push_str("/>");
        Markup(self.opened)
    }
}

/// Escapes for element content and for attributes in double quotes.
fn escape(text: &str, to: &mut String) {
    for character in text.chars() {
        match character {
            '&' => to.push_str("&amp;"),
            '<' => to.push_str("&lt;"),
            '>' => to.push_str("&gt;"),
            '"' => to.push_str("&quot;"),
            '\'' => to.push_str("&#39;"),
            // XML 1.0, section 2.2, forbids control characters as well.
            c if is_hidden(c) => to.push(char::REPLACEMENT_CHARACTER),
            c => to.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_are_escaped() {
        let hostile = "<a b=\"c\">&'\u{1b}";
        let escaped = "&lt;a b=&quot;c&quot;&gt;&amp;&#39;\u{fffd}";
        assert_eq!(Markup::text(hostile).as_str(), escaped);
        assert_eq!(
            tag("p").attr("title", hostile).text(hostile).as_str(),
            format!("<p title=\"{escaped}\">{escaped}</p>")
        );
    }

    #[test]
    fn markup_nests_unescaped() {
        let items = ["a", "<b>"].map(|item| tag("li").text(item));
        assert_eq!(
            tag("ul").around(items).as_str(),
            "<ul><li>a</li><li>&lt;b&gt;</li></ul>"
        );
        assert_eq!(tag("br").empty().as_str(), "<br/>");
    }
}

//! What a report says, before it is known where it is read.
//!
//! A [`Document`] is built once from what was found and rendered as a short
//! text ([`Document::terminal`]), as a long one ([`Document::verbose`]), as a
//! page ([`Document::html`]) and for a pull request ([`Document::markdown`]), so
//! that every sentence and every table is made in one place. What each of them shows follows from a section's [`Depth`]. JSON
//! is not rendered from it: programs read the values themselves.

use std::borrow::Cow;

use crate::markup::Markup;

/// A report: sections in the order in which they are read.
#[derive(Clone, Debug)]
pub struct Document {
    /// The page's title; a terminal begins with the origin.
    pub(crate) title: String,
    /// What was measured, where and how long, on one line; may be empty.
    pub(crate) origin: String,
    pub(crate) sections: Vec<Section>,
    /// What a terminal ends with, such as where the page is.
    pub(crate) closing: Vec<String>,
}

impl Document {
    /// The same with these lines at the end of the text. The short text has room for them.
    #[must_use]
    pub fn closing(self, closing: Vec<String>) -> Self {
        Self { closing, ..self }
    }

    /// Adds a word in parentheses to the title of each table and chart, but of those in sections
    /// `except`.
    pub(crate) fn mark(&mut self, word: &str, except: &[&str]) {
        fn mark(block: &mut Block, word: &str) {
            let title = match block {
                Block::Table(table) | Block::Brief(table) => &mut table.caption,
                Block::Figure(figure) => &mut figure.title,
                Block::Columns(blocks) => {
                    return blocks.iter_mut().for_each(|block| mark(block, word));
                }
                Block::Details { blocks, .. } => {
                    return blocks.iter_mut().for_each(|block| mark(block, word));
                }
                Block::Spare { block, .. } => return mark(block, word),
                _ => return,
            };
            let space = if title.is_empty() { "" } else { " " };
            *title = format!("{title}{space}({word})");
        }
        let sections = self.sections.iter_mut();
        let marked = sections.filter(|section| !except.contains(&section.id.as_ref()));
        for block in marked.flat_map(|section| &mut section.blocks) {
            mark(block, word);
        }
    }

    /// A document of these sections. Empty ones are left out.
    pub(crate) fn new(
        title: impl Into<String>,
        sections: impl IntoIterator<Item = Section>,
    ) -> Self {
        let sections = sections.into_iter();
        Self {
            title: title.into(),
            origin: String::new(),
            sections: sections.filter(|of| !of.blocks.is_empty()).collect(),
            closing: Vec::new(),
        }
    }
}

/// How far down a reader finds a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// The short text, and the page's first screen.
    First,
    /// The page below that, and the long text.
    Evidence,
    /// The page where it is opened, and the long text.
    Method,
}

/// Blocks under one heading.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    /// What links point to.
    pub(crate) id: Cow<'static, str>,
    /// The heading; none where it is empty.
    pub(crate) title: Cow<'static, str>,
    pub(crate) depth: Depth,
    pub(crate) blocks: Vec<Block>,
}

impl Section {
    pub(crate) fn new(
        id: impl Into<Cow<'static, str>>,
        title: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            depth: Depth::First,
            blocks: Vec::new(),
        }
    }

    pub(crate) fn at(self, depth: Depth) -> Self {
        Self { depth, ..self }
    }

    /// Adds a block, unless nothing is in it.
    pub(crate) fn push(&mut self, block: Block) {
        if !block.is_empty() {
            self.blocks.push(block);
        }
    }

    /// Adds blocks that the short text has if there is room.
    pub(crate) fn spare(&mut self, rank: u8, blocks: impl IntoIterator<Item = Block>) {
        for block in blocks {
            let block = Box::new(block);
            self.push(Block::Spare { rank, block });
        }
    }

    pub(crate) fn heading(&mut self, text: impl Into<String>) {
        self.push(Block::Heading(text.into()));
    }

    pub(crate) fn paragraph(&mut self, text: impl Into<String>) {
        self.push(Block::Paragraph(text.into()));
    }

    pub(crate) fn values<N: Into<String>>(
        &mut self,
        values: impl IntoIterator<Item = (N, String)>,
    ) {
        let values = values.into_iter().map(|(name, value)| (name.into(), value));
        self.push(Block::Values(values.collect()));
    }

    pub(crate) fn details(&mut self, summary: impl Into<String>, mut blocks: Vec<Block>) {
        blocks.retain(|block| !block.is_empty());
        self.push(Block::Details {
            summary: summary.into(),
            blocks,
        });
    }

    pub(crate) fn extend(&mut self, blocks: impl IntoIterator<Item = Block>) {
        blocks.into_iter().for_each(|block| self.push(block));
    }
}

/// A part of a section.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    /// What to do or what was found, then why.
    Decision {
        what: String,
        why: String,
    },
    /// What to type, and what for.
    Commands {
        purpose: String,
        statements: Vec<String>,
    },
    /// A heading below the section's.
    Heading(String),
    Paragraph(String),
    List(Vec<String>),
    /// What a reader must know before believing the figures.
    Warnings(Vec<String>),
    /// What was checked and holds.
    Passed(Vec<String>),
    /// Names and their values.
    Values(Vec<(String, String)>),
    Table(Table),
    /// A table where there are no pictures: the page has a figure beside it.
    Brief(Table),
    Figure(Figure),
    /// Side by side where there is room, else one below the other.
    Columns(Vec<Self>),
    /// For few readers: collapsed on the page, not in the short text.
    Details {
        summary: String,
        blocks: Vec<Self>,
    },
    /// What the short text leaves out where the screen is full, the highest rank first.
    Spare {
        /// From 1.
        rank: u8,
        block: Box<Self>,
    },
}

impl Block {
    /// The block, spare or not.
    pub(crate) fn bare(&self) -> &Self {
        match self {
            Self::Spare { block, .. } => block.bare(),
            block => block,
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::List(items) | Self::Warnings(items) | Self::Passed(items) => items.is_empty(),
            Self::Values(values) => values.is_empty(),
            Self::Table(table) | Self::Brief(table) => table.rows.is_empty(),
            Self::Details { blocks, .. } | Self::Columns(blocks) => {
                blocks.iter().all(Self::is_empty)
            }
            Self::Spare { block, .. } => block.is_empty(),
            _ => false,
        }
    }
}

/// A chart, for where there are pictures. What it shows is also in a table.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// What it shows, with its unit; also for screen readers.
    pub(crate) title: String,
    pub(crate) drawing: Markup,
    pub(crate) caption: String,
}

/// Cells in rows and columns.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// What the figures are of; may be empty.
    pub(crate) caption: String,
    pub(crate) columns: Vec<Column>,
    /// As many cells a row as there are columns.
    pub(crate) rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table of one row for each of these, without columns yet.
    pub(crate) fn with_rows<'a, T>(
        caption: impl Into<String>,
        items: &'a [T],
    ) -> TableBuilder<'a, T> {
        TableBuilder {
            items,
            table: Self {
                caption: caption.into(),
                columns: Vec::new(),
                rows: items.iter().map(|_| Vec::new()).collect(),
            },
        }
    }
}

/// A table that gets its columns one by one.
pub(crate) struct TableBuilder<'a, T> {
    items: &'a [T],
    table: Table,
}

/// Adding columns of one [`ColumnKind`], by their heading and what they say of an item.
macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident: $kind:ident;)*) => {
        $($(#[$doc])*
        pub(crate) fn $name<C: Into<Cell>>(
            self,
            heading: impl Into<Heading>,
            cell: impl Fn(&T) -> C,
        ) -> Self {
            self.column(ColumnKind::$kind, heading, cell)
        })*
    };
}

impl<T> TableBuilder<'_, T> {
    columns! {
        /// The rows' names.
        label: Label;
        /// Numbers.
        figure: Figure;
        /// Words, and numbers with words.
        words: Words;
        /// Words that may break into several lines.
        prose: Prose;
        /// A drawing of characters.
        drawing: Drawing;
    }

    /// Adds a column, and what it says of each item.
    fn column<C: Into<Cell>>(
        mut self,
        kind: ColumnKind,
        heading: impl Into<Heading>,
        cell: impl Fn(&T) -> C,
    ) -> Self {
        let Heading { name, rank } = heading.into();
        self.table.columns.push(Column { name, kind, rank });
        for (row, item) in self.table.rows.iter_mut().zip(self.items) {
            row.push(cell(item).into());
        }
        self
    }

    pub(crate) fn build(self) -> Table {
        self.table
    }
}

/// A column's heading, and how it is shown.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// With the unit.
    pub(crate) name: String,
    pub(crate) kind: ColumnKind,
    pub(crate) rank: u8,
}

/// The rank of columns that are dropped before prose breaks into lines.
pub(crate) const EXTRA: u8 = u8::MAX;

/// A column's name, alone or with its rank: where there is too little room,
/// the column of the highest rank goes first, of equal ones the last.
pub(crate) struct Heading {
    name: String,
    rank: u8,
}

impl From<&str> for Heading {
    fn from(name: &str) -> Self {
        (name, 0).into()
    }
}

impl From<String> for Heading {
    fn from(name: String) -> Self {
        (name, 0).into()
    }
}

impl<T: Into<String>> From<(T, u8)> for Heading {
    fn from((name, rank): (T, u8)) -> Self {
        let name = name.into();
        Self { name, rank }
    }
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// The row's name.
    Label,
    /// Numbers, which line up at the right.
    Figure,
    /// Words, and numbers with words, which line up at the left.
    Words,
    /// Words that may break into several lines.
    Prose,
    /// A drawing of characters, which a page has figures for.
    Drawing,
}

/// What stands in a table's row and column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

/// Whether a cell stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Good,
    Bad,
    Open,
}

impl Cell {
    pub(crate) fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Self {
            text: text.into(),
            tone,
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::toned(text, Tone::Plain)
    }
}

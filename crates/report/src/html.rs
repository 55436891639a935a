//! A document as one HTML page that opens offline: style, charts and a small
//! script are all inside it.

use crate::{
    document::{Block, Cell, Column, ColumnKind, Depth, Document, Section, Table, Tone},
    markup::{Markup, tag},
    naming::capital,
    number::unbroken,
};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("page.js");
const HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
    <meta name=\"color-scheme\" content=\"light dark\">\n\
    <meta name=\"generator\" content=\"Octavo\">\n";

impl Document {
    /// The report as an HTML page. It loads nothing from anywhere and reads
    /// without JavaScript (which adds tooltips, copy buttons and the tables as
    /// CSV), on two sheets of paper and on a phone.
    pub fn html(&self) -> String {
        let mut main = vec![tag("h1").text(&self.title)];
        if !self.origin.is_empty() {
            main.push(tag("p").class("origin").text(&self.origin));
        }
        let first = |section: &&Section| section.depth == Depth::First;
        let mut top = self.sections.iter().filter(first);
        // What was decided needs no heading.
        main.extend(top.next().map(|of| section(of, false)));
        main.push(self.contents());
        main.extend(top.map(|of| section(of, true)));
        let rest = self.sections.iter().filter(|of| !first(of));
        main.extend(rest.map(|of| section(of, true)));
        let page: Markup = [
            Markup::literal(HEAD),
            tag("title").text(&self.title),
            tag("style").around([Markup::literal(STYLE)]),
            Markup::literal("</head>\n<body>\n"),
            tag("main").around(main),
            tag("script").around([Markup::literal(SCRIPT)]),
            Markup::literal("</body>\n</html>\n"),
        ]
        .into_iter()
        .collect();
        page.as_str().to_owned()
    }

    fn contents(&self) -> Markup {
        let links = self.sections.iter().map(|section| {
            let link = tag("a").attr("href", format!("#{}", section.id));
            tag("li").around([link.text(&section.title)])
        });
        let list = tag("ul").around(links);
        tag("nav").attr("aria-label", "Contents").around([list])
    }
}

fn section(section: &Section, has_heading: bool) -> Markup {
    let heading = match section.title.is_empty() {
        true => Markup::default(),
        false if has_heading => tag("h2").text(&section.title),
        // For who hears the page: charts below have headings of their own.
        false => tag("h2").class("unseen").text(&section.title),
    };
    let content = blocks(&section.blocks);
    let end = Markup::literal("\n");
    let element = tag("section").attr("id", &section.id);
    match section.depth {
        Depth::First if !has_heading => element.class("first").around([heading, content, end]),
        Depth::First => element.class("shown").around([heading, content, end]),
        Depth::Evidence => element.around([heading, content, end]),
        // Inside, so that browsers open it for who follows a link to it.
        Depth::Method => tag("details").class("method").around([
            tag("summary").around([heading]),
            element.around([content, end]),
        ]),
    }
}

/// Blocks one after another; neighbors that belong together share a box.
fn blocks(blocks: &[Block]) -> Markup {
    let blocks: Vec<&Block> = blocks.iter().map(Block::bare).collect();
    let shared = |block: &Block| match block {
        Block::Decision { .. } => Some(("div", "decisions")),
        Block::Commands { .. } => Some(("div", "actions")),
        Block::Warnings(_) | Block::Passed(_) => Some(("ul", "checks")),
        _ => None,
    };
    let chunks = blocks.chunk_by(|one, next| shared(one).is_some() && shared(one) == shared(next));
    chunks
        .map(|chunk| {
            let all = chunk.iter().copied().map(block);
            match shared(chunk[0]) {
                Some((name, class)) => tag(name).class(class).around(all),
                None => all.collect(),
            }
        })
        .collect()
}

fn block(block: &Block) -> Markup {
    match block {
        Block::Decision { what, why } => {
            let what = tag("p").class("what").text(unbroken(what));
            let why = (!why.is_empty()).then(|| tag("p").text(unbroken(&capital(why))));
            tag("div")
                .class("decision")
                .around([what].into_iter().chain(why))
        }
        Block::Commands {
            purpose,
            statements,
        } => tag("div").class("commands").around([
            tag("p")
                .class("purpose")
                .text(unbroken(&format!("{purpose}:"))),
            tag("pre").around([tag("code").text(statements.join("\n"))]),
        ]),
        Block::Heading(text) => tag("h3").text(text),
        Block::Paragraph(text) => tag("p").text(unbroken(text)),
        Block::List(items) => tag("ul").around(items.iter().map(|of| tag("li").text(unbroken(of)))),
        Block::Warnings(items) => checks(items, "warning", "!"),
        Block::Passed(items) => checks(items, "passed", "✓"),
        Block::Values(values) => {
            tag("dl").around(values.iter().map(|(name, value)| {
                tag("div").around([tag("dt").text(name), tag("dd").text(value)])
            }))
        }
        Block::Table(table) => {
            let caption = unbroken(&table.caption);
            let wide = tag("div")
                .class("wide")
                .attr("tabindex", 0)
                .attr("role", "group");
            let name = if caption.is_empty() {
                "Table"
            } else {
                &caption
            };
            let wide = wide.attr("aria-label", name).around([grid(table)]);
            tag("div")
                .class("sheet")
                .around([tag("p").class("caption").text(&caption), wide])
        }
        Block::Brief(_) => Markup::default(),
        Block::Figure(figure) => {
            // Where it is wider than a phone, it scrolls.
            let drawing = tag("div")
                .class("drawing")
                .attr("tabindex", 0)
                .attr("role", "group");
            let drawing = drawing.attr("aria-label", &figure.title);
            let mut content = vec![
                tag("h3").text(&figure.title),
                drawing.around([figure.drawing.clone()]),
            ];
            if !figure.caption.is_empty() {
                content.push(tag("figcaption").text(unbroken(&figure.caption)));
            }
            tag("figure").around(content)
        }
        Block::Columns(all) => tag("div")
            .class("columns")
            .around(all.iter().map(|of| tag("div").around([self::block(of)]))),
        Block::Details { summary, blocks } => {
            tag("details").around([tag("summary").text(summary), self::blocks(blocks)])
        }
        Block::Spare { block, .. } => self::block(block),
    }
}

fn checks(items: &[String], class: &str, mark: &str) -> Markup {
    let item = |text: &String| {
        let item = tag("li").class(class).attr("data-mark", mark);
        item.text(unbroken(text))
    };
    items.iter().map(item).collect()
}

fn grid(table: &Table) -> Markup {
    let shown = |column: &Column| column.kind != ColumnKind::Drawing;
    let header = table.columns.iter().filter(|column| shown(column));
    let header = header.map(|column| {
        let cell = tag("th")
            .attr("scope", "col")
            .class(class(column, Tone::Plain));
        cell.text(&column.name)
    });
    let rows = table.rows.iter().map(|row| {
        let cells = table
            .columns
            .iter()
            .zip(row)
            .filter(|(column, _)| shown(column));
        tag("tr").around(cells.map(|(column, cell)| self::cell(column, cell)))
    });
    tag("table").around([
        tag("thead").around([tag("tr").around(header)]),
        tag("tbody").around(rows),
    ])
}

fn cell(column: &Column, cell: &Cell) -> Markup {
    let element = match column.kind {
        ColumnKind::Label => tag("th").attr("scope", "row"),
        _ => tag("td"),
    };
    element
        .class(class(column, cell.tone))
        .text(unbroken(&cell.text))
}

fn class(column: &Column, tone: Tone) -> String {
    let kind = match column.kind {
        ColumnKind::Label => "label",
        ColumnKind::Figure => "figure",
        ColumnKind::Words | ColumnKind::Drawing => "words",
        ColumnKind::Prose => "words prose",
    };
    let tone = match tone {
        Tone::Plain => "",
        Tone::Good => " better",
        Tone::Bad => " worse",
        Tone::Open => " open",
    };
    format!("{kind}{tone}")
}

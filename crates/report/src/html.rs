//! A document as one HTML page that opens offline: style, charts and the
//! small script for hovering are all inside it.

use crate::{
    document::{Block, Cell, Column, Document, Kind, Section, Table, Tone},
    markup::{Markup, tag},
    number::held,
};

const STYLE: &str = include_str!("style.css");
const HOVER: &str = include_str!("hover.js");
const HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
    <meta name=\"color-scheme\" content=\"light dark\">\n";

impl Document {
    /// The report as an HTML page. It loads nothing from anywhere, reads
    /// without JavaScript (which adds tooltips alone), on paper and on a
    /// phone.
    pub fn html(&self) -> String {
        let mut main = vec![tag("h1").text(&self.title)];
        if !self.origin.is_empty() {
            main.push(tag("p").class("origin").text(&self.origin));
        }
        for (number, section) in self.sections.iter().enumerate() {
            main.push(self::section(section));
            if number == 0 {
                main.push(self.contents());
            }
        }
        let page: Markup = [
            Markup::literal(HEAD),
            tag("title").text(&self.title),
            tag("style").around([Markup::literal(STYLE)]),
            Markup::literal("</head>\n<body>\n"),
            tag("main").around(main),
            tag("script").around([Markup::literal(HOVER)]),
            Markup::literal("</body>\n</html>\n"),
        ]
        .into_iter()
        .collect();
        page.as_str().to_owned()
    }

    fn contents(&self) -> Markup {
        let links = self.sections.iter().map(|section| {
            let link = tag("a").attr("href", format!("#{}", section.id));
            tag("li").around([link.text(section.title)])
        });
        let list = tag("ul").around(links);
        tag("nav").attr("aria-label", "Contents").around([list])
    }
}

fn section(section: &Section) -> Markup {
    let mut content = Vec::new();
    if !section.title.is_empty() {
        content.push(tag("h2").text(section.title));
    }
    content.extend(section.blocks.iter().map(block));
    content.push(Markup::literal("\n"));
    tag("section").attr("id", section.id).around(content)
}

fn block(block: &Block) -> Markup {
    let boxed = |content: Markup| {
        tag("div")
            .class("wide")
            .attr("tabindex", 0)
            .around([content])
    };
    match block {
        Block::Decision { what, why } => tag("div").class("answer").around([
            tag("p").class("verdict").text(held(what)),
            if why.is_empty() {
                Markup::default()
            } else {
                tag("p").text(held(why))
            },
        ]),
        Block::Commands {
            purpose,
            statements,
        } => tag("div").class("commands").around([
            tag("p").class("purpose").text(held(&format!("{purpose}:"))),
            tag("pre")
                .attr("tabindex", 0)
                .around([tag("code").text(statements.join("\n"))]),
        ]),
        Block::Heading(text) => tag("h3").text(text),
        Block::Paragraph(text) => tag("p").text(held(text)),
        Block::List(items) => list(items),
        Block::Warnings(warnings) => tag("div")
            .class("warnings")
            .attr("role", "note")
            .around([tag("h3").text("Warnings"), list(warnings)]),
        Block::Values(values) => {
            tag("dl").around(values.iter().map(|(name, value)| {
                tag("div").around([tag("dt").text(name), tag("dd").text(value)])
            }))
        }
        Block::Table(table) => [
            tag("p").class("caption").text(held(&table.caption)),
            boxed(grid(table)),
        ]
        .into_iter()
        .collect(),
        Block::Figure(figure) => tag("figure").around([
            tag("h3").text(&figure.title),
            boxed(figure.drawing.clone()),
            tag("figcaption").text(held(&figure.caption)),
        ]),
        Block::Details { summary, blocks } => {
            let summary = tag("summary").text(summary);
            tag("details").around([summary].into_iter().chain(blocks.iter().map(self::block)))
        }
    }
}

fn list(items: &[String]) -> Markup {
    tag("ul").around(items.iter().map(|item| tag("li").text(held(item))))
}

fn grid(table: &Table) -> Markup {
    let shown = |column: &Column| column.kind != Kind::Drawing;
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
        Kind::Label => tag("th").attr("scope", "row"),
        _ => tag("td"),
    };
    element
        .class(class(column, cell.tone))
        .text(held(&cell.text))
}

fn class(column: &Column, tone: Tone) -> String {
    let kind = match column.kind {
        Kind::Label => "label",
        Kind::Figure => "figure",
        Kind::Words | Kind::Drawing => "words",
        Kind::Prose => "words prose",
    };
    let tone = match tone {
        Tone::Plain => "",
        Tone::Good => " better",
        Tone::Bad => " worse",
        Tone::Open => " open",
    };
    format!("{kind}{tone}")
}

//! What is printed: results to the standard output, everything else to the
//! standard error. Names and reasons from files, flags and servers cannot act
//! on the terminal.

use std::io::{self, IsTerminal, Write, stdout};

use anyhow::Context;
use clap::Args;
use octavo_experiment::findings::Findings;
use octavo_report::{Document, visible};

use crate::failure::Failure;

/// Whether a result is printed as JSON.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct FormatFlag {
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Whether a result is printed for a pull request.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct MarkdownFlag {
    /// Print the result as Markdown, for a pull request or an issue
    #[arg(long, conflicts_with = "json", hide_short_help = true)]
    pub(crate) markdown: bool,
}

/// How a result is printed that has more tables than its answer.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct PrintFlags {
    /// Print all tables
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    pub(crate) verbose: bool,

    #[command(flatten)]
    pub(crate) markdown: MarkdownFlag,

    #[command(flatten)]
    pub(crate) format: FormatFlag,
}

impl From<FormatFlag> for PrintFlags {
    fn from(format: FormatFlag) -> Self {
        (MarkdownFlag::default(), format).into()
    }
}

impl From<(MarkdownFlag, FormatFlag)> for PrintFlags {
    fn from((markdown, format): (MarkdownFlag, FormatFlag)) -> Self {
        Self {
            verbose: false,
            markdown,
            format,
        }
    }
}

/// Prints findings, then these lines. JSON is alone.
pub(crate) fn findings(
    findings: &Findings,
    flags: PrintFlags,
    closing: Vec<String>,
) -> Result<(), Failure> {
    result(
        flags,
        || octavo_report::findings_json(findings),
        || octavo_report::findings(findings).closing(closing),
    )
}

/// Prints a document: its short text, or all of it.
pub(crate) fn document(document: &Document, verbose: bool) -> Result<(), Failure> {
    let (width, color) = screen();
    write(&if verbose {
        document.verbose(width, color)
    } else {
        document.terminal(width, color)
    })
}

/// Prints a result as JSON or as text for this terminal: the answer, or all tables.
pub(crate) fn result(
    flags: impl Into<PrintFlags>,
    json: impl FnOnce() -> String,
    document: impl FnOnce() -> Document,
) -> Result<(), Failure> {
    let flags = flags.into();
    if flags.format.json {
        text(&format!("{}\n", json()))
    } else if flags.markdown.markdown {
        text(&document().markdown())
    } else {
        self::document(&document(), flags.verbose)
    }
}

/// Prints a value as JSON.
pub(crate) fn value(value: &impl serde::Serialize) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(value).context("write as JSON")?;
    text(&format!("{json}\n"))
}

/// Prints a value as JSON on one line, for programs that read lines.
pub(crate) fn line(value: &impl serde::Serialize) -> Result<(), Failure> {
    let json = serde_json::to_string(value).context("write as JSON")?;
    text(&format!("{json}\n"))
}

/// Prints text.
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    write(&visible(text))
}

/// Prints to the standard error. Nobody needs to read it.
pub(crate) fn aside(line: &str) {
    let _unheard = writeln!(io::stderr(), "{}", visible(line));
}

/// A reader who has seen enough is no error.
fn write(text: &str) -> Result<(), Failure> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Fault(
            anyhow::Error::from(error).context("write to the standard output"),
        )),
        _ => Ok(()),
    }
}

/// Whether the terminal says that it can neither move its cursor nor show colors.
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|name| name == "dumb")
}

/// The width of the terminal in columns (100 in a pipe), and whether it shows
/// colors: an empty NO_COLOR is none (<https://no-color.org>).
fn screen() -> (usize, bool) {
    let out = stdout();
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let color = out.is_terminal() && !is_plain && !is_dumb();
    let width = rustix::termios::tcgetwinsize(&out)
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|&columns| columns > 0)
        .unwrap_or(100);
    (width, color)
}

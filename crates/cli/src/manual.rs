//! `octavo man` and `octavo completions`: what other programs read of the commands.

use std::{fs, path::Path};

use anyhow::Context;
use clap::{
    Command,
    builder::{PossibleValuesParser, StyledStr},
};
use clap_complete::Shell;
use clap_mangen::Man;
use octavo_device::catalog::{self, machine};

use crate::{
    failure::Failure,
    flags::{CompletionsFlags, ManFlags},
    guide, output, print, shell,
};

/// The first line of each manual page, a comment, by which Octavo knows its own.
const MARK: &str = ".\\\" Written by octavo man.\n";

/// A manual page by its file's name.
#[derive(Debug)]
struct Page {
    file: String,
    text: String,
}

pub(crate) fn completions(flags: &CompletionsFlags) -> Result<(), Failure> {
    print::text(&script(flags.shell.into()))
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    let mut command = offer_catalog(visible(guide::command()));
    clap_complete::generate(shell, &mut command, "octavo", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// The command line without the commands that are not for people.
fn visible(root: Command) -> Command {
    let below = root.get_subcommands().filter(|below| !below.is_hide_set());
    Command::new("octavo")
        .version(env!("CARGO_PKG_VERSION"))
        .args(root.get_arguments())
        .subcommands(below)
}

/// Has completions offer the names of the catalog. Paths of files are taken as well, so that
/// commands themselves cannot list what is possible.
fn offer_catalog(command: Command) -> Command {
    let offered = |name: &str| match name {
        "device" => Some(PossibleValuesParser::new(catalog::names())),
        "machine" => Some(PossibleValuesParser::new(machine::names())),
        _ => None,
    };
    let command = command.mut_args(|flag| match offered(flag.get_id().as_str()) {
        Some(names) => flag.value_parser(names),
        None => flag,
    });
    command.mut_subcommands(offer_catalog)
}

/// Writes all pages, or none where a file of somebody else has the name of one.
pub(crate) fn man(flags: &ManFlags) -> Result<(), Failure> {
    let directory = &flags.directory;
    let pages = pages().context("write manual pages")?;
    for page in &pages {
        let path = directory.join(&page.file);
        let is_ours = |text: &str| text.starts_with(MARK);
        output::keep_foreign(&path, "a manual page of Octavo", is_ours)?;
    }
    fs::create_dir_all(directory)
        .with_context(|| format!("create {}", directory.display()))
        .map_err(Failure::Input)?;
    for page in &pages {
        let path = directory.join(&page.file);
        output::probe(&path)?;
        output::write(&path, &page.text)?;
    }
    let first = directory.join("octavo-advise.1");
    print::text(&format!(
        "{} manual pages: {}\nTo read one: man {}\n",
        pages.len(),
        directory.display(),
        shell::word(absolute(&first))
    ))
}

/// `man` takes a file for one where its name has a slash.
fn absolute(path: &Path) -> std::path::PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// A page for each command that is not hidden.
fn pages() -> std::io::Result<Vec<Page>> {
    let mut root = guide::command();
    root.build();
    let mut pages = Vec::new();
    let mut open = vec![(String::new(), &root)];
    while let Some((words, command)) = open.pop() {
        pages.push(page(&words, command)?);
        let below = command
            .get_subcommands()
            .filter(|below| !below.is_hide_set());
        for below in below.filter(|below| below.get_name() != "help") {
            open.push((format!("{words} {}", below.get_name()), below));
        }
    }
    Ok(pages)
}

fn page(words: &str, command: &Command) -> std::io::Result<Page> {
    let name = format!("octavo{}", words.replace(' ', "-"));
    // It would leave out the help of these.
    let command = command.clone().mut_args(|flag| flag.hide_short_help(false));
    // There is no page about help.
    let command = command.disable_help_subcommand(true);
    let source = concat!("octavo ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).title(&name).source(source);
    let mut text = MARK.as_bytes().to_vec();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    text.extend(examples(words.trim()).into_bytes());
    man.render_options_section(&mut text)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut text)?;
    }
    text.extend(command.get_after_long_help().map_or_else(Vec::new, notes));
    Ok(Page {
        file: format!("{name}.1"),
        text: String::from_utf8_lossy(&text).into_owned(),
    })
}

/// The notes of a command: paragraphs, lists, and blocks of lines that are indented
/// (groff_man(7)).
fn notes(help: &StyledStr) -> Vec<u8> {
    let mut text = String::from(".SH NOTES\n");
    let mut is_block = false;
    for line in help.to_string().lines() {
        let is_indented = line.starts_with("  ");
        if is_indented != is_block {
            text.push_str(if is_indented {
                ".RS\n.nf\n"
            } else {
                ".fi\n.RE\n"
            });
            is_block = is_indented;
        }
        let escaped = line.replace('\\', "\\e").replace('-', "\\-");
        match (line.strip_prefix("- "), escaped.trim_start()) {
            (_, "") => text.push_str(if is_block { ".sp\n" } else { ".PP\n" }),
            (Some(_), item) => {
                text.push_str(&format!(".IP \\(bu 2\n\\&{}\n", &item["\\- ".len()..]));
            }
            // A dot or quotation mark at the beginning would be a request.
            (None, other) => text.push_str(&format!("\\&{other}\n")),
        }
    }
    if is_block {
        text.push_str(".fi\n.RE\n");
    }
    text.into_bytes()
}

/// The examples of a command, where lines stay as they are (groff_man(7)).
fn examples(command: &str) -> String {
    let Some(guide) = guide::all().find(|guide| guide.command == command) else {
        return String::new();
    };
    let (_, examples, _) = guide.parts();
    let examples = examples.replace('\\', "\\e").replace('-', "\\-");
    format!(".SH EXAMPLES\n.nf\n{examples}\n.fi\n")
}

#[cfg(test)]
mod tests {
    use std::process::Command as Process;

    use super::*;
    use crate::flags::itself::CompletedShell;

    #[test]
    fn each_page_has_every_option_with_its_help_and_every_example() {
        let pages = pages().unwrap();
        let mut root = guide::command();
        root.build();
        for guide in guide::all() {
            let file = format!("octavo-{}.1", guide.command.replace(' ', "-"));
            let page = pages.iter().find(|page| page.file == file);
            let text = page
                .unwrap_or_else(|| panic!("no {file}"))
                .text
                .replace("\\-", "-")
                .replace("\\*(Aq", "'");
            let mut words = guide.command.split(' ');
            let command = words
                .try_fold(&root, |of, word| of.find_subcommand(word))
                .unwrap();
            let options = command
                .get_arguments()
                .filter(|option| !option.is_hide_set());
            for option in options {
                let name = option.get_long().unwrap_or_default();
                let help = option.get_long_help().or_else(|| option.get_help());
                let help = help.unwrap().to_string();
                let help = help.split('\n').next().unwrap();
                assert!(text.contains(name), "no --{name} in {file}");
                assert!(text.contains(help), "no {help} in {file}");
            }
            let (_, examples, _) = guide.parts();
            assert!(text.contains(examples), "{text}");
        }
        let advise = pages.iter().find(|page| page.file == "octavo-advise.1");
        let (_, notes) = advise.unwrap().text.split_once(".SH NOTES\n").unwrap();
        assert_eq!(notes.matches(".IP \\(bu 2\n").count(), 4);
        assert_eq!(pages.len(), guide::all().count() + 1);
        assert!(pages.iter().all(|page| page.text.starts_with(MARK)));
    }

    #[test]
    fn a_file_of_somebody_else_is_kept_and_nothing_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let flags = ManFlags {
            directory: directory.path().to_owned(),
        };
        let count = || fs::read_dir(directory.path()).unwrap().count();
        let foreign = directory.path().join("octavo-run.1");
        fs::write(&foreign, "mine").unwrap();
        assert!(matches!(man(&flags), Err(Failure::Input(_))));
        assert_eq!(
            (fs::read(&foreign).unwrap(), count()),
            (b"mine".to_vec(), 1)
        );
        fs::remove_file(foreign).unwrap();
        for _ in 0..2 {
            man(&flags).unwrap();
            assert_eq!(count(), pages().unwrap().len());
        }
    }

    #[test]
    fn shells_accept_their_scripts() {
        for (shell, program) in [
            (CompletedShell::Bash, "bash"),
            (CompletedShell::Zsh, "zsh"),
            (CompletedShell::Fish, "fish"),
        ] {
            let script = script(shell.into());
            for offered in [
                "page-sizes",
                "mariadb",
                "ycsb-a",
                "st373455ss",
                "server-2021",
            ] {
                assert!(
                    script.contains(offered),
                    "{program} is not offered {offered}"
                );
            }
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join("octavo");
            fs::write(&file, &script).unwrap();
            match Process::new(program).arg("-n").arg(&file).output() {
                Ok(output) => assert!(output.status.success(), "{program}: {output:?}"),
                Err(error) => eprintln!("left out: {program} does not start ({error})"),
            }
        }
    }
}

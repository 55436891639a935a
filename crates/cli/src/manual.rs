//! `octavo man` and `octavo completions`: what other programs read of the commands.

use std::{fs, path::Path};

use anyhow::{Context, anyhow};
use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

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
    clap_complete::generate(shell, &mut visible(guide::command()), "octavo", &mut script);
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

/// Writes all pages, or none where a file of somebody else has the name of one.
pub(crate) fn man(flags: &ManFlags) -> Result<(), Failure> {
    let directory = &flags.directory;
    let pages = pages().context("write manual pages")?;
    for page in &pages {
        let path = directory.join(&page.file);
        let is_ours = |text: &str| text.starts_with(MARK);
        output::keep_foreign(&path, "a manual page of Octavo", is_ours).map_err(|_| {
            Failure::Input(anyhow!(
                "{} exists and is not a manual page of Octavo; name another directory",
                path.display()
            ))
        })?;
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
    if command.get_after_long_help().is_some() {
        man.render_extra_section(&mut text)?;
    }
    Ok(Page {
        file: format!("{name}.1"),
        text: String::from_utf8_lossy(&text).replace(".SH EXTRA\n", ".SH NOTES\n"),
    })
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
            assert!(script.contains("page-sizes"), "{program}");
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

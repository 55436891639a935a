//! How an experiment ends: the answer printed and written, or why there is
//! none.

use std::{ffi::OsString, os::unix::ffi::OsStrExt, path::Path};

use anyhow::anyhow;
use octavo_database::hide_password;
use octavo_experiment::{
    campaign::{CampaignError, CampaignSettings},
    directory::{REPORT, STORE},
    findings::Findings,
    forecast::Forecast,
    store::Store,
};
use octavo_report::outcome::Outcome;

use crate::{
    defaults,
    failure::Failure,
    limits::TOO_MANY_FILES,
    output,
    print::{self, PrintFlags},
    shell,
};

/// Prints what was found in `directory` and writes the page.
pub(crate) fn publish(
    findings: &Findings,
    directory: &Path,
    flags: PrintFlags,
) -> Result<(), Failure> {
    let page = directory.join(REPORT);
    let mut closing = vec![format!("Report: {}", page.display())];
    if !flags.verbose {
        let directory = shell::word(directory);
        closing.push(format!("All tables: octavo report {directory} --verbose"));
    }
    print::findings(findings, flags, closing)?;
    output::write(&page, &octavo_report::findings(findings).html())
}

/// What to change in a plan that is refused for this.
pub(crate) fn remedy_in_plan(error: &CampaignError) -> Option<&'static str> {
    match error {
        CampaignError::Budget { .. } => Some("use a larger budget, shorter lists or less data"),
        CampaignError::Space { .. } => {
            Some("name a directory on a larger file system, or use less data or fewer page sizes")
        }
        CampaignError::UsedUp { .. } => Some("repeat the command with a larger budget"),
        _ => None,
    }
}

/// How a command ends whose plan is in a file, by why it was not carried out.
pub(crate) fn failure_of_plan(error: CampaignError, directory: &Path) -> Failure {
    match remedy_in_plan(&error) {
        Some(remedy) => with_remedy(&error, remedy),
        None => failure(error, directory),
    }
}

/// How a command ends whose answer is there, by what came out of its condition.
pub(crate) fn judged(outcome: Outcome) -> Result<(), Failure> {
    match outcome {
        Outcome::No => Ok(()),
        Outcome::Yes(said) => Err(Failure::Met(said)),
        Outcome::Open(said) => Err(Failure::Undecided(said)),
    }
}

/// Prints what an experiment would take. What would be refused ends like the refusal itself.
pub(crate) fn forecast(
    settings: &CampaignSettings,
    flags: PrintFlags,
    failure: impl Fn(CampaignError) -> Failure,
) -> Result<(), Failure> {
    let (forecast, requirements) = Forecast::estimate(settings).map_err(&failure)?;
    print::result(
        flags,
        || octavo_report::json(&forecast),
        || octavo_report::forecast(&forecast),
    )?;
    requirements.check(settings).map_err(failure)
}

/// What an experiment in `directory` that ended without findings comes to.
pub(crate) fn failure(error: CampaignError, directory: &Path) -> Failure {
    if matches!(error, CampaignError::Stopped) {
        return Failure::Interrupted(kept(&directory.join(STORE)));
    }
    if let CampaignError::Full { .. } = &error
        && let Some(kept) = measured(&directory.join(STORE))
    {
        let report = format!("'octavo report {}' shows it", shell::word(directory));
        return Failure::Fault(anyhow!("{error}; {kept}, and {report}"));
    }
    if let CampaignError::Files(_) = &error {
        return with_remedy(&error, TOO_MANY_FILES);
    }
    let is_bad_input = error.is_bad_input();
    Failure::classified(error, is_bad_input)
}

/// What an experiment that was interrupted left in its store, and how it goes on.
fn kept(store: &Path) -> String {
    match measured(store) {
        Some(kept) => format!("{kept}; repeat the command to resume"),
        None if store.exists() => "nothing was measured yet; repeat the command to resume".into(),
        None => "nothing was measured yet".into(),
    }
}

/// That a store has something measured, if it has.
fn measured(store: &Path) -> Option<String> {
    let opened = Store::open(store).ok()?;
    let found = Findings::read(&opened).ok()??;
    let is_some = found.measured_s > 0.0;
    is_some.then(|| format!("what was measured is kept in {}", store.display()))
}

/// The same with what to do about it.
pub(crate) fn with_remedy(error: &CampaignError, remedy: &str) -> Failure {
    Failure::classified(anyhow!("{error}: {remedy}"), error.is_bad_input())
}

/// This command as people can repeat it with another budget.
pub(crate) fn command() -> String {
    without_budget(defaults::words())
}

/// The command line without its budget, and without values of a script's variables: they may be
/// private, and stay out of stores. So do passwords in URLs.
fn without_budget(arguments: impl Iterator<Item = OsString>) -> String {
    let mut words = vec!["octavo".to_owned()];
    let mut arguments = arguments.peekable();
    let mut is_definition = false;
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        let begin = match std::mem::take(&mut is_definition) {
            true => Some(""),
            false => ["--define=", "-D"]
                .into_iter()
                .find(|begin| text.len() > begin.len() && text.starts_with(begin)),
        };
        if let Some(begin) = begin {
            let name = text[begin.len()..].split('=').next().unwrap_or_default();
            words.push(format!("{begin}{name}=..."));
        } else if argument == "-D" || argument == "--define" {
            is_definition = true;
            words.push(shell::word(&argument));
        } else if argument == "--budget" {
            arguments.next();
        } else if !argument.as_bytes().starts_with(b"--budget=") && argument != "--json" {
            words.push(match argument.to_str() {
                Some(text) => shell::word(&*hide_password(text)),
                None => shell::word(&argument),
            });
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn values_of_variables_are_left_out() {
        let command = |words: &[&str]| without_budget(words.iter().map(|&word| word.into()));
        for (words, wanted) in [
            (&["-D", "a=secret", "x"][..], "octavo -D a=... x"),
            (&["-Da=secret=1"], "octavo -Da=..."),
            (&["--define=a=secret"], "octavo --define=a=..."),
            (&["--define", "a=secret"], "octavo --define a=..."),
        ] {
            assert_eq!(command(words), wanted);
        }
    }

    #[test]
    fn a_command_is_repeated_without_its_budget_and_as_a_shell_reads_it() {
        let command = |words: &[&str]| without_budget(words.iter().map(|&word| word.into()));
        let plain = ["advise", "a/b", "--json", "--budget", "5m", "--memory=8MiB"];
        assert_eq!(command(&plain), "octavo advise a/b --memory=8MiB");
        let url = ["advise", "--copy-of=postgres://a:b@c/d?sslmode=require"];
        assert_eq!(
            command(&url),
            "octavo advise '--copy-of=postgres://a@c/d?sslmode=require'"
        );
        let odd = ["run", "it's.toml", "--budget=1h", "x y"];
        assert_eq!(command(&odd), "octavo run 'it'\\''s.toml' 'x y'");
        let bytes = OsString::from_vec(b"a\xffb".to_vec());
        let words = ["run".into(), bytes];
        assert_eq!(without_budget(words.into_iter()), "octavo run $'a\\377b'");
    }
}

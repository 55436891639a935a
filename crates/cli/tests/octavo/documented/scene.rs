//! A directory in which the commands of a page are typed one after the other.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::{
    here::{
        BEGUN, CALIBRATED, INSTEAD, MYSQL, OF_WORKLOADS, POSTGRES, READ, ROWS, SHORT, STORAGE,
        WORKLOAD,
    },
    page::{self, words},
    small,
};
use crate::{complaint, octavo};

/// How long a command works before it is interrupted.
const MOMENT: Duration = Duration::from_secs(1);

/// How long an interrupted command may take to end.
const LIMIT: Duration = Duration::from_secs(60);

/// What is said of a baseline or a run that tells nothing of how throughput scatters.
const TOO_SHORT: &str = "commits in each fifth of it";

pub(super) struct Scene {
    home: TempDir,
    /// What takes the place of a server's address.
    addresses: Vec<(&'static str, String)>,
}

impl Scene {
    pub(super) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        // Servers run as another user, who has to pass.
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(home.path().join("mnt")).unwrap();
        Self {
            home,
            addresses: Vec::new(),
        }
    }

    /// Where commands are typed.
    pub(super) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Has these servers in the place of the addresses on pages.
    pub(super) fn serve(&mut self, postgres: &str, mysql: &str) {
        self.addresses = vec![(POSTGRES, postgres.into()), (MYSQL, mysql.into())];
    }

    /// A file that commands read.
    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.home().join(name), text).unwrap();
    }

    /// Types the commands of a page in their order, made short. Each has to succeed.
    pub(super) fn types(&self, name: &str) {
        for command in page::page(name).commands() {
            if command.is_name() {
                continue;
            }
            let place = format!("{name}:{}: {}", command.line, command.text);
            let is_in = |list: &[(&str, &str)]| list.iter().any(|(text, _)| *text == command.text);
            if is_in(READ) {
                let mut words = self.arguments(&command.text);
                words.push("--help".into());
                self.succeeds(&words, &place);
            } else if is_in(BEGUN) {
                self.begins(&self.arguments(&command.text), &place);
            } else {
                self.succeeds(&self.short(&command.text), &place);
            }
        }
    }

    /// Types the commands of a page in their order, without a word of ours. What the last one
    /// prints.
    pub(super) fn types_in_full(&self, name: &str) -> String {
        let commands = page::page(name).commands().into_iter();
        let mut last = String::new();
        for command in commands.filter(|command| !command.is_name()) {
            let place = format!("{name}:{}: {}", command.line, command.text);
            let words = command.words();
            last = printed(&self.succeeds(&words[1..], &place));
        }
        last
    }

    /// Carries out a sitting of the plan by itself, in this directory.
    pub(super) fn sits(&self, number: u32, directory: &str) {
        self.prepares(&format!(
            "octavo run plan.toml --sitting {number}/2 --into sat"
        ));
        let sat = self.home.path().join("sat");
        let made = fs::read_dir(&sat).unwrap().next().unwrap().unwrap();
        let wanted = self.home.path().join(directory);
        fs::create_dir_all(wanted.parent().unwrap()).unwrap();
        fs::rename(made.path(), wanted).unwrap();
    }

    /// Types a command that no page has, in front of those that need its results.
    pub(super) fn prepares(&self, text: &str) {
        self.succeeds(&self.short(text), text);
    }

    /// What a command gives that is typed as it stands.
    pub(super) fn output(&self, text: &str) -> Output {
        let mut command = self.command(&self.arguments(text));
        command.output().unwrap()
    }

    fn command(&self, arguments: &[String]) -> Command {
        let mut command = octavo();
        command
            .args(arguments)
            .current_dir(self.home())
            .stdin(Stdio::null());
        command
    }

    /// What a command gives, in the file that it is written to where one stands behind `>`.
    #[track_caller]
    fn succeeds(&self, arguments: &[String], place: &str) -> Output {
        let file = arguments.iter().position(|word| word == ">");
        let (arguments, file) = arguments.split_at(file.unwrap_or(arguments.len()));
        let begun = Instant::now();
        let output = self.command(arguments).output().unwrap();
        // With --nocapture: which examples a slow page is made of.
        println!("{:6.1} s  {place}", begun.elapsed().as_secs_f64());
        // Both say how a condition came out.
        let has = |option: &str| arguments.iter().any(|word| word == option);
        let is_judged = has("--fail-if") && matches!(output.status.code(), Some(3 | 4));
        // So are a few seconds of a disk that others keep busy for one of them.
        let is_short = has("--baseline") && complaint(&output).contains(TOO_SHORT);
        let is_answer = is_judged || is_short;
        assert!(
            output.status.success() || is_answer,
            "{place}\n  typed {arguments:?}\n  {}\n  {}",
            output.status,
            complaint(&output)
        );
        if let [_, file] = file {
            let printed = match &arguments[0][..] {
                // It is carried out by a command that follows.
                "plan" => small(str::from_utf8(&output.stdout).unwrap()).into_bytes(),
                _ => output.stdout.clone(),
            };
            fs::write(self.home().join(file), printed).unwrap();
        }
        output
    }

    #[track_caller]
    fn begins(&self, arguments: &[String], place: &str) {
        let mut command = self.command(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        thread::sleep(MOMENT);
        let process = Pid::from_raw(child.id().cast_signed()).unwrap();
        if child.try_wait().unwrap().is_none() {
            kill_process(process, Signal::INT).unwrap();
        }
        let since = Instant::now();
        while child.try_wait().unwrap().is_none() {
            assert!(since.elapsed() < LIMIT, "{place} does not end");
            thread::sleep(Duration::from_millis(20));
        }
        let output = child.wait_with_output().unwrap();
        assert!(
            matches!(output.status.code(), Some(0 | 130)),
            "{place}\n  {}\n  {}",
            output.status,
            complaint(&output)
        );
    }

    /// The words behind `octavo` with what is typed here instead of some.
    fn arguments(&self, text: &str) -> Vec<String> {
        let mut words = words(text);
        for (old, new) in &self.addresses {
            let servers = words.iter_mut().filter(|word| word == old);
            servers.for_each(|word| word.clone_from(new));
        }
        if let [(_, address), ..] = &self.addresses[..] {
            let open = words.iter_mut().filter(|word| *word == "…");
            open.for_each(|word| word.clone_from(address));
        }
        for (old, new, _) in INSTEAD {
            words = replaced(&words, &page::words(old), &page::words(new));
        }
        for word in &mut words {
            if let Some(rest) = word.strip_prefix(STORAGE) {
                *word = format!("mnt{rest}");
            }
        }
        words.split_off(1)
    }

    /// The same with options that make it short.
    fn short(&self, text: &str) -> Vec<String> {
        let mut words = self.arguments(text);
        // It does nothing else, and takes no options of what it would do.
        if words.iter().any(|word| word == "--remove") {
            return words;
        }
        let mut options: Vec<&str> = Vec::new();
        for (command, more) in SHORT {
            let mut wanted = command.split(' ');
            let is_it = wanted.next() == words.first().map(String::as_str)
                && wanted.all(|word| words.iter().any(|own| own == word));
            let has = |other: &str| words.iter().any(|word| word == other);
            // A ramp has steps instead of a duration, and a plan says most of it.
            let is_other = match *command {
                "bench" => has("--ramp"),
                "predict" => names_plan(&words),
                _ => false,
            };
            if is_it && !is_other {
                options.extend(*more);
            }
        }
        // How much data is said in bytes otherwise.
        if !words.iter().any(|word| word == "--data") {
            options.extend(rows(&words));
        }
        options.retain(|option| *option != "--no-calibrate" || !CALIBRATED.contains(&text));
        // Who names a point measures no other.
        let is_of_points = words.iter().any(|word| word == "--point");
        options.retain(|option| *option != "--quick" || !is_of_points);
        let written = words.iter().position(|word| word == ">");
        let written = words.split_off(written.unwrap_or(words.len()));
        for option in options {
            let name = option.split('=').next().unwrap_or_default();
            let is_given = words
                .iter()
                .any(|word| word.split('=').next() == Some(name));
            if !is_given {
                words.push(option.to_owned());
            }
        }
        words.extend(written);
        words
    }
}

/// What was printed as pages show it: figures are not held together with their units.
pub(super) fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).replace('\u{a0}', " ")
}

/// Whether a command carries out a plan.
fn names_plan(words: &[String]) -> bool {
    words.get(1).is_some_and(|word| word.ends_with(".toml"))
}

/// The least rows of the workload that a command loads.
fn rows(words: &[String]) -> &'static [&'static str] {
    let mut after = words.iter().skip_while(|word| *word != "--workload");
    let workload = match (after.nth(1), words[0].as_str()) {
        (Some(workload), _) => workload,
        // They are the reader's own.
        (None, _) if words.iter().any(|word| word == "--copy-of") => return &[],
        // A plan says which.
        (None, _) if names_plan(words) => return &[],
        (None, "advise" | "predict" | "ab") => match has_any(words, OF_WORKLOADS) {
            true => "tpcc",
            false => return WORKLOAD,
        },
        // Those that are loaded, or the default.
        (None, _) => return &[],
    };
    let rows = ROWS.iter().find(|(name, _)| workload.starts_with(name));
    rows.map(|(_, rows)| *rows).unwrap_or_default()
}

/// Whether one of these options is among the words.
fn has_any(words: &[String], options: &[&str]) -> bool {
    let mut names = words.iter().map(|word| word.split('=').next());
    names.any(|name| name.is_some_and(|name| options.contains(&name)))
}

/// The words with each run of `old` among them replaced by `new`.
fn replaced(words: &[String], old: &[String], new: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = words;
    while let [first, others @ ..] = rest {
        match rest.strip_prefix(old) {
            Some(behind) => {
                found.extend_from_slice(new);
                rest = behind;
            }
            None => {
                found.push(first.clone());
                rest = others;
            }
        }
    }
    found
}

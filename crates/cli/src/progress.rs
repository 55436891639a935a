//! A progress bar over time on a terminal; nothing in a pipe.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shows what is done now and how much time is left.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar on the standard error; hidden when that is no terminal.
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
        bar.set_style(
            ProgressStyle::with_template("{bar:24} {prefix:>11}  {msg}")
                .expect("the template is a sound constant")
                .progress_chars("=> "),
        );
        bar.enable_steady_tick(Duration::from_millis(250));
        Self { bar }
    }

    /// What is done now, the time spent and the time that all of it takes.
    pub(crate) fn show(&self, now: &str, spent: Duration, expected: Duration) {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.bar.set_length(millis(expected).max(1));
        self.bar.set_position(millis(spent).min(millis(expected)));
        let left = expected.saturating_sub(spent).as_secs();
        self.bar
            .set_prefix(format!("{}:{:02} left", left / 60, left % 60));
        self.bar.set_message(now.to_owned());
    }

    /// A line that stays; on a terminal above the bar.
    pub(crate) fn note(&self, line: &str) {
        if self.bar.is_hidden() {
            eprintln!("{line}");
        } else {
            self.bar.println(line);
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

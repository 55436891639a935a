//! Progress over time: a live line on a terminal, a line now and then in a
//! pipe. Both go to the standard error.

use std::{
    fmt::Write,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use octavo_report::visible;

use crate::print;

/// How often progress is printed.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ProgressFlags {
    /// Seconds between lines of progress where the standard error is no
    /// terminal; 0 prints none
    #[arg(
        long = "progress",
        value_name = "SECS",
        default_value_t = 10,
        hide_short_help = true
    )]
    seconds: u32,

    /// Print no progress
    #[arg(long, short, conflicts_with = "seconds", hide_short_help = true)]
    quiet: bool,
}

/// Shows what is done now, or who leads, and how much time is left.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    time: Arc<Mutex<Estimate>>,
    every: Duration,
    /// When the last line was printed in a pipe.
    printed: Mutex<Instant>,
}

/// The time that was spent and that everything was to take, and when.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    spent: Duration,
    expected: Duration,
    at: Instant,
}

impl Estimate {
    /// What is left by now, as a line begins with it.
    fn left(self) -> String {
        self.left_after(self.at.elapsed())
    }

    /// The same so much later. Nothing where it is not known how much is left.
    fn left_after(self, later: Duration) -> String {
        if self.expected == self.spent {
            return String::new();
        }
        let spent = self.spent.saturating_add(later);
        match self.expected.checked_sub(spent) {
            Some(left) => format!("{} left · ", clock(left)),
            None => format!("{} over time · ", clock(spent - self.expected)),
        }
    }
}

impl Progress {
    /// A live line on the standard error; lines where that is no terminal.
    pub(crate) fn new(flags: ProgressFlags) -> Self {
        let now = Instant::now();
        let time = Arc::new(Mutex::new(Estimate {
            spent: Duration::ZERO,
            expected: Duration::ZERO,
            at: now,
        }));
        let shown = Arc::clone(&time);
        let target = match flags.quiet || print::is_dumb() {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr(),
        };
        let bar = ProgressBar::with_draw_target(None, target);
        // Estimate goes by between two steps of the job: the line is made anew at
        // each tick.
        bar.set_style(
            ProgressStyle::with_template("{left}{wide_msg}")
                .expect("the template is a sound constant")
                .with_key("left", move |_: &ProgressState, line: &mut dyn Write| {
                    // A line that cannot be drawn is drawn at the next tick.
                    let _drawn = line.write_str(&locked(&shown).left());
                }),
        );
        bar.enable_steady_tick(Duration::from_millis(250));
        Self {
            bar,
            time,
            every: match flags.quiet {
                true => Duration::ZERO,
                false => Duration::from_secs(flags.seconds.into()),
            },
            printed: Mutex::new(now),
        }
    }

    /// What is done now, the time spent and the time that all of it takes, which is the time
    /// spent where it is not known.
    pub(crate) fn show(&self, now: &str, spent: Duration, expected: Duration) {
        *locked(&self.time) = Estimate {
            spent,
            expected,
            at: Instant::now(),
        };
        self.say(now.to_owned());
    }

    /// What to show beside the time left until the next step.
    pub(crate) fn say(&self, what: String) {
        if !self.bar.is_hidden() {
            self.bar.set_message(visible(&what).into_owned());
        } else if self.is_due() {
            print::aside(&format!("{}{what}", locked(&self.time).left()));
        }
    }

    /// Whether the time for another line has come; then it begins anew.
    fn is_due(&self) -> bool {
        let mut printed = locked(&self.printed);
        let is_due = !self.every.is_zero() && printed.elapsed() >= self.every;
        if is_due {
            *printed = Instant::now();
        }
        is_due
    }

    /// A line that stays; on a terminal above the live one.
    pub(crate) fn note(&self, line: &str) {
        if self.bar.is_hidden() {
            print::aside(line);
        } else {
            self.bar.println(visible(line));
        }
    }

    /// Takes the live line away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `3:12`, `1:02:05`.
fn clock(time: Duration) -> String {
    let time = time.as_secs();
    match (time / 3600, time / 60 % 60, time % 60) {
        (0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (hours, minutes, seconds) => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_has_hours_where_it_needs_them() {
        assert_eq!(clock(Duration::from_secs(192)), "3:12");
        assert_eq!(clock(Duration::from_secs(3725)), "1:02:05");
        assert_eq!(clock(Duration::ZERO), "0:00");
    }

    #[test]
    fn no_time_is_left_where_none_is_known_or_it_is_over() {
        let seconds = Duration::from_secs;
        let time = |spent, expected| Estimate {
            spent: seconds(spent),
            expected: seconds(expected),
            at: Instant::now(),
        };
        assert_eq!(time(100, 292).left_after(Duration::ZERO), "3:12 left · ");
        assert_eq!(time(290, 300).left_after(seconds(10)), "0:00 left · ");
        assert_eq!(time(290, 300).left_after(seconds(32)), "0:22 over time · ");
        assert_eq!(
            time(322, 300).left_after(Duration::ZERO),
            "0:22 over time · "
        );
        assert_eq!(time(100, 100).left_after(seconds(22)), "");
    }

    #[test]
    fn progress_of_zero_seconds_prints_nothing() {
        let progress = |seconds| {
            Progress::new(ProgressFlags {
                seconds,
                quiet: false,
            })
        };
        let past = Instant::now().checked_sub(Duration::from_secs(3601));
        let quiet = Progress::new(ProgressFlags {
            seconds: 1,
            quiet: true,
        });
        if let Some(past) = past {
            *locked(&quiet.printed) = past;
        }
        assert!(quiet.bar.is_hidden() && !quiet.is_due());
        for (seconds, is_due) in [(0, false), (3600, true), (4_000_000, false)] {
            let progress = progress(seconds);
            assert!(!progress.is_due(), "{seconds}");
            if let Some(past) = past {
                *locked(&progress.printed) = past;
                assert_eq!(progress.is_due(), is_due, "{seconds}");
                // Then the time begins anew.
                assert!(!progress.is_due(), "{seconds}");
            }
        }
    }
}

//! `octavo curve`: files of requests to what buffers of all sizes miss of them.

use std::{
    fs::File,
    io::BufReader,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::anyhow;
use octavo_buffer::{
    Keep, Room,
    trace_curves::{Collected, Collector, TraceCurves, TraceFile},
    trace_file::{Given, Requests, TraceFileError},
};
use octavo_report::number::list;
use octavo_storage::text;
use octavo_units::{ByteCount, PageSize};

use crate::{failure::Failure, flags::CurveFlags, interrupt::Interrupt, print, progress::Progress};

/// Requests between two looks at progress and signals; each MiB of one counts as so many.
const REQUESTS_A_LOOK: u64 = 1 << 16;
const MIB_WEIGHT: u64 = 256;

/// Pages of a sample below which eight parts tell nothing of its error. Chosen: of 800, half
/// of all sizes of a curve were within the interval.
const SAMPLE_MIN: u64 = 1000;

pub(crate) fn curve(flags: &CurveFlags) -> Result<(), Failure> {
    flags.page.check()?;
    let work = CurveRun {
        flags,
        interrupt: Interrupt::listen()?,
        progress: Progress::new(flags.progress),
    };
    let found = work.curves();
    work.progress.finish();
    let found = found?;
    let document = || octavo_report::curve(&found);
    flags.page.write(document)?;
    print::result(flags.print, || octavo_report::curve_json(&found), document)
}

/// Reading and simulating, which may take a while.
struct CurveRun<'a> {
    flags: &'a CurveFlags,
    interrupt: Interrupt,
    progress: Progress,
}

impl CurveRun<'_> {
    fn curves(&self) -> Result<TraceCurves, Failure> {
        let flags = self.flags;
        let mut page_sizes = flags.page_sizes.clone();
        page_sizes.sort_unstable();
        page_sizes.dedup();
        let mut policies = Vec::new();
        for &policy in &flags.policy {
            if !policies.contains(&policy) {
                policies.push(policy);
            }
        }
        let largest = page_sizes
            .last()
            .map_or(ByteCount::ZERO, |size| size.bytes());
        let mut memories = flags.memory.clone();
        memories.sort_unstable();
        memories.dedup();
        if let Some(small) = memories.first().filter(|memory| **memory < largest) {
            return Err(Failure::Input(anyhow!(
                "--memory must be at least {largest}, one page, not {small}"
            )));
        }
        let mut found = TraceCurves {
            memories: memories.clone(),
            ..self.files(page_sizes.len())?
        };
        for page_size in page_sizes {
            // Requests are read anew for each size, so that one at a time is in memory.
            let collected = self.collect(page_size)?;
            found.requested = collected.requested();
            let own = match memories.is_empty() {
                true => collected.doubling(largest),
                false => memories.clone(),
            };
            let began = Instant::now();
            let mut step = |done: u32, total: u32| {
                self.show("simulate", began, done.into(), total.into());
                self.interrupt.flow()
            };
            let curves = collected.curves(&own, &policies, &mut step);
            let curves = curves.ok_or_else(interrupted)?;
            if let Some(sample) = curves.sample
                && sample.pages < SAMPLE_MIN
            {
                return Err(Failure::Input(anyhow!(
                    "the sample has {} pages of {page_size}, and below {SAMPLE_MIN} nobody can \
                     say how far it is off; give --sample a larger share, or leave it out",
                    sample.pages
                )));
            }
            found.page_sizes.push(curves);
            if own.len() > found.memories.len() {
                found.memories = own;
            }
        }
        Ok(found)
    }

    /// What the files are, without reading them; refuses what does not go together.
    fn files(&self, page_sizes: usize) -> Result<TraceCurves, Failure> {
        let mut found = TraceCurves {
            files: Vec::new(),
            has_addresses: false,
            has_writes: true,
            requested: Default::default(),
            memories: Vec::new(),
            page_sizes: Vec::new(),
        };
        for path in &self.flags.traces {
            let name = path.display().to_string();
            let requests = self.requests(path)?;
            if page_sizes > 1 && !requests.has_addresses() {
                return Err(Failure::Input(anyhow!(
                    "{name} has ids of objects and no addresses, so which blocks are neighbors is \
                     not known; give --page-sizes one size"
                )));
            }
            if let Some(first) = found.files.first()
                && requests.has_addresses() != found.has_addresses
            {
                return Err(Failure::Input(anyhow!(
                    "one of {} and {name} has addresses and the other ids of objects; read them \
                     by two commands",
                    first.name
                )));
            }
            found.has_addresses = requests.has_addresses();
            found.has_writes &= requests.has_writes();
            found.files.push(TraceFile {
                name,
                format: requests.format().name(),
            });
        }
        Ok(found)
    }

    fn requests(&self, path: &Path) -> Result<Requests<BufReader<File>>, Failure> {
        let file = text::open(path).map_err(Failure::input)?;
        let given = Given {
            format: self.flags.format,
            columns: self.flags.columns.clone(),
            action: self.flags.action.clone(),
        };
        let input = BufReader::with_capacity(1 << 16, file);
        Requests::new(&path.display().to_string(), input, &given).map_err(failure)
    }

    fn collect(&self, page_size: PageSize) -> Result<Collected, Failure> {
        let keep = self.flags.sample.unwrap_or(Keep::All);
        let room = match keep {
            Keep::Fitting => Room::SMALL,
            Keep::All | Keep::Share(_) => Room::LARGE,
        };
        let traces = &self.flags.traces;
        let lengths = traces.iter().filter_map(|path| path.metadata().ok());
        let total = lengths.map(|about| about.len()).sum();
        let mut collector = Collector::new(page_size, keep, room, self.flags.random.seed);
        let (began, mut before, mut count) = (Instant::now(), 0, 0_u64);
        for path in traces {
            let mut requests = self.requests(path)?;
            while let Some(request) = requests.next() {
                let request = request.map_err(failure)?;
                collector.add(request).map_err(|error| {
                    let remedy = match keep {
                        Keep::All => "add --sample auto",
                        Keep::Share(_) => "choose a smaller --sample, or auto",
                        Keep::Fitting => "choose a small --sample, such as 0.001",
                    };
                    Failure::Input(anyhow!("{}: {error}; {remedy}", path.display()))
                })?;
                count += 1 + (request.length >> 20) * MIB_WEIGHT;
                if count >= REQUESTS_A_LOOK {
                    count = 0;
                    if self.interrupt.is_set() {
                        return Err(interrupted());
                    }
                    self.show("read", began, before + requests.position(), total);
                }
            }
            before += requests.position();
        }
        let collected = collector.finish();
        if collected.requested().requests == 0 {
            let names = traces.iter().map(|path| path.display().to_string());
            return Err(Failure::Input(anyhow!(
                "no request with bytes is in {}; name another file",
                list(names.collect::<Vec<_>>(), "or")
            )));
        }
        Ok(collected)
    }

    fn show(&self, what: &str, began: Instant, done: u64, total: u64) {
        let spent = began.elapsed();
        let whole = match done {
            0 => Duration::ZERO,
            done => spent.mul_f64(total as f64 / done as f64),
        };
        self.progress.show(what, spent, whole.max(spent));
    }
}

fn interrupted() -> Failure {
    Failure::Interrupted("nothing was changed".into())
}

fn failure(error: TraceFileError) -> Failure {
    let is_bad_input = !matches!(error, TraceFileError::Read { .. });
    Failure::classified(error, is_bad_input)
}

//! The process that runs one database for an experiment.

use std::{
    io::{BufRead, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver},
    },
    thread,
};

use octavo_database::{DatabaseError, Settings};
use octavo_driver::{DriverError, RETRIES, SliceSettings, SlicedLoad};

use super::message::{Answer, Done, Job, Refusal, Request, send};
use crate::{error::CampaignError, resolved::ResolvedPlan};

/// Does what an experiment asks on `input`, and answers on `output`, until that asks to stop or is gone.
///
/// # Errors
/// When the experiment cannot be read or written to. What the database refuses is an answer.
pub fn serve(
    mut input: impl BufRead + Send + 'static,
    mut output: impl Write,
) -> std::io::Result<()> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let job: Job = serde_json::from_str(&line)?;
    let requests = Requests::read(input);
    if let Err(refusal) = run(&job, &requests, &mut output)? {
        send(&mut output, &Answer::Refused(refusal))?;
    }
    Ok(())
}

/// What the experiment asks, as a thread reads it.
struct Requests {
    received: Receiver<Request>,
    /// Whether the slice that was asked for last is to begin no further transaction.
    is_halted: Arc<AtomicBool>,
}

impl Requests {
    /// Until there are no more: the experiment is gone, and a slice with it.
    fn read(input: impl BufRead + Send + 'static) -> Self {
        let (sender, received) = mpsc::channel();
        let is_halted = Arc::new(AtomicBool::new(false));
        let halted = Arc::clone(&is_halted);
        thread::spawn(move || {
            for line in input.lines() {
                let request = line.ok().and_then(|line| serde_json::from_str(&line).ok());
                match request {
                    None => break,
                    Some(Request::Halt) => halted.store(true, Ordering::Release),
                    Some(request) => {
                        halted.store(false, Ordering::Release);
                        if sender.send(request).is_err() {
                            break;
                        }
                    }
                }
            }
            halted.store(true, Ordering::Release);
        });
        Self {
            received,
            is_halted,
        }
    }
}

type Served<T> = std::io::Result<Result<T, Refusal>>;

/// Runs the job. What ends it early is a refusal.
fn run(job: &Job, requests: &Requests, output: &mut impl Write) -> Served<()> {
    let resolved = match ResolvedPlan::new(&job.plan, &job.directory) {
        Ok(resolved) => resolved,
        Err(error) => return Ok(Err(refused(&error))),
    };
    let cells = job.plan.cells();
    let Some(cell) = cells.get(job.cell) else {
        let error = std::io::Error::other(format!("the plan has no cell {}", job.cell));
        return Ok(Err(Refusal::other(&error)));
    };
    let workload = resolved.workload(cell.data);
    let copy = resolved.copy(job.cell, cell);
    let settings = Settings {
        page_size: cell.page_size,
        memory: cell.memory,
        clients: cell.clients,
        isolation: job.plan.isolation,
    };
    let database = resolved.database(&cell.database);
    let running = match database.start(&copy, &settings, workload) {
        Ok(running) => running,
        Err(error) => return Ok(Err(Refusal::of(&error.into()))),
    };
    let settings = SliceSettings {
        workload,
        seed: job.seed,
        connections: cell.clients,
        retries: RETRIES,
    };
    let mut load = match SlicedLoad::open(running.as_ref(), settings) {
        Ok(load) => Some(load),
        Err(error) => return Ok(Err(Refusal::of(&error))),
    };
    let conditions = running.conditions().into_iter();
    let conditions = conditions.map(|(name, value)| (name.to_owned(), value));
    let started = Answer::Started(conditions.collect(), running.storage_path());
    send(output, &started)?;
    while let Ok(request) = requests.received.recv() {
        let answer = match request {
            // Told by `is_halted`.
            Request::Halt => continue,
            Request::Slice(transactions) => {
                let Some(load) = &mut load else {
                    return Ok(Err(Refusal::of(&DriverError::Stopped)));
                };
                let is_halted = Arc::clone(&requests.is_halted);
                match load.slice(transactions, &|| is_halted.load(Ordering::Acquire)) {
                    Ok(slice) => Answer::Slice(Done::new(&slice, &load.take_counts())),
                    Err(error) => Answer::Refused(Refusal::of(&error)),
                }
            }
            Request::Counters => Answer::Counters(running.counters()),
            Request::TreeCounters => Answer::TreeCounters(running.tree_counters()),
            Request::Close => {
                let audit = load.take().map(SlicedLoad::close);
                Answer::Closed(audit.unwrap_or_default())
            }
            Request::Stop => break,
        };
        send(output, &answer)?;
    }
    drop(load);
    match running.stop() {
        Ok(()) => send(output, &Answer::Stopped).map(Ok),
        Err(error) => Ok(Err(Refusal::of(&error.into()))),
    }
}

/// Errors that were met before there was a database.
fn refused(error: &CampaignError) -> Refusal {
    match error {
        CampaignError::Database(DatabaseError::Stopped) => Refusal::of(&DriverError::Stopped),
        error => Refusal::other(error),
    }
}

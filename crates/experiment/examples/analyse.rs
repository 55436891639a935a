//! How long it takes to analyse a large store: the runs of a small one are
//! repeated, with throughputs that vary, in a copy beside it.
//!
//! `cargo run --release -p octavo-experiment --example analyse -- STORE RUNS`

use std::{env, error::Error, fs, path::PathBuf, time::Instant};

use octavo_experiment::{findings::Findings, store::Store};
use rusqlite::{Connection, params};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (Some(source), Some(runs)) = (arguments.next(), arguments.next()) else {
        return Err("give a store and a number of runs".into());
    };
    let runs: i64 = runs.parse()?;
    let path = PathBuf::from(format!("{source}.many"));
    fs::copy(&source, &path)?;
    let outcome = analyse(&path, runs);
    fs::remove_file(&path)?;
    outcome
}

fn analyse(path: &PathBuf, runs: i64) -> Result<(), Box<dyn Error>> {
    multiply(&Connection::open(path)?, runs)?;
    for _ in 0..5 {
        let begin = Instant::now();
        let store = Store::open(path)?;
        let opened = begin.elapsed();
        let findings = Findings::of(&store)?.ok_or("no plan in the store")?;
        println!(
            "{} runs in {} rounds, {} MiB: {:.3} s, of which opening {:.3} s",
            findings.runs_done,
            findings.rounds,
            fs::metadata(path)?.len() >> 20,
            begin.elapsed().as_secs_f64(),
            opened.as_secs_f64(),
        );
    }
    Ok(())
}

/// Repeats all runs until there are as many.
fn multiply(connection: &Connection, wanted: i64) -> Result<(), Box<dyn Error>> {
    let columns = |table: &str| -> rusqlite::Result<Vec<String>> {
        connection
            .prepare(&format!("SELECT name FROM pragma_table_info('{table}')"))?
            .query_map([], |row| row.get(0))?
            .collect()
    };
    connection.execute_batch("PRAGMA synchronous = OFF; BEGIN")?;
    let (count, runs, rounds): (i64, i64, i64) = connection.query_row(
        "SELECT count(*), max(run), max(round) + 1 FROM run",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    for repetition in 1..wanted / count.max(1) {
        for table in ["run", "latency", "sample", "consistency", "audit"] {
            let names = columns(table)?;
            let values: Vec<String> = names
                .iter()
                .map(|name| match name.as_str() {
                    "run" => "run + ?1 * ?2".to_owned(),
                    "round" => "round + ?1 * ?3".to_owned(),
                    // Up to 10 % more or less, by a multiplicative congruence.
                    "counted" if table == "run" => {
                        "counted * (0.9 + ((run + ?1 * ?2) * 7919 % 1009) / 5045.0)".to_owned()
                    }
                    other => other.to_owned(),
                })
                .collect();
            let first = if table == "run" { "<=" } else { "+ 0 * ?3 <=" };
            let counted = values
                .iter()
                .zip(&names)
                .map(|(value, name)| match name.as_str() {
                    "counted" => format!("CAST({value} AS INTEGER)"),
                    _ => value.clone(),
                })
                .collect::<Vec<_>>();
            connection.execute(
                &format!(
                    "INSERT INTO {table} ({}) SELECT {} FROM {table} WHERE run {first} ?2",
                    names.join(", "),
                    counted.join(", "),
                ),
                params![repetition, runs, rounds],
            )?;
        }
    }
    connection.execute_batch("COMMIT")?;
    Ok(())
}

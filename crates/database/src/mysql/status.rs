//! What the server counts, from `SHOW GLOBAL STATUS`
//! (<https://mariadb.com/kb/en/innodb-status-variables/>).

use std::collections::HashMap;

use octavo_units::ByteCount;
use octavo_workload::Result;

use super::session::Session;
use crate::{Counters, server::monitor::Monitor};

/// The status variables that counters are made of.
const NAMES: [&str; 14] = [
    "Innodb_buffer_pool_read_requests",
    "Innodb_buffer_pool_reads",
    "Innodb_buffer_pool_wait_free",
    "Innodb_buffer_pool_pages_LRU_flushed",
    "Innodb_data_reads",
    "Innodb_data_read",
    "Innodb_pages_written",
    "Innodb_page_size",
    "Innodb_dblwr_pages_written",
    "Innodb_dblwr_writes",
    "Innodb_log_writes",
    "Innodb_os_log_written",
    "Innodb_data_fsyncs",
    "Innodb_os_log_fsyncs",
];

/// Reads the counters of this session's server from now on, with the CPU time
/// of its process where that is known.
pub(super) fn monitor(mut session: Session, pid: Option<i32>) -> Result<Monitor> {
    let mut read = move || read(&mut session);
    Ok(Monitor::new(read()?, pid, read))
}

/// Reads the counters.
fn read(session: &mut Session) -> Result<Counters> {
    let names = NAMES.map(|name| format!("'{name}'")).join(", ");
    let rows = session.texts(&format!(
        "SHOW GLOBAL STATUS WHERE Variable_name IN ({names})"
    ))?;
    Ok(counters(&pairs(rows)))
}

/// Names and values.
pub(crate) fn pairs(rows: Vec<Vec<Option<String>>>) -> HashMap<String, String> {
    rows.into_iter()
        .filter_map(|row| {
            let mut columns = row.into_iter();
            // Servers differ in the case of some.
            let name = columns.next()??.to_ascii_lowercase();
            Some((name, columns.next()??))
        })
        .collect()
}

/// Pages are counted rather than `Innodb_data_written`, of which some versions
/// count the log as a part and some do not: what goes to the data files is
/// each page and, with the doublewrite, its copy.
///
/// `Innodb_buffer_pool_read_requests` counts misses too. Pages that were read
/// ahead of their use are no misses, but reads. There are no times. Checkpoints
/// have no end in InnoDB, which moves its one forward all the time: 0.
fn counters(status: &HashMap<String, String>) -> Counters {
    let count = |name: &str| {
        let value = status.get(&name.to_ascii_lowercase());
        value
            .and_then(|value| value.parse::<u64>().ok())
            .unwrap_or(0)
    };
    let misses = count("Innodb_buffer_pool_reads");
    let pages = count("Innodb_pages_written");
    let copies = count("Innodb_dblwr_pages_written");
    Counters {
        buffer_hits: count("Innodb_buffer_pool_read_requests").saturating_sub(misses),
        buffer_misses: misses,
        // Written to make room, in the background where it keeps up.
        buffer_spills: count("Innodb_buffer_pool_pages_LRU_flushed")
            .max(count("Innodb_buffer_pool_wait_free")),
        reads: count("Innodb_data_reads"),
        read_bytes: ByteCount::new(count("Innodb_data_read")),
        data_writes: pages.saturating_add(count("Innodb_dblwr_writes")),
        data_written_bytes: ByteCount::new(
            pages
                .saturating_add(copies)
                .saturating_mul(count("Innodb_page_size")),
        ),
        log_writes: count("Innodb_log_writes"),
        log_written_bytes: ByteCount::new(count("Innodb_os_log_written")),
        syncs: count("Innodb_data_fsyncs").max(count("Innodb_os_log_fsyncs")),
        ..Counters::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(values: &[(&str, &str)]) -> HashMap<String, String> {
        let row = |&(name, value): &(&str, &str)| {
            vec![Some(String::from(name)), Some(String::from(value))]
        };
        pairs(values.iter().map(row).collect())
    }

    #[test]
    fn counters_are_made_of_status_variables() {
        let found = counters(&status(&[
            ("Innodb_buffer_pool_read_requests", "100"),
            ("Innodb_buffer_pool_reads", "30"),
            ("Innodb_data_read", "491520"),
            ("Innodb_pages_written", "5"),
            ("Innodb_dblwr_pages_written", "4"),
            ("Innodb_dblwr_writes", "1"),
            ("Innodb_page_size", "16384"),
            ("Innodb_os_log_written", "1024"),
            ("Innodb_data_fsyncs", "odd"),
        ]));
        assert_eq!((found.buffer_hits, found.buffer_misses), (70, 30));
        assert_eq!(found.data_written_bytes, ByteCount::new(9 * 16384));
        assert_eq!((found.data_writes, found.syncs), (6, 0));
        assert_eq!(counters(&status(&[])), Counters::default());
    }
}

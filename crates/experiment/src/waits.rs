//! What the time of a predicted cell's transactions goes into that no database times: what
//! they wait for that others have; and what that leaves of which resource.

use std::{cmp::Ordering::Equal, collections::BTreeMap};

use octavo_predict::{Done, Purpose, Wait, Waited};
use octavo_workload::{Workload, schema::TableId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::store::{Store, StoreError};

/// Share of the time from which on processors, a latch or the log are said to be the limit.
/// Chosen: what waits for one that works so much waits nine times as long as it works, where
/// arrivals are random.
const SATURATED: f64 = 0.9;

/// Shares above 1 by less than this are of what was under way when counting began.
const SHARE_MAX: f64 = 1.5;

/// Something of which there is only so much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// The processors that clients and database share.
    Processors,
    /// Work that one transaction does at a time.
    Latch,
    /// The device, for reads.
    Reads,
    /// The device, for pages that are written.
    Writes,
    /// The log: its writes and flushes, one after the other.
    Log,
    /// Rows that one transaction changes at a time, or a database with one writer.
    Rows,
}

/// The resource that sets the pace of transactions.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Bound {
    /// Which.
    pub resource: Resource,
    /// Its share of a transaction's time, 0 to 1, waiting for it included.
    pub share: f64,
    /// Whether it works nearly all of the time. Else it is what takes most of a
    /// transaction's.
    pub is_saturated: bool,
    /// Share of the time in which it was in use: processors on average, the device with any
    /// request under way; `None` of rows.
    pub busy: Option<f64>,
    /// Whose rows, where it is that and not the whole database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
}

/// What transactions wait for that others have or do, in microseconds of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WaitTimes {
    /// Rows that others change, or the one writer.
    pub rows_us: f64,
    /// A processor.
    pub processor_us: f64,
    /// Work that one transaction does at a time.
    pub latch_us: f64,
    /// Pages that others read.
    pub page_us: f64,
    /// The log, while it is written for others.
    pub log_us: f64,
    /// Pages that are written in the background and keep up everybody.
    pub write_us: f64,
}

impl WaitTimes {
    /// All of them.
    pub fn all_us(&self) -> f64 {
        self.rows_us
            + self.processor_us
            + self.latch_us
            + self.page_us
            + self.log_us
            + self.write_us
    }

    /// So that they come to no more than this.
    pub(crate) fn within(self, most_us: f64) -> Self {
        match self.all_us() > most_us {
            true => self.times(most_us / self.all_us()),
            false => self,
        }
    }

    fn times(self, factor: f64) -> Self {
        Self {
            rows_us: self.rows_us * factor,
            processor_us: self.processor_us * factor,
            latch_us: self.latch_us * factor,
            page_us: self.page_us * factor,
            log_us: self.log_us * factor,
            write_us: self.write_us * factor,
        }
    }
}

/// Where the time of a transaction goes, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// All of it.
    pub(crate) total_us: f64,
    /// On processors.
    pub(crate) cpu_us: f64,
    /// Reading pages.
    pub(crate) read_us: f64,
    /// Writing pages.
    pub(crate) checkpoint_us: f64,
    /// Writing and flushing the log.
    pub(crate) log_us: f64,
    /// Waiting for others.
    pub(crate) waits: WaitTimes,
}

/// What a store keeps of a predicted cell: shares of the clients' time, and of the time in
/// which resources were in use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Waits {
    /// Waiting for others, in the order of [`WaitTimes`].
    waited: [f64; 6],
    /// Of the processors' time.
    latched: f64,
    busy: Busy,
    table: Option<String>,
    /// Rows that a transaction inserts.
    inserted: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Busy {
    processors: f64,
    latch: f64,
    device: f64,
    log: f64,
}

impl Waits {
    /// Keeps a cell's.
    pub(crate) fn put(&self, store: &mut Store, cell: usize) -> Result<(), StoreError> {
        let kept = serde_json::to_string(self).unwrap_or_default();
        store.replace_facts(&topic(cell), &[("shares".to_owned(), kept)])
    }

    /// A cell's; `None` of measured ones, and of what is damaged.
    pub(crate) fn read(store: &Store, cell: usize) -> Result<Option<Self>, StoreError> {
        let kept = store.facts(&topic(cell))?.pop();
        let waits = kept.and_then(|(_, kept)| serde_json::from_str::<Self>(&kept).ok());
        Ok(waits.filter(Self::is_sound))
    }

    fn is_sound(&self) -> bool {
        let Busy {
            processors,
            latch,
            device,
            log,
        } = self.busy;
        let others = [self.latched, processors, latch, device, log];
        let mut shares = self.waited.iter().chain(&others);
        shares.all(|share| (0.0..=SHARE_MAX).contains(share)) && (0.0..1e9).contains(&self.inserted)
    }

    /// Rows that a transaction inserts.
    pub(crate) fn inserted(&self) -> f64 {
        self.inserted
    }

    /// Of a transaction that takes so long.
    pub(crate) fn times(&self, total_us: f64) -> WaitTimes {
        let [rows_us, processor_us, latch_us, page_us, log_us, write_us] =
            self.waited.map(|share| share * total_us);
        WaitTimes {
            rows_us,
            processor_us,
            latch_us,
            page_us,
            log_us,
            write_us,
        }
    }

    /// The resource that sets the pace: one that works nearly all of the time, or else what
    /// takes most of a transaction's.
    pub(crate) fn bound(&self, parts: &Parts) -> Option<Bound> {
        let waits = parts.waits;
        let latched_us = self.latched * parts.cpu_us;
        let Busy {
            processors,
            latch,
            device,
            log,
        } = self.busy;
        let all = [
            (
                Resource::Processors,
                parts.cpu_us - latched_us + waits.processor_us,
                Some(processors),
            ),
            (Resource::Latch, latched_us + waits.latch_us, Some(latch)),
            (Resource::Reads, parts.read_us + waits.page_us, Some(device)),
            (
                Resource::Writes,
                parts.checkpoint_us + waits.write_us,
                Some(device),
            ),
            (Resource::Log, parts.log_us + waits.log_us, Some(log)),
            (Resource::Rows, waits.rows_us, None),
        ];
        // A device has many requests under way at the same time, so that it may do more though
        // it is never idle.
        let serial = [Resource::Processors, Resource::Latch, Resource::Log];
        let saturated = all.iter().filter(|(of, _, busy)| {
            serial.contains(of) && busy.is_some_and(|busy| busy >= SATURATED)
        });
        let saturated = saturated.max_by(|one, other| one.2.partial_cmp(&other.2).unwrap_or(Equal));
        let most = all.iter().max_by(|one, other| one.1.total_cmp(&other.1));
        let is_saturated = saturated.is_some();
        let (resource, us, busy) = *saturated.or(most)?;
        Some(Bound {
            resource,
            share: us / parts.total_us,
            is_saturated,
            busy,
            table: match resource {
                Resource::Rows => self.table.clone(),
                _ => None,
            },
        })
    }
}

/// Under which topic a cell's are kept.
fn topic(cell: usize) -> String {
    format!("waits {cell}")
}

/// What transactions waited for, summed.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaitTally {
    waited: Waited,
    background_ns: u64,
    latched_ns: u64,
    cpu_ns: u64,
    log_ns: u64,
    transactions: u64,
    inserted: u64,
    /// By table whose rows were waited for; `None` of a database's one writer.
    rows_ns: BTreeMap<Option<TableId>, u64>,
}

/// What a cell's resources did in a time, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResourceTimes {
    /// The time.
    pub(crate) elapsed_ns: f64,
    /// Clients that work.
    pub(crate) clients: u32,
    /// Processors.
    pub(crate) processors: u32,
    /// How long reads were under way, and what is written.
    pub(crate) under_way_ns: [f64; 2],
}

impl WaitTally {
    /// Takes a transaction into account.
    pub(crate) fn see(&mut self, done: &Done) {
        self.waited = self.waited + done.waited;
        self.background_ns += done.asked(Purpose::Background).waited_ns;
        self.latched_ns += done.latched_ns;
        self.cpu_ns += done.cpu_ns;
        self.transactions += 1;
        self.inserted += done.inserted;
        let log = [Purpose::LogWrite, Purpose::LogSync];
        self.log_ns += log.map(|of| done.asked(of).waited_ns).iter().sum::<u64>();
        let rows_ns = done.waited.ns(Wait::Rows);
        if rows_ns > 0 {
            *self.rows_ns.entry(done.blocked_by).or_default() += rows_ns;
        }
    }

    /// Shares of the time.
    pub(crate) fn waits(&self, times: &ResourceTimes, workload: &dyn Workload) -> Waits {
        let ResourceTimes {
            elapsed_ns,
            clients,
            processors,
            under_way_ns: [reads_ns, writes_ns],
        } = *times;
        let of = |whole_ns: f64| move |ns: f64| if whole_ns > 0.0 { ns / whole_ns } else { 0.0 };
        let clients = of(elapsed_ns * f64::from(clients));
        let waited = |wait| clients(self.waited.ns(wait) as f64);
        let busy = of(elapsed_ns);
        let most = self.rows_ns.iter().max_by_key(|(_, ns)| **ns);
        let table = most.and_then(|(table, _)| workload.tables().get(table.as_ref()?.0));
        Waits {
            waited: [
                waited(Wait::Rows),
                waited(Wait::Processor),
                waited(Wait::Latch),
                waited(Wait::Page),
                waited(Wait::Log),
                clients(self.background_ns as f64),
            ],
            latched: of(self.cpu_ns as f64)(self.latched_ns as f64),
            busy: Busy {
                processors: busy(self.cpu_ns as f64 / f64::from(processors.max(1))),
                latch: busy(self.latched_ns as f64),
                device: busy(reads_ns + writes_ns),
                log: busy(self.log_ns as f64),
            },
            table: table.map(|table| table.name.to_string()),
            inserted: self.inserted as f64 / self.transactions.max(1) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits() -> Waits {
        Waits {
            waited: [0.1, 0.3, 0.0, 0.0, 0.0, 0.0],
            busy: Busy {
                processors: 0.97,
                device: 1.0,
                ..Busy::default()
            },
            table: Some("warehouse".to_owned()),
            ..Waits::default()
        }
    }

    fn parts(waits: &Waits) -> Parts {
        Parts {
            total_us: 1000.0,
            cpu_us: 200.0,
            read_us: 350.0,
            checkpoint_us: 0.0,
            log_us: 50.0,
            waits: waits.times(1000.0),
        }
    }

    #[test]
    fn what_works_all_the_time_is_the_limit_before_what_takes_longest() {
        let mut waits = waits();
        let bound = |waits: &Waits| waits.bound(&parts(waits)).unwrap();
        let processors = bound(&waits);
        assert_eq!(processors.resource, Resource::Processors);
        assert!(processors.is_saturated && (processors.share - 0.5).abs() < 1e-9);
        // A device that is never idle may do more.
        waits.busy.processors = 0.6;
        waits.waited = [0.3, 0.1, 0.0, 0.0, 0.0, 0.0];
        let reads = bound(&waits);
        assert_eq!((reads.resource, reads.busy), (Resource::Reads, Some(1.0)));
        assert!(!reads.is_saturated);
        waits.waited[0] = 0.6;
        let rows = bound(&waits);
        assert_eq!((rows.resource, rows.busy), (Resource::Rows, None));
        assert_eq!(rows.table.as_deref(), Some("warehouse"));
    }

    #[test]
    fn stores_keep_waits_and_damage_is_none() {
        let mut store = Store::in_memory().unwrap();
        waits().put(&mut store, 3).unwrap();
        assert_eq!(Waits::read(&store, 3).unwrap(), Some(waits()));
        assert_eq!(Waits::read(&store, 4).unwrap(), None);
        for damaged in ["", "{}", "{\"rows\":1e9}"] {
            let fact = [("shares".to_owned(), damaged.to_owned())];
            store.replace_facts(&topic(3), &fact).unwrap();
            assert_eq!(Waits::read(&store, 3).unwrap(), None);
        }
        let negative = Waits {
            waited: [-0.1; 6],
            ..waits()
        };
        negative.put(&mut store, 3).unwrap();
        assert_eq!(Waits::read(&store, 3).unwrap(), None);
    }
}

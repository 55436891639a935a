//! An experiment of a study: its settings, each with a source, and its cells.

use std::{collections::BTreeMap, fmt};

use octavo_device::sourced::Sourced;
use octavo_predict::{CpuCost, Latched};
use octavo_units::{ByteCount, PageSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    place::{Axis, Place},
    text::Text,
};

/// What was run, or stands in for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Experiment {
    /// What claims call it by.
    pub name: String,
    /// What it is.
    pub title: String,
    /// The database, by a name that Octavo models.
    pub database: Sourced<String>,
    /// Its options, as in plans.
    #[serde(default)]
    pub options: BTreeMap<String, Sourced<String>>,
    /// The workload.
    pub workload: Sourced<String>,
    /// Its rows, by parameters as in plans.
    pub rows: BTreeMap<String, Sourced<u64>>,
    /// Shares of its kinds of transactions.
    #[serde(default)]
    pub mix: Option<Sourced<String>>,
    /// Which keys are wanted how often.
    #[serde(default)]
    pub distribution: Option<Sourced<String>>,
    /// Page sizes.
    pub page_size: Sourced<Vec<Text<PageSize>>>,
    /// Memories of the buffer.
    pub memory: Sourced<Vec<Text<ByteCount>>>,
    /// Processors.
    pub cpus: Sourced<Vec<u32>>,
    /// Transactions that the database works on at the same time.
    pub clients: Sourced<Vec<u32>>,
    /// Devices of the catalog.
    pub device: Sourced<Vec<String>>,
    /// Transactions that are under way in all, those that wait for the database among them;
    /// without it nobody waits.
    #[serde(default)]
    pub under_way: Option<Sourced<f64>>,
    /// Whether TPC-C's customers and items are drawn uniformly.
    #[serde(default)]
    pub is_uniform: Option<Sourced<bool>>,
    /// Why one warm system serves all devices and numbers of clients, one after the other;
    /// without it each cell has a system of its own.
    #[serde(default)]
    pub is_one_system: Option<String>,
    /// Transactions before those that count, at most.
    pub warm_up: Sourced<u64>,
    /// How many times as many misses as the buffer has frames are enough.
    #[serde(default)]
    pub warm_up_fills: Option<Sourced<f64>>,
    /// Transactions that count.
    pub transactions: Sourced<u64>,
    /// What the processor takes.
    pub cpu: Constants,
    /// The machine's power, by a name of the catalog of machines.
    #[serde(default)]
    pub machine: Option<Sourced<String>>,
    /// Windows of 10 s whose throughputs are compared; none without it.
    #[serde(default)]
    pub windows: Option<Sourced<u32>>,
}

/// What the processor takes for transactions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Constants {
    /// Of each transaction, in microseconds.
    pub transaction_us: Sourced<f64>,
    /// Of each byte of the log, in nanoseconds.
    pub log_byte_ns: Sourced<f64>,
    /// Of each byte that is read, in nanoseconds.
    pub read_byte_ns: Sourced<f64>,
    /// Of each transaction under the latch, in microseconds.
    pub latched_us: Sourced<f64>,
    /// Of each page that is read, under the latch, in microseconds.
    pub latched_read_us: Sourced<f64>,
    /// Of each byte of pages that is read, under the latch, in nanoseconds.
    pub latched_read_byte_ns: Sourced<f64>,
    /// Of each byte of pages that is written, under the latch, in nanoseconds.
    pub latched_written_byte_ns: Sourced<f64>,
}

impl Default for Constants {
    fn default() -> Self {
        let none = || Sourced::new(0.0, "");
        Self {
            transaction_us: none(),
            log_byte_ns: none(),
            read_byte_ns: none(),
            latched_us: none(),
            latched_read_us: none(),
            latched_read_byte_ns: none(),
            latched_written_byte_ns: none(),
        }
    }
}

impl Constants {
    /// What a model takes.
    pub fn cost(&self) -> CpuCost {
        CpuCost {
            // A study's are with storage.
            request_ns: 0.0,
            transaction_ns: *self.transaction_us * 1e3,
            log_byte_ns: *self.log_byte_ns,
            read_byte_ns: *self.read_byte_ns,
            latched: Latched {
                transaction_ns: *self.latched_us * 1e3,
                read_ns: *self.latched_read_us * 1e3,
                read_byte_ns: *self.latched_read_byte_ns,
                written_byte_ns: *self.latched_written_byte_ns,
            },
        }
    }

    /// All of them by name and unit, without those that are 0.
    pub fn all(&self) -> Vec<(&'static str, &'static str, &Sourced<f64>)> {
        let all = [
            ("transaction-us", "µs", &self.transaction_us),
            ("log-byte-ns", "ns", &self.log_byte_ns),
            ("read-byte-ns", "ns", &self.read_byte_ns),
            ("latched-us", "µs", &self.latched_us),
            ("latched-read-us", "µs", &self.latched_read_us),
            ("latched-read-byte-ns", "ns", &self.latched_read_byte_ns),
            (
                "latched-written-byte-ns",
                "ns",
                &self.latched_written_byte_ns,
            ),
        ];
        let is_there = |(_, _, value): &(_, _, &Sourced<f64>)| ***value != 0.0;
        all.into_iter().filter(is_there).collect()
    }

    /// The one of this name.
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut f64> {
        let found = match name {
            "transaction-us" => &mut self.transaction_us,
            "log-byte-ns" => &mut self.log_byte_ns,
            "read-byte-ns" => &mut self.read_byte_ns,
            "latched-us" => &mut self.latched_us,
            "latched-read-us" => &mut self.latched_read_us,
            "latched-read-byte-ns" => &mut self.latched_read_byte_ns,
            "latched-written-byte-ns" => &mut self.latched_written_byte_ns,
            _ => return None,
        };
        Some(&mut found.value)
    }
}

/// One combination.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct StudyCell {
    /// Its place among the study's experiments.
    #[serde(skip)]
    pub experiment: usize,
    /// The device.
    pub device: String,
    /// The page size.
    pub page_size: PageSize,
    /// The buffer.
    pub memory: ByteCount,
    /// Processors.
    pub cpus: u32,
    /// Clients.
    pub clients: u32,
}

impl StudyCell {
    /// Its level of an axis, in words.
    pub fn level(&self, axis: Axis) -> String {
        match axis {
            Axis::PageSize => self.page_size.to_string(),
            Axis::Memory => self.memory.to_string(),
            Axis::Cpus => self.cpus.to_string(),
            Axis::Clients => self.clients.to_string(),
            Axis::Device => self.device.clone(),
        }
    }
}

impl fmt::Display for StudyCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            device,
            page_size,
            memory,
            cpus,
            clients,
            ..
        } = self;
        write!(
            f,
            "{device}, {page_size} pages, {memory}, {cpus} CPUs, {clients} clients"
        )
    }
}

impl Experiment {
    /// The cells at a place, in order: what it does not say has one value, or is among
    /// `free`.
    ///
    /// # Errors
    /// In words, what is missing or not there.
    pub fn cells_at(&self, place: &Place, free: &[Axis]) -> Result<Vec<StudyCell>, String> {
        let page_sizes: Vec<PageSize> = self.page_size.iter().map(|size| size.0).collect();
        let memories: Vec<ByteCount> = self.memory.iter().map(|size| size.0).collect();
        let page_size = place.page_size.as_ref().map(|size| size.0);
        let memory = place.memory.as_ref().map(|size| size.0);
        let is_free = |axis| free.contains(&axis);
        let page_sizes = chosen(&page_sizes, page_size, "page-size", is_free(Axis::PageSize))?;
        let memories = chosen(&memories, memory, "memory", is_free(Axis::Memory))?;
        let cpus = chosen(&self.cpus, place.cpus, "cpus", is_free(Axis::Cpus))?;
        let clients = chosen(
            &self.clients,
            place.clients,
            "clients",
            is_free(Axis::Clients),
        )?;
        let device = place.device.clone();
        let devices = chosen(&self.device, device, "device", is_free(Axis::Device))?;
        let mut cells = Vec::new();
        for device in &devices {
            for &page_size in &page_sizes {
                for &memory in &memories {
                    for &cpus in &cpus {
                        let cell = |&clients: &u32| StudyCell {
                            experiment: 0,
                            device: device.clone(),
                            page_size,
                            memory,
                            cpus,
                            clients,
                        };
                        cells.extend(clients.iter().map(cell));
                    }
                }
            }
        }
        Ok(cells)
    }

    /// All settings but the processor's, in words: name, value, source.
    pub fn settings(&self) -> Vec<(String, String, String)> {
        fn row<T>(name: &str, of: &Sourced<T>, text: String) -> (String, String, String) {
            (name.to_owned(), text, of.source.clone())
        }
        fn list<T: fmt::Display>(all: impl IntoIterator<Item = T>) -> String {
            let all: Vec<String> = all.into_iter().map(|one| one.to_string()).collect();
            all.join(", ")
        }
        let mut rows = vec![row("database", &self.database, self.database.value.clone())];
        let options = self.options.iter();
        rows.extend(options.map(|(name, of)| row(name, of, of.value.clone())));
        rows.push(row("workload", &self.workload, self.workload.value.clone()));
        let data = self.rows.iter();
        rows.extend(data.map(|(name, of)| row(name, of, of.value.to_string())));
        for (name, of) in [("mix", &self.mix), ("distribution", &self.distribution)] {
            rows.extend(of.iter().map(|of| row(name, of, of.value.clone())));
        }
        let sizes = list(self.page_size.iter().map(|size| size.0));
        let memories = list(self.memory.iter().map(|size| size.0));
        let uniform = self.is_uniform.iter();
        rows.extend(uniform.map(|of| row("uniform", of, of.value.to_string())));
        rows.push(row("page size", &self.page_size, sizes));
        rows.push(row("buffer", &self.memory, memories));
        rows.push(row("CPUs", &self.cpus, list(self.cpus.iter())));
        rows.push(row("clients", &self.clients, list(self.clients.iter())));
        rows.push(row("device", &self.device, list(self.device.iter())));
        let under_way = self.under_way.iter();
        rows.extend(under_way.map(|of| row("under way", of, of.value.to_string())));
        rows.push(row(
            "warm-up",
            &self.warm_up,
            self.warm_up.value.to_string(),
        ));
        let fills = self.warm_up_fills.iter();
        rows.extend(fills.map(|of| row("warm-up, fills of the buffer", of, of.value.to_string())));
        if let Some(why) = &self.is_one_system {
            rows.push((
                "one system".into(),
                "for all devices and clients".into(),
                why.clone(),
            ));
        }
        let transactions = self.transactions.value.to_string();
        rows.push(row("transactions", &self.transactions, transactions));
        let machine = self.machine.iter();
        rows.extend(machine.map(|of| row("machine", of, of.value.clone())));
        rows
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        let lists = [
            ("page-size", self.page_size.len()),
            ("memory", self.memory.len()),
            ("cpus", self.cpus.len()),
            ("clients", self.clients.len()),
            ("device", self.device.len()),
        ];
        if let Some((name, _)) = lists.iter().find(|(_, length)| *length == 0) {
            return Err(format!("{name} has no entry"));
        }
        if self.cpus.contains(&0) || self.clients.contains(&0) || *self.transactions == 0 {
            return Err("cpus, clients and transactions must be at least 1".into());
        }
        let is_positive = |of: &Sourced<f64>| (0.0..1e9).contains(&of.value) && of.value > 0.0;
        let factors = [&self.under_way, &self.warm_up_fills];
        if !factors.into_iter().flatten().all(is_positive) {
            return Err("under-way and warm-up-fills must be more than 0".into());
        }
        if self.windows.as_ref().is_some_and(|of| of.value < 2) {
            return Err("windows must be at least 2".into());
        }
        if self.is_uniform.is_some() && self.workload.value != "tpcc" {
            return Err("is-uniform is for tpcc".into());
        }
        let is_cost = |(_, _, value): &(_, _, &Sourced<f64>)| (0.0..1e9).contains(&value.value);
        if !self.cpu.all().iter().all(is_cost) {
            return Err("a constant of the processor must be at least 0, and under 1e9".into());
        }
        Ok(())
    }
}

/// The level that is named, or all of them where that is allowed or there is one.
fn chosen<T: Clone + PartialEq + fmt::Display>(
    all: &[T],
    named: Option<T>,
    name: &str,
    is_free: bool,
) -> Result<Vec<T>, String> {
    match named {
        Some(level) if all.contains(&level) => Ok(vec![level]),
        Some(level) => Err(format!("the experiment has no {name} {level}")),
        None if is_free || all.len() == 1 => Ok(all.to_vec()),
        None => Err(format!("it has to say which {name}")),
    }
}

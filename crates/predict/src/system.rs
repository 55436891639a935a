//! The closed system: a client whose transactions wait for the processor, the buffer,
//! the log and the device, in virtual time.

use octavo_buffer::Frames;
use octavo_device::{Device, DeviceError, Tag};
use octavo_units::{ByteCount, Moment, PageSize, Seed};
use octavo_workload::{Client, ConnectionError, Outcome, Workload, touch::Pretence};

use crate::{
    cpu::CpuCost,
    engine::{Engine, EngineError, Referred},
    io::{Io, Purpose},
    sqlite::Sqlite,
};

/// What is predicted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// Bytes of a page.
    pub page_size: PageSize,
    /// Memory of the buffer.
    pub memory: ByteCount,
    /// Of the client's inputs: the one that a measurement has.
    pub seed: Seed,
    /// What the processor takes.
    pub cpu: CpuCost,
}

/// What one transaction did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Its position in [`Workload::transactions`].
    pub kind: usize,
    /// How it ended.
    pub outcome: Outcome,
    /// References to pages.
    pub referred: Referred,
    /// What it asked of storage, by [`Purpose::ALL`].
    pub asked: [Asked; Purpose::ALL.len()],
    /// What the processor took, in nanoseconds.
    pub cpu_ns: u64,
}

/// Requests for one purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Reads or writes.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Flushes.
    pub flushes: u64,
    /// How long they took, in nanoseconds, one after the other.
    pub waited_ns: u64,
}

impl Done {
    /// What it asked for one purpose.
    pub fn asked(&self, purpose: Purpose) -> Asked {
        self.asked[purpose as usize]
    }

    /// From its beginning to its end, in nanoseconds.
    pub fn elapsed_ns(&self) -> u64 {
        self.cpu_ns + self.asked.iter().map(|asked| asked.waited_ns).sum::<u64>()
    }
}

/// Why nothing is predicted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PredictError {
    /// The database cannot be modeled so.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The device cannot do what it was asked.
    #[error("the device cannot do what the database asks of it")]
    Device(#[from] DeviceError),
    /// The device is too small.
    #[error("{needed} of data and log do not fit a device of {capacity}: name a larger one")]
    Capacity {
        /// What the database takes.
        needed: ByteCount,
        /// What the device has.
        capacity: ByteCount,
    },
    /// The workload's transactions do not run.
    #[error(transparent)]
    Workload(#[from] ConnectionError),
}

/// One client of a database on a device.
pub struct System {
    engine: Box<dyn Engine>,
    client: Box<dyn Client>,
    pretence: Pretence,
    device: Box<dyn Device>,
    cpu: CpuCost,
    now: Moment,
    ios: Vec<Io>,
}

impl System {
    /// SQLite with one client, after loading and with an empty cache.
    ///
    /// # Errors
    /// [`PredictError::Engine`] for memory that holds no pages, and
    /// [`PredictError::Capacity`].
    pub fn sqlite(
        workload: &dyn Workload,
        setup: &Setup,
        device: Box<dyn Device>,
    ) -> Result<Self, PredictError> {
        let engine = Sqlite::new(workload, setup.page_size, setup.memory)?;
        let (needed, capacity) = (engine.size(), device.geometry().capacity);
        if needed > capacity {
            return Err(PredictError::Capacity { needed, capacity });
        }
        Ok(Self {
            engine: Box::new(engine),
            client: workload.clients(setup.seed, 1).remove(0),
            pretence: workload.pretence(),
            now: device.now(),
            device,
            cpu: setup.cpu,
            ios: Vec::new(),
        })
    }

    /// Pages of the buffer, or of the data where these are fewer.
    pub fn frames(&self) -> Frames {
        self.engine.frames()
    }

    /// The client's next transaction, from beginning to end.
    ///
    /// # Errors
    /// [`PredictError::Device`], [`PredictError::Workload`].
    pub fn transaction(&mut self) -> Result<Done, PredictError> {
        let kind = self.client.draw();
        self.pretence.forget();
        let outcome = self.client.run(&mut self.pretence)?;
        let (touches, is_committed) = (self.pretence.touches(), outcome == Outcome::Committed);
        self.ios.clear();
        let referred = self
            .engine
            .transaction(touches, is_committed, &mut self.ios);
        let mut asked = [Asked::default(); Purpose::ALL.len()];
        for io in &self.ios {
            self.device.submit(self.now, Tag(0), io.request)?;
            let end = self.device.next(Moment::NEVER)?;
            let end = end.map_or(self.now, |completion| completion.at);
            let asked = &mut asked[io.purpose as usize];
            asked.waited_ns += end.since(self.now);
            match io.request.length {
                0 => asked.flushes += 1,
                bytes => {
                    asked.requests += 1;
                    asked.bytes += u64::from(bytes);
                }
            }
            self.now = end;
        }
        let cpu_ns = self.cpu.of(&asked);
        self.now = self.now.after(cpu_ns);
        Ok(Done {
            kind,
            outcome,
            referred,
            asked,
            cpu_ns,
        })
    }
}

impl std::fmt::Debug for System {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("System").finish_non_exhaustive()
    }
}

//! The closed system: a client whose transactions wait for the processor, the buffer,
//! the log and the device, in virtual time.

use octavo_device::{Device, Request};
use octavo_units::{ByteCount, Moment, PageSize, Seed};
use octavo_workload::{Client, Outcome, Workload, touch::Pretence};

use crate::{
    background::Background,
    cpu::CpuCost,
    engine::{Engine, Referred},
    error::PredictError,
    io::{Asked, Io, Purpose},
    model::Model,
};

/// What is predicted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// The database.
    pub model: Model,
    /// Bytes of a page.
    pub page_size: PageSize,
    /// Memory of the buffer.
    pub memory: ByteCount,
    /// Of the client's inputs: the one that a measurement has.
    pub seed: Seed,
    /// What the processor takes.
    pub cpu: CpuCost,
    /// How many times as long as the device says its requests take.
    pub slowness: Slowness,
}

/// How many times as long as a model of storage says requests take that are for one
/// purpose: what is known from measurements of the storage under a database.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowness(pub [f64; Purpose::ALL.len()]);

impl Default for Slowness {
    /// The device is right.
    fn default() -> Self {
        Self([1.0; Purpose::ALL.len()])
    }
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
    /// Bytes of the values that it set or inserted; none if it was rolled back.
    pub changed_bytes: u64,
    /// What it asked of storage, by [`Purpose::ALL`].
    pub asked: [Asked; Purpose::ALL.len()],
    /// What the processor took, in nanoseconds.
    pub cpu_ns: u64,
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

/// One client of a database on a device.
pub struct System {
    engine: Box<dyn Engine>,
    client: Box<dyn Client>,
    pretence: Pretence,
    device: Box<dyn Device>,
    background: Background,
    cpu: CpuCost,
    slowness: Slowness,
    now: Moment,
    ios: Vec<Io>,
}

impl System {
    /// A database with one client, after loading and with an empty buffer.
    ///
    /// # Errors
    /// [`PredictError::Engine`] for memory that holds no pages, and
    /// [`PredictError::Capacity`].
    pub fn new(
        workload: &dyn Workload,
        setup: &Setup,
        mut device: Box<dyn Device>,
    ) -> Result<Self, PredictError> {
        let engine = setup.model.open(workload, setup.page_size, setup.memory)?;
        let (needed, capacity) = (engine.size(), device.geometry().capacity);
        if needed > capacity {
            return Err(PredictError::Capacity { needed, capacity });
        }
        load(device.as_mut(), needed)?;
        Ok(Self {
            engine,
            client: workload.clients(setup.seed, 1).remove(0),
            pretence: workload.pretence(),
            now: device.now(),
            device,
            background: Background::default(),
            cpu: setup.cpu,
            slowness: setup.slowness,
            ios: Vec::new(),
        })
    }

    /// Pages of the buffer, or of the data where these are fewer.
    pub fn frames(&self) -> u64 {
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
        self.engine.advance(self.now);
        let referred = self
            .engine
            .transaction(touches, is_committed, &mut self.ios);
        let mut asked = [Asked::default(); Purpose::ALL.len()];
        for io in &self.ios {
            let waited_ns = match io.purpose {
                Purpose::Background => {
                    let device = self.device.as_mut();
                    self.background.submit(device, self.now, io.request)?;
                    let end = self.background.catch_up(device, self.now)?;
                    let waited_ns = end.since(self.now);
                    self.now = end;
                    waited_ns
                }
                purpose => {
                    let end = self
                        .background
                        .ask(self.device.as_mut(), self.now, io.request)?;
                    let slowness = self.slowness.0[purpose as usize];
                    let waited_ns = (end.since(self.now) as f64 * slowness) as u64;
                    // A device cannot be asked before what it has answered.
                    self.now = end.max(self.now.after(waited_ns));
                    waited_ns
                }
            };
            let asked = &mut asked[io.purpose as usize];
            asked.waited_ns += waited_ns;
            match io.request.length {
                0 => {
                    asked.flushes += 1;
                    asked.flush_ns += waited_ns;
                }
                bytes => {
                    asked.requests += 1;
                    asked.bytes += u64::from(bytes);
                }
            }
        }
        let cpu_ns = self.cpu.of(&asked);
        self.now = self.now.after(cpu_ns);
        Ok(Done {
            kind,
            outcome,
            referred,
            changed_bytes: match is_committed {
                true => self.pretence.changed_bytes(),
                false => 0,
            },
            asked,
            cpu_ns,
        })
    }
}

/// Bytes of a request that loads.
const LOADING: u64 = 1 << 20;

/// Writes all bytes up to `size`, as loading does: what was never written is read from
/// nowhere on flash.
fn load(device: &mut dyn Device, size: ByteCount) -> Result<(), PredictError> {
    let mut background = Background::default();
    for begin in (0..size.get()).step_by(LOADING as usize) {
        let length = LOADING.min(size.get() - begin) as u32;
        let now = device.now();
        background.ask(device, now, Request::write(begin, length))?;
    }
    let now = device.now();
    background.ask(device, now, Request::FLUSH)?;
    Ok(())
}

impl std::fmt::Debug for System {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("System").finish_non_exhaustive()
    }
}

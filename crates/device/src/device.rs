//! The boundary of storage: [`Device`], behind which stand interpolated
//! profiles and simulators.

use octavo_units::{ByteCount, Moment, QueueDepth, Seed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{point::PointSpec, request::Request};

/// Storage that takes requests and completes them in its own time.
///
/// The caller alternates between [`submit`](Self::submit) and
/// [`next`](Self::next), and time never goes backwards: no request is
/// submitted at a moment before one that was submitted earlier, before a
/// completion that `next` returned, or before an `until` up to which it found
/// nothing. Time is virtual, and both calls return at once.
///
/// A closed loop that keeps one request in flight:
///
/// ```
/// use octavo_device::{Device, Request, Tag, simulated::Constant};
/// use octavo_units::{ByteCount, Moment};
///
/// let mut device = Constant::new(ByteCount::mib(1), 100_000);
/// let mut now = Moment::START;
/// for index in 0..3 {
///     device.submit(now, Tag(0), Request::read(index * 4096, 4096))?;
///     let completion = device.next(Moment::NEVER)?.expect("one is in flight");
///     now = completion.at;
/// }
/// # Ok::<(), octavo_device::DeviceError>(())
/// ```
pub trait Device {
    /// What can be asked of it.
    fn geometry(&self) -> Geometry;

    /// Takes a request. More requests than [`Geometry::queue`] wait in the
    /// order in which they came, as they would in the host.
    ///
    /// # Errors
    /// [`DeviceError::Extent`] for a request that the geometry does not allow.
    fn submit(&mut self, at: Moment, tag: Tag, request: Request) -> Result<(), DeviceError>;

    /// The earliest completion at or before `until`, or `None` if there is
    /// none by then. Completions at the same moment come in the order of
    /// submission. With [`Moment::NEVER`], `None` means that nothing is in
    /// flight.
    ///
    /// # Errors
    /// Those of the devices that it is made of.
    fn next(&mut self, until: Moment) -> Result<Option<Completion>, DeviceError>;

    /// A moment before which nothing completes of what was submitted: of the
    /// next completion if that is decided, or else of the device's next
    /// decision. After [`next`](Self::next) found nothing it is later than the
    /// `until`; with nothing in flight and nothing left to do it is
    /// [`Moment::NEVER`]. What is composed of devices moves them on in the
    /// order of these moments, so that none runs ahead of what another causes.
    fn earliest(&self) -> Moment;

    /// Decides what can be decided of what was submitted, so that
    /// [`earliest`](Self::earliest) is not only a bound where it need not be.
    /// For callers whose time is real, or who compose devices; it changes no
    /// completion. Devices that decide when a request is submitted do nothing.
    fn settle(&mut self) {}

    /// The latest moment that the device knows of: of a submission, of a
    /// completion that was returned, or of an `until` that passed.
    fn now(&self) -> Moment;

    /// What it has done since it was opened.
    fn counters(&self) -> Counters;

    /// Brings the device into the state that it has after `spec` has loaded it
    /// for long: of flash, with every page of the device written and those of
    /// the range overwritten in requests of this size and order until cleaning
    /// is steady. It takes no time of the device and counts nothing. Devices
    /// without such a state do nothing. A shift of more than a request is where the range
    /// begins, as on a partition.
    ///
    /// # Errors
    /// A range that does not fit the device.
    fn precondition(&mut self, spec: &PointSpec, seed: Seed) -> Result<(), DeviceError> {
        let _ = (spec, seed);
        Ok(())
    }
}

/// What can be asked of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Extents end at or before this many bytes.
    pub capacity: ByteCount,
    /// Extents begin and end at multiples of this.
    pub sector: ByteCount,
    /// Requests that the device itself holds; it may reorder these.
    pub queue: QueueDepth,
}

impl Geometry {
    /// Whether the device may be asked for this extent.
    ///
    /// # Errors
    /// [`DeviceError::Extent`], which tells why not.
    #[inline]
    pub fn check(&self, request: Request) -> Result<(), DeviceError> {
        let sector = self.sector.get();
        // Sectors are powers of two nearly everywhere, where this is a mask.
        let aligned = if sector.is_power_of_two() {
            (request.offset | u64::from(request.length)) & (sector - 1) == 0
        } else {
            request.offset.is_multiple_of(sector) && u64::from(request.length) % sector == 0
        };
        if aligned && request.end() <= self.capacity.get() {
            Ok(())
        } else {
            Err(DeviceError::Extent {
                request,
                geometry: *self,
            })
        }
    }
}

/// What the caller calls a request by; the device gives it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u32);

/// The end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Of which request.
    pub tag: Tag,
    /// When.
    pub at: Moment,
}

/// What a device has done. `media` is what lies behind caches and translation:
/// platters or flash; a device that knows nothing of it leaves 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// Read requests completed or in flight.
    pub reads: u64,
    /// Write requests completed or in flight.
    pub writes: u64,
    /// Flushes completed or in flight.
    pub flushes: u64,
    /// Bytes that were asked to be read.
    pub read_bytes: u64,
    /// Bytes that were asked to be written.
    pub written_bytes: u64,
    /// Bytes read from the media, cleaning included; those of requests in
    /// flight may not be among them yet.
    pub media_read_bytes: u64,
    /// Bytes written to the media, cleaning included.
    pub media_written_bytes: u64,
    /// Blocks erased, of flash.
    pub erases: u64,
    /// Nanoseconds in which the device was at work, for its power: of flash,
    /// with a request of the host.
    pub busy_ns: u64,
}

impl Counters {
    /// Bytes written to the media for each byte that the host wrote; `None`
    /// before there is one, and of devices that know no media.
    pub fn write_amplification(&self) -> Option<f64> {
        (self.written_bytes > 0 && self.media_written_bytes > 0)
            .then(|| self.media_written_bytes as f64 / self.written_bytes as f64)
    }

    /// What was done since `earlier`; 0 where a counter fell, because the device
    /// went away and came back.
    pub fn since(&self, earlier: &Self) -> Self {
        let since = u64::saturating_sub;
        Self {
            reads: since(self.reads, earlier.reads),
            writes: since(self.writes, earlier.writes),
            flushes: since(self.flushes, earlier.flushes),
            read_bytes: since(self.read_bytes, earlier.read_bytes),
            written_bytes: since(self.written_bytes, earlier.written_bytes),
            media_read_bytes: since(self.media_read_bytes, earlier.media_read_bytes),
            media_written_bytes: since(self.media_written_bytes, earlier.media_written_bytes),
            erases: since(self.erases, earlier.erases),
            busy_ns: since(self.busy_ns, earlier.busy_ns),
        }
    }

    /// Counts a request that was taken.
    #[inline]
    pub fn take(&mut self, request: Request) {
        use crate::request::Command;
        let bytes = u64::from(request.length);
        match request.command {
            Command::Read => {
                self.reads += 1;
                self.read_bytes += bytes;
            }
            Command::Write => {
                self.writes += 1;
                self.written_bytes += bytes;
            }
            Command::Flush => self.flushes += 1,
            Command::Trim => {}
        }
    }
}

/// Why a device did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The request lies outside of the device or across its sectors.
    #[error(
        "{:?} of {} bytes at offset {} does not fit a device of {} with sectors of {}",
        request.command, request.length, request.offset, geometry.capacity, geometry.sector
    )]
    Extent {
        /// What was asked.
        request: Request,
        /// What can be asked.
        geometry: Geometry,
    },
    /// Requests of this size do not fit into the range.
    #[error(
        "a request of {length} bytes does not fit into a range of {range}: give a larger range"
    )]
    Range {
        /// Bytes of one request.
        length: u32,
        /// The range.
        range: ByteCount,
    },
}

//! What firmware does between a device's sectors and its flash pages.

use octavo_units::Moment;

use super::nand::{Nand, Operations};
use crate::Request;

/// Bytes that a request is about; of at least one sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

impl From<Request> for Extent {
    #[inline]
    fn from(Request { offset, length, .. }: Request) -> Self {
        Self { offset, length }
    }
}

impl Extent {
    /// The first byte after it.
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.offset + u64::from(self.length)
    }

    /// The part that lies in the unit `index` of units of `unit_bytes`, in
    /// bytes; 0 if it is elsewhere.
    #[inline]
    pub(crate) fn bytes_within(&self, index: u64, unit_bytes: u32) -> u32 {
        let begin = index * u64::from(unit_bytes);
        let end = begin + u64::from(unit_bytes);
        let bytes = self.end().min(end).saturating_sub(self.offset.max(begin));
        // No more than the unit.
        bytes as u32
    }
}

/// A flash translation layer, with its write buffer and its cleaning.
///
/// Its methods are called in the order of their `at`, but for reads, whose
/// `at` may lie ahead by the time that the controller takes for them. It says
/// at once when things will be done: what it starts on the chips is decided,
/// and what is asked later comes after it there.
pub(crate) trait Translation {
    /// Lets happen what happens inside of it by `until`; called before time
    /// comes there.
    #[inline]
    fn advance(&mut self, nand: &mut Nand, until: Moment) {
        let _ = (nand, until);
    }

    /// Whether nothing happens inside of it as time passes, so that
    /// [`Translation::advance`] does nothing until it is asked to write.
    #[inline]
    fn is_idle(&self) -> bool {
        false
    }

    /// Says that this is going to be read or written: a hint, which lets it
    /// bring what it needs into the processor's cache. It changes nothing.
    #[inline]
    fn announce(&self, extent: Extent) {
        let _ = extent;
    }

    /// The moment from `at` on at which it can take this write, as the buffer
    /// has room or the write before is over; it may be asked again then, and
    /// say another. The write waits outside of the device's chips meanwhile,
    /// and reads pass it.
    fn admit(&mut self, nand: &mut Nand, at: Moment, extent: Extent) -> Moment {
        let _ = (nand, extent);
        at
    }

    /// Reads; over when all bytes are in the controller.
    fn read(&mut self, nand: &mut Nand, at: Moment, extent: Extent) -> Moment;

    /// Writes what is in the controller at `at`; over when the device may
    /// acknowledge it.
    fn write(&mut self, nand: &mut Nand, at: Moment, extent: Extent) -> Moment;

    /// Makes all that was written durable; over when it is.
    fn flush(&mut self, nand: &mut Nand, at: Moment) -> Moment;

    /// Forgets what the extent holds.
    fn trim(&mut self, extent: Extent);

    /// Becomes a device of which every sector was written once in ascending
    /// order, and says how many bytes of overwrites within the first
    /// `range_bytes` bring it to where it stays when they go on. The caller
    /// makes them, while chips take no time.
    fn fill(&mut self, range_bytes: u64) -> u64;

    /// Bytes that a smaller write moves just as well, on the way to where the
    /// device stays.
    fn unit_bytes(&self) -> u32 {
        1
    }

    /// Bytes of writes that it takes at once when it is at rest. A device that
    /// was loaded for long has these waiting.
    fn buffer_bytes(&self) -> u64 {
        0
    }

    /// What the chips have done; of a layer that keeps the time of chips
    /// itself, what it did.
    fn operations(&self, nand: &Nand) -> Operations {
        nand.operations()
    }

    /// Bytes that the simulation holds for it.
    #[cfg(test)]
    fn memory_bytes(&self) -> usize;
}

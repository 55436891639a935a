//! A request of any format, and the pages that it touches.

use octavo_units::{ByteCount, PageSize};

use super::error::{Problem, shortened};
use crate::trace::Access;

/// The longest request that is believed. Linux splits requests far below it. Chosen.
const REQUEST_MAX: ByteCount = ByteCount::mib(1024);

/// A sector: what the sector numbers of Linux and the blocks of `.lis` files count.
pub(super) const SECTOR: u64 = 512;

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// An object by its id; which objects are neighbors is not known.
    Object(u64),
    /// A place on a device.
    Address {
        /// A number for the device, far from those of others; 0 where the file names none.
        device: u64,
        /// Bytes from the beginning of the device.
        offset: u64,
    },
}

/// One read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Of what.
    pub place: Place,
    /// How many bytes; an object's size.
    pub length: u64,
    /// Whether it writes, where the file says that.
    pub access: Access,
}

impl Request {
    /// A request for bytes of a device.
    pub(super) fn at(
        device: u64,
        offset: u64,
        length: u64,
        access: Access,
    ) -> Result<Self, Problem> {
        if length > REQUEST_MAX.get() {
            return Err(Problem::LongRequest {
                length,
                max: REQUEST_MAX,
            });
        }
        if offset.checked_add(length).is_none() {
            return Err(Problem::BeyondEnd);
        }
        Ok(Self {
            place: Place::Address { device, offset },
            length,
            access,
        })
    }

    /// A request for sectors of a device.
    pub(super) fn of_sectors(
        device: u64,
        first: u64,
        count: u64,
        access: Access,
    ) -> Result<Self, Problem> {
        let bytes = |sectors: u64| sectors.checked_mul(SECTOR).ok_or(Problem::BeyondEnd);
        Self::at(device, bytes(first)?, bytes(count)?, access)
    }

    /// The numbers of the pages that it touches, none if it has no bytes. Devices are kept
    /// apart, but for a chance of 2^-28 or less.
    pub fn pages(self, size: PageSize) -> impl Iterator<Item = u64> {
        let (base, first, last) = match self.place {
            Place::Object(id) => (id, 0, 0),
            Place::Address { device, offset } => {
                let size = u64::from(size.get());
                let last = offset.saturating_add(self.length.saturating_sub(1));
                (device, offset / size, last / size)
            }
        };
        let pages = (first..=last).take(if self.length == 0 { 0 } else { usize::MAX });
        pages.map(move |page| base.wrapping_add(page))
    }
}

/// A whole number as a field has it.
pub(super) fn number(what: &'static str, field: &str) -> Result<u64, Problem> {
    let field = field.trim();
    field.parse().map_err(|_| Problem::Number {
        what,
        found: shortened(field),
    })
}

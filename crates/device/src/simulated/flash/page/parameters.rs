//! What a page-mapped drive is made of, checked, and how many blocks that makes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    simulated::flash::{limits::US_MAX, nand::Shape},
    sourced::{Impossible, Sourced, parameters, require},
};

parameters! {
    /// Parameters of a page-mapped translation layer: `[flash.page]`.
    pub struct Parameters {
        /// Bytes that one entry of the map stands for.
        pub unit_bytes: Sourced<u32> = 512..,
        /// Bytes of flash for each byte that the host sees, less 1, not counting
        /// the few blocks that are always free or open.
        pub over_provisioning: Sourced<f64> = 0.001..=16.0,
        /// Bytes of writes that wait in memory for being programmed.
        pub buffer_bytes: Sourced<u64> = ..=MEMORY_MAX,
        /// Microseconds from the data's arrival to the acknowledgement.
        pub buffer_us: Sourced<f64> = 0.0..=US_MAX,
        /// Whether the buffer survives a loss of power.
        pub buffer: Sourced<Buffer>,
        /// Where cleaning puts what is in use.
        pub cleaning: Sourced<Cleaning>,
        /// How cleaning moves it there.
        pub copying: Sourced<Copying>,
        /// Erases that a block may lag behind its die's mean before it is cleaned
        /// for that; 0 for never.
        pub wear_gap: Sourced<u32>,
        /// Microseconds that a flush takes for each KiB that was written since the last
        /// one, besides the programs that it waits for: drives that write what has to be
        /// durable at once in less parallel ways, or twice. A protected buffer's take
        /// none. Default: 0.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub flush_us_per_kib: Option<Sourced<f64>> = 0.0..=US_MAX,
    }
}

/// Whether a write buffer survives a loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Buffer {
    /// It does not: a flush programs it.
    Volatile,
    /// Capacitors program it: a flush has nothing to do.
    Protected,
}

/// Where cleaning puts what is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cleaning {
    /// Into the same open blocks as the host's writes.
    Together,
    /// Into open blocks of its own: what was not overwritten for long is kept
    /// apart from what is new (separation of hot and cold).
    Apart,
}

/// How cleaning moves what is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Copying {
    /// Through the controller: over the channel and back.
    Channel,
    /// Within the die (copy-back), which moves whole flash pages.
    CopyBack,
}

/// Blocks of each die that hold no data at any time: one that the host's
/// writes fill, one that cleaning fills, and two that are free.
pub(super) const RESERVED_BLOCKS: u32 = 4;
/// Units are fewer than this, so that the complement of a unit's number is
/// none.
pub(super) const UNITS_MAX: u64 = 1 << 31;
/// Bytes that the map and its inverse may take.
const MEMORY_MAX: u64 = 16 << 30;

impl Parameters {
    /// Checks these values for chips that are checked.
    pub(in super::super) fn check(&self, capacity: u64, shape: &Shape) -> Result<(), Impossible> {
        self.check_bounds()?;
        let unit = self.unit_bytes.value;
        let program_bytes = shape.page_bytes;
        require(
            unit.is_power_of_two() && program_bytes.is_multiple_of(unit),
            "unit_bytes",
            unit,
            format!(
                "it is a power of two from 512 bytes up of which the {program_bytes} bytes of one \
                 program (flash page, planes and gang) are a multiple"
            ),
        )?;
        require(
            capacity.is_multiple_of(u64::from(unit)),
            "unit_bytes",
            unit,
            format!("flash.capacity_bytes, {capacity}, is a multiple of it"),
        )?;
        let units_per_block = u64::from(program_bytes / unit) * u64::from(shape.pages_per_block);
        require(
            units_per_block <= u64::from(u16::MAX),
            "unit_bytes",
            unit,
            format!("a block has {units_per_block} of them, and may have 65535"),
        )?;
        let layout = Layout::new(self, capacity, shape);
        let units = u64::from(layout.rows) * u64::from(shape.dies()) * units_per_block;
        require(
            units < UNITS_MAX && units * 8 <= MEMORY_MAX,
            "unit_bytes",
            unit,
            format!("there are {units} of them, whose map takes more than 16 GiB"),
        )?;
        let spare = layout.spare_units_per_die;
        require(
            spare >= 2 * units_per_block,
            "over_provisioning",
            self.over_provisioning.value,
            format!(
                "it makes {spare} units of a die, and cleaning needs two blocks of {units_per_block}"
            ),
        )?;
        require(
            self.buffer_bytes.value >= 2 * u64::from(program_bytes),
            "buffer_bytes",
            self.buffer_bytes.value,
            format!("it holds at least two programs of {program_bytes} bytes"),
        )?;
        require(
            self.copying.value != Copying::CopyBack || program_bytes == unit,
            "copying",
            "copy-back",
            format!("it moves whole programs of {program_bytes} bytes: unit_bytes is not that"),
        )
    }
}

/// How many blocks there are.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// Blocks of each die.
    pub(super) rows: u32,
    /// Units of each die that hold nothing when the device is full.
    pub(super) spare_units_per_die: u64,
}

impl Layout {
    pub(super) fn new(parameters: &Parameters, capacity: u64, shape: &Shape) -> Self {
        let dies = u64::from(shape.dies());
        let units = capacity / u64::from(parameters.unit_bytes.value);
        let units_per_die = units.div_ceil(dies);
        let units_per_block = u64::from(shape.page_bytes / parameters.unit_bytes.value)
            * u64::from(shape.pages_per_block);
        let wanted = (units as f64 * (1.0 + parameters.over_provisioning.value)
            / (dies * units_per_block) as f64)
            .round();
        // A float beyond u32 becomes its largest, which `check` refuses.
        let rows = (wanted as u32)
            .max(u32::try_from(units_per_die.div_ceil(units_per_block)).unwrap_or(u32::MAX));
        Self {
            spare_units_per_die: u64::from(rows) * units_per_block - units_per_die,
            rows: rows.saturating_add(RESERVED_BLOCKS),
        }
    }
}

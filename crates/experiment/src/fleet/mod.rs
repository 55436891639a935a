//! One plan on many machines: parts of it that are carried out by themselves, on the hosts that
//! a scheduler chooses, and what all of them say together.
//!
//! A [`Part`] is a sitting, or the share of a prediction that a shard has. It leaves a store of its
//! own. [`merge()`] brings these together. [`Fleet`] has what is known of parts, hosts and their
//! classes; the statistics over hosts are with those over slices, in [`lockstep`](crate::lockstep).

mod alone;
mod class;
mod found;
mod host;
mod merge;
mod part;
#[cfg(test)]
mod tests;

pub use alone::Alone;
pub(crate) use class::class;
pub(crate) use found::ClassParts;
pub use found::{ClassFindings, ClassGroup, Fleet, HostCell, HostFindings, HostSummary, LostPart};
pub use host::Host;
pub use merge::{MergeError, Merged, merge};
pub use part::{EndedPart, Part, PartKind, PartOutcome, StoredPart};

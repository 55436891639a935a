//! Page sizes of tables and indexes of their own: which are worth measuring, and what they gave.

mod choose;
mod chosen;
mod found;
mod reads;
mod trees;

pub use choose::choose;
pub use chosen::{ChosenSizes, ChosenTree, SingleSize};
pub use found::MixedOverSingle;
pub(crate) use found::{Standing, mixed_over_single};
pub use octavo_predict::own_sizes::WORTH_IT;
pub use reads::{ReadTime, read_times_here, read_times_of};
pub use trees::TreeReads;
pub(crate) use trees::tree_reads;

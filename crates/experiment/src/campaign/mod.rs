//! Carries out a plan within a budget: sittings of what is not decided yet.
//! Each batch of passes is kept in the store as it ends, and the same plan
//! goes on with what is missing. Cells that are ramps run one after the other, and predicted
//! groups side by side.
//!
//! A campaign knows cells, the schedule and the store; how a cell becomes a
//! record is the business of its [`Executor`](crate::executor::Executor).

mod begin;
mod elsewhere;
mod predictions;
mod ramps;
mod requirements;
mod session;
mod settings;
mod side_by_side;
mod sittings;
#[cfg(test)]
mod tests;
mod warm_up;

pub use crate::error::CampaignError;
pub use begin::campaign;
pub use elsewhere::{RatioElsewhere, ratios_elsewhere};
pub use requirements::Requirements;
pub use settings::{CampaignSettings, Until};
pub use sittings::SITTINGS_WANTED;

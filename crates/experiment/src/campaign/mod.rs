//! Carries out a plan within a budget: round after round of what is not decided
//! yet. Each run is kept in the store as it ends, and the same plan goes on
//! with what is missing.
//!
//! A campaign knows cells, the schedule and the store; how a cell becomes a
//! record is the business of its [`Executor`](crate::executor::Executor).

mod begin;
mod requirements;
mod rounds;
mod settings;
#[cfg(test)]
mod tests;

pub use crate::error::CampaignError;
pub use begin::campaign;
pub use requirements::Requirements;
pub use settings::CampaignSettings;

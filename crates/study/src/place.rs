//! Where a cell is among those of an experiment.

use octavo_units::{ByteCount, PageSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::Text;

/// What varies among the cells of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// Page size.
    PageSize,
    /// Memory of the buffer.
    Memory,
    /// Processors.
    Cpus,
    /// Clients.
    Clients,
    /// Device.
    Device,
}

/// Which cell of an experiment: what it does not say has one value there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Place {
    /// Another experiment than the claim's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<String>,
    /// Page size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_size: Option<Text<PageSize>>,
    /// Memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Text<ByteCount>>,
    /// Processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// Clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// Device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

//! The keys of one run.

use super::open_keys::OpenKeys;
use crate::keys::AcknowledgedKeys;

/// What the clients of one run share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) keys: AcknowledgedKeys,
    pub(super) open_keys: OpenKeys,
}

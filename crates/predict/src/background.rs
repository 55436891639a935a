//! Requests that nobody waits for, beside those that transactions wait for.

use std::collections::VecDeque;

use octavo_device::Request;

/// Requests in flight at most: the rest waits in the host, as in the queue of a block
/// device, so that what a transaction waits for is not behind all of them.
const IN_FLIGHT: u32 = 16;

/// Requests that wait in the host at most. From then on those who make more wait, as they
/// do where the kernel has too many dirty pages or a server no free ones.
const WAITING_MAX: usize = 1024;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Background {
    waiting: VecDeque<Request>,
    in_flight: u32,
}

impl Background {
    /// Takes one more.
    pub(crate) fn push(&mut self, request: Request) {
        self.waiting.push_back(request);
    }

    /// The next one that the device is to be given, if it may have one more.
    pub(crate) fn next(&mut self) -> Option<Request> {
        let next = match self.in_flight < IN_FLIGHT {
            true => self.waiting.pop_front()?,
            false => return None,
        };
        self.in_flight += 1;
        Some(next)
    }

    /// The device completed one.
    pub(crate) fn complete(&mut self) {
        self.in_flight -= 1;
    }

    /// Whether those who make more have to wait.
    pub(crate) fn is_behind(&self) -> bool {
        self.waiting.len() > WAITING_MAX
    }
}

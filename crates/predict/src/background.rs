//! Requests that nobody waits for, beside those that transactions wait for.

use std::collections::VecDeque;

use octavo_device::Request;
use octavo_units::Moment;

use crate::miniature::Miniature;

/// Requests in flight at most: the rest waits in the host, as in the queue of a block
/// device, so that what a transaction waits for is not behind all of them.
const IN_FLIGHT: u32 = 16;

/// The longest request that neighbours are joined to, in bytes: what the kernel gives a device
/// at once is as long or longer (`max_sectors_kb` is 1,280 by default since Linux 4.3, and what
/// Octavo's emulated devices take is 1 MiB).
const JOINED_MAX: u32 = 1 << 20;

/// Requests that wait in the host at most. From then on those who make more wait, as they
/// do where the kernel has too many dirty pages or a server no free ones.
const WAITING_MAX: u64 = 1024;

/// See the module.
#[derive(Debug)]
pub(crate) struct Background {
    waiting: VecDeque<Request>,
    /// … and so many of a miniature.
    waiting_max: u64,
    in_flight: u32,
    /// Since when one of those in flight is a flush, before whose end nothing else begins.
    flushing_since: Option<Moment>,
}

impl Background {
    pub(crate) fn new(miniature: Miniature) -> Self {
        Self {
            waiting: VecDeque::new(),
            waiting_max: miniature.share(WAITING_MAX),
            in_flight: 0,
            flushing_since: None,
        }
    }

    /// Takes one more.
    pub(crate) fn push(&mut self, request: Request) {
        self.waiting.push_back(request);
    }

    /// Takes a write of pages that the page cache gathers: it is one with the last one if it
    /// begins where that ends.
    pub(crate) fn gather(&mut self, request: Request) {
        match self.waiting.back_mut() {
            Some(last)
                if last.length > 0
                    && last.end() == request.offset
                    && last.length + request.length <= JOINED_MAX =>
            {
                last.length += request.length;
            }
            _ => self.waiting.push_back(request),
        }
    }

    /// The next one that the device is to be given, if it may have one more. A flush is
    /// given when all before it are done.
    pub(crate) fn next(&mut self, now: Moment) -> Option<Request> {
        let is_flush = self.waiting.front()?.length == 0;
        let most = if is_flush { 1 } else { IN_FLIGHT };
        if self.flushing_since.is_some() || self.in_flight >= most {
            return None;
        }
        self.in_flight += 1;
        self.flushing_since = is_flush.then_some(now);
        self.waiting.pop_front()
    }

    /// The device completed one: how many nanoseconds it took, of a flush.
    pub(crate) fn complete(&mut self, now: Moment) -> u64 {
        self.in_flight -= 1;
        let since = self.flushing_since.take();
        since.map_or(0, |since| now.since(since))
    }

    /// Whether nothing is left to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight == 0 && self.waiting.is_empty()
    }

    /// Whether those who make more have to wait.
    pub(crate) fn is_behind(&self) -> bool {
        self.waiting.len() as u64 > self.waiting_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Moment {
        Moment::nanoseconds(ns)
    }

    #[test]
    fn a_flush_waits_for_what_was_before_and_holds_back_what_follows() {
        let mut background = Background::new(Miniature::WHOLE);
        let write = |number: u64| Request::write(number * 4096, 4096);
        for request in [write(0), write(1), Request::FLUSH, write(2)] {
            background.push(request);
        }
        assert_eq!(background.next(at(0)), Some(write(0)));
        assert_eq!(background.next(at(0)), Some(write(1)));
        assert_eq!(background.next(at(0)), None);
        background.complete(at(7));
        assert_eq!(background.next(at(0)), None);
        background.complete(at(7));
        assert_eq!(background.next(at(2)), Some(Request::FLUSH));
        assert_eq!(background.next(at(3)), None);
        assert_eq!(background.complete(at(7)), 5);
        assert_eq!(background.next(at(0)), Some(write(2)));
        assert!(!background.is_idle());
        assert_eq!(background.complete(at(9)), 0);
        assert!(background.is_idle());
    }

    #[test]
    fn neighbours_are_one_request_up_to_a_mebibyte() {
        let mut background = Background::new(Miniature::WHOLE);
        let page = |number: u64| Request::write(number * 4096, 4096);
        for number in (10..300).chain([302]) {
            background.gather(page(number));
        }
        background.push(Request::FLUSH);
        background.gather(page(303));
        let given = std::iter::from_fn(|| {
            let next = background.next(at(0))?;
            background.complete(at(7));
            Some((next.offset / 4096, next.length / 4096))
        });
        let given: Vec<(u64, u32)> = given.collect();
        assert_eq!(given, [(10, 256), (266, 34), (302, 1), (0, 0), (303, 1)]);
    }

    #[test]
    fn the_device_has_so_many_at_once() {
        let mut background = Background::new(Miniature::WHOLE);
        for number in 0..=u64::from(IN_FLIGHT) {
            background.push(Request::read(number * 512, 512));
        }
        let given = std::iter::from_fn(|| background.next(at(0))).count();
        assert_eq!(given, IN_FLIGHT as usize);
    }
}

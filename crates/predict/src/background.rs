//! Requests that nobody waits for, beside those that a transaction waits for.

use std::collections::VecDeque;

use octavo_device::{Device, DeviceError, Request, Tag};
use octavo_units::Moment;

use crate::error::PredictError;

/// Requests in flight at most: the rest waits in the host, as in the queue of a block
/// device, so that what a transaction waits for is not behind all of them.
const IN_FLIGHT: u32 = 16;

/// Requests that wait in the host at most. From then on those who make more wait, as they
/// do where the kernel has too many dirty pages or a server no free ones.
const WAITING_MAX: usize = 1024;

const WAITED_FOR: Tag = Tag(0);
const IN_BACKGROUND: Tag = Tag(1);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Background {
    waiting: VecDeque<Request>,
    in_flight: u32,
}

impl Background {
    /// Has the device do something besides.
    pub(crate) fn submit(
        &mut self,
        device: &mut dyn Device,
        now: Moment,
        request: Request,
    ) -> Result<(), DeviceError> {
        self.waiting.push_back(whole_sectors(device, request));
        self.advance(device, now)
    }

    /// Whether those who make more have to wait.
    pub(crate) fn is_behind(&self) -> bool {
        self.waiting.len() > WAITING_MAX
    }

    /// Has the device complete one request, in whole sectors; when it did.
    pub(crate) fn ask(
        &mut self,
        device: &mut dyn Device,
        now: Moment,
        request: Request,
    ) -> Result<Moment, PredictError> {
        self.advance(device, now)?;
        device.submit(now, WAITED_FOR, whole_sectors(device, request))?;
        loop {
            let done = device.next(Moment::NEVER)?.ok_or(PredictError::Silent)?;
            if done.tag == WAITED_FOR {
                return Ok(done.at);
            }
            self.in_flight -= 1;
            self.fill(device, done.at)?;
        }
    }

    /// Lets the device go on until fewer requests wait; until when.
    pub(crate) fn catch_up(
        &mut self,
        device: &mut dyn Device,
        now: Moment,
    ) -> Result<Moment, PredictError> {
        let mut at = now;
        self.advance(device, now)?;
        while self.is_behind() {
            at = device.next(Moment::NEVER)?.ok_or(PredictError::Silent)?.at;
            self.in_flight -= 1;
            self.fill(device, at)?;
        }
        Ok(at)
    }

    /// Takes what the device completed by now.
    fn advance(&mut self, device: &mut dyn Device, now: Moment) -> Result<(), DeviceError> {
        while self.in_flight > 0
            && let Some(done) = device.next(now)?
        {
            self.in_flight -= 1;
            self.fill(device, done.at)?;
        }
        self.fill(device, now)
    }

    fn fill(&mut self, device: &mut dyn Device, now: Moment) -> Result<(), DeviceError> {
        while self.in_flight < IN_FLIGHT
            && let Some(request) = self.waiting.pop_front()
        {
            device.submit(now, IN_BACKGROUND, request)?;
            self.in_flight += 1;
        }
        Ok(())
    }
}

/// The whole sectors in which a request is.
fn whole_sectors(device: &dyn Device, request: Request) -> Request {
    let sector = device.geometry().sector.get();
    let begin = request.offset / sector * sector;
    Request {
        offset: begin,
        length: (request.end().next_multiple_of(sector) - begin) as u32,
        ..request
    }
}

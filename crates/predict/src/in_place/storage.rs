//! The buffer, and what passes between it, the log and the device.

use octavo_buffer::{Evicted, Frames, Outcome, Page, Reference};
use octavo_device::Request;
use octavo_units::Moment;

use super::{log::Log, rules::Rules, undo::Undo};
use crate::{
    arriving::Arriving,
    dirty::Dirty,
    engine::Referred,
    io::{Io, Purpose},
    pages::Steps,
    replacement::{Buffer, Replacement},
};

/// See the module.
pub(super) struct Storage {
    page: u32,
    buffer: Buffer,
    /// Pages that the buffer has room to know of.
    known: u32,
    dirty: Dirty,
    pub(super) arriving: Arriving,
    pub(super) log: Log,
    now: Moment,
    /// When it was last looked for pages that have been dirty for too long.
    checked: Moment,
}

/// How often that is. Chosen.
const CHECKED_NS: u64 = 1_000_000_000;

impl Storage {
    pub(super) fn new(
        rules: &dyn Rules,
        page: u32,
        frames: Frames,
        pages: u32,
        replacement: &Replacement,
    ) -> Self {
        let known = pages.saturating_mul(2).min(Page::COUNT_MAX);
        Self {
            page,
            buffer: replacement
                .open(known, frames)
                .unwrap_or_else(|| rules.buffer(known, frames)),
            known,
            dirty: Dirty::default(),
            arriving: Arriving::default(),
            log: Log::new(rules.log(page)),
            now: Moment::START,
            checked: Moment::START,
        }
    }

    pub(super) fn advance(&mut self, now: Moment) {
        self.now = now;
        self.buffer.advance(now);
    }

    /// Where a page is.
    pub(super) fn place(&self, page: Page) -> u64 {
        self.log.size() + u64::from(page.number()) * u64::from(self.page)
    }

    /// Does all steps. Pages of `undo` ask nothing of the device where they are on another
    /// one, with the log.
    pub(super) fn take(
        &mut self,
        steps: &Steps,
        undo: Option<&Undo>,
        referred: &mut Referred,
        ios: &mut Vec<Io>,
    ) {
        let elsewhere = undo.filter(|_| self.log.is_elsewhere());
        let is_here = |page| !elsewhere.is_some_and(|undo| undo.has(page));
        for &step in steps.as_slice() {
            let (reference, is_new) = step.reference();
            self.refer(reference, is_new, &is_here, referred, ios);
        }
    }

    fn refer(
        &mut self,
        reference: Reference,
        is_new: bool,
        is_here: &dyn Fn(Page) -> bool,
        referred: &mut Referred,
        ios: &mut Vec<Io>,
    ) {
        let page = reference.page();
        if page.number() >= self.known {
            self.known = (page.number() + 1).saturating_mul(2).min(Page::COUNT_MAX);
            self.buffer.extend(self.known);
        }
        let read = Request::read(self.place(page), self.page);
        match self.buffer.access(reference) {
            Outcome::Hit => {
                referred.hits += 1;
                self.arriving.hit(page, read, ios);
            }
            Outcome::Miss(evicted) => {
                if let Some(Evicted {
                    page: old,
                    is_dirty: true,
                }) = evicted
                {
                    self.dirty.clean(old);
                    if is_here(old) {
                        ios.push(self.write(old));
                    }
                }
                if is_new {
                    referred.hits += 1;
                } else {
                    referred.misses += 1;
                    if is_here(page) {
                        self.arriving.miss(page, read, ios);
                    }
                }
            }
        }
        while let Some(written) = self.buffer.take_written() {
            self.dirty.clean(written);
            if is_here(written) {
                ios.push(self.write(written));
            }
        }
        // A checkpoint has nothing to do with pages that are elsewhere.
        if reference.is_change() && is_here(page) {
            self.dirty.change(page, self.log.place());
        }
    }

    fn write(&self, page: Page) -> Io {
        Io {
            purpose: Purpose::Background,
            request: Request::write(self.place(page), self.page),
        }
    }

    /// Writes the pages that have been dirty for longest, until the log that is needed for
    /// them is no longer than it may be, and has the device make that durable where it is to.
    /// Once a second.
    pub(super) fn check_point(&mut self, ios: &mut Vec<Io>) {
        if self.now.since(self.checked) < CHECKED_NS {
            return;
        }
        self.checked = self.now;
        let mut has_written = false;
        while let Some(oldest) = self.dirty.oldest()
            && self.log.place() - oldest > self.log.checkpoint()
            && let Some(page) = self.dirty.take_oldest()
        {
            self.buffer.clean(page);
            ios.push(self.write(page));
            has_written = true;
        }
        if has_written && self.log.flushes_pages() {
            ios.push(Io {
                purpose: Purpose::Background,
                request: Request::FLUSH,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_place::oracle::ORACLE;

    /// Of 100 frames the coldest six are written ahead, each once.
    #[test]
    fn cold_pages_are_written_before_their_frames_are_wanted() {
        let mut storage = Storage::new(
            &ORACLE,
            8192,
            Frames::new(100).unwrap(),
            200,
            &Replacement::Own,
        );
        let mut written = Vec::new();
        for number in 0..110 {
            let mut steps = Steps::default();
            steps.fill(Page::new(number));
            let mut ios = Vec::new();
            storage.take(&steps, None, &mut Referred::default(), &mut ios);
            written.extend(ios.iter().map(|io| io.request));
        }
        // Ten frames were wanted; the tail has six pages before the last of them goes.
        written.sort_by_key(|request| request.offset);
        let place = |number| storage.place(Page::new(number));
        let expected: Vec<Request> = (0..15)
            .map(|number| Request::write(place(number), 8192))
            .collect();
        assert_eq!(written, expected);
    }
}

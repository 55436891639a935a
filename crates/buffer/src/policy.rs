//! What a replacement policy is asked, and what it answers.

use std::num::NonZeroU32;

use octavo_units::Moment;

use crate::trace::{Page, Reference, Trace};

/// How many pages a buffer holds: at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frames(NonZeroU32);

impl Frames {
    /// A buffer of so many frames; `None` for none, and for more than
    /// [`Page::COUNT_MAX`].
    pub const fn new(count: u32) -> Option<Self> {
        match NonZeroU32::new(count) {
            Some(count) if count.get() <= Page::COUNT_MAX => Some(Self(count)),
            _ => None,
        }
    }

    /// How many.
    pub const fn get(self) -> u32 {
        self.0.get()
    }

    /// A share of these, as `part` of `whole`, rounded down.
    pub(crate) const fn share(self, part: u32, whole: u32) -> u32 {
        (self.get() as u64 * part as u64 / whole as u64) as u32
    }
}

/// A page that lost its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Which.
    pub page: Page,
    /// Whether it had been changed, so that it had to be written first.
    pub is_dirty: bool,
}

/// What a reference finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The page is in the buffer.
    Hit,
    /// It is read into a free frame, or into that of another page.
    Miss(Option<Evicted>),
}

/// A rule by which pages get and lose the frames of a buffer.
pub trait Policy {
    /// A page is referenced.
    ///
    /// # Panics
    /// When the buffer was made for fewer pages.
    fn access(&mut self, reference: Reference) -> Outcome;

    /// A page will be referenced soon: brings what is known of it into the
    /// processor's cache. Changes nothing.
    fn expect(&self, _page: Page) {}

    /// A page will be referenced sooner still, and [`Self::expect`] was called for
    /// it: brings what that leads to. Changes nothing.
    fn expect_next(&self, _page: Page) {}

    /// The background writer, or a checkpoint, has written a page: it is dirty no
    /// more. Answers whether it was.
    fn clean(&mut self, page: Page) -> bool;

    /// Whoever has a page pinned changes it, which is no reference. Answers whether the page
    /// is in the buffer.
    fn change_resident(&mut self, page: Page) -> bool;

    /// A page loses its frame, and its changes are of no use: it is not written.
    fn forget(&mut self, page: Page);

    /// Has room for the pages below `pages`: the database has grown.
    fn extend(&mut self, pages: u32);

    /// It is this late now. Most policies know no time.
    fn advance(&mut self, _now: Moment) {}

    /// Of the pages that were written before their frames were wanted, and are clean since
    /// then, one that was not taken yet. Most policies write none ahead.
    fn take_written(&mut self) -> Option<Page> {
        None
    }

    /// Pages that kept their frames, or lost them clean, after they were written because
    /// others wanted room.
    fn spilled(&self) -> u64 {
        0
    }

    /// Has it see a whole trace. It takes no time: policies that depend on it
    /// ([`crate::MidpointLru`], [`crate::TouchCount`]) stay where their time is.
    fn replay(&mut self, trace: &Trace) -> Counts {
        let references = trace.references();
        let spilled = self.spilled();
        let mut counts = Counts::default();
        for (place, &reference) in references.iter().enumerate() {
            if let Some([later, soon]) = trace.coming(place) {
                self.expect(later);
                self.expect_next(soon);
            }
            if let Outcome::Miss(evicted) = self.access(reference) {
                counts.misses += 1;
                counts.writes += u64::from(evicted.is_some_and(|evicted| evicted.is_dirty));
            }
        }
        counts.references = references.len() as u64;
        counts.writes += self.spilled() - spilled;
        counts
    }
}

/// What became of the references of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// References.
    pub references: u64,
    /// Those whose page had to be read.
    pub misses: u64,
    /// Pages that were written because their frames were wanted.
    pub writes: u64,
}

impl Counts {
    /// The share of references whose page had to be read; 0 without references.
    pub fn miss_ratio(self) -> f64 {
        match self.references {
            0 => 0.0,
            references => self.misses as f64 / references as f64,
        }
    }
}

//! Clock sweeps: a hand goes around the frames and takes the first one whose page was
//! not used since.

use octavo_units::prefetch;

use crate::{
    list::extend,
    policy::{Evicted, Frames, Outcome, Policy},
    trace::{Page, Reference},
};

/// No frame, and no page.
const NONE: u32 = u32::MAX;
/// Of a frame's mark: its page was changed.
const DIRTY: u8 = 0x80;

/// How often a page was used of late, as far as a frame counts that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// When the page is read into its frame.
    pub first: u8,
    /// At most; below 128.
    pub max: u8,
}

impl Usage {
    /// PostgreSQL's (`BM_MAX_USAGE_COUNT` in `buf_internals.h`; a page begins with its
    /// first pin).
    pub const POSTGRES: Self = Self { first: 1, max: 5 };
    /// One bit, which a page gets with its second reference (Corbato, A Paging
    /// Experiment with the Multics System, 1968).
    pub const SECOND_CHANCE: Self = Self { first: 0, max: 1 };
}

/// Evicts the first page in the order of frames, from the last victim on, that has not
/// been used; what was used counts one less after the hand has passed
/// (`StrategyGetBuffer` in PostgreSQL's `freelist.c`). Free frames are taken first.
#[derive(Clone, Debug)]
pub struct Clock {
    /// By page.
    frame_of: Box<[u32]>,
    /// By frame that has a page, as all below its length do. Frames beyond these are not
    /// kept: a buffer may have far more of them than there ever are pages.
    page_in: Vec<u32>,
    /// By frame that has a page: usage, and [`DIRTY`].
    marks: Vec<u8>,
    usage: Usage,
    frames: Frames,
    /// Where the next sweep begins.
    hand: u32,
}

/// The frames that one scan uses again and again, so that it leaves the others to those
/// who need them (`GetBufferFromRing` in `freelist.c`).
///
/// A frame whose page somebody else has used meanwhile leaves the ring. That a ring
/// gives up changed pages whose log is not flushed (`StrategyRejectBuffer`) is left
/// out: scans that change rows are no part of OLTP.
#[derive(Clone, Debug)]
pub struct Ring {
    frames: Box<[u32]>,
    current: usize,
}

impl Ring {
    /// An empty ring. PostgreSQL's have 256 KiB for reads, and at most an eighth of
    /// the buffer.
    pub fn new(frames: Frames) -> Self {
        Self {
            frames: vec![NONE; frames.get() as usize].into(),
            current: 0,
        }
    }
}

impl Clock {
    /// An empty buffer for the pages below `pages`.
    ///
    /// # Panics
    /// When a usage is above 127, or begins above its maximum.
    pub fn new(pages: u32, frames: Frames, usage: Usage) -> Self {
        assert!(usage.first <= usage.max && usage.max < DIRTY);
        Self {
            frame_of: vec![NONE; pages as usize].into(),
            page_in: Vec::new(),
            marks: Vec::new(),
            usage,
            frames,
            hand: 0,
        }
    }

    /// A page is referenced by a scan with a ring.
    pub fn access_in_ring(&mut self, ring: &mut Ring, reference: Reference) -> Outcome {
        let frame = self.frame_of[reference.page().index()];
        if frame != NONE {
            // A scan makes no page hotter than one that was just read.
            let mark = &mut self.marks[frame as usize];
            *mark |= u8::from(*mark & !DIRTY == 0) | dirty(reference);
            return Outcome::Hit;
        }
        ring.current = (ring.current + 1) % ring.frames.len();
        let own = ring.frames[ring.current];
        let is_own = own != NONE && self.marks[own as usize] & !DIRTY <= 1;
        let victim = if is_own { own } else { self.victim() };
        ring.frames[ring.current] = victim;
        Outcome::Miss(self.replace(victim, reference))
    }

    /// The mark of a page that is in the buffer.
    #[inline]
    fn mark(&mut self, page: Page) -> Option<&mut u8> {
        self.marks.get_mut(self.frame_of[page.index()] as usize)
    }

    /// A free frame, or the one where the hand stops.
    #[inline]
    fn victim(&mut self) -> u32 {
        // No more than frames, whose number is a u32.
        let filled = self.page_in.len() as u32;
        if filled < self.frames.get() {
            self.page_in.push(NONE);
            self.marks.push(0);
            return filled;
        }
        loop {
            let frame = self.hand;
            self.hand = match frame + 1 == filled {
                true => 0,
                false => frame + 1,
            };
            let mark = &mut self.marks[frame as usize];
            if *mark & !DIRTY == 0 {
                return frame;
            }
            *mark -= 1;
        }
    }

    /// Gives a frame to the page of a reference.
    #[inline]
    fn replace(&mut self, frame: u32, reference: Reference) -> Option<Evicted> {
        let page = reference.page();
        let old = std::mem::replace(&mut self.page_in[frame as usize], page.number());
        let mark = &mut self.marks[frame as usize];
        let evicted = (old != NONE).then(|| Evicted {
            page: Page::new(old),
            is_dirty: *mark & DIRTY != 0,
        });
        *mark = self.usage.first | dirty(reference);
        if let Some(evicted) = evicted {
            self.frame_of[evicted.page.index()] = NONE;
        }
        self.frame_of[page.index()] = frame;
        evicted
    }
}

/// What a reference adds to its frame's mark.
#[inline]
fn dirty(reference: Reference) -> u8 {
    u8::from(reference.access().is_change()) * DIRTY
}

impl Policy for Clock {
    #[inline]
    fn access(&mut self, reference: Reference) -> Outcome {
        let frame = self.frame_of[reference.page().index()];
        if frame != NONE {
            let mark = &mut self.marks[frame as usize];
            *mark = (*mark + u8::from(*mark & !DIRTY < self.usage.max)) | dirty(reference);
            return Outcome::Hit;
        }
        let victim = self.victim();
        Outcome::Miss(self.replace(victim, reference))
    }

    #[inline]
    fn expect(&self, page: Page) {
        prefetch(&self.frame_of, page.index());
    }

    #[inline]
    fn expect_next(&self, page: Page) {
        prefetch(&self.marks, self.frame_of[page.index()] as usize);
    }

    fn clean(&mut self, page: Page) -> bool {
        let mark = self.mark(page);
        mark.is_some_and(|mark| {
            let was_dirty = *mark & DIRTY != 0;
            *mark &= !DIRTY;
            was_dirty
        })
    }

    fn change_resident(&mut self, page: Page) -> bool {
        self.mark(page).map(|mark| *mark |= DIRTY).is_some()
    }

    /// Its frame keeps its place before the hand, and is the next one to be taken there.
    fn forget(&mut self, page: Page) {
        let frame = std::mem::replace(&mut self.frame_of[page.index()], NONE);
        if let Some(mark) = self.marks.get_mut(frame as usize) {
            *mark = 0;
            self.page_in[frame as usize] = NONE;
        }
    }

    fn extend(&mut self, pages: u32) {
        extend(&mut self.frame_of, pages, NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_hand::{Step, check, reference, step};

    #[test]
    fn frames_that_never_have_a_page_take_no_memory() {
        let most = Frames::new(Page::COUNT_MAX).unwrap();
        let mut clock = Clock::new(10, most, Usage::POSTGRES);
        for page in [1, 2, 3, 1] {
            step(&mut clock, page);
        }
        assert_eq!((clock.page_in.len(), clock.marks.len()), (3, 3));
        assert!(clock.page_in.capacity() < 100 && clock.marks.capacity() < 100);
    }

    use Step::{Evicts as E, Free as F, Hit as H, Writes as W};

    #[test]
    fn second_chances_by_hand() {
        // Three frames with the hand at the first: 1 is used again, so 4 passes it and
        // takes the frame of 2; 5 takes that of 3; 6 that of 1, whose bit 4 took.
        let steps = [
            (-1, F),
            (2, F),
            (3, F),
            (1, H),
            (4, E(2)),
            (5, E(3)),
            (6, W(1)),
            (4, H),
        ];
        check(
            |pages, frames| Clock::new(pages, frames, Usage::SECOND_CHANCE),
            3,
            &steps,
        );
    }

    #[test]
    fn counts_by_hand() {
        // Three frames, usages in brackets: 1(2) 2(1) 3(1). For 4 the hand goes around
        // once, 1(1) 2(0) 3(0), passes 1(0) and takes the frame of 2. Then 3 is at 0,
        // and for 6 the hand takes 1.
        let steps = [
            (1, F),
            (2, F),
            (-3, F),
            (1, H),
            (4, E(2)),
            (5, W(3)),
            (6, E(1)),
            (4, H),
        ];
        check(
            |pages, frames| Clock::new(pages, frames, Usage::POSTGRES),
            3,
            &steps,
        );
    }

    #[test]
    fn no_page_counts_above_the_maximum() {
        // 1 has 5 after nine references: it survives five passes of the hand.
        let mut clock = Clock::new(20, Frames::new(1).unwrap(), Usage::POSTGRES);
        assert_eq!(step(&mut clock, 1), F);
        for _ in 0..9 {
            assert_eq!(step(&mut clock, 1), H);
        }
        assert_eq!(clock.marks[0], 5);
        assert_eq!(step(&mut clock, -2), E(1));
        assert!(clock.clean(Page::new(2)) && !clock.clean(Page::new(2)));
        assert!(!clock.clean(Page::new(1)));
        assert_eq!(step(&mut clock, 3), E(2));
    }

    #[test]
    fn a_scan_stays_in_its_ring() {
        let mut clock = Clock::new(100, Frames::new(8).unwrap(), Usage::POSTGRES);
        let mut ring = Ring::new(Frames::new(2).unwrap());
        for page in 1..=8 {
            assert_eq!(step(&mut clock, page), F);
        }
        let mut evicted = Vec::new();
        for page in 20..30 {
            let Outcome::Miss(Some(out)) = clock.access_in_ring(&mut ring, reference(page)) else {
                panic!("page {page} is new, and no frame is free");
            };
            evicted.push(out.page.number());
            // What others use of the scan leaves the ring.
            if page == 24 {
                assert_eq!(step(&mut clock, 24), H);
            }
        }
        // The first two come from the sweep, and the one instead of 24's frame.
        assert_eq!(evicted, [1, 2, 20, 21, 22, 23, 3, 25, 26, 27]);
        assert_eq!(clock.access_in_ring(&mut ring, reference(24)), Outcome::Hit);
    }
}

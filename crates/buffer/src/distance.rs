//! Stack distances of least recently used.

use octavo_units::prefetch;

use crate::trace::{Page, Trace};

/// No reference so far.
const NEVER: u32 = u32::MAX;

/// Times of references in a block, whose marks one count stands for.
const BLOCK: usize = 512;
/// Blocks that another count stands for.
const GROUP: usize = 256;
const WORD: usize = u64::BITS as usize;

/// For each reference, how many pages were referenced since the last one to its page,
/// that one included: with that many frames LRU still has it.
///
/// Each page has a mark at the time of its last reference, so the distance is how many
/// marks are later than the page's own. They are counted by words, blocks and groups of
/// blocks. Once all times are used up, those with marks are numbered anew.
#[derive(Clone, Debug)]
struct Distances {
    /// By page: the time of its last reference.
    last: Box<[u32]>,
    /// By time: the page referenced then.
    page_at: Box<[u32]>,
    /// By time: whether that was its page's last reference.
    marks: Box<[u64]>,
    in_block: Box<[u16]>,
    in_group: Box<[u32]>,
    now: usize,
}

impl Distances {
    /// None of the pages below `pages` was referenced yet. Memory is 20 bytes a page.
    fn new(pages: u32) -> Self {
        // Numbering anew takes a step for each page; with four times as many times it
        // comes once in three references a page. Of more than 2^30 pages there are fewer times: they fit 32 bits.
        let times = (pages as usize * 4).max(1).next_multiple_of(BLOCK * GROUP);
        let times = times.min((1 << 32) - BLOCK * GROUP);
        Self {
            last: vec![NEVER; pages as usize].into(),
            page_at: vec![0; times].into(),
            marks: vec![0; times / WORD].into(),
            in_block: vec![0; times / BLOCK].into(),
            in_group: vec![0; times / (BLOCK * GROUP)].into(),
            now: 0,
        }
    }

    /// The next reference is to this page: its distance, `None` for the first one.
    #[inline]
    fn next(&mut self, page: Page) -> Option<u32> {
        if self.now == self.page_at.len() {
            self.number_anew();
        }
        let last = std::mem::replace(&mut self.last[page.index()], self.now as u32);
        let distance = (last != NEVER).then(|| {
            let distance = self.marks_from(last as usize);
            self.unmark(last as usize);
            distance
        });
        self.page_at[self.now] = page.number();
        self.mark(self.now);
        self.now += 1;
        distance
    }

    /// A page will be referenced soon.
    #[inline]
    fn expect(&self, page: Page) {
        prefetch(&self.last, page.index());
    }

    /// It will be sooner still.
    #[inline]
    fn expect_next(&self, page: Page) {
        let last = self.last[page.index()] as usize;
        prefetch(&self.marks, last / WORD);
        prefetch(&self.in_block, last / BLOCK);
    }

    #[inline]
    fn mark(&mut self, time: usize) {
        self.marks[time / WORD] |= 1 << (time % WORD);
        self.in_block[time / BLOCK] += 1;
        self.in_group[time / (BLOCK * GROUP)] += 1;
    }

    #[inline]
    fn unmark(&mut self, time: usize) {
        self.marks[time / WORD] &= !(1 << (time % WORD));
        self.in_block[time / BLOCK] -= 1;
        self.in_group[time / (BLOCK * GROUP)] -= 1;
    }

    /// How many marks there are from a time on.
    #[inline]
    fn marks_from(&self, time: usize) -> u32 {
        let word = time / WORD;
        let block = time / BLOCK;
        let group = time / (BLOCK * GROUP);
        let now_group = self.now / (BLOCK * GROUP);
        let own = (self.marks[word] >> (time % WORD)).count_ones();
        let words = &self.marks[word + 1..(block + 1) * (BLOCK / WORD)];
        let blocks = &self.in_block[block + 1..(group + 1) * GROUP];
        let groups = match group < now_group {
            true => &self.in_group[group + 1..self.in_group.len().min(now_group + 1)],
            false => &[],
        };
        own + words.iter().map(|word| word.count_ones()).sum::<u32>()
            + blocks.iter().map(|&count| u32::from(count)).sum::<u32>()
            + groups.iter().sum::<u32>()
    }

    #[cold]
    fn number_anew(&mut self) {
        let mut now = 0;
        for word in 0..self.marks.len() {
            let mut rest = std::mem::take(&mut self.marks[word]);
            while rest != 0 {
                let page = self.page_at[word * WORD + rest.trailing_zeros() as usize];
                rest &= rest - 1;
                self.page_at[now] = page;
                self.last[page as usize] = now as u32;
                now += 1;
            }
        }
        self.in_block.fill(0);
        self.in_group.fill(0);
        (0..now).for_each(|time| self.mark(time));
        self.now = now;
    }
}

/// How many references of a trace have each distance, at position `distance - 1`.
pub(crate) fn histogram(trace: &Trace) -> Vec<u64> {
    let mut distances = Distances::new(trace.pages());
    let mut by_distance = vec![0; trace.pages() as usize];
    for (place, reference) in trace.references().iter().enumerate() {
        if let Some([later, soon]) = trace.coming(place) {
            distances.expect(later);
            distances.expect_next(soon);
        }
        if let Some(distance) = distances.next(reference.page()) {
            by_distance[distance as usize - 1] += 1;
        }
    }
    by_distance
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A stack, the last page on top.
    fn naive(pages: &[u32]) -> Vec<Option<u32>> {
        let mut stack: Vec<u32> = Vec::new();
        let distance = |&page: &u32| {
            let place = stack.iter().rev().position(|&other| other == page);
            stack.retain(|&other| other != page);
            stack.push(page);
            place.map(|place| place as u32 + 1)
        };
        pages.iter().map(distance).collect()
    }

    fn distances(pages: &[u32], count: u32) -> Vec<Option<u32>> {
        let mut distances = Distances::new(count);
        pages
            .iter()
            .map(|&page| distances.next(Page::new(page)))
            .collect()
    }

    #[test]
    fn by_hand() {
        let expected = [None, None, Some(2), Some(1), None, Some(3), Some(2)];
        assert_eq!(distances(&[0, 1, 0, 0, 2, 1, 2], 3), expected);
    }

    proptest! {
        #[test]
        fn as_a_stack_has_them(pages in prop::collection::vec(0..40_u32, 0..300)) {
            prop_assert_eq!(distances(&pages, 40), naive(&pages));
        }
    }

    #[test]
    fn numbering_anew_changes_nothing() {
        // The times of a small trace are one group, 131,072: used up twice.
        let pages: Vec<u32> = (0..300_000_u32)
            .map(|n| n.wrapping_mul(2_654_435_761) >> 27)
            .collect();
        assert_eq!(distances(&pages, 32), naive(&pages));
    }

    #[test]
    fn distances_over_blocks_and_groups() {
        // Each page after all others.
        let count = 100_000;
        let pages: Vec<u32> = (0..count).chain(0..count).collect();
        let all = distances(&pages, count);
        assert!(all[..count as usize].iter().all(Option::is_none));
        assert!(
            all[count as usize..]
                .iter()
                .all(|&distance| distance == Some(count))
        );
    }
}

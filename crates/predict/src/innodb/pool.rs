//! InnoDB's buffer pool: its frames, its list, and the page cleaner that keeps some of
//! them free and writes what is dirty, through the doublewrite.

use octavo_buffer::{Evicted, Frames, MidpointLru, MidpointRule, Outcome, Page, Policy, Reference};
use octavo_device::Request;
use octavo_units::Moment;

use super::files::{File, Files};
use crate::{
    arriving::Arriving,
    dirty::Dirty,
    engine::{Opening, Referred},
    hashed::HashSet,
    io::{Io, Purpose},
    replacement::{Buffer, Replacement},
};

/// What the pool is made of, and what of each part describes frames
/// (`innodb_buffer_pool_extent_size` and `sizeof(buf_block_t)` of 64-bit builds: measured,
/// `Innodb_buffer_pool_pages_total` is 5913, 1521 and 381 of 24 MiB with 4, 16 and 64 KiB).
const EXTENT: u64 = 8 << 20;
const DESCRIPTOR: u64 = 160;

/// What the page cleaner leaves of the list (`BUF_LRU_MIN_LEN`).
const LIST_MIN: u32 = 256;
/// A shorter list has no neighbors written (`BUF_LRU_OLD_MIN_LEN`).
const NEIGHBORS_MIN: u32 = 512;

/// `innodb_io_capacity`, `innodb_io_capacity_max` and `innodb_lru_scan_depth`, in bytes and
/// as a share of the pool, as Octavo starts servers with; at least so many pages.
const CAPACITY_USUAL: u64 = 200 * (16 << 10);
const CAPACITY_MAX: u64 = 2000 * (16 << 10);
const FREE_SHARE: u64 = 10;
const PAGES_MIN: u64 = 100;

/// `innodb_max_dirty_pages_pct` and `innodb_adaptive_flushing_lwm`, the defaults; the latter is
/// of what the log may have between checkpoints, nine tenths of it (`log_t::set_capacity`).
const DIRTY_MAX: f64 = 0.9;
const LOG_SHARE: f64 = 0.1 * 0.9;
/// Reads of other clients beside one, at most: the rest wait for processors, rows or the log. Chosen:
/// compared with servers of 8 and 32 clients.
const READS_BESIDE_MAX: u32 = 31;
/// How often the page cleaner looks for these.
const CLEANED_NS: u64 = 1_000_000_000;

/// Pages of the doublewrite, which one batch fills (`buf_dblwr_t::add_to_batch`): two extents
/// (`FSP_EXTENT_SIZE`) of 1 MiB, or 64 pages where that is more, one behind the other.
fn doublewrite_pages(page: u64) -> u64 {
    2 * ((1 << 20) / page).max(64)
}

/// How many frames a pool has (`buf_pool_t::create`).
fn frames(memory: u64, page: u64) -> u64 {
    let in_extent = EXTENT / page;
    // As many as find room with their descriptors before them.
    let described = |count: u64| (count * DESCRIPTOR).div_ceil(page);
    let whole = (1..=in_extent)
        .rev()
        .find(|&count| count + described(count) <= in_extent)
        .unwrap_or(0);
    let overhead = in_extent - whole;
    let rest = (memory % EXTENT / page).saturating_sub(overhead);
    memory / EXTENT * whole + rest
}

/// See the module.
pub(super) struct Pool {
    page: u64,
    list: MidpointLru,
    /// In its place, a buffer by another policy.
    replaced: Option<Buffer>,
    total: u32,
    /// Frames that shall be free.
    free: u32,
    /// Bytes of the log, which is first on the device. The doublewrite is behind it, and
    /// pages behind that.
    log: u64,
    /// Whether changed neighbors are written along.
    writes_neighbors: bool,
    capacity: u32,
    capacity_max: u32,
    dirty: Dirty,
    /// Pages that were never written since they were made: these go without the
    /// doublewrite (`buf_page_t::flush`, `REINIT`).
    made: HashSet<Page>,
    known: u32,
    files: Files,
    cleaned: Moment,
    /// Whether the page cleaner waits until what it has written is there.
    is_writing: bool,
    /// What is to be written.
    writing: Vec<Page>,
}

impl Pool {
    /// An empty pool for so many pages of these files, behind so many bytes of the log.
    pub(super) fn new(
        opening: &Opening<'_>,
        pages: u32,
        files: Files,
        writes_neighbors: bool,
        log: u64,
    ) -> Option<Self> {
        let Opening {
            memory,
            page_size,
            miniature,
            ..
        } = *opening;
        let page = u64::from(page_size.get());
        let total = frames(memory.get(), page).min(Page::COUNT_MAX.into()) as u32;
        // More pages than there can be are as good as the most.
        let most = u64::from(Page::COUNT_MAX);
        let in_pages = |bytes: u64| (bytes / page).clamp(PAGES_MIN, most);
        let at_once = |bytes: u64| miniature.share(in_pages(bytes)) as u32;
        let known = pages.saturating_mul(2);
        let list = MidpointLru::new(known, Frames::new(total)?, MidpointRule::INNODB);
        let mut pool = Self {
            page,
            list,
            replaced: None,
            total,
            free: (in_pages(memory.get() / FREE_SHARE) as u32).min(total / 2),
            log,
            writes_neighbors,
            capacity: at_once(CAPACITY_USUAL),
            capacity_max: at_once(CAPACITY_MAX),
            dirty: Dirty::default(),
            made: HashSet::default(),
            known,
            files,
            cleaned: Moment::START,
            is_writing: false,
            writing: Vec::new(),
        };
        pool.set_clients(opening.clients);
        Some(pool)
    }

    /// Has another policy decide which pages stay, if there is one: in as many frames as the
    /// page cleaner leaves on average. Dirty pages that lose theirs are written together, as
    /// many as the page cleaner frees.
    pub(super) fn replace(&mut self, replacement: &Replacement) {
        let left = self.total - self.free * 3 / 4;
        let frames = Frames::new(left);
        self.replaced = frames.and_then(|frames| replacement.open(self.known, frames));
    }

    /// So many clients execute transactions. In the model these come one after the other, so the next
    /// misses stand for those of other clients.
    pub(super) fn set_clients(&mut self, clients: u32) {
        let others = clients.saturating_sub(1);
        self.list.set_reads_beside(others.min(READS_BESIDE_MAX));
    }

    pub(super) fn frames(&self) -> u32 {
        self.total
    }

    /// Where a page is.
    pub(super) fn place(&self, page: Page) -> u64 {
        let doublewrite = doublewrite_pages(self.page) * self.page;
        self.log + doublewrite + u64::from(page.number()) * self.page
    }

    /// There are so many pages: the last ones are in this file.
    pub(super) fn extend(&mut self, file: File, pages: u32) {
        self.files.grow(file, pages);
        if pages > self.known {
            self.known = pages.saturating_mul(2);
            match &mut self.replaced {
                Some(buffer) => buffer.extend(self.known),
                None => self.list.extend(self.known),
            }
        }
    }

    pub(super) fn advance(&mut self, now: Moment, is_written: bool) {
        self.is_writing &= !is_written;
        self.list.advance(now);
    }

    /// A page is wanted; answers whether it has to be read. One that is new never has.
    pub(super) fn refer(
        &mut self,
        reference: Reference,
        is_new: bool,
        lsn: u64,
        ios: &mut Vec<Io>,
    ) -> bool {
        let page = reference.page();
        if is_new {
            self.made.insert(page);
        }
        let is_miss = match self.replaced.is_some() {
            true => self.refer_replaced(reference, ios),
            false => self.refer_list(reference, is_new, ios),
        };
        if reference.is_change() {
            self.dirty.change(page, lsn);
        }
        is_miss && !is_new
    }

    /// Likewise of a transaction, which waits for a page that has to be read.
    pub(super) fn wait_for(
        &mut self,
        reference: Reference,
        is_new: bool,
        lsn: u64,
        arriving: &mut Arriving,
        referred: &mut Referred,
        ios: &mut Vec<Io>,
    ) {
        let page = reference.page();
        let read = Request::read(self.place(page), self.page as u32);
        if self.refer(reference, is_new, lsn, ios) {
            referred.misses += 1;
            arriving.miss(page, read, ios);
        } else {
            referred.hits += 1;
            arriving.hit(page, read, ios);
        }
    }

    fn refer_list(&mut self, reference: Reference, is_new: bool, ios: &mut Vec<Io>) -> bool {
        // A page that misses the list has its frame before it comes.
        self.make_room(ios);
        if is_new {
            self.list.create(reference.page());
            return false;
        }
        matches!(self.list.access(reference), Outcome::Miss(_))
    }

    fn refer_replaced(&mut self, reference: Reference, ios: &mut Vec<Io>) -> bool {
        let Some(buffer) = &mut self.replaced else {
            return false;
        };
        let Outcome::Miss(evicted) = buffer.access(reference) else {
            return false;
        };
        if let Some(Evicted {
            page,
            is_dirty: true,
        }) = evicted
        {
            self.dirty.clean(page);
            self.writing.push(page);
            if self.writes_neighbors && self.total >= NEIGHBORS_MIN {
                let area = self.area();
                let Some(buffer) = &mut self.replaced else {
                    return true;
                };
                let mut clean = |page| buffer.clean(page);
                with_neighbors(&mut clean, page, area, self.known, &mut self.writing);
            }
            if self.writing.len() >= (self.free / 2) as usize {
                self.write(ios);
            }
        }
        true
    }

    /// A page is of no use any more: it is not written.
    pub(super) fn forget(&mut self, page: Page) {
        self.clean_page(page);
        self.dirty.clean(page);
        self.made.remove(&page);
    }

    fn clean_page(&mut self, page: Page) {
        match &mut self.replaced {
            Some(buffer) => buffer.clean(page),
            None => self.list.clean(page),
        };
    }

    fn length(&self) -> u32 {
        self.total - self.list.free()
    }

    /// The page cleaner makes room when less than half of what shall be free is
    /// (`buf_pool_t::need_LRU_eviction`).
    fn make_room(&mut self, ios: &mut Vec<Io>) {
        while self.list.free() == 0
            || (!self.is_writing && self.list.free() < self.free / 2 && self.length() > LIST_MIN)
        {
            let neighbors = self.writes_neighbors && self.length() >= NEIGHBORS_MIN;
            let (area, known, free) = (self.area(), self.known, self.free);
            let mut writing = std::mem::take(&mut self.writing);
            let done = self
                .list
                .make_room(self.free, self.capacity_max, |list, page| {
                    writing.push(page);
                    // Half of the frames come first (`buf_flush_LRU_list_batch`).
                    if neighbors && list.free() * 2 >= free {
                        let mut clean = |page| list.is_dirty(page) && list.clean(page);
                        with_neighbors(&mut clean, page, area, known, &mut writing);
                    }
                });
            self.is_writing |= !writing.is_empty();
            self.writing = writing;
            self.write(ios);
            if done == 0 {
                break;
            }
        }
    }

    /// Pages among which neighbors are looked for (`buf_flush_check_neighbors`,
    /// `buf_pool_t::read_ahead_area`).
    fn area(&self) -> u32 {
        (self.total / 32)
            .next_power_of_two()
            .min(64)
            .min(self.total / 16)
            .max(1)
    }

    /// What the page cleaner does once a second: it writes the pages that are dirty for
    /// the longest time when too many are, or when too much of the log is needed for them.
    pub(super) fn clean(&mut self, now: Moment, lsn: u64, ios: &mut Vec<Io>) {
        if now.since(self.cleaned) < CLEANED_NS {
            return;
        }
        self.cleaned = now;
        let age = self.dirty.oldest().map_or(0, |since| lsn - since);
        let is_full = self.dirty.len() as f64 >= DIRTY_MAX * f64::from(self.total);
        if !is_full && age as f64 <= LOG_SHARE * self.log as f64 {
            return;
        }
        let most = if is_full {
            self.capacity
        } else {
            self.capacity / 3
        };
        while self.writing.len() < most as usize
            && let Some(page) = self.dirty.take_oldest()
        {
            self.clean_page(page);
            self.writing.push(page);
        }
        self.write(ios);
    }

    /// Writes a batch: pages that were just made to where they belong, the others to the doublewrite before.
    /// Whenever that is full, and at the end, what it has goes to its place, all files that have such pages
    /// are made durable one after the other, and only then the next pages come
    /// (`buf_dblwr_t::flush_buffered_writes_completed`, `write_completed`, `fil_flush_file_spaces`).
    fn write(&mut self, ios: &mut Vec<Io>) {
        let mut writing = std::mem::take(&mut self.writing);
        for page in &writing {
            self.dirty.clean(*page);
        }
        let mut io = |request| {
            ios.push(Io {
                purpose: Purpose::Background,
                request,
            });
        };
        let (mut new, known): (Vec<Page>, Vec<Page>) =
            writing.drain(..).partition(|page| self.made.remove(page));
        let in_place = |page: &Page| Request::write(self.place(*page), self.page as u32);
        new.iter().for_each(|page| io(in_place(page)));
        for batch in known.chunks(doublewrite_pages(self.page) as usize) {
            let bytes = batch.len() as u64 * self.page;
            io(Request::write(self.log, bytes as u32));
            io(Request::FLUSH);
            batch.iter().for_each(|page| io(in_place(page)));
            let files = self.files.among(batch.iter().chain(&new));
            (0..files).for_each(|_| io(Request::FLUSH));
            new.clear();
        }
        let files = self.files.among(&new);
        (0..files).for_each(|_| io(Request::FLUSH));
        self.writing = writing;
    }
}

/// The dirty pages right before and behind one, which `clean` makes clean if they are dirty.
fn with_neighbors(
    clean: &mut dyn FnMut(Page) -> bool,
    page: Page,
    area: u32,
    known: u32,
    writing: &mut Vec<Page>,
) {
    let number = page.number();
    let low = number / area * area;
    let mut take = |number: u32| {
        let page = Page::new(number);
        let is_dirty = clean(page);
        if is_dirty {
            writing.push(page);
        }
        is_dirty
    };
    for before in (low..number).rev() {
        if !take(before) {
            break;
        }
    }
    for behind in number + 1..(low + area).min(known) {
        if !take(behind) {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use octavo_buffer::Access;
    use octavo_units::{ByteCount, PageSize, Seed};
    use octavo_workload::Pgbench;

    use super::*;

    #[test]
    fn pools_have_the_frames_that_servers_tell() {
        for (mib, kib, total) in [
            (24, 4, 5913),
            (32, 4, 7884),
            (16, 16, 1014),
            (24, 16, 1521),
            (32, 16, 2028),
            (24, 64, 381),
            (32, 64, 508),
        ] {
            assert_eq!(
                frames(mib << 20, kib << 10),
                total,
                "{mib} MiB of {kib} KiB"
            );
        }
    }

    /// An empty pool for so many pages of 64 KiB: page 0 is in the system's file, all others in a table's.
    fn pool(memory: ByteCount, pages: u32) -> Pool {
        let workload = Pgbench::new(1, Seed::new(1)).unwrap();
        let opening = Opening::whole(&workload, PageSize::kib(64), memory);
        let mut files = Files::default();
        files.grow(File::System, 1);
        files.grow(File::Table(0), pages);
        Pool::new(&opening, pages, files, false, 512 << 20).unwrap()
    }

    #[test]
    fn dirty_pages_are_written_twice_before_others_come() {
        let mut pool = pool(ByteCount::mib(8), 200);
        assert_eq!((pool.frames(), pool.free), (127, 63));
        let mut ios = Vec::new();
        let mut refer = |number, access, ios: &mut Vec<Io>| {
            pool.refer(Reference::new(Page::new(number), access), false, 0, ios)
        };
        for number in 0..127 {
            let access = if number < 2 {
                Access::Change
            } else {
                Access::Read
            };
            assert!(refer(number, access, &mut ios));
        }
        assert!(ios.is_empty());
        assert!(refer(127, Access::Read, &mut ios));
        let bytes: Vec<u32> = ios.iter().map(|io| io.request.length).collect();
        assert_eq!(bytes, [2 * 65_536, 0, 65_536, 65_536, 0, 0], "two files");
        assert!(!refer(0, Access::Read, &mut ios), "it kept its frame");
        assert!(refer(3, Access::Read, &mut ios));
    }

    #[test]
    fn what_is_changed_while_it_is_written_stays() {
        let mut pool = pool(ByteCount::mib(24), 1000);
        assert_eq!((pool.frames(), pool.free), (381, 100));
        let mut ios = Vec::new();
        let mut change = |pool: &mut Pool, number: u32| {
            let reference = Reference::new(Page::new(number), Access::Change);
            pool.refer(reference, false, 0, &mut ios)
        };
        // With less than half of 100 free all is written; nothing is clean, and so nothing
        // loses its frame before that is done.
        for number in 0..340 {
            assert!(change(&mut pool, number));
        }
        assert!(pool.is_writing && pool.list.free() == 41);
        assert!(!change(&mut pool, 0));
        pool.advance(Moment::START, false);
        assert!(change(&mut pool, 340) && pool.list.free() == 40);
        pool.advance(Moment::START, true);
        assert!(change(&mut pool, 341));
        // The last of the list was changed again: it is written again, and those before it
        // go.
        assert!(!change(&mut pool, 0));
        assert_eq!(pool.list.free(), 99);
        assert!(change(&mut pool, 1));
    }
}

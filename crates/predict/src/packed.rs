//! Rows that were loaded one after the other onto the pages of a heap.

use octavo_units::mix;

/// What of a page is for rows. All are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// For rows and what points to them.
    pub(crate) bytes: u32,
    /// What points to a row.
    pub(crate) pointer: u32,
    /// What rows that come in leave free.
    pub(crate) reserve: u32,
}

/// How loaded rows lie on pages.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    rows: u64,
    rows_a_page: f64,
    /// A row on average, without what points to it.
    row: u32,
    room: Room,
    /// What was left in some pages: as much is in others.
    slacks: Vec<u32>,
    /// What is left in the last page.
    last_free: u32,
}

impl Packed {
    /// Rows of these sizes, of `rows` in all. Where they are longer than a page on average,
    /// each begins one, and goes on in as many as that needs.
    pub(crate) fn new(rows: u64, sizes: &[u32], room: Room) -> Self {
        let fillable = room.bytes.saturating_sub(room.reserve);
        let (mut used, mut pending, mut in_full) = (0, 0usize, 0);
        let mut slacks = Vec::new();
        for bytes in sizes.iter().map(|bytes| bytes + room.pointer) {
            if used + bytes > fillable && pending > 0 {
                slacks.push(room.bytes.saturating_sub(used));
                in_full += pending;
                (used, pending) = (0, 0);
            }
            used += bytes;
            pending += 1;
        }
        let all: u64 = sizes.iter().map(|bytes| u64::from(*bytes)).sum();
        let row = match sizes.len() as u64 {
            0 => 64,
            count => (all / count) as u32,
        };
        let span = row.div_ceil(room.bytes.saturating_sub(room.pointer).max(1));
        let rows_a_page = match slacks.len() {
            _ if span > 1 => 1.0 / f64::from(span),
            // All are on one page: more would fill it as these do.
            0 => f64::from(fillable / (row + room.pointer)).max(1.0),
            full => in_full as f64 / full as f64,
        };
        let in_last = rows as f64 - ((rows as f64 / rows_a_page).ceil() - 1.0) * rows_a_page;
        let last_used = (in_last.max(0.0) * f64::from(row + room.pointer)) as u32;
        Self {
            rows,
            rows_a_page,
            row,
            room,
            slacks,
            last_free: room.bytes.saturating_sub(last_used),
        }
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// A row's bytes on average, without what points to it.
    pub(crate) fn row(&self) -> u32 {
        self.row
    }

    /// What of a page is for rows.
    pub(crate) fn room(&self) -> Room {
        self.room
    }

    /// How many rows a page has on average.
    pub(crate) fn rows_a_page(&self) -> f64 {
        self.rows_a_page
    }

    /// What was left in some pages.
    pub(crate) fn slacks(&self) -> &[u32] {
        &self.slacks
    }

    /// How many pages there are.
    pub(crate) fn pages(&self) -> u32 {
        (self.rows as f64 / self.rows_a_page).ceil() as u32
    }

    /// How many pages a row takes that finds no room in one.
    pub(crate) fn span(&self) -> u32 {
        (1.0 / self.rows_a_page).round().max(1.0) as u32
    }

    /// Which page a row is on, or begins on.
    pub(crate) fn page_of(&self, row: u64) -> u32 {
        let number = (row as f64 / self.rows_a_page) as u32;
        number.min(self.pages().saturating_sub(self.span()))
    }

    /// What is left in a page.
    pub(crate) fn free(&self, page: u32) -> u32 {
        if page + 1 == self.pages() {
            return self.last_free;
        }
        let drawn = mix(u64::from(page)) as usize % self.slacks.len().max(1);
        self.slacks.get(drawn).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room {
        bytes: 976,
        pointer: 4,
        reserve: 0,
    };

    #[test]
    fn rows_fill_pages_by_hand() {
        // Nine of 104 leave 40.
        let packed = Packed::new(95, &[100; 90], ROOM);
        assert_eq!(
            (packed.pages(), packed.page_of(8), packed.page_of(9)),
            (11, 0, 1)
        );
        assert_eq!((packed.free(0), packed.free(10)), (40, 976 - 5 * 104));
        let reserving = Room {
            reserve: 98,
            ..ROOM
        };
        // 878 have room for eight.
        let packed = Packed::new(90, &[100; 90], reserving);
        assert_eq!((packed.pages(), packed.free(0)), (12, 976 - 8 * 104));
    }

    #[test]
    fn long_rows_take_several_pages_by_hand() {
        // 972 of each page.
        let packed = Packed::new(10, &[2000; 10], ROOM);
        assert_eq!((packed.span(), packed.pages()), (3, 30));
        assert_eq!((packed.page_of(0), packed.page_of(9)), (0, 27));
    }
}

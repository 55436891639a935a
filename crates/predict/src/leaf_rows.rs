//! The rows of a leaf that was changed: which they are, and what each takes.
//!
//! Rows are kept in runs: of a leaf with hundreds of rows most are next to each other as they
//! were loaded, and those that came later in one place follow each other.

use octavo_workload::touch::Place;

/// What the row or the page with a number has of something, in whole units: `mean` on
/// average.
pub(crate) fn whole(number: u64, mean: f64) -> u32 {
    (whole_before(number + 1, mean) - whole_before(number, mean)) as u32
}

/// What those before it have together.
fn whole_before(number: u64, mean: f64) -> u64 {
    (number as f64 * mean) as u64
}

/// Bytes of rows that follow each other: of the row with a number [`whole`] of it and the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sizes {
    /// The number of the first.
    pub(crate) number: u64,
    /// Bytes of a row on average.
    pub(crate) mean: f64,
}

/// Rows that follow each other: initial ones, or later ones behind the same initial one.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: Place,
    count: u32,
    sizes: Sizes,
}

impl Run {
    /// The place of one of them, or of the row behind the last one.
    fn place(&self, index: u32) -> Place {
        let Place { initial, later } = self.first;
        match later {
            0 => Place::initial(initial + u64::from(index)),
            later => Place {
                initial,
                later: later + u64::from(index),
            },
        }
    }

    fn last(&self) -> Place {
        self.place(self.count - 1)
    }

    fn bytes(&self, index: u32) -> u32 {
        whole(self.sizes.number + u64::from(index), self.sizes.mean)
    }

    fn sum(&self) -> u32 {
        let Sizes { number, mean } = self.sizes;
        (whole_before(number + u64::from(self.count), mean) - whole_before(number, mean)) as u32
    }

    /// How many of them are before a place.
    fn before(&self, place: Place) -> u32 {
        if place <= self.first {
            return 0;
        }
        let count = match self.first.later {
            0 => place.initial - self.first.initial + u64::from(place.later > 0),
            _ if place.initial > self.first.initial => u64::MAX,
            later => place.later - later,
        };
        count.min(u64::from(self.count)) as u32
    }

    /// The rows from one on, which leave this run.
    fn split_off(&mut self, index: u32) -> Self {
        let behind = Self {
            first: self.place(index),
            count: self.count - index,
            sizes: Sizes {
                number: self.sizes.number + u64::from(index),
                ..self.sizes
            },
        };
        self.count = index;
        behind
    }

    /// Whether rows go on in another run where these end.
    fn goes_on_in(&self, next: &Self) -> bool {
        let mean = self.sizes.mean;
        let is_next = next.first == self.place(self.count);
        // Of whole numbers all rows have the same.
        let has_sizes =
            next.sizes.number == self.sizes.number + u64::from(self.count) || mean.fract() == 0.0;
        is_next && has_sizes && next.sizes.mean == mean
    }
}

/// See the module. Rows are in the order of their places.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeafRows {
    /// None of them is empty.
    runs: Vec<Run>,
}

impl LeafRows {
    /// So many rows from one on.
    pub(crate) fn new(first: Place, count: u64, sizes: Sizes) -> Self {
        let mut rows = Self::default();
        rows.push(Run {
            first,
            count: u32::try_from(count).unwrap_or(u32::MAX),
            sizes,
        });
        rows
    }

    fn push(&mut self, run: Run) {
        match self.runs.last_mut() {
            _ if run.count == 0 => {}
            Some(last) if last.goes_on_in(&run) => last.count += run.count,
            _ => self.runs.push(run),
        }
    }

    /// Each row, with its bytes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Place, u32)> {
        let of_run = |run: &Run| {
            let run = *run;
            (0..run.count).map(move |index| (run.place(index), run.bytes(index)))
        };
        self.runs.iter().flat_map(of_run)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.runs.iter().map(|run| run.count as usize).sum()
    }

    /// Bytes of all of them.
    pub(crate) fn bytes(&self) -> u32 {
        self.runs.iter().map(Run::sum).sum()
    }

    pub(crate) fn first(&self) -> Option<Place> {
        Some(self.runs.first()?.first)
    }

    pub(crate) fn last(&self) -> Option<Place> {
        Some(self.runs.last()?.last())
    }

    /// Runs that begin at a place or before it.
    fn begun(&self, place: Place) -> usize {
        self.runs.partition_point(|run| run.first <= place)
    }

    /// The row behind a place.
    pub(crate) fn next(&self, place: Place) -> Option<Place> {
        let begun = self.begun(place);
        let own = begun.checked_sub(1).map(|index| &self.runs[index]);
        if let Some(run) = own.filter(|run| place < run.last()) {
            let before = run.before(place);
            return Some(match run.place(before) == place {
                true => run.place(before + 1),
                false => run.place(before),
            });
        }
        Some(self.runs.get(begun)?.first)
    }

    /// The row before a place.
    pub(crate) fn before(&self, place: Place) -> Option<Place> {
        let run = self.runs.partition_point(|run| run.first < place);
        let run = &self.runs[run.checked_sub(1)?];
        Some(run.place(run.before(place) - 1))
    }

    /// How many there are up to a place.
    pub(crate) fn count_through(&self, place: Place) -> usize {
        let begun = &self.runs[..self.begun(place)];
        let Some((own, whole)) = begun.split_last() else {
            return 0;
        };
        let before = own.before(place);
        let has_it = before < own.count && own.place(before) == place;
        let whole: usize = whole.iter().map(|run| run.count as usize).sum();
        whole + before as usize + usize::from(has_it)
    }

    /// Puts a row where it belongs, before those that have its place.
    pub(crate) fn insert(&mut self, place: Place, sizes: Sizes) {
        let row = Run {
            first: place,
            count: 1,
            sizes,
        };
        let behind = self.runs.partition_point(|run| run.first < place);
        let Some(own) = behind.checked_sub(1) else {
            self.runs.insert(0, row);
            return;
        };
        let before = self.runs[own].before(place);
        if before < self.runs[own].count {
            let rest = self.runs[own].split_off(before);
            self.runs.insert(behind, rest);
        }
        match self.runs[own].goes_on_in(&row) {
            true => self.runs[own].count += 1,
            false => self.runs.insert(behind, row),
        }
    }

    /// Takes a row out; its bytes, if it was there.
    pub(crate) fn remove(&mut self, place: Place) -> Option<u32> {
        let own = self.begun(place).checked_sub(1)?;
        let run = &mut self.runs[own];
        let index = run.before(place);
        if index == run.count || run.place(index) != place {
            return None;
        }
        let bytes = run.bytes(index);
        let mut behind = run.split_off(index);
        let behind = behind.split_off(1);
        match (self.runs[own].count > 0, behind.count > 0) {
            (true, true) => self.runs.insert(own + 1, behind),
            (true, false) => {}
            (false, true) => self.runs[own] = behind,
            (false, false) => {
                self.runs.remove(own);
            }
        }
        Some(bytes)
    }

    /// Has a row take so many bytes more; whether it was there.
    pub(crate) fn grow(&mut self, place: Place, by: u32) -> bool {
        let Some(bytes) = self.remove(place) else {
            return false;
        };
        let sizes = Sizes {
            number: 0,
            mean: f64::from(bytes + by),
        };
        self.insert(place, sizes);
        true
    }

    /// The rows from one on, which leave these.
    pub(crate) fn split_off(&mut self, index: usize) -> Self {
        let mut left = index;
        for run in 0..self.runs.len() {
            let count = self.runs[run].count as usize;
            if left < count {
                let mut behind = Self::default();
                behind.push(self.runs[run].split_off(left as u32));
                behind.runs.extend(self.runs.drain(run + 1..));
                if left == 0 {
                    self.runs.pop();
                }
                return behind;
            }
            left -= count;
        }
        Self::default()
    }

    /// Adds rows that are all behind these.
    pub(crate) fn append(&mut self, rows: Self) {
        for run in rows.runs {
            self.push(run);
        }
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::mix;

    use super::*;

    #[test]
    fn rows_are_those_of_a_sorted_list() {
        let mut in_runs = 0;
        for seed in 0..40 {
            let sizes = Sizes {
                number: 0,
                mean: [100.4, 7.0][seed as usize % 2],
            };
            let mut rows = LeafRows::new(Place::initial(20), 30, sizes);
            let mut list: Vec<(Place, u32)> = (20..50)
                .map(|row| (Place::initial(row), whole(row - 20, sizes.mean)))
                .collect();
            for number in 0..300 {
                let drawn = mix(seed << 32 ^ number);
                // Mostly behind one row, one after the other.
                let place = match drawn % 4 {
                    0 => Place::behind(18 + (drawn >> 8) % 34, (drawn >> 16) % 5),
                    _ => Place::behind(33, 10 + number),
                };
                let found = list.binary_search_by_key(&place, |(place, _)| *place);
                match drawn >> 32 & 7 {
                    0 | 1 if !list.is_empty() => {
                        let (place, bytes) = list.remove((drawn >> 40) as usize % list.len());
                        assert_eq!(rows.remove(place), Some(bytes));
                        assert_eq!(rows.remove(place), None);
                    }
                    2 if !list.is_empty() => {
                        let index = (drawn >> 40) as usize % list.len();
                        list[index].1 += 3;
                        assert!(rows.grow(list[index].0, 3));
                    }
                    3 => {
                        let index = (drawn >> 40) as usize % (list.len() + 1);
                        let behind = rows.split_off(index);
                        assert!(behind.iter().eq(list[index..].iter().copied()));
                        rows.append(behind);
                    }
                    _ => {
                        if let Err(index) = found {
                            let sizes = Sizes {
                                number: place.later,
                                mean: 33.3,
                            };
                            list.insert(index, (place, whole(place.later, 33.3)));
                            rows.insert(place, sizes);
                        } else {
                            assert!(rows.grow(place, 0));
                        }
                    }
                }
                assert!(rows.iter().eq(list.iter().copied()), "seed {seed}");
                assert_eq!(rows.len(), list.len());
                assert_eq!(
                    rows.bytes(),
                    list.iter().map(|(_, bytes)| bytes).sum::<u32>()
                );
                let places: Vec<Place> = list.iter().map(|(place, _)| *place).collect();
                assert_eq!(
                    (rows.first(), rows.last()),
                    (places.first().copied(), places.last().copied())
                );
                let through = places.partition_point(|other| *other <= place);
                let before = places.partition_point(|other| *other < place);
                assert_eq!(rows.count_through(place), through);
                assert_eq!(rows.next(place), places.get(through).copied());
                assert_eq!(rows.before(place), places[..before].last().copied());
                in_runs += rows.len() - rows.runs.len();
            }
        }
        assert!(in_runs > 100_000, "{in_runs}");
    }

    #[test]
    fn rows_in_one_place_come_one_before_the_other() {
        let sizes = |mean| Sizes { number: 0, mean };
        let mut rows = LeafRows::new(Place::initial(0), 4, sizes(10.0));
        for bytes in [20.0, 30.0] {
            rows.insert(Place::initial(2), sizes(bytes));
        }
        let bytes: Vec<u32> = rows.iter().map(|(_, bytes)| bytes).collect();
        assert_eq!(bytes, [10, 10, 30, 20, 10, 10]);
        assert_eq!(rows.next(Place::initial(2)), Some(Place::initial(3)));
        assert_eq!(rows.before(Place::initial(2)), Some(Place::initial(1)));
        assert_eq!(rows.count_through(Place::initial(2)), 5);
        for left in (3..6).rev() {
            assert!(rows.remove(Place::initial(2)).is_some());
            assert_eq!(rows.len(), left);
        }
        assert_eq!(rows.remove(Place::initial(2)), None);
    }

    #[test]
    fn what_was_loaded_and_what_comes_in_one_place_are_two_runs() {
        let sizes = Sizes {
            number: 0,
            mean: 81.5,
        };
        let mut rows = LeafRows::new(Place::initial(0), 200, sizes);
        for later in 0..100 {
            let place = Place::behind(199, later);
            rows.insert(
                place,
                Sizes {
                    number: place.later,
                    mean: 60.25,
                },
            );
        }
        assert_eq!((rows.len(), rows.runs.len()), (300, 2));
    }
}

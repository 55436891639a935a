//! Values by number, whose numbers are used again.

use std::ops::{Index, IndexMut};

/// Values, each by the number that [`Slots::insert`] gave it.
#[derive(Clone, Debug)]
pub(crate) struct Slots<T> {
    values: Vec<T>,
    /// Numbers that were released, the latest last.
    unused: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            unused: Vec::new(),
        }
    }
}

impl<T> Slots<T> {
    /// Keeps a value under the number that was released last, or a new one.
    #[inline]
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(number) = self.unused.pop() {
            self[number] = value;
            return number;
        }
        self.values.push(value);
        (self.values.len() - 1) as u32
    }

    /// Lets a number be used again; until then its value stays.
    #[inline]
    pub(crate) fn release(&mut self, number: u32) {
        self.unused.push(number);
    }

    /// All values, of released numbers too.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.values.iter()
    }
}

impl<T> Index<u32> for Slots<T> {
    type Output = T;

    #[inline]
    fn index(&self, number: u32) -> &T {
        &self.values[number as usize]
    }
}

impl<T> IndexMut<u32> for Slots<T> {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.values[number as usize]
    }
}

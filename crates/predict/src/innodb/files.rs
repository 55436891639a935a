//! Which file each page is in (`innodb_file_per_table`).

use octavo_buffer::Page;

/// A file of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum File {
    /// The system's, with all undo logs (`innodb_undo_tablespaces=0`).
    System,
    /// That of a table and its indexes, by the table's position in the workload.
    Table(usize),
}

/// See the module. Pages that are freed in one file and used again in another are taken to be in the first
/// one still.
#[derive(Clone, Debug, Default)]
pub(super) struct Files {
    /// The first pages of runs, and the file that each of these is in.
    runs: Vec<(u32, File)>,
    /// Pages that are in some file.
    count: u32,
}

impl Files {
    /// All pages below `count` that are in no file yet are in this one.
    pub(super) fn grow(&mut self, file: File, count: u32) {
        if count <= self.count {
            return;
        }
        if self.runs.last().is_none_or(|&(_, last)| last != file) {
            self.runs.push((self.count, file));
        }
        self.count = count;
    }

    /// The file of a page. What is in none is in the system's.
    fn of(&self, page: Page) -> File {
        let behind = self
            .runs
            .partition_point(|&(first, _)| first <= page.number());
        match behind.checked_sub(1).map(|run| self.runs[run]) {
            Some((_, file)) if page.number() < self.count => file,
            _ => File::System,
        }
    }

    /// How many files these pages are in.
    pub(super) fn among<'a>(&self, pages: impl IntoIterator<Item = &'a Page>) -> usize {
        let mut files: Vec<File> = pages.into_iter().map(|&page| self.of(page)).collect();
        files.sort_unstable();
        files.dedup();
        files.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_in_the_files_that_grew_by_them() {
        let mut files = Files::default();
        files.grow(File::System, 10);
        files.grow(File::Table(0), 30);
        files.grow(File::Table(1), 30);
        files.grow(File::Table(1), 50);
        files.grow(File::Table(1), 52);
        files.grow(File::Table(0), 53);
        assert_eq!(files.runs.len(), 4);
        let page = Page::new;
        let of = [0, 9, 10, 29, 30, 51, 52, 53].map(|number| files.of(page(number)));
        use File::{System, Table};
        let expected = [
            System,
            System,
            Table(0),
            Table(0),
            Table(1),
            Table(1),
            Table(0),
            System,
        ];
        assert_eq!(of, expected);
        assert_eq!(files.among(&[page(52), page(10), page(31), page(50)]), 2);
        assert_eq!(files.among(&[]), 0);
        assert_eq!(Files::default().among(&[page(1)]), 1);
    }
}

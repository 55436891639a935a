//! The parts of a database's description: page sizes, what is measured by
//! default, and what to type to follow the advice. Data only; words for people
//! are made of it elsewhere.

use std::{fmt, time::Duration};

use octavo_units::{ByteCount, PageSize};

use crate::options::Options;

/// Page sizes: all powers of two from the smallest to the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSizes {
    /// The smallest.
    pub smallest: PageSize,
    /// The largest.
    pub largest: PageSize,
    /// The size that users have who chose none.
    pub default: PageSize,
}

impl PageSizes {
    /// Whether this is one of them.
    pub fn contains(&self, page_size: PageSize) -> bool {
        (self.smallest..=self.largest).contains(&page_size)
    }

    /// All of them, the smallest first.
    pub fn iter(&self) -> impl Iterator<Item = PageSize> {
        let sizes = std::iter::successors(Some(self.smallest), |size| {
            PageSize::new(size.get().checked_mul(2)?).ok()
        });
        let largest = self.largest;
        sizes.take_while(move |size| *size <= largest)
    }
}

/// As in "4 KiB, 8 KiB or 16 KiB".
impl fmt::Display for PageSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, size) in self.iter().enumerate() {
            match (number, size == self.largest) {
                (0, _) => write!(f, "{size}")?,
                (_, true) => write!(f, " or {size}")?,
                (_, false) => write!(f, ", {size}")?,
            }
        }
        Ok(())
    }
}

/// What `advise` measures unless told otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// Time for everything.
    pub budget: Duration,
    /// Memory that may hold data.
    pub memories: &'static [ByteCount],
    /// Page sizes to compare.
    pub page_sizes: &'static [PageSize],
    /// Sessions at the same time.
    pub clients: u32,
    /// An option and its value with which the OS holds all files in memory, whatever the
    /// database's buffer; `None` if there is none. The option's default is that it holds nothing.
    pub held_by_os: Option<(&'static str, &'static str)>,
}

impl Defaults {
    /// Those of a server with these page sizes. A server with one client is no
    /// OLTP system; and it takes more time than an embedded database, to be
    /// built, and because InnoDB wants 24 MiB for its largest pages.
    pub const fn of_server(page_sizes: &'static [PageSize]) -> Self {
        const MEMORIES: [ByteCount; 2] = [ByteCount::mib(32), ByteCount::mib(96)];
        Self {
            budget: Duration::from_mins(30),
            memories: &MEMORIES,
            page_sizes,
            clients: 8,
            held_by_os: None,
        }
    }
}

/// How to follow the advice.
#[derive(Clone, Copy, Debug)]
pub struct Advice {
    /// What to do for another page size.
    pub page_size: Change,
    /// What to do for another buffer size.
    pub buffer: Change,
    /// How much of a memory was the buffer, as options and facts of the runs tell: the page
    /// cache may have had the rest.
    pub buffer_size: fn(ByteCount, &Options, &[(String, String)]) -> ByteCount,
    /// How the buffer's size was divided between sessions, where each has a buffer of its own and
    /// there are so many clients; `None` where all share one.
    pub session_buffers: Option<fn(ByteCount, u32) -> Vec<SessionBuffer>>,
    /// How the user's own database gets another page size; `None` where databases are not copied.
    pub rebuild: Option<Rebuild>,
}

/// How the user's own database gets another page size.
#[derive(Clone, Copy, Debug)]
pub struct Rebuild {
    /// What to type in a shell, in this order, and how to go back. Lines that begin with `#` are to be
    /// read. `{bytes}` and `{kib}` stand for the page size, `{name}` for what the database is called.
    pub steps: &'static [ChangeLine],
    /// How Octavo does it for its copies, for the time that it took.
    pub copying: &'static str,
    /// Who waits meanwhile, and from when to when.
    pub waiting: &'static str,
    /// What is written to a log where no counter tells it; may be empty.
    pub log: &'static str,
}

impl Rebuild {
    /// The steps for a page size, of a database of this name with these options.
    pub fn lines(&self, page_size: ByteCount, name: &str, options: &Options) -> Vec<String> {
        let steps = Change {
            place: ChangePlace::Shell,
            lines: self.steps,
            costs: &[],
        };
        let lines = steps.lines(page_size, options);
        lines.map(|line| line.replace("{name}", name)).collect()
    }
}

/// The buffer of one kind of session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionBuffer {
    /// Its size.
    pub size: ByteCount,
    /// Which sessions have one, such as "The one that writes"; empty where there is one.
    pub whose: String,
}

/// Of a database whose memory is all its buffer.
pub fn buffer_is_all(memory: ByteCount, _: &Options, _: &[(String, String)]) -> ByteCount {
    memory
}

/// A change of a database in use.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// Where the lines go.
    pub place: ChangePlace,
    /// What to type there, in order.
    pub lines: &'static [ChangeLine],
    /// What the change needs and costs.
    pub costs: &'static [Cost],
}

impl Change {
    /// The lines for a size, of a database with these options.
    pub fn lines<'a>(
        &'a self,
        size: ByteCount,
        options: &'a Options,
    ) -> impl Iterator<Item = String> + 'a {
        let applies = |line: &&ChangeLine| match line.only_with {
            Some((option, value)) => options.text(option) == Some(value),
            None => true,
        };
        let lines = self.lines.iter().filter(applies);
        lines.map(move |line| line.of_size(size))
    }
}

/// A line to type.
#[derive(Clone, Copy, Debug)]
pub struct ChangeLine {
    /// The text; `{bytes}` and `{kib}` stand for the size.
    pub text: &'static str,
    /// The option and its value that it is for; `None` for all.
    pub only_with: Option<(&'static str, &'static str)>,
}

impl ChangeLine {
    /// A line for all options.
    pub const fn always(text: &'static str) -> Self {
        Self {
            text,
            only_with: None,
        }
    }

    /// The text for a size.
    pub fn of_size(&self, size: ByteCount) -> String {
        let text = self.text.replace("{bytes}", &size.get().to_string());
        text.replace("{kib}", &(size.get() / 1024).to_string())
    }
}

/// Where the lines of a change go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangePlace {
    /// Into one session of the database, once.
    OneSession,
    /// Into every session, each time it is opened.
    EverySession,
    /// Into a shell, once.
    Shell,
    /// Into the server's configuration.
    Configuration {
        /// The usual name of the file.
        file: &'static str,
        /// The section of the file, as the line that begins it.
        section: Option<&'static str>,
    },
}

/// What a change needs or costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// No other session may be open.
    ExclusiveAccess,
    /// A second copy of the database has to fit on the disk for a while.
    RoomForCopy,
    /// Free space for two more: SQLite's VACUUM makes a copy, and a journal while it puts that in
    /// place (<https://www.sqlite.org/lang_vacuum.html>).
    RoomForTwoCopies,
    /// The write-ahead log has to be left meanwhile.
    LeaveWal,
    /// Programs have to be built for the page size.
    Build,
    /// A new data directory has to be made.
    NewDataDirectory,
    /// The data has to be moved by dump and restore.
    DumpAndRestore,
    /// What was measured was all that held data: little should be left to the
    /// page cache.
    LittlePageCache,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_sizes_are_powers_of_two() {
        let sizes = PageSizes {
            smallest: PageSize::kib(4),
            largest: PageSize::kib(16),
            default: PageSize::kib(8),
        };
        assert_eq!(sizes.to_string(), "4 KiB, 8 KiB or 16 KiB");
        assert!(sizes.contains(PageSize::kib(4)));
        assert!(sizes.contains(PageSize::kib(16)));
        assert!(!sizes.contains(PageSize::kib(2)));
        assert!(!sizes.contains(PageSize::kib(32)));
    }
}

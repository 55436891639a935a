//! What transactions wait for beside what they ask of storage themselves: for what others
//! have, or do.

/// What somebody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Rows that another transaction changes.
    Rows,
    /// A processor.
    Processor,
    /// Work that one transaction does at a time.
    Latch,
    /// A page that another reads.
    Page,
    /// The log, while it is written for others, or by another with one's own.
    Log,
}

impl Wait {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Rows,
        Self::Processor,
        Self::Latch,
        Self::Page,
        Self::Log,
    ];
}

/// How long a transaction waited, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited([u64; Wait::ALL.len()]);

impl Waited {
    /// For one of them.
    pub fn ns(&self, wait: Wait) -> u64 {
        self.0[wait as usize]
    }

    /// It waited longer.
    pub(crate) fn add(&mut self, wait: Wait, ns: u64) {
        self.0[wait as usize] += ns;
    }
}

impl std::ops::Add for Waited {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|wait| self.0[wait] + other.0[wait]))
    }
}

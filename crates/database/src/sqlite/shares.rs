//! What each connection has of the memory.

use octavo_units::ByteCount;

/// How the memory is divided between connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryShares {
    pub(crate) writer: ByteCount,
    /// Share of each client's reader; zero when all use the writer.
    pub(crate) reader: ByteCount,
}

impl MemoryShares {
    /// A single client reads and writes through one connection. With more, an
    /// eighth is the readers': each commit empties their buffers, so more
    /// would be lost on them.
    pub(crate) fn divide(memory: ByteCount, clients: u32) -> Self {
        if clients <= 1 {
            return Self {
                writer: memory,
                reader: ByteCount::ZERO,
            };
        }
        let readers = memory.get() / 8;
        Self {
            writer: ByteCount::new(memory.get() - readers),
            reader: ByteCount::new(readers / u64::from(clients)),
        }
    }
}

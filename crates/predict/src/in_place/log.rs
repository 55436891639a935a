//! The log: how much transactions add to it, and how that is written.

use octavo_device::Request;

use super::rules::LogFormat;
use crate::io::{Io, Purpose};

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Log {
    format: LogFormat,
    /// Bytes that were added so far.
    position: u64,
    /// Of these, those that are not written yet.
    pending: u64,
    /// The block that is written next, and what of it is filled.
    block: u64,
    filled: u64,
}

impl Log {
    pub(super) fn new(format: LogFormat) -> Self {
        Self {
            format,
            position: 0,
            pending: 0,
            block: 0,
            filled: 0,
        }
    }

    pub(super) fn add(&mut self, bytes: u32) {
        self.position += u64::from(bytes);
        self.pending += u64::from(bytes);
    }

    /// Bytes so far.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Where it goes on, in bytes of blocks so far.
    pub(super) fn place(&self) -> u64 {
        self.block * self.format.block + self.filled
    }

    /// How long pages may be dirty, in bytes of the log.
    pub(super) fn checkpoint(&self) -> u64 {
        self.format.checkpoint
    }

    /// Whether the device is to make pages durable that a checkpoint wrote.
    pub(super) fn flushes_pages(&self) -> bool {
        self.format.flushes_pages
    }

    /// Whether it is on another device.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.format.is_elsewhere
    }

    /// Where on the device pages begin: the log is first, if it is there.
    pub(super) fn size(&self) -> u64 {
        match self.format.is_elsewhere {
            true => 0,
            false => self.format.size,
        }
    }

    /// Adds a commit, and makes all durable.
    pub(super) fn commit(&mut self, ios: &mut Vec<Io>) {
        self.add(self.format.commit);
        let LogFormat {
            block,
            header,
            rewrites,
            first_last,
            ..
        } = self.format;
        let room = block - header;
        let all = self.filled + self.pending;
        let count = all.div_ceil(room);
        let first = self.block;
        if rewrites {
            (self.block, self.filled) = (first + all / room, all % room);
        } else {
            self.block = first + count;
        }
        self.pending = 0;
        if self.format.is_elsewhere {
            return;
        }
        if first_last && count > 1 {
            self.write(first + 1, count - 1, ios);
            self.write(first, 1, ios);
        } else {
            self.write(first, count, ios);
        }
    }

    /// Writes blocks and makes them durable; around its end the log goes on at its
    /// beginning.
    fn write(&self, first: u64, count: u64, ios: &mut Vec<Io>) {
        let blocks = self.format.size / self.format.block;
        let (mut next, end) = (first, first + count);
        while next < end {
            let place = next % blocks;
            let run = (end - next).min(blocks - place);
            let (offset, length) = (place * self.format.block, run * self.format.block);
            ios.push(Io {
                purpose: Purpose::LogWrite,
                request: Request::write(offset, length as u32),
            });
            next += run;
        }
        ios.push(Io {
            purpose: Purpose::LogSync,
            request: Request::FLUSH,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: LogFormat = LogFormat {
        block: 512,
        header: 16,
        rewrites: false,
        first_last: false,
        size: 4 * 512,
        checkpoint: 1000,
        is_elsewhere: false,
        flushes_pages: true,
        commit: 96,
    };

    fn written(log: &mut Log, bytes: u32) -> Vec<(u64, u32)> {
        let mut ios = Vec::new();
        log.add(bytes);
        log.commit(&mut ios);
        let request = |io: &Io| (io.request.offset, io.request.length);
        ios.iter().map(request).collect()
    }

    #[test]
    fn what_is_left_of_a_block_is_lost_by_hand() {
        let mut log = Log::new(FORMAT);
        // 496 of each block.
        assert_eq!(written(&mut log, 400), [(0, 512), (0, 0)]);
        assert_eq!(written(&mut log, 401), [(512, 1024), (0, 0)]);
        // Around the end.
        assert_eq!(written(&mut log, 404), [(1536, 512), (0, 512), (0, 0)]);
        assert_eq!(log.position(), 400 + 401 + 404 + 3 * 96);
    }

    #[test]
    fn a_block_is_written_again_with_what_comes_next_by_hand() {
        let mut log = Log::new(LogFormat {
            rewrites: true,
            first_last: true,
            ..FORMAT
        });
        assert_eq!(written(&mut log, 100), [(0, 512), (0, 0)]);
        assert_eq!(written(&mut log, 100), [(0, 512), (0, 0)]);
        let three = [(512, 512), (0, 0), (0, 512), (0, 0)];
        assert_eq!(written(&mut log, 404), three);
        assert_eq!(written(&mut log, 0), [(512, 512), (0, 0)]);
    }
}

//! PostgreSQL's write-ahead log: how long its records are, which of them have whole
//! pages, and how it is written (src/include/access/xlogrecord.h and
//! src/backend/access/transam/xlog.c of version 15).

use octavo_buffer::Page;
use octavo_device::Request;
use octavo_units::{ByteCount, PageSize};

use crate::{
    io::{Io, Purpose},
    miniature::Miniature,
};

/// `SizeOfXLogRecord`.
const RECORD_HEADER: u64 = 24;
/// Of what a record has besides pages (`SizeOfXLogRecordDataHeaderShort`).
const MAIN_HEADER: u64 = 2;
/// `XLogRecordBlockHeader`, the table's number and the page's; the table's is left out
/// if the page before is of the same one.
const BLOCK_HEADER: u64 = 4 + 4;
const RELATION: u64 = 12;
/// `XLogRecordBlockImageHeader`.
const IMAGE_HEADER: u64 = 5;
/// `SizeOfXLogShortPHD`: the header of each page of the log.
const LOG_PAGE_HEADER: u64 = 24;

/// The log is in files of this size (`DEFAULT_XLOG_SEG_SIZE`), which a miniature has a part of.
const SEGMENT: u64 = 16 << 20;
/// Files that a loaded cluster has.
const SEGMENTS_READY: u64 = 2;
/// Files that the log has room for on the device, at most: those of a larger log are used
/// again sooner than a server would, which no device notices.
const SEGMENTS_MAX: u64 = 64;
/// `checkpoint_completion_target`: the share of the way to the next checkpoint in which
/// one writes its pages.
const COMPLETION: f64 = 0.9;

/// The longest write.
const WRITE_MAX: u64 = 1 << 20;

/// A page that a record changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Changed {
    pub(super) page: Page,
    /// Bytes that tell the change, which a whole page makes superfluous.
    pub(super) data: u32,
    /// Bytes of the whole page without the hole in its middle.
    pub(super) image: u32,
    /// It had no content before, so that no whole page is needed.
    pub(super) is_new: bool,
}

impl Changed {
    pub(super) fn new(page: Page, data: u32, image: u32) -> Self {
        Self {
            page,
            data,
            image,
            is_new: false,
        }
    }

    pub(super) fn made(page: Page, data: u32) -> Self {
        Self {
            page,
            data,
            image: 0,
            is_new: true,
        }
    }
}

/// The log, at the beginning of the device.
#[derive(Clone, Debug)]
pub(super) struct Log {
    block: u64,
    has_images: bool,
    /// Bytes of a file.
    segment: u64,
    /// Files between checkpoints (`CheckPointSegments`).
    segments: u64,
    /// Bytes so far, with the headers of pages.
    end: u64,
    flushed: u64,
    /// Where the last checkpoint began.
    redo: u64,
    /// Files that exist.
    files: u64,
    /// By page, the checkpoint after which the log has it whole.
    imaged: Vec<u32>,
    checkpoints: u32,
}

impl Log {
    pub(super) fn new(
        block: PageSize,
        max_size: ByteCount,
        has_images: bool,
        miniature: Miniature,
    ) -> Self {
        // `CalculateCheckpointSegments`.
        let segments = max_size.get() / SEGMENT;
        let segments = ((segments as f64 / (1.0 + COMPLETION)) as u64).max(1);
        Self {
            block: u64::from(block.get()),
            has_images,
            segment: miniature.share(SEGMENT).next_multiple_of(WRITE_MAX),
            segments,
            end: 0,
            flushed: 0,
            redo: 0,
            files: SEGMENTS_READY,
            imaged: Vec::new(),
            checkpoints: 1,
        }
    }

    /// With its end here, behind a checkpoint: the next one is due when as many files are full,
    /// whose first has begun.
    pub(super) fn begins_at(mut self, position: u64) -> Self {
        // Records are multiples of eight bytes.
        let begin = position % SEGMENT * self.segment / SEGMENT / 8 * 8;
        (self.end, self.flushed, self.redo) = (begin, begin, begin);
        self
    }

    /// Where the device has room for data.
    pub(super) fn data(&self) -> u64 {
        self.area()
    }

    /// What the log has of the device: files are used again after the next checkpoint.
    fn area(&self) -> u64 {
        (2 * self.segments + 2).min(SEGMENTS_MAX) * self.segment
    }

    /// Bytes so far.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Adds a record with so many bytes besides those of the pages that it changes, which
    /// are of one table.
    pub(super) fn record(&mut self, main: u32, pages: &[Changed]) {
        let mut bytes = RECORD_HEADER;
        if main > 0 {
            bytes += MAIN_HEADER + u64::from(main);
        }
        for (number, changed) in pages.iter().enumerate() {
            bytes += BLOCK_HEADER + if number == 0 { RELATION } else { 0 };
            bytes += self.bytes_of(changed);
        }
        self.append(bytes);
    }

    /// Adds a record that was found in a real log, with so many bytes besides those of the pages
    /// that it changes.
    pub(super) fn record_found(&mut self, bytes: u64, pages: impl Iterator<Item = Changed>) {
        let of_pages: u64 = pages.map(|changed| self.bytes_of(&changed)).sum();
        self.append(bytes + of_pages);
    }

    /// What a record has of a page that it changes.
    fn bytes_of(&mut self, changed: &Changed) -> u64 {
        let index = changed.page.index();
        if index >= self.imaged.len() {
            self.imaged.resize(index * 5 / 4 + 64, 0);
        }
        let last = std::mem::replace(&mut self.imaged[index], self.checkpoints);
        let is_whole = self.has_images && !changed.is_new && last != self.checkpoints;
        match is_whole {
            true => IMAGE_HEADER + u64::from(changed.image),
            false => u64::from(changed.data),
        }
    }

    /// A record of so many bytes comes last.
    fn append(&mut self, bytes: u64) {
        let bytes = bytes.next_multiple_of(8);
        // Each page that is begun has its header first.
        let room = self.block - LOG_PAGE_HEADER;
        let in_page = (self.end % self.block).max(LOG_PAGE_HEADER) - LOG_PAGE_HEADER;
        let begun = if self.end.is_multiple_of(self.block) {
            1
        } else {
            0
        };
        let further = (in_page + bytes - 1) / room;
        self.end += bytes + (begun + further) * LOG_PAGE_HEADER;
    }

    /// Makes all records durable.
    pub(super) fn flush(&mut self, ios: &mut Vec<Io>) {
        if self.flushed == self.end {
            return;
        }
        let mut io = |purpose, request| ios.push(Io { purpose, request });
        let area = self.area();
        // A file that is not there is made of zeros before it is used.
        while self.files * self.segment < self.end {
            if self.files < self.segments + SEGMENTS_READY {
                let begin = self.files * self.segment % area;
                for part in 0..self.segment / WRITE_MAX {
                    let begin = begin + part * WRITE_MAX;
                    io(Purpose::LogWrite, Request::write(begin, WRITE_MAX as u32));
                }
                io(Purpose::LogSync, Request::FLUSH);
            }
            self.files += 1;
        }
        // Whole pages of the log, the one in which the last write ended again.
        let mut begin = self.flushed / self.block * self.block;
        let end = self.end.next_multiple_of(self.block);
        while begin < end {
            let place = begin % area;
            let length = (end - begin).min(WRITE_MAX).min(area - place);
            io(Purpose::LogWrite, Request::write(place, length as u32));
            begin += length;
        }
        io(Purpose::LogSync, Request::FLUSH);
        self.flushed = self.end;
    }

    /// Whether a checkpoint is due (`XLogCheckpointNeeded`, asked when a file is full).
    pub(super) fn is_due(&self) -> bool {
        self.end / self.segment >= self.redo / self.segment + self.segments
    }

    /// A checkpoint begins: from here on, each page is whole in the log when it is first
    /// changed.
    pub(super) fn begin_checkpoint(&mut self) {
        self.redo = self.end;
        self.checkpoints += 1;
    }

    /// Which share of a checkpoint's pages should be written by now
    /// (`IsCheckpointOnSchedule`).
    pub(super) fn written_share(&self) -> f64 {
        let way = (self.segments * self.segment) as f64 * COMPLETION;
        ((self.end - self.redo) as f64 / way).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn log() -> Log {
        Log::new(
            PageSize::kib(8),
            ByteCount::mib(256),
            true,
            Miniature::WHOLE,
        )
    }

    #[test]
    fn records_have_lengths_by_hand() {
        let mut log = log();
        let page = Page::new(7);
        // The log's page begins with 24 bytes. The first change has the whole page: 24,
        // 2 and 14, 20, 5 and 8000, which are 8065 in 8072.
        log.record(14, &[Changed::new(page, 30, 8000)]);
        assert_eq!(log.end(), 24 + 8072);
        // 24, 2 and 14, 20 and 30: 90 in 96, of which 96 are left.
        log.record(14, &[Changed::new(page, 30, 8000)]);
        assert_eq!(log.end(), 8192);
        // A commit's record begins the next page.
        log.record(8, &[]);
        assert_eq!(log.end(), 8192 + 24 + 40);
        log.begin_checkpoint();
        log.record(14, &[Changed::new(page, 30, 8000)]);
        assert_eq!(log.end(), 8192 + 24 + 40 + 8072, "whole again");
    }

    #[test]
    fn writes_are_of_whole_pages_by_hand() {
        let mut log = log();
        let mut ios = Vec::new();
        log.record(8, &[]);
        log.flush(&mut ios);
        log.record(8, &[]);
        log.flush(&mut ios);
        let writes: Vec<(u64, u32)> = ios
            .iter()
            .map(|io| (io.request.offset, io.request.length))
            .collect();
        assert_eq!(writes, [(0, 8192), (0, 0), (0, 8192), (0, 0)]);
        log.flush(&mut ios);
        assert_eq!(ios.len(), 4, "nothing is left");
    }

    #[test]
    fn checkpoints_come_after_eight_files() {
        let mut log = log();
        // 16 files of 16 MiB, 1.9 times as many as between two checkpoints.
        assert_eq!(log.segments, 8);
        while !log.is_due() {
            log.record(0, &[Changed::made(Page::new(1), 1 << 20)]);
        }
        assert_eq!(log.end() / SEGMENT, 8);
        log.begin_checkpoint();
        assert!(!log.is_due());
        // A file that is three quarters full is the first of them.
        let mut log = self::log().begins_at(5 * SEGMENT + 12 * MIB);
        while !log.is_due() {
            log.record(0, &[Changed::made(Page::new(1), 1 << 20)]);
        }
        let written = log.end() - 12 * MIB;
        assert!(
            (116 * MIB..117 * MIB + MIB / 2).contains(&written),
            "{written}"
        );
    }
}

//! InnoDB's redo log: what transactions add to it, and how it is written.
//!
//! Bytes follow the format since MariaDB 10.8 (`mtr0log.h`, `mtr0types.h`): a record is
//! a byte of type and length, the page's number where it is another page than before, an
//! offset, and the bytes that differ; a mini-transaction ends with five bytes. What
//! depends on rows is reckoned from them. What does not was counted in the logs of real
//! runs (MariaDB 10.11.19; TPC-C, YCSB A and pgbench; 4, 16 and 64 KiB pages), record by
//! record: each constant says of which mini-transactions.

use octavo_device::Request;

use crate::{
    io::{Io, Purpose},
    miniature::Miniature,
};

/// What the log is written in multiples of, where the device does not ask for more
/// (`log_t::set_block_size`).
const BLOCK: u64 = 512;

/// Bytes of the log that Octavo starts servers with.
const CAPACITY: u64 = 512 << 20;

/// The log's own header (`log_t::START_OFFSET`).
const HEADER: u64 = 12_288;

/// Of a transaction's first undo record, when it gets a page of its own
/// (`trx_undo_create`), beside the record (which has no mini-transaction of its own,
/// [`UNDO_APPEND`] is taken off); and of the commit and of the purge that frees
/// the page. Measured: 168, 44 and 71.
pub(super) const UNDO_CREATED: f64 = 168.0 - 9.0 + 44.0 + 71.0;
/// Likewise when the page of an earlier transaction is used on (`trx_undo_reuse_cached`).
/// Measured: 43, 56 and 30, the last of nine in ten.
pub(super) const UNDO_REUSED: f64 = 43.0 - 9.0 + 56.0 + 27.0;
/// What a transaction adds more when it gets a page of its own.
pub(super) const UNDO_NEW: f64 = UNDO_CREATED - UNDO_REUSED;
/// Each undo record but the first in a mini-transaction of its own: its end, type and
/// length, page, subtype.
const UNDO_APPEND: f64 = 5.0 + 7.0;
/// Kind, numbers of record and table, the row's old transaction and roll pointer
/// (`trx_undo_page_report_modify`); of a new row the first three
/// (`trx_undo_page_report_insert`).
const UNDO_MODIFY: f64 = 17.0;
const UNDO_INSERT: f64 = 3.0;

/// Transaction and roll pointer of a row that is changed where it is, its page, the end.
/// Measured: 18 of 25 bytes with one number changed.
const IN_PLACE: f64 = 18.5;
/// A number that is changed: a record's head, and those of its bytes that differ.
/// Measured: 6 to 8.
const NUMBER: f64 = 6.7;
/// A text: a head of four bytes, and itself.
const TEXT_HEAD: f64 = 4.0;
/// A record that comes in: end, type, page, subtype, place, and lengths.
const INSERT: f64 = 5.0 + 11.0;
/// A record that goes before the same row comes in again. Measured: 18 of 87 bytes.
const DELETE: f64 = 18.0;

/// A new row's record: what it has in common with the one before it is left out
/// (`page_cur_insert_rec_low`), its head and its key but for the last byte.
pub(super) fn insert(record: f64, key: f64) -> f64 {
    INSERT + (record - 6.0 - (key - 1.0)).max(0.0)
}

/// Its undo record.
pub(super) fn undo_of_insert(key: f64, key_columns: f64) -> f64 {
    UNDO_APPEND + UNDO_INSERT + key + key_columns
}

/// The undo record of a row of which values with so many bytes are replaced.
pub(super) fn undo_of_update(key: f64, key_columns: f64, changed: u32) -> f64 {
    let values = match as_text(changed) {
        true => 2.0 + f64::from(changed),
        // Six bytes each with number and length.
        false => 6.0 * numbers(changed),
    };
    UNDO_APPEND + UNDO_MODIFY + key + key_columns + 1.0 + values
}

/// A row that keeps its size.
pub(super) fn update(changed: u32) -> f64 {
    IN_PLACE
        + match as_text(changed) {
            true => TEXT_HEAD + f64::from(changed),
            false => NUMBER * numbers(changed),
        }
}

/// A row that does not.
pub(super) fn replace(record: f64, key: f64) -> f64 {
    DELETE + insert(record, key)
}

/// Of a row whose long value is replaced, beside the record with its pointer and the value itself, and of each page
/// that the value gets: its header, the page's pointer and the purge that frees the old one. Measured
/// (MariaDB 10.11, values of 5,000 and 30,000 bytes, pages of 4 and 16 KiB): a put adds 5,530, 31,138 and 30,541 bytes.
const EXTERN_ROW: f64 = 71.0;
const EXTERN_PAGE: f64 = 99.5;

/// A row whose values of so many bytes, on so many pages of their own, are replaced.
pub(super) fn renew(record: f64, key: f64, changed: u32, pages: usize) -> f64 {
    replace(record, key) + EXTERN_ROW + f64::from(changed) + EXTERN_PAGE * pages as f64
}

/// A row that is marked as deleted, and its purge.
pub(super) const DELETE_MARK: f64 = 25.0 + 20.0;

/// What is counted as eight bytes each is taken for numbers up to five of them.
pub(super) const NUMBERS_MAX: u32 = 40;

fn as_text(changed: u32) -> bool {
    changed > NUMBERS_MAX || !changed.is_multiple_of(8)
}

fn numbers(changed: u32) -> f64 {
    f64::from(changed / 8)
}

/// The log's position, and what of it was written. The log is first on the device.
#[derive(Clone, Debug)]
pub(super) struct Log {
    /// Bytes of all of it, after which it begins anew.
    capacity: u64,
    lsn: f64,
    written: u64,
}

impl Log {
    pub(super) fn new(miniature: Miniature) -> Self {
        Self {
            capacity: miniature.share(CAPACITY).next_multiple_of(1 << 20),
            lsn: 0.0,
            written: 0,
        }
    }

    /// Bytes of all of it.
    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(super) fn add(&mut self, bytes: f64) {
        self.lsn += bytes;
    }

    /// Bytes so far.
    pub(super) fn lsn(&self) -> u64 {
        self.lsn as u64
    }

    /// Makes durable all that was added: from the block that is not full
    /// (`log_write_up_to`).
    pub(super) fn flush(&mut self, ios: &mut Vec<Io>) {
        let mut io = |purpose, request| ios.push(Io { purpose, request });
        let end = self.lsn();
        let mut begin = self.written / BLOCK * BLOCK;
        while begin < end {
            // Around its end it goes on at its beginning.
            let place = begin % (self.capacity - HEADER);
            let length = (end - begin)
                .next_multiple_of(BLOCK)
                .min(self.capacity - HEADER - place);
            io(
                Purpose::LogWrite,
                Request::write(HEADER + place, length as u32),
            );
            begin += length;
        }
        self.written = end;
        io(Purpose::LogSync, Request::FLUSH);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mini-transactions of real logs.
    #[test]
    fn records_take_what_real_ones_do() {
        let near = |bytes: f64, measured: f64| (bytes / measured - 1.0).abs() < 0.05;
        // YCSB: a text of 100 bytes in a row with a key of 23, and its undo record.
        assert!(near(update(100), 123.7));
        assert!(near(
            undo_of_update(23.0, 1.0, 100) - UNDO_APPEND + 3.0,
            147.8
        ));
        // pgbench: a balance; a row of the history.
        assert!(near(update(8), 24.4));
        assert!(near(insert(49.0, 6.0), 53.9));
        // Puts of values with pages of their own: a key of 20, a record of 61 bytes.
        let put = |bytes, pages| {
            let undo = undo_of_update(21.0, 1.0, 20) + UNDO_REUSED;
            undo + renew(61.0, 21.0, bytes, pages)
        };
        assert!(near(put(5_000, 2), 5_530.0));
        assert!(near(put(30_000, 8), 31_138.0));
        assert!(near(put(30_000, 2), 30_541.0));
        // TPC-C: four numbers of the stock.
        assert!(near(update(32), 39.1 + NUMBER));
    }

    #[test]
    fn the_log_is_written_from_its_last_block_on() {
        let mut log = Log::new(Miniature::WHOLE);
        let mut written = |bytes| {
            let mut ios = Vec::new();
            log.add(bytes);
            log.flush(&mut ios);
            let write = ios[0].request;
            assert_eq!(ios[1].request, Request::FLUSH);
            (write.offset, write.length)
        };
        assert_eq!(written(500.0), (HEADER, 512));
        assert_eq!(written(500.0), (HEADER, 1024));
        assert_eq!(written(100.0), (HEADER + 512, 1024));
    }
}

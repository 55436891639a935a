//! What a file's writes overwrote since they were last synced, so that a power
//! cut can lose them.
//!
//! Writes go to the backing file at once. Before each, what it will overwrite
//! is kept here, until a sync makes it durable. At a cut all of it is put back,
//! the last first; what each write wrote is read on the way. Then those writes
//! that survive are done again, in their order, whole or in part.
//!
//! Names, truncation and allocation are journalled by the file systems that
//! databases run on, and durable in the order in which they happen; here they
//! are durable at once. Of a size only the growth by writes can be lost.

use std::{fs::File, io, os::unix::fs::FileExt, sync::Arc};

use rand_pcg::Pcg64Mcg;

use crate::faults::Ratio;
use rand::Rng;

/// The unit in which a disk writes whole or not at all.
const SECTOR: usize = 512;

/// The writes of a file that are not durable.
#[derive(Debug, Default)]
pub(crate) struct UndoLog {
    records: Vec<Record>,
    /// The backing file, of the first write on.
    file: Option<Arc<File>>,
}

#[derive(Debug)]
struct Record {
    /// Sequence number of the write among those of all files.
    number: u64,
    offset: u64,
    length: u64,
    /// What was there; shorter where the file was.
    before: Vec<u8>,
    size_before: u64,
}

impl UndoLog {
    /// Keeps what is about to be overwritten; tells how many bytes that took.
    pub(crate) fn note(
        &mut self,
        number: u64,
        file: &Arc<File>,
        offset: u64,
        length: u64,
    ) -> io::Result<u64> {
        let size_before = file.metadata()?.len();
        let kept = size_before.saturating_sub(offset).min(length);
        let mut before = vec![0; usize::try_from(kept).map_err(|_| io::ErrorKind::InvalidInput)?];
        file.read_exact_at(&mut before, offset)?;
        self.file.get_or_insert_with(|| Arc::clone(file));
        self.records.push(Record {
            number,
            offset,
            length,
            before,
            size_before,
        });
        Ok(kept)
    }

    /// The number of its first write.
    pub(crate) fn first(&self) -> Option<u64> {
        self.records.first().map(|record| record.number)
    }

    /// A number that its next write will not be below.
    pub(crate) fn next(&self) -> u64 {
        self.records.last().map_or(0, |record| record.number + 1)
    }

    /// A number above which half of its writes are.
    pub(crate) fn middle(&self) -> u64 {
        self.records
            .get(self.records.len() / 2)
            .map_or(0, |record| record.number + 1)
    }

    /// The writes below this number are durable; tells how many bytes that
    /// frees.
    pub(crate) fn forget_before(&mut self, number: u64) -> u64 {
        let count = self
            .records
            .partition_point(|record| record.number < number);
        self.records
            .drain(..count)
            .map(|record| record.before.len() as u64)
            .sum()
    }

    /// The file was cut off at, or made longer to, `size`, and that is durable;
    /// tells how many bytes that frees.
    pub(crate) fn resized(&mut self, size: u64) -> u64 {
        let held = |records: &[Record]| -> u64 {
            records
                .iter()
                .map(|record| record.before.len() as u64)
                .sum()
        };
        let before = held(&self.records);
        for record in &mut self.records {
            record.length = record.length.min(size.saturating_sub(record.offset));
            let kept = usize::try_from(record.length).unwrap_or(usize::MAX);
            record.before.truncate(kept);
            record.size_before = size;
        }
        self.records.retain(|record| record.length > 0);
        before - held(&self.records)
    }

    /// Loses, tears or keeps each write.
    pub(crate) fn cut(
        self,
        lose: Ratio,
        tear: Ratio,
        generator: &mut Pcg64Mcg,
    ) -> io::Result<CutWrites> {
        let mut outcome = CutWrites::default();
        let Some(file) = self.file else {
            return Ok(outcome);
        };
        let mut written = Vec::with_capacity(self.records.len());
        for record in self.records.iter().rev() {
            let size = file.metadata()?.len();
            let there = size.saturating_sub(record.offset).min(record.length);
            let mut data = vec![0; there as usize];
            file.read_exact_at(&mut data, record.offset)?;
            written.push(data);
            if record.size_before < size {
                file.set_len(record.size_before)?;
            }
            file.write_all_at(&record.before, record.offset)?;
            // What was a hole, or grown by a truncation, holds zeros.
            let end = (record.offset + record.length).min(record.size_before);
            let zeros = end.saturating_sub(record.offset + record.before.len() as u64);
            if zeros > 0 {
                file.write_all_at(
                    &vec![0; zeros as usize],
                    record.offset + record.before.len() as u64,
                )?;
            }
        }
        for (record, data) in self.records.iter().zip(written.into_iter().rev()) {
            if lose.draw(generator) {
                outcome.lost += 1;
            } else if tear.draw(generator) {
                outcome.torn += 1;
                for (index, sector) in data.chunks(SECTOR).enumerate() {
                    if generator.next_u64() & (1 << 63) != 0 {
                        file.write_all_at(sector, record.offset + (index * SECTOR) as u64)?;
                    }
                }
            } else {
                outcome.kept += 1;
                file.write_all_at(&data, record.offset)?;
            }
        }
        Ok(outcome)
    }
}

/// What became of the writes that were not synced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CutWrites {
    pub(crate) kept: u64,
    pub(crate) lost: u64,
    pub(crate) torn: u64,
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;

    use super::*;

    fn written(log: &mut UndoLog, file: &Arc<File>, offset: u64, data: &[u8]) {
        log.note(log.next(), file, offset, data.len() as u64)
            .unwrap();
        file.write_all_at(data, offset).unwrap();
    }

    fn content(file: &File) -> Vec<u8> {
        let mut content = vec![0; file.metadata().unwrap().len() as usize];
        file.read_exact_at(&mut content, 0).unwrap();
        content
    }

    fn cut(log: UndoLog, lose: &str, tear: &str, seed: u64) -> CutWrites {
        let mut generator = Seed::new(seed).generator();
        log.cut(lose.parse().unwrap(), tear.parse().unwrap(), &mut generator)
            .unwrap()
    }

    #[test]
    fn lost_writes_leave_what_was_synced() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let mut log = UndoLog::default();
        written(&mut log, &file, 0, &[1; 2000]);
        log.forget_before(log.next());
        let synced = content(&file);
        // Overlapping, growing, and behind a gap.
        written(&mut log, &file, 100, &[2; 600]);
        written(&mut log, &file, 500, &[3; 4000]);
        written(&mut log, &file, 9000, &[4; 10]);
        written(&mut log, &file, 0, &[5; 700]);
        assert_eq!(content(&file).len(), 9010);
        let outcome = cut(log, "1/1", "0/1", 1);
        assert_eq!(outcome.lost, 4);
        assert_eq!(content(&file), synced);
    }

    #[test]
    fn kept_writes_are_all_there_and_torn_ones_in_sectors() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let mut log = UndoLog::default();
        written(&mut log, &file, 0, &[2; 600]);
        written(&mut log, &file, 300, &[3; 4000]);
        let all = content(&file);
        assert_eq!(cut(log, "0/1", "0/1", 1).kept, 2);
        assert_eq!(content(&file), all);

        let mut log = UndoLog::default();
        written(&mut log, &file, 0, &[9; 4096]);
        assert_eq!(cut(log, "0/1", "1/1", 1).torn, 1);
        let torn = content(&file);
        let new: Vec<bool> = (0..4096).map(|at| torn[at] == 9).collect();
        let sectors: Vec<bool> = new.chunks(SECTOR).map(|sector| sector[0]).collect();
        assert!(
            sectors.contains(&true) && sectors.contains(&false),
            "{sectors:?}"
        );
        for (at, new) in new.iter().enumerate() {
            assert_eq!(*new, sectors[at / SECTOR]);
            assert!(*new || torn[at] == all[at]);
        }
    }

    #[test]
    fn truncation_is_durable() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let mut log = UndoLog::default();
        written(&mut log, &file, 0, &[1; 3000]);
        log.forget_before(1);
        written(&mut log, &file, 1000, &[2; 4000]);
        file.set_len(2000).unwrap();
        log.resized(2000);
        file.set_len(8000).unwrap();
        log.resized(8000);
        cut(log, "1/1", "0/1", 1);
        let content = content(&file);
        assert_eq!(content.len(), 8000);
        assert!(content[..2000].iter().all(|byte| *byte == 1));
        assert!(content[2000..].iter().all(|byte| *byte == 0));
    }
}

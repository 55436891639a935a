//! libCacheSim's `oracleGeneral`: records of 24 bytes, little-endian, without gaps.
//!
//! | bytes | type | what |
//! |---|---|---|
//! | 0..4 | u32 | time in seconds; not used |
//! | 4..12 | u64 | id of the object |
//! | 12..16 | u32 | its size in bytes |
//! | 16..24 | i64 | place of its next request, -1 or the largest number for none; not used |
//!
//! Source: `oracleGeneralBin.h` of <https://github.com/1a1a11a/libCacheSim> (08cc880).

use std::io::BufRead;

use super::{
    error::TraceFileError,
    input::Input,
    request::{Place, Request},
};
use crate::trace::Access;

const RECORD: usize = 24;

pub(super) fn next<R: BufRead>(input: &mut Input<R>) -> Result<Option<Request>, TraceFileError> {
    let whole = input.position();
    let mut record = [0; RECORD];
    match input.record(&mut record)? {
        0 => Ok(None),
        RECORD => Ok(Some(Request {
            place: Place::Object(u64::from_le_bytes(part(&record, 4))),
            length: u32::from_le_bytes(part(&record, 12)).into(),
            access: Access::Read,
        })),
        found => Err(TraceFileError::Truncated {
            name: input.name().into(),
            record: whole / RECORD as u64 + 1,
            found,
            whole,
        }),
    }
}

/// Whether the whole records among a file's first bytes are in the order of time and name
/// places behind their own as their next requests: other binary files do not.
pub(super) fn fits(beginning: &[u8]) -> bool {
    /// More requests than any file has.
    const PLACES: i64 = 1 << 48;
    let records = beginning.chunks_exact(RECORD);
    let is_behind = |(place, record): (i64, &[u8])| match i64::from_le_bytes(part(record, 16)) {
        -1 | i64::MAX => true,
        next => (place..PLACES).contains(&next),
    };
    let time = |record: &[u8]| u32::from_le_bytes(part(record, 0));
    records.len() > 0 && records.clone().is_sorted_by_key(time) && (0..).zip(records).all(is_behind)
}

/// Some of a record's bytes. The record is long enough.
fn part<const N: usize>(record: &[u8], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&record[at..at + N]);
    part
}

//! MSR Cambridge's block traces: seven columns without a header.
//!
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`: offset and size in bytes,
//! the type is `Read` or `Write`. Source: the README beside them at SNIA's IOTTA repository
//! (<https://iotta.snia.org/traces/block-io/388>); Narayanan, Donnelly and Rowstron, Write
//! Off-Loading, FAST 2008.

use octavo_units::Seed;

use super::{
    error::{Problem, shortened},
    request::{Request, number},
};
use crate::trace::Access;

/// The names of the columns, which some copies have as a first line.
const HEADER: &str = "Timestamp,Hostname,DiskNumber,";

/// The request of a line; none of a header.
pub(super) fn request(line: &str) -> Result<Option<Request>, Problem> {
    if line.starts_with(HEADER) {
        return Ok(None);
    }
    let mut fields = line.split(',');
    let mut next = || fields.next();
    let (Some(_), Some(host), Some(disk), Some(kind), Some(offset), Some(size), Some(_), None) = (
        next(),
        next(),
        next(),
        next(),
        next(),
        next(),
        next(),
        next(),
    ) else {
        return Err(Problem::Fields {
            found: line.split(',').count(),
            format: "msr",
            wanted: "7",
        });
    };
    let disk = number("disk number", disk)?;
    let access = match kind.trim() {
        kind if kind.eq_ignore_ascii_case("read") => Access::Read,
        kind if kind.eq_ignore_ascii_case("write") => Access::Change,
        kind => {
            return Err(Problem::Type {
                found: shortened(kind),
            });
        }
    };
    let (offset, size) = (number("offset", offset)?, number("size", size)?);
    let device = Seed::new(0).derive(host.trim(), disk).get();
    Request::at(device, offset, size, access).map(Some)
}

pub(super) fn fits(line: &str) -> bool {
    request(line).is_ok()
}

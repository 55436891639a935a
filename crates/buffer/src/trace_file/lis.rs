//! The `.lis` files of ARC's authors: four numbers a line.
//!
//! First block, count of blocks, a number to ignore, number of the request; a block has 512
//! bytes, and nothing says whether it is written. Source: the notes beside the traces of
//! Megiddo and Modha (ARC, FAST 2003), as Caffeine's simulator reads them
//! (`ArcTraceReader.java` of <https://github.com/ben-manes/caffeine>).

use super::{
    error::Problem,
    request::{Request, number},
};
use crate::trace::Access;

pub(super) fn request(line: &str) -> Result<Request, Problem> {
    let mut fields = line.split_ascii_whitespace();
    let (Some(first), Some(count), Some(_), Some(_), None) = (
        fields.next(),
        fields.next(),
        fields.next(),
        fields.next(),
        fields.next(),
    ) else {
        return Err(Problem::Fields {
            found: line.split_ascii_whitespace().count(),
            format: "lis",
            wanted: "4",
        });
    };
    let (first, count) = (number("block", first)?, number("count", count)?);
    Request::of_sectors(0, first, count, Access::Read)
}

pub(super) fn fits(line: &str) -> bool {
    let numbers = line.split_ascii_whitespace().all(|field| {
        let mut characters = field.chars();
        characters.all(|c| c.is_ascii_digit())
    });
    numbers && request(line).is_ok()
}

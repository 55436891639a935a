//! Where the bytes of a striped device lie.

/// Stripe units of the device go to its columns in turn: unit *u* lies in
/// column *u mod columns*, in row *u / columns*. A column is a member, or a
/// pair of mirrored ones. (RAID level 0 of Chen et al., "RAID:
/// high-performance, reliable secondary storage", ACM Computing Surveys 26(2),
/// 1994, §3.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    columns: u64,
    unit_bytes: u64,
    rows: u64,
}

/// Bytes of one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) column: usize,
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

impl Layout {
    /// As many whole rows as fit into columns of `column_bytes`; none of the
    /// numbers is 0.
    pub(crate) fn new(columns: u64, unit_bytes: u64, column_bytes: u64) -> Self {
        Self {
            columns,
            unit_bytes,
            rows: column_bytes / unit_bytes,
        }
    }

    pub(crate) fn columns(&self) -> u64 {
        self.columns
    }

    pub(crate) fn unit_bytes(&self) -> u64 {
        self.unit_bytes
    }

    /// Bytes of all columns together.
    pub(crate) fn capacity(&self) -> u64 {
        self.rows
            .saturating_mul(self.columns)
            .saturating_mul(self.unit_bytes)
    }

    /// The extents of the columns that make up an extent of the device, one a
    /// column: the units that a request has in one column lie in successive
    /// rows, which is one extent there.
    pub(crate) fn extents(&self, offset: u64, length: u32) -> impl Iterator<Item = Extent> + use<> {
        let Self {
            columns,
            unit_bytes,
            ..
        } = *self;
        let end = offset + u64::from(length);
        let first_unit = offset / unit_bytes;
        let last_unit = end.saturating_sub(1).max(offset) / unit_bytes;
        let touched = if length == 0 {
            0
        } else {
            columns.min(last_unit - first_unit + 1)
        };
        (first_unit..first_unit + touched).map(move |first| {
            let last = last_unit - (last_unit - first) % columns;
            let begins = first / columns * unit_bytes
                + if first == first_unit {
                    offset % unit_bytes
                } else {
                    0
                };
            let ends = last / columns * unit_bytes
                + if last == last_unit {
                    (end - 1) % unit_bytes + 1
                } else {
                    unit_bytes
                };
            Extent {
                column: (first % columns) as usize,
                offset: begins,
                // At most the request's length, which is 32 bits.
                length: (ends - begins) as u32,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;
    use rand::Rng;

    use super::*;

    impl Layout {
        /// The definition, byte by byte.
        fn locate(&self, byte: u64) -> (usize, u64) {
            let unit = byte / self.unit_bytes;
            (
                (unit % self.columns) as usize,
                unit / self.columns * self.unit_bytes + byte % self.unit_bytes,
            )
        }

        /// Back from a byte of a column.
        fn address(&self, column: usize, byte: u64) -> u64 {
            (byte / self.unit_bytes * self.columns + column as u64) * self.unit_bytes
                + byte % self.unit_bytes
        }
    }

    #[test]
    fn every_byte_of_a_request_lies_in_exactly_one_extent() {
        let seed = Seed::new(0x51);
        let mut random = seed.generator();
        let mut below = |bound: u64| random.next_u64() % bound;
        for case in 0..2_000 {
            let unit_bytes = 1 << below(6);
            let layout = Layout::new(1 + below(9), unit_bytes, 64 * unit_bytes + below(50));
            let offset = below(layout.capacity());
            let length = 1 + below(layout.capacity() - offset);
            let extents: Vec<Extent> = layout.extents(offset, length as u32).collect();
            let mut bytes: Vec<(usize, u64)> = extents
                .iter()
                .flat_map(|extent| {
                    (extent.offset..extent.offset + u64::from(extent.length))
                        .map(|byte| (extent.column, byte))
                })
                .collect();
            let mut expected: Vec<(usize, u64)> = (offset..offset + length)
                .map(|byte| layout.locate(byte))
                .collect();
            bytes.sort_unstable();
            expected.sort_unstable();
            assert_eq!(bytes, expected, "case {case} of seed {seed}: {layout:?}");
            // One extent a column, and the way back.
            let mut columns: Vec<usize> = extents.iter().map(|extent| extent.column).collect();
            columns.sort_unstable();
            columns.dedup();
            assert_eq!(columns.len(), extents.len());
            for byte in offset..offset + length {
                let (column, position) = layout.locate(byte);
                assert_eq!(layout.address(column, position), byte);
                assert!(position < layout.rows * unit_bytes);
            }
        }
    }

    #[test]
    fn requests_across_units_are_split_as_by_hand() {
        let layout = Layout::new(3, 16, 160);
        assert_eq!(layout.capacity(), 480);
        let extent = |column, offset, length| Extent {
            column,
            offset,
            length,
        };
        let split = |offset, length| layout.extents(offset, length).collect::<Vec<_>>();
        assert_eq!(split(0, 16), [extent(0, 0, 16)]);
        assert_eq!(split(20, 4), [extent(1, 4, 4)]);
        assert_eq!(split(40, 16), [extent(2, 8, 8), extent(0, 16, 8)]);
        // Units 0 to 4: columns 0 and 1 have two rows each.
        assert_eq!(
            split(8, 64),
            [extent(0, 8, 24), extent(1, 0, 24), extent(2, 0, 16)]
        );
        assert_eq!(split(8, 0), []);
    }
}

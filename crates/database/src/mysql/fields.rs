//! Reading the fields of a packet, without trusting it.

use super::failure::Failure;

/// The rest of a packet's bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'p>(pub(crate) &'p [u8]);

impl<'p> Fields<'p> {
    /// The next `count` bytes.
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'p [u8], Failure> {
        let (bytes, rest) = self
            .0
            .split_at_checked(count)
            .ok_or(Failure::Malformed("a packet ends within a field"))?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Failure> {
        let bytes = self.bytes(N)?;
        bytes
            .try_into()
            .map_err(|_| Failure::Malformed("a field has another length"))
    }

    /// The next byte.
    pub(crate) fn u8(&mut self) -> Result<u8, Failure> {
        self.array().map(|[byte]| byte)
    }

    /// A number of two bytes.
    pub(crate) fn u16(&mut self) -> Result<u16, Failure> {
        self.array().map(u16::from_le_bytes)
    }

    /// A number of four bytes.
    pub(crate) fn u32(&mut self) -> Result<u32, Failure> {
        self.array().map(u32::from_le_bytes)
    }

    /// A number that says itself how long it is
    /// (<https://mariadb.com/kb/en/protocol-data-types/#length-encoded-integers>).
    pub(crate) fn length(&mut self) -> Result<u64, Failure> {
        Ok(match self.u8()? {
            small @ 0..=0xfa => u64::from(small),
            0xfc => u64::from(self.u16()?),
            0xfd => {
                let [a, b, c] = self.array()?;
                u64::from(u32::from_le_bytes([a, b, c, 0]))
            }
            0xfe => u64::from_le_bytes(self.array()?),
            0xfb | 0xff => return Err(Failure::Malformed("a length that is none")),
        })
    }

    /// Bytes after their length.
    pub(crate) fn text(&mut self) -> Result<&'p [u8], Failure> {
        let length = self.length()?;
        let length = usize::try_from(length)
            .map_err(|_| Failure::Malformed("a text longer than the memory"))?;
        self.bytes(length)
    }

    /// Bytes up to a zero, which is skipped; all that is left without one.
    pub(crate) fn until_zero(&mut self) -> &'p [u8] {
        match self.0.iter().position(|&byte| byte == 0) {
            Some(end) => {
                let (text, rest) = self.0.split_at(end);
                self.0 = &rest[1..];
                text
            }
            None => std::mem::take(&mut self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_four_forms() {
        for (bytes, wanted) in [
            (&[0xfa][..], 0xfa),
            (&[0xfc, 1, 2], 0x0201),
            (&[0xfd, 1, 2, 3], 0x03_0201),
            (&[0xfe, 1, 0, 0, 0, 0, 0, 0, 0x80], 0x8000_0000_0000_0001),
        ] {
            let mut fields = Fields(bytes);
            assert_eq!(fields.length().unwrap(), wanted);
            assert!(fields.0.is_empty());
            Fields(&bytes[..bytes.len() - 1]).length().unwrap_err();
        }
        Fields(&[0xff]).length().unwrap_err();
        Fields(&[0xfb]).length().unwrap_err();
    }

    #[test]
    fn a_text_longer_than_its_packet_is_refused() {
        assert_eq!(Fields(b"\x03abc").text().unwrap(), b"abc");
        Fields(b"\x04abc").text().unwrap_err();
        Fields(&[0xfe, 255, 255, 255, 255, 255, 255, 255, 255])
            .text()
            .unwrap_err();
        let mut fields = Fields(b"ab\0c");
        assert_eq!(fields.until_zero(), b"ab");
        assert_eq!(fields.until_zero(), b"c");
        assert_eq!(fields.until_zero(), b"");
    }
}

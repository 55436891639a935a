//! The hash that YCSB scatters key numbers with.

/// FNV-1a over the eight bytes of `number`, the lowest first, then the
/// absolute value as a signed number: YCSB's `Utils.fnvhash64`
/// (<https://github.com/brianfrankcooper/YCSB/blob/master/core/src/main/java/site/ycsb/Utils.java>).
///
/// At most 2^63; that one value Java would leave negative. Two numbers may
/// have one hash: among n there is such a pair with a chance of about
/// n² / 2^64.
#[inline]
pub(crate) fn fnv_hash(number: u64) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in number.to_le_bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211);
    }
    hash.cast_signed().unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first keys that YCSB loads, as its basic binding prints them:
    /// `INSERT usertable user6284781860667377211 ...`.
    #[test]
    fn hashes_are_those_of_ycsb() {
        assert_eq!(fnv_hash(0), 6_284_781_860_667_377_211);
        assert_eq!(fnv_hash(1), 8_517_097_267_634_966_620);
        assert_eq!(fnv_hash(2), 1_820_151_046_732_198_393);
    }
}

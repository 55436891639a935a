//! pgbench's two hashes of a whole number.

/// FNV-1a over the eight bytes, the lowest first (<http://www.isthe.com/chongo/tech/comp/fnv/>).
pub(crate) fn fnv_1a(value: i64, seed: i64) -> i64 {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x100_0000_01b3;
    let hash = value
        .to_le_bytes()
        .into_iter()
        .fold(OFFSET_BASIS ^ seed.cast_unsigned(), |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(PRIME)
        });
    hash.cast_signed()
}

/// MurmurHash2 of one block of 64 bits (`MurmurHash64A`, <https://github.com/aappleby/smhasher>).
pub(crate) fn murmur_2(value: i64, seed: i64) -> i64 {
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    const SHIFT: u32 = 47;
    let mut block = value.cast_unsigned().wrapping_mul(MULTIPLIER);
    block = (block ^ block >> SHIFT).wrapping_mul(MULTIPLIER);
    // The block has eight bytes.
    let mut hash = seed.cast_unsigned() ^ 8u64.wrapping_mul(MULTIPLIER);
    hash = (hash ^ block).wrapping_mul(MULTIPLIER);
    hash = (hash ^ hash >> SHIFT).wrapping_mul(MULTIPLIER);
    (hash ^ hash >> SHIFT).cast_signed()
}

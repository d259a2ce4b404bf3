//! The size classes of the allocator: powers of two, each cut into sixteen equal ranges.

/// Second-level classes per power of two.
pub(super) const SECOND: u64 = 16;
const SECOND_BITS: u32 = SECOND.trailing_zeros();
/// First-level classes: up to 2⁴⁰ granules.
pub(super) const FIRST: usize = 37;

/// The class of a free block of `size` granules.
pub(super) fn class(size: u64) -> (usize, usize) {
    if size < SECOND {
        return (0, size as usize);
    }
    let log = size.ilog2();
    let first = (log - SECOND_BITS + 1) as usize;
    (first, (size >> (log - SECOND_BITS)) as usize - SECOND as usize)
}

/// `size` rounded up so that every block of its class is large enough.
pub(super) fn round_to_class(size: u64) -> u64 {
    if size < SECOND { size } else { size + (1 << (size.ilog2() - SECOND_BITS)) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_cover_every_size_in_order() {
        let mut last = (0, 0);
        for size in 1..100_000 {
            let now = class(size);
            assert!(now >= last && now.1 < SECOND as usize);
            assert!(class(round_to_class(size)) >= now);
            last = now;
        }
    }
}

//! A rank is no number, so it cannot change places with a displacement.
use onesided::{Access, LockAllEpoch, Op, Rank, Result, Window};

fn put(epoch: &LockAllEpoch<'_, '_, u64>) -> Result<()> {
    epoch.put(&[1], 0, Rank(0)) //~ E0308 Rank
}

fn fetch(epoch: &LockAllEpoch<'_, '_, u64>) -> Result<u64> {
    epoch.fetch_and_op_flush(1, Op::Sum, 0, 1) //~ E0308 Rank
}

fn size(window: &Window<u64>) -> Result<u64> {
    window.size(0) //~ E0308 Rank
}

fn main() {}

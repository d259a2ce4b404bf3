//! Origin, result and window have one element type.
use onesided::{Access, LockAllEpoch, Op, Rank, Result};

fn fetch(epoch: &LockAllEpoch<'_, '_, u64>) -> Result<u64> {
    epoch.fetch_and_op_flush(1.0, Op::Sum, Rank(0), 0) //~ E0308
}

fn result(epoch: &LockAllEpoch<'_, '_, u64>) -> Result<()> {
    let mut result = 0u32;
    epoch.fetch_and_op(&1, &mut result, Op::Sum, Rank(0), 0) //~ E0308
}

fn put(epoch: &LockAllEpoch<'_, '_, u64>) -> Result<()> {
    epoch.put(&[1i32], Rank(0), 0) //~ E0308
}

fn main() {}

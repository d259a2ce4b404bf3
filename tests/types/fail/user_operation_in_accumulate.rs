//! A user-defined function reduces in collectives only, never in an accumulate.
use onesided::{Access, LockAllEpoch, Rank, Result, UserOp};

fn accumulate(epoch: &LockAllEpoch<'_, '_, u64>) -> Result<()> {
    let op = UserOp::new(|a: u64, b: u64| a + b);
    epoch.accumulate(&[1], op, Rank(0), 0) //~ E0308 UserOp Op
}

fn main() {}

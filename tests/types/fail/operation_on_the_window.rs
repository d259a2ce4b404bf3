//! An operation needs an epoch: a window has none of its own.
use onesided::{Access, Op, Rank, Result, Window};

fn put(window: &mut Window<u64>) -> Result<()> {
    window.put(&[1], Rank(0), 0) //~ E0599 Window
}

fn accumulate(window: &mut Window<u64>) -> Result<()> {
    window.accumulate(&[1], Op::Sum, Rank(0), 0) //~ E0599 Window
}

fn flush(window: &mut Window<u64>) -> Result<()> {
    window.flush(Rank(0)) //~ E0599 Window
}

fn main() {}

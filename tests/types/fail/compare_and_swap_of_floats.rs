//! compare_and_swap is for integers (MPI-4.1 12.3.4): a float has several equal bit patterns.
use onesided::{Access, Complex, LockAllEpoch, LockEpoch, Rank, Result};

fn flushing(epoch: &LockAllEpoch<'_, '_, f64>) -> Result<f64> {
    epoch.compare_and_swap_flush(1.0, 0.0, Rank(0), 0) //~ E0277 Integer compare to_bits
}

fn plain(epoch: &LockAllEpoch<'_, '_, f32>) -> Result<()> {
    epoch.compare_and_swap(&1.0, &0.0, &mut 0.0, Rank(0), 0) //~ E0277 Integer
}

fn locked(epoch: &LockEpoch<'_, '_, Complex<f64>>, zero: Complex<f64>) -> Result<()> {
    epoch.compare_and_swap(&zero, &zero, &mut zero.clone(), Rank(0), 0) //~ E0277 Integer Complex
}

fn main() {}

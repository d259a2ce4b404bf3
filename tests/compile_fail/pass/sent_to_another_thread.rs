//! The twin: values, ranks, options and errors may go where they like; no handle may.
use onesided::engine::Win;
use onesided::{AccessEpoch, AccessSide, Batch, Comm, ExposureEpoch, ExposureSide, FenceEpoch};
use onesided::{Datatype, Error, FenceAssert, Op, Rank, WindowOptions};
use onesided::{Group, LocalEpoch, LockAllEpoch, LockBatch, LockEpoch, Universe, Window};

fn sent<T: Send + Sync + 'static>() {}

/// `stays` is ambiguous, and does not compile, for a type that is `Send` or `Sync`.
trait Stays<Reason> {
    fn stays() {}
}
struct Sent;
struct Shared;
impl<T: ?Sized> Stays<()> for T {}
impl<T: ?Sized + Send> Stays<Sent> for T {}
impl<T: ?Sized + Sync> Stays<Shared> for T {}

fn main() {
    sent::<Error>();
    sent::<WindowOptions>();
    sent::<Rank>();
    sent::<FenceAssert>();
    sent::<(Op, Datatype)>();

    <Universe as Stays<_>>::stays();
    <Comm as Stays<_>>::stays();
    <Group as Stays<_>>::stays();
    <Win as Stays<_>>::stays();
    <Window<u64> as Stays<_>>::stays();
    <AccessSide<'static, u64> as Stays<_>>::stays();
    <ExposureSide<'static, u64> as Stays<_>>::stays();
    <FenceEpoch<'static, 'static, u64> as Stays<_>>::stays();
    <AccessEpoch<'static, 'static, u64> as Stays<_>>::stays();
    <ExposureEpoch<'static, u64> as Stays<_>>::stays();
    <LockEpoch<'static, 'static, u64> as Stays<_>>::stays();
    <LockAllEpoch<'static, 'static, u64> as Stays<_>>::stays();
    <LocalEpoch<'static, u64> as Stays<_>>::stays();
    <Batch<'static, 'static, u64> as Stays<_>>::stays();
    <LockBatch<'static, 'static, u64> as Stays<_>>::stays();
}

//! The operations of an access epoch, and the request-based ones of a passive target epoch.

use super::Window;
use crate::call::Call;
use crate::datatype::{Element, Integer, Shape, Shaped, ShapedMut};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::group::Rank;
use crate::op::Op;
use crate::ops::Request;
use bytemuck::Pod;

/// Operations on the targets of an access epoch, implemented by its guard.
///
/// Origin buffers are borrowed for `'b`, until the epoch ends: an operation is complete only then
/// (MPI-4.1 §12.3). To use a result earlier, take the forms with `_flush` of
/// [`LockAllEpoch`](crate::LockAllEpoch), or a [batch](crate::LockAllEpoch::batch). Every method is
/// local; [`Rank::NULL`] as target makes it do nothing.
///
/// ```no_run
/// # use onesided::{Access, LockAssert, Op, Rank, Window};
/// # fn draw(window: &mut Window<u64>) -> onesided::Result<()> {
/// let values = [1, 2, 3];
/// let mut before = [0];
/// let epoch = window.lock_all()?;
/// epoch.put(&values, Rank(1), 4)?; // elements 4, 5 and 6 of rank 1
/// epoch.get_accumulate(&values[..1], &mut before, Op::Max, Rank(2), 0)?;
/// epoch.unlock_all()?;
/// println!("{before:?}"); // readable once the epoch has ended
/// # Ok(())
/// # }
/// ```
pub trait Access<'b, T: Pod>: sealed::Lends<'b, T> {
    /// `MPI_Put` (MPI-2.2 §11.3.1): copies `origin` to `target`, from displacement `disp` on.
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Conflict`] if
    /// `origin` overlaps them, [`Error::Epoch`] if the epoch does not reach `target`.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    /// # let mut window = Window::<u32>::allocate(world, 4)?;
    /// let numbers = [5, 7];
    /// let epoch = window.fence()?;
    /// epoch.put(&numbers, other, 2)?; // to elements 2 and 3
    /// epoch.close()?;
    /// assert_eq!([window.load_one(2)?, window.load_one(3)?], [5, 7]);
    /// # window.free()
    /// # });
    /// ```
    #[doc(alias = "MPI_Put")]
    #[inline(always)]
    #[track_caller]
    fn put(&self, origin: &'b [T], target: Rank, disp: usize) -> Result<()> {
        self.reach(Call::Put, target)?.win.put(origin, target, disp as u64)
    }

    /// `MPI_Get` (MPI-2.2 §11.3.2): copies from `target`, from displacement `disp` on, to
    /// `origin`.
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Conflict`] if
    /// `origin` overlaps them, [`Error::Epoch`] if the epoch does not reach `target`.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    /// # let mut window = Window::<u32>::allocate(world, 4)?;
    /// window.store(0, &[5, 7, me.0, 9])?;
    /// let mut numbers = [0; 3];
    /// let epoch = window.fence()?;
    /// epoch.get(&mut numbers, other, 1)?; // elements 1 to 3
    /// epoch.close()?;
    /// assert_eq!(numbers, [7, other.0, 9]);
    /// # window.free()
    /// # });
    /// ```
    #[doc(alias = "MPI_Get")]
    #[inline(always)]
    #[track_caller]
    fn get(&self, origin: &'b mut [T], target: Rank, disp: usize) -> Result<()> {
        self.reach(Call::Get, target)?.win.get_later(self.buffers(), origin, target, disp as u64)
    }

    /// `MPI_Accumulate` (MPI-2.2 §11.3.4): combines `origin` into `target`, element by element,
    /// each atomically.
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Conflict`] if
    /// `origin` overlaps them, [`Error::Epoch`] if the epoch does not reach `target`;
    /// [`Error::Operation`] if `op` is not defined for `T`.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    /// # let mut window = Window::<u32>::allocate(world, 4)?;
    /// let numbers = [1, 10];
    /// let epoch = window.fence()?;
    /// epoch.accumulate(&numbers, Op::Sum, Rank(0), 0)?;
    /// epoch.close()?;
    /// if me == 0 {
    ///     assert_eq!([window.load_one(0)?, window.load_one(1)?], [2, 20]);
    /// }
    /// # window.free()
    /// # });
    /// ```
    #[doc(alias = "MPI_Accumulate")]
    #[inline(always)]
    #[track_caller]
    fn accumulate(&self, origin: &'b [T], op: Op, target: Rank, disp: usize) -> Result<()>
    where
        T: Element,
    {
        self.reach(Call::Accumulate, target)?.win.accumulate(origin, op, target, disp as u64)
    }

    /// `MPI_Get_accumulate` (MPI-4.1 §12.3.4): as [`Access::accumulate`], and `result` receives
    /// the values before. With [`Op::NoOp`] `origin` is not read and may be empty.
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Conflict`] if
    /// `origin` overlaps them, [`Error::Epoch`] if the epoch does not reach `target`;
    /// [`Error::Operation`] if `op` is not defined for `T`; [`Error::Count`] if the lengths differ.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    /// # let mut window = Window::<u32>::allocate(world, 4)?;
    /// let (add, mut before) = ([1, 1], [0; 2]);
    /// let epoch = window.lock(LockType::Shared, Rank(0))?;
    /// epoch.get_accumulate(&add, &mut before, Op::Sum, Rank(0), 0)?;
    /// epoch.unlock()?;
    /// // One rank was the first.
    /// assert_eq!(world.allreduce(&before, Op::Sum)?, [1, 1]);
    /// # window.free()
    /// # });
    /// ```
    #[doc(alias = "MPI_Get_accumulate")]
    #[inline]
    #[track_caller]
    fn get_accumulate(
        &self,
        origin: &'b [T],
        result: &'b mut [T],
        op: Op,
        target: Rank,
        disp: usize,
    ) -> Result<()>
    where
        T: Element,
    {
        let window = self.reach(Call::GetAccumulate, target)?;
        let buffers = (origin, result);
        window.win.get_accumulate_later(self.buffers(), buffers, op, target, disp as u64)
    }

    /// `MPI_Fetch_and_op` (MPI-4.1 §12.3.4): one element of [`Access::get_accumulate`]. The result is there when the epoch
    /// ends; [`LockAllEpoch::fetch_and_op_flush`](super::LockAllEpoch::fetch_and_op_flush) and
    /// [`LockEpoch::fetch_and_op_flush`](super::LockEpoch::fetch_and_op_flush) return it.
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Conflict`] if
    /// `origin` overlaps them, [`Error::Epoch`] if the epoch does not reach `target`;
    /// [`Error::Operation`] if `op` is not defined for `T`.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    /// # let mut window = Window::<u32>::allocate(world, 4)?;
    /// let (one, mut ticket) = (1, 0);
    /// let epoch = window.lock(LockType::Shared, Rank(0))?;
    /// epoch.fetch_and_op(&one, &mut ticket, Op::Sum, Rank(0), 0)?;
    /// epoch.unlock()?;
    /// assert!(ticket < 2);
    /// # window.free()
    /// # });
    /// ```
    #[doc(alias = "MPI_Fetch_and_op")]
    #[inline(always)]
    #[track_caller]
    fn fetch_and_op(
        &self,
        origin: &'b T,
        result: &'b mut T,
        op: Op,
        target: Rank,
        disp: usize,
    ) -> Result<()>
    where
        T: Element,
    {
        let window = self.reach(Call::FetchAndOp, target)?;
        let buffers = (origin, result);
        window.win.fetch_and_op_later(self.buffers(), buffers, op, target, disp as u64)
    }

    /// `MPI_Compare_and_swap` (MPI-4.1 §12.3.4): replaces the element by `new` if it equals
    /// `compare`; `result` receives what it was when the epoch ends. As with [`Access::fetch_and_op`], the guards of
    /// locks have a form that returns it.
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Conflict`] if
    /// `origin` overlaps them, [`Error::Epoch`] if the epoch does not reach `target`.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    /// # let mut window = Window::<u32>::allocate(world, 4)?;
    /// let (free, mine, mut before) = (0, me.0 + 1, 0);
    /// let epoch = window.lock(LockType::Shared, Rank(0))?;
    /// epoch.compare_and_swap(&mine, &free, &mut before, Rank(0), 0)?;
    /// epoch.unlock()?;
    /// let has_it = before == free; // true on one rank
    /// assert_eq!(world.allreduce(&[u32::from(has_it)], Op::Sum)?, [1]);
    /// # window.free()
    /// # });
    /// ```
    #[doc(alias = "MPI_Compare_and_swap")]
    #[inline(always)]
    #[track_caller]
    fn compare_and_swap(
        &self,
        new: &'b T,
        compare: &'b T,
        result: &'b mut T,
        target: Rank,
        disp: usize,
    ) -> Result<()>
    where
        T: Integer,
    {
        let window = self.reach(Call::CompareAndSwap, target)?;
        window.win.compare_and_swap(new, compare, result, target, disp as u64)
    }

    /// [`Access::put`] that increments counter number `counter` of the target when it is complete
    /// there, without a flush. See [`Win::put_notify`](crate::engine::Win::put_notify).
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Conflict`] if
    /// `origin` overlaps them, [`Error::Epoch`] if the epoch does not reach `target`; [`Error::Argument`]
    /// if the target has no such counter.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    /// # let mut window = WindowOptions::new().notifications(2).allocate::<u32>(world, 4)?;
    /// let numbers = [5, 7];
    /// let epoch = window.lock_all()?;
    /// epoch.put_notify(&numbers, other, 0, 1)?; // by counter 1
    /// epoch.window().wait_notify(1, 1)?;
    /// assert_eq!(epoch.window().load_one(1)?, 7);
    /// epoch.unlock_all()?;
    /// # window.free()
    /// # });
    /// ```
    #[inline]
    #[track_caller]
    fn put_notify(&self, origin: &'b [T], target: Rank, disp: usize, counter: u32) -> Result<()> {
        self.reach(Call::PutNotify, target)?.win.put_notify(origin, target, disp as u64, counter)
    }

    /// [`Access::get`] that increments a counter of the target when it has read.
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Conflict`] if
    /// `origin` overlaps them, [`Error::Epoch`] if the epoch does not reach `target`; [`Error::Argument`]
    /// if the target has no such counter.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    /// # let mut window = WindowOptions::new().notifications(2).allocate::<u32>(world, 4)?;
    /// window.store(0, &[me.0])?;
    /// world.barrier()?;
    /// let mut found = [9];
    /// let epoch = window.lock_all()?;
    /// epoch.get_notify(&mut found, other, 0, 0)?;
    /// epoch.window().wait_notify(0, 1)?; // the other rank has read
    /// epoch.window().store(0, &[8])?;
    /// epoch.unlock_all()?;
    /// assert_eq!(found, [other.0]);
    /// # window.free()
    /// # });
    /// ```
    #[inline]
    #[track_caller]
    fn get_notify(
        &self,
        origin: &'b mut [T],
        target: Rank,
        disp: usize,
        counter: u32,
    ) -> Result<()> {
        self.reach(Call::GetNotify, target)?.win.get_notify(origin, target, disp as u64, counter)
    }

    /// [`Access::accumulate`] that increments a counter of the target when it is complete there.
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Conflict`] if
    /// `origin` overlaps them, [`Error::Epoch`] if the epoch does not reach `target`;
    /// [`Error::Operation`] if `op` is not defined for `T`; [`Error::Argument`] if the target has no such
    /// counter.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    /// # let mut window = WindowOptions::new().notifications(2).allocate::<u32>(world, 4)?;
    /// let one = [1];
    /// let epoch = window.lock_all()?;
    /// epoch.accumulate_notify(&one, Op::Sum, Rank(0), 0, 0)?;
    /// if me == 0 {
    ///     epoch.window().wait_notify(0, 2)?; // of both ranks
    ///     assert_eq!(epoch.window().load_one(0)?, 2);
    /// }
    /// epoch.unlock_all()?;
    /// # window.free()
    /// # });
    /// ```
    #[inline]
    #[track_caller]
    fn accumulate_notify(
        &self,
        origin: &'b [T],
        op: Op,
        target: Rank,
        disp: usize,
        counter: u32,
    ) -> Result<()>
    where
        T: Element,
    {
        let window = self.reach(Call::AccumulateNotify, target)?;
        window.win.accumulate_notify(origin, op, target, disp as u64, counter)
    }

    /// Increments a counter of the target when all earlier operations on it are complete there.
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Epoch`] if the epoch does not reach `target`; [`Error::Argument`]
    /// if the target has no such counter.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    /// # let mut window = WindowOptions::new().notifications(2).allocate::<u32>(world, 4)?;
    /// let epoch = window.lock_all()?;
    /// if me == 0 {
    ///     epoch.put_flush(&[7], other, 0)?;
    ///     epoch.notify(other, 0)?;
    /// } else {
    ///     epoch.window().wait_notify(0, 1)?;
    ///     assert_eq!(epoch.window().load_one(0)?, 7);
    /// }
    /// epoch.unlock_all()?;
    /// # window.free()
    /// # });
    /// ```
    #[inline]
    fn notify(&self, target: Rank, counter: u32) -> Result<()> {
        self.reach(Call::Notify, target)?.win.notify(target, counter)
    }

    /// [`Access::put`] to the elements of a shape, counted from `disp` on (`MPI_Put`, MPI-2.2
    /// §11.3.1, with derived datatypes). `origin` is a slice, or a
    /// selection by [`Shape::over`], with as many elements as `shape`.
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Conflict`] if
    /// `origin` overlaps them, [`Error::Epoch`] if the epoch does not reach `target`; [`Error::Count`] if
    /// the lengths differ; [`Error::Datatype`] if `shape` selects an element twice.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # use onesided::Shape;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    /// # let mut window = Window::<u32>::allocate(world, 4)?;
    /// let (numbers, even) = ([5, 7], Shape::strided(2, 1, 2)?);
    /// let epoch = window.fence()?;
    /// epoch.put_shaped(&numbers, other, 0, &even)?; // to elements 0 and 2
    /// epoch.close()?;
    /// assert_eq!([window.load_one(0)?, window.load_one(2)?], [5, 7]);
    /// # window.free()
    /// # });
    /// ```
    #[inline]
    #[track_caller]
    fn put_shaped<'s>(
        &self,
        origin: impl Into<Shaped<'b, 's, T>>,
        target: Rank,
        disp: usize,
        shape: &Shape<T>,
    ) -> Result<()>
    where
        T: Element,
    {
        self.reach(Call::Put, target)?.win.put_shaped(origin.into(), target, disp as u64, shape)
    }

    /// [`Access::get`] of the elements of a shape, counted from `disp` on. `origin` is a slice,
    /// or a selection by [`Shape::over_mut`].
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Conflict`] if
    /// `origin` overlaps them, [`Error::Epoch`] if the epoch does not reach `target`; [`Error::Count`] if
    /// the lengths differ; [`Error::Datatype`] if `origin` selects an element twice.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # use onesided::Shape;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    /// # let mut window = Window::<u32>::allocate(world, 4)?;
    /// window.store(0, &[1, 2, 3, 4])?;
    /// let (mut numbers, even) = ([0; 2], Shape::strided(2, 1, 2)?);
    /// let epoch = window.fence()?;
    /// epoch.get_shaped(&mut numbers, other, 0, &even)?; // elements 0 and 2
    /// epoch.close()?;
    /// assert_eq!(numbers, [1, 3]);
    /// # window.free()
    /// # });
    /// ```
    #[inline]
    #[track_caller]
    fn get_shaped<'s>(
        &self,
        origin: impl Into<ShapedMut<'b, 's, T>>,
        target: Rank,
        disp: usize,
        shape: &Shape<T>,
    ) -> Result<()>
    where
        T: Element,
    {
        let window = self.reach(Call::Get, target)?;
        window.win.get_shaped(self.buffers(), origin.into(), target, disp as u64, shape)
    }

    /// [`Access::accumulate`] into the elements of a shape, counted from `disp` on.
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Conflict`] if
    /// `origin` overlaps them, [`Error::Epoch`] if the epoch does not reach `target`;
    /// [`Error::Operation`] if `op` is not defined for `T`; [`Error::Count`] if the lengths differ;
    /// [`Error::Datatype`] if `shape` selects an element twice.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # use onesided::Shape;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    /// # let mut window = Window::<u32>::allocate(world, 4)?;
    /// let (numbers, even) = ([1, 10], Shape::strided(2, 1, 2)?);
    /// let epoch = window.fence()?;
    /// epoch.accumulate_shaped(&numbers, Op::Sum, Rank(0), 0, &even)?;
    /// epoch.close()?;
    /// if me == 0 {
    ///     assert_eq!([window.load_one(0)?, window.load_one(2)?], [2, 20]);
    /// }
    /// # window.free()
    /// # });
    /// ```
    #[inline]
    #[track_caller]
    fn accumulate_shaped<'s>(
        &self,
        origin: impl Into<Shaped<'b, 's, T>>,
        op: Op,
        target: Rank,
        disp: usize,
        shape: &Shape<T>,
    ) -> Result<()>
    where
        T: Element,
    {
        let window = self.reach(Call::Accumulate, target)?;
        window.win.accumulate_shaped(origin.into(), op, target, disp as u64, shape)
    }

    /// [`Access::get_accumulate`] with the elements of a shape, counted from `disp` on.
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Conflict`] if
    /// `origin` overlaps them, [`Error::Epoch`] if the epoch does not reach `target`;
    /// [`Error::Operation`] if `op` is not defined for `T`; [`Error::Count`] if the lengths differ;
    /// [`Error::Datatype`] if `shape` or `result` selects an element twice.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # use onesided::Shape;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    /// # let mut window = Window::<u32>::allocate(world, 4)?;
    /// let (add, mut before, even) = ([1, 1], [0; 2], Shape::strided(2, 1, 2)?);
    /// let epoch = window.lock(LockType::Shared, Rank(0))?;
    /// epoch.get_accumulate_shaped(&add, &mut before, Op::Sum, Rank(0), 0, &even)?;
    /// epoch.unlock()?;
    /// assert_eq!(world.allreduce(&before, Op::Sum)?, [1, 1]);
    /// # window.free()
    /// # });
    /// ```
    #[inline]
    #[track_caller]
    fn get_accumulate_shaped<'s>(
        &self,
        origin: impl Into<Shaped<'b, 's, T>>,
        result: impl Into<ShapedMut<'b, 's, T>>,
        op: Op,
        target: Rank,
        disp: usize,
        shape: &Shape<T>,
    ) -> Result<()>
    where
        T: Element,
    {
        let buffers = (origin.into(), result.into());
        let window = self.reach(Call::GetAccumulate, target)?;
        window.win.get_accumulate_shaped(self.buffers(), buffers, op, target, disp as u64, shape)
    }
}

/// Request-based operations of a passive target epoch (MPI-4.1 §12.3.5), implemented by
/// [`LockEpoch`](crate::LockEpoch) and [`LockAllEpoch`](crate::LockAllEpoch).
///
/// A buffer stays borrowed as long as the request exists, instead of until the epoch ends. Every
/// method is local.
///
/// ```
/// use onesided::prelude::*;
///
/// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
/// let world = universe.world();
/// let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
/// let mut window = Window::<u32>::allocate(world, 1)?;
/// let mut values = [me];
/// let epoch = window.lock_all()?;
/// epoch.rput(&values, other, 0)?.wait();
/// values[0] += 1; // free again, although the epoch goes on
/// epoch.unlock_all()?;
/// window.free()?;
/// # Ok(())
/// # });
/// ```
pub trait PassiveAccess<T: Pod>: sealed::Guard<T> {
    /// `MPI_Rput` (MPI-4.1 §12.3.5): [`Access::put`] whose buffer can be reused after the wait
    /// for the request.
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Conflict`] if
    /// `origin` overlaps them, [`Error::Epoch`] if the epoch does not reach `target`.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    /// # let mut window = Window::<u32>::allocate(world, 4)?;
    /// let mut numbers = [5, 7];
    /// let epoch = window.lock(LockType::Shared, other)?;
    /// epoch.rput(&numbers, other, 0)?.wait();
    /// numbers = [0, 0]; // the epoch does not borrow them
    /// epoch.unlock()?;
    /// # world.barrier()?;
    /// # assert_eq!((numbers, window.load_one(1)?), ([0, 0], 7));
    /// # window.free()
    /// # });
    /// ```
    #[doc(alias = "MPI_Rput")]
    #[track_caller]
    fn rput<'r>(&self, origin: &'r [T], target: Rank, disp: usize) -> Result<Request<'r>> {
        self.reach(Call::Rput, target)?.win.rput(origin, target, disp as u64)
    }

    /// `MPI_Rget` (MPI-4.1 §12.3.5): [`Access::get`] whose elements can be read after the wait
    /// for the request.
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Conflict`] if
    /// `origin` overlaps them, [`Error::Epoch`] if the epoch does not reach `target`.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    /// # let mut window = Window::<u32>::allocate(world, 4)?;
    /// window.store(0, &[me.0])?;
    /// world.barrier()?;
    /// let mut found = [9];
    /// let epoch = window.lock(LockType::Shared, other)?;
    /// epoch.rget(&mut found, other, 0)?.wait();
    /// assert_eq!(found, [other.0]);
    /// epoch.unlock()?;
    /// # window.free()
    /// # });
    /// ```
    #[doc(alias = "MPI_Rget")]
    #[track_caller]
    fn rget<'r>(&self, origin: &'r mut [T], target: Rank, disp: usize) -> Result<Request<'r>> {
        self.reach(Call::Rget, target)?.win.rget(origin, target, disp as u64)
    }

    /// `MPI_Raccumulate` (MPI-4.1 §12.3.5): [`Access::accumulate`] with a request.
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Conflict`] if
    /// `origin` overlaps them, [`Error::Epoch`] if the epoch does not reach `target`;
    /// [`Error::Operation`] if `op` is not defined for `T`.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    /// # let mut window = Window::<u32>::allocate(world, 4)?;
    /// let mut numbers = [1, 10];
    /// let epoch = window.lock(LockType::Shared, Rank(0))?;
    /// epoch.raccumulate(&numbers, Op::Sum, Rank(0), 0)?.wait();
    /// numbers = [2, 20];
    /// epoch.raccumulate(&numbers, Op::Sum, Rank(0), 0)?.wait();
    /// epoch.unlock()?;
    /// # world.barrier()?;
    /// # assert_eq!(window.load_one(1)?, if me == 0 { 60 } else { 0 });
    /// # window.free()
    /// # });
    /// ```
    #[doc(alias = "MPI_Raccumulate")]
    #[track_caller]
    fn raccumulate<'r>(
        &self,
        origin: &'r [T],
        op: Op,
        target: Rank,
        disp: usize,
    ) -> Result<Request<'r>>
    where
        T: Element,
    {
        self.reach(Call::Raccumulate, target)?.win.raccumulate(origin, op, target, disp as u64)
    }

    /// `MPI_Rget_accumulate` (MPI-4.1 §12.3.5): [`Access::get_accumulate`] with a request.
    ///
    /// # Errors
    /// [`Error::TargetRank`], [`Error::Range`] if the elements leave the window, [`Error::Conflict`] if
    /// `origin` overlaps them, [`Error::Epoch`] if the epoch does not reach `target`;
    /// [`Error::Operation`] if `op` is not defined for `T`; [`Error::Count`] if the lengths differ.
    ///
    /// ```
    /// # use onesided::prelude::*;
    /// # onesided::testing::Job::new(2).run(|universe| -> onesided::Result<()> {
    /// # let world = universe.world();
    /// # let (me, other) = (world.rank(), Rank(1 - world.rank().0));
    /// # let mut window = Window::<u32>::allocate(world, 4)?;
    /// let mut before = [0];
    /// let epoch = window.lock(LockType::Shared, Rank(0))?;
    /// epoch.rget_accumulate(&[1], &mut before, Op::Sum, Rank(0), 0)?.wait();
    /// assert!(before[0] < 2);
    /// epoch.unlock()?;
    /// # window.free()
    /// # });
    /// ```
    #[doc(alias = "MPI_Rget_accumulate")]
    #[track_caller]
    fn rget_accumulate<'r>(
        &self,
        origin: &'r [T],
        result: &'r mut [T],
        op: Op,
        target: Rank,
        disp: usize,
    ) -> Result<Request<'r>>
    where
        T: Element,
    {
        let window = self.reach(Call::RgetAccumulate, target)?;
        window.win.rget_accumulate(origin, result, op, target, disp as u64)
    }
}

pub(super) mod sealed {
    use crate::call::Call;
    use crate::error::Result;
    use crate::group::Rank;
    use crate::ops::Buffers;
    use bytemuck::Pod;

    /// What an access epoch's guard lends to [`super::Access`].
    pub trait Guard<T: Pod> {
        fn window(&self) -> &super::Window<T>;

        /// The rank that the guard has locked, if it reaches no other.
        #[inline(always)]
        fn locked(&self) -> Option<Rank> {
            None
        }

        /// The window, for `call` on `target`. Refused here is a rank that another guard has locked: this
        /// guard does not end its epoch, so a buffer would be free too early. The call refuses all others.
        #[inline(always)]
        fn reach(&self, call: Call, target: Rank) -> Result<&super::Window<T>> {
            match self.locked() {
                Some(locked) if locked != target => self.window().reach_past(locked, call, target),
                _ => Ok(self.window()),
            }
        }
    }

    /// A guard that keeps buffers borrowed.
    pub trait Lends<'b, T: Pod>: Guard<T> {
        fn buffers(&self) -> &Buffers<'b>;
    }
}

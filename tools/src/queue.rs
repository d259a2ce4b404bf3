//! A bounded queue between ranks.

use super::words::{Agreed, Words};
use crate::protocol::Cell;
use crate::protocol::queue::Queue;
use onesided::{Call, Comm, Element, Error, Place, Rank, Result};
use std::marker::PhantomData;

/// A first-in first-out queue of elements. Any rank appends, any rank removes; the queue is in the part of
/// one rank, its home.
///
/// It is Vyukov's ring of numbered slots over window operations. Producers and consumers at different
/// slots do not wait for one another, and the home rank makes no call. Waiting ranks sleep.
///
/// All accesses of a rank before it pushes an item, in any window, are complete for the rank that pops it.
///
/// Any thread may push and pop at any time. A rank that dies in the middle of either ends the job.
///
/// ```no_run
/// # fn main() -> onesided::Result<()> {
/// # let universe = onesided::Universe::init()?;
/// use onesided::Rank;
/// use onesided_tools::WindowQueue;
/// let queue = WindowQueue::<u64>::new(universe.world(), Rank(0), 64)?;
/// queue.push(17)?;
/// println!("{}", queue.pop()?);
/// queue.free()
/// # }
/// ```
pub struct WindowQueue<T: Element> {
    words: Words,
    queue: Queue,
    items: PhantomData<fn(T) -> T>,
}

impl<T: Element> WindowQueue<T> {
    /// Words of one item.
    const STRIDE: u64 = (size_of::<T>() as u64).div_ceil(8);

    /// Creates an empty queue of at most `capacity` items in the part of rank `home`.
    ///
    /// Collective over `comm`; blocks until every rank has called it. The outcome is the same on all
    /// ranks.
    ///
    /// # Errors
    /// [`Error::Root`] if `home` is no rank; [`Error::Argument`] for a capacity of 0 or more than 2³²;
    /// [`Error::Mismatch`] if the ranks give different homes, capacities or sizes of an item;
    /// [`Error::NoMemory`]; [`Error::RankFailed`].
    #[track_caller]
    pub fn new(comm: &Comm, home: Rank, capacity: u64) -> Result<Self> {
        let size = size_of::<T>() as u64;
        let parameters = [("capacity", capacity), ("bytes of an item", size)];
        // An invalid capacity is reported after the ranks have compared theirs.
        let sensible = capacity.clamp(1, MOST);
        let agreed = Agreed { name: "queue", home, parameters };
        let bytes = |is_home| match is_home {
            true if sensible == capacity => 8 * (Queue::words(capacity) + Self::STRIDE * capacity),
            _ => 8,
        };
        let words = Words::new(comm, &agreed, bytes)?;
        if sensible != capacity {
            words.free()?;
            let at = Place { call: Call::WinAllocate, window: None, rank: Some(comm.rank()) };
            let problem = format!("a queue of capacity {capacity}: it must be from 1 to 2^32");
            return Err(Error::Argument { at, problem });
        }
        let queue = Queue { first: Cell { rank: home.0, index: 0 }, capacity };
        Ok(WindowQueue { words, queue, items: PhantomData })
    }

    /// The largest number of items.
    pub fn capacity(&self) -> u64 {
        self.queue.capacity
    }

    /// The rank whose part holds the queue.
    pub fn home(&self) -> Rank {
        Rank(self.queue.first.rank)
    }

    /// Appends an item.
    ///
    /// Local; blocks, and sleeps, while the queue is full.
    ///
    /// # Errors
    /// [`Error::RankFailed`]
    #[track_caller]
    pub fn push(&self, item: T) -> Result<()> {
        let words = self.words.during(Call::Put)?;
        self.queue.push(words, |slot| self.put(item, slot))
    }

    /// Appends an item; `false`, and no effect, if the queue is full. A slot whose consumer is still
    /// reading it counts as full.
    ///
    /// Local; never blocks.
    ///
    /// # Errors
    /// None at present.
    pub fn try_push(&self, item: T) -> Result<bool> {
        let words = self.words.during(Call::Put)?;
        self.queue.try_push(words, |slot| self.put(item, slot))
    }

    /// Removes the oldest item.
    ///
    /// Local; blocks, and sleeps, while the queue is empty.
    ///
    /// # Errors
    /// [`Error::RankFailed`]
    #[track_caller]
    pub fn pop(&self) -> Result<T> {
        self.queue.pop(self.words.during(Call::Get)?, |slot| self.get(slot))
    }

    /// Removes the oldest item; `None` if the queue is empty. A slot whose producer is still writing
    /// it counts as empty.
    ///
    /// Local; never blocks.
    ///
    /// # Errors
    /// None at present.
    pub fn try_pop(&self) -> Result<Option<T>> {
        self.queue.try_pop(self.words.during(Call::Get)?, |slot| self.get(slot))
    }

    /// Frees the queue's memory, with its remaining items.
    ///
    /// Collective; blocks until every rank has called it.
    ///
    /// # Errors
    /// [`Error::Mismatch`], [`Error::RankFailed`].
    #[track_caller]
    pub fn free(self) -> Result<()> {
        self.words.free()
    }

    /// The index of the item in the window, after the words of the queue.
    fn place(&self, slot: u64) -> u64 {
        Queue::words(self.queue.capacity) + slot * Self::STRIDE
    }

    fn put(&self, item: T, slot: u64) -> Result<()> {
        self.words.win.put(&[item], self.home(), self.place(slot))
    }

    fn get(&self, slot: u64) -> Result<T> {
        let mut item = T::zeroed();
        let place = self.place(slot);
        self.words.win.get(std::slice::from_mut(&mut item), self.home(), place)?;
        Ok(item)
    }
}

/// Items that fit the arithmetic of sizes, whatever their type.
const MOST: u64 = 1 << 32;

//! How grids exchange the cells at their edges: by fence, by post, start, complete and wait, and by
//! hand. Places alternate between two halves, so that one synchronisation per step is enough: who
//! still reads the cells of the last step is not disturbed by those of the next.

use crate::by_hand::{Barrier, Handshake};
use crate::parts::Parts;
use onesided::{Access, Comm, FenceAssert, Group, Rank, Window};

/// Cells that go to a place of another rank.
pub struct Message<'a> {
    pub to: u32,
    pub at: usize,
    pub cells: &'a [f64],
}

/// One step's exchange.
pub trait Exchange {
    /// Sends, and waits until what is meant for this rank is here.
    fn exchange(&mut self, messages: &[Message<'_>]);
    /// Copies cells that have come.
    fn take(&self, at: usize, to: &mut [f64]);
}

/// By fence or PSCW in a window of this library.
pub struct Ours<'w> {
    window: &'w mut Window<f64>,
    /// None: all ranks, by fence.
    neighbours: Option<Group>,
}

impl<'w> Ours<'w> {
    pub fn by_fence(window: &'w mut Window<f64>) -> Ours<'w> {
        Ours { window, neighbours: None }
    }

    pub fn with(world: &Comm, window: &'w mut Window<f64>, neighbours: &[u32]) -> Ours<'w> {
        let group = world.group().incl(neighbours).expect("ranks of the world");
        Ours { window, neighbours: Some(group) }
    }
}

impl Exchange for Ours<'_> {
    fn exchange(&mut self, messages: &[Message<'_>]) {
        let Some(group) = &self.neighbours else {
            // Nothing precedes: the last step has closed its fence.
            let epoch = self.window.fence_with(FenceAssert::NOPRECEDE).expect("fence");
            for Message { to, at, cells } in messages {
                epoch.put(cells, Rank(*to), *at).expect("put");
            }
            epoch.close().expect("fence");
            return;
        };
        let (mut access, mut exposure) = self.window.sides();
        let exposed = exposure.post(group).expect("post");
        let epoch = access.start(group).expect("start");
        for Message { to, at, cells } in messages {
            epoch.put(cells, Rank(*to), *at).expect("put");
        }
        epoch.complete().expect("complete");
        exposed.wait().expect("wait");
    }

    fn take(&self, at: usize, to: &mut [f64]) {
        self.window.load(at, to).expect("the own part");
    }
}

/// How ranks meet who have no library.
pub enum Sync {
    All(Barrier),
    Neighbours(Handshake),
}

/// By copies to the parts of a window.
pub struct ByHand<'a> {
    pub parts: &'a Parts,
    pub rank: u32,
    pub sync: Sync,
}

impl Exchange for ByHand<'_> {
    fn exchange(&mut self, messages: &[Message<'_>]) {
        let parts = self.parts;
        let send =
            || messages.iter().for_each(|Message { to, at, cells }| parts.put(*to, *at, cells));
        match &mut self.sync {
            Sync::All(barrier) => {
                send();
                barrier.wait();
            }
            Sync::Neighbours(handshake) => handshake.epoch(send),
        }
    }

    fn take(&self, at: usize, to: &mut [f64]) {
        self.parts.get(self.rank, at, to);
    }
}

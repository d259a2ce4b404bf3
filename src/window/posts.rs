//! What a rank keeps of post/start/complete/wait between calls: the ranks that it last named, and where
//! the post slots are. All of it is reused, so that an epoch on the same ranks allocates nothing.

use super::calls::Calls;
use super::transport::Transport;
use crate::call::Call;
use crate::error::{Error, Result};
use crate::group::{Group, Rank};
use crate::prim::{Awaited, AwaitedKind, WaitRecord};
use crate::shm::{Placed, PlacedSlice};
use crate::sync::{self, PostSlot};
use std::panic::Location;

/// Unit of the table word, in bytes: lets 32 bits reach 512 GiB.
const TABLE_UNIT: u64 = 128;

/// This rank's side of post/start/complete/wait. Costs nothing until it is used.
#[derive(Default)]
pub(super) struct Pscw {
    /// This rank as an origin, once it has been one. A `start` that waits has it to itself.
    pub(super) targets: Option<Box<Targets>>,
    /// The ranks that it has posted for last.
    origins: Members,
    /// Completes that this rank has consumed as a target.
    pub(super) completes_seen: u32,
    /// This rank's own slots, once it has posted.
    own: Option<(u64, PlacedSlice<PostSlot>)>,
}

/// The members of a group as ranks of the window.
#[derive(Default)]
pub(super) struct Members {
    /// Of which group they are known, if of any.
    group: Option<Group>,
    ranks: Vec<u32>,
}

/// The targets that a rank has started on last, and what it knows of the posts of all.
#[derive(Default)]
pub(super) struct Targets {
    members: Members,
    /// By the rank of the target; empty until the first start.
    posts: Vec<Posts>,
}

/// The posts of one target for this rank.
#[derive(Default)]
struct Posts {
    /// Where they are counted, once that is known.
    slot: Option<Placed<PostSlot>>,
    /// How many this rank has consumed.
    seen: u32,
}

impl Pscw {
    /// The block of this rank's own slots.
    pub(super) fn table_block(&self) -> Option<u64> {
        self.own.as_ref().map(|(block, _)| *block)
    }

    /// The targets of this rank's last start, as ranks of the window.
    pub(super) fn targets(&self) -> &[u32] {
        self.targets.as_ref().map_or(&[], |targets| &targets.members.ranks)
    }

    /// The origins of this rank's last post, as ranks of the window.
    pub(super) fn origins_here(&self) -> &[u32] {
        &self.origins.ranks
    }

    /// The origins of this rank's last post, as ranks of the world.
    pub(super) fn origins(&self) -> &[u32] {
        self.origins.group.as_ref().map_or(&[], Group::members)
    }

    /// Prefetches for another post for the same origins, the usual next call after a wait.
    pub(super) fn expect_post(&self) {
        if let Some((_, slots)) = &self.own {
            self.origins.ranks.iter().for_each(|rank| slots[*rank as usize].expect_update());
        }
    }

    /// Makes `group` the origins of a post; this rank's own slots, if it `notifies` them.
    #[inline]
    pub(super) fn set_origins(
        &mut self,
        calls: &Calls,
        transport: &Transport,
        group: &Group,
        notifies: bool,
    ) -> Result<(&[u32], &[PostSlot])> {
        self.origins.set(calls, Call::Post, group)?;
        if !notifies || self.origins.ranks.is_empty() {
            return Ok((&self.origins.ranks, &[]));
        }
        if self.own.is_none() {
            self.own = Some(transport.make_slots(calls)?);
        }
        let (_, slots) = self.own.as_ref().expect("just made");
        Ok((&self.origins.ranks, slots))
    }
}

impl Members {
    /// Makes them those of `group`, all of which live.
    fn set(&mut self, calls: &Calls, call: Call, group: &Group) -> Result<()> {
        if self.group.as_ref() != Some(group) {
            self.change(calls, call, group)?;
        }
        if calls.comm().has_lost_any() { check_all_live(calls, call, &self.ranks) } else { Ok(()) }
    }

    #[cold]
    fn change(&mut self, calls: &Calls, call: Call, group: &Group) -> Result<()> {
        self.group = None;
        self.ranks.clear();
        for world in group.members() {
            let rank = calls.comm().rank_of_world(*world).ok_or_else(|| Error::Group {
                at: calls.place(call),
                problem: format!("rank {world} of the world is no rank of the window"),
            })?;
            self.ranks.push(rank.0);
        }
        self.group = Some(group.clone());
        Ok(())
    }
}

impl Targets {
    /// As ranks of the window.
    pub(super) fn ranks(&self) -> &[u32] {
        &self.members.ranks
    }

    /// Makes `group` the targets of a start.
    pub(super) fn set(&mut self, calls: &Calls, group: &Group) -> Result<()> {
        if self.posts.is_empty() {
            self.posts.resize_with(calls.comm().ranks().len(), Posts::default);
        }
        self.members.set(calls, Call::Start, group)
    }

    /// Prefetches for the complete that ends an epoch on them.
    pub(super) fn expect_complete(&self, transport: &Transport) {
        self.ranks().iter().for_each(|target| transport.words_of(*target).pscw.expect_complete());
    }

    /// Waits until each of them has posted once more for this rank.
    pub(super) fn await_posts(
        &mut self,
        calls: &Calls,
        transport: &Transport,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let (targets, posts) = (&self.members.ranks, &mut self.posts);
        targets
            .iter()
            .try_for_each(|target| posts[*target as usize].await_one(calls, transport, *target, at))
    }
}

impl Posts {
    fn await_one(
        &mut self,
        calls: &Calls,
        transport: &Transport,
        target: u32,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let describe = |record: &WaitRecord| {
            let (kind, peer) = (AwaitedKind::Post, calls.comm().world_rank(target));
            record.set(&Awaited { kind, peer, ..Awaited::default() });
        };
        let waiter = calls.recording_waiter(at, &describe);
        let failed = |failed| calls.job_failed(failed, Call::Start);
        let slot = match &mut self.slot {
            Some(slot) => slot,
            unknown => {
                let table = transport.words_of(target).table.find(&waiter).map_err(failed)?;
                unknown.insert(slot_in(calls, table)?)
            }
        };
        sync::start_one(slot, &mut self.seen, &waiter).map_err(failed)?;
        if let Some(log) = calls.context().log() {
            log.started(calls.context().object::<PostSlot>(slot), self.seen);
        }
        Ok(())
    }
}

impl Transport {
    /// The block of the post slots that a rank has published, if it has.
    pub(super) fn slots_of(&self, rank: u32) -> Option<u64> {
        let at = self.words_of(rank).table.own();
        (at != 0).then(|| u64::from(at) * TABLE_UNIT)
    }

    /// Post slots for this rank, made at its first post (what is per pair of ranks costs memory only
    /// in windows that use it).
    #[cold]
    fn make_slots(&self, calls: &Calls) -> Result<(u64, PlacedSlice<PostSlot>)> {
        let context = calls.context();
        let n = calls.comm().ranks().len();
        let bytes = (n * size_of::<PostSlot>()) as u64;
        let block = context
            .segment
            .heap()
            .allocate(bytes, &context.excluded())
            .map_err(|error| calls.heap_error(Call::Post, error, bytes))?;
        let at = u32::try_from(block / TABLE_UNIT).map_err(|_| Error::NoMemory {
            at: calls.place(Call::Post),
            requested: bytes,
            available: 0,
            limit: "post slots lie in the first 512 GiB of the segment",
        })?;
        let slots = context.segment.place_all(block, n)?;
        self.words_of(calls.rank().0).table.publish(at, &slots);
        Ok((block, slots))
    }
}

/// This rank's slot among those that a target has published.
fn slot_in(calls: &Calls, table: u32) -> Result<Placed<PostSlot>> {
    let own = u64::from(calls.rank()) * size_of::<PostSlot>() as u64;
    calls.context().segment.place(u64::from(table) * TABLE_UNIT + own)
}

/// Refuses ranks of the window that have failed, and would be waited for.
#[cold]
fn check_all_live(calls: &Calls, call: Call, ranks: &[u32]) -> Result<()> {
    match ranks.iter().find_map(|rank| calls.comm().failed_rank(*rank)) {
        None => Ok(()),
        Some(failed) => {
            Err(Error::RankFailed { at: calls.place(call), failed: Rank(failed), lock_of: None })
        }
    }
}

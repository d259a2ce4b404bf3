//! Communicators where another MPI's launcher has started the job: they have one of that MPI instead
//! of a shared block. Chunks go by its allgather, with their descriptions, so that ranks that disagree are
//! told as everywhere.

use super::Comm;
use super::description::Description;
use super::exchange::{CHUNK, Collective, HEAD, Staged, damaged};
use crate::call::Call;
use crate::error::{Error, Result};
use crate::foreign;
use crate::group::Group;

/// Payload up to here goes with the description.
const SHORT: usize = 64;
/// What every rank brings first: description, length of the payload, the payload if that is short.
const FIRST: usize = HEAD as usize + size_of::<u64>() + SHORT;

impl Comm {
    /// The other MPI's communicator, if there is one.
    pub(crate) fn foreign(&self) -> Option<&foreign::ForeignComm> {
        self.inner.foreign.as_ref()
    }

    /// Counts a window that meets there.
    pub(crate) fn hold_for_window(&self) {
        self.inner.meeting_windows.fetch_add(1);
    }

    /// Such a window has been freed. Collective, as freeing it is.
    pub(crate) fn let_window_go(&self, call: Call) -> Result<()> {
        self.inner.meeting_windows.fetch_sub(1);
        self.free_foreign(call)
    }

    /// Frees the other MPI's communicator once this one is freed and no window meets there any more.
    pub(super) fn free_foreign(&self, call: Call) -> Result<()> {
        let Some(foreign) = self.foreign() else { return Ok(()) };
        let is_used = self.inner.meeting_windows.load() != 0;
        // Once, whichever of two threads comes first.
        if is_used || self.inner.freed.compare_exchange(1, 2).is_err() {
            return Ok(());
        }
        foreign.free().map_err(|refusal| self.refused(call, refusal))
    }

    /// Refuses what needs memory that all ranks have mapped, where they share none.
    pub(crate) fn check_shares(&self, call: Call, what: &str) -> Result<()> {
        match self.context().foreign {
            None => Ok(()),
            Some(_) => Err(Error::not_foreign(self.place(call), what)),
        }
    }

    /// The other MPI's communicator of `group`, all of whose ranks are here, if it is one of such.
    pub(super) fn create_group_by(
        &self,
        group: &Group,
        tag: u32,
    ) -> Result<Option<foreign::ForeignComm>> {
        let Some(foreign) = self.foreign() else { return Ok(None) };
        let here = |world: &u32| self.rank_of_world(*world).map(|rank| rank.0);
        let ranks: Vec<u32> = group.members().iter().filter_map(here).collect();
        let made = foreign.create_group(&ranks, tag);
        made.map(Some).map_err(|refusal| self.refused(Call::CommCreateGroup, refusal))
    }

    /// What the other MPI has said, as an error of `call`.
    pub(super) fn refused(&self, call: Call, refusal: foreign::ForeignError) -> Error {
        refusal.at(self.place(call))
    }
}

impl Collective<'_> {
    /// [`Collective::exchange`] by another MPI.
    #[cold]
    pub(super) fn exchange_by(
        &self,
        foreign: &foreign::ForeignComm,
        what: &Description,
        mine: &[u8],
    ) -> Result<Staged<'_>> {
        let (comm, n) = (self.comm, self.comm.size() as usize);
        let failed = |refusal| comm.refused(self.call, refusal);
        let mine = &mine[..mine.len().min(CHUNK)];
        let guarded = what.guarding(mine).staged(mine.len(), 0);
        let mut first = [0; FIRST];
        let (head, rest) = first.split_at_mut(HEAD as usize);
        head.copy_from_slice(bytemuck::bytes_of(&guarded));
        let (length, short) = rest.split_at_mut(size_of::<u64>());
        length.copy_from_slice(bytemuck::bytes_of(&mine.len()));
        let few = mine.len().min(SHORT);
        short[..few].copy_from_slice(&mine[..few]);
        let mut firsts = vec![0; n * FIRST];
        foreign.allgather(&first, &mut firsts).map_err(failed)?;
        let length =
            |first: &[u8]| bytemuck::pod_read_unaligned::<u64>(&first[HEAD as usize..][..8]);
        let longest = firsts.chunks_exact(FIRST).map(length).max().unwrap_or_default() as usize;
        if longest > CHUNK {
            return Err(damaged());
        }
        let mut long = Vec::new();
        if longest > SHORT {
            let mut padded = mine.to_vec();
            padded.resize(longest, 0);
            long.resize(n * longest, 0);
            foreign.allgather(&padded, &mut long).map_err(failed)?;
        }
        let stride = HEAD as usize + longest;
        let mut alone = Vec::with_capacity(n * stride);
        for (rank, first) in firsts.chunks_exact(FIRST).enumerate() {
            alone.extend_from_slice(&first[..HEAD as usize]);
            alone.extend_from_slice(match longest > SHORT {
                true => &long[rank * longest..][..longest],
                false => &first[FIRST - SHORT..][..longest],
            });
        }
        let staged = Staged { comm, slot: 0, odd: false, round: 0, alone, stride };
        staged.check(what)?;
        Ok(staged)
    }

    /// The other MPI's communicator of the group of `groups` that this rank is in, where there is
    /// another MPI. They are disjoint and the same on all ranks.
    pub(super) fn split_by(&self, groups: &[Group]) -> Result<Option<foreign::ForeignComm>> {
        let Some(foreign) = self.comm.foreign() else { return Ok(None) };
        let world = self.comm.context().rank;
        let rank_in = |group: &Group| group.rank_of_world(world);
        let own = (0..).zip(groups).find_map(|(k, group)| Some((k, rank_in(group)?.0)));
        let split = foreign.split(own.map(|own| own.0), own.map_or(0, |own| own.1));
        split.map_err(|refusal| self.comm.refused(self.call, refusal))
    }
}

impl Staged<'_> {
    /// Copies from byte `first` on of what another MPI has brought from `rank`. Of the only rank of a
    /// communicator nothing is checked.
    pub(super) fn fetch_staged(&self, rank: u32, first: u64, to: &mut [u8]) -> Result<()> {
        if self.stride == 0 {
            return Ok(());
        }
        let record = self.alone.get(rank as usize * self.stride..).unwrap_or_default();
        let record = record.get(..self.stride).unwrap_or_default();
        let from = record.get(first as usize..).and_then(|rest| rest.get(..to.len()));
        to.copy_from_slice(from.ok_or_else(damaged)?);
        Ok(())
    }
}

//! Communicators of ranks that share no segment, in the job of another MPI: they have one of that MPI instead
//! of a shared block. Its allgather moves chunks, with their descriptions, so that ranks that disagree get
//! the usual errors.

use super::description::{Description, hash};
use super::exchange::{CHUNK, Collective, DESCRIBED, Staged, damaged};
use super::{Comm, CommMembers};
use crate::call::Call;
use crate::context::Context;
use crate::error::Result;
use crate::foreign::{ForeignComm, ForeignError, ForeignMessage};
use crate::group::Group;
use crate::prim::Word32;

/// Payload of up to this many bytes is sent with the description.
const SHORT: usize = 64;
/// What every rank sends first: description, length of the payload, and a short payload.
const FIRST: usize = DESCRIBED + size_of::<u64>() + SHORT;

/// What the ranks of a communicator of the other MPI call: their descriptions, under way to all.
pub(crate) struct ForeignVotes(ForeignMessage);

impl ForeignVotes {
    /// Sends that of this rank. Collective; does not block.
    pub(crate) fn begin(
        foreign: &ForeignComm,
        what: &Description,
    ) -> std::result::Result<ForeignVotes, ForeignError> {
        let guarded = what.guarding(&[]).with_length(0);
        foreign.begin_allgather(bytemuck::bytes_of(&guarded)).map(ForeignVotes)
    }

    /// Whether those of all ranks have arrived. Does not block.
    pub(crate) fn is_complete(&mut self) -> std::result::Result<bool, ForeignError> {
        self.0.is_complete()
    }

    /// Those of all ranks, when they have arrived.
    pub(crate) fn staged(self, comm: &Comm) -> Staged<'_> {
        let (alone, stride) = (self.0.taken().into(), DESCRIBED);
        Staged { comm, number: 0, round: 0, chain: 0, alone, stride }
    }
}

/// The other MPI's communicator of the same ranks, and the number of windows that use it.
pub(super) struct OtherComm {
    pub(super) comm: ForeignComm,
    /// The same on all ranks, and different for every communicator of the job.
    pub(super) number: u64,
    /// Those that have not been freed.
    windows: Word32,
}

impl OtherComm {
    /// Collective; blocks until every rank of it has called this.
    pub(super) fn new(
        context: &Context,
        comm: ForeignComm,
    ) -> std::result::Result<OtherComm, ForeignError> {
        let mut all = vec![0; comm.size as usize];
        let own = OtherComm::number(context).to_ne_bytes();
        comm.allgather(&own, bytemuck::cast_slice_mut(&mut all))?;
        Ok(OtherComm::numbered(comm, all[0]))
    }

    /// A number for one of which this is the first rank.
    pub(super) fn number(context: &Context) -> u64 {
        u64::from(context.rank) << 32 | context.number_comm()
    }

    /// With the number of its first rank.
    pub(super) fn numbered(comm: ForeignComm, number: u64) -> OtherComm {
        OtherComm { comm, number, windows: Word32::default() }
    }

    pub(super) fn count_window(&self) {
        self.windows.fetch_add(1);
    }

    pub(super) fn uncount_window(&self) {
        self.windows.fetch_sub(1);
    }

    /// Frees it once `freed` is 1, which becomes 2, and no window uses it any more. Collective.
    pub(super) fn free(&self, freed: &Word32) -> std::result::Result<(), ForeignError> {
        // Once, by the first of two threads.
        if self.windows.load() != 0 || freed.compare_exchange(1, 2).is_err() {
            return Ok(());
        }
        self.comm.free()
    }

    /// The communicator of `group`, all of whose ranks are among these.
    pub(super) fn create_group(
        &self,
        of: &CommMembers,
        group: &Group,
        tag: u32,
    ) -> Result<OtherComm> {
        let here = |world: &u32| of.rank_of_world(*world).map(|rank| rank.0);
        let ranks: Vec<u32> = group.members().iter().filter_map(here).collect();
        // The other MPI distinguishes concurrent calls by their tags, and this library by their groups, too.
        let members = ranks.iter().map(|rank| u64::from(*rank));
        let tag = hash([u64::from(tag)].into_iter().chain(members)) as u32;
        let made = self.comm.create_group(&ranks, tag);
        let numbered = made.and_then(|made| OtherComm::new(of.context(), made));
        numbered.map_err(|refusal| refusal.at(of.place(Call::CommCreateGroup)))
    }
}

impl<'a> Staged<'a> {
    /// What all ranks stage in a call, by another MPI: at most a chunk of each.
    #[cold]
    pub(crate) fn by_foreign(
        comm: &'a Comm,
        foreign: &ForeignComm,
        what: &Description,
        mine: &[u8],
    ) -> Result<Staged<'a>> {
        let n = comm.ranks().len();
        let failed = |refusal| comm.refused(what.call(), refusal);
        let mine = &mine[..mine.len().min(CHUNK)];
        let guarded = what.guarding(mine).with_length(mine.len());
        let mut first = [0; FIRST];
        let (head, rest) = first.split_at_mut(DESCRIBED);
        head.copy_from_slice(bytemuck::bytes_of(&guarded));
        let (length, short) = rest.split_at_mut(size_of::<u64>());
        length.copy_from_slice(bytemuck::bytes_of(&mine.len()));
        let few = mine.len().min(SHORT);
        short[..few].copy_from_slice(&mine[..few]);
        let mut firsts = vec![0; n * FIRST];
        foreign.allgather(&first, &mut firsts).map_err(failed)?;
        let length = |first: &[u8]| bytemuck::pod_read_unaligned::<u64>(&first[DESCRIBED..][..8]);
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
        let stride = DESCRIBED + longest;
        let mut alone = Vec::with_capacity(n * stride);
        for (rank, first) in firsts.chunks_exact(FIRST).enumerate() {
            alone.extend_from_slice(&first[..DESCRIBED]);
            alone.extend_from_slice(match longest > SHORT {
                true => &long[rank * longest..][..longest],
                false => &first[FIRST - SHORT..][..longest],
            });
        }
        Ok(Staged { comm, number: 0, round: 0, chain: 0, alone, stride })
    }
}

impl Collective<'_> {
    /// The other MPI's communicator of the group of `groups` that this rank is in, where there is
    /// another MPI and not all members share the segment. They are disjoint and the same on all ranks.
    pub(super) fn split_by(&self, groups: &[Group]) -> Result<Option<OtherComm>> {
        let Some(foreign) = self.comm.foreign() else { return Ok(None) };
        let world = self.comm.context().rank;
        let rank_in = |group: &Group| group.rank_of_world(world);
        let own = (0..).zip(groups).find_map(|(k, group)| Some((k, group, rank_in(group)?.0)));
        let far = own.filter(|(_, group, _)| !self.comm.context().reaches_all(group.members()));
        let split = foreign.split(far.map(|far| far.0), far.map_or(0, |far| far.2));
        let numbered = split.and_then(|made| {
            made.map(|made| OtherComm::new(self.comm.context(), made)).transpose()
        });
        numbered.map_err(|refusal| self.comm.refused(self.call, refusal))
    }
}

impl Staged<'_> {
    /// Copies, from byte `first` on, what another MPI has received from `rank`. Nothing is checked for
    /// the only rank of a communicator.
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

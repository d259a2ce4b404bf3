//! The short forms of collectives, and how a rank that has no other collective under way runs one to its
//! end without a plan.

use super::buffer::{Buffer, BufferMut, Combine};
use super::form::{Awaits, Entered, ShortForm};
use super::staged::{BufferParts, Give, Take};
use crate::call::Call;
use crate::comm::{CHUNK, CollectiveEntry, Comm, Description};
use crate::datatype::Element;
use crate::error::Result;
use crate::group::Rank;
use std::panic::Location;

/// The most bytes of all contributions together if every rank combines all of them.
pub(super) const COMBINED_BY_ALL: u64 = 64 * 1024;

/// Each is `None` if the data are not short, or the call may have to be refused.
impl ShortForm {
    /// All ranks have the data of `buffer`, and the same root; 0 for a call without a root.
    #[inline]
    fn agreeing(call: Call, buffer: &Buffer, root: Rank) -> Option<(ShortForm, u64)> {
        let bytes = buffer.bytes().filter(|bytes| *bytes <= CHUNK as u64)?;
        let (datatype, sequence) = buffer.datatype.signature(buffer.count);
        let what = Description::bare(call).data(bytes, datatype, sequence).root(root);
        let form = ShortForm { length: bytes as usize, ..ShortForm::new(call, what) };
        Some((form, bytes))
    }

    /// Of elements of one type, also where there are none.
    #[inline]
    pub(super) fn elements<T: Element>(mut self) -> ShortForm {
        self.what = self.what.elements::<T>();
        self
    }

    #[inline]
    pub(super) fn barrier() -> ShortForm {
        ShortForm::new(Call::Barrier, Description::bare(Call::Barrier))
    }

    #[inline]
    pub(super) fn broadcast(
        comm: &Comm,
        call: Call,
        buffer: BufferMut,
        root: Rank,
    ) -> Option<ShortForm> {
        let (form, _) = ShortForm::agreeing(call, &buffer.read(), root)?;
        Some(match comm.rank() == root {
            true => {
                let give = Give::One(buffer.read());
                ShortForm { give, awaits: Awaits::None, ..form }
            }
            false if root.0 >= comm.size() => return None,
            false => {
                let take = Take::From(root.0, 0, buffer);
                ShortForm { length: 0, take, awaits: Awaits::One(root.0), ..form }
            }
        })
    }

    #[inline]
    pub(super) fn allgather(comm: &Comm, mine: Buffer, all: BufferMut) -> Option<ShortForm> {
        let (form, bytes) = ShortForm::agreeing(Call::Allgather, &mine, Rank(0))?;
        let take = Take::Each(comm.size(), 0, equal_parts(comm, all, bytes)?);
        Some(ShortForm { give: Give::One(mine), take, ..form })
    }

    /// Each has as many bytes for every rank.
    #[inline]
    pub(super) fn alltoall(
        comm: &Comm,
        outgoing: Buffer,
        incoming: BufferMut,
    ) -> Option<ShortForm> {
        let (own, ranks) = (comm.rank().0, comm.size());
        let count = part_count(comm, outgoing.count)?;
        let (form, bytes) = ShortForm::agreeing(Call::Alltoall, &outgoing.part(0, count), Rank(0))?;
        let incoming = equal_parts(comm, incoming, bytes)?;
        if bytes * u64::from(ranks) > CHUNK as u64 {
            return None;
        }
        let (give, length) = (Give::One(outgoing), form.length * ranks as usize);
        let take = Take::Each(ranks, bytes * u64::from(own), incoming);
        Some(ShortForm { give, length, take, ..form })
    }

    /// Of a reduction with a root, the other ranks have no result, and wait for none.
    #[inline]
    pub(super) fn reduction(
        comm: &Comm,
        call: Call,
        mine: Buffer,
        result: Option<BufferMut>,
        combine: Combine,
        root: Rank,
    ) -> Option<ShortForm> {
        let (form, bytes) = ShortForm::agreeing(call, &mine, root)?;
        let ranks = comm.size();
        if root.0 >= ranks || bytes * u64::from(ranks) > COMBINED_BY_ALL {
            return None;
        }
        let (what, give) = (form.what.op(combine.kind), Give::One(mine));
        Some(match result {
            Some(result) => {
                ShortForm { what, give, take: Take::Combined(ranks, 0, result, combine), ..form }
            }
            None => ShortForm { what, give, awaits: Awaits::None, ..form },
        })
    }

    /// Runs it to its end; it has entered its slot.
    #[inline]
    pub(super) fn complete(
        &mut self,
        comm: &Comm,
        entry: CollectiveEntry,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let mut entered = Entered::new(comm, entry);
        self.meet(comm, entered.entry(), at)?;
        drop(entered);
        CollectiveEntry::report_earlier(comm)
    }
}

/// Runs a short collective if no other of this rank is under way on the communicator; otherwise `None`.
#[inline]
pub(super) fn run(
    comm: &Comm,
    form: &mut Option<ShortForm>,
    at: &'static Location<'static>,
) -> Option<Result<()>> {
    let form = form.as_mut()?;
    let entry = CollectiveEntry::start_alone(comm)?;
    Some(comm.within(form.call, || form.complete(comm, entry, at)))
}

/// A part of that many bytes for each rank.
fn equal_parts(comm: &Comm, all: BufferMut, bytes: u64) -> Option<BufferParts<BufferMut>> {
    let count = part_count(comm, all.count())?;
    let is_like = all.part(0, count).bytes() == Some(bytes);
    is_like.then(|| BufferParts::Equal(all, count))
}

/// The instances of each rank's part, if they have as many.
fn part_count(comm: &Comm, all: usize) -> Option<usize> {
    let ranks = comm.size() as usize;
    all.is_multiple_of(ranks).then_some(all / ranks)
}

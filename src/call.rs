//! The names of the calls, as errors and the launcher's reports print them.

/// A call of the library, in the standard's words.
///
/// ```
/// use onesided::Call;
///
/// assert_eq!(Call::FetchAndOp.to_string(), "fetch_and_op");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum Call {
    /// Not inside the library.
    None = 0,
    /// Joining the job.
    Init,
    /// Leaving the job.
    Finalize,
    /// `MPI_Barrier`.
    Barrier,
    /// `MPI_Bcast`.
    Broadcast,
    /// `MPI_Gather`.
    Gather,
    /// `MPI_Allgather`.
    Allgather,
    /// `MPI_Reduce`.
    Reduce,
    /// `MPI_Allreduce`.
    Allreduce,
    /// `MPI_Win_allocate`.
    WinAllocate,
    /// `MPI_Win_free`.
    WinFree,
    /// `MPI_Win_get_attr`.
    WinAttribute,
    /// `MPI_Put`.
    Put,
    /// `MPI_Get`.
    Get,
    /// `MPI_Accumulate`.
    Accumulate,
    /// `MPI_Get_accumulate`.
    GetAccumulate,
    /// `MPI_Fetch_and_op`.
    FetchAndOp,
    /// `MPI_Compare_and_swap`.
    CompareAndSwap,
    /// `MPI_Win_fence`.
    Fence,
    /// `MPI_Win_post`.
    Post,
    /// `MPI_Win_start`.
    Start,
    /// `MPI_Win_complete`.
    Complete,
    /// `MPI_Win_wait`.
    Wait,
    /// `MPI_Win_test`.
    Test,
    /// `MPI_Win_lock`.
    Lock,
    /// `MPI_Win_unlock`.
    Unlock,
    /// `MPI_Win_lock_all`.
    LockAll,
    /// `MPI_Win_unlock_all`.
    UnlockAll,
    /// `MPI_Win_flush`.
    Flush,
    /// `MPI_Win_flush_all`.
    FlushAll,
    /// `MPI_Win_flush_local`.
    FlushLocal,
    /// `MPI_Win_flush_local_all`.
    FlushLocalAll,
    /// `MPI_Win_sync`.
    WinSync,
    /// A local access to this rank's own part of a window.
    LocalAccess,
    /// A function of a group.
    Group,
    /// `MPI_Win_create`.
    WinCreate,
    /// `MPI_Win_allocate_shared`.
    WinAllocateShared,
    /// `MPI_Win_create_dynamic`.
    WinCreateDynamic,
    /// `MPI_Win_attach`.
    Attach,
    /// `MPI_Win_detach`.
    Detach,
    /// `MPI_Win_shared_query`.
    SharedQuery,
    /// A direct access to a part of a shared window.
    SharedAccess,
    /// `MPI_Win_set_info`.
    WinSetInfo,
    /// `MPI_Rput`.
    Rput,
    /// `MPI_Rget`.
    Rget,
    /// `MPI_Raccumulate`.
    Raccumulate,
    /// `MPI_Rget_accumulate`.
    RgetAccumulate,
    /// `MPI_Alloc_mem`.
    AllocMem,
    /// `MPI_Free_mem`.
    FreeMem,
    /// `MPI_Gatherv`.
    Gatherv,
    /// `MPI_Scatter`.
    Scatter,
    /// `MPI_Scatterv`.
    Scatterv,
    /// `MPI_Allgatherv`.
    Allgatherv,
    /// `MPI_Alltoall`.
    Alltoall,
    /// `MPI_Alltoallv`.
    Alltoallv,
    /// `MPI_Reduce_scatter_block`.
    ReduceScatterBlock,
    /// `MPI_Reduce_scatter`.
    ReduceScatter,
    /// `MPI_Scan`.
    Scan,
    /// `MPI_Exscan`.
    Exscan,
    /// `MPI_Comm_dup`.
    CommDup,
    /// `MPI_Comm_create`.
    CommCreate,
    /// `MPI_Comm_create_group`.
    CommCreateGroup,
    /// `MPI_Comm_split`.
    CommSplit,
    /// `MPI_Comm_free`.
    CommFree,
    /// `MPI_Comm_set_info`.
    CommSetInfo,
    /// `MPIX_Comm_shrink`.
    CommShrink,
    /// Recovering a window after a rank of it has failed.
    WinRecover,
    /// A function of an attribute of a communicator or window.
    Attribute,
    /// A function of an info object.
    Info,
    /// `MPI_Type_contiguous`.
    TypeContiguous,
    /// `MPI_Type_vector`.
    TypeVector,
    /// `MPI_Type_create_hvector`.
    TypeHvector,
    /// `MPI_Type_indexed`.
    TypeIndexed,
    /// `MPI_Type_create_hindexed`.
    TypeHindexed,
    /// `MPI_Type_create_indexed_block`.
    TypeIndexedBlock,
    /// `MPI_Type_create_hindexed_block`.
    TypeHindexedBlock,
    /// `MPI_Type_create_struct`.
    TypeStruct,
    /// `MPI_Type_create_subarray`.
    TypeSubarray,
    /// `MPI_Type_create_darray`.
    TypeDarray,
    /// `MPI_Type_create_resized`.
    TypeResized,
    /// `MPI_Type_dup`.
    TypeDup,
    /// `MPI_Pack`.
    Pack,
    /// `MPI_Unpack`.
    Unpack,
    /// Waiting until an element of this rank's own part satisfies a condition.
    WaitUntil,
    /// Testing whether an element of this rank's own part satisfies a condition.
    TestUntil,
    /// A put that is counted at its target.
    PutNotify,
    /// A get that is counted at its target.
    GetNotify,
    /// An accumulate that is counted at its target.
    AccumulateNotify,
    /// A notification without data.
    Notify,
    /// Waiting for notifications.
    WaitNotify,
    /// Testing for notifications.
    TestNotify,
    /// `MPI_Reduce_local`.
    ReduceLocal,
    /// `MPI_Send` and its modes.
    Send,
    /// `MPI_Recv`.
    Receive,
    /// `MPI_Sendrecv`.
    SendReceive,
    /// `MPI_Probe` and `MPI_Iprobe`.
    Probe,
    /// `MPI_Mprobe` and `MPI_Improbe`.
    MatchProbe,
    /// Waiting for messages, sent or received.
    MessageWait,
    /// Testing whether a message has been sent or received.
    MessageTest,
    /// `MPI_Neighbor_allgather`, `MPI_Neighbor_alltoall` and their other forms.
    Neighbours,
    /// `MPI_Psend_init`, and the calls on its request.
    PartitionedSend,
    /// `MPI_Precv_init`, and the calls on its request.
    PartitionedReceive,
    /// `MPI_Waitany`.
    WaitAny,
    /// `MPI_Waitsome`.
    WaitSome,
    /// Any call or none, of a job that does not record them.
    NotRecorded,
}

const NAMES: &[(Call, &str)] = &[
    (Call::None, "outside the library"),
    (Call::Init, "init"),
    (Call::Finalize, "finalize"),
    (Call::Barrier, "barrier"),
    (Call::Broadcast, "broadcast"),
    (Call::Gather, "gather"),
    (Call::Allgather, "allgather"),
    (Call::Reduce, "reduce"),
    (Call::Allreduce, "allreduce"),
    (Call::WinAllocate, "window allocate"),
    (Call::WinFree, "window free"),
    (Call::WinAttribute, "window attribute"),
    (Call::Put, "put"),
    (Call::Get, "get"),
    (Call::Accumulate, "accumulate"),
    (Call::GetAccumulate, "get_accumulate"),
    (Call::FetchAndOp, "fetch_and_op"),
    (Call::CompareAndSwap, "compare_and_swap"),
    (Call::Fence, "fence"),
    (Call::Post, "post"),
    (Call::Start, "start"),
    (Call::Complete, "complete"),
    (Call::Wait, "wait"),
    (Call::Test, "test"),
    (Call::Lock, "lock"),
    (Call::Unlock, "unlock"),
    (Call::LockAll, "lock_all"),
    (Call::UnlockAll, "unlock_all"),
    (Call::Flush, "flush"),
    (Call::FlushAll, "flush_all"),
    (Call::FlushLocal, "flush_local"),
    (Call::FlushLocalAll, "flush_local_all"),
    (Call::WinSync, "win_sync"),
    (Call::LocalAccess, "local access"),
    (Call::Group, "group"),
    (Call::WinCreate, "window create"),
    (Call::WinAllocateShared, "window allocate_shared"),
    (Call::WinCreateDynamic, "window create_dynamic"),
    (Call::Attach, "attach"),
    (Call::Detach, "detach"),
    (Call::SharedQuery, "shared_query"),
    (Call::SharedAccess, "shared access"),
    (Call::WinSetInfo, "window set_info"),
    (Call::Rput, "rput"),
    (Call::Rget, "rget"),
    (Call::Raccumulate, "raccumulate"),
    (Call::RgetAccumulate, "rget_accumulate"),
    (Call::AllocMem, "alloc_mem"),
    (Call::FreeMem, "free_mem"),
    (Call::Gatherv, "gatherv"),
    (Call::Scatter, "scatter"),
    (Call::Scatterv, "scatterv"),
    (Call::Allgatherv, "allgatherv"),
    (Call::Alltoall, "alltoall"),
    (Call::Alltoallv, "alltoallv"),
    (Call::ReduceScatterBlock, "reduce_scatter_block"),
    (Call::ReduceScatter, "reduce_scatter"),
    (Call::Scan, "scan"),
    (Call::Exscan, "exscan"),
    (Call::CommDup, "communicator dup"),
    (Call::CommCreate, "communicator create"),
    (Call::CommCreateGroup, "communicator create_group"),
    (Call::CommSplit, "communicator split"),
    (Call::CommFree, "communicator free"),
    (Call::CommSetInfo, "communicator set_info"),
    (Call::CommShrink, "communicator shrink"),
    (Call::WinRecover, "window recover"),
    (Call::Attribute, "attribute"),
    (Call::Info, "info"),
    (Call::TypeContiguous, "type contiguous"),
    (Call::TypeVector, "type vector"),
    (Call::TypeHvector, "type hvector"),
    (Call::TypeIndexed, "type indexed"),
    (Call::TypeHindexed, "type hindexed"),
    (Call::TypeIndexedBlock, "type indexed_block"),
    (Call::TypeHindexedBlock, "type hindexed_block"),
    (Call::TypeStruct, "type struct"),
    (Call::TypeSubarray, "type subarray"),
    (Call::TypeDarray, "type darray"),
    (Call::TypeResized, "type resized"),
    (Call::TypeDup, "type dup"),
    (Call::Pack, "pack"),
    (Call::Unpack, "unpack"),
    (Call::WaitUntil, "wait_until"),
    (Call::TestUntil, "test_until"),
    (Call::PutNotify, "put_notify"),
    (Call::GetNotify, "get_notify"),
    (Call::AccumulateNotify, "accumulate_notify"),
    (Call::Notify, "notify"),
    (Call::WaitNotify, "wait_notify"),
    (Call::TestNotify, "test_notify"),
    (Call::ReduceLocal, "reduce_local"),
    (Call::Send, "send"),
    (Call::Receive, "recv"),
    (Call::SendReceive, "sendrecv"),
    (Call::Probe, "probe"),
    (Call::MatchProbe, "mprobe"),
    (Call::MessageWait, "message wait"),
    (Call::MessageTest, "message test"),
    (Call::Neighbours, "neighbour exchange"),
    (Call::PartitionedSend, "partitioned send"),
    (Call::PartitionedReceive, "partitioned receive"),
    (Call::WaitAny, "waitany"),
    (Call::WaitSome, "waitsome"),
    (Call::NotRecorded, "not recorded"),
];

impl Call {
    /// The name in the standard's words, without the `MPI_` prefix.
    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// Whether it is a one-sided operation with a request.
    pub fn has_request(self) -> bool {
        matches!(self, Call::Rput | Call::Rget | Call::Raccumulate | Call::RgetAccumulate)
    }

    /// Whether it is a one-sided operation that moves data.
    pub fn is_operation(self) -> bool {
        matches!(
            self,
            Call::Put
                | Call::Get
                | Call::Accumulate
                | Call::GetAccumulate
                | Call::FetchAndOp
                | Call::CompareAndSwap
                | Call::PutNotify
                | Call::GetNotify
                | Call::AccumulateNotify
        ) || self.has_request()
    }

    /// The call of a status slot in the segment; `None` for an invalid value.
    pub fn from_word(word: u32) -> Option<Call> {
        NAMES.get(word as usize).map(|(call, _)| *call)
    }
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_stands_at_its_own_number() {
        for (number, (call, _)) in NAMES.iter().enumerate() {
            assert_eq!(*call as usize, number);
        }
    }
}

//! Memory: the segment, its layout, its allocator, checked spans.
//!
//! Invariants:
//! 1. A shortage of memory is an error and never a SIGBUS. In a memory file of a kernel that overcommits, a
//!    page always gets memory when it is touched. Elsewhere every byte is reserved before (`fallocate`, or
//!    `MADV_POPULATE_WRITE` where huge pages are wanted or the program has closed the descriptor).
//! 2. Offsets that were read from the segment are checked before they are used: a damaged segment
//!    leads to [`crate::Error::Damaged`], never outside the mapping.
//! 3. A page that lies wholly inside a free block, after its header, is a hole of the file: it costs
//!    no memory and reads as zero.
//! 4. No Rust reference to window memory exists, except the slice of an exclusively locked own part
//!    (`epoch::local`) and the atomic of one element during its update (`datatype::machine`). Everything
//!    else uses raw pointers.

mod alloc_error;
mod biased;
mod check_words;
mod comm_words;
mod copy;
mod directory;
mod heap;
mod layout;
mod message;
mod notice;
mod numa;
mod os;
mod parts;
mod pattern;
mod placement;
mod record;
mod recorder;
mod segment;
mod shards;
mod size_class;
mod slot;
mod span;
mod staging;
mod statistics_words;
mod thread;
mod trace_words;

pub(crate) use alloc_error::{AllocError, Limit};
pub(crate) use biased::BiasedGuard;
pub use biased::BiasedMutex;
pub(crate) use check_words::{
    AttachedWords, ChainWords, CheckTables, CheckWords, ConflictWords, FreeList,
    MoreOperationWords, OperationWords, OriginWords, PageHead, PageWords, PartWords, SiteWords,
};
pub(crate) use comm_words::{CommWords, CreationFailure, RegistryWords, STAGE_INSIDE, StagingSlot};
pub(crate) use copy::{
    ONE_STORE, copy, copy_overlapping, copy_past, copy_strip, copy_strip_past, copy_to_words,
    is_one_store, is_same, read_span,
};
pub(crate) use directory::{AttachError, DirectoryWords, Region};
pub(crate) use heap::Heap;
pub use layout::Observation;
pub(crate) use layout::{
    GRANULE, MOST_BUFFERS, MOST_LONG, SLOTS, STAGE_LONG, STAGE_REST, SegmentLayout, Stages,
    StagingBuffer, tree_bytes,
};
pub(crate) use message::MessageWords;
pub(crate) use notice::{NoticeBoard, Scope};
pub(crate) use numa::has_several_nodes;
pub(crate) use os::{
    Direction, File, FileKind, Piece, PieceRun, Process, STAT_BYTES, TrackedMemory, admit,
    close_on_exec, duplicate, has_more_rights, is_forked, is_gone, is_known_here, is_only_thread,
    keep_large_blocks, kill_this_process, largest_segment, nonce, notice_forks, own_user,
    page_size, peer_of, peer_of_number, read_all_here, read_here, spawn_deaf, stat_of,
    takes_output, thread_id, total_memory, write_here,
};
pub use os::{Usage, reserve};
pub(crate) use parts::{PartOf, Parts};
pub(crate) use pattern::{Offsets, Pattern, Steps, Strip};
pub(crate) use placement::SegmentPlacement;

pub(crate) use record::{Recording, Write, WriteRecords};
pub(crate) use recorder::{CallRecorder, LAST_CALLS, RecordedCall};
pub(crate) use segment::{Advice, Mapping, OTHER_VERSION, Placed, PlacedSlice, Segment};
pub(crate) use shards::Shards;
pub(crate) use slot::{CallWord, RankSlot, WindowHeader};
pub(crate) use span::{Part, Span, range_at};
pub(crate) use staging::ReadAs;
pub(crate) use statistics_words::{
    CallStatisticsWords, CauseWords, HoldStatisticsWords, StatisticsWords, TextWords, TimesWords,
    TrafficWords, WaitStatisticsWords, WindowStatisticsWords,
};
pub use trace_words::TraceEvent;
pub(crate) use trace_words::{TraceBlock, TracePlace, TraceRing};

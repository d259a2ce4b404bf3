//! Where everything lies in the block of a window.
//!
//! ```text
//! header (name) | words of the window | words of each rank | tree of the fence |
//! notification counters of each rank | directory of each rank | parts
//! ```
//!
//! The tree, notification counters, directories and parts exist only in the windows that need them.

use crate::call::Call;
use crate::check::CheckedWindow;
use crate::comm::Comm;
use crate::error::{Error, Place, Result};
use crate::group::Rank;
use crate::shm::{DirectoryWords, WindowHeader, page_size, tree_bytes};
use crate::sync::notify::NotifyCounter;
use crate::sync::{RankWords, WindowWords};

/// What follows the words in the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follows {
    /// Nothing: the memory is the user's.
    Nothing,
    /// A directory of attachments for each rank.
    Directories,
    /// The ranks' parts, each on cache lines (or pages) of its own.
    Parts {
        /// Alignment that every part has at least, in bytes; a power of two.
        align: u64,
    },
    /// The ranks' parts, each where the last one ends.
    OneRun {
        /// Alignment of the first at least, in bytes; a power of two.
        align: u64,
    },
}

/// What one rank requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartRequest {
    pub(super) bytes: u64,
    pub(super) disp_unit: u64,
    /// Notification counters.
    pub(super) notifications: u64,
}

/// Offsets within the block, the same on all ranks.
pub(super) struct WindowPlan {
    pub(super) words: u64,
    pub(super) ranks: u64,
    /// The lines of the tree in which arrivals at fences are combined: where they are, and their number.
    pub(super) tree: (u64, u32),
    /// Where the notification counters of all ranks are, one rank's behind another's.
    pub(super) counters: u64,
    /// Of those counters, the first of each rank, and after the last rank the number of all. Empty
    /// without counters.
    pub(super) first_counters: Box<[u64]>,
    /// Where the clocks and the shadow of a checked window are.
    pub(super) check: u64,
    /// Where the directories are; of no meaning in other windows.
    pub(super) directories: u64,
    /// Bytes before the parts.
    head: u64,
    /// Places the first part.
    placer: PartPlacer,
    /// Alignment of the parts' common start.
    align: u64,
    /// Bytes of the block.
    pub(super) total: u64,
    /// Whether each rank reserves the pages of its own part.
    pub(super) by_owners: bool,
}

/// Bytes of a window from which on ranks may reserve their own parts.
const LARGE: u64 = if cfg!(feature = "test-hooks") { 1 << 14 } else { 1 << 20 };
/// Part sizes add up to less.
const MOST_BYTES: u64 = i64::MAX as u64 / 2;
/// Alignment of a part: a pair of cache lines.
pub(super) const LINES: u64 = 128;

impl WindowPlan {
    /// All ranks compute the same plan, or the same error, from the same requests, one of each rank. The plan
    /// has no list of them: it would be as long as the job is large.
    pub(super) fn new(
        comm: &Comm,
        call: Call,
        requests: impl Iterator<Item = PartRequest> + Clone,
        follows: Follows,
    ) -> Result<WindowPlan> {
        let n = u64::from(comm.size());
        let words = size_of::<WindowHeader>() as u64;
        let ranks = (words + size_of::<WindowWords>() as u64)
            .next_multiple_of(align_of::<RankWords>() as u64);
        let tree = ranks + n * size_of::<RankWords>() as u64;
        let lines = comm.context().segment.layout().tree_lines(comm.size());
        let counters = tree + tree_bytes(lines);
        let first_counters = first_counters(requests.clone())?;
        let counted = first_counters.last().copied().unwrap_or_default();
        let directories = (counters + counted * size_of::<NotifyCounter>() as u64)
            .next_multiple_of(LINES.max(align_of::<DirectoryWords>() as u64));
        let check = match follows {
            Follows::Directories => directories + n * size_of::<DirectoryWords>() as u64,
            _ => directories,
        };
        let is_checked = comm.context().checker().is_some();
        let head = match is_checked {
            true => {
                let parts = requests.clone().map(|one| one.bytes);
                let clocks = comm.context().segment.layout().clocks;
                let bytes = CheckedWindow::bytes(comm.size(), clocks, parts);
                (check + bytes.min(MOST_BYTES)).next_multiple_of(LINES)
            }
            false => check,
        };
        let most = match follows {
            Follows::OneRun { align } => align.max(LINES),
            _ => LINES,
        };
        let placer = PartPlacer { call, rank: comm.rank().0, follows, most, end: 0 };
        let mut parts = placer;
        (0..).zip(requests).try_for_each(|(rank, one)| parts.place(rank, one).map(drop))?;
        let PartPlacer { most, end, .. } = parts;
        // The block is aligned to 128 bytes only; the rest of the alignment is added here.
        let total = head + end + (most - LINES);
        let align = most;
        let by_owners = false;
        Ok(WindowPlan {
            words,
            ranks,
            tree: (tree, lines),
            counters,
            first_counters,
            check,
            directories,
            head,
            placer,
            align,
            total,
            by_owners,
        })
    }

    /// Start behind `first`, bytes, and displacement unit of each rank, from the requests of which the plan was
    /// made.
    pub(super) fn parts(
        &self,
        requests: impl Iterator<Item = PartRequest>,
    ) -> impl Iterator<Item = Result<(u64, u64, u32)>> {
        let mut placer = self.placer;
        (0..).zip(requests).map(move |(rank, one)| placer.place(rank, one))
    }

    /// Bytes of all parts and of what lies between them.
    pub(super) fn bytes(&self) -> u64 {
        self.total - self.head - (self.align - LINES)
    }

    /// This plan, where each rank reserves the pages of its own part: if it was `asked` for, or is `better`
    /// for large windows and this is one.
    pub(super) fn by_owners(self, asked: bool, better: bool) -> WindowPlan {
        WindowPlan { by_owners: asked || better && self.bytes() >= LARGE, ..self }
    }

    /// The bytes of the block that the rank reserves that takes it.
    pub(super) fn front(&self) -> u64 {
        if self.by_owners { self.total - self.bytes() } else { self.total }
    }

    /// Where the parts begin, in a block at `block`.
    pub(super) fn first(&self, block: u64) -> u64 {
        (block + self.head).next_multiple_of(self.align)
    }
}

/// How many counters the ranks before each rank have, and how many all have; nothing if none has any. Each
/// asks for less than 2³² of them, so the sum and its bytes fit.
fn first_counters(requests: impl Iterator<Item = PartRequest> + Clone) -> Result<Box<[u64]>> {
    let numbers = || requests.clone().map(|one| one.notifications);
    match numbers().max().unwrap_or_default() {
        0 => return Ok(Box::default()),
        1..=0xFFFF_FFFF => {}
        _ => return Err(Error::Damaged { what: "requests for a window" }),
    }
    let ends = numbers().scan(0, |end, number| {
        *end += number;
        Some(*end)
    });
    Ok(std::iter::once(0).chain(ends).collect())
}

/// Places one part behind the other.
#[derive(Clone, Copy)]
struct PartPlacer {
    call: Call,
    rank: u32,
    follows: Follows,
    /// Strictest alignment so far.
    most: u64,
    end: u64,
}

impl PartPlacer {
    fn place(&mut self, rank: u32, request: PartRequest) -> Result<(u64, u64, u32)> {
        let at = || Place { call: self.call, window: None, rank: Some(Rank(self.rank)) };
        let PartRequest { bytes, disp_unit: unit, .. } = request;
        let disp_unit = i32::try_from(unit).ok().filter(|unit| *unit > 0);
        let refused = || Error::DispUnit { at: at(), rank: Rank(rank), disp_unit: unit };
        let disp_unit = disp_unit.ok_or_else(refused)? as u32;
        let align = match self.follows {
            Follows::Nothing | Follows::Directories => return Ok((0, bytes, disp_unit)),
            // A part of a page or more has its pages for itself.
            Follows::Parts { align } if bytes >= page_size() => align.max(page_size()),
            Follows::Parts { align } => align.max(LINES),
            Follows::OneRun { .. } => 1,
        };
        let start = self.end.next_multiple_of(align);
        let end = start.checked_add(bytes).filter(|end| *end <= MOST_BYTES);
        self.end = end.ok_or_else(|| Error::Size {
            at: at(),
            problem: format!("with the {bytes} bytes of rank {rank} the window exceeds 2^62 bytes"),
        })?;
        self.most = self.most.max(align);
        Ok((start, bytes, disp_unit))
    }
}

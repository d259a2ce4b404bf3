//! What the ranks of a checked job share (`rmarun --check`): the lines of the program, the operations that
//! the shadows of windows name, and the conflicts that were found. Tables grow and shrink only under the lock of
//! [`CheckWords`]. Zero bytes are the initial state.

use crate::prim::{Word32, Word64};
use crate::sync::{Line, RobustExclusion};

/// The head of these tables.
#[repr(C, align(128))]
pub(crate) struct CheckWords {
    pub(crate) lock: Line<RobustExclusion>,
    /// How many of the program's lines are known.
    pub(crate) sites: Word32,
    /// How many conflicts are recorded.
    pub(crate) conflicts: Word32,
    /// The operations that have been in use, and how many of them are free: their numbers are in a table.
    pub(crate) operations: FreeList,
    /// The lists of entries that have been in use, and the first free one of them, or zero.
    pub(crate) chains: FreeList,
    /// 1 when one of the tables is full, so that conflicts may be missed.
    pub(crate) is_full: Word32,
    /// The most slots for threads that a rank has had in use; zero of one.
    pub(crate) slots: Word64,
}

/// A table whose records are reused.
#[repr(C)]
pub(crate) struct FreeList {
    pub(crate) used: Word32,
    pub(crate) free: Word32,
}

/// A line of the program, the calls around a store, or the name of a window.
#[repr(C)]
pub(crate) struct SiteWords {
    /// The end of the file's path, or of the name.
    pub(crate) file: [Word64; SiteWords::FILE_BYTES / 8],
    pub(crate) line: Word32,
    pub(crate) column: Word32,
}

impl SiteWords {
    pub(crate) const FILE_BYTES: usize = 248;
}

/// An operation, or several of one line that are completed together: one cache line. The rest of it is in [`MoreOperationWords`].
#[repr(C, align(64))]
pub(crate) struct OperationWords {
    /// A rank of the job.
    pub(crate) rank: Word32,
    /// Its call, its kind, and its datatype.
    pub(crate) what: Word32,
    /// The number of its line, from 1 on; zero if that is unknown.
    pub(crate) site: Word32,
    /// How many entries of shadows name it.
    pub(crate) entries: Word32,
    /// The slot of its thread, and the clock of that, when it was issued.
    pub(crate) issued: Word64,
    /// The same when its own thread completed it; zero until then.
    pub(crate) completed: Word64,
    /// The block of the window in whose shadow it is; zero in a free record.
    pub(crate) window: Word64,
    /// The block of the window by which it accesses these bytes.
    pub(crate) by: Word64,
    /// 1 if all threads of its rank count as knowing that it is complete.
    pub(crate) is_settled: Word32,
    /// 1 if a word of [`MoreOperationWords`] may not be zero.
    has_more: Word32,
    /// 1 if another rank has fetched an element after it, by an accumulate; 2 if that counts no more.
    observation: Word32,
    _unused: Word32,
}

/// What few operations have.
#[repr(C)]
pub(crate) struct MoreOperationWords {
    /// The same as [`OperationWords::completed`] of other threads of its rank that have completed it without knowing of the
    /// others.
    completed_by_others: [Word64; MoreOperationWords::OTHERS],
    /// Of a store, the same when it became visible in the public copy of the separate model.
    public: Word64,
    /// While it is open: how many of its entries no shadow has yet. Only its rank reads and changes it, at most accesses: it is
    /// not on the line that other ranks read at theirs.
    held: Word32,
    /// The element that another rank has fetched after it, by a number that is not zero; that rank; and its stamp from which
    /// on it has seen the element, zero before.
    observed_by: Word32,
    observed: Word64,
    seen_since: Word64,
}

impl MoreOperationWords {
    pub(crate) const OTHERS: usize = 4;

    /// The rank of the job that has observed the element has seen it, since that stamp of its own.
    pub(crate) fn have_seen(&self, element: u64, (rank, since): (u32, u64)) {
        if self.observed.load() == element && self.observed_by.load() == rank {
            self.seen_since.store(since);
        }
    }
}

impl OperationWords {
    /// Entries that an open operation is given together, so that most accesses count without a locked instruction.
    const HELD: u32 = 1 << 16;

    /// The stamps of its completions.
    pub(crate) fn completions<'w>(
        &'w self,
        more: &'w MoreOperationWords,
    ) -> impl Iterator<Item = u64> + use<'w> {
        let has_more = self.has_more.load() != 0;
        let others = more.completed_by_others.iter().filter(move |_| has_more);
        std::iter::once(&self.completed).chain(others).map(Word64::load).filter(|stamp| *stamp != 0)
    }

    /// Whether `is_one` of these stamps.
    #[inline]
    pub(crate) fn is_complete_by(
        &self,
        more: &MoreOperationWords,
        is_one: impl Fn(u64) -> bool,
    ) -> bool {
        let completed = self.completed.load();
        completed != 0 && is_one(completed)
            || self.has_more.load() != 0 && self.completions(more).any(is_one)
    }

    /// Another thread has completed it with that stamp. Returns whether there was a word for it.
    pub(crate) fn complete_by_other(&self, more: &MoreOperationWords, stamp: u64) -> bool {
        let free = more.completed_by_others.iter().find(|stamp| stamp.load() == 0);
        if let Some(word) = free {
            word.store(stamp);
            self.has_more.store(1);
        }
        free.is_some()
    }

    /// It is visible in the public copy of the separate model, since that stamp.
    pub(crate) fn publish(&self, more: &MoreOperationWords, stamp: u64) {
        more.public.store(stamp);
        self.has_more.store(1);
    }

    /// The stamp of [`OperationWords::publish`]; zero before.
    pub(crate) fn published(&self, more: &MoreOperationWords) -> u64 {
        more.public.load()
    }

    /// A rank fetches an element after it. Returns whether none has fetched one before. Under the lock of the element's page.
    pub(crate) fn is_observed_first(
        &self,
        more: &MoreOperationWords,
        (rank, element): (u32, u64),
    ) -> bool {
        let is_first = self.observation.compare_exchange(0, 1).is_ok();
        if is_first {
            more.seen_since.store(0);
            more.observed_by.store(rank);
            more.observed.store(element);
        }
        is_first
    }

    /// Whether a rank has fetched an element after it.
    #[inline]
    pub(crate) fn is_observed(&self) -> bool {
        self.observation.load() == 1
    }

    /// That counts no more, nor does a later fetch: the rank that has fetched may store its stamp at this moment.
    #[cold]
    pub(crate) fn forget_observed(&self) {
        self.observation.store(2);
    }

    /// The element that a rank has seen, that rank, and its stamp then.
    pub(crate) fn seen(&self, more: &MoreOperationWords) -> Option<(u64, u32, u64)> {
        let since = more.seen_since.load();
        let is_seen = self.is_observed() && since != 0;
        is_seen.then(|| (more.observed.load(), more.observed_by.load(), since))
    }

    /// It is open, and has entries that [`OperationWords::take_held`] takes, besides another one.
    pub(crate) fn hold(&self, more: &MoreOperationWords) {
        self.entries.store(1 + Self::HELD);
        more.held.store(Self::HELD);
    }

    /// A granule names the open operation once more.
    #[inline]
    pub(crate) fn take_held(&self, more: &MoreOperationWords) {
        let mut held = more.held.load();
        if held == 0 {
            self.entries.fetch_add(Self::HELD);
            held = Self::HELD;
        }
        more.held.store(held - 1);
    }

    /// Returns how many of its entries no shadow has, which are the caller's from now on.
    pub(crate) fn end_holding(more: &MoreOperationWords) -> u32 {
        let held = more.held.load();
        more.held.store(0);
        held
    }

    /// It is not complete.
    pub(crate) fn begin(&self, more: &MoreOperationWords) {
        more.held.store(0);
        self.completed.store(0);
        self.is_settled.store(0);
        if self.observation.load() != 0 {
            more.observed.store(0);
            self.observation.store(0);
        }
        if self.has_more.load() != 0 {
            more.completed_by_others.iter().for_each(|stamp| stamp.store(0));
            more.public.store(0);
            self.has_more.store(0);
        }
    }
}

/// More entries of a granule than fit its own words.
#[repr(C)]
pub(crate) struct ChainWords {
    pub(crate) entries: [Word32; ChainWords::ENTRIES],
    /// How many granules have the chain that begins here.
    pub(crate) granules: Word32,
    /// The number of the next one, or zero; of a free record, the next free one.
    pub(crate) next: Word32,
}

impl ChainWords {
    pub(crate) const ENTRIES: usize = 6;
}

/// One rank's part. What describes its pages changes under their locks; attachments and the records of its locks under
/// `lock`.
#[repr(C, align(128))]
pub(crate) struct PartWords {
    pub(crate) lock: Line<RobustExclusion>,
    /// Each of that of some pages.
    pub(crate) pages: [Line<RobustExclusion>; PartWords::LOCKS],
    /// 1 while stores are looked for; 2 if they no longer are; 3 before the program knows where the part is, and so cannot store
    /// there. Only the owner makes it 3, and 1 of that.
    pub(crate) state: Word32,
    /// The number of the owner's latest call before which it has looked for stores, among the lines.
    pub(crate) site: Word32,
    /// The clock of the owner when that call returned.
    pub(crate) since: Word64,
    /// The numbers of the latest two fences, from 1 on, by which the owner asserts that no operation updates the part,
    /// and their lines.
    pub(crate) noput_fences: [Word32; 2],
    pub(crate) noput_sites: [Word32; 2],
    /// The block of the first attachment of a dynamic window; zero without one.
    pub(crate) attached: Word64,
    /// The owner's latest store, in a job that is checked by the separate model.
    pub(crate) latest_store: Word32,
    /// 1 if the owner asserts it by its post, and that line.
    pub(crate) noput: Word32,
    pub(crate) noput_site: Word32,
    /// 1 while the owner waits in a call that it has compared the part for, and stores nothing. Changes under the locks of all
    /// pages.
    pub(crate) rests: Word32,
    /// 1 while the owner waits for the locks of all pages, or has them. It orders nothing.
    pub(crate) is_awaited: Word32,
}

impl PartWords {
    pub(crate) const LOCKS: usize = 16;
}

/// Memory that a rank has attached to a dynamic window, before the tables of its accesses.
#[repr(C, align(128))]
pub(crate) struct AttachedWords {
    /// The block of another one, or zero.
    pub(crate) next: Word64,
    /// The most bytes that the tables have memory for.
    pub(crate) capacity: Word64,
    /// How many attachments have had the block.
    pub(crate) number: Word64,
    /// In the segment the offset of the memory, and one; otherwise zero.
    pub(crate) place: Word64,
    /// Address in the owner's process, and bytes; none after detach.
    pub(crate) address: Word64,
    pub(crate) bytes: Word64,
}

/// What a rank has done as an origin of a target.
#[repr(C)]
pub(crate) struct OriginWords {
    /// Its latest locks: shared, exclusive, and the same with NOCHECK.
    pub(crate) locks: [HeldWords; 4],
    /// The clock of the target at its latest post for the origin, and the numbers of posts and starts.
    pub(crate) posted: Word64,
    pub(crate) posts: Word32,
    pub(crate) starts: Word32,
    /// Its latest update, as of [`PartWords::latest_store`].
    pub(crate) latest_update: Word32,
    pub(crate) _unused: Word32,
}

/// A lock that a rank holds or has held.
#[repr(C)]
pub(crate) struct HeldWords {
    /// Its call; zero of none.
    pub(crate) what: Word32,
    /// The number of its line.
    pub(crate) site: Word32,
    /// The clock of the rank when it released the lock; zero until then.
    pub(crate) released: Word64,
}

/// What most operations need to know of a page of a part. Heads lie together, so that they stay in the cache, and their memory
/// pages in that of addresses.
#[repr(C, align(64))]
pub(crate) struct PageHead {
    /// 1 when an operation has accessed the page.
    pub(crate) is_accessed: Word32,
    /// 1 when blocks have words of their own, and these words are zero.
    pub(crate) has_blocks: Word32,
    /// A bit for each block: set when its granules have words of their own, and those of the block are zero.
    pub(crate) has_granules: Word32,
    /// The operations that stand for stores.
    pub(crate) numbers: [Word32; PageWords::RECORDS],
    /// The words of each granule, for all of its bytes.
    pub(crate) few: [Word32; PageWords::FEW],
    pub(crate) more: [Word32; PageWords::MORE],
    /// 1 when an operation has written to the page, and not to its copy, while its owner rests.
    pub(crate) is_stale: Word32,
    pub(crate) _unused: [Word32; 5],
    /// For each block the first words of its granules; the others are in [`PageWords`].
    pub(crate) blocks: [[Word32; PageWords::FEW]; PageWords::BLOCKS],
}

impl PageHead {
    /// Whether the page has been accessed, and only the words of its blocks and granules say by what: no store is recorded.
    #[inline]
    pub(crate) fn has_only_entries(&self) -> bool {
        self.has_entries() && self.stores() == [0; PageWords::RECORDS]
    }

    /// The same, beside the stores that are recorded.
    #[inline]
    pub(crate) fn has_entries(&self) -> bool {
        self.is_accessed.load() != 0 && self.has_blocks.load() != 0
    }

    /// The operations that stand for stores; zero of none.
    #[inline]
    pub(crate) fn stores(&self) -> [u32; PageWords::RECORDS] {
        self.numbers.each_ref().map(Word32::load)
    }

    /// Whether the granules of a block have words of their own.
    #[inline]
    pub(crate) fn is_divided(&self, block: usize) -> bool {
        self.has_granules.load() >> block & 1 == 1
    }
}

/// A page of a part.
#[repr(C)]
pub(crate) struct PageWords {
    /// For each operation that stands for stores the bytes that it has changed, a bit for each.
    pub(crate) bytes: [[Word64; PageWords::WORDS / 8]; PageWords::RECORDS],
    /// For each block the words of its granules that are not in [`PageHead`].
    pub(crate) more: [[Word32; PageWords::MORE]; PageWords::BLOCKS],
    /// The contents, as operations and the stores that are known have left them.
    pub(crate) copy: [Word64; PageWords::WORDS],
}

impl PageWords {
    pub(crate) const BYTES: usize = 4096;
    pub(crate) const WORDS: usize = Self::BYTES / 8;
    pub(crate) const RECORDS: usize = 3;
    pub(crate) const BLOCKS: usize = 16;
    pub(crate) const BLOCK_BYTES: usize = Self::BYTES / Self::BLOCKS;
    /// Words of a granule: the first ones, the others, and all.
    pub(crate) const FEW: usize = 2;
    pub(crate) const MORE: usize = 2;
    pub(crate) const ENTRIES: usize = Self::FEW + Self::MORE;
}

/// Two accesses that conflict.
#[repr(C)]
pub(crate) struct ConflictWords {
    /// The earlier access in the order of the checks, and the later one: line, call and kind, rank of the job, and its
    /// thread from 1 on, or zero where a rank counts as one thread.
    pub(crate) sites: [Word32; 2],
    pub(crate) what: [Word32; 2],
    pub(crate) ranks: [Word32; 2],
    pub(crate) threads: [Word32; 2],
    /// The rank of the window whose part they access.
    pub(crate) target: Word32,
    /// The number of the window's name among the lines; zero if that table was full.
    pub(crate) window: Word32,
    /// Why nothing orders them, by a number.
    pub(crate) reason: Word32,
    /// How often it was found.
    pub(crate) count: Word32,
    /// The first bytes that both access.
    pub(crate) start: Word64,
    pub(crate) bytes: Word64,
}

/// The numbers of records, and where each table begins, from the first on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CheckTables {
    pub(crate) words: u64,
    pub(crate) sites: u64,
    pub(crate) conflicts: u64,
    pub(crate) operations: u64,
    pub(crate) more_of_operations: u64,
    /// The numbers of free operations, the one that is taken next last. A list through their records would cost a cache miss for
    /// each.
    pub(crate) free_operations: u64,
    pub(crate) chains: u64,
    /// For each rank what its threads know together: what is behind it for all is forgotten.
    pub(crate) known: u64,
    /// How many operations and chains there are.
    pub(crate) most_operations: u32,
    pub(crate) most_chains: u32,
}

impl CheckTables {
    /// Lines of the program.
    pub(crate) const SITES: u32 = 4096;
    /// Pairs of lines that conflict.
    pub(crate) const CONFLICTS: u32 = 1024;
    /// Operations for each rank: memory is used for those that have been in use.
    const OPERATIONS: u32 = 1 << 18;
    /// More than the number of any operation or chain. An entry has a number and eight bits; its word has one bit more.
    pub(crate) const NUMBERS: u32 = 1 << 23;
    const CHAINS: u32 = 1 << 14;

    /// Where the words begin that the lock guards.
    #[cfg(feature = "test-hooks")]
    pub(crate) fn unlocked(&self) -> u64 {
        self.words + std::mem::offset_of!(CheckWords, sites) as u64
    }

    /// Numbers of a clock in a job of that many ranks: for each some slots for threads, fewer in large jobs, because each
    /// window has as many clocks as ranks.
    pub(super) fn clocks(ranks: u32) -> u32 {
        ranks * (128 / ranks).clamp(1, 16)
    }

    /// The tables of a job of that many ranks; `place` places that many bytes.
    pub(super) fn new(ranks: u32, mut place: impl FnMut(u64) -> u64) -> CheckTables {
        let most_operations = Self::OPERATIONS.saturating_mul(ranks).min(Self::NUMBERS - 1);
        let most_chains = Self::CHAINS.saturating_mul(ranks).min(Self::NUMBERS - 1);
        let bytes = |records: u32, size: usize| u64::from(records) * size as u64;
        CheckTables {
            words: place(size_of::<CheckWords>() as u64),
            sites: place(bytes(Self::SITES, size_of::<SiteWords>())),
            conflicts: place(bytes(Self::CONFLICTS, size_of::<ConflictWords>())),
            operations: place(bytes(most_operations, size_of::<OperationWords>())),
            more_of_operations: place(bytes(most_operations, size_of::<MoreOperationWords>())),
            free_operations: place(bytes(most_operations, size_of::<Word32>())),
            chains: place(bytes(most_chains, size_of::<ChainWords>())),
            known: place(
                u64::from(ranks) * u64::from(Self::clocks(ranks)) * size_of::<Word64>() as u64,
            ),
            most_operations,
            most_chains,
        }
    }
}

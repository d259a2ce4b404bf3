//! The one table of offsets in the segment.

use super::check_words::CheckTables;
use super::comm_words::{CommWords, INSIDE_AT, RegistryWords};
use super::segment::Header;
use super::shards::ShardWords;
use super::slot::RankSlot;
use super::statistics_words::{StatisticsWords, TrafficWords};
use super::trace_words::TraceRing;
use crate::prim::{CachePadded, ParkWord, PlacementWords, Word32, Word64};
use crate::sync::channel::MailWords;
use crate::sync::shards::RankAnnouncements;
use crate::sync::{MOST_WITHOUT_TREE, TREES, TreeLine, tree_lines};

/// Slots of a communicator's staging area at most. Consecutive collectives use them in turn. Ranks that
/// share a core change turns once for half of them.
pub(crate) const SLOTS: usize = 64;
/// The slots of communicators with up to that many ranks, used in turn, and each rank's staging buffers for what does not
/// fit a slot. Each process maps the slots of all ranks.
const SIZES: [(u32, u64, u64); 3] = [(8, SLOTS as u64, 8), (64, 16, 4), (u32::MAX, 4, 4)];
/// The staging buffers of each rank in communicators of the first size, in segments of that size. A root that
/// shares a core with other ranks goes ahead farther.
const IN_LARGE: (u64, u64) = (1 << 30, 32);
/// Bytes of such a buffer.
pub(crate) const STAGE_REST: u64 = 4096;
/// Ranks of a communicator at most that stage longer data, too.
pub(crate) const MOST_LONG: u32 = SIZES[0].0;
/// Bytes of a buffer for longer data, with a list of parts. A rank has as many as of the others, a communicator from its
/// first long collective on.
pub(crate) const STAGE_LONG: u64 = (64 << 10) + GRANULE;
/// A rank stages the number of a buffer beside what it calls, in five bits.
pub(crate) const MOST_BUFFERS: u64 = 32;
/// Words by which tests signal between ranks without using what they test.
pub(crate) const SIGNALS: u64 = 16;
/// Unit of the allocator: a pair of cache lines, so that neighbours never share one.
pub(crate) const GRANULE: u64 = 128;
/// Binary logarithm of a shard's bytes: 64 KiB, so that bulk updates in different parts of a window
/// rarely conflict, and a large one needs few shards.
pub(crate) const SHARD_SHIFT: u32 = 16;
/// Changes whenever the meaning of the bytes changes.
pub(crate) const VERSION: u32 = 24;

/// Offsets in bytes from the start of the segment, for a job of `ranks` ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SegmentLayout {
    pub(crate) ranks: u32,
    /// More ranks than that combine their arrivals at a barrier, in trees for which there are lines.
    pub(crate) uncombined: u32,
    /// Numbers of a clock, some for each rank; none in a job that is not checked.
    pub(crate) clocks: u32,
    /// Whether operations of a checked job take effect only when a call completes them.
    pub(crate) is_late: bool,
    /// Whether its accesses are also checked by the separate memory model.
    pub(crate) is_separate: bool,
    /// Whether ranks keep their last calls to themselves.
    pub(crate) is_unrecorded: bool,
    /// Whether the segment has space for more staging buffers.
    is_large: bool,
    pub(crate) slots: u64,
    /// The placement of the ranks: the shared words, then one word for each rank.
    pub(crate) places: u64,
    /// The registry of communicators.
    pub(crate) registry: u64,
    /// The world's communicator block; its staging buffers follow at `stages`.
    pub(crate) world: u64,
    pub(crate) signals: u64,
    /// The announcements of each rank.
    pub(crate) announcements: u64,
    pub(crate) shards: u64,
    /// The words by which each rank learns of messages.
    pub(crate) mail: u64,
    pub(crate) stages: u64,
    pub(crate) heap: u64,
    /// Where the tables of an observed job begin.
    pub(super) observed: u64,
    /// The tables of a checked job.
    pub(crate) check: Option<CheckTables>,
    /// What each rank counts; zero in a job that counts nothing.
    pub(super) statistics: u64,
    /// What each rank counts of each rank; zero in such a job, too.
    pub(super) traffic: u64,
    /// How the launcher learns of events, and the events of each rank; zero in a job that is not traced.
    pub(super) trace: u64,
    /// The allocator's arena, which ends with the segment.
    pub(crate) arena: u64,
}

/// What the ranks of a job record about their calls, besides the last ones. Then every call takes its slow path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// Accesses, which are checked for conflicts.
    pub is_checked: bool,
    /// Then also whether operations take effect only when a call completes them.
    pub is_late: bool,
    /// Then also whether accesses are checked by the separate memory model.
    pub is_separate: bool,
    /// How many calls, and for how long.
    pub is_counted: bool,
    /// When each call begins and ends, which the launcher writes to a file.
    pub is_traced: bool,
    /// Not even the last calls: no call takes another path for that.
    pub is_unrecorded: bool,
}

/// The staging buffer of one rank for the collective with that number.
#[derive(Clone, Copy)]
pub(crate) struct StagingBuffer {
    pub(crate) rank: u32,
    pub(crate) number: u64,
}

/// The staging buffers of a communicator's members.
///
/// Every member reads the beginnings of all in every collective. So these are adjacent, in few pages
/// for each member to map; the rest of each buffer follows after all beginnings and the lines of trees.
pub(crate) struct Stages {
    /// The offset of the first.
    pub(crate) at: u64,
    pub(crate) members: u32,
    /// The lines of the trees of all slots.
    pub(crate) lines: u32,
    /// Numbers of a clock; none in a job that is not checked.
    pub(crate) clocks: u32,
    slots: u64,
    buffers: u64,
}

/// Bytes of a buffer's beginning, which lies beside those of the other ranks.
pub(crate) const STAGE_BEGINNING: u64 = GRANULE;

impl Stages {
    fn new(at: u64, members: u32, lines: u32, clocks: u32, is_large: bool) -> Stages {
        let [few, some, many] = SIZES;
        let (_, slots, buffers) = match members {
            ranks if ranks <= few.0 && is_large => (ranks, few.1, IN_LARGE.1),
            ranks if ranks <= few.0 => few,
            ranks if ranks <= some.0 => some,
            _ => many,
        };
        Stages { at, members, lines, clocks, slots, buffers }
    }

    /// How many collectives have a slot at the same time: a power of two.
    #[inline]
    pub(crate) fn slots(&self) -> u64 {
        self.slots
    }

    /// How many buffers a rank has for what does not fit a slot.
    #[inline]
    pub(crate) fn buffers(&self) -> u64 {
        self.buffers
    }

    /// How many beginnings there are.
    pub(crate) fn all_slots(&self) -> u64 {
        u64::from(self.members) * self.slots()
    }

    /// Which of these is that of a buffer.
    #[inline]
    pub(crate) fn slot(&self, stage: StagingBuffer) -> u64 {
        let slot = stage.number & (self.slots() - 1);
        slot * u64::from(self.members) + u64::from(stage.rank)
    }

    /// Bytes of all beginnings.
    pub(crate) fn beginnings(&self) -> u64 {
        self.all_slots() * STAGE_BEGINNING
    }

    /// Where the lines of the trees are.
    pub(crate) fn trees(&self) -> u64 {
        self.at + self.beginnings()
    }

    /// Where the buffers beside the beginnings start.
    #[inline]
    pub(crate) fn rests(&self) -> u64 {
        (self.trees() + tree_bytes(self.lines)).next_multiple_of(GRANULE)
    }

    /// The end of the buffers, where the clocks of a checked job begin.
    fn end_of_buffers(&self) -> u64 {
        self.rests() + u64::from(self.members) * self.buffers() * STAGE_REST
    }

    fn end(&self) -> u64 {
        let clocks = self.slots() * u64::from(self.members) * self.clock_bytes();
        (self.end_of_buffers() + clocks).next_multiple_of(GRANULE)
    }

    fn clock_bytes(&self) -> u64 {
        u64::from(self.clocks) * size_of::<Word64>() as u64
    }

    /// The clock of one rank beside its staging buffer.
    pub(crate) fn clock(&self, stage: StagingBuffer) -> u64 {
        self.end_of_buffers() + self.slot(stage) * self.clock_bytes()
    }

    /// The offset of the contribution that lies in its slot.
    #[inline]
    pub(crate) fn inside(&self, stage: StagingBuffer) -> u64 {
        self.at + self.slot(stage) * STAGE_BEGINNING + INSIDE_AT
    }

    /// Bytes of the buffers for longer data.
    pub(crate) fn long_bytes(&self) -> u64 {
        u64::from(self.members) * self.buffers() * STAGE_LONG
    }

    /// Where a buffer of a rank for longer data is, [`STAGE_LONG`] bytes, of those that begin at `longs`. Whatever the
    /// number, it is one of these.
    #[inline]
    pub(crate) fn long(&self, longs: u64, rank: u32, buffer: u64) -> u64 {
        let buffer = buffer & (self.buffers() - 1);
        longs + (u64::from(rank) * self.buffers() + buffer) * STAGE_LONG
    }

    /// Where a buffer of a rank for other bytes is, [`STAGE_REST`] of them; likewise.
    #[inline]
    pub(crate) fn rest(&self, rank: u32, buffer: u64) -> u64 {
        // A power of two, too.
        let buffer = buffer & (self.buffers() - 1);
        self.rests() + (u64::from(rank) * self.buffers() + buffer) * STAGE_REST
    }
}

/// Bytes of that many lines of a tree.
pub(crate) fn tree_bytes(lines: u32) -> u64 {
    u64::from(lines) * size_of::<TreeLine>() as u64
}

impl SegmentLayout {
    /// Whether the ranks are few enough to write longer data for others to many buffers in turn, if each has a processor.
    pub(crate) fn may_cycle_buffers(&self) -> bool {
        self.ranks <= MOST_LONG
    }

    /// The lines of a tree of `members` ranks; none where each of these counts its own arrivals.
    pub(crate) fn tree_lines(&self, members: u32) -> u32 {
        if members > self.uncombined { tree_lines(members) } else { 0 }
    }

    /// The staging buffers of the world.
    pub(crate) fn stages_of_world(&self) -> Stages {
        self.stages_at(self.stages, self.ranks)
    }

    /// Those of a communicator of `members` ranks whose block is at `block`.
    pub(crate) fn stages_of(&self, block: u64, members: u32) -> Stages {
        self.stages_at(block + size_of::<CommWords>() as u64, members)
    }

    fn stages_at(&self, at: u64, members: u32) -> Stages {
        let lines = self.tree_lines(members);
        let stages = Stages::new(at, members, lines, self.clocks, self.is_large);
        // Each slot has a tree of its own. Only tests combine the arrivals of as few ranks as have more slots.
        let has_trees = stages.slots() <= TREES as u64;
        Stages { lines: if has_trees { stages.lines } else { 0 }, ..stages }
    }

    /// Bytes of the block of a communicator of `members` ranks.
    pub(crate) fn comm_block_bytes(&self, members: u32) -> u64 {
        self.stages_of(0, members).end()
    }

    /// Of a job of that many ranks, in a segment of `bytes` bytes.
    pub(crate) fn new(
        ranks: u32,
        uncombined: u32,
        observed: Observation,
        page: u64,
        bytes: u64,
    ) -> SegmentLayout {
        let Observation { is_checked, is_late, is_separate, is_unrecorded, .. } = observed;
        let Observation { is_counted, is_traced, .. } = observed;
        let is_large = bytes >= IN_LARGE.0;
        let clocks = if is_checked { CheckTables::clocks(ranks) } else { 0 };
        let of_job = SegmentLayout { ranks, uncombined, clocks, is_large, ..Self::default() };
        let start = SegmentLayout { is_late, is_separate, is_unrecorded, ..of_job };
        let (n, of) = (u64::from(ranks), |bytes: usize| bytes as u64);
        let mut end = of(size_of::<Header>());
        let mut place = |bytes: u64, align: u64| {
            let at = u64::next_multiple_of(end, align);
            end = at + bytes;
            at
        };
        let slots = place(n * of(size_of::<RankSlot>()), GRANULE);
        let places = place(of(size_of::<PlacementWords>()) + n * of(size_of::<Word32>()), GRANULE);
        let registry = place(of(size_of::<RegistryWords>()), GRANULE);
        let world = place(of(size_of::<CommWords>()), GRANULE);
        let signals = place(SIGNALS * of(size_of::<CachePadded<ParkWord>>()), GRANULE);
        let announcements = place(n * of(size_of::<RankAnnouncements>()), GRANULE);
        let shards = place(of(size_of::<ShardWords>()), GRANULE);
        // Of each rank, and of the thread that writes to its memory.
        let mail = place(2 * n * of(size_of::<MailWords>()), GRANULE);
        let stages = place(start.stages_of_world().end(), GRANULE);
        let heap = place(of(size_of::<super::heap::HeapWords>()), GRANULE);
        let observed = place(0, GRANULE);
        let check = is_checked.then(|| CheckTables::new(ranks, |bytes| place(bytes, GRANULE)));
        let mut place_if = |is_there, bytes| if is_there { place(bytes, GRANULE) } else { 0 };
        let statistics = place_if(is_counted, n * of(size_of::<StatisticsWords>()));
        // Sparse: a rank that reaches few others touches few pages.
        let traffic = place_if(is_counted, n * n * of(size_of::<TrafficWords>()));
        let trace =
            place_if(is_traced, of(size_of::<MailWords>()) + n * of(size_of::<TraceRing>()));
        let arena = place(0, page);
        SegmentLayout {
            slots,
            places,
            registry,
            world,
            signals,
            announcements,
            shards,
            mail,
            stages,
            heap,
            observed,
            check,
            statistics,
            traffic,
            trace,
            arena,
            ..start
        }
    }

    /// Where a rank counts, in a job that does.
    pub(crate) fn statistics_of(&self, rank: u32) -> Option<u64> {
        let before = u64::from(rank) * size_of::<StatisticsWords>() as u64;
        (self.statistics != 0 && rank < self.ranks).then_some(self.statistics + before)
    }

    /// Where it counts what it moves to and from each rank: the first of `ranks` records.
    pub(crate) fn traffic_of(&self, rank: u32) -> Option<u64> {
        let before = u64::from(rank) * u64::from(self.ranks) * size_of::<TrafficWords>() as u64;
        (self.traffic != 0 && rank < self.ranks).then_some(self.traffic + before)
    }

    /// The words by which the launcher of a traced job learns of events.
    pub(crate) fn trace_mail(&self) -> Option<u64> {
        (self.trace != 0).then_some(self.trace)
    }

    /// Where a rank writes its events, in a job that is traced.
    pub(crate) fn trace_of(&self, rank: u32) -> Option<u64> {
        let before =
            size_of::<MailWords>() as u64 + u64::from(rank) * size_of::<TraceRing>() as u64;
        (self.trace != 0 && rank < self.ranks).then_some(self.trace + before)
    }

    /// The smallest segment that holds the fixed part and a little of the arena.
    pub(crate) fn least_bytes(&self, page: u64) -> u64 {
        self.arena + 16 * page
    }

    /// The offsets by name, for tests that damage the segment.
    #[cfg(feature = "test-hooks")]
    pub(crate) fn regions(&self) -> [(&'static str, u64, u64); 11] {
        [
            ("header", 0, self.slots),
            ("status of the ranks", self.slots, self.places),
            ("places of the ranks", self.places, self.registry),
            ("registry", self.registry, self.world),
            ("the world's block", self.world, self.signals),
            ("announcements", self.announcements, self.shards),
            ("shards", self.shards, self.mail),
            ("mail", self.mail, self.stages),
            ("staging buffers", self.stages, self.heap),
            ("allocator", self.heap, self.arena),
            ("blocks", self.arena, u64::MAX),
        ]
    }

    /// A number that differs between builds whose segments differ: sizes of everything placed.
    pub(crate) fn fingerprint(&self) -> u64 {
        let parts = [
            u64::from(VERSION),
            u64::from(self.ranks),
            u64::from(self.uncombined),
            self.slots,
            self.places,
            self.registry,
            self.world,
            self.signals,
            self.announcements,
            self.shards,
            u64::from(SHARD_SHIFT),
            self.mail,
            self.stages,
            self.heap,
            self.clocks.into(),
            self.statistics,
            self.traffic,
            self.trace,
            self.arena,
            size_of::<crate::sync::WindowWords>() as u64,
            size_of::<crate::sync::RankWords>() as u64,
            size_of::<super::WindowHeader>() as u64,
            size_of::<CommWords>() as u64,
            size_of::<TreeLine>() as u64,
            size_of::<CachePadded<ParkWord>>() as u64,
        ];
        // FNV-1a, 64 bits.
        parts
            .iter()
            .flat_map(|part| part.to_le_bytes())
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            })
    }
}

const _: () = {
    let mut k = 0;
    while k < SIZES.len() {
        let (ranks, slots, buffers) = SIZES[k];
        assert!(slots.is_power_of_two() && buffers.is_power_of_two() && buffers <= MOST_BUFFERS);
        // Each slot has a tree, where there are trees.
        assert!(slots <= TREES as u64 || ranks <= MOST_WITHOUT_TREE);
        k += 1;
    }
    assert!(IN_LARGE.1.is_power_of_two() && IN_LARGE.1 <= MOST_BUFFERS);
    assert!(size_of::<Header>() as u64 <= GRANULE);
    assert!(size_of::<MailWords>() as u64 == GRANULE);
    assert!(size_of::<CachePadded<ParkWord>>() as u64 == GRANULE);
    assert!(size_of::<RankSlot>() as u64 == 44 * GRANULE);
    assert!(std::mem::offset_of!(RankSlot, writing).is_multiple_of(GRANULE as usize));
    assert!(crate::sync::MAX_RANKS <= crate::prim::WaitRecord::MOST_RANKS);
    assert!((size_of::<CommWords>() as u64).is_multiple_of(GRANULE));
    assert!(STAGE_REST.is_multiple_of(GRANULE) && STAGE_LONG.is_multiple_of(GRANULE));
};

/// The synchronisation words of a window.
const _: () = {
    use crate::sync::{Bell, RankWords, WindowWords};
    use std::mem::offset_of;
    assert!(size_of::<RankWords>() as u64 == 3 * GRANULE);
    assert!(align_of::<RankWords>() as u64 == GRANULE);
    // The words that are written once or by this rank alone, and its bell: one line, without hot words.
    let line = offset_of!(RankWords, table);
    assert!(line.is_multiple_of(64) && offset_of!(RankWords, open) < line + 64);
    assert!(offset_of!(RankWords, bell) + size_of::<Bell>() <= line + 64);
    // The headers of the block and of the window are a granule each. With them a window takes less
    // than 512 bytes per rank beside its memory, in small and in large jobs.
    let fixed = size_of::<WindowWords>() + 2 * GRANULE as usize;
    assert!(fixed + 8 * size_of::<RankWords>() < 8 * 512);
    assert!(fixed + 64 * size_of::<RankWords>() < 64 * 512);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_in_order_aligned_and_apart() {
        let sizes = [1, 2, 7, 64, 1000, crate::sync::MAX_RANKS];
        for (ranks, uncombined) in sizes.into_iter().flat_map(|n| [(n, u32::MAX), (n, 8)]) {
            let bytes = if ranks == 7 { 1 << 40 } else { 1 << 20 };
            let (is_checked, is_counted, is_traced) = (ranks < 100, ranks != 7, ranks != 2);
            let observed =
                Observation { is_checked, is_counted, is_traced, ..Observation::default() };
            let layout = SegmentLayout::new(ranks, uncombined, observed, 4096, bytes);
            let counted = layout.statistics_of(ranks - 1);
            let traffic = layout.traffic_of(ranks - 1);
            assert_eq!(counted.is_some(), observed.is_counted);
            assert_eq!(traffic.is_some(), observed.is_counted);
            let row = u64::from(ranks) * size_of::<TrafficWords>() as u64;
            assert!(traffic.is_none_or(|at| at + row <= layout.arena));
            let traced = layout.trace_of(ranks - 1);
            assert_eq!(traced.is_some(), observed.is_traced);
            let order = [
                layout.slots,
                layout.places,
                layout.registry,
                layout.world,
                layout.signals,
                layout.announcements,
                layout.shards,
                layout.mail,
                layout.stages,
                layout.heap,
                layout.observed,
                counted.unwrap_or(layout.observed),
                layout.traffic_of(0).unwrap_or(layout.observed),
                traced.or(layout.traffic_of(0)).unwrap_or(layout.observed),
                layout.arena,
            ];
            assert!(order.is_sorted());
            assert!(order.iter().all(|offset| offset % GRANULE == 0));
            assert!(layout.stages_of_world().end() <= layout.heap);
        }
    }

    #[test]
    fn stages_are_apart_and_fill_their_area() {
        let sizes =
            [(1, 0), (2, 0), (7, 0), (9, 0), (65, 0), (64, tree_lines(64)), (65, tree_lines(65))];
        for (members, lines) in sizes {
            let stages = Stages::new(GRANULE, members, lines, 0, members == 7);
            let mut all = Vec::new();
            if lines > 0 {
                all.push(stages.trees()..stages.rests());
                assert!(stages.rests() - stages.trees() - tree_bytes(lines) < GRANULE);
            }
            for rank in 0..members {
                for number in 5..5 + stages.slots() {
                    let beginning = stages.inside(StagingBuffer { rank, number }) - INSIDE_AT;
                    all.push(beginning..beginning + STAGE_BEGINNING);
                }
                for buffer in 5..5 + stages.buffers() {
                    let rest = stages.rest(rank, buffer);
                    all.push(rest..rest + STAGE_REST);
                }
            }
            all.sort_by_key(|place| place.start);
            assert!(all.windows(2).all(|two| two[0].end == two[1].start));
            assert_eq!((all[0].start, all[all.len() - 1].end), (stages.at, stages.end()));
        }
    }
}

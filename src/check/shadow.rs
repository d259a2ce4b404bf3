//! The accesses of a granule that a later one may conflict with.
//!
//! An entry is the number of an operation and a bit for each byte of the granule. A granule has four words: the first two
//! lie close to those of its neighbours, and the others are looked at only where there are more entries, so that most
//! accesses miss the caches less often.
//! Further entries lie in a chain; the last word then has the chain's number, and no bits. A chain does not change:
//! an access that changes the entries makes another one. So granules that are accessed together share their chain,
//! and those behind each other with the same words are judged together. Where operations have accessed only a whole page, or
//! a whole block of 256 bytes, the page or the block has four such words for all its granules, and these have no entries.

use super::rules::{AccessKind, Rule};
use super::{CheckState, CheckedAccess, Checker, threads};
use crate::prim::{Waiter, Word32};
use crate::shm::{ChainWords, CheckTables, OperationWords, PageWords};
use std::iter::successors;
use std::ops::Range;

/// Bytes of a granule.
pub(super) const GRANULE_BYTES: u64 = 8;
/// Words of a granule.
pub(super) const WORDS: usize = PageWords::ENTRIES;
const LAST: usize = WORDS - 1;
const NUMBER_SHIFT: u32 = 8;
pub(super) const BYTES: u32 = 0xff;
/// How many granules before an access its operations come into the cache.
pub(super) const AHEAD: usize = 8;
/// Records of a chain that are followed: in damaged tables it may have no end.
const MOST_FOLLOWED: usize = 1 << 14;

/// An access of a rank.
pub(super) struct Judging<'c> {
    checker: &'c Checker,
    /// The rank that accesses, and what it knows of the others' clocks.
    rank: u32,
    clock: &'c [u64],
    /// The operation, its kind and its datatype.
    number: u32,
    kind: AccessKind,
    datatype: u32,
    /// The operation of an accumulate, as of [`CheckedAccess`].
    op: u32,
    /// The block of its window.
    by: u64,
    /// Whether it is also judged by the separate model; of an access of the owner, what its private copy has.
    is_separate: bool,
    seen: Option<Vec<u64>>,
}

/// An access of a rank to one granule after the other.
pub(super) struct Accessing<'c> {
    pub(super) checker: &'c Checker,
    waiter: &'c Waiter<'c>,
    of: Judging<'c>,
    /// The latest answers, by the remainder of the number: neighbours mostly have the same entries.
    latest: [(u32, Judgement); 2],
    /// The latest change of words with several entries, by an access to these bytes that conflicts with none of them.
    latest_change: Option<(Entries, u32, Entries)>,
    /// The latest change of words without a chain, by an access to all bytes that conflicts with no entry.
    alike: AlikeWords,
    /// Memory for the entries of a granule.
    scratch: Vec<u32>,
    /// Entries that name the operation from now on, less those that do no more; they are counted at the end.
    own_entries: i64,
    /// Another operation, and entries that name it no more.
    released: (u32, u32),
    /// Operations that no entry names any more, and chains that no granule names.
    freed: (Vec<u32>, Vec<u32>),
}

/// How an earlier access stands to the present one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Judgement {
    pub(super) found: Option<Finding>,
    pub(super) is_replaced: bool,
}

/// What is wrong with two accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// They conflict.
    Conflict,
    /// In the separate model: the earlier one is not visible in the owner's private copy.
    NotPrivate,
    /// The earlier one is not visible in the public copy.
    NotPublic,
    /// The same of accesses to other bytes of the part.
    Disjoint,
}

impl Finding {
    /// Whether the unified model permits them.
    pub(super) fn is_separate(self) -> bool {
        self != Finding::Conflict
    }
}

/// Words before and after an access.
struct AlikeWords {
    before: Entries,
    after: Entries,
    /// How many were changed so, and are counted later.
    times: u32,
}

impl Default for AlikeWords {
    fn default() -> AlikeWords {
        // No words are so: there is no such operation.
        AlikeWords { before: [u32::MAX; WORDS], after: [u32::MAX; WORDS], times: 0 }
    }
}

/// The words of a granule, as numbers.
type Entries = [u32; WORDS];

/// Those of a granule without entries.
const NONE: Entries = [0; WORDS];

/// The words of one granule, or of several that have words together: where there are few entries, as mostly, only the first words
/// have to come into the cache.
#[derive(Clone, Copy)]
pub(super) struct Granule<'w> {
    /// The first entries; the first of them with [`HAS_MORE`] if there are others.
    pub(super) few: &'w [Word32; FEW],
    pub(super) more: &'w [Word32; MORE],
}

/// Granules behind each other.
#[derive(Clone, Copy)]
pub(super) struct Granules<'w> {
    pub(super) few: &'w [[Word32; FEW]],
    pub(super) more: &'w [[Word32; MORE]],
}

/// Entries of a granule with few, and those that it can have besides.
pub(super) const FEW: usize = PageWords::FEW;
pub(super) const MORE: usize = PageWords::MORE;

/// A bit that no entry has.
const HAS_MORE: u32 = CheckTables::NUMBERS << NUMBER_SHIFT;

impl<'w> Granules<'w> {
    pub(super) fn iter(self) -> impl Iterator<Item = Granule<'w>> {
        self.few.iter().zip(self.more).map(|(few, more)| Granule { few, more })
    }

    /// Those of a range, if all exist.
    #[inline]
    pub(super) fn range(self, range: Range<usize>) -> Option<Granules<'w>> {
        Some(Granules { few: self.few.get(range.clone())?, more: self.more.get(range)? })
    }

    /// One of them.
    #[inline]
    pub(super) fn at(self, number: usize) -> Option<Granule<'w>> {
        Some(Granule { few: self.few.get(number)?, more: self.more.get(number)? })
    }

    fn len(self) -> u32 {
        self.few.len() as u32
    }
}

impl Granule<'_> {
    #[inline]
    fn entries(self) -> Entries {
        let [first, second] = self.few.each_ref().map(Word32::load);
        let [third, fourth] = match first & HAS_MORE {
            0 => [0; MORE],
            _ => self.more.each_ref().map(Word32::load),
        };
        [first & !HAS_MORE, second, third, fourth]
    }

    #[inline]
    fn set(self, entries: Entries) {
        let [first, second, more @ ..] = entries;
        let has_more = if more == [0; MORE] { 0 } else { HAS_MORE };
        if has_more != 0 {
            self.more.iter().zip(more).for_each(|(word, entry)| word.store(entry));
        }
        self.few[0].store(first | has_more);
        self.few[1].store(second);
    }

    /// The words come into the cache, to be changed.
    #[inline]
    pub(super) fn expect_update(self) {
        self.few[0].expect_update();
    }
}

/// Whether two have the same words. A comparison as arrays would wait until all words are in memory.
#[inline]
fn are_same(a: &Entries, b: &Entries) -> bool {
    a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

/// The number of the operation of an entry.
fn number_of(entry: u32) -> u32 {
    entry >> NUMBER_SHIFT
}

/// The operations that have accessed some of the bytes `mask` of a granule.
pub(super) fn entries_with<'c>(
    checker: &'c Checker,
    granule: Granule<'_>,
    mask: u32,
) -> impl Iterator<Item = u32> + use<'c> {
    let words = granule.entries();
    let chained = chain_of(words).into_iter().flat_map(|first| chained(checker, first));
    let all = words.into_iter().chain(chained);
    all.filter(move |entry| entry & mask != 0).map(number_of)
}

/// The chain of a granule with these words.
fn chain_of(words: Entries) -> Option<u32> {
    (words[LAST] != 0 && words[LAST] & BYTES == 0).then(|| number_of(words[LAST]))
}

impl<'c> Accessing<'c> {
    /// An access of `rank`, which knows `clock`, by operation `number`.
    pub(super) fn new(
        (checker, waiter): (&'c Checker, &'c Waiter<'c>),
        of_rank: (u32, &'c [u64]),
        number: u32,
        access: &CheckedAccess,
    ) -> Accessing<'c> {
        let by = checker.operation_at(number).by.load();
        Accessing {
            checker,
            waiter,
            of: Judging::new(checker, of_rank, (number, by), access),
            latest: [(0, Judgement::default()); 2],
            latest_change: None,
            alike: AlikeWords::default(),
            scratch: Vec::new(),
            own_entries: 0,
            released: (0, 0),
            freed: (Vec::new(), Vec::new()),
        }
    }

    /// Accesses the bytes `mask` of the first of some granules, and of those behind it that have the same entries:
    /// they get the same ones, too. Calls `found` with the number of the granule, an earlier operation that
    /// conflicts, and the bytes. Returns how many granules those are, and whether the access could be recorded.
    pub(super) fn access<'w>(
        &mut self,
        mut granules: impl Iterator<Item = Granule<'w>>,
        mask: u32,
        mut found: impl FnMut(usize, u32, u32, Finding),
    ) -> (usize, bool) {
        let Some(first) = granules.next() else { return (0, true) };
        let (before, mut conflicts) = (first.entries(), Vec::new());
        let after = self.follow(before, mask, |number, shared, finding| {
            conflicts.push((number, shared, finding));
        });
        let next = after.unwrap_or(before);
        let mut alike = 0;
        for granule in std::iter::once(first).chain(granules) {
            if granule.entries() != before {
                break;
            }
            if next != before {
                granule.set(next);
            }
            alike += 1;
        }
        self.recount(before, next, alike as u32);
        if conflicts.is_empty() && mask == BYTES && next != before {
            self.remember(before, next);
        }
        for at in 0..if conflicts.is_empty() { 0 } else { alike } {
            conflicts.iter().for_each(|(number, shared, of)| found(at, *number, *shared, *of));
        }
        (alike, after.is_some())
    }

    /// [`Accessing::access`] of all bytes of granules behind each other, as long as each has few entries, of which the access
    /// replaces all. Returns how many have.
    pub(super) fn access_each(&mut self, granules: Granules<'_>) -> usize {
        let (mine, mut done) = (self.of.number << NUMBER_SHIFT | BYTES, 0);
        for granule in granules.iter() {
            if let Some(later) = granules.at(done + AHEAD) {
                self.expect(later);
            }
            let [first, second, 0, 0] = granule.entries() else { break };
            let mut is_replaced = |entry: u32| {
                let judgement = self.judge(number_of(entry));
                judgement.is_replaced && judgement.found.is_none()
            };
            if first != 0 && !is_replaced(first) || second != 0 && !is_replaced(second) {
                break;
            }
            for entry in [first, second].into_iter().filter(|entry| *entry != 0) {
                self.release(number_of(entry), 1);
            }
            granule.set([mine, 0, 0, 0]);
            done += 1;
        }
        self.own_entries += done as i64;
        done
    }

    /// [`Accessing::access`] of all bytes of granules that have words together, one of some, if these are the same as at an access
    /// before, which conflicted with nothing. Returns whether they are.
    #[inline]
    pub(super) fn access_alike(&mut self, all: Granules<'_>, at: usize) -> bool {
        let Some(words) = all.at(at) else { return false };
        let AlikeWords { before, after, times } = &mut self.alike;
        let are_alike = are_same(&words.entries(), before);
        if are_alike {
            words.set(*after);
            *times += 1;
        }
        are_alike
    }

    /// An access to all bytes has changed words so, and conflicted with nothing.
    fn remember(&mut self, before: Entries, after: Entries) {
        self.count_alike();
        if chain_of(before).is_none() && chain_of(after).is_none() {
            self.alike = AlikeWords { before, after, times: 0 };
        }
    }

    /// Counts what [`Accessing::access_alike`] has changed.
    fn count_alike(&mut self) {
        let AlikeWords { before, after, times } = std::mem::take(&mut self.alike);
        if times != 0 {
            self.recount(before, after, times);
        }
    }

    /// The operations of a granule with few entries come into the cache.
    #[inline]
    pub(super) fn expect(&self, granule: Granule<'_>) {
        for entry in granule.few {
            let operation =
                self.checker.operations.get(number_of(entry.load() & !HAS_MORE) as usize);
            operation.into_iter().for_each(|operation| operation.what.expect_read());
        }
    }

    /// Calls `found` with each earlier operation on the bytes `mask` of a granule that conflicts, and the bytes.
    pub(super) fn look(
        &mut self,
        granule: Granule<'_>,
        mask: u32,
        mut found: impl FnMut(u32, u32, Finding),
    ) {
        let entries = self.gather(granule.entries());
        for entry in &entries {
            let (number, shared) = (number_of(*entry), entry & mask);
            if shared != 0
                && let Some(finding) = self.judge(number).found
            {
                found(number, shared, finding);
            }
        }
        self.scratch = entries;
    }

    /// Adds an entry of operation `number` for the bytes `mask` of a granule, without judging the others. Returns
    /// whether it could be recorded.
    pub(super) fn add(&mut self, granule: Granule<'_>, number: u32, mask: u32) -> bool {
        let before = granule.entries();
        let mut entries = self.gather(before);
        insert(&mut entries, number, mask);
        let after = self.words_with(before, &entries);
        self.scratch = entries;
        let Some(after) = after else { return false };
        granule.set(after);
        self.recount(before, after, 1);
        true
    }

    /// It is in a part of the separate model. The owner's private copy has what is `seen`.
    pub(super) fn separate(&mut self, seen: Option<Vec<u64>>) {
        (self.of.is_separate, self.of.seen) = (true, seen);
    }

    pub(super) fn kind(&self) -> AccessKind {
        self.of.kind
    }

    /// The number of the operation.
    pub(super) fn number(&self) -> u32 {
        self.of.number
    }

    /// Granules without entries get those of the words that stood for all of them, which then have none.
    pub(super) fn divide(&mut self, whole: Granule<'_>, granules: Granules<'_>) {
        let entries = whole.entries();
        if entries == NONE {
            return;
        }
        granules.iter().for_each(|granule| granule.set(entries));
        whole.set(NONE);
        self.recount(NONE, entries, granules.len());
        self.recount(entries, NONE, 1);
    }

    /// If some granules have the same entries, each for all bytes, the words that stand for all of them get these instead.
    /// Returns whether they have.
    pub(super) fn unite(&mut self, granules: Granules<'_>, whole: Granule<'_>) -> bool {
        let entries = granules.at(0).map_or(NONE, Granule::entries);
        let is_same = |granule: Granule<'_>| granule.entries() == entries;
        if !granules.iter().all(is_same) || !self.are_whole(entries) {
            return false;
        }
        whole.set(entries);
        granules.iter().for_each(|granule| granule.set(NONE));
        self.recount(NONE, entries, 1);
        self.recount(entries, NONE, granules.len());
        true
    }

    /// Whether the entries of a granule are of all its bytes.
    fn are_whole(&mut self, words: Entries) -> bool {
        let entries = self.gather(words);
        let are_whole = entries.iter().all(|entry| entry & BYTES == BYTES);
        self.scratch = entries;
        are_whole
    }

    /// As many entries more name an operation.
    pub(super) fn retain(&mut self, number: u32, entries: u32) {
        match number == self.of.number {
            true => self.own_entries += i64::from(entries),
            false => self.checker.retain(number, entries),
        }
    }

    /// As many entries less name an operation.
    pub(super) fn release(&mut self, number: u32, entries: u32) {
        if number == self.of.number {
            self.own_entries -= i64::from(entries);
        } else if number == self.released.0 {
            self.released.1 += entries;
        } else {
            let (before, entries) = std::mem::replace(&mut self.released, (number, entries));
            self.count_released(before, entries);
        }
    }

    fn count_released(&mut self, number: u32, entries: u32) {
        if entries != 0 && self.checker.release(number, entries) {
            self.freed.0.push(number);
        }
    }

    /// Counts the entries, and frees the operations and chains that nothing names any more, so that they are reused.
    #[inline]
    pub(super) fn finish(&mut self, state: &mut CheckState) {
        self.count_alike();
        let (checker, number, own) = (self.checker, self.of.number, self.own_entries);
        match own {
            0 => {}
            1.. => checker.retain(number, own as u32),
            _ => self.count_released(number, own.unsigned_abs() as u32),
        }
        self.count_released(self.released.0, self.released.1);
        let (operations, chains) = &self.freed;
        if !operations.is_empty() {
            checker.free_all(&mut state.spare, self.waiter, operations);
        }
        if !chains.is_empty() {
            let free = || chains.iter().for_each(|first| free_chain(checker, *first));
            checker.exclusively(self.waiter, free);
        }
    }

    /// The words of a granule after an access to the bytes `mask`; `None` if a table is full. Calls `found` with each
    /// earlier operation that conflicts, and the bytes.
    fn follow(
        &mut self,
        before: Entries,
        mask: u32,
        mut found: impl FnMut(u32, u32, Finding),
    ) -> Option<Entries> {
        let mine = self.of.number << NUMBER_SHIFT | mask;
        // Most granules have one entry or none.
        if let [entry, 0, 0, 0] = before {
            let left = self.left_of(entry, mask, &mut found);
            return Some(match left & BYTES {
                0 => [mine, 0, 0, 0],
                _ if number_of(left) == number_of(mine) => [left | mask, 0, 0, 0],
                _ => [left, mine, 0, 0],
            });
        }
        if let Some((_, _, after)) =
            self.latest_change.filter(|(words, bytes, _)| (*words, *bytes) == (before, mask))
        {
            return Some(after);
        }
        if before[LAST] == 0 {
            let (mut after, mut used, mut mine) = (NONE, 0, mine);
            for entry in before.into_iter().take(LAST).filter(|entry| *entry != 0) {
                let mut left = self.left_of(entry, mask, &mut found);
                if left & BYTES == 0 {
                    continue;
                }
                if number_of(left) == number_of(mine) {
                    (left, mine) = (left | mask, 0);
                }
                after[used] = left;
                used += 1;
            }
            // Another word is free.
            after[used] = mine;
            return Some(after);
        }
        let (mut entries, mut is_fine) = (self.gather(before), true);
        let mut found = |number: u32, shared: u32, finding: Finding| {
            is_fine = false;
            found(number, shared, finding);
        };
        entries.retain_mut(|entry| {
            *entry = self.left_of(*entry, mask, &mut found);
            *entry & BYTES != 0
        });
        insert(&mut entries, self.of.number, mask);
        let after = self.words_with(before, &entries);
        self.scratch = entries;
        self.latest_change = after.filter(|_| is_fine).map(|after| (before, mask, after));
        after
    }

    /// What remains of an entry after an access to the bytes `mask`.
    #[inline]
    fn left_of(&mut self, entry: u32, mask: u32, found: &mut impl FnMut(u32, u32, Finding)) -> u32 {
        let (number, shared) = (number_of(entry), entry & mask);
        if shared == 0 {
            return entry;
        }
        let judgement = self.judge(number);
        if let Some(finding) = judgement.found {
            found(number, shared, finding);
        }
        if judgement.is_replaced { entry & !mask } else { entry }
    }

    /// The entries of a granule with these words.
    fn gather(&mut self, words: Entries) -> Vec<u32> {
        let (mut all, chain) = (std::mem::take(&mut self.scratch), chain_of(words));
        all.clear();
        all.extend(words.iter().take(if chain.is_some() { LAST } else { WORDS }));
        all.extend(chain.into_iter().flat_map(|first| chained(self.checker, first)));
        all.retain(|entry| *entry != 0);
        all
    }

    /// The words of a granule with these entries, which had the words `before`; `None` if a table is full.
    fn words_with(&self, before: Entries, entries: &[u32]) -> Option<Entries> {
        let mut words = [0; WORDS];
        if entries.len() <= WORDS {
            words[..entries.len()].copy_from_slice(entries);
            return Some(words);
        }
        let (own, others) = entries.split_at(LAST);
        words[..LAST].copy_from_slice(own);
        let is_same = |first: &u32| {
            let entries = chained(self.checker, *first).filter(|entry| *entry != 0);
            entries.eq(others.iter().copied())
        };
        let chain = chain_of(before).filter(is_same).or_else(|| self.new_chain(others))?;
        words[LAST] = chain << NUMBER_SHIFT;
        Some(words)
    }

    /// A chain with these entries, which no granule names yet; `None` if the table is full.
    fn new_chain(&self, entries: &[u32]) -> Option<u32> {
        let (checker, list) = (self.checker, &self.checker.words.chains);
        let next = |number: u32| checker.chain_at(number).next.load();
        let make = || {
            let mut first = 0;
            for entries in entries.chunks(ChainWords::ENTRIES).rev() {
                let Some(number) = checker.take(list, checker.chains.len(), next) else {
                    free_chain(checker, first);
                    return None;
                };
                let chain = checker.chain_at(number);
                let padded = entries.iter().copied().chain(std::iter::repeat(0));
                chain.entries.iter().zip(padded).for_each(|(word, entry)| word.store(entry));
                chain.granules.store(0);
                chain.next.store(first);
                first = number;
            }
            Some(first)
        };
        let first = checker.exclusively(self.waiter, make).flatten()?;
        entries.iter().for_each(|entry| checker.retain(number_of(*entry), 1));
        Some(first)
    }

    /// Counts what the words of `granules` granules name, which were `before` and are `after` now.
    fn recount(&mut self, before: Entries, after: Entries, granules: u32) {
        let [old, new] = [before, after].map(chain_of);
        if are_same(&before, &after) {
            return;
        }
        if old.is_none() && new.is_none() {
            let pairs = before.map(number_of).into_iter().zip(after.map(number_of));
            let changed = pairs.filter(|(old, new)| old != new);
            for (_, number) in changed.clone().filter(|(_, new)| *new != 0) {
                self.retain(number, granules);
            }
            for (number, _) in changed.filter(|(old, _)| *old != 0) {
                self.release(number, granules);
            }
            return;
        }
        let entry = |words: Entries, at: usize| match chain_of(words) {
            Some(_) if at == LAST => 0,
            _ => number_of(words[at]),
        };
        let changed = || {
            let both = (0..WORDS).map(|at| (entry(before, at), entry(after, at)));
            both.filter(|(old, new)| old != new)
        };
        for (_, number) in changed().filter(|(_, new)| *new != 0) {
            self.retain(number, granules);
        }
        if let Some(first) = new.filter(|_| old != new) {
            self.checker.chain_at(first).granules.fetch_add(granules);
        }
        for (number, _) in changed().filter(|(old, _)| *old != 0) {
            self.release(number, granules);
        }
        if let Some(first) = old.filter(|_| old != new) {
            let chain = self.checker.chain_at(first);
            if chain.granules.fetch_sub(granules) == granules {
                let checker = self.checker;
                let entries = chained(checker, first).filter(|entry| *entry != 0);
                entries.for_each(|entry| self.release(number_of(entry), 1));
                self.freed.1.push(first);
                self.latest_change = None;
            }
        }
    }

    /// How the operation of an entry stands to this one.
    #[inline]
    pub(super) fn judge(&mut self, number: u32) -> Judgement {
        let latest = &mut self.latest[number as usize % 2];
        if latest.0 != number {
            *latest = (number, self.of.judge(number));
        }
        latest.1
    }
}

impl<'c> Judging<'c> {
    /// The same as [`Accessing::new`], of an operation by the window with the block `by`.
    #[inline(always)]
    pub(super) fn new(
        checker: &'c Checker,
        (rank, clock): (u32, &'c [u64]),
        (number, by): (u32, u64),
        access: &CheckedAccess,
    ) -> Judging<'c> {
        Judging {
            checker,
            rank,
            clock,
            number,
            kind: access.kind,
            datatype: access.datatype.into(),
            op: access.op.into(),
            by,
            is_separate: false,
            seen: None,
        }
    }

    /// [`Accessing::access`] of one granule without a chain, if it conflicts with nothing and is recorded: then calls `forget`
    /// with each operation that a word names no more. Returns whether they name its own one more often than before; `None` if
    /// nothing has changed and nothing is recorded.
    #[inline(always)]
    pub(super) fn access_element(
        &self,
        granule: Granule<'_>,
        mask: u32,
        mut forget: impl FnMut(u32),
    ) -> Option<bool> {
        let (before, mine) = (granule.entries(), self.number << NUMBER_SHIFT | mask);
        // As in `follow`.
        if let [entry, 0, 0, 0] = before {
            let left = self.left_of(entry, mask)?;
            let (is_gone, is_mine) = (left & BYTES == 0, number_of(left) == self.number);
            let after = match is_gone {
                true => [mine, 0],
                false if is_mine => [left | mask, 0],
                false => [left, mine],
            };
            if after != [entry, 0] {
                granule.set([after[0], after[1], 0, 0]);
            }
            if is_gone && number_of(entry) != 0 {
                forget(number_of(entry));
            }
            return Some(is_gone || !is_mine);
        }
        let (is_new, forgotten) = self.access_several((before, granule), mine)?;
        forgotten.into_iter().take_while(|number| *number != 0).for_each(forget);
        Some(is_new)
    }

    /// [`Judging::access_element`] of a granule with several entries. Also returns those operations, and zeros behind them.
    #[inline(never)]
    fn access_several(
        &self,
        (before, granule): (Entries, Granule<'_>),
        mine: u32,
    ) -> Option<(bool, Entries)> {
        if chain_of(before).is_some() {
            return None;
        }
        let (mut is_new, mut forgotten) = (true, NONE);
        let mask = mine & BYTES;
        let (mut after, mut used, mut gone) = (NONE, 0, 0);
        for entry in before.into_iter().take_while(|entry| *entry != 0) {
            let mut left = self.left_of(entry, mask)?;
            if left & BYTES == 0 {
                forgotten[gone] = number_of(entry);
                gone += 1;
                continue;
            }
            if number_of(left) == self.number {
                (left, is_new) = (left | mask, false);
            }
            after[used] = left;
            used += 1;
        }
        if is_new {
            *after.get_mut(used)? = mine;
        }
        if !are_same(&after, &before) {
            granule.set(after);
        }
        Some((is_new, forgotten))
    }

    /// What remains of an entry after an access to the bytes `mask`; `None` if they conflict.
    #[inline]
    fn left_of(&self, entry: u32, mask: u32) -> Option<u32> {
        // An operation's own entries stay, and most of its accesses do not conflict with each other.
        let is_own =
            || number_of(entry) == self.number && self.kind.rule(self.kind) != Rule::Conflict;
        if entry & mask == 0 || is_own() {
            return Some(entry);
        }
        let judgement = self.judge(number_of(entry));
        let left = if judgement.is_replaced { entry & !mask } else { entry };
        judgement.found.is_none().then_some(left)
    }

    /// How the operation of an entry stands to this one.
    #[inline(always)]
    pub(super) fn judge(&self, number: u32) -> Judgement {
        let operation = self.checker.operation_at(number);
        let what = operation.what.load();
        let kind = kind_of(operation);
        let (datatype, op) = (what >> 16 & 0xff, what >> 24);
        // Through two windows accumulates are as other updates (MPI-2.2 §11.7, rule 2).
        let of_one_datatype = datatype == self.datatype && operation.by.load() == self.by;
        let rank = operation.rank.load();
        let of = (rank, self.checker.ranks);
        let is_known = |stamp: u64| threads::knows(self.clock, of, stamp);
        let is_settled = || rank == self.rank && operation.is_settled.load() == 1;
        let is_ordered = match kind.is_local() {
            true => is_known(operation.issued.load()),
            false => {
                operation.is_complete_by(self.checker.more_at(number), is_known) || is_settled()
            }
        };
        let found = match is_ordered && !self.is_separate {
            true => None,
            false => self.finding((number, operation), is_ordered, of_one_datatype),
        };
        let is_behind = is_ordered || found.is_some() && self.repeats(operation);
        let is_replaced = is_behind && self.kind.replaces(kind, of_one_datatype && op == self.op);
        Judgement { found, is_replaced }
    }

    /// Whether this is the same call of the program again, a put to the same target that the same calls complete. What
    /// conflicts with the earlier one from now on conflicts with this one, too: a loop that lacks a flush leaves one entry.
    #[cold]
    #[inline(never)]
    fn repeats(&self, earlier: &OperationWords) -> bool {
        let own = self.checker.operation_at(self.number);
        let of = |one: &OperationWords| {
            let thread = threads::slot_of(one.issued.load());
            (one.rank.load(), thread, one.window.load(), one.by.load(), one.site.load())
        };
        self.kind == AccessKind::Put
            && kind_of(earlier) == self.kind
            && own.site.load() != 0
            && of(own) == of(earlier)
    }

    /// What is wrong with an earlier operation that is not ordered before this one, or not by the separate model alone.
    #[inline(never)]
    fn finding(
        &self,
        (number, operation): (u32, &OperationWords),
        is_ordered: bool,
        of_one_datatype: bool,
    ) -> Option<Finding> {
        let (kind, op) = (kind_of(operation), operation.what.load() >> 24);
        let is_own = operation.rank.load() == self.rank;
        let may_meet = match self.kind.rule(kind) {
            Rule::Fine => true,
            // Accumulates of one rank to one element are ordered.
            Rule::SameDatatype => {
                of_one_datatype && (is_own || self.op == 0 || op == 0 || op == self.op)
            }
            Rule::Conflict => false,
        };
        // The buffers themselves are compared then (`buffers`). An access of another thread may be older than the operation,
        // although it is judged later.
        let thread_of =
            |number: u32| threads::slot_of(self.checker.operation_at(number).issued.load());
        let is_compared = kind.is_of_buffer()
            && is_own
            && thread_of(number) == thread_of(self.number)
            && operation.completions(self.checker.more_at(number)).next().is_none()
            && (self.kind.is_local() || self.kind.is_of_buffer());
        let is_conflict = !is_ordered && !may_meet && !is_compared;
        let is_excluded = self.kind.rule(kind) == Rule::Conflict && !is_compared;
        match is_conflict {
            true => Some(Finding::Conflict),
            false if is_excluded => self.separately(number, operation),
            false => None,
        }
    }

    /// What the separate model forbids of an access that is ordered behind that operation.
    fn separately(&self, number: u32, earlier: &OperationWords) -> Option<Finding> {
        let (of, kind) = ((earlier.rank.load(), self.checker.ranks), kind_of(earlier));
        let is_known = |clock: &[u64], stamp: u64| threads::knows(clock, of, stamp);
        let is_by_program = self.kind.is_local() || self.kind.is_of_buffer();
        let more = self.checker.more_at(number);
        match (kind, &self.seen) {
            (AccessKind::Put | AccessKind::Update, Some(seen)) if is_by_program => {
                let is_seen = earlier.completions(more).any(|stamp| is_known(seen, stamp));
                (!is_seen).then_some(Finding::NotPrivate)
            }
            (AccessKind::Store, _) if self.is_separate && !is_by_program => {
                let public = earlier.published(more);
                let is_public = public != 0 && is_known(self.clock, public);
                (!is_public).then_some(Finding::NotPublic)
            }
            _ => None,
        }
    }
}

fn kind_of(operation: &OperationWords) -> AccessKind {
    AccessKind::of_word((operation.what.load() >> 8) as u8)
}

/// Adds an entry, or its bytes to the one of that operation.
fn insert(entries: &mut Vec<u32>, number: u32, mask: u32) {
    match entries.iter_mut().find(|entry| number_of(**entry) == number) {
        Some(entry) => *entry |= mask,
        None => entries.push(number << NUMBER_SHIFT | mask),
    }
}

/// The records of a chain.
fn records_of(checker: &Checker, first: u32) -> impl Iterator<Item = u32> {
    let next =
        move |number: &u32| Some(checker.chain_at(*number).next.load()).filter(|next| *next != 0);
    successors(Some(first).filter(|first| *first != 0), next).take(MOST_FOLLOWED)
}

/// The entries of a chain; zero where there is none.
fn chained(checker: &Checker, first: u32) -> impl Iterator<Item = u32> {
    let records = records_of(checker, first);
    records.flat_map(|number| checker.chain_at(number).entries.iter().map(Word32::load))
}

/// Frees the records of a chain. Under the lock of the tables.
fn free_chain(checker: &Checker, first: u32) {
    let list = &checker.words.chains;
    let mut next = first;
    // As in `records_of`.
    for _ in 0..MOST_FOLLOWED {
        if next == 0 {
            return;
        }
        let (number, chain) = (next, checker.chain_at(next));
        next = chain.next.load();
        chain.next.store(list.free.load());
        list.free.store(number);
    }
}

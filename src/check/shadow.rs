//! The accesses of a granule that a later one may conflict with.
//!
//! An entry is the number of an operation and a bit for each byte of the granule. A granule has four words.
//! More entries lie in chains; the last word then has the number of the first chain, and no bits.

use super::rules::{AccessKind, Rule};
use super::{CheckedAccess, Checker};
use crate::prim::{Waiter, Word32};
use crate::shm::ChainWords;
use std::iter::successors;

/// Bytes of a granule.
pub(super) const GRANULE_BYTES: u64 = 8;
/// Words of a granule.
pub(super) const WORDS: usize = 4;
const NUMBER_SHIFT: u32 = 8;
const BYTES: u32 = 0xff;

/// An access of this rank to one granule after the other.
pub(super) struct Accessing<'c> {
    pub(super) checker: &'c Checker,
    /// What the rank knows of the others' clocks.
    pub(super) clock: &'c [u64],
    /// The rank that accesses.
    pub(super) rank: u32,
    /// The operation, its kind and its datatype.
    pub(super) number: u32,
    pub(super) kind: AccessKind,
    pub(super) datatype: u32,
    /// The operation of an accumulate, as of [`CheckedAccess`](super::CheckedAccess).
    pub(super) op: u32,
    /// The latest answer: neighbours mostly have the same entries.
    latest: (u32, Judgement),
    waiter: &'c Waiter<'c>,
    /// Operations that no entry names any more.
    freed: Vec<u32>,
}

/// How an earlier access stands to the present one.
#[derive(Clone, Copy, Debug, Default)]
struct Judgement {
    conflicts: bool,
    is_replaced: bool,
}

/// The words of a granule, as numbers.
type Entries = [u32; WORDS];

fn entries_of(granule: &[Word32]) -> Entries {
    std::array::from_fn(|at| granule[at].load())
}

impl<'c> Accessing<'c> {
    /// An access of `rank`, which knows `clock`, by operation `number`.
    pub(super) fn new(
        (checker, waiter): (&'c Checker, &'c Waiter<'c>),
        (rank, clock): (u32, &'c [u64]),
        number: u32,
        access: &CheckedAccess,
    ) -> Accessing<'c> {
        let CheckedAccess { kind, datatype, op, .. } = *access;
        let (datatype, op, latest) = (datatype.into(), op.into(), (0, Judgement::default()));
        let freed = Vec::new();
        Accessing { checker, clock, rank, number, kind, datatype, op, latest, waiter, freed }
    }

    /// Accesses all bytes of the first of some granules, and of those behind it that have the same entries: they
    /// get the same ones, too. Returns how many those are, and whether the access could be recorded. `found` as of
    /// [`Accessing::access`], with the number of the granule.
    pub(super) fn access_alike(
        &mut self,
        granules: &[Word32],
        mut found: impl FnMut(usize, u32, u32),
    ) -> (usize, bool) {
        let (first, others) = granules.split_at(WORDS);
        let (before, mut conflicts) = (entries_of(first), Vec::new());
        let is_recorded = self.access(first, BYTES, |number, shared| {
            conflicts.push((number, shared));
        });
        let after = entries_of(first);
        let mut alike = 1;
        if !is_recorded || [before, after].iter().any(|all| first_chain(all[WORDS - 1]).is_some()) {
            conflicts.iter().for_each(|(number, shared)| found(0, *number, *shared));
            return (alike, is_recorded);
        }
        for granule in others.chunks_exact(WORDS) {
            if entries_of(granule) != before {
                break;
            }
            if after != before {
                granule.iter().zip(after).for_each(|(word, entry)| word.store(entry));
            }
            alike += 1;
        }
        for at in 0..if conflicts.is_empty() { 0 } else { alike } {
            conflicts.iter().for_each(|(number, shared)| found(at, *number, *shared));
        }
        self.recount(before, after, alike as u32 - 1);
        (alike, true)
    }

    /// Counts the entries of `granules` granules that had the entries `before` and have those of `after` now.
    fn recount(&mut self, before: Entries, after: Entries, granules: u32) {
        let number = |entry: u32| entry >> NUMBER_SHIFT;
        let changed =
            || before.iter().zip(after).filter(|(old, new)| number(**old) != number(*new));
        if granules == 0 {
            return;
        }
        for (_, new) in changed().filter(|(_, new)| number(*new) != 0) {
            self.checker.retain(number(new), granules);
        }
        for (old, _) in changed().filter(|(old, _)| number(**old) != 0) {
            self.release(number(*old), granules);
        }
    }

    /// As many entries less name an operation.
    pub(super) fn release(&mut self, number: u32, entries: u32) {
        if self.checker.release(number, entries) {
            self.freed.push(number);
        }
    }

    /// Frees the operations that no entry names any more, so that they are reused.
    pub(super) fn finish(self) {
        if !self.freed.is_empty() {
            self.checker.exclusively(self.waiter, || {
                self.freed.iter().for_each(|number| self.checker.free(*number));
            });
        }
    }

    /// Accesses the bytes `mask` of a granule. Calls `found` with each earlier operation that conflicts, and
    /// the bytes. Returns whether the access could be recorded.
    pub(super) fn access(
        &mut self,
        granule: &[Word32],
        mask: u32,
        mut found: impl FnMut(u32, u32),
    ) -> bool {
        let mine = self.number << NUMBER_SHIFT;
        // Most granules have one entry, of the same operation or of none.
        if granule[0].load() == mine | BYTES && granule[1].load() == 0 && mask == BYTES {
            return self.repeat(found);
        }
        let (mut own, mut free, mut others) = (None, None, false);
        for word in slots(self.checker, granule) {
            let entry = word.load();
            let (number, shared) = (entry >> NUMBER_SHIFT, entry & mask);
            if entry == 0 {
                free = free.or(Some(word));
                continue;
            }
            if number == self.number {
                own = Some(word);
            }
            if shared != 0 {
                let judgement = self.judge(number);
                if judgement.conflicts {
                    found(number, shared);
                }
                if judgement.is_replaced {
                    let left = entry & !mask;
                    word.store(if left & BYTES == 0 { 0 } else { left });
                    if left & BYTES == 0 {
                        self.release(number, 1);
                        free = free.or(Some(word));
                        continue;
                    }
                }
            }
            others = true;
        }
        if !others {
            self.unchain(granule);
            free = Some(&granule[0]);
        }
        self.insert(granule, (own, free), self.number, mask)
    }

    /// Calls `found` with each earlier operation on the bytes `mask` of a granule that conflicts, and the bytes.
    pub(super) fn look(&mut self, granule: &[Word32], mask: u32, mut found: impl FnMut(u32, u32)) {
        for word in slots(self.checker, granule) {
            let entry = word.load();
            let (number, shared) = (entry >> NUMBER_SHIFT, entry & mask);
            if shared != 0 && self.judge(number).conflicts {
                found(number, shared);
            }
        }
    }

    /// Adds an entry of operation `number` for the bytes `mask` of a granule, without judging the others. Returns
    /// whether it could be recorded.
    pub(super) fn add(&self, granule: &[Word32], number: u32, mask: u32) -> bool {
        let (mut own, mut free) = (None, None);
        for word in slots(self.checker, granule) {
            match word.load() {
                0 => free = free.or(Some(word)),
                entry if entry >> NUMBER_SHIFT == number => own = Some(word),
                _ => {}
            }
        }
        self.insert(granule, (own, free), number, mask)
    }

    /// Whether an earlier operation on the same bytes conflicts.
    pub(super) fn conflicts_with(&mut self, number: u32) -> bool {
        self.judge(number).conflicts
    }

    /// The same operation accesses the same granule once more.
    fn repeat(&mut self, mut found: impl FnMut(u32, u32)) -> bool {
        if self.judge(self.number).conflicts {
            found(self.number, BYTES);
        }
        true
    }

    fn insert(
        &self,
        granule: &[Word32],
        (own, free): (Option<&Word32>, Option<&Word32>),
        number: u32,
        mask: u32,
    ) -> bool {
        if let Some(word) = own.filter(|word| word.load() >> NUMBER_SHIFT == number) {
            word.store(word.load() | mask);
            return true;
        }
        let checker = self.checker;
        let chained;
        let word = match free {
            Some(word) => word,
            None => match self.lengthen(granule) {
                Some(number) => {
                    chained = &checker.chain_at(number).entries;
                    &chained[ChainWords::ENTRIES - 1]
                }
                None => return false,
            },
        };
        checker.retain(number, 1);
        word.store(number << NUMBER_SHIFT | mask);
        true
    }

    /// How the operation of an entry stands to this one.
    fn judge(&mut self, number: u32) -> Judgement {
        if self.latest.0 != number {
            self.latest = (number, self.judge_anew(number));
        }
        self.latest.1
    }

    fn judge_anew(&self, number: u32) -> Judgement {
        let operation = self.checker.operation_at(number);
        let what = operation.what.load();
        let kind = AccessKind::of_word((what >> 8) as u8);
        let (datatype, op) = (what >> 16 & 0xff, what >> 24);
        let of_one_datatype = datatype == self.datatype;
        let rank = operation.rank.load();
        let completed = match kind.is_local() {
            true => operation.issued.load(),
            false => operation.completed.load(),
        };
        let is_own = rank == self.rank;
        let known = self.clock.get(rank as usize).copied().unwrap_or(u64::MAX);
        let is_ordered = match completed {
            0 => false,
            _ if is_own => true,
            completed => completed <= known,
        };
        let may_meet = match self.kind.rule(kind) {
            Rule::Fine => true,
            // Accumulates of one rank to one element are ordered.
            Rule::SameDatatype => {
                of_one_datatype && (is_own || self.op == 0 || op == 0 || op == self.op)
            }
            Rule::Conflict => false,
        };
        Judgement {
            conflicts: !is_ordered && !may_meet,
            is_replaced: is_ordered && self.kind.replaces(kind, of_one_datatype && op == self.op),
        }
    }

    /// Frees the chains of a granule without entries.
    fn unchain(&self, granule: &[Word32]) {
        let last = &granule[WORDS - 1];
        let Some(first) = first_chain(last.load()) else { return };
        last.store(0);
        self.checker.exclusively(self.waiter, || {
            let mut next = first;
            // In damaged tables a list may have no end.
            for _ in 0..self.checker.chains.len() {
                if next == 0 {
                    return;
                }
                let (number, list) = (next, &self.checker.words.chains);
                let chain = self.checker.chain_at(number);
                next = chain.next.load();
                chain.next.store(list.free.load());
                list.free.store(number);
            }
        });
    }

    /// Gives a granule one more chain, whose last word is for a new entry; `None` if the table is full.
    fn lengthen(&self, granule: &[Word32]) -> Option<u32> {
        let checker = self.checker;
        let next = |number: u32| checker.chain_at(number).next.load();
        let take = || checker.take(&checker.words.chains, checker.chains.len(), next);
        let number = checker.exclusively(self.waiter, take).flatten()?;
        let (chain, last) = (checker.chain_at(number), &granule[WORDS - 1]);
        chain.entries.iter().for_each(|word| word.store(0));
        match first_chain(last.load()) {
            Some(first) => chain.next.store(first),
            None => {
                chain.next.store(0);
                chain.entries[0].store(last.load());
            }
        }
        last.store(number << NUMBER_SHIFT);
        Some(number)
    }
}

/// The number of the first chain, if a granule's last word names one.
fn first_chain(word: u32) -> Option<u32> {
    (word != 0 && word & BYTES == 0).then_some(word >> NUMBER_SHIFT)
}

/// All words of a granule that hold entries or may.
fn slots<'s>(checker: &'s Checker, granule: &'s [Word32]) -> impl Iterator<Item = &'s Word32> {
    let first = first_chain(granule[WORDS - 1].load());
    let own = &granule[..if first.is_some() { WORDS - 1 } else { WORDS }];
    let next =
        move |number: &u32| Some(checker.chain_at(*number).next.load()).filter(|next| *next != 0);
    // In damaged tables a list may have no end.
    let chained = successors(first, next).take(checker.chains.len());
    own.iter().chain(chained.flat_map(|number| &checker.chain_at(number).entries))
}

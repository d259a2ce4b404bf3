//! The accesses of a granule that a later one may conflict with.
//!
//! An entry is the number of an operation and a bit for each byte of the granule. A granule has four words.
//! More entries lie in chains; the last word then has the number of the first chain, and no bits.

use super::Checker;
use super::rules::{AccessKind, Rule};
use crate::prim::Word32;
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
    pub(super) latest: (u32, Judgement),
}

/// How an earlier access stands to the present one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Judgement {
    conflicts: bool,
    is_replaced: bool,
}

impl<'c> Accessing<'c> {
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
                        self.checker.release(number);
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
        self.insert(granule, (own, free), mask)
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

    /// Adds an entry for the bytes `mask` of a granule, without judging the others. Returns whether it could be
    /// recorded.
    pub(super) fn add(&self, granule: &[Word32], mask: u32) -> bool {
        let (mut own, mut free) = (None, None);
        for word in slots(self.checker, granule) {
            match word.load() {
                0 => free = free.or(Some(word)),
                entry if entry >> NUMBER_SHIFT == self.number => own = Some(word),
                _ => {}
            }
        }
        self.insert(granule, (own, free), mask)
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
        mask: u32,
    ) -> bool {
        if let Some(word) = own.filter(|word| word.load() >> NUMBER_SHIFT == self.number) {
            word.store(word.load() | mask);
            return true;
        }
        let checker = self.checker;
        let chained;
        let word = match free {
            Some(word) => word,
            None => match lengthen(checker, granule) {
                Some(number) => {
                    chained = &checker.chain_at(number).entries;
                    &chained[ChainWords::ENTRIES - 1]
                }
                None => return false,
            },
        };
        checker.retain(self.number);
        word.store(self.number << NUMBER_SHIFT | mask);
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

/// Gives a granule one more chain, whose last word is for a new entry; `None` if the table is full.
fn lengthen(checker: &Checker, granule: &[Word32]) -> Option<u32> {
    let next = |number: u32| checker.chain_at(number).next.load();
    let number = checker.take(&checker.words.chains, checker.chains.len(), next)?;
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

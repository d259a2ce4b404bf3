//! What the ranks of a collective have to agree on, and how a mismatch is found.

use super::reduction::sealed::OpKind;
use crate::call::Call;
use crate::datatype::{Datatype, Element, Signature, datatype_of};
use crate::error::MismatchKind;
use crate::group::Rank;
use crate::op::Op;
use crate::prim::Word64;
use crate::shm::{MOST_BUFFERS, StagingSlot};
use bytemuck::{Pod, Zeroable};
use std::mem::offset_of;

/// Describes a collective as one rank calls it. It precedes what the rank stages, in the same cache line
/// as a contribution of 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Description {
    call: u16,
    flags: u16,
    /// The root, or [`ANY_ROOT`].
    root: u32,
    /// Number of the operation plus one, or zero.
    op: u32,
    /// Number of the only basic datatype plus one; zero for several, for none, or for any.
    datatype: u32,
    /// Bytes of the data, equal on all ranks, or [`ANY_LENGTH`]. If paired, the sum of a digest of each
    /// part that this rank sends.
    bytes: u64,
    /// A digest of what else has to be equal: the sequence of several datatypes, or the counts. If
    /// paired, the sum of a digest of each part that this rank receives.
    digest: u64,
    /// Bytes that this rank contributes, in all rounds together, saturated.
    pub(super) length: u32,
    /// A digest of a short contribution of the library itself ([`guard`]); or the chain, of which the lowest bits are
    /// zero.
    guard: u32,
}

/// The rank does not wait at the barrier: the last rank to arrive rings its bell.
const RINGS: u16 = 1;
/// The rank refuses its own call.
const REFUSED: u16 = 2;
/// Each part is checked between two ranks: the sums over all that is sent and received are equal.
const PAIRED: u16 = 4;

/// The ranks can have buffers for longer data after this collective.
const HAS_LONGS: u16 = 8;
/// It is made of several pieces, of which this is one.
const PIECE: u16 = 16;
/// Where the flags are in the first of a description's words, and the guard in the last.
const FLAGS_AT: usize = 8 * offset_of!(Description, flags);
const GUARD_AT: usize = 8 * (offset_of!(Description, guard) - 4 * size_of::<u64>());
/// Bits of a guard that are set, and of a chain that are not. No two flipped bits make one of the other.
const GUARDING: u32 = 7;
/// Odd numbers by which a chain multiplies words: digits of pi.
const FACTORS: [u64; 5] = [
    0x243f_6a88_85a3_08d3,
    0x1319_8a2e_0370_7345,
    0xa409_3822_299f_31d1,
    0x082e_fa98_ec4e_6c89,
    0x4528_21e6_38d0_1377,
];
/// The buffer that has the contribution, if it does not fit the slot.
const BUFFER: u16 = (MOST_BUFFERS as u16 - 1) << BUFFER_AT;
const BUFFER_AT: u32 = 8;
/// What may differ.
const OWN_FLAGS: u16 = RINGS | HAS_LONGS | BUFFER;

/// The root of a rank that does not know it.
pub(crate) const ANY_ROOT: u32 = u32::MAX;
/// The bytes of a call whose buffers may differ in length.
const ANY_LENGTH: u64 = u64::MAX;
/// Contributions up to here are guarded: what the library itself exchanges (offsets, sizes, process
/// numbers) is that short, and has no other check.
pub(super) const GUARDED: usize = 512;
/// Numbers of operations from here on are user functions.
const USER_OPS: u32 = 1000;

const REFUSAL: &str = " with arguments that it is refused for";

/// Whether the data of a collective is the caller's.
fn has_data(call: Call) -> bool {
    let within = |first: Call, last: Call| (first as u32..=last as u32).contains(&(call as u32));
    within(Call::Broadcast, Call::Allreduce) || within(Call::Gatherv, Call::Exscan)
}

fn has_root(call: Call) -> bool {
    use Call::{Broadcast, Gather, Gatherv, Reduce, Scatter, Scatterv};
    matches!(call, Broadcast | Gather | Gatherv | Reduce | Scatter | Scatterv)
}

impl Description {
    /// A call without data.
    pub(crate) fn bare(call: Call) -> Self {
        Description { call: call as u16, ..Description::zeroed() }
    }

    /// The same, of elements `T`.
    pub(crate) fn elements<T: Pod>(self) -> Self {
        Description { datatype: datatype_of::<T>() as u32 + 1, ..self }
    }

    /// A call with buffers of `T` whose lengths may differ from rank to rank.
    pub(crate) fn typed<T: Pod>(call: Call) -> Self {
        Description { bytes: ANY_LENGTH, ..Description::bare(call) }.elements::<T>()
    }

    /// A call with a buffer of `elements` elements of type `T`.
    pub(super) fn of<T: Element>(call: Call, elements: usize) -> Self {
        let bytes = (elements * size_of::<T>()) as u64;
        Description { bytes, ..Description::typed::<T>(call) }
    }

    /// With data of that many bytes, of one basic datatype or of a sequence of several with that digest.
    /// Without either, of any datatype.
    pub(crate) fn data(self, bytes: u64, datatype: Option<Datatype>, sequence: u64) -> Self {
        let datatype = datatype.map_or(0, |datatype| datatype as u32 + 1);
        Description { datatype, bytes, digest: self.digest.wrapping_add(sequence), ..self }
    }

    /// With parts that are checked between pairs of ranks, by the sums of their digests
    /// ([`part_digest`]).
    pub(crate) fn paired(self, sent: u64, received: u64) -> Self {
        Description { bytes: sent, digest: received, flags: self.flags | PAIRED, ..self }
    }

    pub(crate) fn root(self, root: Rank) -> Self {
        Description { root: root.0, ..self }
    }

    pub(crate) fn op(self, op: OpKind) -> Self {
        let op = match op {
            OpKind::Predefined(op) => op as u32 + 1,
            OpKind::User { commutative } => USER_OPS + u32::from(commutative),
        };
        Description { op, ..self }
    }

    pub(crate) fn counts(self, counts: &[usize]) -> Self {
        let digest = hash(counts.iter().map(|count| *count as u64)) | 1;
        Description { digest: self.digest.wrapping_add(digest), ..self }
    }

    pub(crate) fn refused(self) -> Self {
        Description { flags: self.flags | REFUSED, ..self }
    }

    /// This rank has to be woken by its bell.
    pub(crate) fn ringing(self) -> Self {
        Description { flags: self.flags | RINGS, ..self }
    }

    /// This rank has called [`super::Comm::take_longs`].
    pub(crate) fn with_longs(self, has_longs: bool) -> Self {
        Description { flags: self.flags | if has_longs { HAS_LONGS } else { 0 }, ..self }
    }

    pub(super) fn has_longs(&self) -> bool {
        self.flags & HAS_LONGS != 0
    }

    /// The collective is made of several pieces. Calls that wait do not match others (MPI-4.1 §6.12).
    pub(crate) fn piece(self) -> Self {
        Description { flags: self.flags | PIECE, ..self }
    }

    /// Whether the data, which are the same for all ranks, have more bytes than that.
    pub(crate) fn is_longer(&self, bytes: u64) -> bool {
        self.flags & PAIRED == 0 && self.bytes != ANY_LENGTH && self.bytes > bytes
    }

    pub(super) fn is_paired(&self) -> bool {
        self.flags & PAIRED != 0
    }

    pub(super) fn wants_ring(&self) -> bool {
        self.flags & RINGS != 0
    }

    /// With a digest of the contribution, if it is short.
    pub(super) fn guarding(&self, mine: &[u8]) -> Self {
        let guard = if mine.len() > GUARDED { 0 } else { guard(mine) };
        Description { guard, ..*self }
    }

    /// Whether a contribution has the digest that its rank has staged.
    pub(super) fn vouches_for(&self, contribution: &[u8]) -> bool {
        self.guard == guard(contribution)
    }

    pub(super) fn is_guarding(&self) -> bool {
        self.guard & GUARDING != 0
    }

    /// The hash of this call and of those with the hash `before`, which is the same on all ranks that call the same.
    /// Its products do not wait for each other: a rank stages the hash before it can publish the call.
    #[inline]
    pub(super) fn chained(&self, before: u64) -> u64 {
        let [words @ .., _] = bytemuck::cast_ref::<_, [u64; 5]>(self);
        let products = words.iter().zip(FACTORS).map(|(word, factor)| word.wrapping_mul(factor));
        products.fold(before.wrapping_mul(FACTORS[4]), u64::wrapping_add)
    }

    /// As much of a chain as a rank stages; never zero.
    #[inline]
    pub(super) fn link(chain: u64) -> u32 {
        ((chain >> 32) as u32 & !GUARDING).max(GUARDING + 1)
    }

    /// What a rank has staged of its chain, or of the digest of its contribution.
    #[inline]
    pub(super) fn link_in(slot: &StagingSlot) -> u32 {
        (slot.description[4].load() >> GUARD_AT) as u32
    }

    pub(super) fn call(&self) -> Call {
        Call::from_word(self.call.into()).unwrap_or(Call::None)
    }

    /// Whether another rank calls the same, by these two descriptions alone.
    #[inline]
    pub(super) fn is_like(&self, other: &Description) -> bool {
        // The call and the flags, the root, operation and datatype; then bytes and digest.
        let [a, b]: [[u64; 5]; 2] = [bytemuck::cast(*self), bytemuck::cast(*other)];
        let differ = (self.flags ^ other.flags) & !OWN_FLAGS != 0 || self.call != other.call;
        let bytes = if self.is_paired() { 0 } else { (a[2] ^ b[2]) | (a[3] ^ b[3]) };
        !differ && (a[0] ^ b[0]) >> 32 | (a[1] ^ b[1]) | bytes == 0
    }

    /// As it is sent with a contribution of that many bytes.
    pub(super) fn with_length(&self, length: usize) -> Self {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        Description { length, ..*self }
    }

    /// What a rank has staged.
    #[inline]
    pub(super) fn staged_in(slot: &StagingSlot) -> Description {
        bytemuck::cast(slot.description.each_ref().map(Word64::load))
    }

    /// The bytes that a rank has staged.
    #[inline]
    pub(super) fn length_in(slot: &StagingSlot) -> u32 {
        slot.description[4].load() as u32
    }

    /// The buffer in which they are, if they do not fit the slot.
    #[inline]
    pub(super) fn buffer_in(slot: &StagingSlot) -> u64 {
        slot.description[0].load() >> (FLAGS_AT as u32 + BUFFER_AT) & u64::from(BUFFER >> BUFFER_AT)
    }

    /// Stages this for a contribution of that many bytes in that buffer, with the `link` of a chain, if it has one.
    #[inline]
    pub(super) fn stage_in(&self, slot: &StagingSlot, length: usize, buffer: u64, link: u32) {
        let [first, words @ .., last] = bytemuck::cast_ref::<_, [u64; 5]>(self);
        let buffer = buffer & u64::from(BUFFER >> BUFFER_AT);
        slot.description[0].store(first | buffer << (FLAGS_AT as u32 + BUFFER_AT));
        slot.description[1..].iter().zip(words).for_each(|(to, word)| to.store(*word));
        let (length, link) = (length.min(u32::MAX as usize) as u64, u64::from(link) << GUARD_AT);
        slot.description[4].store(last | length | link);
    }

    /// [`Description::is_like`] of what another rank has staged, if that is neither paired nor guards its contribution.
    #[inline]
    pub(super) fn is_plainly_in(&self, slot: &StagingSlot) -> bool {
        let a = slot.description.each_ref().map(Word64::load);
        let b = bytemuck::cast_ref::<_, [u64; 5]>(self);
        let own_flags = u64::from(OWN_FLAGS) << FLAGS_AT;
        let unlike = (a[0] ^ b[0]) & !own_flags | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]);
        let guarding = a[4] >> GUARD_AT & u64::from(GUARDING);
        unlike | a[0] & u64::from(PAIRED) << FLAGS_AT | guarding == 0
    }

    /// What this rank sends and what it receives of parts that are paired; nothing of others.
    #[inline]
    pub(super) fn pairs(&self) -> (u64, u64) {
        if self.flags & PAIRED != 0 { (self.bytes, self.digest) } else { (0, 0) }
    }

    /// A rank to name where parts do not match: the root, or the next rank.
    pub(super) fn partner(&self, own: u32, ranks: u32) -> u32 {
        if self.root < ranks && self.root != own { self.root } else { (own + 1) % ranks }
    }

    fn is_refused(&self) -> bool {
        self.flags & REFUSED != 0
    }

    fn is_of_any_datatype(&self) -> bool {
        self.datatype == 0 && (self.flags & PAIRED != 0 || self.digest == 0)
    }

    /// A digest of all basic datatypes, and of the counts.
    fn sequence(&self) -> u64 {
        let datatype = (self.datatype as usize).checked_sub(1).and_then(|k| Datatype::ALL.get(k));
        let Some(datatype) = datatype else { return self.digest };
        let whole = Signature::of(*datatype).repeated(self.bytes / datatype.size() as u64);
        self.digest.wrapping_add(whole.map_or(1, |whole| whole.digest()))
    }

    /// What this rank and others call, if they agree with what `next` calls.
    pub(super) fn joined(&self, next: &Description) -> Result<Description, MismatchKind> {
        let mut all = *self;
        if self.call != next.call
            || (self.flags ^ next.flags) & !OWN_FLAGS != 0
            || next.is_refused()
        {
            return Err(MismatchKind::Call);
        }
        match (self.root, next.root) {
            (_, ANY_ROOT) => {}
            (ANY_ROOT, root) => all.root = root,
            (a, b) if a != b => return Err(MismatchKind::Root),
            _ => {}
        }
        if self.op != next.op {
            return Err(MismatchKind::Operation);
        }
        // Types match if both calls use the same name (MPI-4.1 §3.3.1, which §6.1 makes stricter in the amount of
        // data), so MPI_INT and MPI_UNSIGNED do not match although they have the same size.
        if self.datatype != 0 && next.datatype != 0 && self.datatype != next.datatype {
            return Err(MismatchKind::Datatype);
        }
        if self.flags & PAIRED == 0 && self.bytes != next.bytes {
            return Err(MismatchKind::Length);
        }
        if self.is_of_any_datatype() {
            (all.datatype, all.digest) = (next.datatype, next.digest);
        } else if !next.is_of_any_datatype()
            && self.flags & PAIRED == 0
            && self.sequence() != next.sequence()
        {
            return Err(MismatchKind::Datatype);
        }
        Ok(all)
    }

    /// The kind of the mismatch, and another rank that differs from rank `own`. The kind is the same on
    /// all ranks, because all of them compare all descriptions in the same order.
    #[cold]
    pub(super) fn disagreement(all: &[Description], own: u32) -> Option<(MismatchKind, u32)> {
        let mut joined = all.first().copied()?;
        if joined.is_refused() {
            let other = if own == 0 { 1 } else { 0 };
            return Some((MismatchKind::Call, other));
        }
        for (rank, next) in all.iter().enumerate().skip(1) {
            joined = match joined.joined(next) {
                Ok(joined) => joined,
                Err(kind) => {
                    let ours = &all[own as usize];
                    let differs = all.iter().position(|one| ours.joined(one).is_err());
                    let other = differs.filter(|other| *other != own as usize).unwrap_or(rank);
                    let other = if other == own as usize { 0 } else { other };
                    return Some((kind, other as u32));
                }
            };
        }
        None
    }

    pub(super) fn sentence(&self) -> String {
        let Description { root, op, datatype, bytes, digest, .. } = *self;
        let numbered = |number: u32| (number as usize).checked_sub(1);
        let mut text = self.call().to_string();
        if self.is_refused() {
            return text + REFUSAL;
        }
        if !has_data(self.call()) {
            // The library's own exchanges have no data of the caller.
            return text;
        }
        let is_counted = self.flags & PAIRED == 0 && bytes != ANY_LENGTH;
        text += &match numbered(datatype).and_then(|k| Datatype::ALL.get(k)) {
            Some(datatype) if is_counted => {
                format!(" of {} {}", bytes / datatype.size() as u64, datatype.name())
            }
            Some(datatype) => format!(" of {}", datatype.name()),
            None if is_counted => format!(" of {bytes} bytes"),
            None => String::new(),
        };
        if op >= USER_OPS {
            text += " by a user function";
            text += if op == USER_OPS { " that is not commutative" } else { "" };
        } else if let Some(op) = numbered(op).and_then(|k| Op::ALL.get(k)) {
            text += &format!(" by {}", op.name());
        }
        if root != ANY_ROOT && (root != 0 || has_root(self.call())) {
            text += &format!(", root {root}");
        }
        match digest {
            _ if self.flags & PAIRED != 0 => text + " with lengths that do not match",
            0 => text,
            _ if datatype != 0 => text + &format!(" with counts (digest {digest:x})"),
            _ => text + &format!(" of several datatypes (digest {digest:x})"),
        }
    }
}

/// FNV-1a, 64 bits, over whole words.
pub(crate) fn hash(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, number| {
        (hash ^ number).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29)
    })
}

/// The digest that a part of that many bytes adds to the sums of its two ranks.
pub(crate) fn part_digest(from: u32, to: u32, bytes: u64) -> u64 {
    hash([u64::from(from) << 32 | u64::from(to), bytes])
}

/// The digest that guards a contribution.
fn guard(contribution: &[u8]) -> u32 {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let digest = hash(contribution.chunks(8).map(word));
    (digest ^ digest >> 32) as u32 | GUARDING
}

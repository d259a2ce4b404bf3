//! A hash table of words over the windows of all ranks.
//!
//! - Window `slots`: two elements per slot, an [`Entry`] and a count; 0 means that the slot is
//!   free. The slots of all ranks are one ring, searched linearly from where a word's hash points.
//! - Window `words`: records of length (4 bytes) and bytes. A rank writes records into its own
//!   part only, so it needs no agreement to take space there.
//!
//! What makes it correct while all ranks insert at once:
//!
//! 1. A record is put and flushed before the entry that points to it is swapped into a slot; so
//!    a rank that fetches the entry can get the record.
//! 2. A slot goes from free to taken once, by compare_and_swap; who loses sees the winner's entry
//!    and looks at its word.
//! 3. Equal marks (a part of the hash) are only a hint: the words themselves are compared.
//! 4. Slots are accessed by fetch_and_op and compare_and_swap alone while the table is open, the
//!    atomic calls of the standard; a plain get there would conflict with them.

use onesided::{Comm, Error, LockAllEpoch, Op, Rank, Result, Window, WindowOptions};
use std::hash::Hasher;

/// Bytes before a word in its record: its length.
const HEAD: u64 = 4;
/// Elements of a slot: entry and count.
const SLOT: u64 = 2;
/// Elements after rank 0's slots: slots taken in all, and whether a rank has found the table
/// too small.
const CONTROL: u64 = 2;

/// Offsets that fit an entry, so the most bytes that a part of `words` can have.
pub const OFFSETS: u64 = 1 << 38;

/// What stands in a taken slot, as one element: from the highest bit, 16 of mark, 10 of rank and
/// 38 of offset. Never 0, because no record has offset 0.
#[derive(Clone, Copy)]
struct Entry {
    /// Bits of the word's hash.
    mark: u64,
    /// Whose part of `words` has the record.
    rank: u32,
    /// Where the record is.
    offset: u64,
}

impl Entry {
    fn pack(self) -> u64 {
        self.mark << 48 | u64::from(self.rank) << 38 | self.offset
    }

    fn unpack(word: u64) -> Entry {
        let (rank, offset) = ((word >> 38 & 0x3ff) as u32, word & (OFFSETS - 1));
        Entry { mark: word >> 48, rank, offset }
    }
}

/// How large the table is.
#[derive(Clone, Copy, PartialEq)]
pub struct Size {
    /// Slots of each rank.
    pub slots: u64,
    /// Bytes for records of each rank.
    pub bytes: u64,
    /// Bits of a hash that are used.
    pub hash_bits: u32,
}

/// Why a word has not been counted.
pub enum Refusal {
    /// No slot is free.
    Slots,
    /// This rank's part of `words` must have at least the given number of bytes.
    Words(u64),
    /// A call failed.
    Library(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Refusal::Library(error)
    }
}

/// The table, closed.
pub struct Table {
    comm: Comm,
    slots: Window<u64>,
    words: Window<u8>,
    size: Size,
    /// Where the next record of this rank goes.
    end: u64,
}

impl Table {
    /// An empty table. Collective.
    pub fn new(comm: &Comm, size: Size) -> Result<Table> {
        assert!(size.bytes <= OFFSETS, "an entry has room for 38 bits of offset");
        let control = if comm.rank() == 0 { CONTROL } else { 0 };
        let slots = (size.slots.saturating_mul(SLOT)).saturating_add(control) as usize;
        let slots = WindowOptions::new().name("slots").allocate(comm, slots)?;
        let words = WindowOptions::new().name("words").allocate(comm, size.bytes as usize)?;
        Ok(Table { comm: comm.clone(), slots, words, size, end: HEAD })
    }

    pub fn size(&self) -> Size {
        self.size
    }

    /// Slots of all ranks.
    pub fn capacity(&self) -> u64 {
        self.size.slots * u64::from(self.comm.size())
    }

    /// Opens the table: every rank may add to all of it. Local.
    pub fn open(&mut self) -> Result<Open<'_>> {
        Ok(Open {
            capacity: self.capacity(),
            own: self.comm.rank(),
            slots: self.slots.lock_all()?,
            words: self.words.lock_all()?,
            size: self.size,
            end: &mut self.end,
            record: Vec::new(),
        })
    }

    /// Entry and count of every taken slot of this rank. Waits until no rank has the table open.
    pub fn own_slots(&mut self) -> Result<Vec<(u64, u64)>> {
        let slots = self.slots.lock_local()?;
        let slots = slots[..(self.size.slots * SLOT) as usize].chunks_exact(SLOT as usize);
        Ok(slots.filter(|slot| slot[0] != 0).map(|slot| (slot[0], slot[1])).collect())
    }

    /// Moves everything into a table of another size, at least as large. Collective.
    pub fn grow(mut self, size: Size) -> Result<Table> {
        let taken = self.own_slots()?;
        let mut larger = Table::new(&self.comm, size)?;
        // Records keep their places, so entries stay as they are.
        larger.words.lock_local()?[..self.size.bytes as usize]
            .copy_from_slice(&self.words.lock_local()?);
        larger.end = self.end;
        self.comm.barrier()?;
        let mut open = larger.open()?;
        for (entry, count) in taken {
            let word = open.word(entry)?;
            match open.insert(&word, count, Some(entry)) {
                Err(Refusal::Library(error)) => return Err(error),
                added => assert!(added.is_ok(), "what a table has held fits a larger one"),
            }
        }
        drop(open);
        self.comm.barrier()?;
        self.free()?;
        Ok(larger)
    }

    /// Gives the memory back. Collective.
    pub fn free(self) -> Result<()> {
        self.slots.free()?;
        self.words.free()
    }
}

/// The table, open to every rank under lock_all of both windows.
pub struct Open<'t> {
    slots: LockAllEpoch<'t, 'static, u64>,
    words: LockAllEpoch<'t, 'static, u8>,
    size: Size,
    capacity: u64,
    own: Rank,
    end: &'t mut u64,
    /// The last record that was looked at.
    record: Vec<u8>,
}

impl Open<'_> {
    /// Counts `word` once more.
    pub fn add(&mut self, word: &[u8]) -> std::result::Result<(), Refusal> {
        self.insert(word, 1, None)
    }

    /// The count of `word`.
    pub fn count(&mut self, word: &[u8]) -> Result<u64> {
        let hash = self.hash(word);
        for (rank, disp) in self.search(hash) {
            let found = self.slots.fetch_and_op_flush(0, Op::NoOp, rank, disp)?;
            if found == 0 {
                break;
            }
            if self.refers_to(found, hash, word)? {
                return self.slots.fetch_and_op_flush(0, Op::NoOp, rank, disp + 1);
            }
        }
        Ok(0)
    }

    /// Adds `count` to the count of `word`; `entry` is the word's entry, if it has a record already.
    fn insert(
        &mut self,
        word: &[u8],
        count: u64,
        entry: Option<u64>,
    ) -> std::result::Result<(), Refusal> {
        let hash = self.hash(word);
        let mut own = entry;
        for (rank, disp) in self.search(hash) {
            let mut found = self.slots.fetch_and_op_flush(0, Op::NoOp, rank, disp)?;
            if found == 0 {
                let new = own.map_or_else(|| self.write(word, hash), Ok)?;
                own = Some(new);
                found = self.slots.compare_and_swap_flush(new, 0, rank, disp)?;
                if found == 0 {
                    self.took_slot(if entry.is_none() { record_of(word) } else { 0 })?;
                    found = new;
                }
            }
            if Some(found) == own || self.refers_to(found, hash, word)? {
                self.slots.fetch_and_op_flush(count, Op::Sum, rank, disp + 1)?;
                return Ok(());
            }
        }
        Err(Refusal::Slots)
    }

    /// Writes the record of `word`. Its space is taken only when a slot refers to it, so none is
    /// lost when another rank has been faster with the same word.
    fn write(&mut self, word: &[u8], hash: u64) -> std::result::Result<u64, Refusal> {
        let end = *self.end + record_of(word);
        if end > self.size.bytes {
            return Err(Refusal::Words(end));
        }
        self.record.clear();
        self.record.extend((word.len() as u32).to_le_bytes());
        self.record.extend(word);
        self.words.put_flush(&self.record, self.own, *self.end as usize)?;
        Ok(Entry { mark: mark(hash), rank: self.own.0, offset: *self.end }.pack())
    }

    /// A slot has been claimed, and it refers to a new record of the given number of bytes.
    fn took_slot(&mut self, record: u64) -> Result<()> {
        *self.end += record;
        let (rank, disp) = self.control();
        self.slots.fetch_and_op_flush(1, Op::Sum, rank, disp).map(|_| ())
    }

    /// Whether `entry` is that of `word`.
    fn refers_to(&mut self, entry: u64, hash: u64, word: &[u8]) -> Result<bool> {
        let Entry { mark: other, rank, offset } = Entry::unpack(entry);
        let length = record_of(word);
        if other != mark(hash) || offset + length > self.size.bytes {
            return Ok(false);
        }
        self.record.resize(length as usize, 0);
        self.words.get_flush(&mut self.record, Rank(rank), offset as usize)?;
        let (head, bytes) = self.record.split_at(HEAD as usize);
        Ok(head == (word.len() as u32).to_le_bytes() && bytes == word)
    }

    /// The word of an entry.
    pub fn word(&mut self, entry: u64) -> Result<Vec<u8>> {
        let Entry { rank, offset, .. } = Entry::unpack(entry);
        let mut head = [0; HEAD as usize];
        self.words.get_flush(&mut head, Rank(rank), offset as usize)?;
        let mut word = vec![0; u32::from_le_bytes(head) as usize];
        self.words.get_flush(&mut word, Rank(rank), (offset + HEAD) as usize)?;
        Ok(word)
    }

    /// Slots of all ranks.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Slots that are taken, on all ranks.
    pub fn taken(&self) -> Result<u64> {
        let (rank, disp) = self.control();
        self.slots.fetch_and_op_flush(0, Op::NoOp, rank, disp)
    }

    /// Reports to every rank that the table is too small.
    pub fn raise_alarm(&self) -> Result<()> {
        let (rank, disp) = self.control();
        self.slots.fetch_and_op_flush(1, Op::Replace, rank, disp + 1).map(|_| ())
    }

    /// Whether a rank has raised the alarm since the table was made.
    pub fn alarm(&self) -> Result<bool> {
        let (rank, disp) = self.control();
        Ok(self.slots.fetch_and_op_flush(0, Op::NoOp, rank, disp + 1)? != 0)
    }

    fn control(&self) -> (Rank, usize) {
        (Rank(0), (self.size.slots * SLOT) as usize)
    }

    /// Rank and displacement of every slot, from where `hash` points.
    fn search(&self, hash: u64) -> impl Iterator<Item = (Rank, usize)> + use<> {
        let (part, capacity) = (self.size.slots, self.capacity);
        let start = hash % capacity;
        let slots = (start..capacity).chain(0..start);
        slots.map(move |slot| (Rank((slot / part) as u32), (slot % part * SLOT) as usize))
    }

    /// The same on every rank, and in every process of this program.
    fn hash(&self, word: &[u8]) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        hasher.write(word);
        hasher.finish() & (u64::MAX >> (64 - self.size.hash_bits))
    }
}

/// Bytes of a word's record.
fn record_of(word: &[u8]) -> u64 {
    HEAD + word.len() as u64
}

/// The part of a hash that an entry remembers: the part that depends least on the slot.
fn mark(hash: u64) -> u64 {
    hash >> 48
}

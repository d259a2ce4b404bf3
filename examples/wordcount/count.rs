//! Counting: every rank its share of the text, in as many rounds as the table is too small for.

use crate::table::{OFFSETS, Open, Refusal, Size, Table};
use crate::text::{self, Input, Words};
use common::{Failure, agree};
use indicatif::ProgressBar;
use onesided::{Comm, Op};

/// Words between two looks at whether a rank has found the table too small.
const LOOK: usize = 256;

/// What has been counted.
pub struct Counted {
    pub table: Table,
    /// Words, on all ranks.
    pub words: u64,
    /// How often the table has grown.
    pub growths: u64,
}

/// Counts the words of all inputs, in a table of `slots` slots or in one that grows. Collective.
pub fn count(
    world: &Comm,
    inputs: &[Input],
    slots: Option<u64>,
    hash_bits: u32,
) -> Result<Counted, Failure> {
    let bytes: u64 = inputs.iter().map(|input| input.bytes).sum();
    let ranks = u64::from(world.size());
    // Text has far fewer different words than bytes; how many fewer is unknown.
    let first = slots.unwrap_or((bytes / 256).clamp(1 << 10, 1 << 22)).div_ceil(ranks);
    let size =
        Size { slots: first, bytes: first.saturating_mul(16).clamp(1 << 12, 1 << 32), hash_bits };
    let mut table = agree(world, Table::new(world, size))?;

    let style = "{bar:40} {bytes} of {total_bytes} per rank, {binary_bytes_per_sec}, {eta} left";
    let mut words = Words::new(text::share(inputs, world.rank().0, world.size()));
    let more = agree(world, words.advance())?;
    let progress = common::progress(world, bytes / ranks, style);
    let mut share = Share { words, more, counted: 0, may_grow: slots.is_none(), progress };
    let mut growths = 0;
    loop {
        let wanted = agree(world, share.round(&mut table))?;
        let Some(size) = next_size(world, wanted, share.more)? else { break };
        table = agree(world, table.grow(size))?;
        growths += 1;
    }
    share.progress.finish_and_clear();
    let words = world.allreduce(&[share.counted], Op::Sum)?[0];
    Ok(Counted { table, words, growths })
}

/// The size that suits all ranks, or `None` if all have counted their shares. Collective.
fn next_size(world: &Comm, wanted: Size, more: bool) -> Result<Option<Size>, Failure> {
    let mine = [u64::from(more), wanted.slots, wanted.bytes];
    let all = world.allreduce(&mine, Op::Max)?;
    Ok((all[0] != 0).then(|| Size { slots: all[1], bytes: all[2], ..wanted }))
}

/// A rank's share of the text.
struct Share {
    words: Words,
    /// Whether the present word is still to be counted.
    more: bool,
    counted: u64,
    may_grow: bool,
    progress: ProgressBar,
}

impl Share {
    /// Counts until the share is done, or until this or another rank cannot go on; returns the
    /// size that the table needs for this rank. Local.
    fn round(&mut self, table: &mut Table) -> Result<Size, Failure> {
        let size = table.size();
        let mut open = table.open()?;
        while self.more && !open.alarm()? {
            let wanted = self.some_words(&mut open, size);
            if !matches!(wanted, Ok(wanted) if wanted == size) {
                open.raise_alarm()?;
                return wanted;
            }
            self.progress.set_position(self.words.bytes);
        }
        Ok(size)
    }

    /// Counts a few words; returns the size that the table needs for more of them.
    fn some_words(&mut self, open: &mut Open<'_>, size: Size) -> Result<Size, Failure> {
        let more_slots = Size {
            slots: size.slots.saturating_mul(4),
            bytes: size.bytes.saturating_mul(4).min(OFFSETS),
            ..size
        };
        for _ in 0..LOOK {
            match open.add(self.words.word()) {
                Ok(()) => self.counted += 1,
                Err(Refusal::Library(error)) => return Err(error.into()),
                Err(Refusal::Slots) if self.may_grow => return Ok(more_slots),
                Err(Refusal::Slots) => return Err(full(open.capacity())),
                Err(Refusal::Words(bytes)) => {
                    return Ok(Size { bytes: bytes.max(size.bytes * 2), ..size });
                }
            }
            self.more = self.words.advance()?;
            if !self.more {
                return Ok(size);
            }
        }
        // Fuller than this, searching costs more than moving everything once.
        let crowded = self.may_grow && open.taken()? > open.capacity() / 8 * 5;
        Ok(if crowded { more_slots } else { size })
    }
}

fn full(slots: u64) -> Failure {
    Failure::Here(format!(
        "the table's {slots} slots are all taken: give --slots a larger number, or leave it out \
         to let the table grow"
    ))
}

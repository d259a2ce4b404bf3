//! The window under a tool, and its operations for the protocols.

use crate::call::Call;
use crate::comm::Comm;
use crate::error::{Error, MismatchKind, Place, Result};
use crate::group::Rank;
use crate::op::Op;
use crate::shm::is_forked;
use crate::sync::cells::{Cell, Cells};
use crate::window::{Win, WindowOptions};
use std::panic::Location;

/// Words of 64 bits at every rank, in an epoch of lock_all that lasts as long as they do.
pub(super) struct Words {
    pub(super) win: Win,
}

/// The arguments of a tool's creation, which must be the same on all ranks.
pub(super) struct Agreed {
    /// The tool's name in errors; at most eight bytes.
    pub(super) name: &'static str,
    /// The rank of its common words.
    pub(super) home: Rank,
    /// Other arguments, with their names in errors.
    pub(super) parameters: [(&'static str, u64); 2],
}

/// The index of a word that shares no line, nor a pair of lines, with index 0.
pub(super) const NEXT_LINES: u64 = 16;

impl Words {
    /// Creates `count(home)` zeroed words at each rank.
    ///
    /// Collective; the outcome is the same on all ranks.
    #[track_caller]
    pub(super) fn new(comm: &Comm, agreed: &Agreed, bytes: impl Fn(bool) -> u64) -> Result<Words> {
        let at = Location::caller();
        comm.within(Call::WinAllocate, || {
            agreed.check(comm, at)?;
            comm.check_shares(Call::WinAllocate, "a tool (mutex, queue, counter)")
        })?;
        let options = WindowOptions::new().name(agreed.name);
        let own = bytes(comm.rank().0 == agreed.home.0);
        let win = options.allocate_bytes(comm, own, 8)?;
        win.lock_all()?;
        Ok(Words { win })
    }

    /// The words, for the protocol of `call`.
    #[track_caller]
    pub(super) fn during(&self, call: Call) -> During<'_> {
        During { win: &self.win, call, line: Location::caller() }
    }

    /// Collective; blocks until every rank has called it.
    #[track_caller]
    pub(super) fn free(self) -> Result<()> {
        self.win.unlock_all()?;
        self.win.free()
    }
}

impl Agreed {
    fn check(&self, comm: &Comm, line: &'static Location<'static>) -> Result<()> {
        let [first, second] = self.parameters;
        let mine = [u64::from(self.home.0), first.1, second.1, self.kind()];
        let all = comm.allgather_within(Call::WinAllocate, line, &mine)?;
        let at = || Place { call: Call::WinAllocate, window: None, rank: Some(comm.rank().0) };
        if let Some(other) = all.chunks_exact(mine.len()).position(|theirs| theirs != mine) {
            let theirs = &all[other * mine.len()..][..mine.len()];
            let (ours, theirs) = (self.words(&mine), self.words(theirs));
            return Err(Error::Mismatch {
                kind: MismatchKind::Call,
                at: at(),
                ours,
                other: other as u32,
                theirs,
            });
        }
        if self.home.0 >= comm.size() {
            return Err(Error::Root { at: at(), root: self.home.0, ranks: comm.size() });
        }
        Ok(())
    }

    /// The name as a word for the comparison: a mutex and a counter might have the same numbers.
    fn kind(&self) -> u64 {
        self.name.bytes().rev().fold(0, |word, byte| word << 8 | u64::from(byte))
    }

    /// A rank's arguments as a sentence.
    fn words(&self, said: &[u64]) -> String {
        let name = said[3].to_le_bytes();
        let name = String::from_utf8_lossy(&name);
        let mut text = format!("{} of home rank {}", name.trim_end_matches('\0'), said[0]);
        if said[3] != self.kind() {
            // Only that kind of tool knows the meaning of its parameters.
            return text;
        }
        for ((name, _), value) in self.parameters.iter().zip(&said[1..]) {
            if !name.is_empty() {
                text += &format!(", {name} {value}");
            }
        }
        text
    }
}

/// The words of a tool during one of its calls.
pub(super) struct During<'w> {
    win: &'w Win,
    call: Call,
    line: &'static Location<'static>,
}

impl During<'_> {
    /// Returns an error, with the name of the call, in a forked process.
    fn check_forked(&self) -> Result<()> {
        match is_forked() {
            false => Ok(()),
            true => self.win.handled(Err(Error::Forked { at: self.win.place(self.call) })),
        }
    }

    fn fetch_and_op(&self, at: Cell, op: Op, operand: u64) -> Result<u64> {
        self.check_forked()?;
        let mut before = 0;
        self.win.fetch_and_op(&operand, &mut before, op, Rank(at.rank), at.index)?;
        Ok(before)
    }
}

impl Cells for During<'_> {
    type Error = Error;

    fn fetch(&self, at: Cell) -> Result<u64> {
        self.fetch_and_op(at, Op::NoOp, 0)
    }

    fn replace(&self, at: Cell, value: u64) -> Result<u64> {
        self.fetch_and_op(at, Op::Replace, value)
    }

    fn add(&self, at: Cell, n: u64) -> Result<u64> {
        self.fetch_and_op(at, Op::Sum, n)
    }

    fn compare_and_swap(&self, at: Cell, expected: u64, new: u64) -> Result<u64> {
        self.check_forked()?;
        let mut before = 0;
        self.win.compare_and_swap(&new, &expected, &mut before, Rank(at.rank), at.index)?;
        Ok(before)
    }

    fn flush(&self, rank: u32) -> Result<()> {
        self.win.flush(Rank(rank))
    }

    fn contend(&self, attempt: impl FnMut() -> Result<bool>) -> Result<bool> {
        let During { win, call, .. } = *self;
        win.within(call, || win.excluded().contend(attempt))
    }

    fn wait_until(&self, at: Cell, ready: impl Fn(u64) -> bool) -> Result<u64> {
        let During { win, call, line } = *self;
        win.within(call, || win.await_value(call, line, at.rank, at.index, ready))
    }
}

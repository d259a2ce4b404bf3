//! The window under a tool, and its operations for the protocols.

use crate::protocol::{Cell, Cells};
use onesided::engine::Win;
use onesided::{
    Call, Comm, Error, MismatchKind, Op, Place, Rank, Result, Universe, Until, WindowOptions,
};
use std::time::{Duration, Instant};

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

/// How long a rank contends for a mutex before it queues.
const CONTENDS: Duration = Duration::from_millis(1);
/// Attempts between yields of the processor.
const ATTEMPTS: u32 = 32;

impl Words {
    /// Creates `bytes(is_home)` zeroed bytes at each rank, at least one word.
    ///
    /// Collective; the outcome is the same on all ranks.
    #[track_caller]
    pub(super) fn new(comm: &Comm, agreed: &Agreed, bytes: impl Fn(bool) -> u64) -> Result<Words> {
        agreed.check(comm).inspect_err(|error| comm.error_handler().handle(error))?;
        let options = WindowOptions::new().name(agreed.name);
        let win = options.allocate_bytes(comm, bytes(comm.rank() == agreed.home), 8)?;
        win.lock_all()?;
        Ok(Words { win })
    }

    /// The words, for a protocol. An error that names `call` in a forked process.
    pub(super) fn during(&self, call: Call) -> Result<&Words> {
        match Universe::is_forked() {
            false => Ok(self),
            true => self.refused(Error::Forked { at: self.place(call) }),
        }
    }

    /// The place of `call` on the window, for errors.
    pub(super) fn place(&self, call: Call) -> Place {
        let rank = Some(self.win.comm().rank());
        Place { call, window: Some(self.win.name().into()), rank }
    }

    /// Returns an error, which the window's handler sees first.
    #[cold]
    pub(super) fn refused<R>(&self, error: Error) -> Result<R> {
        self.win.error_handler().handle(&error);
        Err(error)
    }

    /// Collective; blocks until every rank has called it.
    #[track_caller]
    pub(super) fn free(self) -> Result<()> {
        self.win.unlock_all()?;
        self.win.free()
    }

    fn fetch_and_op(&self, at: Cell, op: Op, operand: u64) -> Result<u64> {
        let mut before = 0;
        self.win.fetch_and_op(&operand, &mut before, op, Rank(at.rank), at.index)?;
        Ok(before)
    }
}

impl Agreed {
    #[track_caller]
    fn check(&self, comm: &Comm) -> Result<()> {
        let [first, second] = self.parameters;
        let mine = [u64::from(self.home.0), first.1, second.1, self.kind()];
        let all = comm.allgather(&mine)?;
        let at = Place { call: Call::WinAllocate, window: None, rank: Some(comm.rank()) };
        if let Some(other) = all.chunks_exact(mine.len()).position(|theirs| theirs != mine) {
            let theirs = &all[other * mine.len()..][..mine.len()];
            let (ours, theirs) = (self.words(&mine), self.words(theirs));
            let (kind, other) = (MismatchKind::Call, other as u32);
            return Err(Error::Mismatch { kind, at, ours, other: Rank(other), theirs });
        }
        if self.home.0 >= comm.size() {
            return Err(Error::Root { at, root: self.home, ranks: comm.size() });
        }
        Ok(())
    }

    /// The name as a word for the comparison: a mutex and a counter might have the same numbers.
    fn kind(&self) -> u64 {
        self.name.bytes().rev().fold(0, |word, byte| word << 8 | u64::from(byte))
    }

    /// A rank's arguments as a sentence.
    fn words(&self, arguments: &[u64]) -> String {
        let name = arguments[3].to_le_bytes();
        let name = String::from_utf8_lossy(&name);
        let mut text = format!("{} of home rank {}", name.trim_end_matches('\0'), arguments[0]);
        if arguments[3] != self.kind() {
            // Only that kind of tool knows the meaning of its parameters.
            return text;
        }
        for ((name, _), value) in self.parameters.iter().zip(&arguments[1..]) {
            if !name.is_empty() {
                text += &format!(", {name} {value}");
            }
        }
        text
    }
}

impl Cells for Words {
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
        let mut before = 0;
        self.win.compare_and_swap(&new, &expected, &mut before, Rank(at.rank), at.index)?;
        Ok(before)
    }

    fn flush(&self, rank: u32) -> Result<()> {
        self.win.flush(Rank(rank))
    }

    #[cold]
    fn contend(&self, mut attempt: impl FnMut() -> Result<bool>) -> Result<bool> {
        let begun = Instant::now();
        while begun.elapsed() < CONTENDS {
            for _ in 0..ATTEMPTS {
                if attempt()? {
                    return Ok(true);
                }
                std::hint::spin_loop();
            }
            // The holder may need this processor.
            std::thread::yield_now();
        }
        Ok(false)
    }

    #[track_caller]
    fn wait_while(&self, at: Cell, value: u64) -> Result<u64> {
        self.win.wait_until_at(Rank(at.rank), at.index, Until::Ne, value)
    }
}

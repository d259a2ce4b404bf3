//! Records of the bytes that the threads of a rank are writing. If a rank is killed in the middle of a
//! write, survivors read there which bytes may be torn.
//!
//! 1. A record exists from before the first byte is written until after the last one, in the order of
//!    the program's instructions (`prim/order.rs`). Weakly ordered stores of a copy (`rep movsb`,
//!    non-temporal stores) lie between the two, and are complete before the launcher sees the end of
//!    the process. A copy by the kernel is one instruction in that order.
//! 2. A record belongs to one thread, from its first write until it ends. Threads never wait for each
//!    other here, and no record costs a locked instruction.
//! 3. A thread for which no record is left only counts itself. As long as one is counted, the rank may
//!    be writing anything.
//! 4. Only the records of a rank that has failed are read.

use super::slot::CallWord;
use super::thread;
use crate::call::Call;
use crate::prim::{CachePadded, Word32, Word64, in_program_order};

/// Threads of a rank that each have a record.
const RECORDS: usize = 16;

/// The present write of one thread, on a cache line of its own because threads write concurrently.
#[repr(C, align(64))]
#[derive(Default)]
pub(crate) struct WriteRecord {
    doing: CallWord,
    target: Word32,
    /// Bytes from the beginning of the target's part.
    start: Word64,
    /// Their number; zero while nothing is written.
    bytes: Word64,
}

/// The records of a rank. Zero bytes are their initial state: nothing is written.
#[repr(C)]
#[derive(Default)]
pub(crate) struct WriteRecords {
    records: CachePadded<[WriteRecord; RECORDS]>,
    /// Threads that write without a record.
    others: CachePadded<Word32>,
}

/// Bytes of a target's part that a rank writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    pub(crate) call: Call,
    /// The block of the window.
    pub(crate) window: u64,
    /// A rank of the window.
    pub(crate) target: u32,
    /// Bytes from the beginning of the target's part.
    pub(crate) start: u64,
    pub(crate) bytes: u64,
}

/// A write in progress. If it is dropped without [`Recording::end`], by a panic, the record stays.
#[must_use = "the record stays until it is ended"]
pub(crate) enum Recording<'a> {
    /// The write needs no record.
    Nothing,
    /// The record of this thread.
    Own(&'a WriteRecord),
    /// The thread has no record and is counted.
    Counted(&'a Word32),
}

impl WriteRecords {
    /// Records what this thread is about to write.
    #[inline(never)]
    pub(crate) fn begin(&self, write: Write) -> Recording<'_> {
        let Some(record) = self.own().or_else(|| self.records.get(thread::ask())) else {
            self.others.fetch_add(1);
            in_program_order();
            return Recording::Counted(&self.others);
        };
        record.begin(write);
        Recording::Own(record)
    }

    /// The record of this thread, once it has written.
    #[inline(always)]
    pub(crate) fn own(&self) -> Option<&WriteRecord> {
        self.records.get(thread::number())
    }

    /// The writes in progress when the rank failed.
    pub(crate) fn read(&self) -> impl Iterator<Item = Write> + '_ {
        self.records.iter().filter_map(|record| {
            let (call, window) = record.doing.get();
            let (start, bytes) = (record.start.load(), record.bytes.load());
            let target = record.target.load();
            (bytes != 0).then_some(Write { call, window, target, start, bytes })
        })
    }

    /// Whether it may also have been writing anything else.
    pub(crate) fn are_too_few(&self) -> bool {
        self.others.load() != 0
    }
}

impl WriteRecord {
    /// Records what its thread is about to write.
    #[inline(always)]
    pub(crate) fn begin(&self, write: Write) {
        // The thread's last write is complete before the record changes, the record is complete before
        // it counts, and the first byte is written after that.
        in_program_order();
        self.doing.set_if_changed(write.call, write.window);
        if self.target.load() != write.target {
            self.target.store(write.target);
        }
        self.start.store(write.start);
        in_program_order();
        self.bytes.store(write.bytes);
        in_program_order();
    }

    /// Records the end of the write.
    #[inline(always)]
    pub(crate) fn end(&self) {
        // The last byte is written before.
        in_program_order();
        self.bytes.store(0);
    }
}

impl Recording<'_> {
    /// Records the end of the write.
    #[inline(always)]
    pub(crate) fn end(self) {
        if !matches!(self, Recording::Nothing) {
            self.end_recorded();
        }
    }

    /// Out of line, so that a job without records pays only a branch.
    #[inline(never)]
    fn end_recorded(self) {
        match self {
            Recording::Nothing => {}
            Recording::Own(record) => record.end(),
            Recording::Counted(others) => {
                in_program_order();
                others.fetch_sub(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    fn write(start: u64) -> Write {
        Write { call: Call::Put, window: 4096, target: 1, start, bytes: 10 }
    }

    /// Threads that write at the same time, three more than there are records: how many have one. Other
    /// tests of this process have threads too, so that may be fewer than there are.
    fn write_together(records: &WriteRecords) -> usize {
        const THREADS: usize = RECORDS + 3;
        let (ready, read) = (&Barrier::new(THREADS + 1), &Barrier::new(THREADS + 1));
        std::thread::scope(|threads| {
            let one = |start| {
                threads.spawn(move || {
                    records.begin(write(99)).end();
                    let recording = records.begin(write(start));
                    let is_own = matches!(recording, Recording::Own(_));
                    ready.wait();
                    read.wait();
                    recording.end();
                    is_own
                })
            };
            let threads: Vec<_> = (0..THREADS as u64).map(one).collect();
            ready.wait();
            let (found, others) = (records.read().collect::<Vec<_>>(), records.others.load());
            // Before any assertion, because a thread that waits here would wait for ever.
            read.wait();
            // Not by the end of the scope, which does not wait until they are gone.
            let own = threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum();
            let all = |write: &Write| write.start < THREADS as u64 && write.bytes == 10;
            assert!(found.len() == own && found.iter().all(all), "{own}: {found:?}");
            assert!(own <= RECORDS && others as usize == THREADS - own, "{own}, {others}");
            own
        })
    }

    #[test]
    fn what_is_written_at_the_same_time_is_all_there_and_then_gone() {
        let records = WriteRecords::default();
        let mut own = 0;
        // More threads than numbers: numbers are reused when their threads end.
        for _ in 0..8 {
            own += write_together(&records);
            assert_eq!(records.read().count(), 0);
            assert!(!records.are_too_few());
        }
        assert!(own > RECORDS, "{own} records in eight rounds");
    }
}

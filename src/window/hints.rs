//! Info keys of windows: what they mean here, and what `get_info` returns of them (MPI-4.1 §12.2.1).
//!
//! | key | values | here |
//! | --- | --- | --- |
//! | `no_locks` | `true`, `false` | `true` on every rank: locks are refused |
//! | `same_size`, `same_disp_unit` | `true`, `false` | `true` on every rank: checked when the window is made |
//! | `accumulate_ordering` | `none`, or any of `rar,raw,war,waw` | kept; accumulates are always ordered in all four ways |
//! | `accumulate_ops` | `same_op`, `same_op_no_op` | kept; any mix is always atomic |
//! | `mpi_accumulate_granularity` | bytes | kept; atomicity is always per element |
//! | `alloc_shared_noncontig` | `true`, `false` | `true` on every rank: each part has cache lines of its own |
//! | `mpi_minimum_memory_alignment` | bytes, a power of two up to a page (the segment is mapped at page boundaries) | honoured by allocate and allocate_shared |
//! | `onesided_huge_pages` | `true`, `false` | allocate: asks the kernel for huge pages, for a part of 1 MiB or more |
//! | `onesided_numa_node` | a number | allocate: keeps the pages of this rank's part on that node |
//! | `onesided_populate` | `true`, `false` | allocate: maps the pages of all parts into this process at once |
//! | `onesided_reserve` | `true`, `false` | allocate: reserves the pages of this rank's part when the window is made |
//!
//! Other keys, and values that are not in the table, are ignored (MPI-4.1 §10).

use super::calls::Calls;
use super::plan::PartRequest;
use super::refusal::{Check, Refusal};
use super::serial::{self, SyncState, Synchronization};
use crate::call::Call;
use crate::check::ConcurrentOps;
use crate::comm::{Collective, Comm};
use crate::error::{Error, Place, Result};
use crate::info::Info;
use crate::shm::{Advice, Segment, Span, page_size};
use std::panic::Location;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// `MPI_WIN` info keys with a Boolean value, in the order of [`Hints::flags`].
const FLAGS: [&str; 7] = [
    "no_locks",
    "same_size",
    "same_disp_unit",
    "alloc_shared_noncontig",
    "onesided_huge_pages",
    "onesided_populate",
    "onesided_reserve",
];

pub(super) const NO_LOCKS: u64 = 1;
pub(super) const SAME_SIZE: u64 = 2;
pub(super) const SAME_DISP_UNIT: u64 = 4;
pub(super) const NONCONTIG: u64 = 8;
pub(super) const HUGE_PAGES: u64 = 16;
pub(super) const POPULATE: u64 = 32;
pub(super) const RESERVE: u64 = 64;

/// Not a key: the window is a [`Window`](crate::Window), whose guards end epochs only when no operation
/// is under way.
const TYPED: u64 = 128;

/// The flags that are in force only if every rank has given them.
const OF_ALL_RANKS: u64 = NO_LOCKS | SAME_SIZE | SAME_DISP_UNIT | NONCONTIG | TYPED;

const ORDERINGS: [&str; 4] = ["rar", "raw", "war", "waw"];

/// The hints that a window was created with.
#[derive(Clone, Debug)]
pub(super) struct Hints {
    /// A bit for each of [`FLAGS`].
    pub(super) flags: u64,
    /// A bit for each of [`ORDERINGS`].
    ordering: u8,
    ops: &'static str,
    /// Those that the program has given.
    pub(super) concurrent_ops: ConcurrentOps,
    granularity: Option<u64>,
    pub(super) alignment: u64,
    numa_node: Option<u32>,
}

impl Default for Hints {
    fn default() -> Self {
        let (granularity, numa_node) = (None, None);
        Hints {
            flags: 0,
            ordering: 15,
            ops: "same_op_no_op",
            concurrent_ops: ConcurrentOps::Any,
            granularity,
            alignment: 1,
            numa_node,
        }
    }
}

impl Hints {
    /// Takes the values that `info` has for the keys above.
    pub(super) fn read(&mut self, info: &Info) {
        for (bit, key) in FLAGS.iter().enumerate() {
            match info.get(key) {
                Some("true") => self.flags |= 1 << bit,
                Some("false") => self.flags &= !(1 << bit),
                _ => {}
            }
        }
        if let Some(ordering) = info.get("accumulate_ordering").and_then(ordering) {
            self.ordering = ordering;
        }
        (self.ops, self.concurrent_ops) = match info.get("accumulate_ops") {
            Some("same_op") => ("same_op", ConcurrentOps::Same),
            Some("same_op_no_op") => ("same_op_no_op", ConcurrentOps::SameOrNoOp),
            _ => (self.ops, self.concurrent_ops),
        };
        let number = |key| info.get(key).and_then(|text| text.parse::<u64>().ok());
        if let Some(bytes) = number("mpi_accumulate_granularity").filter(|bytes| *bytes > 0) {
            self.granularity = Some(bytes);
        }
        if let Some(node) = number("onesided_numa_node").and_then(|node| node.try_into().ok()) {
            self.numa_node = Some(node);
        }
        let aligned = |bytes: &u64| bytes.is_power_of_two() && *bytes <= page_size();
        if let Some(bytes) = number("mpi_minimum_memory_alignment").filter(aligned) {
            self.alignment = bytes;
        }
    }

    /// These hints with what `flags`, the flags of every rank, have in common.
    pub(super) fn agreed(&self, flags: impl Iterator<Item = u64>) -> Hints {
        let common = flags.fold(self.flags, |all, flags| all & (flags | !OF_ALL_RANKS));
        Hints { flags: common, ..self.clone() }
    }

    /// Checks the requests of all ranks against `same_size` and `same_disp_unit`.
    pub(super) fn check(
        &self,
        comm: &Comm,
        call: Call,
        requests: impl Iterator<Item = PartRequest> + Clone,
    ) -> Result<()> {
        let different = |key, value: fn(PartRequest) -> u64| {
            let mut values = (0_u32..).zip(requests.clone().map(value));
            let (_, first) = values.next()?;
            let (rank, other) = values.find(|(_, value)| *value != first)?;
            let problem =
                format!("{key} is true, but rank 0 gave {first} bytes and rank {rank} {other}");
            let at = Place { call, window: None, rank: Some(comm.rank()) };
            Some(Error::InfoValue { at, problem })
        };
        let size = self.has(SAME_SIZE).then(|| different("same_size", |one| one.bytes));
        let unit =
            self.has(SAME_DISP_UNIT).then(|| different("same_disp_unit", |one| one.disp_unit));
        size.flatten().or(unit.flatten()).map_or(Ok(()), Err)
    }

    /// These hints without those about pages, which only the segment's memory can follow.
    pub(super) fn without_pages(self) -> Hints {
        Hints { flags: self.flags & !(HUGE_PAGES | POPULATE | RESERVE), numa_node: None, ..self }
    }

    /// These hints, for a [`Window`](crate::Window).
    pub(super) fn typed(&self) -> Hints {
        Hints { flags: self.flags | TYPED, ..self.clone() }
    }

    /// Whether locks are refused.
    pub(super) fn no_locks(&self) -> bool {
        self.has(NO_LOCKS)
    }

    pub(super) fn has(&self, flag: u64) -> bool {
        self.flags & flag != 0
    }

    /// What is in force and is not the default, for reports.
    pub(super) fn shown(&self) -> String {
        let usual = Hints::default().info();
        let own = self.info();
        let others = own.iter().filter(|(key, value)| usual.get(key) != Some(value));
        others.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
    }

    /// What is in force, for `MPI_Win_get_info`.
    pub(super) fn info(&self) -> Info {
        let mut info = Info::new();
        let mut set = |key: &str, value: &str| {
            info.set(key, value).expect("the keys and values of the table are legal");
        };
        for (bit, key) in FLAGS.iter().enumerate() {
            set(key, if self.flags >> bit & 1 == 1 { "true" } else { "false" });
        }
        let named = ORDERINGS.iter().enumerate().filter(|(bit, _)| self.ordering >> bit & 1 == 1);
        let named: Vec<&str> = named.map(|(_, name)| *name).collect();
        set("accumulate_ordering", &if named.is_empty() { "none".into() } else { named.join(",") });
        set("accumulate_ops", self.ops);
        if let Some(bytes) = self.granularity {
            set("mpi_accumulate_granularity", &bytes.to_string());
        }
        if let Some(node) = self.numa_node {
            set("onesided_numa_node", &node.to_string());
        }
        set("mpi_minimum_memory_alignment", &self.alignment.to_string());
        info
    }
}

/// The orderings that a comma-separated list names; `None` if it names anything else.
fn ordering(text: &str) -> Option<u8> {
    if text == "none" {
        return Some(0);
    }
    text.split(',').try_fold(0, |all, name| {
        let bit = ORDERINGS.iter().position(|ordering| *ordering == name.trim())?;
        Some(all | 1 << bit)
    })
}

/// The hints of a window, which `set_info` changes.
pub(super) struct Hinted {
    hints: Mutex<Hints>,
}

impl Hinted {
    pub(super) fn new(hints: Hints) -> Hinted {
        Hinted { hints: Mutex::new(hints) }
    }

    fn hints(&self) -> MutexGuard<'_, Hints> {
        self.hints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `MPI_Win_get_info`
    pub(super) fn info(&self) -> Info {
        self.hints().info()
    }

    /// `MPI_Win_set_info`
    pub(super) fn set_info(
        &self,
        sync: Synchronization<'_>,
        info: &Info,
        at: &'static Location<'static>,
    ) -> Result<()> {
        let calls = sync.calls;
        let mut hints = self.hints().clone();
        let before = hints.clone();
        hints.read(info);
        let ranks = &calls.survivors;
        let mut ranks = Collective::begin_patiently(ranks, Call::WinSetInfo, at)?;
        let all = ranks.gather(&[hints.flags])?;
        let agreed = hints.agreed(all.iter().map(|[flags]| flags));
        let flags = before.flags & !NO_LOCKS | agreed.flags & NO_LOCKS;
        sync.sync_state().set_slow_locks(serial::NO_LOCKS, flags & NO_LOCKS != 0);
        *self.hints() =
            Hints { flags, alignment: before.alignment, numa_node: before.numa_node, ..agreed };
        self.show(calls);
        Ok(())
    }

    /// Asks the kernel for the kind of pages that the hints name, before any exist. A request that it
    /// refuses is no longer in force. `own` is this rank's part, in a run of `bytes` bytes at `offset`.
    pub(super) fn advise_of_kind(&self, segment: &Segment, own: Span, offset: u64, bytes: u64) {
        self.advise(HUGE_PAGES, Advice::HugePages, segment, offset, bytes);
        let mut hints = self.hints();
        let placed = |node: &u32| {
            let offset = segment.offset_of(own.base(), own.len());
            offset.is_some_and(|at| segment.advise(at, own.len(), Advice::Node(*node)))
        };
        hints.numa_node = hints.numa_node.filter(placed);
    }

    /// Records what is in force now, where windows are counted.
    pub(super) fn show(&self, calls: &Calls) {
        calls.show_hints(|| self.hints().shown());
    }

    /// Asks the kernel to map the pages, once they exist.
    pub(super) fn advise_of_mapping(&self, segment: &Segment, offset: u64, bytes: u64) {
        self.advise(POPULATE, Advice::Populate, segment, offset, bytes);
    }

    /// Whether the kernel was asked for huge pages, and agreed.
    pub(super) fn wants_huge_pages(&self) -> bool {
        self.hints().has(HUGE_PAGES)
    }

    /// Whether this rank's pages are to be reserved now.
    pub(super) fn wants_reserved_pages(&self) -> bool {
        self.hints().has(RESERVE)
    }

    fn advise(&self, flag: u64, advice: Advice, segment: &Segment, offset: u64, bytes: u64) {
        let mut hints = self.hints();
        if hints.has(flag) && !segment.advise(offset, bytes, advice) {
            hints.flags &= !flag;
        }
    }

    /// Whether every rank has the window as a [`Window`](crate::Window). Threads that use the untyped
    /// calls can let an operation outlast the lock that it was checked under.
    pub(super) fn is_typed_everywhere(&self) -> bool {
        self.hints().has(TYPED)
    }

    /// Whether the lock `call` is allowed although `no_locks` may be in force. Where such a lock is
    /// accepted, the hint is not in force any more. The last check of a lock.
    pub(super) fn may_have_locks(&self, state: &mut SyncState, calls: &Calls, call: Call) -> Check {
        if !state.has_slow_locks(serial::NO_LOCKS) {
            return Ok(());
        }
        let sentence = format!("{call}: {}", Refusal::NoLocks.sentence(call, 0));
        if !calls.is_accepted(&sentence) {
            return Err(Refusal::NoLocks);
        }
        self.hints().flags &= !NO_LOCKS;
        state.set_slow_locks(serial::NO_LOCKS, false);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info_of(pairs: &[(&str, &str)]) -> Info {
        let mut info = Info::new();
        pairs.iter().for_each(|(key, value)| info.set(key, value).unwrap());
        let mut hints = Hints::default();
        hints.read(&info);
        hints.info()
    }

    #[test]
    fn known_keys_are_kept_and_the_rest_is_ignored() {
        let info = info_of(&[
            ("no_locks", "true"),
            ("accumulate_ordering", "waw, rar"),
            ("accumulate_ops", "same_op"),
            ("mpi_accumulate_granularity", "8"),
            ("mpi_minimum_memory_alignment", "4096"),
            ("pizza", "true"),
            ("onesided_numa_node", "0"),
        ]);
        assert_eq!(info.get("no_locks"), Some("true"));
        assert_eq!(info.get("same_size"), Some("false"));
        assert_eq!(info.get("accumulate_ordering"), Some("rar,waw"));
        assert_eq!(info.get("accumulate_ops"), Some("same_op"));
        assert_eq!(info.get("mpi_accumulate_granularity"), Some("8"));
        assert_eq!(info.get("mpi_minimum_memory_alignment"), Some("4096"));
        assert_eq!(info.get("onesided_numa_node"), Some("0"));
        assert_eq!(info.get("pizza"), None);
    }

    #[test]
    fn values_that_mean_nothing_change_nothing() {
        let info = info_of(&[
            ("no_locks", "maybe"),
            ("accumulate_ordering", "rar,xyz"),
            ("accumulate_ops", "any"),
            ("onesided_numa_node", "-1"),
            ("mpi_accumulate_granularity", "0"),
            ("mpi_minimum_memory_alignment", "24"),
        ]);
        assert_eq!(info, Hints::default().info());
        assert_eq!(
            info_of(&[("accumulate_ordering", "none")]).get("accumulate_ordering"),
            Some("none")
        );
    }
}

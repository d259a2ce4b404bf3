//! What was found: records that outlive the ranks, and sentences.

use super::shadow::{Finding, GRANULE_BYTES};
use super::window::ByteRun;
use super::{AccessKind, CheckState, Checker, threads};
use crate::call::Call;
use crate::datatype::Datatype;
use crate::error::Result;
use crate::op::Op;
use crate::prim::Word64;
use crate::shm::{CheckTables, CheckWords, ConflictWords, OperationWords, Segment, SiteWords};
use std::fmt;
use std::io::Write as _;
use std::ops::Range;

/// An earlier operation that conflicts with the present one.
pub(super) struct FoundConflict {
    number: u32,
    /// The first bytes that both access, from the beginning of the part.
    bytes: Range<u64>,
    /// Granules in which it was found.
    times: u32,
    finding: Finding,
}

/// What all ranks of a job have found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conflicts {
    /// Pairs of lines, or of calls where lines are unknown.
    pub pairs: u32,
    /// Pairs that only the separate memory model forbids, which do not count as conflicts.
    pub unportable: u32,
    /// How often such pairs conflicted.
    pub times: u64,
    /// Whether some may be missing, because a table was full.
    pub is_incomplete: bool,
}

impl Conflicts {
    /// Those of a job; `None` if it is not checked.
    pub(crate) fn of(segment: &Segment) -> Result<Option<Conflicts>> {
        let Some(tables) = segment.layout().check else { return Ok(None) };
        let mapping = segment.mapping();
        let words: &CheckWords = mapping.view(tables.words)?;
        let pairs = words.conflicts.load().min(CheckTables::CONFLICTS);
        let all: &[ConflictWords] = mapping.views(tables.conflicts, pairs as usize)?;
        let is_conflict = |one: &&ConflictWords| !Reason::of_word(one.reason.load()).is_separate();
        let conflicts = || all.iter().filter(is_conflict);
        let times = conflicts().map(|one| u64::from(one.count.load())).sum();
        let (all, pairs) = (pairs, conflicts().count() as u32);
        let (unportable, is_incomplete) = (all - pairs, words.is_full.load() != 0);
        Ok(Some(Conflicts { pairs, unportable, times, is_incomplete }))
    }
}

/// Two accesses that conflict, as the first ranks that met this pair of lines had it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The window's name.
    pub window: String,
    /// The rank of the window whose part both access.
    pub target: u32,
    /// The first bytes that both access, from the beginning of the part.
    pub bytes: Range<u64>,
    /// The earlier one in the order of the checks, and the later one.
    pub accesses: [ConflictAccess; 2],
    /// How often this pair of lines conflicted.
    pub times: u32,
    reason: Reason,
}

/// One of two accesses that conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictAccess {
    /// Rank of the job.
    pub rank: u32,
    /// The number of its thread, or of the task that it runs, from 0 on, if threads are followed and there are several.
    pub thread: Option<u32>,
    /// The call; none for a load or store of the program itself.
    pub call: Call,
    /// Whether the call accesses these bytes as its buffer in this process, and not as its target.
    pub is_of_buffer: bool,
    /// Its column in the table of rules, as in "put".
    pub kind: &'static str,
    /// The predefined datatype of an accumulate.
    pub datatype: Option<Datatype>,
    /// The operation of an accumulate, if the program has excluded others by `accumulate_ops`.
    pub op: Option<Op>,
    /// The program's line, if it is known: file:line:column, or as the binding has found it. Of a store of the
    /// program itself, between which calls it happened.
    pub line: Option<String>,
}

/// Why nothing orders two accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Reason {
    /// Of one rank, which has not completed the first one.
    Own,
    /// The ranks have synchronised before the first one was complete.
    Incomplete,
    /// The ranks have not synchronised since a load or store.
    Local,
    /// The ranks have not synchronised since the first one.
    Unordered,
    /// Of accumulates through two windows.
    Windows,
    /// Of two threads of one rank, which have not synchronised since the first one.
    Threads,
    /// The ranks have synchronised before the operation was complete that uses a buffer there.
    UsedBuffer,
    /// Both use a buffer of one rank, and the first one was not complete in this process.
    Buffer,
    /// A rank asserts by the first one that it has not stored, but it has.
    NoStore,
    /// A rank asserts by the first one that no operation updates its part, but the second one does.
    NoPut,
    /// A rank asserts by the first lock that there is no conflicting one, but there is.
    Held,
    /// A rank asserts by its start that the target has posted.
    NotPosted,
    /// In the separate model: an update is not visible to the owner.
    NotPrivate,
    /// A store of the owner is not visible to others.
    NotPublic,
    /// A store and an update of one part, of different bytes.
    Disjoint,
}

/// All reasons, by their numbers.
const REASONS: [Reason; 15] = [
    Reason::Own,
    Reason::Incomplete,
    Reason::Local,
    Reason::Unordered,
    Reason::Windows,
    Reason::Threads,
    Reason::UsedBuffer,
    Reason::Buffer,
    Reason::NoStore,
    Reason::NoPut,
    Reason::Held,
    Reason::NotPosted,
    Reason::NotPrivate,
    Reason::NotPublic,
    Reason::Disjoint,
];

impl Reason {
    fn of_word(word: u32) -> Reason {
        REASONS.get(word as usize).copied().unwrap_or(Reason::Unordered)
    }

    /// Whether the separate model alone forbids it.
    fn is_separate(self) -> bool {
        matches!(self, Reason::NotPrivate | Reason::NotPublic | Reason::Disjoint)
    }

    /// Whether the first of the two asserts what is not true.
    fn is_assertion(self) -> bool {
        matches!(self, Reason::NoStore | Reason::NoPut | Reason::Held | Reason::NotPosted)
    }
}

impl Conflict {
    /// Those of a job, in the order in which they were found; none if it is not checked.
    pub(crate) fn all(segment: &Segment) -> Result<Vec<Conflict>> {
        let Some(tables) = segment.layout().check else { return Ok(Vec::new()) };
        let mapping = segment.mapping();
        let words: &CheckWords = mapping.view(tables.words)?;
        let pairs = words.conflicts.load().min(CheckTables::CONFLICTS);
        let all: &[ConflictWords] = mapping.views(tables.conflicts, pairs as usize)?;
        let sites = mapping.views(tables.sites, CheckTables::SITES as usize)?;
        Ok(all.iter().map(|one| Conflict::read(sites, one)).collect())
    }

    fn read(sites: &[SiteWords], one: &ConflictWords) -> Conflict {
        let reason = Reason::of_word(one.reason.load());
        let access = |side: usize| {
            let what = one.what[side].load();
            let kind = AccessKind::of_word((what >> 8) as u8);
            ConflictAccess {
                rank: one.ranks[side].load(),
                thread: one.threads[side].load().checked_sub(1),
                call: Call::from_word(what & 0xff).unwrap_or(Call::None),
                is_of_buffer: kind.is_of_buffer(),
                kind: match (reason, side) {
                    (_, 0) if reason.is_assertion() => "assertion",
                    (Reason::Held, _) => "lock",
                    (Reason::NotPosted, _) => "post",
                    _ => kind.name(),
                },
                datatype: kind
                    .is_accumulate()
                    .then(|| Datatype::of_number(what >> 16 & 0xff))
                    .flatten(),
                op: Op::ALL.into_iter().find(|op| *op as u32 + 1 == what >> 24),
                line: text_of(sites, one.sites[side].load()),
            }
        };
        let (start, bytes) = (one.start.load(), one.bytes.load());
        Conflict {
            window: text_of(sites, one.window.load()).unwrap_or_default(),
            target: one.target.load(),
            bytes: start..start.saturating_add(bytes.max(1)),
            accesses: [access(0), access(1)],
            times: one.count.load(),
            reason,
        }
    }

    /// Which rule of MPI the program breaks: "conflict" of accesses to a window, "buffer" for accesses to the first
    /// operation's buffer, "assertion" for the first call's, or "separate" if only the separate memory model forbids it.
    pub fn rule(&self) -> &'static str {
        match self.reason {
            Reason::Buffer => "buffer",
            reason if reason.is_assertion() => "assertion",
            reason if reason.is_separate() => "separate",
            _ => "conflict",
        }
    }

    /// Why nothing orders the two.
    pub fn reason(&self) -> String {
        let ([_, b], [first, second]) = (self.ranks(), self.calls());
        if let Some(reason) = self.differing_accumulates() {
            return reason;
        }
        match self.reason {
            Reason::Own => format!("nothing completes the {first} before the {second}"),
            Reason::Incomplete => format!(
                "{a} has synchronised with {b}, but its {first} was not complete at rank {} then",
                self.target,
                a = self.place(0),
                b = self.place(1)
            ),
            Reason::NoStore | Reason::NoPut | Reason::Held | Reason::NotPosted => self.asserted(),
            Reason::Windows => format!(
                "nothing orders the {first} and the {second}, and accumulates through two windows are not atomic \
                 against each other"
            ),
            Reason::Buffer => {
                format!("the {first} may use its buffer until it is complete in this process")
            }
            Reason::UsedBuffer => self.used_buffer(),
            Reason::NotPrivate => {
                format!("the {first} need not be visible to the loads and stores of rank {b} yet")
            }
            Reason::NotPublic => format!("the {first} need not be visible to operations yet"),
            Reason::Disjoint => format!(
                "a {first} and a {second} of other bytes of one part may overwrite each other's"
            ),
            Reason::Local | Reason::Unordered | Reason::Threads => format!(
                "nothing synchronises {} with {} between the two",
                self.place(0),
                self.place(1)
            ),
        }
    }

    /// [`Conflict::reason`] of accumulates that could be concurrent if they had the same operation or datatype.
    fn differing_accumulates(&self) -> Option<String> {
        let [first, second] = self.calls();
        let [(datatype, op), (other, another)] =
            self.accesses.each_ref().map(|access| (access.datatype, access.op));
        if let (Some(op), Some(another)) = (op, another)
            && datatype == other
            && op != another
        {
            return Some(format!(
                "nothing orders the {first} with {} and the {second} with {}, which accumulate_ops excludes",
                op.name(),
                another.name()
            ));
        }
        let (datatype, other) = (datatype?, other?);
        (datatype != other).then(|| format!(
            "nothing orders the {first} of {} and the {second} of {}, and accumulates of two datatypes are not atomic \
             against each other",
            datatype.name(),
            other.name()
        ))
    }

    /// [`Conflict::reason`] of an assertion.
    fn asserted(&self) -> String {
        let ([a, b], [first, second]) = (self.ranks(), self.calls());
        match self.reason {
            Reason::NoStore => format!(
                "rank {a} asserts MPI_MODE_NOSTORE, that it has not stored to its part since it synchronised last"
            ),
            Reason::NoPut => format!(
                "rank {a} asserts MPI_MODE_NOPUT, that no put or accumulate updates its part in this epoch"
            ),
            Reason::Held => format!(
                "rank {a} asserts MPI_MODE_NOCHECK, that no conflicting lock is held meanwhile, but nothing orders its \
                 {first} and the {second} of rank {b}"
            ),
            _ => format!(
                "rank {a} asserts MPI_MODE_NOCHECK, that rank {b} has posted before, but nothing orders the post before \
                 the start"
            ),
        }
    }

    /// [`Conflict::reason`] of an operation that has a buffer there.
    fn used_buffer(&self) -> String {
        let ([a, b], [first, second]) = ([0, 1].map(|side| self.place(side)), self.calls());
        if a == b {
            return format!(
                "nothing completes the {first}, which has a buffer there, before the {second}"
            );
        }
        format!(
            "{a} has synchronised with {b}, but its {first}, which has a buffer there, was not complete then"
        )
    }

    /// Which call would order them.
    pub fn remedy(&self) -> String {
        let ([first, _], target) = (self.calls(), self.target);
        match self.reason {
            Reason::Own => format!(
                "a flush of rank {target} between the two (under a lock), or another epoch, would"
            ),
            Reason::Windows => format!("both need the same window, or {}", self.completion()),
            Reason::NoStore | Reason::NoPut | Reason::Held | Reason::NotPosted => {
                format!("the {first} is correct without that assertion")
            }
            Reason::Buffer if self.accesses[0].call.has_request() => format!(
                "a wait for its request, a flush_local of rank {target} between the two (under a lock), or the end of the \
                 epoch would complete it"
            ),
            Reason::Buffer => {
                let [first, second] = self.accesses.each_ref().map(|access| access.thread);
                let of_two = second.is_some() && first != second;
                let behind = if of_two { "; the threads have to synchronise after that" } else { "" };
                format!(
                    "a flush_local of rank {target} between the two (under a lock), or the end of the epoch, would \
                     complete it{behind}"
                )
            }
            Reason::Incomplete => format!(
                "{} needs a flush of rank {target} (under a lock), or the end of the epoch, before that",
                self.place(0)
            ),
            Reason::UsedBuffer => format!(
                "{} needs a flush_local (under a lock), or the end of the epoch, before that",
                self.place(0)
            ),
            Reason::NotPrivate => {
                format!("rank {target} needs a fence, wait, lock, lock_all or sync of the window between the two")
            }
            Reason::NotPublic => {
                format!("rank {target} needs a fence, post, unlock, unlock_all or sync of the window between the two")
            }
            Reason::Disjoint => {
                "put them into different epochs, with a synchronisation of the window between the two".to_owned()
            }
            Reason::Threads => {
                "a barrier of the threads, a mutex or the end of one of them would".to_owned()
            }
            Reason::Local => {
                "a fence, an exclusive lock, post and start, a barrier or a message would".to_owned()
            }
            Reason::Unordered => self.completion(),
        }
    }

    /// What the first rank has to do before the second access.
    fn completion(&self) -> String {
        format!(
            "{} has to complete its {} (fence, complete, unlock or flush), and then to synchronise with {} (fence, an \
             exclusive lock, wait, a barrier or a message)",
            self.place(0),
            self.accesses[0].name(),
            self.place(1)
        )
    }

    /// The rank and thread of an access.
    fn place(&self, side: usize) -> String {
        self.accesses[side].place()
    }

    fn ranks(&self) -> [u32; 2] {
        self.accesses.each_ref().map(|access| access.rank)
    }

    fn calls(&self) -> [&'static str; 2] {
        self.accesses.each_ref().map(ConflictAccess::name)
    }
}

impl ConflictAccess {
    /// Its call; none for a load or store of the program itself.
    pub fn call_name(&self) -> Option<&'static str> {
        (self.call != Call::None).then(|| self.call.name())
    }

    /// Its rank, and its thread if that is known.
    fn place(&self) -> String {
        match self.thread {
            None => format!("rank {}", self.rank),
            Some(thread) => format!("thread {thread} of rank {}", self.rank),
        }
    }

    /// Whether its line stands for the calls between which it happened.
    fn is_between_calls(&self) -> bool {
        let starts = |line: &String| {
            ["between ", "after ", "before "].iter().any(|word| line.starts_with(word))
        };
        self.call == Call::None && self.line.as_ref().is_some_and(starts)
    }

    /// Its call, or "load" or "store" for a store of the program itself.
    fn name(&self) -> &'static str {
        self.call_name().unwrap_or(self.kind)
    }
}

/// Both accesses, why nothing orders them, and which call would: some lines.
impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Conflict { window, target, bytes, .. } = self;
        let (first, last) = (bytes.start, bytes.end - 1);
        match self.rule() {
            "buffer" => writeln!(
                f,
                "onesided: conflict in the buffer of an operation on window '{window}', its bytes {first} to \
                 {last}:"
            )?,
            "assertion" if matches!(self.reason, Reason::Held | Reason::NotPosted) => {
                writeln!(f, "onesided: wrong assertion in window '{window}', about rank {target}:")?
            }
            "separate" => writeln!(
                f,
                "onesided: not portable to the separate memory model, in window '{window}', bytes {first} to {last} \
                 of rank {target}:"
            )?,
            "assertion" => writeln!(
                f,
                "onesided: wrong assertion in window '{window}', bytes {first} to {last} of rank {target}:"
            )?,
            _ => writeln!(
                f,
                "onesided: conflict in window '{window}', bytes {first} to {last} of rank {target}:"
            )?,
        }
        for access in &self.accesses {
            write!(f, "  rank {}", access.rank)?;
            if let Some(thread) = access.thread {
                write!(f, ", thread {thread}")?;
            }
            write!(f, ": {}", access.name())?;
            match &access.line {
                Some(calls) if access.is_between_calls() => write!(f, " {calls}")?,
                Some(line) => write!(f, " at {line}")?,
                None => {}
            }
            writeln!(f, "{}", if access.is_of_buffer { ", by its buffer" } else { "" })?;
        }
        writeln!(f, "  {}; {}", self.reason(), self.remedy())
    }
}

impl FoundConflict {
    /// Whether it is with that operation.
    pub(super) fn is_with(&self, number: u32) -> bool {
        self.number == number
    }

    /// Adds bytes that an earlier operation accesses, too.
    pub(super) fn add(
        all: &mut Vec<FoundConflict>,
        (number, finding): (u32, Finding),
        bytes: Range<u64>,
    ) {
        let granules = bytes.end.div_ceil(GRANULE_BYTES) - bytes.start / GRANULE_BYTES;
        match all.iter_mut().find(|found| found.number == number) {
            Some(found) => {
                found.times += granules as u32;
                if found.bytes.end == bytes.start {
                    found.bytes.end = bytes.end;
                }
            }
            None => {
                let times = granules as u32;
                all.push(FoundConflict { number, bytes, times, finding });
            }
        }
    }
}

/// The number of a line, which is recorded if it is new; zero if the table is full. Under the lock. `line` is line
/// and column; without them the text has the line.
pub(super) fn intern(
    words: &CheckWords,
    sites: &[SiteWords],
    text: &str,
    line: Option<(u32, u32)>,
) -> u32 {
    let (known, line) = (words.sites.load(), line.unwrap_or_default());
    let mut file = [0u8; SiteWords::FILE_BYTES];
    let from = text.ceil_char_boundary(text.len().saturating_sub(file.len()));
    file[..text.len() - from].copy_from_slice(&text.as_bytes()[from..]);
    let is_it = |site: &SiteWords| {
        (site.line.load(), site.column.load()) == line && bytes_of(&site.file) == file
    };
    if let Some(number) = sites.iter().take(known as usize).position(is_it) {
        return number as u32 + 1;
    }
    let Some(site) = sites.get(known as usize) else { return 0 };
    for (word, chunk) in site.file.iter().zip(file.chunks_exact(8)) {
        word.store(u64::from_le_bytes(chunk.try_into().expect("chunks of eight bytes")));
    }
    site.line.store(line.0);
    site.column.store(line.1);
    words.sites.store(known + 1);
    known + 1
}

fn bytes_of(words: &[Word64; SiteWords::FILE_BYTES / 8]) -> [u8; SiteWords::FILE_BYTES] {
    let mut bytes = [0; SiteWords::FILE_BYTES];
    let chunks = bytes.chunks_exact_mut(8).zip(words);
    chunks.for_each(|(chunk, word)| chunk.copy_from_slice(&word.load().to_le_bytes()));
    bytes
}

/// "file:line:column", or another text of the table; `None` for number zero.
pub(super) fn text_of(sites: &[SiteWords], number: u32) -> Option<String> {
    let site = number.checked_sub(1).and_then(|at| sites.get(at as usize))?;
    let file = bytes_of(&site.file);
    let end = file.iter().position(|byte| *byte == 0).unwrap_or(file.len());
    let file = String::from_utf8_lossy(&file[..end]).replace(char::is_control, "\u{fffd}");
    Some(match (site.line.load(), site.column.load()) {
        (0, _) => file,
        (line, column) => format!("{file}:{line}:{column}"),
    })
}

/// Records the conflicts of operation `number` of a rank that knows `clock`. Returns those whose pair of lines is
/// new. Under the lock.
pub(super) fn record(
    checker: &Checker,
    state: &mut CheckState,
    (window, target): (&str, u32),
    number: u32,
    found: &[FoundConflict],
    clock: &[u64],
) -> Vec<Conflict> {
    // What lies in several granules has been seen in one of them at most.
    let is_seen = |one: &&FoundConflict| {
        one.finding == Finding::Conflict
            && one.times == 1
            && checker.is_seen(one.number, &one.bytes, clock)
    };
    let new = |one: &FoundConflict| {
        let operations = [one.number, number].map(|at| checker.operation_at(at));
        let pair = operations.map(|of| (of.site.load(), of.what.load()));
        let words = new_pair(checker, pair, (one.times, one.finding.is_separate()))?;
        for (word, of) in words.ranks.iter().zip(operations) {
            word.store(of.rank.load());
        }
        let slots = operations.map(|of| Some(threads::slot_of(of.issued.load())));
        name_threads(checker, words, slots);
        let of = (checker.text(state, window), target);
        let reason = match one.finding {
            Finding::Conflict => reason((clock, checker.ranks), operations),
            Finding::NotPrivate => Reason::NotPrivate,
            Finding::NotPublic => Reason::NotPublic,
            Finding::Disjoint => Reason::Disjoint,
        };
        Some(publish(checker, words, of, reason, &one.bytes))
    };
    found.iter().filter(|one| !is_seen(one)).filter_map(new).collect()
}

/// The slots of the threads that have done both; of one rank with one thread none is named.
fn name_threads(checker: &Checker, words: &ConflictWords, slots: [Option<u32>; 2]) {
    let has_threads = checker.words.slots.load() > 1;
    for (word, slot) in words.threads.iter().zip(slots) {
        word.store(slot.filter(|_| has_threads).map_or(0, |slot| slot + 1));
    }
}

/// What two ranks have done, given by lines and descriptions, and the slots of their threads where they are known.
pub(super) struct RecordedPair {
    pub(super) ranks: [u32; 2],
    pub(super) slots: [Option<u32>; 2],
    pub(super) calls: [(u32, u32); 2],
}

/// Records what two ranks have done wrong in a window or on a target of it. Returns it if its pair of lines is new.
/// Under the lock.
pub(super) fn record_pair(
    checker: &Checker,
    pair: &RecordedPair,
    of: (u32, u32),
    reason: Reason,
    bytes: &Range<u64>,
) -> Option<Conflict> {
    let words = new_pair(checker, pair.calls, (1, false))?;
    words.ranks.iter().zip(pair.ranks).for_each(|(word, rank)| word.store(rank));
    name_threads(checker, words, pair.slots);
    Some(publish(checker, words, of, reason, bytes))
}

/// Whether two pairs of lines and descriptions are of the same calls. A buffer of a call may be described as a part of a
/// window, or as the call.
fn are_alike(pair: [(u32, u32); 2], other: [(u32, u32); 2]) -> bool {
    let kind = |what: u32| AccessKind::of_word((what >> 8) as u8);
    let is_one = |((site, what), (of, as_what)): ((u32, u32), (u32, u32))| {
        let of_buffer = kind(what).is_of_buffer() || kind(as_what).is_of_buffer();
        site == of && (what == as_what || of_buffer && what & 0xff == as_what & 0xff)
    };
    pair.into_iter().zip(other).all(is_one)
}

/// Counts a conflict of two lines and descriptions. Returns a record for it if it is their first one, and the table is
/// not full.
fn new_pair(
    checker: &Checker,
    pair: [(u32, u32); 2],
    (times, is_separate): (u32, bool),
) -> Option<&ConflictWords> {
    let known = checker.words.conflicts.load();
    for one in checker.conflicts.iter().take(known as usize) {
        let other = [0, 1].map(|side| (one.sites[side].load(), one.what[side].load()));
        let is_alike = Reason::of_word(one.reason.load()).is_separate() == is_separate;
        let [first, second] = other;
        if is_alike && (are_alike([first, second], pair) || are_alike([second, first], pair)) {
            one.count.store(one.count.load().saturating_add(times));
            return None;
        }
    }
    let Some(one) = checker.conflicts.get(known as usize) else {
        checker.words.is_full.store(1);
        return None;
    };
    for (side, (site, what)) in pair.into_iter().enumerate() {
        one.sites[side].store(site);
        one.what[side].store(what);
    }
    one.count.store(times);
    Some(one)
}

/// Whether a conflict of two ranks is recorded about these bytes of a rank's part, which are a buffer of that line's operation.
/// Under the lock.
pub(super) fn is_changed_by_others(
    checker: &Checker,
    site: u32,
    target: u32,
    run: ByteRun,
) -> bool {
    let known = checker.words.conflicts.load() as usize;
    checker.conflicts.iter().take(known).any(|one| {
        let is_of_buffer = |side: usize| {
            let kind = AccessKind::of_word((one.what[side].load() >> 8) as u8);
            one.sites[side].load() == site && kind.is_of_buffer()
        };
        let (start, bytes) = (one.start.load(), one.bytes.load());
        one.target.load() == target
            && start < run.start + run.bytes
            && run.start < start.saturating_add(bytes)
            && one.ranks[0].load() != one.ranks[1].load()
            && (is_of_buffer(0) || is_of_buffer(1))
    })
}

/// Completes a record, which the launcher may read from now on; `of` are the number of the window's name and the
/// target.
fn publish(
    checker: &Checker,
    words: &ConflictWords,
    (window, target): (u32, u32),
    reason: Reason,
    bytes: &Range<u64>,
) -> Conflict {
    words.window.store(window);
    words.target.store(target);
    words.reason.store(reason as u32);
    words.start.store(bytes.start);
    words.bytes.store(bytes.end - bytes.start);
    checker.words.conflicts.store(checker.words.conflicts.load() + 1);
    Conflict::read(&checker.sites, words)
}

/// Why nothing orders the later operation, of a thread that knows `clock`, behind the earlier one.
fn reason((clock, ranks): (&[u64], usize), [earlier, later]: [&OperationWords; 2]) -> Reason {
    let (a, b) = (earlier.rank.load(), later.rank.load());
    let issued = earlier.issued.load();
    let is_known = threads::knows(clock, (a, ranks), issued);
    let kind = AccessKind::of_word((earlier.what.load() >> 8) as u8);
    let of_one_thread = threads::slot_of(issued) == threads::slot_of(later.issued.load());
    let [one, other] = [earlier, later].map(|of| (of.what.load() >> 8 & 0xff, of.by.load()));
    let of_windows = one.1 != other.1
        && [one.0, other.0].map(|kind| AccessKind::of_word(kind as u8).is_accumulate())
            == [true; 2];
    match kind.is_local() {
        false if of_windows => Reason::Windows,
        false if is_known && kind.is_of_buffer() => Reason::UsedBuffer,
        _ if a == b && of_one_thread => Reason::Own,
        false if is_known => Reason::Incomplete,
        _ if a == b => Reason::Threads,
        true => Reason::Local,
        false => Reason::Unordered,
    }
}

/// Prints new conflicts on standard error. Each is one write of less than PIPE_BUF bytes, so that the launcher reads
/// all of its lines together, and no other rank's line comes between them.
pub(super) fn print(found: &[Conflict]) {
    for conflict in found {
        // Standard error may be closed.
        let _ = std::io::stderr().write_all(conflict.to_string().as_bytes());
    }
}

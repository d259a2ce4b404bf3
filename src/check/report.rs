//! What was found: records that outlive the ranks, and sentences.

use super::{CheckState, Checker};
use crate::call::Call;
use crate::error::Result;
use crate::prim::Word64;
use crate::shm::{CheckTables, CheckWords, ConflictWords, OperationWords, Segment, SiteWords};
use std::io::Write as _;
use std::ops::Range;

/// An earlier operation that conflicts with the present one.
pub(super) struct FoundConflict {
    /// The earlier one; later the report of both.
    number: u32,
    /// The first bytes that both access, from the beginning of the part.
    bytes: Range<u64>,
    /// Granules in which it was found.
    times: u32,
    report: String,
}

/// What all ranks of a job have found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conflicts {
    /// Pairs of lines, or of calls where lines are unknown.
    pub pairs: u32,
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
        let times = all.iter().map(|one| u64::from(one.count.load())).sum();
        Ok(Some(Conflicts { pairs, times, is_incomplete: words.is_full.load() != 0 }))
    }
}

impl FoundConflict {
    /// Adds bytes that an earlier operation accesses, too.
    pub(super) fn add(all: &mut Vec<FoundConflict>, number: u32, bytes: Range<u64>) {
        match all.iter_mut().find(|found| found.number == number) {
            Some(found) => {
                found.times += 1;
                if found.bytes.end == bytes.start {
                    found.bytes.end = bytes.end;
                }
            }
            None => all.push(FoundConflict { number, bytes, times: 1, report: String::new() }),
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

/// " at file:line:column", or nothing if the line is unknown.
fn place(sites: &[SiteWords], number: u32) -> String {
    let Some(site) = number.checked_sub(1).and_then(|at| sites.get(at as usize)) else {
        return String::new();
    };
    let file = bytes_of(&site.file);
    let end = file.iter().position(|byte| *byte == 0).unwrap_or(file.len());
    let file = String::from_utf8_lossy(&file[..end]).replace(char::is_control, "\u{fffd}");
    match (site.line.load(), site.column.load()) {
        (0, _) => format!(" at {file}"),
        (line, column) => format!(" at {file}:{line}:{column}"),
    }
}

fn call_of(operation: &OperationWords) -> Call {
    Call::from_word(operation.what.load() & 0xff).unwrap_or(Call::None)
}

/// Records the conflicts of operation `number` of this rank. Returns those whose pair of lines is new, with their
/// reports. Under the lock.
pub(super) fn record(
    checker: &Checker,
    state: &CheckState,
    target: u32,
    number: u32,
    found: Vec<FoundConflict>,
) -> Vec<FoundConflict> {
    let new = |mut one: FoundConflict| {
        let operations = [one.number, number].map(|at| &checker.operations[at as usize]);
        is_new(checker, operations, target, &one).then(|| {
            one.report = explain(checker, state, operations, target);
            one
        })
    };
    found.into_iter().filter_map(new).collect()
}

/// Counts the conflict of two operations; whether it is the first of their lines.
fn is_new(checker: &Checker, of: [&OperationWords; 2], target: u32, found: &FoundConflict) -> bool {
    let pair = of.map(|operation| (operation.site.load(), operation.what.load()));
    let known = checker.words.conflicts.load();
    for one in checker.conflicts.iter().take(known as usize) {
        let other = [0, 1].map(|side| (one.sites[side].load(), one.what[side].load()));
        if other == pair || [other[1], other[0]] == pair {
            one.count.store(one.count.load().saturating_add(found.times));
            return false;
        }
    }
    let Some(one) = checker.conflicts.get(known as usize) else {
        checker.words.is_full.store(1);
        return false;
    };
    for (side, operation) in of.iter().enumerate() {
        one.sites[side].store(pair[side].0);
        one.what[side].store(pair[side].1);
        one.ranks[side].store(operation.rank.load());
    }
    one.target.store(target);
    one.count.store(found.times);
    one.start.store(found.bytes.start);
    one.bytes.store(found.bytes.end - found.bytes.start);
    checker.words.conflicts.store(known + 1);
    true
}

/// Both accesses, why nothing orders them, and which call would.
fn explain(checker: &Checker, state: &CheckState, of: [&OperationWords; 2], target: u32) -> String {
    let mut text = String::new();
    for operation in of {
        let (rank, place) = (operation.rank.load(), place(&checker.sites, operation.site.load()));
        text += &format!("  rank {rank}: {}{place}\n", call_of(operation).name());
    }
    let [earlier, later] = of;
    let (a, b) = (earlier.rank.load(), later.rank.load());
    let (first, second) = (call_of(earlier).name(), call_of(later).name());
    let known = state.clock.get(a as usize).copied().unwrap_or_default();
    let is_local = super::AccessKind::of_word((earlier.what.load() >> 8) as u8).is_local();
    let why = if a == b {
        format!(
            "nothing completes the {first} before the {second}; a flush of rank {target} between the two, \
             or another epoch, would"
        )
    } else if earlier.issued.load() <= known && !is_local {
        format!(
            "rank {a} has synchronised with rank {b}, but its {first} was not complete at rank {target} \
             then; rank {a} needs a flush of rank {target}, or the end of the epoch, before that"
        )
    } else if is_local {
        format!(
            "nothing synchronises rank {a} with rank {b} between the two; a fence, a lock, post and \
             start, a barrier or a message would"
        )
    } else {
        format!(
            "nothing synchronises rank {a} with rank {b} between the two; rank {a} has to complete its \
             {first} (fence, complete, unlock or flush), and then to synchronise with rank {b} (fence, \
             lock, wait, a barrier or a message)"
        )
    };
    text + "  " + &why
}

/// Prints new conflicts on standard error.
pub(super) fn print(window: &str, target: u32, found: &[FoundConflict]) {
    for FoundConflict { bytes, report, .. } in found {
        let text = format!(
            "onesided: conflict in window '{window}', bytes {} to {} of rank {target}:\n{report}\n",
            bytes.start,
            bytes.end - 1,
        );
        // Standard error may be closed.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

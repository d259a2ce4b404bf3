//! What `rmarun --check` has found: the last message of the job, and the file of `--check-report`.

use crate::launch::{Conflict, ConflictAccess, Conflicts, Job};
use serde_json::{Value, json};

/// The text of the file of `--check-report`, for a job of that many ranks that ends with `code`.
pub fn text(job: &Job, ranks: u32, code: u8) -> String {
    let is_incomplete = job.conflicts().is_none_or(|found| found.is_incomplete);
    format!("{:#}\n", document(ranks, code, &job.all_conflicts(), is_incomplete))
}

/// All conflicts of a job, as docs/check.md describes them.
fn document(ranks: u32, code: u8, all: &[Conflict], is_incomplete: bool) -> Value {
    json!({
        "ranks": ranks,
        "exit_code": code,
        "is_incomplete": is_incomplete,
        "conflicts": all.iter().map(conflict).collect::<Vec<_>>(),
    })
}

fn conflict(found: &Conflict) -> Value {
    json!({
        "count": found.times,
        "window": found.window,
        "target": found.target,
        "rule": found.rule(),
        "first_byte": found.bytes.start,
        "last_byte": found.bytes.end - 1,
        "accesses": found.accesses.each_ref().map(access),
        "reason": found.reason(),
        "remedy": found.remedy(),
    })
}

fn access(access: &ConflictAccess) -> Value {
    json!({
        "rank": access.rank,
        "thread": access.thread,
        "call": access.call_name(),
        "access": access.kind,
        "is_of_buffer": access.is_of_buffer,
        "datatype": access.datatype.map(|datatype| datatype.name()),
        "op": access.op.map(|op| op.name()),
        "line": access.line,
    })
}

/// The last message of a checked job that ends with `code`, if it has found anything.
pub fn summary(found: Conflicts, code: u8) -> Option<String> {
    let Conflicts { pairs, times, is_incomplete, unportable } = found;
    let missed = "a table of the check was full, so conflicts may have been missed";
    let separate = match unportable {
        0 => None,
        1 => Some("1 pair of calls is not portable to the separate memory model".to_owned()),
        _ => Some(format!(
            "{unportable} pairs of calls are not portable to the separate memory model"
        )),
    };
    let mut parts = Vec::new();
    if pairs != 0 {
        let calls = if pairs == 1 { "pair of calls conflicts" } else { "pairs of calls conflict" };
        let times = if times == 1 { "once".into() } else { format!("{times} times") };
        parts.push(format!("{pairs} {calls}, {times} in all"));
    }
    parts.extend(separate);
    parts.extend(is_incomplete.then(|| missed.to_owned()));
    match (&parts[..], pairs) {
        ([], _) => None,
        (parts, 0) => Some(format!("note: {}", parts.join("; "))),
        (parts, _) => Some(format!("{}; exit code {code}", parts.join("; "))),
    }
}

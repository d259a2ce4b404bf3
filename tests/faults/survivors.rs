//! What must be reported of a job that goes on: by the launcher of the dead, by the survivors of themselves.

use crate::case::{Case, What, kills};
use crate::job::Seen;
use crate::judge::{self, Wrong};
use crate::printed;
use std::collections::{BTreeMap, BTreeSet};

type Problems = Vec<(Wrong, String)>;

/// A loss as the launcher reports it.
struct Loss<'a> {
    rank: u32,
    line: &'a str,
}

impl<'a> Loss<'a> {
    fn of(line: &'a str) -> Option<Loss<'a>> {
        let loss = line.strip_suffix("; the others go on")?;
        let (rank, _) = loss.strip_prefix("rmarun: rank ")?.split_once(" (")?;
        Some(Loss { rank: rank.parse().ok()?, line })
    }

    /// The exit code that this end of a rank means.
    fn code(&self) -> Option<i32> {
        let number = |text: &str| text.split([' ', ';']).next()?.parse::<i32>().ok();
        if let Some((_, signal)) = self.line.split_once(" was killed by signal ") {
            return Some(128 + number(signal)?);
        }
        if self.line.contains(" ended without joining the job, which ") {
            return Some(125);
        }
        let (_, code) = self.line.split_once(" exited with code ")?;
        Some(match number(code)? {
            0 => 125,
            code => code,
        })
    }
}

/// Looks at a job that has ended; `expected` is its exit code if only one is possible.
pub fn problems(case: &Case, seen: &Seen, expected: Option<i32>) -> Problems {
    let mut wrong = Problems::new();
    let lines = printed::launcher_lines(&seen.stderr);
    let losses: Vec<Loss<'_>> = lines.iter().filter_map(|line| Loss::of(line)).collect();
    let dead: BTreeSet<u32> = losses.iter().map(|loss| loss.rank).collect();
    let code = judge::code(seen);
    let first = losses.first().map_or(Some(0), Loss::code);
    if Some(code) != first || expected.is_some_and(|expected| expected != code) {
        wrong.push((Wrong::Code, format!("exit code {code}; the first loss means {first:?}")));
    }
    if let Err(problem) = report(case, seen, &lines, &losses) {
        wrong.push((Wrong::Report, problem));
    }
    let living = (0..case.ranks).filter(|rank| !dead.contains(rank)).collect();
    if let Err(problem) = report_alike(case, seen, &living) {
        wrong.push((Wrong::Survivors, problem));
    }
    wrong
}

/// One line for each rank that has failed, and one of the job.
fn report(case: &Case, seen: &Seen, lines: &[&str], losses: &[Loss<'_>]) -> Result<(), String> {
    let loss = |line: &str| {
        let (rank, _) = line.strip_prefix("fault: rank ")?.split_once(',')?;
        rank.parse().ok()
    };
    let mut failed: BTreeSet<u32> = seen.stderr.lines().filter_map(loss).collect();
    let harmless =
        matches!(&case.what, What::Site { site, action: "exit0", .. } if site == "Finished");
    if harmless {
        failed.clear();
    }
    match &case.what {
        What::Rank { .. } => failed.extend(seen.rank),
        What::Ranks { kills: list } => failed.extend(kills(list).map(|(rank, _)| rank)),
        _ => {}
    }
    let dead: BTreeSet<u32> = losses.iter().map(|loss| loss.rank).collect();
    // The test cannot identify a rank that is killed before it runs the program.
    let unnamed = usize::from(matches!(case.what, What::Rank { .. }) && seen.rank.is_none());
    let as_many = losses.len() == dead.len() && dead.len() == failed.len() + unnamed;
    if !dead.is_superset(&failed) || !as_many {
        return Err(format!("{failed:?} have failed, and {dead:?} are reported"));
    }
    for loss in losses {
        for any in judge::words(case, seen) {
            if !any.split('|').any(|word| loss.line.contains(word)) {
                return Err(format!("no '{any}' in: {}", loss.line));
            }
        }
    }
    let (count, ranks, code) = (dead.len(), case.ranks, judge::code(seen));
    let last = format!("rmarun: {count} of {ranks} ranks failed; job ended, exit code {code}");
    let expected = usize::from(count != 0);
    let rest: Vec<&&str> = lines.iter().filter(|line| Loss::of(line).is_none()).collect();
    match rest.len() == expected && rest.iter().all(|line| ***line == last) {
        true => Ok(()),
        false => Err(format!("beside the losses, '{last}' was expected, but it printed {rest:?}")),
    }
}

/// Every rank that lives has come to the end, and all tell the same.
fn report_alike(case: &Case, seen: &Seen, living: &BTreeSet<u32>) -> Result<(), String> {
    let dead = case.ranks - living.len() as u32;
    let (mut sizes, mut reported) = (BTreeMap::new(), BTreeMap::new());
    for line in seen.stdout.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [kind, rank, rest @ ..] = &words[..] else { continue };
        let Some(rank) = rank.parse().ok().filter(|rank| living.contains(rank)) else { continue };
        match (*kind, rest) {
            ("survived", [size]) => drop(sizes.insert(rank, *size)),
            // The first one to tell speaks for all.
            ("agreed", [what, outcome]) => {
                let (other, theirs) = *reported.entry(*what).or_insert((rank, *outcome));
                if theirs != *outcome {
                    return Err(format!(
                        "rank {rank} tells {what} {outcome}, rank {other} {theirs}"
                    ));
                }
            }
            ("missed", [named]) if named.parse().is_ok_and(|named| living.contains(&named)) => {
                return Err(format!("rank {rank} misses rank {named}, which lives"));
            }
            // With one death, its partner alone cannot meet it.
            ("paired", [])
                if dead == 1 && (rank ^ 1) < case.ranks && !living.contains(&(rank ^ 1)) =>
            {
                return Err(format!("rank {rank} has met rank {}, which was dead", rank ^ 1));
            }
            _ => {}
        }
    }
    if sizes.len() != living.len() {
        return Err(format!("{living:?} live, but {sizes:?} have come to the end"));
    }
    let all: BTreeSet<&str> = sizes.values().copied().collect();
    // A death may come when no rank has anything more to do with that rank.
    let late = !matches!(case.what, What::Rank { .. } | What::Ranks { .. });
    let fits = |size: &str| {
        let size: u32 = size.parse().unwrap_or_default();
        size == case.ranks - dead || late && size > case.ranks - dead && size <= case.ranks
    };
    match all.len() <= 1 && all.iter().all(|size| fits(size)) {
        true => Ok(()),
        false => Err(format!("of {}, {dead} are dead, but left are {sizes:?}", case.ranks)),
    }
}

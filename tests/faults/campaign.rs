//! Runs many cases, a few at a time.

use crate::case::{Blow, Case, What};
use crate::choices::Choices;
use crate::judge::Verdict;
use crate::table::Table;
use crate::{job, plan};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// Runs the cases, `at_once` of them at a time; prints immediately what fails. The tables of the jobs that
/// end, and of those that go on.
pub fn run(cases: &[Case], parallel: usize) -> [Table; 2] {
    let (next, tables) = (AtomicUsize::new(0), Mutex::new([false, true].map(Table::new)));
    let (began, total) = (Instant::now(), cases.len());
    let heavy = Mutex::new(());
    thread::scope(|scope| {
        for _ in 0..parallel {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Relaxed)) {
                    let alone = case.is_heavy().then(|| heavy.lock());
                    let verdict = job::run(case);
                    drop(alone);
                    complain(case, &verdict);
                    let mut tables = tables.lock().expect("no other worker has failed");
                    tables[usize::from(case.goes_on)].add(case, &verdict);
                    let runs: u64 = tables.iter().map(|table| table.runs).sum();
                    if runs.is_multiple_of(500) {
                        println!("{runs} of {total} after {:?}", began.elapsed());
                    }
                }
            });
        }
    });
    tables.into_inner().expect("no worker has failed")
}

/// Prints what is wrong, and how to repeat it.
pub fn complain(case: &Case, verdict: &Verdict) {
    for (kind, problem) in &verdict.wrong {
        println!("{kind:?}: {problem}\nwith this output:\n{}", verdict.output);
        println!(
            "again: ONESIDED_TEST_CASE='{case}' cargo test --all-features --test faults -- \
             --ignored --nocapture one_case\n"
        );
    }
}

/// How long something takes, one job at a time.
pub struct Times {
    pub what: String,
    /// In order.
    pub times: Vec<Duration>,
    pub wrong: u64,
}

pub fn in_order(mut times: Vec<Duration>) -> Vec<Duration> {
    times.sort_unstable();
    times
}

/// Kills a rank of `ranks`, or the launcher, `count` times.
pub fn times(ranks: u32, blow: Option<Blow>, count: u64, choices: &mut Choices) -> Times {
    let (mut times, mut wrong) = (Vec::new(), 0);
    for _ in 0..count {
        // Far into the walk, also where many ranks take long to start.
        let micros = choices.below(20_000 * u64::from(ranks));
        let case = match blow {
            Some(blow) => plan::launcher_struck(blow, choices),
            None => plan::rank_killed(choices),
        };
        let what = match case.what {
            What::Launcher { blow, .. } => What::Launcher { blow, micros },
            _ => What::Rank { rank: choices.below(ranks.into()) as u32, micros },
        };
        let case = Case { ranks, wrapper: "plain", segment: "memfd", goes_on: false, what };
        let verdict = job::run(&case);
        complain(&case, &verdict);
        wrong += u64::from(!verdict.wrong.is_empty());
        times.extend(verdict.took);
    }
    let times = in_order(times);
    let whom = match blow {
        None => "a rank".to_owned(),
        Some(Blow::KillGuard) => "the launcher".to_owned(),
        Some(_) => "the supervisor".to_owned(),
    };
    Times { what: format!("SIGKILL of {whom}, {ranks} ranks"), times, wrong }
}

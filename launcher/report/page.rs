//! The page that `--report` writes: one file without scripts, for any browser, a phone and paper.
//!
//! Every text is escaped by `maud`. The pictures are SVG in the page; a table beside each has the numbers.

mod figures;
mod tables;

use super::digest::{has_joined, time};
use super::findings;
use crate::launch::RankStatistics;
use crate::launcher::args::{Options, Program};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::time::{Duration, SystemTime};

const STYLE: &str = include_str!("page/style.css");

/// What ran, where, when, and how it ended.
#[derive(Clone, Debug)]
pub struct RunFacts {
    /// The name of the first program.
    pub name: String,
    /// Each program with its arguments, and the number of its ranks.
    pub programs: Vec<(String, u32)>,
    pub ranks: u32,
    pub code: u8,
    /// Why it ended, if it has not ended by itself.
    pub word: Option<String>,
    pub began: SystemTime,
    pub took: Duration,
    pub host: String,
}

impl RunFacts {
    /// Of a job that ends now with that code and message.
    pub fn new(
        options: &Options,
        (code, word): (u8, Option<&str>),
        began: SystemTime,
        took: Duration,
    ) -> RunFacts {
        RunFacts {
            name: file_name(&options.program(0).name()),
            programs: options.programs.iter().map(|one| (command(one), one.ranks)).collect(),
            ranks: options.ranks,
            code,
            word: word.map(str::to_owned),
            began,
            took,
            host: plain(&rustix::system::uname().nodename().to_string_lossy()),
        }
    }
}

/// The last part of a path.
fn file_name(path: &str) -> String {
    plain(path.rsplit('/').next().unwrap_or_default())
}

/// The words of a program, as a shell would read them.
fn command(program: &Program) -> String {
    let quoted = |word: &std::ffi::OsString| {
        let word = word.to_string_lossy();
        // A word of a command line has no zero byte.
        let quoted = shlex::try_quote(&word).map(|quoted| plain(&quoted));
        quoted.unwrap_or_else(|_| plain(&word))
    };
    program.arguments.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Without control characters, which a page must not have.
fn plain(text: &str) -> String {
    text.replace(|letter: char| letter.is_control(), "\u{fffd}")
}

/// The page.
pub fn text(run: &RunFacts, ranks: &[RankStatistics]) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (run.name) " on " (counted(run.ranks as usize, "rank")) " – rmarun" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { (run.name) " on " (counted(run.ranks as usize, "rank")) }
                    (what_ran(run))
                    @if has_joined(ranks) {
                        (found(ranks))
                        (tables::shares(ranks))
                        (tables::waits(ranks))
                        (tables::traffic(ranks))
                        (tables::sizes(ranks))
                        (tables::calls(ranks))
                        (tables::locks(ranks))
                        (tables::windows(ranks))
                    } @else {
                        p.finding { "No rank joined the job, so nothing was counted." }
                    }
                }
                (footer(ranks))
            }
        }
    };
    page.into_string() + "\n"
}

/// "1 rank", "2 ranks".
fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn what_ran(run: &RunFacts) -> Markup {
    let began = humantime::format_rfc3339_seconds(run.began).to_string();
    let began = began.replace('T', " ").replace('Z', " UTC");
    let took = time(u64::try_from(run.took.as_nanos()).unwrap_or(u64::MAX));
    html! {
        section {
            h2 { "What ran" }
            dl {
                @for (command, ranks) in &run.programs {
                    dt { (counted(*ranks as usize, "rank")) }
                    dd { code { (command) } }
                }
                dt { "ended" }
                dd {
                    "exit code " (run.code)
                    @if let Some(word) = &run.word {
                        @for line in word.lines() { br; (plain(line)) }
                    }
                }
                dt { "began" }
                dd { (began) }
                dt { "took" }
                dd { (took) }
                dt { "on" }
                dd { (run.host) }
            }
        }
    }
}

fn found(ranks: &[RankStatistics]) -> Markup {
    let findings = findings::of(ranks);
    html! {
        section {
            h2 { "Findings" }
            @if findings.is_empty() {
                p { "No rank waits in one place, or moves data, for a large part of its time." }
            } @else {
                ol.findings { @for finding in findings { li { (finding) } } }
            }
        }
    }
}

fn footer(ranks: &[RankStatistics]) -> Markup {
    html! {
        footer {
            @if ranks.iter().any(|rank| rank.is_full) {
                p { "A rank had more kinds of calls or waits than its table has rows: its last row has the sum of several." }
            }
            p {
                "Written by rmarun --report, version " (env!("CARGO_PKG_VERSION"))
                ". Counts and bytes are exact. Times include what counting costs: each call takes its slow path. "
                "The rank that a wait was for is known of waits of 50 us or more."
            }
        }
    }
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;

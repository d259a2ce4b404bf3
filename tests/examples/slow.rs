//! docs/slow.md: its program waits where the page has it, and runs faster with the changes that the page shows.

mod timeline;

use super::{folder, ours, run_with};
use crate::slices::Slices;
use crate::slices::schema::Trace;
use crate::support::Outcome;
use prost::Message;
use scraper::{Html, Selector};
use std::fs;
use std::path::Path;

/// Where the program is in what is printed. The page leaves it out.
const FOLDER: &str = "examples/../docs/book/programs/";

/// What rmarun has written about a run of an example.
struct Observed {
    printed: String,
    findings: Vec<String>,
    slices: Slices,
}

/// Runs an example on four ranks for a test, with all three tools at once.
fn observed(test: &str, example: &str) -> Observed {
    let folder = folder(test);
    let [page, trace] = ["page.html", "out.pftrace"].map(|name| folder.join(name));
    let text = |path: &Path| path.to_str().expect("a path in UTF-8").to_owned();
    let options = ["--stats", "--report", &text(&page), "--trace", &text(&trace)];
    let Outcome { status, output: printed } = run_with(&options, 4, example, &[]);
    assert!(status.success(), "{printed}");
    let page = Html::parse_document(&fs::read_to_string(page).expect("the page was written"));
    let finding = Selector::parse(".findings li").expect("a selector");
    let findings = page.select(&finding).map(|one| one.text().collect()).collect();
    let trace = Trace::decode(&*fs::read(trace).expect("the trace was written"));
    Observed { printed, findings, slices: Slices::of(&trace.expect("a trace")) }
}

fn page() -> String {
    fs::read_to_string(ours("docs/slow.md")).expect("the page is there")
}

/// The blocks of the page in that language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let blocks = page.split("```").skip(1).step_by(2);
    blocks.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n')).collect()
}

/// A finding without what differs from run to run: times and shares, which of the waiting ranks had the most, and the folder.
fn lasting(finding: &str) -> String {
    let (_, rest) = finding.split_once(" time is ").expect("whose time it is");
    const CAUSE: &str = ", which came last";
    let cause = rest.find(CAUSE).map(|at| at + CAUSE.len());
    let end = rest.find(", held by").or(cause).or(rest.find(" ("));
    rest[..end.expect("the sum")].replace(FOLDER, "")
}

/// What stays of the waits in a table of `--stats`: call, window, line, reason.
fn waits(printed: &str) -> Vec<[&str; 4]> {
    let rows = printed.lines().skip_while(|line| !line.contains("waits of all ranks")).skip(2);
    let rows = rows.filter_map(|row| row.strip_prefix("rmarun:   "));
    rows.map(crate::support::printed::cells_of)
        .take_while(|cells| cells.len() > 4)
        .map(|cells| {
            let line = cells[2].rsplit('/').next().expect("a part");
            [cells[0], cells[1], line, cells[cells.len() - 2]]
        })
        .collect()
}

/// On a busy machine ranks also wait for processors. One of five runs has to be as the page has it.
fn in_one_of_five_runs(mut check: impl FnMut() -> Result<(), String>) {
    let mut others = Vec::new();
    while others.len() < 5 {
        match check() {
            Ok(()) => return,
            Err(shown) => others.push(shown),
        }
    }
    panic!("{others:#?}");
}

/// Whether a run has the waits and the findings of the page.
fn is_as_shown(run: &Observed) -> Result<(), String> {
    let page = page();
    let shown = blocks(&page, "text");
    let (rows, printed) = (waits(shown[0]), waits(&run.printed));
    let findings: Vec<String> = shown[1].lines().map(lasting).collect();
    let found: Vec<String> = run.findings.iter().map(|one| lasting(one)).collect();
    assert!(rows.len() == 3 && findings.len() == 3, "{rows:?} {findings:?}");
    let has_rows = rows.iter().all(|row| printed.contains(row));
    let is_so = has_rows && findings.iter().all(|finding| found.contains(finding));
    if is_so { Ok(()) } else { Err(format!("{}{:#?}", run.printed, run.findings)) }
}

/// `SLOW=overwrite` draws the picture of the page again, and writes what the book shows.
#[test]
#[allow(clippy::disallowed_methods, reason = "asks whether to write the picture")]
fn the_slow_program_has_the_findings_of_the_page() {
    in_one_of_five_runs(|| {
        let run = observed("findings", "book-slow");
        is_as_shown(&run)?;
        let picture = timeline::draw(&run.slices);
        for label in ["rank 0", "rank 3", ">start<", ">lock<", ">allreduce<"] {
            assert!(picture.contains(label), "{label} is missing: {picture}");
        }
        if std::env::var("SLOW").is_ok_and(|wish| wish == "overwrite") {
            fs::write(ours("docs/figures/timeline.svg"), picture).expect("the picture is ours");
            fs::write(ours("docs/book/programs/slow.txt"), run.printed)
                .expect("the output is ours");
        }
        Ok(())
    });
}

/// The arrows that the page follows: to the end of each long wait, from the call that has ended it.
#[test]
fn arrows_lead_to_the_late_post_and_to_the_holder_of_the_lock() {
    let run = observed("arrows", "book-slow");
    let starts = run.slices.of_call("start");
    assert_eq!(starts.len(), 30);
    for start in starts {
        let from = run.slices.0.iter().find(|from| from.arrows[0].contains(&start.arrows[1][0]));
        let from = from.expect("an arrow has a beginning");
        assert_eq!((from.rank, &*from.name), (0, "post"), "{start:?}");
    }
    let locks = run.slices.of_call("lock");
    let held = locks.iter().filter_map(|lock| lock.arrows[1].first());
    let from = held.map(|id| run.slices.0.iter().find(|from| from.arrows[0].contains(id)));
    let from: Vec<_> = from.map(|from| from.expect("an arrow has a beginning")).collect();
    assert!(from.len() >= 10 && from.iter().all(|from| from.name == "unlock"), "{from:?}");
}

/// A part of a text with its lines changed as a hunk of the page shows.
fn changed(program: &str, hunk: &str) -> String {
    let side = |left_out: char| -> String {
        let lines = hunk.lines().filter(|line| !line.starts_with(left_out));
        lines.map(|line| format!("{}\n", &line[1..])).collect()
    };
    let (before, after) = (side('+'), side('-'));
    assert_eq!(program.matches(&before).count(), 1, "not once in the program: {before}");
    program.replace(&before, &after)
}

#[test]
fn the_changes_of_the_page_end_the_waits() {
    let read = |name: &str| {
        fs::read_to_string(ours(&format!("docs/book/programs/{name}"))).expect("there")
    };
    let without_title = |text: &str| text.split_once('\n').expect("a title").1.to_owned();
    let page = page();
    let hunks = blocks(&page, "diff");
    assert_eq!(hunks.len(), 3);
    let program = hunks.into_iter().fold(read("slow.rs"), |program, hunk| changed(&program, hunk));
    assert_eq!(without_title(&program), without_title(&read("faster.rs")));
    let waited = |example: &str| -> u64 {
        let Observed { slices, .. } = observed("changes", example);
        let waits = slices.of_call("waiting");
        waits.iter().filter_map(|wait| Some(wait.end? - wait.begin)).sum()
    };
    in_one_of_five_runs(|| {
        let [slow, faster] = ["book-slow", "book-faster"].map(waited);
        let is_less = faster < slow / 2;
        if is_less { Ok(()) } else { Err(format!("waits of {faster} ns, before of {slow} ns")) }
    });
}

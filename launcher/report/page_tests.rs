//! Pages of made-up ranks: an HTML parser finds no fault in them, and they stay small.

use super::*;
use crate::Call;
use crate::launch::{RankStatistics, Traffic, WaitCause, WaitStatistics, WindowStatistics};
use crate::launcher::report::made_up::rank;
use scraper::{Html, Selector};

fn run(programs: &[(&str, u32)]) -> RunFacts {
    RunFacts {
        name: plain(programs[0].0),
        programs: programs.iter().map(|(program, ranks)| (plain(program), *ranks)).collect(),
        ranks: programs.iter().map(|(_, ranks)| ranks).sum(),
        code: 0,
        word: None,
        began: SystemTime::UNIX_EPOCH,
        took: Duration::from_millis(1500),
        host: "here".to_owned(),
    }
}

/// The page as a browser reads it.
fn parsed(text: &str) -> Html {
    let page = Html::parse_document(text);
    assert!(page.errors.is_empty(), "{:?}", page.errors);
    page
}

fn texts(page: &Html, selector: &str) -> Vec<String> {
    let selector = Selector::parse(selector).expect("a selector");
    page.select(&selector).map(|element| element.text().collect()).collect()
}

#[test]
fn names_are_text_whatever_is_in_them() {
    let odd = plain("<b onclick=\"x\">&amp;'\u{1b}[2J\u{0}</b>");
    let mut ranks = vec![rank(100_000_000, 0, 62_000_000, 62_000_000); 2];
    ranks[0].waits[0].window = odd.clone();
    ranks[0].waits[0].line = format!("{odd}.rs:1");
    ranks[0].calls[0].window = odd.clone();
    let (name, call) = (odd.clone(), Call::WinAllocate);
    ranks[0].windows = vec![WindowStatistics { mark: 1, name, call, bytes: 8, hints: odd.clone() }];
    let mut run = run(&[(&odd, 1), ("./b", 1)]);
    run.word = Some(format!("{odd}\nsecond line"));
    let page = parsed(&text(&run, &ranks));
    assert!(texts(&page, "b").is_empty() && texts(&page, "script").is_empty());
    assert_eq!(texts(&page, "dd code"), [odd.clone(), "./b".to_owned()]);
    assert!(texts(&page, "td").contains(&odd));
    assert!(texts(&page, ".findings li").iter().any(|finding| finding.contains(&odd)));
}

#[test]
fn a_thousand_ranks_make_a_page_that_opens() {
    let n = 1_000;
    let one = |at: u64| {
        let mut one = rank(100_000_000, 1_000, 50_000_000, 40_000_000 + at);
        let traffic = |rank| Traffic { rank, operations: 1 + at, bytes: u64::from(rank) * at };
        one.traffic = (0..n as u32).map(traffic).collect();
        let wait = one.waits[0].clone();
        let wait_at = |line| {
            let causes = vec![(WaitCause { late: Some(line), lock_of: None }, 1_000)];
            WaitStatistics { line: format!("app.c:{line}"), causes, ..wait.clone() }
        };
        one.waits = (0..200).map(wait_at).collect();
        one
    };
    let ranks: Vec<RankStatistics> = (0..n).map(one).collect();
    let text = text(&run(&[("./app", n as u32)]), &ranks);
    assert!(text.len() < 2_000_000, "{} bytes", text.len());
    let page = parsed(&text);
    assert_eq!(texts(&page, ".matrix .cell title").len(), 63 * 63);
    let notes = texts(&page, ".note").join("\n");
    for note in [
        "Each bar is the mean of 16 ranks.",
        "The first 64 of 1000 rows, those first for which others waited the longest",
        "The first 100 of 200000 rows, by their time",
        "Each cell is the sum of 16 by 16 ranks.",
        "The first 100 of 1000000 rows, by their bytes",
    ] {
        assert!(notes.contains(note), "no '{note}' in {notes}");
    }
}

#[test]
fn a_job_without_ranks_that_joined_has_a_page() {
    let page = parsed(&text(&run(&[("true", 2)]), &vec![RankStatistics::default(); 2]));
    assert!(texts(&page, ".finding")[0].starts_with("No rank joined the job"));
}

//! `rmarun --report`: the page is well-formed, has the numbers of `--stats`, and names a planted delay first.

use crate::harness::{Run, machine, run, run_ranks_of};
use crate::statistics::table;
use onesided::{Access, Comm, Info, LockType, Op, Rank, Universe, Until, Window, WindowOptions};
use scraper::{Html, Selector};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long one rank keeps another waiting, at least.
const LATE: Duration = Duration::from_millis(700);

/// A kind of delay: the rank function, the ranks of its job, the reason, the rank that waits, the one that is late if that
/// is known, and the words of the finding.
struct Planted {
    name: &'static str,
    ranks: u32,
    reason: &'static str,
    waits: usize,
    late: Option<usize>,
    words: &'static str,
}

const PLANTED: [Planted; 12] = [
    Planted {
        name: "late_post",
        ranks: 2,
        reason: "late post",
        waits: 0,
        late: Some(1),
        words: "in start for the post of rank 1",
    },
    Planted {
        name: "late_complete",
        ranks: 2,
        reason: "late complete",
        waits: 0,
        late: Some(1),
        words: "in wait for the complete of rank 1",
    },
    Planted {
        name: "late_at_fence",
        ranks: 3,
        reason: "wait at fence",
        waits: 0,
        late: Some(2),
        words: "at the fence",
    },
    Planted {
        name: "long_lock",
        ranks: 3,
        reason: "wait for lock",
        waits: 2,
        late: Some(1),
        words: "for the lock of rank 0",
    },
    Planted {
        name: "late_sender",
        ranks: 2,
        reason: "late sender",
        waits: 1,
        late: Some(0),
        words: "for a message of rank 0",
    },
    Planted {
        name: "late_receiver",
        ranks: 2,
        reason: "late receiver",
        waits: 0,
        late: Some(1),
        words: "for a receive by rank 1",
    },
    Planted {
        name: "late_at_barrier",
        ranks: 3,
        reason: "wait at barrier",
        waits: 0,
        late: Some(1),
        words: "at the barrier",
    },
    Planted {
        name: "late_at_collective",
        ranks: 3,
        reason: "wait at collective",
        waits: 0,
        late: Some(1),
        words: "in the collective allreduce",
    },
    Planted {
        name: "late_at_create",
        ranks: 3,
        reason: "wait at create",
        waits: 0,
        late: Some(1),
        words: "in the collective window allocate",
    },
    Planted {
        name: "late_at_free",
        ranks: 3,
        reason: "wait at free",
        waits: 0,
        late: Some(1),
        words: "in the collective window free",
    },
    Planted {
        name: "late_notification",
        ranks: 2,
        reason: "late notification",
        waits: 0,
        late: None,
        words: "for a notification",
    },
    Planted {
        name: "late_value",
        ranks: 2,
        reason: "late value",
        waits: 0,
        late: None,
        words: "for a value to be written",
    },
];

/// Computes.
fn be_late() {
    be_late_for(LATE);
}

fn be_late_for(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {}
}

/// Prints for how long a rank has been in the call that waits.
fn waited(world: &Comm, begun: Instant) {
    // The test harness has begun a line.
    println!("\nwaited {} {}", world.rank().0, begun.elapsed().as_micros());
}

/// A rank of a job, its window, and whether it has a part at all: this test program lists its functions alone.
fn member(ranks: u32) -> Option<(Universe, Window<u64>)> {
    let universe = Universe::init().unwrap();
    let world = universe.world();
    if world.size() != ranks {
        return None;
    }
    let window = WindowOptions::new().name("halo").allocate::<u64>(world, 8).unwrap();
    world.barrier().unwrap();
    Some((universe, window))
}

#[test]
#[ignore = "a rank"]
fn late_post() {
    let Some((universe, mut window)) = member(2) else { return };
    let world = universe.world();
    let other = world.group().incl(&[Rank(1 - world.rank().0)]).unwrap();
    let (mut access, mut exposure) = window.sides();
    if world.rank() == 0 {
        let begun = Instant::now();
        let epoch = access.start(&other).unwrap(); // waits: late_post
        waited(world, begun);
        epoch.put(&[1; 4], Rank(1), 0).unwrap();
        epoch.complete().unwrap();
    } else {
        be_late();
        exposure.post(&other).unwrap().wait().unwrap();
    }
    window.free().unwrap();
}

#[test]
#[ignore = "a rank"]
fn late_complete() {
    let Some((universe, mut window)) = member(2) else { return };
    let world = universe.world();
    let other = world.group().incl(&[Rank(1 - world.rank().0)]).unwrap();
    let (mut access, mut exposure) = window.sides();
    if world.rank() == 0 {
        let epoch = exposure.post(&other).unwrap();
        let begun = Instant::now();
        epoch.wait().unwrap(); // waits: late_complete
        waited(world, begun);
    } else {
        let epoch = access.start(&other).unwrap();
        be_late();
        epoch.complete().unwrap();
    }
    window.free().unwrap();
}

#[test]
#[ignore = "a rank"]
fn late_at_fence() {
    let Some((universe, mut window)) = member(3) else { return };
    if universe.world().rank() == 2 {
        be_late();
    }
    let begun = Instant::now();
    let epoch = window.fence().unwrap(); // waits: late_at_fence
    waited(universe.world(), begun);
    epoch.close().unwrap();
    window.free().unwrap();
}

#[test]
#[ignore = "a rank"]
fn long_lock() {
    let Some((universe, window)) = member(3) else { return };
    let world = universe.world();
    if world.rank() == 1 {
        let epoch = window.lock(LockType::Exclusive, Rank(0)).unwrap();
        world.barrier().unwrap();
        be_late();
        epoch.unlock().unwrap();
    } else {
        world.barrier().unwrap();
    }
    if world.rank() == 2 {
        let begun = Instant::now();
        let epoch = window.lock(LockType::Exclusive, Rank(0)).unwrap(); // waits: long_lock
        waited(world, begun);
        epoch.unlock().unwrap();
    }
    // Not all wait for the end of the lock in a collective, which would be as long.
    drop(window);
}

#[test]
#[ignore = "a rank"]
fn late_sender() {
    let Some((universe, window)) = member(2) else { return };
    let world = universe.world();
    if world.rank() == 0 {
        be_late();
        world.send(&[1u8; 5], Rank(1), 0).unwrap();
    } else {
        let begun = Instant::now();
        world.recv(&mut [0u8; 5], Rank(0), 0).unwrap(); // waits: late_sender
        waited(world, begun);
    }
    window.free().unwrap();
}

#[test]
#[ignore = "a rank"]
fn late_receiver() {
    let Some((universe, window)) = member(2) else { return };
    let world = universe.world();
    if world.rank() == 0 {
        let begun = Instant::now();
        world.ssend(&[1u8; 5], Rank(1), 0).unwrap(); // waits: late_receiver
        waited(world, begun);
    } else {
        be_late();
        world.recv(&mut [0u8; 5], Rank(0), 0).unwrap();
    }
    window.free().unwrap();
}

#[test]
#[ignore = "a rank"]
fn late_at_barrier() {
    let Some((universe, window)) = member(3) else { return };
    let world = universe.world();
    if world.rank() == 1 {
        be_late();
    }
    let begun = Instant::now();
    world.barrier().unwrap(); // waits: late_at_barrier
    waited(world, begun);
    window.free().unwrap();
}

#[test]
#[ignore = "a rank"]
fn late_at_collective() {
    let Some((universe, window)) = member(3) else { return };
    let world = universe.world();
    if world.rank() == 1 {
        be_late();
    }
    let begun = Instant::now();
    world.allreduce(&[1u64], Op::Sum).unwrap(); // waits: late_at_collective
    waited(world, begun);
    window.free().unwrap();
}

#[test]
#[ignore = "a rank"]
fn late_at_create() {
    let Some((universe, window)) = member(3) else { return };
    let world = universe.world();
    if world.rank() == 1 {
        be_late();
    }
    let begun = Instant::now();
    let other = Window::<u64>::allocate(world, 8).unwrap(); // waits: late_at_create
    waited(world, begun);
    other.free().unwrap();
    window.free().unwrap();
}

#[test]
#[ignore = "a rank"]
fn late_at_free() {
    let Some((universe, window)) = member(3) else { return };
    let world = universe.world();
    if world.rank() == 1 {
        be_late();
    }
    let begun = Instant::now();
    window.free().unwrap(); // waits: late_at_free
    waited(world, begun);
}

#[test]
#[ignore = "a rank"]
fn late_notification() {
    let Some((universe, window)) = member(2) else { return };
    let world = universe.world();
    let counted = WindowOptions::new().notifications(1).allocate_bytes(world, 8, 1).unwrap();
    counted.lock_all().unwrap();
    if world.rank() == 1 {
        be_late();
        counted.notify(Rank(0), 0).unwrap();
    } else {
        let begun = Instant::now();
        counted.wait_notify(0, 1).unwrap(); // waits: late_notification
        waited(world, begun);
    }
    counted.unlock_all().unwrap();
    counted.free().unwrap();
    window.free().unwrap();
}

#[test]
#[ignore = "a rank"]
fn late_value() {
    let Some((universe, mut window)) = member(2) else { return };
    let world = universe.world();
    let epoch = window.lock_all().unwrap();
    if world.rank() == 1 {
        be_late();
        epoch.accumulate(&[1], Op::Sum, Rank(0), 3).unwrap();
        epoch.flush(Rank(0)).unwrap();
    } else {
        let begun = Instant::now();
        epoch.window().wait_until(3, Until::Ne, 0).unwrap(); // waits: late_value
        waited(world, begun);
    }
    epoch.unlock_all().unwrap();
    window.free().unwrap();
}

/// Windows at one place of the segment, one after the other, and another rank is late in each.
#[test]
#[ignore = "a rank"]
fn late_in_turn() {
    let universe = Universe::init().unwrap();
    let world = universe.world();
    for late in 0..world.size() {
        let mut window = Window::<u64>::allocate(world, 8).unwrap();
        if world.rank() == late {
            be_late_for(LATE / 3);
        }
        window.fence().unwrap().close().unwrap();
        window.free().unwrap();
    }
}

#[test]
#[ignore = "a rank"]
fn give_hints() {
    let universe = Universe::init().unwrap();
    let world = universe.world();
    let mut info = Info::new();
    info.set("same_size", "true").unwrap();
    info.set("onesided_unknown", "<b>").unwrap();
    let window = WindowOptions::new().name("hinted").info(&info);
    let window = window.allocate_bytes(world, 8, 1).unwrap();
    info.set("no_locks", "true").unwrap();
    window.set_info(&info).unwrap();
    window.free().unwrap();
}

#[test]
fn a_window_has_the_hints_that_are_in_force() {
    let path = path("hints");
    run_ranks_of("report", 2, &["--report", &path], "give_hints").expect(0);
    let windows = Page::read(&path).rows("Windows");
    assert_eq!(windows[0][6], "no_locks=true, same_size=true", "{windows:#?}");
}

fn path(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("report-{name}.html"));
    path.to_str().expect("a path of the build").to_owned()
}

/// A page as a browser reads it.
struct Page(Html);

impl Page {
    fn read(path: &str) -> Page {
        let text = std::fs::read_to_string(path).expect("the page was written");
        let page = Html::parse_document(&text);
        assert!(page.errors.is_empty(), "{:?} in {text}", page.errors);
        Page(page)
    }

    fn texts(&self, selector: &str) -> Vec<String> {
        let selector = Selector::parse(selector).expect("a selector");
        self.0.select(&selector).map(|element| element.text().collect()).collect()
    }

    /// The rows of the table in the section with that heading.
    fn rows(&self, heading: &str) -> Vec<Vec<String>> {
        let [section, h2, row, cell] = ["section", "h2", "tbody tr", "td"]
            .map(|one| Selector::parse(one).expect("a selector"));
        let is_it = |section: &scraper::ElementRef<'_>| {
            section.select(&h2).any(|h2| h2.text().collect::<String>() == heading)
        };
        let found = self.0.select(&section).find(is_it);
        let section = found.unwrap_or_else(|| panic!("no section '{heading}'"));
        let cells = |row: scraper::ElementRef<'_>| {
            row.select(&cell).map(|cell| cell.text().collect()).collect()
        };
        section.select(&row).map(cells).collect()
    }
}

/// A time of the page, in microseconds.
fn microseconds(time: &str) -> f64 {
    let (number, unit) = time.split_once(' ').expect("a number and a unit");
    let scale = match unit {
        "ns" => 1e-3,
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        _ => panic!("an unknown unit: {time}"),
    };
    number.parse::<f64>().expect("a number") * scale
}

#[test]
fn a_planted_delay_is_the_first_finding() {
    let _alone = machine();
    for planted in &PLANTED {
        let path = path(planted.name);
        let run =
            run_ranks_of("report", planted.ranks, &["--report", &path], planted.name).expect(0);
        let mark = format!("waited {} ", planted.waits);
        let waited = run.stdout.lines().find_map(|line| line.strip_prefix(&mark));
        let waited: f64 = waited.expect("it has printed it").parse().expect("a number");
        check_planted(planted, &Page::read(&path), waited);
    }
}

/// The page names the delay first. The rank that waits has measured that many microseconds.
fn check_planted(planted: &Planted, page: &Page, lasted: f64) {
    let Planted { name, reason, waits, late, words, .. } = planted;
    let marker = format!("// waits: {name}");
    let line = include_str!("report.rs").lines().position(|line| line.ends_with(&marker));
    let line = format!("tests/launcher/report.rs:{}", line.expect("it is marked") + 1);
    let findings = page.texts(".findings li");
    let first = findings.first().unwrap_or_else(|| panic!("{name}: no finding"));
    let late_rank = late.map_or(String::new(), |late| format!("rank {late}"));
    for word in [*words, &line, &late_rank] {
        assert!(first.contains(word), "{name}: no '{word}' in {findings:#?}");
    }
    let rows = page.rows("Waits by reason");
    let of =
        |row: &&Vec<String>| row[0] == *reason && row[3] == line && row[4] == waits.to_string();
    let row = rows.iter().find(of).unwrap_or_else(|| panic!("{name}: {rows:#?}"));
    let sum = microseconds(&row[6]);
    assert!((sum / lasted - 1.0).abs() < 0.02, "{name}: {sum} us of {lasted} us: {rows:#?}");
    // On a loaded machine the rank may have come late itself.
    assert!(sum > 0.5 * LATE.as_micros() as f64, "{name}: {sum} us: {rows:#?}");
    assert!(row[8].starts_with(&late_rank), "{name}: {row:#?}");
    if *name == "long_lock" {
        let locks = page.rows("Locks");
        let lock = locks.iter().find(|lock| lock[1] == "0").expect("the lock of rank 0");
        assert_eq!((&*lock[0], &*lock[2]), ("halo", "2"), "{locks:#?}");
        assert!(lock[6].starts_with("1: "), "{locks:#?}");
        // Rank 1 has had it before the other waits.
        assert!(microseconds(&lock[5]) >= LATE.as_micros() as f64, "{locks:#?}");
        assert!((microseconds(&lock[7]) / lasted - 1.0).abs() < 0.02, "{locks:#?}");
    }
    let Some(late) = *late else { return };
    let ranks = page.rows("How the ranks spent their time");
    let for_it = microseconds(&ranks[late][6]);
    assert!(for_it > 0.9 * lasted, "{name}: {ranks:#?}");
}

#[test]
fn a_later_window_at_the_same_place_is_another_one() {
    let _alone = machine();
    let path = path("late_in_turn");
    run_ranks_of("report", 3, &["--report", &path], "late_in_turn").expect(0);
    for row in Page::read(&path).rows("How the ranks spent their time") {
        // Two ranks have waited for each one.
        assert!(microseconds(&row[6]) > 0.3 * LATE.as_micros() as f64, "{row:?}");
    }
}

fn counted(options: &[&str], ranks: u32) -> Run {
    run_ranks_of("statistics", ranks, options, "make_known_calls")
}

#[test]
fn the_page_has_the_numbers_of_the_tables() {
    let path = path("numbers");
    let run = counted(&["--stats", "--report", &path], 3).expect(0);
    let page = Page::read(&path);
    let printed = table(&run, "calls of all ranks");
    let rows = page.rows("Calls of all ranks");
    assert!(rows.len() >= 9, "{rows:#?}");
    for row in &rows {
        // The tables have no column for the bytes of each.
        let cells = row.iter().enumerate().filter(|(column, _)| *column != 4);
        let cells = cells.map(|(_, cell)| if cell == "–" { "-" } else { cell }).collect();
        assert!(printed.contains(&cells), "{cells:?} in {printed:#?}");
    }
    let pairs = page.rows("Data between ranks");
    // Puts, accumulates and a fetch of each rank to the next one; and a message of five bytes.
    let wanted = [["0", "1", "22", "413"], ["1", "2", "21", "408"], ["2", "0", "21", "408"]];
    assert_eq!(pairs, wanted.map(|row| row.map(str::to_owned).to_vec()));
    assert_eq!(table(&run, "operations and messages")[1..], pairs);
    assert_eq!(page.rows("How the ranks spent their time").len(), 3);
    assert_eq!(page.texts(".matrix .cell title")[0], "rank 0 to rank 1: 22 operations, 413 bytes");
    // The same puts, accumulates, fetches and the message, by their bytes.
    let sizes = page.rows("Operations by size");
    let wanted = [
        ["accumulate", "8 B", "16 B", "30"],
        ["fetch_and_op", "8 B", "16 B", "3"],
        ["put", "32 B", "64 B", "30"],
        ["recv", "4 B", "8 B", "1"],
        ["send", "4 B", "8 B", "1"],
    ];
    assert_eq!(sizes.iter().map(|row| &row[..4]).collect::<Vec<_>>(), wanted);
    let puts = rows.iter().find(|row| row[0] == "put").expect("there were puts");
    assert_eq!(puts[5..7], sizes[2][4..], "{sizes:#?}");
    assert_eq!(page.texts(".sizes .cell title").len(), 5);
    let windows = page.rows("Windows");
    assert_eq!(
        windows,
        [["halo", "window allocate", "3", "192", "64", "64", "–"].map(str::to_owned)]
    );
    assert!(
        page.texts("script").is_empty() && page.texts("dd code")[0].contains("make_known_calls")
    );
}

#[test]
fn a_failed_job_has_a_page_too() {
    let path = path("failed");
    let run = counted(&["--report", &path], 4).expect(137);
    let page = Page::read(&path);
    let ended = page.texts("dd").join("\n");
    assert!(ended.contains("exit code 137") && ended.contains("rank 2 "), "{ended}");
    let puts = page.rows("Calls of all ranks").into_iter().find(|row| row[0] == "put");
    assert_eq!(puts.expect("there were puts")[1..4], ["halo", "40", "1280"], "{run:#?}");
    // Nothing is printed that was not asked for.
    assert!(!run.stderr.contains("calls of all ranks"), "{run:#?}");
}

#[test]
fn odd_words_of_a_command_line_are_text() {
    let path = path("odd");
    let script = "exit 0 # <script>alert('\"&')</script>\u{1b}[2J";
    run(&["--report", &path, "-n", "1", "sh", "-c", script]).expect(0);
    let page = Page::read(&path);
    assert!(page.texts("script").is_empty());
    let command = page.texts("dd code").join("");
    assert!(command.contains("<script>alert(") && !command.contains('\u{1b}'), "{command}");
    assert!(page.texts(".finding")[0].starts_with("No rank joined"));
}

#[test]
fn a_page_that_cannot_be_written() {
    let run =
        run(&["--report", "/nowhere/page.html", "-n", "2", "echo", "a rank runs"]).expect(125);
    run.reports(&["cannot write the report '/nowhere/page.html': No such file or directory"]);
    assert!(!run.stdout.contains("a rank runs"), "{run:#?}");
}

#[test]
fn a_full_disk_is_reported() {
    let run = counted(&["--report", "/dev/full"], 3).expect(0);
    run.reports(&["cannot write the report '/dev/full': No space left on device"]);
}

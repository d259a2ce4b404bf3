//! C programs, compiled by `rmacc` and run under `rmarun` with 1, 2, 3 and 5 ranks; where
//! `ONESIDED_MPICH` names a prefix of MPICH, the very same files run under its `mpiexec` with its
//! library, with and without `libonesided_node.so`, and what its `mpicc` compiles runs under `rmarun` with this one.
//!
//! Each file of `tests/c` is a program and a test here.

mod support;
#[path = "../abi/table.rs"]
mod table;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{folder, good, has, installed, mpich, prefix, python_with_mpi4py, text};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c");
const RANKS: [u32; 4] = [1, 2, 3, 5];

/// Seconds after which a program counts as hanging; `timeout` then ends it with all its ranks.
const LIMIT: &str = "120";

macro_rules! programs {
    ($($name:ident)*) => {
        /// The programs, of which each is a test.
        const PROGRAMS: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                runs(stringify!($name));
            }
        )*
    };
}

programs! {
    attached
    attributes
    bases
    book_halo
    book_list
    book_mutex
    book_shared
    bytes
    collectives
    communicators
    datatypes
    descriptors
    disagree
    errors
    every_symbol
    file_pointers
    file_representations
    file_views
    files
    free_order
    freed
    hello
    init_thread
    intercollectives
    intercomm_threads
    interpose
    large_counts
    leftovers
    long_collectives
    ops
    packing
    pairs
    partitioned
    persistent
    persistent_order
    refused_frees
    rules_accumulate
    rules_active
    rules_assertions
    rules_communication
    rules_creation
    rules_errors
    rules_flavours
    rules_passive
    rules_requests
    rules_semantics
    rules_threads
    self_threads
    sessions
    settled
    signals
    statuses
    tool_interface
    tool_variables
    topologies
    wrong_calls
}

/// What is not run under MPICH 5.0.2: it lacks two functions, ends with its connection to the launcher, and
/// deletes the attributes of a window that it refuses to free; its ranks do not see that they disagree, and its tools'
/// variables are others.
const HERE_ONLY: [&str; 5] =
    ["every_symbol", "descriptors", "disagree", "refused_frees", "tool_variables"];

/// Compiles a program and runs it everywhere.
fn runs(name: &str) {
    if !has("cc") || !has("timeout") {
        return;
    }
    let program = compiled(name);
    for ranks in RANKS {
        passed(name, ranks, &under_rmarun(ranks, &program));
    }
    let Some(mpich) = mpich() else { return };
    if !HERE_ONLY.contains(&name) {
        for ranks in RANKS {
            passed(&format!("{name} under MPICH"), ranks, &under_mpich(&mpich, ranks, &program));
        }
        for ranks in [1, 3] {
            let output =
                under_mpich_with(&[("LD_PRELOAD", &node_library())], &mpich, ranks, &program);
            passed(&format!("{name} under MPICH with libonesided_node.so"), ranks, &output);
        }
    }
    // MPICH's header lacks two functions; every_symbol_of_mpich_is_there looks at the library.
    if name == "every_symbol" {
        return;
    }
    let program = compiled_by_mpich(&mpich, name);
    for ranks in RANKS {
        passed(&format!("{name} by MPICH's mpicc"), ranks, &under_rmarun(ranks, &program));
    }
}

/// The same program by another MPI's compiler wrapper and header, without one word of this library.
fn compiled_by_mpich(mpich: &Path, name: &str) -> PathBuf {
    let folder = folder(&format!("program-mpich-{name}"));
    let program = folder.join(name);
    let mut mpicc = Command::new(mpich.join("bin/mpicc"));
    mpicc.args(["-std=gnu11", "-O1", "-g", "-pthread", "-rdynamic", "-Wl,-z,now", "-I"]);
    mpicc
        .arg(SOURCES)
        .arg(Path::new(SOURCES).join(name).with_extension("c"))
        .arg("-o")
        .arg(&program);
    good(&mpicc.args(["-ldl", "-lm"]).output().unwrap());
    program
}

fn under_rmarun(ranks: u32, program: &Path) -> Output {
    under_rmarun_with(&[], ranks, program)
}

fn under_rmarun_with(options: &[&str], ranks: u32, program: &Path) -> Output {
    let mut command = Command::new("timeout");
    command.args([LIMIT, installed("rmarun").get_program().to_str().expect("UTF-8")]);
    command.args(["--require-join", "-n", &ranks.to_string()]).args(options);
    command.arg(program).output().unwrap()
}

/// Where MPICH 5.0.2 itself fails on a busy machine, in one start of twenty: messages of two groups that make their
/// communicators one after the other meet; a receive that truncates returns no error. The program then runs again.
const FAILS_AT_TIMES: [&str; 2] =
    ["internal_Comm_create_from_group", "class 0, not 15 (MPI_ERR_TRUNCATE)"];

fn under_mpich(mpich: &Path, ranks: u32, program: &Path) -> Output {
    under_mpich_with(&[], mpich, ranks, program)
}

/// What takes the windows of a node (tests/node.rs).
fn node_library() -> String {
    prefix().join("lib/onesided/libonesided_node.so").to_str().expect("UTF-8").to_owned()
}

fn under_mpich_with(
    variables: &[(&str, &str)],
    mpich: &Path,
    ranks: u32,
    program: &Path,
) -> Output {
    let mut command = Command::new("timeout");
    command.arg(LIMIT).arg(mpich.join("bin/mpiexec")).args(["-n", &ranks.to_string()]);
    variables.iter().for_each(|(name, value)| _ = command.args(["-genv", name, value]));
    // The library that the program was linked with is that of another folder.
    command.env("LD_LIBRARY_PATH", mpich.join("lib")).arg(program);
    let mut run = || command.output().unwrap();
    let mut output = run();
    for _ in 0..8 {
        let printed = text(&output.stderr);
        if output.status.success() || !FAILS_AT_TIMES.iter().any(|at| printed.contains(at)) {
            break;
        }
        output = run();
    }
    output
}

#[track_caller]
fn passed(name: &str, ranks: u32, output: &Output) {
    let printed = text(&output.stdout);
    let count = printed.lines().find_map(|line| line.strip_suffix(" checks passed"));
    let count: u64 = count.and_then(|count| count.parse().ok()).unwrap_or_default();
    assert!(
        output.status.success() && count > 0,
        "{name}, {ranks} ranks: {}\n{printed}{}",
        output.status,
        text(&output.stderr)
    );
}

fn compiled(name: &str) -> PathBuf {
    let last = name.rsplit('/').next().unwrap_or(name);
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default().replace(':', "-");
    let folder = folder(&format!("program-{test}-{last}"));
    fs::write(folder.join("names.h"), symbols()).unwrap();
    let program = folder.join(last);
    let mut rmacc = installed("rmacc");
    rmacc.args([
        "-std=gnu11",
        "-O1",
        "-g",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-cast-function-type",
    ]);
    rmacc.args(["-pthread", "-Wl,-z,now", "-I"]).arg(&folder).arg("-I").arg(SOURCES);
    rmacc.arg(Path::new(SOURCES).join(name).with_extension("c")).arg("-o").arg(&program);
    // Exports what a program puts before the library.
    good(&rmacc.args(["-rdynamic", "-ldl", "-lm"]).output().unwrap());
    program
}

/// All functions, for a program that looks for each of them.
fn symbols() -> String {
    let functions = table::functions();
    let names = functions.iter().map(table::Function::full_name);
    names.map(|name| format!("SYMBOL({name})\nSYMBOL(P{name})\n")).collect()
}

/// What MPICH's own library exports to programs, but for the names that only its other libraries use.
#[test]
fn every_symbol_of_mpich_is_there() {
    let Some(mpich) = mpich().filter(|_| has("nm")) else { return };
    let exported = |library: &Path| -> BTreeSet<String> {
        let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output();
        let names = good(&output.unwrap());
        let names = names.lines().filter_map(|line| line.split(' ').nth(2)).map(str::to_owned);
        names.collect()
    };
    let ours = exported(&prefix().join("lib/onesided/libmpi.so.12"));
    let theirs = exported(&mpich.join("lib/libmpi.so.12"));
    let of_programs = |name: &&String| {
        let name = name.strip_prefix('P').unwrap_or(name);
        ["MPI_", "MPIX_"].iter().any(|begin| name.starts_with(begin)) || name == "MPIR_Dup_fn"
    };
    let missing: Vec<_> =
        theirs.iter().filter(of_programs).filter(|n| !ours.contains(*n)).collect();
    assert!(theirs.len() > 1000 && missing.is_empty(), "{missing:?}");
}

/// Objects of Fortran by MPICH's ABI are loaded; what they call raises the usual error.
#[test]
fn functions_of_fortran_raise_the_error_of_what_is_not_there() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let folder = folder("program-fortran");
    let source = Path::new(SOURCES).join("ends/fortran.c");
    let cc = |arguments: &[&str]| {
        let mut cc = Command::new("cc");
        good(&cc.current_dir(&folder).arg(&source).args(arguments).output().unwrap());
    };
    cc(&["-DSTAND_IN", "-shared", "-fPIC", "-Wl,-soname,libmpifort.so.12", "-o", "libmpifort.so"]);
    let library = prefix().join("lib/onesided/libmpi.so.12");
    cc(&["-o", "fortran", "-Wl,-z,now", "-L.", "-lmpifort", library.to_str().expect("UTF-8")]);
    let output = under_rmarun(2, &folder.join("fortran"));
    let (printed, reports) = (text(&output.stdout), text(&output.stderr));
    let returned = "MPI_File_open: this library has no interface for Fortran: it returned";
    let fatal =
        "MPI_Send(): this library has no interface for Fortran (MPI_ERR_UNSUPPORTED_OPERATION)";
    assert!(
        !output.status.success() && printed.contains("ierror is an error"),
        "{printed}{reports}"
    );
    assert!(!printed.contains("went on") && !printed.contains("wrong"), "{printed}");
    for sentence in [returned, fatal] {
        assert!(reports.contains(sentence), "no '{sentence}' in: {reports}");
    }
}

/// As tests/examples/book.rs has it for the programs in Rust, and packages/wheel/test.sh for those in Python.
#[test]
fn the_programs_of_the_book_print_what_it_shows() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let folder = Path::new(SOURCES).join("../../../docs/book/programs");
    let files = fs::read_dir(folder).expect("the programs of the book");
    let mut sources: Vec<PathBuf> = files.map(|file| file.expect("an entry").path()).collect();
    let is_right =
        |path: &Path| !WRONG.iter().any(|(name, ..)| path.ends_with(format!("{name}.c")));
    sources.retain(|path| {
        path.extension().is_some_and(|extension| extension == "c") && is_right(path)
    });
    for source in &sources {
        let fails = source.ends_with("failures.c");
        let options: &[&str] = if fails { &["--on-failure=continue"] } else { &[] };
        let name = source.with_extension("");
        let output = under_rmarun_with(options, 4, &compiled(name.to_str().expect("UTF-8")));
        let [mut printed, mut shown] =
            [text(&output.stdout), fs::read_to_string(name.with_extension("txt")).expect("shown")]
                .map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
        printed.sort_unstable();
        shown.sort_unstable();
        assert_eq!(printed, shown, "{name:?}: {}", text(&output.stderr));
        assert_eq!(output.status.code(), Some(if fails { 3 } else { 0 }), "{name:?}");
    }
    assert!(sources.len() >= 10, "{sources:?}");
}

type Wrong =
    (&'static str, &'static [&'static str], u32, i32, &'static [(&'static str, &'static str)]);

/// Programs of the book that do something wrong: options, ranks, exit code, and what a report has in one line with the place
/// of the call that follows it in the source.
const WRONG: [Wrong; 3] = [
    (
        "hang",
        &[],
        2,
        123,
        &[("waits for the lock of rank 1", "MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other")],
    ),
    ("race", &["--check"], 2, 124, &[("rank 0: put at", "MPI_Put"), ("rank 1: get at", "MPI_Get")]),
    (
        "slow",
        &["--stats"],
        4,
        0,
        &[
            ("late post", "MPI_Win_start"),
            ("wait for lock", "MPI_Win_lock"),
            ("wait at collective", "MPI_Allreduce"),
        ],
    ),
];

#[test]
fn the_wrong_programs_of_the_book_are_reported_as_it_shows() {
    if !has("cc") || !has("timeout") {
        return;
    }
    for (name, options, ranks, code, lines) in WRONG {
        let program = format!("../../../docs/book/programs/{name}");
        let output = under_rmarun_with(options, ranks, &compiled(&program));
        let printed = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{name}: {printed}");
        for (what, call) in lines {
            let place = at(&program, call);
            let is_it = |line: &str| line.contains(what) && line.contains(&place);
            assert!(printed.lines().any(is_it), "{name}, {what}, {place}: {printed}");
        }
    }
}

#[test]
fn a_program_runs_alone_without_a_launcher() {
    if has("cc") {
        passed("hello", 1, &Command::new(compiled("hello")).output().unwrap());
    }
}

/// By default an error is fatal: it names the call, the rank, the arguments and the reason.
#[test]
fn errors_are_fatal_and_named() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let program = compiled("ends/fatal");
    for ranks in RANKS {
        let output = under_rmarun(ranks, &program);
        let printed = text(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty(), "{printed}");
        let place = at("ends/fatal", "MPI_Put");
        for word in ["MPI_Put(", "target_disp=1000", "MPI_ERR_RMA_RANGE", &place[..]] {
            assert!(printed.contains(word), "no '{word}' in: {printed}");
        }
    }
}

/// The end of a path, and the line in it of the first such call: "deadlock.c:9".
fn at(program: &str, call: &str) -> String {
    let source = Path::new(SOURCES).join(program).with_extension("c");
    let text = fs::read_to_string(&source).unwrap();
    let line = text.lines().position(|line| line.contains(call)).expect("the program calls it");
    format!("{}:{}", source.file_name().unwrap().to_string_lossy(), line + 1)
}

/// Also if a function of the program has made other calls meanwhile.
#[test]
fn an_error_behind_a_function_of_the_program_has_the_line_of_the_call() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let printed = text(&under_rmarun(1, &compiled("ends/called_back")).stderr);
    assert!(printed.contains("MPI_Comm_dup("), "{printed}");
    assert!(printed.contains(&at("ends/called_back", "MPI_Comm_dup(")), "{printed}");
    assert!(!printed.contains(&at("ends/called_back", "MPI_Initialized")), "{printed}");
}

/// Of a rank that no function of the library has seen ending.
#[test]
fn the_last_calls_of_a_killed_rank_have_their_lines() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let printed = text(&under_rmarun(2, &compiled("ends/last_calls")).stderr);
    for (call, row, times) in [
        ("MPI_Win_lock_all", "lock_all", "1"),
        ("MPI_Put", "put", "3"),
        ("MPI_Win_flush", "flush", "1"),
    ] {
        let at = at("ends/last_calls", call);
        let cells = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let is_it = |cells: Vec<String>| {
            cells[..3] == ["rmarun:", "1", row]
                && cells.contains(&times.to_owned())
                && cells.last().is_some_and(|last| last.ends_with(&at))
        };
        let rows = printed.lines().map(cells).filter(|cells| cells.len() > 7);
        assert!(rows.into_iter().any(is_it), "no {row} at {at}: {printed}");
    }
}

/// Without debug information the function is named, and what is missing.
#[test]
fn an_error_without_debug_information_names_the_function() {
    if !has("cc") || !has("timeout") || !has("strip") {
        return;
    }
    let program = compiled("ends/fatal");
    let stripped = Command::new("strip").arg("--strip-debug").arg(&program).status().unwrap();
    let printed = text(&under_rmarun(2, &program).stderr);
    let place = "(MPI_ERR_RMA_RANGE), at main (compiled without -g: no line)";
    assert!(stripped.success() && printed.contains(place), "{printed}");
}

const VARIABLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/variables.md");
/// The line behind which the page has what the test below writes.
const MARK: &str = "<!-- What follows is written by `VARIABLES=overwrite cargo test -p onesided-capi --test programs the_page`. -->\n";

#[test]
#[allow(clippy::disallowed_methods, reason = "the wish to write the page")]
fn the_page_of_variables_is_what_a_tool_finds() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let tables = good(&Command::new(compiled("ends/variables")).output().unwrap());
    let found = fs::read_to_string(VARIABLES).expect("the page");
    let (prose, there) = found.split_once(MARK).expect("the mark of what is written");
    if std::env::var("VARIABLES").is_ok_and(|wish| wish == "overwrite") {
        fs::write(VARIABLES, format!("{prose}{MARK}{tables}")).expect("the page can be written");
    } else {
        assert_eq!(there, tables, "the page is stale; VARIABLES=overwrite writes it");
    }
}

/// In a job that counts, the variables of the tool interface have its counts.
#[test]
fn variables_are_what_the_program_does() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let program = compiled("tool_variables");
    for ranks in RANKS {
        let output = under_rmarun_with(&["--stats"], ranks, &program);
        passed("tool_variables, counted", ranks, &output);
    }
}

/// Of random programs: each count and the bytes are those of a tool's wrappers, also from rank to rank.
#[test]
fn statistics_are_what_a_tool_counts() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let (program, launcher) = (compiled("ends/counted"), installed("rmarun"));
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join("counted.html");
    for seed in 0..20 {
        let ranks = 1 + seed % 5;
        let mut command = Command::new("timeout");
        command.arg(LIMIT).arg(launcher.get_program()).args(["--stats", "--report"]).arg(&page);
        command.args(["-n", &ranks.to_string()]).arg(&program).arg(seed.to_string());
        let output = command.output().unwrap();
        let (wanted, printed) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "seed {seed}: {printed}");
        let (pairs, calls): (Vec<_>, Vec<_>) =
            wanted.lines().partition(|line| line.starts_with("pair "));
        assert_eq!((pairs.len(), calls.len()), (ranks * ranks, 14), "seed {seed}: {wanted}");
        let page = fs::read_to_string(&page).unwrap();
        same_pairs(&pairs, &page);
        let frees = printed.lines().find(|line| line.starts_with("rmarun:   window free "));
        let frees = frees.unwrap_or_default().split_whitespace().nth(4).unwrap_or_default();
        assert_eq!(frees, ranks.to_string(), "seed {seed}: {printed}");
        // The page has a row for each; the printed table, of 20, has the same numbers.
        let rows = page.split("<h2>Calls of all ranks</h2>").nth(1).unwrap_or_default();
        for line in calls.iter().filter(|line| !line.ends_with(" 0 0")) {
            let [call, times, bytes] = line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let bytes = if bytes == "0" { "–" } else { bytes };
            let row = rows.split("<tr>").find(|row| row.starts_with(&format!("<td>{call}</td>")));
            let row = row.unwrap_or_default().replace("<td class=\"number\">", "<td>");
            let cells = format!("</td><td>{times}</td><td>{bytes}</td>");
            assert!(row.contains(&cells), "seed {seed}, {line}: {row} {printed}");
        }
    }
}

/// The pairs of ranks in a page are these.
fn same_pairs(wanted: &[&str], page: &str) {
    let table = page.split("<h2>Data between ranks</h2>").nth(1).unwrap_or_default();
    let table = table.split("</section>").next().unwrap_or_default();
    let is_there = |line: &&&str| !line.ends_with(" 0 0");
    for line in wanted.iter().filter(is_there) {
        let numbers = line.split(' ').skip(1);
        let cells: String =
            numbers.map(|number| format!("<td class=\"number\">{number}</td>")).collect();
        assert!(table.contains(&format!("<tr>{cells}</tr>")), "{line}: {table}");
    }
    let rows = table.matches("<tr><td").count();
    assert_eq!(rows, wanted.iter().filter(is_there).count(), "{table}");
}

/// The trace has the calls that began while it was on, also on a window whose name is no UTF-8.
#[test]
fn a_program_switches_the_trace_off_and_on() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let (program, launcher) = (compiled("ends/traced"), installed("rmarun"));
    let file = program.with_extension("pftrace");
    let mut command = Command::new("timeout");
    command.arg(LIMIT).arg(launcher.get_program()).args(["-n", "2", "--trace"]).arg(&file);
    let output = command.arg(&program).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let trace = fs::read(&file).unwrap();
    let has = |text: &str| trace.windows(text.len()).any(|bytes| bytes == text.as_bytes());
    // As a string of the library, which has a character of its own for each byte that is no UTF-8.
    assert!(has("<shown> \"\u{10ffff}\"") && has("put") && !has("hidden"));
    assert!(has("outer \u{10ffff}") && has("inner") && has("region 7") && !has("region 9"));
}

/// `onesided.tools.region`, which calls `MPI_Pcontrol`: mpi4py's own refuses its levels.
#[test]
fn a_python_program_has_regions_in_its_trace() {
    const REGIONS: &str = "
from mpi4py import MPI
from onesided import tools
world = MPI.COMM_WORLD
with tools.region('outer <größe>'):
    world.Barrier()
    with tools.region('inner'):
        world.allreduce(1)
try:
    with tools.region('left'):
        raise ValueError
except ValueError:
    pass
MPI.Pcontrol(0)
with tools.region('hidden'):
    world.Barrier()
MPI.Pcontrol(1)
with tools.region('last'):
    world.Barrier()
";
    let Some(python) = python_with_mpi4py().filter(|_| has("timeout")) else { return };
    let launcher = installed("rmarun");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("regions.pftrace");
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packages/wheel");
    let mut command = Command::new("timeout");
    command.arg(LIMIT).arg(launcher.get_program()).args(["-n", "2", "--require-join", "--trace"]);
    command.arg(&file).args([&python, "-c", REGIONS]).env("PYTHONPATH", tools);
    let output = command.env("PYTHONDONTWRITEBYTECODE", "1").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let trace = fs::read(&file).unwrap();
    let places = |text: &str| -> Vec<usize> {
        let bytes = trace.windows(text.len()).enumerate();
        bytes.filter(|(_, bytes)| *bytes == text.as_bytes()).map(|(at, _)| at).collect()
    };
    // Each rank defines a name where it uses it first: a text, and the name of slices.
    let defined = ["outer <größe>", "barrier", "inner", "left", "last"].map(places);
    assert_eq!(defined.each_ref().map(Vec::len), [4, 2, 4, 4, 4]);
    assert!(defined.is_sorted_by_key(|places| places.first()), "{defined:?}");
    assert!(defined.is_sorted_by_key(|places| places.last()), "{defined:?}");
    assert!(places("hidden").is_empty(), "it begins while the trace is off");
}

/// A program in Python: the reports have its lines, not mpi4py's, also while another thread of the rank runs Python.
#[test]
fn a_python_program_is_reported_with_its_lines() {
    let Some(python) = python_with_mpi4py().filter(|_| has("timeout")) else { return };
    let file = Path::new(SOURCES).join("ends/lines.py");
    let source = fs::read_to_string(&file).unwrap();
    let line = |text: &str| {
        let line = source.lines().position(|line| line.contains(text)).expect("the program has it");
        format!("lines.py:{}", line + 1)
    };
    let mut command = Command::new("timeout");
    command.arg(LIMIT).arg(installed("rmarun").get_program()).args(["--check", "-n", "2"]);
    let output = command.args(["--require-join", &python]).arg(&file).output().unwrap();
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(123), "{printed}");
    for (start, end) in [
        ("  rank 1: put at ", "win.Put"),
        ("  rank 1: store before flush at ", "win.Flush"),
        ("  rank 0: get at ", "win.Get"),
        ("", "world.recv"),
    ] {
        let place = line(end);
        let is_it = |found: &str| found.starts_with(start) && found.contains(&place);
        assert!(printed.lines().any(is_it), "{start}{place}: {printed}");
    }
    assert!(printed.contains("rmarun: 2 pairs of calls conflict"), "{printed}");
}

/// An unmodified program: both accesses are named with their lines.
#[test]
fn a_missing_flush_is_found() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let program = compiled("ends/race");
    let launcher = installed("rmarun");
    let mut command = Command::new("timeout");
    command.arg(LIMIT).arg(launcher.get_program()).args(["--check", "-n", "2"]).arg(program);
    let output = command.output().unwrap();
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(124), "{printed}");
    for (rank, name, call) in [(0, "put", "MPI_Put"), (1, "get", "MPI_Get")] {
        let line = at("ends/race", call);
        let part = format!("  rank {rank}: {name} at ");
        let found = printed.lines().find(|line| line.starts_with(&part));
        assert!(found.is_some_and(|found| found.ends_with(&line)), "{printed}");
    }
    assert!(printed.contains("rank 0 needs a flush of rank 0"), "{printed}");
}

/// A store of the program itself: between which calls it happened.
#[test]
fn a_store_beside_a_put_is_found() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let mut command = Command::new("timeout");
    command.arg(LIMIT).arg(installed("rmarun").get_program()).args(["--check", "-n", "2"]);
    let output = command.arg(compiled("ends/store")).output().unwrap();
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(124), "{printed}");
    let lines = ["opens", "MPI_Put", "ends */"].map(|call| at("ends/store", call));
    let found = |start: &str, ends: &[&str]| {
        let is_it =
            |line: &str| line.starts_with(start) && ends.iter().all(|end| line.contains(end));
        printed.lines().any(is_it)
    };
    assert!(found("onesided: conflict", &["bytes 4 to 4 of rank 0"]), "{printed}");
    assert!(found("  rank 1: put at ", &[&lines[1]]), "{printed}");
    let [opens, _, ends] = &lines;
    // The store comes before the put, or behind it.
    assert!(
        found("  rank 0: store between fence at ", &[opens, " and fence at ", ends])
            || found("  rank 0: store after fence at ", &[opens]),
        "{printed}"
    );
}

/// Cases of `ends/buffer.c`: the bytes, and both accesses with their lines.
type EarlyUse = (&'static str, &'static str, [&'static str; 2], [&'static str; 2]);

const EARLY: [EarlyUse; 16] = [
    ("changed", "0 to 0", ["put at ", "store before flush at "], ["the put", "its flush"]),
    ("fence", "4 to 4", ["put at ", "store before fence at "], ["put in a fence", "ends */"]),
    ("read", "4 to 7", ["get at ", "put at "], ["the get", "puts the result"]),
    ("written", "0 to 3", ["put at ", "get at "], ["the other put", "gets over it"]),
    ("twice", "0 to 7", ["get at ", "get at "], ["the first get", "the second get"]),
    ("fetched", "0 to 3", ["fetch_and_op at ", "put at "], ["the fetch", "puts what is fetched"]),
    ("waited", "0 to 0", ["rput at ", "store before wait at "], ["the rput", "its wait"]),
    ("compared", "0 to 3", ["compare_and_swap at ", "put at "], ["the swap", "puts what it found"]),
    (
        "swapped",
        "0 to 0",
        ["compare_and_swap at ", "store before flush at "],
        ["the other swap", "the swap's flush"],
    ),
    ("long", FAR, ["put at ", BEFORE], ["the long put *", "the long put's flush"]),
    ("mapped", FAR, ["put at ", BEFORE], ["the mapped put *", "the mapped put's flush"]),
    (
        "strided",
        "140 to 140",
        ["put at ", BEFORE],
        ["the strided put *", "the strided put's flush"],
    ),
    ("own", FAR, ["put at ", BEFORE], ["the put of the own part", "flushes the own part"]),
    ("sent", "0 to 3", ["get at ", "sendrecv at "], ["the get before a send", "sends it"]),
    ("received", "0 to 3", ["put at ", "sendrecv at "], ["the put before a receive", "receives"]),
    ("reduced", "4 to 7", ["get at ", "allreduce at "], ["the get before a reduction", "reduces"]),
];
const FAR: &str = "280000 to 280000";
const BEFORE: &str = "store before flush at ";

/// Buffers of operations that are not complete.
#[test]
fn buffers_that_are_used_too_early_are_found() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let program = compiled("ends/buffer");
    let run = |case: &str| {
        let mut command = Command::new("timeout");
        command.arg(LIMIT).arg(installed("rmarun").get_program()).args(["--check", "-n", "2"]);
        let output = command.arg(&program).arg(case).output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    for (case, bytes, accesses, lines) in EARLY {
        let (code, printed) = run(case);
        assert_eq!(code, Some(124), "{case}: {printed}");
        let head = format!("in the buffer of an operation on window '#0', its bytes {bytes}:");
        assert!(printed.contains(&head), "{case}: {printed}");
        for (access, line) in accesses.into_iter().zip(lines) {
            let start = format!("  rank 0: {access}");
            let end = at("ends/buffer", line);
            let is_it = |found: &str| found.starts_with(&start) && found.ends_with(&end);
            assert!(printed.lines().any(is_it), "{case}: {printed}");
        }
        assert!(printed.contains("a flush_local of rank 1"), "{case}: {printed}");
    }
    for case in ["complete", "beside", "unmapped", "requests", "same", "read only"] {
        let (code, printed) = run(case);
        assert_eq!(code, Some(0), "{case}: {printed}");
        assert!(!printed.contains("may have been missed"), "{case}: {printed}");
    }
    // More buffers than are remembered: nothing is found, and that is no proof.
    let (code, printed) = run("many");
    let note = "note: a table of the check was full, so conflicts may have been missed";
    assert!(code == Some(0) && printed.contains(note), "{printed}");
}

/// Loads and stores of a program that `rmacc -race` has compiled, to windows and buffers, each with its line.
#[test]
fn accesses_of_the_program_itself_are_found() {
    let source = Path::new(SOURCES).join("ends/own.c");
    for program in compiled_with_race("rmacc", &["-O1"], &source) {
        find_accesses(&program);
    }
}

/// Of each case of `ends/own.c`.
fn find_accesses(program: &Path) {
    let run = |options: &[&str], case: &str| {
        let mut command = Command::new("timeout");
        command.arg(LIMIT).arg(installed("rmarun").get_program()).args(options).args(["-n", "2"]);
        let output = command.arg(program).arg(case).output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    let found = [
        ("load", [(0, "put", "the put"), (1, "load", "loads it")]),
        ("second load", [(0, "put", "the put"), (1, "load", "loads it")]),
        ("get", [(0, "get", "the get"), (1, "store", "stores it")]),
        ("strides", [(0, "put", "puts among them"), (1, "store", "stores at strides")]),
        ("result", [(0, "get", "gets it"), (0, "load", "reads it")]),
        ("copied", [(0, "get", "gets it"), (0, "load", "copies it")]),
        ("local result", [(0, "get", "gets it there"), (0, "load", "reads the elements")]),
        ("own source", [(0, "put", "sends it"), (1, "put", "puts there")]),
        ("own result", [(0, "get", "receives it"), (1, "put", "puts there")]),
        ("asserted", [(0, "fence", "asserts by fence"), (0, "store", "stores before that")]),
        ("asserted post", [(0, "post", "asserts by post"), (0, "store", "stores before that")]),
    ];
    for (case, accesses) in found {
        let (code, printed) = run(&["--check"], case);
        assert_eq!(code, Some(124), "{case}: {printed}");
        assert!(printed.contains("rmarun: 1 pair of calls conflicts"), "{case}: {printed}");
        for (rank, name, line) in accesses {
            let (start, end) = (format!("  rank {rank}: {name} at "), at("ends/own", line));
            let end = match rank == 0 && case.starts_with("own") {
                true => format!("{end}, by its buffer"),
                false => end,
            };
            let is_it = |found: &str| found.starts_with(&start) && found.ends_with(&end);
            assert!(printed.lines().any(is_it), "{case}: {printed}");
        }
        assert_eq!(run(&[], case), (Some(0), String::new()), "{case}");
    }
    let correct = [
        "complete load",
        "beside",
        "complete result",
        "complete local result",
        "complete own source",
        "between strides",
        "asserted later",
    ];
    for case in correct {
        let (code, printed) = run(&["--check"], case);
        assert_eq!(code, Some(0), "{case}: {printed}");
    }
}

/// A rank that has fetched what another one's accumulate has left may store there.
#[test]
fn a_queue_lock_has_no_conflicts() {
    let source = Path::new(SOURCES).join("ends/queue_lock.c");
    for program in compiled_with_race("rmacc", &["-O1"], &source) {
        let output = under_rmarun_with(&["--check"], 4, &program);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
}

/// Atomic operations of each size do what they should.
#[test]
fn atomic_operations_are_those_of_c() {
    let source = Path::new(SOURCES).join("ends/atomics.c");
    // Otherwise those of 16 bytes are calls of a library.
    let inline: &[&str] = if cfg!(target_arch = "x86_64") { &["-O1", "-mcx16"] } else { &["-O1"] };
    for program in compiled_with_race("rmacc", inline, &source) {
        let output = under_rmarun_with(&["--check"], 1, &program);
        assert!(output.status.success(), "{}: {}", program.display(), text(&output.stdout));
    }
}

/// A program has the library of OpenMP whatever it calls there, also in a job that is not checked.
#[test]
fn a_program_has_the_library_of_openmp() {
    let source = Path::new(SOURCES).join("ends/team.c");
    for program in compiled_with_race("rmacc", &["-O1", "-fopenmp"], &source) {
        for options in [&[][..], &["--check"]] {
            let output = under_rmarun_with(options, 1, &program);
            assert!(output.status.success(), "{}: {}", program.display(), text(&output.stderr));
        }
    }
}

/// Accesses by threads of one rank: those that nothing orders are found, each time, and no others.
#[test]
fn accesses_of_threads_are_found() {
    let source = Path::new(SOURCES).join("ends/threads.c");
    let cases = names_in(&source, "CASE(\"");
    assert!(cases.len() > 30, "{cases:?}");
    find_unordered("rmacc", &["-O1", "-fopenmp", "-pthread"], &source, &cases, ", thread ");
}

/// The same of threads of C++.
#[test]
fn accesses_of_threads_of_cxx_are_found() {
    let source = Path::new(SOURCES).join("ends/threads.cpp");
    let options = ["-std=c++17", "-pthread"];
    find_unordered("rmacxx", &options, &source, &names_in(&source, "is(\""), ", thread ");
}

/// Accesses of ranks by the addresses of a shared window.
#[test]
fn accesses_through_shared_windows_are_found() {
    let source = Path::new(SOURCES).join("ends/shared.c");
    let cases: BTreeSet<_> = names_in(&source, "is(\"").into_iter().collect();
    find_unordered("rmacc", &["-O1", "-pthread"], &source, &Vec::from_iter(cases), "rank 1: ");
}

/// An access in a header of C++ has the line of the program that it is inlined in.
#[test]
fn an_algorithm_has_the_line_of_the_program() {
    let source = Path::new(SOURCES).join("ends/algorithm.cpp");
    let lines = fs::read_to_string(&source).unwrap();
    let line = lines.lines().position(|line| line.contains("fills it")).unwrap() + 1;
    for program in compiled_with_race("rmacxx", &["-O2"], &source) {
        let output = under_rmarun_with(&["--check"], 2, &program);
        let printed = text(&output.stderr);
        let here = format!("algorithm.cpp:{line}");
        assert!(output.status.code() == Some(124) && printed.contains(&here), "{printed}");
    }
}

/// Collectives order a rank behind those whose data it gets, when a call has completed them; a probe behind the sender.
#[test]
fn calls_order_what_they_promise() {
    let source = Path::new(SOURCES).join("ends/order.c");
    let named = ["is(\"", "{\""].map(|before| names_in(&source, before)).concat();
    let cases: BTreeSet<_> = named.into_iter().collect();
    assert!(cases.len() > 20, "{cases:?}");
    let program = compiled("ends/order");
    for case in cases {
        let mut command = Command::new("timeout");
        command.arg(LIMIT).arg(installed("rmarun").get_program()).args(["--check", "-n", "4"]);
        let output = command.arg(&program).arg(&case).output().unwrap();
        let (code, printed) = (output.status.code(), text(&output.stderr));
        let is_unordered = case.ends_with(", unordered");
        assert_eq!(code, Some(if is_unordered { 124 } else { 0 }), "{case}: {printed}");
        assert_eq!(
            printed.contains("1 pair of calls conflicts"),
            is_unordered,
            "{case}: {printed}"
        );
    }
}

/// What stands between each such text and the next quotation mark.
fn names_in(source: &Path, before: &str) -> Vec<String> {
    let text = fs::read_to_string(source).unwrap();
    let names = text.split(before).skip(1).filter_map(|rest| rest.split('"').next());
    names.map(str::to_owned).collect()
}

/// Cases whose name begins with "unordered" have one conflict, whose report has that text.
fn find_unordered(compiler: &str, options: &[&str], source: &Path, cases: &[String], report: &str) {
    for program in compiled_with_race(compiler, options, source) {
        for (case, _) in cases.iter().flat_map(|case| [(case, 0), (case, 1), (case, 2)]) {
            let mut command = Command::new("timeout");
            command.arg(LIMIT).arg(installed("rmarun").get_program()).args(["--check", "-n", "2"]);
            let output = command.arg(&program).arg(case).output().unwrap();
            let (code, printed) = (output.status.code(), text(&output.stderr));
            let case = format!("{}, {case}", program.display());
            if case.contains(", unordered") {
                assert_eq!(code, Some(124), "{case}: {printed}");
                assert!(printed.contains("rmarun: 1 pair of calls conflicts"), "{case}: {printed}");
                assert!(printed.contains(report), "{case}: {printed}");
            } else {
                assert_eq!((code, &*printed), (Some(0), ""), "{case}");
            }
        }
    }
}

/// The program by each compiler that is there.
fn compiled_with_race(wrapper: &str, options: &[&str], source: &Path) -> Vec<PathBuf> {
    let compilers = if wrapper == "rmacc" { ["cc", "clang"] } else { ["c++", "clang++"] };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("race");
    fs::create_dir_all(&folder).unwrap();
    let compile = |compiler: &str| {
        let name = source.file_name().unwrap_or_default().display();
        let program = folder.join(format!("{name}-{compiler}"));
        let option = format!("-{}={compiler}", wrapper.trim_start_matches("rma"));
        let mut command = installed(wrapper);
        command.args([&*option, "-race"]).args(options).arg("-o").args([&program, source]);
        good(&command.output().unwrap());
        program
    };
    let is_there = |compiler: &&str| has(compiler) && has("timeout") && links(compiler, options);
    compilers.into_iter().filter(is_there).map(compile).collect()
}

/// Whether a compiler links with these options: that of OpenMP takes a library, which a package of its own may have.
fn links(compiler: &str, options: &[&str]) -> bool {
    let folder = folder(&format!("links-{compiler}-{}", options.concat()));
    let source = folder.join("main.c");
    fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let mut command = Command::new(compiler);
    let output = command.args(options).arg(source).arg("-o").arg(folder.join("main")).output();
    let is_good = output.unwrap().status.success();
    if !is_good {
        println!("skipped: {compiler} cannot link with {options:?}");
    }
    is_good
}

/// The linker lets come all calls to the library that it has functions for.
#[test]
fn all_that_is_wrapped_is_there() {
    let sources = ["race.rs", "threads.rs", "threads/openmp.rs", "threads/openmp/clang.rs"];
    let read =
        |file: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let of_source = |file: &str| {
        let text = read(&format!("src/{file}"));
        let names = text.split("__wrap_").skip(1);
        let end = |rest: &str| rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        names.filter_map(|rest| Some(rest[..end(rest)?].to_owned())).collect::<Vec<_>>()
    };
    let there: BTreeSet<String> = sources.iter().flat_map(|file| of_source(file)).collect();
    let script = read("install/rmacc.sh");
    let (_, list) = script.split_once("wrapped=\"").unwrap();
    let list = list.split('"').next().unwrap();
    let wrapped: BTreeSet<String> = list.split_whitespace().map(str::to_owned).collect();
    assert_eq!(wrapped, there.into_iter().filter(|name| !name.is_empty()).collect());
}

/// Cases of `ends/late.c`: what is printed where operations take effect late, and whether the program has conflicts.
const LATE: [(&str, &[&str], bool); 6] = [
    ("result", &["result: 0xeeeeeeee"], false),
    ("visible", &["put: 0x7", "sum: 0x7"], false),
    ("changed", &["delivered: 0x6"], true),
    ("fetched", &["fetched: 0xeeeeeeee"], false),
    ("flushed", &[], false),
    ("exposed", &[], false),
];

/// A program that relies on operations that take effect at once does not find that where they take effect late. A legal one
/// does not notice.
#[test]
fn operations_take_effect_as_late_as_they_may() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let program = compiled("ends/late");
    for memory in [None, Some("private")] {
        let run = |option: &str, case: &str| {
            let mut command = Command::new("timeout");
            command.arg(LIMIT).arg(installed("rmarun").get_program()).args([option, "-n", "2"]);
            let output = command.arg(&program).arg(case).args(memory).output().unwrap();
            (output.status.code(), text(&output.stdout), text(&output.stderr))
        };
        for (case, wrong, conflicts) in LATE {
            let (code, found, printed) = run("--check=late", case);
            let expected = if wrong.is_empty() { 0 } else { 3 };
            assert_eq!(code, Some(expected), "{case}: {found}{printed}");
            assert_eq!(found.lines().collect::<Vec<_>>(), wrong, "{case}: {printed}");
            assert_eq!(printed.contains("onesided: conflict"), conflicts, "{case}: {printed}");
            let (code, found, printed) = run("--check=report", case);
            assert_eq!((code, &*found), (Some(0), ""), "{case}: {printed}");
        }
        assert_eq!(run("--check=late,report", "flushed").0, Some(0));
    }
}

/// The programs of the standard's rules run as they do where operations take effect at once, and without conflicts.
#[test]
fn legal_programs_do_not_notice_late_operations() {
    if !has("cc") || !has("timeout") {
        return;
    }
    for part in ["accumulate", "active", "communication", "passive", "requests", "semantics"] {
        let program = compiled(&format!("rules_{part}"));
        for ranks in [2, 3] {
            let mut command = Command::new("timeout");
            command.arg(LIMIT).arg(installed("rmarun").get_program()).arg("--check=late");
            let output = command.args(["-n", &ranks.to_string()]).arg(&program).output().unwrap();
            passed(&format!("rules_{part}, late"), ranks, &output);
        }
    }
}

/// A job that deadlocks writes the report of its conflicts, too.
#[test]
fn a_deadlock_has_a_report_of_conflicts() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("race.json");
    let mut command = Command::new("timeout");
    command.arg(LIMIT).arg(installed("rmarun").get_program()).arg("--check-report").arg(&path);
    let output = command.args(["-n", "2"]).arg(compiled("ends/race")).arg("wait").output().unwrap();
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(123), "{printed}");
    let report = std::fs::read_to_string(&path).unwrap();
    let [put, get] = ["MPI_Put", "MPI_Get"].map(|call| format!("{}\"", at("ends/race", call)));
    for part in ["\"exit_code\": 123", "\"remedy\": \"rank 0 needs a flush of rank 0", &put, &get] {
        assert!(report.contains(part), "{part}: {report}");
    }
}

/// What others accept is accepted with one note in the job, and an error with `--strict`.
#[test]
fn plain_meanings_are_accepted_unless_told_otherwise() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let program = compiled("ends/lenient");
    for ranks in RANKS {
        let output = under_rmarun(ranks, &program);
        passed("lenient", ranks, &output);
        let printed = text(&output.stderr);
        assert_eq!(printed.matches("--strict").count(), 1, "{printed}");
        assert!(
            printed.contains("lock_all only")
                && printed.contains("accepted, because")
                && printed.contains("lenient.c:"),
            "{printed}"
        );
    }
    for (arguments, reason) in [(&[][..], "lock or lock_all only"), (&["locks"][..], "no_locks")] {
        let mut command = Command::new("timeout");
        command.args([LIMIT, installed("rmarun").get_program().to_str().expect("UTF-8")]);
        let strict = command.args(["--strict", "-n", "2"]).arg(&program).args(arguments);
        let output = strict.output().unwrap();
        let printed = text(&output.stderr);
        assert_eq!(output.status.code(), Some(50), "MPI_ERR_RMA_SYNC: {printed}");
        assert!(printed.contains(reason) && !printed.contains("accepted, because"), "{printed}");
    }
    if let Some(mpich) = mpich() {
        for ranks in RANKS {
            passed("lenient under MPICH", ranks, &under_mpich(&mpich, ranks, &program));
        }
    }
}

/// An unsupported call is reported once per rank, also where its error handler returns and the code is ignored.
#[test]
fn a_missing_function_is_told_once() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let output = under_rmarun(2, &compiled("ends/missing"));
    passed("missing", 2, &output);
    let printed = text(&output.stderr);
    for rank in ["rank 0", "rank 1"] {
        let mut lines = printed.lines().filter(|line| line.contains(rank));
        let line = lines.next().unwrap_or_else(|| panic!("nothing of {rank}: {printed}"));
        for word in
            ["MPI_Open_port", "missing", "MPI_ERR_UNSUPPORTED_OPERATION", "nothing was done"]
        {
            assert!(line.contains(word), "no '{word}' in: {line}");
        }
        assert_eq!(lines.next(), None);
    }
    // A fatal one is reported as an error.
    let fatal = under_rmarun(1, &compiled("ends/missing_fatal"));
    let printed = text(&fatal.stderr);
    assert!(!fatal.status.success() && printed.matches("MPI_Open_port").count() == 1, "{printed}");
}

/// Another MPI's launcher has started it, but it has loaded this library: each process would be a job.
#[test]
fn another_launcher_is_refused() {
    if !has("cc") {
        return;
    }
    let mut program = Command::new(compiled("hello"));
    let output = program.env("PMI_RANK", "0").env("PMI_SIZE", "2").output().unwrap();
    let printed = text(&output.stderr);
    assert!(!output.status.success() && output.stdout.is_empty(), "{printed}");
    for word in ["MPI_Init(", "PMI_RANK", "LD_LIBRARY_PATH"] {
        assert!(printed.contains(word), "no '{word}' in: {printed}");
    }
}

/// A report names calls, ranks and tags, and the line of the program.
#[test]
fn a_deadlock_is_reported_with_lines() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let output = under_rmarun(2, &compiled("ends/deadlock"));
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(123), "{printed}");
    let report = "rank 1 in recv waits for a message from rank 0 with tag 7 (";
    assert!(printed.contains(report) && !printed.contains(".rs"), "{printed}");
    assert!(printed.contains(&at("ends/deadlock", "MPI_Recv")), "{printed}");
}

/// What a rank should have completed is reported in one line, and is no reason to end the others.
#[test]
fn what_is_left_open_is_told() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let program = compiled("ends/leftovers");
    for ranks in RANKS {
        let output = under_rmarun(ranks, &program);
        passed("ends/leftovers", ranks, &output);
        let all = text(&output.stderr);
        let done = text(&output.stdout).lines().filter(|line| line.ends_with("is done")).count();
        let has_completed = |line: &&str| line.contains("the rank has completed");
        let lines: Vec<&str> = all.split_inclusive('\n').filter(has_completed).collect();
        assert_eq!((lines.len(), done), (1, ranks as usize - 1), "{all}");
        let printed = lines[0];
        // A session that stays open keeps the rank in the job until its process ends.
        let (when, session) = match ranks {
            3 => ("the end of the process", ", 1 session\n"),
            _ => ("MPI_Finalize", "1 open file\n"),
        };
        let cause = format!("{when} leaves the job before the rank has completed 3 collectives, ");
        assert!(printed.starts_with("onesided: rank 0 (") && printed.contains(&cause), "{printed}");
        assert!(printed.ends_with(session), "{printed}");
        for one in [
            "3 receives",
            "3 sends",
            "1 partitioned send",
            "1 partitioned receive",
            "1 communicator duplicate",
            "1 request",
            "1 generalized request",
            "1 matched message",
            "1 window epoch",
            "1 open file",
        ] {
            assert!(printed.contains(one), "no '{one}' in: {printed}");
        }
    }
}

/// Operations that are complete at once share a request, except under `--strict`; what another thread completes is not
/// left open.
#[test]
fn requests_that_are_complete_at_once_are_counted() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let printed = text(&under_rmarun(3, &compiled("settled")).stderr);
    assert!(!printed.contains("has completed"), "{printed}");
    let copied = under_rmarun_with(&["--strict"], 3, &compiled("ends/copied"));
    passed("ends/copied", 3, &copied);
}

/// One rank reports what is never freed, and the receiver a message that it has never received.
#[test]
fn what_is_never_freed_or_received_is_reported() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let program = compiled("ends/unfreed");
    let unfreed = "leaves the job before the rank has freed 1 window, 1 datatype, 1 communicator\n";
    let unread = "leaves the job before the rank has received 1 message; the first is from rank ";
    for ranks in RANKS {
        let output = under_rmarun(ranks, &program);
        passed("ends/unfreed", ranks, &output);
        let printed = text(&output.stderr);
        let counts = [unfreed, unread].map(|line| printed.matches(line).count());
        assert_eq!(counts, [1, ranks as usize], "{printed}");
    }
    let output = under_rmarun_with(&["--strict"], 2, &program);
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(18), "MPI_ERR_PENDING: {printed}");
    assert!(
        printed.contains(unread) && printed.contains("an error under rmarun --strict"),
        "{printed}"
    );
    let output = under_rmarun_with(&["--strict"], 2, &compiled("hello"));
    passed("hello --strict", 2, &output);
}

#[test]
fn a_deadlock_names_the_collectives_and_who_is_missing() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let output = under_rmarun(2, &compiled("ends/collectives"));
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(123), "{printed}");
    for part in [
        "deadlock: rank 0 waits for rank 1, which waits for rank 0 (in different collectives); ",
        "rank 0 in broadcast waits for rank 1 to arrive (",
        &at("ends/collectives", "MPI_Wait"),
        "rank 1 in barrier waits for rank 0 to arrive (",
        &at("ends/collectives", "MPI_Barrier"),
    ] {
        assert!(printed.contains(part), "{printed}");
    }
}

#[test]
fn a_deadlock_names_calls_that_wait_for_several_requests() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let output = under_rmarun(4, &compiled("ends/several"));
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(123), "{printed}");
    for part in [
        "rank 0 in waitany waits for one of 2 requests, which ranks 1 and 2 can complete (",
        &at("ends/several", "MPI_Waitany"),
        "rank 1 in waitsome waits for its request, which rank 2 can complete (",
        &at("ends/several", "MPI_Waitsome"),
        "rank 2 in partitioned send waits for 3 of 4 partitions of its message to rank 3 with tag 9 \
         to be handed over (",
        &at("ends/several", "MPI_Wait("),
        "rank 3 in partitioned receive waits for a message from rank 2 with tag 9 (",
    ] {
        assert!(printed.contains(part), "{printed}");
    }
}

#[test]
fn abort_ends_all_with_its_code() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let program = compiled("ends/abort");
    for ranks in RANKS {
        let output = under_rmarun(ranks, &program);
        assert_eq!(output.status.code(), Some(42), "{}", text(&output.stderr));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn every_source_is_a_test() {
    let mut sources: Vec<String> = fs::read_dir(SOURCES)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    sources.sort();
    assert_eq!(sources, PROGRAMS);
}

/// What no C program here shows of docs/reference/conformance.md, and why: by the beginnings of the rules' numbers.
const SHOWN_ELSEWHERE: [(&str, &str); 5] = [
    ("11.3-3", "binds the program, and C has no borrows that show a breach"),
    ("11.6-RMA_SHARED", "takes a kernel that keeps memory from other processes"),
    ("notified-", "has no calls in the standard"),
    ("threads-5", "cannot be provoked without the hooks of test builds"),
    ("memory-", "cannot be seen without the hooks of test builds"),
];

/// Every rule of the Rust interface's conformance page is checked through C too.
#[test]
fn every_rule_has_a_check() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/conformance.md");
    let page = fs::read_to_string(page).unwrap();
    let rules: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| ") && !line.contains("| none: "))
        .filter_map(|line| line[2..].split(" | ").next())
        .filter(|number| *number != "rule" && !number.starts_with("---"))
        .collect();
    assert!(rules.len() > 200, "{}", rules.len());
    let mut checked = BTreeSet::new();
    for program in PROGRAMS {
        let source = Path::new(SOURCES).join(program).with_extension("c");
        for text in fs::read_to_string(source).unwrap().split("RULE(\"").skip(1) {
            let numbers = text.split('"').next().unwrap_or_default().split("; ");
            checked.extend(numbers.map(str::to_owned));
        }
    }
    let elsewhere =
        |number: &str| SHOWN_ELSEWHERE.iter().any(|(begin, _)| number.starts_with(begin));
    let missing: Vec<_> =
        rules.iter().filter(|rule| !checked.contains(**rule) && !elsewhere(rule)).collect();
    assert!(missing.is_empty(), "no C program checks {missing:?}");
    // The end of each program has no number, nor have the clauses on other calls than those of windows.
    let is_clause = |number: &str| {
        number == "end"
            || ["MPI-4.1 ", "MPI-5.0 "].iter().any(|edition| number.starts_with(edition))
    };
    let is_known = |number: &str| page.contains(&format!("| {number} | "));
    let unknown: Vec<_> =
        checked.iter().filter(|number| !is_clause(number) && !is_known(number)).collect();
    assert!(unknown.is_empty(), "there are no rules {unknown:?}");
}

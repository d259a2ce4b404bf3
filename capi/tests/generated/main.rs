//! Programs in C whose verdict the table of rules gives (docs/check.md), written from the same table as those in Rust
//! (tests/check/generated.rs), and programs that access the buffers of their operations. Each is a function with lines of its
//! own. They are compiled with and without `-race`, with it by clang, too, and run in several orders of their ranks: the verdict,
//! and both lines of each report, are as expected.

#[path = "../support/mod.rs"]
mod support;

#[path = "../../../tests/support/choices.rs"]
#[allow(dead_code, reason = "the tests of the library use all of it")]
mod choices;
#[path = "../../../tests/check/oracle.rs"]
mod oracle;
#[path = "../../../tests/check/program.rs"]
#[allow(dead_code, reason = "the tests of the library use all of it")]
mod program;

mod buffers;
mod source;
mod windows;

use buffers::{BufferCase, BufferProgram};
use choices::Choices;
use oracle::{Results, Rules, Verdict};
use program::{ORDERS, Program};
use source::{Expected, Report, Source};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{folder, good, has, installed, text};
use windows::WindowCase;

/// Programs of one source: the tables of the check have memory for the lines and names of twice as many.
const PROGRAMS: usize = 150;
/// Seconds after which a job counts as hanging, also on a machine that has much else to do.
const LIMIT: &str = "600";

/// A program of either form.
enum Case {
    Window(WindowCase),
    Buffer(BufferCase),
}

/// How programs are compiled and run.
#[derive(Clone, Copy, Debug)]
struct Form {
    compiler: &'static str,
    /// Whether `-race` lets the check see the program's own accesses.
    sees_own: bool,
    option: &'static str,
}

impl Form {
    fn is_late(self) -> bool {
        self.option.contains("late")
    }

    /// The name of the compiled programs.
    fn program(self) -> String {
        format!("{}-{}", if self.sees_own { "seen" } else { "compared" }, self.compiler)
    }
}

const FORMS: [Form; 4] = [
    Form { compiler: "cc", sees_own: true, option: "--check=report" },
    Form { compiler: "cc", sees_own: false, option: "--check=report" },
    Form { compiler: "cc", sees_own: true, option: "--check=late,report" },
    Form { compiler: "clang", sees_own: true, option: "--check=report" },
];

/// The programs of one source, compiled.
struct Suite {
    folder: PathBuf,
    cases: Vec<Case>,
}

impl Suite {
    fn new(folder: PathBuf, programs: &[Written]) -> Suite {
        let mut source = Source::new();
        let write = |program: &Written| match program {
            Written::Window(number, program) => {
                Case::Window(WindowCase::write(&mut source, *number, *program))
            }
            Written::Buffer(number, program) => {
                Case::Buffer(BufferCase::write(&mut source, *number, *program))
            }
        };
        let cases = programs.iter().map(write).collect();
        fs::write(folder.join("programs.c"), source.finish()).expect("the folder takes it");
        Suite { folder, cases }
    }

    /// Compiles the programs, unless another form has done so.
    fn compile(&self, form: Form) {
        let program = self.folder.join(form.program());
        if program.exists() {
            return;
        }
        let mut rmacc = installed("rmacc");
        rmacc.arg(format!("-cc={}", form.compiler));
        rmacc.args(form.sees_own.then_some("-race")).args([
            "-std=gnu11",
            "-O1",
            "-g",
            "-Wall",
            "-Werror",
            "-Wno-unused",
            "-I",
        ]);
        rmacc.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/generated"));
        rmacc.arg("-o").arg(program).arg(self.folder.join("programs.c"));
        good(&rmacc.output().expect("the compiler starts"));
    }

    /// Runs all programs in the order of that number, once. Returns what is wrong.
    fn run(&self, rules: &Rules, form: Form, order: u64) -> Vec<String> {
        let mut next = ranks_by(order);
        let (mut files, mut raised) = ([const { String::new() }; 3], 0);
        let mut expect = |case: &Case| match case {
            Case::Buffer(case) => case.expected(form.sees_own),
            Case::Window(case) => {
                let turns = case.turns(&mut next);
                for turn in &turns {
                    let ranks = turn.iter().map(|(rank, _)| *rank as usize);
                    ranks.for_each(|rank| files[rank].push_str(&format!("{raised} ")));
                    raised += turn.len();
                }
                case.expected(rules, &turns, form)
            }
        };
        let all: Vec<Expected> = self.cases.iter().map(&mut expect).collect();
        for (rank, turns) in files.iter().enumerate() {
            fs::write(self.folder.join(format!("turns.{rank}")), turns).expect("it takes it");
        }
        let reports = self.reports(form);
        let of = |case: &Expected| {
            let reports = reports.iter().filter(|report| report.window == case.window);
            case.fault(&reports.collect::<Vec<_>>())
        };
        all.iter().filter_map(of).map(|fault| format!("{form:?}: {fault}")).collect()
    }

    /// What the check reports of all programs.
    fn reports(&self, form: Form) -> Vec<Report> {
        let counter = self.folder.join("counter");
        fs::write(&counter, [0; 4]).expect("the folder takes it");
        let program = self.folder.join(form.program());
        let mut command = Command::new("timeout");
        command.arg(LIMIT).arg(installed("rmarun").get_program()).args([form.option, "-n", "3"]);
        let output = command.arg(program).arg(counter).arg(self.folder.join("turns")).output();
        let output = output.expect("timeout starts");
        let printed = text(&output.stderr);
        assert!(output.status.success(), "{}: {printed}", self.folder.display());
        assert!(!printed.contains("may have been missed"), "a table was full: {printed}");
        Report::all(&printed)
    }
}

/// Which ranks come first in each turn, by the number of an order.
fn ranks_by(order: u64) -> impl FnMut() -> [u32; 3] {
    let mut choices = Choices(order);
    move || match ORDERS.get(order as usize) {
        Some(order) => *order,
        None => {
            let order = choices.permutation(3);
            [0, 1, 2].map(|at| order[at] as u32)
        }
    }
}

/// A program, and its number.
enum Written {
    Window(usize, Program),
    Buffer(usize, BufferProgram),
}

/// One of that number of the programs that access windows, and of those that access buffers.
fn every(of_windows: usize, of_buffers: usize) -> Vec<Written> {
    let windows = windows::programs().step_by(of_windows);
    let buffers = BufferProgram::all().enumerate().step_by(of_buffers);
    let windows = windows.map(|(number, program)| Written::Window(number, program));
    windows.chain(buffers.map(|(number, program)| Written::Buffer(number, program))).collect()
}

/// Runs these programs in that number of orders.
fn find(name: &str, programs: &[Written], forms: &[Form], orders: u64) {
    if !has("cc") || !has("timeout") {
        return;
    }
    let (rules, mut faults) = (Rules::read(), Vec::new());
    let forms: Vec<Form> = forms.iter().copied().filter(|form| has(form.compiler)).collect();
    for (part, programs) in programs.chunks(PROGRAMS).enumerate() {
        let suite = Suite::new(folder(&format!("generated-{name}-{part}")), programs);
        forms.iter().for_each(|form| suite.compile(*form));
        for order in 0..orders {
            // In the other orders the first form alone.
            let forms = if order < 2 { &forms[..] } else { &forms[..1] };
            for form in forms.iter().copied() {
                faults.extend(suite.run(&rules, form, order));
            }
        }
    }
    println!("{} programs in {orders} orders", programs.len());
    let some = faults.iter().take(40).cloned().collect::<Vec<_>>();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), some.join("\n"));
}

/// What is expected of a program does not depend on the order of its ranks.
#[test]
fn the_order_of_ranks_changes_no_verdict() {
    let rules = Rules::read();
    let verdict = |program: &Program, order: u64| {
        let turns = program.turns(ranks_by(order));
        oracle::verdict(&rules, program, &turns, Results::WhenComplete) == Verdict::Conflict
    };
    let mut verdicts = [0; 2];
    for (_, program) in windows::programs().step_by(97) {
        let first = verdict(&program, 0);
        assert!((1..20).all(|order| verdict(&program, order) == first), "{program:?}");
        verdicts[usize::from(first)] += 1;
    }
    assert!(verdicts.iter().all(|programs| *programs > 1000), "{verdicts:?}");
}

#[test]
fn some_hundred_programs() {
    find("short", &every(2999, 79), &FORMS, 2);
}

#[test]
#[ignore = "the long form: minutes"]
fn thousands_of_programs_in_twenty_orders() {
    // What another compiler does differs less from program to program.
    find("long", &every(293, 7), &FORMS[..3], 20);
}

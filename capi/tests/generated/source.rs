//! The text of programs in C, and which line has what.

use crate::windows::bytes_of;
use std::fmt::Write;

/// Functions, each of which is a program, and the numbers of their lines.
pub struct Source {
    text: String,
    lines: usize,
    programs: Vec<String>,
}

/// A step of a program: its text, and whether it waits for the turn of its rank.
pub struct Line {
    pub text: String,
    pub is_in_turn: bool,
}

impl Source {
    pub fn new() -> Source {
        let mut source = Source { text: String::new(), lines: 0, programs: Vec::new() };
        source.push("#include \"frame.h\"");
        source
    }

    /// Adds a line; returns its number.
    fn push(&mut self, line: &str) -> usize {
        writeln!(self.text, "{line}").expect("a string takes it");
        self.lines += 1;
        self.lines
    }

    /// Adds a program on a window: the enumerator of its memory, its scale and its name, and what each rank does. Returns the
    /// numbers of the lines of each rank.
    pub fn program(
        &mut self,
        (memory, scale, name): (&str, usize, &str),
        ranks: &[Vec<Line>; 3],
    ) -> [Vec<usize>; 3] {
        let function = name.replace(' ', "_");
        self.push(&format!("\nstatic void {function}(void)\n{{"));
        self.lines += 2;
        self.push(&format!("    begin({memory}, {scale}, \"{name}\");"));
        let numbers = std::array::from_fn(|rank| {
            self.push(&format!("    if (rank == {rank}) {{"));
            let push = |line: &Line| {
                let text = &line.text;
                match line.is_in_turn {
                    true => self.push(&format!("        turn(); {text}; done();")),
                    false => self.push(&format!("        {text};")),
                }
            };
            let numbers = ranks[rank].iter().map(push).collect();
            self.push("    }");
            numbers
        });
        self.push("    end();");
        self.push("}");
        self.programs.push(function);
        numbers
    }

    /// The whole text.
    pub fn finish(mut self) -> String {
        self.push("\nstatic void programs(void)\n{");
        for name in std::mem::take(&mut self.programs) {
            self.push(&format!("    {name}();"));
        }
        self.push("}");
        self.text
    }
}

/// What a report of a program must have.
pub struct Expected {
    /// The window's name.
    pub window: String,
    pub is_conflict: bool,
    /// Whether both access a buffer of the first one.
    pub is_of_buffer: bool,
    pub accesses: [Access; 2],
    /// The bytes that both access.
    pub bytes: Vec<u64>,
    /// What the program is, for a fault.
    pub what: String,
}

/// An access of a program.
#[derive(Clone, Copy)]
pub struct Access {
    pub rank: u32,
    /// What a report calls it.
    pub call: &'static str,
    pub place: Place,
}

/// Where a report places an access.
#[derive(Clone, Copy)]
pub enum Place {
    Line(usize),
    /// Between two calls, or after one.
    Calls,
    /// Before the call of a line that completes an operation.
    Before(usize),
}

/// A report of the check.
#[derive(Debug)]
pub struct Report {
    pub window: String,
    is_of_buffer: bool,
    bytes: [u64; 2],
    /// The rank, and what comes behind it.
    accesses: Vec<(u32, String)>,
}

impl Report {
    /// All reports that a job has printed.
    pub fn all(printed: &str) -> Vec<Report> {
        let mut reports: Vec<Report> = Vec::new();
        for line in printed.lines() {
            if let Some(head) = line.strip_prefix("onesided: conflict in ") {
                let window = head.split('\'').nth(1).expect("a window has a name").to_owned();
                let is_of_buffer = head.starts_with("the buffer");
                reports.push(Report {
                    window,
                    is_of_buffer,
                    bytes: bytes_of(head),
                    accesses: Vec::new(),
                });
            }
            let access = line.strip_prefix("  rank ").and_then(|line| line.split_once(": "));
            if let (Some((rank, access)), Some(report)) = (access, reports.last_mut())
                && let Ok(rank) = rank.parse()
            {
                report.accesses.push((rank, access.to_owned()));
            }
        }
        reports
    }
}

impl Expected {
    /// What is wrong with the reports of its window.
    pub fn fault(&self, reports: &[&Report]) -> Option<String> {
        let wrong = match (self.is_conflict, reports) {
            (false, []) => return None,
            (true, []) => "is not found".to_owned(),
            (false, [first, ..]) => format!("is no conflict: {first:?}"),
            (true, [one]) => format!("{}: {one:?}", self.differs(one)?),
            (true, several) => format!("is reported {} times: {several:?}", several.len()),
        };
        Some(format!("{} {wrong}", self.what))
    }

    fn differs(&self, report: &Report) -> Option<&'static str> {
        let [a, b] = &self.accesses;
        let [first, second] = &report.accesses[..] else { return Some("has no two accesses") };
        let is_alike = a.is_it(first) && b.is_it(second)
            || !self.is_of_buffer && a.is_it(second) && b.is_it(first);
        let has = |byte: u64| self.bytes.contains(&byte);
        match () {
            () if !is_alike => Some("has another access"),
            () if report.is_of_buffer != self.is_of_buffer => Some("is of another kind"),
            () if !report.bytes.iter().all(|byte| has(*byte)) => Some("has other bytes"),
            () => None,
        }
    }
}

impl Access {
    fn is_it(&self, (rank, access): &(u32, String)) -> bool {
        let Some(place) = access.strip_prefix(self.call) else { return false };
        let ends_at = |line: usize| place.ends_with(&format!("programs.c:{line}"));
        *rank == self.rank
            && match self.place {
                Place::Line(line) => place.starts_with(" at ") && ends_at(line),
                Place::Calls => place.starts_with(" between ") || place.starts_with(" after "),
                Place::Before(line) => place.starts_with(" before ") && ends_at(line),
            }
    }
}

//! Every pair of accesses, with everything that may stand between them, in every order that ranks may take: the
//! verdict, and both calls of the report, are those of the tables. One job interprets many programs.
//! Signals that the library does not see force the order in time.

use crate::oracle::{Results, Rules, Verdict, row_of, verdict};
use crate::program::{Between, Kind, Memory, ORDERS, Program, Step, Turn};
use crate::support::job;
use onesided::engine::{ExposedBytes, Layout, Origin, OriginMut, Win};
use onesided::{
    Comm, Datatype, DerivedDatatype, FenceAssert, Group, Op, Rank, Request, WindowOptions,
};
use std::collections::BTreeSet;
use std::ptr;

/// Raised by each rank behind each step.
const TURN: usize = 0;
/// Bytes of each part.
const BYTES: usize = 128;
const MESSAGE: usize = 100_000;

/// Where the part of rank 0 is: the displacement of its first byte, its address on that rank, and the bytes for each
/// byte of a program.
#[derive(Clone, Copy)]
struct Place {
    first: u64,
    base: *mut u8,
    scale: usize,
}

impl Kind {
    #[track_caller]
    fn access(self, win: &Win, byte: u64, place: Place) -> Option<Request<'static>> {
        let Place { first, base, scale } = place;
        let (target, disp) = (Rank(0), first + byte * scale as u64);
        let (word, mut old) = (vec![1u32; scale], vec![0u32; scale]);
        let (bytes, mut into) = (vec![1u8; 4 * scale], vec![0u8; 4 * scale]);
        let done = match self {
            Kind::Put => win.put(&bytes, target, disp),
            Kind::Get => win.get(&mut into, target, disp),
            Kind::Accumulate => win.accumulate(&word, Op::Sum, target, disp),
            Kind::Replace => win.accumulate(&word, Op::Replace, target, disp),
            Kind::AccumulateBytes => win.accumulate(&bytes, Op::Sum, target, disp),
            Kind::GetAccumulate => win.get_accumulate(&word, &mut old, Op::Sum, target, disp),
            Kind::GetNoOp => win.get_accumulate(&[], &mut old, Op::NoOp, target, disp),
            Kind::FetchAndOp => win.fetch_and_op(&1u32, &mut old[0], Op::Sum, target, disp),
            Kind::FetchNoOp => win.fetch_and_op(&1u32, &mut old[0], Op::NoOp, target, disp),
            Kind::CompareAndSwap => win.compare_and_swap(&2u32, &1, &mut old[0], target, disp),
            Kind::PutStrided | Kind::GetStrided | Kind::AccumulateStrided => {
                self.access_strided(win, disp)
            }
            Kind::Load => win.load(disp, &mut into),
            Kind::Store => win.store(disp, &bytes),
            Kind::OwnStore => {
                let base = if base.is_null() { win.base() } else { base };
                let start = base.wrapping_add(byte as usize * scale);
                for at in (0..4 * scale).map(|byte| start.wrapping_add(byte)) {
                    // SAFETY: the part has the byte, and no other rank accesses it meanwhile.
                    let before = unsafe { at.read_volatile() };
                    // SAFETY: as above.
                    unsafe { at.write_volatile(!before) };
                }
                Ok(())
            }
            Kind::Rput | Kind::Rget | Kind::Raccumulate | Kind::RgetNoOp => {
                return Some(self.access_by_request(win, disp, scale));
            }
        };
        done.expect("the access is allowed");
        None
    }

    #[track_caller]
    fn access_by_request(self, win: &Win, disp: u64, scale: usize) -> Request<'static> {
        static WORDS: [u32; 1024] = [1; 1024];
        let (target, words) = (Rank(0), &WORDS[..scale]);
        // The request borrows it for longer than this call.
        let into = vec![0u32; scale].leak();
        let request = match self {
            Kind::Rput => win.rput(words, target, disp),
            Kind::Rget => win.rget(into, target, disp),
            Kind::Raccumulate => win.raccumulate(words, Op::Sum, target, disp),
            _ => win.rget_accumulate(&[], into, Op::NoOp, target, disp),
        };
        request.expect("the access is allowed")
    }

    #[track_caller]
    fn access_strided(self, win: &Win, disp: u64) -> onesided::Result<()> {
        let places = DerivedDatatype::indexed(&[1; 4], &[0, 2, 64, 66], Datatype::U8);
        let strided = places.expect("the offsets are valid").commit();
        let (layout, target) = (Layout::new(1, &strided), Rank(0));
        let (from, mut into) = ([1u8; 4], [0u8; 4]);
        // SAFETY: 4 bytes, which live until the call returns.
        let origin = unsafe { Origin::new(from.as_ptr(), 4, Datatype::U8) };
        match self {
            Kind::PutStrided => win.put_layout(origin, target, disp, layout),
            Kind::AccumulateStrided => win.accumulate_layout(origin, Op::Sum, target, disp, layout),
            _ => {
                // SAFETY: as above.
                let origin = unsafe { OriginMut::new(into.as_mut_ptr(), 4, Datatype::U8) };
                win.get_layout(origin, target, disp, layout)
            }
        }
    }
}

/// The ranks of a job, and what they have done until now.
struct Interpreter<'c> {
    world: &'c Comm,
    /// How often [`TURN`] was raised, by this program's turns.
    raised: u32,
    /// How often each pair of lines was found.
    found: Vec<u32>,
}

/// One program on its window.
struct Running<'p> {
    program: &'p Program,
    win: Win,
    place: Place,
    requests: [Option<Request<'static>>; 2],
}

impl Running<'_> {
    #[track_caller]
    fn access(&mut self, access: usize) {
        let (kind, _, disp) = self.program.accesses[access];
        self.requests[access] = kind.access(&self.win, disp, self.place);
    }
}

/// The lines of the first and the second access of every program.
fn lines() -> [String; 2] {
    ["Step::Access(0) => return", "Step::Access(_) => return"].map(|call| {
        let mut lines = include_str!("generated.rs").lines();
        let at = lines.position(|line| line.trim_start().starts_with(call));
        format!("{}:{}:", file!(), at.expect("this file has the call") + 1)
    })
}

impl Interpreter<'_> {
    fn group(&self, ranks: &[u32]) -> Group {
        self.world.group().incl(ranks).expect("ranks of the world")
    }

    /// Runs a program by these turns.
    fn run(&mut self, program: &Program, turns: &[Turn], name: &str) {
        let rank = self.world.rank().0;
        let (options, world) = (WindowOptions::new().name(name).notifications(1), self.world);
        let mut memory = vec![0u64; BYTES / 8];
        let win = match program.memory {
            Memory::Allocated | Memory::Pages => {
                options.allocate_bytes(world, (BYTES * program.scale()) as u64, 1)
            }
            Memory::Shared => options.allocate_shared_bytes(world, BYTES as u64, 1),
            Memory::Attached => options.create_dynamic_bytes(world),
            Memory::Created => {
                let start = memory.as_mut_ptr().cast();
                // SAFETY: the window is freed before the memory, which nothing else uses.
                let exposed = unsafe { ExposedBytes::new(start, BYTES as u64) };
                options.create_bytes(world, exposed, 1)
            }
        };
        let win = win.expect("there is memory");
        // Until a program asks for the address, it stores by calls alone.
        let base = if program.memory == Memory::Allocated { ptr::null_mut() } else { win.base() };
        let mut place = Place { first: 0, base, scale: program.scale() };
        if program.memory == Memory::Attached {
            place.base = memory.as_mut_ptr().cast();
            if rank == 0 {
                // SAFETY: as above.
                let exposed = unsafe { ExposedBytes::new(place.base, BYTES as u64) };
                win.attach(exposed).expect("it is attached nowhere");
            }
            let mut address = [place.base.addr() as u64];
            world.broadcast(&mut address, Rank(0)).expect("all ranks live");
            place.first = address[0];
        }
        let mut running = Running { program, win, place, requests: [None, None] };
        for turn in turns {
            if let Some((_, step)) = turn.iter().find(|(of, _)| *of == rank) {
                world.await_signal(TURN, self.raised);
                self.step(&mut running, *step);
                world.signal(TURN);
            }
            self.raised += turn.len() as u32;
        }
        drop(running.requests);
        running.win.free().expect("no epoch is open");
        drop(memory);
    }

    fn step(&mut self, of: &mut Running<'_>, step: Step) {
        let (win, target) = (&of.win, Rank(0));
        let done = match step {
            Step::Access(0) => return of.access(0),
            Step::Access(_) => return of.access(1),
            Step::EndRequest(access) => {
                return of.requests[access].take().expect("it was issued").wait();
            }
            Step::LockAll => win.lock_all(),
            Step::UnlockAll => win.unlock_all(),
            Step::Lock(kind) => win.lock(kind, target),
            Step::Unlock(_) => win.unlock(target),
            Step::Flush => win.flush(target),
            Step::FlushAll => win.flush_all(),
            Step::FlushLocal => win.flush_local(target),
            Step::FlushLocalAll => win.flush_local_all(),
            Step::Fence => win.fence(),
            Step::LastFence => win.fence_with(FenceAssert::NOSUCCEED),
            Step::Post(Some(origin)) => win.post(&self.group(&[origin])),
            Step::Post(None) => win.post(&self.group(&[1, 2])),
            Step::Start => win.start(&self.group(&[0])),
            Step::Complete => win.complete(),
            Step::Wait => win.wait(),
            Step::Fetch => {
                let last = of.place.first + (BYTES * of.place.scale - 8) as u64;
                win.fetch_and_op(&1u64, &mut 0, Op::Sum, target, last)
            }
            Step::Notify => win.notify(target, 0),
            Step::AwaitNotification => win.wait_notify(0, 1),
            step => self.communicate(step),
        };
        done.unwrap_or_else(|error| panic!("{step:?} of {:?}: {error}", of.program));
    }

    fn communicate(&self, step: Step) -> onesided::Result<()> {
        let (world, one) = (self.world, [1u64]);
        match step {
            Step::Send(to, bytes) => world.send(&vec![0u8; bytes], Rank(to), 7),
            Step::SendSynchronously(to) => world.ssend(&[0u8], Rank(to), 7),
            Step::Receive(from) => world.recv(&mut vec![0u8; MESSAGE], Rank(from), 7).map(drop),
            Step::Broadcast(root) => world.broadcast(&mut [0u64], Rank(root)),
            Step::Reduce(root) => world.reduce(&one, Op::Sum, Rank(root)).map(drop),
            Step::Allreduce => world.allreduce(&one, Op::Sum).map(drop),
            _ => world.barrier(),
        }
    }

    /// What is wrong with the reports of a program that has just ended.
    fn judge(&mut self, program: &Program, name: &str, verdict: Verdict) -> Option<String> {
        let all = self.world.all_conflicts();
        let times = |at: usize| self.found.get(at).copied().unwrap_or_default();
        let new: Vec<_> = (0..all.len()).filter(|at| all[*at].times > times(*at)).collect();
        let is_first = |at: usize| at >= self.found.len();
        let wrong = match &new[..] {
            [] if verdict == Verdict::Fine => None,
            [] => Some(format!("is not found: {verdict:?}")),
            found if verdict == Verdict::Fine => Some(format!("is fine: {}", all[found[0]])),
            [one] if (verdict == Verdict::Separate) != (all[*one].rule() == "separate") => {
                Some(format!("is {verdict:?}: {}", all[*one]))
            }
            [one] => {
                let found = &all[*one];
                self.differs(program, name, is_first(*one), found)
                    .map(|what| format!("{what}: {found}"))
            }
            several => Some(format!("is reported {} times", several.len())),
        };
        self.found = all.iter().map(|one| one.times).collect();
        wrong
    }

    /// What a report has wrong. A pair of lines that was known keeps its first window, bytes and ranks.
    fn differs(
        &self,
        program: &Program,
        name: &str,
        is_first: bool,
        found: &onesided::launch::Conflict,
    ) -> Option<&'static str> {
        let (lines, mut left) = (lines(), vec![0, 1]);
        for access in &found.accesses {
            let is_it = |at: &usize| {
                let (kind, rank, _) = program.accesses[*at];
                let line = access.line.as_deref().unwrap_or_default();
                let has_line = match kind {
                    Kind::OwnStore => line.starts_with("between ") || line.starts_with("after "),
                    _ => line.starts_with(&lines[*at]),
                };
                let datatype = access.datatype.map(Datatype::name);
                let is_call = access.kind == row_of(kind)
                    && (access.call.name() == kind.call() || kind.is_local());
                is_call
                    && has_line
                    && datatype == kind.datatype()
                    && (!is_first || access.rank == rank)
            };
            match left.iter().position(is_it) {
                Some(at) => drop(left.remove(at)),
                None => return Some("has another access"),
            }
        }
        let [shared, other] =
            program.accesses.map(|(kind, _, disp)| BTreeSet::from(kind.bytes(disp)));
        let are_shared = [found.bytes.start, found.bytes.end - 1]
            .map(|byte| byte / program.scale() as u64)
            .iter()
            .all(|byte| shared.contains(byte) && other.contains(byte));
        match is_first {
            // What the separate model forbids may be of other bytes of the part.
            true if !are_shared && found.rule() == "conflict" => Some("has other bytes"),
            true if found.window != name || found.target != 0 => Some("has another window"),
            _ => None,
        }
    }
}

/// Whether the check can see both accesses: stores without a call to a shared window it cannot.
fn is_seen(program: &Program) -> bool {
    let stores = program.accesses.iter().any(|(kind, ..)| *kind == Kind::OwnStore);
    !stores || program.memory != Memory::Shared
}

/// Runs each program that is `wanted`, by its number, in each of its orders.
fn run(option: &str, wanted: impl Fn(usize, &Program) -> bool) {
    let outcome = job(3, &[option], |world| {
        let (rules, mut faults, mut cases) = (Rules::read(), Vec::new(), 0);
        let mut unportable = 0;
        let mut interpreter = Interpreter { world, raised: 0, found: Vec::new() };
        for (number, program) in Program::all().enumerate().filter(|(at, of)| wanted(*at, of)) {
            let mut all: Vec<Vec<Turn>> = ORDERS.map(|order| program.turns(|| order)).into();
            all.dedup();
            for turns in &all {
                let name = format!("program {number}");
                interpreter.run(&program, turns, &name);
                cases += 1;
                if world.rank() == 0 {
                    let verdict = match verdict(&rules, &program, turns, Results::AtOnce) {
                        Verdict::Separate if !option.contains("separate") => Verdict::Fine,
                        Verdict::Conflict if !is_seen(&program) => Verdict::Fine,
                        verdict => verdict,
                    };
                    unportable += u32::from(verdict == Verdict::Separate);
                    let wrong = interpreter.judge(&program, &name, verdict);
                    faults.extend(wrong.map(|wrong| format!("{program:?}, {turns:?} {wrong}")));
                }
                world.barrier().expect("all ranks live");
            }
        }
        let found = world.conflicts().expect("the job is checked");
        assert!(!found.is_incomplete, "a table was full");
        let some = faults.iter().take(40).cloned().collect::<Vec<_>>();
        assert!(world.rank() != 0 || (unportable > 100) == option.contains("separate"));
        assert!(faults.is_empty(), "{} of {cases}:\n{}", faults.len(), some.join("\n"));
    });
    if let Some(outcome) = outcome {
        assert!(outcome.status.success(), "{}", outcome.output);
    }
}

/// Every `step`th program, from the first on. A prime number does not leave out whole kinds of programs.
fn every(step: usize, memory: Option<Memory>) {
    run("--check=report", |number, program| {
        number % step == 0 && memory.is_none_or(|memory| memory == program.memory)
    });
}

#[test]
fn every_389th_program() {
    every(389, None);
}

/// When operations take effect changes no verdict.
#[test]
fn every_389th_program_with_late_operations() {
    run("--check=late,report", |number, _| number % 389 == 0);
}

/// What only the separate memory model forbids. Not of stores without a call, which are found later than they happen, and not
/// beside the accumulates of fetches, which are updates of the part, too.
fn every_separately(step: usize) {
    run("--check=separate,report", |number, program| {
        let is_own = program.accesses.iter().any(|(kind, ..)| *kind == Kind::OwnStore);
        let is_by_program = program.accesses.iter().any(|(kind, ..)| kind.is_local());
        let is_other = program.between == Between::Fetches || is_own || !is_by_program;
        number % step == 0 && !is_other
    });
}

#[test]
fn every_179th_program_by_the_separate_model() {
    every_separately(179);
}

#[test]
#[ignore = "the long form: a minute"]
fn every_29th_program_by_the_separate_model() {
    every_separately(29);
}

#[test]
#[ignore = "the long form: a minute"]
fn every_29th_program_of_allocated_memory() {
    every(29, Some(Memory::Allocated));
}

#[test]
#[ignore = "the long form: a minute"]
fn every_29th_program_of_whole_pages() {
    every(29, Some(Memory::Pages));
}

#[test]
#[ignore = "the long form: a minute"]
fn every_29th_program_of_attached_memory() {
    every(29, Some(Memory::Attached));
}

#[test]
#[ignore = "the long form: a minute"]
fn every_29th_program_of_created_windows() {
    every(29, Some(Memory::Created));
}

#[test]
#[ignore = "the long form: a minute"]
fn every_29th_program_of_shared_memory() {
    every(29, Some(Memory::Shared));
}

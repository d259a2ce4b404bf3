//! The programs of the table of rules in C: two accesses to a part, and what stands between them.

use crate::Form;
use crate::oracle::{Results, Rules, Verdict, verdict};
use crate::program::{Between, Kind, Memory, Program, Step, Synchronisation, Turn};
use crate::source::{Access, Expected, Line, Place, Source};
use onesided::LockType;

/// A program, and the lines of its accesses.
pub struct WindowCase {
    name: String,
    program: Program,
    lines: [usize; 2],
}

/// Those of all programs that C can express, by their numbers.
pub fn programs() -> impl Iterator<Item = (usize, Program)> {
    // The standard has no notifications.
    let has_calls = |program: &Program| {
        !matches!(program.between, Between::Passive(_, Synchronisation::Notification))
    };
    Program::all().filter(has_calls).enumerate()
}

/// The first and the last byte that a report names.
pub fn bytes_of(head: &str) -> [u64; 2] {
    let (_, bytes) = head.rsplit_once("bytes ").expect("a report has bytes");
    let mut numbers = bytes.split([' ', ':']).filter_map(|word| word.parse().ok());
    [0, 1].map(|_| numbers.next().expect("two numbers"))
}

impl WindowCase {
    /// Adds the program to the source.
    pub fn write(source: &mut Source, number: usize, program: Program) -> WindowCase {
        let (name, mut lines) = (format!("program {number}"), [0; 2]);
        let steps = program.steps();
        let text = |step: &Step| Line { text: text_of(&program, *step), is_in_turn: true };
        let ranks = steps.each_ref().map(|steps| steps.iter().map(text).collect());
        let memory = match program.memory {
            Memory::Allocated | Memory::Pages => "ALLOCATED",
            Memory::Created => "CREATED",
            Memory::Shared => "SHARED",
            Memory::Attached => "ATTACHED",
        };
        let numbers = source.program((memory, program.scale(), &name), &ranks);
        for (step, line) in steps.iter().flatten().zip(numbers.iter().flatten()) {
            if let Step::Access(access) = step {
                lines[*access] = *line;
            }
        }
        WindowCase { name, program, lines }
    }

    /// The turns of the ranks if ranks come first by `order`.
    pub fn turns(&self, order: impl FnMut() -> [u32; 3]) -> Vec<Turn> {
        self.program.turns(order)
    }

    /// What the check must report of these turns.
    pub fn expected(&self, rules: &Rules, turns: &[Turn], form: Form) -> Expected {
        let sees_own = form.sees_own;
        let results = if form.is_late() { Results::Late } else { Results::WhenComplete };
        let Program { accesses, memory, .. } = self.program;
        let is_store = |kind: Kind| matches!(kind, Kind::Store | Kind::OwnStore);
        // Stores to shared windows are not looked for by comparison.
        let is_seen =
            |kind: Kind| sees_own || !kind.is_local() || is_store(kind) && memory != Memory::Shared;
        let is_conflict = accesses.iter().all(|(kind, ..)| is_seen(*kind))
            && verdict(rules, &self.program, turns, results) == Verdict::Conflict;
        let scale = self.program.scale() as u64;
        let [bytes, other] = accesses.map(|(kind, _, disp)| kind.bytes(disp));
        let shared = bytes.into_iter().filter(|byte| other.contains(byte));
        let access = |at: usize| {
            let (kind, rank, _) = accesses[at];
            let is_compared = kind.is_local() && !sees_own;
            let place = if is_compared { Place::Calls } else { Place::Line(self.lines[at]) };
            Access { rank, call: kind.call(), place }
        };
        Expected {
            window: self.name.clone(),
            is_conflict,
            is_of_buffer: false,
            accesses: [access(0), access(1)],
            bytes: shared.flat_map(|byte| byte * scale..(byte + 1) * scale).collect(),
            what: format!("{:?}, {turns:?}", self.program),
        }
    }
}

fn lock_of(kind: LockType) -> &'static str {
    match kind {
        LockType::Shared => "MPI_LOCK_SHARED",
        LockType::Exclusive => "MPI_LOCK_EXCLUSIVE",
    }
}

/// A step as a statement.
fn text_of(program: &Program, step: Step) -> String {
    let world = "MPI_COMM_WORLD";
    match step {
        Step::Access(access) => {
            let (kind, _, disp) = program.accesses[access];
            access_of(kind, access, disp, program.scale())
        }
        Step::EndRequest(access) => format!("MPI_Wait(&requests[{access}], MPI_STATUS_IGNORE)"),
        Step::LockAll => "MPI_Win_lock_all(0, win)".into(),
        Step::UnlockAll => "MPI_Win_unlock_all(win)".into(),
        Step::Lock(kind) => format!("MPI_Win_lock({}, 0, 0, win)", lock_of(kind)),
        Step::Unlock(_) => "MPI_Win_unlock(0, win)".into(),
        Step::Flush => "MPI_Win_flush(0, win)".into(),
        Step::FlushAll => "MPI_Win_flush_all(win)".into(),
        Step::FlushLocal => "MPI_Win_flush_local(0, win)".into(),
        Step::FlushLocalAll => "MPI_Win_flush_local_all(win)".into(),
        Step::Barrier => format!("MPI_Barrier({world})"),
        Step::Fence => "MPI_Win_fence(0, win)".into(),
        Step::LastFence => "MPI_Win_fence(MPI_MODE_NOSUCCEED, win)".into(),
        Step::Post(origin) => format!("MPI_Win_post(groups[{}], 0, win)", origin.unwrap_or(3)),
        Step::Start => "MPI_Win_start(groups[0], 0, win)".into(),
        Step::Complete => "MPI_Win_complete(win)".into(),
        Step::Wait => "MPI_Win_wait(win)".into(),
        Step::Send(to, bytes) => format!("MPI_Send(message, {bytes}, MPI_BYTE, {to}, 7, {world})"),
        Step::SendSynchronously(to) => format!("MPI_Ssend(message, 1, MPI_BYTE, {to}, 7, {world})"),
        Step::Receive(from) => {
            format!("MPI_Recv(message, MESSAGE, MPI_BYTE, {from}, 7, {world}, MPI_STATUS_IGNORE)")
        }
        Step::Broadcast(root) => format!("MPI_Bcast(message, 8, MPI_BYTE, {root}, {world})"),
        Step::Reduce(root) => {
            format!("MPI_Reduce(message, message + 8, 1, MPI_INT, MPI_SUM, {root}, {world})")
        }
        Step::Allreduce => {
            format!("MPI_Allreduce(message, message + 8, 1, MPI_INT, MPI_SUM, {world})")
        }
        Step::Fetch => {
            let last = 128 * program.scale() - 8;
            format!(
                "MPI_Fetch_and_op(&one, FETCHED, MPI_UINT64_T, 0, first + {last}, MPI_SUM, win)"
            )
        }
        Step::Notify | Step::AwaitNotification => unreachable!("the standard has none"),
    }
}

/// An access as a statement: by its buffers of that number, from byte `disp` on, each byte of which stands for `scale`.
pub fn access_of(kind: Kind, access: usize, disp: u64, scale: usize) -> String {
    let disp = disp as usize * scale;
    let bytes = format!("{}, MPI_UINT8_T", 4 * scale);
    let words = format!("{scale}, MPI_UINT32_T");
    let (from, into) = (format!("sources[{access}]"), format!("results[{access}]"));
    let to = format!("0, first + {disp}");
    let strided = format!("4, MPI_UINT8_T, {to}, 1, strided");
    let request = format!("win, &requests[{access}]");
    let (sum, none) = ("MPI_SUM, win", "NULL, 0, MPI_UINT32_T");
    let of_one = format!("MPI_UINT32_T, {to}");
    let own = format!("part + {disp}, {}", 4 * scale);
    match kind {
        Kind::Put => format!("MPI_Put({from}, {bytes}, {to}, {bytes}, win)"),
        Kind::Get => format!("MPI_Get({into}, {bytes}, {to}, {bytes}, win)"),
        Kind::Accumulate => format!("MPI_Accumulate({from}, {words}, {to}, {words}, {sum})"),
        Kind::Replace => {
            format!("MPI_Accumulate({from}, {words}, {to}, {words}, MPI_REPLACE, win)")
        }
        Kind::AccumulateBytes => format!("MPI_Accumulate({from}, {bytes}, {to}, {bytes}, {sum})"),
        Kind::GetAccumulate => {
            format!("MPI_Get_accumulate({from}, {words}, {into}, {words}, {to}, {words}, {sum})")
        }
        Kind::GetNoOp => {
            format!("MPI_Get_accumulate({none}, {into}, {words}, {to}, {words}, MPI_NO_OP, win)")
        }
        Kind::FetchAndOp => format!("MPI_Fetch_and_op({from}, {into}, {of_one}, {sum})"),
        Kind::FetchNoOp => format!("MPI_Fetch_and_op({from}, {into}, {of_one}, MPI_NO_OP, win)"),
        Kind::CompareAndSwap => {
            format!("MPI_Compare_and_swap({from}, &compared[{access}], {into}, {of_one}, win)")
        }
        Kind::PutStrided => format!("MPI_Put({from}, {strided}, win)"),
        Kind::GetStrided => format!("MPI_Get({into}, {strided}, win)"),
        Kind::AccumulateStrided => format!("MPI_Accumulate({from}, {strided}, {sum})"),
        Kind::Rput => format!("MPI_Rput({from}, {words}, {to}, {words}, {request})"),
        Kind::Rget => format!("MPI_Rget({into}, {words}, {to}, {words}, {request})"),
        Kind::Raccumulate => {
            format!("MPI_Raccumulate({from}, {words}, {to}, {words}, MPI_SUM, {request})")
        }
        Kind::RgetNoOp => format!(
            "MPI_Rget_accumulate({none}, {into}, {words}, {to}, {words}, MPI_NO_OP, {request})"
        ),
        Kind::Load => format!("LOAD({own})"),
        Kind::Store => format!("STORE({own})"),
        Kind::OwnStore => format!("COPY_TO({own})"),
    }
}

//! OpenMP of clang (libomp): the same of what its compiler calls. The first two arguments are the place in the source and the
//! thread's number in libomp, here `at` and `me`; both are only passed on.
//!
//! libomp calls three kinds of functions of the program, and is given one of this file in their place: that of a region
//! with its team as the only argument; that of a task, which finds the program's before the task's shared variables; and
//! those that copy or combine variables, of which a thread remembers the program's during the call.

use super::super::fence;
use super::{ALL_MEMORY, By, MOST_LOOPS, PLACE, Place, Team};
use super::{arrived, barrier, depend_on, iteration, left, object, objects, real, tasks_are_over};
use onesided::engine::race;
use std::arch::naked_asm;
use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_long, c_void};
use std::ptr;

/// What each thread of a region runs: its number, that in its team, and what the region was begun with.
type Region = extern "C" fn(*mut c_int, *mut c_int, *mut c_void);

/// The program's function of a region, and the arguments behind the first two.
struct Outlined {
    function: usize,
    arguments: Vec<usize>,
}

/// Arguments that a function has in registers behind the first three, and behind the first two.
const BEHIND_THREE: usize = if cfg!(target_arch = "x86_64") { 3 } else { 5 };
const BEHIND_TWO: usize = BEHIND_THREE + 1;

impl Outlined {
    /// Of a call whose arguments in registers lie at `first`, and those behind them at `others`.
    fn new(function: usize, number: c_int, first: *const usize, others: *const usize) -> Outlined {
        let at = |k: usize| match k.checked_sub(BEHIND_THREE) {
            None => first.wrapping_add(k),
            Some(k) => others.wrapping_add(k),
        };
        // SAFETY: the call has that number of arguments behind the first three, all as wide as an address.
        let read = |k: usize| unsafe { at(k).read() };
        let mut arguments: Vec<usize> = (0..number as usize).map(read).collect();
        // As `call` needs them; more arguments than a function takes do no harm.
        let behind = arguments.len().saturating_sub(BEHIND_TWO).next_multiple_of(2);
        arguments.resize(BEHIND_TWO + behind, 0);
        Outlined { function, arguments }
    }
}

/// Calls a function with two arguments, and then those at `_arguments`: those in registers, and an even number of others.
#[unsafe(naked)]
extern "C" fn call(
    _function: usize,
    _first: *mut c_int,
    _second: *mut c_int,
    _arguments: *const usize,
    _number: usize,
) {
    // The stack is aligned at the call: behind two words there is an even number of them. The program's function has no
    // arguments that are no integers, and returns none.
    #[cfg(target_arch = "x86_64")]
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "2:",
        "cmp r8, {in_registers}",
        "jbe 3f",
        "dec r8",
        "push qword ptr [rcx + 8 * r8]",
        "jmp 2b",
        "3:",
        "mov rax, rdi",
        "mov r10, rcx",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, [r10]",
        "mov rcx, [r10 + 8]",
        "mov r8, [r10 + 16]",
        "mov r9, [r10 + 24]",
        "call rax",
        "leave",
        "ret",
        in_registers = const BEHIND_TWO,
    );
    #[cfg(target_arch = "aarch64")]
    naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "mov x29, sp",
        "mov x9, x0",
        "mov x10, x3",
        "mov x0, x1",
        "mov x1, x2",
        "2:",
        "cmp x4, {in_registers}",
        "b.ls 3f",
        "sub x4, x4, #2",
        "add x11, x10, x4, lsl #3",
        "ldp x12, x13, [x11]",
        "stp x12, x13, [sp, #-16]!",
        "b 2b",
        "3:",
        "ldp x2, x3, [x10]",
        "ldp x4, x5, [x10, #16]",
        "ldp x6, x7, [x10, #32]",
        "blr x9",
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        "ret",
        in_registers = const BEHIND_TWO,
    );
}

extern "C" fn region(me: *mut c_int, place: *mut c_int, team: *mut c_void) {
    // SAFETY: of `fork`, where `Team::run` waits for the end of all threads.
    let team = unsafe { &*team.cast::<Team<Outlined>>() };
    team.enter(|Outlined { function, arguments }| {
        call(*function, me, place, arguments.as_ptr(), arguments.len());
    });
}

/// Functions that begin a region, of any number of arguments. Machine code stores those in registers, and passes on where they
/// and the others are.
macro_rules! regions {
    ($($name:ident $real:literal $fork:ident;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        extern "C" fn $name(_at: usize, _number: c_int, _function: usize) {
            #[cfg(target_arch = "x86_64")]
            naked_asm!(
                "sub rsp, 24",
                "mov [rsp], rcx",
                "mov [rsp + 8], r8",
                "mov [rsp + 16], r9",
                "mov rcx, rsp",
                "lea r8, [rsp + 32]",
                "call {fork}",
                "add rsp, 24",
                "ret",
                fork = sym $fork,
            );
            #[cfg(target_arch = "aarch64")]
            naked_asm!(
                "stp x29, x30, [sp, #-64]!",
                "mov x29, sp",
                "stp x3, x4, [sp, #16]",
                "stp x5, x6, [sp, #32]",
                "str x7, [sp, #48]",
                "add x3, sp, #16",
                "add x4, sp, #64",
                "bl {fork}",
                "ldp x29, x30, [sp], #64",
                "ret",
                fork = sym $fork,
            );
        }

        extern "C" fn $fork(
            at: usize, number: c_int, function: usize, first: *const usize, others: *const usize,
        ) {
            let real = real!($real, fn(usize, c_int, Region, *mut c_void; ...));
            Team::new(Outlined::new(function, number, first, others)).run(|team| real(at, 1, region, team));
        }
    )*};
}

regions! {
    __wrap___kmpc_fork_call c"__kmpc_fork_call" fork;
    __wrap___kmpc_fork_teams c"__kmpc_fork_teams" fork_teams;
}

thread_local! {
    /// Regions of this thread alone, whose functions the program calls itself, and where it was before each.
    static SERIAL: RefCell<Vec<(Box<Team<()>>, Place)>> = const { RefCell::new(Vec::new()) };
    /// The task that this thread runs; zero once it is to be continued.
    static RUNS: Cell<usize> = const { Cell::new(0) };
    /// Loops of tasks that this thread has created.
    static LOOPS: Cell<usize> = const { Cell::new(0) };
    /// What copies or combines variables in the present call, and the object by which that is ordered.
    static COMBINES: Cell<Option<(Combine, usize)>> = const { Cell::new(None) };
}

#[unsafe(no_mangle)]
extern "C" fn __wrap___kmpc_serialized_parallel(at: usize, me: c_int) {
    real!(c"__kmpc_serialized_parallel", fn(usize, c_int))(at, me);
    let team = Box::new(Team::new(()));
    let outer = PLACE.replace(Place::new(team.object(By::Begin)));
    SERIAL.with_borrow_mut(|all| all.push((team, outer)));
}

#[unsafe(no_mangle)]
extern "C" fn __wrap___kmpc_end_serialized_parallel(at: usize, me: c_int) {
    real!(c"__kmpc_end_serialized_parallel", fn(usize, c_int))(at, me);
    if let Some((team, outer)) = SERIAL.with_borrow_mut(Vec::pop) {
        team.end();
        PLACE.set(outer);
    }
}

#[unsafe(no_mangle)]
extern "C" fn __wrap___kmpc_barrier(at: usize, me: c_int) {
    barrier(|| real!(c"__kmpc_barrier", fn(usize, c_int))(at, me));
}

#[unsafe(no_mangle)]
extern "C" fn __wrap___kmpc_cancel_barrier(at: usize, me: c_int) -> c_int {
    barrier(|| real!(c"__kmpc_cancel_barrier", fn(usize, c_int) -> c_int)(at, me))
}

#[unsafe(no_mangle)]
extern "C" fn __wrap___kmpc_flush(at: usize) {
    const ACQUIRE_AND_RELEASE: c_int = 4;
    fence(ACQUIRE_AND_RELEASE);
    real!(c"__kmpc_flush", fn(usize))(at);
}

objects! {
    __wrap___kmpc_critical c"__kmpc_critical" (at: usize, me: c_int, lock: usize) acquired lock;
    __wrap___kmpc_critical_with_hint c"__kmpc_critical_with_hint" (at: usize, me: c_int, lock: usize, hint: u32) acquired lock;
    __wrap___kmpc_end_critical c"__kmpc_end_critical" (at: usize, me: c_int, lock: usize) released lock;
    __wrap___kmpc_ordered c"__kmpc_ordered" (at: usize, me: c_int) acquired object(By::Ordered);
    __wrap___kmpc_end_ordered c"__kmpc_end_ordered" (at: usize, me: c_int) released object(By::Ordered);
    __wrap___kmpc_doacross_wait c"__kmpc_doacross_wait" (at: usize, me: c_int, numbers: *const c_long) acquired iteration_at(numbers);
    __wrap___kmpc_doacross_post c"__kmpc_doacross_post" (at: usize, me: c_int, numbers: *const c_long) released iteration_at(numbers);
    __wrap___kmpc_end_reduce_nowait c"__kmpc_end_reduce_nowait" (at: usize, me: c_int, lock: usize) released lock;
}

/// The object of an iteration of `ordered(n)`.
fn iteration_at(numbers: *const c_long) -> usize {
    // SAFETY: the compiler has a number for each loop there.
    let at = |of: usize| unsafe { numbers.wrapping_add(of).read() };
    iteration((0..PLACE.get().loops).map(at))
}

#[unsafe(no_mangle)]
extern "C" fn __wrap___kmpc_doacross_init(at: usize, me: c_int, loops: c_int, bounds: usize) {
    PLACE.set(Place { loops: (loops as usize).min(MOST_LOOPS), ..PLACE.get() });
    real!(c"__kmpc_doacross_init", fn(usize, c_int, c_int, usize))(at, me, loops, bounds);
}

/// Copies or combines variables: to and from.
type Combine = extern "C" fn(*mut c_void, *mut c_void);

/// What libomp calls in its place.
extern "C" fn combine(to: *mut c_void, from: *mut c_void) {
    if let Some((function, object)) = COMBINES.get() {
        race::acquired(object);
        function(to, from);
        race::released(object);
        // Of a barrier that this thread has reached, and that ends after this.
        arrived();
    }
}

/// A call that may combine variables by a function.
fn combining<R>(function: Combine, object: usize, real: impl FnOnce(Combine) -> R) -> R {
    let outer = COMBINES.replace(Some((function, object)));
    let done = real(combine);
    COMBINES.set(outer);
    done
}

/// One thread has run what the others get the results of.
#[unsafe(no_mangle)]
extern "C" fn __wrap___kmpc_copyprivate(
    at: usize,
    me: c_int,
    size: usize,
    data: usize,
    copy: Combine,
    has_run: c_int,
) {
    let real = real!(c"__kmpc_copyprivate", fn(usize, c_int, usize, usize, Combine, c_int));
    if has_run != 0 {
        race::released(object(By::Copied));
    }
    let copying = |copy| real(at, me, size, data, copy, has_run);
    barrier(|| combining(copy, object(By::Copied), copying));
}

/// Reductions, which count as critical. They return 1 for a thread that combines its variables with those of the
/// region, before a call for the end; 2 for one that does so by atomic operations; 0 if another one does it.
type Reduce = extern "C" fn(usize, c_int, c_int, usize, usize, Combine, usize) -> c_int;

fn reduce(combine: Combine, lock: usize, real: impl FnOnce(Combine) -> c_int) -> c_int {
    race::released(lock);
    let how = combining(combine, lock, real);
    if how == 1 {
        race::acquired(lock);
    }
    how
}

#[unsafe(no_mangle)]
extern "C" fn __wrap___kmpc_reduce_nowait(
    at: usize,
    me: c_int,
    variables: c_int,
    size: usize,
    data: usize,
    combine: Combine,
    lock: usize,
) -> c_int {
    let real: Reduce = real!(
        c"__kmpc_reduce_nowait",
        fn(usize, c_int, c_int, usize, usize, Combine, usize) -> c_int
    );
    reduce(combine, lock, |combine| real(at, me, variables, size, data, combine, lock))
}

/// With a barrier: a thread that gets 0 has passed it.
#[unsafe(no_mangle)]
extern "C" fn __wrap___kmpc_reduce(
    at: usize,
    me: c_int,
    variables: c_int,
    size: usize,
    data: usize,
    combine: Combine,
    lock: usize,
) -> c_int {
    let real: Reduce =
        real!(c"__kmpc_reduce", fn(usize, c_int, c_int, usize, usize, Combine, usize) -> c_int);
    arrived();
    let how = reduce(combine, lock, |combine| real(at, me, variables, size, data, combine, lock));
    if how == 0 {
        left();
    }
    how
}

#[unsafe(no_mangle)]
extern "C" fn __wrap___kmpc_end_reduce(at: usize, me: c_int, lock: usize) {
    race::released(lock);
    barrier(|| real!(c"__kmpc_end_reduce", fn(usize, c_int, usize))(at, me, lock));
}

/// The beginning of a task, as compiler and library have it; the program's variables are behind it.
#[repr(C)]
struct Task {
    shared: *mut c_void,
}

/// What runs a task, or the next part of one that is not tied to a thread.
type Entry = extern "C" fn(c_int, *mut Task) -> c_int;

/// Before the shared variables of a task, where libomp copies it with them for the tasks of a loop.
#[repr(C)]
#[derive(Clone, Copy)]
struct Head {
    entry: Entry,
    /// Where its creator was, of which it has the team.
    place: Place,
    /// After what was released for that it begins: the task itself, or an object of its loop.
    object: usize,
    /// What it depends on, by addresses.
    depends: *mut Vec<usize>,
    is_of_loop: bool,
    /// Whether the tasks that it creates run at once.
    is_final: bool,
}

/// Where the head of a task is that is not over.
fn head_of(task: *mut Task) -> *mut Head {
    // SAFETY: the task is one of `new_task`; the word does not change.
    unsafe { (*task).shared }.cast::<Head>().wrapping_sub(1)
}

/// What it has.
fn head(task: *mut Task) -> Head {
    // SAFETY: `new_task` has written it, and `submit` before others know the task.
    unsafe { head_of(task).read() }
}

/// Bits of a task's flags.
const FINAL: c_int = 2;
/// Of what a task depends on: all memory.
const ALL: u8 = 0x80;

/// Makes a task by `real`, which is given the size of its shared variables and what runs it.
fn new_task(
    flags: c_int,
    shared: usize,
    entry: Entry,
    real: impl FnOnce(usize, Entry) -> *mut Task,
) -> *mut Task {
    let task = real(size_of::<Head>() + shared, run);
    // An earlier one that was there.
    race::forgotten(task.addr());
    let place = PLACE.get();
    let is_final = place.is_final || flags & FINAL != 0;
    let depends = ptr::null_mut();
    let head = Head { entry, place, object: task.addr(), depends, is_of_loop: false, is_final };
    // SAFETY: the task is new, so no other thread knows it.
    let shared = unsafe { &mut (*task).shared };
    *shared = shared.wrapping_byte_add(size_of::<Head>());
    // SAFETY: as above; there is room for it, and libomp aligns it for addresses.
    unsafe { head_of(task).write(head) };
    task
}

#[unsafe(no_mangle)]
extern "C" fn __wrap___kmpc_omp_task_alloc(
    at: usize,
    me: c_int,
    flags: c_int,
    size: usize,
    shared: usize,
    entry: Entry,
) -> *mut Task {
    let real =
        real!(c"__kmpc_omp_task_alloc", fn(usize, c_int, c_int, usize, usize, Entry) -> *mut Task);
    new_task(flags, shared, entry, |shared, run| real(at, me, flags, size, shared, run))
}

#[unsafe(no_mangle)]
extern "C" fn __wrap___kmpc_omp_target_task_alloc(
    at: usize,
    me: c_int,
    flags: c_int,
    size: usize,
    shared: usize,
    entry: Entry,
    device: c_long,
) -> *mut Task {
    let real = real!(
        c"__kmpc_omp_target_task_alloc",
        fn(usize, c_int, c_int, usize, usize, Entry, c_long) -> *mut Task
    );
    new_task(flags, shared, entry, |shared, run| real(at, me, flags, size, shared, run, device))
}

/// What a thread runs for a task.
extern "C" fn run(me: c_int, task: *mut Task) -> c_int {
    let head = head(task);
    // SAFETY: of `submit`, and there until the task is over.
    let depends = unsafe { head.depends.as_ref() }.cloned().unwrap_or_default();
    let outer = PLACE.replace(Place { is_final: head.is_final, ..Place::new(head.place.team) });
    let outer_task = RUNS.replace(task.addr());
    let mut done = 0;
    race::run_task((head.object, object(By::Tasks)), || {
        depend_on(&depends);
        done = (head.entry)(me, task);
        depends.iter().for_each(|of| race::released(*of));
    });
    let is_over = RUNS.replace(outer_task) == task.addr();
    if is_over && !head.is_of_loop {
        race::forgotten(head.object);
    }
    if is_over && !head.depends.is_null() {
        // SAFETY: of `submit`, for this task.
        drop(unsafe { Box::from_raw(head.depends) });
    }
    PLACE.set(outer);
    done
}

/// The object of a loop of tasks, whose first task may be gone before the others begin. No address; a thread uses eight in turn.
fn next_loop() -> usize {
    let (all, address) = LOOPS.with(|all| (all.replace(all.get() + 1), ptr::from_ref(all).addr()));
    !(usize::MAX >> 1) + address + all % 8
}

/// Gives libomp a task by `real`. It may run at once, which orders nothing unless it had to.
fn submit<R>(
    task: *mut Task,
    depends: Vec<usize>,
    is_of_loop: bool,
    real: impl FnOnce() -> R,
) -> R {
    if RUNS.get() == task.addr() {
        // The rest of this task, if it is not tied to a thread.
        RUNS.set(0);
    } else {
        // SAFETY: of `new_task`, and no other thread knows it.
        let head = unsafe { &mut *head_of(task) };
        if is_of_loop {
            (head.is_of_loop, head.object) = (true, next_loop());
        }
        if !depends.is_empty() {
            head.depends = Box::into_raw(Box::new(depends));
        }
    }
    race::released(head(task).object);
    let done = real();
    if PLACE.get().is_final {
        tasks_are_over();
    }
    done
}

#[unsafe(no_mangle)]
extern "C" fn __wrap___kmpc_omp_task(at: usize, me: c_int, task: *mut Task) -> c_int {
    let real = real!(c"__kmpc_omp_task", fn(usize, c_int, *mut Task) -> c_int);
    submit(task, Vec::new(), false, || real(at, me, task))
}

/// What a task depends on.
#[repr(C)]
struct Depend {
    address: usize,
    _bytes: usize,
    flags: u8,
}

/// The objects of what a task depends on, of two lists.
fn objects_of(lists: [(c_int, *const Depend); 2]) -> Vec<usize> {
    let object = |of: &Depend| if of.flags & ALL != 0 { ALL_MEMORY } else { of.address };
    let objects = |(number, list): (c_int, *const Depend)| {
        // SAFETY: the compiler has as many there.
        let at = move |k: usize| object(unsafe { &*list.wrapping_add(k) });
        (0..number as usize).map(at)
    };
    lists.into_iter().flat_map(objects).collect()
}

#[unsafe(no_mangle)]
extern "C" fn __wrap___kmpc_omp_task_with_deps(
    at: usize,
    me: c_int,
    task: *mut Task,
    number: c_int,
    list: *const Depend,
    others: c_int,
    other: *const Depend,
) -> c_int {
    let real = real!(
        c"__kmpc_omp_task_with_deps",
        fn(usize, c_int, *mut Task, c_int, *const Depend, c_int, *const Depend) -> c_int
    );
    let depends = objects_of([(number, list), (others, other)]);
    submit(task, depends, false, || real(at, me, task, number, list, others, other))
}

#[unsafe(no_mangle)]
extern "C" fn __wrap___kmpc_omp_wait_deps(
    at: usize,
    me: c_int,
    number: c_int,
    list: *const Depend,
    others: c_int,
    other: *const Depend,
) {
    let real = real!(
        c"__kmpc_omp_wait_deps",
        fn(usize, c_int, c_int, *const Depend, c_int, *const Depend)
    );
    real(at, me, number, list, others, other);
    depend_on(&objects_of([(number, list), (others, other)]));
}

#[unsafe(no_mangle)]
extern "C" fn __wrap___kmpc_omp_taskwait_deps_51(
    at: usize,
    me: c_int,
    number: c_int,
    list: *const Depend,
    others: c_int,
    other: *const Depend,
    waits: c_int,
) {
    let real = real!(
        c"__kmpc_omp_taskwait_deps_51",
        fn(usize, c_int, c_int, *const Depend, c_int, *const Depend, c_int)
    );
    real(at, me, number, list, others, other, waits);
    depend_on(&objects_of([(number, list), (others, other)]));
}

/// The program runs a task itself.
#[unsafe(no_mangle)]
extern "C" fn __wrap___kmpc_omp_task_begin_if0(at: usize, me: c_int, task: *mut Task) {
    real!(c"__kmpc_omp_task_begin_if0", fn(usize, c_int, *mut Task))(at, me, task);
    let head = head(task);
    PLACE.set(Place { is_final: head.is_final, ..Place::new(head.place.team) });
}

#[unsafe(no_mangle)]
extern "C" fn __wrap___kmpc_omp_task_complete_if0(at: usize, me: c_int, task: *mut Task) {
    PLACE.set(head(task).place);
    real!(c"__kmpc_omp_task_complete_if0", fn(usize, c_int, *mut Task))(at, me, task);
}

#[unsafe(no_mangle)]
extern "C" fn __wrap___kmpc_omp_taskwait(at: usize, me: c_int) -> c_int {
    let done = real!(c"__kmpc_omp_taskwait", fn(usize, c_int) -> c_int)(at, me);
    tasks_are_over();
    done
}

#[unsafe(no_mangle)]
extern "C" fn __wrap___kmpc_end_taskgroup(at: usize, me: c_int) {
    real!(c"__kmpc_end_taskgroup", fn(usize, c_int))(at, me);
    tasks_are_over();
}

/// Loops of tasks: the task that others are copied from, whether they may run later, and whether they belong to no group. The
/// second form has an argument more.
macro_rules! loops {
    ($($name:ident $real:literal ($($argument:ident),*);)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(
            at: usize, me: c_int, task: *mut Task, is_deferred: c_int, lower: usize, upper: usize, step: c_long,
            has_no_group: c_int, by: c_int, size: usize $(, $argument: c_int)*, copy: usize,
        ) {
            let real = real!(
                $real,
                fn(usize, c_int, *mut Task, c_int, usize, usize, c_long, c_int, c_int, usize $(, loops!(@ $argument))*, usize)
            );
            submit(task, Vec::new(), true, || {
                real(at, me, task, is_deferred, lower, upper, step, has_no_group, by, size $(, $argument)*, copy);
            });
            if has_no_group == 0 || is_deferred == 0 {
                tasks_are_over();
            }
        }
    )*};
    (@ $argument:ident) => { c_int };
}

loops! {
    __wrap___kmpc_taskloop c"__kmpc_taskloop" ();
    __wrap___kmpc_taskloop_5 c"__kmpc_taskloop_5" (modifier);
}

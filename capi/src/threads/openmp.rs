//! OpenMP of gcc (libgomp): what its compiler calls for parallel regions, barriers, tasks and locks. Of clang: `clang`.
//!
//! A team and what its threads synchronise by are objects. The threads of a region begin after what its master has
//! released, and the master goes on after what they have. A task is a thread of its own: it begins after what its
//! creator had done, and is ordered before what follows a barrier, a taskwait or the end of a taskgroup. Of loops whose
//! iterations wait for each other (`ordered(n)` with `depend`) some iterations share an object.

mod clang;

use super::real;
use onesided::engine::race;
use std::cell::Cell;
use std::ffi::{c_int, c_long, c_uint, c_void};
use std::ptr;

type Function = extern "C" fn(*mut c_void);
/// What copies the data of a task, if that is not a copy of bytes: to and from.
type Copy = Option<extern "C" fn(*mut c_void, *mut c_void)>;

/// What the threads of a team synchronise by: the address of a [`Team`] and such a number.
#[derive(Clone, Copy)]
enum By {
    Begin,
    End,
    /// Two, in turn: no thread passes the next barrier before all have left this one.
    Barriers,
    Ordered = 4,
    /// Tasks that are over.
    Tasks,
    Copied,
}

/// Objects of all threads of the process.
const CRITICAL: usize = 17;
const ATOMIC: usize = 18;
/// Events that tasks wait for.
const EVENTS: usize = 19;
/// What tasks release that depend on all memory.
const ALL_MEMORY: usize = 20;

/// The parallel region in which this thread is, or the task that it runs there.
#[derive(Clone, Copy)]
struct Place {
    /// The address of its team; zero outside.
    team: usize,
    /// Barriers of the team that this thread has passed.
    barriers: usize,
    /// How many loops of its latest `ordered(n)` there are one in another.
    loops: usize,
    /// Whether it is in a task of clang whose own tasks run at once (`final`).
    is_final: bool,
}

impl Place {
    /// At the beginning of a region or a task of a team.
    const fn new(team: usize) -> Place {
        Place { team, barriers: 0, loops: 0, is_final: false }
    }
}

thread_local! {
    static PLACE: Cell<Place> = const { Cell::new(Place::new(0)) };
    /// The task that this thread has run last.
    static RUN: Cell<usize> = const { Cell::new(0) };
}

/// An object of this thread's team. Outside a region a number that is no address.
fn object(by: By) -> usize {
    PLACE.get().team + by as usize
}

/// The threads of a region.
struct Team<T> {
    /// What they run.
    program: T,
    /// The addresses of its objects.
    _objects: [u8; 16],
}

impl<T> Team<T> {
    fn new(program: T) -> Team<T> {
        Team { program, _objects: [0; 16] }
    }

    /// The object of the team.
    fn object(&self, by: By) -> usize {
        ptr::from_ref(self).addr() + by as usize
    }

    /// Runs the region by `run`, which returns when all threads have left it.
    fn run<R>(&self, run: impl FnOnce(*mut c_void) -> R) -> R {
        race::released(self.object(By::Begin));
        let done = run(ptr::from_ref(self).cast_mut().cast());
        race::acquired(self.object(By::End));
        self.end();
        done
    }

    /// The region is over.
    fn end(&self) {
        race::acquired(self.object(By::Tasks));
        race::acquired(EVENTS);
        (0..=By::Copied as usize).for_each(|by| race::forgotten(self.object(By::Begin) + by));
    }

    /// What a thread of the region does.
    fn enter(&self, f: impl FnOnce(&T)) {
        let outer = PLACE.replace(Place::new(self.object(By::Begin)));
        race::thread_began(object(By::Begin));
        f(&self.program);
        race::released(object(By::End));
        PLACE.set(outer);
    }
}

/// What each thread of a region runs.
extern "C" fn region(team: *mut c_void) {
    // SAFETY: of `regions`, where `Team::run` waits for the end of all threads.
    let team = unsafe { &*team.cast::<Team<(Function, *mut c_void)>>() };
    team.enter(|(function, data)| function(*data));
}

/// Regions: the function, its argument, the number of threads, and up to five more arguments.
macro_rules! regions {
    ($($name:ident $real:literal;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(
            function: Function, data: *mut c_void, threads: c_uint,
            a: c_long, b: c_long, c: c_long, d: c_long, e: c_long,
        ) -> c_uint {
            let real = real!($real, fn(Function, *mut c_void, c_uint, c_long, c_long, c_long, c_long, c_long) -> c_uint);
            Team::new((function, data)).run(|team| real(region, team, threads, a, b, c, d, e))
        }
    )*};
}

regions! {
    __wrap_GOMP_parallel c"GOMP_parallel";
    __wrap_GOMP_parallel_reductions c"GOMP_parallel_reductions";
    __wrap_GOMP_parallel_sections c"GOMP_parallel_sections";
    __wrap_GOMP_parallel_loop_static c"GOMP_parallel_loop_static";
    __wrap_GOMP_parallel_loop_dynamic c"GOMP_parallel_loop_dynamic";
    __wrap_GOMP_parallel_loop_guided c"GOMP_parallel_loop_guided";
    __wrap_GOMP_parallel_loop_runtime c"GOMP_parallel_loop_runtime";
    __wrap_GOMP_parallel_loop_nonmonotonic_dynamic c"GOMP_parallel_loop_nonmonotonic_dynamic";
    __wrap_GOMP_parallel_loop_nonmonotonic_guided c"GOMP_parallel_loop_nonmonotonic_guided";
    __wrap_GOMP_parallel_loop_nonmonotonic_runtime c"GOMP_parallel_loop_nonmonotonic_runtime";
    __wrap_GOMP_parallel_loop_maybe_nonmonotonic_runtime c"GOMP_parallel_loop_maybe_nonmonotonic_runtime";
}

/// The barrier of the team that this thread passes next.
fn next_barrier() -> Option<usize> {
    let Place { team, barriers, .. } = PLACE.get();
    (team != 0).then(|| object(By::Barriers) + barriers % 2)
}

/// This thread arrives at a barrier.
fn arrived() {
    if let Some(barrier) = next_barrier() {
        race::released(barrier);
    }
}

/// It leaves the barrier.
fn left() {
    if let Some(barrier) = next_barrier() {
        race::acquired(barrier);
        tasks_are_over();
        let place = PLACE.get();
        PLACE.set(Place { barriers: place.barriers + 1, ..place });
    }
}

/// Passes a barrier of the team by `real`.
fn barrier<R>(real: impl FnOnce() -> R) -> R {
    arrived();
    let done = real();
    left();
    done
}

/// This thread has waited for tasks.
fn tasks_are_over() {
    race::acquired(object(By::Tasks));
    race::acquired(EVENTS);
}

/// What a task waits for that has run has happened.
#[unsafe(no_mangle)]
extern "C" fn __wrap_omp_fulfill_event(event: usize) {
    race::released(EVENTS);
    real!(c"omp_fulfill_event", fn(usize))(event);
}

macro_rules! barriers {
    ($($name:ident $real:literal;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() {
            barrier(|| real!($real, fn())());
        }
    )*};
}

barriers! {
    __wrap_GOMP_barrier c"GOMP_barrier";
    __wrap_GOMP_loop_end c"GOMP_loop_end";
    __wrap_GOMP_sections_end c"GOMP_sections_end";
}

/// Barriers that return whether the region is cancelled.
macro_rules! cancellable {
    ($($name:ident $real:literal;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> bool {
            barrier(|| real!($real, fn() -> bool)())
        }
    )*};
}

cancellable! {
    __wrap_GOMP_barrier_cancel c"GOMP_barrier_cancel";
    __wrap_GOMP_loop_end_cancel c"GOMP_loop_end_cancel";
    __wrap_GOMP_sections_end_cancel c"GOMP_sections_end_cancel";
}

/// Functions after which this thread has acquired an object, or before which it releases one.
macro_rules! objects {
    ($($name:ident $real:literal ($($argument:ident: $type:ty),*) $does:ident $object:expr;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $type),*) {
            let real = real!($real, fn($($type),*));
            objects!(@ $does $object, real($($argument),*));
        }
    )*};
    (@ acquired $object:expr, $real:expr) => {
        $real;
        race::acquired($object);
    };
    (@ released $object:expr, $real:expr) => {
        race::released($object);
        $real;
    };
}
use objects;

objects! {
    __wrap_GOMP_critical_start c"GOMP_critical_start" () acquired CRITICAL;
    __wrap_GOMP_critical_end c"GOMP_critical_end" () released CRITICAL;
    __wrap_GOMP_atomic_start c"GOMP_atomic_start" () acquired ATOMIC;
    __wrap_GOMP_atomic_end c"GOMP_atomic_end" () released ATOMIC;
    __wrap_GOMP_ordered_start c"GOMP_ordered_start" () acquired object(By::Ordered);
    __wrap_GOMP_ordered_end c"GOMP_ordered_end" () released object(By::Ordered);
    __wrap_GOMP_critical_name_start c"GOMP_critical_name_start" (lock: usize) acquired lock;
    __wrap_GOMP_critical_name_end c"GOMP_critical_name_end" (lock: usize) released lock;
    __wrap_omp_set_lock c"omp_set_lock" (lock: usize) acquired lock;
    __wrap_omp_unset_lock c"omp_unset_lock" (lock: usize) released lock;
    __wrap_omp_set_nest_lock c"omp_set_nest_lock" (lock: usize) acquired lock;
    __wrap_omp_unset_nest_lock c"omp_unset_nest_lock" (lock: usize) released lock;
}

/// Functions that wait for tasks.
macro_rules! waits {
    ($($name:ident $real:literal;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() {
            real!($real, fn())();
            tasks_are_over();
        }
    )*};
}

waits! {
    __wrap_GOMP_taskwait c"GOMP_taskwait";
    __wrap_GOMP_taskgroup_end c"GOMP_taskgroup_end";
}

/// Functions that acquire the object at their argument, unless they return zero.
macro_rules! tests {
    ($($name:ident $real:literal;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(lock: usize) -> c_int {
            let done = real!($real, fn(usize) -> c_int)(lock);
            if done != 0 {
                race::acquired(lock);
            }
            done
        }
    )*};
}

tests! {
    __wrap_omp_test_lock c"omp_test_lock";
    __wrap_omp_test_nest_lock c"omp_test_nest_lock";
}

#[unsafe(no_mangle)]
extern "C" fn __wrap_GOMP_taskwait_depend(addresses: usize) {
    real!(c"GOMP_taskwait_depend", fn(usize))(addresses);
    tasks_are_over();
}

/// The most loops of `ordered(n)`.
const MOST_LOOPS: usize = 8;
/// Iterations with objects of their own; those with the same remainder share one, so less is reported.
const ITERATIONS: usize = 1 << 12;

/// The object of an iteration of `ordered(n)`. No address is as large.
fn iteration(numbers: impl Iterator<Item = c_long>) -> usize {
    let number = numbers.fold(0, |all: usize, one| all.wrapping_mul(61).wrapping_add(one as usize));
    !(usize::MAX >> 1) + number % ITERATIONS
}

/// A thread begins its share of loops of which iterations wait for others: how many there are one in another, and up to seven
/// more arguments.
macro_rules! ordered_loops {
    ($($name:ident $real:literal;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(
            loops: c_uint, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long, g: c_long,
        ) -> bool {
            PLACE.set(Place { loops: (loops as usize).min(MOST_LOOPS), ..PLACE.get() });
            let real = real!($real, fn(c_uint, c_long, c_long, c_long, c_long, c_long, c_long, c_long) -> bool);
            real(loops, a, b, c, d, e, f, g)
        }
    )*};
}

ordered_loops! {
    __wrap_GOMP_loop_doacross_start c"GOMP_loop_doacross_start";
    __wrap_GOMP_loop_doacross_static_start c"GOMP_loop_doacross_static_start";
    __wrap_GOMP_loop_doacross_dynamic_start c"GOMP_loop_doacross_dynamic_start";
    __wrap_GOMP_loop_doacross_guided_start c"GOMP_loop_doacross_guided_start";
    __wrap_GOMP_loop_doacross_runtime_start c"GOMP_loop_doacross_runtime_start";
    __wrap_GOMP_loop_ull_doacross_start c"GOMP_loop_ull_doacross_start";
    __wrap_GOMP_loop_ull_doacross_static_start c"GOMP_loop_ull_doacross_static_start";
    __wrap_GOMP_loop_ull_doacross_dynamic_start c"GOMP_loop_ull_doacross_dynamic_start";
    __wrap_GOMP_loop_ull_doacross_guided_start c"GOMP_loop_ull_doacross_guided_start";
    __wrap_GOMP_loop_ull_doacross_runtime_start c"GOMP_loop_ull_doacross_runtime_start";
}

/// An iteration whose numbers are there is over, and others may wait for it; this thread waits for that with those numbers.
macro_rules! iterations {
    ($($over:ident $real_over:literal $wait:ident $real_wait:literal;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $over(numbers: *const c_long) {
            // SAFETY: the compiler has a number for each loop there.
            let at = |of: usize| unsafe { *numbers.wrapping_add(of) };
            race::released(iteration((0..PLACE.get().loops).map(at)));
            real!($real_over, fn(*const c_long))(numbers);
        }

        #[unsafe(no_mangle)]
        extern "C" fn $wait(
            a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long, g: c_long, h: c_long,
        ) {
            let real = real!($real_wait, fn(c_long, c_long, c_long, c_long, c_long, c_long, c_long, c_long));
            real(a, b, c, d, e, f, g, h);
            let numbers: [c_long; MOST_LOOPS] = [a, b, c, d, e, f, g, h];
            race::acquired(iteration(numbers.into_iter().take(PLACE.get().loops)));
        }
    )*};
}

iterations! {
    __wrap_GOMP_doacross_post c"GOMP_doacross_post" __wrap_GOMP_doacross_wait c"GOMP_doacross_wait";
    __wrap_GOMP_doacross_ull_post c"GOMP_doacross_ull_post" __wrap_GOMP_doacross_ull_wait c"GOMP_doacross_ull_wait";
}

/// One thread has run what the others get the results of.
#[unsafe(no_mangle)]
extern "C" fn __wrap_GOMP_single_copy_start() -> *mut c_void {
    let copied = real!(c"GOMP_single_copy_start", fn() -> *mut c_void)();
    if !copied.is_null() {
        race::acquired(object(By::Copied));
    }
    copied
}

#[unsafe(no_mangle)]
extern "C" fn __wrap_GOMP_single_copy_end(copied: *mut c_void) {
    race::released(object(By::Copied));
    real!(c"GOMP_single_copy_end", fn(*mut c_void))(copied);
}

/// What a task needs beside the program's data.
struct Task {
    function: Function,
    copy: Copy,
    data: *mut c_void,
    /// Where the program's data begin behind the head.
    offset: usize,
    team: usize,
    /// What it depends on, by addresses.
    depends: Vec<usize>,
    /// Whether the head has the iterations, and other tasks may share this.
    is_of_loop: bool,
}

/// Before the program's data of a task. Its first words are those that libgomp reads or writes in them: the iterations of
/// a loop, and reductions.
#[repr(C)]
struct Head {
    words: [c_long; 3],
    task: *mut Task,
}

/// Bits of a task's flags.
const DEPENDS: c_uint = 1 << 3;
const NO_GROUP: c_uint = 1 << 11;

/// What a thread runs for a task.
extern "C" fn run(head: *mut c_void) {
    // SAFETY: made by `describe`, and copied by libgomp or `copy`.
    let Head { words, task: address } = unsafe { head.cast::<Head>().read() };
    // SAFETY: it is there until its task has run, or all of its loop's.
    let task = unsafe { &*address };
    let data = head.wrapping_byte_add(task.offset);
    let outer = PLACE.replace(Place::new(task.team));
    race::run_task((address.addr(), object(By::Tasks)), || {
        depend_on(&task.depends);
        if task.is_of_loop {
            // SAFETY: the program's data begin with the same two words.
            unsafe { ptr::copy_nonoverlapping(words.as_ptr(), data.cast(), 2) };
        }
        (task.function)(data);
        task.depends.iter().for_each(|of| race::released(*of));
    });
    PLACE.set(outer);
    RUN.set(address.addr());
    if !task.is_of_loop {
        forget(address);
    }
}

/// A task begins after what it depends on, and after what that has waited for.
fn depend_on(objects: &[usize]) {
    objects.iter().for_each(|of| race::acquired(*of));
    if !objects.is_empty() {
        race::acquired(EVENTS);
        race::acquired(ALL_MEMORY);
    }
    if objects.contains(&ALL_MEMORY) {
        race::acquired(object(By::Tasks));
    }
}

/// All tasks that had it have run.
fn forget(task: *mut Task) {
    race::forgotten(task.addr());
    // SAFETY: made by `describe`, for these tasks.
    drop(unsafe { Box::from_raw(task) });
}

/// Copies the data of a task that is to run later.
extern "C" fn copy(to: *mut c_void, from: *mut c_void) {
    // SAFETY: the head is from `describe`.
    let head = unsafe { from.cast::<Head>().read() };
    // SAFETY: its call is under way.
    let task = unsafe { &*head.task };
    // SAFETY: libgomp has as many bytes there as the call has asked for.
    unsafe { to.cast::<Head>().write(head) };
    let to = to.wrapping_byte_add(task.offset);
    task.copy.iter().for_each(|copy| copy(to, task.data));
}

/// The addresses that a task depends on: their number, or zero before another form of it, then other numbers.
fn addresses(depends: *const usize) -> Vec<usize> {
    // SAFETY: the list of the program's compiler.
    let at = |number: usize| unsafe { *depends.wrapping_add(number) };
    let (number, first) = if at(0) == 0 { (at(1), 5) } else { (at(0), 2) };
    (0..number).map(|k| at(first + k)).collect()
}

/// What libgomp is given for a task: the data with a head, and their size and alignment.
struct Described {
    task: *mut Task,
    head: *mut c_void,
    copy: Copy,
    size: c_long,
    align: c_long,
    _memory: Vec<u8>,
}

fn describe(task: Task, (size, align): (usize, usize)) -> Described {
    let align = align.max(align_of::<Head>());
    let offset = size_of::<Head>().next_multiple_of(align);
    // The head alone is read if the program copies its data itself.
    let mut memory = vec![0u8; offset + size + align];
    let head = memory.as_mut_ptr();
    let head = head.wrapping_add(head.align_offset(align)).cast::<c_void>();
    let (data, copy_data) = (task.data, task.copy.is_none());
    let mut words: [c_long; 3] = [0; 3];
    // SAFETY: the program's data have as many bytes.
    unsafe { ptr::copy_nonoverlapping(data.cast::<u8>(), words.as_mut_ptr().cast(), size.min(24)) };
    let task = Box::into_raw(Box::new(Task { offset, ..task }));
    // SAFETY: the memory has room for head and data, and no other thread knows it.
    unsafe { head.cast::<Head>().write(Head { words, task }) };
    if copy_data {
        let to = head.wrapping_byte_add(offset).cast();
        // SAFETY: as above.
        unsafe { ptr::copy_nonoverlapping(data.cast::<u8>(), to, size) };
    }
    race::released(task.addr());
    let copy: Copy = if copy_data { None } else { Some(copy) };
    let (size, align) = ((offset + size) as c_long, align as c_long);
    Described { task, head, copy, size, align, _memory: memory }
}

#[unsafe(no_mangle)]
extern "C" fn __wrap_GOMP_task(
    function: Function,
    data: *mut c_void,
    copy: Copy,
    size: c_long,
    align: c_long,
    is_deferred: bool,
    flags: c_uint,
    depends: *mut usize,
    priority: c_int,
    detach: *mut c_void,
) {
    let depends_on = if flags & DEPENDS == 0 { Vec::new() } else { addresses(depends) };
    let team = PLACE.get().team;
    let task =
        Task { function, copy, data, offset: 0, team, depends: depends_on, is_of_loop: false };
    let of = describe(task, (size as usize, align as usize));
    let real = real!(
        c"GOMP_task",
        fn(
            Function,
            *mut c_void,
            Copy,
            c_long,
            c_long,
            bool,
            c_uint,
            *mut usize,
            c_int,
            *mut c_void,
        )
    );
    RUN.set(0);
    real(run, of.head, of.copy, of.size, of.align, is_deferred, flags, depends, priority, detach);
    if RUN.get() == of.task.addr() {
        // It has run at once.
        race::acquired(object(By::Tasks));
    }
}

/// Loops of tasks, whose iterations are numbers of one of two types of the same size.
macro_rules! loops {
    ($($name:ident $real:literal;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(
            function: Function, data: *mut c_void, copy: Copy, size: c_long, align: c_long, flags: c_uint,
            tasks: usize, priority: c_int, start: c_long, end: c_long, step: c_long,
        ) {
            let team = PLACE.get().team;
            let task = Task { function, copy, data, offset: 0, team, depends: Vec::new(), is_of_loop: true };
            let of = describe(task, (size as usize, align as usize));
            let real = real!(
                $real,
                fn(Function, *mut c_void, Copy, c_long, c_long, c_uint, usize, c_int, c_long, c_long, c_long)
            );
            real(run, of.head, of.copy, of.size, of.align, flags, tasks, priority, start, end, step);
            if flags & NO_GROUP == 0 {
                // All of them have run.
                tasks_are_over();
                forget(of.task);
            }
        }
    )*};
}

loops! {
    __wrap_GOMP_taskloop c"GOMP_taskloop";
    __wrap_GOMP_taskloop_ull c"GOMP_taskloop_ull";
}

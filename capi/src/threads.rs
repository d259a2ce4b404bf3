//! What synchronises the threads of a program, for programs that `rmacc -race` has compiled: POSIX threads, C11's, and
//! OpenMP of gcc and clang. The linker lets their calls come here (`--wrap`); each does what the program asks, and reports it.
#![allow(unsafe_code, reason = "calls the functions that the program has asked for")]

mod openmp;

use crate::process::real;
use onesided::engine::race;
use std::cell::Cell;
use std::ffi::{c_int, c_void};

unsafe extern "C" {
    fn pthread_self() -> usize;
}

/// The program's threads are followed.
pub fn follow() {
    // SAFETY: always allowed.
    race::follow_threads(|| unsafe { pthread_self() });
}

/// This thread is about to release an object, whose number is its address. In a part of a window other ranks may wait for it.
fn released(object: usize) {
    released_at(object, object);
}

/// The same of an object at an address.
fn released_at(address: usize, object: usize) {
    race::released(object);
    race::will_release(address, 1);
}

/// It has waited for one.
fn acquired(object: usize) {
    acquired_at(object, object);
}

fn acquired_at(address: usize, object: usize) {
    race::acquired(object);
    race::has_acquired(address, 1);
}

/// Functions that acquire the object at their first argument, unless they fail.
macro_rules! acquiring {
    ($($name:ident $real:literal ($($argument:ident: $type:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(object: usize $(, $argument: $type)*) -> c_int {
            let done = real!($real, fn(usize $(, $type)*) -> c_int)(object $(, $argument)*);
            if done == 0 {
                acquired(object);
            }
            done
        }
    )*};
}

acquiring! {
    __wrap_pthread_mutex_lock c"pthread_mutex_lock" ();
    __wrap_pthread_mutex_trylock c"pthread_mutex_trylock" ();
    __wrap_pthread_mutex_timedlock c"pthread_mutex_timedlock" (until: usize);
    __wrap_pthread_mutex_clocklock c"pthread_mutex_clocklock" (clock: c_int, until: usize);
    __wrap_pthread_rwlock_rdlock c"pthread_rwlock_rdlock" ();
    __wrap_pthread_rwlock_wrlock c"pthread_rwlock_wrlock" ();
    __wrap_pthread_rwlock_tryrdlock c"pthread_rwlock_tryrdlock" ();
    __wrap_pthread_rwlock_trywrlock c"pthread_rwlock_trywrlock" ();
    __wrap_pthread_rwlock_timedrdlock c"pthread_rwlock_timedrdlock" (until: usize);
    __wrap_pthread_rwlock_timedwrlock c"pthread_rwlock_timedwrlock" (until: usize);
    __wrap_pthread_spin_lock c"pthread_spin_lock" ();
    __wrap_pthread_spin_trylock c"pthread_spin_trylock" ();
    __wrap_sem_wait c"sem_wait" ();
    __wrap_sem_trywait c"sem_trywait" ();
    __wrap_sem_timedwait c"sem_timedwait" (until: usize);
    __wrap_sem_clockwait c"sem_clockwait" (clock: c_int, until: usize);
    __wrap_mtx_lock c"mtx_lock" ();
    __wrap_mtx_trylock c"mtx_trylock" ();
    __wrap_mtx_timedlock c"mtx_timedlock" (until: usize);
}

/// Functions that release the object at their only argument, or end it.
macro_rules! leaving {
    ($($name:ident $real:literal $does:path;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(object: usize) -> c_int {
            $does(object);
            real!($real, fn(usize) -> c_int)(object)
        }
    )*};
}

leaving! {
    __wrap_pthread_mutex_unlock c"pthread_mutex_unlock" released;
    __wrap_pthread_rwlock_unlock c"pthread_rwlock_unlock" released;
    __wrap_pthread_spin_unlock c"pthread_spin_unlock" released;
    __wrap_sem_post c"sem_post" released;
    __wrap_mtx_unlock c"mtx_unlock" released;
    __wrap_pthread_mutex_destroy c"pthread_mutex_destroy" race::forgotten;
    __wrap_pthread_rwlock_destroy c"pthread_rwlock_destroy" race::forgotten;
    __wrap_pthread_barrier_destroy c"pthread_barrier_destroy" race::forgotten;
    __wrap_sem_destroy c"sem_destroy" race::forgotten;
}

/// Functions that release and acquire the mutex at their second argument.
macro_rules! waiting {
    ($($name:ident $real:literal ($($argument:ident: $type:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(condition: usize, mutex: usize $(, $argument: $type)*) -> c_int {
            released(mutex);
            let done = real!($real, fn(usize, usize $(, $type)*) -> c_int)(condition, mutex $(, $argument)*);
            acquired(mutex);
            done
        }
    )*};
}

waiting! {
    __wrap_pthread_cond_wait c"pthread_cond_wait" ();
    __wrap_pthread_cond_timedwait c"pthread_cond_timedwait" (until: usize);
    __wrap_pthread_cond_clockwait c"pthread_cond_clockwait" (clock: c_int, until: usize);
    __wrap_cnd_wait c"cnd_wait" ();
    __wrap_cnd_timedwait c"cnd_timedwait" (until: usize);
}

#[unsafe(no_mangle)]
extern "C" fn __wrap_pthread_barrier_wait(barrier: usize) -> c_int {
    released(barrier);
    let done = real!(c"pthread_barrier_wait", fn(usize) -> c_int)(barrier);
    acquired(barrier);
    done
}

/// The function that a new thread begins with, and its argument.
struct Start<R> {
    function: extern "C-unwind" fn(*mut c_void) -> R,
    argument: *mut c_void,
}

/// Where a thread begins. It may end within the program's function (`pthread_exit`), so nothing is left to be done then.
extern "C-unwind" fn begin<R>(start: *mut c_void) -> R {
    race::thread_began(start.addr());
    race::forgotten(start.addr());
    // SAFETY: of `create`, for this thread alone.
    let Start { function, argument } = *unsafe { Box::from_raw(start.cast::<Start<R>>()) };
    function(argument)
}

/// Creates a thread by `create`, which is given a function and its argument. Whether it succeeds, by its value.
fn create<R>(
    function: extern "C-unwind" fn(*mut c_void) -> R,
    argument: *mut c_void,
    create: impl FnOnce(extern "C-unwind" fn(*mut c_void) -> R, *mut c_void) -> c_int,
) -> c_int {
    let start = Box::into_raw(Box::new(Start { function, argument }));
    race::released(start.addr());
    let done = create(begin::<R>, start.cast());
    if done != 0 {
        race::forgotten(start.addr());
        // SAFETY: no thread has begun.
        drop(unsafe { Box::from_raw(start) });
    }
    done
}

type Posix = extern "C-unwind" fn(*mut c_void) -> *mut c_void;
type C11 = extern "C-unwind" fn(*mut c_void) -> c_int;

#[unsafe(no_mangle)]
extern "C" fn __wrap_pthread_create(
    thread: usize,
    attributes: usize,
    function: Posix,
    argument: *mut c_void,
) -> c_int {
    let real = real!(c"pthread_create", fn(usize, usize, Posix, *mut c_void) -> c_int);
    create(function, argument, |begin, start| real(thread, attributes, begin, start))
}

#[unsafe(no_mangle)]
extern "C" fn __wrap_thrd_create(thread: usize, function: C11, argument: *mut c_void) -> c_int {
    let real = real!(c"thrd_create", fn(usize, C11, *mut c_void) -> c_int);
    create(function, argument, |begin, start| real(thread, begin, start))
}

#[unsafe(no_mangle)]
extern "C" fn __wrap_pthread_join(thread: usize, value: usize) -> c_int {
    let done = real!(c"pthread_join", fn(usize, usize) -> c_int)(thread, value);
    if done == 0 {
        race::thread_joined(thread);
    }
    done
}

#[unsafe(no_mangle)]
extern "C" fn __wrap_thrd_join(thread: usize, value: usize) -> c_int {
    let done = real!(c"thrd_join", fn(usize, usize) -> c_int)(thread, value);
    if done == 0 {
        race::thread_joined(thread);
    }
    done
}

/// `std::thread::join` of libstdc++, whose object is the thread's number.
#[unsafe(no_mangle)]
extern "C" fn __wrap__ZNSt6thread4joinEv(object: *mut usize) {
    // SAFETY: the program's promise by its call.
    let thread = unsafe { object.read() };
    real!(c"_ZNSt6thread4joinEv", fn(*mut usize))(object);
    race::thread_joined(thread);
}

/// What creates a thread in libstdc++. The thread is not seen there, so it knows what all others know when it is seen.
#[unsafe(no_mangle)]
extern "C" fn __wrap__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
    object: usize,
    state: usize,
    depend: usize,
) {
    race::released(object);
    race::forgotten(object);
    let name =
        c"_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE";
    real!(name, fn(usize, usize, usize))(object, state, depend);
}

/// `std::condition_variable::wait`, whose lock begins with the address of its mutex.
#[unsafe(no_mangle)]
extern "C" fn __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    condition: usize,
    lock: *mut usize,
) {
    // SAFETY: the program's promise by its call.
    let mutex = unsafe { lock.read() };
    released(mutex);
    let name = c"_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE";
    real!(name, fn(usize, *mut usize))(condition, lock);
    acquired(mutex);
}

/// A variable of a function that is initialized when control first passes. The compiler reads the guard by an atomic
/// operation that acquires, and calls this until it has one.
#[unsafe(no_mangle)]
extern "C" fn __wrap___cxa_guard_acquire(guard: usize) -> c_int {
    let done = real!(c"__cxa_guard_acquire", fn(usize) -> c_int)(guard);
    has_read(guard, ACQUIRE);
    done
}

#[unsafe(no_mangle)]
extern "C" fn __wrap___cxa_guard_release(guard: usize) {
    will_write(guard, RELEASE);
    real!(c"__cxa_guard_release", fn(usize))(guard);
}

thread_local! {
    /// What this thread is about to do once.
    static ONCE: Cell<Option<(usize, extern "C" fn())>> = const { Cell::new(None) };
}

extern "C" fn run_once() {
    if let Some((control, function)) = ONCE.take() {
        function();
        race::released(control);
    }
}

#[unsafe(no_mangle)]
extern "C" fn __wrap_pthread_once(control: usize, function: extern "C" fn()) -> c_int {
    let outer = ONCE.replace(Some((control, function)));
    let done = real!(c"pthread_once", fn(usize, extern "C" fn()) -> c_int)(control, run_once);
    ONCE.set(outer);
    race::acquired(control);
    done
}

/// Orders of C's atomic operations.
const RELAXED: c_int = 0;
const ACQUIRE: c_int = 2;
const RELEASE: c_int = 3;

/// The object of an atomic operation at an address. Those of some addresses count as one, which limits their number.
fn object_at(address: usize) -> usize {
    const OBJECTS: usize = 4096;
    OBJECTS + address / 8 % OBJECTS
}

/// The program is about to write by an atomic operation at an address.
pub fn will_write(address: usize, order: c_int) {
    if order >= RELEASE {
        released_at(address, object_at(address));
    } else {
        race::written(object_at(address), address);
    }
}

/// It has read by one.
pub fn has_read(address: usize, order: c_int) {
    if order != RELAXED && order != RELEASE {
        acquired_at(address, object_at(address));
    } else {
        race::read(object_at(address), address);
    }
}

/// It orders what it does before and after a fence.
pub fn fence(order: c_int) {
    race::fence(order >= RELEASE, order != RELAXED && order != RELEASE);
}

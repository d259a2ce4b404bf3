//! Windows, memory, communicators, attributes and info that cannot be.

use super::row::{Row, elsewhere, job};
use onesided::ErrorClass::{
    Arg, Base, Comm as CommClass, Disp, Group as GroupClass, InfoKey, InfoNokey, InfoValue, Keyval,
    NoMem, Other, Root, Size,
};
use onesided::engine::{ExposedBytes, Win};
use onesided::{Comm, CommKeyval, Group, Info, KeyvalOptions, Rank, Result, WindowOptions};
use onesided_tools::{DistributedCounter, WindowMutex, WindowQueue};

fn allocate(comm: &Comm, bytes: u64, unit: u64) -> Result<()> {
    WindowOptions::new().allocate_bytes(comm, bytes, unit).and_then(Win::free)
}

fn create(comm: &Comm, address: usize, bytes: u64) -> Result<()> {
    let start = std::ptr::without_provenance_mut(address);
    // SAFETY: the call fails, so the memory is not accessed.
    let win =
        unsafe { WindowOptions::new().create_bytes(comm, ExposedBytes::new(start, bytes), 1) };
    win.and_then(Win::free)
}

pub const ROWS: &[Row] = &[
    job(
        "a window of more bytes than there can be",
        Size,
        &["window allocate by rank {me}", "18446744073709551615 bytes of rank 0"],
        |comm| allocate(comm, u64::MAX, 1),
    ),
    job(
        "parts whose sum is more than there can be",
        Size,
        &["window allocate by rank {me}", "4611686018427387900 bytes of rank 1", "2^62"],
        |comm| allocate(comm, (1 << 62) - 4, 1),
    ),
    job(
        "a shared window of more bytes than there can be",
        Size,
        &["window allocate_shared by rank {me}", "2^62"],
        |comm| {
            let made = WindowOptions::new().allocate_shared_bytes(comm, u64::MAX - 8, 1);
            made.and_then(Win::free)
        },
    ),
    job(
        "a window that is larger than the memory",
        NoMem,
        &["window allocate by rank {me}", "bytes are needed", "are available"],
        |comm| allocate(comm, 1 << 52, 1),
    ),
    job(
        "a displacement unit of 0",
        Disp,
        &["window allocate by rank {me}", "rank 0 gave displacement unit 0", "2^31-1"],
        |comm| allocate(comm, 64, 0),
    ),
    job(
        "a displacement unit that is no C int, on one rank",
        Disp,
        &["window allocate by rank {me}", "rank 1 gave displacement unit 2147483648"],
        |comm| allocate(comm, 64, if comm.rank() == 1 { 1 << 31 } else { 1 }),
    ),
    job(
        "a window over bytes at a null address",
        Base,
        &["window create by rank {me}", "rank 0 exposes 8 bytes at address 0x0"],
        |comm| create(comm, 0, 8),
    ),
    job(
        "a window over bytes beyond the address space",
        Base,
        &["window create by rank {me}", "rank 0 exposes 64 bytes at address 0xfffffffffffffff0"],
        |comm| create(comm, usize::MAX - 15, 64),
    ),
    job(
        "windows of different sizes with the hint same_size",
        InfoValue,
        &["window allocate by rank {me}", "same_size", "rank 0 gave 8", "rank 1 16"],
        |comm| {
            let mut info = Info::new();
            info.set("same_size", "true")?;
            let bytes = 8 * (u64::from(comm.rank()) + 1);
            let made = WindowOptions::new().info(&info).allocate_bytes(comm, bytes, 1);
            made.and_then(Win::free)
        },
    ),
    job(
        "allocated memory of more bytes than there are",
        NoMem,
        &["bytes are needed", "are available", "segment"],
        |comm| {
            let queue = WindowQueue::<u64>::new(comm, Rank(0), 1 << 32);
            queue.and_then(WindowQueue::free)
        },
    ),
    job(
        "a queue without a place",
        Arg,
        &["by rank {me}", "capacity 0", "from 1 to 2^32"],
        |comm| WindowQueue::<u64>::new(comm, Rank(0), 0).and_then(WindowQueue::free),
    ),
    job(
        "a mutex at a rank that does not exist",
        Root,
        &["by rank {me}", "no rank 2", "2 ranks"],
        |comm| WindowMutex::new(comm, Rank(2)).and_then(WindowMutex::free),
    ),
    job(
        "a mutex whose home the ranks do not agree on",
        Arg,
        &["mutex of home rank {me}", "mutex of home rank {other}"],
        |comm| WindowMutex::new(comm, comm.rank()).and_then(WindowMutex::free),
    ),
    job(
        "a counter where another rank makes a mutex",
        Arg,
        &["by rank {me}", "counter of home rank 0", "rank {other} calls", "mutex of home rank 0"],
        |comm| match comm.rank().0 {
            0 => DistributedCounter::new(comm).and_then(DistributedCounter::free),
            _ => WindowMutex::new(comm, Rank(0)).and_then(WindowMutex::free),
        },
    ),
    job(
        "free of the world",
        CommClass,
        &["communicator free by rank {me}", "the job's own communicators stay"],
        |comm| comm.clone().free(),
    ),
    job(
        "a call on a communicator that has been freed",
        CommClass,
        &["barrier by rank {me}", "the communicator has been freed"],
        |comm| {
            let copy = comm.dup()?;
            copy.clone().free()?;
            copy.barrier()
        },
    ),
    job(
        "a window over a communicator that has been freed",
        CommClass,
        &["window allocate by rank {me}", "the communicator has been freed"],
        |comm| {
            let copy = comm.dup()?;
            copy.clone().free()?;
            allocate(&copy, 64, 8)
        },
    ),
    job(
        "communicators of groups that do not fit together",
        GroupClass,
        &["communicator create by rank {me}", "another group"],
        |comm| {
            let ranks: &[u32] = if comm.rank() == 0 { &[0, 1] } else { &[1] };
            comm.create(&comm.group().incl(ranks)?).map(drop)
        },
    ),
    job(
        "a communicator of a group that this rank is not in",
        GroupClass,
        &["communicator create_group by rank {me}", "not in the group"],
        |comm| comm.create_group(&Group::empty(), 0).map(drop),
    ),
    job(
        "an attribute under a key that has been freed",
        Keyval,
        &["attribute by rank {me}", "the attribute key has been freed"],
        |comm| {
            let key: CommKeyval<u32> = KeyvalOptions::new().create();
            key.clone().free();
            comm.set_attribute(&key, 1)
        },
    ),
    job(
        "dup while a copy callback refuses",
        Other,
        &["communicator dup by rank {me}", "not today"],
        |comm| {
            let options = KeyvalOptions::new().on_copy(|_: &Comm, _| Err("not today".to_owned()));
            let key: CommKeyval<u32> = options.create();
            comm.set_attribute(&key, 1)?;
            let refused = comm.dup().map(drop);
            comm.delete_attribute(&key)?;
            refused
        },
    ),
    job("an info key without a letter", InfoKey, &["info", "key"], |_| Info::new().set("", "x")),
    job("an info value that is too long", InfoValue, &["info", "'k'"], |_| {
        Info::new().set("k", &"x".repeat(Info::MAX_VALUE + 1))
    }),
    job("removal of an info key that is not set", InfoNokey, &["info", "'k' is not set"], |_| {
        Info::new().delete("k")
    }),
    elsewhere(
        "a call of a process that a rank has forked",
        Other,
        "failures/forks::a_child_is_told_that_it_is_no_rank",
    ),
    elsewhere("init twice", Other, "launcher/singleton::all_epochs_and_collectives_work_alone"),
    elsewhere(
        "init in an environment that describes no job",
        Other,
        "launcher/environment::whatever_the_environment_says_there_is_an_answer",
    ),
];

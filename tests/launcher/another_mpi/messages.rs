//! One program for every launcher: each kind of message, and of collective that does not wait. What it
//! prints is a digest of all that its ranks get, and of the errors for what is wrong.
#![allow(unsafe_code, reason = "names buffers by address, as a C interface does")]

use super::program::Digest;
use onesided::engine::{Bridge, Channel, Combine, Origin, OriginMut, SendMode};
use onesided::{
    Comm, Datatype, DerivedDatatype, ErrorClass, Group, Op, Rank, Result, Source, Status, Tag,
    Window,
};

/// Elements of messages: none, in the record of one, longer, and longer than any block of the segment.
const LENGTHS: [usize; 5] = [0, 7, 900, 20_000, 400_000];

/// Runs it; the digest, the same on all ranks.
pub fn run(world: &Comm) -> Result<u64> {
    let mut digest = Digest::new();
    let halves = world.split(Some(world.rank().0 % 2), -(world.rank().0 as i32))?;
    let copy = world.dup()?;
    let all: Vec<u32> = (0..world.size()).rev().collect();
    let reversed = world.create_group(&Group::incl(&world.group(), &all)?, 1)?;
    for comm in [Some(world), halves.as_ref(), Some(&copy), Some(&reversed)].into_iter().flatten() {
        ring(comm, &mut digest)?;
        collectives(comm, &mut digest)?;
        persistent(comm, &mut digest)?;
    }
    order(world, &copy, &mut digest)?;
    flood(world, &mut digest)?;
    matched(world, &mut digest)?;
    mistakes(world, &mut digest)?;
    layouts(world, &mut digest)?;
    partitioned(world, &mut digest)?;
    between_groups(world, &mut digest)?;
    elsewhere(world)?;
    disagreement(world, &mut digest)?;
    let late = world.idup()?;
    let late = late.wait()?;
    ring(&late, &mut digest)?;
    for comm in [Some(late), halves, Some(copy), Some(reversed)].into_iter().flatten() {
        comm.free()?;
    }
    left_behind(world)?;
    let all = world.allgather(&[digest.0])?;
    all.iter().for_each(|one| digest.add(&one.to_ne_bytes()));
    Ok(digest.0)
}

/// What rank `me` sends.
fn numbers(me: u32, length: usize) -> Vec<u64> {
    (0..length as u64)
        .map(|k| k.wrapping_mul(0x9e37_79b9).rotate_left(me) ^ u64::from(me))
        .collect()
}

fn add(digest: &mut Digest, status: &Status) {
    digest.of(&[status.source.0, status.tag as u32, status.bytes as u32]);
    digest.add(&[u8::from(status.cancelled)]);
}

/// The neighbours in a ring.
fn neighbours(comm: &Comm) -> (Rank, Rank) {
    let (me, n) = (comm.rank().0, comm.size());
    (Rank((me + n - 1) % n), Rank((me + 1) % n))
}

fn ring(comm: &Comm, digest: &mut Digest) -> Result<()> {
    let (left, right) = neighbours(comm);
    for length in LENGTHS {
        let mine = numbers(comm.rank().0, length);
        let mut got = vec![1u64; length + 2];
        add(digest, &comm.sendrecv(&mine, (right, 4), &mut got, (left, Tag::Any))?);
        digest.of(&got);
        let receive = comm.irecv(got, Source::Any, 9)?;
        let send = comm.issend(mine.clone(), right, 9)?;
        let (mut got, status) = receive.wait()?;
        digest.of(&send.wait()?.0);
        digest.of(&got);
        add(digest, &status);
        // In a circle not all can wait for their neighbours first.
        let receive = comm.irecv(vec![0u64; length], left, 5)?;
        if comm.rank() == 0 {
            comm.ssend(&mine, right, 5)?;
            digest.of(&receive.wait()?.0);
        } else {
            digest.of(&receive.wait()?.0);
            comm.send(&mine, right, 5)?;
        }
        let sent = comm.isend(mine, right, 6)?;
        add(digest, &comm.probe(Source::Any, 6)?);
        add(digest, &comm.recv(&mut got, left, 6)?);
        digest.of(&got);
        sent.wait()?;
    }
    Ok(())
}

/// Messages with the same envelope come in order, those of another communicator are not mixed in.
fn order(world: &Comm, copy: &Comm, digest: &mut Digest) -> Result<()> {
    let (left, right) = neighbours(world);
    for k in 0..300u64 {
        // Short and long ones overtake each other only where their tags differ.
        let length = LENGTHS[k as usize % 4];
        let comm = if k % 3 == 0 { copy } else { world };
        drop(comm.isend(vec![k; length + 1], right, (k % 5) as i32)?);
    }
    for k in (0..300u64).rev() {
        let comm = if k % 3 == 0 { copy } else { world };
        let mut got = vec![0u64; LENGTHS[3] + 1];
        add(digest, &comm.recv(&mut got, left, (k % 5) as i32)?);
        digest.of(&got[..1]);
    }
    // From each rank one, in any order.
    (0..world.size()).try_for_each(|to| world.send(&[world.rank().0], Rank(to), 40))?;
    let mut sum = 0;
    for _ in 0..world.size() {
        let mut one = [0u32];
        let status = world.recv(&mut one, Source::Any, 40)?;
        assert_eq!(status.source.0, one[0]);
        sum += one[0];
    }
    digest.of(&[sum]);
    Ok(())
}

/// More than a rank's memory for messages holds.
fn flood(world: &Comm, digest: &mut Digest) -> Result<()> {
    const MEGABYTE: usize = 1 << 17;
    let (left, right) = neighbours(world);
    let sent: Vec<_> = (0..24)
        .map(|tag| world.isend(numbers(tag, MEGABYTE), right, tag as i32))
        .collect::<Result<_>>()?;
    let mut got = vec![0u64; MEGABYTE];
    for tag in (0..24).rev() {
        add(digest, &world.recv(&mut got, left, tag)?);
        digest.of(&got[MEGABYTE - 2..]);
    }
    sent.into_iter().try_for_each(|sent| sent.wait().map(drop))
}

/// Probes that find nothing, matched messages, and receives that are cancelled.
fn matched(world: &Comm, digest: &mut Digest) -> Result<()> {
    let (left, right) = neighbours(world);
    assert!(world.iprobe(Source::Any, 50)?.is_none());
    world.barrier()?;
    for length in LENGTHS {
        let sent = world.issend(numbers(world.rank().0, length), right, 50)?;
        let found = world.match_message(Channel::Program, None, Some(50), true)?;
        let (message, status) = found.expect("it blocks");
        add(digest, &status);
        let mut got = vec![0u64; length];
        // SAFETY: nothing else uses the numbers until the request is complete.
        let into = unsafe { OriginMut::new(got.as_mut_ptr().cast(), length, Datatype::U64) };
        add(digest, &message.start_receive(into)?.wait()?);
        digest.of(&got);
        sent.wait()?;
    }
    let sent = world.issend(vec![1u8; 10], right, 50)?;
    // Dropped, it is taken all the same.
    drop(world.match_message(Channel::Program, Some(left), Some(50), true)?);
    sent.wait()?;
    world.barrier()?;
    assert!(world.iprobe(Source::Any, Tag::Any)?.is_none());
    let receive = world.irecv(vec![0u8; 4], Source::Any, 51)?;
    receive.cancel();
    add(digest, &receive.wait()?.1);
    world.barrier()
}

fn class<T>(digest: &mut Digest, result: Result<T>, wanted: ErrorClass) {
    let class = result.map(drop).expect_err("a mistake").class();
    assert_eq!(class, wanted);
    digest.add(format!("{class:?}").as_bytes());
}

fn mistakes(world: &Comm, digest: &mut Digest) -> Result<()> {
    let (left, right) = neighbours(world);
    let none = Rank(world.size());
    class(digest, world.send(&[1u8], none, 0), ErrorClass::Rank);
    class(digest, world.send(&[1u8], right, -3), ErrorClass::Tag);
    class(digest, world.recv(&mut [1u8], none, 0), ErrorClass::Rank);
    class(digest, world.irecv(vec![1u8], left, -3), ErrorClass::Tag);
    class(digest, world.ibroadcast(vec![1u8], none), ErrorClass::Root);
    for length in [2, 100_000] {
        let sent = world.issend(vec![1u8; length], right, 60)?;
        class(digest, world.recv(&mut [0u8], left, 60), ErrorClass::Truncate);
        sent.wait()?;
    }
    world.send(&[1u8], Rank::NULL, 0)?;
    add(digest, &world.recv(&mut [1u8], Rank::NULL, 0)?);
    world.barrier()
}

/// Every other element, from either side, in each mode.
fn layouts(world: &Comm, digest: &mut Digest) -> Result<()> {
    let (left, right) = neighbours(world);
    let every_other = DerivedDatatype::vector(1000, 1, 2, Datatype::U32)?.commit();
    let modes = [SendMode::Standard, SendMode::Synchronous, SendMode::Ready, SendMode::Buffered];
    for (mode, tag) in modes.into_iter().zip(70..) {
        let mine: Vec<u32> = (0..2000).map(|k| k ^ world.rank().0 << 16).collect();
        let mut got = vec![7u32; 2000];
        // SAFETY: nothing else uses the two buffers until the requests are complete.
        let origin = unsafe { Origin::new(mine.as_ptr().cast(), 1, &every_other) };
        // SAFETY: the same.
        let into = unsafe { OriginMut::new(got.as_mut_ptr().cast(), 1, &every_other) };
        let receive = world.start_receive(Channel::Program, into, Some(left), Some(tag))?;
        world.barrier()?;
        let send = world.start_send(Channel::Program, mode, origin, right, tag)?;
        send.wait()?;
        add(digest, &receive.wait()?);
        digest.of(&got);
    }
    Ok(())
}

/// Several that do not wait, under way together, and waited for in another order.
fn collectives(comm: &Comm, digest: &mut Digest) -> Result<()> {
    let (me, n) = (comm.rank().0, comm.size() as usize);
    let last = Rank(comm.size() - 1);
    for length in [1, 30, 30_000] {
        let mine = numbers(me, length);
        let barrier = comm.ibarrier()?;
        let broadcast = comm.ibroadcast(mine.clone(), last)?;
        let gather = comm.igather(mine.clone(), last)?;
        let scatter = comm.iscatter((me == 0).then(|| numbers(9, length * n)), length, Rank(0))?;
        // One that waits, between them.
        digest.of(&comm.allreduce(&mine, Op::Bxor)?);
        let allgather = comm.iallgather(mine.clone())?;
        let alltoall = comm.ialltoall(numbers(me, length * n))?;
        let reduce = comm.ireduce(mine.clone(), Op::Sum, Rank(0))?;
        let allreduce = comm.iallreduce(mine.clone(), Op::Max)?;
        let scan = comm.iscan(mine.clone(), Op::Sum)?;
        let exscan = comm.iexscan(mine.clone(), Op::Bxor)?;
        if me.is_multiple_of(2) {
            // The others wait for this rank first.
            comm.barrier()?;
        }
        digest.of(&exscan.wait()?.unwrap_or_default());
        digest.of(&scan.wait()?);
        digest.of(&allreduce.wait()?);
        digest.of(&reduce.wait()?.unwrap_or_default());
        if me % 2 == 1 {
            comm.barrier()?;
        }
        digest.of(&alltoall.wait()?);
        digest.of(&allgather.wait()?);
        digest.of(&scatter.wait()?);
        digest.of(&gather.wait()?.unwrap_or_default());
        digest.of(&broadcast.wait()?);
        barrier.wait()?;
    }
    Ok(())
}

fn persistent(comm: &Comm, digest: &mut Digest) -> Result<()> {
    let handle = comm.for_persistent_collective();
    for k in 0..3u64 {
        let (mine, mut sum) = ([k + 1, u64::from(comm.rank().0)], [0u64; 2]);
        // SAFETY: nothing else uses the numbers until the request is complete.
        let origin = unsafe { Origin::new(mine.as_ptr().cast(), 2, Datatype::U64) };
        // SAFETY: the same.
        let into = unsafe { OriginMut::new(sum.as_mut_ptr().cast(), 2, Datatype::U64) };
        handle.start_allreduce(Some(origin), into, Combine::of(Op::Sum))?.wait()?;
        digest.of(&sum);
    }
    Ok(())
}

/// Four partitions to three, three times.
fn partitioned(world: &Comm, digest: &mut Digest) -> Result<()> {
    const ALL: usize = 12 * 5000;
    let (left, right) = neighbours(world);
    let (mut mine, mut got) = (vec![0u64; ALL], vec![0u64; ALL]);
    let (from, to) = (mine.as_mut_ptr(), got.as_mut_ptr());
    // SAFETY: nothing else uses the numbers between start and wait.
    let origin = unsafe { Origin::new(from.cast(), ALL, Datatype::U64) };
    // SAFETY: the same.
    let into = unsafe { OriginMut::new(to.cast(), ALL, Datatype::U64) };
    let send = world.init_partitioned_send(origin, 4, right, 80)?;
    let receive = world.init_partitioned_receive(into, 3, left, 80)?;
    for k in 0..3 {
        let values = numbers(world.rank().0 + k, ALL);
        // SAFETY: the send is not active; as many numbers.
        unsafe { from.copy_from_nonoverlapping(values.as_ptr(), ALL) };
        receive.start()?;
        send.start()?;
        for partition in [2, 0, 3, 1] {
            send.ready(&[partition])?;
        }
        receive.wait()?;
        send.wait()?;
        // SAFETY: the receive is complete.
        digest.of(unsafe { std::slice::from_raw_parts(to, ALL) });
    }
    Ok(())
}

/// Rank 0 and all others.
fn between_groups(world: &Comm, digest: &mut Digest) -> Result<()> {
    if world.size() == 1 {
        return Ok(());
    }
    let (first, others) = (world.group().incl(&[0])?, world.group().excl(&[0])?);
    let bridge = match world.rank() {
        Rank(0) => Bridge::new(world, &first, &others)?,
        _ => Bridge::new(world, &others, &first)?,
    };
    for length in [1, 30_000] {
        let (mine, mut sum) = (numbers(world.rank().0, length), vec![0u64; length]);
        // SAFETY: nothing else uses the numbers until the request is complete.
        let origin = unsafe { Origin::new(mine.as_ptr().cast(), length, Datatype::U64) };
        // SAFETY: the same.
        let into = unsafe { OriginMut::new(sum.as_mut_ptr().cast(), length, Datatype::U64) };
        bridge.start_allreduce(Some(origin), into, Combine::of(Op::Sum))?.wait()?;
        digest.of(&sum);
    }
    Ok(())
}

/// A call that waits for the other ranks.
type Elsewhere<'a> = &'a dyn Fn(&mut Window<u64>);

/// A message is received whatever its receiver waits for (MPI-4.1 §3.5).
fn elsewhere(world: &Comm) -> Result<()> {
    let mut window = Window::<u64>::allocate(world, 1)?;
    let all: [Elsewhere<'_>; 7] = [
        &|_| world.barrier().unwrap(),
        &|window| drop(window.fence().unwrap().close()),
        &|_| drop(world.allreduce(&[1u8], Op::Sum).unwrap()),
        &|_| drop(world.dup().unwrap()),
        &|_| drop(world.split(Some(1), 0).unwrap()),
        &|_| drop(world.create_group(&world.group(), 3).unwrap()),
        &|_| Window::<u8>::allocate(world, 3).unwrap().free().unwrap(),
    ];
    let (left, right) = neighbours(world);
    for elsewhere in all {
        for length in [1, 300_000] {
            let receive = world.irecv(vec![0u64; length], left, 90)?;
            if world.rank().0.is_multiple_of(2) && world.size() > 1 {
                elsewhere(&mut window);
                world.ssend(&vec![8u64; length], right, 90)?;
            } else {
                world.ssend(&vec![8u64; length], right, 90)?;
                elsewhere(&mut window);
            }
            assert_eq!(receive.wait()?.0, vec![8; length]);
        }
    }
    window.free()
}

/// Ranks that call different things get an error, and go on.
fn disagreement(world: &Comm, digest: &mut Digest) -> Result<()> {
    if world.size() == 1 {
        return Ok(());
    }
    let error = match world.rank().0 {
        0 => world.iallreduce(vec![1u8], Op::Sum)?.wait().map(drop),
        _ => world.iallreduce(vec![1u8, 2], Op::Sum)?.wait().map(drop),
    };
    digest.add(format!("{:?}", error.expect_err("a mistake").class()).as_bytes());
    let error = match world.rank().0 {
        0 => world.ibarrier()?.wait(),
        _ => world.iallgather(vec![1u8])?.wait().map(drop),
    };
    digest.add(format!("{:?}", error.expect_err("a mistake").class()).as_bytes());
    digest.of(&world.iallreduce(vec![2u32], Op::Prod)?.wait()?);
    Ok(())
}

/// Threads of each rank, each with a communicator of its own, and one that they share.
pub fn threads(world: &Comm) -> Result<()> {
    const THREADS: i32 = 3;
    let own: Vec<Comm> = (0..THREADS).map(|_| world.dup()).collect::<Result<_>>()?;
    let (left, right) = neighbours(world);
    let run = |thread: i32, own: &Comm| {
        for k in 0..60u64 {
            let length = LENGTHS[k as usize % LENGTHS.len()];
            let mine = vec![k; length + 1];
            let sent = world.isend(mine, right, thread)?;
            let sum = own.iallreduce(vec![k; length + 1], Op::Sum)?;
            let mut got = vec![0u64; length + 1];
            world.recv(&mut got, left, thread)?;
            assert_eq!(got, vec![k; length + 1]);
            sent.wait()?;
            if k % 7 == 0 {
                own.barrier()?;
            }
            assert_eq!(sum.wait()?, vec![k * u64::from(own.size()); length + 1]);
        }
        Result::Ok(())
    };
    std::thread::scope(|scope| {
        let all: Vec<_> =
            (0..).zip(&own).map(|(thread, own)| scope.spawn(move || run(thread, own))).collect();
        all.into_iter().try_for_each(|thread| thread.join().expect("a thread that returns"))
    })?;
    own.into_iter().try_for_each(Comm::free)
}

/// What is under way when its sender leaves arrives all the same; what no rank receives is in no one's way.
fn left_behind(world: &Comm) -> Result<()> {
    let (left, right) = neighbours(world);
    world.send(&vec![1u8; 100_000], right, 100)?;
    world.send(&[3u8; 5], right, 101)?;
    let mut got = [0u8; 5];
    world.recv(&mut got, left, 101)?;
    assert_eq!(got, [3; 5]);
    Ok(())
}

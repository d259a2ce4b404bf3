//! What the ranks do: a walk through every call that moves, synchronises, creates or frees, with
//! checks of what arrives. A rank that finds something wrong panics; the error of a call ends the walk,
//! and what becomes of the window that it was about, [`Trip::keep`] decides.

use crate::trip::Trip;
use onesided::hooks::{Event, Site, delay};
use onesided::{
    Access, Comm, Complex, FenceAssert, LockType, Memory, Op, PassiveAccess, Rank, Request, Result,
    Source, Tag, Until, Window, WindowOptions,
};
use onesided_tools::{DistributedCounter, WindowMutex, WindowQueue};
use std::cell::Cell;

/// Elements of a large transfer: more than test builds copy in one go.
const LARGE: usize = 10_000;

/// One time through everything.
pub fn walk(trip: &Trip<'_>) -> Result<()> {
    collectives(&trip.comm)?;
    communicators(trip)?;
    operations(trip)?;
    accumulates(trip)?;
    post_start_complete_wait(trip)?;
    locks(trip)?;
    lock_all(trip)?;
    flavours(trip)?;
    waiting(trip)?;
    messages(trip)?;
    tools(trip)
}

struct Ring {
    me: u32,
    n: u32,
    right: Rank,
    left: u32,
}

impl Ring {
    fn of(world: &Comm) -> Ring {
        let (me, n) = (world.rank().0, world.size());
        Ring { me, n, right: Rank((me + 1) % n), left: (me + n - 1) % n }
    }
}

fn collectives(world: &Comm) -> Result<()> {
    let Ring { me, n, .. } = Ring::of(world);
    let all_ranks: Vec<u32> = (0..n).collect();
    let sum = n * (n - 1) / 2;
    world.barrier()?;
    let mut value = [if me == 0 { 7 } else { 0 }];
    world.broadcast(&mut value, Rank(0))?;
    assert_eq!(value, [7]);
    assert_eq!(world.allgather(&[me])?, all_ranks);
    let gathered = world.gather(&[me], Rank(n - 1))?;
    assert!(gathered.is_none_or(|all| all == all_ranks));
    let all = (me == 0).then_some(&all_ranks[..]);
    assert_eq!(world.scatter(all, Rank(0))?, [me]);
    assert_eq!(world.alltoall(&vec![me; n as usize])?, all_ranks);
    let reduced = world.reduce(&[me], Op::Sum, Rank(0))?;
    assert!(reduced.is_none_or(|all| all == [sum]));
    assert_eq!(world.allreduce(&[me], Op::Sum)?, [sum]);
    assert_eq!(world.scan(&[1], Op::Sum)?, [me + 1]);
    let before = world.exscan(&[1], Op::Sum)?;
    assert!(before.is_none_or(|before| before == [me]));
    assert_eq!(world.reduce_scatter_block(&all_ranks, Op::Max)?, [me]);
    let longer = vec![me; me as usize + 1];
    let lengths: Vec<usize> = world.allgatherv(&longer)?.iter().map(|part| part.len()).collect();
    assert!(lengths.into_iter().eq(1..=n as usize));
    // More than one stage.
    let long = vec![u64::from(me); 3000];
    assert!(world.allgather(&long)?.chunks(3000).zip(0..).all(|(part, rank)| part[0] == rank));
    Ok(())
}

fn communicators(trip: &Trip<'_>) -> Result<()> {
    let world = &trip.comm;
    let copy = trip.make("dup", || world.dup())?;
    copy.barrier()?;
    let colour = world.rank().0 % 2;
    let half = trip.make("split", || world.split(Some(colour), 0))?.expect("a colour");
    half.barrier()?;
    trip.make(&format!("free-half-{colour}"), || half.free())?;
    let ends = [0, world.size() - 1];
    let some = world.group().incl(if world.size() > 1 { &ends } else { &ends[..1] })?;
    let few = trip.make("create", || copy.create(&some))?;
    // Whom these two miss, the others miss in the call behind it, which all make.
    if let Some(few) = few {
        few.barrier()?;
        trip.make("free-few", || few.free())?;
        let few = trip.make("create_group", || world.create_group(&some, 3))?;
        few.barrier()?;
        trip.make("free-group", || few.free())?;
    }
    trip.make("free-copy", || copy.free())
}

fn operations(trip: &Trip<'_>) -> Result<()> {
    let Ring { me, right, left, .. } = Ring::of(&trip.comm);
    let options = WindowOptions::new().name("large");
    let window = trip.make("large", || options.allocate::<u64>(&trip.comm, LARGE))?;
    let value = u64::from(left) + 1;
    // What has arrived of a put is what was put.
    let check = |window: &Window<u64>, _: &Comm| {
        let mut all = vec![0; LARGE];
        window.load(0, &mut all)?;
        assert!(all.into_iter().all(|one| one == 0 || one == value), "foreign data");
        Ok(())
    };
    trip.keep("large", window, check, |window| {
        let mine = vec![u64::from(me) + 1; LARGE];
        let mut back = vec![0; LARGE];
        let epoch = window.fence_with(FenceAssert::NOPRECEDE)?;
        epoch.put(&mine, right, 0)?;
        let epoch = epoch.fence()?;
        epoch.get(&mut back, right, 0)?;
        epoch.close()?;
        assert_eq!(back, mine);
        let local = window.lock_local()?;
        assert!(local.iter().all(|one| *one == value));
        local.unlock()
    })
}

fn accumulates(trip: &Trip<'_>) -> Result<()> {
    let (world, n) = (&trip.comm, u64::from(trip.comm.size()));
    let counts = trip.make("counts", || Window::<u64>::allocate(world, 1024))?;
    let done = Cell::new(false);
    // What those who live have added is there; the dead may have added some of theirs.
    let check = |window: &Window<u64>, rest: &Comm| {
        let least = rest.allreduce(&[u64::from(done.get())], Op::Sum)?[0];
        let mut all = vec![0; 1024];
        window.load(0, &mut all)?;
        let range = if world.rank() == 0 { least..=n } else { 0..=0 };
        assert!(all.iter().all(|one| range.contains(one)), "{range:?} are in {all:?}");
        Ok(())
    };
    trip.keep("counts", counts, check, |counts| {
        let epoch = counts.fence()?;
        epoch.accumulate(&[1; 1024], Op::Sum, Rank(0), 0)?;
        done.set(true);
        epoch.close()?;
        if world.rank() == 0 {
            assert_eq!(counts.load_one(1023)?, n);
        }
        wide(trip, n)
    })
}

fn wide(trip: &Trip<'_>, n: u64) -> Result<()> {
    let world = &trip.comm;
    let wide = trip.make("wide", || Window::<Complex<f64>>::allocate(world, 1024))?;
    let check = |window: &Window<Complex<f64>>, _: &Comm| {
        let mut all = vec![Complex::new(0.0, 0.0); 1024];
        window.load(0, &mut all)?;
        let fits = |one: &Complex<f64>| one.re.fract() == 0.0 && (0.0..=n as f64).contains(&one.re);
        assert!(all.iter().all(fits), "{all:?}");
        Ok(())
    };
    trip.keep("wide", wide, check, |wide| {
        let ones = [Complex::new(1.0, -1.0); 1024];
        let epoch = wide.fence()?;
        epoch.accumulate(&ones, Op::Sum, Rank(0), 0)?;
        epoch.close()?;
        if world.rank() == 0 {
            assert_eq!(wide.load_one(1023)?, Complex::new(n as f64, -(n as f64)));
        }
        Ok(())
    })
}

fn post_start_complete_wait(trip: &Trip<'_>) -> Result<()> {
    let world = &trip.comm;
    let Ring { me, right, left, .. } = Ring::of(world);
    let options = WindowOptions::new().name("halo");
    let window = trip.make("halo", || options.allocate::<u64>(world, 1))?;
    let (to, from) = (world.group().incl(&[right.0])?, world.group().incl(&[left])?);
    let mine = [u64::from(me)];
    trip.keep("halo", window, anything, |window| {
        for _ in 0..2 {
            let (mut access, mut exposure) = window.sides();
            let exposed = exposure.post(&from)?;
            let epoch = access.start(&to)?;
            epoch.put(&mine, right, 0)?;
            epoch.complete()?;
            exposed.wait()?;
            assert_eq!(window.load_one(0)?, u64::from(left));
        }
        Ok(())
    })
}

/// No check of the data.
fn anything<T: onesided::Element>(_: &Window<T>, _: &Comm) -> Result<()> {
    Ok(())
}

/// Every rank waits for the lock, asleep, while rank 0 holds it.
fn contend(trip: &Trip<'_>, window: &mut Window<u64>, kind: LockType, round: u32) -> Result<()> {
    let world = &trip.comm;
    let Ring { me, n, .. } = Ring::of(world);
    let one = [1];
    if me == 0 {
        let held = window.lock(LockType::Exclusive, Rank(0))?;
        (1..n).for_each(|_| world.signal(trip.held()));
        world.await_signal_of_members(trip.asleep(), round * (n - 1))?;
        held.accumulate(&one, Op::Sum, Rank(0), 0)?;
        held.unlock()?;
    } else {
        world.await_signal_of_members(trip.held(), round * (n - 1))?;
        delay(Event::MemSync(Site::ParkWaiter), trip.report_asleep());
        let held = window.lock(kind, Rank(0))?;
        held.accumulate(&one, Op::Sum, Rank(0), 0)?;
        held.unlock()?;
    }
    world.barrier()
}

fn locks(trip: &Trip<'_>) -> Result<()> {
    let (world, round) = (&trip.comm, trip.round);
    let n = world.size();
    let options = WindowOptions::new().name("locked");
    let window = trip.make("locked", || options.allocate::<u64>(world, 1))?;
    trip.keep("locked", window, anything, |window| {
        world.barrier()?;
        contend(trip, window, LockType::Shared, 2 * round - 1)?;
        contend(trip, window, LockType::Exclusive, 2 * round)?;
        for _ in 0..4 {
            let held = window.lock(LockType::Exclusive, Rank(0))?;
            let mut now = [0];
            let batch = held.batch();
            batch.get(&mut now, Rank(0), 0)?;
            batch.flush()?;
            let next = [now[0] + 1];
            let batch = held.batch();
            batch.put(&next, Rank(0), 0)?;
            batch.flush_local()?;
            held.unlock()?;
        }
        world.barrier()?;
        if world.rank() == 0 {
            assert_eq!(window.load_one(0)?, 6 * u64::from(n));
        }
        Ok(())
    })
}

fn lock_all(trip: &Trip<'_>) -> Result<()> {
    let world = &trip.comm;
    let Ring { me, n, right, left } = Ring::of(world);
    let options = WindowOptions::new().name("passive");
    let window = trip.make("passive", || options.allocate::<u64>(world, 3))?;
    trip.keep("passive", window, anything, |window| {
        let mine = [u64::from(me)];
        let mut back = [0];
        let all = window.lock_all()?;
        all.put(&mine, right, 0)?;
        all.flush(right)?;
        all.flush_local(right)?;
        all.flush_local_all()?;
        all.flush_all()?;
        all.window().sync();
        let adding = all.raccumulate(&[2], Op::Sum, Rank(0), 1)?;
        Request::wait_all(&mut [all.rget(&mut back, right, 0)?, adding]);
        let before = all.fetch_and_op_flush(1, Op::Sum, Rank(0), 2)?;
        assert!(before < u64::from(n));
        all.compare_and_swap_flush(u64::MAX, u64::MAX, right, 0)?;
        all.unlock_all()?;
        assert_eq!(back, mine);
        world.barrier()?;
        assert_eq!(window.load_one(0)?, u64::from(left));
        if me == 0 {
            assert_eq!(window.load_one(1)?, 2 * u64::from(n));
            assert_eq!(window.load_one(2)?, u64::from(n));
        }
        Ok(())
    })
}

fn flavours(trip: &Trip<'_>) -> Result<()> {
    let (universe, world) = (trip.universe, &trip.comm);
    let zeros = vec![0; world.ranks().len()];
    let around_zeros = |window: &mut Window<u64>| around(world, window, &zeros);
    let window = trip.make("private", || Window::create(world, vec![0u64; 2]))?;
    trip.keep("private", window, anything, around_zeros)?;
    let memory = universe.alloc_mem::<u64>(2)?;
    let window = trip.make("created", || Window::create(world, memory))?;
    trip.keep("created", window, anything, around_zeros)?;
    let window = trip.make("shared", || Window::allocate_shared(world, 2))?;
    trip.keep("shared", window, anything, |window| {
        around(world, window, &zeros)?;
        window.shared_part(Rank(0))?.load_one(0).map(drop)
    })?;
    for (name, memory) in
        [("own", Memory::from(vec![0u64; 2])), ("allocated", universe.alloc_mem(2)?)]
    {
        let window = trip.make(name, || Window::<u64>::create_dynamic(world))?;
        trip.keep(name, window, anything, |window| {
            let address = window.attach(memory)?;
            let disp = world.allgather(&[address])?;
            around(world, window, &disp)?;
            window.detach(address).map(drop)
        })?;
    }
    Ok(())
}

/// Puts and accumulates around the ring.
fn around(world: &Comm, window: &mut Window<u64>, disp: &[u64]) -> Result<()> {
    let Ring { me, right, left, .. } = Ring::of(world);
    let at = disp[right.index()];
    let mine = [u64::from(me) + 1];
    let epoch = window.fence()?;
    epoch.put(&mine, right, at as usize)?;
    let epoch = epoch.fence()?;
    epoch.accumulate(&[1], Op::Sum, right, at as usize)?;
    epoch.close()?;
    assert_eq!(window.load_one((disp[me as usize]) as usize)?, u64::from(left) + 2);
    world.barrier()
}

fn waiting(trip: &Trip<'_>) -> Result<()> {
    let world = &trip.comm;
    let Ring { me, right, left, .. } = Ring::of(world);
    let options = WindowOptions::new().name("inbox").notifications(1);
    let window = trip.make("inbox", || options.allocate::<u64>(world, 2))?;
    trip.keep("inbox", window, anything, |window| {
        let mine = [u64::from(me) + 1];
        let all = window.lock_all()?;
        let view = all.window();
        all.put_notify(&mine, right, 0, 0)?;
        all.flush_local(right)?;
        view.wait_notify(0, 1)?;
        assert_eq!(view.load_one(0)?, u64::from(left) + 1);
        // Rank 0 begins; every other rank passes on what has come.
        if me == 0 {
            all.put_flush(&[1], right, 1)?;
            view.wait_until(1, Until::Ne, 0)?;
        } else {
            let come = view.wait_until(1, Until::Gt, 0)?;
            all.put_flush(&[come + 1], right, 1)?;
        }
        all.unlock_all()
    })
}

fn messages(trip: &Trip<'_>) -> Result<()> {
    let world = &trip.comm;
    let Ring { me, right, left, .. } = Ring::of(world);
    // More than the first chunk of a queue holds, and more than a record.
    for k in 0..100 {
        let mut into = [0u32; 2];
        world.sendrecv(&[me, k], (right, 3), &mut into, (Rank(left), Tag::Any))?;
        assert_eq!(into, [left, k]);
    }
    let send = world.issend(vec![u64::from(me); LARGE], right, 4)?;
    assert_eq!(world.probe(Source::Any, 4)?.count::<u64>(), Some(LARGE));
    let mut into = vec![0u64; LARGE];
    world.recv(&mut into, Rank(left), 4)?;
    assert!(into.iter().all(|n| *n == u64::from(left)));
    send.wait().map(drop)
}

fn tools(trip: &Trip<'_>) -> Result<()> {
    let world = &trip.comm;
    let Ring { me, n, .. } = Ring::of(world);
    let mutex = trip.make("mutex", || WindowMutex::new(world, Rank(n - 1)))?;
    let counter = trip.make("counter", || DistributedCounter::new(world))?;
    let queue = trip.make("queue", || WindowQueue::<u64>::new(world, Rank(0), 2))?;
    for _ in 0..3 {
        let held = mutex.lock()?;
        counter.add(1)?;
        held.unlock()?;
    }
    assert!(counter.take_tickets(1)? < u64::from(n));
    if me == 0 {
        let items = (1..n).map(|_| queue.pop());
        assert_eq!(items.sum::<Result<u64>>()?, u64::from(n * (n - 1) / 2));
    } else {
        queue.push(me.into())?;
    }
    world.barrier()?;
    assert_eq!(counter.read()?, 3 * u64::from(n));
    trip.make("free-queue", || queue.free())?;
    trip.make("free-counter", || counter.free())?;
    trip.make("free-mutex", || mutex.free())
}

//! What the ranks do: a walk through every call that moves, synchronises, creates or frees, with
//! checks of what arrives. A rank that finds something wrong panics.

use onesided::hooks::{Event, Site, delay};
use onesided::{
    Access, Comm, Complex, DistributedCounter, FenceAssert, LockAssert, LockType, Memory, Op,
    PostAssert, Rank, Request, StartAssert, Universe, Until, Window, WindowMutex, WindowOptions,
    WindowQueue,
};

/// Elements of a large transfer: more than test builds copy in one go.
const LARGE: usize = 10_000;
/// Signals, by which ranks tell that they are about to sleep.
const HELD: usize = 0;
const ASLEEP: usize = 1;

/// One time through everything; `round` counts from 1.
pub fn walk(universe: &Universe, round: u32) {
    let world = universe.world();
    collectives(world);
    communicators(world);
    operations(world);
    accumulates(world);
    post_start_complete_wait(world);
    locks(world, round);
    lock_all(world);
    flavours(universe);
    waiting(world);
    tools(world);
}

struct Ring {
    me: u32,
    n: u32,
    right: Rank,
    left: u32,
}

impl Ring {
    fn of(world: &Comm) -> Ring {
        let (me, n) = (world.rank(), world.size());
        Ring { me, n, right: Rank((me + 1) % n), left: (me + n - 1) % n }
    }
}

fn collectives(world: &Comm) {
    let Ring { me, n, .. } = Ring::of(world);
    let everybody: Vec<u32> = (0..n).collect();
    let sum = n * (n - 1) / 2;
    world.barrier().unwrap();
    let mut told = [if me == 0 { 7 } else { 0 }];
    world.broadcast(&mut told, Rank(0)).unwrap();
    assert_eq!(told, [7]);
    assert_eq!(world.allgather(&[me]).unwrap(), everybody);
    let gathered = world.gather(&[me], Rank(n - 1)).unwrap();
    assert!(gathered.is_none_or(|all| all == everybody));
    let all = (me == 0).then_some(&everybody[..]);
    assert_eq!(world.scatter(all, Rank(0)).unwrap(), [me]);
    assert_eq!(world.alltoall(&vec![me; n as usize]).unwrap(), everybody);
    let reduced = world.reduce(&[me], Op::Sum, Rank(0)).unwrap();
    assert!(reduced.is_none_or(|all| all == [sum]));
    assert_eq!(world.allreduce(&[me], Op::Sum).unwrap(), [sum]);
    assert_eq!(world.scan(&[1], Op::Sum).unwrap(), [me + 1]);
    let before = world.exscan(&[1], Op::Sum).unwrap();
    assert!(before.is_none_or(|before| before == [me]));
    assert_eq!(world.reduce_scatter_block(&everybody, Op::Max).unwrap(), [me]);
    let longer = vec![me; me as usize + 1];
    let lengths: Vec<usize> =
        world.allgatherv(&longer).unwrap().iter().map(|part| part.len()).collect();
    assert!(lengths.into_iter().eq(1..=n as usize));
    // More than one stage.
    let long = vec![u64::from(me); 3000];
    assert!(
        world.allgather(&long).unwrap().chunks(3000).zip(0..).all(|(part, rank)| part[0] == rank)
    );
}

fn communicators(world: &Comm) {
    let copy = world.dup().unwrap();
    copy.barrier().unwrap();
    let half = world.split(Some(world.rank() % 2), 0).unwrap().unwrap();
    half.barrier().unwrap();
    let some = world.group().incl(&[0, world.size() - 1]).unwrap();
    if let Some(few) = copy.create(&some).unwrap() {
        few.barrier().unwrap();
        few.free().unwrap();
    }
    if some.rank_of_world(world.rank()).is_some() {
        world.create_group(&some, 3).unwrap().free().unwrap();
    }
    half.free().unwrap();
    copy.free().unwrap();
}

fn operations(world: &Comm) {
    let Ring { me, right, left, .. } = Ring::of(world);
    let mut window: Window<u64> =
        WindowOptions::new().name("large").allocate(world, LARGE).unwrap();
    let mine = vec![u64::from(me) + 1; LARGE];
    let mut back = vec![0; LARGE];
    let epoch = window.fence(FenceAssert::NOPRECEDE).unwrap();
    epoch.put(&mine, right, 0).unwrap();
    let epoch = epoch.fence(FenceAssert::NONE).unwrap();
    epoch.get(&mut back, right, 0).unwrap();
    epoch.close(FenceAssert::NONE).unwrap();
    assert_eq!(back, mine);
    let local = window.lock_local().unwrap();
    assert!(local.iter().all(|value| *value == u64::from(left) + 1));
    local.unlock().unwrap();
    window.free().unwrap();
}

fn accumulates(world: &Comm) {
    let n = u64::from(world.size());
    let mut window = Window::<u64>::allocate(world, 1024).unwrap();
    let mut wide = Window::<Complex<f64>>::allocate(world, 1024).unwrap();
    let epoch = window.fence(FenceAssert::NONE).unwrap();
    epoch.accumulate(&[1; 1024], Op::Sum, Rank(0), 0).unwrap();
    epoch.close(FenceAssert::NONE).unwrap();
    let ones = [Complex::new(1.0, -1.0); 1024];
    let epoch = wide.fence(FenceAssert::NONE).unwrap();
    epoch.accumulate(&ones, Op::Sum, Rank(0), 0).unwrap();
    epoch.close(FenceAssert::NONE).unwrap();
    if world.rank() == 0 {
        assert_eq!(window.load_one(1023).unwrap(), n);
        assert_eq!(wide.load_one(1023).unwrap(), Complex::new(n as f64, -(n as f64)));
    }
    wide.free().unwrap();
    window.free().unwrap();
}

fn post_start_complete_wait(world: &Comm) {
    let Ring { me, right, left, .. } = Ring::of(world);
    let mut window: Window<u64> = WindowOptions::new().name("halo").allocate(world, 1).unwrap();
    let (to, from) = (world.group().incl(&[right.0]), world.group().incl(&[left]));
    let (to, from, mine) = (to.unwrap(), from.unwrap(), [u64::from(me)]);
    for _ in 0..2 {
        let (mut access, mut exposure) = window.sides();
        let exposed = exposure.post(&from, PostAssert::NONE).unwrap();
        let epoch = access.start(&to, StartAssert::NONE).unwrap();
        epoch.put(&mine, right, 0).unwrap();
        epoch.complete().unwrap();
        exposed.wait().unwrap();
        assert_eq!(window.load_one(0).unwrap(), u64::from(left));
    }
    window.free().unwrap();
}

/// Everybody waits for the lock, asleep, while rank 0 holds it.
fn contend(world: &Comm, window: &mut Window<u64>, kind: LockType, round: u32) {
    let Ring { me, n, .. } = Ring::of(world);
    let one = [1];
    if me == 0 {
        let held = window.lock(LockType::Exclusive, Rank(0), LockAssert::NONE).unwrap();
        (1..n).for_each(|_| world.signal(HELD));
        world.await_signal(ASLEEP, round * (n - 1));
        held.accumulate(&one, Op::Sum, 0).unwrap();
        held.unlock().unwrap();
    } else {
        world.await_signal(HELD, round * (n - 1));
        let comm = world.clone();
        delay(Event::MemSync(Site::ParkWaiter), move || comm.signal(ASLEEP));
        let held = window.lock(kind, Rank(0), LockAssert::NONE).unwrap();
        held.accumulate(&one, Op::Sum, 0).unwrap();
        held.unlock().unwrap();
    }
    world.barrier().unwrap();
}

fn locks(world: &Comm, round: u32) {
    let n = world.size();
    let mut window: Window<u64> = WindowOptions::new().name("locked").allocate(world, 1).unwrap();
    world.barrier().unwrap();
    contend(world, &mut window, LockType::Shared, 2 * round - 1);
    contend(world, &mut window, LockType::Exclusive, 2 * round);
    for _ in 0..4 {
        let held = window.lock(LockType::Exclusive, Rank(0), LockAssert::NONE).unwrap();
        let mut now = [0];
        let batch = held.batch();
        batch.get(&mut now, 0).unwrap();
        batch.flush().unwrap();
        let next = [now[0] + 1];
        let batch = held.batch();
        batch.put(&next, 0).unwrap();
        batch.flush_local().unwrap();
        held.unlock().unwrap();
    }
    world.barrier().unwrap();
    if world.rank() == 0 {
        assert_eq!(window.load_one(0).unwrap(), 6 * u64::from(n));
    }
    window.free().unwrap();
}

fn lock_all(world: &Comm) {
    let Ring { me, n, right, left } = Ring::of(world);
    let mut window: Window<u64> = WindowOptions::new().name("passive").allocate(world, 3).unwrap();
    let all = window.lock_all(LockAssert::NONE).unwrap();
    let mine = [u64::from(me)];
    let mut back = [0];
    all.put(&mine, right, 0).unwrap();
    all.flush(right).unwrap();
    all.flush_local(right).unwrap();
    all.flush_local_all().unwrap();
    all.flush_all().unwrap();
    all.window().sync();
    let adding = all.raccumulate(&[2], Op::Sum, Rank(0), 1).unwrap();
    Request::wait_all(&mut [all.rget(&mut back, right, 0).unwrap(), adding]);
    let before = all.fetch_and_op_flush(1, Op::Sum, Rank(0), 2).unwrap();
    assert!(before < u64::from(n));
    all.compare_and_swap_flush(u64::MAX, u64::MAX, right, 0).unwrap();
    all.unlock_all().unwrap();
    assert_eq!(back, mine);
    world.barrier().unwrap();
    assert_eq!(window.load_one(0).unwrap(), u64::from(left));
    if me == 0 {
        assert_eq!(window.load_one(1).unwrap(), 2 * u64::from(n));
        assert_eq!(window.load_one(2).unwrap(), u64::from(n));
    }
    window.free().unwrap();
}

fn flavours(universe: &Universe) {
    let world = universe.world();
    let zeros = vec![0; world.size() as usize];
    around(world, Window::create(world, vec![0u64; 2]).unwrap(), &zeros).free().unwrap();
    let memory = universe.alloc_mem::<u64>(2).unwrap();
    around(world, Window::create(world, memory).unwrap(), &zeros).free().unwrap();
    let window = around(world, Window::allocate_shared(world, 2).unwrap(), &zeros);
    window.shared_part(Rank(0)).unwrap().load_one(0).unwrap();
    window.free().unwrap();
    for memory in [Memory::from(vec![0u64; 2]), universe.alloc_mem(2).unwrap()] {
        let window = Window::<u64>::create_dynamic(world).unwrap();
        let address = window.attach(memory).unwrap();
        let disp = world.allgather(&[address]).unwrap();
        let window = around(world, window, &disp);
        drop(window.detach(address).unwrap());
        window.free().unwrap();
    }
}

/// Puts and accumulates around the ring.
fn around(world: &Comm, mut window: Window<u64>, disp: &[u64]) -> Window<u64> {
    let Ring { me, right, left, .. } = Ring::of(world);
    let at = disp[right.0 as usize];
    let mine = [u64::from(me) + 1];
    let epoch = window.fence(FenceAssert::NONE).unwrap();
    epoch.put(&mine, right, at).unwrap();
    let epoch = epoch.fence(FenceAssert::NONE).unwrap();
    epoch.accumulate(&[1], Op::Sum, right, at).unwrap();
    epoch.close(FenceAssert::NONE).unwrap();
    assert_eq!(window.load_one(disp[me as usize]).unwrap(), u64::from(left) + 2);
    world.barrier().unwrap();
    window
}

fn waiting(world: &Comm) {
    let Ring { me, right, left, .. } = Ring::of(world);
    let options = WindowOptions::new().name("inbox").notifications(1);
    let mut window: Window<u64> = options.allocate(world, 2).unwrap();
    let all = window.lock_all(LockAssert::NONE).unwrap();
    let view = all.window();
    let mine = [u64::from(me) + 1];
    all.put_notify(&mine, right, 0, 0).unwrap();
    all.flush_local(right).unwrap();
    view.wait_notify(0, 1).unwrap();
    assert_eq!(view.load_one(0).unwrap(), u64::from(left) + 1);
    // Rank 0 begins; everybody else passes on what has come.
    if me == 0 {
        all.put_flush(&[1], right, 1).unwrap();
        view.wait_until(1, Until::Ne, 0).unwrap();
    } else {
        let come = view.wait_until(1, Until::Gt, 0).unwrap();
        all.put_flush(&[come + 1], right, 1).unwrap();
    }
    all.unlock_all().unwrap();
    window.free().unwrap();
}

fn tools(world: &Comm) {
    let Ring { me, n, .. } = Ring::of(world);
    let mutex = WindowMutex::new(world, Rank(n - 1)).unwrap();
    let counter = DistributedCounter::new(world).unwrap();
    let queue = WindowQueue::<u64>::new(world, Rank(0), 2).unwrap();
    for _ in 0..3 {
        let held = mutex.lock().unwrap();
        counter.add(1).unwrap();
        held.unlock().unwrap();
    }
    assert!(counter.take_tickets(1).unwrap() < u64::from(n));
    if me == 0 {
        let items = (1..n).map(|_| queue.pop().unwrap());
        assert_eq!(items.sum::<u64>(), u64::from(n * (n - 1) / 2));
    } else {
        queue.push(me.into()).unwrap();
    }
    world.barrier().unwrap();
    assert_eq!(counter.read().unwrap(), 3 * u64::from(n));
    queue.free().unwrap();
    counter.free().unwrap();
    mutex.free().unwrap();
}

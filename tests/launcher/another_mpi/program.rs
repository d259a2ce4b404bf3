//! One program for every launcher: each operation of the typed face, by each kind of epoch, on each
//! type that stands for a datatype. What it prints is a digest of all that it was given and holds.

use onesided::{
    Access, Comm, Complex, DoubleInt, Element, FloatInt, Group, Integer, LockType, LongInt, Op,
    PassiveAccess, Rank, Result, Shape, SharedPart, ShortInt, TwoInt, Window, WindowOptions,
};

/// Elements of a part, and where in it the owner has stored some to be read.
const PART: usize = 32;
const STORED: u64 = 16;

const ALL: [Op; 12] = [
    Op::Sum,
    Op::Prod,
    Op::Max,
    Op::Min,
    Op::Land,
    Op::Lor,
    Op::Lxor,
    Op::Band,
    Op::Bor,
    Op::Bxor,
    Op::Replace,
    Op::NoOp,
];
const FLOATING: [Op; 6] = [Op::Sum, Op::Prod, Op::Max, Op::Min, Op::Replace, Op::NoOp];
const COMPLEX: [Op; 4] = [Op::Sum, Op::Prod, Op::Replace, Op::NoOp];
const LOCATED: [Op; 4] = [Op::Maxloc, Op::Minloc, Op::Replace, Op::NoOp];

/// Runs it; the digest, the same on all ranks.
pub fn run(world: &Comm) -> Result<u64> {
    let mut digest = Digest::new();
    macro_rules! integers {
        ($($integer:ty)*) => {$(
            every(world, &ALL, |n| n as $integer, &mut digest)?;
            swaps(world, |n| n as $integer, &mut digest)?;
        )*};
    }
    integers!(i8 i16 i32 i64 u8 u16 u32 u64);
    every(world, &FLOATING, f32::from, &mut digest)?;
    every(world, &FLOATING, f64::from, &mut digest)?;
    every(world, &COMPLEX, |n| Complex::new(f32::from(n), 1.0), &mut digest)?;
    every(world, &COMPLEX, |n| Complex::new(f64::from(n), 1.0), &mut digest)?;
    every(world, &LOCATED, |n| FloatInt::new(n.into(), n.into()), &mut digest)?;
    every(world, &LOCATED, |n| DoubleInt::new(n.into(), n.into()), &mut digest)?;
    every(world, &LOCATED, |n| LongInt::new(n.into(), n.into()), &mut digest)?;
    every(world, &LOCATED, |n| TwoInt::new(n.into(), n.into()), &mut digest)?;
    every(world, &LOCATED, |n| ShortInt::new(n.into(), n.into()), &mut digest)?;
    for options in [WindowOptions::new(), WindowOptions::new().noncontig()] {
        shares(world, &options, &mut digest)?;
    }
    let all = world.allgather(&[digest.0])?;
    all.iter().for_each(|one| digest.add(&one.to_ne_bytes()));
    Ok(digest.0)
}

/// FNV-1a.
pub struct Digest(pub u64);

impl Digest {
    pub fn new() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }

    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    pub fn of<T: Element>(&mut self, values: &[T]) {
        self.add(bytemuck::cast_slice(values));
    }
}

/// What the operations of one epoch move.
struct Buffers<T> {
    put: [T; 3],
    origin: [T; 4],
    got: [T; 3],
    before: [T; 4],
    old: T,
}

impl<T: Element> Buffers<T> {
    fn new(value: &impl Fn(u8) -> T, from: u8) -> Buffers<T> {
        let values = |k: u8| value(from.wrapping_add(k) % 90 + 1);
        Buffers {
            put: [0, 1, 2].map(values),
            origin: [3, 4, 5, 6].map(values),
            got: [T::zeroed(); 3],
            before: [T::zeroed(); 4],
            old: T::zeroed(),
        }
    }

    fn digest(&self, digest: &mut Digest) {
        digest.of(&self.got);
        digest.of(&self.before);
        digest.of(&[self.old]);
    }
}

/// Operations on `target`, each where no other is.
fn operate<'b, T: Element>(
    epoch: &impl Access<'b, T>,
    buffers: &'b mut Buffers<T>,
    op: Op,
    target: Rank,
) -> Result<()> {
    let Buffers { put, origin, got, before, old } = buffers;
    let (origin, put) = (&*origin, &*put);
    epoch.put(put, target, 0)?;
    epoch.accumulate(&origin[..1], op, target, 3)?;
    epoch.accumulate(origin, op, target, 4)?;
    let (first, rest) = before.split_at_mut(2);
    epoch.get_accumulate(&origin[..2], first, op, target, 8)?;
    epoch.get_accumulate_shaped(&origin[..2], rest, op, target, 10, &Shape::strided(2, 1, 2)?)?;
    epoch.fetch_and_op(&origin[0], old, op, target, 14)?;
    let (two, one) = got.split_at_mut(2);
    epoch.get(two, target, STORED as usize)?;
    epoch.get_shaped(one, target, (STORED + 2) as usize, &Shape::strided(1, 1, 1)?)?;
    epoch.put_shaped(put, target, (STORED + 4) as usize, &Shape::strided(3, 1, 2)?)?;
    epoch.accumulate_shaped(
        &origin[..2],
        op,
        target,
        (STORED + 10) as usize,
        &Shape::strided(2, 1, 3)?,
    )
}

/// Each operation of `ops`, by each kind of epoch.
fn every<T: Element>(
    world: &Comm,
    ops: &[Op],
    value: impl Fn(u8) -> T,
    digest: &mut Digest,
) -> Result<()> {
    let mut window = Window::<T>::allocate(world, PART)?;
    let (me, n) = (world.rank().0, world.size());
    let (next, last) = (Rank((me + 1) % n), Rank((me + n - 1) % n));
    let group = |rank: Rank| Group::incl(&world.group(), &[rank.0]);
    for (k, op) in (0..).zip(ops) {
        let stored: Vec<T> = (0..PART).map(|i| value((i as u8 + k) % 50 + me as u8)).collect();
        window.store(0, &stored)?;
        let mut buffers = [0, 7, 14, 21].map(|from| Buffers::new(&value, from + k + me as u8));
        let [fenced, started, shared, all] = &mut buffers;
        let epoch = window.fence()?;
        operate(&epoch, fenced, *op, next)?;
        epoch.close()?;

        let (origins, targets) = (group(last)?, group(next)?);
        let (mut access, mut exposure) = window.sides();
        let exposed = exposure.post(&origins)?;
        let epoch = access.start(&targets)?;
        operate(&epoch, started, *op, next)?;
        epoch.complete()?;
        exposed.wait()?;
        world.barrier()?;

        let epoch = window.lock(LockType::Shared, next)?;
        let Buffers { put, origin, got, before, old } = shared;
        epoch.put(put, next, 0)?;
        epoch.accumulate(origin, *op, next, 3)?;
        epoch.get_accumulate(origin, before, *op, next, 7)?;
        epoch.fetch_and_op(&origin[0], old, *op, next, 11)?;
        epoch.flush()?;
        epoch.rget(got, next, STORED as usize)?.wait();
        epoch.unlock()?;
        world.barrier()?;

        let epoch = window.lock_all()?;
        operate(&epoch, all, *op, next)?;
        epoch.flush_all()?;
        epoch.unlock_all()?;
        world.barrier()?;
        buffers.iter().for_each(|buffers| buffers.digest(digest));
        digest.of(&window.lock_local()?);
        world.barrier()?;
    }
    window.free()
}

/// What integers have besides; and a word that all ranks update, by locks of both kinds.
fn swaps<T: Integer>(world: &Comm, value: impl Fn(u8) -> T, digest: &mut Digest) -> Result<()> {
    let mut window = Window::<T>::allocate(world, 4)?;
    let mine = [value(world.rank().0 as u8 + 1)];
    for round in 0..3 {
        let next = Rank((world.rank().0 + 1) % world.size());
        let [mut hit, mut miss] = [value(99); 2];
        let (new, zero, other) = (value(round + 1), value(round), value(77));
        let epoch = window.lock_all()?;
        epoch.compare_and_swap(&new, &zero, &mut hit, next, 0)?;
        epoch.compare_and_swap(&new, &other, &mut miss, next, 0)?;
        epoch.accumulate(&mine, Op::Sum, Rank(0), 1)?;
        epoch.unlock_all()?;
        // Not lost, because each holds the lock alone.
        let (mut sum, more) = ([value(0)], &mut [value(0)]);
        let epoch = window.lock(LockType::Exclusive, Rank(0))?;
        let batch = epoch.batch();
        batch.get(&mut sum, Rank(0), 2)?;
        batch.flush()?;
        more[0] = T::function(Op::Sum).expect("of integers")(sum[0], mine[0]);
        epoch.put(more, Rank(0), 2)?;
        epoch.unlock()?;
        digest.of(&[hit, miss]);
        world.barrier()?;
    }
    digest.of(&window.lock_local()?);
    window.free()
}

/// Loads and stores of another rank's part, among operations on it: they take effect in the order of the calls.
fn shares(world: &Comm, options: &WindowOptions, digest: &mut Digest) -> Result<()> {
    let (me, n) = (world.rank().0, world.size());
    let len = |rank: u32| 3 + rank as usize;
    let mut window: Window<u64> = options.allocate_shared(world, len(me))?;
    let next = Rank((me + 1) % n);
    let last = len(next.0) - 1;
    let (one, two) = ([u64::from(me) + 100], [u64::from(me) + 200, 7]);
    let stored: Vec<u64> = (0..len(me) as u64).map(|k| 10 * u64::from(me) + k).collect();
    window.store(0, &stored)?;
    let epoch = window.fence()?;
    let view = epoch.window();
    let theirs = view.shared_part(next)?;
    assert_eq!(theirs.len(), len(next.0));
    let mut found = vec![0; theirs.len()];
    theirs.load(0, &mut found)?;
    digest.of(&found);
    epoch.put(&two, next, 0)?;
    assert_eq!(theirs.load_one(0)?, two[0]);
    theirs.store_one(1, 8)?;
    epoch.accumulate(&one, Op::Sum, next, 1)?;
    assert_eq!(theirs.load_one(1)?, one[0] + 8);
    epoch.accumulate(&one, Op::Sum, next, last)?;
    theirs.store(last, &two[..1])?;
    epoch.close()?;
    let mut mine = vec![0; len(me)];
    window.load(0, &mut mine)?;
    digest.of(&mine);
    digest.of(&[are_in_one_run(&window, n)?]);
    window.free()
}

/// Whether each part begins where that of the rank before it ends.
fn are_in_one_run(window: &Window<u64>, ranks: u32) -> Result<u8> {
    let parts: Result<Vec<_>> = (0..ranks).map(|rank| window.shared_part(Rank(rank))).collect();
    let is_next =
        |of: &[SharedPart<'_, u64>]| of[0].as_ptr().wrapping_add(of[0].len()) == of[1].as_ptr();
    Ok(parts?.windows(2).all(is_next).into())
}

//! Waiting for values that other ranks write.

use super::{part, same_digests};
use onesided::prelude::*;
use onesided::{Error, Integer, Result, Until, WindowOptions};

/// A token goes round several times, by each way of writing; each rank looks at what came with it.
fn ring<T: Integer + std::fmt::Debug>(world: &Comm, value: impl Fn(u32) -> T) -> Result<()> {
    let mut window = Window::<T>::allocate(world, 8)?;
    let (me, n) = (world.rank().0, world.size());
    let next = Rank((me + 1) % n);
    let epoch = window.lock_all()?;
    assert_eq!(epoch.window().test_until(0, Until::Ne, T::zeroed())?, None);
    world.barrier()?;
    for round in 1..=6 {
        let (token, data) = (value(round), [value(round + 20); 3]);
        let pass = || -> Result<()> {
            // The data may come before the token, or with it.
            let batch = epoch.batch();
            batch.put(&data, next, 1)?;
            batch.flush()?;
            match round % 3 {
                0 => epoch.put_flush(&[token], next, 0),
                1 => epoch.fetch_and_op_flush(token, Op::Replace, next, 0).map(drop),
                _ => epoch.compare_and_swap_flush(token, value(round - 1), next, 0).map(drop),
            }
        };
        if me == 0 {
            pass()?;
        }
        assert_eq!(epoch.window().wait_until(0, Until::Eq, token)?, token);
        assert_eq!(epoch.window().test_until(0, Until::Ge, token)?, Some(token));
        let mut found = [T::zeroed(); 3];
        epoch.window().load(1, &mut found)?;
        assert_eq!(found, data);
        if me != 0 {
            pass()?;
        }
        world.barrier()?;
    }
    epoch.unlock_all()?;
    window.free()
}

/// Elements of other ranks, own stores, and what is refused.
fn others(world: &Comm) -> Result<()> {
    let win = WindowOptions::new().allocate_bytes(world, 20, 1)?;
    let last = Rank(world.size() - 1);
    win.lock_all()?;
    if world.rank() == last {
        win.store(8, &[77u64])?;
        win.sync();
    }
    assert_eq!(win.wait_until_at(last, 8, Until::Gt, 0u64)?, 77);
    let refused = |disp| win.test_until(disp, Until::Eq, 0u64).unwrap_err();
    assert!(matches!(refused(13), Error::Range { .. }));
    assert!(matches!(refused(1), Error::Alignment { .. }));
    let error = win.wait_until_at(Rank(world.size()), 0, Until::Eq, 0u64).unwrap_err();
    assert!(matches!(error, Error::TargetRank { .. }));
    win.unlock_all()?;
    world.barrier()?;
    win.free()
}

/// Each call that notifies, on counters of which ranks have different numbers.
fn notified(world: &Comm) -> Result<()> {
    let (me, n) = (world.rank().0, world.size());
    let (next, last) = (Rank((me + 1) % n), Rank((me + n - 1) % n));
    let options = WindowOptions::new().notifications(me + 1);
    let mut window = options.allocate::<u64>(world, 300)?;
    window.store(200, &[u64::from(me); 10])?;
    world.barrier()?;
    let (values, ones) = ([u64::from(me) + 5; 100], [1; 10]);
    let mut got = [0; 10];
    let epoch = window.lock_all()?;
    assert!(!epoch.window().test_notify(0, 1)?);
    world.barrier()?;
    for (i, value) in values.iter().enumerate() {
        epoch.put(std::slice::from_ref(value), next, i)?;
    }
    epoch.notify(next, next.0)?;
    epoch.window().wait_notify(me, 1)?;
    assert_eq!(epoch.window().load_one(99)?, u64::from(last.0) + 5);
    epoch.put_notify(&values[..3], next, 100, next.0)?;
    epoch.accumulate_notify(&ones, Op::Sum, next, 100, next.0)?;
    epoch.get_notify(&mut got, next, 200, 0)?;
    let mine = if me == 0 { 3 } else { 2 };
    while epoch.window().notifications(me)? < mine {}
    assert!(epoch.window().test_notify(me, mine)? && !epoch.window().test_notify(me, 1)?);
    if me != 0 {
        epoch.window().wait_notify(0, 1)?;
    }
    assert_eq!(epoch.window().load_one(102)?, u64::from(last.0) + 6);
    assert_eq!(epoch.window().notifications(me)?, 0);
    for refused in [
        epoch.notify(next, next.0 + 1),
        epoch.put_notify(&ones, next, 0, u32::MAX),
        epoch.window().wait_notify(me + 1, 1),
        epoch.window().wait_notify(0, 1 << 31),
    ] {
        assert!(matches!(refused.unwrap_err(), Error::Argument { .. }));
    }
    epoch.notify(Rank::NULL, 9)?;
    epoch.unlock_all()?;
    assert_eq!(got, [u64::from(next.0); 10]);
    world.barrier()?;
    window.free()
}

#[test]
fn waits_end_with_the_values_that_they_wait_for() {
    if part().is_some() {
        let universe = Universe::init().expect("a rank joins its job");
        let world = universe.world();
        let run = || -> Result<()> {
            ring(world, |n| n as u8)?;
            ring(world, |n| n as i32)?;
            ring(world, u64::from)?;
            others(world)?;
            notified(world)
        };
        run().expect("a program without mistakes");
        if world.rank() == 0 {
            println!("digest of nothing");
        }
        return;
    }
    [true, false].into_iter().for_each(|is_local| same_digests("waits", is_local));
}

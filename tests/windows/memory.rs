//! Windows as memory: attributes, many of them, their end, and what they may not be
//! (MPI-2.2 §11.2).

use crate::support::{job, needs_rmarun, occupied, spmd};
use onesided::{
    Access, Comm, Error, ErrorClass, FenceAssert, LockType, Op, Rank, Window, WindowOptions,
};
use std::mem::ManuallyDrop;

#[test]
fn attributes_are_those_given() {
    spmd(3, |world| {
        let me = world.rank().0;
        let sizes = [5usize, 0, 1000];
        let options = WindowOptions::new().name("halo").disp_unit([2, 4, 1000][me as usize]);
        let window: Window<u32> = options.allocate(world, sizes[me as usize]).unwrap();
        assert_eq!((&*window.name(), window.len()), ("halo", sizes[me as usize]));
        for rank in 0..3 {
            let bytes = 4 * sizes[rank as usize] as u64;
            assert_eq!(window.size(Rank(rank)).unwrap(), bytes as usize);
            assert_eq!(window.disp_unit(Rank(rank)).unwrap(), [2, 4, 1000][rank as usize]);
        }
        assert_eq!(window.size(Rank(3)).unwrap_err().class(), ErrorClass::Rank);
        assert_eq!(window.disp_unit(Rank::NULL).unwrap_err().class(), ErrorClass::Rank);
        assert_eq!(window.group(), world.group());
        assert_eq!((window.comm().rank().0, window.comm().size()), (me, 3));
        assert!(window.base().is_aligned());
        assert_eq!(window.base() as usize % if me == 2 { 128 } else { 1 }, 0);
        window.free().unwrap();
    });
}

#[test]
fn names_may_be_missing_long_or_foreign() {
    spmd(2, |world| {
        let (first, second) =
            (Window::<u8>::allocate(world, 1).unwrap(), Window::<u8>::allocate(world, 1).unwrap());
        assert!(!first.name().is_empty());
        assert_ne!(first.name(), second.name());
        for name in ["", "ein Fenster für 窓", &"x".repeat(1000), &"ü".repeat(50)] {
            let window: Window<u8> = WindowOptions::new().name(name).allocate(world, 1).unwrap();
            assert_eq!(window.name(), name);
            assert!(window.load(2, &mut [0]).unwrap_err().to_string().contains(name));
            window.free().unwrap();
        }
        first.free().unwrap();
        second.free().unwrap();
    });
}

#[test]
fn thousands_of_windows_live_at_once() {
    if needs_rmarun("thousands of windows") {
        return;
    }
    const WINDOWS: usize = 3000;
    spmd(2, |world| {
        let mut windows: Vec<Window<u32>> =
            (0..WINDOWS).map(|k| Window::allocate(world, 1 + k % 70).unwrap()).collect();
        let other = Rank(1 - world.rank().0);
        for (k, window) in windows.iter_mut().enumerate() {
            let value = [k as u32 * 2 + world.rank().0];
            let epoch = window.lock(LockType::Exclusive, other).unwrap();
            epoch.put(&value, other, k % 70).unwrap();
            epoch.unlock().unwrap();
        }
        world.barrier().unwrap();
        for (k, window) in windows.iter().enumerate() {
            let found = window.load_one(k % 70).unwrap();
            assert_eq!(found, k as u32 * 2 + other.0, "window {k}");
        }
        // In an order that is neither that of creation nor its reverse.
        while !windows.is_empty() {
            let k = windows.len() * 7 / 11;
            windows.swap_remove(k).free().unwrap();
        }
    });
}

/// Sizes from a byte to two megabytes.
fn size(k: usize) -> usize {
    (k * 7919) % [16, 5000, 300_000, 2 << 20][k % 4] + 1
}

fn churn(world: &Comm, rounds: usize) {
    let mut live: Vec<Window<u8>> = Vec::new();
    for k in 0..rounds {
        let window = Window::<u8>::allocate(world, size(k + world.rank().index())).unwrap();
        window.store(0, &vec![0xFF; window.len()]).unwrap();
        live.push(window);
        if live.len() > 8 {
            live.swap_remove(k * 5 % 8).free().unwrap();
        }
    }
    live.into_iter().for_each(|window| window.free().unwrap());
}

/// Info key `onesided_reserve`: without it, an unnamed memory file has a page when it is touched.
#[test]
fn memory_is_taken_when_it_is_touched_or_when_that_is_asked_for() {
    const BYTES: usize = 32 << 20;
    let outcome = job(2, &["--segment-size=256M"], |world| {
        let (own, other) = (world.rank(), Rank(1 - world.rank().0));
        let taken = |options: &WindowOptions, asked: usize, touched: usize| {
            world.barrier().unwrap();
            let before = occupied();
            let mut window: Window<u8> = options.clone().allocate(world, BYTES).unwrap();
            let data = vec![own.0 as u8; touched];
            let most = before + (asked + (1 << 20)) as u64;
            assert!((before + asked as u64..most).contains(&occupied()), "{}", occupied() - before);
            let epoch = window.fence().unwrap();
            epoch.put(&data, other, BYTES - touched).unwrap();
            epoch.close().unwrap();
            let most = most + 2 * touched as u64;
            assert!(occupied() >= before + 2 * touched as u64 && occupied() < most);
            assert_eq!(window.load_one(BYTES - 1).unwrap(), other.0 as u8);
            assert_eq!(window.load_one(0).unwrap(), 0);
            window.free().unwrap();
            world.barrier().unwrap();
            assert!(occupied() <= before + (1 << 16), "{}", occupied() - before);
        };
        let lazy = occupied_on_touch();
        taken(&WindowOptions::new(), if lazy { 0 } else { 2 * BYTES }, 4 << 20);
        taken(&WindowOptions::new().reserve(), 2 * BYTES, 4 << 20);
        // One rank's wish is for its part alone.
        if lazy && own == Rank(1) {
            taken(&WindowOptions::new().reserve(), BYTES, 4 << 20);
        } else if lazy {
            taken(&WindowOptions::new(), BYTES, 4 << 20);
        }
    });
    if let Some(outcome) = outcome {
        assert!(outcome.status.success(), "{}:\n{}", outcome.status, outcome.output);
    }
}

/// Whether the job's segment is a memory file, and the kernel has no account of each page.
fn occupied_on_touch() -> bool {
    let accounting = std::fs::read_to_string("/proc/sys/vm/overcommit_memory").unwrap();
    accounting.trim() != "2" && crate::support::segment().is_empty()
}

/// Windows that are not touched count against the memory that later ones can have.
#[test]
fn windows_together_are_refused_what_the_machine_does_not_have() {
    let outcome = job(2, &["--segment-size=1T"], |world| {
        if !occupied_on_touch() {
            return;
        }
        let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap();
        let available = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
        let kib: u64 = available.unwrap().trim().trim_end_matches("kB").trim().parse().unwrap();
        // Six tenths of it, over both ranks.
        let mut bytes = [kib * 1024 * 6 / 10 / 2];
        world.broadcast(&mut bytes, Rank(0)).unwrap();
        let part = bytes[0];
        let first = WindowOptions::new().allocate_bytes(world, part, 1).unwrap();
        let refused = WindowOptions::new().allocate_bytes(world, part, 1).expect_err("too much");
        assert_eq!(refused.class(), ErrorClass::NoMem, "{refused}");
        first.free().unwrap();
        WindowOptions::new().allocate_bytes(world, part, 1).unwrap().free().unwrap();
    });
    if let Some(outcome) = outcome {
        assert!(outcome.status.success(), "{}:\n{}", outcome.status, outcome.output);
    }
}

#[test]
fn freed_windows_give_their_memory_back() {
    let outcome = job(2, &["--segment-size=64M"], |world| {
        churn(world, 20);
        world.barrier().unwrap();
        let before = occupied();
        world.barrier().unwrap();
        churn(world, 300);
        world.barrier().unwrap();
        assert!(occupied() <= before, "{} bytes, before {before}", occupied());
        world.barrier().unwrap();
        // No fragment is left: nearly the whole segment is one block again.
        let half: Window<u8> = WindowOptions::new().reserve().allocate(world, 31 << 20).unwrap();
        assert!(occupied() >= before + (62 << 20));
        half.free().unwrap();
        world.barrier().unwrap();
        assert!(occupied() <= before, "{} bytes, before {before}", occupied());
    });
    if let Some(outcome) = outcome {
        assert!(outcome.status.success(), "{}:\n{}", outcome.status, outcome.output);
    }
}

#[test]
fn a_window_is_zero_also_where_another_was() {
    spmd(2, |world| {
        for k in 0..60 {
            let window = Window::<u8>::allocate(world, size(k)).unwrap();
            let mut bytes = vec![1; window.len()];
            window.load(0, &mut bytes).unwrap();
            assert!(bytes.iter().all(|byte| *byte == 0), "window {k}");
            window.store(0, &vec![0xFF; window.len()]).unwrap();
            if k % 3 != 0 {
                window.free().unwrap();
            }
        }
    });
}

#[test]
fn a_window_is_zero_also_at_the_edges_of_where_another_was() {
    spmd(1, |world| {
        for len in (1..20_000).step_by(617) {
            // Between windows that stay, so that the pages at its edges are not given back.
            let _before = Window::<u8>::allocate(world, 1).unwrap();
            let old = Window::<u8>::allocate(world, len).unwrap();
            let _behind = Window::<u8>::allocate(world, 1).unwrap();
            old.store(0, &vec![0xFF; len]).unwrap();
            old.free().unwrap();
            let new = Window::<u8>::allocate(world, len).unwrap();
            let mut bytes = vec![1; len];
            new.load(0, &mut bytes).unwrap();
            assert_eq!(bytes.iter().position(|byte| *byte != 0), None, "{len} bytes");
            new.store(0, &bytes).unwrap();
        }
    });
}

/// After a refusal the job goes on.
fn goes_on(world: &Comm) {
    let mut window = Window::<u64>::allocate(world, 1).unwrap();
    let epoch = window.fence().unwrap();
    epoch.accumulate(&[1], Op::Sum, Rank(0), 0).unwrap();
    epoch.close().unwrap();
    if world.rank() == 0 {
        assert_eq!(window.load_one(0).unwrap(), u64::from(world.size()));
    }
    window.free().unwrap();
}

/// What `bytes(rank)` and `unit(rank)` give, as the same class on every rank.
fn refused(world: &Comm, bytes: impl Fn(u32) -> u64, unit: impl Fn(u32) -> u64) -> Error {
    let (bytes, unit) = (bytes(world.rank().0), unit(world.rank().0));
    let error = WindowOptions::new().allocate_bytes(world, bytes, unit).expect_err("a refusal");
    let class = [error.class() as u32];
    assert_eq!(world.allgather(&class).unwrap(), vec![class[0]; world.ranks().len()]);
    assert!(error.to_string().contains("window allocate"), "{error}");
    goes_on(world);
    error
}

#[test]
fn more_than_the_memory_is_refused_on_every_rank() {
    spmd(3, |world| {
        let error = refused(world, |rank| if rank == 1 { 1 << 50 } else { 8 }, |_| 1);
        assert_eq!(error.class(), ErrorClass::NoMem);
        assert!(error.to_string().contains(&format!("by rank {}", world.rank().0)), "{error}");
        let Error::NoMemory { requested, available, .. } = error else { panic!("{error}") };
        assert!(requested > 1 << 50 && available > 0 && available < 1 << 50);
        if needs_rmarun("a sum over the ranks of one node") {
            return;
        }
        // Less than the segment's length, which is the machine's memory, but more than is free.
        let error = refused(world, |_| available / 3, |_| 1);
        assert_eq!(error.class(), ErrorClass::NoMem);
    });
}

#[test]
fn more_than_the_segment_is_refused_on_every_rank() {
    let outcome = job(3, &["--segment-size=16M"], |world| {
        let error = refused(world, |rank| if rank == 2 { 17 << 20 } else { 0 }, |_| 1);
        assert_eq!(error.class(), ErrorClass::NoMem);
        // Each alone would fit.
        assert_eq!(refused(world, |_| 6 << 20, |_| 1).class(), ErrorClass::NoMem);
        let held = Window::<u8>::allocate(world, 4 << 20).unwrap();
        assert_eq!(refused(world, |_| 4 << 20, |_| 1).class(), ErrorClass::NoMem);
        held.free().unwrap();
        Window::<u8>::allocate(world, 4 << 20).unwrap().free().unwrap();
    });
    if let Some(outcome) = outcome {
        assert!(outcome.status.success(), "{}:\n{}", outcome.status, outcome.output);
    }
}

#[test]
fn sizes_beyond_all_arithmetic_are_refused_on_every_rank() {
    spmd(3, |world| {
        for bytes in [u64::MAX, u64::MAX - 127, 1 << 63, 1 << 62, u64::MAX / 3 + 1] {
            for rank in 0..3 {
                let error = refused(world, |r| if r == rank { bytes } else { 1 }, |_| 1);
                assert_eq!(error.class(), ErrorClass::Size, "{bytes}: {error}");
                assert!(error.to_string().contains(&format!("rank {rank}")), "{error}");
            }
            assert_eq!(refused(world, |_| bytes, |_| 1).class(), ErrorClass::Size);
        }
        // No single part is too large, but their sum is.
        assert_eq!(refused(world, |_| 1 << 61, |_| 1).class(), ErrorClass::Size);
        let elements = Window::<u64>::allocate(world, usize::MAX).err().unwrap();
        assert_eq!(elements.class(), ErrorClass::Size);
    });
}

#[test]
fn displacement_units_beyond_an_int_are_refused_on_every_rank() {
    spmd(3, |world| {
        for unit in [0, 1 << 31, u64::from(u32::MAX), 1 << 32, (1 << 32) + 1, u64::MAX] {
            let error = refused(world, |_| 8, |r| if r == 2 { unit } else { 1 });
            assert_eq!(error.class(), ErrorClass::Disp, "{error}");
            let text = error.to_string();
            // One that is negative in C is shown as such.
            let shown = if unit == u64::MAX { "-1".into() } else { unit.to_string() };
            assert!(text.contains("rank 2") && text.contains(&shown), "{text}");
        }
        let most = (1 << 31) - 1;
        let win = WindowOptions::new().allocate_bytes(world, 8, most).unwrap();
        assert_eq!(u64::from(win.disp_unit(Rank(1)).unwrap()), most);
        win.free().unwrap();
    });
}

/// Rank 1 leaves an epoch open by `leave`; then all ranks free.
fn free_after(world: &Comm, what: &str, leave: impl FnOnce(&mut Window<u64>)) {
    let mut window: Window<u64> = WindowOptions::new().name(what).allocate(world, 4).unwrap();
    if world.rank() == 1 {
        leave(&mut window);
    }
    world.barrier().unwrap();
    let error = window.free().expect_err(what);
    assert_eq!(error.class(), ErrorClass::RmaSync, "{error}");
    let text = error.to_string();
    assert!(text.contains("window free") && text.contains(what), "{text}");
    assert!(text.contains("rank 1"), "names the culprit: {text}");
    goes_on(world);
}

#[test]
fn free_with_an_open_epoch_fails_on_every_rank() {
    spmd(3, |world| {
        free_after(world, "locked", |window| {
            let epoch = window.lock(LockType::Exclusive, Rank(0)).unwrap();
            let _left = ManuallyDrop::new(epoch);
        });
        free_after(world, "locked all", |window| {
            let _left = ManuallyDrop::new(window.lock_all().unwrap());
        });
        free_after(world, "local", |window| {
            let _left = ManuallyDrop::new(window.lock_local().unwrap());
        });
        free_after(world, "posted", |window| {
            let group = window.group();
            let (_, mut exposure) = window.sides();
            let _dropped = exposure.post(&group).unwrap();
        });
    });
}

#[test]
fn free_with_operations_since_the_last_fence_fails_on_every_rank() {
    spmd(3, |world| {
        let mut window = Window::<u64>::allocate(world, 1).unwrap();
        let epoch = window.fence().unwrap();
        if world.rank() == 1 {
            epoch.put(&[7], Rank(0), 0).unwrap();
        }
        drop(epoch);
        assert_eq!(window.free().unwrap_err().class(), ErrorClass::RmaSync);
        goes_on(world);
    });
}

#[test]
fn free_in_a_fence_epoch_without_operations_is_legal() {
    spmd(2, |world| {
        let mut window = Window::<u64>::allocate(world, 1).unwrap();
        drop(window.fence().unwrap());
        window.free().unwrap();
    });
}

#[test]
fn free_of_different_windows_is_a_mismatch_on_every_rank() {
    spmd(3, |world| {
        let (first, second) = (
            Window::<u64>::allocate(world, 1).unwrap(),
            Window::<u64>::allocate(world, 1).unwrap(),
        );
        let (freed, left) = if world.rank() == 1 { (second, first) } else { (first, second) };
        let error = freed.free().unwrap_err();
        assert!(matches!(error, Error::Mismatch { .. }), "{error}");
        // Both keep their memory: a window allocated now is neither of them.
        left.store(0, &[7]).unwrap();
        goes_on(world);
        assert_eq!(left.load_one(0).unwrap(), 7);
    });
}

#[test]
fn a_dropped_window_waits_for_nobody() {
    spmd(2, |world| {
        for _ in 0..10 {
            let window = Window::<u64>::allocate(world, 1000).unwrap();
            if world.rank() == 0 {
                drop(window);
                continue;
            }
            // Its memory stays: the other rank may still be using it.
            let epoch = window.lock(LockType::Exclusive, Rank(0)).unwrap();
            epoch.put(&[1; 1000], Rank(0), 0).unwrap();
        }
        goes_on(world);
    });
}

/// The next call that the epoch does not admit names the line where it began; so does free.
#[test]
fn a_dropped_guard_of_a_fence_is_named_with_its_line() {
    spmd(2, |world| {
        let mut window = Window::<u64>::allocate(world, 1).unwrap();
        let other = Rank(1 - world.rank().0);
        let first = window.fence().unwrap();
        let (guard, line) = (first.fence().unwrap(), line!());
        guard.put(&[7], other, 0).unwrap();
        drop(guard);
        let expected = format!("the fence epoch of {}:{line} is open, because its guard", file!());
        let fails = |outcome: onesided::Result<()>| {
            let text = outcome.unwrap_err().to_string();
            assert!(text.contains(&expected), "no '{expected}' in: {text}");
        };
        fails(window.lock(LockType::Shared, other).map(drop));
        fails(window.lock_all().map(drop));
        fails(window.sides().0.start(&world.group()).map(drop));
        // A guard that is closed is not named.
        window.fence().unwrap().close().unwrap();
        window.lock(LockType::Shared, other).unwrap().unlock().unwrap();
        window.free().unwrap();
        let mut window = Window::<u64>::allocate(world, 1).unwrap();
        let (guard, line) = (window.fence().unwrap(), line!());
        guard.put(&[7], other, 0).unwrap();
        drop(guard);
        let text = window.free().unwrap_err().to_string();
        assert!(text.contains(&format!("memory.rs:{line} is open, because")), "{text}");
        // So does a fence that is refused while it is open; a step begins another epoch.
        let mut window = Window::<u64>::allocate(world, 1).unwrap();
        let mut guard = window.fence().unwrap();
        guard.step(|step| step.put(&[7], other, 0)).unwrap();
        let line = line!() - 1;
        guard.put(&[7], other, 0).unwrap();
        let text = guard.close_with(FenceAssert::NOPRECEDE).unwrap_err().to_string();
        assert!(text.contains("NOPRECEDE"), "{text}");
        let text = window.lock(LockType::Shared, other).unwrap_err().to_string();
        assert!(text.contains(&format!("memory.rs:{line} is open, because")), "{text}");
        window.fence().unwrap().close().unwrap();
        window.free().unwrap();
    });
}

/// So do the calls that an exposure epoch does not admit.
#[test]
fn a_dropped_guard_of_a_post_is_named_with_its_line() {
    if needs_rmarun("posts that others notice") {
        return;
    }
    spmd(2, |world| {
        let mut window = Window::<u64>::allocate(world, 1).unwrap();
        let (other, group) = (Rank(1 - world.rank().0), world.group());
        let line = line!() + 1;
        drop(window.sides().1.post(&group).unwrap());
        world.barrier().unwrap();
        let expected =
            format!("the exposure epoch of {}:{line} is open, because its guard", file!());
        let fails = |outcome: onesided::Result<()>| {
            let text = outcome.unwrap_err().to_string();
            assert!(text.contains(&expected), "no '{expected}' in: {text}");
        };
        fails(window.sides().1.post(&group).map(drop));
        fails(window.fence().map(drop));
        fails(window.lock_all().map(drop));
        fails(window.lock_local().map(drop));
        // What another rank's epoch does not admit is not about this one.
        let text = window.lock(LockType::Shared, other).unwrap_err().to_string();
        assert!(text.ends_with("has exposed its part by post"), "{text}");
        fails(window.free());
        // A guard that waits is not named.
        let mut window = Window::<u64>::allocate(world, 1).unwrap();
        let (mut access, mut exposure) = window.sides();
        let exposed = exposure.post(&group).unwrap();
        access.start(&group).unwrap().complete().unwrap();
        exposed.wait().unwrap();
        window.fence().unwrap().close().unwrap();
        window.free().unwrap();
    });
}

#[test]
fn epochs_of_one_window_are_not_those_of_another() {
    spmd(2, |world| {
        let (mut a, mut b) = (
            Window::<u64>::allocate(world, 2).unwrap(),
            Window::<u64>::allocate(world, 2).unwrap(),
        );
        let fenced = a.fence().unwrap();
        let locked = b.lock_all().unwrap();
        let other = Rank(1 - world.rank().0);
        fenced.put(&[3], other, 0).unwrap();
        locked.put(&[4], other, 0).unwrap();
        locked.unlock_all().unwrap();
        fenced.close().unwrap();
        assert_eq!((a.load_one(0).unwrap(), b.load_one(0).unwrap()), (3, 4));
        a.free().unwrap();
        b.free().unwrap();
    });
}

//! What a rank was writing when it was killed can be asked for, and nothing else is half written.

use super::{VICTIM, die, lost, survivors};
use onesided::engine::{Layout, Origin, Win};
use onesided::hooks::{Event, Step, delay};
use onesided::{
    Access, Call, Comm, CommittedDatatype, Datatype, DerivedDatatype, Op, Rank, Shape, Torn,
    Window, WindowOptions,
};
use std::sync::mpsc::{Receiver, channel};

/// Bytes of each rank's part.
const PART: usize = 1 << 20;
/// What was there before.
const OLD: u8 = 0x11;
/// What the victim writes.
const NEW: u8 = 0x22;

/// A window full of old bytes, in a lock_all epoch. Displacements are bytes.
fn old_window(world: &Comm) -> Win {
    let win = WindowOptions::new().name("torn").allocate_bytes(world, PART as u64, 1).unwrap();
    win.store(0, &vec![OLD; PART]).unwrap();
    win.lock_all().unwrap();
    assert_eq!(win.torn(), []);
    world.barrier().unwrap();
    win
}

/// The entry of a record, as the survivors must find it.
fn entry(call: Call, target: u32, start: u64, bytes: u64) -> (Rank, Call, Rank, u64, u64) {
    (Rank(VICTIM), call, Rank(target), start, bytes)
}

fn entries(torn: &[Torn]) -> Vec<(Rank, Call, Rank, u64, u64)> {
    torn.iter().map(|t| (t.origin, t.call, t.target, t.start, t.bytes)).collect()
}

/// The bytes of a rank's part.
fn bytes_of(win: &Win, rank: u32) -> Vec<u8> {
    let mut bytes = vec![0; PART];
    win.get(&mut bytes, Rank(rank), 0).unwrap();
    bytes
}

/// The victim dies at `middle` of what it `does`; returns the bytes of rank 0's part and the entries
/// that the others then find, before recovery and behind it.
fn killed_at(
    middle: Step,
    does: impl FnOnce(&Win),
    check: impl FnOnce(&[u8], &[(Rank, Call, Rank, u64, u64)]),
) {
    survivors(3, |world| {
        let mut win = old_window(world);
        if world.rank() == VICTIM {
            delay(Event::Step(middle), || die());
            does(&win);
            unreachable!("it does not pass there");
        }
        lost(world.barrier());
        let torn = win.torn();
        let bytes = bytes_of(&win, 0);
        win.recover().unwrap();
        assert_eq!(win.torn(), torn, "it stays until the window is freed");
        for rank in 1..3 {
            win.lock_all().unwrap();
            assert!(bytes_of(&win, rank).iter().all(|byte| *byte == OLD), "part of rank {rank}");
            win.unlock_all().unwrap();
        }
        check(&bytes, &entries(&torn));
        win.free().unwrap();
    });
}

/// What lies inside the entry is old or new, some of each; and what lies outside is old.
fn half_written(bytes: &[u8], start: usize, length: usize, new: impl Fn(u8) -> bool) {
    let (inside, outside) = (start..start + length, |i: &usize| *i < start || *i >= start + length);
    assert!((0..PART).filter(outside).all(|i| bytes[i] == OLD), "something else was written");
    let written = bytes[inside.clone()].iter().filter(|byte| **byte != OLD).count();
    assert!(written > 0 && written < length, "{written} bytes of {length} are new");
    assert!(bytes[inside].iter().all(|byte| *byte == OLD || new(*byte)), "neither old nor new");
}

#[test]
fn a_put() {
    killed_at(
        Step::MidPut,
        |win| win.put(&[NEW; 100_001], Rank(0), 7).unwrap(),
        |bytes, torn| {
            assert_eq!(torn, [entry(Call::Put, 0, 7, 100_001)]);
            half_written(bytes, 7, 100_001, |byte| byte == NEW);
        },
    );
}

#[test]
fn an_accumulate_of_many_elements() {
    killed_at(
        Step::MidAccumulate,
        |win| win.accumulate(&[0x1111_1111u32; 3000], Op::Sum, Rank(0), 64).unwrap(),
        |bytes, torn| {
            assert_eq!(torn, [entry(Call::Accumulate, 0, 64, 12_000)]);
            half_written(bytes, 64, 12_000, |byte| byte == NEW);
        },
    );
}

#[test]
fn an_accumulate_that_takes_turns() {
    killed_at(
        Step::MidAccumulate,
        |win| {
            let mut before = [0u32; 3000];
            let sum = [0x1111_1111u32; 3000];
            win.get_accumulate(&sum, &mut before, Op::Sum, Rank(0), 65).unwrap();
        },
        |bytes, torn| {
            assert_eq!(torn, [entry(Call::GetAccumulate, 0, 65, 12_000)]);
            half_written(bytes, 65, 12_000, |byte| byte == NEW);
        },
    );
}

/// The distance from the first byte to the last of 16 blocks of 8 KiB, 16 KiB apart.
const SPREAD: usize = 15 * (16 << 10) + (8 << 10);

fn blocks() -> CommittedDatatype {
    DerivedDatatype::vector(16, 1 << 10, 2 << 10, Datatype::U64).unwrap().commit()
}

/// Between the blocks nothing is written.
fn half_of_the_blocks(bytes: &[u8], start: usize) {
    half_written(bytes, start, SPREAD, |byte| byte == NEW);
    let between = (start..start + SPREAD).filter(|i| (i - start) % (16 << 10) >= 8 << 10);
    assert!({ between }.all(|i| bytes[i] == OLD), "between the blocks");
}

#[test]
fn a_put_of_a_layout() {
    let put = |win: &Win| {
        let from = vec![u64::from_ne_bytes([NEW; 8]); 16 << 10];
        // SAFETY: 1. and 2. a vector that lives until the call is over.
        let origin = unsafe { Origin::new(from.as_ptr().cast(), from.len(), Datatype::U64) };
        win.put_layout(origin, Rank(0), 800, Layout::new(1, &blocks())).unwrap();
    };
    killed_at(Step::MidPut, put, |bytes, torn| {
        assert_eq!(torn, [entry(Call::Put, 0, 800, SPREAD as u64)]);
        half_of_the_blocks(bytes, 800);
    });
}

#[test]
fn an_accumulate_of_a_layout() {
    let sum = |win: &Win| {
        let from = vec![u64::from_ne_bytes([NEW - OLD; 8]); 16 << 10];
        // SAFETY: as above.
        let origin = unsafe { Origin::new(from.as_ptr().cast(), from.len(), Datatype::U64) };
        win.accumulate_layout(origin, Op::Sum, Rank(0), 800, Layout::new(1, &blocks())).unwrap();
    };
    killed_at(Step::MidAccumulate, sum, |bytes, torn| {
        assert_eq!(torn, [entry(Call::Accumulate, 0, 800, SPREAD as u64)]);
        half_of_the_blocks(bytes, 800);
    });
}

#[test]
fn a_store_to_a_shared_part() {
    survivors(3, |world| {
        let window = Window::<u32>::allocate_shared(world, 100_000).unwrap();
        world.barrier().unwrap();
        if world.rank() == VICTIM {
            delay(Event::Step(Step::MidPut), || die());
            let part = window.shared_part(Rank(2)).unwrap();
            part.store(3, &[u32::from_ne_bytes([NEW; 4]); 50_000]).unwrap();
        }
        lost(world.barrier());
        let torn = window.torn();
        assert_eq!(entries(&torn), [entry(Call::SharedAccess, 2, 12, 200_000)]);
        let mut all = vec![0; 100_000];
        window.shared_part(Rank(2)).unwrap().load(0, &mut all).unwrap();
        let new = |element: &u32| *element == u32::from_ne_bytes([NEW; 4]);
        assert!(all[3..50_003].iter().any(new) && !all[3..50_003].iter().all(new));
        assert!(!all[..3].iter().chain(&all[50_003..]).any(new));
    });
}

#[test]
fn a_put_of_a_shape() {
    survivors(3, |world| {
        let mut window = Window::<u64>::allocate(world, 40_000).unwrap();
        if world.rank() == VICTIM {
            let (shape, ones) = (Shape::strided(1000, 10, 30).unwrap(), [1; 10_000]);
            let epoch = window.lock_all().unwrap();
            delay(Event::Step(Step::MidPut), || die());
            epoch.put_shaped(&ones, Rank(2), 5, &shape).unwrap();
        }
        lost(world.barrier());
        let bytes = (999 * 30 + 10) * 8;
        assert_eq!(entries(&window.torn()), [entry(Call::Put, 2, 40, bytes)]);
    });
}

#[test]
fn a_put_to_attached_memory() {
    survivors(3, |world| {
        let mut window = Window::<u64>::create_dynamic(world).unwrap();
        let mine = window.attach(vec![0; 20_000]).unwrap();
        let addresses = world.allgather(&[mine]).unwrap();
        if world.rank() == VICTIM {
            let epoch = window.lock_all().unwrap();
            delay(Event::Step(Step::MidPut), || die());
            // To itself: the kernel copies to others, in one step.
            epoch.put(&[1; 10_000], Rank(VICTIM), (mine + 8) as usize).unwrap();
        }
        lost(world.barrier());
        let first = addresses[VICTIM as usize] + 8;
        assert_eq!(entries(&window.torn()), [entry(Call::Put, VICTIM, first, 80_000)]);
    });
}

/// Never returns.
fn for_ever(nothing: &Receiver<()>) {
    nothing.recv().expect_err("no thread sends");
    unreachable!("the sender lives as long as the process");
}

/// Puts of as many threads, all of which are in the middle when the victim dies; its main thread has
/// stored before, and so has a record too.
fn killed_in_threads(threads: usize, check: impl FnOnce(&Win)) {
    survivors(3, |world| {
        let win = old_window(world);
        if world.rank() == VICTIM {
            let (arrived, arrivals) = channel();
            std::thread::scope(|scope| {
                for thread in 0..threads {
                    let (win, arrived) = (&win, arrived.clone());
                    scope.spawn(move || {
                        let (never, nothing) = channel();
                        delay(Event::Step(Step::MidPut), move || {
                            arrived.send(()).unwrap();
                            for_ever(&nothing);
                        });
                        win.put(&[NEW; 1 << 16], Rank(2), thread as u64).unwrap();
                        drop(never);
                    });
                }
                (0..threads).for_each(|_| arrivals.recv().unwrap());
                die();
            });
        }
        lost(world.barrier());
        check(&win);
    });
}

#[test]
fn the_puts_of_all_threads() {
    killed_in_threads(15, |win| {
        let mut torn = entries(&win.torn());
        torn.sort_unstable_by_key(|torn| torn.3);
        let expected: Vec<_> = (0..15).map(|at| entry(Call::Put, 2, at, 1 << 16)).collect();
        assert_eq!(torn, expected);
    });
}

#[test]
fn more_threads_than_there_are_records() {
    killed_in_threads(16, |win| {
        let whole = |rank| entry(Call::None, rank, 0, PART as u64);
        assert_eq!(entries(&win.torn()), [whole(0), whole(1), whole(2)]);
    });
}

#[test]
fn what_was_whole_is_not_torn() {
    survivors(3, |world| {
        let mut window = Window::<u64>::allocate(world, 16).unwrap();
        if world.rank() == VICTIM {
            let epoch = window.lock_all().unwrap();
            epoch.put(&[1; 16], Rank(0), 0).unwrap();
            epoch.accumulate(&[1; 16], Op::Sum, Rank(0), 0).unwrap();
            epoch.unlock_all().unwrap();
            window.store(0, &[3; 16]).unwrap();
            die();
        }
        lost(world.barrier());
        assert_eq!(window.torn(), []);
        window.recover().unwrap();
        assert_eq!(window.torn(), []);
        window.free().unwrap();
    });
}

#[test]
fn what_was_torn_in_another_window_is_not_in_this() {
    survivors(3, |world| {
        let (other, win) = (old_window(world), old_window(world));
        if world.rank() == VICTIM {
            delay(Event::Step(Step::MidPut), || die());
            win.put(&[NEW; 1 << 17], Rank(2), 0).unwrap();
        }
        lost(world.barrier());
        assert_eq!(entries(&win.torn()), [entry(Call::Put, 2, 0, 1 << 17)]);
        assert_eq!(other.torn(), []);
    });
}

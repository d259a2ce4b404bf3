//! Windows by create, allocate_shared and create_dynamic (MPI-2.2 §11.2.1, MPI-4.1 §12.2).
#![allow(unsafe_code, reason = "the engine exposes memory by address")]

mod support;

use onesided::{
    Access, Comm, ErrorClass, FenceAssert, Flavour, Group, LockAssert, LockType, Memory, Op,
    PostAssert, Rank, StartAssert, Universe, Window, WindowMemory, WindowOptions,
};
use support::{launch, spmd, universe};

/// Puts, gets and accumulates around the ring, by every kind of synchronisation.
fn exercise(world: &Comm, mut window: Window<u64>, disp: &[u64]) -> Window<u64> {
    let (me, n) = (world.rank(), world.size());
    let right = Rank((me + 1) % n);
    let at = disp[right.0 as usize];
    let unit = if window.flavour() == Flavour::Dynamic { 8 } else { 1 };

    let mine = [u64::from(me) + 100, 7];
    let epoch = window.fence(FenceAssert::NONE).unwrap();
    epoch.put(&mine, right, at).unwrap();
    epoch.accumulate(&[5], Op::Sum, Rank(0), disp[0] + 2 * unit).unwrap();
    epoch.close(FenceAssert::NONE).unwrap();
    let left = (me + n - 1) % n;
    let own = disp[me as usize];
    assert_eq!(window.load_one(own).unwrap(), u64::from(left) + 100);
    if me == 0 {
        assert_eq!(window.load_one(own + 2 * unit).unwrap(), 5 * u64::from(n));
    }
    world.barrier().unwrap();

    let everybody: Group = world.group();
    let (mut access, mut exposure) = window.sides();
    let exposed = exposure.post(&everybody, PostAssert::NONE).unwrap();
    let epoch = access.start(&everybody, StartAssert::NONE).unwrap();
    let mut got = [0];
    epoch.get(&mut got, right, at).unwrap();
    epoch.complete().unwrap();
    exposed.wait().unwrap();
    assert_eq!(got, [u64::from(me) + 100]);
    world.barrier().unwrap();

    for _ in 0..50 {
        let epoch = window.lock(LockType::Shared, Rank(0), LockAssert::NONE).unwrap();
        epoch.accumulate(&[1], Op::Sum, disp[0] + 2 * unit).unwrap();
        epoch.unlock().unwrap();
        let all = window.lock_all(LockAssert::NONE).unwrap();
        let before = all.fetch_and_op_flush(1, Op::Sum, Rank(0), disp[0] + 3 * unit).unwrap();
        let swapped = all.compare_and_swap_flush(before, u64::MAX, right, at + unit).unwrap();
        assert_ne!(swapped, u64::MAX);
        all.unlock_all().unwrap();
    }
    world.barrier().unwrap();
    if me == 0 {
        assert_eq!(window.load_one(own + 2 * unit).unwrap(), 55 * u64::from(n));
        assert_eq!(window.load_one(own + 3 * unit).unwrap(), 50 * u64::from(n));
    }
    world.barrier().unwrap();
    window
}

/// What ranks get wrong is refused, and changes nothing.
fn misuse(window: &mut Window<u64>, elements: u64) {
    let all = window.lock_all(LockAssert::NONE).unwrap();
    let batch = all.batch();
    assert_eq!(batch.put(&[1], Rank(0), elements).unwrap_err().class(), ErrorClass::RmaRange);
    assert_eq!(
        batch.put(&[1, 2], Rank(1), elements - 1).unwrap_err().class(),
        ErrorClass::RmaRange
    );
    assert_eq!(batch.put(&[1], Rank(1), u64::MAX / 4).unwrap_err().class(), ErrorClass::RmaRange);
    batch.put(&[], Rank(1), 0).unwrap();
}

fn over_a_vector(world: &Comm) {
    let window = Window::create(world, vec![0u64; 10]).unwrap();
    assert_eq!((window.flavour(), window.len()), (Flavour::Create, 10));
    let mut window = exercise(world, window, &vec![0; world.size() as usize]);
    if world.size() > 1 {
        misuse(&mut window, 10);
    }
    let memory = window.free_and_take().unwrap().pop().unwrap().into_memory().unwrap();
    assert_eq!(memory.into_vec().unwrap().len(), 10);
}

#[test]
fn create_over_a_vector_alone() {
    spmd(1, over_a_vector);
}

#[test]
fn create_over_a_vector_on_four_ranks() {
    spmd(4, over_a_vector);
}

fn over_memory_of_the_segment(universe: &Universe) {
    let world = universe.world();
    let memory = universe.alloc_mem::<u64>(10).unwrap();
    assert!(memory.iter().all(|element| *element == 0));
    let window = Window::create(world, memory).unwrap();
    let mut window = exercise(world, window, &vec![0; world.size() as usize]);
    if world.size() > 1 {
        misuse(&mut window, 10);
    }
    window.free().unwrap();
}

#[test]
fn create_over_memory_of_the_segment_alone() {
    universe(1, over_memory_of_the_segment);
}

#[test]
fn create_over_memory_of_the_segment_on_four_ranks() {
    universe(4, over_memory_of_the_segment);
}

#[test]
fn parts_of_one_window_may_differ_in_kind() {
    universe(4, |universe| {
        let world = universe.world();
        let memory: WindowMemory<u64> = match world.rank() {
            0 => vec![0; 6].into(),
            1 => universe.alloc_mem(7).unwrap().into(),
            2 => Box::leak(vec![0; 8].into_boxed_slice()).into(),
            _ => vec![0; 9].into_boxed_slice().into(),
        };
        let window = Window::create(world, memory).unwrap();
        for rank in 0..4 {
            assert_eq!(window.size(Rank(rank)).unwrap(), 8 * (6 + u64::from(rank)));
        }
        exercise(world, window, &[0; 4]).free().unwrap();
    });
}

#[test]
fn nobody_exposes_anything_and_some_expose_nothing() {
    spmd(3, |world| {
        Window::<u8>::create(world, vec![]).unwrap().free().unwrap();
        let mut window = Window::create(world, vec![9u8; 3 * (world.rank() % 2) as usize]).unwrap();
        let all = window.lock_all(LockAssert::NONE).unwrap();
        let mut got = [0; 3];
        all.get(&mut got, Rank(1), 0).unwrap();
        all.unlock_all().unwrap();
        assert_eq!(got, [9; 3]);
        window.free().unwrap();
    });
}

#[test]
fn large_private_transfers_are_whole() {
    spmd(2, |world| {
        const LEN: usize = 5_000_000;
        let mut window = Window::create(world, vec![0u32; LEN]).unwrap();
        let values: Vec<u32> = (0..LEN as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let mut back = vec![0; LEN];
        let other = Rank(1 - world.rank());
        let epoch = window.fence(FenceAssert::NONE).unwrap();
        epoch.put(&values, other, 0).unwrap();
        let epoch = epoch.fence(FenceAssert::NONE).unwrap();
        epoch.get(&mut back, other, 0).unwrap();
        let epoch = epoch.fence(FenceAssert::NONE).unwrap();
        epoch.accumulate(&values, Op::Bxor, other, 0).unwrap();
        epoch.close(FenceAssert::NONE).unwrap();
        assert_eq!(back, values);
        let local = window.lock_local().unwrap();
        assert!(local.iter().all(|value| *value == 0));
        drop(local);
        window.free().unwrap();
    });
}

#[test]
fn overlapping_windows_share_their_bytes_but_lend_no_slices() {
    universe(2, |universe| {
        let world = universe.world();
        for memory in [universe.alloc_mem::<u64>(8).unwrap(), Memory::from(vec![0u64; 8])] {
            let memory: WindowMemory<u64> = memory.into();
            assert!(memory.part(0..9).is_none());
            let mut low = Window::create(world, memory.part(0..6).unwrap()).unwrap();
            let mut high = Window::create(world, memory.part(4..8).unwrap()).unwrap();
            let other = Rank(1 - world.rank());
            let epoch = low.fence(FenceAssert::NONE).unwrap();
            epoch.put(&[1, 2, 3, 4, 5, 6], other, 0).unwrap();
            epoch.close(FenceAssert::NONE).unwrap();
            assert_eq!(high.load_one(1).unwrap(), 6);
            assert_eq!(high.lock_local().err().unwrap().class(), ErrorClass::RmaFlavor);
            let memory = memory.into_memory().unwrap_err();
            low.free().unwrap();
            high.free().unwrap();
            assert_eq!(memory.into_memory().unwrap()[..], [1, 2, 3, 4, 5, 6, 0, 0]);
        }
    });
}

#[test]
fn shared_windows_are_contiguous_unless_told_otherwise() {
    spmd(4, |world| {
        let me = world.rank();
        let len = |rank: u32| [3, 0, 5, 2][rank as usize];
        let window = Window::<u32>::allocate_shared(world, len(me)).unwrap();
        let parts: Vec<_> = (0..4).map(|rank| window.shared_part(Rank(rank)).unwrap()).collect();
        for rank in 0..3 {
            let end = parts[rank].as_ptr().wrapping_add(parts[rank].len());
            assert_eq!(end, parts[rank + 1].as_ptr());
        }
        assert_eq!(window.shared_part(Rank::NULL).unwrap().as_ptr(), parts[0].as_ptr());
        for (index, rank) in (0..len(me)).zip(me * 10..) {
            parts[me as usize].store_one(index, rank).unwrap();
        }
        window.sync();
        world.barrier().unwrap();
        window.sync();
        for rank in 0..4 {
            for index in 0..len(rank) {
                let value = parts[rank as usize].load_one(index).unwrap();
                assert_eq!(value, rank * 10 + index as u32);
            }
        }
        assert_eq!(parts[0].load_one(3).unwrap_err().class(), ErrorClass::RmaRange);
        assert_eq!(window.shared_part(Rank(4)).err().unwrap().class(), ErrorClass::Rank);
        world.barrier().unwrap();
        window.free().unwrap();

        let apart = WindowOptions::new().noncontig();
        let window: Window<u32> = apart.allocate_shared(world, len(me)).unwrap();
        assert_eq!(window.shared_part(Rank(3)).unwrap().as_ptr() as usize % 128, 0);
        exercise_locks(world, window);
    });
}

/// A shared window is a window like any other, but lends no slices.
fn exercise_locks(world: &Comm, mut window: Window<u32>) {
    assert_eq!(window.lock_local().err().unwrap().class(), ErrorClass::RmaFlavor);
    let epoch = window.fence(FenceAssert::NONE).unwrap();
    epoch.accumulate(&[1], Op::Sum, Rank(0), 0).unwrap();
    epoch.close(FenceAssert::NONE).unwrap();
    assert_eq!(window.shared_part(Rank(0)).unwrap().load_one(0).unwrap(), world.size());
    window.free().unwrap();
}

#[test]
fn allocated_windows_answer_shared_query_with_addresses() {
    universe(2, |universe| {
        let world = universe.world();
        let window = Window::<u64>::allocate(world, 4).unwrap();
        window.store(0, &[u64::from(world.rank()) + 1]).unwrap();
        window.sync();
        world.barrier().unwrap();
        let (len, start) = window.shared_query(Rank(1)).unwrap();
        assert_eq!(len, 4);
        // SAFETY: an element of the window, which nobody stores to after the barrier.
        assert_eq!(unsafe { start.read_volatile() }, 2);
        assert_eq!(window.shared_part(Rank(1)).err().unwrap().class(), ErrorClass::RmaFlavor);
        world.barrier().unwrap();
        window.free().unwrap();
        let private = Window::create(world, vec![1u64]).unwrap();
        assert_eq!(private.shared_query(Rank(1)).unwrap().0, 0);
        private.free().unwrap();
    });
}

#[test]
fn dynamic_windows_are_addressed_by_address() {
    universe(3, |universe| {
        let world = universe.world();
        for in_segment in [false, true] {
            let window = Window::<u64>::create_dynamic(world).unwrap();
            let memory: WindowMemory<u64> = match in_segment {
                true => universe.alloc_mem(6).unwrap().into(),
                false => vec![0; 6].into(),
            };
            let address = window.attach(memory).unwrap();
            let disp = world.allgather(&[address]).unwrap();
            let window = exercise(world, window, &disp);
            let memory = window.detach(address).unwrap();
            assert_eq!(window.detach(address).unwrap_err().class(), ErrorClass::RmaAttach);
            assert_eq!(memory.len(), 6);
            memory.into_memory().unwrap();
            window.free().unwrap();
        }
    });
}

#[test]
fn what_is_not_attached_is_out_of_range() {
    spmd(2, |world| {
        let mut window = Window::<u64>::create_dynamic(world).unwrap();
        let memory: WindowMemory<u64> = vec![0; 100].into();
        let low = window.attach(memory.part(10..20).unwrap()).unwrap();
        let high = window.attach(memory.part(20..30).unwrap()).unwrap();
        for (from, to) in [(10, 20), (19, 21), (5, 11), (0, 100), (12, 13), (29, 31)] {
            let overlapping = window.attach(memory.part(from..to).unwrap()).unwrap_err();
            assert_eq!(overlapping.class(), ErrorClass::RmaAttach);
        }
        assert_eq!(window.attach(vec![]).unwrap_err().class(), ErrorClass::RmaAttach);
        assert_eq!(window.lock_local().err().unwrap().class(), ErrorClass::RmaFlavor);
        let there = world.allgather(&[low, high]).unwrap();
        let other = 1 - world.rank();
        let (low, high) = (there[2 * other as usize], there[2 * other as usize + 1]);
        let all = window.lock_all(LockAssert::NONE).unwrap();
        all.put(&[1], Rank(other), high - 8).unwrap();
        for (elements, at) in
            [(1, low - 8), (1, low - 1), (2, high - 8), (11, high), (1, high + 80)]
        {
            let outside = all.put(&[0; 20][..elements], Rank(other), at).unwrap_err();
            assert_eq!(outside.class(), ErrorClass::RmaRange, "{outside}");
        }
        all.unlock_all().unwrap();
        world.barrier().unwrap();
        window.free().unwrap();
        let fixed = Window::<u64>::allocate(world, 1).unwrap();
        assert_eq!(fixed.attach(vec![1]).unwrap_err().class(), ErrorClass::RmaFlavor);
        fixed.free().unwrap();
    });
}

#[test]
fn thousands_of_attachments() {
    const REGIONS: usize = 3000;
    spmd(2, |world| {
        let mut window = Window::<u32>::create_dynamic(world).unwrap();
        let memory: WindowMemory<u32> = vec![0; 4 * REGIONS].into();
        // Every other one first, so that the rest go in between.
        let order = (0..REGIONS).step_by(2).chain((1..REGIONS).step_by(2));
        for k in order {
            window.attach(memory.part(4 * k..4 * k + 3).unwrap()).unwrap();
        }
        let starts = world.allgather(&[memory.as_ptr() as u64]).unwrap();
        let other = 1 - world.rank();
        let at = |k: usize| starts[other as usize] + 16 * k as u64;
        let values: Vec<u32> = (0..REGIONS as u32).collect();
        let epoch = window.fence(FenceAssert::NONE).unwrap();
        for k in 0..REGIONS {
            epoch.put(&values[k..=k], Rank(other), at(k)).unwrap();
            assert!(epoch.put(&values[k..=k], Rank(other), at(k) + 12).is_err());
        }
        epoch.close(FenceAssert::NONE).unwrap();
        for k in 0..REGIONS {
            let own = memory.as_ptr() as u64 + 16 * k as u64;
            assert_eq!(window.load_one(own).unwrap(), k as u32);
            window.detach(own).unwrap();
        }
        window.free().unwrap();
    });
}

#[test]
fn attaching_while_others_access_disturbs_nobody() {
    const ROUNDS: usize = 300;
    spmd(4, |world| {
        let me = world.rank();
        let mut window = Window::<u64>::create_dynamic(world).unwrap();
        let at = window.attach(vec![0u64; 4]).unwrap();
        let disp = world.allgather(&[at]).unwrap();
        let all = window.lock_all(LockAssert::NONE).unwrap();
        for k in 0..ROUNDS {
            if me % 2 == 0 {
                let more = all.window().attach(vec![k as u64; 1 + k % 7]).unwrap();
                all.window().detach(more).unwrap();
            }
            for rank in 0..4 {
                all.fetch_and_op_flush(1, Op::Sum, Rank(rank), disp[rank as usize]).unwrap();
            }
        }
        all.unlock_all().unwrap();
        world.barrier().unwrap();
        assert_eq!(window.load_one(at).unwrap(), 4 * ROUNDS as u64);
        window.free().unwrap();
    });
}

#[test]
fn memory_without_an_address_is_refused_on_all_ranks() {
    spmd(2, |world| {
        let bytes = if world.rank() == 1 { 8 } else { 0 };
        // SAFETY: refused before anybody accesses it.
        let refused =
            unsafe { WindowOptions::new().create_bytes(world, std::ptr::null_mut(), bytes, 1) };
        assert_eq!(refused.err().unwrap().class(), ErrorClass::Base);
    });
}

#[test]
fn alloc_mem_is_given_back() {
    universe(2, |universe| {
        let most = 1 << 20;
        for round in 0..200 {
            let memory = universe.alloc_mem::<u64>(most).unwrap();
            assert_eq!(memory.len(), most, "{round}");
        }
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for len in 1..200 {
                        let mut memory = universe.alloc_mem::<u8>(len).unwrap();
                        assert!(memory.iter().all(|byte| *byte == 0));
                        memory.fill(7);
                    }
                });
            }
        });
        let too_much = universe.alloc_mem::<u64>(1 << 50).unwrap_err();
        assert_eq!(too_much.class(), ErrorClass::NoMem);
    });
}

#[test]
fn windows_that_are_only_dropped_do_not_keep_a_rank_in_the_job() {
    universe(2, |universe| {
        let world = universe.world();
        let kept = universe.alloc_mem::<u64>(4).unwrap();
        let window = Window::create(world, universe.alloc_mem::<u64>(8).unwrap()).unwrap();
        let dynamic = Window::<u64>::create_dynamic(world).unwrap();
        dynamic.attach(universe.alloc_mem::<u64>(8).unwrap()).unwrap();
        dynamic.attach(vec![1; 8]).unwrap();
        world.barrier().unwrap();
        drop((window, dynamic, kept));
    });
}

#[test]
fn a_rank_that_has_left_the_job_is_not_reached_any_more() {
    let outcome = launch(2, &[], |universe| {
        let world = universe.world();
        let window = Window::create(world, vec![7u64; 4]).unwrap();
        world.barrier().unwrap();
        if world.rank() == 1 {
            return;
        }
        // Rank 1 drops its window without freeing it, and leaves.
        let mut window = window;
        let all = window.lock_all(LockAssert::NONE).unwrap();
        let error = loop {
            if let Err(error) = all.get_flush(&mut [0], Rank(1), 0) {
                break error;
            }
        };
        assert_eq!(error.class(), ErrorClass::RmaShared, "{error}");
        assert!(error.to_string().contains("left the job"), "{error}");
    });
    if let Some(outcome) = outcome {
        assert!(outcome.status.success(), "{}:\n{}", outcome.status, outcome.output);
    }
}

//! Windows over memory of the program (MPI-2.2 §11.2.1).

use crate::flavours::ring::exercise;
use crate::support::{spmd, universe};
use onesided::engine::ExposedBytes;
use onesided::{
    Access, Comm, ErrorClass, Flavour, Memory, Op, Rank, Universe, Window, WindowMemory,
    WindowOptions,
};

/// What ranks get wrong is refused, and changes nothing.
fn misuse(window: &mut Window<u64>, elements: u64) {
    let all = window.lock_all().unwrap();
    let batch = all.batch();
    assert_eq!(
        batch.put(&[1], Rank(0), elements as usize).unwrap_err().class(),
        ErrorClass::RmaRange
    );
    assert_eq!(
        batch.put(&[1, 2], Rank(1), (elements - 1) as usize).unwrap_err().class(),
        ErrorClass::RmaRange
    );
    assert_eq!(
        batch.put(&[1], Rank(1), (u64::MAX / 4) as usize).unwrap_err().class(),
        ErrorClass::RmaRange
    );
    batch.put(&[], Rank(1), 0).unwrap();
}

fn over_a_vector(world: &Comm) {
    let window = Window::create(world, vec![0u64; 10]).unwrap();
    assert_eq!((window.flavour(), window.len()), (Flavour::Create, 10));
    let mut window = exercise(world, window, &vec![0; world.ranks().len()]);
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
    let mut window = exercise(world, window, &vec![0; world.ranks().len()]);
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
        let memory: WindowMemory<u64> = match world.rank().0 {
            0 => vec![0; 6].into(),
            1 => universe.alloc_mem(7).unwrap().into(),
            2 => Box::leak(vec![0; 8].into_boxed_slice()).into(),
            _ => vec![0; 9].into_boxed_slice().into(),
        };
        let window = Window::create(world, memory).unwrap();
        for rank in 0..4 {
            assert_eq!(window.size(Rank(rank)).unwrap(), (8 * (6 + u64::from(rank))) as usize);
        }
        exercise(world, window, &[0; 4]).free().unwrap();
    });
}

#[test]
fn nobody_exposes_anything_and_some_expose_nothing() {
    spmd(3, |world| {
        Window::<u8>::create(world, vec![]).unwrap().free().unwrap();
        let mut window =
            Window::create(world, vec![9u8; 3 * (world.rank().0 % 2) as usize]).unwrap();
        let all = window.lock_all().unwrap();
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
        let other = Rank(1 - world.rank().0);
        let epoch = window.fence().unwrap();
        epoch.put(&values, other, 0).unwrap();
        let epoch = epoch.fence().unwrap();
        epoch.get(&mut back, other, 0).unwrap();
        let epoch = epoch.fence().unwrap();
        epoch.accumulate(&values, Op::Bxor, other, 0).unwrap();
        epoch.close().unwrap();
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
            let other = Rank(1 - world.rank().0);
            let epoch = low.fence().unwrap();
            epoch.put(&[1, 2, 3, 4, 5, 6], other, 0).unwrap();
            epoch.close().unwrap();
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
fn memory_without_an_address_is_refused_on_all_ranks() {
    spmd(2, |world| {
        let bytes = if world.rank() == 1 { 8 } else { 0 };
        // SAFETY: refused before any thread accesses it.
        let refused = unsafe {
            WindowOptions::new().create_bytes(
                world,
                ExposedBytes::new(std::ptr::null_mut(), bytes),
                1,
            )
        };
        assert_eq!(refused.err().unwrap().class(), ErrorClass::Base);
    });
}

#[test]
fn memory_of_more_bytes_than_a_process_has_is_refused_on_all_ranks() {
    spmd(2, |world| {
        let memory = [0u64; 2].as_ptr().cast::<u8>().cast_mut();
        let bytes = if world.rank() == 1 { i64::MAX as u64 } else { 16 };
        // SAFETY: refused before any thread accesses it.
        let refused = unsafe {
            WindowOptions::new().create_bytes(world, ExposedBytes::new(memory, bytes), 1)
        };
        let error = refused.err().unwrap();
        assert_eq!(error.class(), ErrorClass::Size);
        assert!(error.to_string().contains("rank 1 exposes 9223372036854775807 bytes"), "{error}");
        let win = WindowOptions::new().create_dynamic_bytes(world).unwrap();
        // SAFETY: as above.
        let refused = unsafe { win.attach(ExposedBytes::new(memory, 1 << 57)) }.unwrap_err();
        assert_eq!(refused.class(), ErrorClass::Size);
        win.free().unwrap();
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

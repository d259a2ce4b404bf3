//! Dynamic windows and what is attached to them (MPI-4.1 §12.2.4).

use crate::flavours::ring::exercise;
use crate::support::{spmd, universe};
use onesided::{Access, ErrorClass, Op, Rank, Window, WindowMemory};

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
        let other = 1 - world.rank().0;
        let (low, high) = (there[2 * other as usize], there[2 * other as usize + 1]);
        let all = window.lock_all().unwrap();
        // Two regions side by side are as good as one.
        all.put(&[7, 8], Rank(other), (high - 8) as usize).unwrap();
        for (elements, at) in
            [(1, low - 8), (1, low - 1), (12, high - 8), (11, high), (1, high + 80)]
        {
            let outside = all.put(&[0; 20][..elements], Rank(other), at as usize).unwrap_err();
            assert_eq!(outside.class(), ErrorClass::RmaRange, "{outside}");
        }
        all.unlock_all().unwrap();
        world.barrier().unwrap();
        for (k, value) in [(19, 7), (20, 8)] {
            assert_eq!(window.load_one((memory.as_ptr() as u64 + 8 * k) as usize).unwrap(), value);
        }
        window.free().unwrap();
        let fixed = Window::<u64>::allocate(world, 1).unwrap();
        assert_eq!(fixed.attach(vec![1]).unwrap_err().class(), ErrorClass::RmaFlavor);
        fixed.free().unwrap();
    });
}

#[test]
fn what_is_detached_is_not_reached_any_more() {
    spmd(3, |world| {
        let mut window = Window::<u64>::create_dynamic(world).unwrap();
        let memory: WindowMemory<u64> = vec![0; 4].into();
        let next = Rank((world.rank().0 + 1) % 3);
        for round in 1..20 {
            let at = window.attach(memory.part(0..4).unwrap()).unwrap();
            let there = world.allgather(&[at]).unwrap()[next.index()] as usize;
            let value = [round];
            let all = window.lock_all().unwrap();
            all.put(&value, next, there + 24).unwrap();
            all.unlock_all().unwrap();
            world.barrier().unwrap();
            assert_eq!(window.load_one(at as usize + 24).unwrap(), round);
            window.detach(at).unwrap();
            world.barrier().unwrap();
            let all = window.lock_all().unwrap();
            let refused = all.put(&[7], next, there + 24).unwrap_err();
            assert_eq!(refused.class(), ErrorClass::RmaRange, "{refused}");
            all.unlock_all().unwrap();
            world.barrier().unwrap();
            assert_eq!(window.detach(at).unwrap_err().class(), ErrorClass::RmaAttach);
        }
        window.free().unwrap();
        assert_eq!(memory.into_memory().unwrap()[3], 19);
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
        let other = 1 - world.rank().0;
        let at = |k: usize| starts[other as usize] + 16 * k as u64;
        let values: Vec<u32> = (0..REGIONS as u32).collect();
        let epoch = window.fence().unwrap();
        for k in 0..REGIONS {
            epoch.put(&values[k..=k], Rank(other), at(k) as usize).unwrap();
            assert!(epoch.put(&values[k..=k], Rank(other), (at(k) + 12) as usize).is_err());
        }
        epoch.close().unwrap();
        for k in 0..REGIONS {
            let own = memory.as_ptr() as u64 + 16 * k as u64;
            assert_eq!(window.load_one(own as usize).unwrap(), k as u32);
            window.detach(own).unwrap();
        }
        window.free().unwrap();
    });
}

#[test]
fn attaching_while_others_access_disturbs_nobody() {
    const ROUNDS: usize = 300;
    spmd(4, |world| {
        let me = world.rank().0;
        let mut window = Window::<u64>::create_dynamic(world).unwrap();
        let at = window.attach(vec![0u64; 4]).unwrap();
        let disp = world.allgather(&[at]).unwrap();
        let all = window.lock_all().unwrap();
        for k in 0..ROUNDS {
            if me % 2 == 0 {
                let more = all.window().attach(vec![k as u64; 1 + k % 7]).unwrap();
                all.window().detach(more).unwrap();
            }
            for rank in 0..4 {
                all.fetch_and_op_flush(1, Op::Sum, Rank(rank), (disp[rank as usize]) as usize)
                    .unwrap();
            }
        }
        all.unlock_all().unwrap();
        world.barrier().unwrap();
        assert_eq!(window.load_one(at as usize).unwrap(), 4 * ROUNDS as u64);
        window.free().unwrap();
    });
}

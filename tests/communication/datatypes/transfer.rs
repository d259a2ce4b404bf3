//! Put and get.

use crate::datatypes::layouts::{
    BYTES, CANARY, ZERO, every_constructor, every_memory, packed, put_and_get, read, written,
};
use crate::support::spmd;
use onesided::engine::{ExposedBytes, Layout, Origin, Win};
use onesided::{CommittedDatatype, Datatype, DerivedDatatype, ErrorClass, Rank, WindowOptions};

/// Counts with which `own` and `other` have equally many elements, if they are small.
fn counts(own: &DerivedDatatype, other: &DerivedDatatype) -> Option<(usize, usize)> {
    let (a, b) = (own.elements() as usize, other.elements() as usize);
    (1..=4)
        .find_map(|n| (n * a).is_multiple_of(b).then_some((n, n * a / b)))
        .filter(|(n, m)| n * m <= 24)
}

fn all_pairs(win: &Win, target: Rank, zero: u64, element: Datatype) {
    let all = every_constructor(element);
    let mut tried = 0;
    for own in &all {
        for other in &all {
            let Some((a, b)) = counts(own, other) else { continue };
            let (own, other) = (own.commit(), other.commit());
            let reach = |n, datatype: &CommittedDatatype| {
                let range = datatype.range(n).unwrap();
                let space = (BYTES - ZERO) as i64;
                range.start >= -(ZERO as i64) && range.end <= space && !datatype.overlaps(n)
            };
            if reach(a, &own) && reach(b, &other) {
                tried += 1;
                put_and_get(win, target, zero, (a, &own), (b, &other));
            }
        }
    }
    assert!(tried > 100, "{tried} pairs of {} datatypes", all.len());
}

#[test]
fn every_constructor_moves_what_packing_says() {
    spmd(2, |world| {
        let win = WindowOptions::new().allocate_bytes(world, BYTES as u64, 1).unwrap();
        if world.rank() == 0 {
            win.lock_all().unwrap();
            for element in [Datatype::U8, Datatype::I32, Datatype::F64, Datatype::DoubleInt] {
                all_pairs(&win, Rank(1), 0, element);
                all_pairs(&win, Rank(0), 0, element);
            }
            win.unlock_all().unwrap();
        }
        world.barrier().unwrap();
        win.free().unwrap();
    });
}

#[test]
fn every_kind_of_memory_takes_every_constructor() {
    every_memory(|win, zero| all_pairs(win, Rank(1), zero, Datatype::I32));
}

#[test]
fn more_pieces_than_a_system_call_takes() {
    every_memory(|win, zero| {
        let many = DerivedDatatype::vector(1000, 1, 3, Datatype::U8).unwrap().commit();
        let few = DerivedDatatype::contiguous(1000, Datatype::U8).unwrap().commit();
        put_and_get(win, Rank(1), zero, (1, &few), (1, &many));
        put_and_get(win, Rank(1), zero, (1, &many), (1, &few));
        put_and_get(win, Rank(1), zero, (1, &many), (1, &many));
    });
}

/// "The outcome is as if the target datatype object was defined at the target process by the same
/// sequence of calls used to define it at the origin process. The target datatype must contain only
/// relative displacements, not absolute addresses."
#[test]
fn the_target_datatype_is_interpreted_at_the_target() {
    let define = || DerivedDatatype::hvector(3, 2, -40, Datatype::U16).unwrap().commit();
    let (disp, mine) = ([0u64, 5, 3], [11u16, 12, 13, 14, 15, 16]);
    spmd(3, |world| {
        let me = world.rank().index();
        let units = WindowOptions::new().disp_unit([200, 24, 60][me]);
        let mut memory = vec![0u8; 1000];
        // SAFETY: the vector outlives the window; its own rank reads it between barriers.
        let win =
            unsafe { units.create_bytes(world, ExposedBytes::new(memory.as_mut_ptr(), 1000), 1) }
                .unwrap();
        win.lock_all().unwrap();
        if me == 0 {
            // Defined here alone; each target finds it in units and from a base of its own.
            // SAFETY: six elements, that outlive the calls.
            let origin = unsafe { Origin::new(mine.as_ptr().cast(), 6, Datatype::U16) };
            for (target, disp) in (0..).zip(disp).skip(1) {
                win.put_layout(origin, Rank(target), disp, Layout::new(1, &define())).unwrap();
            }
            // An address of the target's is no displacement.
            let address = DerivedDatatype::hindexed(&[6], &[win.base() as i64], Datatype::U16);
            let address = address.unwrap().commit();
            let refused = win.put_layout(origin, Rank(1), 0, Layout::new(1, &address));
            assert_eq!(refused.unwrap_err().class(), ErrorClass::RmaRange);
        }
        win.unlock_all().unwrap();
        world.barrier().unwrap();
        if me != 0 {
            let (mut found, zero) = ([0; 12], [0, 120, 180][me]);
            define().pack(1, &memory, zero, &mut found).unwrap();
            assert_eq!(bytemuck::cast::<_, [u16; 6]>(found), mine);
        }
        win.free().unwrap();
    });
}

/// "Once a RMA routine completes, it is safe to free any opaque objects passed as argument to that
/// routine. For example, the datatype argument of a MPI_PUT call can be freed as soon as the call
/// returns, even though the communication may not be complete" (MPI-2.2 §11.4.5).
#[test]
fn datatypes_may_be_freed_before_the_communication_is_complete() {
    let define = |stride| DerivedDatatype::vector(20, 1, stride, Datatype::U8).unwrap().commit();
    every_memory(|win, zero| {
        let numbers: Vec<u8> = (0..BYTES).map(|i| (i * 3) as u8).collect();
        let mut back = vec![CANARY; BYTES];
        let at = zero + ZERO as u64;
        let (own, other, into) = (define(3), define(-2), define(1));
        win.put_layout(read(&numbers, 1, &own), Rank(1), at, Layout::new(1, &other)).unwrap();
        drop((own, other));
        // What may take the place of the freed ones.
        let others: Vec<_> = (4..100).map(define).collect();
        win.flush(Rank(1)).unwrap();
        let other = define(-2);
        let to = written(&mut back, 1, &into);
        let get = win.rget_layout(to, Rank(1), at, Layout::new(1, &other)).unwrap();
        drop((other, others));
        get.wait();
        assert_eq!(packed(&back, 1, &into), packed(&numbers, 1, &define(3)));
    });
}

//! Windows of a program's own types: they move as bytes, and nothing combines them.

use crate::support::{needs_rmarun, spmd, universe};
use bytemuck::{Pod, Zeroable};
use onesided::{Access, ErrorClass, LockType, PassiveAccess, Rank, Window, WindowOptions};

/// Seven bytes, so that a fault in the sizes shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, packed)]
struct Record {
    key: u32,
    value: [u8; 3],
}

fn record(key: u32) -> Record {
    Record { key, value: key.to_be_bytes()[1..].try_into().unwrap() }
}

fn records(from: u32, len: u32) -> Vec<Record> {
    (from..from + len).map(record).collect()
}

#[test]
fn structs_are_put_and_got_in_every_way() {
    spmd(3, |world| {
        let mut window: Window<Record> =
            WindowOptions::new().notifications(1).allocate(world, 20).unwrap();
        let (me, n) = (world.rank().0, world.size());
        let (next, previous) = (Rank((me + 1) % n), Rank((me + n - 1) % n));
        assert_eq!((window.len(), window.disp_unit(next).unwrap()), (20, 7));
        let sent = records(100 * me, 5);
        let mut got = [record(0); 5];
        let epoch = window.fence().unwrap();
        epoch.put(&sent, next, 0).unwrap();
        epoch.close().unwrap();
        let epoch = window.lock_all().unwrap();
        epoch.put_notify(&sent[1..], next, 5, 0).unwrap();
        epoch.rput(&sent[2..], next, 10).unwrap().wait();
        epoch.put_flush(&sent[3..], next, 15).unwrap();
        epoch.window().wait_notify(0, 1).unwrap();
        epoch.rget(&mut got, next, 0).unwrap().wait();
        assert_eq!(got[..], sent);
        world.barrier().unwrap();
        epoch.unlock_all().unwrap();
        let there = records(100 * previous.0, 5);
        let expected = [&there, &there[1..], &there[2..], &there[3..]].concat();
        for (start, part) in [0, 5, 10, 15].into_iter().zip([0..5, 5..9, 9..12, 12..14]) {
            let mut own = vec![record(0); part.len()];
            window.load(start, &mut own).unwrap();
            assert_eq!(own, expected[part.clone()]);
            assert_eq!(window.lock_local().unwrap()[start..][..part.len()], expected[part]);
        }
        let epoch = window.lock(LockType::Shared, next).unwrap();
        assert_eq!(epoch.put(&sent, next, 16).unwrap_err().class(), ErrorClass::RmaRange);
        epoch.unlock().unwrap();
        window.free().unwrap();
    });
}

/// Each rank puts a struct to the next one, and finds that of the one before.
fn go_round(window: &mut Window<Record>, disp: usize, found: impl Fn(&Window<Record>) -> Record) {
    let (me, n) = (window.comm().rank().0, window.comm().size());
    let sent = [record(me + 7)];
    let epoch = window.fence().unwrap();
    epoch.put(&sent, Rank((me + 1) % n), disp).unwrap();
    epoch.close().unwrap();
    assert_eq!(found(window), record((me + n - 1) % n + 7));
}

#[test]
fn structs_lie_in_windows_of_every_flavour() {
    universe(2, |universe| {
        let world = universe.world();
        let mut shared = Window::<Record>::allocate_shared(world, 3).unwrap();
        go_round(&mut shared, 1, |window| {
            let part = window.shared_part(world.rank()).unwrap();
            assert_eq!(part.len(), 3);
            part.load_one(1).unwrap()
        });
        shared.free().unwrap();

        let memory = universe.alloc_mem::<Record>(3).unwrap();
        let mut created = Window::create(world, memory).unwrap();
        go_round(&mut created, 2, |window| window.load_one(2).unwrap());
        created.free().unwrap();

        let mut created = Window::create(world, records(0, 3)).unwrap();
        go_round(&mut created, 2, |window| window.load_one(2).unwrap());
        let taken = created.free_and_take().unwrap().pop().unwrap();
        let taken = taken.into_memory().unwrap().into_vec().unwrap();
        assert_eq!(taken[..2], records(0, 3)[..2]);

        let mut dynamic = Window::<Record>::create_dynamic(world).unwrap();
        let address = dynamic.attach(records(0, 3)).unwrap();
        let addresses = world.allgather(&[address]).unwrap();
        let there = addresses[1 - world.rank().index()] as usize;
        go_round(&mut dynamic, there + 7, |window| window.load_one(address as usize + 7).unwrap());
        dynamic.free().unwrap();
    });
}

/// A message of structs has their bytes, in every call; one that ends within a struct has no number of them.
#[test]
fn structs_are_sent_and_received_in_every_way() {
    spmd(2, |world| {
        let (me, other) = (world.rank().0, Rank(1 - world.rank().0));
        let (sent, expected) = (records(100 * me, 5), records(100 * other.0, 5));
        let mut found = [record(0); 8];
        let status = world.sendrecv(&sent, (other, 1), &mut found, (other, 1)).unwrap();
        assert_eq!((status.count::<Record>(), status.bytes), (Some(5), 35));
        assert_eq!(found[..5], expected);
        assert_eq!(found[5..], [record(0); 3]);

        let receive = world.irecv(vec![record(0); 5], other, 2).unwrap();
        world.isend(sent.clone(), other, 2).unwrap().wait().unwrap();
        assert_eq!(receive.wait().unwrap().0, expected);

        // Longer than what is copied on the way.
        let many = records(1000 * me, 300_000);
        let receive = world.irecv(many.clone(), other, 3).unwrap();
        world.send(&many, other, 3).unwrap();
        assert_eq!(receive.wait().unwrap().0, records(1000 * other.0, 300_000));

        world.isend(vec![0_u8; 8], other, 4).unwrap().wait().unwrap();
        let status = world.probe(other, 4).unwrap();
        assert_eq!(status.count::<Record>(), None);
        assert_eq!(world.recv(&mut found, other, 4).unwrap().count::<u8>(), Some(8));
    });
}

/// Short ones, and such as need several rounds.
#[test]
fn structs_go_through_collectives() {
    spmd(3, |world| {
        let (me, root) = (world.rank().0, Rank(1));
        for len in [2, 20_000] {
            let of = |rank: u32| records(100_000 * rank, len);
            let all: Vec<Record> = (0..3).flat_map(of).collect();
            let rooted = |all: &Vec<Record>| (world.rank() == root).then(|| all.clone());

            let mut buffer =
                if world.rank() == root { of(7) } else { vec![record(0); len as usize] };
            world.broadcast(&mut buffer, root).unwrap();
            assert_eq!(buffer, of(7));
            assert_eq!(world.gather(&of(me), root).unwrap(), rooted(&all));
            assert_eq!(world.scatter(rooted(&all).as_deref(), root).unwrap(), of(me));
            assert_eq!(world.allgather(&of(me)).unwrap(), all);
            assert_eq!(world.iallgather(of(me)).unwrap().wait().unwrap(), all);
            let parts = world.allgatherv(&of(me)[me as usize..]).unwrap();
            assert!(parts.iter().zip(0..).all(|(part, n)| *part == of(n)[n as usize..]));
            let from_all = world.alltoall(&[of(0), of(1), of(2)].concat()).unwrap();
            assert_eq!(from_all, [of(me), of(me), of(me)].concat());
        }
        let pair = [0_u32, 1];
        let error = match me {
            0 => world.allgather(&pair).unwrap_err(),
            _ => world.allgather(&records(0, 1)).unwrap_err(),
        };
        assert!(matches!(error.class(), ErrorClass::Type | ErrorClass::Truncate), "{error}");
    });
}

/// Parts are aligned to 128 bytes, so that a slice of elements with a larger alignment may not be one.
#[test]
fn a_slice_of_the_own_part_is_aligned() {
    if needs_rmarun("parts that lie close together") {
        return;
    }
    #[derive(Clone, Copy, Pod, Zeroable)]
    #[repr(C, align(1024))]
    struct Page([u8; 1024]);

    spmd(2, |world| {
        let allocate = |_| Window::<Page>::allocate(world, 1).unwrap();
        let mut windows: Vec<_> = (0..8).map(allocate).collect();
        for window in &mut windows {
            let is_aligned = window.base().is_aligned();
            match window.lock_local() {
                Ok(local) => assert!(local.as_ptr().is_aligned()),
                Err(error) => {
                    assert_eq!((is_aligned, error.class()), (false, ErrorClass::Disp), "{error}")
                }
            }
        }
        let is_aligned = |window: &Window<Page>| window.base().is_aligned();
        assert!(!windows.iter().all(is_aligned), "no part is aligned to less than 1024 bytes");
        windows.into_iter().try_for_each(Window::free).unwrap();
    });
}

//! Request-based operations (MPI-4.1 §12.3.5).

use crate::support::spmd;
use onesided::{
    ErrorClass, FenceAssert, LockType, Op, PassiveAccess, Rank, Request, Window, WindowOptions,
};

#[test]
fn a_request_frees_its_buffer_before_the_epoch_ends() {
    spmd(3, |world| {
        let mut window = Window::<u32>::allocate(world, 8).unwrap();
        let right = Rank((world.rank().0 + 1) % 3);
        let all = window.lock_all().unwrap();
        let mut buffer = [world.rank().0 + 1; 2];
        all.rput(&buffer, right, 0).unwrap().wait();
        buffer = [100; 2];
        let request = all.raccumulate(&buffer, Op::Sum, right, 1).unwrap();
        drop(request);
        buffer[0] = 7;
        all.flush(right).unwrap();
        world.barrier().unwrap();
        let mut back = [0; 3];
        all.rget(&mut back, right, 0).unwrap().wait();
        assert_eq!(back, [world.rank().0 + 1, world.rank().0 + 101, 100]);
        assert_eq!(buffer, [7, 100]);
        let mut before = [0; 1];
        all.rget_accumulate(&[5], &mut before, Op::Max, Rank(0), 4).unwrap().wait();
        assert!(before[0] == 0 || before[0] == 5);
        all.unlock_all().unwrap();
        window.free().unwrap();
    });
}

#[test]
fn requests_are_waited_for_together() {
    spmd(2, |world| {
        let window = Window::<u64>::allocate(world, 16).unwrap();
        let values: Vec<u64> = (0..16).collect();
        let mut back = vec![0; 16];
        let lock = window.lock(LockType::Exclusive, Rank(0)).unwrap();
        let mut requests: Vec<Request<'_>> =
            (0..16).map(|k| lock.rput(&values[k..=k], Rank(0), k).unwrap()).collect();
        requests.push(Request::null());
        assert!(requests[3].test() && !requests[3].is_active());
        assert_eq!(Request::wait_any(&mut requests), Some(0));
        assert_eq!(Request::wait_any(&mut requests), Some(1));
        assert!(Request::test_all(&mut requests));
        assert_eq!(Request::wait_any(&mut requests), None);
        let mut gets: Vec<Request<'_>> = back
            .iter_mut()
            .zip(0..)
            .map(|(b, k)| lock.rget(std::slice::from_mut(b), Rank(0), k).unwrap())
            .collect();
        Request::wait_all(&mut gets);
        drop(gets);
        lock.unlock().unwrap();
        assert_eq!(back, values);
        window.free().unwrap();
    });
}

#[test]
fn only_passive_epochs_take_requests_and_errors_name_the_call() {
    spmd(2, |world| {
        let win = WindowOptions::new().allocate_bytes(world, 64, 8).unwrap();
        let outside = win.rput(&[1u64], Rank(0), 0).unwrap_err();
        assert_eq!(outside.class(), ErrorClass::RmaSync);
        win.fence().unwrap();
        let mut one = [0u64];
        let refusals = [
            win.rput(&[1u64], Rank(1), 0).unwrap_err(),
            win.rget(&mut one, Rank(1), 0).unwrap_err(),
            win.raccumulate(&[1u64], Op::Sum, Rank(1), 0).unwrap_err(),
            win.rget_accumulate(&[1u64], &mut [0], Op::Sum, Rank(1), 0).unwrap_err(),
        ];
        for (error, call) in refusals.iter().zip(["rput", "rget", "raccumulate", "rget_accumulate"])
        {
            assert_eq!(error.class(), ErrorClass::RmaSync);
            assert!(error.to_string().starts_with(call), "{error}");
        }
        win.fence_with(FenceAssert::NOSUCCEED).unwrap();
        win.lock_all().unwrap();
        let outside = win.rput(&[1u64], Rank(1), 8).unwrap_err();
        assert_eq!(outside.class(), ErrorClass::RmaRange);
        assert!(outside.to_string().starts_with("rput"), "{outside}");
        win.rput(&[1u64], Rank::NULL, 8).unwrap().wait();
        win.unlock_all().unwrap();
        assert_eq!(one, [0]);
        win.free().unwrap();
    });
}

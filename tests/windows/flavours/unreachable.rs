//! Memory that cannot be shared: its rank has left, or the kernel keeps it from the others.

use crate::support::{launch, needs_rmarun, spmd, universe};
use onesided::{Access, ErrorClass, Op, Rank, Window};

/// Lets the kernel refuse these system calls to this thread from now on.
fn forbid(calls: &[libc::c_long]) {
    const REFUSED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let step = |code: u32, jt: usize, k: u32| libc::sock_filter {
        code: code as u16,
        jt: jt as u8,
        jf: 0,
        k,
    };
    // The number of the call; it is compared with each that is forbidden, then let pass.
    let mut filter = vec![step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0)];
    for (i, call) in calls.iter().enumerate() {
        let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        filter.push(step(equal, calls.len() - i, *call as u32));
    }
    filter.push(step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW));
    filter.push(step(libc::BPF_RET | libc::BPF_K, 0, REFUSED));
    let filter = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: changes what this thread may do, no memory.
    let barred = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    assert_eq!(barred, 0);
    // SAFETY: the kernel copies the filter, which is alive.
    let installed =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &filter) };
    assert_eq!(installed, 0, "{}", std::io::Error::last_os_error());
}

/// What the sentence of the error must say: who, and what to change.
fn says_what_to_change(error: &onesided::Error, who: &str) {
    assert_eq!(error.class(), ErrorClass::RmaShared, "{error}");
    for words in [who, "use memory from alloc_mem", "allow process_vm_readv", "seccomp profile"] {
        assert!(error.to_string().contains(words), "no '{words}' in: {error}");
    }
}

/// One rank alone may not copy from, or to, the memory of others: all learn it when they make the
/// window, and can make one of other memory.
#[test]
fn memory_that_the_kernel_keeps_from_one_rank_is_refused_on_all() {
    if needs_rmarun("memory that the kernel copies") {
        return;
    }
    universe(3, |universe| {
        let world = universe.world();
        Window::create(world, vec![0u8; 8]).unwrap().free().unwrap();
        for call in [libc::SYS_process_vm_writev, libc::SYS_process_vm_readv] {
            if world.rank() == 1 {
                forbid(&[call]);
            }
            let refused = Window::create(world, vec![0u8; 8]).err().unwrap();
            says_what_to_change(&refused, "rank 1 cannot reach the private memory of rank 0");
            // No rank hides anything from the others.
            let alone = vec![0u8; usize::from(world.rank() == 1)];
            Window::create(world, alone).unwrap().free().unwrap();
            let memory = universe.alloc_mem::<u8>(8).unwrap();
            Window::create(world, memory).unwrap().free().unwrap();
        }
    });
}

/// Attached memory is known only to its rank, so that each operation finds out.
#[test]
fn operations_on_attached_memory_that_the_kernel_keeps_are_refused() {
    if needs_rmarun("memory that the kernel copies") {
        return;
    }
    spmd(2, |world| {
        let mut window = Window::<u64>::create_dynamic(world).unwrap();
        let address = window.attach(vec![7; 2]).unwrap();
        let there = world.allgather(&[address]).unwrap()[0];
        let all = window.lock_all().unwrap();
        if world.rank() == 1 {
            forbid(&[libc::SYS_process_vm_readv, libc::SYS_process_vm_writev]);
            let (home, mut got) = (Rank(0), [1]);
            let refusals = [
                all.put_flush(&[3], home, there as usize),
                all.get_flush(&mut got, home, there as usize),
                all.accumulate(&[3], Op::Sum, home, there as usize),
                all.fetch_and_op_flush(3, Op::Sum, home, there as usize).map(drop),
                all.compare_and_swap_flush(3, 7, home, there as usize).map(drop),
            ];
            for refused in refusals {
                let who = "rank 1 cannot reach the private memory of rank 0";
                says_what_to_change(&refused.unwrap_err(), who);
            }
            assert_eq!(got, [1]);
            // What the kernel keeps is the others' memory.
            let own = all.window().load_one(address as usize).unwrap();
            assert_eq!(all.fetch_and_op_flush(1, Op::Sum, Rank(1), address as usize).unwrap(), own);
        }
        all.unlock_all().unwrap();
        world.barrier().unwrap();
        let expected = 7 + u64::from(world.rank());
        assert_eq!(window.load_one(address as usize).unwrap(), expected);
        window.free().unwrap();
    });
}

#[test]
fn windows_that_are_only_dropped_do_not_keep_a_rank_in_the_job() {
    universe(2, |universe| {
        let world = universe.world();
        let shared = universe.alloc_mem::<u64>(4).unwrap();
        let window = Window::create(world, universe.alloc_mem::<u64>(8).unwrap()).unwrap();
        let dynamic = Window::<u64>::create_dynamic(world).unwrap();
        dynamic.attach(universe.alloc_mem::<u64>(8).unwrap()).unwrap();
        dynamic.attach(vec![1; 8]).unwrap();
        world.barrier().unwrap();
        drop((window, dynamic, shared));
    });
}

#[test]
fn a_rank_that_has_left_the_job_is_not_reached_any_more() {
    if needs_rmarun("ranks that leave while others go on") {
        return;
    }
    let outcome = launch(2, &[], |universe| {
        let world = universe.world();
        let window = Window::create(world, vec![7u64; 4]).unwrap();
        world.barrier().unwrap();
        if world.rank() == 1 {
            return;
        }
        // Rank 1 drops its window without freeing it, and leaves.
        let mut window = window;
        let all = window.lock_all().unwrap();
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

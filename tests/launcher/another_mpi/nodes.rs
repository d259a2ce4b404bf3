//! What ranks of one node have, where the job has several. Its launcher treats one machine as several nodes.

use super::{messages, part, program, relaunched, rmarun};
use crate::support::{NODE, Nodes, Outcome, WAYS, mpich, mpiexec_on};
use nix::sys::signal::{Signal, raise};
use onesided::prelude::*;
use onesided::{ErrorClass, Info, Result, Source, SplitType, Until, WindowOptions};
use std::time::Duration;

/// Runs `program` in as many ranks, on as many nodes: rank `r` is on node `r % nodes`.
#[track_caller]
fn on_nodes(ranks: u32, nodes: u32, program: fn(&Comm, u32)) {
    if let Some(nodes) = part() {
        let universe = Universe::init().expect("a rank joins its job");
        return program(universe.world(), nodes.parse().expect("a number"));
    }
    let Some(mpich) = mpich() else { return };
    for way in if nodes == 1 { &WAYS[..] } else { &WAYS[..1] } {
        let mut launcher = mpiexec_on(&mpich, ranks, Nodes::Of(nodes));
        launcher.env(NODE, way);
        let Outcome { status, output } = relaunched(launcher, &nodes.to_string());
        assert!(status.success(), "{ranks} ranks on {nodes} nodes, {way}, {status}:\n{output}");
    }
}

/// Those of `comm` on the node of this rank, which has that number in the job; and their numbers.
fn near(comm: &Comm, me: u32, key: i32) -> (Comm, Vec<u32>) {
    let near = comm.split_type(Some(SplitType::Shared), key, &Info::new());
    let near = near.expect("a split").expect("for all");
    let ranks = near.allgather(&[me]).expect("all of them");
    (near, ranks)
}

#[test]
fn ranks_of_one_node_are_split_from_the_others() {
    on_nodes(4, 2, |world, nodes| {
        let (me, n) = (world.rank().0, world.size());
        let mut expected: Vec<u32> = (0..n).filter(|rank| rank % nodes == me % nodes).collect();
        assert_eq!(near(world, me, 0).1, expected);
        // Also of another communicator, in the order of the keys, and without ranks that want none.
        let half = world.split(Some(me / 2), 0).expect("a split").expect("for all");
        assert_eq!(near(&half, me, 0).1, [me]);
        let (reversed, ranks) = near(world, me, -(me as i32));
        expected.reverse();
        assert_eq!(ranks, expected);
        let wish = (me != 0).then_some(SplitType::Shared);
        let some = world.split_type(wish, 0, &Info::new()).expect("a split");
        assert_eq!(some.map(|some| some.size()), (me != 0).then_some(2 - u32::from(me == 2)));
        reversed.free().expect("an end");
    });
}

#[test]
fn one_node_has_all_ranks() {
    on_nodes(3, 1, |world, _| assert_eq!(near(world, world.rank().0, 0).1, [0, 1, 2]));
}

#[test]
fn a_rank_alone_on_its_node_is_reached_from_the_others() {
    on_nodes(3, 2, |world, _| {
        let me = world.rank().0;
        let (near, ranks) = near(world, me, 0);
        assert_eq!(ranks, if me == 1 { vec![1] } else { vec![0, 2] });
        let shared = Window::<u64>::allocate_shared(&near, 1).expect("one node");
        shared.store(0, &[u64::from(me)]).expect("the own part");
        let mut all = Window::<u64>::allocate(world, 1).expect("any ranks");
        let mine = [u64::from(me) + 1];
        let epoch = all.lock_all().expect("no lock is in the way");
        epoch.accumulate(&mine, Op::Sum, Rank(1), 0).expect("a sum");
        epoch.unlock_all().expect("an end");
        world.barrier().expect("a barrier");
        let sum = all.load_one(0).expect("the own part");
        assert_eq!((sum, shared.load_one(0).expect("it")), (6 * u64::from(me == 1), u64::from(me)));
        all.free().expect("an end");
        shared.free().expect("an end");
    });
}

#[test]
fn ranks_of_a_node_share_windows_and_others_are_refused() {
    on_nodes(4, 2, |world, _| {
        let me = world.rank().0;
        let error = Window::<u64>::allocate_shared(world, 2).expect_err("two nodes");
        assert_eq!(error.class(), ErrorClass::RmaShared, "{error}");
        let words = ["allocate_shared", "ranks 0 and 1", "different nodes", "split_type(Shared)"];
        assert!(words.iter().all(|word| error.to_string().contains(word)), "{error}");
        let (near, ranks) = near(world, me, 0);
        let other = Rank(1 - near.rank().0);
        let mut window = Window::<u64>::allocate_shared(&near, 2).expect("one node");
        window.shared_part(other).expect("a part").store_one(0, u64::from(me)).expect("a store");
        let epoch = window.fence().expect("an epoch");
        epoch.accumulate(&[5], Op::Sum, other, 0).expect("a sum");
        epoch.close().expect("an end");
        let expected = u64::from(ranks[other.index()]) + 5;
        assert_eq!(window.load_one(0).expect("the own part"), expected);
        // A rank on another node has no address here, but is reached.
        let far = Rank((me + 1) % 4);
        let mut all = Window::<u64>::allocate(world, 1).expect("any ranks");
        assert_eq!(all.shared_query(far).expect("a rank"), (0, std::ptr::null_mut()));
        let own = [u64::from(me)];
        let epoch = all.fence().expect("an epoch");
        epoch.put(&own, far, 0).expect("a put");
        epoch.close().expect("an end");
        assert_eq!(all.load_one(0).expect("the own part"), u64::from((me + 3) % 4));
        all.free().expect("an end");
        window.free().expect("an end");
    });
}

/// Ranks, nodes with equally many of them, and what ranks of one node have.
const SEVERAL: [(u32, u32, &str); 4] =
    [(4, 2, WAYS[0]), (4, 2, WAYS[1]), (4, 4, WAYS[0]), (6, 2, WAYS[0])];

/// The digests that the first rank of each node prints.
fn digests(outcome: &Outcome) -> Vec<&str> {
    let Outcome { status, output } = outcome;
    assert!(status.success(), "{status}:\n{output}");
    output.lines().filter_map(|line| line.split("digest ").nth(1)).collect()
}

#[test]
fn ranks_of_a_node_do_among_themselves_what_they_do_under_rmarun() {
    if part().is_some() {
        let universe = Universe::init().expect("a rank joins its job");
        let world = universe.world();
        let (near, _) = near(world, world.rank().0, 0);
        let run = || -> Result<[u64; 2]> { Ok([program::run(&near)?, messages::run(&near)?]) };
        let [one, two] = run().expect("a program without mistakes");
        if near.rank() == 0 {
            println!("digest {one:016x} {two:016x}");
        }
        near.free().expect("an end");
        return;
    }
    let Some(mpich) = mpich() else { return };
    for (ranks, nodes, way) in SEVERAL {
        let ours = relaunched(rmarun(ranks / nodes), "near");
        let expected = digests(&ours);
        assert_eq!(expected.len(), 1, "{}", ours.output);
        let mut launcher = mpiexec_on(&mpich, ranks, Nodes::Of(nodes));
        let theirs = relaunched(launcher.env(NODE, way), "near");
        let found = digests(&theirs);
        assert_eq!(found, vec![expected[0]; nodes as usize], "{ranks} on {nodes}, {way}");
    }
}

#[test]
fn messages_between_and_within_nodes_give_what_they_give_under_rmarun() {
    if part().is_some() {
        let universe = Universe::init().expect("a rank joins its job");
        let digest = messages::run(universe.world()).expect("a program without mistakes");
        if universe.world().rank() == 0 {
            println!("digest {digest:016x}");
        }
        return;
    }
    let Some(mpich) = mpich() else { return };
    let ours = relaunched(rmarun(4), "messages");
    for nodes in [2, 4] {
        let theirs = relaunched(mpiexec_on(&mpich, 4, Nodes::Of(nodes)), "messages");
        assert_eq!(digests(&ours), digests(&theirs), "{nodes} nodes");
    }
}

/// Each rank adds to a word of each rank by locks, one at a time, and by accumulates.
fn add_everywhere(win: &mut Window<u64>, me: u64) -> Result<()> {
    let (one, n) = ([me + 1], win.comm().size());
    for target in (0..n).map(Rank) {
        let (mut before, mut after) = ([0], [0]);
        let epoch = win.lock(LockType::Exclusive, target)?;
        let batch = epoch.batch();
        batch.get(&mut before, target, 0)?;
        batch.flush()?;
        after[0] = before[0] + one[0];
        epoch.put(&after, target, 0)?;
        epoch.unlock()?;
    }
    let epoch = win.lock_all()?;
    (0..n).try_for_each(|target| epoch.accumulate(&one, Op::Sum, Rank(target), 1))?;
    epoch.unlock_all()
}

/// Windows, collectives and messages of the world, of the node, and of communicators made of both, at the same time.
fn mix(world: &Comm) -> Result<()> {
    const TIMES: u64 = 5;
    let (me, n) = (u64::from(world.rank().0), u64::from(world.size()));
    let (near, ranks) = near(world, me as u32, -(me as i32));
    let group = Group::incl(&world.group(), &ranks)?;
    let made = [
        world.dup()?,
        near.dup()?,
        world.create_group(&group, 3)?,
        world.create(&group)?.expect("for all"),
        near.idup()?.wait()?,
        near.split(Some(0), me as i32)?.expect("for all"),
    ];
    let all = [world, &near].into_iter().chain(&made);
    let mut windows =
        all.clone().map(|comm| Window::<u64>::allocate(comm, 2)).collect::<Result<Vec<_>>>()?;
    let sums = world.iallreduce(vec![me + 1], Op::Sum)?;
    for _ in 0..TIMES {
        windows.iter_mut().try_for_each(|window| add_everywhere(window, me))?;
        for (comm, tag) in all.clone().zip(0..) {
            let to_all = (0..comm.size()).map(|rank| comm.isend(vec![me; 3000], Rank(rank), tag));
            let to_all = to_all.collect::<Result<Vec<_>>>()?;
            let mut from = vec![false; comm.ranks().len()];
            for _ in comm.ranks() {
                let (got, status) = comm.irecv(vec![0; 3000], Source::Any, tag)?.wait()?;
                let world_rank = comm.group().world_ranks()[status.source.index()];
                assert_eq!(got, vec![u64::from(world_rank.0); 3000]);
                assert!(!std::mem::replace(&mut from[status.source.index()], true));
            }
            to_all.into_iter().try_for_each(|send| send.wait().map(drop))?;
        }
    }
    assert_eq!(sums.wait()?, [n * (n + 1) / 2]);
    for (comm, window) in all.zip(windows) {
        comm.barrier()?;
        let members =
            comm.group().world_ranks().iter().map(|rank| u64::from(rank.0) + 1).sum::<u64>();
        assert_eq!([window.load_one(0)?, window.load_one(1)?], [TIMES * members; 2]);
        // No rank of another node is among those of this one, and translation knows the world's numbers.
        let translated = comm.group().translate(&[comm.rank()], &world.group())?;
        assert_eq!(translated, [world.rank()]);
        window.free()?;
    }
    made.into_iter().try_for_each(Comm::free)?;
    near.free()
}

#[test]
fn windows_of_a_node_and_of_the_world_are_used_together() {
    if part().is_some() {
        let universe = Universe::init().expect("a rank joins its job");
        return mix(universe.world()).expect("a program without mistakes");
    }
    on_some_nodes("mixed");
}

/// This test in jobs of several nodes, by each way.
#[track_caller]
fn on_some_nodes(part: &str) {
    let Some(mpich) = mpich() else { return };
    for (ranks, nodes, way) in SEVERAL.into_iter().chain([(5, 2, WAYS[0])]) {
        let mut launcher = mpiexec_on(&mpich, ranks, Nodes::Of(nodes));
        let Outcome { status, output } = relaunched(launcher.env(NODE, way), part);
        assert!(status.success(), "{ranks} ranks on {nodes} nodes, {way}, {status}:\n{output}");
    }
}

/// Ranks 0 and 2 are on one node. Rank 0 waits there for rank 2, which waits for rank 1 of another node, which needs rank 0.
const WAITS: [&str; 8] =
    ["barrier", "lock", "fence", "start", "value", "notification", "message", "creation"];

/// Rank 0 waits until the other rank has called `release` and writes a value, or notifies.
fn announce(win: &mut Window<u64>, is_value: bool, release: impl Fn() -> Result<()>) -> Result<()> {
    let (is_first, one) = (win.comm().rank() == 0, [1]);
    let epoch = win.lock_all()?;
    release()?;
    match (is_first, is_value) {
        (true, true) => drop(epoch.window().wait_until(0, Until::Eq, 1)?),
        (true, false) => epoch.window().wait_notify(0, 1)?,
        (false, true) => epoch.put_flush(&one, Rank(0), 0)?,
        (false, false) => epoch.notify(Rank(0), 0)?,
    }
    epoch.unlock_all()
}

/// Rank 0 waits for the other rank of `near`, which calls `released` before it lets rank 0 go on.
fn wait_near(near: &Comm, how: &str, released: impl Fn() -> Result<()>) -> Result<()> {
    let (is_first, other) = (near.rank() == 0, Rank(1 - near.rank().0));
    let release = || if is_first { Ok(()) } else { released() };
    let mut window = WindowOptions::new().notifications(1).allocate::<u64>(near, 2)?;
    match how {
        "lock" if is_first => {
            near.barrier()?;
            window.lock(LockType::Exclusive, Rank(0))?.unlock()?;
        }
        "lock" => {
            let epoch = window.lock(LockType::Exclusive, Rank(0))?;
            near.barrier()?;
            release()?;
            epoch.unlock()?;
        }
        "fence" => {
            let epoch = window.fence()?;
            release()?;
            epoch.close()?;
        }
        "start" => {
            let group = Group::incl(&near.group(), &[other])?;
            let (mut access, mut exposure) = window.sides();
            release()?;
            match is_first {
                true => access.start(&group)?.complete()?,
                false => exposure.post(&group)?.wait()?,
            }
        }
        "value" | "notification" => announce(&mut window, how == "value", release)?,
        how => {
            release()?;
            match how {
                "barrier" => near.barrier()?,
                "message" if is_first => drop(near.recv(&mut [0u8], other, 8)?),
                "message" => near.send(&[1u8], other, 8)?,
                _ => near.create_group(&near.group(), 1)?.free()?,
            }
        }
    }
    window.free()
}

#[test]
fn a_rank_that_waits_for_its_node_serves_other_nodes() {
    if let Some(how) = part() {
        let universe = Universe::init().expect("a rank joins its job");
        let world = universe.world();
        let run = || -> Result<()> {
            const LONG: usize = 400_000;
            let me = world.rank().0;
            let (near, _) = near(world, me, 0);
            let all = Window::<u64>::allocate(world, 4)?;
            let (first, long, mine) = (Rank(0), vec![7u64; LONG], [1, 2, 3]);
            match me {
                0 => {
                    let coming = world.irecv(vec![0u64; LONG], Rank(1), 1)?;
                    wait_near(&near, &how, || Ok(()))?;
                    assert_eq!(coming.wait()?.0, long);
                }
                1 => {
                    // Rank 0 waits by then, and for long.
                    std::thread::sleep(Duration::from_millis(50));
                    world.send(&long, first, 1)?;
                    let epoch = all.lock(LockType::Exclusive, first)?;
                    epoch.put(&mine, first, 0)?;
                    epoch.accumulate(&mine, Op::Sum, first, 1)?;
                    epoch.unlock()?;
                    world.send(&[1u8], Rank(2), 2)?;
                }
                2 => wait_near(&near, &how, || world.recv(&mut [0u8], Rank(1), 2).map(drop))?,
                _ => {}
            }
            world.barrier()?;
            let mut found = [0; 4];
            all.load(0, &mut found)?;
            assert_eq!(found, if me == 0 { [1, 3, 5, 3] } else { [0; 4] });
            all.free()?;
            near.free()
        };
        return run().expect("a program without mistakes");
    }
    let Some(mpich) = mpich() else { return };
    for how in WAITS {
        let Outcome { status, output } = relaunched(mpiexec_on(&mpich, 4, Nodes::Of(2)), how);
        assert!(status.success(), "{how}, {status}:\n{output}");
    }
}

#[test]
fn a_rank_that_fails_ends_the_jobs_of_all_nodes() {
    if let Some(how) = part() {
        let universe = Universe::init().expect("a rank joins its job");
        let world = universe.world().clone();
        let (near, _) = near(&world, world.rank().0, 0);
        if world.rank() == 2 {
            // The others sleep by then, where ranks sleep.
            std::thread::sleep(Duration::from_millis(200));
            match how.as_str() {
                "panics" => panic!("on purpose"),
                _ => raise(Signal::SIGKILL).expect("a signal to itself"),
            }
        }
        let _ = if world.rank() == 0 { near.barrier() } else { world.barrier() };
        return println!("never: the barrier has ended");
    }
    let Some(mpich) = mpich() else { return };
    for how in ["panics", "is killed"] {
        let Outcome { status, output } = relaunched(mpiexec_on(&mpich, 4, Nodes::Of(2)), how);
        assert!(!status.success() && !output.contains("never"), "{how}, {status}:\n{output}");
    }
}

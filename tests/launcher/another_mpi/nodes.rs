//! What ranks of one node have, where the job has several. Its launcher treats one machine as several nodes.

use super::{part, relaunched};
use crate::support::{NODE, Nodes, Outcome, WAYS, mpich, mpiexec_on};
use onesided::{Access, Comm, ErrorClass, Info, Op, Rank, SplitType, Universe, Window};

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

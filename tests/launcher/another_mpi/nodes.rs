//! What ranks of one node have, where the job has several. MPICH treats one machine as several if it is told to.

use super::{part, relaunched};
use crate::support::{Outcome, mpich, mpiexec};
use onesided::{Comm, Info, SplitType, Universe};

/// Runs `program` in as many ranks, on as many nodes: rank `r` is on node `r % nodes`.
#[track_caller]
fn on_nodes(ranks: u32, nodes: u32, program: fn(&Comm, u32)) {
    if let Some(nodes) = part() {
        let universe = Universe::init().expect("a rank joins its job");
        return program(universe.world(), nodes.parse().expect("a number"));
    }
    let Some(mpich) = mpich() else { return };
    let mut launcher = mpiexec(&mpich, ranks);
    launcher.env("MPIR_CVAR_NUM_CLIQUES", nodes.to_string());
    let Outcome { status, output } = relaunched(launcher, &nodes.to_string());
    assert!(status.success(), "{ranks} ranks on {nodes} nodes, {status}:\n{output}");
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

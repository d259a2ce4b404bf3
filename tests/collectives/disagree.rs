//! Ranks that call different collectives, or the same with arguments that do not match.

use crate::support::spmd;
use onesided::{Comm, Error, MismatchKind, Op, Rank, Result, UserOp, Window};

/// A collective that ranks may disagree about.
type Collective = (&'static str, fn(&Comm) -> Result<()>);

fn own(a: u32, b: u32) -> u32 {
    a + b
}

/// All differ from each other in call, root, operation, counts, length or element type.
const COLLECTIVES: [Collective; 34] = [
    ("broadcast", |w| w.broadcast(&mut [1u32; 2], Rank(0))),
    ("broadcast of another root", |w| w.broadcast(&mut [1u32; 2], Rank(1))),
    ("broadcast of another length", |w| w.broadcast(&mut [1u32; 3], Rank(0))),
    ("broadcast of several chunks", |w| w.broadcast(&mut vec![1u32; 5000], Rank(0))),
    ("broadcast of several pieces", |w| w.broadcast(&mut vec![1u32; 40_000], Rank(0))),
    ("broadcast of several pieces of another root", |w| {
        w.broadcast(&mut vec![1u32; 40_000], Rank(1))
    }),
    ("allreduce of several pieces", |w| w.allreduce(&vec![1u32; 40_000], Op::Sum).map(drop)),
    ("broadcast of nothing", |w| w.broadcast(&mut [0u32; 0], Rank(0))),
    ("broadcast of other elements", |w| w.broadcast(&mut [1u64; 1], Rank(0))),
    ("gather", |w| w.gather(&[1u32; 2], Rank(0)).map(drop)),
    ("allgather", |w| w.allgather(&[1u32; 2]).map(drop)),
    ("reduce", |w| w.reduce(&[1u32; 2], Op::Sum, Rank(0)).map(drop)),
    ("allreduce", |w| w.allreduce(&[1u32; 2], Op::Sum).map(drop)),
    ("allreduce of another operation", |w| w.allreduce(&[1u32; 2], Op::Max).map(drop)),
    ("window allocate", |w| Window::<u32>::allocate(w, 2).map(drop)),
    ("scatter", |w| w.scatter(Some(&[1u32; 3]), Rank(0)).map(drop)),
    ("scatter of another root", |w| w.scatter(Some(&[1u32; 3]), Rank(1)).map(drop)),
    ("scatterv", |w| w.scatterv::<u32>(Some(&[&[], &[], &[]]), Rank(0)).map(drop)),
    ("gatherv", |w| w.gatherv(&[1u32], Rank(0)).map(drop)),
    ("gatherv of another type", |w| w.gatherv(&[1i32], Rank(0)).map(drop)),
    ("allgatherv", |w| w.allgatherv(&[1u32]).map(drop)),
    ("alltoall", |w| w.alltoall(&[1u32; 3]).map(drop)),
    ("alltoall of more", |w| w.alltoall(&[1u32; 6]).map(drop)),
    ("alltoallv", |w| w.alltoallv::<u32>(&[&[], &[], &[1]]).map(drop)),
    ("broadcast_vec", |w| w.broadcast_vec(&mut vec![1u32], Rank(0))),
    ("scan", |w| w.scan(&[1u32], Op::Sum).map(drop)),
    ("scan by a user function", |w| w.scan(&[1u32], &UserOp::new(own)).map(drop)),
    ("scan by a commutative one", |w| w.scan(&[1u32], &UserOp::new(own).commutative()).map(drop)),
    ("exscan", |w| w.exscan(&[1u32], Op::Sum).map(drop)),
    ("reduce_scatter_block", |w| w.reduce_scatter_block(&[1u32; 3], Op::Sum).map(drop)),
    ("reduce_scatter", |w| w.reduce_scatter(&[1u32; 3], &[1, 1, 1], Op::Sum).map(drop)),
    ("reduce_scatter, other counts", |w| {
        w.reduce_scatter(&[1u32; 3], &[3, 0, 0], Op::Sum).map(drop)
    }),
    ("dup", |w| w.dup().map(drop)),
    ("split", |w| w.split(Some(0), 0).map(drop)),
];

#[test]
fn ranks_that_disagree_all_learn_it() {
    spmd(3, |world| {
        let mut seen = Vec::new();
        // From here on longer data are staged, too.
        world.broadcast(&mut vec![1u32; 5000], Rank(0)).unwrap();
        for (one, first) in COLLECTIVES {
            for (other, second) in COLLECTIVES.iter().filter(|(other, _)| *other != one) {
                let odd = one.len() as u32 % world.size();
                let result = if world.rank().0 == odd { first(world) } else { second(world) };
                // A rank that need not wait for the others gets its error here.
                let later = world.barrier();
                let result = result.and(later);
                let error = result.expect_err(&format!("{one} against {other}"));
                let Error::Mismatch { kind, .. } = error else { panic!("{error}") };
                // The same kind on all ranks.
                let kinds = world.allgather(&[kind as u32]).unwrap();
                assert!(kinds.iter().all(|other| *other == kinds[0]), "{error}");
                seen.push(kind);
                let text = error.to_string();
                assert!(text.contains("this rank calls") && text.contains("but rank"), "{text}");
                // Nothing is out of step afterwards.
                assert_eq!(world.allreduce(&[1u32], Op::Sum).unwrap(), [3]);
            }
        }
        use MismatchKind::{Call, Datatype, Length, Operation, Root};
        for kind in [Call, Datatype, Length, Operation, Root] {
            assert!(seen.contains(&kind), "{kind:?}");
        }
    });
}

/// Each learns of one call in which another rank differs, however far it has gone ahead, and of no other call.
#[test]
fn one_call_among_many_is_found() {
    const CALLS: u32 = 1200;
    const ODD: [u32; 6] = [0, 7, 40, 1022, 1024, 1199];
    spmd(3, |world| {
        let own = world.rank();
        let mut found = 0;
        for call in 0..CALLS {
            let is_odd = ODD.contains(&call) && own.0 == call % world.size();
            let op = if is_odd { Op::Max } else { Op::Sum };
            let outcome = world.reduce(&[1u32], op, Rank(2));
            found += u32::from(outcome.is_err());
            if let Err(error) = outcome {
                let is_right =
                    matches!(error, Error::Mismatch { kind: MismatchKind::Operation, .. });
                assert!(is_right, "{error}");
            }
        }
        found += u32::from(world.barrier().is_err());
        // Of two that are near each other, a rank that has gone ahead may report the first alone.
        let (least, most) = (4, ODD.len() as u32);
        assert!((least..=most).contains(&found), "{found} on rank {own}");
        assert!(own != 2 || found == most, "the root waits for all, and found {found}");
        assert_eq!(world.allreduce(&[1u32], Op::Sum).unwrap(), [3]);
    });
}

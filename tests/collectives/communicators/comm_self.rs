//! `MPI_COMM_SELF`.
//!
//! The ignored function is the program: the test runs this test binary under rmarun with it.

use crate::support;
use onesided::{Comm, Comparison, KeyvalOptions, Op, Rank, Universe, Window};
use std::process::Command;

#[test]
fn every_rank_has_a_communicator_of_its_own() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rmarun"));
    command.args(["-n", "3", "--require-join"]).args(support::segment()).arg("--");
    command.arg(std::env::current_exe().expect("the test's own path"));
    let test = support::test_of(module_path!(), "program");
    command.args(["--exact", &test, "--ignored", "--nocapture", "--test-threads=1"]);
    let outcome = support::run(&mut command, "program");
    assert!(outcome.status.success(), "{}:\n{}", outcome.status, outcome.output);
    assert_eq!(outcome.output.matches("second of rank").count(), 3, "{}", outcome.output);
    for rank in 0..3 {
        let ends = ["third", "second", "first"].map(|name| format!("{name} of rank {rank}"));
        let places = ends.map(|end| outcome.output.find(&end));
        assert!(places.is_sorted() && places[0].is_some(), "{rank}: {}", outcome.output);
    }
}

#[test]
#[ignore = "a program"]
fn program() {
    let universe = Universe::init().unwrap();
    let (world, myself) = (universe.world(), universe.self_comm());
    assert_eq!((myself.rank().0, myself.size(), myself.name().as_str()), (0, 1, "MPI_COMM_SELF"));
    assert_eq!(myself.group().world_ranks(), [world.rank().0]);
    assert_eq!(myself.compare(world), Comparison::Unequal);
    // As often as a rank likes: no other rank takes part.
    for k in 0..world.rank().0 * 10 {
        assert_eq!(myself.allreduce(&[k], Op::Sum).unwrap(), [k]);
        let copy = myself.dup().unwrap();
        assert_eq!(copy.compare(myself), Comparison::Congruent);
        assert_eq!(copy.exscan(&[k], Op::Sum).unwrap(), None);
        assert_eq!(copy.scatter(Some(&[k, 1]), Rank(0)).unwrap(), [k, 1]);
        copy.free().unwrap();
    }
    let window = Window::<u32>::allocate(myself, 4).unwrap();
    window.free().unwrap();
    myself.clone().free().unwrap_err();
    // What is kept with it is deleted when the job ends, the latest first.
    for name in ["first", "second", "third"] {
        let key = KeyvalOptions::new().on_delete(|comm: &Comm, text: &String| {
            comm.barrier().map_err(|error| error.to_string())?;
            println!("{text}");
            Ok(())
        });
        myself.set_attribute(&key.create(), format!("{name} of rank {}", world.rank().0)).unwrap();
    }
}

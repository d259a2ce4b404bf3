//! What a program keeps with a communicator: names, error handlers, attributes, info.

use crate::support;
use crate::support::spmd;
use onesided::{
    Comm, CommKeyval, Error, ErrorClass, ErrorHandler, Group, Info, KeyvalOptions, Op, Rank,
};
use std::sync::{Arc, Mutex};

/// What callbacks have recorded, in order.
type Log = Arc<Mutex<Vec<String>>>;

fn noted(log: &Log) -> Vec<String> {
    std::mem::take(&mut log.lock().unwrap())
}

/// A key whose duplicates are one more, and which records what happens; 99 is neither copied nor
/// deleted.
fn counting(log: &Log) -> CommKeyval<u32> {
    let (copies, deletions) = (log.clone(), log.clone());
    KeyvalOptions::new()
        .on_copy(move |comm: &Comm, value: &u32| {
            copies.lock().unwrap().push(format!("copy {value} of {}", comm.name()));
            if *value == 99 { Err("no 99".into()) } else { Ok((*value < 10).then_some(value + 1)) }
        })
        .on_delete(move |comm: &Comm, value: &u32| {
            deletions.lock().unwrap().push(format!("delete {value} of {}", comm.name()));
            if *value == 99 { Err("99 stays".into()) } else { Ok(()) }
        })
        .create()
}

#[test]
fn attributes_are_set_read_overwritten_and_deleted() {
    spmd(2, |world| {
        let log = Log::default();
        let (key, other) = (counting(&log), KeyvalOptions::new().create());
        world.set_name("w");
        assert_eq!(world.attribute(&key), None);
        assert!(!world.delete_attribute(&key).unwrap());
        world.set_attribute(&key, 3).unwrap();
        world.set_attribute(&other, "text").unwrap();
        assert_eq!(world.clone().attribute(&key.clone()).as_deref(), Some(&3));
        assert_eq!(world.attribute(&other).as_deref(), Some(&"text"));
        world.set_attribute(&key, 99).unwrap();
        assert_eq!(noted(&log), ["delete 3 of w"]);
        // Its callback refuses: it stays, whatever is tried.
        let error = world.set_attribute(&key, 4).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Other, "{error}");
        assert!(error.to_string().contains("99 stays"), "{error}");
        assert!(world.delete_attribute(&key).is_err());
        assert_eq!(world.attribute(&key).as_deref(), Some(&99));
        assert!(world.delete_attribute(&other).unwrap());
        assert_eq!(world.attribute(&other), None);
        assert_eq!(noted(&log), ["delete 99 of w", "delete 99 of w"]);
    });
}

#[test]
fn a_freed_key_sets_nothing_but_what_it_has_set_stays() {
    spmd(1, |world| {
        let log = Log::default();
        let key = counting(&log);
        let comm = world.dup().unwrap();
        comm.set_attribute(&key, 1).unwrap();
        key.clone().free();
        let error = comm.set_attribute(&key, 2).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Keyval, "{error}");
        assert_eq!(comm.attribute(&key).as_deref(), Some(&1));
        let copy = comm.dup().unwrap();
        assert_eq!(copy.attribute(&key).as_deref(), Some(&2));
        comm.free().unwrap();
        assert!(copy.delete_attribute(&key).unwrap());
        assert_eq!(noted(&log), ["copy 1 of ", "delete 1 of ", "delete 2 of "]);
    });
}

#[test]
fn duplicates_get_copies_and_freeing_deletes_the_latest_first() {
    spmd(3, |world| {
        let log = Log::default();
        let (first, second, large) = (counting(&log), counting(&log), counting(&log));
        let (shared, retained) =
            (KeyvalOptions::new().copied().create(), KeyvalOptions::new().create());
        let comm = world.dup().unwrap();
        comm.set_name("old");
        comm.set_attribute(&first, 1).unwrap();
        comm.set_attribute(&second, 5).unwrap();
        comm.set_attribute(&large, 10).unwrap();
        comm.set_attribute(&shared, vec![1.5]).unwrap();
        comm.set_attribute(&retained, 'k').unwrap();
        let copy = comm.dup().unwrap();
        assert_eq!(noted(&log), ["copy 1 of old", "copy 5 of old", "copy 10 of old"]);
        copy.set_name("new");
        assert_eq!(copy.attribute(&first).as_deref(), Some(&2));
        assert_eq!(copy.attribute(&second).as_deref(), Some(&6));
        assert_eq!((copy.attribute(&large), copy.attribute(&retained)), (None, None));
        let (old, new) = (comm.attribute(&shared).unwrap(), copy.attribute(&shared).unwrap());
        assert!(Arc::ptr_eq(&old, &new));
        // Only dup copies.
        let part = comm.split(Some(0), 0).unwrap().unwrap();
        assert_eq!((part.attribute(&first), part.attribute(&shared)), (None, None));
        part.free().unwrap();
        copy.free().unwrap();
        assert_eq!(noted(&log), ["delete 6 of new", "delete 2 of new"]);
        comm.free().unwrap();
        assert_eq!(noted(&log), ["delete 10 of old", "delete 5 of old", "delete 1 of old"]);
    });
}

#[test]
fn a_callback_that_refuses_on_one_rank_fails_a_collective_on_all() {
    spmd(3, |world| {
        let log = Log::default();
        let (before, key) = (counting(&log), counting(&log));
        let comm = world.dup().unwrap();
        comm.set_attribute(&before, 1).unwrap();
        comm.set_attribute(&key, if world.rank() == 1 { 99 } else { 5 }).unwrap();
        let error = comm.dup().unwrap_err();
        assert_eq!(error.class(), ErrorClass::Other, "{error}");
        let own = if world.rank() == 1 { "no 99" } else { "callback of rank 1" };
        assert!(error.to_string().contains(own), "{error}");
        // What was copied for nothing has been deleted again.
        let copied = noted(&log).iter().filter(|line| line.starts_with("delete")).count();
        assert_eq!(copied, if world.rank() == 1 { 1 } else { 2 });
        // Freeing is local: it is not freed on rank 1.
        let freed = comm.clone().free();
        match world.rank().0 {
            1 => {
                let error = freed.unwrap_err();
                assert!(error.to_string().contains("99 stays"), "{error}");
                assert_eq!(comm.attribute(&key).as_deref(), Some(&99));
            }
            _ => {
                freed.unwrap();
                assert_eq!(comm.barrier().unwrap_err().class(), ErrorClass::Comm);
            }
        }
    });
}

#[test]
fn callbacks_may_use_their_communicator() {
    spmd(3, |world| {
        let key = KeyvalOptions::new()
            .on_copy(|comm: &Comm, value: &u32| {
                let sum = comm.allreduce(&[*value], Op::Sum).map_err(|error| error.to_string())?;
                Ok(Some(sum[0]))
            })
            .on_delete(|comm: &Comm, _: &u32| comm.barrier().map_err(|error| error.to_string()))
            .create();
        let comm = world.dup().unwrap();
        comm.set_attribute(&key, world.rank().0 + 1).unwrap();
        let copy = comm.dup().unwrap();
        assert_eq!(copy.attribute(&key).as_deref(), Some(&6));
        comm.free().unwrap();
        copy.free().unwrap();
    });
}

#[test]
fn threads_that_set_and_delete_one_attribute_call_its_callback_once_for_each_value() {
    spmd(1, |world| {
        let deleted: Arc<Mutex<Vec<u32>>> = Arc::default();
        let log = deleted.clone();
        let key = KeyvalOptions::new()
            .on_delete(move |_: &Comm, value: &u32| {
                log.lock().unwrap().push(*value);
                Ok(())
            })
            .create();
        std::thread::scope(|threads| {
            for thread in 0..4 {
                let key = &key;
                threads.spawn(move || {
                    for k in 0..500 {
                        world.set_attribute(key, thread * 500 + k).unwrap();
                        if k % 3 == thread % 3 {
                            world.delete_attribute(key).unwrap();
                        }
                    }
                });
            }
        });
        world.delete_attribute(&key).unwrap();
        let mut deleted = deleted.lock().unwrap();
        deleted.sort();
        assert_eq!(*deleted, (0..2000).collect::<Vec<_>>());
    });
}

#[test]
fn what_is_kept_with_the_world_may_hold_it() {
    // A rank that never let go of its handles would fail the job.
    spmd(2, |world| {
        let (first, second) = (world.clone(), world.clone());
        world.set_error_handler(ErrorHandler::user(move |_| first.set_name("failed")));
        let key = KeyvalOptions::new().create();
        world.set_attribute(&key, (second, world.dup().unwrap())).unwrap();
        world.broadcast(&mut [0u8], Rank(9)).unwrap_err();
        assert_eq!(world.name(), "failed");
    });
}

#[test]
fn names_belong_to_the_communicator_not_to_the_handle() {
    spmd(2, |world| {
        assert_eq!(world.name(), "MPI_COMM_WORLD");
        let comm = world.dup().unwrap();
        assert_eq!(comm.name(), "");
        comm.clone().set_name("halo");
        assert_eq!(comm.name(), "halo");
        assert!(format!("{comm:?}").contains("halo"));
        assert_eq!(comm.dup().unwrap().name(), "");
    });
}

#[test]
fn info_is_accepted_and_what_is_not_in_use_is_not_reported() {
    spmd(2, |world| {
        let mut info = Info::new();
        info.set("mpi_assert_no_any_tag", "true").unwrap();
        info.set("unknown", &world.rank().0.to_string()).unwrap();
        world.set_info(&info).unwrap();
        assert_eq!(world.info(), Info::new());
    });
}

#[test]
fn a_handler_sees_each_error_once_and_is_inherited() {
    spmd(3, |world| {
        let seen: Arc<Mutex<Vec<ErrorClass>>> = Arc::default();
        let classes = {
            let seen = seen.clone();
            move || std::mem::take(&mut *seen.lock().unwrap())
        };
        let comm = world.dup().unwrap();
        let handler = {
            let seen = seen.clone();
            ErrorHandler::user(move |error: &Error| seen.lock().unwrap().push(error.class()))
        };
        assert!(matches!(comm.error_handler(), ErrorHandler::Return));
        comm.set_error_handler(handler);
        let copy = comm.dup().unwrap();
        let part = copy.split(Some(0), 0).unwrap().unwrap();
        let made = part.create(&part.group()).unwrap().unwrap();
        let created = made.create_group(&made.group(), 0).unwrap();
        assert_eq!(classes(), []);
        for comm in [&comm, &copy, &part, &made, &created] {
            assert!(matches!(comm.clone().error_handler(), ErrorHandler::User(_)));
            comm.broadcast(&mut [0u8], Rank(9)).unwrap_err();
            assert_eq!(classes(), [ErrorClass::Root]);
            let len = 1 + comm.rank().index();
            comm.allgather(&vec![0u8; len]).unwrap_err();
            assert_eq!(classes(), [ErrorClass::Truncate]);
            comm.create_group(&Group::empty(), 0).unwrap_err();
            assert_eq!(classes(), [ErrorClass::Group]);
        }
        created.clone().free().unwrap();
        created.free().unwrap_err();
        assert_eq!(classes(), [ErrorClass::Comm]);
        // Another handler, set by the handler itself.
        let again = comm.clone();
        comm.set_error_handler(ErrorHandler::user(move |_| {
            again.set_error_handler(ErrorHandler::Return);
        }));
        comm.broadcast(&mut [0u8], Rank(9)).unwrap_err();
        assert!(matches!(comm.error_handler(), ErrorHandler::Return));
        assert!(matches!(world.error_handler(), ErrorHandler::Return));
    });
}

#[test]
fn a_fatal_error_ends_the_job_and_says_why() {
    let outcome = support::job(2, &[], |world| {
        world.set_error_handler(ErrorHandler::Fatal);
        let _ = world.broadcast(&mut [0u8], Rank(9));
        unreachable!("the process has ended");
    });
    if let Some(outcome) = outcome {
        assert_eq!(outcome.status.code(), Some(1), "{}", outcome.output);
        assert!(outcome.output.contains("no rank 9 to be the root"), "{}", outcome.output);
    }
}

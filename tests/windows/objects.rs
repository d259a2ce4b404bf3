//! What a program keeps with a window: info, attributes, name, error handler (MPI-4.1 §12.2.7,
//! §7.7.3, §7.8, §9.3).

use crate::support::{job, needs_rmarun, spmd};
use onesided::{
    Access, Comm, ErrorClass, ErrorHandler, Info, KeyvalOptions, LockType, MemoryModel, Rank,
    WinKeyval, Window, WindowOptions,
};
use std::collections::BTreeSet;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn info(pairs: &[(&str, &str)]) -> Info {
    let mut info = Info::new();
    pairs.iter().for_each(|(key, value)| info.set(key, value).unwrap());
    info
}

fn made(world: &Comm, pairs: &[(&str, &str)], len: usize) -> onesided::Result<Window<u64>> {
    WindowOptions::new().info(&info(pairs)).allocate(world, len)
}

#[test]
fn windows_without_locks_refuse_them() {
    spmd(2, |world| {
        let mut window = made(world, &[("no_locks", "true")], 4).unwrap();
        assert_eq!(window.info().get("no_locks"), Some("true"));
        let lock = window.lock(LockType::Shared, Rank(0)).err().unwrap();
        assert_eq!(lock.class(), ErrorClass::RmaSync);
        assert_eq!(window.lock_all().err().unwrap().class(), ErrorClass::RmaSync);
        assert_eq!(window.lock_local().err().unwrap().class(), ErrorClass::RmaSync);
        window.fence().unwrap().close().unwrap();
        // One rank alone cannot bring the locks back into force against the others.
        let wish = if world.rank() == 0 { "false" } else { "true" };
        window.set_info(&info(&[("no_locks", wish)])).unwrap();
        window.lock_all().unwrap().unlock_all().unwrap();
        window.set_info(&info(&[("no_locks", "true")])).unwrap();
        assert!(window.lock_all().is_err());
        window.free().unwrap();

        let pairs: &[(&str, &str)] = if world.rank() == 0 { &[("no_locks", "true")] } else { &[] };
        let mut window = made(world, pairs, 4).unwrap();
        assert_eq!(window.info().get("no_locks"), Some("false"));
        window.lock_all().unwrap().unlock_all().unwrap();
        window.free().unwrap();
    });
}

#[test]
fn promises_of_sameness_are_checked() {
    spmd(3, |world| {
        let same = [("same_size", "true"), ("same_disp_unit", "true")];
        made(world, &same, 4).unwrap().free().unwrap();
        let error = made(world, &same, 4 + world.rank().index() / 2).err().unwrap();
        assert_eq!(error.class(), ErrorClass::InfoValue);
        assert!(error.to_string().contains("rank 2"), "{error}");
        let units = WindowOptions::new().info(&info(&same)).disp_unit(1 + u64::from(world.rank()));
        assert_eq!(units.allocate::<u8>(world, 4).err().unwrap().class(), ErrorClass::InfoValue);
        let mine: &[(&str, &str)] = if world.rank() == 1 { &[] } else { &same };
        made(world, mine, world.rank().index()).unwrap().free().unwrap();
    });
}

#[test]
fn hints_about_memory_are_followed_or_not_reported() {
    spmd(2, |world| {
        let pairs = [
            ("mpi_minimum_memory_alignment", "1024"),
            ("onesided_populate", "true"),
            ("onesided_huge_pages", "true"),
        ];
        let window = made(world, &pairs, 100).unwrap();
        assert_eq!(window.base() as usize % 1024, 0);
        assert_eq!(window.info().get("mpi_minimum_memory_alignment"), Some("1024"));
        assert!(matches!(window.info().get("onesided_populate"), Some("true" | "false")));
        assert_eq!(window.load_one(99).unwrap(), 0);
        window.free().unwrap();
        // The machine has no sixtieth node; a part of no whole page stays where it is; and whether
        // a container may place memory at all is not ours to say.
        for (node, len, may) in [("0", 1 << 16, true), ("60", 1 << 16, false), ("0", 1, false)] {
            let window = made(world, &[("onesided_numa_node", node)], len).unwrap();
            let reported = window.info().get("onesided_numa_node").map(str::to_owned);
            assert!(reported.is_none() || may && reported.as_deref() == Some(node));
            window.free().unwrap();
        }
        // A page is the largest alignment that is followed.
        let page = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).unwrap().unwrap();
        let name = page.to_string();
        let aligned = made(world, &[("mpi_minimum_memory_alignment", &name)], 1).unwrap();
        assert_eq!(aligned.base() as usize % page as usize, 0);
        aligned.free().unwrap();
        let unmet = made(world, &[("mpi_minimum_memory_alignment", "1048576")], 1).unwrap();
        assert_eq!(unmet.info().get("mpi_minimum_memory_alignment"), Some("1"));
        unmet.free().unwrap();
        let shared: Window<u8> = WindowOptions::new()
            .info(&info(&[("alloc_shared_noncontig", "true")]))
            .allocate_shared(world, 3)
            .unwrap();
        assert_eq!(shared.base() as usize % 128, 0);
        shared.free().unwrap();
    });
}

#[test]
fn attributes_come_and_go_with_their_callbacks() {
    spmd(2, |world| {
        let deleted = Arc::new(AtomicUsize::new(0));
        let seen = deleted.clone();
        let key: WinKeyval<String> = KeyvalOptions::new()
            .on_delete(move |_, value: &String| {
                seen.fetch_add(1, Ordering::Relaxed);
                if value == "stay" { Err("it wants to stay".into()) } else { Ok(()) }
            })
            .create();
        let window = Window::<u8>::allocate(world, 1).unwrap();
        assert_eq!(window.attribute(&key), None);
        window.set_attribute(&key, "first".into()).unwrap();
        window.set_attribute(&key, "second".into()).unwrap();
        assert_eq!(deleted.load(Ordering::Relaxed), 1);
        assert_eq!(window.attribute(&key).as_deref().map(String::as_str), Some("second"));
        assert!(window.delete_attribute(&key).unwrap());
        assert!(!window.delete_attribute(&key).unwrap());
        window.set_attribute(&key, "third".into()).unwrap();
        window.free().unwrap();
        assert_eq!(deleted.load(Ordering::Relaxed), 3);

        // A callback that refuses on one rank keeps the window from being freed on all.
        let window = Window::<u8>::allocate(world, 1).unwrap();
        if world.rank() == 1 {
            window.set_attribute(&key, "stay".into()).unwrap();
        }
        let error = window.free().unwrap_err();
        let expected = [ErrorClass::RmaSync, ErrorClass::Other][world.rank().index()];
        assert_eq!(error.class(), expected, "{error}");
    });
}

/// A binding whose callbacks still need its handle of the window deletes the attributes itself.
#[test]
fn attributes_may_be_deleted_before_the_window_is_freed() {
    spmd(2, |world| {
        let deleted = Arc::new(AtomicUsize::new(0));
        for refusing in [None, Some(1)] {
            let seen = deleted.clone();
            let refuses = refusing == Some(world.rank().0);
            let key: WinKeyval<u32> = KeyvalOptions::new()
                .on_delete(move |_, _| {
                    seen.fetch_add(1, Ordering::Relaxed);
                    if refuses { Err("it wants to stay".into()) } else { Ok(()) }
                })
                .create();
            let window = WindowOptions::new().allocate_bytes(world, 8, 1).unwrap();
            window.set_attribute(&key, 1).unwrap();
            let reported = window.delete_attributes();
            assert_eq!(reported.is_err(), refuses);
            let agreed = window.agree_to_free(reported);
            match refusing {
                None => {
                    assert!(!agreed.unwrap(), "nobody has attributes any more");
                    window.free().unwrap();
                }
                Some(rank) => {
                    let error = agreed.unwrap_err();
                    let refusal = if refuses { ErrorClass::Other } else { ErrorClass::RmaSync };
                    assert_eq!(error.class(), refusal, "{error}, refused by {rank}");
                    // The window is there, with the attribute that stays.
                    assert_eq!(window.attribute(&key).is_some(), refuses);
                    window.lock(LockType::Shared, Rank(0)).unwrap();
                    window.unlock(Rank(0)).unwrap();
                }
            }
        }
        assert_eq!(deleted.load(Ordering::Relaxed), 2, "each once");
    });
}

#[test]
fn handlers_see_each_error_once() {
    spmd(2, |world| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = seen.clone();
        let handler = ErrorHandler::user(move |error| log.lock().unwrap().push(error.class()));
        let mut window = Window::<u64>::allocate(world, 1).unwrap();
        window.set_error_handler(handler);
        window.load(7, &mut [0]).unwrap_err();
        let all = window.lock_all().unwrap();
        all.put_flush(&[1], Rank(0), 9).unwrap_err();
        all.fetch_and_op_flush(1, onesided::Op::Maxloc, Rank(0), 0).unwrap_err();
        all.flush(Rank(5)).unwrap_err();
        all.unlock_all().unwrap();
        let expected =
            [ErrorClass::RmaRange, ErrorClass::RmaRange, ErrorClass::Op, ErrorClass::Rank];
        assert_eq!(*seen.lock().unwrap(), expected);
        window.set_error_handler(ErrorHandler::Return);
        window.load(7, &mut [0]).unwrap_err();
        assert_eq!(seen.lock().unwrap().len(), 4);
        window.free().unwrap();
    });
}

#[test]
fn a_window_takes_over_the_handler_of_its_communicator() {
    spmd(2, |world| {
        let seen = Arc::new(AtomicUsize::new(0));
        let count = seen.clone();
        let comm = world.dup().unwrap();
        comm.set_error_handler(ErrorHandler::user(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        }));
        let refused = WindowOptions::new().disp_unit(0).allocate::<u8>(&comm, 1);
        assert_eq!(refused.err().unwrap().class(), ErrorClass::Disp);
        assert_eq!(seen.load(Ordering::Relaxed), 1);
        let window = Window::<u8>::allocate(&comm, 1).unwrap();
        window.load(1, &mut [0]).unwrap_err();
        assert_eq!(seen.load(Ordering::Relaxed), 2);
        window.free().unwrap();
        comm.free().unwrap();
    });
}

#[test]
fn a_fatal_error_ends_the_job_and_says_why() {
    let outcome = job(2, &[], |world| {
        let window: Window<u8> = WindowOptions::new().name("halo").allocate(world, 1).unwrap();
        window.set_error_handler(ErrorHandler::Fatal);
        if world.rank() == 1 {
            let _ = window.load(3, &mut [0]);
            unreachable!("the error was fatal");
        }
        world.barrier().unwrap();
    });
    let Some(outcome) = outcome else { return };
    assert_eq!(outcome.status.code(), Some(1), "{}", outcome.output);
    assert!(outcome.output.contains("'halo'") && outcome.output.contains("rank 1"));
}

#[test]
fn a_window_can_be_renamed() {
    spmd(1, |world| {
        let window = Window::<u8>::allocate(world, 1).unwrap();
        window.set_name("ghost cells");
        assert_eq!(window.name(), "ghost cells");
        assert!(window.load(1, &mut [0]).unwrap_err().to_string().contains("ghost cells"));
        window.free().unwrap();
    });
}

/// MPI-4.1 §12.2.6: where the model is unified, a load sees what an operation has written, and an
/// operation what was stored, without a call that brings two copies together.
#[test]
fn the_memory_model_of_every_flavour_is_unified() {
    spmd(2, |world| {
        let other = Rank(1 - world.rank().0);
        let dynamic = Window::create_dynamic(world).unwrap();
        let address = dynamic.attach(vec![0u64; 2]).unwrap();
        let there = world.allgather(&[address]).unwrap();
        let zeros = [0, 0];
        for (mut window, unit, disp) in [
            (Window::<u64>::allocate(world, 2).unwrap(), 1, zeros.as_slice()),
            (Window::allocate_shared(world, 2).unwrap(), 1, &zeros),
            (Window::create(world, vec![0u64; 2]).unwrap(), 1, &zeros),
            (dynamic, 8, &there),
        ] {
            assert_eq!(window.model(), MemoryModel::Unified);
            let (own, at) = (disp[world.rank().index()], disp[other.index()]);
            let all = window.lock_all().unwrap();
            all.window().store((own + unit) as usize, &[7]).unwrap();
            all.put_flush(&[5], other, at as usize).unwrap();
            world.barrier().unwrap();
            let mut got = [0];
            all.get_flush(&mut got, other, (at + unit) as usize).unwrap();
            assert_eq!((all.window().load_one(own as usize).unwrap(), got), (5, [7]));
            all.unlock_all().unwrap();
            window.free().unwrap();
        }
    });
}

/// At the end of the job at the latest, a rank names the line of an epoch whose guard was dropped.
#[test]
fn a_rank_that_leaves_names_epochs_that_are_open() {
    if needs_rmarun("lines with the numbers of the ranks") {
        return;
    }
    let run = |world: &Comm| {
        // Named by the next line.
        let create = |what: &str, line: u32| {
            let name = format!("{what} {}", line + 1);
            WindowOptions::new().name(&name).allocate::<u64>(world, 1).unwrap()
        };
        // Only that with operations: another one was none, or has ended.
        let mut unused = create("unused", 0);
        drop(unused.fence().unwrap());
        let mut ended = create("ended", 0);
        ended.fence().unwrap().put(&[7], Rank(0), 0).unwrap();
        ended.fence().unwrap().close().unwrap();
        let mut fenced = create("fenced", line!());
        fenced.fence().unwrap().put(&[7], Rank(0), 0).unwrap();
        let mut posted = create("posted", line!());
        drop(posted.sides().1.post(&world.group()).unwrap());
        let freed = [unused, ended, fenced].map(|window| window.free().is_ok());
        assert_eq!(freed, [true, true, false]);
    };
    if let Some(outcome) = job(2, &[], run) {
        let lines: BTreeSet<_> =
            outcome.output.lines().filter(|l| l.contains("its guard was dropped")).collect();
        let expected = |what, rank, kind, ends| {
            let name = outcome.output.split('\'').find(|name| name.starts_with(what));
            let name = name.expect("the window is named");
            let at = format!("{}:{}", file!(), name.split_once(' ').expect("its line").1);
            format!(
                "[{rank}] onesided: window '{name}', on rank {rank}: the {kind} epoch of {at} is open, because its guard was \
                 dropped without {ends}"
            )
        };
        let expected: Vec<_> = [0, 1]
            .into_iter()
            .flat_map(|rank| {
                [
                    expected("fenced", rank, "fence", "close"),
                    expected("posted", rank, "exposure", "wait"),
                ]
            })
            .collect();
        assert_eq!(lines, expected.iter().map(String::as_str).collect(), "{}", outcome.output);
    }
}

/// Dropped or not, a window that is not freed is named once, by rank 0, with the line that created it.
#[test]
fn a_rank_names_windows_that_were_not_freed() {
    let run = |world: &Comm| {
        let create = |name| WindowOptions::new().name(name).allocate::<u64>(world, 1).unwrap();
        create("freed").free().unwrap();
        drop(create("dropped"));
        drop(WindowOptions::new().name("untyped").allocate_bytes(world, 8, 8).unwrap());
        let renamed = create("named first");
        renamed.set_name("named later");
        // Rank 1 leaves the job: one that does not ends it, maybe before rank 0 has reported.
        match world.rank() {
            Rank(0) => _ = ManuallyDrop::new(renamed),
            _ => drop(renamed),
        }
    };
    if let Some(outcome) = job(2, &[], run) {
        let lines: Vec<_> =
            outcome.output.lines().filter(|l| l.contains("was not freed")).collect();
        assert_eq!(lines.len(), 3, "{}", outcome.output);
        for (line, name) in lines.into_iter().zip(["dropped", "untyped", "named later"]) {
            assert!(line.contains(&format!("onesided: window '{name}', created at ")), "{line}");
            assert!(line.contains("tests/windows/objects.rs:"), "{line}");
        }
    }
}

//! `rmarun --trace`: the file has each call of each rank once, also of ranks that did not end well.

use crate::harness::{Run, Started, eventually, finish, rank_function_in, rmarun, run_ranks_of};
use crate::slices::schema::Trace;
use crate::slices::{Slice, Slices, counters};
use crate::statistics::known_calls;
use crate::support::printed::cells_of;
use nix::sys::signal::{Signal, kill};
use onesided::engine::Win;
use onesided::{Access, LockType, Op, Rank, Universe, WindowOptions};
use prost::Message;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A name that a file of text would have to escape.
const NAME: &str = "a \"halo\" <b>&amp;</b> größer als ein Block von Zeichen";
/// How long one rank keeps the others waiting.
const LATE: Duration = Duration::from_millis(100);
/// More puts than a rank has places for events.
const MANY: usize = 30_000;
/// Bytes of messages that are in a block, and that the receiver copies itself.
const LONG: [usize; 2] = [50_000, 3 << 20];
/// Messages that are received in the opposite order.
const MESSAGES: i32 = 5;

#[test]
#[ignore = "a rank"]
fn make_calls() {
    known_calls(NAME);
}

#[test]
#[ignore = "a rank"]
fn put_often() {
    let universe = Universe::init().unwrap();
    let world = universe.world();
    let mut window = WindowOptions::new().name("much").allocate::<u64>(world, 1).unwrap();
    let epoch = window.lock_all().unwrap();
    (0..MANY).for_each(|_| epoch.put(&[1], Rank(0), 0).unwrap());
    epoch.unlock_all().unwrap();
    if world.size() == 3 {
        // The launcher is killed meanwhile.
        println!("ready");
        if world.rank() == 2 {
            let _ = world.recv(&mut [0u8], Rank(0), 0);
        }
        loop {
            std::thread::park();
        }
    }
    window.free().unwrap();
}

#[test]
#[ignore = "a rank"]
fn wait_for_each_other() {
    let universe = Universe::init().unwrap();
    universe.vouch_for_one_thread();
    let world = universe.world();
    let other = Rank(1 - world.rank().0);
    world.recv(&mut [0u8], other, 0).unwrap();
}

#[test]
#[ignore = "a rank"]
fn send_and_post() {
    let universe = Universe::init().unwrap();
    let world = universe.world();
    for tag in 0..MESSAGES {
        match world.rank().0 {
            0 => world.send(&vec![1u8; tag as usize + 1], Rank(1), tag).unwrap(),
            1 => {
                let tag = MESSAGES - 1 - tag;
                world.recv(&mut vec![0u8; tag as usize + 1], Rank(0), tag).unwrap();
            }
            _ => {}
        }
    }
    let options = WindowOptions::new().notifications(1);
    let window = options.allocate_bytes(world, 8, 1).unwrap();
    window.lock_all().unwrap();
    (0..3).for_each(|_| window.notify(Rank((world.rank().0 + 1) % world.size()), 0).unwrap());
    window.wait_notify(0, 3).unwrap();
    window.unlock_all().unwrap();
    world.barrier().unwrap();
    let others = world.group().excl(&[world.rank()]).unwrap();
    for _ in 0..2 {
        window.post(&others).unwrap();
        window.start(&others).unwrap();
        window.complete().unwrap();
        window.wait().unwrap();
    }
    window.free().unwrap();
}

/// How a rank locks the part of rank 0.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Held {
    Exclusive,
    Shared,
    All,
}

impl Held {
    fn lock(self, window: &Win) {
        match self {
            Held::Exclusive => window.lock(LockType::Exclusive, Rank(0)),
            Held::Shared => window.lock(LockType::Shared, Rank(0)),
            Held::All => window.lock_all(),
        }
        .unwrap();
    }

    fn unlock(self, window: &Win) {
        match self {
            Held::All => window.unlock_all(),
            _ => window.unlock(Rank(0)),
        }
        .unwrap();
    }
}

/// How rank 0 holds the lock, and what the others wait for.
const LOCKS: [[Held; 2]; 5] = [
    [Held::Exclusive, Held::Exclusive],
    [Held::Exclusive, Held::Shared],
    [Held::Shared, Held::Exclusive],
    [Held::Exclusive, Held::All],
    [Held::All, Held::Exclusive],
];

#[test]
#[ignore = "a rank"]
fn wait_for_locks() {
    let universe = Universe::init().unwrap();
    let world = universe.world();
    let window = WindowOptions::new().allocate_bytes(world, 8, 1).unwrap();
    for [held, wanted] in LOCKS {
        if world.rank() == 0 {
            held.lock(&window);
        }
        world.barrier().unwrap();
        if world.rank() == 0 {
            let begun = Instant::now();
            while begun.elapsed() < LATE {}
            held.unlock(&window);
        } else {
            wanted.lock(&window);
            wanted.unlock(&window);
        }
        world.barrier().unwrap();
    }
    window.free().unwrap();
}

#[test]
#[ignore = "a rank"]
fn unlock_what_is_not_locked() {
    let universe = Universe::init().unwrap();
    let world = universe.world();
    let window = WindowOptions::new().allocate_bytes(world, 8, 1).unwrap();
    for target in [0, 2, u32::MAX] {
        window.unlock(Rank(target)).unwrap_err();
    }
    window.unlock_all().unwrap_err();
    window.free().unwrap();
}

#[test]
#[ignore = "a rank"]
fn call_in_threads() {
    let universe = Universe::init().unwrap();
    let world = universe.world();
    let mut window = WindowOptions::new().name("shared").allocate::<u64>(world, 1).unwrap();
    let epoch = window.lock_all().unwrap();
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                (0..100).for_each(|_| epoch.accumulate(&[1], Op::Sum, Rank(0), 0).unwrap());
            });
        }
    });
    epoch.unlock_all().unwrap();
    window.free().unwrap();
}

/// A file below the folder of this test's build, removed at the end.
struct TraceFile(PathBuf);

impl TraceFile {
    fn new(name: &str) -> TraceFile {
        let pid = std::process::id();
        TraceFile(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{pid}.pftrace")))
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a path in UTF-8")
    }

    /// Runs a function of this module on ranks that are traced.
    fn run(&self, ranks: u32, options: &[&str], function: &str) -> Run {
        let options = [&["--trace", self.path()], options].concat();
        run_ranks_of("trace", ranks, &options, function)
    }

    fn trace(&self) -> Trace {
        Trace::decode(&*std::fs::read(&self.0).unwrap()).unwrap()
    }

    fn slices(&self) -> Slices {
        Slices::of(&self.trace())
    }
}

impl Drop for TraceFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Times and bytes of each call on each window, of the table that `--stats` prints.
fn counted(run: &Run) -> BTreeMap<(String, String), (u64, u64)> {
    let lines = run.stderr.lines().filter_map(|line| line.strip_prefix("rmarun: "));
    let rows = lines.skip_while(|line| !line.starts_with("calls of all ranks")).skip(2);
    let rows = rows.take_while(|line| line.starts_with("  "));
    rows.map(|row| {
        let cells = cells_of(row.trim_start());
        let bytes = cells[3].parse().unwrap_or_default();
        ((cells[0].to_owned(), cells[1].to_owned()), (cells[2].parse().unwrap(), bytes))
    })
    .collect()
}

#[test]
fn each_call_is_a_slice_with_its_arguments_as_often_as_it_is_counted() {
    for ranks in [2, 3, 8] {
        let file = TraceFile::new(&format!("calls-{ranks}"));
        let run = file.run(ranks, &["--stats"], "make_calls").expect(0);
        let slices = file.slices();
        let mut traced: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
        for slice in slices.0.iter().filter(|slice| slice.name != "waiting") {
            assert!(slice.end >= Some(slice.begin) && slice.inside.is_none(), "{slice:?}");
            let call = (slice.name.clone(), slice.argument("window").to_owned());
            let sum = traced.entry(call).or_default();
            sum.0 += 1;
            sum.1 += slice.argument("bytes").parse().unwrap_or(0);
        }
        let mut counts = counted(&run);
        // A slice has the bytes that are known when it begins.
        let received = counts.get_mut(&("recv".to_owned(), "-".to_owned())).expect("one receives");
        assert_eq!(std::mem::take(&mut received.1), 5);
        assert_eq!(traced, counts, "{run:#?}");
        assert_eq!(
            traced[&("put".to_owned(), NAME.to_owned())],
            (u64::from(ranks) * 10, 320 * u64::from(ranks))
        );
        for put in slices.of_call("put") {
            assert_eq!(put.argument("target"), ((put.rank + 1) % ranks).to_string());
            assert_eq!((put.argument("window"), put.argument("bytes")), (NAME, "32"));
        }
        let send = slices.of_call("send");
        assert_eq!((send.len(), send[0].rank, send[0].argument("target")), (1, 0, "1"));
    }
}

#[test]
fn a_wait_is_inside_its_call_and_names_the_line() {
    let file = TraceFile::new("waits");
    file.run(3, &[], "make_calls").expect(0);
    let slices = file.slices();
    let barrier =
        include_str!("statistics.rs").lines().position(|line| line.contains("world.barrier"));
    let line = format!("tests/launcher/statistics.rs:{}", barrier.unwrap() + 1);
    let longest = |rank: u32| {
        let waits = slices.0.iter().filter(|slice| slice.name == "waiting" && slice.rank == rank);
        waits.max_by_key(|wait| wait.end.unwrap() - wait.begin).expect("a wait")
    };
    for rank in [0, 2] {
        let wait = longest(rank);
        assert!(wait.end.unwrap() - wait.begin > LATE.as_nanos() as u64 / 2, "{wait:?}");
        assert_eq!(wait.inside.as_deref(), Some("barrier"), "{wait:?}");
        assert_eq!(wait.argument("line"), line, "{wait:?}");
    }
}

#[test]
fn the_events_of_a_killed_rank_are_there() {
    let file = TraceFile::new("killed");
    file.run(4, &[], "make_calls").expect(137);
    let slices = file.slices();
    let of_killed = |call: &str| {
        let calls = slices.of_call(call).into_iter();
        calls.filter(|slice| slice.rank == 2 && slice.end.is_some()).count()
    };
    assert_eq!([of_killed("put"), of_killed("fence"), of_killed("barrier")], [10, 20, 1]);
    let frees = slices.of_call("window free");
    assert!(frees.iter().all(|slice| slice.rank != 2 && slice.end.is_none()), "{frees:?}");
}

#[test]
fn a_deadlock_is_a_wait_without_an_end() {
    let file = TraceFile::new("deadlock");
    file.run(2, &[], "wait_for_each_other").expect(123);
    let slices = file.slices();
    for rank in 0..2 {
        let last = slices.0.iter().filter(|slice| slice.rank == rank).max_by_key(|s| s.begin);
        let last = last.expect("a wait");
        assert_eq!((last.name.as_str(), last.end), ("waiting", None), "{last:?}");
        assert!(last.argument("line").starts_with("tests/launcher/trace.rs:"), "{last:?}");
    }
    let (_, most) = over_time(&counters(&file.trace())[&("waiting ranks".to_owned(), None)]);
    assert_eq!(most, 2.0);
}

#[test]
fn no_event_is_lost_where_a_rank_has_more_than_places_for_them() {
    let file = TraceFile::new("much");
    file.run(2, &[], "put_often").expect(0);
    let slices = file.slices();
    for rank in 0..2 {
        let puts = slices.of_call("put").into_iter().filter(|put| put.rank == rank);
        assert_eq!(puts.filter(|put| put.end.is_some()).count(), MANY);
    }
}

#[test]
fn an_arrow_leads_from_each_message_and_post_to_the_call_that_has_received_it() {
    let file = TraceFile::new("arrows");
    file.run(3, &[], "send_and_post").expect(0);
    let mut slices = file.slices();
    slices.0.sort_by_key(|slice| slice.begin);
    let begins: HashMap<u64, &Slice> = slices
        .0
        .iter()
        .flat_map(|slice| slice.arrows[0].iter().map(move |id| (*id, slice)))
        .collect();
    let ends = |name: &str| {
        let of_name = slices.0.iter().filter(|slice| slice.name.contains(name));
        let found: Vec<(&Slice, &Slice)> = of_name
            .flat_map(|slice| slice.arrows[1].iter().map(move |id| (*id, slice)))
            .map(|(id, slice)| (begins[&id], slice))
            .collect();
        found.iter().for_each(|(from, to)| assert!(Some(from.begin) <= to.end, "{from:?} {to:?}"));
        found
    };
    let messages = [ends("recv"), ends("message wait")].concat();
    assert!(messages.iter().all(|(from, to)| (from.rank, to.rank) == (0, 1)), "{messages:?}");
    let mut bytes: Vec<_> =
        messages.iter().map(|(from, to)| (to.end, from.argument("bytes"))).collect();
    bytes.sort();
    assert_eq!(
        bytes.iter().map(|(_, bytes)| *bytes).collect::<Vec<_>>(),
        ["5", "4", "3", "2", "1"]
    );
    let posts = ends("start");
    assert!(posts.iter().all(|(from, _)| from.name == "post" && from.arrows[0].len() == 2));
    let mut pairs: Vec<_> = posts.iter().map(|(from, to)| (from.rank, to.rank)).collect();
    pairs.sort();
    let twice = |pair| [pair, pair];
    let all = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)];
    assert_eq!(pairs, all.into_iter().flat_map(twice).collect::<Vec<_>>());
    let completes = ends("wait").into_iter().filter(|(_, to)| to.name == "wait");
    let completes: Vec<_> = completes.collect();
    assert!(completes.iter().all(|(from, to)| from.name == "complete" && to.arrows[1].len() == 2));
    let notifications = ends("wait_notify");
    assert!(
        notifications.iter().all(|(from, to)| to.rank == (from.rank + 1) % 3),
        "{notifications:?}"
    );
    assert!(notifications.iter().all(|(from, _)| from.name == "notify"), "{notifications:?}");
    assert_eq!(notifications.len(), 9);
    // Each rank has unlocked all, for which none has waited.
    assert_eq!(begins.len(), MESSAGES as usize + pairs.len() + completes.len() + 9 + 3);
    assert_eq!(completes.len(), pairs.len());
}

#[test]
fn an_arrow_leads_from_each_unlock_to_the_lock_that_has_waited_for_it() {
    let file = TraceFile::new("locks");
    file.run(3, &[], "wait_for_locks").expect(0);
    let slices = file.slices();
    let locks_of = |rank: u32| -> Vec<&Slice> {
        let is_it = |slice: &&Slice| slice.rank == rank && slice.name.starts_with("lock");
        slices.0.iter().filter(is_it).collect()
    };
    assert!(locks_of(0).iter().all(|lock| lock.arrows[1].is_empty()), "no rank was in its way");
    for ((number, [held, wanted]), [a, b]) in
        LOCKS.into_iter().enumerate().map(|one| (one, [1, 2].map(|rank| locks_of(rank)[one.0])))
    {
        let [first, second] = if a.end < b.end { [a, b] } else { [b, a] };
        let last = if wanted == Held::Exclusive { first.rank } else { 0 };
        for (lock, from) in [(first, 0), (second, last)] {
            let in_it = |slice: &&Slice| slice.rank == lock.rank && slice.begin >= lock.begin;
            let waits = slices.of_call("waiting").into_iter().filter(in_it);
            let wait = waits.min_by_key(|wait| wait.begin).expect("a rank waits at the end");
            if wait.begin > lock.end.unwrap() {
                // It came late on a busy machine.
                continue;
            }
            let [arrow] = lock.arrows[1][..] else { panic!("{number}: {lock:?}") };
            let unlock = slices.0.iter().find(|from| from.arrows[0].contains(&arrow)).unwrap();
            assert_eq!(unlock.rank, from, "{held:?} {wanted:?}: {unlock:?} {lock:?}");
            assert!(unlock.name.starts_with("unlock") && unlock.begin > lock.begin, "{unlock:?}");
            assert!(unlock.begin < lock.end.unwrap(), "{unlock:?} {lock:?}");
        }
    }
}

/// The sum of a counter over time, and its largest value.
fn over_time(values: &[(u64, f64)]) -> (f64, f64) {
    assert_eq!(values.last().map(|(_, value)| *value), Some(0.0), "{values:?}");
    assert!(values.is_sorted_by(|(a, _), (b, _)| a < b), "{values:?}");
    let parts = values.windows(2).map(|pair| pair[0].1 * (pair[1].0 - pair[0].0) as f64);
    (parts.sum(), values.iter().fold(0.0, |most, (_, value)| value.max(most)))
}

/// In nanoseconds, times what `weight` is of each.
fn lasted(slices: &[&Slice], weight: impl Fn(&Slice) -> f64) -> f64 {
    slices.iter().map(|one| (one.end.unwrap() - one.begin) as f64 * weight(one)).sum()
}

#[test]
fn ranks_wait_as_long_as_their_slices() {
    let file = TraceFile::new("counters");
    file.run(3, &[], "wait_for_locks").expect(0);
    let (counters, slices) = (counters(&file.trace()), file.slices());
    let (waiting, most) = over_time(&counters[&("waiting ranks".to_owned(), None)]);
    let waits = lasted(&slices.of_call("waiting"), |_| 1.0);
    assert!((waiting / waits - 1.0).abs() < 1e-9, "{waiting} of {waits}");
    // Rank 0 holds the lock.
    assert!((1.9..=3.0).contains(&most), "{most} ranks");
}

#[test]
fn bytes_are_in_flight_while_the_calls_last_that_move_them() {
    let file = TraceFile::new("flight");
    file.run(2, &[], "put_often").expect(0);
    let (counters, slices) = (counters(&file.trace()), file.slices());
    let (in_flight, most) = over_time(&counters[&("bytes in flight".to_owned(), None)]);
    let puts = lasted(&slices.of_call("put"), |put| put.argument("bytes").parse().unwrap());
    assert!((in_flight / puts - 1.0).abs() < 1e-9 && most <= 16.0, "{in_flight} of {puts}, {most}");
}

#[test]
#[ignore = "a rank"]
fn have_windows() {
    let universe = Universe::init().unwrap();
    let world = universe.world();
    let bytes = 4096 * u64::from(world.rank().0 + 1);
    let one = WindowOptions::new().allocate_bytes(world, bytes, 1).unwrap();
    let two = WindowOptions::new().allocate_bytes(world, 100, 1).unwrap();
    one.free().unwrap();
    let dynamic = WindowOptions::new().create_dynamic::<u64>(world).unwrap();
    let address = dynamic.attach(vec![0u64; 8]).unwrap();
    dynamic.detach(address).unwrap();
    dynamic.free().unwrap();
    two.free().unwrap();
}

#[test]
fn the_memory_of_windows_is_a_counter_of_each_rank() {
    let file = TraceFile::new("memory");
    file.run(2, &[], "have_windows").expect(0);
    let counters = counters(&file.trace());
    for rank in 0..2 {
        let values = &counters[&("memory of windows".to_owned(), Some(rank))];
        let own = 4096.0 * f64::from(rank + 1);
        let expected = [own, own + 100.0, 100.0, 100.0, 164.0, 100.0, 100.0, 0.0];
        assert_eq!(values.iter().map(|(_, value)| *value).collect::<Vec<_>>(), expected);
        assert!(values.is_sorted_by_key(|(time, _)| *time), "{values:?}");
    }
}

#[test]
fn an_unlock_without_a_lock_is_an_error_in_an_observed_job_too() {
    let file = TraceFile::new("unlock");
    file.run(2, &["--check"], "unlock_what_is_not_locked").expect(0);
    let unlocks = file.slices().of_call("unlock").len();
    assert_eq!(unlocks, 6);
    assert!(file.slices().0.iter().all(|slice| slice.arrows[0].is_empty()));
}

#[test]
fn each_thread_has_a_track() {
    let file = TraceFile::new("threads");
    file.run(2, &[], "call_in_threads").expect(0);
    let slices = file.slices();
    let mut by_thread: BTreeMap<u64, u32> = BTreeMap::new();
    for slice in slices.of_call("accumulate") {
        *by_thread.entry(slice.thread).or_default() += 1;
    }
    assert_eq!(by_thread.into_values().collect::<Vec<_>>(), [100; 6]);
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_any_rank_runs() {
    let folder = env!("CARGO_TARGET_TMPDIR");
    let nowhere = format!("{folder}/no such folder/out.pftrace");
    for (path, why) in [(&*nowhere, "No such file or directory"), (folder, "Is a directory")] {
        let run = run_ranks_of("trace", 2, &["--trace", path], "make_calls").expect(125);
        run.reports(&[&format!("cannot write the trace '{path}'"), why]);
        assert!(run.stdout.is_empty(), "{run:#?}");
    }
}

#[test]
fn a_full_disk_is_reported_once_and_the_job_goes_on() {
    let run = run_ranks_of("trace", 2, &["--trace", "/dev/full"], "put_often").expect(0);
    run.reports(&["cannot write the trace '/dev/full'", "No space left on device"]);
}

#[test]
fn what_a_killed_launcher_has_written_can_be_read() {
    let file = TraceFile::new("launcher");
    let function = rank_function_in("trace", "put_often");
    let mut command = rmarun(&["-n", "3", "--trace", file.path(), "--"]);
    command.args(&function);
    let mut started = Started::new(command);
    // Behind what the test harness of the rank has left on the line.
    while !started.line().ends_with("ready") {}
    let written = || Trace::decode(&*std::fs::read(&file.0).unwrap());
    let slices = |call| written().map_or(0, |trace| Slices::of(&trace).of_call(call).len());
    let puts = || slices("put");
    eventually("the puts of one rank are in the file", || puts() >= MANY);
    eventually("so is the call in which a rank waits", || slices("recv") == 1);
    kill(started.supervisor(), Signal::SIGKILL).unwrap();
    finish(started).expect(137);
    assert!(puts() >= MANY);
}

#[test]
#[ignore = "a rank"]
#[allow(clippy::disallowed_methods, reason = "a rank outside the library")]
fn wait_now_and_then() {
    let universe = Universe::init().unwrap();
    let world = universe.world();
    for round in 0u64.. {
        if world.rank() == 1 {
            std::thread::sleep(Duration::from_millis(150));
        }
        world.allreduce(&[round], Op::Max).unwrap();
        if round == ROUNDS {
            nix::unistd::pause();
        }
    }
}

/// Long enough for counters that are written before the end.
const ROUNDS: u64 = 20;

/// The counters of a job whose launcher is killed are there, too, and are right.
#[test]
fn a_killed_launcher_has_written_counters() {
    let file = TraceFile::new("counted");
    let function = rank_function_in("trace", "wait_now_and_then");
    let mut command = rmarun(&["-n", "2", "--trace", file.path(), "--"]);
    command.args(&function);
    let started = Started::new(command);
    let waiting = || {
        let trace = Trace::decode(&*std::fs::read(&file.0).ok()?).ok()?;
        let values = counters(&trace).remove(&("waiting ranks".to_owned(), None))?;
        let slices = Slices::of(&trace);
        let calls = slices.of_call("allreduce").into_iter();
        (calls.filter(|call| call.end.is_some()).count() as u64 == 2 * (ROUNDS + 1))
            .then(|| (values, lasted(&slices.of_call("waiting"), |_| 1.0)))
    };
    let is_over =
        || waiting().is_some_and(|(values, _)| values.last().is_some_and(|one| one.1 == 0.0));
    eventually("the waits are in the file, and counted", is_over);
    kill(started.supervisor(), Signal::SIGKILL).unwrap();
    finish(started).expect(137);
    let (values, waits) = waiting().expect("it was there before");
    let (counted, most) = over_time(&values);
    // The spinning part of a wait is not known while it lasts.
    assert!((counted / waits - 1.0).abs() < 0.05, "{counted} of {waits}: {values:?}");
    assert!(most <= 2.0 && values.len() > ROUNDS as usize, "{values:?}");
}

#[test]
#[ignore = "a rank"]
fn call_in_regions() {
    use onesided::trace::region;
    let universe = Universe::init().unwrap();
    let world = universe.world();
    let whole = region("solve \"<größe>\"");
    for step in 0..3 {
        let _step = region(if step == 1 { "odd" } else { "even" });
        world.barrier().unwrap();
        universe.set_traced(step == 0);
        // Begins while the trace is off, after the first step.
        let hidden = region("hidden");
        universe.set_traced(true);
        drop(hidden);
    }
    drop(whole);
    // When a rank is killed, the others end, too.
    world.barrier().unwrap();
    if world.rank() == 1 {
        let _unfinished = region("unfinished");
        nix::sys::signal::raise(Signal::SIGKILL).unwrap();
    }
}

#[test]
fn a_region_is_a_slice_with_its_calls_inside() {
    let file = TraceFile::new("regions");
    file.run(2, &[], "call_in_regions").expect(137);
    let slices = file.slices();
    for rank in 0..2 {
        let of = |name: &str| -> Vec<&Slice> {
            slices.of_call(name).into_iter().filter(|slice| slice.rank == rank).collect()
        };
        let whole = of("solve \"<größe>\"");
        assert!(whole.len() == 1 && whole[0].inside.is_none() && whole[0].end.is_some());
        assert_eq!([of("even").len(), of("odd").len(), of("hidden").len()], [2, 1, 1]);
        for step in [of("even"), of("odd")].concat() {
            assert_eq!(step.inside.as_deref(), Some("solve \"<größe>\""), "{step:?}");
            assert!(step.begin >= whole[0].begin && step.end <= whole[0].end, "{step:?}");
        }
        let barriers = of("barrier");
        let inside: Vec<_> = barriers.iter().filter_map(|one| one.inside.as_deref()).collect();
        assert_eq!(inside, ["even", "odd", "even"]);
    }
    let unfinished = slices.of_call("unfinished");
    assert!(unfinished.len() == 1 && unfinished[0].end.is_none(), "{unfinished:?}");
}

#[test]
#[ignore = "a rank"]
fn send_long_messages() {
    let universe = Universe::init().unwrap();
    let world = universe.world();
    let [next, last] = [1, 2].map(|k| Rank((world.rank().0 + k) % world.size()));
    for bytes in LONG {
        let mut got = vec![0u8; bytes];
        world.sendrecv(&vec![1u8; bytes], (next, 9), &mut got, (last, 9)).unwrap();
    }
}

#[test]
fn an_arrow_leads_from_each_long_message_to_its_receive() {
    let file = TraceFile::new("long");
    file.run(3, &[], "send_long_messages").expect(0);
    let slices = file.slices();
    let calls = slices.of_call("sendrecv");
    for bytes in LONG {
        let of_size = calls.iter().filter(|slice| slice.argument("bytes") == bytes.to_string());
        let ends: HashMap<u64, u32> = of_size
            .clone()
            .flat_map(|slice| slice.arrows[1].iter().map(move |id| (*id, slice.rank)))
            .collect();
        let mut pairs: Vec<(u32, u32)> = of_size
            .flat_map(|slice| slice.arrows[0].iter().map(move |id| (slice.rank, *id)))
            .map(|(from, id)| (from, ends[&id]))
            .collect();
        pairs.sort();
        assert_eq!(pairs, [(0, 1), (1, 2), (2, 0)], "{calls:?}");
    }
}

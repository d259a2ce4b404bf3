//! The sentences of deadlock reports.

use super::*;

fn waiting(rank: u32, call: Call, awaited: AwaitedRead) -> Waiting {
    let place = format!("src/main.rs:{}", 10 + rank);
    Waiting { rank, sleep: 1, call, window: None, awaited: AwaitedRead { place, ..awaited } }
}

fn arrival(come: u32, others: &[u32], object: u64) -> AwaitedRead {
    let (kind, awaited, others) = (AwaitedKind::Arrival, others.len() as u32, others.to_vec());
    AwaitedRead { kind, come, awaited, others, object, ..AwaitedRead::default() }
}

fn post(peer: u32) -> AwaitedRead {
    AwaitedRead { kind: AwaitedKind::Post, peer: Some(peer), ..AwaitedRead::default() }
}

fn deadlock(waiting: Vec<Waiting>, left: &[u32]) -> Deadlock {
    let ranks = (waiting.len() + left.len()) as u32;
    Deadlock { waiting, left: left.to_vec(), ranks, is_suspected: false }
}

#[test]
fn ranks_are_named_in_runs() {
    for (ranks, text) in [
        (&[3][..], "rank 3"),
        (&[0, 2], "ranks 0 and 2"),
        (&[0, 1], "ranks 0 and 1"),
        (&[0, 1, 2], "ranks 0-2"),
        (&[0, 1, 2, 4, 6, 7], "ranks 0-2, 4, 6 and 7"),
    ] {
        assert_eq!(named(ranks), text);
    }
    let odd: Vec<u32> = (0..32).map(|k| 2 * k + 1).collect();
    assert_eq!(named(&odd), "ranks 1, 3, 5, 7, 9, 11, 13, 15 and 24 more");
}

#[test]
fn a_cycle_is_written_out() {
    let lines = |n: u32| {
        let waits = (0..n).map(|rank| waiting(rank, Call::Start, post((rank + 1) % n)));
        deadlock(waits.collect(), &[]).lines("job ended")
    };
    assert_eq!(
        lines(1),
        "deadlock: rank 0 waits for itself; job ended\n\
         rank 0 in start waits for a post by rank 0 (src/main.rs:10)"
    );
    assert_eq!(
        lines(3),
        "deadlock: rank 0 waits for rank 1, which waits for rank 2, which waits for rank 0; job \
         ended\n\
         rank 0 in start waits for a post by rank 1 (src/main.rs:10)\n\
         rank 1 in start waits for a post by rank 2 (src/main.rs:11)\n\
         rank 2 in start waits for a post by rank 0 (src/main.rs:12)"
    );
    let many = lines(64);
    assert!(many.starts_with(
        "deadlock: rank 0 waits for rank 1, which waits for rank 2, and so on round 64 ranks; job"
    ));
}

#[test]
fn those_that_have_not_arrived_are_named_only_if_they_are_known() {
    let all = [0, 1, 2];
    let two = |come| {
        let waits = [0, 1].map(|rank| waiting(rank, Call::Fence, arrival(come, &all, 64)));
        let third = waiting(2, Call::Barrier, arrival(1, &all, 128));
        deadlock(waits.into_iter().chain([third]).collect(), &[]).lines("job ended")
    };
    let known = two(2);
    assert!(
        known.contains(
            "deadlock: rank 0 waits for rank 2, which waits for rank 0 (in different collectives);"
        ),
        "{known}"
    );
    assert!(known.contains("\nrank 0 in fence waits for rank 2 to arrive (src/main.rs:10)"));
    assert!(known.contains("\nrank 2 in barrier waits for ranks 0 and 1 to arrive"), "{known}");
    // All three have arrived at the first, one without waiting.
    let unknown = two(1);
    assert!(unknown.contains("\nrank 0 in fence waits for 2 of 3 ranks to arrive"), "{unknown}");
}

#[test]
fn ranks_in_different_collectives_say_where_the_others_are() {
    let takes_part = |other, number| AwaitedRead {
        kind: AwaitedKind::Collective,
        others: vec![other],
        number,
        ..AwaitedRead::default()
    };
    let waits = vec![
        waiting(0, Call::Broadcast, takes_part(1, 257)),
        waiting(1, Call::Barrier, takes_part(0, 258)),
    ];
    assert_eq!(
        deadlock(waits, &[]).lines("job ended"),
        "deadlock: rank 0 waits for rank 1, which waits for rank 0 (in different collectives); job \
         ended\n\
         rank 0 in broadcast waits for rank 1 to take part; rank 1 is in barrier (src/main.rs:10)\n\
         rank 1 in barrier waits for rank 0 to take part; rank 0 is in broadcast (src/main.rs:11)"
    );
    let same = vec![waiting(0, Call::Broadcast, takes_part(1, 257))];
    let gone = deadlock(same, &[1]).lines("job ended");
    assert!(
        gone.contains("\nrank 0 in broadcast waits for rank 1, which has left the job"),
        "{gone}"
    );
}

#[test]
fn equal_lines_are_one() {
    let all = [0, 1, 2];
    let waits = [0, 1].map(|rank| Waiting {
        awaited: AwaitedRead { place: "a.rs:1".into(), ..arrival(2, &all, 64) },
        ..waiting(rank, Call::Barrier, AwaitedRead::default())
    });
    assert_eq!(
        deadlock(waits.into(), &[2]).lines("job goes on"),
        "deadlock: rank 0 waits for rank 2, which has left the job; job goes on\n\
         ranks 0 and 1 in barrier wait for rank 2, which has left the job (a.rs:1)"
    );
}

#[test]
fn only_waits_that_need_a_rank_that_has_left_are_hopeless() {
    let held = AwaitedRead {
        kind: AwaitedKind::Lock,
        peer: Some(0),
        holder: Some(3),
        ..AwaitedRead::default()
    };
    let waits = vec![waiting(0, Call::Lock, held), waiting(1, Call::Start, post(2))];
    let hopeless = deadlock(waits, &[3]).of_those_that_need_who_left().unwrap();
    assert_eq!(
        hopeless.lines("job ended"),
        "deadlock: rank 0 waits for rank 3, which has left the job; job ended\n\
         rank 0 in lock waits for the lock of rank 0, held exclusively by rank 3, which has left the \
         job (src/main.rs:10)"
    );
    let waits = vec![waiting(1, Call::Start, post(2))];
    assert_eq!(deadlock(waits, &[3]).of_those_that_need_who_left(), None);
}

#[test]
fn without_a_cycle_it_is_said_that_all_wait() {
    let value = AwaitedRead { kind: AwaitedKind::Notification, ..AwaitedRead::default() };
    let waits =
        |n: u32| (0..n).map(|rank| waiting(rank, Call::WaitNotify, value.clone())).collect();
    for (n, left, heart) in [
        (1, &[][..], "rank 0 waits, and no other can wake it;"),
        (1, &[1], "rank 0 waits, and rank 1 has left the job;"),
        (2, &[], "all 2 ranks wait, and none can be woken by another;"),
        (2, &[2, 3], "ranks 0 and 1 wait, and ranks 2 and 3 have left the job;"),
    ] {
        let text = deadlock(waits(n), left).lines("job ended");
        assert!(text.starts_with(&format!("deadlock: {heart}")), "{text}");
    }
}

/// Every rank waits for a message from the next one.
fn ring(n: u32) -> Vec<Waiting> {
    let of = |rank: u32| {
        let (kind, peer) = (AwaitedKind::Message, Some((rank + 1) % n));
        let place = "a.rs:1".into();
        let awaited = AwaitedRead { kind, peer, number: 7, place, ..AwaitedRead::default() };
        Waiting { rank, sleep: 1, call: Call::Receive, window: None, awaited }
    };
    (0..n).map(of).collect()
}

#[test]
fn many_lines_that_differ_in_ranks_alone_are_one() {
    assert_eq!(deadlock(ring(16), &[]).lines("end").lines().count(), 1 + 16);
    assert_eq!(
        deadlock(ring(4096), &[]).lines("end"),
        "deadlock: rank 0 waits for rank 1, which waits for rank 2, and so on round 4096 ranks; end\n\
         ranks 0-4095 in recv wait, each for a message from one of ranks 0-4095 with tag 7 (a.rs:1)"
    );
    let isolated = |rank| waiting(rank, Call::Start, post((rank + 1) % 40));
    let text = deadlock((0..40).map(isolated).collect(), &[]).lines("end");
    assert_eq!(text.lines().count(), 1 + 16 + 1);
    assert!(text.ends_with("\n24 more ranks wait for something else each"), "{text}");
}

/// In each half the ranks wait for those of the other: sixteen million needs.
#[test]
fn thousands_of_ranks_that_need_thousands_are_reported_in_seconds() {
    let all: Vec<u32> = (0..4096).collect();
    let half = |rank: u32| {
        let awaited = arrival(2048, &all, 64 + u64::from(rank % 2));
        Waiting { awaited, ..waiting(rank, Call::Barrier, AwaitedRead::default()) }
    };
    let halves = deadlock(all.iter().map(|rank| half(*rank)).collect(), &[]);
    // Of the processor, which other tests want, too.
    let seconds = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime).tv_sec;
    let begin = seconds();
    let text = halves.lines("end");
    assert!(seconds() - begin < 20, "{} s", seconds() - begin);
    assert_eq!(
        text.lines().next(),
        Some(
            "deadlock: rank 0 waits for rank 1, which waits for rank 0 (in different collectives); end"
        )
    );
    assert_eq!(text.lines().count(), 1 + 2, "{text}");
}

#[test]
fn the_first_rank_on_a_cycle_begins_it() {
    // 0 needs 1, which needs 2; 2 and 3 need each other; 5 needs itself.
    let needs = [(0, 1), (1, 2), (2, 3), (3, 2), (4, 0), (5, 5)];
    let waits = needs.map(|(rank, peer)| waiting(rank, Call::Start, post(peer)));
    let all = deadlock(waits.into(), &[]);
    let graph = all.graph();
    let on_one = ranks_on_cycles(&all.waiting, &graph.needs);
    assert_eq!(on_one, HashSet::from([2, 3, 5]));
    assert_eq!(graph.cycle(), Some(vec![2, 3]));
}

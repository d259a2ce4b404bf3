//! Queues of messages. A chunk has room for one message and the link to the next chunk.

use crate::explore::{BOUND_1, BOUND_2, BOUND_3, EXHAUSTIVE, Model};
use crate::prim::{JobFailed, Word32};
use crate::sync::channel::{BlockWords, MailWords, QueueWords, RecordState};
use crate::world::{Data, Job, each, run};
use std::cell::RefCell;

const MESSAGE: u32 = 1;
const LINK: u32 = 2;

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let model = |name, ranks, run: fn(usize)| Model::new("channel", name, ranks, run);
    let models = vec![
        model("both ways", 2, |n| both_ways(n, 2)).within(BOUND_1, BOUND_2),
        model("both ways once", 2, |n| both_ways(n, 1)).within(BOUND_3, EXHAUSTIVE),
        model("chunks in turn, rank 0 sends", 2, |n| alternating(n, 0)).within(BOUND_1, BOUND_2),
        model("chunks in turn, rank 1 sends", 2, |n| alternating(n, 1)).within(BOUND_1, BOUND_2),
        model("chunks in turn, answered", 2, answered).within(BOUND_1, BOUND_2),
        model("given back, rank 0 sends", 2, |n| given_back(n, 0)),
        model("given back, rank 1 sends", 2, |n| given_back(n, 1)),
        model("block given back, rank 0 sends", 2, |n| block_given_back(n, 0)),
        model("block given back, rank 1 sends", 2, |n| block_given_back(n, 1)),
        model("blocks in a ring, rank 0 sends", 2, |n| blocks_in_ring(n, 0))
            .within(BOUND_2, BOUND_3),
        model("blocks in a ring, rank 1 sends", 2, |n| blocks_in_ring(n, 1))
            .within(BOUND_2, BOUND_3),
        model("two senders", 3, two_senders).within(BOUND_2, BOUND_3),
        model("withdrawn", 2, withdrawn),
        model("job failed", 2, job_failed),
    ];
    // A chunk or block that is returned rings no bell: the sender polls for it.
    let sleeps = |model: &&Model| !model.name.contains("given back");
    let asleep = |model: &Model| match model.ranks {
        2 => model.clone().parked().within(BOUND_1, BOUND_2),
        _ => model.clone().parked().within(BOUND_1, BOUND_2),
    };
    let parked: Vec<_> = models.iter().filter(sleeps).map(asleep).collect();
    [models, parked].concat()
}

/// Room for one message and a link; each behind the other.
#[derive(Default)]
struct Chunk {
    states: [RecordState; 2],
    message: Data,
    /// The number of the next chunk.
    next: Data,
}

/// The most chunks that a queue needs here.
const CHUNKS: usize = 5;

/// The queue of one sender.
#[derive(Default)]
struct Queue {
    words: QueueWords,
    chunks: [Chunk; CHUNKS],
}

struct World {
    job: Job,
    mail: Vec<MailWords>,
    /// Number `k + 1` is that of rank `k`; each sends to one other.
    queues: Vec<Queue>,
}

fn world(ranks: usize) -> World {
    World { job: Job::default(), mail: each(ranks), queues: each(ranks) }
}

/// What a sender knows: its chunk, those that are full in order, how many it has used again, and the
/// first that it has never used.
struct Sender<'w> {
    world: &'w World,
    own: usize,
    to: usize,
    chunk: usize,
    full: Vec<usize>,
    reused: u32,
    fresh: usize,
}

impl<'w> Sender<'w> {
    fn new(world: &'w World, own: usize, to: usize) -> Self {
        let words = &world.queues[own].words;
        words.sender.store(own as u32 + 1);
        world.mail[to].enlist(words, own as u32 + 1);
        Sender { world, own, to, chunk: 0, full: Vec::new(), reused: 0, fresh: 1 }
    }

    fn send(&mut self, value: u32) {
        let queue = &self.world.queues[self.own];
        let chunk = &queue.chunks[self.chunk];
        let fill = || chunk.message.set(value);
        chunk.states[0].publish(Some(&chunk.states[1]), MESSAGE, fill);
        self.world.mail[self.to].ring();
    }

    fn go_on(&mut self) {
        let queue = &self.world.queues[self.own];
        let next = if queue.words.left().wrapping_sub(self.reused) > 0 && !self.full.is_empty() {
            self.reused += 1;
            self.full.remove(0)
        } else {
            self.fresh += 1;
            self.fresh - 1
        };
        queue.chunks[next].states[0].clear();
        let chunk = &queue.chunks[self.chunk];
        chunk.states[1].publish(None, LINK, || chunk.next.set(next as u32));
        self.full.push(self.chunk);
        self.chunk = next;
    }
}

/// What a receiver knows of one queue.
struct Source {
    sender: usize,
    chunk: usize,
    record: usize,
    left: u32,
}

struct Receiver<'w> {
    world: &'w World,
    own: usize,
    newest: u32,
    sources: RefCell<Vec<Source>>,
}

impl<'w> Receiver<'w> {
    fn new(world: &'w World, own: usize) -> Self {
        Receiver { world, own, newest: 0, sources: RefCell::default() }
    }

    fn find(&mut self) {
        let Some(newest) = self.world.mail[self.own].newest(self.newest) else { return };
        let mut number = newest;
        while number != self.newest {
            assert_ne!(number, 0, "the list ends before what was known of it");
            let words = &self.world.queues[number as usize - 1].words;
            let sender = words.sender.load() as usize;
            assert_eq!(sender, number as usize, "the words of the queue");
            self.sources.get_mut().push(Source {
                sender: sender - 1,
                chunk: 0,
                record: 0,
                left: 0,
            });
            number = words.next();
        }
        self.newest = newest;
    }

    /// The next message of any queue.
    fn look(&mut self) -> Option<(usize, u32)> {
        self.find();
        for source in self.sources.get_mut() {
            let queue = &self.world.queues[source.sender];
            loop {
                let chunk = &queue.chunks[source.chunk];
                match chunk.states[source.record].found() {
                    MESSAGE => {
                        source.record = 1;
                        return Some((source.sender, chunk.message.get()));
                    }
                    LINK => {
                        (source.chunk, source.record) = (chunk.next.get() as usize, 0);
                        source.left += 1;
                        queue.words.leave(source.left);
                    }
                    _ => break,
                }
            }
        }
        None
    }

    fn receive(&mut self) -> Result<(usize, u32), JobFailed> {
        loop {
            let mail = &self.world.mail[self.own];
            let seen = mail.look();
            if let Some(found) = self.look() {
                return Ok(found);
            }
            self.world.job.waiter().until(mail.bell(), |rung| rung != seen)?;
        }
    }

    fn expect(&mut self, from: usize, value: u32) {
        assert_eq!(self.receive(), Ok((from, value)), "the next message");
    }
}

/// Each rank sends the given number of messages to the other, and receives as many.
fn both_ways(ranks: usize, times: u32) {
    run(
        ranks,
        || world(ranks),
        move |w, me| {
            let (mut sender, mut receiver) = (Sender::new(w, me, 1 - me), Receiver::new(w, me));
            for k in 0..times {
                if k > 0 {
                    sender.go_on();
                }
                sender.send(10 + k);
            }
            (0..times).for_each(|k| receiver.expect(1 - me, 10 + k));
        },
    );
}

/// One rank sends more messages than there are chunks, if the first is used again.
fn alternating(ranks: usize, from: usize) {
    run(
        ranks,
        || world(ranks),
        move |w, me| {
            if me == from {
                let mut sender = Sender::new(w, me, 1 - me);
                sender.send(1);
                for k in 2..=3 {
                    sender.go_on();
                    sender.send(k);
                }
            } else {
                let mut receiver = Receiver::new(w, me);
                (1..=3).for_each(|k| receiver.expect(from, k));
            }
        },
    );
}

/// One rank leaves a chunk behind; the other writes to it again, having gone on elsewhere.
fn given_back(ranks: usize, from: usize) {
    run(
        ranks,
        || world(ranks),
        move |w, me| {
            let (Queue { words, chunks, .. }, waiter) = (&w.queues[from], w.job.waiter());
            let link = |chunk: &Chunk, next| {
                chunk.states[1].publish(None, LINK, || chunk.next.set(next));
            };
            if me == from {
                link(&chunks[0], 1);
                assert!(waiter.until(w.mail[me].bell(), |_| words.left() == 1).is_ok());
                link(&chunks[1], 0);
                link(&chunks[0], 2);
            } else {
                let found = |_| chunks[0].states[1].found() == LINK;
                assert!(waiter.until(w.mail[me].bell(), found).is_ok());
                assert_eq!(chunks[0].next.get(), 1);
                words.leave(1);
            }
        },
    );
}

/// One rank sends two messages through the same block, and the other reads each before it returns the block.
fn block_given_back(ranks: usize, from: usize) {
    run(
        ranks,
        || (world(ranks), BlockWords::default(), Data::default()),
        move |(w, words, block), me| {
            let (states, waiter) = (&w.queues[from].chunks[0].states, w.job.waiter());
            for (state, value) in states.iter().zip(1..) {
                if me == from {
                    assert!(waiter.until(w.mail[me].bell(), |_| words.is_free()).is_ok());
                    words.lend();
                    block.set(value);
                    state.publish(None, MESSAGE, || ());
                } else {
                    let found = |_| state.found() == MESSAGE;
                    assert!(waiter.until(w.mail[me].bell(), found).is_ok());
                    assert_eq!(block.get(), value);
                    assert!(words.give_back(), "it was lent");
                }
            }
        },
    );
}

/// The ring of a trace (`src/trace.rs`): one rank writes more events than two blocks have places, and the other returns
/// each block that it has read, with a ring.
fn blocks_in_ring(ranks: usize, from: usize) {
    const EVENTS: u32 = 3;
    run(
        ranks,
        || (world(ranks), [BlockWords::default(), BlockWords::default()]),
        move |(w, blocks), me| {
            let (chunks, waiter, mail) = (&w.queues[from].chunks, w.job.waiter(), &w.mail);
            let sleep = |seen| assert!(waiter.until(mail[me].bell(), |rung| rung != seen).is_ok());
            if me == from {
                blocks[0].lend();
                for (event, at) in (1..=EVENTS).zip([0, 1].into_iter().cycle()) {
                    let ([event_of, link], next) = (&chunks[at].states, 1 - at);
                    event_of.publish(Some(link), MESSAGE, || chunks[at].message.set(event));
                    loop {
                        let seen = mail[me].look();
                        if blocks[next].is_free() {
                            break;
                        }
                        sleep(seen);
                    }
                    blocks[next].lend();
                    chunks[next].states[0].clear();
                    link.publish(None, LINK, || ());
                    mail[1 - me].ring();
                }
                return;
            }
            for (event, at) in (1..=EVENTS).zip([0, 1].into_iter().cycle()) {
                let [event_of, link] = &chunks[at].states;
                loop {
                    let seen = mail[me].look();
                    // The link behind an event that was not found may be that of the block's last round.
                    if event_of.found() == MESSAGE {
                        assert_eq!(chunks[at].message.get(), event);
                        if link.found() == LINK {
                            break;
                        }
                    }
                    sleep(seen);
                }
                assert!(blocks[at].give_back(), "it was lent");
                mail[1 - me].ring();
            }
        },
    );
}

/// Each rank waits for the answer before it goes on: then there is a chunk to be used again.
fn answered(ranks: usize) {
    run(
        ranks,
        || world(ranks),
        |w, me| {
            let (mut sender, mut receiver) = (Sender::new(w, me, 1 - me), Receiver::new(w, me));
            for k in 0..3 {
                if me == 1 {
                    receiver.expect(0, k);
                }
                if k > 0 {
                    sender.go_on();
                }
                sender.send(k);
                if me == 0 {
                    receiver.expect(1, k);
                }
            }
            assert_eq!(receiver.look(), None, "it was received");
        },
    );
}

/// Two ranks send a message each to a third one.
fn two_senders(ranks: usize) {
    run(
        ranks,
        || world(ranks),
        |w, me| {
            if me < 2 {
                return Sender::new(w, me, 2).send(me as u32);
            }
            let mut receiver = Receiver::new(w, 2);
            let mut got = [receiver.receive(), receiver.receive()];
            got.sort_by_key(|found| found.map(|found| found.0).unwrap_or_default());
            assert_eq!(got, [Ok((0, 0)), Ok((1, 1))], "a message of each");
        },
    );
}

/// Each rank has offered a word of its own, takes it back and writes to it; and reads that of the
/// other, as the kernel does.
fn withdrawn(ranks: usize) {
    run(
        ranks,
        || (world(ranks), each::<Word32>(ranks)),
        |(w, offered), me| {
            w.mail[me].withdraw();
            offered[me].store(1);
            let taken = offered[1 - me].load();
            let is_believed = !w.mail[1 - me].has_withdrawn();
            assert!(!is_believed || taken == 0, "bytes that were not offered");
        },
    );
}

/// The job fails while a rank waits for a message that never comes.
fn job_failed(ranks: usize) {
    run(
        ranks,
        || world(ranks),
        |w, me| match me {
            0 => w.job.failed.set(1),
            _ => assert_eq!(Receiver::new(w, 1).receive(), Err(JobFailed), "from nobody"),
        },
    );
}

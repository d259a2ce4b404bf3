//! The flushes and `win_sync`.

use crate::explore::Model;
use crate::prim::Word32;
use crate::sync::{
    LockAllWords, LockType, LockWords, Queueing, flush, flush_all, flush_beside, flush_local,
    flush_local_all, lock, lock_all, unlock_all, unlock_queued, win_sync,
};
use crate::world::{Data, Job, Message, Nodes, each, passed, run};

type Flush = fn();

const FLUSHES: [(&str, Flush); 6] = [
    ("flush", flush),
    ("flush_beside", flush_beside),
    ("flush_all", flush_all),
    ("flush_local", flush_local),
    ("flush_local_all", flush_local_all),
    ("win_sync", win_sync),
];

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let mut models = Vec::new();
    for (name, flush) in FLUSHES {
        let relay = format!("{name} then message");
        models.push(Model::new("flush", &relay, 3, move |n| relayed(n, flush)));
        let back = format!("{name} there and back");
        models.push(Model::new("flush", &back, 2, move |n| there_and_back(n, flush)));
        let crosswise = format!("{name} crosswise");
        let model = Model::new("flush", &crosswise, 2, move |n| store_buffering(n, flush));
        models.push(model.with_full_barrier());
    }
    for owner in 0..2 {
        let name = format!("win_sync drawing, rank {owner} owns");
        models.push(Model::new("flush", &name, 2, move |n| drawing(n, owner, None)));
    }
    models
}

/// The drawing of `win_sync` by a user who forgot the k-th of its four calls.
pub fn sync_forgotten(k: usize) -> Model {
    let name = format!("win_sync drawing without the call {k}");
    Model::new("flush", &name, 2, move |n| drawing(n, 1, Some(k)))
}

struct World {
    job: Job,
    window: LockAllWords,
    target: LockWords,
    nodes: Nodes,
    data: Data,
    messages: Vec<Message>,
}

fn world() -> World {
    World {
        job: Job::default(),
        window: LockAllWords::default(),
        target: LockWords::default(),
        nodes: Nodes::default(),
        data: Data::default(),
        messages: each(4),
    }
}

/// All ranks are inside `lock_all`. Rank 0 puts, flushes and sends a message; rank 1 receives it,
/// flushes and sends on; rank 2 receives that, flushes and gets. Then the way back.
fn relayed(ranks: usize, flush: Flush) {
    run(ranks, world, move |w, me| {
        passed(lock_all(&w.window, [&w.target], w.nodes.reader(me), &w.job.waiter()));
        let receive = |k: usize| w.messages[k].receive(&w.job, 1);
        match me {
            0 => {
                w.data.set(1);
                flush();
                w.messages[0].send();
                receive(2);
                flush();
                assert_eq!(w.data.get(), 2, "get");
            }
            1 => {
                receive(0);
                flush();
                w.messages[1].send();
            }
            _ => {
                receive(1);
                flush();
                assert_eq!(w.data.get(), 1, "get");
                w.data.set(2);
                flush();
                w.messages[2].send();
            }
        }
        unlock_all(&w.window, w.nodes.reader(me).node);
    });
}

/// Both ranks are inside `lock_all`: a put, a flush and a message, and the same way back.
fn there_and_back(ranks: usize, flush: Flush) {
    run(ranks, world, move |w, me| {
        passed(lock_all(&w.window, [&w.target], w.nodes.reader(me), &w.job.waiter()));
        if me == 0 {
            w.data.set(1);
            flush();
            w.messages[0].send();
            w.messages[1].receive(&w.job, 1);
            flush();
            assert_eq!(w.data.get(), 2, "get");
        } else {
            w.messages[0].receive(&w.job, 1);
            flush();
            assert_eq!(w.data.get(), 1, "get");
            w.data.set(2);
            flush();
            w.messages[1].send();
        }
        unlock_all(&w.window, w.nodes.reader(me).node);
    });
}

/// Two ranks put, flush and get crosswise: at least one sees the other's put. The elements are
/// words, because these accesses are concurrent by intention.
fn store_buffering(ranks: usize, flush: Flush) {
    struct Cross {
        data: [Word32; 2],
        got: [Word32; 2],
    }
    let w = run(
        ranks,
        || Cross { data: Default::default(), got: Default::default() },
        move |w, me| {
            w.data[me].store(1);
            flush();
            w.got[me].store(w.data[1 - me].load());
        },
    );
    assert!(w.got[0].load() + w.got[1].load() > 0, "both gets missed a flushed put");
}

/// The drawing of `win_sync` in the New RMA Design, between two epochs of the other rank. The
/// owner accesses its window by local loads and stores, without any epoch.
fn drawing(ranks: usize, owner: usize, forgotten: Option<usize>) {
    run(ranks, world, move |w, me| {
        let receive = |k: usize| w.messages[k].receive(&w.job, 1);
        let sync = |k: usize| {
            if forgotten != Some(k) {
                win_sync();
            }
        };
        if me == owner {
            receive(0);
            sync(1);
            assert_eq!(w.data.get(), 3, "local load");
            w.data.set(7);
            sync(2);
            w.messages[1].send();
            receive(2);
            sync(3);
            assert_eq!(w.data.get(), 8, "local load");
            w.data.set(9);
            sync(4);
            w.messages[3].send();
        } else {
            under_lock(w, me, || w.data.set(3));
            w.messages[0].send();
            receive(1);
            under_lock(w, me, || {
                assert_eq!(w.data.get(), 7, "get");
                w.data.set(8);
            });
            w.messages[2].send();
            receive(3);
            under_lock(w, me, || assert_eq!(w.data.get(), 9, "get"));
        }
    });
}

fn under_lock(w: &World, me: usize, f: impl FnOnce()) {
    let waiter = w.job.waiter();
    w.nodes.locker(me, 0, |locker| {
        passed(lock(&w.window, &w.target, LockType::Exclusive, locker, Queueing::Fair, &waiter));
        f();
        unlock_queued(&w.window, &w.target, LockType::Exclusive, locker);
    });
}

//! Waiting and waking: the programs of the other files, with waiters that sleep.
//!
//! A wake-up that is lost is a deadlock, which loom reports. The futex of the model is a mutex,
//! which orders more than the kernel promises: memory order is shown by the polling models.

use super::lock::{opened, world};
use super::{accumulate, fence, lock, lock_all, pscw};
use crate::explore::{BOUND_1, BOUND_2, BOUND_3, BOUND_5, EXHAUSTIVE, Model, WIDE};
use crate::prim::Site;

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let model = |name, ranks, run: fn(usize)| Model::new("parking", name, ranks, run);
    let sites = (Site::AccumulatePost, Site::AccumulatePre);
    let parked = vec![
        model("fence", 2, |n| fence::neighbours(n, 1)).within(BOUND_3, EXHAUSTIVE),
        model("fence twice", 2, |n| fence::neighbours(n, 2)).within(BOUND_2, BOUND_3),
        model("fence", 3, fence::one_for_all),
        model("fence", 4, fence::one_for_all).within(BOUND_1, WIDE),
        model("arrive only", 2, fence::arrive_only).within(BOUND_2, BOUND_3),
        model("pscw", 2, |n| pscw::ring(n, 1)).within(BOUND_2, EXHAUSTIVE),
        model("pscw, two origins", 3, |n| pscw::origins(n, 1)),
        model("pscw, several epochs", 2, |n| pscw::origins(n, 2)).within(BOUND_2, BOUND_3),
        model("table", 2, pscw::table).within(BOUND_2, BOUND_2),
        model("arrive only, once", 2, fence::arrive_once).within(BOUND_3, EXHAUSTIVE),
        model("table found", 2, pscw::one_way::table_found).within(BOUND_2, EXHAUSTIVE),
        model("pscw, one way", 2, |n| pscw::origins(n, 1)).within(BOUND_2, EXHAUSTIVE),
        model("one reader", 2, |n| lock::readers(n, 0)).within(BOUND_3, EXHAUSTIVE),
        model("exclusive", 2, |n| lock::exclusive(n, 1)).within(BOUND_3, EXHAUSTIVE),
        model("one holder", 2, |n| lock_all::holders(n, 0, opened)).within(BOUND_3, EXHAUSTIVE),
        model("one holder opens", 2, |n| lock_all::holders(n, 0, world)).within(BOUND_3, BOUND_3),
        Model::new("parking", "accumulate", 2, move |n| accumulate::counted(n, 1, sites))
            .within(BOUND_3, EXHAUSTIVE),
        model("lock", 2, lock::shared_then_exclusive).within(BOUND_3, BOUND_5),
        model("lock", 3, |n| lock::exclusive(n, 1)),
        model("lock, two readers", 3, |n| lock::readers(n, 0)),
        model("lock_all", 2, |n| lock_all::read_all_write_one(n, opened)).within(BOUND_2, BOUND_3),
        model("nested locks", 3, |n| lock_all::nested(n, opened)),
        Model::new("parking", "accumulate", 3, move |n| accumulate::counted(n, 1, sites)),
    ];
    let contended = [
        model("exclusive", 2, |n| lock::exclusive(n, 1)).within(BOUND_3, EXHAUSTIVE),
        model("exclusive twice", 2, |n| lock::exclusive(n, 2)).within(BOUND_2, BOUND_3),
        model("lock", 2, lock::shared_then_exclusive).within(BOUND_3, BOUND_5),
        model("lock", 3, |n| lock::exclusive(n, 1)).within(BOUND_2, BOUND_3),
        model("lock, two readers", 3, |n| lock::readers(n, 0)).within(BOUND_2, BOUND_3),
        model("lock_all", 2, |n| lock_all::read_all_write_one(n, opened)).within(BOUND_2, BOUND_3),
    ];
    let contended = contended.into_iter().map(Model::contending);
    let queued = [
        model("exclusive", 2, |n| lock::exclusive(n, 1)).within(BOUND_3, EXHAUSTIVE),
        model("lock", 2, lock::shared_then_exclusive).within(BOUND_3, BOUND_5),
        model("lock", 3, |n| lock::exclusive(n, 1)),
        model("write then read", 3, lock::write_then_read).within(BOUND_2, BOUND_3),
    ];
    let queued = queued.into_iter().map(Model::queued);
    parked.into_iter().chain(contended).chain(queued).map(Model::parked).collect()
}

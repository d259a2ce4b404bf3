//! The directory of a dynamic window: searched by others while its owner attaches and detaches.

use crate::explore::{BOUND_2, BOUND_3, EXHAUSTIVE, Model};
use crate::prim::Site;
use crate::sync::Exclusion;
use crate::world::{Data, Job, each, run};

const READING: (Site, Site) = (Site::LookPost, Site::LookPre);
const CHANGING: (Site, Site) = (Site::AttachPost, Site::AttachPre);

/// The models of this protocol.
pub fn models() -> Vec<Model> {
    let model = |name, ranks, run: fn(usize)| Model::new("directory", name, ranks, run);
    vec![
        model("one owner", 2, one_owner).within(BOUND_3, EXHAUSTIVE),
        model("search and detach", 2, search_and_detach).within(BOUND_3, EXHAUSTIVE),
        model("one owner", 3, one_owner).within(BOUND_2, BOUND_3),
    ]
}

/// A directory of one entry, and the region that the entry is about.
#[derive(Default)]
struct Directory {
    guard: Exclusion,
    attached: Data,
    region: Data,
}

#[derive(Default)]
struct World {
    job: Job,
    directories: Vec<Directory>,
}

fn world(ranks: usize) -> World {
    World { job: Job::default(), directories: each(ranks) }
}

impl World {
    fn set_attached(&self, owner: usize, attached: u32) {
        let directory = &self.directories[owner];
        let done =
            directory.guard.run(CHANGING, &self.job.waiter(), || directory.attached.set(attached));
        assert!(done.is_ok(), "a wait ended although the job has not failed");
    }

    /// An operation on the region of `owner`, if it is attached.
    fn get(&self, owner: usize) {
        let directory = &self.directories[owner];
        let Ok(sharing) = directory.guard.share(READING, &self.job.waiter()) else {
            panic!("a wait ended although the job has not failed");
        };
        if directory.attached.get() == 1 {
            let value = directory.region.get();
            assert!(value == 1, "memory is read that is no longer attached");
        }
        drop(sharing);
    }

    /// Exposes the own region for a while, and then uses it otherwise.
    fn own(&self, rank: usize) {
        let region = &self.directories[rank].region;
        region.set(1);
        self.set_attached(rank, 1);
        self.set_attached(rank, 0);
        region.set(2);
    }
}

/// Rank 0 attaches and detaches; the others search.
fn one_owner(ranks: usize) {
    run(ranks, move || world(1), |w, rank| if rank == 0 { w.own(0) } else { w.get(0) });
}

/// Every rank does both.
fn search_and_detach(ranks: usize) {
    run(
        ranks,
        move || world(ranks),
        move |w, rank| {
            w.own(rank);
            w.get((rank + 1) % ranks);
        },
    );
}

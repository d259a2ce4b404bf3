//! A process's membership in its job.

use crate::comm::Comm;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::launch;
use crate::prim::{Step, hide_lines, step};
use crate::shm::{is_forked, notice_forks};
use std::sync::{Arc, Mutex};

/// Whether this process has joined its job. A lock and not a cell: a second thread may try too.
static JOINED: Mutex<bool> = Mutex::new(false);

/// This process as a rank of its job, from [`Universe::init`] until it is dropped.
///
/// Its handles may be used by any thread (`MPI_THREAD_MULTIPLE`); of each call that its threads may
/// not make at the same time, the documentation says so.
/// When the universe and every handle made from it are dropped, except while panicking, the
/// launcher knows that this rank has finished in good order; a rank that ends otherwise fails
/// the job.
pub struct Universe {
    world: Comm,
    myself: Comm,
}

impl Universe {
    /// `MPI_Init`: joins the job that `rmarun` has started this process for, or makes a job of
    /// one rank if it was started without. Once per process. Local; does not block.
    ///
    /// Where another MPI's launcher has started it, it joins that job by that MPI, which may block
    /// until all ranks do (docs/foreign.md).
    ///
    /// # Errors
    /// [`Error::AlreadyInitialised`]; [`Error::NotInJob`] if the environment is wrong, or if
    /// another process has joined as this rank before (a script that runs two programs).
    pub fn init() -> Result<Universe> {
        let mut joined = JOINED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if *joined {
            return Err(Error::AlreadyInitialised);
        }
        let context = Arc::new(Context::new(launch::join()?)?);
        notice_forks()?;
        let (world, myself) = (Comm::world(context.clone())?, Comm::myself(context.clone()));
        step(Step::Mapped);
        context.take_slot()?;
        *joined = true;
        step(Step::Joined);
        Ok(Universe { world, myself })
    }

    /// For bindings of other languages: lets reports of deadlocks name no lines of this process, because
    /// those that call are the binding's, and the program's are not known. Local.
    pub fn hide_lines(&self) {
        hide_lines();
    }

    /// Leaves the job whatever handles there are, for bindings of other languages, in which a program
    /// need not free them: as dropping the universe and all of them, which nobody uses any more. Local;
    /// does not block.
    pub fn leave(self) {
        let context = self.world.context().clone();
        drop(self);
        context.leave();
    }

    /// `MPI_COMM_WORLD`
    pub fn world(&self) -> &Comm {
        &self.world
    }

    /// `MPI_COMM_SELF`: the communicator of this rank alone. Its collectives do not block, and what
    /// is made from it costs no memory of the segment.
    pub fn self_comm(&self) -> &Comm {
        &self.myself
    }
}

/// `MPI_Finalize`: deletes the attributes of [`Universe::self_comm`], the latest first, upon which
/// their callbacks run while everything else still works (MPI-4.1 §11.2.4). The world's attributes
/// are dropped without their callbacks, and so are the error handlers of both.
impl Drop for Universe {
    fn drop(&mut self) {
        if !std::thread::panicking() && !is_forked() {
            // A callback that refuses cannot keep the process from leaving.
            let _ = self.myself.delete_attributes();
            self.myself.let_go();
            self.world.let_go();
            self.world.context().abandon();
        }
    }
}

/// Test builds only.
#[cfg(feature = "test-hooks")]
impl Universe {
    /// Vouches that one thread of this rank makes all its calls, though it may have others (the
    /// standard test harness gives a test one of its own): rmarun may then find it blocked.
    pub fn vouch_for_one_thread(&self) {
        self.world.context().vouch_for_one_thread();
    }
}

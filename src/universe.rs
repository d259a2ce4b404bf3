//! A process's membership in its job.

use crate::call::Call;
use crate::comm::Comm;
use crate::context::{Context, Left};
use crate::error::{Error, Result};
use crate::foreign::{ThreadLevel, host};
use crate::launch::{self, Membership};
use crate::mail::{Sources, mail_of};
use crate::prim::{Step, find_lines_by, has_binding, step};
use crate::race;
use crate::rank::Rank;
use crate::shm::{is_forked, keep_large_blocks, notice_forks};
use std::sync::{Arc, Mutex};

/// Whether this process has joined its job. A lock, because two threads may try at the same time.
static JOINED: Mutex<bool> = Mutex::new(false);

/// This process as a rank of its job, from [`Universe::init`] until it is dropped.
///
/// Any thread may use its handles ([`ThreadLevel`]); calls that threads must not make at the same time are
/// documented as such.
///
/// When it is dropped, it names on standard error what the program should have done before: windows and communicators
/// that are not freed, epochs that are open, sends and collectives that are not complete, messages that have come and
/// were not received (MPI-4.1 §11.2.4). `rmarun --strict` makes each an error: the job ends with code 18.
///
/// When the universe and every handle made from it are dropped, except while panicking, this rank has
/// finalized. A rank that ends without that has failed.
///
/// ```
/// use onesided::Universe;
///
/// let universe = Universe::init()?;
/// println!("rank {} of {}", universe.world().rank(), universe.world().size());
/// # Ok::<(), onesided::Error>(())
/// ```
#[doc(alias = "MPI_Finalize")]
#[derive(Debug)]
pub struct Universe {
    world: Comm,
    myself: Comm,
}

impl Universe {
    /// `MPI_Init`: joins the job for which `rmarun` has started this process, or makes a job of one
    /// rank if there is no launcher. Once per process. Local; does not block.
    ///
    /// If another MPI's launcher has started the process, it joins that job through that MPI, which may
    /// block until all ranks do (docs/foreign.md).
    ///
    /// # Errors
    /// [`Error::AlreadyInitialised`]; [`Error::NotInJob`] if the environment is wrong, or if
    /// another process has joined as this rank before (a script that runs two programs).
    #[doc(alias = "MPI_Init")]
    pub fn init() -> Result<Universe> {
        Universe::init_thread(ThreadLevel::Multiple)
    }

    /// `MPI_Init_thread`: [`Universe::init`] of a program whose threads call as that level permits
    /// (MPI-4.1 §11.6.2).
    ///
    /// # Errors
    /// Those of [`Universe::init`]; [`Error::NotInJob`] if another MPI does not grant the level.
    #[doc(alias = "MPI_Init_thread")]
    pub fn init_thread(level: ThreadLevel) -> Result<Universe> {
        let mut joined = JOINED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if *joined {
            return Err(Error::AlreadyInitialised);
        }
        let universe = Universe::enter(launch::join(level)?)?;
        *joined = true;
        Ok(universe)
    }

    /// For a binding in a program that has initialised another MPI: a job of the ranks of that MPI on this node, in
    /// their order. `None` if they share none; a line on standard error then has the reason, unless the program asks for
    /// that. Once per process, and all ranks of the node wait in it for each other.
    ///
    /// # Errors
    /// [`Error::NotInJob`] on all ranks if they have different versions of this library.
    #[doc(hidden)]
    pub fn within() -> Result<Option<Universe>> {
        let mut joined = JOINED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if *joined {
            return Err(Error::AlreadyInitialised);
        }
        let Some(member) = launch::join_within()? else { return Ok(None) };
        *joined = true;
        let host = member.host;
        let entered = Universe::enter(member);
        let all = host.is_none_or(|host| host.all_agree(entered.is_ok()).unwrap_or(false));
        entered.map(|universe| all.then_some(universe))
    }

    /// In such a program: the handle of the other MPI's communicator of these ranks, in their order.
    #[doc(hidden)]
    pub fn host_comm(&self) -> Option<usize> {
        host().map(|host| host.number())
    }

    fn enter(member: Membership) -> Result<Universe> {
        let context = Arc::new(Context::new(member)?);
        notice_forks()?;
        context.make_progress_in_foreign_waits();
        let (world, myself) = (Comm::world(context.clone())?, Comm::myself(context.clone()));
        step(Step::Mapped);
        context.take_slot()?;
        race::found(&context);
        step(Step::Joined);
        Ok(Universe { world, myself })
    }

    /// Whether this process was forked from a rank. It has copies of the rank's handles, and is no rank.
    /// A library over windows asks before it changes window memory: operations do not. Costs one load.
    #[inline]
    pub fn is_forked() -> bool {
        is_forked()
    }

    /// For bindings of other languages: whether a [`BiasedMutex`](crate::engine::BiasedMutex) of this process may be
    /// biased. Local.
    pub fn may_prefer(&self) -> bool {
        self.world.context().may_prefer()
    }

    /// For bindings of other languages, whose lines the callers' are: reports of this process's waits name the
    /// line of the program that `find` returns, called in a wait that lasts long. `caller` returns the address of the
    /// present call in the program's code, if a line follows from it. `program`: the path of the program's file, and what
    /// is added to its addresses where it is mapped; the launcher then finds the lines of
    /// [`caller`](crate::engine::caller). Local.
    pub fn find_lines_by(
        &self,
        find: fn() -> Option<String>,
        caller: fn() -> Option<usize>,
        program: Option<(u64, String)>,
    ) {
        find_lines_by(find, caller);
        if self.world.context().checker().is_some() {
            // Buffers there are compared without a system call.
            keep_large_blocks();
        }
        if let Some((bias, path)) = program {
            self.world.context().set_program(bias, &path);
        }
    }

    /// Switches the trace of this rank (`rmarun --trace`) off, or on again as at first: calls that begin while it is off
    /// are not in it. Without a trace nothing happens. Local; does not block.
    #[doc(alias = "MPI_Pcontrol")]
    pub fn set_traced(&self, is_traced: bool) {
        self.world.context().log().into_iter().for_each(|log| log.switch(is_traced));
    }

    /// For tools: what this rank and its job are at the moment. Local; does not block.
    ///
    /// # Errors
    /// [`Error::System`] if the kernel does not answer.
    #[doc(hidden)]
    pub fn figures(&self) -> Result<launch::Figures> {
        self.world.context().figures()
    }

    /// For tools: what this rank has counted; `None` if the job counts nothing. Local; does not block.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the segment was overwritten.
    #[doc(hidden)]
    pub fn statistics(&self) -> Result<Option<launch::RankStatistics>> {
        self.world.context().counted_so_far()
    }

    /// For bindings of other languages, in which a program need not free its handles: leaves the job as if
    /// the universe and all handles were dropped. They must not be used any more. Local; does not block.
    pub fn leave(self) {
        let context = self.world.context().clone();
        drop(self);
        context.leave();
    }

    /// `MPI_COMM_WORLD`
    #[doc(alias = "MPI_COMM_WORLD")]
    pub fn world(&self) -> &Comm {
        &self.world
    }

    /// `MPI_COMM_SELF`: the communicator of this rank alone. Its collectives do not block, and
    /// communicators made from it need no memory of the segment.
    #[doc(alias = "MPI_COMM_SELF")]
    pub fn self_comm(&self) -> &Comm {
        &self.myself
    }
}

/// `MPI_Finalize`: deletes the attributes of [`Universe::self_comm`], the latest first; their callbacks
/// run while everything else still works (MPI-4.1 §11.2.4). The world's attributes are dropped without
/// their callbacks, and so are the error handlers of both.
impl Drop for Universe {
    fn drop(&mut self) {
        if !std::thread::panicking() && !is_forked() {
            // A callback may free what libraries have made, and one that fails cannot keep the process in the job.
            let _ = self.myself.delete_attributes();
            self.warn();
            self.myself.let_go();
            self.world.let_go();
            self.world.context().abandon();
        }
    }
}

impl Universe {
    /// Names on standard error what the program has not done (MPI-4.1 §11.2.4).
    fn warn(&self) {
        let (context, rank) = (self.world.context(), self.world.rank());
        let left = |how: &str, what: String| {
            format!("rank {rank} leaves the job before it has {how} {what}")
        };
        let messages = || {
            let all = context.left().unwrap_or_else(|| self.left_unseen());
            let completed = all.not_completed.map(|what| left("completed", what));
            let received = all.not_received.map(|what| left("received", what));
            completed.into_iter().chain(received)
        };
        // A failure in the look at messages is one in this call.
        let call = context.try_operation(Call::Finalize, 0, Rank::NULL, 0);
        // A binding has tables of its own, and has looked already.
        let messages = (!has_binding()).then(messages);
        context.warn_of_expected(messages.into_iter().flatten());
        call.end();
    }

    /// The same of a rank that has never looked for messages. Those of another MPI come only to one that has.
    fn left_unseen(&self) -> Left {
        let context = self.world.context();
        let own = mail_of(&context.segment, context.here);
        let sender = own
            .ok()
            .and_then(|own| Sources::first_sender(&context.segment, &own, &context.sharers));
        let not_received = sender.map(|sender| format!("messages of rank {sender}"));
        Left { not_received, ..Left::default() }
    }
}

/// Tests with ranks only.
#[cfg(feature = "test")]
impl Universe {
    /// Records how many threads of this process make no calls, because they wait for the one that does.
    pub(crate) fn set_idle_threads(&self, threads: u32) {
        self.world.context().set_idle_threads(threads);
    }
}

/// Test builds only.
#[cfg(feature = "test-hooks")]
impl Universe {
    /// Asserts that one thread of this rank makes all its calls, although it may have others (such as
    /// those of the standard test harness): rmarun may then find it blocked.
    pub fn vouch_for_one_thread(&self) {
        self.world.context().set_idle_threads(u32::MAX);
    }
}

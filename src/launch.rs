//! The contract between `rmarun` and the ranks: environment, descriptors, status, exit codes.
//!
//! The launcher creates the segment and the notice, passes both descriptors on and names them in the
//! environment. A rank maps them, records that it has joined and, at the end, that it has finished. This
//! is the only file that reads or names environment variables.
//!
//! Hidden from the public documentation: it is a contract between two halves of one package.

#[cfg(feature = "test-hooks")]
pub(crate) mod fault;
mod gather;
mod node;
mod observe;
mod sharers;
mod trace;
mod watch;

use crate::error::{Error, Result};
use crate::foreign::{self, ThreadLevel};
use crate::prim::{Step, step};
use crate::shm::{File, FileKind, NoticeBoard, Segment, SegmentLayout};
use crate::shm::{
    admit, close_on_exec, duplicate, has_more_rights, largest_segment, nonce, page_size,
    total_memory,
};
use crate::sync::MOST_WITHOUT_TREE;
use std::io::IsTerminal;
use std::os::fd::{AsFd, BorrowedFd, RawFd};

pub(crate) use gather::join_within;
pub(crate) use sharers::Sharers;
pub(crate) use watch::JobWatch;

pub use crate::check::{Conflict, ConflictAccess, Conflicts};
pub use crate::shm::{Observation, Usage};
pub use crate::statistics::{
    CallStatistics, HoldStatistics, RankStatistics, SizeStatistics, Times, Traffic, WaitCause,
    WaitStatistics, WindowStatistics,
};

pub use observe::{
    Awaited, AwaitedKind, AwaitedRead, Figures, LastCall, Observed, RankStatus, Sleep, Standing,
    View, is_of_another_version, monotonic,
};
pub use trace::{TraceEvent, TraceReader};

/// Rank of the process in the job.
pub const ENV_RANK: &str = "ONESIDED_RANK";
/// Number of ranks of the job.
pub const ENV_RANKS: &str = "ONESIDED_RANKS";
/// Set if calls that the standard forbids and other libraries accept return errors.
pub const ENV_STRICT: &str = "ONESIDED_STRICT";
/// In the processes of a job that a test has started: the place of the job among those of the test, and the test's
/// process.
const ENV_TEST: &str = "ONESIDED_TEST";
const ENV_LAUNCHER: &str = "ONESIDED_LAUNCHER";
const ENV_SEGMENT: &str = "ONESIDED_SEGMENT_FD";
const ENV_NOTICE: &str = "ONESIDED_NOTICE_FD";
const ENV_NONCE: &str = "ONESIDED_NONCE";
/// Segment size of a job that rmarun has not started, in bytes.
const ENV_SEGMENT_SIZE: &str = "ONESIDED_SEGMENT_SIZE";
/// Device and inode of the pipe that rmarun shows at a terminal. So a process that has inherited the
/// variable but not the pipe does not mistake its own output for it.
const ENV_TERMINAL: &str = "ONESIDED_TERMINAL";

/// The library of the other MPI in a job that its launcher has started, or `none`.
const ENV_MPI: &str = "ONESIDED_MPI";
/// What ranks of one node have in a job of another MPI: `shared` (as without it) or `none`.
const ENV_NODE: &str = "ONESIDED_NODE";
/// The variables that launchers of other MPIs set: those with PMI or PMIx, such as MPICH's and Slurm's,
/// and Open MPI's.
const OTHER_LAUNCHERS: [&str; 3] = ["PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"];
/// Those of them with the number of ranks.
const OTHER_RANKS: [&str; 2] = ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE"];
/// Those with the number of ranks on the node.
const NODE_RANKS: [&str; 2] = ["MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"];
/// The descriptor by which a rank speaks to a launcher with PMI.
const PMI_DESCRIPTOR: &str = "PMI_FD";
/// The name of the standard's library, which the machine's loader resolves.
const STANDARD_LIBRARY: &str = "libmpi_abi.so.1";

/// Test builds only: how and where a rank fails (`launch/fault.rs`).
#[cfg(feature = "test-hooks")]
const ENV_FAULT: &str = "ONESIDED_FAULT";

/// Test builds only: `tree` lets ranks combine their arrivals at a barrier, although they are few or share
/// cores.
#[cfg(feature = "test-hooks")]
pub const ENV_BARRIER: &str = "ONESIDED_BARRIER";

/// The calls that a rank keeps.
pub const LAST_CALLS: usize = crate::shm::LAST_CALLS;

/// Most ranks of a job.
pub const MAX_RANKS: u32 = crate::sync::MAX_RANKS;

/// Most ranks of a job of another MPI: a lock of its parts counts each of them twice (`sync/far_lock.rs`).
const MOST_FOREIGN: u32 = 1 << 20;

/// The kind of file behind the segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// An unnamed sealed memory file, or `Posix` where the system denies it.
    Memfd,
    /// A POSIX shared memory object whose name is removed before any rank runs.
    Posix,
    /// An existing POSIX shared memory object of the requested size, which keeps its name.
    Named(String),
}

impl From<&SegmentKind> for FileKind {
    fn from(kind: &SegmentKind) -> FileKind {
        match kind {
            SegmentKind::Memfd => FileKind::Memfd,
            SegmentKind::Posix => FileKind::Posix,
            SegmentKind::Named(name) => FileKind::Named(name.clone()),
        }
    }
}

/// The policy for a job when one of its ranks fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// It is ended.
    End,
    /// The other ranks continue, and get errors where they would wait for the failed one.
    Continue,
}

/// The launcher's half of a job.
pub struct Job {
    segment: Segment,
    notice: NoticeBoard,
    ranks: u32,
    nonce: u64,
}

impl Job {
    /// Creates the memory of a job of `ranks` ranks, from 1 to [`MAX_RANKS`].
    ///
    /// `bytes` is the size of the segment; `None` means as large as the machine's memory. Only
    /// what is allocated in it costs memory. `observed`: what the ranks record.
    pub fn create(
        ranks: u32,
        kind: &SegmentKind,
        bytes: Option<u64>,
        on_failure: OnFailure,
        observed: Observation,
    ) -> Result<Job> {
        let began = watch::began(std::process::id());
        Job::watched(ranks, kind, bytes, (on_failure, began), observed)
    }

    /// [`Job::create`] for a launcher that began at that time.
    fn watched(
        ranks: u32,
        kind: &SegmentKind,
        bytes: Option<u64>,
        (on_failure, began): (OnFailure, u64),
        observed: Observation,
    ) -> Result<Job> {
        if ranks == 0 || ranks > MAX_RANKS {
            let what = format!("a job has from 1 to {MAX_RANKS} ranks, not {ranks}");
            return Err(Error::NotInJob { what });
        }
        let bytes = Job::segment_bytes(ranks, bytes, observed)?;
        let layout = Job::layout(ranks, observed, bytes);
        let kind = FileKind::from(kind);
        let nonce = nonce()?;
        let segment = Segment::create(File::create(&kind, bytes)?, layout, bytes, nonce)?;
        let continues = on_failure == OnFailure::Continue;
        let notice = NoticeBoard::create(&kind, nonce, ranks, continues, began)?;
        Ok(Job { segment, notice, ranks, nonce })
    }

    /// The size in bytes of the segment that [`Job::create`] makes for `bytes`.
    pub fn segment_bytes(ranks: u32, bytes: Option<u64>, observed: Observation) -> Result<u64> {
        let page = page_size();
        let least = Job::layout(ranks, observed, 0).least_bytes(page);
        match bytes {
            None => Ok(total_memory()?.min(largest_segment()).max(least) / page * page),
            Some(bytes) if bytes >= least && bytes <= i64::MAX as u64 => Ok(bytes / page * page),
            Some(bytes) => {
                let what = format!(
                    "a segment of {bytes} bytes is not possible for {ranks} ranks: it must have \
                     from {least} to {} bytes",
                    i64::MAX
                );
                Err(Error::NotInJob { what })
            }
        }
    }

    fn layout(ranks: u32, observed: Observation, bytes: u64) -> SegmentLayout {
        SegmentLayout::new(ranks, uncombined(ranks), observed, page_size(), bytes)
    }

    /// The environment of one rank. `launcher` is the process that holds the descriptors.
    pub fn environment(&self, rank: u32, launcher: u32) -> Vec<(&'static str, String)> {
        let [segment, notice] = self.descriptors();
        vec![
            (ENV_RANK, rank.to_string()),
            (ENV_RANKS, self.ranks.to_string()),
            (ENV_LAUNCHER, launcher.to_string()),
            (ENV_SEGMENT, segment.to_string()),
            (ENV_NOTICE, notice.to_string()),
            (ENV_NONCE, format!("{:016x}", self.nonce)),
        ]
    }

    /// The descriptors that every rank inherits under the same numbers.
    pub fn descriptors(&self) -> [RawFd; 2] {
        [self.segment.file().number(), self.notice.file().number()]
    }

    /// The status of rank `rank`.
    pub fn status(&self, rank: u32) -> Result<RankStatus> {
        self.view().status(rank)
    }

    /// The status of all ranks.
    pub fn view(&self) -> View<'_> {
        View::of(&self.segment)
    }

    /// The conflicts that the ranks have found; `None` if the job is not checked.
    pub fn conflicts(&self) -> Option<Conflicts> {
        Conflicts::of(&self.segment).ok().flatten()
    }

    /// The same one by one, in the order in which they were found.
    pub fn all_conflicts(&self) -> Vec<Conflict> {
        Conflict::all(&self.segment).unwrap_or_default()
    }

    /// What a rank has counted; `None` if the job counts nothing.
    pub fn statistics(&self, rank: u32) -> Option<RankStatistics> {
        RankStatistics::of(&self.segment, rank).ok().flatten()
    }

    /// Whether the beginning of the segment is intact.
    pub fn is_whole(&self) -> bool {
        self.segment.is_whole()
    }

    /// A rank has failed: ends every wait for it, and every wait of a job that ends. The first failed
    /// rank stays the cause.
    pub fn fail(&self, rank: u32) {
        self.notice.fail(rank);
    }

    /// The job ends because of its failed ranks.
    pub fn end(&self) {
        self.notice.end();
    }
}

/// How many ranks at most count their arrivals at a barrier in one word. More of them combine these first,
/// if each rank of the job can have a core.
fn uncombined(ranks: u32) -> u32 {
    #[cfg(feature = "test-hooks")]
    if variable(ENV_BARRIER).is_some_and(|form| form == "tree") {
        return 1;
    }
    let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let has_cores = ranks > MOST_WITHOUT_TREE && ranks as usize <= cores();
    if has_cores { MOST_WITHOUT_TREE } else { u32::MAX }
}

/// The process from which all ranks descend that share a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobLauncher {
    /// The supervisor of rmarun, by its number.
    Supervisor(u32),
    /// One of another MPI's launcher, if it is known.
    Other(Option<u32>),
}

impl JobLauncher {
    fn pid(self) -> Option<u32> {
        match self {
            JobLauncher::Supervisor(pid) => Some(pid),
            JobLauncher::Other(pid) => pid,
        }
    }

    /// Allows the other ranks of the job to access the private memory of this process.
    pub(crate) fn admit_ranks(self) {
        let _ = self.pid().map(admit);
    }
}

/// A rank's half of a job.
pub(crate) struct Membership {
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    /// The world of another MPI, if that carries what ranks exchange that do not share the segment.
    pub(crate) foreign: Option<foreign::ForeignComm>,
    /// The ranks of the job in the MPI that the program itself uses.
    pub(crate) host: Option<foreign::ForeignComm>,
    /// The first rank of those that can share memory with this one.
    pub(crate) node: u32,
    pub(crate) sharers: Sharers,
    pub(crate) launcher: Option<JobLauncher>,
    pub(crate) segment: Segment,
    pub(crate) notice: NoticeBoard,
}

/// A variable of the environment. None is read in a program with more rights than its user
/// (set-user-ID), because the variables name what to map and which library to load.
#[allow(clippy::disallowed_methods, reason = "the only place that reads environment variables")]
fn variable(name: &str) -> Option<String> {
    if has_more_rights() { None } else { std::env::var(name).ok() }
}

/// Whether all calls that the standard forbids return errors (`rmarun --strict`).
pub fn is_strict() -> bool {
    variable(ENV_STRICT).is_some()
}

fn number<T: std::str::FromStr>(name: &str) -> Result<T> {
    let text =
        variable(name).ok_or_else(|| Error::NotInJob { what: format!("{name} is not set") })?;
    text.parse().map_err(|_| {
        // Text from outside: nothing in it may move the cursor.
        Error::NotInJob { what: format!("{name}={} is no number", text.escape_debug()) }
    })
}

/// The number of ranks of the job by the environment, also before this process has joined and after it
/// has left; one without a launcher.
pub fn ranks_of_job() -> u32 {
    number(ENV_RANKS).unwrap_or(1)
}

/// Joins the job that the environment names; without one, makes a job of one rank.
pub(crate) fn join(level: ThreadLevel) -> Result<Membership> {
    if variable(ENV_RANK).is_none() && variable(ENV_SEGMENT).is_none() {
        return match other_launcher() {
            Some((by, library)) => foreign_job(by, &library, level)
                .inspect_err(|_| foreign::end_job_at_exit(number(PMI_DESCRIPTOR).ok())),
            None => alone(),
        };
    }
    let (rank, ranks): (u32, u32) = (number(ENV_RANK)?, number(ENV_RANKS)?);
    if ranks == 0 || ranks > MAX_RANKS || rank >= ranks {
        return Err(Error::NotInJob { what: format!("there is no rank {rank} of {ranks}") });
    }
    arm(rank)?;
    step(Step::BeforeJoin);
    let nonce = variable(ENV_NONCE).and_then(|text| u64::from_str_radix(&text, 16).ok());
    let nonce = nonce.ok_or_else(|| Error::NotInJob { what: format!("{ENV_NONCE} is not set") })?;
    let launcher = number(ENV_LAUNCHER)?;
    let segment =
        inherit(number(ENV_SEGMENT)?, launcher, true, |file| Segment::attach(file, ranks, nonce))?;
    let notice =
        inherit(number(ENV_NOTICE)?, launcher, false, |file| NoticeBoard::attach(file, nonce))?;
    let (launcher, sharers) = (Some(JobLauncher::Supervisor(launcher)), Sharers::all());
    let (foreign, host) = (None, None);
    Ok(Membership { rank, ranks, foreign, host, node: 0, sharers, launcher, segment, notice })
}

/// The variable of another MPI's launcher, and the library to load.
fn other_launcher() -> Option<(&'static str, String)> {
    let by = OTHER_LAUNCHERS.into_iter().find(|name| variable(name).is_some())?;
    let library = variable(ENV_MPI).unwrap_or_else(|| STANDARD_LIBRARY.to_owned());
    (library != "none").then_some((by, library))
}

/// Joins the job of another MPI; blocks until all its ranks do.
fn foreign_job(by: &str, library: &str, level: ThreadLevel) -> Result<Membership> {
    let (world, near) = foreign::join(library, level).map_err(|why| {
        let what = format!(
            "{by} is set, so another MPI's launcher has started it, but {library} cannot be used \
             ({why}); let {ENV_MPI} name the libmpi_abi.so.1 of that MPI, or be 'none' for a job of \
             this process alone; or start it with rmarun"
        );
        // Another program's text: nothing in it moves the cursor.
        Error::NotInJob { what: what.replace(char::is_control, " ") }
    })?;
    let ranks = world.size;
    if let Some(name) = OTHER_RANKS.into_iter().find(|name| variable(name).is_some())
        && number::<u32>(name)? != ranks
    {
        let what = format!(
            "the launcher has started {} ranks ({name}), but {library} finds {ranks}, as without a \
             launcher: let {ENV_MPI} name the libmpi_abi.so.1 of the launcher's MPI",
            number::<u32>(name)?
        );
        return Err(Error::NotInJob { what });
    }
    if ranks > MOST_FOREIGN {
        let what = format!("it has {ranks} ranks, and more than {MOST_FOREIGN} are too many");
        return Err(Error::NotInJob { what });
    }
    node::join(world, near)
}

/// Whether a launcher has started this process as a rank.
pub fn is_rank() -> bool {
    variable(ENV_RANK).is_some()
}

/// The job of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestJob {
    /// Its place among the jobs of the test.
    pub place: u32,
    /// The process of the test.
    pub test: u32,
}

impl TestJob {
    /// The job for which this process has been started, if a test has started it.
    pub fn of_this_process() -> Option<TestJob> {
        let text = variable(ENV_TEST)?;
        let (place, test) = text.split_once(':')?;
        Some(TestJob { place: place.parse().ok()?, test: test.parse().ok()? })
    }

    /// The variable that names it.
    pub fn variable(self) -> (&'static str, String) {
        (ENV_TEST, format!("{}:{}", self.place, self.test))
    }
}

/// The inherited descriptor if it is still valid. Otherwise a process between the launcher and this
/// program has closed it, and the launcher's own is opened.
fn inherit<T>(
    number: RawFd,
    launcher: u32,
    writable: bool,
    attach: impl Fn(File) -> Result<T>,
) -> Result<T> {
    if number >= 0
        && let Ok(inherited) = duplicate(number).and_then(&attach)
    {
        // A wrapper of the rank passes it on; programs that the rank executes do not get it.
        close_on_exec(number);
        return Ok(inherited);
    }
    attach(File::open_proc(launcher, number, writable)?)
}

/// Sets the trap that the environment requests, in a test build.
fn arm(rank: u32) -> Result<()> {
    #[cfg(feature = "test-hooks")]
    if let Some(wish) = variable(ENV_FAULT) {
        let what = |problem| Error::NotInJob { what: format!("{ENV_FAULT}={wish}: {problem}") };
        fault::arm(rank, &wish).map_err(what)?;
    }
    let _without_hooks = rank;
    Ok(())
}

/// The size of the segment by the environment.
fn given_size() -> Result<Option<u64>> {
    variable(ENV_SEGMENT_SIZE).map(|_| number(ENV_SEGMENT_SIZE)).transpose()
}

fn alone() -> Result<Membership> {
    arm(0)?;
    let (kind, bytes) = (SegmentKind::Memfd, given_size()?);
    let job = Job::create(1, &kind, bytes, OnFailure::End, Observation::default())?;
    let (segment, notice, sharers) = (job.segment, job.notice, Sharers::all());
    let (foreign, host, launcher) = (None, None, None);
    Ok(Membership { rank: 0, ranks: 1, foreign, host, node: 0, sharers, launcher, segment, notice })
}

/// Makes `descriptor` inheritable by a child process; for use between fork and exec.
pub fn let_inherit(descriptor: BorrowedFd<'_>) -> std::io::Result<()> {
    use nix::fcntl::{FcntlArg, FdFlag, fcntl};
    fcntl(descriptor, FcntlArg::F_SETFD(FdFlag::empty()))?;
    Ok(())
}

/// Whether this is a terminal that can draw over a line.
pub fn is_terminal(file: impl IsTerminal) -> bool {
    file.is_terminal() && variable("TERM").is_some_and(|kind| kind != "dumb")
}

/// The variable that announces a terminal behind this pipe to a rank.
pub fn terminal_behind(pipe: impl AsFd) -> std::io::Result<(&'static str, String)> {
    let status = nix::sys::stat::fstat(pipe)?;
    Ok((ENV_TERMINAL, format!("{}:{}", status.st_dev, status.st_ino)))
}

/// Whether rmarun shows at a terminal what is written to this pipe, including lines that begin with a
/// carriage return and are not finished.
pub fn is_terminal_behind(pipe: impl AsFd) -> bool {
    let given = variable(ENV_TERMINAL);
    given.is_some() && given == terminal_behind(pipe).ok().map(|(_, pipe)| pipe)
}

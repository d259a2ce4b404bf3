//! The operating system: files that hold memory, which only this file requests; private memory of other
//! processes, which the kernel copies; and what the machine has.
#![allow(unsafe_code, reason = "descriptors by their numbers, and addresses for the kernel")]

use super::copy::{ONE_STORE, copy, is_one_store};
use super::segment::Mapping;
use super::span::Span;
use crate::error::{Error, Result};
use bytemuck::{Pod, Zeroable};
use linux_raw_sys::general::{
    PAGE_IS_WRITTEN, UFFD_API, UFFD_FEATURE_WP_ASYNC, UFFD_FEATURE_WP_HUGETLBFS_SHMEM,
    UFFD_FEATURE_WP_UNPOPULATED, UFFD_USER_MODE_ONLY, UFFDIO_REGISTER_MODE_WP, page_region,
    pm_scan_arg, uffdio_api, uffdio_range, uffdio_register, uffdio_writeprotect,
};
use linux_raw_sys::ioctl::{UFFDIO_API, UFFDIO_REGISTER, UFFDIO_UNREGISTER, UFFDIO_WRITEPROTECT};
use memmap2::{MmapOptions, MmapRaw};
use nix::fcntl::{
    FallocateFlags, FcntlArg, FdFlag, OFlag, SealFlag, fallocate, fcntl, open, posix_fallocate,
};
#[cfg(target_env = "gnu")]
use nix::libc::{M_MMAP_MAX, M_TRIM_THRESHOLD};
use nix::libc::{c_ulong, iovec, process_vm_readv, process_vm_writev};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MmapAdvise, madvise, shm_open, shm_unlink};
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::stat::Mode;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use rustix::mm::{UserfaultfdFlags, userfaultfd};
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::slice::from_mut;
use std::sync::OnceLock;

/// Set in a process forked from one that had called [`notice_forks`].
static FORKED: OnceLock<()> = OnceLock::new();

/// Marks every process that this one forks from now on as such a child. (Except one created by a bare
/// clone(2).)
pub(crate) fn notice_forks() -> Result<()> {
    extern "C" fn in_child() {
        let _ = FORKED.set(());
        super::thread::forget();
    }
    // SAFETY: the handler stores a few words, and neither allocates nor takes a lock, so that it may
    // run in the child of a process with threads.
    match unsafe { nix::libc::pthread_atfork(None, None, Some(in_child)) } {
        0 => Ok(()),
        errno => Err(os_error("watching for forks")(nix::Error::from_raw(errno))),
    }
}

/// Whether this process was forked from a rank. Costs one load.
#[inline]
pub(crate) fn is_forked() -> bool {
    FORKED.get().is_some()
}

/// Whether this process has no other thread.
pub(crate) fn is_only_thread() -> bool {
    // The folder has one for each thread, and so as many links beside its own two.
    std::fs::metadata("/proc/self/task").is_ok_and(|threads| threads.nlink() == 3)
}

/// The number of this thread in the kernel.
pub(crate) fn thread_id() -> u32 {
    nix::unistd::gettid().as_raw().cast_unsigned()
}

/// Moves `bytes` mapped bytes (whole pages) from address `first` on to the NUMA node `node`, which is
/// below 64. Later pages come from there, too. Returns whether the kernel accepts that.
pub(super) fn bind_memory(first: u64, bytes: u64, node: u32) -> bool {
    /// Only from the nodes given (`MPOL_BIND`).
    const BIND: nix::libc::c_int = 2;
    /// Also moves existing pages (`MPOL_MF_MOVE`).
    const MOVE: nix::libc::c_uint = 2;
    let (mask, bits) = (1u64 << node, nix::libc::c_ulong::from(u64::BITS + 1));
    // SAFETY: mbind(2) reads one word at `mask`. It moves pages and does not change their contents.
    let outcome = unsafe {
        nix::libc::syscall(nix::libc::SYS_mbind, first, bytes, BIND, &raw const mask, bits, MOVE)
    };
    outcome == 0
}

/// Whether this process has more rights than the user who started it: its program is set-user-ID or
/// set-group-ID, or has capabilities of its own.
pub(crate) fn has_more_rights() -> bool {
    // SAFETY: reads a number from the auxiliary vector, and changes nothing.
    unsafe { nix::libc::getauxval(nix::libc::AT_SECURE) != 0 }
}

/// The kind of file behind a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// An unnamed, sealed memory file; where that is denied, `Posix`.
    Memfd,
    /// A POSIX shared memory object whose name is removed before a rank starts.
    Posix,
    /// A POSIX shared memory object that already exists under this name and keeps it.
    Named(String),
}

/// An open shared memory file.
///
/// The program may close its descriptor (a daemon closes all that are open) and its number may then
/// belong to another file. So every use checks the file's identity first.
pub(crate) struct File {
    fd: ManuallyDrop<OwnedFd>,
    /// The file behind the descriptor when it was opened.
    identity: Option<Identity>,
    sealable: bool,
}

/// Device and inode, which are unique among open files.
type Identity = (u64, u64);

fn identity(fd: impl AsFd) -> Option<Identity> {
    let status = nix::sys::stat::fstat(fd).ok()?;
    Some((status.st_dev, status.st_ino))
}

impl Drop for File {
    fn drop(&mut self) {
        if self.is_still_there() {
            // SAFETY: nothing uses it after this.
            unsafe { ManuallyDrop::drop(&mut self.fd) };
        }
    }
}

fn os_error(what: &'static str) -> impl FnOnce(nix::Error) -> Error {
    move |errno| Error::system(what, errno)
}

impl File {
    /// Creates the file with `bytes` bytes, none of them reserved yet.
    pub(crate) fn create(kind: &FileKind, bytes: u64) -> Result<File> {
        let file = match kind {
            FileKind::Named(name) => {
                let fd = shm_open(name.as_str(), OFlag::O_RDWR, Mode::empty())
                    .map_err(os_error("opening the named segment"))?;
                return Ok(File::from_fd(fd));
            }
            FileKind::Posix => File::create_posix()?,
            FileKind::Memfd => {
                let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
                match memfd_create(c"onesided", flags) {
                    Ok(fd) => File::of(fd, true),
                    Err(_) => File::create_posix()?,
                }
            }
        };
        let too_large = std::io::Error::from(std::io::ErrorKind::FileTooLarge);
        // Past the limit of file sizes the kernel would rather kill the process (SIGXFSZ).
        let length = i64::try_from(bytes).ok().filter(|_| bytes <= limit(Resource::RLIMIT_FSIZE));
        let length = length.ok_or_else(|| Error::system("sizing the segment", too_large))?;
        nix::unistd::ftruncate(&file, length).map_err(os_error("sizing the segment"))?;
        Ok(file)
    }

    /// An object of mode 0600 without a name, so that a killed process leaves none. Where the system
    /// has no such objects: one with a random name, exclusively created and unlinked immediately.
    fn create_posix() -> Result<File> {
        let mode = Mode::S_IRUSR | Mode::S_IWUSR;
        let nameless = OFlag::O_RDWR | OFlag::O_CLOEXEC | OFlag::O_TMPFILE | OFlag::O_EXCL;
        if let Ok(fd) = open("/dev/shm", nameless, mode) {
            return Ok(File::from_fd(fd));
        }
        let mut random = [0u8; 16];
        random_bytes(&mut random)?;
        let name = format!("/onesided-{:032x}", u128::from_ne_bytes(random));
        let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
        let fd = shm_open(name.as_str(), flags, mode)
            .map_err(os_error("creating a POSIX shared memory object"))?;
        shm_unlink(name.as_str()).map_err(os_error("unlinking the shared memory object"))?;
        Ok(File::from_fd(fd))
    }

    /// Takes an open descriptor.
    pub(crate) fn from_fd(fd: OwnedFd) -> File {
        File::of(fd, false)
    }

    fn of(fd: OwnedFd, sealable: bool) -> File {
        let identity = identity(&fd);
        File { fd: ManuallyDrop::new(fd), identity, sealable }
    }

    /// Whether the descriptor still leads to the file.
    pub(crate) fn is_still_there(&self) -> bool {
        identity(&*self.fd) == self.identity
    }

    /// Opens the file of descriptor `number` of process `pid`.
    pub(crate) fn open_proc(pid: u32, number: RawFd, writable: bool) -> Result<File> {
        File::open_path(&format!("/proc/{pid}/fd/{number}"), writable)
    }

    fn open_path(path: &str, writable: bool) -> Result<File> {
        let file = std::fs::OpenOptions::new().read(true).write(writable).open(path);
        Ok(File::from_fd(
            file.map_err(|e| Error::system("opening the launcher's segment", e))?.into(),
        ))
    }

    /// A second, read-only descriptor of the same file.
    pub(crate) fn reopen_read_only(&self) -> Result<File> {
        // By "self", because the process's number may belong to another namespace than this /proc.
        File::open_path(&format!("/proc/self/fd/{}", self.fd.as_raw_fd()), false)
    }

    /// Forbids any change of the file's length, where the file allows that.
    pub(crate) fn seal_length(&self) -> Result<()> {
        self.seal(SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW)
    }

    /// Forbids writable mappings from now on, where the kernel allows that.
    pub(crate) fn seal_future_writes(&self) -> Result<()> {
        // F_SEAL_FUTURE_WRITE (Linux 5.1); nix has no name for it. On an older kernel the ranks have
        // only a read-only descriptor.
        match self.seal(SealFlag::from_bits_retain(0x10)) {
            Ok(()) | Err(Error::System { .. }) => self.seal_length(),
            Err(error) => Err(error),
        }
    }

    /// Whether a page that is touched for the first time always gets memory: then only the machine as a
    /// whole can run short, which no reservation prevents. This holds for a sealed memory file, which no
    /// mount limits, unless the kernel accounts for each page (`vm.overcommit_memory` 2).
    pub(super) fn is_backed_on_touch(&self) -> bool {
        let is_memory_file = || {
            let seals = fcntl(self, FcntlArg::F_GET_SEALS).map(SealFlag::from_bits_retain);
            seals.is_ok_and(|seals| seals.contains(SealFlag::F_SEAL_SHRINK))
        };
        let accounting = text_of("/proc/sys/vm/overcommit_memory");
        matches!(accounting.trim(), "0" | "1") && self.is_still_there() && is_memory_file()
    }

    /// The bytes of memory that the file has.
    pub(crate) fn bytes_in_memory(&self) -> Result<u64> {
        let stat = nix::sys::stat::fstat(self).map_err(os_error("measuring the segment"))?;
        Ok(stat.st_blocks as u64 * 512)
    }

    fn seal(&self, seals: SealFlag) -> Result<()> {
        if !self.sealable {
            return Ok(());
        }
        fcntl(self, FcntlArg::F_ADD_SEALS(seals)).map_err(os_error("sealing the segment"))?;
        Ok(())
    }

    /// The length of the file in bytes.
    pub(crate) fn len(&self) -> Result<u64> {
        let stat = nix::sys::stat::fstat(self).map_err(os_error("measuring the segment"))?;
        Ok(stat.st_size as u64)
    }

    /// Maps the whole file, shared; `len` must be its length.
    pub(crate) fn map(&self, len: u64, writable: bool) -> Result<MmapRaw> {
        let len = usize::try_from(len).map_err(|_| Error::Damaged { what: "length" })?;
        let mut options = MmapOptions::new();
        options.len(len);
        let map = if writable {
            options.map_raw(&*self.fd)
        } else {
            options.map_raw_read_only(&*self.fd)
        };
        map.map_err(|e| Error::system("mapping the segment", e))
    }

    /// Reserves the bytes before they are touched. `Err` holds the system's reason; the file is then
    /// unchanged.
    pub(crate) fn reserve(&self, offset: u64, bytes: u64) -> std::result::Result<(), nix::Error> {
        self.allocate(FallocateFlags::empty(), offset, bytes)
    }

    /// Releases whole pages; they read as zero from now on.
    pub(crate) fn punch(&self, offset: u64, bytes: u64) -> Result<()> {
        let punched = self.allocate(FallocateFlags::FALLOC_FL_PUNCH_HOLE, offset, bytes);
        punched.map_err(os_error("giving pages of the segment back"))
    }

    /// Also returns `EBADF` if the descriptor leads to another file, before or after the call.
    fn allocate(&self, flags: FallocateFlags, offset: u64, bytes: u64) -> nix::Result<()> {
        let flags = flags | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        let done = loop {
            if !self.is_still_there() {
                return Err(nix::Error::EBADF);
            }
            match fallocate(self, flags, offset as i64, bytes as i64) {
                Err(nix::Error::EINTR) => continue,
                other => break other,
            }
        };
        if self.is_still_there() { done } else { Err(nix::Error::EBADF) }
    }

    /// The descriptor's number, which the launcher passes on.
    pub(crate) fn number(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Reserves the first `bytes` bytes of a file of the program on its device; a shorter file grows. What has been
/// written stays.
///
/// # Errors
/// Those of the operating system.
pub fn reserve(file: &std::fs::File, bytes: u64) -> std::io::Result<()> {
    let bytes = i64::try_from(bytes).map_err(|_| nix::Error::EFBIG)?;
    loop {
        match posix_fallocate(file, 0, bytes) {
            _ if bytes == 0 => return Ok(()),
            Err(nix::Error::EINTR) => {}
            other => return Ok(other?),
        }
    }
}

/// Takes over descriptor `number`, if it is open, by duplicating it.
pub(crate) fn duplicate(number: RawFd) -> Result<File> {
    // SAFETY: the call takes any number and fails for one that is not open. The borrow ends before
    // anything could close the descriptor.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    // Not one of the standard streams, should one of them be closed.
    let fd = rustix::io::fcntl_dupfd_cloexec(borrowed, 3)
        .map_err(|error| Error::system("duplicating the segment's descriptor", error))?;
    Ok(File::from_fd(fd))
}

/// The process that has made the socket at the other end of this one, and its user; `None` if that is unknown.
pub(crate) fn peer_of(socket: impl AsFd) -> Option<(u32, u32)> {
    let peer = rustix::net::sockopt::socket_peercred(socket).ok()?;
    let pid = u32::try_from(peer.pid.as_raw_nonzero().get()).ok()?;
    Some((pid, peer.uid.as_raw()))
}

/// [`peer_of`] of descriptor `number`.
pub(crate) fn peer_of_number(number: RawFd) -> Option<(u32, u32)> {
    // SAFETY: as in `duplicate`; -1 stands for no descriptor.
    (number >= 0).then(|| unsafe { BorrowedFd::borrow_raw(number) }).and_then(peer_of)
}

/// The user of this process.
pub(crate) fn own_user() -> u32 {
    rustix::process::getuid().as_raw()
}

/// Closes the open descriptor `number` in the programs that this process executes.
pub(crate) fn close_on_exec(number: RawFd) {
    // SAFETY: as in `duplicate`.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    // Fails only if it has been closed.
    let _ = fcntl(borrowed, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC));
}

fn random_bytes(bytes: &mut [u8]) -> Result<()> {
    use std::io::Read;
    std::fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(bytes))
        .map_err(|e| Error::system("reading random bytes", e))
}

/// Random bytes that identify a job.
pub(crate) fn nonce() -> Result<u64> {
    let mut bytes = [0u8; 8];
    random_bytes(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// More than /proc/PID/stat has.
pub(crate) const STAT_BYTES: usize = 1024;

/// Reads the line /proc/PID/stat of a process, without a word to the allocator; `None` if there is no such
/// process.
pub(crate) fn stat_of(pid: u32, line: &mut [u8; STAT_BYTES]) -> std::io::Result<Option<&[u8]>> {
    let mut path = [0; 32];
    write!(&mut path[..], "/proc/{pid}/stat")?;
    let path = path.split(|byte| *byte == 0).next().unwrap_or_default();
    let open = std::fs::File::open(OsStr::from_bytes(path));
    match open.and_then(|mut file| file.read(line)) {
        Ok(bytes) => Ok(Some(&line[..bytes])),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        // It has ended between two system calls.
        Err(error) if error.raw_os_error() == Some(nix::libc::ESRCH) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Ends this process without its cooperation.
pub(crate) fn kill_this_process() {
    // A process may always send a signal to itself.
    let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGKILL);
}

/// Whether a short line can be written there without waiting for a reader.
pub(crate) fn takes_output(file: &impl AsFd) -> bool {
    let mut ready = [PollFd::new(file.as_fd(), PollFlags::POLLOUT)];
    poll(&mut ready, PollTimeout::ZERO) == Ok(1)
}

/// The machine's page size in bytes.
pub(crate) fn page_size() -> u64 {
    rustix::param::page_size() as u64
}

/// The text of a file of the kernel; empty if it does not exist.
pub(super) fn text_of(file: &str) -> String {
    read_text(file).unwrap_or_default()
}

/// [`text_of`] with few system calls: these files have no length by which a reader could ask for all.
fn read_text(file: &str) -> std::io::Result<String> {
    use std::io::Read;
    let mut text = String::with_capacity(4096);
    std::fs::File::open(file)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Whether the kernel gives huge pages to memory files on request.
pub(super) fn gives_huge_pages() -> bool {
    let setting = text_of("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
    ["[always]", "[within_size]", "[advise]", "[force]"].iter().any(|on| setting.contains(on))
}

/// All memory of the machine, in bytes.
pub(crate) fn total_memory() -> Result<u64> {
    meminfo("MemTotal:")
}

/// The soft limit of this process and its children.
fn limit(resource: Resource) -> u64 {
    getrlimit(resource).map_or(u64::MAX, |(soft, _)| soft)
}

/// What the kernel has counted of this process, its ended threads included.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Time on a processor in the program and its libraries, in nanoseconds.
    pub user: u64,
    /// The same in the kernel.
    pub system: u64,
    /// The most memory that it has had at a time, in bytes.
    pub most_memory: u64,
    /// Pages that it touched, and that were in memory or needed none.
    pub minor_faults: u64,
    /// Pages that were read from a disk.
    pub major_faults: u64,
    /// How often it left a processor because it had to wait.
    pub voluntary_switches: u64,
    /// How often it left one to another process.
    pub involuntary_switches: u64,
}

impl Usage {
    /// That of now.
    pub fn now() -> Result<Usage> {
        let used = getrusage(UsageWho::RUSAGE_SELF).map_err(os_error("asking for the usage"))?;
        let count = |number: i64| u64::try_from(number).unwrap_or_default();
        let time = |time: nix::sys::time::TimeVal| {
            count(time.tv_sec()) * 1_000_000_000 + count(time.tv_usec()) * 1000
        };
        Ok(Usage {
            user: time(used.user_time()),
            system: time(used.system_time()),
            most_memory: count(used.max_rss()) * 1024,
            minor_faults: count(used.minor_page_faults()),
            major_faults: count(used.major_page_faults()),
            voluntary_switches: count(used.voluntary_context_switches()),
            involuntary_switches: count(used.involuntary_context_switches()),
        })
    }
}

/// The largest segment within the limits of this process, in bytes: the file size, and half of the
/// address space, because the program needs the other half.
pub(crate) fn largest_segment() -> u64 {
    limit(Resource::RLIMIT_FSIZE).min(limit(Resource::RLIMIT_AS) / 2)
}

/// Memory available without swapping, in bytes: the machine's, or the control group's if that is less.
/// The kernel kills a process rather than deny a page of a memory file, so large requests are compared
/// with this first.
pub(crate) fn available_memory() -> Result<u64> {
    Ok(meminfo("MemAvailable:")?.min(cgroup_headroom().unwrap_or(u64::MAX)))
}

fn meminfo(field: &str) -> Result<u64> {
    let text = read_text("/proc/meminfo").map_err(|e| Error::system("reading /proc/meminfo", e))?;
    let kilobytes = text
        .lines()
        .find_map(|line| line.strip_prefix(field))
        .and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kilobytes.map(|kb| kb * 1024).ok_or_else(|| {
        let kind = std::io::ErrorKind::InvalidData;
        Error::system("reading /proc/meminfo", std::io::Error::from(kind))
    })
}

/// The memory left to the control groups of this process, of either version; `None` without a limit.
fn cgroup_headroom() -> Option<u64> {
    let groups = read_text("/proc/self/cgroup").ok()?;
    groups.lines().flat_map(headrooms_of).min()
}

/// The memory left to the group on a line of /proc/self/cgroup and to each enclosing group with a
/// limit.
fn headrooms_of(line: &str) -> Vec<u64> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, path) = (fields.next().unwrap_or_default(), fields.next().unwrap_or("/"));
    let [root, most, used, cache] = if controllers.is_empty() {
        ["/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "]
    } else if controllers.split(',').any(|controller| controller == "memory") {
        let root = "/sys/fs/cgroup/memory";
        [root, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "]
    } else {
        return Vec::new();
    };
    let headroom = |group: &std::path::Path| {
        let folder = format!("{root}{}", group.display());
        let text = |file: &str| read_text(&format!("{folder}/{file}")).ok();
        let number = |file: &str| text(file)?.trim().parse::<u64>().ok();
        // Of version 1, a group without a limit has a number of bytes that no machine has.
        let limit = number(most).filter(|limit| *limit < 1 << 62)?;
        let free = limit.saturating_sub(number(used)?);
        // The kernel drops the page cache before it kills.
        let stat = text("memory.stat").unwrap_or_default();
        let cached = stat.lines().find_map(|line| line.strip_prefix(cache)?.parse::<u64>().ok());
        Some(free.saturating_add(cached.unwrap_or(0)))
    };
    std::path::Path::new(path).ancestors().filter_map(headroom).collect()
}

/// Bytes between two pieces of another process at most, on average, where they are read with what lies between them.
const GAP: usize = 512;
/// Pieces per system call: half of what the kernel takes (`IOV_MAX`).
const MOST_PIECES: usize = 512;

/// Which way bytes go: to the target of an operation, or from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Put,
    Get,
}

/// Bytes to be copied between this process and another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) own: *mut u8,
    /// In the other process.
    pub(crate) other: *mut u8,
    /// Not zero.
    pub(crate) bytes: usize,
}

/// A process whose memory the kernel copies, without its help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process(i32);

/// Reads this process's own memory, and returns whether it is mapped.
pub(crate) fn read_here(at: usize, to: &mut [u8]) -> bool {
    let other = std::ptr::without_provenance_mut(at);
    let piece = Piece { own: to.as_mut_ptr(), other, bytes: to.len() };
    // SAFETY: 1. `to` is a slice. 2. The kernel reads, and refuses what is not mapped; what another thread writes
    // meanwhile arrives old or new.
    to.is_empty() || unsafe { Process::own().move_pieces(Direction::Get, &[piece]) }.is_ok()
}

/// Whether bytes at two addresses are the same. One that another process writes meanwhile is read old or new.
///
/// # Safety
/// Both are valid for reads of `bytes` bytes.
#[inline]
pub(super) unsafe fn are_same(one: *const u8, other: *const u8, bytes: usize) -> bool {
    if is_one_store(bytes) {
        let [one, other] = [one, other].map(|at| at.cast::<[u8; ONE_STORE]>());
        // SAFETY: the caller's obligation; an array of bytes is aligned anywhere.
        let [one, other] = [one, other].map(|at| unsafe { at.read() });
        return one == other;
    }
    // SAFETY: the caller's obligation.
    unsafe { nix::libc::memcmp(one.cast(), other.cast(), bytes) == 0 }
}

/// Memory of this process that is not unmapped while a call runs.
struct LastingMemory {
    /// What the program's file has: its code, constants and variables.
    program: Range<usize>,
    /// Of the first thread.
    stack: Range<usize>,
    /// The start of the heap behind the program. The C library knows its end.
    heap: usize,
}

impl LastingMemory {
    fn find() -> LastingMemory {
        let maps = text_of("/proc/self/maps");
        let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
        let mut found = LastingMemory { program: 0..0, stack: 0..0, heap: usize::MAX };
        let mut has_variables = false;
        for line in maps.lines() {
            let mut words = line.split_ascii_whitespace();
            let range = words.next().and_then(addresses);
            let (Some(range), Some(rights)) = (range, words.next()) else { continue };
            let is_next = range.start == found.program.end;
            match words.nth(3).unwrap_or_default() {
                "[stack]" => found.stack = range,
                // A tool that runs the program may give it a heap elsewhere.
                "[heap]" if range.end == end_of_heap() => found.heap = range.start,
                _ if !rights.starts_with('r') => {}
                // Variables without values in the file lie behind it.
                "" if is_next && !has_variables => {
                    found.program.end = range.end;
                    has_variables = true;
                }
                file if std::path::Path::new(file) == program
                    && (is_next || found.program.is_empty()) =>
                {
                    let start = if is_next { found.program.start } else { range.start };
                    found.program = start..range.end;
                }
                _ => {}
            }
        }
        found
    }

    /// Whether the memory has these bytes. Of the stack, only what functions use that have called this one.
    fn has(&self, bytes: &Range<usize>) -> bool {
        let local = 0u8;
        let top = (&raw const local).addr();
        let used = if self.stack.contains(&top) { top..self.stack.end } else { 0..0 };
        let are_in = |memory: &Range<usize>| memory.start <= bytes.start && bytes.end <= memory.end;
        are_in(&used) || are_in(&self.program) || are_in(&(self.heap..end_of_heap()))
    }
}

/// Those that a line of /proc/self/maps begins with.
fn addresses(range: &str) -> Option<Range<usize>> {
    let (start, end) = range.split_once('-')?;
    let address = |digits| usize::from_str_radix(digits, 16).ok();
    Some(address(start)?..address(end)?)
}

fn end_of_heap() -> usize {
    // SAFETY: an increment of zero changes nothing.
    unsafe { nix::libc::sbrk(0) }.addr()
}

/// From now on the C library takes large blocks from its heap, too, and does not return them to the kernel: [`is_known_here`]
/// knows them then.
pub(crate) fn keep_large_blocks() {
    #[cfg(target_env = "gnu")]
    for (option, value) in [(M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, nix::libc::c_int::MAX)] {
        // SAFETY: the library may be asked so at any time; one that does not know the option changes nothing.
        unsafe { nix::libc::mallopt(option, value) };
    }
}

/// Whether this process's memory has these bytes at an address, if that can be known without the kernel: in `part`, and in
/// memory that the program keeps.
///
/// A program that frees the memory in another thread at the same moment, or has taken the right to read it away, is wrong, and
/// may end here by a signal. The C library returns memory of this heap to the kernel only from its end, and rarely, or not
/// at all after [`keep_large_blocks`].
pub(crate) fn is_known_here(at: usize, bytes: &[u8], part: Span) -> bool {
    static LASTING: OnceLock<LastingMemory> = OnceLock::new();
    let range = at..at.saturating_add(bytes.len());
    let is_in_part = at
        .checked_sub(part.base().addr())
        .is_some_and(|start| (start as u64).saturating_add(bytes.len() as u64) <= part.len());
    // SAFETY: the memory stays mapped, as `part` does by its own obligation; `bytes` is a slice.
    (is_in_part || LASTING.get_or_init(LastingMemory::find).has(&range))
        && unsafe { are_same(std::ptr::with_exposed_provenance(at), bytes.as_ptr(), bytes.len()) }
}

/// [`read_here`] of several runs that are not empty, one behind the other.
pub(crate) fn read_all_here(runs: impl Iterator<Item = Range<usize>>, to: &mut [u8]) -> bool {
    let (start, mut at, mut pieces) = (to.as_mut_ptr(), 0, Vec::<Piece>::new());
    for run in runs {
        match pieces.last_mut() {
            Some(last) if last.other.addr() + last.bytes == run.start => last.bytes += run.len(),
            _ => pieces.push(Piece {
                own: start.wrapping_add(at),
                other: std::ptr::without_provenance_mut(run.start),
                bytes: run.len(),
            }),
        }
        at += run.len();
    }
    assert!(at <= to.len(), "runs of {at} bytes are read to {}", to.len());
    // SAFETY: 1. The own pieces lie behind each other in `to`, as was just checked. 2. As in `read_here`, also of what lies between them.
    unsafe { Process::own().move_pieces(Direction::Get, &pieces) }.is_ok()
}

/// What the kernel offers to record which pages a process writes: since Linux 6.7, where a sandbox does not forbid it.
struct WriteTracking {
    /// Protects pages, and takes the protection away where one is written.
    faults: OwnedFd,
    /// Finds pages without protection.
    pages: OwnedFd,
}

/// Makes the kernel work on `of`. Returns whether it has.
///
/// # Safety
/// The argument is of the request's type, and what it names by address may be read and written.
unsafe fn control<const REQUEST: Opcode, T>(of: &OwnedFd, argument: &mut T) -> bool {
    // SAFETY: the caller's obligation.
    let request = unsafe { Updater::<REQUEST, T>::new(argument) };
    // SAFETY: the caller's obligation.
    unsafe { ioctl(of, request) }.is_ok()
}

/// `UFFDIO_WRITEPROTECT_MODE_WP` of the kernel.
const PROTECT: u64 = 1;
/// `PAGEMAP_SCAN` of the kernel.
const SCAN: Opcode = opcode::read_write::<pm_scan_arg>(b'f', 16);

impl WriteTracking {
    fn of_this_process() -> Option<&'static WriteTracking> {
        static TRACKING: OnceLock<Option<WriteTracking>> = OnceLock::new();
        TRACKING.get_or_init(WriteTracking::open).as_ref()
    }

    fn open() -> Option<WriteTracking> {
        let user_mode_only = UserfaultfdFlags::from_bits_retain(UFFD_USER_MODE_ONLY);
        // SAFETY: its pages are only protected in the way that the kernel ends by itself, without a handler of faults.
        let faults = unsafe { userfaultfd(UserfaultfdFlags::CLOEXEC | user_mode_only) }.ok()?;
        let features =
            UFFD_FEATURE_WP_ASYNC | UFFD_FEATURE_WP_UNPOPULATED | UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
        let mut api = uffdio_api { api: UFFD_API.into(), features: features.into(), ioctls: 0 };
        // SAFETY: the type of the request; it has no address.
        let has_all = unsafe { control::<{ UFFDIO_API as Opcode }, _>(&faults, &mut api) };
        let pages = std::fs::File::open("/proc/self/pagemap").ok()?.into();
        has_all.then_some(WriteTracking { faults, pages })
    }
}

/// Whole pages of this process's memory of which the kernel records which ones the process writes, by instructions or by
/// system calls. Other processes that have mapped the same memory are not recorded.
pub(crate) struct TrackedMemory {
    tracking: &'static WriteTracking,
    memory: uffdio_range,
}

impl TrackedMemory {
    /// The whole pages of `span`, none of which is protected; `None` if the kernel does not record them.
    pub(crate) fn new(span: Span) -> Option<TrackedMemory> {
        let tracking = WriteTracking::of_this_process()?;
        let (start, page) = (span.base().addr() as u64, page_size());
        let memory = uffdio_range { start, len: span.len() / page * page };
        let mode = UFFDIO_REGISTER_MODE_WP.into();
        let mut register = uffdio_register { range: memory, mode, ioctls: 0 };
        let is_registered = start % page == 0
            // SAFETY: the type of the request. The memory stays as it is, and mapped by `span`'s obligation.
            && unsafe { control::<{ UFFDIO_REGISTER as Opcode }, _>(&tracking.faults, &mut register) };
        is_registered.then_some(TrackedMemory { tracking, memory })
    }

    /// The number of pages.
    pub(crate) fn pages(&self) -> usize {
        (self.memory.len / page_size()) as usize
    }

    fn range_of(&self, pages: &Range<usize>) -> uffdio_range {
        let (page, first) = (page_size(), pages.start as u64);
        uffdio_range { start: self.memory.start + first * page, len: pages.len() as u64 * page }
    }

    /// From now on a write to one of these pages is recorded, and takes its protection away. Returns whether that is so.
    pub(crate) fn protect(&self, pages: &Range<usize>) -> bool {
        let mut protect = uffdio_writeprotect { range: self.range_of(pages), mode: PROTECT };
        let faults = &self.tracking.faults;
        // SAFETY: the type of the request. The memory stays as it is.
        unsafe { control::<{ UFFDIO_WRITEPROTECT as Opcode }, _>(faults, &mut protect) }
    }

    /// Calls `each` with runs of pages that are not protected. Of those that have never been, some may be missing. Returns
    /// whether the kernel knows them.
    pub(crate) fn unprotected(&self, mut each: impl FnMut(Range<usize>)) -> bool {
        let (page, uffdio_range { start, len }) = (page_size(), self.memory);
        let number = |address: u64| ((address - start) / page) as usize;
        let (mut from, end) = (start, start + len);
        while from < end {
            let mut found = [page_region { start: 0, end: 0, categories: 0 }; 32];
            let mut scan = pm_scan_arg {
                size: size_of::<pm_scan_arg>() as u64,
                flags: 0,
                start: from,
                end,
                walk_end: 0,
                vec: found.as_mut_ptr().expose_provenance() as u64,
                vec_len: found.len() as u64,
                max_pages: 0,
                category_inverted: 0,
                category_mask: PAGE_IS_WRITTEN.into(),
                category_anyof_mask: 0,
                return_mask: PAGE_IS_WRITTEN.into(),
            };
            // SAFETY: the type of the request; the kernel writes to `found` as many elements as that has.
            let is_known = unsafe { control::<SCAN, _>(&self.tracking.pages, &mut scan) };
            if !is_known || scan.walk_end <= from {
                return false;
            }
            let found = found.iter().take_while(|region| region.end != 0);
            found.for_each(|region| each(number(region.start)..number(region.end)));
            from = scan.walk_end;
        }
        true
    }
}

impl Drop for TrackedMemory {
    fn drop(&mut self) {
        // SAFETY: the type of the request. The memory stays as it is; some that is unmapped already is an error.
        unsafe {
            control::<{ UFFDIO_UNREGISTER as Opcode }, _>(&self.tracking.faults, &mut self.memory)
        };
    }
}

impl Process {
    /// This process.
    pub(crate) fn own() -> Process {
        Process(nix::unistd::getpid().as_raw())
    }

    /// The process with that number.
    pub(crate) fn numbered(pid: i32) -> Process {
        Process(pid)
    }

    pub(crate) fn number(self) -> i32 {
        self.0
    }

    /// Copies pieces to the process, or from there.
    ///
    /// # Errors
    /// The kernel's: `EFAULT` for memory that is not mapped, `EPERM`, `ESRCH`.
    ///
    /// # Safety
    /// 1. Each own piece is valid for reads, or, of [`Direction::Get`], for writes.
    /// 2. The process exposes the other pieces; of [`Direction::Get`], also what lies between them, and no two
    ///    own pieces overlap.
    pub(crate) unsafe fn move_pieces(
        self,
        direction: Direction,
        pieces: &[Piece],
    ) -> std::io::Result<()> {
        let vectors = |piece: &Piece| {
            [piece.own, piece.other]
                .map(|base| iovec { iov_base: base.cast(), iov_len: piece.bytes })
        };
        // A message of one piece takes nothing from the heap.
        if let [piece] = pieces {
            let [mut own, mut other] = vectors(piece);
            // SAFETY: the caller's obligations.
            return unsafe {
                self.move_vectors(direction, from_mut(&mut own), from_mut(&mut other))
            };
        }
        for batch in pieces.chunks(MOST_PIECES) {
            // SAFETY: the caller's obligations.
            if direction == Direction::Get && unsafe { self.read_span(batch) } {
                continue;
            }
            let end = |vector: &iovec| vector.iov_base.wrapping_byte_add(vector.iov_len);
            let mut own = Vec::with_capacity(batch.len());
            let mut other: Vec<iovec> = Vec::with_capacity(batch.len());
            for piece in batch {
                let [here, there] = vectors(piece);
                own.push(here);
                // The kernel takes its time for each piece of the other process.
                match other.last_mut().filter(|last| end(last) == there.iov_base) {
                    Some(last) => last.iov_len += there.iov_len,
                    None => other.push(there),
                }
            }
            // SAFETY: the caller's obligations.
            unsafe { self.move_vectors(direction, &mut own, &mut other) }?;
        }
        Ok(())
    }

    /// Reads pieces that lie close together by one piece around all of them: whether it has. The kernel takes
    /// longer for each piece than for the bytes between two of them.
    ///
    /// # Safety
    /// The obligations of [`Process::move_pieces`], of [`Direction::Get`].
    unsafe fn read_span(self, pieces: &[Piece]) -> bool {
        let first = pieces.iter().map(|piece| piece.other as usize).min().unwrap_or(0);
        let ends = pieces.iter().map(|piece| piece.other as usize + piece.bytes);
        let bytes = ends.max().unwrap_or(0) - first;
        if bytes > pieces.len() * GAP {
            return false;
        }
        let mut span = vec![0u8; bytes];
        let around =
            Piece { own: span.as_mut_ptr(), other: std::ptr::without_provenance_mut(first), bytes };
        // SAFETY: 1. a new vector of that many bytes. 2. The caller's second obligation; one piece.
        if unsafe { self.move_pieces(Direction::Get, &[around]) }.is_err() {
            // The pieces by themselves have an error of their own, or none.
            return false;
        }
        for Piece { own, other, bytes } in pieces {
            let from = span[*other as usize - first..][..*bytes].as_ptr();
            // SAFETY: 1. that slice, and the caller's first obligation. 2. `span` is new.
            unsafe { copy(from, *own, *bytes) };
        }
        true
    }

    /// [`Process::move_pieces`] of pieces whose halves are those of `own` and `other`, which have as many bytes.
    ///
    /// # Safety
    /// The obligations of [`Process::move_pieces`].
    unsafe fn move_vectors(
        self,
        direction: Direction,
        mut own: &mut [iovec],
        mut other: &mut [iovec],
    ) -> std::io::Result<()> {
        while !own.is_empty() {
            let (from, to) = (own.as_ptr(), other.as_ptr());
            let (n, m) = (own.len() as c_ulong, other.len() as c_ulong);
            let moved = match direction {
                // SAFETY: vectors of `n` and `m` entries; of the memory that they name, the caller's obligations.
                Direction::Put => unsafe { process_vm_writev(self.0, from, n, to, m, 0) },
                // SAFETY: as above.
                Direction::Get => unsafe { process_vm_readv(self.0, from, n, to, m, 0) },
            };
            let moved = nix::Error::result(moved)? as usize;
            if moved == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            advance(&mut own, moved);
            advance(&mut other, moved);
        }
        Ok(())
    }

    /// Checks that this process may read and write `bytes` bytes at `at` of the process, on the first
    /// and the last byte, without writing any.
    pub(crate) fn probe(self, at: *mut u8, bytes: usize) -> std::io::Result<()> {
        let mut byte = 0u8;
        for other in [at, at.wrapping_add(bytes - 1)] {
            let piece = Piece { own: &raw mut byte, other, bytes: 1 };
            // SAFETY: 1. a local byte. 2. One piece.
            unsafe { self.move_pieces(Direction::Get, &[piece]) }?;
        }
        // Of no bytes: a system may permit one call and not the other.
        nix::sys::uio::process_vm_writev(nix::unistd::Pid::from_raw(self.0), &[], &[])?;
        Ok(())
    }
}

/// Takes the first `bytes` bytes away.
fn advance(vectors: &mut &mut [iovec], mut bytes: usize) {
    let whole = |vector: &&iovec| {
        let is_whole = vector.iov_len <= bytes;
        bytes -= if is_whole { vector.iov_len } else { 0 };
        is_whole
    };
    let moved = vectors.iter().take_while(whole).count();
    *vectors = &mut std::mem::take(vectors)[moved..];
    if let Some(first) = vectors.first_mut() {
        first.iov_base = first.iov_base.wrapping_byte_add(bytes);
        first.iov_len -= bytes;
    }
}

/// The mapping that has an address (`struct procmap_query`, Linux 6.11).
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct MappingQuery {
    size: u64,
    flags: u64,
    address: u64,
    start: u64,
    end: u64,
    /// Of the answer: its permissions, page size and offset.
    found: [u64; 3],
    inode: u64,
    rest: [u64; 4],
}

/// `PROCMAP_QUERY`
const QUERY: u64 = 0xc000_6611 | (size_of::<MappingQuery>() as u64) << 16;
/// Only a mapping that can be written.
const WRITABLE: u64 = 2;

/// The end of the mapping of this process that has `address`, if it is memory of no file and can be written.
fn end_of_writable(maps: &std::fs::File, address: usize) -> Option<usize> {
    let size = size_of::<MappingQuery>() as u64;
    let known = MappingQuery { size, flags: WRITABLE, ..Zeroable::zeroed() };
    let mut query = MappingQuery { address: address as u64, ..known };
    // SAFETY: the request reads and writes a value of that size; a kernel that does not know it refuses it.
    let answered = unsafe { nix::libc::ioctl(maps.as_raw_fd(), QUERY as _, &raw mut query) };
    (answered == 0 && query.inode == 0).then_some(query.end as usize)
}

/// Whether all bytes of a span of this process's memory can be written. Where the kernel does not answer, a span of at most
/// `most` bytes is mapped, and a longer one counts as one that cannot.
fn is_writable(span: Range<usize>, most: usize) -> bool {
    static MAPS: OnceLock<Option<std::fs::File>> = OnceLock::new();
    let mut end = span.start;
    if let Some(maps) = MAPS.get_or_init(|| std::fs::File::open("/proc/self/maps").ok()) {
        while let Some(next) = end_of_writable(maps, end).filter(|next| *next > end) {
            if next >= span.end {
                return true;
            }
            end = next;
        }
    }
    let first = span.start - span.start % page_size() as usize;
    let Some(start) = NonNull::new(std::ptr::with_exposed_provenance_mut(first)) else {
        return false;
    };
    let bytes = span.end - first;
    // SAFETY: the advice changes no byte, and is refused for what is not mapped. Refused before Linux 5.14.
    bytes <= most && unsafe { madvise(start, bytes, MmapAdvise::MADV_POPULATE_WRITE) }.is_ok()
}

/// Pieces of as many bytes at equal distances in the target's memory.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct PieceRun {
    first: u64,
    pub(crate) bytes: u64,
    stride: u64,
    pub(crate) count: u64,
}

impl PieceRun {
    fn one(piece: &Piece) -> PieceRun {
        PieceRun { first: piece.other as u64, bytes: piece.bytes as u64, stride: 0, count: 1 }
    }

    /// Whether the piece is the next one of the run, which it then has.
    fn takes(&mut self, piece: &Piece) -> bool {
        let Some(stride) = (piece.other as u64).checked_sub(self.first) else { return false };
        let is_next = match self.count {
            1 => stride >= self.bytes,
            count => self.stride.checked_mul(count) == Some(stride),
        };
        let takes = is_next && piece.bytes as u64 == self.bytes;
        if takes {
            self.stride = if self.count == 1 { stride } else { self.stride };
            self.count += 1;
        }
        takes
    }

    /// The addresses from the first piece to the end of the last, if the pieces have 1 to `most` bytes.
    fn span(&self, most: u64) -> Option<Range<usize>> {
        let bytes = self.bytes.checked_mul(self.count)?;
        (bytes > 0 && bytes <= most).then_some(())?;
        let last = self.stride.checked_mul(self.count.checked_sub(1)?)?.checked_add(self.first)?;
        Some(self.first as usize..last.checked_add(self.bytes)? as usize)
    }

    /// The runs of which `pieces` consist, in order.
    pub(crate) fn all(pieces: &[Piece]) -> Vec<PieceRun> {
        let mut runs: Vec<PieceRun> = Vec::new();
        for piece in pieces {
            if !runs.last_mut().is_some_and(|last| last.takes(piece)) {
                runs.push(PieceRun::one(piece));
            }
        }
        runs
    }
}

/// Writes the bytes of `from`, an area of the segment, to the pieces of `runs` in this process, and returns whether all can be
/// written; `None` if there are more pieces than bytes. The rank that has sent the places has found that a window
/// of this process exposes them.
pub(crate) fn write_here(runs: &[PieceRun], mapping: &Mapping, from: Range<u64>) -> Option<bool> {
    let length = from.end - from.start;
    let mut from = mapping.at(from.start, length)?;
    let spans: Vec<Range<usize>> =
        runs.iter().map(|run| run.span(length)).collect::<Option<_>>()?;
    let pieces: u64 = runs.iter().map(|run| run.bytes * run.count).sum();
    let first = spans.iter().map(|span| span.start).min()?;
    let end = spans.iter().map(|span| span.end).max()?;
    if pieces > length {
        return None;
    }
    let count: u64 = runs.iter().map(|run| run.count).sum();
    if !is_writable(first..end, (count * page_size()) as usize) {
        return Some(false);
    }
    for run in runs {
        for k in 0..run.count {
            let to = std::ptr::with_exposed_provenance_mut((run.first + k * run.stride) as usize);
            // SAFETY: 1. `from` has that many bytes, and the pages of the span can be written. 2. An area of the segment
            // is no private memory.
            unsafe { copy(from, to, run.bytes as usize) };
            from = from.wrapping_add(run.bytes as usize);
        }
    }
    Some(true)
}

/// What a thread of the library takes all the same: the signals of its own faults.
const FAULTS: [Signal; 5] =
    [Signal::SIGSEGV, Signal::SIGBUS, Signal::SIGFPE, Signal::SIGILL, Signal::SIGABRT];
/// The exit code of a program whose main thread panics.
const PANICKED: i32 = 101;

/// Starts a thread of the library that takes no signal of the program. If it panics, the process ends: other ranks
/// would wait for it for ever.
pub(crate) fn spawn_deaf(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let mut signals = SigSet::all();
    FAULTS.into_iter().for_each(|fault| signals.remove(fault));
    let before = signals.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    // It calls nothing of the program.
    let builder = std::thread::Builder::new().name(name.to_owned()).stack_size(256 << 10);
    let spawned = builder.spawn(|| {
        if catch_unwind(AssertUnwindSafe(work)).is_err() {
            // SAFETY: the process ends, and runs nothing more.
            unsafe { nix::libc::_exit(PANICKED) }
        }
    });
    before.thread_set_mask()?;
    spawned.map(drop)
}

/// Allows `tracer` and its descendants to access this process's private memory, where the system
/// restricts that to named processes (Yama).
pub(crate) fn admit(tracer: u32) {
    let pid = rustix::process::Pid::from_raw(tracer as i32);
    if let Some(pid) = pid {
        // Fails on systems without Yama, which do not need it.
        let _ = rustix::process::set_ptracer(rustix::process::PTracer::ProcessID(pid));
    }
}

/// Whether that is the kernel's answer for a process that has ended.
pub(crate) fn is_gone(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(nix::Error::ESRCH as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_stays_mapped_is_compared_without_the_kernel() {
        static CONSTANT: [u8; 3] = [1, 2, 3];
        let local = std::hint::black_box([4u8; 64]);
        let none = Span::nothing();
        assert!(is_known_here(CONSTANT.as_ptr().addr(), &[1, 2, 3], none));
        assert!(!is_known_here(CONSTANT.as_ptr().addr(), &[1, 2, 4], none));
        assert!(!is_known_here(0, &[0], none) && !is_known_here(usize::MAX - 1, &[0; 4], none));
        let mut boxed = vec![5u8; 8];
        let part = Span::new(boxed.as_mut_ptr(), 8);
        assert!(is_known_here(part.base().addr() + 4, &[5; 4], part));
        assert!(!is_known_here(part.base().addr() + 4, &[4; 4], part));
        // Other tests move its end, but not so far. Nothing is read there.
        let start = end_of_heap() - (1 << 20);
        let heap = LastingMemory { program: 0..0, stack: 0..0, heap: start };
        assert!(heap.has(&(start..start + 64)) && !heap.has(&(start - 1..start + 64)));
        assert!(!heap.has(&(start..start + (1 << 40))));
        let local = local.as_ptr().addr();
        assert!(!heap.has(&(local..local + 64)), "it has no stack");
        let lasting = LastingMemory { program: 0..0, stack: 0..usize::MAX, heap: usize::MAX };
        assert!(lasting.has(&(local..local + 64)), "what this function uses");
        let below = lasting.stack.start..lasting.stack.start + 64;
        assert!(!lasting.has(&below), "what no function uses");
    }
}

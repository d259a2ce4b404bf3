//! What the driver and the ranks ask the system.

use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{CpuSet, Timespec, nanosleep, sched_setaffinity};
use std::hint::black_box;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A busy process ends by itself after this time, whatever happens to its parent.
const LONGEST_BUSY: Duration = Duration::from_secs(60);

/// Processors that this process may run on.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, |cores| cores.get()))
}

/// Lets this thread run on one processor alone.
pub fn pin_to(core: usize) {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).expect("a processor to be pinned to");
}

/// The processor, cores, kernel and versions, in one line.
pub fn line() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(": ")).map_or("unknown", |(_, name)| name);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let rustc = Command::new("rustc").arg("--version").output().ok();
    let rustc = rustc.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    format!(
        "{model}, {} cores, Linux {}, {}, onesided {}",
        cores(),
        kernel.trim(),
        rustc.as_deref().unwrap_or("rustc unknown"),
        env!("CARGO_PKG_VERSION"),
    )
}

/// The load of the machine, as the kernel puts it.
pub fn load() -> String {
    std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim().to_owned()
}

/// Keeps one processor busy until the parent ends.
pub fn keep_busy(core: usize) {
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    pin_to(core);
    compute(LONGEST_BUSY);
}

/// Computes for that long, without any call of the library.
pub fn compute(time: Duration) {
    let started = Instant::now();
    let mut value = 1u64;
    while started.elapsed() < time {
        for _ in 0..1000 {
            value = black_box(value.wrapping_mul(6364136223846793005).wrapping_add(1));
        }
    }
}

/// Sleeps for that long, without any call of the library.
pub fn sleep(time: Duration) {
    let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
    let _ = nanosleep(&time);
}

/// This process's share of the memory that it has mapped, in bytes.
pub fn share_of_memory() -> f64 {
    bytes_in("/proc/self/smaps_rollup", "Pss:")
}

/// The memory that only this process has, in bytes.
pub fn private_memory() -> f64 {
    bytes_in("/proc/self/status", "RssAnon:")
}

/// The page tables of this process, in bytes.
pub fn page_tables() -> f64 {
    bytes_in("/proc/self/status", "VmPTE:")
}

/// Bytes of the machine's memory that programs can still have.
pub fn available() -> f64 {
    bytes_in("/proc/meminfo", "MemAvailable:")
}

/// The number of KiB behind `key` in a file of the kernel, in bytes.
fn bytes_in(file: &str, key: &str) -> f64 {
    let all = std::fs::read_to_string(file).unwrap_or_default();
    let line = all.lines().find_map(|line| line.strip_prefix(key));
    let kib = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok());
    kib.unwrap_or(f64::NAN) * 1024.0
}

/// A foreign busy process on each processor, until dropped.
pub struct BusyProcesses(Vec<Child>);

impl BusyProcesses {
    /// Starts them.
    pub fn start() -> BusyProcesses {
        let own = std::env::current_exe().expect("the own path");
        let start = |core: usize| {
            let mut command = Command::new(&own);
            command.args(["--busy", &core.to_string()]).stdin(Stdio::null()).stdout(Stdio::null());
            command.spawn().expect("a busy process")
        };
        BusyProcesses((0..cores()).map(start).collect())
    }
}

impl Drop for BusyProcesses {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Processor time that this process has used.
pub fn processor_time() -> Duration {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike;
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("a process knows its usage");
    let total = usage.user_time() + usage.system_time();
    Duration::from_micros(total.num_microseconds().unsigned_abs())
}

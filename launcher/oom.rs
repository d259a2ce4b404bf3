//! Whether the kernel has killed a process for lack of memory.

/// The kernel's count of such kills when the job began; `None` if it has no such count.
pub struct OutOfMemory(Option<u64>);

impl OutOfMemory {
    pub fn watch() -> OutOfMemory {
        OutOfMemory(kills())
    }

    /// Whether it has killed a process since, on the whole machine or in one of its control groups.
    pub fn has_happened(&self) -> bool {
        kills() > self.0
    }
}

fn kills() -> Option<u64> {
    let counts = std::fs::read_to_string("/proc/vmstat").ok()?;
    counts.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

//! What this process keeps in memory, by where the pages come from.

use std::fs;

/// Resident memory of this process, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResidentMemory {
    /// Pages of its own: heap, stacks, copies.
    pub anonymous: u64,
    /// Pages of files that it has mapped, which it shares with the system's page cache.
    pub file: u64,
    /// Pages of memory files (tmpfs, memfd) and shared memory.
    pub shared: u64,
    /// The most that all three came to together so far.
    pub peak: u64,
}

impl ResidentMemory {
    /// Asks the system; nothing where it does not tell. A Linux with many cores counts in batches, so that a figure may be
    /// off by some MiB.
    pub fn now() -> Option<Self> {
        Self::from_status(&fs::read_to_string("/proc/self/status").ok()?)
    }

    /// All three together.
    pub fn total(self) -> u64 {
        self.anonymous + self.file + self.shared
    }

    /// Reads `/proc/PID/status`, see proc_pid_status(5).
    fn from_status(status: &str) -> Option<Self> {
        let bytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
            kib.checked_mul(1024)
        };
        Some(Self {
            anonymous: bytes("RssAnon")?,
            file: bytes("RssFile")?,
            shared: bytes("RssShmem")?,
            peak: bytes("VmHWM")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_are_found_by_their_whole_name() {
        let status = "VmHWM:\t    2008 kB\nVmRSS:\t    2008 kB\nRssAnon:\t     144 kB\nRssFile:\t    1860 kB\nRssShmem:\t       4 kB\n";
        let found = ResidentMemory::from_status(status).unwrap();
        let kib = 1024;
        assert_eq!(found, ResidentMemory { anonymous: 144 * kib, file: 1860 * kib, shared: 4 * kib, peak: 2008 * kib });
        assert_eq!(found.total(), 2008 * kib);
        assert_eq!(ResidentMemory::from_status(&status.replace("RssFile", "RssNone")), None);
        assert_eq!(ResidentMemory::from_status(&status.replace("144 kB", "many")), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_touched_is_resident() {
        let before = ResidentMemory::now().unwrap();
        let touched = std::hint::black_box(vec![1u8; 32 << 20]);
        let now = ResidentMemory::now().unwrap();
        assert!(now.anonymous >= before.anonymous + (24 << 20), "{before:?} {now:?}");
        assert!(now.peak >= now.total().saturating_sub(8 << 20));
        drop(touched);
    }
}

//! What the fake pretends to be: a comma list in `FAKE_CUDA`, or given to `fake_cuda_configure`.
//!
//! | word | meaning | default |
//! |---|---|---|
//! | `devices=N` | devices; with 0, cuInit returns 100 | 1 |
//! | `driver=N` | what cuDriverGetVersion says | 13000 |
//! | `cc=X.Y` | compute capability | 9.0 |
//! | `memory=BYTES` | memory of each device | 1 GiB |
//! | `pinned=BYTES` | how much host memory can be page-locked | no limit |
//! | `max_ptx=X.Y` | the newest PTX version that modules may have | 9.0 |
//! | `no_map_host` | the device cannot map host memory | |
//! | `no_managed` | no device has managed memory | |
//! | `sequential_managed=N` | on device N the CPU may not touch managed memory while a kernel runs | |
//! | `oom_at=CALL:N` | the N-th call of the function returns 2, out of memory | |
//! | `fail=CALL:N:CODE` | the N-th call of the function returns CODE | |
//! | `launch_error=CODE` | the first launched kernel fails with CODE, seen at the next synchronize | |
//! | `wrong=N` | element N of each product comes out 1 too large, word N of each pattern with a bit flipped | |
//! | `unwritten=N` | element N of each product is not written | |

#[derive(Clone)]
pub struct Config {
    pub devices: i32,
    pub driver: i32,
    pub capability: (i32, i32),
    pub memory: usize,
    pub pinned: usize,
    pub max_ptx: (i32, i32),
    pub map_host: bool,
    pub managed: bool,
    /// The device without CONCURRENT_MANAGED_ACCESS.
    pub sequential_managed: Option<i32>,
    /// Function, which call of it, code.
    pub failures: Vec<(String, u64, i32)>,
    pub launch_error: i32,
    pub wrong: Option<usize>,
    pub unwritten: Option<usize>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            devices: 1,
            driver: 13000,
            capability: (9, 0),
            memory: 1 << 30,
            pinned: usize::MAX,
            max_ptx: (9, 0),
            map_host: true,
            managed: true,
            sequential_managed: None,
            failures: Vec::new(),
            launch_error: 0,
            wrong: None,
            unwritten: None,
        }
    }
}

impl Config {
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut config = Self::default();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            config
                .set(word)
                .ok_or_else(|| format!("FAKE_CUDA: `{word}` is not understood, see fake-cuda/config.rs"))?;
        }
        Ok(config)
    }

    fn set(&mut self, word: &str) -> Option<()> {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match key {
            "devices" => self.devices = value.parse().ok()?,
            "driver" => self.driver = value.parse().ok()?,
            "cc" => self.capability = version(value)?,
            "memory" => self.memory = value.parse().ok()?,
            "pinned" => self.pinned = value.parse().ok()?,
            "max_ptx" => self.max_ptx = version(value)?,
            "no_map_host" => self.map_host = false,
            "no_managed" => self.managed = false,
            "sequential_managed" => self.sequential_managed = Some(value.parse().ok()?),
            "launch_error" => self.launch_error = value.parse().ok()?,
            "wrong" => self.wrong = Some(value.parse().ok()?),
            "unwritten" => self.unwritten = Some(value.parse().ok()?),
            "oom_at" => {
                let (call, nth) = value.split_once(':')?;
                self.failures.push((call.to_owned(), nth.parse().ok()?, crate::error::OUT_OF_MEMORY));
            }
            "fail" => {
                let (call, rest) = value.split_once(':')?;
                let (nth, code) = rest.split_once(':')?;
                self.failures.push((call.to_owned(), nth.parse().ok()?, code.parse().ok()?));
            }
            _ => return None,
        }
        Some(())
    }
}

/// Reads `9.0`.
pub fn version(text: &str) -> Option<(i32, i32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

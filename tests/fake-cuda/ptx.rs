//! As much of PTX as a driver's first look takes in.

use crate::config::{Config, version};
use crate::error;

pub struct Ptx {
    pub version: (i32, i32),
    /// Names and sizes of parameters in bytes.
    pub entries: Vec<(String, Vec<usize>)>,
}

impl Ptx {
    /// Reads a module, and refuses what a driver with this configuration would refuse: the code, and its reason.
    /// The codes are those that a driver of CUDA 13.0 gave for such texts on a device of capability 9.0.
    pub fn load(text: &str, config: &Config) -> Result<Self, (i32, String)> {
        let invalid = |why: &str| (error::INVALID_PTX, why.to_owned());
        let code: String = text.lines().map(|line| line.split("//").next().unwrap_or("").to_owned() + "\n").collect();
        let directive = |name: &str| {
            let rest = &code[code.find(name)? + name.len()..];
            rest.lines().next().map(str::trim)
        };
        let ptx =
            directive(".version ").and_then(version).ok_or_else(|| (error::INVALID_IMAGE, "no .version".into()))?;
        let target = directive(".target ").ok_or_else(|| invalid("no .target"))?;
        if ptx > config.max_ptx {
            return Err((error::UNSUPPORTED_PTX_VERSION, format!("PTX {}.{} is too new", ptx.0, ptx.1)));
        }
        let sm = target.split(',').next().unwrap_or("").trim();
        let digits = sm.strip_prefix("sm_").ok_or_else(|| invalid("no sm_ in .target"))?;
        // sm_90a runs on 9.0 only, sm_100f on its family; sm_80 runs on everything newer.
        let exact = digits.ends_with('a');
        let number: i32 = digits.trim_end_matches(['a', 'f']).parse().map_err(|_| invalid("no number in .target"))?;
        let device = config.capability.0 * 10 + config.capability.1;
        if number > device || (exact && number != device) {
            // Not NO_BINARY_FOR_GPU, which is about cubins: to the PTX compiler a target is a part of the text.
            return Err(invalid(&format!("{sm} does not run on sm_{device}")));
        }
        let entries = code.split(".entry ").skip(1).map(entry).collect::<Option<_>>();
        Ok(Self { version: ptx, entries: entries.ok_or_else(|| invalid("a broken .entry"))? })
    }
}

/// Reads `name(.param .u64 a, .param .u32 b) …`.
fn entry(text: &str) -> Option<(String, Vec<usize>)> {
    let end = text.find(['(', '{', '\n', ' '])?;
    let name = text[..end].trim().to_owned();
    let rest = text[end..].trim_start();
    let parameters = match rest.strip_prefix('(') {
        Some(rest) => rest[..rest.find(')')?].split(".param").skip(1).map(parameter).collect::<Option<_>>()?,
        None => Vec::new(),
    };
    Some((name, parameters))
}

/// Reads ` .u64 .ptr .global .align 4 name,` or ` .align 8 .b8 name[24]`.
fn parameter(text: &str) -> Option<usize> {
    let bytes = text.split_whitespace().find_map(|word| {
        let bits: usize = word.strip_prefix(['.'])?.strip_prefix(['b', 'u', 's', 'f'])?.parse().ok()?;
        Some(bits / 8)
    })?;
    let count = match text.split_once('[') {
        Some((_, rest)) => rest.split(']').next()?.trim().parse().ok()?,
        None => 1,
    };
    Some(bytes * count)
}

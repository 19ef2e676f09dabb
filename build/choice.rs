//! Which compiler makes the kernels.

use std::fmt::Write;
use std::path::PathBuf;

use super::image::Image;
use super::rust_cuda::{self, Backend};
use super::sources::Sources;
use super::surroundings::Surroundings;
use super::{committed, rustc};

/// What `PAGELOCK_KERNELS` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// The first that is there and works.
    Auto,
    /// rust-cuda, or an error.
    RustCuda,
    /// rustc's `nvptx64` target, or an error.
    Rustc,
    /// The files in `gpu/ptx`, or an error.
    Committed,
}

impl Request {
    /// Reads the variable's value; unset and empty mean `auto`.
    pub fn parse(value: Option<&str>) -> Result<Self, String> {
        match value.unwrap_or_default() {
            "" | "auto" => Ok(Self::Auto),
            "rust-cuda" => Ok(Self::RustCuda),
            "rustc" => Ok(Self::Rustc),
            "committed" => Ok(Self::Committed),
            other => Err(format!("PAGELOCK_KERNELS={other}: known are auto, rust-cuda, rustc and committed")),
        }
    }
}

/// The folders a compiler works in.
pub struct Workspace {
    /// The repository.
    pub root: PathBuf,
    /// Where nested builds keep their artifacts.
    pub scratch: PathBuf,
    /// What rust-cuda is found in.
    pub surroundings: Surroundings,
}

/// What was compiled, and what to tell about it.
pub struct Compiled {
    pub images: Vec<Image>,
    pub warnings: Vec<String>,
}

/// Why a compiler made nothing.
pub enum Failure {
    /// It is not installed: under `auto`, nothing to talk about.
    Absent(String),
    /// It is there and did not succeed.
    Failed(String),
}

impl Failure {
    fn reason(&self) -> &str {
        match self {
            Self::Absent(reason) | Self::Failed(reason) => reason,
        }
    }
}

type Outcome = Result<Vec<Image>, Failure>;

/// Compiles the kernels as asked.
pub fn compile(request: Request, workspace: &Workspace, sources: &Sources) -> Result<Compiled, String> {
    let by_name = |outcome: Outcome| match outcome {
        Ok(images) => Ok(Compiled { images, warnings: Vec::new() }),
        Err(failure) => Err(failure.reason().to_owned()),
    };
    match request {
        Request::RustCuda => by_name(rust_cuda::compile(workspace, sources, Backend::FoundOrBuilt)),
        Request::Rustc => by_name(rustc::compile(workspace, sources)),
        Request::Committed => by_name(committed::read(workspace, sources)),
        Request::Auto => first_that_works([
            ("rust-cuda", &|| rust_cuda::compile(workspace, sources, Backend::Found)),
            ("rustc", &|| rustc::compile(workspace, sources)),
            ("the committed PTX", &|| committed::read(workspace, sources)),
        ]),
    }
}

fn first_that_works(compilers: [(&str, &dyn Fn() -> Outcome); 3]) -> Result<Compiled, String> {
    let mut warnings = Vec::new();
    let mut reasons = String::new();
    for (name, compiler) in compilers {
        match compiler() {
            Ok(images) => return Ok(Compiled { images, warnings }),
            Err(failure) => {
                let _ = writeln!(reasons, "{name}: {}\n", failure.reason());
                if let Failure::Failed(reason) = failure {
                    warnings.push(format!(
                        "{name} did not compile the kernels, taking the next compiler: {}",
                        first_lines(&reason)
                    ));
                }
            }
        }
    }
    Err(reasons)
}

/// A warning is one line: the first few lines of the reason, joined.
fn first_lines(reason: &str) -> String {
    reason.lines().map(str::trim).filter(|line| !line.is_empty()).take(4).collect::<Vec<_>>().join(" | ")
}

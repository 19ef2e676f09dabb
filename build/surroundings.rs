//! Where the parts of rust-cuda are: its codegen backend, a CUDA toolkit's libnvvm, LLVM 7 to build the backend with.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The variables that are looked at.
pub const VARIABLES: [&str; 7] = [
    "PAGELOCK_RUST_CUDA_BUILDER",
    "LD_LIBRARY_PATH",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_ROOT",
    "CUDA_TOOLKIT_ROOT_DIR",
    "LLVM_CONFIG",
];

/// The file name of rust-cuda's backend.
const BACKEND: &str = "librustc_codegen_nvvm.so";

/// The file name that the backend was linked against; toolkits of CUDA 11 to 13 have it.
const LIBNVVM: &str = "libnvvm.so.4";

/// Everything outside the repository that rust-cuda is made of.
#[derive(Default)]
pub struct Surroundings {
    /// A program to run instead of the one in `gpu/rust-cuda`: PAGELOCK_RUST_CUDA_BUILDER.
    pub builder: Option<PathBuf>,
    /// Where libraries are looked for: LD_LIBRARY_PATH.
    pub library_path: Vec<PathBuf>,
    /// Where CUDA toolkits may be: the variables that name one, then the usual folders.
    pub toolkits: Vec<PathBuf>,
    /// LLVM's llvm-config: LLVM_CONFIG, or the one in PATH.
    pub llvm_config: Option<PathBuf>,
}

/// Where libnvvm was found.
#[derive(Debug, PartialEq, Eq)]
pub struct Nvvm {
    /// The folder that holds the library.
    pub folder: PathBuf,
    /// The toolkit that it belongs to, where it was found through one.
    pub toolkit: Option<PathBuf>,
}

impl Surroundings {
    /// What this process's environment says.
    pub fn from_environment() -> Self {
        let path = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let toolkits = ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"].into_iter().filter_map(path);
        Self {
            builder: path("PAGELOCK_RUST_CUDA_BUILDER"),
            library_path: path("LD_LIBRARY_PATH").map_or_else(Vec::new, |paths| env::split_paths(&paths).collect()),
            toolkits: toolkits.chain(["/usr/local/cuda", "/usr/lib/cuda", "/opt/cuda"].map(PathBuf::from)).collect(),
            llvm_config: Some(path("LLVM_CONFIG").unwrap_or_else(|| "llvm-config".into())),
        }
    }

    /// The backend: where `cuda_builder` looks for it, which is first among the artifacts of its own target folder, where
    /// cargo may have put a hash into its name, then on the library path.
    pub fn backend(&self, target: &Path) -> Option<PathBuf> {
        let profiles = ["release", "debug"].map(|profile| target.join(profile));
        let artifacts = profiles.iter().flat_map(|profile| [profile.clone(), profile.join("deps")]);
        artifacts.filter_map(|folder| artifact(&folder)).next().or_else(|| {
            self.library_path.iter().map(|folder| folder.join(BACKEND)).find(|candidate| candidate.is_file())
        })
    }

    /// libnvvm: on the library path, or in a toolkit.
    pub fn nvvm(&self) -> Option<Nvvm> {
        let has_it = |folder: &Path| folder.join(LIBNVVM).is_file();
        if let Some(folder) = self.library_path.iter().find(|folder| has_it(folder)) {
            // <toolkit>/nvvm/lib64
            let toolkit = folder.ancestors().nth(2).filter(|root| root.join("include/cuda.h").is_file());
            return Some(Nvvm { folder: folder.clone(), toolkit: toolkit.map(Path::to_owned) });
        }
        self.toolkits.iter().find_map(|toolkit| {
            let folder = toolkit.join("nvvm/lib64");
            has_it(&folder).then(|| Nvvm { folder, toolkit: Some(toolkit.clone()) })
        })
    }

    /// Whether there is an LLVM 7, which the backend is built with.
    pub fn has_llvm_7(&self) -> bool {
        let version = |program: &PathBuf| Command::new(program).arg("--version").output().ok();
        let version = self.llvm_config.as_ref().and_then(version);
        version.is_some_and(|output| output.status.success() && output.stdout.starts_with(b"7."))
    }
}

/// The backend in a folder of cargo's, as `librustc_codegen_nvvm.so` or `librustc_codegen_nvvm-<hash>.so`.
fn artifact(folder: &Path) -> Option<PathBuf> {
    let (stem, extension) = BACKEND.split_once('.')?;
    let is_it = |name: &str| {
        let hash = name.strip_prefix(stem).and_then(|rest| rest.strip_suffix(extension)?.strip_suffix('.'));
        hash.is_some_and(|hash| hash.is_empty() || hash.starts_with('-'))
    };
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    entries.filter(|path| path.file_name().is_some_and(|name| is_it(&name.to_string_lossy()))).min()
}

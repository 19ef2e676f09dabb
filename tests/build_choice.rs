//! Which compiler build.rs takes, and what it makes of one that misbehaves: the modules of `build/` themselves, in a
//! repository of three small files, with stand-ins for rust-cuda's builder (`tests/support/rust-cuda-builder.sh`).

#[path = "../build"]
#[allow(dead_code)] // build.rs uses the rest
mod build {
    pub mod choice;
    pub mod committed;
    pub mod image;
    pub mod nested;
    pub mod rust_cuda;
    pub mod rustc;
    pub mod sources;
    pub mod surroundings;
}

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use build::choice::{self, Request, Workspace};
use build::image::{ARCHITECTURES, Image};
use build::sources::Sources;
use build::surroundings::Surroundings;
use tempfile::TempDir;

const KERNELS: &str = "#[kernel(block = (32, 8))]\npub unsafe fn scale(gpu: impl Gpu) {}\n\n\
                       #[kernel(block = (1))]\n/// Adds.\npub unsafe fn add_up(gpu: impl Gpu) {}\n";
const PTX: &str = ".version 7.0\n.target ARCH\n.visible .entry scale(\n)\n{\n}\n.visible .entry add_up()\n{\n}\n";

/// A repository with two kernels, committed PTX for them, and a place for stand-ins.
struct Repository {
    folder: TempDir,
    sources: Sources,
}

impl Repository {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("gpu/src/lib.rs", KERNELS);
        write("gpu/Cargo.toml", "[package]\nname = \"gpu\"\n");
        write("gpu/macros/src/lib.rs", "//! `#[kernel(block = (1))] unsafe fn documented()`\n");
        write("gpu/macros/Cargo.toml", "");
        let sources = Sources::read(&folder.path().join("gpu")).unwrap();
        let repository = Self { folder, sources };
        repository.put_images("gpu/ptx", &repository.images("rustc 1.0.0"));
        repository
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What a builder that does everything right writes.
    fn images(&self, compiler: &str) -> Vec<(String, String)> {
        let image = |architecture: &str| {
            let image = Image::new(architecture, compiler, &self.sources, &PTX.replace("ARCH", architecture)).unwrap();
            (image.file_name(), image.text)
        };
        ARCHITECTURES.iter().map(|architecture| image(architecture.name)).collect()
    }

    fn put_images(&self, folder: &str, images: &[(String, String)]) {
        fs::create_dir_all(self.path(folder)).unwrap();
        for (name, text) in images {
            fs::write(self.path(folder).join(name), text).unwrap();
        }
    }

    /// A stand-in that behaves as its name says, and writes these files if it is `writes`.
    fn builder(&self, behaviour: &str, images: &[(String, String)]) -> Surroundings {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/rust-cuda-builder.sh");
        let builder = self.path(behaviour);
        symlink(script, &builder).unwrap();
        self.put_images("made", images);
        Surroundings { builder: Some(builder), ..Surroundings::default() }
    }

    fn compile(&self, request: Request, surroundings: Surroundings) -> Result<choice::Compiled, String> {
        let workspace =
            Workspace { root: self.folder.path().to_owned(), scratch: self.path("target/kernels-ptx"), surroundings };
        choice::compile(request, &workspace, &self.sources)
    }

    /// Fails with rust-cuda asked for by name, and passes on to the committed PTX under `auto`. Returns the reason.
    fn refused(&self, surroundings: impl Fn() -> Surroundings) -> String {
        let reason = self.compile(Request::RustCuda, surroundings()).err().expect("rust-cuda was asked for by name");
        let compiled = self.compile(Request::Auto, surroundings()).unwrap();
        assert!(compiled.images.iter().all(|image| image.compiler == "committed, made by rustc 1.0.0"));
        let warned = compiled.warnings.iter().filter(|warning| warning.starts_with("rust-cuda did not compile"));
        let first_line = reason.lines().next().unwrap();
        assert_eq!(warned.filter(|warning| warning.contains(first_line)).count(), 1, "{:?}", compiled.warnings);
        reason
    }
}

fn with_builder(surroundings: &Surroundings) -> Surroundings {
    Surroundings { builder: surroundings.builder.clone(), ..Surroundings::default() }
}

#[test]
fn what_the_builder_writes_is_taken() {
    let repository = Repository::new();
    let builder = repository.builder("writes", &repository.images("rust-cuda 946c91f"));
    for request in [Request::RustCuda, Request::Auto] {
        let compiled = repository.compile(request, with_builder(&builder)).unwrap();
        assert_eq!(compiled.warnings, [""; 0]);
        let names: Vec<_> = compiled.images.iter().map(|image| image.architecture.as_str()).collect();
        assert_eq!(names, ["sm_75", "sm_80", "sm_90a"]);
        assert!(compiled.images.iter().all(|image| image.compiler == "rust-cuda 946c91f"));
    }
    let arguments = fs::read_to_string(repository.path("made/arguments")).unwrap();
    assert_eq!(arguments.trim(), "sm_75 sm_80 sm_90a");
}

#[test]
fn the_builder_does_not_see_the_outer_cargo() {
    let repository = Repository::new();
    let builder = repository.builder("writes", &repository.images("rust-cuda 946c91f"));
    repository.compile(Request::RustCuda, builder).unwrap();
    let environment = fs::read_to_string(repository.path("made/environment")).unwrap();
    assert!(environment.lines().any(|line| line.starts_with("PATH=")));
    assert!(std::env::var_os("CARGO_PKG_NAME").is_some(), "cargo test sets it");
    for outer in ["CARGO_PKG_NAME=", "CARGO_MANIFEST_DIR=", "RUSTUP_TOOLCHAIN=", "RUSTFLAGS="] {
        assert!(!environment.lines().any(|line| line.starts_with(outer)), "{outer} reached the builder");
    }
}

#[test]
fn a_builder_that_fails_is_named_with_its_reason() {
    let repository = Repository::new();
    let builder = repository.builder("fails", &repository.images("rust-cuda 946c91f"));
    let reason = repository.refused(|| with_builder(&builder));
    assert!(reason.contains("exit status: 3"), "{reason}");
    assert!(reason.contains("error: the backend is not there"), "{reason}");
    assert!(!reason.contains("Compiling"), "only the lines from the first error on: {reason}");
}

#[test]
fn a_builder_that_is_missing_is_named() {
    let repository = Repository::new();
    let builder = Some(repository.path("nowhere"));
    let reason = repository.refused(|| Surroundings { builder: builder.clone(), ..Surroundings::default() });
    assert!(reason.contains("cannot start") && reason.contains("nowhere"), "{reason}");
}

#[test]
fn a_builder_that_writes_nothing_is_not_believed() {
    let repository = Repository::new();
    // What an earlier run wrote does not count.
    let good = repository.builder("writes", &repository.images("rust-cuda 946c91f"));
    repository.compile(Request::RustCuda, good).unwrap();
    let builder = repository.builder("idles", &[]);
    let reason = repository.refused(|| with_builder(&builder));
    assert!(reason.contains("did not write kernels_sm_75.ptx"), "{reason}");
}

/// Changes one thing in the last file, and returns why it is refused.
fn refused_after(change: impl Fn(&Repository, &mut String)) -> String {
    let repository = Repository::new();
    let mut images = repository.images("rust-cuda 946c91f");
    change(&repository, &mut images.last_mut().unwrap().1);
    let builder = repository.builder("writes", &images);
    let reason = repository.refused(|| with_builder(&builder));
    assert!(reason.contains("kernels_sm_90a.ptx"), "{reason}");
    reason
}

#[test]
fn ptx_of_other_sources_is_refused() {
    let reason = refused_after(|repository, text| *text = text.replace(&repository.sources.digest, &"0".repeat(64)));
    assert!(reason.contains("does not belong to the kernel sources"), "{reason}");
}

#[test]
fn ptx_for_another_architecture_is_refused() {
    let reason = refused_after(|_, text| *text = text.replace("sm_90a", "sm_80"));
    assert!(reason.contains("it is for sm_80, not for sm_90a"), "{reason}");
    let reason = refused_after(|_, text| *text = text.replace(".target sm_90a", ".target sm_90"));
    assert!(reason.contains("does not say `.target sm_90a`"), "{reason}");
}

#[test]
fn ptx_without_a_kernel_is_refused() {
    let reason = refused_after(|_, text| *text = text.replace(".entry add_up", ".func add_up"));
    assert!(reason.contains("without the kernel add_up; is its module declared"), "{reason}");
    let reason = refused_after(|_, text| *text = text.replace(".entry", ".func"));
    assert!(reason.contains("without a kernel in it"), "{reason}");
    let reason = refused_after(|_, text| *text = text.lines().skip(2).collect::<Vec<_>>().join("\n"));
    assert!(reason.contains("the header has no line"), "{reason}");
}

#[test]
fn rust_cuda_that_is_not_installed_is_nothing_to_talk_about() {
    let repository = Repository::new();
    let compiled = repository.compile(Request::Auto, Surroundings::default()).unwrap();
    assert!(!compiled.warnings.iter().any(|warning| warning.contains("rust-cuda")), "{:?}", compiled.warnings);
    let reason = repository.compile(Request::RustCuda, Surroundings::default()).err().unwrap();
    for part in ["librustc_codegen_nvvm.so", "LLVM 7", "libnvvm.so.4", "nightly-2026-04-02", "guide/src/toolchains.md"]
    {
        assert!(reason.contains(part), "all that is missing, at once: {reason}");
    }
}

#[test]
fn only_when_asked_by_name_is_a_backend_built() {
    let repository = Repository::new();
    let toolkit = repository.path("toolkit");
    fs::create_dir_all(toolkit.join("nvvm/lib64")).unwrap();
    fs::write(toolkit.join("nvvm/lib64/libnvvm.so.4"), "").unwrap();
    let with_nvvm = || Surroundings { toolkits: vec![toolkit.clone()], ..Surroundings::default() };
    let reason = repository.compile(Request::RustCuda, with_nvvm()).err().unwrap();
    assert!(reason.contains("LLVM 7") && !reason.contains("libnvvm"), "{reason}");
    let compiled = repository.compile(Request::Auto, with_nvvm()).unwrap();
    assert!(!compiled.warnings.iter().any(|warning| warning.contains("rust-cuda")), "{:?}", compiled.warnings);
}

#[test]
fn the_libraries_are_found_where_cuda_builder_finds_them() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let put = |name: &str| {
        fs::create_dir_all(at(name).parent().unwrap()).unwrap();
        fs::write(at(name), "").unwrap();
    };
    let surroundings = Surroundings {
        library_path: vec![at("nowhere"), at("lib")],
        toolkits: vec![at("cuda-without"), at("cuda")],
        ..Surroundings::default()
    };
    assert_eq!(surroundings.backend(&at("target")), None);
    assert_eq!(surroundings.nvvm(), None);

    put("lib/librustc_codegen_nvvm-0123.so"); // on the library path the name has no hash
    put("target/release/deps/librustc_codegen_nvvm.d");
    assert_eq!(surroundings.backend(&at("target")), None);
    put("lib/librustc_codegen_nvvm.so");
    assert_eq!(surroundings.backend(&at("target")), Some(at("lib/librustc_codegen_nvvm.so")));
    put("target/release/deps/librustc_codegen_nvvm-0123.so");
    let built = at("target/release/deps/librustc_codegen_nvvm-0123.so");
    assert_eq!(surroundings.backend(&at("target")), Some(built));

    put("cuda/nvvm/lib64/libnvvm.so.4");
    let nvvm = surroundings.nvvm().unwrap();
    assert_eq!((nvvm.folder, nvvm.toolkit), (at("cuda/nvvm/lib64"), Some(at("cuda"))));
    put("lib/libnvvm.so.4");
    let nvvm = surroundings.nvvm().unwrap();
    assert_eq!((nvvm.folder, nvvm.toolkit), (at("lib"), None), "the library path comes first");
}

#[test]
fn requests_are_read_as_the_documentation_says() {
    for (text, request) in [
        (None, Request::Auto),
        (Some(""), Request::Auto),
        (Some("auto"), Request::Auto),
        (Some("rust-cuda"), Request::RustCuda),
        (Some("rustc"), Request::Rustc),
        (Some("committed"), Request::Committed),
    ] {
        assert_eq!(Request::parse(text), Ok(request));
    }
    assert!(Request::parse(Some("nvcc")).unwrap_err().contains("rust-cuda"));
}

#[test]
fn kernels_are_known_by_their_declarations() {
    assert_eq!(Repository::new().sources.kernels, ["scale", "add_up"]);
}

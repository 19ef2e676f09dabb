//! Every PTX image through ptxas, for every architecture that it can serve: it assembles, nothing spills, and shared
//! memory is reached as shared memory.
//!
//! ptxas and nvdisasm are found by `PTXAS` and `NVDISASM`, or in PATH; `pip install nvidia-cuda-nvcc nvidia-cuda-nvdisasm`
//! brings them. Without them the tests are skipped, and counted as such.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpu::matmul::MatmulKernel;
use libtest_mimic::{Arguments, Failed, Trial};
use ptx::{IMAGES, Image};

/// What ptxas of CUDA 13 assembles for, by compute capability.
const ARCHITECTURES: [(&str, (u32, u32)); 12] = [
    ("sm_75", (7, 5)),
    ("sm_80", (8, 0)),
    ("sm_86", (8, 6)),
    ("sm_87", (8, 7)),
    ("sm_89", (8, 9)),
    ("sm_90", (9, 0)),
    ("sm_90a", (9, 0)),
    ("sm_100", (10, 0)),
    ("sm_103", (10, 3)),
    ("sm_110", (11, 0)),
    ("sm_120", (12, 0)),
    ("sm_121", (12, 1)),
];

fn main() {
    let arguments = Arguments::from_args();
    let (ptxas, nvdisasm) = (tool("PTXAS", "ptxas"), tool("NVDISASM", "nvdisasm"));
    let mut trials = Vec::new();
    for image in IMAGES {
        for (architecture, _) in ARCHITECTURES.into_iter().filter(|&(name, capability)| serves(image, name, capability))
        {
            let name = format!("{}::assembles_for_{architecture}", image.architecture);
            let ptxas = ptxas.clone();
            let skip = ptxas.is_none();
            let test = move || assembles_without_spills(image, architecture, ptxas.as_deref());
            trials.push(Trial::test(name, test).with_ignored_flag(skip));
        }
        let tools = ptxas.clone().zip(nvdisasm.clone());
        let skip = tools.is_none();
        let test = move || uses_shared_memory(image, tools.as_ref());
        trials
            .push(Trial::test(format!("{}::tiled_has_lds_and_sts", image.architecture), test).with_ignored_flag(skip));
    }
    let skipped = trials.iter().filter(|trial| trial.has_ignored_flag()).count();
    if skipped > 0 {
        let missing = if ptxas.is_none() { "ptxas" } else { "nvdisasm" };
        println!("{skipped} tests are skipped for want of {missing} (PTXAS, NVDISASM or PATH name it)");
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// An image with an `a` is for its own architecture alone, and only its own is for it.
fn serves(image: &Image, name: &str, (major, minor): (u32, u32)) -> bool {
    if image.exact { image.architecture == name } else { !name.ends_with('a') && image.serves(major, minor) }
}

fn assembles_without_spills(image: &Image, architecture: &str, ptxas: Option<&Path>) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let report = assemble(image, architecture, ptxas.ok_or("no ptxas")?, &folder.path().join("kernels.cubin"))?;
    let entries: Vec<&str> =
        image.ptx.lines().filter_map(|line| line.split(".entry ").nth(1)?.split('(').next()).collect();
    if entries.len() < MatmulKernel::ALL.len() {
        return Err(format!("only {} kernels were found: {entries:?}", entries.len()).into());
    }
    for kernel in entries {
        let heading = format!("Function properties for {kernel}");
        let properties = report.lines().skip_while(|line| !line.ends_with(&heading)).nth(1);
        let properties = properties.ok_or_else(|| format!("ptxas says nothing of {kernel}:\n{report}"))?;
        if properties.trim() != "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" {
            return Err(format!("{kernel} for {architecture}: {properties}").into());
        }
    }
    Ok(())
}

fn uses_shared_memory(image: &Image, tools: Option<&(PathBuf, PathBuf)>) -> Result<(), Failed> {
    let (ptxas, nvdisasm) = tools.ok_or("no ptxas or no nvdisasm")?;
    let folder = tempfile::tempdir()?;
    let cubin = folder.path().join("kernels.cubin");
    assemble(image, image.architecture, ptxas, &cubin)?;
    let sass = run(Command::new(nvdisasm).arg("-c").arg(&cubin))?.0;
    let body = sass.split(".text.matmul_tiled:").nth(1).ok_or("no code for matmul_tiled")?;
    let body = body.split(".section").next().unwrap_or(body);
    let has =
        |instruction: &str| body.lines().any(|line| line.split_whitespace().any(|word| word.starts_with(instruction)));
    if !has("LDS") || !has("STS") {
        return Err("matmul_tiled has no LDS or no STS".into());
    }
    // Generic accesses, which would mean that the address space was lost.
    let generic = body.lines().find(|line| line.split_whitespace().any(|word| word == "LD.E" || word == "ST.E"));
    generic.map_or(Ok(()), |line| Err(format!("a generic access: {line}").into()))
}

fn assemble(image: &Image, architecture: &str, ptxas: &Path, cubin: &Path) -> Result<String, Failed> {
    let source = cubin.with_extension("ptx");
    std::fs::write(&source, image.ptx)?;
    let (_, report) = run(Command::new(ptxas).args(["-v", "-arch", architecture, "-o"]).arg(cubin).arg(&source))?;
    Ok(report)
}

fn run(command: &mut Command) -> Result<(String, String), Failed> {
    let output = command.output().map_err(|why| format!("{command:?}: {why}"))?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok((out.into(), err.into())) } else { Err(format!("{command:?}\n{out}{err}").into()) }
}

/// The program named by the variable, or found in PATH.
fn tool(variable: &str, name: &str) -> Option<PathBuf> {
    if let Some(path) = env::var_os(variable) {
        return Some(path.into());
    }
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|path| path.is_file())
}

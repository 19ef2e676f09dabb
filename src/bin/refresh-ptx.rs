//! `cargo refresh-ptx` rewrites `gpu/ptx` with the kernels that this build compiled; `cargo refresh-ptx --check` only
//! says whether that would change anything, and exits with 1 if so.
//!
//! Only the compiler named in a committed file can be expected to make the same bytes, so `--check` with another one
//! says so and compares nothing.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use ptx::{IMAGES, Image};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => IMAGES.iter().try_for_each(refresh).map(|()| true),
        ["--check"] => IMAGES.iter().map(check).try_fold(true, |all, one| Ok(all & one?)),
        _ => {
            eprintln!("usage: cargo refresh-ptx [--check]");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("refresh-ptx: {error}");
            ExitCode::FAILURE
        }
    }
}

fn committed(image: &Image) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("gpu/ptx/kernels_{}.ptx", image.architecture))
}

fn refresh(image: &Image) -> io::Result<()> {
    let path = committed(image);
    if fs::read_to_string(&path).is_ok_and(|old| old == image.ptx) {
        println!("{}: unchanged", image.architecture);
        return Ok(());
    }
    let temporary = path.with_extension("ptx.new");
    fs::write(&temporary, image.ptx)?;
    fs::rename(&temporary, &path)?;
    println!("{}: written, by {}", image.architecture, image.compiler);
    Ok(())
}

fn check(image: &Image) -> io::Result<bool> {
    let old = fs::read_to_string(committed(image))?;
    let same_compiler = old.lines().any(|line| line == format!("// compiler: {}", image.compiler));
    let name = image.architecture;
    // Under PAGELOCK_KERNELS=committed, or without a compiler, this build took the files themselves.
    if image.compiler.starts_with("committed, ") {
        println!("{name}: not compared, this build compiled nothing: {}", image.compiler);
        return Ok(true);
    }
    if old == image.ptx {
        println!("{name}: the committed PTX is what {} makes", image.compiler);
    } else if same_compiler {
        println!("{name}: {} makes other PTX than is committed; run `cargo refresh-ptx`", image.compiler);
    } else {
        println!("{name}: not compared, the committed PTX was not made by {}", image.compiler);
    }
    Ok(old == image.ptx || !same_compiler)
}

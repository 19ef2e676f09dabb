//! Outputs that cannot be written: found out before anything is computed, and nothing is left. The tests may run as root,
//! to whom no permission is denied, so the obstacles are others.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{Untouched, binary, names, simt};

#[track_caller]
fn refused(option: &str, path: &Path, parts: &[&str]) {
    let run = simt(["--size", "16", option, path.to_str().unwrap()]).failed(1, parts);
    assert_eq!(run.stdout, "", "nothing was computed");
    assert!(run.stderr.contains(path.to_str().unwrap()), "{}", run.stderr);
}

#[test]
fn there_is_no_place_for_the_output() {
    for option in ["--json", "--csv", "--out"] {
        let folder = Untouched::new();
        refused(option, &folder.path("no/such/folder/file"), &["there is no directory", "create it first"]);
        refused(option, &folder.path("old/file"), &["there is no directory", "old"]);
        refused(option, folder.path("old").parent().unwrap(), &["it is a directory", "name a file in it"]);
        folder.assert();
    }
}

#[test]
fn a_read_only_file_is_not_replaced() {
    let folder = Untouched::new();
    let old = folder.path("old");
    let mut permissions = fs::metadata(&old).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&old, permissions).unwrap();
    for option in ["--json", "--csv", "--out"] {
        refused(option, &old, &["read-only", "name another file"]);
    }
    folder.assert();
}

#[test]
fn a_full_disk_is_said_and_survived() {
    for option in ["--json", "--csv", "--out"] {
        let run = simt(["--size", "16", option, "/dev/full"]);
        run.failed(1, &["/dev/full", "no space is left", "another disk"]);
    }
}

#[test]
fn two_outputs_do_not_share_a_file() {
    let folder = Untouched::new();
    let (file, same) = (folder.path("both"), folder.path("./both"));
    let (file, same) = (file.to_str().unwrap(), format!("{}/./both", same.parent().unwrap().display()));
    for second in [file, &same] {
        let run = simt(["--size", "8", "--json", file, "--csv", second]);
        run.failed(2, &["--json and --csv both go to", "both", "a file of its own"]);
        let run = simt(["--size", "8", "--json", file, "--out", second]);
        run.failed(2, &["--out and --json both go to"]);
    }
    let link = folder.path("link");
    std::os::unix::fs::symlink(folder.path("old"), &link).unwrap();
    let run = simt(["--size", "8", "--json", folder.path("old").to_str().unwrap(), "--csv", link.to_str().unwrap()]);
    run.failed(2, &["both go to"]);
    fs::remove_file(link).unwrap();
    let run = simt(["--size", "8", "--json", "-", "--csv", "-"]);
    let run = run.failed(2, &["--json - and --csv -", "give one of them a file"]);
    assert_eq!(run.stdout, "");
    folder.assert();
    // /dev/null takes everything.
    simt(["--size", "8", "--iters", "1", "--json", "/dev/null", "--csv", "/dev/null"]).succeeded();
}

#[test]
fn names_need_not_be_utf_8() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    for option in ["--json", "--csv", "--out"] {
        let path = folder.path().join(OsStr::from_bytes(format!("\u{fc}{option}").as_bytes().split_at(1).1));
        assert!(path.to_str().is_none());
        simt([OsStr::new("--size"), OsStr::new("4"), OsStr::new(option), path.as_os_str()]).succeeded();
        assert!(fs::metadata(path).unwrap().len() > 0);
    }
}

#[test]
fn a_link_to_nothing_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let (link, file) = (folder.path().join("link"), folder.path().join("file"));
    std::os::unix::fs::symlink("file", &link).unwrap();
    simt(["--size", "4", "--csv", link.to_str().unwrap()]).succeeded();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(file).unwrap().starts_with("device,"));
}

/// A shell's `> file` stays that file, and what was written before stays in it.
#[test]
fn an_open_file_is_written_to_and_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let run = |script: &str| {
        let script = format!("cd '{}'; {script}", folder.path().display());
        assert!(Command::new("sh").args(["-c", &script, binary()]).status().unwrap().success(), "{script}");
        fs::read_to_string(folder.path().join("all")).unwrap()
    };
    const SMALL: &str = "\"$0\" matmul --device simt --size 4 --iters 1";
    let text = run(&format!("(echo before; {SMALL} --csv /dev/stdout; echo after) > all"));
    assert!(text.starts_with("before\ndevice,kernel,") && text.ends_with("\nafter\n"), "{text}");
    let text = run(&format!("(echo before; {SMALL} --quiet --csv /dev/stderr; echo after) > all 2>&1"));
    assert!(text.starts_with("before\ndevice,kernel,") && text.ends_with("\nafter\n"), "{text}");
    let text = run(&format!("{SMALL} --quiet --csv /proc/self/fd/7 7> all"));
    assert!(text.starts_with("device,kernel,"), "{text}");
    assert_eq!(names(folder.path()), ["all"]);
}

#[test]
fn an_interrupt_leaves_nothing() {
    let folder = Untouched::new();
    let c = folder.path("c.npy");
    let mut child = Command::new(binary())
        .args(["matmul", "--device", "simt", "--size", "64", "--iters", "1000000", "--out", c.to_str().unwrap()])
        .args(folder.outputs())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The heading is there, so the outputs were checked and the work goes on.
    let mut heading = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut heading).unwrap();
    assert_eq!(&heading, b"device");
    std::thread::sleep(Duration::from_millis(50));
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success());
    // Nothing but the announcement of so many runs.
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.lines().all(|line| line.starts_with("note: 3000003 runs")), "{said}");
    folder.assert();
    assert_eq!(names(c.parent().unwrap()), ["old"]);
}

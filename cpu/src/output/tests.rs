use super::*;

fn names(directory: &Path) -> Vec<String> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn failure_leaves_nothing_and_the_old_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.csv");
    let fail = |file: &mut BufWriter<&File>| {
        file.write_all(b"half")?;
        Err(io::Error::from(ErrorKind::StorageFull))
    };
    assert!(matches!(write(&path, fail), Err(WriteError::Full { .. })));
    assert!(names(directory.path()).is_empty());

    write(&path, |file| file.write_all(b"old")).unwrap();
    assert!(write(&path, fail).is_err());
    assert_eq!(names(directory.path()), ["a.csv"]);
    assert_eq!(fs::read(&path).unwrap(), b"old");
    write(&path, |file| file.write_all(b"new")).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[test]
fn a_panic_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.csv");
    let result = std::panic::catch_unwind(|| write(&path, |_| panic!("on purpose")));
    assert!(result.is_err());
    assert!(names(directory.path()).is_empty());
}

#[test]
fn wrong_targets_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let nothing = |_: &mut BufWriter<&File>| Ok(());
    assert!(matches!(write(directory.path(), nothing), Err(WriteError::IsDirectory { .. })));
    let error = write(directory.path().join("no/a.csv"), nothing).unwrap_err();
    assert!(matches!(error, WriteError::MissingDirectory { .. }), "{error}");
    assert!(error.to_string().contains("create it first"), "{error}");
    let file = directory.path().join("file");
    write(&file, nothing).unwrap();
    assert!(matches!(write(file.join("a.csv"), nothing), Err(WriteError::MissingDirectory { .. })));
    assert!(matches!(write("", nothing), Err(WriteError::Io { .. } | WriteError::MissingDirectory { .. })));
}

#[cfg(unix)]
#[test]
fn permissions_are_those_of_an_ordinary_file() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let directory = tempfile::tempdir().unwrap();
    let (ordinary, ours) = (directory.path().join("ordinary"), directory.path().join("ours"));
    File::create(&ordinary).unwrap();
    write(&ours, |_| Ok(())).unwrap();
    assert_eq!(mode(&ours), mode(&ordinary));

    fs::set_permissions(&ours, fs::Permissions::from_mode(0o640)).unwrap();
    write(&ours, |_| Ok(())).unwrap();
    assert_eq!(mode(&ours), 0o640);

    fs::set_permissions(&ours, fs::Permissions::from_mode(0o440)).unwrap();
    assert!(matches!(write(&ours, |_| Ok(())), Err(WriteError::ReadOnly { .. })));
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_devices_survive() {
    let directory = tempfile::tempdir().unwrap();
    let (file, link) = (directory.path().join("file"), directory.path().join("link"));
    fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    write(&link, |file| file.write_all(b"new")).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&file).unwrap(), b"new");

    write("/dev/null", |file| file.write_all(b"gone")).unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_makes_what_it_points_to() {
    use std::os::unix::fs::symlink;
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("folder")).unwrap();
    // Relative to the folder of the link, over two links.
    symlink("folder/second", at("first")).unwrap();
    symlink("../file", at("folder/second")).unwrap();
    check(at("first")).unwrap();
    write(at("first"), |file| file.write_all(b"new")).unwrap();
    assert_eq!(fs::read(at("file")).unwrap(), b"new");
    assert!(fs::symlink_metadata(at("first")).unwrap().is_symlink());

    symlink("no/file", at("nowhere")).unwrap();
    assert!(matches!(check(at("nowhere")), Err(WriteError::MissingDirectory { .. })));
}

#[cfg(unix)]
#[test]
fn a_loop_of_links_is_an_error_that_leaves_them() {
    let directory = tempfile::tempdir().unwrap();
    let (one, other) = (directory.path().join("one"), directory.path().join("other"));
    std::os::unix::fs::symlink("other", &one).unwrap();
    std::os::unix::fs::symlink("one", &other).unwrap();
    for error in [check(&one).unwrap_err(), write(&one, |_| Ok(())).unwrap_err()] {
        assert!(error.to_string().contains("links"), "{error}");
    }
    assert!(fs::symlink_metadata(&one).unwrap().is_symlink() && fs::symlink_metadata(&other).unwrap().is_symlink());
}

#[cfg(target_os = "linux")]
#[test]
fn open_files_are_known_under_all_their_names() {
    for (path, number) in [("/dev/stdout", 1), ("/dev/stderr", 2), ("/dev/fd/1", 1), ("/proc/self/fd/7", 7)] {
        assert_eq!(descriptor(Path::new(path)), Some(number), "{path}");
    }
    for path in ["/dev/null", "/proc/self/fd/x", "1", "/tmp/1", ""] {
        assert_eq!(descriptor(Path::new(path)), None, "{path}");
    }
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink("/dev/stderr", &link).unwrap();
    assert_eq!(descriptor(&link), Some(2));
}

#[test]
fn a_temporary_name_is_nobodys_business() {
    let missing = tempfile::NamedTempFile::new_in("/nonexistent").unwrap_err();
    assert!(missing.to_string().contains("/nonexistent"), "tempfile names the file");
    let said = as_the_system_said(missing);
    assert_eq!(said.kind(), ErrorKind::NotFound);
    assert!(!said.to_string().contains("/nonexistent"), "{said}");
    assert_eq!(as_the_system_said(io::Error::from_raw_os_error(13)).raw_os_error(), Some(13));
}

//! Programs that are files of Python.

use crate::building::folder;
use crate::foreign::installed;
use crate::harness::{Run, Started, finish, rmarun};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A file with that mode.
fn write(folder: &Path, name: &str, text: &str, mode: u32) {
    fs::write(folder.join(name), text).unwrap();
    fs::set_permissions(folder.join(name), Permissions::from_mode(mode)).unwrap();
}

/// Runs it in a folder, whose `bin` is in front of PATH.
fn run_in(folder: &Path, mut command: Command, arguments: &[&str]) -> Run {
    let paths = format!("{}:/usr/bin:/bin", folder.join("bin").display());
    command.args(arguments).current_dir(folder).env("PATH", paths).stdin(Stdio::null());
    finish(Started::new(command))
}

/// A folder with an interpreter that prints its arguments.
fn prepared(name: &str) -> PathBuf {
    let folder = folder(name);
    fs::create_dir(folder.join("bin")).unwrap();
    write(&folder, "bin/python3", "#!/bin/sh\necho python3 \"$@\"\n", 0o755);
    write(&folder, "other", "#!/bin/sh\necho other \"$@\"\n", 0o755);
    write(&folder, "app.py", "print('never run by a shell')\n", 0o644);
    folder
}

#[test]
fn a_file_of_python_is_run_by_python3() {
    let folder = prepared("python");
    write(&folder, "executable.py", "#!/bin/sh\necho itself \"$@\"\n", 0o755);
    let run = |arguments: &[&str]| run_in(&folder, rmarun(&["-q"]), arguments);
    for (arguments, printed) in [
        (&["-n", "1", "app.py", "a", "-b"][..], "python3 app.py a -b\n"),
        (&["-n", "1", "./app.py"], "python3 ./app.py\n"),
        (&["-n", "1", "--", "app.py"], "python3 app.py\n"),
        (&["-n", "1", "--wdir", "bin", "../app.py"], "python3 ../app.py\n"),
        (&["-n", "1", "./executable.py", "a"], "itself a\n"),
        // Without a path, the system looks in PATH alone.
        (&["-n", "1", "executable.py"], "python3 executable.py\n"),
        (&["-n", "1", "-x", "ONESIDED_PYTHON=./other", "app.py"], "other app.py\n"),
    ] {
        assert_eq!(run(arguments).expect(0).stdout, printed, "{arguments:?}");
    }
    let two = run(&["-n", "1", "app.py", "first", ":", "-n", "1", "app.py", "second"]).expect(0);
    let mut lines: Vec<&str> = two.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["python3 app.py first", "python3 app.py second"]);
    run(&["-n", "1", "missing.py"]).expect(127).reports(&["cannot start 'missing.py'"]);
    fs::remove_file(folder.join("bin/python3")).unwrap();
    fs::create_dir(folder.join("empty")).unwrap();
    let mut command = rmarun(&["-q", "-n", "1", "app.py"]);
    command.current_dir(&folder).env("PATH", folder.join("empty")).stdin(Stdio::null());
    finish(Started::new(command)).expect(127).reports(&["cannot start 'python3'"]);
}

#[test]
fn without_an_installation_a_note_names_the_installer() {
    let folder = prepared("python-note");
    let run = run_in(&folder, rmarun(&["-n", "1", "app.py"]), &[]).expect(0);
    let note = run.launcher_lines()[0];
    for words in ["note: 'app.py'", "libmpi.so.12", "-p onesided-capi"] {
        assert!(note.contains(words), "{note}");
    }
    let quiet: [&[&str]; 3] = [
        &["-q", "-n", "1", "app.py"],
        &["--mpi-library", "keep", "-n", "1", "app.py"],
        &["-n", "1", "./other"],
    ];
    for arguments in quiet {
        let run = run_in(&folder, rmarun(arguments), &[]).expect(0);
        assert!(!run.stderr.contains("mpi4py"), "{run:?}");
    }
    let Some(rmarun) = installed(&folder, &["libmpi.so.12"]) else { return };
    let run = run_in(&folder, Command::new(rmarun), &["-n", "1", "app.py"]).expect(0);
    assert_eq!(run.stdout, "python3 app.py\n");
    assert!(!run.stderr.contains("mpi4py"), "{run:?}");
}

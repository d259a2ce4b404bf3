//! `libonesided_node.so` in `LD_PRELOAD` of C programs under another MPI's `mpiexec`, where `ONESIDED_MPICH` names a prefix of
//! MPICH or of Intel MPI. (tests/programs.rs runs all its programs so, too.)

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{folder, good, has, installed, mpich, prefix, text};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c/ends/node.c");

const SOURCE_OF_FORTRAN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c/ends/node.f90");

/// Seconds after which a program counts as hanging.
const LIMIT: &str = "120";

const REPORT: &str = "onesided: ";

/// The same, unless it is Intel's, which has a segmentation fault in the program by itself.
fn ready_to_hand_on(name: &str) -> Option<(PathBuf, PathBuf)> {
    let ready = ready(name)?;
    if ready.0.join("bin/impi_info").exists() {
        println!("skipped: Intel MPI 2021.19 fails in lock_all behind post and start");
        return None;
    }
    Some(ready)
}

/// The other MPI and the program, if both are there.
fn ready(name: &str) -> Option<(PathBuf, PathBuf)> {
    let mpich = mpich()?;
    if !has("cc") || !has("timeout") {
        return None;
    }
    let program = folder(&format!("node-{name}")).join("node");
    let mut rmacc = installed("rmacc");
    good(&rmacc.args(["-O1", "-g", SOURCE, "-o"]).arg(&program).output().unwrap());
    Some((mpich, program))
}

fn library() -> String {
    let path = prefix().join("lib/onesided/libonesided_node.so");
    path.to_str().expect("UTF-8").to_owned()
}

/// A part of a job: ranks, and what their environment has.
type Some<'a> = (u32, &'a [(&'a str, &'a str)]);

/// Under the other MPI's launcher; `arguments` are those of the program.
fn started(mpich: &Path, parts: &[Some<'_>], program: &Path, arguments: &str) -> Output {
    let mut command = Command::new("timeout");
    command.arg(LIMIT).arg(mpich.join("bin/mpiexec"));
    for (k, (ranks, variables)) in parts.iter().enumerate() {
        command.args([":"].iter().filter(|_| k > 0)).args(["-n", &ranks.to_string()]);
        variables.iter().for_each(|(name, value)| _ = command.args(["-env", name, value]));
        command.arg(program).args(arguments.split(' '));
    }
    command.env("LD_LIBRARY_PATH", mpich.join("lib")).output().unwrap()
}

/// What the library reports.
#[track_caller]
fn passed(output: &Output) -> String {
    let printed = good(output);
    assert!(printed.contains(" checks passed"), "{printed}");
    let reports = text(&output.stderr);
    let lines = reports.lines().filter(|line| line.starts_with(REPORT));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Files of this library or its segment that have a name.
fn named() -> Vec<String> {
    let entries = fs::read_dir("/dev/shm").expect("shared memory");
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("onesided")).collect()
}

#[test]
fn windows_of_a_node_are_taken() {
    let Some((mpich, program)) = ready("taken") else { return };
    let before = named();
    for ranks in [1, 2, 3, 4] {
        let output = started(
            &mpich,
            &[(ranks, &[("LD_PRELOAD", &library())])],
            &program,
            &ranks.to_string(),
        );
        let reports = passed(&output);
        assert_eq!(reports, "");
    }
    assert_eq!(named(), before);
}

/// Without MPI_Init not all ranks of a node need come to a call.
#[test]
fn windows_of_sessions_are_taken_beside_mpi_init_alone() {
    let Some((mpich, program)) = ready_to_hand_on("sessions") else { return };
    let library = library();
    let preloaded = [("LD_PRELOAD", &*library)];
    assert_eq!(passed(&started(&mpich, &[(3, &preloaded)], &program, "3 sessions")), "");
}

#[test]
fn windows_of_several_nodes_are_handed_on() {
    let Some((mpich, program)) = ready_to_hand_on("nodes") else { return };
    let library = library();
    let two = [("LD_PRELOAD", &*library), ("MPIR_CVAR_NUM_CLIQUES", "2")];
    assert_eq!(passed(&started(&mpich, &[(4, &two)], &program, "2")), "");
}

#[test]
fn the_program_goes_on_without_it_where_it_is_not_wanted() {
    let Some((mpich, program)) = ready_to_hand_on("unwanted") else { return };
    let (library, none) = (library(), ("ONESIDED_NODE", "none"));
    let preload = ("LD_PRELOAD", &*library);
    for parts in [&[(3, &[preload, none][..])][..], &[(1, &[preload, none]), (2, &[preload])]] {
        let reports = passed(&started(&mpich, parts, &program, "0"));
        assert_eq!(reports, "");
    }
}

#[test]
fn a_rank_without_it_is_reported_and_awaited_for_some_seconds_only() {
    let Some((mpich, program)) = ready_to_hand_on("missing") else { return };
    let library = library();
    let output = started(&mpich, &[(2, &[("LD_PRELOAD", &library)]), (1, &[])], &program, "0");
    let reports = passed(&output);
    let sentence =
        "onesided: 2 of the 3 ranks of this node have loaded libonesided_node.so (ranks [0, 1])";
    assert_eq!(reports.matches(REPORT).count(), 1, "{reports}");
    assert!(reports.contains(sentence), "{reports}");
}

#[test]
fn what_keeps_it_from_working_is_reported() {
    let Some((mpich, program)) = ready_to_hand_on("reported") else { return };
    let (library, begin) = (library(), "onesided: libonesided_node.so does nothing: ");
    let preload = ("LD_PRELOAD", &*library);
    let wrong = [(2, &[preload, ("ONESIDED_NODE", "nine")][..])];
    let reports = passed(&started(&mpich, &wrong, &program, "0"));
    let sentence = "ONESIDED_NODE=nine is neither 'shared' nor 'none'";
    assert_eq!(reports.matches(begin).count(), 2, "{reports}");
    assert!(reports.contains(sentence), "{reports}");
    // No segment is that small.
    let small = [(2, &[preload, ("ONESIDED_SEGMENT_SIZE", "1")][..])];
    let reports = passed(&started(&mpich, &small, &program, "0"));
    assert!(reports.contains("cannot share memory with the other ranks of the node"), "{reports}");
}

/// A copy of the library, with another version.
fn another_version(folder: &Path) -> String {
    let (own, other) = (concat!(env!("CARGO_PKG_VERSION"), "\0\0\0"), "9.8.7\0\0\0");
    assert_eq!(own.len(), other.len());
    let mut bytes = fs::read(library()).unwrap();
    let is_own = |place: &usize| bytes[*place..].starts_with(own.as_bytes());
    let places: Vec<usize> = (0..bytes.len()).filter(is_own).collect();
    assert!(!places.is_empty(), "the version does not stand in the library");
    for place in places {
        bytes[place..place + other.len()].copy_from_slice(other.as_bytes());
    }
    let copy = folder.join("libonesided_node.so");
    fs::write(&copy, bytes).unwrap();
    copy.to_str().expect("UTF-8").to_owned()
}

#[test]
fn versions_that_differ_are_reported() {
    let Some((mpich, program)) = ready_to_hand_on("versions") else { return };
    let (one, other) = (library(), another_version(program.parent().expect("a folder")));
    let parts = [(2, &[("LD_PRELOAD", &*one)][..]), (1, &[("LD_PRELOAD", &*other)])];
    let reports = passed(&started(&mpich, &parts, &program, "0"));
    let own = env!("CARGO_PKG_VERSION");
    let sentence = format!(
        "rank 2 has version 9.8.7 of the library and rank 0 version {own}, and all need the same"
    );
    assert_eq!(reports.matches(&sentence).count(), 3, "{reports}");
    // Of one version, it works whatever that is.
    let same = [(3, &[("LD_PRELOAD", &*other)][..])];
    assert_eq!(passed(&started(&mpich, &same, &program, "3")), "");
}

#[test]
fn a_window_for_which_the_segment_is_too_small_is_handed_on() {
    let Some((mpich, program)) = ready_to_hand_on("large") else { return };
    let library = library();
    let variables = [("LD_PRELOAD", &*library), ("ONESIDED_SEGMENT_SIZE", "67108864")];
    let reports = passed(&started(&mpich, &[(2, &variables)], &program, "2 100"));
    assert_eq!(reports.lines().count(), 1, "{reports}");
    let sentence = "onesided: a window is left to the other MPI, which is slower: ";
    assert!(reports.contains(sentence) && reports.contains(" bytes are needed, "), "{reports}");
}

/// Of the two MPIs only Intel's comes with Fortran's functions by the standard ABI.
#[test]
fn windows_of_a_program_in_fortran_are_taken() {
    let Some(mpi) = mpich() else { return };
    let library = mpi.join("lib/libmpifort_abi.so.1");
    if !library.exists() {
        println!("skipped: there is no {}", library.display());
        return;
    }
    if !has("gfortran") || !has("timeout") {
        return;
    }
    let program = folder("node-fortran").join("node");
    let mut compiler = Command::new("gfortran");
    compiler.args(["-Wall", SOURCE_OF_FORTRAN, "-o"]).arg(&program).arg(&library);
    let libraries = format!("-Wl,-rpath-link,{}", mpi.join("lib").display());
    good(&compiler.arg(libraries).output().unwrap());
    let preloaded = self::library();
    for ranks in [1, 3] {
        let preloaded = [("LD_PRELOAD", &*preloaded)];
        assert_eq!(passed(&started(&mpi, &[(ranks, &preloaded)], &program, "taken")), "");
        passed(&started(&mpi, &[(ranks, &[])], &program, "other"));
    }
}

#[test]
fn under_rmarun_it_does_nothing() {
    if !has("cc") || !has("timeout") {
        return;
    }
    let program = folder("node-rmarun").join("node");
    good(&installed("rmacc").args([SOURCE, "-o"]).arg(&program).output().unwrap());
    let mut command = Command::new("timeout");
    command.arg(LIMIT).arg(installed("rmarun").get_program()).args(["-n", "3"]);
    // Each call is one of the library that rmarun gives the program.
    let output = command.arg(&program).arg("3").env("LD_PRELOAD", library()).output().unwrap();
    let reports = passed(&output);
    assert_eq!(reports, "");
}

/// A program by MPICH's own `mpicc` has handles of another form.
#[test]
fn a_program_of_another_abi_is_left_alone() {
    let Some((mpich, _)) = ready_to_hand_on("abi") else { return };
    let program = folder("node-other-abi").join("node");
    let mpicc = mpich.join("bin/mpicc");
    if !has(mpicc.to_str().expect("UTF-8")) {
        return;
    }
    good(&Command::new(mpicc).args([SOURCE, "-o"]).arg(&program).output().unwrap());
    let library = library();
    let reports = passed(&started(&mpich, &[(2, &[("LD_PRELOAD", &library)])], &program, "0"));
    assert!(reports.contains("has not loaded libmpi_abi.so.1"), "{reports}");
}

//! Programs that are compiled for another MPI.

use crate::building::folder;
use crate::harness::{Run, Started, finish, rmarun, run};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program, and the library beside it that it is linked to; `None` where nothing compiles C.
fn linked(folder: &Path, library: &str) -> Option<String> {
    let path = |name: &str| folder.join(name).to_str().expect("a path in UTF-8").to_owned();
    std::fs::write(path("library.c"), "int MPI_Init(void) { return 0; }\n").unwrap();
    std::fs::write(path("main.c"), "int MPI_Init(void);\nint main(void) { return MPI_Init(); }\n")
        .unwrap();
    let soname = format!("-Wl,-soname,{library}");
    let runpath = format!("-Wl,-rpath,{}", folder.display());
    let made = path(library);
    let program = path("program");
    cc(&["-shared", "-fPIC", &soname, "-o", &made, &path("library.c")])?;
    cc(&["-o", &program, &path("main.c"), &made, &runpath]).map(|()| program)
}

fn cc(arguments: &[&str]) -> Option<()> {
    match Command::new("cc").args(arguments).output() {
        Ok(output) => {
            assert!(output.status.success(), "cc {arguments:?}: {output:?}");
            Some(())
        }
        Err(error) => {
            eprintln!("skipped: no C compiler: cc: {error}");
            None
        }
    }
}

#[test]
fn a_program_of_another_mpi_is_refused_before_it_starts() {
    for library in ["libmpi.so.12", "libmpi.so.40", "libmpich.so.10"] {
        let Some(program) = linked(&folder("foreign"), library) else { return };
        let run = run(&["-n", "2", &program]).expect(126);
        run.reports(&["compiled for another MPI", &program, library, "rmacc"]);
        assert_eq!(run.stdout, "");
    }
}

#[test]
fn it_is_found_in_the_path_too() {
    let folder = folder("foreign-path");
    if linked(&folder, "libmpi.so.12").is_none() {
        return;
    }
    let in_path = |program: &str| -> Run {
        let mut command = rmarun(&["-n", "2", program]);
        command.env("PATH", &folder).stdin(Stdio::null());
        finish(Started::new(command))
    };
    in_path("program").expect(126).reports(&["compiled for another MPI", "'program'"]);
    in_path("missing").expect(127).reports(&["cannot start 'missing'"]);
}

/// An installation: rmarun, and beside it what libraries of these names are.
pub fn installed(folder: &Path, libraries: &[&str]) -> Option<PathBuf> {
    let (bin, lib) = (folder.join("bin"), folder.join("lib/onesided"));
    [&bin, &lib].into_iter().for_each(|folder| std::fs::create_dir_all(folder).unwrap());
    let source = folder.join("ours.c");
    std::fs::write(&source, "int MPI_Init(void) { return 42; }\n").unwrap();
    for library in libraries {
        let (made, source) = (lib.join(library), source.to_str()?);
        cc(&["-shared", "-fPIC", "-Wl,-soname,libmpi.so.12", "-o", made.to_str()?, source])?;
    }
    // By a process of its own: what this one writes cannot be executed while another thread starts a process.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_rmarun")).arg(&bin).status();
    assert!(copied.is_ok_and(|copied| copied.success()));
    Some(bin.join("rmarun"))
}

/// The program's own library, which its run path names, returns 0; that of the installation 42.
#[test]
fn a_program_with_mpichs_abi_gets_the_library_of_the_installation() {
    let folder = folder("mpich");
    let Some(program) = linked(&folder, "libmpi.so.12") else { return };
    let rmarun = installed(&folder, &["libmpi.so.12", "libmpich.so.12"]).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&rmarun);
        command.args(["-n", "1"]).args(arguments).stdin(Stdio::null());
        finish(Started::new(command))
    };
    let printed = run(&["-v", &program]).expect(42).stderr.clone();
    let line = format!("rmarun: '{program}' is linked to MPICH's ABI: {}", folder.display());
    assert!(printed.starts_with(&line), "{printed}");
    run(&["--mpi-library", "keep", &program]).expect(0);
    run(&["--mpi-library", "theirs", &program]).expect(2).reports(&["--mpi-library", "keep"]);
    // Behind ours stays what the user has set.
    let script = "echo $LD_LIBRARY_PATH $MPI4PY_LIBMPI";
    let lib = folder.join("lib/onesided");
    let (lib, file) = (lib.display(), lib.join("libmpi.so.12"));
    let set = ["-x", "LD_LIBRARY_PATH=/a:/b", "sh", "-c", script];
    assert_eq!(run(&set).expect(0).stdout, format!("{lib}:/a:/b {}\n", file.display()));
    let set = ["-x", "MPI4PY_LIBMPI=other", "-x", "LD_LIBRARY_PATH=", "sh", "-c", script];
    assert_eq!(run(&set).expect(0).stdout, format!("{lib} other\n"));
    let keep = ["--mpi-library", "keep", "-x", "LD_LIBRARY_PATH=/a", "sh", "-c", script];
    assert_eq!(run(&keep).expect(0).stdout, "/a\n");
    // A run path that comes before LD_LIBRARY_PATH.
    let old = format!("-Wl,--disable-new-dtags,-rpath,{}", folder.display());
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    cc(&["-o", &program, &path("main.c"), &path("libmpi.so.12"), &old]).unwrap();
    run(&[&program]).expect(42);
    run(&["--mpi-library", "keep", &program]).expect(0);
    // Names for which there is nothing here.
    for library in ["libmpi.so.40", "libmpifort.so.12"] {
        let program = linked(&folder, library).unwrap();
        run(&[&program]).expect(126).reports(&["compiled for another MPI", library]);
    }
    let program = linked(&folder, "libmpich.so.12").unwrap();
    run(&[&program]).expect(42);
}

#[test]
fn a_program_of_the_standard_abi_is_started() {
    let Some(program) = linked(&folder("standard"), "libmpi_abi.so.1") else { return };
    run(&["-n", "2", &program]).expect(0).reports(&["none of the 2 ranks joined"]);
}

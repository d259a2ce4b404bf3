//! Programs that are compiled for another MPI.

use crate::building::folder;
use crate::harness::{Run, Started, finish, rmarun, run};
use std::path::Path;
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

#[test]
fn a_program_of_the_standard_abi_is_started() {
    let Some(program) = linked(&folder("standard"), "libmpi_abi.so.1") else { return };
    run(&["-n", "2", &program]).expect(0).reports(&["none of the 2 ranks joined"]);
}

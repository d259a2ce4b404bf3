//! Programs that are compiled for another MPI.
//!
//! One with MPICH's ABI gets the library that is installed with rmarun. Any other would load no library of
//! this project: each rank would be a job of its own, which only wrong results would show. A program's file
//! names the libraries that it needs, so they are read from it before a rank is started. Only the program
//! itself is checked, not the libraries that a script, an interpreter or another library loads later. A file
//! that cannot be read, or that the machine cannot load, is reported by the start of the first rank.

use crate::launcher::args::{MpiLibrary, Program};
use crate::launcher::report::{self, Refusal};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The names of MPI libraries with an ABI of their own, without `lib` and `.so`: of MPICH and its
/// derivatives, of Open MPI, of Cray.
const FOREIGN: [&str; 9] = [
    "mpi",
    "mpich",
    "mpicxx",
    "mpifort",
    "mpi_cxx",
    "mpi_mpifh",
    "mpichcxx",
    "mpichf90",
    "mpi_cray",
];

/// The folder of an installation with libraries under other MPIs' names, beside `bin`.
const FOLDER: &str = "lib/onesided";
/// The library by MPICH's ABI.
const LIBRARY: &str = "libmpi.so.12";

/// More than any program has; a larger number means damage.
const MOST_NEEDED: usize = 4096;
const LONGEST_NAME: usize = 256;

const MAGIC_64_LITTLE: [u8; 6] = [0x7f, b'E', b'L', b'F', 2, 1];
const SEGMENT_LOAD: u32 = 1;
const SEGMENT_DYNAMIC: u32 = 2;
const DYNAMIC_END: u64 = 0;
const DYNAMIC_NEEDED: u64 = 1;
const DYNAMIC_STRINGS: u64 = 5;
const DYNAMIC_RPATH: u64 = 15;
const DYNAMIC_RUNPATH: u64 = 29;
const PROGRAM_HEADER: u64 = 56;
const DYNAMIC_ENTRY: u64 = 16;

/// The libraries beside rmarun.
pub struct Library {
    /// Their folder, where there is one.
    folder: Option<PathBuf>,
    choice: MpiLibrary,
}

impl Library {
    /// Looks for it where this program is installed.
    #[allow(clippy::disallowed_methods, reason = "the installation is where this program is")]
    pub fn of(choice: MpiLibrary) -> Library {
        let installed = || {
            let folder = env::current_exe().ok()?.parent()?.parent()?.join(FOLDER);
            folder.join(LIBRARY).exists().then_some(folder)
        };
        let folder = if choice == MpiLibrary::Own { installed() } else { None };
        Library { folder, choice }
    }

    /// Lets a program find its library. Returns an error for one that loads another MPI's library.
    pub fn serve(&self, program: &mut Program, is_verbose: bool) -> Result<(), Refusal> {
        let needs = located(program).and_then(|path| needed(&path)).unwrap_or_default();
        let foreign: Vec<String> =
            needs.libraries.into_iter().filter(|library| is_foreign(library)).collect();
        if let Some(library) = foreign.iter().find(|library| !self.has(library)) {
            let library = library.clone();
            return Err(Refusal::Foreign { program: program.name(), library });
        }
        let Some(folder) = &self.folder else { return Ok(()) };
        if let Some(library) = foreign.first().filter(|_| is_verbose) {
            let (name, folder) = (program.name(), folder.display());
            report::print(&format!("'{name}' is linked to MPICH's ABI: {folder}/{library}"));
        }
        // Also for scripts and interpreters, which load it later.
        prepend(program, "LD_LIBRARY_PATH", folder);
        if !foreign.is_empty() && needs.own_path_first {
            prepend(program, "LD_PRELOAD", &folder.join(LIBRARY));
        }
        if value(program, PYTHON).is_none() {
            program.variables.push((PYTHON.into(), folder.join(LIBRARY).into()));
        }
        Ok(())
    }

    /// The sentence about a Python program for which no library is installed; with one, none.
    pub fn missing_for(&self, program: &Program) -> Option<String> {
        let is_missing = self.folder.is_none() && self.choice == MpiLibrary::Own;
        is_missing.then(|| {
            format!(
                "note: '{}' is run by Python, and this rmarun has no {LIBRARY} beside it for mpi4py; 'cargo run \
                 --release -p onesided-capi' in the sources installs both",
                program.name()
            )
        })
    }

    /// Whether programs that need this library can be started.
    fn has(&self, library: &str) -> bool {
        match &self.folder {
            Some(folder) => folder.join(library).exists(),
            None => self.choice == MpiLibrary::Keep && library == LIBRARY,
        }
    }
}

/// The variable by which wheels of mpi4py choose the library. Otherwise they look in the environment of Python
/// first, where the package `mpich` puts its own.
const PYTHON: &str = "MPI4PY_LIBMPI";

/// The variable that names Python's interpreter, instead of the first `python3` in PATH: a wheel names the one that it is
/// installed for.
pub const INTERPRETED_BY: &str = "ONESIDED_PYTHON";

/// What a program's ranks have of a variable.
#[allow(clippy::disallowed_methods, reason = "ranks have the variables of rmarun")]
pub fn value(program: &Program, name: &str) -> Option<OsString> {
    let own = program.variables.iter().rev().find(|(variable, _)| variable == name);
    own.map(|(_, value)| value.clone()).or_else(|| env::var_os(name))
}

/// Puts a path in front of a list of paths.
fn prepend(program: &mut Program, name: &str, path: &Path) {
    let mut list = path.as_os_str().to_owned();
    if let Some(others) = value(program, name).filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    program.variables.push((name.into(), list));
}

fn is_foreign(library: &str) -> bool {
    let stem = library.strip_prefix("lib").and_then(|name| name.split_once(".so"));
    stem.is_some_and(|(stem, _)| FOREIGN.contains(&stem))
}

/// The file of a program, where there is one.
#[allow(clippy::disallowed_methods, reason = "programs are looked for where the system does")]
pub fn located(program: &Program) -> Option<PathBuf> {
    let paths = env::var_os("PATH").unwrap_or_default();
    find(&program.arguments[0], program.directory.as_deref(), &paths)
}

/// The file of a program, found as `execvp` finds it.
fn find(program: &OsStr, from: Option<&Path>, paths: &OsString) -> Option<PathBuf> {
    // Opening any other kind of file, such as a pipe, may block for ever.
    let is_file = |path: &PathBuf| fs::metadata(path).is_ok_and(|it| it.is_file());
    if program.as_encoded_bytes().contains(&b'/') {
        // A relative path is one from the ranks' working directory.
        return Some(from.unwrap_or(Path::new("")).join(program)).filter(is_file);
    }
    env::split_paths(paths).map(|folder| folder.join(program)).find(is_file)
}

/// What a program's file names.
#[derive(Default)]
struct Needs {
    /// The libraries to which it is linked.
    libraries: Vec<String>,
    /// Whether it looks for them in folders of its own before those of LD_LIBRARY_PATH.
    own_path_first: bool,
}

/// What a program needs; `None` if that cannot be read.
fn needed(path: &Path) -> Option<Needs> {
    let elf = Elf::open(path)?;
    let (at, bytes) = elf.dynamic?;
    let (mut names, mut strings) = (Vec::new(), None);
    let (mut has_rpath, mut has_runpath) = (false, false);
    for entry in 0..(bytes / DYNAMIC_ENTRY).min(MOST_NEEDED as u64) {
        let entry: [u8; DYNAMIC_ENTRY as usize] =
            elf.read(at.checked_add(entry * DYNAMIC_ENTRY)?)?;
        match (number(&entry[..8]), number(&entry[8..])) {
            (DYNAMIC_END, _) => break,
            (DYNAMIC_NEEDED, name) => names.push(name),
            (DYNAMIC_STRINGS, address) => strings = elf.place(address),
            (DYNAMIC_RPATH, _) => has_rpath = true,
            (DYNAMIC_RUNPATH, _) => has_runpath = true,
            _ => {}
        }
    }
    let strings = strings?;
    let libraries = names.into_iter().map(|name| elf.text(strings.checked_add(name)?));
    Some(Needs {
        libraries: libraries.collect::<Option<_>>()?,
        own_path_first: has_rpath && !has_runpath,
    })
}

/// The used parts of a program's file.
struct Elf {
    file: File,
    /// Loaded addresses, their number, and the offset of their contents in the file.
    loaded: Vec<(u64, u64, u64)>,
    /// Offset and length of the dynamic section.
    dynamic: Option<(u64, u64)>,
}

impl Elf {
    fn open(path: &Path) -> Option<Elf> {
        let mut elf = Elf { file: File::open(path).ok()?, loaded: Vec::new(), dynamic: None };
        let header: [u8; 64] = elf.read(0)?;
        if !header.starts_with(&MAGIC_64_LITTLE) || number(&header[54..56]) != PROGRAM_HEADER {
            return None;
        }
        let (first, count) = (number(&header[32..40]), number(&header[56..58]));
        for i in 0..count {
            let segment: [u8; PROGRAM_HEADER as usize] =
                elf.read(first.checked_add(i * PROGRAM_HEADER)?)?;
            let (place, address) = (number(&segment[8..16]), number(&segment[16..24]));
            let bytes = number(&segment[32..40]);
            match number(&segment[..4]) as u32 {
                SEGMENT_LOAD => elf.loaded.push((address, bytes, place)),
                SEGMENT_DYNAMIC => elf.dynamic = Some((place, bytes)),
                _ => {}
            }
        }
        Some(elf)
    }

    fn read<const N: usize>(&self, at: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.file.read_exact_at(&mut bytes, at).ok().map(|()| bytes)
    }

    /// The offset of an address's contents in the file.
    fn place(&self, address: u64) -> Option<u64> {
        self.loaded.iter().find_map(|(begin, bytes, place)| {
            let within = address.checked_sub(*begin).filter(|within| within < bytes)?;
            place.checked_add(within)
        })
    }

    fn text(&self, at: u64) -> Option<String> {
        let mut bytes = [0; LONGEST_NAME];
        let read = self.file.read_at(&mut bytes, at).ok()?;
        let end = bytes[..read].iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn libraries_with_an_abi_of_their_own_are_foreign() {
        for library in ["libmpi.so.12", "libmpi.so.40", "libmpi.so", "libmpich.so.10"] {
            assert!(is_foreign(library), "{library}");
        }
        for library in ["libmpi_abi.so.1", "libmpiP.so", "libm.so.6", "mpi.so", "libmpi.a", ""] {
            assert!(!is_foreign(library), "{library}");
        }
    }

    #[test]
    fn what_this_program_needs_is_read_from_its_file() {
        let needed = needed(Path::new("/proc/self/exe")).unwrap().libraries;
        assert!(needed.iter().any(|library| library.starts_with("libc.so")), "{needed:?}");
    }

    #[test]
    fn programs_are_found_in_the_path() {
        let paths = OsString::from("/nowhere:/usr/bin:/bin");
        let find = |name: &str, from| find(OsStr::new(name), from, &paths);
        assert!(find("sh", None).is_some_and(|path| path.ends_with("sh")));
        assert_eq!(find("./sh", Some(Path::new("/bin"))), Some("/bin/./sh".into()));
        for name in ["no-such-program-anywhere", "./sh", "/dev/null", "/usr/bin"] {
            assert_eq!(find(name, None), None);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// This program with some bytes changed near the beginning, where the headers are.
        #[test]
        fn damaged_files_are_no_danger(
            damage in proptest::collection::vec((0_usize..1024, any::<u8>()), 1..12),
            length in 0_u64..65536,
        ) {
            let mut bytes = vec![0; length as usize];
            File::open("/proc/self/exe").unwrap().read_exact_at(&mut bytes, 0).unwrap();
            for (at, byte) in damage {
                if let Some(there) = bytes.get_mut(at) {
                    *there = byte;
                }
            }
            let path = env::temp_dir().join(format!("onesided-foreign-{}", std::process::id()));
            fs::write(&path, bytes).unwrap();
            let names = needed(&path);
            fs::remove_file(&path).unwrap();
            prop_assert!(names.unwrap_or_default().libraries.len() <= MOST_NEEDED);
        }
    }
}

//! Programs that are compiled for another MPI.
//!
//! Such a program never loads this library. Each rank would be a job of its own, which only wrong results
//! would show. A program's file names the libraries that it needs, so they are read from it before a rank
//! is started. Only the program itself is checked, not the libraries that a script, an interpreter or
//! another library loads later. A file that cannot be read, or that the machine cannot load, is reported
//! by the start of the first rank.

use crate::args::Program;
use crate::report::Refusal;
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

/// More than any program has; a larger number means damage.
const MOST_NEEDED: usize = 4096;
const LONGEST_NAME: usize = 256;

const MAGIC_64_LITTLE: [u8; 6] = [0x7f, b'E', b'L', b'F', 2, 1];
const SEGMENT_LOAD: u32 = 1;
const SEGMENT_DYNAMIC: u32 = 2;
const DYNAMIC_END: u64 = 0;
const DYNAMIC_NEEDED: u64 = 1;
const DYNAMIC_STRINGS: u64 = 5;
const PROGRAM_HEADER: u64 = 56;
const DYNAMIC_ENTRY: u64 = 16;

/// Returns an error for a program that loads another MPI's library.
#[allow(clippy::disallowed_methods, reason = "programs are looked for where the system does")]
pub fn refuse(program: &Program) -> Result<(), Refusal> {
    let paths = env::var_os("PATH").unwrap_or_default();
    let path = find(&program.arguments[0], program.directory.as_deref(), &paths);
    let needed = path.and_then(|path| needed(&path)).unwrap_or_default();
    match needed.into_iter().find(|library| is_foreign(library)) {
        Some(library) => Err(Refusal::Foreign { program: program.name(), library }),
        None => Ok(()),
    }
}

fn is_foreign(library: &str) -> bool {
    let stem = library.strip_prefix("lib").and_then(|name| name.split_once(".so"));
    stem.is_some_and(|(stem, _)| FOREIGN.contains(&stem))
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

/// The libraries to which a program is linked; `None` if they cannot be read.
fn needed(path: &Path) -> Option<Vec<String>> {
    let elf = Elf::open(path)?;
    let (at, bytes) = elf.dynamic?;
    let mut names = Vec::new();
    let mut strings = None;
    for entry in 0..(bytes / DYNAMIC_ENTRY).min(MOST_NEEDED as u64) {
        let entry: [u8; DYNAMIC_ENTRY as usize] =
            elf.read(at.checked_add(entry * DYNAMIC_ENTRY)?)?;
        match (number(&entry[..8]), number(&entry[8..])) {
            (DYNAMIC_END, _) => break,
            (DYNAMIC_NEEDED, name) => names.push(name),
            (DYNAMIC_STRINGS, address) => strings = elf.place(address),
            _ => {}
        }
    }
    let strings = strings?;
    names.into_iter().map(|name| elf.text(strings.checked_add(name)?)).collect()
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
        let needed = needed(Path::new("/proc/self/exe")).unwrap();
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
            prop_assert!(names.unwrap_or_default().len() <= MOST_NEEDED);
        }
    }
}

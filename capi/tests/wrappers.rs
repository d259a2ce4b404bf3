//! `rmacc` and `rmacxx`, the pkg-config file, CMake's FindMPI, and the installer itself.
#![allow(clippy::disallowed_methods, reason = "reads PATH")]

mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use support::{folder, good, has, install, installed, prefix, text};

const WRAPPERS: [(&str, &str); 2] = [("rmacc", "RMACC_CC"), ("rmacxx", "RMACXX_CXX")];

/// A compiler that prints its arguments, a line each.
fn parrot(folder: &Path) -> String {
    let path = folder.join("parrot");
    fs::write(&path, "#!/bin/sh\nfor word in \"$@\"; do printf '<%s>\\n' \"$word\"; done\n")
        .unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// What the compiler gets.
#[track_caller]
fn passed(name: &str, arguments: &[&str]) -> Vec<String> {
    // Tests run at the same time.
    static PARROT: LazyLock<String> = LazyLock::new(|| parrot(&folder("parrot")));
    let variable = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name).unwrap().1;
    let output = installed(name).args(arguments).env(variable, &*PARROT).output().unwrap();
    let lines = good(&output);
    lines.lines().map(|line| line.trim_matches(['<', '>']).to_owned()).collect()
}

fn include() -> String {
    format!("-I{}/include", prefix().display())
}

fn library() -> Vec<String> {
    let lib = format!("{}/lib", prefix().display());
    let runpath = format!("-Wl,-rpath,{lib}");
    vec![format!("-L{lib}"), runpath, "-Wl,--enable-new-dtags".into(), "-lmpi_abi".into()]
}

#[test]
fn a_program_is_compiled_and_linked() {
    for (name, _) in WRAPPERS {
        let arguments = ["-O2", "a.c", "b.o", "-o", "a", "-lm"];
        let given = arguments.iter().map(|word| (*word).to_owned());
        let expected: Vec<String> = [include()].into_iter().chain(given).chain(library()).collect();
        assert_eq!(passed(name, &arguments), expected);
    }
}

/// The driver must not see the option, for which it would link another runtime.
#[test]
fn accesses_are_reported_by_the_compiler_alone() {
    for (name, _) in WRAPPERS {
        let (compiled, linked) =
            (passed(name, &["-race", "-c", "a.c"]), passed(name, &["-race", "a.c"]));
        let calls = ["memcpy", "memmove", "memset"].map(|name| format!("-fno-builtin-{name}"));
        let options = ["-g", "-Wp,-fsanitize=thread", "-Wno-tsan"].map(str::to_owned);
        let given = ["-c", "a.c"].map(str::to_owned);
        let expected: Vec<String> =
            [include()].into_iter().chain(options).chain(calls).chain(given).collect();
        assert_eq!(compiled, expected);
        for option in ["-Wl,--wrap=memcpy", "-Wl,--wrap=pthread_create", "-lmpi_abi"] {
            assert!(linked.contains(&option.to_owned()), "{option}");
        }
        assert!(!linked.contains(&"-fsanitize=thread".to_owned()));
        // Before the program's own libraries, and before those that the compiler adds at the end.
        let needed = linked.iter().map(|option| option == "-Wl,--no-as-needed");
        let needed: Vec<_> =
            needed.enumerate().filter_map(|(at, is_it)| is_it.then_some(at)).collect();
        let places = ["a.c", "-lmpi_abi"].map(|word| linked.iter().position(|other| other == word));
        let [source, library] = places.map(|place| place.expect("it is there"));
        assert!(matches!(*needed, [first, last] if first < source && library < last), "{linked:?}");
    }
}

#[test]
fn what_does_not_link_gets_no_library() {
    for (name, _) in WRAPPERS {
        for option in ["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"] {
            assert_eq!(passed(name, &[option, "a.c"]), [&include(), option, "a.c"], "{option}");
        }
        assert_eq!(passed(name, &["-v"]), [&include(), "-v"]);
        // These write dependencies beside compiling and linking.
        for option in ["-MD", "-MMD"] {
            assert!(passed(name, &[option, "a.c"]).contains(&"-lmpi_abi".to_owned()), "{option}");
        }
    }
}

#[test]
fn blanks_quotes_and_patterns_stay_as_they_are() {
    let words = ["-DA=\"x  y\"", "-DB='", "a b.c", "*", "$HOME", "\\", "", "-DC=`id`", "ä;&"];
    for (name, _) in WRAPPERS {
        let got = passed(name, &words);
        assert_eq!(got[1..=words.len()], words);
    }
}

/// The line that is shown is the line that is run: a shell that reads it passes the same words.
#[test]
fn the_line_shown_is_the_line_run() {
    let words = ["a b.c", "-DB='\"", "*", "", "-o", "x"];
    for (name, variable) in WRAPPERS {
        let parrot = parrot(&folder(&format!("shown-{name}")));
        for option in ["-show", "--show", "-showme", "--showme"] {
            let shown = installed(name).arg(option).args(words).env(variable, &parrot).output();
            let line = good(&shown.unwrap());
            assert_eq!(line.lines().count(), 1, "{line}");
            let run = Command::new("sh").arg("-c").arg(&line).output().unwrap();
            let got: Vec<String> = good(&run).lines().map(|l| l[1..l.len() - 1].into()).collect();
            assert_eq!(got, passed(name, &words), "{option}");
        }
    }
}

#[test]
fn the_flags_are_told() {
    let lib = format!("{}/lib", prefix().display());
    let link = library().join(" ");
    for (name, variable) in WRAPPERS {
        let shown = |arguments: &[&str]| {
            let output =
                installed(name).args(arguments).env(variable, "compiler").output().unwrap();
            good(&output).trim_end().to_owned()
        };
        for hyphen in ["-", "--"] {
            let shown = |what: &str| shown(&[&format!("{hyphen}showme:{what}")]);
            assert_eq!(shown("compile"), include());
            assert_eq!(shown("link"), link);
            assert_eq!(shown("incdirs"), format!("{}/include", prefix().display()));
            assert_eq!(shown("libdirs"), lib);
            assert_eq!(shown("libs"), "mpi_abi");
            assert_eq!(shown("command"), "compiler");
            assert!(shown("version").contains(env!("CARGO_PKG_VERSION")));
            assert!(shown("help").contains("-showme:link"));
        }
        for option in ["-compile-info", "-compile_info"] {
            assert_eq!(shown(&[option, "a.c"]), format!("compiler {} a.c", include()));
        }
        for option in ["-link-info", "-link_info"] {
            assert_eq!(shown(&[option, "a.o"]), format!("compiler a.o {link}"));
        }
    }
}

#[test]
fn another_compiler_is_named_by_option_or_variable() {
    let folder = folder("another");
    let parrot = parrot(&folder);
    for (option, (name, variable)) in ["-cc", "-cxx"].into_iter().zip(WRAPPERS) {
        let by_option = installed(name).args([&format!("{option}={parrot}"), "a.c"]).output();
        assert!(good(&by_option.unwrap()).contains("<a.c>"));
        // With arguments of its own.
        let mut by_variable = installed(name);
        by_variable.arg("a.c").env(variable, format!("{parrot} first  *"));
        assert!(good(&by_variable.output().unwrap()).starts_with("<first>\n<*>\n<-I"));
    }
}

#[test]
fn a_compiler_that_is_missing_or_the_wrapper_itself_is_a_sentence() {
    for (name, variable) in WRAPPERS {
        let missing =
            installed(name).arg("a.c").env(variable, "no-such-compiler").output().unwrap();
        assert_eq!(missing.status.code(), Some(127));
        assert!(text(&missing.stderr).contains("there is no compiler 'no-such-compiler'"));
        let itself = prefix().join("bin").join(name);
        let round = installed(name).arg("a.c").env(variable, itself).output().unwrap();
        assert_eq!(round.status.code(), Some(126));
        assert!(text(&round.stderr).contains("itself"), "{}", text(&round.stderr));
    }
}

#[test]
fn the_failure_of_the_compiler_is_passed_on() {
    let output = installed("rmacc").arg("a.c").env("RMACC_CC", "false").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}

/// Calls the library, so that the linker keeps it.
const MAIN: &str = "#include <mpi.h>\n\
    int main(void) { int v, s; return MPI_Get_version(&v, &s) || v != 5 || MPI_VERSION != 5; }\n";

/// What is written to a folder whose name has a blank, and then moved to another one.
#[test]
fn an_installation_can_be_moved() {
    if !has("cc") {
        return;
    }
    let folder = folder("to be moved");
    good(&install(&folder.join("a b"), &["--mpi-names"]));
    fs::rename(folder.join("a b"), folder.join("c d")).unwrap();
    let source = folder.join("one.c");
    fs::write(&source, MAIN).unwrap();
    let program = folder.join("one");
    for wrapper in ["rmacc", "mpicc"] {
        let mut command = Command::new(folder.join("c d/bin").join(wrapper));
        good(&command.arg(&source).arg("-o").arg(&program).output().unwrap());
        good(&Command::new(&program).output().unwrap());
    }
    if has("readelf") {
        let dynamic = good(&Command::new("readelf").arg("-d").arg(&program).output().unwrap());
        assert!(dynamic.contains("[libmpi_abi.so.1]"), "{dynamic}");
        assert!(dynamic.contains("RUNPATH") && !dynamic.contains("RPATH)"), "{dynamic}");
    }
}

#[test]
fn pkg_config_finds_it() {
    if !has("pkg-config") || !has("cc") {
        return;
    }
    let folder = folder("pkg-config");
    fs::write(folder.join("one.c"), MAIN).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "cc one.c -o one $(pkg-config --cflags --libs onesided) && ./one"]);
    command.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
    good(&command.current_dir(&folder).output().unwrap());
}

/// CMake finds the wrappers by their usual names in the path, or by ours when given.
#[test]
fn cmake_finds_it() {
    if !has("cmake") || !has("cc") || !has("c++") {
        return;
    }
    let folder = folder("cmake");
    let lists = "cmake_minimum_required(VERSION 3.13)\nproject(one C CXX)\n\
                 find_package(MPI REQUIRED COMPONENTS C CXX)\n\
                 message(STATUS \"launcher ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG}\")\n\
                 message(STATUS \"version ${MPI_C_VERSION}\")\n\
                 add_executable(one one.c)\ntarget_link_libraries(one MPI::MPI_C)\n\
                 add_executable(two two.cc)\ntarget_link_libraries(two MPI::MPI_CXX)\n";
    for (name, text) in [("CMakeLists.txt", lists), ("one.c", MAIN), ("two.cc", MAIN)] {
        fs::write(folder.join(name), text).unwrap();
    }
    let bin = prefix().join("bin");
    let compilers = [
        format!("-DMPI_C_COMPILER={}/rmacc", bin.display()),
        format!("-DMPI_CXX_COMPILER={}/rmacxx", bin.display()),
        format!("-DMPIEXEC_EXECUTABLE={}/rmarun", bin.display()),
    ];
    for (build, arguments, launcher) in
        [("by-path", &[][..], "mpiexec"), ("told", &compilers[..], "rmarun")]
    {
        let output = cmake(&folder, build, arguments, &bin);
        let printed = good(&output);
        assert!(printed.contains(&format!("{}/{launcher} -n", bin.display())), "{printed}");
        assert!(printed.contains("version 5.0"), "{printed}");
        let make = Command::new("cmake").arg("--build").arg(folder.join(build)).output();
        good(&make.unwrap());
        for program in ["one", "two"] {
            good(&Command::new(folder.join(build).join(program)).output().unwrap());
        }
    }
}

fn cmake(folder: &Path, build: &str, arguments: &[String], bin: &Path) -> Output {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let paths = [PathBuf::from(bin)].into_iter().chain(std::env::split_paths(&paths));
    let paths = std::env::join_paths(paths).unwrap();
    let mut cmake = Command::new("cmake");
    cmake.arg("-S").arg(folder).arg("-B").arg(folder.join(build)).args(arguments);
    cmake.env("PATH", paths).output().unwrap()
}

/// All paths below a folder, without it.
fn below(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            found.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            if path.is_dir() && !path.is_symlink() {
                left.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn what_is_installed_is_told_and_can_be_taken_away() {
    let prefix = folder("complete").join("deep/down");
    let shown = good(&install(&prefix, &[]));
    for path in [
        "lib/libmpi_abi.so.1.0.0",
        "lib/libmpi_abi.so.1",
        "lib/libmpi_abi.so",
        "include/mpi.h",
        "bin/rmacc",
        "bin/rmacxx",
        "bin/rmarun",
        "lib/pkgconfig/onesided.pc",
    ] {
        let path = prefix.join(path);
        assert!(path.exists(), "{}", path.display());
        assert!(shown.contains(&format!("installed {}\n", path.display())), "{shown}");
    }
    assert!(!prefix.join("bin/mpicc").exists());
    good(&install(&prefix, &["--uninstall"]));
    assert_eq!(below(&prefix), Vec::<String>::new());
    let again = install(&prefix, &["--uninstall"]);
    assert!(!again.status.success());
    assert!(text(&again.stderr).contains("nothing is installed"), "{}", text(&again.stderr));
}

#[test]
fn what_others_have_put_there_stays() {
    let prefix = folder("shared prefix");
    fs::create_dir_all(prefix.join("bin")).unwrap();
    fs::write(prefix.join("bin/mpicc"), "another MPI's").unwrap();
    let refused = install(&prefix, &["--mpi-names"]);
    assert!(!refused.status.success());
    let printed = text(&refused.stderr);
    assert!(printed.contains("bin/mpicc") && printed.contains("is there already"), "{printed}");
    assert_eq!(below(&prefix), ["bin", "bin/mpicc"]);
    // Without these names there is room for both.
    good(&install(&prefix, &[]));
    fs::write(prefix.join("lib/other"), "of somebody else").unwrap();
    good(&install(&prefix, &["--uninstall"]));
    assert_eq!(below(&prefix), ["bin", "bin/mpicc", "lib", "lib/other"]);
}

#[test]
fn an_installation_can_be_renewed() {
    let prefix = folder("renewed");
    good(&install(&prefix, &["--mpi-names"]));
    fs::write(prefix.join("include/mpi.h"), "old").unwrap();
    assert!(prefix.join("bin/mpirun").exists());
    good(&install(&prefix, &[]));
    assert!(fs::read_to_string(prefix.join("include/mpi.h")).unwrap().len() > 1000);
    assert!(!prefix.join("bin/mpirun").is_symlink());
    good(&install(&prefix, &["--uninstall"]));
    assert_eq!(below(&prefix), Vec::<String>::new());
}

#[test]
fn a_list_that_names_paths_elsewhere_is_not_followed() {
    let folder = folder("forged");
    let prefix = folder.join("prefix");
    fs::create_dir_all(prefix.join("share/onesided")).unwrap();
    fs::write(folder.join("precious"), "").unwrap();
    for line in ["../precious", "/etc/hostname", "a/../../precious", ""] {
        fs::write(prefix.join("share/onesided/installed"), format!("bin\n{line}\n")).unwrap();
        let output = install(&prefix, &["--uninstall"]);
        assert!(!output.status.success(), "{line}");
        assert!(text(&output.stderr).contains("no path below the prefix"), "{output:?}");
    }
    assert!(folder.join("precious").exists());
}

#[test]
fn errors_name_the_path_and_the_reason() {
    let folder = folder("errors");
    fs::write(folder.join("file"), "").unwrap();
    let output = install(&folder.join("file/prefix"), &[]);
    let printed = text(&output.stderr);
    assert!(!output.status.success() && printed.contains("file/prefix"), "{printed}");
    assert!(printed.contains("Not a directory"), "{printed}");
    for prefix in ["a:b", "a,b", "a$b", "a\nb"] {
        let output = install(&folder.join(prefix), &[]);
        assert!(!output.status.success());
        assert!(text(&output.stderr).contains("choose another prefix"), "{output:?}");
    }
}

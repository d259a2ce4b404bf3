//! `mpi.h`: every compiler takes it, and it agrees with the header of another MPI.

#[path = "../install/groups.rs"]
#[allow(dead_code, reason = "the tests need less of it than the installer")]
mod groups;
#[path = "../install/header.rs"]
mod header;
mod support;
#[path = "../abi/table.rs"]
mod table;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use support::{folder, good, has, mpich, prefix};

const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// Compiles a source, without an object file.
#[track_caller]
fn compiles(compiler: &str, standard: &str, include: &Path, strict: &[&str], source: &Path) {
    let mut command = Command::new(compiler);
    command.arg(format!("-std={standard}")).args(strict).arg("-fsyntax-only");
    good(&command.arg("-I").arg(include).arg(source).output().expect("it started before"));
}

fn ours() -> std::path::PathBuf {
    prefix().join("include")
}

#[test]
fn every_compiler_takes_it() {
    for (compiler, file, standards) in [
        ("cc", "all.c", &["c89", "c99", "c11", "gnu11"][..]),
        ("c++", "all.cc", &["c++98", "c++11", "c++17", "gnu++17"][..]),
    ] {
        if !has(compiler) {
            return;
        }
        let source = folder("takes").join(file);
        // Twice, and behind headers that have macros of the names of parameters.
        let text = "#include <assert.h>\n#include <mpi.h>\n#include <mpi.h>\n\
                    int main(void) { return MPI_Init(0, 0); }\n";
        fs::write(&source, text).unwrap();
        for standard in standards {
            compiles(compiler, standard, &ours(), &STRICT, &source);
        }
    }
}

/// A source that compiles only with a header that has every constant, type and prototype of the
/// tables, but for functions that it lacks.
fn assertions(include: &str, lacks: &[&str]) -> String {
    let mut text = format!("#include <stddef.h>\n#include <{include}>\n");
    text.push_str("#define SAME(a, b) __builtin_types_compatible_p(a, b)\n");
    let mut holds = |what: &str, condition: &str| {
        let _ = writeln!(text, "_Static_assert({condition}, \"{what}\");");
    };
    types(&mut holds);
    for table::Constant { kind, name, value } in table::constants() {
        let name = format!("MPI_{name}");
        match kind.as_str() {
            "alias" => holds(&name, &format!("{name} == MPI_{value}")),
            "macro" | "int" => holds(&name, &format!("{name} == {value}")),
            ctype => {
                holds(&name, &format!("(intptr_t){name} == {value}"));
                holds(&name, &format!("SAME(__typeof__({name}), {ctype})"));
            }
        }
    }
    for (returns, name, parameters) in header::CALLBACKS {
        holds(name, &format!("SAME(MPI_{name}, {returns}({parameters}))"));
    }
    prototypes(lacks, &mut holds);
    text
}

/// What a header has of functions.
fn prototypes(lacks: &[&str], holds: &mut impl FnMut(&str, &str)) {
    for function in table::functions() {
        if lacks.contains(&function.name.as_str()) {
            continue;
        }
        let list: Vec<&str> =
            function.parameters.iter().map(|one| one.declaration.as_str()).collect();
        let list = if list.is_empty() { "void".to_owned() } else { list.join(", ") };
        for twin in ["MPI_", "PMPI_"] {
            let name = format!("{twin}{}", function.name);
            holds(&name, &format!("SAME(__typeof__({name}), {}({list}))", function.returns));
        }
    }
}

/// The same for MPICH's own header, of the tables of its ABI.
fn assertions_of_mpich() -> String {
    let mut text = "#include <stddef.h>\n#include <stdint.h>\n#include <mpi.h>\n".to_owned();
    text.push_str("#define SAME(a, b) __builtin_types_compatible_p(a, b)\n");
    let mut holds = |what: &str, condition: &str| {
        let _ = writeln!(text, "_Static_assert({condition}, \"{what}\");");
    };
    // Addresses of variables and of a function; and MPI_Abi_get_version's answer that it is another ABI.
    let is_no_number = |name: &str| {
        ["UNWEIGHTED", "WEIGHTS_EMPTY", "T_PVAR_ALL_HANDLES"].contains(&name)
            || name.ends_with("DUP_FN")
            || name.starts_with("ABI_")
    };
    for table::Constant { kind, name, value } in table::mpich_constants() {
        let full = table::full_name(&name);
        match kind.as_str() {
            _ if is_no_number(&name) => {}
            "alias" => holds(&full, &format!("{full} == MPI_{value}")),
            _ => holds(&full, &format!("(int)(intptr_t){full} == (int)({value})")),
        }
    }
    holds("MPI_Status", "sizeof(MPI_Status) == 5 * sizeof(int)");
    for (i, field) in ["MPI_SOURCE", "MPI_TAG", "MPI_ERROR"].iter().enumerate() {
        holds(field, &format!("offsetof(MPI_Status, {field}) == {} * sizeof(int)", i + 2));
    }
    for (name, _) in header::HANDLES {
        let is_pointer = *name == "MPI_File" || name.starts_with("MPI_T_");
        let of = if is_pointer { "void *" } else { "int" };
        holds(name, &format!("sizeof({name}) == sizeof({of})"));
    }
    prototypes(&MPICH_LACKS, &mut holds);
    text
}

/// What the header has of types.
fn types(holds: &mut impl FnMut(&str, &str)) {
    for (name, tag) in header::HANDLES {
        holds(name, &format!("SAME({name}, struct {tag} *)"));
    }
    for (name, _) in header::ENUMERATIONS {
        holds(name, &format!("SAME({name}, enum {name}) && sizeof({name}) == sizeof(int)"));
    }
    for (name, same) in
        [("MPI_Aint", "intptr_t"), ("MPI_Offset", "int64_t"), ("MPI_Count", "int64_t")]
    {
        holds(name, &format!("SAME({name}, {same})"));
    }
    let status = "sizeof(MPI_Status) == 8 * sizeof(int) && _Alignof(MPI_Status) == _Alignof(int)";
    holds("MPI_Status", status);
    for (i, field) in ["MPI_SOURCE", "MPI_TAG", "MPI_ERROR", "MPI_internal"].iter().enumerate() {
        holds(field, &format!("offsetof(MPI_Status, {field}) == {i} * sizeof(int)"));
    }
    let internal = "SAME(__typeof__(((MPI_Status *)0)->MPI_internal), int[5])";
    holds("MPI_internal", internal);
}

#[test]
fn it_says_what_the_tables_say() {
    if !has("cc") {
        return;
    }
    let source = folder("tables").join("assertions.c");
    fs::write(&source, assertions("mpi.h", &[])).unwrap();
    compiles("cc", "gnu11", &ours(), &["-Werror"], &source);
}

/// The assertions can fail: each of these is one change of the header.
#[test]
fn a_header_that_says_something_else_is_found_out() {
    if !has("cc") {
        return;
    }
    let folder = folder("changed");
    let source = folder.join("assertions.c");
    fs::write(&source, assertions("mpi.h", &[])).unwrap();
    let text = fs::read_to_string(ours().join("mpi.h")).unwrap();
    for (from, to) in [
        ("MPI_ERR_RMA_SYNC = 50", "MPI_ERR_RMA_SYNC = 51"),
        ("MPI_SUM ((MPI_Op)0x21)", "MPI_SUM ((MPI_Op)0x22)"),
        ("MPI_SUM ((MPI_Op)0x21)", "MPI_SUM ((MPI_Comm)0x21)"),
        ("int MPI_internal[5]", "int MPI_internal[6]"),
        ("int MPI_TAG;\n    int MPI_ERROR;", "int MPI_ERROR;\n    int MPI_TAG;"),
        ("int MPI_Win_sync(MPI_Win win)", "int MPI_Win_sync(MPI_Comm win)"),
        ("int PMPI_Win_sync(MPI_Win win)", "int PMPI_Win_sync(MPI_Win *win)"),
        ("typedef struct MPI_ABI_Win *", "typedef struct MPI_Window *"),
        ("typedef intptr_t MPI_Aint", "typedef int MPI_Aint"),
        ("MPI_Win *win, int *error_code, ...", "MPI_Win *win, int *error_code"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "the header has no '{from}'");
        fs::write(folder.join("mpi.h"), changed).unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-fsyntax-only", "-I"]).arg(&folder).arg(&source);
        assert!(!cc.output().unwrap().status.success(), "'{to}' is not noticed");
    }
}

/// What the standard has and MPICH 5.0.2 has not.
const MPICH_LACKS: [&str; 2] = ["Precv_init_c", "Psend_init_c"];

#[test]
fn mpich_says_the_same() {
    let Some(mpich) = mpich() else { return };
    if !has("cc") {
        return;
    }
    let source = folder("mpich").join("assertions.c");
    fs::write(&source, assertions("mpi_abi.h", &MPICH_LACKS)).unwrap();
    compiles("cc", "gnu11", &mpich.join("include"), &["-Werror"], &source);
}

#[test]
fn mpichs_own_header_has_its_tables() {
    let Some(mpich) = mpich() else { return };
    if !has("cc") {
        return;
    }
    let source = folder("own").join("assertions.c");
    fs::write(&source, assertions_of_mpich()).unwrap();
    compiles("cc", "gnu11", &mpich.join("include"), &["-Werror"], &source);
}

#[test]
fn mpich_has_no_name_that_is_missing_here() {
    let Some(mpich) = mpich() else { return };
    let theirs = names(&fs::read_to_string(mpich.join("include/mpi_abi.h")).unwrap());
    let ours = names(&fs::read_to_string(ours().join("mpi.h")).unwrap());
    let own = |name: &&String| {
        // Extensions of its own, and switches for the program that includes the header.
        name.starts_with("MPIX_")
            || name.starts_with("PMPIX_")
            || ["MPI_ABI_Aint", "MPI_ABI_Offset", "MPI_ABI_Count"].contains(&name.as_str())
            || *name == "MPI_Session_errhandler_fn"
    };
    let missing: Vec<&String> = theirs.difference(&ours).filter(|name| !own(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The names that a header uses outside comments.
fn names(text: &str) -> BTreeSet<String> {
    let mut code = String::new();
    for part in text.split("*/") {
        code.push_str(part.split("/*").next().unwrap_or_default());
        code.push(' ');
    }
    let words = code.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words
        .filter(|word| word.starts_with("MPI") || word.starts_with("PMPI"))
        .map(str::to_owned)
        .collect()
}

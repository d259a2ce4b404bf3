//! Makes of the ABI's tables what C sees of this library: the constants, and every function twice, as
//! `PMPI_…` and as `MPI_…`, so that tools can put themselves in between. Behind each function
//! `abi/functions.txt` names the function of `src/calls/` that implements it; those without are made as
//! functions that raise MPI_ERR_UNSUPPORTED_OPERATION.
//!
//! The package onesided-mpich makes the same library by MPICH's ABI, of the tables `mpich_….txt`.

#[path = "abi/handed.rs"]
mod handed;
#[path = "abi/table.rs"]
mod table;

use handed::Handing;
use std::fmt::Write;
use std::path::Path;
use table::{Constant, Function, Parameter};

/// The name of what a program passes for `...`. It is read where the value of another parameter promises a text there:
/// on x86-64 and AArch64 that is where a parameter of its own would be.
const MORE: &str = "_more";

fn main() {
    println!("cargo:rustc-check-cfg=cfg(mpich, node)");
    let package = cargo_names("CARGO_PKG_NAME");
    let (is_mpich, is_node) = (package == "onesided-mpich", package == "onesided-node");
    let (soname, mut functions, constants) = match (is_mpich, is_node) {
        (true, _) => ("libmpi.so.12", table::mpich_functions(), table::mpich_constants()),
        (_, true) => ("libonesided_node.so", table::node_functions(), table::constants()),
        _ => ("libmpi_abi.so.1", table::functions(), table::constants()),
    };
    let variable = functions.iter_mut().flat_map(|function| &mut function.parameters);
    for parameter in variable.filter(|parameter| parameter.name == "...") {
        (parameter.name, parameter.ctype) = (MORE.into(), "const char *".into());
    }
    if is_mpich {
        println!("cargo:rustc-cfg=mpich");
    }
    if is_node {
        println!("cargo:rustc-cfg=node");
    }
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{soname}");
    for path in ["abi", "build.rs"] {
        println!("cargo:rerun-if-changed={path}");
    }
    let out = cargo_names("OUT_DIR");
    let out = Path::new(&out);
    let export = if is_node { handed::export } else { export };
    let mut exports: String = functions.iter().map(export).collect();
    if is_mpich {
        exports.extend(functions.iter().filter(|one| is_of_fortran(one)).map(export_to_fortran));
        exports.extend(OF_FORTRAN_ALONE.map(|name| fortran(name, name, 0, "c_int")));
    }
    std::fs::write(out.join("exports.rs"), exports).expect("the folder can be written");
    std::fs::write(out.join("constants.rs"), numbers(&constants))
        .expect("the folder can be written");
}

#[expect(clippy::disallowed_methods, reason = "Cargo speaks to build scripts by its environment")]
fn cargo_names(variable: &str) -> String {
    std::env::var(variable).expect("Cargo sets it")
}

fn numbers(constants: &[Constant]) -> String {
    let mut text = String::new();
    for Constant { kind, name, value } in constants {
        let name = table::full_name(name);
        let _ = match kind.as_str() {
            "alias" => writeln!(text, "pub const {name}: usize = MPI_{value};"),
            "macro" | "int" => writeln!(text, "pub const {name}: c_int = {value};"),
            "MPI_Offset" => writeln!(text, "pub const {name}: Count = {value};"),
            _ => writeln!(text, "pub const {name}: usize = {value};"),
        };
    }
    text.push_str("pub const PREDEFINED: &[(&str, usize, &str)] = &[\n");
    for Constant { kind, name, value } in constants {
        if kind.starts_with("MPI_") && kind != "MPI_Offset" && !kind.ends_with('*') {
            let name = table::full_name(name);
            let _ = writeln!(text, "(\"{kind}\", {value}, \"{name}\"),");
        }
    }
    text + "];\n"
}

/// Both functions of C for a function of the table.
fn export(function: &Function) -> String {
    let name = function.full_name();
    match &function.implementation {
        Some(implementation) => there(function, implementation, &Handing::default()),
        None => format!(
            "#[unsafe(no_mangle)]\npub extern \"C\" fn P{name}() -> c_int {{ \
             crate::raise::unsupported(\"{name}\") }}\n\
             #[unsafe(no_mangle)]\npub extern \"C\" fn {name}() -> c_int {{ P{name}() }}\n"
        ),
    }
}

/// Whether Fortran has the function, too.
fn is_of_fortran(Function { name, .. }: &Function) -> bool {
    let c_only = ["_c", "_c2f", "_f2c", "_toint", "_fromint", "_c2f08", "_f082c"];
    !c_only.iter().any(|end| name.ends_with(end))
        && !["T_", "X_"].iter().any(|of| name.starts_with(of))
}

/// What a program passes as the function that copies or deletes an attribute.
const OF_FORTRAN_ALONE: [&str; 13] = [
    "mpi_dup_fn_",
    "mpi_null_copy_fn_",
    "mpi_null_delete_fn_",
    "mpi_comm_dup_fn_",
    "mpi_comm_null_copy_fn_",
    "mpi_comm_null_delete_fn_",
    "mpi_type_dup_fn_",
    "mpi_type_null_copy_fn_",
    "mpi_type_null_delete_fn_",
    "mpi_win_dup_fn_",
    "mpi_win_null_copy_fn_",
    "mpi_win_null_delete_fn_",
    "mpi_conversion_fn_null_",
];

/// The symbols of libmpifort.so.12 for a function: of mpif.h and the module mpi, of tools, and of the module mpi_f08.
/// They raise the error of a function that is not there, so that the loader finds what programs and modules ask for.
fn export_to_fortran(function: &Function) -> String {
    let lower = function.name.to_lowercase();
    let has_buffer = function.parameters.iter().any(|one| one.ctype.ends_with("void *"));
    let f08 = if has_buffer { "f08ts" } else { "f08" };
    let before = match function.name.as_str() {
        "Init" => 0,
        "Init_thread" => 2,
        _ => function.parameters.len(),
    };
    [format!("mpi_{lower}_"), format!("pmpi_{lower}_"), format!("mpi_{lower}_{f08}_")]
        .iter()
        .map(|symbol| fortran(symbol, &function.full_name(), before, &rust(&function.returns)))
        .collect()
}

/// A function of Fortran: its last argument, behind `before` others, is the error code.
fn fortran(symbol: &str, name: &str, before: usize, returns: &str) -> String {
    let others: String = (0..before).map(|k| format!("_argument{k}: Address, ")).collect();
    format!(
        "#[unsafe(no_mangle)]\npub extern \"C\" fn {symbol}({others}ierror: Ptr<c_int>) -> {returns} {{ \
         crate::raise::unsupported_fortran(\"{name}\", ierror); {returns}::default() }}\n"
    )
}

/// The expression that makes a call with the parameters of its function. Those of a collective are followed
/// by its form.
fn called(call: &str, parameters: &[&Parameter]) -> String {
    let passed = |parameters: &[&Parameter]| -> String {
        parameters.iter().map(|one| format!("{}, ", one.name)).collect()
    };
    let (form, collective) = match call.split_once(' ') {
        Some(("operation", call)) => return format!("{}.run()", called(call, parameters)),
        Some(("requested", call)) => {
            let of_operation = &parameters[..parameters.len() - 1];
            return format!("{}.run_requested(request)", called(call, of_operation));
        }
        Some(("finish", call)) => ("Blocking", call),
        Some(("begin", call)) => ("Nonblocking(comm, request)", call),
        Some(("host", call)) => return format!("crate::host::{call}({})", passed(parameters)),
        Some(("persist", call)) => ("Persistent(comm, request)", call),
        _ if call.ends_with(')') => {
            return format!("crate::calls::{}", call.replace("..", &passed(parameters)));
        }
        _ => return format!("crate::calls::{call}({})", passed(parameters)),
    };
    let ours = |one: &&&Parameter| !matches!(one.ctype.as_str(), "MPI_Info" | "MPI_Request *");
    let own: Vec<&Parameter> = parameters.iter().filter(ours).copied().collect();
    let call = format!("crate::calls::{collective}({}crate::collective::{form})", passed(&own));
    match parameters.iter().any(|one| one.ctype == "MPI_Info") {
        true => format!("crate::info::hints(info).and_then(|_| {call})"),
        false => call,
    }
}

/// Both functions, made of a call. The fast path of an operation is tried first; the rest is out of line, with the same
/// parameters.
fn there(function: &Function, call: &str, handing: &Handing) -> String {
    let (name, named) = (&function.name, || function.parameters.iter());
    let (declared, passed) = (declared(function), passed_on(function));
    let returns = rust(&function.returns);
    let all = handing.renamed(function);
    let all: Vec<&Parameter> = all.iter().collect();
    let fast = call.strip_prefix("operation ").map(|call| handing.tried(&called(call, &all)));
    let call = called(call, &all) + &handing.then;
    let given = |call, place: &Parameter| format!("{}.given().and_then(|()| {call})", place.name);
    // Those of the tool interface need not be there (MPI-4.1 §15.3).
    let looks = |one: &&Parameter| !name.starts_with("T_") && is_output(one);
    let call = named().filter(looks).fold(call, given);
    let is_raised = function.returns == "int" && !name.ends_with("_toint");
    let (body, raised) = match is_raised {
        false => (call, String::new()),
        true => fallible(function, &call, handing),
    };
    let (body, otherwise) = match fast {
        None => (body, String::new()),
        Some(operation) => {
            let otherwise = format!("{}_otherwise", name.to_lowercase());
            // Up to six are in registers (System V ABI). They go to memory at once, so that the fast path has these registers
            // and saves no others. With more of them that costs more than it saves.
            let (given, passed, declared) = match named().len() {
                ..=6 => {
                    let types: String = named().map(|one| rust(&one.ctype) + ", ").collect();
                    let given = format!("let given = ({passed}); ");
                    (given, "&given".to_string(), format!("&({passed}): &({types})"))
                }
                _ => (String::new(), passed, declared.clone()),
            };
            (
                format!("{given}if {operation} {{ return MPI_SUCCESS; }} {otherwise}({passed})"),
                format!(
                    "#[cold]\n#[inline(never)]\n\
                     extern \"C\" fn {otherwise}({declared}) -> {returns} {{ {body} }}\n"
                ),
            )
        }
    };
    let entered = format!("{}_entered", name.to_lowercase());
    let exported = exported(function, &entered);
    format!(
        "{exported}extern \"C\" fn {entered}({declared}) -> {returns} {{ {body} }}\n{raised}{otherwise}"
    )
}

/// The body of a function that returns an error code, and what it calls if the call fails.
fn fallible(function: &Function, call: &str, handing: &Handing) -> (String, String) {
    let (full, shown, owner) = (function.full_name(), all_shown(function), owner(function));
    let (declared, passed) = (declared(function), passed_on(function));
    let raised = format!("{}_raised", function.name.to_lowercase());
    let Handing { guard, arm, .. } = handing;
    let body = format!(
        "{guard}match {call} {{ Ok(()) => MPI_SUCCESS, {arm}\
         Err(failure) => {raised}(failure, {passed}) }}"
    );
    // Apart, so that the arguments need no place in memory before something fails.
    let raised = format!(
        "#[cold]\n#[inline(never)]\n\
         #[allow(clippy::too_many_arguments, reason = \"those of the function of C\")]\n\
         fn {raised}(failure: crate::failure::Failure, {declared}) -> c_int {{ \
         crate::raise::raise(failure, {owner}, \"{full}\", &[{shown}]) }}\n"
    );
    (body, raised)
}

/// The parameters of a function with their types.
fn declared(function: &Function) -> String {
    let one = |one: &Parameter| format!("{}: {}, ", one.name, rust(&one.ctype));
    function.parameters.iter().map(one).collect()
}

/// The parameters as arguments of another function.
fn passed_on(function: &Function) -> String {
    function.parameters.iter().map(|one| format!("{}, ", one.name)).collect()
}

/// Both functions of C, which go on in `entered`.
fn exported(function: &Function, entered: &str) -> String {
    let (declared, returns) = (declared(function), rust(&function.returns));
    let full = function.full_name();
    [format!("P{full}"), full]
        .map(|symbol| entry(&format!("fn {symbol}({declared}) -> {returns}"), entered))
        .concat()
}

/// A function of C that keeps its caller and goes on in another one (`src/entry.rs`).
fn entry(function: &str, entered: &str) -> String {
    format!(
        "#[unsafe(naked)]\n#[unsafe(no_mangle)]\n\
         pub extern \"C\" {function} {{ enter!({entered}) }}\n"
    )
}

/// How a message shows the arguments.
fn all_shown(function: &Function) -> String {
    let known = function.parameters.iter().filter(|parameter| parameter.name != MORE);
    known.map(|one| format!("(\"{}\", &{}), ", one.name, shown(one))).collect()
}

/// How a message shows an argument: a number that may be a constant by its name.
fn shown(Parameter { ctype, name, .. }: &Parameter) -> String {
    match name.as_str() {
        _ if ctype != "int" => name.clone(),
        "assert" => format!("crate::assertion::Assertions({name})"),
        "rank" | "root" | "source" | "dest" | "target_rank" => format!("OneOf({name}, RANKS)"),
        "tag" | "sendtag" | "recvtag" => format!("OneOf({name}, TAGS)"),
        "lock_type" => format!("OneOf({name}, LOCKS)"),
        _ => name.clone(),
    }
}

/// Whether the parameter is a place for a result, which must not be null: the error would otherwise come after
/// the call's effect, and its result would be lost.
fn is_output(parameter: &Parameter) -> bool {
    const HANDLES: [&str; 11] = [
        "Comm",
        "Datatype",
        "Errhandler",
        "File",
        "Group",
        "Info",
        "Message",
        "Op",
        "Request",
        "Session",
        "Win",
    ];
    // Arrays, and what MPI_Init does not need.
    const OTHERS: [&str; 4] = ["weights", "sourceweights", "destweights", "argc"];
    let is_one = !parameter.declaration.contains('[')
        && !parameter.declaration.starts_with("const ")
        && !parameter.name.starts_with("array_of")
        && !OTHERS.contains(&parameter.name.as_str());
    let is_of = |of: &str| match of.strip_prefix("MPI_") {
        Some(of) => HANDLES.contains(&of) || matches!(of, "Aint" | "Count" | "Offset"),
        None => of == "int",
    };
    is_one && (parameter.ctype.strip_suffix(" *").is_some_and(is_of) || parameter.name == "baseptr")
}

/// On whose error handler a failure is raised (MPI-4.1 §9.3): that of the window, communicator,
/// session or file among the parameters, if there is one. The tool interface has none.
fn owner(Function { name, parameters, .. }: &Function) -> String {
    if name.starts_with("T_") {
        return "crate::raise::Owner::Tool".into();
    }
    let kinds = [("MPI_Win", "Win"), ("MPI_Comm", "Comm"), ("MPI_Session", "Session")];
    // Also a call that opens a file: the handler of a communicator has no part in it (MPI-4.1 §14.7).
    if name.starts_with("File_") || name.starts_with("Register_datarep") {
        let file = |one: &&Parameter| one.ctype == "MPI_File" || name == "File_close";
        let file = parameters.iter().find(file).map(|one| match one.ctype.as_str() {
            "MPI_File" => one.name.clone(),
            _ => format!("{}.peek()", one.name),
        });
        let file = file.unwrap_or_else(|| "MPI_File::NULL".into());
        return format!("crate::raise::Owner::File({file})");
    }
    for (ctype, kind) in kinds {
        if let Some(one) = parameters.iter().find(|one| one.ctype == ctype) {
            return format!("crate::raise::Owner::{kind}({})", one.name);
        }
    }
    // What a call frees. Behind all that is passed by value: what a call makes is no owner yet.
    for (ctype, kind) in kinds {
        let pointer = format!("{ctype} *");
        if let Some(one) = parameters.iter().find(|one| one.ctype == pointer) {
            return format!("crate::raise::Owner::{kind}({}.peek())", one.name);
        }
    }
    "crate::raise::Owner::None".into()
}

/// The type of `src/arguments.rs`, or of Rust, for one of C.
fn rust(ctype: &str) -> String {
    match ctype {
        "int" | "const int" | "MPI_Fint" | "MPI_T_cb_safety" | "MPI_T_source_order" => {
            "c_int".into()
        }
        "double" => "f64".into(),
        "MPI_Aint" => "Aint".into(),
        "MPI_Count" | "MPI_Offset" => "Count".into(),
        "const char *" => "Text".into(),
        "char *" => "TextBuffer".into(),
        "int (*)[3]" => "ConstPtr<[c_int; 3]>".into(),
        "void *" | "const void *" | "char **" | "char ***" => "Address".into(),
        _ if ctype.ends_with("_function") => "Function".into(),
        _ => match ctype.strip_suffix(" *") {
            Some(of) if of.ends_with("_function") || of.ends_with("_function_c") => {
                "Function".into()
            }
            Some(of) => match of.strip_prefix("const ") {
                Some(of) => format!("ConstPtr<{}>", rust(of)),
                None => format!("Ptr<{}>", rust(of)),
            },
            None => ctype.into(),
        },
    }
}

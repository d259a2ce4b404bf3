//! `mpi.h`, made of the ABI's tables. What the tables do not say stands here: the types.

use crate::groups;
use crate::table::{Constant, Function};
use std::fmt::Write;

macro_rules! copy_attribute {
    ($object:literal) => {
        concat!(
            $object,
            ", int keyval, void *extra_state, void *attribute_val_in, void *attribute_val_out, int *flag"
        )
    };
}
macro_rules! delete_attribute {
    ($object:literal) => {
        concat!($object, ", int keyval, void *attribute_val, void *extra_state")
    };
}
macro_rules! convert {
    ($count:literal) => {
        concat!(
            "void *userbuf, MPI_Datatype datatype, ",
            $count,
            " count, void *filebuf, MPI_Offset position, void *extra_state"
        )
    };
}

/// Kinds of handles: pointers to structures that are never completed, so that the compiler distinguishes one
/// kind from another. The names of the structures are part of what C++ makes of a function's name.
pub const HANDLES: &[(&str, &str)] = &[
    ("MPI_Comm", "MPI_ABI_Comm"),
    ("MPI_Datatype", "MPI_ABI_Datatype"),
    ("MPI_Errhandler", "MPI_ABI_Errhandler"),
    ("MPI_File", "MPI_ABI_File"),
    ("MPI_Group", "MPI_ABI_Group"),
    ("MPI_Info", "MPI_ABI_Info"),
    ("MPI_Message", "MPI_ABI_Message"),
    ("MPI_Op", "MPI_ABI_Op"),
    ("MPI_Request", "MPI_ABI_Request"),
    ("MPI_Session", "MPI_ABI_Session"),
    ("MPI_Win", "MPI_ABI_Win"),
    ("MPI_T_enum", "MPI_T_enum_t"),
    ("MPI_T_cvar_handle", "MPI_T_cvar_handle_t"),
    ("MPI_T_pvar_handle", "MPI_T_pvar_handle_t"),
    ("MPI_T_pvar_session", "MPI_T_pvar_session_t"),
    ("MPI_T_event_registration", "MPI_T_event_registration_t"),
    ("MPI_T_event_instance", "MPI_T_event_instance_t"),
];

/// The types of the functions that a program passes in: what they return, their name without
/// `MPI_`, their parameters.
pub const CALLBACKS: &[(&str, &str, &str)] = &[
    ("void", "User_function", "void *invec, void *inoutvec, int *len, MPI_Datatype *datatype"),
    (
        "void",
        "User_function_c",
        "void *invec, void *inoutvec, MPI_Count *len, MPI_Datatype *datatype",
    ),
    ("int", "Comm_copy_attr_function", copy_attribute!("MPI_Comm comm")),
    ("int", "Comm_delete_attr_function", delete_attribute!("MPI_Comm comm")),
    ("int", "Type_copy_attr_function", copy_attribute!("MPI_Datatype datatype")),
    ("int", "Type_delete_attr_function", delete_attribute!("MPI_Datatype datatype")),
    ("int", "Win_copy_attr_function", copy_attribute!("MPI_Win win")),
    ("int", "Win_delete_attr_function", delete_attribute!("MPI_Win win")),
    ("int", "Copy_function", copy_attribute!("MPI_Comm comm")),
    ("int", "Delete_function", delete_attribute!("MPI_Comm comm")),
    ("void", "Comm_errhandler_function", "MPI_Comm *comm, int *error_code, ..."),
    ("void", "File_errhandler_function", "MPI_File *file, int *error_code, ..."),
    ("void", "Session_errhandler_function", "MPI_Session *session, int *error_code, ..."),
    ("void", "Win_errhandler_function", "MPI_Win *win, int *error_code, ..."),
    ("int", "Grequest_query_function", "void *extra_state, MPI_Status *status"),
    ("int", "Grequest_free_function", "void *extra_state"),
    ("int", "Grequest_cancel_function", "void *extra_state, int complete"),
    (
        "int",
        "Datarep_extent_function",
        "MPI_Datatype datatype, MPI_Aint *extent, void *extra_state",
    ),
    ("int", "Datarep_conversion_function", convert!("int")),
    ("int", "Datarep_conversion_function_c", convert!("MPI_Count")),
    (
        "void",
        "T_event_cb_function",
        "MPI_T_event_instance event_instance, MPI_T_event_registration event_registration, \
         MPI_T_cb_safety cb_safety, void *user_data",
    ),
    (
        "void",
        "T_event_free_cb_function",
        "MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, void *user_data",
    ),
    (
        "void",
        "T_event_dropped_cb_function",
        "MPI_Count count, MPI_T_event_registration event_registration, int source_index, \
         MPI_T_cb_safety cb_safety, void *user_data",
    ),
];

/// Enumerations that are types; their enumerators are those whose names begin so.
pub const ENUMERATIONS: &[(&str, &str)] =
    &[("MPI_T_cb_safety", "T_CB_REQUIRE_"), ("MPI_T_source_order", "T_SOURCE_")];

/// No line of a declaration is longer.
const WIDTH: usize = 100;

const BEGIN: &str = "\
/* The C interface of onesided, by the MPI 5.0 standard ABI.

   Made from the tables in capi/abi by capi/install. A program that is compiled with this file
   runs with any libmpi_abi.so.1: with onesided's under rmarun, with a cluster's MPI under its
   mpiexec. */

#ifndef MPI_H_ABI
#define MPI_H_ABI

#include <stdint.h>

#ifdef __cplusplus
extern \"C\" {
#endif
";

const SIMPLE_TYPES: &str = "\
/* An address or a difference of two, a place in a file, and a count of anything. */
typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef MPI_Offset MPI_Count;

/* What a receive or a test tells; the last member is the library's own. */
typedef struct {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int MPI_internal[5];
} MPI_Status;
";

const OLD_NAMES: &str = "
/* As MPI-2.0 named them. */
typedef MPI_Comm_errhandler_function MPI_Comm_errhandler_fn;
typedef MPI_File_errhandler_function MPI_File_errhandler_fn;
typedef MPI_Win_errhandler_function MPI_Win_errhandler_fn;
";

const END: &str = "
#ifdef __cplusplus
}
#endif

#endif
";

/// The text of `mpi.h`.
pub fn text(functions: &[Function], constants: &[Constant]) -> String {
    let mut text = String::from(BEGIN);
    let of = |kind: &'static str| constants.iter().filter(move |one| one.kind == kind);
    heading(&mut text, "The version of the standard, and the longest strings");
    of("macro").for_each(|one| define(&mut text, &one.name, &one.value, &one.name));
    heading(&mut text, "Types");
    text.push_str(SIMPLE_TYPES);
    text.push_str("\n/* Handles. */\n");
    for (name, tag) in HANDLES {
        let _ = writeln!(text, "typedef struct {tag} *{name};");
    }
    enumerators(&mut text, constants);
    text.push_str("\n/* Functions that a program passes in. */\n");
    for (returns, name, parameters) in CALLBACKS {
        let list: Vec<&str> = parameters.split(", ").collect();
        declare(&mut text, &format!("typedef {returns} (MPI_{name})"), &list, name);
    }
    text.push_str(OLD_NAMES);
    pointers(&mut text, constants);
    for (number, group) in groups::FUNCTIONS.iter().enumerate() {
        heading(&mut text, group.heading);
        let members = functions.iter().filter(|one| groups::of(&one.name) == Some(number));
        members.for_each(|one| function(&mut text, "MPI_", one));
    }
    heading(&mut text, "All once more, by the names that a tool calls which replaces the first");
    functions.iter().for_each(|one| function(&mut text, "PMPI_", one));
    text.push_str(END);
    text
}

fn heading(text: &mut String, heading: &str) {
    let _ = write!(text, "\n/* ---- {heading} ---- */\n\n");
}

/// The constants that are numbers: enumerators, so that a debugger knows their names.
fn enumerators(text: &mut String, constants: &[Constant]) {
    let numbers: Vec<&Constant> = constants.iter().filter(|one| one.kind == "int").collect();
    let type_of =
        |one: &Constant| ENUMERATIONS.iter().find(|(_, begin)| one.name.starts_with(begin));
    for (name, begin) in ENUMERATIONS {
        let members = numbers.iter().filter(|one| one.name.starts_with(begin));
        let _ = writeln!(text, "\ntypedef enum {name} {{\n{}\n}} {name};", list(members));
    }
    let heading = |one: &Constant| groups::ENUMERATORS.iter().find(|(first, _)| *first == one.name);
    let plain: Vec<&Constant> = numbers.into_iter().filter(|one| type_of(one).is_none()).collect();
    for group in plain.chunk_by(|_, next| heading(next).is_none()) {
        let (_, heading) = heading(group[0]).expect("the first has a heading");
        let _ = writeln!(text, "\n/* {heading}. */\nenum {{\n{}\n}};", list(group));
    }
}

/// Enumerators, a line each. None has a comma behind the last, which the oldest C does not know.
fn list<'a>(members: impl IntoIterator<Item = &'a &'a Constant>) -> String {
    let members: Vec<&&Constant> = members.into_iter().collect();
    let line = |(i, one): (usize, &&&Constant)| {
        let comma = if i + 1 == members.len() { "" } else { "," };
        format!("    MPI_{} = {}{comma}{}", one.name, one.value, note(&one.name))
    };
    members.iter().enumerate().map(line).collect::<Vec<String>>().join("\n")
}

/// The constants that are handles, addresses or functions.
fn pointers(text: &mut String, constants: &[Constant]) {
    let is_number = |one: &&Constant| ["macro", "int"].contains(&one.kind.as_str());
    let mut kind = "";
    for one in constants.iter().filter(|one| !is_number(one)) {
        if kind_of(one) != kind {
            kind = kind_of(one);
            let _ = write!(text, "\n/* {kind}. */\n");
        }
        let value = match one.kind.as_str() {
            "alias" => format!("MPI_{}", one.value),
            ctype => format!("(({ctype}){})", one.value),
        };
        define(text, &one.name, &value, &one.name);
    }
}

/// Under which comment a constant stands.
fn kind_of(one: &Constant) -> &str {
    match one.kind.as_str() {
        kind if kind.ends_with("function*") || kind.ends_with("function_c*") => {
            "Functions that the library knows by these values, and never calls"
        }
        kind if kind.ends_with('*') => "Addresses with a meaning of their own",
        kind if kind.starts_with("MPI_T_") => "Handles of the tool interface",
        "alias" => "Second names",
        "MPI_Op" => "Operations",
        "MPI_Comm" => "Communicators",
        "MPI_Group" => "Groups",
        "MPI_Errhandler" => "Error handlers",
        "MPI_Datatype" => "Datatypes",
        "MPI_Offset" => "Places in files",
        _ => "Other handles",
    }
}

fn define(text: &mut String, name: &str, value: &str, of: &str) {
    let _ = writeln!(text, "#define MPI_{name} {value}{}", note(of));
}

fn function(text: &mut String, prefix: &str, one: &Function) {
    let list: Vec<&str> = match one.parameters.is_empty() {
        true => vec!["void"],
        false => one.parameters.iter().map(|one| one.declaration.as_str()).collect(),
    };
    declare(text, &format!("{} {prefix}{}", one.returns, one.name), &list, &one.name);
}

/// A declaration, its parameters on as few lines as they need.
fn declare(text: &mut String, head: &str, list: &[&str], of: &str) {
    let mut line = format!("{head}(");
    for (i, parameter) in list.iter().enumerate() {
        let end = if i + 1 == list.len() { ");" } else { "," };
        if line.len() + 1 + parameter.len() + end.len() > WIDTH {
            let _ = writeln!(text, "{line}");
            line = String::from("   ");
        }
        let space = if line.ends_with('(') { "" } else { " " };
        let _ = write!(line, "{space}{parameter}{end}");
    }
    let _ = writeln!(text, "{line}{}", note(of));
}

/// The comment at a name that the standard advises against.
fn note(name: &str) -> String {
    let found = groups::DEPRECATED.iter().find(|(deprecated, _)| *deprecated == name);
    found.map_or_else(String::new, |(_, since)| format!(" /* deprecated since {since} */"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    fn names() -> Vec<String> {
        let functions = table::functions().into_iter().map(|one| one.name);
        let constants = table::constants().into_iter().map(|one| one.name);
        let callbacks = CALLBACKS.iter().map(|(_, name, _)| (*name).to_owned());
        functions.chain(constants).chain(callbacks).collect()
    }

    #[test]
    fn every_function_is_in_a_group() {
        let lost: Vec<String> = table::functions().into_iter().map(|one| one.name).collect();
        let lost: Vec<_> = lost.iter().filter(|name| groups::of(name).is_none()).collect();
        assert!(lost.is_empty(), "{lost:?}");
    }

    #[test]
    fn every_name_has_its_declaration() {
        let text = text(&table::functions(), &table::constants());
        for function in table::functions() {
            for twin in ["MPI_", "PMPI_"] {
                let begin = format!("{} {twin}{}(", function.returns, function.name);
                assert_eq!(text.matches(&format!("\n{begin}")).count(), 1, "{begin}");
            }
        }
        for Constant { kind, name, .. } in table::constants() {
            let begin = match kind.as_str() {
                "int" => format!("    MPI_{name} = "),
                _ => format!("#define MPI_{name} "),
            };
            assert_eq!(text.matches(&format!("\n{begin}")).count(), 1, "{begin}");
        }
    }

    #[test]
    fn no_line_is_too_long() {
        let text = text(&table::functions(), &table::constants());
        // A comment on deprecation may go beyond.
        let lines = text.lines().map(|line| line.split(" /* deprecated").next().unwrap_or(line));
        let long: Vec<&str> = lines.filter(|line| line.len() > WIDTH).collect();
        assert!(long.is_empty(), "{long:#?}");
    }

    #[test]
    fn headings_and_notes_are_of_names_that_exist() {
        let names = names();
        let first = groups::ENUMERATORS.iter().map(|(first, _)| first);
        for name in first.chain(groups::DEPRECATED.iter().map(|(name, _)| name)) {
            assert!(names.iter().any(|one| one == name), "{name}");
        }
    }
}

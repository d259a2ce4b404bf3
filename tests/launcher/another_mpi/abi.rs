//! What the engine has of the ABI, compared with the tables of the C interface.

use onesided::{Datatype, Op};
use std::collections::BTreeMap;

const OURS: &str = include_str!("../../../src/foreign/abi.rs");
const CALLS: &str = include_str!("../../../src/foreign/library.rs");
const ERRORS: &str = include_str!("../../../src/error/foreign.rs");
const CONSTANTS: &str = include_str!("../../../capi/abi/constants.txt");
const FUNCTIONS: &str = include_str!("../../../capi/abi/functions.txt");

fn number(text: &str) -> i64 {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).unwrap(),
        None => text.parse().unwrap_or_else(|_| panic!("{text} is no number")),
    }
}

/// The ABI's constants by name.
fn constants() -> BTreeMap<&'static str, i64> {
    let words = CONSTANTS.lines().filter(|line| !line.starts_with('#'));
    let words = words.filter_map(|line| line.rsplit_once(' '));
    let numbers =
        words.filter(|(_, value)| value.starts_with(|c: char| c.is_ascii_digit() || c == '-'));
    numbers.map(|(name, value)| (name.rsplit(' ').next().unwrap(), number(value))).collect()
}

/// The numbers that the engine uses, by the ABI's name.
fn used() -> Vec<(String, i64)> {
    let names: BTreeMap<String, &str> = Datatype::ALL
        .iter()
        .map(|datatype| (format!("Datatype::{datatype:?}"), datatype.name()))
        .chain(Op::ALL.iter().map(|op| (format!("Op::{op:?}"), op.name())))
        .chain([
            ("Datatype::LongDouble".into(), "MPI_LONG_DOUBLE"),
            ("Datatype::LongDoubleComplex".into(), "MPI_C_LONG_DOUBLE_COMPLEX"),
            ("Datatype::LongDoubleInt".into(), "MPI_LONG_DOUBLE_INT"),
            ("Datatype::I128".into(), "MPI_INTEGER16"),
        ])
        .collect();
    let mut found = BTreeMap::new();
    for line in OURS.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("pub(super) const ") {
            let (name, rest) = rest.split_once(':').unwrap();
            let value = rest.split_once('=').unwrap().1.trim_end_matches(';');
            found.insert(name.to_owned(), number(value));
        } else if let Some((name, value)) = line.split_once(" => ") {
            let value = value.trim_end_matches(',');
            let value = found.get(value).copied().unwrap_or_else(|| number(value));
            found.insert(names[name].trim_start_matches("MPI_").to_owned(), value);
        }
    }
    found.into_iter().collect()
}

#[test]
fn numbers_are_those_of_the_abi() {
    let (used, constants) = (used(), constants());
    assert!(used.len() > 50, "{used:?}");
    for (name, value) in used {
        assert_eq!(constants.get(name.as_str()), Some(&value), "{name}");
    }
}

/// How a parameter of C is declared in the engine; of pointers only that they are some.
fn declared(parameter: &str) -> &'static str {
    let words: Vec<&str> = parameter.split_whitespace().collect();
    match words[..] {
        _ if parameter.contains(['*', '[']) => "pointer",
        ["int", _] => "c_int",
        ["MPI_Count", _] => "Count",
        ["MPI_Aint", _] => "Address",
        [kind, _] if kind.starts_with("MPI_") => "Handle",
        _ => panic!("{parameter} is of an unknown kind"),
    }
}

#[test]
fn functions_take_what_the_abi_says() {
    let table = CALLS.split("functions! {").nth(1).unwrap().split("\n}").next().unwrap();
    let mut checked = 0;
    // The functions with safe types stand in a block of their own.
    let entries = table.split(';').map(|entry| entry.replace("safe {", "").replace('}', ""));
    for entry in entries.filter(|entry| !entry.trim().is_empty()) {
        let name = entry.split('"').nth(1).unwrap().trim_start_matches("MPI_");
        let ours = entry.split_once('(').unwrap().1.trim_end_matches(')');
        let ours = ours.split(',').map(str::trim).filter(|one| !one.is_empty());
        let ours: Vec<&str> = ours
            .map(|one| {
                let is_reference = one.starts_with('&') || one.starts_with("Option<&");
                let is_pointer = one.starts_with('*') || ["From", "To"].contains(&one);
                if is_reference || is_pointer { "pointer" } else { one }
            })
            .collect();
        let start = format!("int {name}(");
        let line = FUNCTIONS.lines().find_map(|line| line.strip_prefix(start.as_str()));
        let line = line.unwrap_or_else(|| panic!("the ABI has no {name}"));
        let (parameters, _) = line.split_once(')').unwrap();
        let theirs = parameters.split(", ").filter(|one| !one.is_empty());
        assert_eq!(ours, theirs.map(declared).collect::<Vec<_>>(), "{name}");
        checked += 1;
    }
    assert!(checked > 30);
}

#[test]
fn error_classes_are_those_of_the_abi() {
    let (constants, mut checked) = (constants(), 0);
    for line in ERRORS.lines().map(str::trim) {
        let Some((value, class)) = line.split_once(" => ErrorClass::") else { continue };
        let Ok(value) = value.parse::<i64>() else { continue };
        let mut name = "ERR".to_owned();
        for letter in class.trim_end_matches(',').chars() {
            name.extend(letter.is_uppercase().then_some('_'));
            name.push(letter.to_ascii_uppercase());
        }
        // The standard's name for a rank that is gone.
        let name = name.replace("PROC_FAILED", "PROC_ABORTED");
        assert_eq!(constants.get(name.as_str()), Some(&value), "{name}");
        checked += 1;
    }
    assert!(checked > 15);
}

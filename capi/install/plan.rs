//! What is installed, and where below the prefix.

use crate::build::Built;
use crate::{header, table};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Something to be put in its place.
pub struct Item {
    /// From the prefix.
    pub path: PathBuf,
    pub what: What,
}

pub enum What {
    /// A copy of a file.
    Copy(PathBuf),
    Text(String),
    Script(String),
    /// A symbolic link to a neighbour.
    Link(&'static str),
}

const VERSION: &str = env!("CARGO_PKG_VERSION");
const LIBRARY: &str = "libmpi_abi.so.1.0.0";
const WRAPPER: &str = include_str!("rmacc.sh");
const PKG_CONFIG: &str = include_str!("onesided.pc");

/// What the launcher prints of itself, and where manuals and completions of shells are looked for.
const PRINTED: [(&str, &str); 4] = [
    ("man", "share/man/man1/rmarun.1"),
    ("bash", "share/bash-completion/completions/rmarun"),
    ("zsh", "share/zsh/site-functions/_rmarun"),
    ("fish", "share/fish/vendor_completions.d/rmarun.fish"),
];

/// Everything, in the order in which it is put in its place.
pub fn items(built: &Built, mpi_names: bool) -> Result<Vec<Item>, String> {
    let header = header::text(&table::functions(), &table::constants());
    let mut items = vec![
        item("lib/libmpi_abi.so.1.0.0", What::Copy(built.library.clone())),
        item("lib/libmpi_abi.so.1", What::Link(LIBRARY)),
        item("lib/libmpi_abi.so", What::Link(LIBRARY)),
        item("include/mpi.h", What::Text(header)),
        item("bin/rmacc", What::Script(wrapper(&C))),
        item("bin/rmacxx", What::Script(wrapper(&CXX))),
        item("bin/rmarun", What::Copy(built.launcher.clone())),
        item("lib/pkgconfig/onesided.pc", What::Text(filled(PKG_CONFIG, &[]))),
    ];
    // In a folder of their own, which rmarun names to the loader: by these names programs of today look for
    // another MPI's library.
    items.push(item("lib/onesided/libmpi.so.12", What::Copy(built.mpich.clone())));
    for (name, to) in [
        ("libmpi.so", "libmpi.so.12"),
        ("libmpich.so.12", "libmpi.so.12"),
        ("libmpicxx.so.12", "libmpi.so.12"),
        ("libmpifort.so.12", "libmpi.so.12"),
        ("libmpi_abi.so.1", "../libmpi_abi.so.1"),
    ] {
        items.push(item(&format!("lib/onesided/{name}"), What::Link(to)));
    }
    let node = What::Copy(built.node.clone());
    items.push(item("lib/onesided/libonesided_node.so", node));
    for (what, path) in PRINTED {
        items.push(item(path, What::Text(printed(&built.printer, what)?)));
    }
    if mpi_names {
        for (name, to) in [
            ("bin/mpicc", "rmacc"),
            ("bin/mpicxx", "rmacxx"),
            ("bin/mpic++", "rmacxx"),
            ("bin/mpiexec", "rmarun"),
            ("bin/mpirun", "rmarun"),
        ] {
            items.push(item(name, What::Link(to)));
        }
    }
    Ok(items)
}

fn printed(launcher: &Path, what: &str) -> Result<String, String> {
    let output = Command::new(launcher).args(["--print", what]).output();
    let output = output.map_err(|problem| format!("{}: {problem}", launcher.display()))?;
    match String::from_utf8(output.stdout) {
        Ok(text) if output.status.success() => Ok(text),
        _ => Err(format!("{} --print {what} failed: {}", launcher.display(), output.status)),
    }
}

fn item(path: &str, what: What) -> Item {
    Item { path: path.into(), what }
}

/// What one wrapper has that the other has not.
struct Wrapper {
    name: &'static str,
    language: &'static str,
    compiler: &'static str,
    option: &'static str,
    variable: &'static str,
}

const C: Wrapper =
    Wrapper { name: "rmacc", language: "C", compiler: "cc", option: "-cc", variable: "RMACC_CC" };
const CXX: Wrapper = Wrapper {
    name: "rmacxx",
    language: "C++",
    compiler: "c++",
    option: "-cxx",
    variable: "RMACXX_CXX",
};

fn wrapper(of: &Wrapper) -> String {
    filled(
        WRAPPER,
        &[
            ("@NAME@", of.name),
            ("@LANGUAGE@", of.language),
            ("@COMPILER@", of.compiler),
            ("@OPTION@", of.option),
            ("@VARIABLE@", of.variable),
        ],
    )
}

/// A template with words in its gaps.
pub fn filled(template: &str, words: &[(&str, &str)]) -> String {
    let text = template.replace("@VERSION@", VERSION);
    words.iter().fold(text, |text, (gap, word)| text.replace(gap, word))
}

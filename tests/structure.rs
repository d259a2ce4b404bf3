//! The structure of the sources, checked by reading them (ARCHITECTURE.md): what may stand where, which
//! module imports which, and figures that may only fall. `cargo test --test structure -- --nocapture`
//! prints the figures.

#[path = "structure/words.rs"]
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A rule: where text that contains one of the patterns may stand.
struct Rule {
    what: &'static str,
    patterns: &'static [&'static str],
    files: &'static [&'static str],
}

const RULES: &[Rule] = &[
    Rule {
        what: "unsafe code",
        patterns: &["unsafe {", "unsafe impl", "unsafe fn"],
        files: &[
            // An instruction and a system call that no crate names.
            "src/prim/processor.rs",
            // The kernel: descriptors by number, addresses of other processes.
            "src/shm/os.rs",
            // The mapping: checked views, and the types whose any bytes are valid.
            "src/shm/segment.rs",
            // The copies between raw addresses.
            "src/shm/copy.rs",
            // A mutex lends what it guards.
            "src/shm/biased.rs",
            // Atomics and loops over elements by address; long double.
            "src/datatype/machine.rs",
            // Put and get: origin buffers and checked target memory.
            "src/ops/transfer.rs",
            // Accumulates: the same.
            "src/ops/elements.rs",
            // Origin buffers by address: the caller's promise.
            "src/ops/buffer.rs",
            // The seam to the three kinds of memory.
            "src/window/memory.rs",
            // Memory of the segment that a value owns; memory that the program exposes.
            "src/memory.rs",
            // A slice of an exclusively locked own part; NOCHECK, on which it relies.
            "src/epoch/local.rs",
            // The functions of another MPI's library.
            "src/foreign/library.rs",
            "launcher/guard.rs",
            "launcher/panes.rs",
            "launcher/ranks.rs",
            "launcher/signals.rs",
            "capi/src/arguments.rs",
            "capi/src/assertion.rs",
            "capi/src/attribute/function.rs",
            "capi/src/exit.rs",
            "capi/src/file/callback.rs",
            "capi/src/generalized.rs",
            "capi/src/handle.rs",
            "capi/src/handler.rs",
            "capi/src/op/callback.rs",
            // What the loader gives.
            "capi/src/process.rs",
            "capi/src/race.rs",
            "capi/src/threads.rs",
            "capi/src/threads/openmp.rs",
            "capi/src/threads/openmp/clang.rs",
        ],
    },
    Rule {
        what: "a memory ordering or a fence",
        patterns: &["Ordering::", "Relaxed)", "SeqCst)", "AcqRel)", "fence(Seq", "fence(if"],
        files: &[
            "src/prim/native.rs",
            "src/prim/model.rs",
            "src/prim/simulated.rs",
            "src/prim/order.rs",
            "src/datatype/machine.rs",
            "capi/src/errors.rs",
            "capi/src/handle.rs",
            "capi/src/host/handles.rs",
            "capi/src/race.rs",
            "capi/src/settled.rs",
        ],
    },
    Rule {
        what: "a futex, a spin or a yield",
        patterns: &["futex::", "yield_now", "spin_loop", "crossbeam_utils::Backoff"],
        files: &["src/prim/native.rs", "src/prim/model.rs"],
    },
    Rule {
        what: "a system call",
        patterns: &["nix::", "rustix::", "libc::"],
        files: &[
            "src/shm/os.rs",
            "src/prim/native.rs",
            "src/prim/processor.rs",
            "src/prim/placement.rs",
            "src/launch.rs",
            "src/launch/fault.rs",
            "launcher/",
        ],
    },
    Rule {
        what: "a mapping",
        patterns: &["MmapRaw", "MmapOptions"],
        files: &["src/shm/os.rs", "src/shm/segment.rs"],
    },
    Rule {
        what: "an environment variable",
        patterns: &["env::var", "\"ONESIDED_"],
        files: &["src/launch.rs", "launcher/foreign.rs", "launcher/words.rs"],
    },
    Rule {
        what: "a sentence for the user",
        patterns: &["#[error("],
        files: &["src/error.rs", "src/error/foreign.rs"],
    },
    Rule {
        what: "the switch between machine and model",
        patterns: &["cfg(loom)", "cfg(not(loom))", "loom::"],
        files: &["src/prim/"],
    },
    Rule { what: "unfinished work", patterns: &["TODO", "XXX", "FIXME"], files: &[] },
];

/// The modules of `src`, lowest first; a module imports only from its own row or from above it, and no
/// modules import each other.
const LAYERS: &[&[&str]] = &[
    &["call", "rank", "error", "handler", "info", "mixer"],
    &["prim"],
    &["sync"],
    &["shm"],
    &["op"],
    &["datatype"],
    &["check", "trace"],
    &["statistics"],
    &["foreign"],
    &["launch"],
    &["context"],
    &["mail"],
    &["attribute", "group"],
    &["comm"],
    &["race"],
    &["universe"],
    &["memory"],
    &["window"],
    &["ops"],
    &["message"],
    &["collective"],
    &["epoch"],
];

/// The functions from a public put of eight bytes down to the copy, each of which calls the next: the
/// file of each, and its name.
const PUT: &[(&str, &str)] = &[
    ("src/epoch/access.rs", "put"),
    ("src/ops/calls.rs", "put"),
    ("src/ops/transfer.rs", "transfer"),
    ("src/ops/transfer.rs", "try_transfer"),
    ("src/ops/transfer.rs", "move_slice"),
    ("src/ops/transfer.rs", "copy_out"),
    ("src/shm/copy.rs", "copy"),
];

/// A figure of `src` that may only fall: a change that lowers it also lowers `now`.
struct Figure {
    what: &'static str,
    /// Its value.
    now: usize,
    /// What it is to become.
    aim: usize,
}

const UNSAFE: Figure = Figure { what: "files of src with unsafe code", now: 13, aim: 12 };
const IMPL_WIN: Figure = Figure { what: "files of src with `impl Win`", now: 2, aim: 2 };
const IMPL_COMM: Figure = Figure { what: "files of src with `impl Comm`", now: 3, aim: 2 };
const TWICE: Figure = Figure { what: "names of types defined twice in src", now: 0, aim: 0 };
const WITHOUT_EXAMPLE: Figure =
    Figure { what: "public types without an example in their documentation", now: 0, aim: 0 };
const OPERATIONS: Figure =
    Figure { what: "operations without an example in their documentation", now: 0, aim: 0 };
const HOPS: Figure = Figure { what: "functions between a public put and the copy", now: 5, aim: 6 };

impl Figure {
    /// Prints what has been found, and fails if it is not what is held.
    #[track_caller]
    fn hold(&self, found: &[String]) {
        let Figure { what, now, aim } = self;
        println!("{what}: {} (aim: {aim})", found.len());
        found.iter().for_each(|one| println!("    {one}"));
        let number = found.len();
        assert!(number <= *now, "{what}: {number}, more than {now}:\n{}", found.join("\n"));
    }
}

/// What the library, the launcher and the C interface are made of.
fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    ["src", "launcher", "capi/src"]
        .iter()
        .for_each(|folder| collect(&root.join(folder), &mut files));
    let name = |path: &PathBuf| path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
    files.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The lines of code, without comments and without the unit tests at the end of the file.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_tests = |line: &&str| line.starts_with("#[cfg(test)]") || line.contains("cfg(all(test");
    let lines = text.lines().take_while(move |line| !is_tests(line)).enumerate();
    lines.map(|(i, line)| (i + 1, line.split("//").next().unwrap_or_default()))
}

#[test]
fn every_line_is_where_it_may_stand() {
    let mut faults = Vec::new();
    for (file, text) in sources() {
        for rule in RULES {
            if rule.files.iter().any(|one| file.starts_with(one)) {
                continue;
            }
            // The standard library's module is no system call of the crate `nix`, and how two values
            // compare is no ordering of memory.
            let seen = |line: &str| line.replace("os::unix::", "").replace("cmp::Ordering", "");
            let hits = code(&text)
                .filter(|(_, line)| rule.patterns.iter().any(|p| seen(line).contains(p)));
            faults.extend(
                hits.map(|(n, line)| format!("{file}:{n}: {}: {}", rule.what, line.trim())),
            );
        }
    }
    assert!(faults.is_empty(), "where it may not stand:\n{}", faults.join("\n"));
}

#[test]
fn every_permission_is_used() {
    let sources = sources();
    for rule in RULES {
        for one in rule.files {
            let is_used = sources.iter().any(|(file, text)| {
                file.starts_with(one) && rule.patterns.iter().any(|p| text.contains(p))
            });
            assert!(is_used, "{one} has no {}: take it out of the rule", rule.what);
        }
    }
}

/// Which modules of `src` each of its modules imports, and a line that does.
fn imports() -> BTreeMap<String, BTreeMap<String, String>> {
    let mut imports: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (file, text) in sources() {
        let Some(path) = file.strip_prefix("src/") else { continue };
        let own = path.split(['/', '.']).next().unwrap();
        let of_own = imports.entry(own.to_owned()).or_default();
        for (n, line) in code(&text) {
            for module in line.split("crate::").skip(1) {
                let module = module.split(|c: char| !c.is_alphanumeric() && c != '_').next();
                let module = module.unwrap().to_owned();
                of_own.entry(module).or_insert_with(|| format!("{file}:{n}: {}", line.trim()));
            }
        }
        of_own.remove(own);
    }
    // The front page names what is public; it belongs to no layer.
    imports.remove("lib");
    imports
}

#[test]
fn modules_import_downwards_only() {
    let layer = |module: &str| LAYERS.iter().position(|modules| modules.contains(&module));
    let imports = imports();
    let mut faults = Vec::new();
    for (own, imported) in &imports {
        let own_layer = layer(own).unwrap_or_else(|| panic!("{own} is in no layer"));
        let upwards = |module: &String| layer(module).is_none_or(|found| found > own_layer);
        faults.extend(imported.iter().filter(|(module, _)| upwards(module)).map(|(_, line)| line));
    }
    for (row, modules) in LAYERS.iter().enumerate() {
        println!("{row:2} {}", modules.join(", "));
    }
    assert!(faults.is_empty(), "imports from a higher layer:\n{faults:#?}");
}

#[test]
fn no_modules_import_each_other() {
    let imports = imports();
    // Takes away what imports nothing that is left; what cannot be taken away is in a circle, or above one.
    let mut left: BTreeSet<&String> = imports.keys().collect();
    loop {
        let imports_none = |module: &&&String| !imports[**module].keys().any(|m| left.contains(m));
        let Some(lowest) = left.iter().find(imports_none).copied() else { break };
        left.remove(lowest);
    }
    assert!(left.is_empty(), "in a circle of imports, or above one: {left:?}");
}

/// The files of `src` with a line that `is_one`.
fn files_with(is_one: impl Fn(&str) -> bool) -> Vec<String> {
    let files = sources().into_iter().filter(|(file, _)| file.starts_with("src/"));
    let with = files.filter(|(_, text)| code(text).any(|(_, line)| is_one(line)));
    let mut with: Vec<String> = with.map(|(file, _)| file).collect();
    with.sort();
    with
}

#[test]
fn unsafe_code_is_in_few_files() {
    let patterns = RULES.iter().find(|rule| rule.what == "unsafe code").unwrap().patterns;
    UNSAFE.hold(&files_with(|line| patterns.iter().any(|pattern| line.contains(pattern))));
}

#[test]
fn types_have_few_homes() {
    IMPL_WIN.hold(&files_with(|line| line == "impl Win {"));
    IMPL_COMM.hold(&files_with(|line| line == "impl Comm {"));
}

/// The type that a line at the left margin defines.
fn defined(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub") {
        None => line,
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.strip_prefix(' ')?,
    };
    let kinds = ["struct ", "enum ", "union ", "trait ", "type "];
    let rest = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

#[test]
fn no_more_types_share_a_name() {
    let mut homes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in sources() {
        // What stands for the machine has its names, and tests have their own.
        let machines = ["src/prim/model.rs", "src/prim/simulated.rs"];
        let is_twin = machines.contains(&&*file) || file.contains("/tests/");
        if file.starts_with("src/") && !is_twin {
            for name in code(&text).filter_map(|(_, line)| defined(line)) {
                homes.entry(name.to_owned()).or_default().insert(file.clone());
            }
        }
    }
    assert!(homes.len() > 200, "{} types", homes.len());
    homes.retain(|_, files| files.len() > 1);
    let shown = |(name, files): (&String, &BTreeSet<String>)| {
        format!("{name}: {}", files.iter().cloned().collect::<Vec<_>>().join(", "))
    };
    TWICE.hold(&homes.iter().map(shown).collect::<Vec<_>>());
}

/// The names of types that the crate exports, without those of test builds.
fn exported(front_page: &str) -> BTreeSet<&str> {
    let (users, _) = front_page.split_once("pub mod hooks").unwrap();
    let uses = users.split("pub use ").skip(1).map(|text| text.split(';').next().unwrap());
    let names = uses.flat_map(|text| text.split(|c: char| !c.is_alphanumeric() && c != '_'));
    names.filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase())).collect()
}

#[test]
fn few_public_types_have_no_example() {
    let sources = sources();
    let (_, front_page) = sources.iter().find(|(file, _)| file == "src/lib.rs").unwrap();
    let names = exported(front_page);
    let mut without = Vec::new();
    for (file, text) in sources.iter().filter(|(file, _)| file.starts_with("src/")) {
        let mut has_example = false;
        for line in text.lines() {
            has_example |= line.starts_with("/// ```");
            let name = line.starts_with("pub ").then(|| defined(line)).flatten();
            without.extend(
                { name }
                    .filter(|name| !has_example && names.contains(name))
                    .map(|name| format!("{name}: {file}")),
            );
            // A blank line or the end of an item ends what belongs to the item before.
            has_example &= !line.is_empty() && line != "}";
        }
    }
    assert!(names.len() > 80, "{} names", names.len());
    WITHOUT_EXAMPLE.hold(&without);
}

/// Whether a line begins a function that is an operation.
type IsOperation = fn(&str) -> bool;

/// The calls of epochs, and those of communicators with slices or vectors.
#[test]
fn every_operation_has_an_example() {
    let of_epochs = |line: &str| ["fn ", "pub fn "].iter().any(|begin| line.starts_with(begin));
    let of_elements = |line: &str| line.starts_with("pub fn ") && line.contains("<T: ");
    let files: [(&str, IsOperation); 4] = [
        ("src/epoch/access.rs", of_epochs),
        ("src/epoch/waiting.rs", of_epochs),
        ("src/collective/calls.rs", of_elements),
        ("src/message/calls.rs", of_elements),
    ];
    let (sources, mut without, mut count) = (sources(), Vec::new(), 0);
    for (name, is_one) in files {
        let (_, text) = sources.iter().find(|(file, _)| file == name).unwrap();
        let (text, _) = text.split_once("\n    pub trait Guard").unwrap_or((text, ""));
        let mut has_example = false;
        for line in text.lines().map(str::trim) {
            has_example |= line.starts_with("/// ```");
            if is_one(line) {
                count += 1;
                without.extend((!has_example).then(|| format!("{name}: {line}")));
            }
            has_example &= !line.is_empty() && line != "}";
        }
    }
    assert!(count > 50, "{count} operations");
    OPERATIONS.hold(&without);
}

/// The text of a function: from its name to the end of its body.
fn body<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let start = [format!("fn {name}("), format!("fn {name}<")];
    let start = start.iter().filter_map(|start| text.find(start.as_str())).min()?;
    let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
    let margin = text[line..].len() - text[line..].trim_start().len();
    let end = format!("\n{}}}\n", " ".repeat(margin));
    let length = text[start..].find(&end)?;
    Some(&text[start..start + length])
}

#[test]
fn a_put_goes_down_in_few_hops() {
    let sources: BTreeMap<String, String> = sources().into_iter().collect();
    for ((file, name), next) in PUT.iter().zip(PUT.iter().skip(1).map(Some).chain([None])) {
        let text = body(&sources[*file], name).unwrap_or_else(|| panic!("{file} has no {name}"));
        if let Some((_, next)) = next {
            let (_, inside) = text.split_once('{').unwrap();
            let calls =
                [format!("{next}("), format!("{next}::<")].iter().any(|call| inside.contains(call));
            assert!(calls, "{file} {name} does not call {next}");
        }
    }
    let between = &PUT[1..PUT.len() - 1];
    HOPS.hold(&between.iter().map(|(file, name)| format!("{file} {name}")).collect::<Vec<_>>());
}

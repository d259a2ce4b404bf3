//! A room for every line: what may stand where, checked by reading the source (ARCHITECTURE.md).

#[path = "structure/words.rs"]
mod words;

use std::fs;
use std::path::{Path, PathBuf};

/// A rule: where text that contains one of the patterns may stand.
struct Rule {
    what: &'static str,
    patterns: &'static [&'static str],
    rooms: &'static [&'static str],
}

const RULES: &[Rule] = &[
    Rule {
        what: "unsafe code",
        patterns: &["unsafe {", "unsafe impl", "unsafe fn"],
        rooms: &[
            "src/prim/membarrier.rs",
            "src/prim/native.rs",
            "src/shm/os.rs",
            "src/shm/segment.rs",
            "src/shm/span.rs",
            "src/shm/copy.rs",
            "src/shm/strip.rs",
            "src/shm/favouring.rs",
            "src/shm/process.rs",
            "src/shm/numa.rs",
            "src/op/carrier.rs",
            "src/ops/transfer.rs",
            "src/ops/accumulate.rs",
            "src/ops/swap.rs",
            "src/ops/foreign.rs",
            "src/ops/bulk.rs",
            "src/ops/update.rs",
            "src/op/functions.rs",
            "src/op/extended.rs",
            "src/ops/untyped.rs",
            "src/ops/local.rs",
            "src/ops/blocks.rs",
            "src/collective/buffer.rs",
            "src/ops/packed.rs",
            "src/ops/own.rs",
            "src/window/watch.rs",
            "src/window/create.rs",
            "src/memory.rs",
            "src/epoch/exposed.rs",
            "src/epoch/shared.rs",
            "src/window/assertion.rs",
            "src/epoch/local.rs",
            // Functions of a library that is loaded: the foreign interface of the other MPI.
            "src/foreign/comm.rs",
            "src/foreign/library.rs",
            "src/foreign/window.rs",
            "launcher/guard.rs",
            "launcher/ranks.rs",
            "launcher/signals.rs",
            "capi/src/arguments.rs",
            "capi/src/assertion.rs",
            "capi/src/attribute/function.rs",
            "capi/src/exit.rs",
            "capi/src/generalized.rs",
            "capi/src/handle.rs",
            "capi/src/handler.rs",
            "capi/src/op/callback.rs",
        ],
    },
    Rule {
        what: "a memory ordering or a fence",
        patterns: &["Ordering::", "Relaxed)", "SeqCst)", "AcqRel)", "fence(Seq", "fence(if"],
        rooms: &[
            "src/prim/native.rs",
            "src/prim/model.rs",
            "src/prim/order.rs",
            "src/op/carrier.rs",
            "capi/src/errors.rs",
            "capi/src/handle.rs",
        ],
    },
    Rule {
        what: "a futex, a spin or a yield",
        patterns: &["futex::", "yield_now", "spin_loop", "Backoff"],
        rooms: &["src/prim/native.rs", "src/prim/model.rs"],
    },
    Rule {
        what: "a system call",
        patterns: &["nix::", "rustix::", "libc::"],
        rooms: &[
            "src/shm/os.rs",
            "src/shm/process.rs",
            "src/shm/numa.rs",
            "src/prim/native.rs",
            "src/prim/membarrier.rs",
            "src/prim/placement.rs",
            "src/launch.rs",
            "src/launch/fault.rs",
            "launcher/",
        ],
    },
    Rule {
        what: "a mapping",
        patterns: &["MmapRaw", "MmapOptions"],
        rooms: &["src/shm/os.rs", "src/shm/segment.rs"],
    },
    Rule {
        what: "an environment variable",
        patterns: &["env::var", "\"ONESIDED_"],
        rooms: &["src/launch.rs", "launcher/foreign.rs"],
    },
    Rule {
        what: "a sentence for the user",
        patterns: &["#[error("],
        rooms: &["src/error.rs", "src/error/foreign.rs"],
    },
    Rule {
        what: "the switch between machine and model",
        patterns: &["cfg(loom)", "cfg(not(loom))", "loom::"],
        rooms: &["src/prim/"],
    },
    Rule { what: "unfinished work", patterns: &["TODO", "XXX", "FIXME"], rooms: &[] },
];

/// The layers of `src`, lowest first; a module imports only from its own line or from above it.
const LAYERS: &[&[&str]] = &[
    &["call", "error", "handler", "info"],
    &["prim"],
    &["sync"],
    &["shm"],
    &["op", "datatype"],
    &["foreign"],
    &["launch"],
    &["context"],
    &["attribute"],
    &["group"],
    &["comm"],
    &["universe"],
    &["memory"],
    &["window"],
    &["ops"],
    &["message"],
    &["collective"],
    &["epoch"],
    &["tools"],
];

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
fn every_line_is_in_its_room() {
    let mut faults = Vec::new();
    for (file, text) in sources() {
        for rule in RULES {
            if rule.rooms.iter().any(|room| file.starts_with(room)) {
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
    assert!(faults.is_empty(), "outside their rooms:\n{}", faults.join("\n"));
}

#[test]
fn every_room_is_lived_in() {
    let sources = sources();
    for rule in RULES {
        for room in rule.rooms {
            let lived_in = sources.iter().any(|(file, text)| {
                file.starts_with(room) && rule.patterns.iter().any(|p| text.contains(p))
            });
            assert!(lived_in, "{room} has no {}: take it out of the rule", rule.what);
        }
    }
}

#[test]
fn layers_import_downwards_only() {
    let layer = |module: &str| LAYERS.iter().position(|modules| modules.contains(&module));
    let mut faults = Vec::new();
    for (file, text) in sources() {
        let Some(path) = file.strip_prefix("src/") else { continue };
        let own = path.split(['/', '.']).next().unwrap();
        let Some(own_layer) = layer(own) else {
            assert_eq!(own, "lib", "{file} is in no layer");
            continue;
        };
        for (n, line) in code(&text) {
            for module in line.split("crate::").skip(1) {
                let module = module.split(|c: char| !c.is_alphanumeric() && c != '_').next();
                match module.and_then(layer) {
                    Some(imported) if imported <= own_layer => {}
                    _ => faults.push(format!("{file}:{n}: {}", line.trim())),
                }
            }
        }
    }
    assert!(faults.is_empty(), "imports from a higher layer:\n{}", faults.join("\n"));
}

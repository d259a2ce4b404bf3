//! The book's table of calls is made of the aliases by which the documentation finds MPI's names.

use super::ours;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = "docs/book/src/calls.md";
/// The line behind which the page has what this file writes.
const MARK: &str =
    "<!-- What follows is written by `CALLS=overwrite cargo test --test examples calls`. -->\n";

/// The parts of the table, and the modules of `src` whose items are in each.
const PARTS: [(&str, &[&str]); 4] = [
    ("One-sided communication", &["epoch", "ops", "window", "memory"]),
    ("Messages", &["message"]),
    ("Collectives", &["collective"]),
    ("The rest", &["attribute", "comm", "group", "handler", "info", "universe"]),
];
/// Types of the untyped API; the table has them where no other type has the call.
const UNTYPED: [&str; 5] = ["Win", "Bridge", "Partitioned", "Message", "MessageRequest"];

/// An item with an alias.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Item {
    owner: String,
    function: Option<String>,
    module: String,
}

impl Item {
    fn shown(&self) -> String {
        match &self.function {
            Some(function) => format!("`{}::{function}`", self.owner),
            None => format!("`{}`", self.owner),
        }
    }
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => collect(&path, found),
            false => found.push(path),
        }
    }
}

/// The word that a text begins with.
fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The type whose items a line at the left margin begins.
fn owner(line: &str) -> Option<String> {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let kinds = ["struct ", "enum ", "trait "];
    if let Some(rest) = kinds.iter().find_map(|kind| line.strip_prefix(kind)) {
        return Some(word(rest));
    }
    let rest = line.strip_prefix("impl")?;
    let name = match rest.strip_prefix('<') {
        Some(parameters) => parameters.split_once("> ")?.1,
        None => rest.trim_start(),
    };
    Some(word(name))
}

/// Adds the aliases of one file.
fn read(module: &str, text: &str, calls: &mut BTreeMap<String, BTreeSet<Item>>) {
    let (mut of, mut names) = (String::new(), Vec::new());
    for line in text.lines() {
        of = owner(line).unwrap_or(of);
        let line = line.trim();
        if line.starts_with("#[doc(alias") {
            names.extend(line.split('"').skip(1).step_by(2).map(str::to_owned));
        } else if !names.is_empty() && !line.starts_with('#') && !line.starts_with("//") {
            let function = line.split_once("fn ").map(|(_, rest)| word(rest));
            let item = Item { owner: of.clone(), function, module: module.to_owned() };
            for name in names.drain(..) {
                calls.entry(name).or_default().insert(item.clone());
            }
        }
    }
}

/// Each function of MPI that is an alias, and the items that have it.
fn calls() -> BTreeMap<String, BTreeSet<Item>> {
    let (root, mut files) = (PathBuf::from(ours("src")), Vec::new());
    collect(&root, &mut files);
    let mut calls = BTreeMap::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|name| name == "rs")) {
        let within = file.strip_prefix(&root).expect("it is below").with_extension("");
        let module = within.iter().next().expect("a name").to_string_lossy().into_owned();
        read(&module, &fs::read_to_string(file).expect("a source is text"), &mut calls);
    }
    // Constants have no small letter behind `MPI_` and the first one.
    calls.retain(|name, _| name.chars().any(char::is_lowercase));
    for items in calls.values_mut() {
        let is_typed = |item: &Item| !UNTYPED.contains(&&*item.owner);
        if items.iter().any(is_typed) {
            items.retain(is_typed);
        }
    }
    calls
}

fn table() -> String {
    let calls = calls();
    let mut text = String::new();
    for (title, modules) in PARTS {
        text += &format!("\n## {title}\n\n| MPI | Rust |\n| --- | --- |\n");
        let is_here = |items: &BTreeSet<Item>| {
            items.first().is_some_and(|item| modules.contains(&&*item.module))
        };
        for (name, items) in calls.iter().filter(|(_, items)| is_here(items)) {
            let shown: Vec<String> = items.iter().map(Item::shown).collect();
            text += &format!("| `{name}` | {} |\n", shown.join(", "));
        }
    }
    text
}

#[test]
#[allow(clippy::disallowed_methods, reason = "asks whether to write the page")]
fn the_table_of_calls_is_that_of_the_aliases() {
    let (page, table) = (ours(PAGE), table());
    let found = fs::read_to_string(&page).expect("the page is there");
    let (prose, there) = found.split_once(MARK).expect("the mark of what is written");
    if std::env::var("CALLS").is_ok_and(|wish| wish == "overwrite") {
        fs::write(&page, format!("{prose}{MARK}{table}")).expect("the page can be written");
    } else {
        let wrong = there.lines().zip(table.lines()).find(|(there, made)| there != made);
        let is_stale = format!("{PAGE} is stale; CALLS=overwrite writes it");
        assert_eq!(wrong, None, "{is_stale}");
        assert_eq!(there.len(), table.len(), "{is_stale}");
    }
    let rows = table.lines().filter(|line| line.starts_with("| `MPI_")).count();
    assert_eq!(rows, calls().len(), "a call is in no part of the table");
    assert!(rows > 140, "{rows} calls");
}

//! The comparison as a part of pages that are written by hand otherwise.

use std::fs;
use std::io::Result;
use std::path::Path;

const BEGIN: &str = "<!-- What follows is written by `cargo bench --bench rma -- --compare \
                     --markdown FILE`. -->\n";
const END: &str = "<!-- Up to here. -->\n";

/// The pages that show the summary, besides the page of all rows.
pub const PAGES: [&str; 2] = ["README.md", "docs/performance.md"];

/// Writes the text between the two marks of the file, or behind what it has.
pub fn write(file: &Path, text: &str) -> Result<()> {
    let page = if file.exists() { fs::read_to_string(file)? } else { String::new() };
    let (before, rest) = page.split_once(BEGIN).unwrap_or((&page, ""));
    let (_, after) = rest.split_once(END).unwrap_or(("", ""));
    fs::write(file, format!("{before}{BEGIN}{text}\n{END}{after}"))
}

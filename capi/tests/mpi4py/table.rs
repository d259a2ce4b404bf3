//! The table of `docs/reference/mpi4py.md`.

use crate::outcome::Outcome;
use crate::{MPI4PY, RANKS};
use std::collections::BTreeSet;
use std::fmt::Write;

type Results = [(&'static str, &'static str, u32, Outcome)];

/// The whole document.
pub fn markdown(results: &Results) -> String {
    let (run, skipped, failed) = sums(results);
    let mut text = format!(
        "# mpi4py's own tests\n\n\
         mpi4py {MPI4PY}, built from source against `mpi.h` and `libmpi_abi.so.1` of this library, runs its own files of\n\
         tests under `rmarun -n` 1, 2, 3 and 5. A cell has the tests that passed, were skipped by mpi4py itself, and\n\
         failed. Below the table stands what fails. The wheel of mpi4py on PyPI (`pip install mpi4py`), which\n\
         `rmarun` gives `libmpi.so.12`, has the same cells with 1, 2 and 3 ranks; a test compares them.\n\n\
         Another test writes this page, and without the variable it fails if a test fails that the page does not name:\n\n    \
         ONESIDED_TEST_WRITE=1 cargo test --release -p onesided-capi --test mpi4py -- --ignored --nocapture\n\n\
         Together: {} passed, {skipped} skipped, {failed} failed.\n\n",
        run.saturating_sub(skipped + failed)
    );
    text += "| about | file | 1 rank | 2 ranks | 3 ranks | 5 ranks |\n";
    text += "| --- | --- | --- | --- | --- | --- |\n";
    for row in results.chunks(RANKS.len()) {
        let cells: Vec<String> = row.iter().map(|(.., outcome)| cell(outcome)).collect();
        let _ = writeln!(text, "| {} | test_{}.py | {} |", row[0].0, row[0].1, cells.join(" | "));
    }
    let failures: BTreeSet<String> = results
        .iter()
        .flat_map(|(_, file, _, outcome)| {
            outcome.failed.iter().map(move |failed| format!("- `{file}`: {failed}\n"))
        })
        .collect();
    text += "\n## What fails\n\n";
    text += if failures.is_empty() { "Nothing.\n" } else { "" };
    text.extend(failures);
    text
}

/// What the table has of a file with a number of ranks.
pub fn cell(outcome: &Outcome) -> String {
    let Outcome { run, skipped, failed } = outcome;
    let bad = failed.len() as u32;
    match (bad, run) {
        (0, _) => format!("{}, {skipped} skipped", run - skipped),
        (_, 0) => "ended".into(),
        _ => format!("{}, {skipped} skipped, **{bad} failed**", run.saturating_sub(skipped + bad)),
    }
}

fn sums(results: &Results) -> (u32, u32, u32) {
    results.iter().fold((0, 0, 0), |(run, skipped, failed), (.., outcome)| {
        (run + outcome.run, skipped + outcome.skipped, failed + outcome.failed.len() as u32)
    })
}

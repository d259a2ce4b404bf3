//! The misuse list: wrong calls, and how each is refused.
//!
//! Every row of the tables is made in a real job of two ranks (`every_wrong_call_is_refused`): the
//! error has the class of the table, its sentence names call, window, rank and values, nothing has
//! changed, and the job goes on working. From the tables `page.rs` makes docs/reference/misuse.md, and fails
//! when the page is stale. Calls that the compiler refuses are rows too, with their case of
//! tests/types.
#![allow(unsafe_code, reason = "wrong calls of the engine's untyped face")]

use crate::support;
mod arguments;
mod bench;
mod collectives;
mod compiler;
mod datatypes;
mod epochs;
mod making;
mod page;
mod ranges;
mod ranks;
mod row;

use row::{Refused, Section};

/// Whether a row has these words.
pub fn has_row(wrong: &str) -> bool {
    SECTIONS.iter().any(|section| section.rows.iter().any(|row| row.wrong == wrong))
}

const SECTIONS: &[Section] = &[
    Section { title: "Displacements and counts", rows: ranges::ROWS },
    Section { title: "Ranks and groups", rows: ranks::ROWS },
    Section { title: "Epochs", rows: epochs::ROWS },
    Section { title: "Other arguments", rows: arguments::ROWS },
    Section { title: "Making and freeing", rows: making::ROWS },
    Section { title: "Collectives", rows: collectives::ROWS },
    Section { title: "Datatypes", rows: datatypes::ROWS },
    Section { title: "Refused by the compiler", rows: compiler::ROWS },
];

#[test]
fn every_wrong_call_is_refused() {
    support::spmd(2, |world| {
        for section in SECTIONS {
            for row in section.rows {
                match &row.refused {
                    Refused::OnWindow(wrong) => bench::on_window(world, row.wrong, wrong),
                    Refused::InJob(wrong) => bench::in_job(world, row.wrong, wrong),
                    Refused::ByCompiler(_) | Refused::Elsewhere(..) => {}
                }
            }
        }
    });
}

//! How the counts of `cargo bench --bench instructions` are judged.

#[path = "../benches/instructions/table.rs"]
mod table;

use table::{Counted, Table};

fn counted(what: &str, instructions: f64) -> Counted {
    Counted { what: what.to_owned(), instructions }
}

fn table() -> Table {
    let rows = vec![counted("put", 60.0), counted("fence", 471.0)];
    Table { compiler: "rustc 1.95.0 on x86_64".to_owned(), rows }
}

/// What is found wrong with these counts of put and fence.
fn findings(put: f64, fence: f64) -> Vec<String> {
    table().compare(&[counted("put", put), counted("fence", fence)])
}

#[test]
fn a_rise_of_more_than_five_percent_is_found() {
    assert_eq!(findings(60.0, 471.0), [""; 0]);
    assert_eq!(findings(63.0, 471.0), [""; 0], "60 and 5 % of it");
    assert_eq!(findings(64.0, 471.0), ["put: 64 instructions, more than 60 + 5 %"]);
    assert_eq!(findings(60.0, 495.0), ["fence: 495 instructions, more than 471 + 5 %"]);
    assert_eq!(findings(1000.0, 1000.0).len(), 2);
}

#[test]
fn a_fall_is_no_fault() {
    assert_eq!(findings(1.0, 1.0), [""; 0]);
}

#[test]
fn a_path_that_only_one_side_has_is_found() {
    let found = table().compare(&[counted("put", 60.0), counted("get", 1.0)]);
    let expected =
        ["get: not in the table; --write adds it", "fence: in the table, but not counted"];
    assert_eq!(found, expected);
}

#[test]
fn the_committed_table_is_what_write_would_write() {
    let committed = include_str!("../benches/instructions/table.csv");
    let table = Table::parse(committed).expect("a table");
    assert_eq!(table.text(), committed);
    assert!(table.compiler.starts_with("rustc "), "{}", table.compiler);
    assert!(table.rows.iter().all(|row| row.instructions > 0.0));
}

#[test]
fn what_is_no_table_is_refused() {
    for text in ["", "# rustc\n", "# rustc\npath\n", "path,instructions of a call\nput,60\n"] {
        assert!(Table::parse(text).is_none(), "{text:?}");
    }
    let text = table().text();
    assert!(Table::parse(&text.replace("60", "sixty")).is_none());
    assert!(Table::parse(&text.replace("put,", "put")).is_none());
}

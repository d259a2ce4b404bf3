//! The committed counts, and how they are judged (`tests/instructions.rs`).

/// A count that has risen by more than this part of itself fails.
const ALLOWED: f64 = 0.05;
const HEAD: &str = "path,instructions of a call";
const FOR: &str = "# ";

/// A hot path and the instructions of one call of it, the loop around it included.
pub struct Counted {
    pub what: String,
    pub instructions: f64,
}

/// What the calls took when the table was written.
pub struct Table {
    /// The compiler and processor that it is for.
    pub compiler: String,
    pub rows: Vec<Counted>,
}

impl Table {
    /// The table that [`Table::text`] has written; none if it has not.
    pub fn parse(text: &str) -> Option<Table> {
        let mut lines = text.lines();
        let compiler = lines.next()?.strip_prefix(FOR)?.to_owned();
        if lines.next()? != HEAD {
            return None;
        }
        let row = |line: &str| {
            let (what, instructions) = line.rsplit_once(',')?;
            Some(Counted { what: what.to_owned(), instructions: instructions.parse().ok()? })
        };
        Some(Table { compiler, rows: lines.map(row).collect::<Option<_>>()? })
    }

    /// The table as it is committed.
    pub fn text(&self) -> String {
        let row = |row: &Counted| format!("{},{}\n", row.what, row.instructions);
        let rows: String = self.rows.iter().map(row).collect();
        format!("{FOR}{}\n{HEAD}\n{rows}", self.compiler)
    }

    /// Prints the counts beside those of the table; returns what is wrong with them.
    pub fn compare(&self, counted: &[Counted]) -> Vec<String> {
        let mut wrong = Vec::new();
        println!("{:<40} {:>8} {:>8}", "instructions of a call", "now", "table");
        for Counted { what, instructions: now } in counted {
            let Some(then) = find(&self.rows, what) else {
                println!("{what:<40} {now:>8}");
                wrong.push(format!("{what}: not in the table; --write adds it"));
                continue;
            };
            let risen = *now > then * (1.0 + ALLOWED);
            let fallen = *now < then * (1.0 - ALLOWED);
            let note = match (risen, fallen) {
                (true, _) => "too many",
                (_, true) => "fewer: --write lowers the table",
                _ => "",
            };
            let line = format!("{what:<40} {now:>8} {then:>8}  {note}");
            println!("{}", line.trim_end());
            if risen {
                let percent = ALLOWED * 100.0;
                wrong.push(format!("{what}: {now} instructions, more than {then} + {percent} %"));
            }
        }
        for Counted { what, .. } in &self.rows {
            if find(counted, what).is_none() {
                wrong.push(format!("{what}: in the table, but not counted"));
            }
        }
        wrong
    }
}

fn find(rows: &[Counted], what: &str) -> Option<f64> {
    rows.iter().find(|row| row.what == what).map(|row| row.instructions)
}

//! What the processes of a test's job have printed.

use std::fmt::Write;
use std::process::Output;

/// A line after which a process prints what belongs to the test; before it, the harness does.
const BEGIN: &str = "onesided: the test begins";

/// Ends what the harness has printed in this process.
pub fn begin() {
    // It may have left its line unfinished.
    println!("\n{BEGIN}");
}

/// The output of a job.
pub struct Printed {
    /// The messages of the launcher.
    messages: Vec<String>,
    /// The lines of the ranks, each with its rank: on standard output, and on standard error.
    lines: [Vec<(u32, String)>; 2],
}

impl Printed {
    /// Splits what a launcher has printed that puts the rank before each line.
    pub fn of(output: &Output) -> Printed {
        let mut printed = Printed { messages: Vec::new(), lines: [Vec::new(), Vec::new()] };
        let mut begun = Vec::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            match by_rank(line) {
                Some((rank, BEGIN)) => begun.push(rank),
                Some((rank, line)) if begun.contains(&rank) => {
                    printed.lines[0].push((rank, line.to_owned()));
                }
                // Of the harness.
                _ => {}
            }
        }
        for line in String::from_utf8_lossy(&output.stderr).lines() {
            match by_rank(line) {
                Some((rank, line)) => printed.lines[1].push((rank, line.to_owned())),
                None => printed.messages.push(line.trim_start_matches("rmarun: ").to_owned()),
            }
        }
        printed
    }

    /// The messages, followed by all lines of each rank.
    pub fn report(&self) -> String {
        let mut report = self.messages.join("\n");
        if self.messages.len() > 1 {
            report.insert(0, '\n');
        }
        let [output, errors] = &self.lines;
        let mut ranks: Vec<u32> = output.iter().chain(errors).map(|(rank, _)| *rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        for rank in ranks {
            let _ = write!(report, "\nrank {rank} printed:");
            let lines =
                output.iter().chain(errors).filter(|(of, line)| *of == rank && !line.is_empty());
            lines.for_each(|(_, line)| report += &format!("\n  {line}"));
        }
        report
    }

    /// Prints the same where the harness collects it.
    pub fn show(&self) {
        self.lines[0].iter().for_each(|(rank, line)| println!("[{rank}] {line}"));
        self.lines[1].iter().for_each(|(rank, line)| eprintln!("[{rank}] {line}"));
        self.messages.iter().for_each(|line| eprintln!("{line}"));
    }
}

/// The rank before a line, and the line.
fn by_rank(line: &str) -> Option<(u32, &str)> {
    let (rank, line) = line.strip_prefix('[')?.split_once("] ")?;
    Some((rank.parse().ok()?, line))
}

//! The command line.

use crate::binding::BindTo;
use crate::report::{self, USAGE};
use crate::segment::check_name;
use clap::{Args, CommandFactory, FromArgMatches, Parser};
use onesided::launch::{MAX_RANKS, OnFailure, SegmentKind};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

const AFTER_HELP: &str = "\
Output:
  Ranks' standard output and error pass through line by line; a line of one rank never contains
  anything of another's. Ranks write into pipes, so they see no terminal. A line longer than
  64 KiB is passed on in pieces; should another rank write in between, it starts on a line of its
  own. When rmarun reads from and writes to a terminal, what rank 0 leaves unfinished on a line
  appears after a moment too, so that it can ask questions. When standard error is a terminal, a
  line that rank 0 draws again and again there, by carriage returns, as a progress bar is, stays
  below the lines of all ranks (not with --tag-output). The only rank of a job of one writes
  to rmarun's own output (unless --tag-output is given), terminal or not.

Input:
  Rank 0 reads rmarun's standard input; the others read an empty one.

Environment:
  Every rank finds its number in ONESIDED_RANK and the number of ranks in ONESIDED_RANKS. The other
  variables that begin with ONESIDED_ are the library's own business.

Exit code:
  0            every rank ended with code 0, and either all ranks joined the job or none did
  1 to 255     the code of the first rank that failed; 128+N if signal N killed it
  128+N        rmarun was told to end by signal N (2 Ctrl-C, 15 SIGTERM), or, with 141, nobody
               reads its output any more
  2            the command line is wrong
  101          the build of --example or --bin failed (Cargo's code)
  123          a deadlock: ranks wait for ever, for one another or for one that has left the job
  124          --check has found accesses that conflict, and all ranks ended with code 0
  125          rmarun itself could not go on; some ranks joined the job and others did not; a
               rank left without finalize; or --require-join found that no rank joined
  126, 127     the program cannot be executed, or is compiled for another MPI; or is not found

Deadlock:
  When every rank that is left sleeps in a call of the library which only another rank could end, or
  one waits for a rank that has left the job, standard error says who waits for whom, in which call,
  and in which line of the program; then the job ends. That is proven, not guessed: a rank that
  computes, polls or waits outside the library is not blocked, and one of several threads or under
  a debugger never counts as blocked. Where a rank handles signals of its own (SIGALRM, SIGUSR1, ...),
  whose handlers might call the library, it is called suspected, after some seconds, and the job goes
  on. To look at a job that runs: rmarun --status PID.

When a rank fails, the others are ended: SIGTERM, then SIGKILL after the grace period. One line
on standard error says which rank it was, how it ended, and in which call. With
--on-failure=continue they go on; the exit code is then that of the first rank that failed, when
all have ended. When rmarun itself is killed, so are the ranks, at once.

Examples:
  rmarun -n 8 ./app input.dat
  rmarun -n 4 --tag-output hostname
  rmarun -n 4 --example hello -- --help";

/// The options.
#[derive(Parser, Debug)]
#[command(
    name = "rmarun",
    version,
    about = "Starts N processes, the ranks of one job, which share windows of memory",
    override_usage = "rmarun -n <N> [OPTIONS] [--] <PROGRAM> [ARGS]...\n       \
                      rmarun -n <N> [OPTIONS] (--example | --bin) <NAME> [-- [ARGS]...]\n       \
                      rmarun --status <PID>",
    after_help = AFTER_HELP,
    max_term_width = 100
)]
struct Line {
    /// Number of ranks, from 1 to 4096; also -np, as other launchers have it, before all other options
    #[arg(short = 'n', long = "ranks", value_name = "N", value_parser = ranks,
          allow_negative_numbers = true, required_unless_present = "status")]
    ranks: Option<u32>,
    /// Prints the state of the ranks of a job that another rmarun, process PID, has started: for each
    /// its call, for how long, what it waits for, and in which line of the program
    #[arg(long, value_name = "PID", exclusive = true)]
    status: Option<u32>,
    // An attribute, because rustdoc takes the brackets of a comment for a link.
    #[arg(short, long, help = "Puts the rank before every line of output, as in \"[3] \"")]
    tag_output: bool,
    /// Fails with code 125 if no rank joins the job (a program that does not use the library)
    #[arg(long)]
    require_join: bool,
    /// Returns errors for two kinds of calls of C programs that the standard forbids, and that are
    /// otherwise accepted with one note: request-based operations in epochs of fence and start, and
    /// locks of windows with no_locks
    #[arg(long)]
    strict: bool,
    /// Kind of the shared segment: memfd, a memory file without a name (posix where the system denies
    /// it); posix, a POSIX shared memory object whose name is removed before any rank runs; any other
    /// word, a new object of that name in /dev/shm, removed at the end
    #[arg(long, value_name = "KIND", default_value = "memfd", value_parser = segment)]
    segment: SegmentKind,
    /// Size of the shared segment, in bytes or with K, M, G or T (powers of 1024), as in 64M; it
    /// costs memory only where it is used [default: the machine's memory]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    segment_size: Option<u64>,
    /// What to do with the job when a rank fails: end it; or continue, so that calls of the other
    /// ranks that would wait for the failed one return errors
    #[arg(long, value_name = "WHAT", default_value = "end", value_parser = on_failure)]
    on_failure: OnFailure,
    /// What to do when ranks wait for ever, for one another or for one that has left: end the job with
    /// code 123; or report and continue. Both print which rank waits for which, and where
    #[arg(long, value_name = "WHAT", default_value = "end", value_parser = on_deadlock)]
    deadlock: OnDeadlock,
    /// Checks the one-sided operations of all ranks for accesses to the same bytes that nothing orders, and
    /// prints both, with the program's lines. The job then ends with code 124; with --check=report, with
    /// its own
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true,
          default_missing_value = "end", value_parser = check)]
    check: Option<Check>,
    /// Writes what --check has found to this file as JSON when the job ends, however it ends; implies
    /// --check
    #[arg(long, value_name = "FILE")]
    check_report: Option<PathBuf>,
    /// What each rank is bound to, in turn: none; core, the hardware threads of a core; hwthread, one
    /// hardware thread. Unbound ranks that can have a core each avoid each other's cores
    #[arg(long, value_name = "WHAT", default_value = "none", value_parser = bind_to)]
    bind_to: BindTo,
    /// Time between SIGTERM and SIGKILL when the job is ended early
    #[arg(long, value_name = "MILLISECONDS", default_value = "200", value_parser = grace)]
    grace: Duration,
    #[command(flatten)]
    target: TargetLine,
    /// The program and its arguments; with --example or --bin, arguments alone
    #[arg(trailing_var_arg = true, value_name = "PROGRAM [ARGS]")]
    command: Vec<OsString>,
}

#[derive(Args, Debug)]
struct TargetLine {
    /// Builds this example of the Cargo project here in release mode and runs it
    #[arg(long, value_name = "NAME", conflicts_with = "bin")]
    example: Option<String>,
    /// Builds this binary of the Cargo project here in release mode and runs it
    #[arg(long, value_name = "NAME")]
    bin: Option<String>,
    /// The package that has the example or binary
    #[arg(short, long, value_name = "SPEC")]
    package: Option<String>,
    /// Features for building it
    #[arg(short = 'F', long, value_name = "FEATURES")]
    features: Vec<String>,
}

/// What Cargo builds before the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// `example` or `bin`.
    pub kind: &'static str,
    pub name: String,
    pub package: Option<String>,
    pub features: Vec<String>,
}

/// The reaction to a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDeadlock {
    End,
    Report,
}

/// The exit code of a job whose accesses conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// 124, unless the job has failed.
    End,
    /// That of the job.
    Report,
}

/// A checked command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub ranks: u32,
    pub tag_output: bool,
    pub require_join: bool,
    pub strict: bool,
    pub segment: SegmentKind,
    pub segment_size: Option<u64>,
    pub on_failure: OnFailure,
    pub grace: Duration,
    pub bind_to: BindTo,
    pub deadlock: OnDeadlock,
    pub check: Option<Check>,
    /// Where the conflicts are written; then there is a check.
    pub check_report: Option<PathBuf>,
    pub target: Option<Target>,
    /// Program and arguments; arguments alone if there is a target. Not empty without a target.
    pub arguments: Vec<OsString>,
}

/// The outcome of parsing the command line.
pub enum Parsed {
    Run(Box<Options>),
    /// Print the state of that process's job.
    Inquire(u32),
    /// Help, version or an error has been printed.
    Printed(u8),
}

/// Reads the command line; prints help, version, or one line on what is wrong.
pub fn parse(line: impl IntoIterator<Item = OsString>) -> Parsed {
    match read(line) {
        Ok(parsed) => parsed,
        Err(error) if !error.use_stderr() => {
            // A closed standard output is not an error.
            let _ = error.print();
            Parsed::Printed(0)
        }
        Err(error) => {
            report::print(&one_line(&error.to_string()));
            Parsed::Printed(USAGE)
        }
    }
}

fn read(line: impl IntoIterator<Item = OsString>) -> Result<Parsed, clap::Error> {
    let mut definition = Line::command();
    let line = line.into_iter().enumerate().map(|(at, word)| match at {
        1 if word == "-np" => "-n".into(),
        _ => word,
    });
    let line = Line::from_arg_matches(&definition.try_get_matches_from_mut(line)?)?;
    let missing = |what: &str| {
        definition.clone().error(clap::error::ErrorKind::MissingRequiredArgument, what)
    };
    let ranks = match (line.status, line.ranks) {
        (Some(pid), _) => return Ok(Parsed::Inquire(pid)),
        (None, ranks) => ranks.ok_or_else(|| missing("the number of ranks is not given"))?,
    };
    let target = line.target;
    let (kind, name) = match (target.example, target.bin) {
        (Some(name), _) => ("example", Some(name)),
        (None, name) => ("bin", name),
    };
    if name.is_none() && (target.package.is_some() || !target.features.is_empty()) {
        return Err(missing("--package and --features need --example or --bin"));
    }
    if name.is_none() && line.command.is_empty() {
        return Err(missing("no program is given"));
    }
    let (package, features) = (target.package, target.features);
    Ok(Parsed::Run(Box::new(Options {
        ranks,
        tag_output: line.tag_output,
        require_join: line.require_join,
        strict: line.strict,
        segment: line.segment,
        segment_size: line.segment_size,
        on_failure: line.on_failure,
        grace: line.grace,
        bind_to: line.bind_to,
        deadlock: line.deadlock,
        check: line.check.or(line.check_report.is_some().then_some(Check::End)),
        check_report: line.check_report,
        target: name.map(|name| Target { kind, name, package, features }),
        arguments: line.command,
    })))
}

/// The first paragraph of a message of the argument parser, as one line.
fn one_line(message: &str) -> String {
    let first = message.split("\n\n").next().unwrap_or(message);
    let words: Vec<&str> = first.split_whitespace().collect();
    let text = words.join(" ");
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    format!("{text} (see 'rmarun --help')")
}

fn ranks(text: &str) -> Result<u32, String> {
    let wrong = || format!("a job has from 1 to {MAX_RANKS} ranks");
    text.parse().ok().filter(|n| (1..=MAX_RANKS).contains(n)).ok_or_else(wrong)
}

fn grace(text: &str) -> Result<Duration, String> {
    let milliseconds: u32 =
        text.parse().map_err(|_| "a whole number of milliseconds is needed".to_owned())?;
    Ok(Duration::from_millis(milliseconds.into()))
}

fn on_failure(text: &str) -> Result<OnFailure, String> {
    match text {
        "end" => Ok(OnFailure::End),
        "continue" => Ok(OnFailure::Continue),
        _ => Err("either end or continue is needed".to_owned()),
    }
}

fn on_deadlock(text: &str) -> Result<OnDeadlock, String> {
    match text {
        "end" => Ok(OnDeadlock::End),
        "report" => Ok(OnDeadlock::Report),
        _ => Err("it is 'end' or 'report'".to_owned()),
    }
}

fn check(text: &str) -> Result<Check, String> {
    match text {
        "end" => Ok(Check::End),
        "report" => Ok(Check::Report),
        _ => Err("it is --check or --check=report".to_owned()),
    }
}

fn bind_to(text: &str) -> Result<BindTo, String> {
    match text {
        "none" => Ok(BindTo::None),
        "core" => Ok(BindTo::Core),
        "hwthread" => Ok(BindTo::HardwareThread),
        _ => Err("it is 'none', 'core' or 'hwthread'".to_owned()),
    }
}

fn segment(text: &str) -> Result<SegmentKind, String> {
    match text {
        "memfd" => Ok(SegmentKind::Memfd),
        "posix" => Ok(SegmentKind::Posix),
        name => check_name(name).map(SegmentKind::Named),
    }
}

fn size(text: &str) -> Result<u64, String> {
    let wrong = || "a size is a whole number, with K, M, G or T if wanted, as in 64M".to_owned();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = unit.strip_suffix("iB").or(unit.strip_suffix('B')).unwrap_or(unit);
    let shift = match unit.to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(|| format!("{text} is more than 2^64 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use onesided::launch::{ENV_RANK, ENV_RANKS};
    use proptest::prelude::*;

    fn options(line: &[&str]) -> Result<Options, clap::Error> {
        match read(std::iter::once("rmarun").chain(line.iter().copied()).map(OsString::from))? {
            Parsed::Run(options) => Ok(*options),
            _ => panic!("no job"),
        }
    }

    #[test]
    fn the_definition_is_consistent() {
        Line::command().debug_assert();
    }

    #[test]
    fn the_help_says_how_many_ranks_there_can_be() {
        assert!(Line::command().render_help().to_string().contains(&format!("1 to {MAX_RANKS}")));
    }

    #[test]
    fn the_help_names_the_variables_of_a_rank() {
        assert!(AFTER_HELP.contains(&format!("{ENV_RANK} and the number of ranks in {ENV_RANKS}")));
    }

    #[test]
    fn everything_after_the_program_belongs_to_it() {
        let options = options(&["-n", "2", "./app", "-n", "7", "--tag-output", "--", "x"]).unwrap();
        assert_eq!(options.ranks, 2);
        assert!(!options.tag_output);
        assert_eq!(options.arguments, ["./app", "-n", "7", "--tag-output", "--", "x"]);
    }

    #[test]
    fn the_option_of_other_launchers_is_understood_in_front() {
        assert_eq!(options(&["-np", "3", "./app", "-np"]).unwrap().ranks, 3);
        assert_eq!(options(&["-np", "3", "./app", "-np"]).unwrap().arguments, ["./app", "-np"]);
        assert!(options(&["-t", "-np", "3", "./app"]).is_err());
    }

    #[test]
    fn a_target_takes_arguments_alone() {
        let options = options(&["-n2", "--example", "hello", "-F", "a,b", "--", "-v"]).unwrap();
        let target = options.target.unwrap();
        assert_eq!((target.kind, target.name.as_str()), ("example", "hello"));
        assert_eq!(target.features, ["a,b"]);
        assert_eq!(options.arguments, ["-v"]);
    }

    #[test]
    fn a_check_takes_its_value_by_an_equals_sign() {
        for (line, check) in [("--check", Check::End), ("--check=report", Check::Report)] {
            let options = options(&["-n", "2", line, "./app"]).unwrap();
            assert_eq!(
                (options.check, &options.arguments[..]),
                (Some(check), &["./app".into()][..])
            );
        }
    }

    #[test]
    fn a_report_of_conflicts_implies_the_check() {
        for (line, check) in [(&["--check=report"][..], Check::Report), (&[], Check::End)] {
            let line = [&["-n", "2", "--check-report", "c.json"], line, &["./app"]].concat();
            let options = options(&line).unwrap();
            assert_eq!((options.check, options.check_report), (Some(check), Some("c.json".into())));
        }
    }

    #[test]
    fn what_is_wrong_is_one_line() {
        for line in [
            vec![],
            vec!["-n", "2"],
            vec!["-n", "0", "true"],
            vec!["-n", "-1", "true"],
            vec!["-n", "4097", "true"],
            vec!["-n", "two", "true"],
            vec!["-n", "2", "--segment", "a/b", "true"],
            vec!["-n", "2", "--segment-size", "1X", "true"],
            vec!["-n", "2", "--features", "x", "true"],
            vec!["-n", "2", "--example", "a", "--bin", "b"],
            vec!["-n", "2", "--nonsense", "true"],
            vec!["-n", "2", "--deadlock=maybe", "true"],
            vec!["-n", "2", "--bind-to", "moon", "true"],
            vec!["-n", "2", "--check=moon", "true"],
            vec!["-n", "2", "--check-report"],
            vec!["-n", "2", "--status", "1"],
            vec!["--status"],
        ] {
            let text = one_line(&options(&line).unwrap_err().to_string());
            assert!(!text.contains('\n') && text.len() > 20, "{line:?}: {text}");
        }
    }

    #[test]
    fn sizes_have_units() {
        let expected =
            [("0", 0), ("64M", 64 << 20), ("2g", 2 << 30), ("1KiB", 1024), ("3TB", 3 << 40)];
        for (text, bytes) in expected {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "M", "-1", "1.5G", "1X", "99999999999999999999", "16777216T"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_command_line_makes_it_panic(words in proptest::collection::vec(".{0,12}", 0..6)) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            if let Ok(options) = options(&words) {
                prop_assert!(!options.arguments.is_empty() || options.target.is_some());
            }
        }
    }
}

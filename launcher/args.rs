//! The command line.

use crate::launch::{LAST_CALLS, MAX_RANKS, Observation, OnFailure, SegmentKind};
use crate::launcher::binding::{BindTo, MapBy, Placing};
use crate::launcher::report::{self, USAGE};
use crate::launcher::segment::check_name;
use crate::launcher::words;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser};
use clap_complete::Shell;
use rustix::thread::CpuSet;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
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
  Rank 0 reads rmarun's standard input; the others read an empty one. --stdin changes that.

Environment:
  Every rank finds its number in ONESIDED_RANK and the number of ranks in ONESIDED_RANKS; for
  scripts of other launchers also in PMI_RANK and PMI_SIZE, OMPI_COMM_WORLD_RANK and
  OMPI_COMM_WORLD_SIZE, MPI_LOCALRANKID and MPI_LOCALNRANKS. The other variables that begin with
  ONESIDED_ are the library's own business.

Several programs:
  A ':' begins another program of the same job, if an option follows, as in the last example. Its
  ranks follow those of the program before. -n, --env and --wdir are its own; all other options
  stand before the first program.

Words of other launchers:
  -np, --np, -x, -env, -genv, -wdir, -l, -prepend-rank and -configfile are understood.
  --oversubscribe, --allow-run-as-root, -genvall and -envall change nothing here. -H, --host,
  --hostfile and their like fail: the ranks run on this machine. docs/launcher.md has the whole
  table.

Exit code:
  0            every rank ended with code 0, and either all ranks joined the job or none did
  1 to 255     the code of the first rank that failed; 128+N if signal N killed it
  128+N        rmarun was told to end by signal N (2 Ctrl-C, 15 SIGTERM), or, with 141, nobody
               reads its output any more
  2            the command line is wrong
  18           under --strict a rank has not completed, received or freed all, and has ended with code 0
  101          the build of --example or --bin failed (Cargo's code)
  122          --timeout has passed
  123          a deadlock: ranks wait for ever, for one another or for one that has left the job
  124          --check has found accesses that conflict, and all ranks ended with code 0
  125          rmarun itself could not go on; some ranks joined the job and others did not; a
               rank left without finalize; or --require-join found that no rank joined
  126, 127     the program cannot be executed, or is compiled for another MPI; or is not found

Deadlock:
  When every rank that is left sleeps in a call of the library which only another rank could end, or
  one waits for a rank that has left the job, standard error says who waits for whom, in which call,
  and in which line of the program; then the job ends. That is proven, not guessed: a rank that
  computes, polls or waits outside the library is not blocked, and one of several threads or under a
  debugger never counts as blocked. Where a rank handles signals of its own (SIGALRM, SIGUSR1, ...),
  whose handlers might call the library, it is called suspected, after some seconds, and the job
  goes on. To look at a job that runs: rmarun --status, or Ctrl-\\ where rmarun reads from a
  terminal; to see the last calls of each rank, too: rmarun --status --calls 20, or signal SIGUSR1
  to rmarun.

When a rank fails, the others are ended: SIGTERM, then SIGKILL after the grace period. Standard
error has a table of the rank's last calls (--calls), and one line with which rank it was, how it
ended, and in which call. With --on-failure=continue they go on; the exit code is then that of the
first rank that failed, when all have ended. When rmarun itself is killed, so are the ranks, at
once.

Examples:
  rmarun -n 8 ./app input.dat
  rmarun -n 4 --tag-output hostname
  rmarun -n 4 --example hello -- --help
  rmarun -n 1 ./manager : -n 7 ./worker";

/// The options.
#[derive(Parser, Debug)]
#[command(
    name = "rmarun",
    version,
    about = "Starts N processes, the ranks of one job, which share windows of memory",
    override_usage = "rmarun -n <N> [OPTIONS] [--] <PROGRAM> [ARGS]...\n       \
                      rmarun -n <N> [OPTIONS] (--example | --bin) <NAME> [-- [ARGS]...]\n       \
                      rmarun [OPTIONS] -n <N> <PROGRAM> [ARGS]... : -n <N> <PROGRAM> [ARGS]...\n       \
                      rmarun --status [<PID>] [--calls <N>]\n       \
                      rmarun --top [<PID>]\n       \
                      rmarun --attach <PID[:RANK]>",
    after_help = AFTER_HELP,
    max_term_width = 100
)]
struct Line {
    #[command(flatten)]
    part: Part,
    /// Prints the state of the ranks of a job that another rmarun, process PID, has started: for each
    /// its call, for how long, what it waits for, and in which line of the program. Without PID, of the
    /// only job of this user; of several it prints the list
    #[arg(long, value_name = "PID", num_args = 0..=1)]
    status: Option<Option<u32>>,
    /// Shows the same at the terminal, drawn every second, with processor time, calls and bytes (of a job with
    /// --stats) per second of each rank, until 'q' is typed or the job ends
    #[arg(long, value_name = "PID", num_args = 0..=1, exclusive = true)]
    top: Option<Option<u32>>,
    /// How many of the last calls of each rank are printed by --status, and when the job fails; at most 64
    /// [default: none by --status; 8 when the job fails, of the ranks that the message names]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=LAST_CALLS as i64))]
    calls: Option<u32>,
    /// Prints the manual page, or the completions of a shell: man, bash, zsh or fish
    #[arg(long, value_name = "WHAT", exclusive = true, value_parser = printed)]
    print: Option<Printed>,
    // An attribute, because rustdoc takes the brackets of a comment for a link.
    #[arg(short, long, help = "Puts the rank before every line of output, as in \"[3] \"")]
    tag_output: bool,
    /// Writes what each rank prints, on both streams, to a file of its own in this directory, which is
    /// created: rank.0, rank.1 and so on. rmarun then prints its own messages only
    #[arg(long, value_name = "DIR", conflicts_with = "tag_output")]
    output_filename: Option<PathBuf>,
    /// Starts these ranks below a debugger, as in 2 or 0,3: one at this terminal, several in panes of tmux. The
    /// others run on. ONESIDED_GDB names another debugger with gdb's options
    #[arg(long, value_name = "RANKS", value_delimiter = ',', conflicts_with_all = ["timeout", "tag_output", "output_filename"])]
    gdb: Vec<u32>,
    /// Gives each rank a pane of tmux for its output and input, and one to rmarun, until the user leaves tmux
    #[arg(long, conflicts_with_all = ["tag_output", "output_filename", "stdin"])]
    tmux: bool,
    /// Starts the debugger on a rank of a job that another rmarun, process PID, has started. Without RANK,
    /// PID is that of the rank's process, or the job has one rank
    #[arg(long, value_name = "PID[:RANK]", exclusive = true, value_parser = attached)]
    attach: Option<(u32, Option<u32>)>,
    /// What runs in a pane of tmux first: the pipe to report to, and the number of the pane.
    #[arg(long, value_name = "PIPE", num_args = 2, exclusive = true, hide = true)]
    hold_pane: Vec<PathBuf>,
    /// Which ranks read rmarun's standard input: none, one, or all, each the whole of it. The others read an
    /// empty one
    #[arg(long, value_name = "WHO", default_value = "0", value_parser = stdin)]
    stdin: Readers,
    /// Prints no note: only why a job could not start, and which rank has ended it
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Prints the process, program and processors of each rank when it starts, and how long the job took
    #[arg(short, long)]
    verbose: bool,
    /// Fails with code 125 if no rank joins the job (a program that does not use the library)
    #[arg(long)]
    require_join: bool,
    /// Returns errors for two kinds of calls of C programs that the standard forbids, and that are
    /// otherwise accepted with one note: request-based operations in epochs of fence and start, and
    /// locks of windows with no_locks. What a program has not completed, received or freed when it leaves
    /// the job, in any language, is an error, too: exit code 18
    #[arg(long)]
    strict: bool,
    /// The library of programs that are linked to MPICH's libmpi.so.12: own, the one installed with rmarun;
    /// keep, what the ranks find without rmarun, which then changes no variable for it
    #[arg(long, value_name = "WHICH", default_value = "own", value_parser = mpi_library)]
    mpi_library: MpiLibrary,
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
    /// its own. With --check=late operations also take effect as late as MPI permits: no put, get or
    /// accumulate before the call that completes it. --check=separate also prints what only the separate
    /// memory model forbids. Commas separate several of them
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true,
          default_missing_value = "", value_parser = check)]
    check: Option<Check>,
    /// Writes what --check has found to this file as JSON when the job ends, however it ends; implies
    /// --check
    #[arg(long, value_name = "FILE")]
    check_report: Option<PathBuf>,
    /// Prints when the job ends how each rank has spent its time (computing, moving data, waiting), the calls that
    /// took the longest, and the lines of the program that waited the longest. Each call takes longer
    #[arg(long)]
    stats: bool,
    /// Writes a page about the run to this file when the job ends, however it ends: what it waited for and where, in
    /// words, pictures and tables; for a browser, in one file. Counts as --stats does
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Writes when each rank is in which call, and waits in which line of the program, to this file, which
    /// ui.perfetto.dev shows. The file has everything up to a failure. Each call takes longer
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Keeps no last calls: nothing of what the ranks call is in the job's memory, and tables and messages say that calls
    /// are not recorded. No call becomes faster. A wait is recorded still
    #[arg(long)]
    no_recorder: bool,
    /// What each rank is bound to, in turn: none; socket; core, the hardware threads of a core; hwthread,
    /// one hardware thread. Unbound ranks that can have a core each avoid each other's cores
    #[arg(long, value_name = "WHAT", default_value = "none", value_parser = bind_to)]
    bind_to: BindTo,
    /// In which turn bound ranks go to sockets: core, one socket after the other; socket, to each
    /// socket in turn
    #[arg(long, value_name = "WHAT", default_value = "core", value_parser = map_by)]
    map_by: MapBy,
    /// The processors that the ranks may use, as in 0-3,8, of those that rmarun may
    #[arg(long, value_name = "LIST", value_parser = processors)]
    cpu_set: Option<ProcessorList>,
    /// Prints the processors of each rank when it starts
    #[arg(long)]
    report_bindings: bool,
    /// Time between SIGTERM and SIGKILL when the job is ended early
    #[arg(long, value_name = "MILLISECONDS", default_value = "200", value_parser = grace)]
    grace: Duration,
    /// Ends the job after this time, with code 122 and the state of each rank, as --status has it
    #[arg(long, value_name = "SECONDS", value_parser = timeout, allow_negative_numbers = true)]
    timeout: Option<Duration>,
    /// Reads the programs and their options from this file: on each line what stands between two ':'
    #[arg(long, value_name = "FILE")]
    configfile: Option<PathBuf>,
    #[command(flatten)]
    target: TargetLine,
}

/// The options of one of several programs.
#[derive(Args, Debug)]
struct Part {
    /// Number of ranks, from 1 to 4096; also -np and --np. Of several programs each has its own
    #[arg(short = 'n', long = "ranks", value_name = "N", value_parser = ranks,
          allow_negative_numbers = true)]
    ranks: Option<u32>,
    /// Sets a variable in the environment of the ranks, as NAME=VALUE. They have all variables of rmarun,
    /// too: NAME alone fails if rmarun does not have it
    #[arg(short = 'x', long, value_name = "NAME[=VALUE]")]
    env: Vec<OsString>,
    /// The working directory of the ranks; also -wdir
    #[arg(long, value_name = "DIR")]
    wdir: Option<PathBuf>,
    /// The program and its arguments; with --example or --bin, arguments alone. A file whose name
    /// ends in .py, and that is not executable, is run by python3
    #[arg(trailing_var_arg = true, value_name = "PROGRAM [ARGS]")]
    command: Vec<OsString>,
}

/// A program behind a `:`.
#[derive(Parser, Debug)]
#[command(name = "rmarun", disable_help_flag = true)]
struct FurtherLine {
    #[command(flatten)]
    part: Part,
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

/// Its own name, because the argument parser takes a `Vec` for several values.
type ProcessorList = Vec<usize>;

/// What Cargo builds before the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// `example` or `bin`.
    pub kind: &'static str,
    pub name: String,
    pub package: Option<String>,
    pub features: Vec<String>,
}

/// A program of the job, and the ranks that run it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub ranks: u32,
    pub variables: Vec<(OsString, OsString)>,
    pub directory: Option<PathBuf>,
    /// Program and arguments; arguments alone if there is a target. Not empty without a target.
    pub arguments: Vec<OsString>,
}

impl Program {
    /// Its name, for messages.
    pub fn name(&self) -> String {
        self.arguments.first().map_or(String::new(), |name| name.to_string_lossy().into_owned())
    }
}

/// Where the ranks' output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// To that of the launcher; with the rank before each line, if `tag`.
    Launcher { tag: bool },
    /// To a file for each rank in that directory.
    Files(PathBuf),
}

/// The ranks that read the launcher's standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    None,
    Rank(u32),
    All,
}

/// The reaction to a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDeadlock {
    End,
    Report,
}

/// Where programs with MPICH's ABI find their library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MpiLibrary {
    /// Beside rmarun.
    Own,
    /// Where they find it without rmarun.
    Keep,
}

/// How accesses are checked for conflicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Check {
    /// The exit code of a job whose accesses conflict is its own; otherwise it is 124, unless the job has failed.
    pub only_reports: bool,
    /// Operations take effect only when a call completes them.
    pub is_late: bool,
    /// Accesses are also checked by the separate memory model.
    pub is_separate: bool,
}

/// A checked command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Of all programs.
    pub ranks: u32,
    /// At least one; one if there is a target.
    pub programs: Vec<Program>,
    pub timeout: Option<Duration>,
    pub output: Destination,
    pub stdin: Readers,
    /// The ranks below a debugger.
    pub debugged: Vec<u32>,
    /// Whether each rank has a pane of tmux.
    pub tmux: bool,
    pub quiet: bool,
    pub verbose: bool,
    pub require_join: bool,
    pub strict: bool,
    pub mpi_library: MpiLibrary,
    pub segment: SegmentKind,
    pub segment_size: Option<u64>,
    pub on_failure: OnFailure,
    pub grace: Duration,
    pub placing: Placing,
    pub report_bindings: bool,
    pub deadlock: OnDeadlock,
    pub check: Option<Check>,
    /// Where the conflicts are written; then there is a check.
    pub check_report: Option<PathBuf>,
    /// Whether what the ranks have counted is printed.
    pub stats: bool,
    /// Where the page about the run is written.
    pub report: Option<PathBuf>,
    /// Where the trace is written.
    pub trace: Option<PathBuf>,
    /// Whether the ranks record their last calls.
    pub records: bool,
    /// How many of the last calls of all ranks are printed when the job fails.
    pub calls: Option<u32>,
    pub target: Option<Target>,
}

impl Options {
    /// What the ranks record about their calls.
    pub fn observation(&self) -> Observation {
        Observation {
            is_checked: self.check.is_some(),
            is_late: self.check.is_some_and(|check| check.is_late),
            is_separate: self.check.is_some_and(|check| check.is_separate),
            is_counted: self.stats || self.report.is_some(),
            is_traced: self.trace.is_some(),
            is_unrecorded: !self.records,
        }
    }

    /// The program of that rank: the ranks of each program follow those of the one before.
    pub fn program(&self, rank: u32) -> &Program {
        let mut before = 0;
        let of = |program: &&Program| {
            before += program.ranks;
            rank < before
        };
        self.programs.iter().find(of).unwrap_or(&self.programs[0])
    }

    /// Whether that rank has a pane of tmux.
    pub fn has_pane(&self, rank: u32) -> bool {
        self.tmux || self.debugged.len() > 1 && self.debugged.contains(&rank)
    }

    /// Whether a rank below a debugger has the launcher's terminal.
    pub fn has_foreground(&self) -> bool {
        !self.tmux && self.debugged.len() == 1
    }
}

/// What can be printed of the command line's definition.
#[derive(Clone, Copy, Debug)]
enum Printed {
    Manual,
    Completions(Shell),
}

/// The outcome of parsing the command line.
pub enum Parsed {
    Run(Box<Options>),
    /// Print the state of that process's job, or of the only one.
    Inquire(Option<u32>, u32),
    /// Show it again and again at the terminal.
    Top(Option<u32>),
    /// Start a debugger on that rank of that process's job.
    Attach(u32, Option<u32>),
    /// Hold a pane of tmux for a rank: the pipe to report to, and the number of the pane.
    HoldPane(PathBuf, u32),
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
            report::print(&one_line(&error));
            Parsed::Printed(USAGE)
        }
    }
}

fn read(line: impl IntoIterator<Item = OsString>) -> Result<Parsed, clap::Error> {
    let mut definition = Line::command();
    let wrong = |kind, what: &str| Line::command().error(kind, what);
    let missing = |what: &str| wrong(ErrorKind::MissingRequiredArgument, what);
    let parts =
        words::parts(&definition, line).map_err(|what| wrong(ErrorKind::InvalidValue, &what));
    let mut parts = parts?.into_iter();
    let first = parts.next().unwrap_or_default();
    let matches = definition.try_get_matches_from_mut(first)?;
    let line = Line::from_arg_matches(&matches)?;
    if let Some(asked) = asked(&line, &matches) {
        return asked.map_err(|what| wrong(ErrorKind::ArgumentConflict, what));
    }
    let target = line.target.target().map_err(|what| missing(&what))?;
    let wrong = |(kind, what): (ErrorKind, String)| wrong(kind, &what);
    let programs = programs(line.part, parts, target.is_some()).map_err(wrong)?;
    let ranks = programs.iter().map(|program| program.ranks).sum();
    let debugged = named_ranks(line.stdin, line.gdb, ranks).map_err(wrong)?;
    Ok(Parsed::Run(Box::new(Options {
        ranks,
        programs,
        timeout: line.timeout,
        output: match (line.output_filename, line.tag_output) {
            (Some(directory), _) => Destination::Files(directory),
            (None, tag) => Destination::Launcher { tag },
        },
        stdin: line.stdin,
        debugged,
        tmux: line.tmux,
        quiet: line.quiet,
        verbose: line.verbose,
        require_join: line.require_join,
        strict: line.strict,
        mpi_library: line.mpi_library,
        segment: line.segment,
        segment_size: line.segment_size,
        on_failure: line.on_failure,
        grace: line.grace,
        placing: Placing { to: line.bind_to, by: line.map_by, only: line.cpu_set },
        report_bindings: line.report_bindings,
        deadlock: line.deadlock,
        check: line.check.or(line.check_report.is_some().then(Check::default)),
        check_report: line.check_report,
        stats: line.stats,
        records: !line.no_recorder,
        report: line.report,
        trace: line.trace,
        calls: line.calls,
        target,
    })))
}

/// What is no job: `--status`, which has no other option beside it than `--calls`, and `--print`.
fn asked(line: &Line, matches: &ArgMatches) -> Option<Result<Parsed, &'static str>> {
    if let Some(printed) = line.print {
        // A closed standard output is not an error.
        let _ = std::io::stdout().write_all(&text_of(printed));
        return Some(Ok(Parsed::Printed(0)));
    }
    if let Some(pid) = line.top {
        return Some(Ok(Parsed::Top(pid)));
    }
    if let Some((pid, rank)) = line.attach {
        return Some(Ok(Parsed::Attach(pid, rank)));
    }
    if let [pipe, number] = &line.hold_pane[..] {
        let number = number.to_str().and_then(|number| number.parse().ok());
        return Some(Ok(Parsed::HoldPane(pipe.clone(), number.unwrap_or_default())));
    }
    let pid = line.status?;
    let is_given = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
    let known = Line::command();
    let mut options = known.get_arguments().map(|one| one.get_id().as_str());
    Some(match options.any(|name| !["status", "calls"].contains(&name) && is_given(name)) {
        true => Err("--status has no other option beside it than --calls"),
        false => Ok(Parsed::Inquire(pid, line.calls.unwrap_or(0))),
    })
}

/// The manual page or the completions.
fn text_of(printed: Printed) -> Vec<u8> {
    let (mut text, mut definition) = (Vec::new(), Line::command());
    match printed {
        // Writing to memory cannot fail.
        Printed::Manual => drop(clap_mangen::Man::new(definition).render(&mut text)),
        Printed::Completions(shell) => {
            clap_complete::generate(shell, &mut definition, "rmarun", &mut text);
        }
    }
    text
}

/// The programs of the parts of a command line, of which the first is read.
fn programs(
    first: Part,
    others: impl Iterator<Item = Vec<OsString>>,
    has_target: bool,
) -> Result<Vec<Program>, (ErrorKind, String)> {
    let missing = |what| (ErrorKind::MissingRequiredArgument, what);
    let mut programs = vec![first.program(has_target).map_err(missing)?];
    for part in others {
        if has_target {
            let what = "--example and --bin are for one program";
            return Err((ErrorKind::ArgumentConflict, what.to_owned()));
        }
        let line = FurtherLine::try_parse_from(part);
        let FurtherLine { part } = line.map_err(|error| (error.kind(), first_paragraph(&error)))?;
        programs.push(part.program(false).map_err(missing)?);
    }
    let ranks: u32 = programs.iter().map(|program| program.ranks).sum();
    if ranks > MAX_RANKS {
        let what = format!("the programs have {ranks} ranks; a job has at most {MAX_RANKS}");
        return Err((ErrorKind::ValueValidation, what));
    }
    Ok(programs)
}

impl TargetLine {
    fn target(self) -> Result<Option<Target>, String> {
        let TargetLine { example, bin, package, features } = self;
        let (kind, name) = match (example, bin) {
            (Some(name), _) => ("example", Some(name)),
            (None, name) => ("bin", name),
        };
        if name.is_none() && (package.is_some() || !features.is_empty()) {
            return Err("--package and --features need --example or --bin".to_owned());
        }
        Ok(name.map(|name| Target { kind, name, package, features }))
    }
}

impl Part {
    /// Why the number of ranks is missing: it may stand behind the program, to which it then belongs.
    fn without_ranks(&self) -> String {
        let what = "the number of ranks, --ranks <N> or -n, is not given";
        let is_number = |word: &&OsString| {
            word.to_str().is_some_and(|word| ["-n", "-np", "--np", "--ranks"].contains(&word))
        };
        match (self.command.first(), self.command.iter().skip(1).find(is_number)) {
            (Some(program), Some(word)) => {
                let (program, word) = (program.display(), word.display());
                format!("{what}: '{word}' stands behind '{program}', which reads it itself")
            }
            _ => what.to_owned(),
        }
    }

    fn program(self, has_target: bool) -> Result<Program, String> {
        let ranks = self.ranks.ok_or_else(|| self.without_ranks())?;
        if !has_target && self.command.is_empty() {
            return Err("no program is given".to_owned());
        }
        let mut variables = Vec::new();
        for setting in self.env {
            let bytes = setting.as_bytes();
            match bytes.iter().position(|byte| *byte == b'=') {
                Some(at) if at > 0 => {
                    let [name, value] = [&bytes[..at], &bytes[at + 1..]].map(OsStr::from_bytes);
                    variables.push((name.to_owned(), value.to_owned()));
                }
                None if words::is_set(&setting) => {}
                _ => {
                    let setting = setting.to_string_lossy();
                    return Err(format!("--env {setting}: rmarun does not have such a variable"));
                }
            }
        }
        if let Some(directory) = self.wdir.as_deref().filter(|directory| !directory.is_dir()) {
            return Err(format!("--wdir {}: there is no such directory", directory.display()));
        }
        Ok(Program { ranks, variables, directory: self.wdir, arguments: self.command })
    }
}

/// A message of the argument parser as one line.
fn one_line(error: &clap::Error) -> String {
    format!("{} (see 'rmarun --help')", first_paragraph(error))
}

fn first_paragraph(error: &clap::Error) -> String {
    let message = error.to_string();
    let first = message.split("\n\n").next().unwrap_or(&message);
    let words: Vec<&str> = first.split_whitespace().collect();
    let text = words.join(" ");
    text.strip_prefix("error: ").unwrap_or(&text).to_owned()
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

fn timeout(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| *seconds > 0.0);
    let timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    timeout.ok_or_else(|| "a number of seconds above 0 is needed".to_owned())
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

fn mpi_library(text: &str) -> Result<MpiLibrary, String> {
    match text {
        "own" => Ok(MpiLibrary::Own),
        "keep" => Ok(MpiLibrary::Keep),
        _ => Err("it is 'own' or 'keep'".to_owned()),
    }
}

fn check(text: &str) -> Result<Check, String> {
    let mut check = Check::default();
    for word in text.split(',').filter(|_| !text.is_empty()) {
        match word {
            "end" => check.only_reports = false,
            "report" => check.only_reports = true,
            "late" => check.is_late = true,
            "separate" => check.is_separate = true,
            _ => {
                return Err(
                    "it is --check, or --check= with report, late, separate or several of them"
                        .to_owned(),
                );
            }
        }
    }
    Ok(check)
}

fn bind_to(text: &str) -> Result<BindTo, String> {
    match text {
        "none" => Ok(BindTo::None),
        "socket" => Ok(BindTo::Socket),
        "core" => Ok(BindTo::Core),
        "hwthread" => Ok(BindTo::HardwareThread),
        _ => Err("it is 'none', 'socket', 'core' or 'hwthread'".to_owned()),
    }
}

fn map_by(text: &str) -> Result<MapBy, String> {
    match text {
        "core" => Ok(MapBy::Core),
        "socket" => Ok(MapBy::Socket),
        _ => Err("it is 'core' or 'socket'".to_owned()),
    }
}

/// A list of numbers and ranges, as in 0-3,8.
fn processors(text: &str) -> Result<ProcessorList, String> {
    let wrong = || format!("'{text}' is not a list of processors, as in 0-3,8");
    let mut all = Vec::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let [first, last] = [first, last].map(|number| number.parse::<usize>().ok());
        match (first, last) {
            (Some(first), Some(last)) if first <= last && last < CpuSet::MAX_CPU => {
                all.extend(first..=last);
            }
            _ => return Err(wrong()),
        }
    }
    Ok(all)
}

fn stdin(text: &str) -> Result<Readers, String> {
    match text {
        "none" => Ok(Readers::None),
        "all" => Ok(Readers::All),
        rank => match rank.parse() {
            Ok(rank) => Ok(Readers::Rank(rank)),
            Err(_) => Err("it is 'none', 'all' or the number of a rank".to_owned()),
        },
    }
}

/// Checks the ranks that options name; returns those below a debugger, each once.
fn named_ranks(
    stdin: Readers,
    mut debugged: Vec<u32>,
    ranks: u32,
) -> Result<Vec<u32>, (ErrorKind, String)> {
    debugged.sort_unstable();
    debugged.dedup();
    let reader = match stdin {
        Readers::Rank(rank) => Some(("--stdin", rank)),
        Readers::None | Readers::All => None,
    };
    let last = debugged.last().map(|last| ("--gdb", *last));
    match reader.into_iter().chain(last).find(|(_, rank)| *rank >= ranks) {
        Some((option, rank)) => {
            let what = format!("{option} {rank}: the last rank is {}", ranks - 1);
            Err((ErrorKind::ValueValidation, what))
        }
        None => Ok(debugged),
    }
}

fn attached(text: &str) -> Result<(u32, Option<u32>), String> {
    let (pid, rank) = match text.split_once(':') {
        Some((pid, rank)) => (pid, Some(rank)),
        None => (text, None),
    };
    let rank = rank.map(str::parse).transpose();
    match (pid.parse(), rank) {
        (Ok(pid), Ok(rank)) => Ok((pid, rank)),
        _ => Err("it is the number of a process, or that and a rank, as in 1234:0".to_owned()),
    }
}

fn printed(text: &str) -> Result<Printed, String> {
    match text {
        "man" => Ok(Printed::Manual),
        "bash" => Ok(Printed::Completions(Shell::Bash)),
        "zsh" => Ok(Printed::Completions(Shell::Zsh)),
        "fish" => Ok(Printed::Completions(Shell::Fish)),
        _ => Err("it is 'man', 'bash', 'zsh' or 'fish'".to_owned()),
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
    use crate::launch::{ENV_RANK, ENV_RANKS};
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
        assert_eq!(options.output, Destination::Launcher { tag: false });
        assert_eq!(options.programs[0].arguments, ["./app", "-n", "7", "--tag-output", "--", "x"]);
    }

    #[test]
    fn the_number_of_ranks_has_the_names_of_other_launchers() {
        for np in ["-np", "--np"] {
            assert_eq!(options(&[np, "3", "./app", "-np"]).unwrap().ranks, 3);
            assert_eq!(options(&["-t", np, "3", "./app"]).unwrap().ranks, 3);
        }
        assert_eq!(
            options(&["-np", "3", "./app", "-np"]).unwrap().programs[0].arguments,
            ["./app", "-np"]
        );
    }

    #[test]
    fn a_target_takes_arguments_alone() {
        let options = options(&["-n2", "--example", "hello", "-F", "a,b", "--", "-v"]).unwrap();
        let target = options.target.unwrap();
        assert_eq!((target.kind, target.name.as_str()), ("example", "hello"));
        assert_eq!(target.features, ["a,b"]);
        assert_eq!(options.programs[0].arguments, ["-v"]);
    }

    #[test]
    fn a_check_takes_its_value_by_an_equals_sign() {
        for (line, only_reports, is_late, is_separate) in [
            ("--check", false, false, false),
            ("--check=end", false, false, false),
            ("--check=report", true, false, false),
            ("--check=late", false, true, false),
            ("--check=separate", false, false, true),
            ("--check=late,report", true, true, false),
            ("--check=report,separate,late", true, true, true),
        ] {
            let check = Check { only_reports, is_late, is_separate };
            let options = options(&["-n", "2", line, "./app"]).unwrap();
            assert_eq!(
                (options.check, &options.programs[0].arguments[..]),
                (Some(check), &["./app".into()][..])
            );
        }
    }

    #[test]
    fn a_report_of_conflicts_implies_the_check() {
        for (line, only_reports) in [(&["--check=report"][..], true), (&[], false)] {
            let check = Check { only_reports, ..Check::default() };
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
            vec!["-n", "2", "--check=late,", "true"],
            vec!["-n", "2", "--check-report"],
            vec!["-n", "2", "--report"],
            vec!["-n", "2", "--trace"],
            vec!["-n", "2", "--status", "1"],
            vec!["--status", "one"],
            vec!["--status", "1", "-t"],
            vec!["--status", "1", "true"],
            vec!["--status", "1", "--calls", "65"],
            vec!["--calls", "5"],
            vec!["-n", "2", "--stdin", "2", "true"],
            vec!["-n", "2", "--stdin", "some", "true"],
            vec!["-n", "2", "--gdb", "0,2", "true"],
            vec!["-n", "2", "--gdb", "0", "--timeout", "9", "true"],
            vec!["-n", "2", "--tmux", "--stdin", "all", "true"],
            vec!["--attach", "1:two"],
            vec!["--attach", "1", "true"],
            vec!["-n", "2", "--cpu-set", "3-1", "true"],
            vec!["-n", "2", "--map-by", "moon", "true"],
            vec!["-n", "2", "-qv", "true"],
            vec!["--print", "moon"],
        ] {
            let text = one_line(&options(&line).unwrap_err());
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
                prop_assert!(!options.programs[0].arguments.is_empty() || options.target.is_some());
            }
        }
    }
}
